//! Transformations that cannot be: every code, with the names, the line and the advice.

use half::bf16;
use tpu_device::{Arg, DType, Device, DeviceError, Tensor};
use tpu_kernel::diagnose::render;
use tpu_kernel::ir::{Builder, Kernel, Loc};
use tpu_kernel::launch::{Config, Launchable};
use tpu_kernel::prelude::*;
use tpu_kernel::transform::TransformError;
use tpu_kernel::{BuildFault, Error};
use tpu_tests::devices::{devices, failed, kernel_error, made, refused};

#[tpu_kernel(grid(i: n / B))]
fn add<T: Number, B: Dim>(
    #[block([n] at (i))] x: In<T, (B,)>,
    #[block([n] at (i))] y: In<T, (B,)>,
    #[block([n] at (i))] o: Out<T, (B,)>,
    #[scratch] sum: Vmem<T, (B,)>,
    scale: Scalar<f32>,
) {
    sum.store(x.load() + y.load());
    o.store(sum.load() * scale.cast::<T>());
}

/// The line on which a kernel of this file declares an operand.
fn declared(kernel: &str, operand: &str) -> u32 {
    let mut lines = include_str!("transform_errors.rs").lines().zip(1..);
    let head = format!("fn {kernel}");
    let operand = format!("] {operand}");
    let after = lines.find(|(line, _)| line.starts_with(&head)).expect("the kernel");
    let mut lines = std::iter::once(after).chain(lines);
    lines.find(|(line, _)| line.contains(&operand) || line.trim_start().starts_with(&operand[2..])).expect("the operand").1
}

fn kernel() -> add {
    add().b(128).allow(Allow::BlockShape)
}

fn staged(kernel: &impl Launchable) -> Result<Kernel, Error> {
    kernel.stage(&[DType::F32; 2])
}

/// The error, which shows its code, the line where one is given, and advice where there is some.
#[track_caller]
fn shown<K>(result: Result<K, Error>, code: &str, line: Option<u32>) -> TransformError {
    let Err(error) = result else { panic!("nothing is wrong") };
    assert_eq!(error.code(), code, "{error}");
    let text = render(&error);
    assert!(text.contains(&format!("error[{code}]")), "{text}");
    let Error::Transform(error) = error else { panic!("{error}") };
    if let Some(line) = line {
        let source = include_str!("transform_errors.rs").lines().nth(line as usize - 1).unwrap();
        assert!(text.contains(source.trim()) && text.contains(&format!("{}:{line}:", file!())), "{line}: {text}");
    }
    if let Some(help) = error.help() {
        assert!(text.contains(&help), "{text}");
    }
    error
}

#[test]
fn t001_no_operand_of_that_name() {
    let error = shown(staged(&kernel().batched(["x", "z", "o"])), "T001", Some(line!()));
    let text = "kernel `add` has no operand `z` for `batched`; it has `x`, `y`, `o`, `sum`, `scale`";
    assert_eq!(error.to_string(), text);
    shown(staged(&kernel().map_input("z", |x: Each<f32>| x)), "T001", Some(line!()));
    shown(staged(&kernel().map_output("z", |x: Each<f32>| x)), "T001", Some(line!()));
    shown(kernel().batched(["z"]).cost(&[(DType::F32, &[8]), (DType::F32, &[8])]), "T001", Some(line!()));
}

#[test]
fn t002_operands_of_another_role() {
    let error = shown(staged(&kernel().batched(["x", "sum", "o"])), "T002", Some(declared("add", "sum:")));
    assert_eq!(error.to_string(), "`batched` takes inputs and outputs; operand `sum` is scratch");
    shown(staged(&kernel().batched(["scale", "o"])), "T002", Some(declared("add", "scale:")));
    shown(staged(&kernel().map_input("o", |x: Each<f32>| x)), "T002", Some(declared("add", "o:")));
    shown(staged(&kernel().map_output("x", |x: Each<f32>| x)), "T002", Some(declared("add", "x:")));
}

