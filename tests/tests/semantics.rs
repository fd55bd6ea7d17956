//! What `docs/semantics.md` promises and a filetest cannot say: effects before an error, the check of a
//! launch's arrays, accuracy of products, one definition of the functions. And: every test that the
//! document names exists.

use std::path::{Path, PathBuf};
use tpu_kernel::exec::print::to_stderr;
use tpu_kernel::exec::{Args, ArrayMut, ArrayRef, RunError};
use tpu_kernel::ir::{DType, Kernel, Literal, eval, parse_named};
use tpu_kernel::launch::Binding;
use tpu_kernel::math::{Scalar, exp, rsqrt, tanh};
use tpu_kernel::passes::verify;
use tpu_tests::executors::{Array, EXECUTORS, Executor, run, same};
use tpu_tests::kernels::Writer;

fn kernel(text: &str) -> Kernel {
    let kernel = parse_named(text, "test").unwrap_or_else(|e| panic!("{e}"));
    verify(&kernel).unwrap_or_else(|faults| panic!("{faults:?}"));
    kernel
}

fn ints(values: &[i32]) -> Array {
    Array::new(DType::I32, &[values.len()], values.iter().map(|&v| Literal::from(v)))
}

fn floats(shape: &[usize], values: impl IntoIterator<Item = f32>) -> Array {
    Array::new(DType::F32, shape, values.into_iter().map(Literal::from))
}

/// Copies blocks of 2 of `x` to `o`, after it has read `x` at `at`: outside from some step on.
const COPY: &str = "
kernel @copy(m) {
  grid i = ceildiv(m, 2) arbitrary
  in %x: vmem<2xi32> = [m] blocks [2] at (%i) -> (%i)
  out %o: vmem<2xi32> = [m] blocks [2] at (%i) -> (%i)
  scalar %at: i32
  body {
    %z = const 0 : i32
    %one = const 1 : i32
    %t = load %x[%z] : tile<2xi32>
    store %t, %o[%z]
    %i = program_id 0 : i32
    %start = sub %i, %at : i32
    %least = max %start, %z : i32
    %u = load %x[%least] : tile<1xi32>
    store %u, %o[%one]
  }
}";

/// Runs on `o` as it is, and gives it back with the outcome.
fn run_copy(executor: Executor, binding: &Binding, x: &Array, o: &mut Array, scalars: &[Literal]) -> Result<(), RunError> {
    let compiled = (executor.compile)(&kernel(COPY)).expect("a kernel that compiles");
    let inputs = [ArrayRef { dtype: x.dtype, shape: &x.shape, bytes: &x.bytes }];
    let mut outputs = [ArrayMut { dtype: o.dtype, shape: &o.shape, bytes: &mut o.bytes }];
    compiled(binding, &mut Args { inputs: &inputs, outputs: &mut outputs, scalars, log: &mut to_stderr })
}

fn copy_binding(m: i32) -> Binding {
    let shape = vec![m as usize];
    Binding { cores: 1, sizes: vec![m], grid: vec![(m + 1) / 2], arrays: vec![shape.clone(), shape, vec![]] }
}

#[test]
fn steps_before_an_error_remain() {
    for &executor in EXECUTORS {
        let mut o = ints(&[-9; 7]);
        let outcome = run_copy(executor, &copy_binding(7), &ints(&[1, 2, 3, 4, 5, 6, 7]), &mut o, &[1.into()]);
        let Err(RunError::OutOfBounds { operand, axis: 0, start: 2, size: 1, extent: 2, step, loc }) = outcome else {
            panic!("{}: {outcome:?}", executor.name);
        };
        assert_eq!((operand.as_str(), step, loc.line), ("x", vec![3], 15));
        // Steps 0 to 2 are written back; step 3 failed, and what it stored may or may not show.
        let found: Vec<i32> = o.elements().filter_map(Literal::as_i32).collect();
        assert_eq!(found[..6], [1, 1, 3, 3, 5, 6], "{}", executor.name);
    }
}

