//! The border between kernels and a runtime.
//!
//! Rules: tpu-kernel knows no runtime. `#[tpu_kernel]` makes a type that is [`Launchable`]; a runtime
//! implements [`Target`] and decides where arrays live, what is cached and what executes.

use crate::exec::Checking;
use crate::ir::{DType, Kernel, Literal, Loc, Precision};
use crate::transform::Transforms;
use crate::{Error, F4E2M1, F8E4M3, F8E4M3B11, F8E5M2, I2, I4, U4, bf16, f16};

/// What a user chose for one launch of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Config {
    /// Block sizes by the name of the type parameter (`BM`); a name may be missing.
    pub blocks: Vec<(&'static str, usize)>,
    /// Element types by the name of the type parameter (`T`), where no input binds them.
    pub elements: Vec<(&'static str, DType)>,
    /// Array sizes by name, where no input binds them. Not part of the compiled kernel.
    pub sizes: Vec<(&'static str, usize)>,
    /// The precision of every `dot` that does not name its own.
    pub precision: Precision,
    /// Rules that the launch may break.
    pub allow: Vec<Allow>,
    /// What the kernel is transformed by, and its backward kernel.
    pub transforms: Transforms,
    /// Whether and how the launch is checked. Not part of the kernel.
    pub checking: Option<Checking>,
}

/// A rule that a launch may break where its author insists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Allow {
    /// Block shapes that do not fit the chip's tiles.
    BlockShape,
    /// Outputs with blocks that no step of the grid visits: they are poison (NaN, `i32::MIN`, true).
    Unwritten,
    /// Products of element types that the chip has not.
    DotTypes,
}

/// A kernel with a configuration: what `#[tpu_kernel]` makes.
pub trait Launchable: Send + Sync {
    /// The name of the kernel's function.
    fn name(&self) -> &'static str;

    /// Where the kernel is: module and name. With [`identity`](Self::identity), no other kernel of the program has it.
    fn path(&self) -> &'static str;

    /// A number that tells kernels of one path apart: several functions may each define a kernel of one name.
    /// The same in one run of the program, not from run to run.
    fn identity(&self) -> usize {
        0
    }

    /// What the user chose.
    fn config(&self) -> &Config;

    /// What a launch takes, in order: inputs and scalars. A runtime checks arguments against it before it
    /// builds the kernel; `None` where only the built kernel knows.
    fn arguments(&self) -> Option<&'static [Argument]> {
        None
    }

    /// What a launch gives, in order, as the kernel declares it; `None` where only the built kernel knows.
    fn outputs(&self) -> Option<&'static [Argument]> {
        None
    }

    /// What a launch chooses by name; `None` where only the built kernel knows.
    fn parameters(&self) -> Option<&'static Parameters> {
        None
    }

    /// Builds the kernel for input arrays of these element types, transformed as the configuration says. Depends on nothing but the
    /// configuration (without its sizes) and the types: a runtime may keep the result under that key.
    fn stage(&self, inputs: &[DType]) -> Result<Kernel, Error>;
}

/// An input, scalar or output of a kernel, as it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// Whether it is a scalar; else an array.
    pub scalar: bool,
    /// Its element type, where it is not a type parameter.
    pub dtype: Option<DType>,
    /// The type parameter that is its element type.
    pub parameter: Option<&'static str>,
    /// The rank of its array; of a scalar 0.
    pub rank: usize,
    /// Where it is declared.
    pub loc: Loc,
}

/// The names that a kernel's configuration may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Block sizes: `BM`.
    pub blocks: &'static [&'static str],
    /// Element types: `T`.
    pub elements: &'static [&'static str],
    /// Array sizes, as the kernel declares them: `m`.
    pub sizes: &'static [&'static str],
}

/// An argument of a launch: inputs and scalars in the order of the kernel's parameters.
#[derive(Debug)]
pub enum Arg<'a, T> {
    /// An array.
    Array(&'a T),
    /// A scalar.
    Scalar(Literal),
}

impl<T> Clone for Arg<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Arg<'_, T> {}

impl<'a, T> From<&'a T> for Arg<'a, T> {
    fn from(array: &'a T) -> Arg<'a, T> {
        Arg::Array(array)
    }
}
impl<T> From<Literal> for Arg<'_, T> {
    fn from(scalar: Literal) -> Self {
        Arg::Scalar(scalar)
    }
}

macro_rules! scalars {
    ($($ty:ty),+ $(,)?) => { $(
        impl<T> From<$ty> for Arg<'_, T> {
            fn from(scalar: $ty) -> Self {
                Arg::Scalar(scalar.into())
            }
        }
    )+ };
}
scalars!(f32, bf16, f16, F8E4M3, F8E5M2, F8E4M3B11, F4E2M1, i32, i16, i8, I4, I2, u32, u16, u8, U4, bool);

/// A runtime that launches kernels.
pub trait Target {
    /// Its arrays.
    type Tensor;
    /// Its errors.
    type Error;

    /// Runs the kernel and returns its outputs, in the order of the kernel's parameters.
    fn launch(&self, kernel: &dyn Launchable, args: &[Arg<'_, Self::Tensor>]) -> Result<Vec<Self::Tensor>, Self::Error>;
}