#[test]
fn t003_an_operand_twice() {
    shown(staged(&kernel().batched(["x", "o", "x"])), "T003", Some(line!()));
}

#[test]
fn t004_an_output_that_is_not_batched() {
    let error = shown(staged(&kernel().batched(["x", "y"])), "T004", Some(declared("add", "o:")));
    assert_eq!(error.to_string(), "output `o` is not batched: each slice of the batch would write the same array");
    shown(staged(&kernel().batched::<&str>([])), "T004", Some(declared("add", "o:")));
}

#[test]
fn t005_no_input_is_batched() {
    shown(staged(&kernel().batched(["o"])), "T005", Some(line!()));
}

#[tpu_kernel]
fn full(
    #[block([2, 2, 8, n] at (0, 0, 0, 0))] x: In<f32, (D<2>, D<2>, D<8>, D<128>)>,
    #[block([n] at (0))] o: Out<f32, (D<128>,)>,
) {
    o.store(x.load().sum(Axis::<0>).sum(Axis::<1>).sum(Axis::<2>).reshape::<(D<128>,)>());
}

#[test]
fn t006_no_more_dimensions() {
    let error = shown(full().batched(["x", "o"]).stage(&[DType::F32]), "T006", Some(declared("full", "x:")));
    assert_eq!(error.to_string(), "operand `x` has rank 4 already: a batched array would have rank 5, the limit is 4");
    // Two batches of three are too many for a vector, too; two are not.
    let twice = kernel().batched(["x", "y", "o"]).batched(["x", "y", "o"]);
    staged(&twice).unwrap();
    shown(staged(&twice.batched(["x", "o"]).batched(["x", "o"])), "T006", Some(declared("add", "x:")));
}

#[test]
fn t007_functions_that_see_more_than_an_element() {
    let whole = kernel().map_input("x", |x: Each<f32>| x - x.sum(Lanes));
    let error = shown(staged(&whole), "T007", Some(line!() - 1));
    assert_eq!(error.to_string(), "the function for operand `x` is not elementwise: it uses `reduce`");
    let place = kernel().map_output("o", |x: Each<f32>| x + iota::<(One, One)>(Lanes).cast::<f32>());
    shown(staged(&place), "T007", Some(line!() - 1));
    let step = kernel().map_output("o", |x: Each<f32>| x + program_id(0).cast::<f32>());
    shown(staged(&step), "T007", Some(line!() - 1));
    let product = kernel().map_output("o", |x: Each<f32>| dot(x, x));
    shown(staged(&product), "T007", Some(line!() - 1));
    // One draw would be one number for all elements.
    let noise = kernel().map_output("o", |x: Each<f32>| x + Key::new(1).uniform::<(One, One)>());
    shown(staged(&noise), "T007", Some(line!() - 1));
    let turned = kernel().map_output("o", |x: Each<f32>| x.t());
    shown(staged(&turned), "T007", Some(line!() - 1));
    let moved = kernel().map_output("o", |x: Each<f32>| x.reshape::<(One,)>().reshape());
    shown(staged(&moved), "T007", Some(line!() - 1));
}

/// A function that cannot be recorded is a kernel that cannot be built.
#[test]
fn functions_that_are_wrong() {
    let faults = |kernel: add, code: &str| match staged(&kernel) {
        Err(Error::Build { kernel, faults }) => {
            assert_eq!(kernel, "function for x");
            assert_eq!(faults.iter().map(BuildFault::code).collect::<Vec<_>>(), [code]);
            faults[0].loc().line
        }
        other => panic!("{other:?}"),
    };
    let foreign = Tile::<f32, (One, One)>::full(1.0);
    let line = faults(kernel().map_input("x", |x: Each<f32>| x + foreign), "B001");
    assert_eq!(line, line!() - 1);
    let line = faults(kernel().map_input("x", |_: Each<f32>| -> Each<f32> { panic!("a panic of the test") }), "B004");
    assert_eq!(line, line!() - 1);
    // The device is told when it is registered.
    let device = Device::new("v5e").unwrap();
    let error = device.register(kernel().map_input("x", |x: Each<f32>| x.max(Lanes))).unwrap_err();
    assert_eq!(error.code(), "T007");
    assert!(device.operations().is_empty());
    // The first error is the one that is shown.
    let two = kernel().map_input("x", |x: Each<f32>| x.max(Lanes)).map_output("o", |x: Each<f32>| x.t());
    assert!(staged(&two).unwrap_err().to_string().contains("`x`"));
}

