//! Random kernels of the generator, for one chip.

use crate::executors::{Array, INTERPRETER, run_logged};
use crate::generate::{Words, generate_in};
use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{Kernel, Literal, Loc, Op, OpKind, Param, ParamKind, SizeExpr, Type, Window};
use tpu_kernel::launch::Binding;
use tpu_kernel::mosaic;
use tpu_kernel::passes::canonicalise;

/// The program of that seed, or the code and the words of the rule that its kernel breaks; none where a launch of it ends in
/// an error, as of a start outside its operand, which libtpu sees too late.
///
/// # Panics
/// Where the generator or the interpreter has a defect.
pub fn random_program(chip: &Chip, seed: u64) -> Option<Result<String, (&'static str, String)>> {
    let case = generate_in(Words::mosaic(chip), seed);
    let mut kernel = whole_blocks(case.kernel);
    canonicalise(&mut kernel);
    let block = |w: &Window| w.block.iter().map(|b| b.size()).collect();
    let binding = Binding {
        cores: 1,
        sizes: case.binding.sizes,
        grid: case.binding.grid,
        arrays: kernel.params.iter().map(|p| p.window().map_or(vec![], block)).collect(),
    };
    let zeros = |(at, p): (usize, &Param)| Array::filled(&binding.arrays[at], Literal::from_bits(p.ty.dtype(), 0));
    let inputs: Vec<Array> = kernel.inputs().map(zeros).collect();
    let interpreter = (INTERPRETER.compile)(&kernel).expect("the interpreter takes every kernel");
    run_logged(&kernel, &interpreter, &binding, &inputs, &case.scalars, &mut |_| {}).ok()?;
    Some(mosaic::stablehlo(&kernel, &binding, chip).map_err(|illegal| (illegal.code(), illegal.rule.to_string())))
}

/// The kernel with arrays of one block each, which every chip takes whatever the block.
fn whole_blocks(mut kernel: Kernel) -> Kernel {
    let count = kernel.params.len();
    let zeros: Vec<_> = (0..count).map(|_| kernel.new_value(Type::Scalar(tpu_kernel::ir::DType::I32))).collect();
    for (param, zero) in kernel.params.iter_mut().zip(zeros) {
        let (ParamKind::In(window) | ParamKind::Out(window)) = &mut param.kind else { continue };
        let constant = OpKind::Const(Literal::from(0));
        let op = Op { kind: constant, operands: vec![], results: vec![zero], regions: vec![], loc: Loc::UNKNOWN };
        window.array = window.block.iter().map(|b| SizeExpr::Const(b.size() as i64)).collect();
        window.map.ops = vec![op];
        window.map.yields = vec![zero; window.block.len()];
    }
    kernel
}
