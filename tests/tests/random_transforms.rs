//! Random kernels, transformed: a batch against a launch for each slice, functions on operands against arrays changed
//! before and after.
//!
//! `RANDOM_KERNELS=N` tries N seeds instead of 80, `RANDOM_KERNELS_FROM=S` starts at seed S.

use tpu_kernel::ir::{BinaryOp, DType, Kernel, Literal, Loc, Op, OpKind, ParamKind, Region, Type, UnaryOp, Value, eval};
use tpu_kernel::lang::{Each, Number, function};
use tpu_kernel::launch::Binding;
use tpu_kernel::math;
use tpu_kernel::passes::{canonicalise, verify};
use tpu_kernel::transform::{Function, batch, fuse_input, fuse_output};
use tpu_tests::executors::{Array, EXECUTORS, run, same};
use tpu_tests::filetest::round_trip;
use tpu_tests::generate::{Case, generate};

fn seeds() -> std::ops::Range<u64> {
    let number = |name, otherwise| std::env::var(name).map_or(otherwise, |n| n.parse().expect("a number"));
    let first = number("RANDOM_KERNELS_FROM", 0);
    first..first + number("RANDOM_KERNELS", 80)
}

/// Runs by the interpreter as written, and by each executor canonicalised: all agree. The outputs, or the code of the error.
fn outcome(kernel: &Kernel, binding: &Binding, inputs: &[Array], scalars: &[Literal]) -> Result<Vec<Array>, &'static str> {
    assert_eq!(verify(kernel), Ok(()), "{kernel}");
    round_trip(kernel).unwrap();
    let mut canonical = kernel.clone();
    canonicalise(&mut canonical);
    let mut first: Option<Result<Vec<Array>, _>> = None;
    let runs = [(kernel, &EXECUTORS[0])].into_iter().chain(EXECUTORS.iter().map(|executor| (&canonical, executor)));
    for (kernel, executor) in runs {
        let compiled = (executor.compile)(kernel).unwrap();
        let got = run(kernel, &compiled, binding, inputs, scalars);
        match (&first, &got) {
            (None, _) => first = Some(got),
            (Some(Ok(want)), Ok(got)) => agree(want, got, &format!("{} {kernel}", executor.name)),
            (Some(want), got) => assert_eq!(want.is_err(), got.is_err(), "{} {kernel}", executor.name),
        }
    }
    first.unwrap().map_err(|e| e.code())
}

fn agree(want: &[Array], got: &[Array], context: &str) {
    assert_eq!(want.len(), got.len());
    for (output, (want, got)) in want.iter().zip(got).enumerate() {
        assert_eq!((want.dtype, &want.shape), (got.dtype, &got.shape));
        for (at, (w, g)) in want.elements().zip(got.elements()).enumerate() {
            assert!(same(w, g), "output {output}, element {at}: {w:?} against {g:?}\n{context}");
        }
    }
}

fn original(case: &Case, inputs: &[Array]) -> Result<Vec<Array>, &'static str> {
    let compiled = (EXECUTORS[0].compile)(&case.kernel).unwrap();
    run(&case.kernel, &compiled, &case.binding, inputs, &case.scalars).map_err(|e| e.code())
}

/// The elements in the opposite order.
fn reversed(array: &Array) -> Array {
    let mut elements: Vec<Literal> = array.elements().collect();
    elements.reverse();
    Array::new(array.dtype, &array.shape, elements)
}

fn stacked(parts: &[&Array]) -> Array {
    let shape = [&[parts.len()], parts[0].shape.as_slice()].concat();
    Array::new(parts[0].dtype, &shape, parts.iter().flat_map(|p| p.elements()))
}

/// Scratch lasts from slice to slice, and a random kernel reads what it has not written: each step writes it first.
fn clear_scratch(kernel: &mut Kernel) {
    let mut ops = vec![];
    for at in 0..kernel.params.len() {
        if kernel.params[at].kind != ParamKind::Scratch {
            continue;
        }
        let (memory, ty) = (kernel.body.args[at], kernel.params[at].ty);
        let mut push = |kind, operands: Vec<Value>, results: Vec<Value>| {
            ops.push(Op { kind, operands, results, regions: vec![], loc: Loc::UNKNOWN });
        };
        let [start, element] = [DType::I32, ty.dtype()].map(|dtype| kernel.new_value(Type::Scalar(dtype)));
        let tile = kernel.new_value(Type::Tile(ty.dtype(), ty.shape()));
        push(OpKind::Const(0.into()), vec![], vec![start]);
        push(OpKind::Const(Literal::from_bits(ty.dtype(), 0)), vec![], vec![element]);
        push(OpKind::Broadcast(ty.shape()), vec![element], vec![tile]);
        push(OpKind::Store, [vec![memory, tile], vec![start; ty.shape().rank()]].concat(), vec![]);
    }
    kernel.body.ops.splice(0..0, ops);
    kernel.renumber();
}