#[test]
fn a_store_outside_writes_nothing() {
    let text = "
kernel @store() {
  out %o: vmem<4xi32> = [4] blocks [4] at () {
    %zo = const 0 : i32
    yield %zo
  }
  out %side: vmem<4xi32> = [4] blocks [4] at () {
    %zs = const 0 : i32
    yield %zs
  }
  scalar %at: i32
  body {
    %z = const 0 : i32
    %t = iota axis 0 : tile<4xi32>
    store %t, %side[%z]
    store %t, %o[%at]
  }
}";
    let kernel = kernel(text);
    for &executor in EXECUTORS {
        for at in [-1, 1, i32::MIN, i32::MAX] {
            let compiled = (executor.compile)(&kernel).expect("a kernel that compiles");
            let binding = Binding { cores: 1, sizes: vec![], grid: vec![], arrays: vec![vec![4], vec![4], vec![]] };
            let mut arrays = [ints(&[-9; 4]), ints(&[-9; 4])];
            let mut outputs: Vec<ArrayMut<'_>> =
                arrays.iter_mut().map(|a| ArrayMut { dtype: a.dtype, shape: &a.shape, bytes: &mut a.bytes }).collect();
            let outcome =
                compiled(&binding, &mut Args { inputs: &[], outputs: &mut outputs, scalars: &[at.into()], log: &mut to_stderr });
            assert!(matches!(outcome, Err(RunError::OutOfBounds { .. })), "{}: {outcome:?}", executor.name);
            // Nothing in range is touched, clamped or wrapped: what was there, or what a window starts with.
            let poison = Literal::poison(DType::I32);
            let untouched = arrays[0].elements().all(|e| e == Literal::from(-9) || e == poison);
            assert!(untouched, "{}: {:?}", executor.name, arrays[0]);
        }
    }
}

#[test]
fn arrays_are_checked_before_anything_runs() {
    let x = ints(&[1, 2, 3]);
    let at = [Literal::from(9)];
    for &executor in EXECUTORS {
        let check = |binding: &Binding, x: &Array, o: Array, scalars: &[Literal], code: &str| {
            let mut after = o.clone();
            let error = run_copy(executor, binding, x, &mut after, scalars).expect_err("refused");
            assert_eq!(error.code(), code, "{}: {error}", executor.name);
            assert_eq!(after, o, "{}: written", executor.name);
        };
        let good = copy_binding(3);
        let o = ints(&[-9; 3]);
        check(&good, &ints(&[1, 2]), o.clone(), &at, "R004");
        check(&good, &floats(&[3], [1.0; 3]), o.clone(), &at, "R004");
        check(&good, &Array { shape: vec![3], ..ints(&[1, 2]) }, o.clone(), &at, "R004");
        check(&good, &Array { shape: vec![1, 3], ..x.clone() }, o.clone(), &at, "R004");
        check(&good, &x, ints(&[-9; 4]), &at, "R004");
        check(&good, &x, Array { bytes: vec![0; 11], ..o.clone() }, &at, "R004");
        check(&good, &x, o.clone(), &[1.5f32.into()], "R004");
        check(&good, &x, o.clone(), &[], "R005");
        check(&Binding { sizes: vec![], ..good.clone() }, &x, o.clone(), &at, "R005");
        check(&Binding { grid: vec![2, 1], ..good.clone() }, &x, o.clone(), &at, "R005");
        check(&Binding { arrays: vec![vec![3], vec![3]], ..good.clone() }, &x, o.clone(), &at, "R005");
        check(&Binding { arrays: vec![vec![4], vec![3], vec![]], ..good.clone() }, &x, o.clone(), &at, "R004");
        check(&Binding { arrays: vec![vec![3, 1], vec![3], vec![]], ..good }, &x, o, &at, "R004");
    }
}

/// One product of [1, k] and [k, 1], at that precision.
fn product(executor: Executor, precision: &str, a: &[f32], b: &[f32]) -> f32 {
    let k = a.len();
    let text = format!(
        "
kernel @dot() {{
  in %a: vmem<1x{k}xf32> = [1, {k}] blocks [1, {k}] at () {{
    %za = const 0 : i32
    yield %za, %za
  }}
  in %b: vmem<{k}x1xf32> = [{k}, 1] blocks [{k}, 1] at () {{
    %zb = const 0 : i32
    yield %zb, %zb
  }}
  out %o: vmem<1x1xf32> = [1, 1] blocks [1, 1] at () {{
    %zo = const 0 : i32
    yield %zo, %zo
  }}
  body {{
    %z = const 0 : i32
    %x = load %a[%z, %z] : tile<1x{k}xf32>
    %y = load %b[%z, %z] : tile<{k}x1xf32>
    %p = dot %x, %y precision {precision} : tile<1x1xf32>
    store %p, %o[%z, %z]
  }}
}}"
    );
    let kernel = kernel(&text.replace(" precision default", ""));
    let compiled = (executor.compile)(&kernel).expect("a kernel that compiles");
    let binding = Binding { cores: 1, sizes: vec![], grid: vec![], arrays: vec![vec![1, k], vec![k, 1], vec![1, 1]] };
    let inputs = [floats(&[1, k], a.iter().copied()), floats(&[k, 1], b.iter().copied())];
    let outputs = run(&kernel, &compiled, &binding, &inputs, &[]).expect("in range");
    outputs[0].elements().next().and_then(Literal::as_f32).expect("one f32")
}

