//! What a caller can get wrong, and what must hold whatever the caller does.

use super::{Array, Case};
use crate::cranelift::Executable;
use crate::exec::print::to_stderr;
use crate::exec::{Args, ArrayMut, ArrayRef, RunError};
use crate::ir::{DType, Literal};
use crate::launch::Binding;

const SLICE: &str = "kernel @slice(n) {
  grid i = ceildiv(n, 128) arbitrary
  in %x: vmem<8x128xf32> = [8, n] blocks [8, 128] at (%i) { %za = const 0 : i32 yield %za, %i }
  out %o: vmem<8x128xf32> = [8, n] blocks [8, 128] at (%j) { %zb = const 0 : i32 yield %zb, %j }
  scalar %from: i32
  scalar %to: i32
  body {
    %z = const 0 : i32
    %t = load %x[%from, %z] : tile<2x128xf32>
    store %t, %o[%to, %z]
  }
}
";

fn slice() -> Case {
    Case::new(SLICE, &[200])
}

#[test]
fn dynamic_starts_are_checked() {
    let case = slice();
    let x = [Array::small(DType::F32, &[8, 200], 1)];
    for (from, to) in [(0, 0), (6, 3), (3, 6)] {
        case.agree(&x, &[from.into(), to.into()]).unwrap();
    }
    for (from, to, at, start) in
        [(7, 0, "x", 7), (-1, 0, "x", -1), (0, 7, "o", 7), (0, i32::MIN, "o", i32::MIN), (i32::MAX, 0, "x", i32::MAX)]
    {
        match case.agree(&x, &[from.into(), to.into()]) {
            Err(RunError::OutOfBounds { operand, axis: 0, start: s, size: 2, extent: 8, step, .. }) => {
                assert_eq!((operand.as_str(), s, step), (at, i64::from(start), vec![0]));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_block_index_outside() {
    let text = SLICE.replace(
        "{ %za = const 0 : i32 yield %za, %i }",
        "{ %za = const 0 : i32 %zc = const 1 : i32 %next = add %i, %zc : i32 yield %za, %next }",
    );
    let case = Case::new(&text, &[200]);
    let got = case.agree(&[Array::small(DType::F32, &[8, 200], 1)], &[0.into(), 0.into()]);
    assert!(matches!(got, Err(RunError::BlockIndex { axis: 1, index: 2, .. })), "{got:?}");
}

#[test]
fn an_empty_grid_does_nothing() {
    let case = Case::new(SLICE, &[0]);
    case.agree(&[Array::zeros(DType::F32, &[8, 0])], &[0.into(), 0.into()]).unwrap();
}

#[test]
fn arrays_that_do_not_fit() {
    let case = slice();
    let exe = case.compile();
    let good = Array::small(DType::F32, &[8, 200], 1);
    let scalars: [Literal; 2] = [0.into(), 0.into()];
    type Change<'c> = &'c dyn Fn(&mut Binding, &mut Array, &mut Array, &mut Vec<Literal>);
    let attempt = |change: Change<'_>| {
        let (mut binding, mut x, mut scalars) = (case.binding.clone(), good.clone(), scalars.to_vec());
        let mut o = Array::zeros(DType::F32, &[8, 200]);
        change(&mut binding, &mut x, &mut o, &mut scalars);
        let inputs = [ArrayRef { dtype: x.dtype, shape: &x.shape, bytes: &x.bytes }];
        let mut outputs = [ArrayMut { dtype: o.dtype, shape: &o.shape, bytes: &mut o.bytes }];
        let got = exe.run(&binding, &mut Args { inputs: &inputs, outputs: &mut outputs, scalars: &scalars, log: &mut to_stderr });
        if got.is_err() {
            assert!(o.bytes.iter().all(|&b| b == 0));
        }
        got
    };
    attempt(&|_, _, _, _| {}).unwrap();
    let array = |got: Result<(), RunError>| assert!(matches!(got, Err(RunError::Array { .. })), "{got:?}");
    let count = |got: Result<(), RunError>| assert!(matches!(got, Err(RunError::Count { .. })), "{got:?}");
    array(attempt(&|_, x, _, _| x.shape = vec![8, 201]));
    array(attempt(&|_, x, _, _| x.shape = vec![1600]));
    array(attempt(&|_, x, _, _| x.dtype = DType::I32));
    array(attempt(&|_, x, _, _| x.bytes.truncate(100)));
    array(attempt(&|_, _, o, _| o.bytes.truncate(8 * 200 * 4 - 1)));
    array(attempt(&|_, _, o, _| o.shape = vec![200, 8]));
    array(attempt(&|_, _, _, s| s[0] = Literal::from(1f32)));
    array(attempt(&|b, _, _, _| b.arrays[0] = vec![8, 300]));
    array(attempt(&|b, _, _, _| b.arrays[0] = vec![8]));
    array(attempt(&|b, _, _, _| b.sizes[0] = 200 + 56));
    count(attempt(&|b, _, _, _| b.grid[0] = 3));
    count(attempt(&|b, _, _, _| b.sizes.clear()));
    count(attempt(&|b, _, _, _| b.grid.push(1)));
    count(attempt(&|b, _, _, _| b.arrays.truncate(1)));
    count(attempt(&|_, _, _, s| s.truncate(1)));
    let none = exe.run(&case.binding, &mut Args { inputs: &[], outputs: &mut [], scalars: &scalars, log: &mut to_stderr });
    count(none);
}

#[test]
fn any_alignment() {
    let case = slice();
    let exe = case.compile();
    let x = Array::small(DType::F32, &[8, 200], 1);
    let want = case.compiled(std::slice::from_ref(&x), &[1.into(), 3.into()]).unwrap();
    for shift in 0..4 {
        let mut input = vec![0u8; shift];
        input.extend(&x.bytes);
        let mut output = vec![0u8; shift + 8 * 200 * 4];
        let inputs = [ArrayRef { dtype: DType::F32, shape: &x.shape, bytes: &input[shift..] }];
        let mut outputs = [ArrayMut { dtype: DType::F32, shape: &x.shape, bytes: &mut output[shift..] }];
        exe.run(
            &case.binding,
            &mut Args { inputs: &inputs, outputs: &mut outputs, scalars: &[1.into(), 3.into()], log: &mut to_stderr },
        )
        .unwrap();
        let got = Array { bytes: output[shift..].to_vec(), ..want[0].clone() };
        case.same(&want[0], &got);
    }
}

#[test]
fn threads_share_an_executable() {
    let case = slice();
    let exe: Executable = case.compile();
    let scalars: [Literal; 2] = [2.into(), 5.into()];
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let (exe, case) = (&exe, &case);
            scope.spawn(move || {
                for round in 0..20 {
                    let x = [Array::small(DType::F32, &[8, 200], seed * 100 + round)];
                    let got = case.run(&|binding, args| exe.run(binding, args), &x, &scalars).unwrap();
                    let want = case.interpreted(&x, &scalars).unwrap();
                    case.same(&want[0], &got[0]);
                }
            });
        }
    });
}

#[test]
fn an_unverified_kernel_is_refused() {
    let mut kernel = slice().kernel;
    kernel.body.ops.clear();
    assert!(matches!(Executable::compile(&kernel), Err(crate::Error::Build { .. })));
}

#[test]
fn the_code_can_be_read() {
    let text = Executable::clif(&slice().kernel).unwrap();
    assert!(text.matches("function").count() == 2, "{text}");
}