#[test]
fn t008_a_function_that_gives_what_the_input_does_not_take() {
    let error = shown(staged(&kernel().map_input("x", |x: Each<f32>| x.gt(0.0))), "T008", Some(line!()));
    assert!(error.to_string().starts_with("the function for input `x` gives bool, the kernel takes f32, "), "{error}");
    let error = shown(staged(&kernel().map_input("y", |x: Each<f32>| x.cast::<bf16>())), "T008", Some(line!()));
    assert_eq!(error.to_string(), "the function for input `y` gives bf16, the kernel takes f32, as operand `x` does");
    // Between two functions.
    let chain = kernel().map_input("x", |x: Each<f32>| x).map_input("x", |x: Each<f32>| x.cast::<bf16>());
    let error = shown(staged(&chain), "T008", Some(line!() - 1));
    assert_eq!(error.to_string(), "the function for input `x` gives bf16, the kernel takes f32, as the next function does");
    // Of arrays that the function does not take, the launch is refused.
    for device in devices() {
        let x = made(&device, &[128], |at| at as i32);
        let error = refused(kernel().map_input("x", |x: Each<f32>| x.cast::<i32>()).launch(&device, &x, &x, 1.0));
        assert_eq!((error.code(), error.loc().line), ("L005", declared("add", "x:")));
        assert_eq!(error.to_string(), "operand `x` takes elements of f32, as the function on it does, got i32");
        let args: [Arg<'_, Tensor>; 3] = [1.0.into(), (&x).into(), 1.0.into()];
        device.register(kernel().map_input("x", |x: Each<i32>| x.cast::<f32>())).unwrap();
        assert_eq!(device.call("add", args).unwrap_err().to_string(), "operand `x` takes an array of i32, got a scalar of f32");
    }
}

#[test]
fn t009_a_function_that_does_not_take_what_the_output_gives() {
    let error = shown(staged(&kernel().map_output("o", |x: Each<i32>| x + 1)), "T009", Some(line!()));
    assert_eq!(error.to_string(), "the function for output `o` takes i32, the kernel writes f32");
    let chain = kernel().map_output("o", |x: Each<f32>| x.gt(0.0)).map_output("o", |x: Each<f32>| x);
    shown(staged(&chain), "T009", Some(line!() - 1));
}

#[tpu_kernel(grid(i: n / 128, j: 4))]
fn accumulated(#[block([n] at (i))] x: In<f32, (D<128>,)>, #[block([n] at (i))] mut o: Out<f32, (D<128>,)>) {
    if j == 0 {
        o.fill(0.0);
    }
    o += x.load(); // here
}

#[test]
fn t010_an_output_that_is_read_back() {
    let line = include_str!("transform_errors.rs").lines().position(|l| l.ends_with("// here")).unwrap() as u32 + 1;
    let kernel = accumulated().map_output("o", |x: Each<f32>| x * 2.0);
    let error = shown(kernel.stage(&[DType::F32]), "T010", Some(line));
    assert!(error.to_string().starts_with("output `o` is read back"), "{error}");
}

#[tpu_kernel(grid(i: n / B))]
fn add_grad<B: Dim>(
    #[block([n] at (i))] d_o: In<f32, (B,)>,
    #[block([n] at (i))] d_x: Out<f32, (B,)>,
    #[block([n] at (i))] d_y: Out<f32, (B,)>,
    scale: Scalar<f32>,
) {
    d_x.store(d_o.load() * scale);
    d_y.store(d_o.load() * scale);
}

fn grad() -> add_grad {
    add_grad().b(128).allow(Allow::BlockShape)
}

#[test]
fn t011_a_function_that_the_backward_kernel_knows_nothing_of() {
    let error = shown(staged(&kernel().with_backward(grad()).map_output("o", |x: Each<f32>| x * 2.0)), "T011", Some(line!()));
    assert_eq!(error.to_string(), "kernel `add` has a backward kernel, which knows nothing of a function for `o`");
    shown(staged(&kernel().with_backward(grad()).map_input("x", |x: Each<f32>| x * 2.0)), "T011", Some(line!()));
    // Before it, the backward kernel is that of the whole.
    staged(&kernel().map_output("o", |x: Each<f32>| x * 2.0).with_backward(grad())).unwrap();
}

#[tpu_kernel(grid(i: n / 128))]
fn takes_too_much(
    #[block([n] at (i))] d_o: In<f32, (D<128>,)>,
    #[block([n] at (i))] sum: In<f32, (D<128>,)>,
    #[block([n] at (i))] d_x: Out<f32, (D<128>,)>,
) {
    d_x.store(d_o.load() * sum.load());
}

#[tpu_kernel(grid(i: n / 128))]
fn gives_too_much(#[block([n] at (i))] d_o: In<f32, (D<128>,)>, #[block([n] at (i))] d_scale: Out<f32, (D<128>,)>) {
    d_scale.store(d_o.load());
}

#[tpu_kernel(grid(i: n / 128))]
fn gives_another_type(#[block([n] at (i))] x: In<i32, (D<128>,)>, #[block([n] at (i))] d_x: Out<f32, (D<128>,)>) {
    d_x.store(x.load().cast::<f32>());
}

#[tpu_kernel(grid(i: n / 128))]
fn takes_a_tensor(#[block([n] at (i))] scale: In<f32, (D<128>,)>, #[block([n] at (i))] d_x: Out<f32, (D<128>,)>) {
    d_x.store(scale.load());
}

#[tpu_kernel(grid(i: n / 8))]
fn gives_a_matrix(
    #[block([n, 128] at (i, 0))] d_o: In<f32, (D<8>, D<128>)>,
    #[block([n, 128] at (i, 0))] d_x: Out<f32, (D<8>, D<128>)>,
) {
    d_x.store(d_o.load());
}

/// A forward kernel whose element types are written down.
#[tpu_kernel(grid(i: n / 128))]
fn twice(#[block([n] at (i))] x: In<f32, (D<128>,)>, #[block([n] at (i))] o: Out<f32, (D<128>,)>) {
    o.store(x.load() * 2.0);
}

#[test]
fn t012_to_t015_backward_kernels_that_do_not_fit() {
    let device = Device::new("v5e").unwrap();
    let error = shown(staged(&kernel().with_backward(takes_too_much())), "T012", Some(declared("takes_too_much", "sum:")));
    assert_eq!(
        error.to_string(),
        "backward kernel `takes_too_much` takes `sum`, which is neither an operand of `add` nor the gradient of an output; \
         it may take `x`, `y`, `scale`, `o`, `d_o`"
    );
    let error = shown(staged(&kernel().with_backward(gives_too_much())), "T013", Some(declared("gives_too_much", "d_scale:")));
    assert_eq!(
        error.to_string(),
        "backward kernel `gives_too_much` gives `d_scale`, which is not the gradient of an input of `add`; it may give `d_x`, `d_y`"
    );
    let error =
        shown(twice().with_backward(gives_another_type()).stage(&[DType::F32]), "T014", Some(declared("gives_another_type", "x:")));
    assert_eq!(
        error.to_string(),
        "`x` of backward kernel `gives_another_type` is an array of i32, `x` of `twice` is an array of f32"
    );
    let error = shown(staged(&kernel().with_backward(takes_a_tensor())), "T014", Some(declared("takes_a_tensor", "scale:")));
    assert_eq!(
        error.to_string(),
        "`scale` of backward kernel `takes_a_tensor` is an array of f32, `scale` of `add` is a scalar of f32"
    );
    let error =
        shown(twice().with_backward(gives_a_matrix()).stage(&[DType::F32]), "T015", Some(declared("gives_a_matrix", "d_o:")));
    assert_eq!(error.to_string(), "`d_o` of backward kernel `gives_a_matrix` has rank 2, `o` of `twice` has rank 1");

    // Registration says so, too.
    let error = device.register(kernel().with_backward(takes_too_much())).unwrap_err();
    assert_eq!(error.code(), "T012");
    assert!(error.render().contains("error[T012]"));
    // Of a batched kernel the gradient has one more dimension; of one with a function on it, another type.
    let batched = twice().batched(["x", "o"]);
    shown(batched.clone().with_backward(takes_too_much()).stage(&[DType::F32]), "T015", Some(declared("takes_too_much", "d_o:")));
    shown(
        twice().map_input("x", |x: Each<i32>| x.cast::<f32>()).with_backward(gives_a_matrix()).stage(&[DType::I32]),
        "T015",
        None,
    );
    let mapped = twice().map_input("x", |x: Each<i32>| x.cast::<f32>());
    shown(mapped.with_backward(gives_another_type()).stage(&[DType::I32]), "T014", Some(declared("gives_another_type", "x:")));
}

/// Element types and shapes that only a launch knows.
#[tpu_kernel(grid(i: n / 128))]
fn wide_grad<T: Float>(#[block([n] at (i))] d_o: In<T, (D<128>,)>, #[block([n] at (i))] d_x: Out<f32, (D<128>,)>) {
    d_x.store(d_o.load().cast::<f32>());
}

#[tpu_kernel(grid(i: n / 128))]
fn long_grad<T: Float>(#[block([n] at (i))] d_o: In<T, (D<128>,)>, #[block([2 * n] at (i))] d_x: Out<T, (D<256>,)>) {
    d_x.store_at((0,), d_o.load());
    d_x.store_at((128,), d_o.load());
}

#[tpu_kernel(grid(i: n / 128))]
fn same<T: Float>(#[block([n] at (i))] x: In<T, (D<128>,)>, #[block([n] at (i))] o: Out<T, (D<128>,)>) {
    o.store(x.load());
}

#[test]
fn gradients_that_do_not_fit_their_arrays() {
    for device in devices() {
        let x = made(&device, &[256], |at| bf16::from_f32(at as f32));
        let kernel = || same().allow(Allow::BlockShape);
        let launched = |kernel: same| {
            device.register_as("same", kernel).unwrap();
            device.backward("same", [&x], [&x], [&x])
        };
        let before = device.stats().launches;
        let error = launched(kernel().with_backward(wide_grad().allow(Allow::BlockShape)));
        let error = shown(Err::<(), _>(kernel_error(error)), "T014", None);
        assert_eq!(error.to_string(), "`d_x` of backward kernel `wide_grad` is an array of f32, `x` of `same` is an array of bf16");
        let other = Device::new("v5e").unwrap();
        let y = x.to_device(&other).unwrap();
        other.register(kernel().with_backward(long_grad().allow(Allow::BlockShape).allow(Allow::Unwritten))).unwrap();
        let error = shown(Err::<(), _>(kernel_error(other.backward("same", [&y], [&y], [&y]))), "T016", None);
        assert_eq!(error.to_string(), "backward kernel `long_grad` gives `d_x` with shape [512], `x` of `same` has shape [256]");
        assert_eq!((device.stats().launches, other.stats().launches), (before, 0), "nothing ran");
    }
}

/// A kernel made by hand, which does not say what it takes.
struct Undeclared(Config);

impl Launchable for Undeclared {
    fn name(&self) -> &'static str {
        "undeclared"
    }
    fn path(&self) -> &'static str {
        "transform_errors::undeclared"
    }
    fn config(&self) -> &Config {
        &self.0
    }
    fn stage(&self, _: &[DType]) -> Result<Kernel, Error> {
        Builder::new("undeclared", Loc::UNKNOWN)
            .finish()
            .map_err(|fault| Error::Build { kernel: "undeclared".into(), faults: vec![BuildFault::Rule(fault)] })
    }
}

