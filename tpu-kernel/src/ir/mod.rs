//! The block-tiled IR: types, the closed set of operations, kernels, and the builder.
//!
//! Rules: SSA values in structured regions; every operation carries its place in the user's source;
//! nothing here knows the language above it or the executors below it.

mod builder;
pub mod eval;
mod fault;
mod infer;
mod kernel;
pub(crate) mod layout;
mod literal;
mod loc;
mod op;
mod operator;
mod pipelining;
mod renumber;
mod roots;
mod size;
pub mod table;
mod text;
mod types;

pub use builder::Builder;
pub use fault::{Fault, Rule};
pub use infer::{MAX_VALUE_BYTES, dot_accumulator, infer, tile};
pub use kernel::{BlockDim, Bound, GridDim, Kernel, MAX_DEPTH, Param, ParamKind, Semantics, Window};
pub use literal::Literal;
pub use loc::Loc;
pub use op::{DotDims, Op, OpKind, Region, RotateStride, Value};
pub use operator::{BinaryOp, CompareOp, Precision, ReduceOp, ScanOp, UnaryOp};
pub use pipelining::{MAX_BUFFERS, Pipelining, Revisit};
pub use roots::Roots;
pub use size::{SizeExpr, SizeFault, SizeId};
pub use text::{ParseError, parse, parse_named};
pub use types::{DType, MAX_RANK, SemaphoreKind, Shape, Space, Type};
