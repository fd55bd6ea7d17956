//! Devices with each executor, tensors against the values they must hold, and errors taken apart.

use crate::executors::same;
use half::bf16;
use tpu_device::{Chip, Device, DeviceError, Element, Executor, Tensor};
use tpu_kernel::Error;
use tpu_kernel::exec::RunError;
use tpu_kernel::ir::Literal;
use tpu_kernel::launch::LaunchError;

/// A v5e with each executor, the oracle first. With `CHECKED_DEVICES=S` all their launches are checked under that seed: tests that
/// fail then show what is not clean.
pub fn devices() -> [Device; 2] {
    let builder = match std::env::var("CHECKED_DEVICES").ok().and_then(|seed| seed.parse::<u64>().ok()) {
        Some(seed) => Device::builder(Chip::V5E).checked(seed),
        None => Device::builder(Chip::V5E),
    };
    [Executor::Interpreter, Executor::Cranelift].map(|executor| builder.executor(executor).build())
}

/// An element type whose values can be made from a count.
pub trait Counted: Element {
    /// `n`, rounded to the type; of bool, whether it is not 0.
    fn counted(n: i32) -> Self;

    /// What memory that nothing wrote reads as.
    fn poison() -> Self;
}

impl Counted for f32 {
    fn counted(n: i32) -> f32 {
        n as f32
    }
    fn poison() -> f32 {
        f32::NAN
    }
}
impl Counted for bf16 {
    fn counted(n: i32) -> bf16 {
        bf16::from_f32(n as f32)
    }
    fn poison() -> bf16 {
        bf16::NAN
    }
}
impl Counted for i32 {
    fn counted(n: i32) -> i32 {
        n
    }
    fn poison() -> i32 {
        i32::MIN
    }
}
impl Counted for bool {
    fn counted(n: i32) -> bool {
        n != 0
    }
    fn poison() -> bool {
        true
    }
}

/// A tensor of these elements.
///
/// # Panics
/// Where the shape does not fit.
#[track_caller]
pub fn tensor<T: Element>(device: &Device, values: &[T], dims: &[usize]) -> Tensor {
    Tensor::from_slice(device, values, dims).unwrap()
}

/// The tensor whose element at each place is `of` the place, counted in row-major order.
///
/// # Panics
/// Where the device is full.
#[track_caller]
pub fn made<T: Element>(device: &Device, dims: &[usize], of: impl Fn(usize) -> T) -> Tensor {
    let values: Vec<T> = (0..dims.iter().product()).map(of).collect();
    tensor(device, &values, dims)
}

/// The elements of an array of that shape, counted.
pub fn counted(shape: &[usize]) -> Vec<f32> {
    (0..shape.iter().product()).map(|at| at as f32).collect()
}

/// Those elements as a tensor.
///
/// # Panics
/// Where the device is full.
#[track_caller]
pub fn array(device: &Device, shape: &[usize]) -> Tensor {
    tensor(device, &counted(shape), shape)
}

/// The function of each element.
pub fn of(x: &[f32], f: impl Fn(f32) -> f32) -> Vec<f32> {
    x.iter().map(|&x| f(x)).collect()
}

/// Asserts a tensor's shape and its elements, bit for bit; NaN is NaN.
///
/// # Panics
/// Where they differ, with the first place.
#[track_caller]
pub fn expect<T: Element + std::fmt::Debug>(got: &Tensor, dims: &[usize], want: &[T]) {
    assert_eq!(got.shape(), dims, "shape");
    let elements = got.to_vec::<T>().unwrap();
    assert_eq!(elements.len(), want.len());
    for (at, (&got_at, &want_at)) in elements.iter().zip(want).enumerate() {
        let (a, b): (Literal, Literal) = (got_at.into(), want_at.into());
        assert!(same(a, b), "element {at} of {dims:?} by {:?}: got {got_at:?}, want {want_at:?}", got.device().executor());
    }
}

/// The kernel error of a launch that failed.
///
/// # Panics
/// Where it did not, or with an error of the runtime.
#[track_caller]
pub fn kernel_error<T: std::fmt::Debug>(result: Result<T, DeviceError>) -> Error {
    let error = result.unwrap_err();
    error.kernel().unwrap_or_else(|| panic!("not an error of a kernel: {error}")).clone()
}

/// The error of a launch that was refused.
///
/// # Panics
/// As [`kernel_error`], and for any other kind.
#[track_caller]
pub fn refused<T: std::fmt::Debug>(result: Result<T, DeviceError>) -> LaunchError {
    match kernel_error(result) {
        Error::Launch(error) => error,
        other => panic!("not refused: {other}"),
    }
}

/// The error of a launch that failed while it ran.
///
/// # Panics
/// As [`kernel_error`], and for any other kind.
#[track_caller]
pub fn failed<T: std::fmt::Debug>(result: Result<T, DeviceError>) -> RunError {
    match kernel_error(result) {
        Error::Run(error) | Error::Checked { error, .. } => error,
        other => panic!("not a failure while running: {other}"),
    }
}