#[test]
fn precision_of_dot() {
    // A third has no end in binary: each precision keeps so many bits of it.
    let third = 1f32 / 3.0;
    for &executor in EXECUTORS {
        let error = |precision| (f64::from(product(executor, precision, &[third], &[third])) * 9.0 - 1.0).abs();
        assert!((1e-4..1e-2).contains(&error("default")), "{}: {}", executor.name, error("default"));
        assert!((1e-8..1e-4).contains(&error("high")), "{}: {}", executor.name, error("high"));
        assert!(error("highest") < 1.2e-7, "{}: {}", executor.name, error("highest"));
    }
}

/// What the body adds to `o` is the whole product, however much larger `o` is: 4096 times 1/32 beside 2^28.
#[test]
fn a_product_added_to_memory_is_whole() {
    let k = 4096;
    for (m, dtype, precision) in [8, 1].into_iter().flat_map(|m| {
        let all = [("f32", " precision highest"), ("f32", " precision high"), ("f32", ""), ("bf16", "")];
        all.map(|(dtype, precision)| (m, dtype, precision))
    }) {
        let map = "at () {\n    %Z = const 0 : i32\n    yield %Z, %Z\n  }";
        let maps = ["%za", "%zb", "%zo"].map(|z| map.replace("%Z", z));
        let kernel = kernel(&format!(
            "
kernel @added() {{
  in %a: vmem<{m}x{k}x{dtype}> = [{m}, {k}] blocks [{m}, {k}] {}
  in %b: vmem<{k}x32x{dtype}> = [{k}, 32] blocks [{k}, 32] {}
  out %o: vmem<{m}x32xf32> = [{m}, 32] blocks [{m}, 32] {}
  body {{
    %z = const 0 : i32
    %large = const 268435456.0 : f32
    %first = broadcast %large : tile<{m}x32xf32>
    store %first, %o[%z, %z]
    %x = load %a[%z, %z] : tile<{m}x{k}x{dtype}>
    %y = load %b[%z, %z] : tile<{k}x32x{dtype}>
    %p = dot %x, %y{precision} : tile<{m}x32xf32>
    %before = load %o[%z, %z] : tile<{m}x32xf32>
    %sum = add %before, %p : tile<{m}x32xf32>
    store %sum, %o[%z, %z]
  }}
}}",
            maps[0], maps[1], maps[2]
        ));
        let binding = Binding { cores: 1, sizes: vec![], grid: vec![], arrays: vec![vec![m, k], vec![k, 32], vec![m, 32]] };
        let of = if dtype == "f32" { DType::F32 } else { DType::Bf16 };
        let filled = |shape: &[usize], value: f32| Array::filled(shape, tpu_kernel::ir::eval::cast(of, value.into()));
        let inputs = [filled(&[m, k], 1.0), filled(&[k, 32], 1.0 / 32.0)];
        for &executor in EXECUTORS {
            let compiled = (executor.compile)(&kernel).expect("a kernel that compiles");
            let outputs = run(&kernel, &compiled, &binding, &inputs, &[]).expect("in range");
            for element in outputs[0].elements() {
                assert_eq!(element.as_f32(), Some(268_435_584.0), "{} {m} {dtype}{precision}", executor.name);
            }
        }
    }
}

#[test]
fn high_precision_keeps_infinities() {
    // The low halves of infinite operands would be inf - inf.
    for &executor in EXECUTORS {
        let dot = |a: &[f32], b: &[f32]| product(executor, "high", a, b);
        assert_eq!(dot(&[f32::INFINITY, 1.0], &[2.0, 1.5]), f32::INFINITY, "{}", executor.name);
        assert_eq!(dot(&[f32::NEG_INFINITY, 0.3], &[0.1, 0.7]), f32::NEG_INFINITY, "{}", executor.name);
        assert!(dot(&[f32::INFINITY, 1.0], &[0.0, 1.0]).is_nan(), "{}", executor.name);
        assert!(dot(&[f32::NAN, 1.0], &[0.0, 1.0]).is_nan(), "{}", executor.name);
    }
}

/// The bits of a byte beyond an element of 4 or 2 bits mean nothing to a reader; what is written has them extended.
#[test]
fn unused_bits_of_narrow_elements_are_ignored() {
    for dtype in DType::ALL.into_iter().filter(|d| d.bits() < 8) {
        let copy = kernel(&format!(
            "kernel @copy(m) {{
              grid i = m arbitrary
              in %x: vmem<1x{dtype}> = [m] blocks [1] at (%i) -> (%i)
              out %o: vmem<1x{dtype}> = [m] blocks [1] at (%i) -> (%i)
              out %q: vmem<1xf32> = [m] blocks [1] at (%i) -> (%i)
              body {{
                %z = const 0 : i32
                %t = load %x[%z] : tile<1x{dtype}>
                store %t, %o[%z]
                %f = cast %t : tile<1xf32>
                store %f, %q[%z]
              }}
            }}"
        ));
        let shape = vec![256];
        let x = Array { dtype, shape: shape.clone(), bytes: (0..=255).collect() };
        let binding =
            Binding { cores: 1, sizes: vec![256], grid: vec![256], arrays: vec![shape.clone(), shape.clone(), shape.clone()] };
        let clean = Array::new(dtype, &shape, x.elements());
        let values = Array::new(DType::F32, &shape, x.elements().map(|e| eval::cast(DType::F32, e)));
        for &executor in EXECUTORS {
            let compiled = (executor.compile)(&copy).expect("a kernel that compiles");
            let outputs = run(&copy, &compiled, &binding, std::slice::from_ref(&x), &[]).expect("a kernel that runs");
            assert_eq!(outputs, [clean.clone(), values.clone()], "{dtype} {}", executor.name);
        }
    }
}

