//! Arguments of operations, and what shape inference needs to know of them.

use crate::Tensor;
use tpu_kernel::ir::DType;
use tpu_kernel::launch::Arg;

/// An argument without its elements: all that decides the shapes of the outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgSpec<'a> {
    /// An array.
    Array {
        /// Element type.
        dtype: DType,
        /// Shape, outermost dimension first.
        shape: &'a [usize],
    },
    /// A scalar.
    Scalar(DType),
}

impl<'a> ArgSpec<'a> {
    /// The element type and shape, of an array.
    pub fn array(&self) -> Option<(DType, &'a [usize])> {
        match *self {
            ArgSpec::Array { dtype, shape } => Some((dtype, shape)),
            ArgSpec::Scalar(_) => None,
        }
    }
}

impl<'a> From<&'a Tensor> for ArgSpec<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        ArgSpec::Array { dtype: tensor.dtype(), shape: tensor.shape() }
    }
}
impl<'a> From<Arg<'a, Tensor>> for ArgSpec<'a> {
    fn from(arg: Arg<'a, Tensor>) -> Self {
        match arg {
            Arg::Array(tensor) => tensor.into(),
            Arg::Scalar(scalar) => ArgSpec::Scalar(scalar.dtype()),
        }
    }
}
impl<'a> From<(DType, &'a [usize])> for ArgSpec<'a> {
    fn from((dtype, shape): (DType, &'a [usize])) -> Self {
        ArgSpec::Array { dtype, shape }
    }
}
impl<'a, const RANK: usize> From<(DType, &'a [usize; RANK])> for ArgSpec<'a> {
    fn from((dtype, shape): (DType, &'a [usize; RANK])) -> Self {
        ArgSpec::Array { dtype, shape }
    }
}
impl From<DType> for ArgSpec<'_> {
    fn from(scalar: DType) -> Self {
        ArgSpec::Scalar(scalar)
    }
}

/// A list of arguments: a tuple or an array of tensors and scalars, or a slice of [`Arg`].
///
/// ```
/// use tpu_device::{Arguments, Device, Tensor};
/// let device = Device::new("v5e")?;
/// let x = Tensor::zeros(&device, tpu_device::DType::F32, &[2])?;
/// assert_eq!((&x, 2.0f32, true).into_args().len(), 3);
/// assert_eq!([&x, &x].into_args().len(), 2);
/// assert_eq!([(&x).into(), 7.into()].as_slice().into_args().len(), 2);
/// # Ok::<(), tpu_device::DeviceError>(())
/// ```
pub trait Arguments<'a> {
    /// The arguments in order.
    fn into_args(self) -> Vec<Arg<'a, Tensor>>;
}

impl<'a> Arguments<'a> for Vec<Arg<'a, Tensor>> {
    fn into_args(self) -> Vec<Arg<'a, Tensor>> {
        self
    }
}
impl<'a> Arguments<'a> for &[Arg<'a, Tensor>] {
    fn into_args(self) -> Vec<Arg<'a, Tensor>> {
        self.to_vec()
    }
}
impl<'a, const N: usize> Arguments<'a> for &[Arg<'a, Tensor>; N] {
    fn into_args(self) -> Vec<Arg<'a, Tensor>> {
        self.to_vec()
    }
}
impl<'a, A: Into<Arg<'a, Tensor>>, const N: usize> Arguments<'a> for [A; N] {
    fn into_args(self) -> Vec<Arg<'a, Tensor>> {
        self.into_iter().map(Into::into).collect()
    }
}
impl<'a> Arguments<'a> for () {
    fn into_args(self) -> Vec<Arg<'a, Tensor>> {
        vec![]
    }
}

macro_rules! tuples {
    ($first:ident $($rest:ident)*) => {
        impl<'a, $first: Into<Arg<'a, Tensor>>, $($rest: Into<Arg<'a, Tensor>>),*> Arguments<'a> for ($first, $($rest,)*) {
            #[allow(non_snake_case)]
            fn into_args(self) -> Vec<Arg<'a, Tensor>> {
                let ($first, $($rest,)*) = self;
                vec![$first.into(), $($rest.into()),*]
            }
        }
        tuples!($($rest)*);
    };
    () => {};
}
tuples!(A B C D E F G H I J K L);