#[test]
fn batches_of_random_kernels() {
    let (mut compared, mut failed) = (0, 0);
    for seed in seeds() {
        let mut case = generate(seed);
        clear_scratch(&mut case.kernel);
        let windows = || case.kernel.params.iter().filter_map(|p| Some((p, p.window()?)));
        if case.inputs.is_empty() || windows().any(|(_, w)| w.array.len() == 4) {
            continue;
        }
        // Every other seed, the first of several inputs is the same for all slices.
        let shares = seed % 2 == 0 && case.inputs.len() > 1;
        let shared = case.kernel.inputs().next().filter(|_| shares).map(|(at, _)| at);
        let names = case.kernel.params.iter().enumerate();
        let names: Vec<String> =
            names.filter(|(at, p)| p.window().is_some() && Some(*at) != shared).map(|(_, p)| p.name.clone()).collect();
        let kernel = batch(case.kernel.clone(), &names, &Loc::UNKNOWN).unwrap();

        let slices = 3;
        let input = |slice: usize, at: usize| {
            if slice == 1 && !(shares && at == 0) { reversed(&case.inputs[at]) } else { case.inputs[at].clone() }
        };
        let of_slice: Vec<Vec<Array>> = (0..slices).map(|s| (0..case.inputs.len()).map(|at| input(s, at)).collect()).collect();
        let all: Vec<Array> = (0..case.inputs.len())
            .map(|at| match shares && at == 0 {
                true => case.inputs[0].clone(),
                false => stacked(&of_slice.iter().map(|inputs| &inputs[at]).collect::<Vec<_>>()),
            })
            .collect();
        let mut binding = case.binding.clone();
        binding.sizes.push(slices as i32);
        binding.grid.insert(0, slices as i32);
        for (at, param) in case.kernel.params.iter().enumerate() {
            if param.window().is_some() && Some(at) != shared {
                binding.arrays[at].insert(0, slices);
            }
        }

        let got = outcome(&kernel, &binding, &all, &case.scalars);
        let each: Result<Vec<Vec<Array>>, _> = of_slice.iter().map(|inputs| original(&case, inputs)).collect();
        match (each, got) {
            (Ok(each), Ok(got)) => {
                let outputs = 0..each[0].len();
                let want: Vec<Array> =
                    outputs.map(|o| stacked(&each.iter().map(|outputs| &outputs[o]).collect::<Vec<_>>())).collect();
                agree(&want, &got, &format!("seed {seed}\n{}\n{kernel}", case.kernel));
                compared += 1;
            }
            (Err(want), Err(got)) => {
                assert_eq!(want, got, "seed {seed}");
                failed += 1;
            }
            (want, got) => panic!("seed {seed}: {:?} against {:?}", want.map(drop), got.map(drop)),
        }
    }
    let count = seeds().count();
    assert!(count < 80 || compared > count / 4, "{compared} compared, {failed} failed alike");
}

/// A function that leaves poison and 0, which blocks that no step visits hold, as they are.
fn changing(dtype: DType, operand: &str) -> Option<Function> {
    fn twice<T: Number>(operand: &str) -> Function {
        function(operand, &Loc::UNKNOWN, |x: Each<T>| x + x).unwrap()
    }
    Some(match dtype {
        DType::F32 => twice::<f32>(operand),
        DType::Bf16 => twice::<half::bf16>(operand),
        DType::I32 => function(operand, &Loc::UNKNOWN, |x: Each<i32>| -x).unwrap(),
        DType::Bool => function(operand, &Loc::UNKNOWN, |x: Each<bool>| x).unwrap(),
        _ => return None,
    })
}

fn changed_alone(array: &Array) -> Array {
    let change = |x: Literal| match array.dtype {
        DType::F32 | DType::Bf16 => eval::binary(BinaryOp::Add, x, x).unwrap(),
        DType::I32 => math::unary(UnaryOp::Neg, x).unwrap(),
        _ => x,
    };
    Array::new(array.dtype, &array.shape, array.elements().map(change).collect::<Vec<_>>())
}

fn loads(region: &Region, memory: Value) -> bool {
    region
        .ops
        .iter()
        .any(|op| (matches!(op.kind, OpKind::Load(_)) && op.operands[0] == memory) || op.regions.iter().any(|r| loads(r, memory)))
}

#[test]
fn functions_on_operands_of_random_kernels() {
    let (mut inputs, mut outputs, mut refused) = (0, 0, 0);
    for seed in seeds() {
        let case = generate(seed);
        let context = |kernel: &Kernel| format!("seed {seed}\n{}\n{kernel}", case.kernel);
        for (nth, (_, param)) in case.kernel.inputs().enumerate().take(1) {
            let Some(function) = changing(param.ty.dtype(), &param.name) else { continue };
            let kernel = fuse_input(case.kernel.clone(), &param.name, &function, &Loc::UNKNOWN).unwrap();
            let mut changed = case.inputs.clone();
            changed[nth] = changed_alone(&changed[nth]);
            let (want, got) = (original(&case, &changed), outcome(&kernel, &case.binding, &case.inputs, &case.scalars));
            match (want, got) {
                (Ok(want), Ok(got)) => agree(&want, &got, &context(&kernel)),
                (want, got) => assert_eq!(want.err(), got.err(), "{}", context(&kernel)),
            }
            inputs += 1;
        }
        for (nth, (at, param)) in case.kernel.outputs().enumerate().take(2) {
            let Some(function) = changing(param.ty.dtype(), &param.name) else { continue };
            let fused = fuse_output(case.kernel.clone(), &param.name, &function, &Loc::UNKNOWN);
            if loads(&case.kernel.body, case.kernel.body.args[at]) {
                assert_eq!(fused.unwrap_err().code(), "T010");
                refused += 1;
                continue;
            }
            let kernel = fused.unwrap();
            let (want, got) = (original(&case, &case.inputs), outcome(&kernel, &case.binding, &case.inputs, &case.scalars));
            match (want, got) {
                (Ok(mut want), Ok(got)) => {
                    want[nth] = changed_alone(&want[nth]);
                    agree(&want, &got, &context(&kernel));
                }
                (want, got) => assert_eq!(want.err(), got.err(), "{}", context(&kernel)),
            }
            outputs += 1;
        }
    }
    let count = seeds().count();
    assert!(count < 80 || (inputs > count / 2 && outputs > count / 4 && refused > 0), "{inputs} {outputs} {refused}");
}