#[test]
fn t017_a_backward_kernel_that_declares_nothing() {
    shown(twice().with_backward(Undeclared(Config::default())).stage(&[DType::F32]), "T017", None);
}

/// A fault of the backward kernel's own transformations is one of the pair.
#[test]
fn a_backward_kernel_with_an_error_of_its_own() {
    let wrong = grad().map_input("d_o", |x: Each<f32>| x.t());
    shown(staged(&kernel().with_backward(wrong)), "T007", None);
}

#[test]
fn gradients_of_operations_that_have_none() {
    for device in devices() {
        let x = made(&device, &[256], |at| at as f32);
        device.register(twice().allow(Allow::BlockShape)).unwrap();
        let error = device.backward("twice", [&x], [&x], [&x]).unwrap_err();
        assert_eq!(error.code(), "D019");
        assert_eq!(device.backward("thrice", [&x], [], []).unwrap_err().code(), "D008");

        device.register(kernel().with_backward(grad())).unwrap();
        let args: [Arg<'_, Tensor>; 3] = [(&x).into(), (&x).into(), 2.0.into()];
        let short = made(&device, &[255], |at| at as f32);
        let error = |outputs: &[&Tensor], gradients: &[&Tensor]| {
            device.backward("add", args, outputs.iter().copied(), gradients.iter().copied()).unwrap_err()
        };
        let message = |e: DeviceError| (e.code(), e.to_string());
        assert_eq!(
            message(error(&[&x], &[&short])),
            ("D020", "the backward kernel of `add` takes the gradients f32[256], got f32[255]".to_string())
        );
        assert_eq!(
            message(error(&[], &[&x])),
            ("D020", "the backward kernel of `add` takes the outputs f32[256], got none".to_string())
        );
        let elsewhere = x.to_device(&Device::new("v5e").unwrap()).unwrap();
        assert_eq!(error(&[&x], &[&elsewhere]).code(), "D007");
        assert!(device.backward("add", args, [&x], [&x]).is_ok());
    }
}

#[tpu_kernel(grid(i: n / 8))]
fn beyond(#[block([n, 128] at (i, 0))] x: In<f32, (D<8>, D<128>)>, #[block([n, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>) {
    o.store(x.load());
    o.store_at((i * 4, 0), x.load_at::<(D<4>, D<128>)>((0, 0)));
}

/// An error of a slice names the step of the batch; a block outside is found before anything runs.
#[test]
fn errors_of_a_slice() {
    for device in devices() {
        let x = made(&device, &[2, 24, 128], |at| at as f32);
        let error = failed(beyond().batched(["x", "o"]).launch(&device, &x));
        assert_eq!(error.code(), "R001");
        assert!(error.to_string().ends_with("at grid step [0, 2]"), "{error}");

        // A vector becomes a row: the hardware's rule for blocks of matrices holds.
        let x = made(&device, &[2, 256], |at| at as f32);
        let error = refused(twice().batched(["x", "o"]).launch(&device, &x));
        assert_eq!(error.code(), "L012");
        assert!(twice().batched(["x", "o"]).allow(Allow::BlockShape).launch(&device, &x).is_ok());
        // Arrays that do not have the dimension, or disagree about it.
        let error = refused(twice().batched(["x", "o"]).launch(&device, &made(&device, &[256], |at| at as f32)));
        assert_eq!(error.to_string(), "operand `x` has rank 2 ([batch, n]), got an array of rank 1 with shape [256]");
        let y = made(&device, &[3, 256], |at| at as f32);
        let error = refused(kernel().batched(["x", "y", "o"]).launch(&device, &x, &y, 1.0));
        assert_eq!(error.to_string(), "size `batch` is 2 in operand `x` and 3 in operand `y`");
    }
}
