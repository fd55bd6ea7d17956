//! What a reference function sees: the arrays and scalars of one launch, as numbers.

use super::data;
use crate::Tensor;
use tpu_kernel::ir::{DType, Literal, Precision};

/// A function that computes the outputs of a launch by other means.
pub(super) type Reference = Box<dyn Fn(&Call) -> Result<Vec<Vec<f64>>, String> + Send + Sync>;

/// One launch of a kernel.
#[derive(Clone, Debug)]
pub struct Call {
    pub(super) arrays: Vec<(String, Array)>,
    pub(super) scalars: Vec<(String, Literal)>,
    pub(super) sizes: Vec<(String, usize)>,
    pub(super) precision: Precision,
}

/// An input array. Every element type's numbers are numbers of f64.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The element type.
    pub dtype: DType,
    /// The shape, outermost dimension first.
    pub shape: Vec<usize>,
    /// The elements in row-major order; a bool is 0 or 1.
    pub values: Vec<f64>,
}

impl Array {
    pub(super) fn of(tensor: &Tensor) -> Array {
        Array { dtype: tensor.dtype(), shape: tensor.shape().to_vec(), values: data::values(tensor) }
    }

    /// A number of f32 rounded as a store into elements of this array's type rounds it; an integer wraps.
    ///
    /// ```
    /// use tpu_device::{DType, tpuk::Array};
    /// let array = |dtype| Array { dtype, shape: vec![0], values: vec![] };
    /// assert_eq!(array(DType::Bf16).stored(1.01), 1.0078125);
    /// assert_eq!(array(DType::I8).stored(200.0), -56.0);
    /// ```
    pub fn stored(&self, value: f64) -> f64 {
        if self.dtype.is_integer() {
            let (low, high) = self.dtype.range();
            let (low, count) = (low as f64, (high - low + 1) as f64);
            return low + (value - low).rem_euclid(count);
        }
        data::number(Literal::from_f64(self.dtype, value))
    }
}

impl Call {
    /// The input of that name.
    ///
    /// # Errors
    /// There is none.
    pub fn array(&self, name: &str) -> Result<&Array, String> {
        find(&self.arrays, name).ok_or_else(|| format!("the kernel has no input `{name}`"))
    }

    /// The scalar of that name; a bool is 0 or 1.
    ///
    /// # Errors
    /// There is none.
    pub fn scalar(&self, name: &str) -> Result<f64, String> {
        find(&self.scalars, name).map(|&value| data::number(value)).ok_or_else(|| format!("the kernel has no scalar `{name}`"))
    }

    /// The array size of that name.
    ///
    /// # Errors
    /// There is none.
    pub fn size(&self, name: &str) -> Result<usize, String> {
        find(&self.sizes, name).copied().ok_or_else(|| format!("the kernel has no size `{name}`"))
    }

    /// The precision of products that do not name their own.
    pub fn precision(&self) -> Precision {
        self.precision
    }
}

fn find<'a, T>(list: &'a [(String, T)], name: &str) -> Option<&'a T> {
    list.iter().find(|(n, _)| n == name).map(|(_, value)| value)
}