/// Each function over 262,000 f32 of all magnitudes, in blocks that do not divide them.
#[test]
fn functions_have_the_same_bits_everywhere() {
    type Function = fn(f32) -> f32;
    let functions: [(&str, Function); 3] =
        [("exp", |x| exp(&mut Scalar, x)), ("tanh", |x| tanh(&mut Scalar, x)), ("rsqrt", |x| rsqrt(&mut Scalar, x))];
    let arguments: Vec<f32> = (0..=u32::MAX).step_by(16411).map(f32::from_bits).collect();
    let n = arguments.len();
    let x = floats(&[n], arguments.iter().copied());
    let binding = Binding { cores: 1, sizes: vec![n as i32], grid: vec![n.div_ceil(4093) as i32], arrays: vec![vec![n], vec![n]] };
    for (name, function) in functions {
        let kernel = kernel(&format!(
            "
kernel @function(n) {{
  grid i = ceildiv(n, 4093) parallel
  in %x: vmem<4093xf32> = [n] blocks [4093] at (%i) -> (%i)
  out %o: vmem<4093xf32> = [n] blocks [4093] at (%i) -> (%i)
  body {{
    %z = const 0 : i32
    %t = load %x[%z] : tile<4093xf32>
    %y = {name} %t : tile<4093xf32>
    store %y, %o[%z]
  }}
}}"
        ));
        for &executor in EXECUTORS {
            let compiled = (executor.compile)(&kernel).expect("a kernel that compiles");
            let outputs = run(&kernel, &compiled, &binding, std::slice::from_ref(&x), &[]).expect("in range");
            for (&x, got) in arguments.iter().zip(outputs[0].elements()) {
                assert!(same(Literal::from(function(x)), got), "{}: {name}({x:e}) is {got:?}", executor.name);
            }
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Whether there is a test of that name: `run/x.tpuir` or `file::function` (unit tests: by their module).
fn exists(name: &str) -> bool {
    let filetest = root().join("tests/filetests").join(name);
    let Some((file, function)) = name.split_once("::") else { return filetest.is_file() };
    let places = [
        format!("tests/tests/{file}.rs"),
        format!("tpu-kernel/tests/{file}.rs"),
        format!("tpu-kernel/src/{file}/tests.rs"),
        format!("tpu-device/tests/{file}.rs"),
    ];
    places.iter().any(|place| {
        let source = std::fs::read_to_string(root().join(place)).unwrap_or_default();
        source.contains(&format!("#[test]\nfn {function}()"))
    })
}

/// The names in the last column of each table of the document.
fn named_tests(document: &str) -> Vec<&str> {
    let rows = document.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| Choice"));
    let cells = rows.map(|row| row.trim_end_matches('|').rsplit_once('|').expect("two columns").1);
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn every_test_that_the_document_names_exists() {
    let document = std::fs::read_to_string(root().join("docs/semantics.md")).expect("the document");
    let names = named_tests(&document);
    let missing: Vec<&str> = names.iter().copied().filter(|name| !exists(name)).collect();
    assert!(missing.is_empty(), "docs/semantics.md names tests that do not exist: {missing:?}");
    let rows = document.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| Choice"));
    for row in rows {
        assert!(!named_tests(row).is_empty(), "a choice without a test: {row}");
    }
    assert!(!exists("run/nothing.tpuir") && !exists("semantics::nothing") && exists("semantics::precision_of_dot"));
}

/// More tiles than fit an address space are an error before the first of them is made.
#[test]
fn temporaries_that_no_host_has() {
    let mut w = Writer::new("huge", "huge.rs");
    for _ in 0..1 << 17 {
        w.filled(Literal::from_int(DType::U8, 1), &[1 << 28]);
    }
    let kernel = w.finish();
    let binding = Binding { cores: 1, sizes: vec![], grid: vec![], arrays: vec![] };
    let compiled = (EXECUTORS[0].compile)(&kernel).expect("the interpreter takes every kernel");
    let error = run(&kernel, &compiled, &binding, &[], &[]).unwrap_err();
    assert_eq!(error, RunError::OutOfMemory { bytes: 1 << 47 });
}
