//! A kernel: named sizes, a grid, operands with their windows, and a body.
//!
//! Rules: block shapes are static, array sizes are not; index maps give block indices, and an element
//! offset only along an element dimension; the body runs once per grid step, in lexicographic order with the last dimension fastest.

use super::{DType, Loc, Pipelining, Region, SizeExpr, SizeId, Type, Value};
use std::fmt;

/// Regions inside the body, and operators inside a size expression, may nest this deep.
pub const MAX_DEPTH: usize = 64;

/// A kernel, built for one configuration (block sizes, element types, precision) and any array sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// The name of the user's function.
    pub name: String,
    /// Named array sizes, in order of first mention.
    pub sizes: Vec<String>,
    /// The grid, slowest dimension first. Empty: the body runs once.
    pub grid: Vec<GridDim>,
    /// Operands in the order of the function's parameters.
    pub params: Vec<Param>,
    /// The body; its arguments are the operands, in order.
    pub body: Region,
    /// The type of each value, by number.
    pub types: Vec<Type>,
    /// Whether a call counts also where nothing uses its outputs: it is neither left out nor merged with another one.
    pub side_effects: bool,
    /// Sizes that stay within bounds, each once: one program on a chip serves all of them.
    pub bounds: Vec<Bound>,
    /// Where the kernel is written.
    pub loc: Loc,
}

/// One dimension of the grid.
#[derive(Clone, Debug, PartialEq)]
pub struct GridDim {
    /// The name of the index.
    pub name: String,
    /// The number of steps.
    pub extent: SizeExpr,
    /// Whether steps along it may run in any order.
    pub semantics: Semantics,
    /// Where it is written.
    pub loc: Loc,
}

/// What the order of steps along a grid dimension means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Semantics {
    /// Steps are the cores of a device, which run side by side and may signal one another.
    CoreParallel,
    /// Steps are independent: they may run in any order or at once.
    Parallel,
    /// Steps run in order.
    #[default]
    Arbitrary,
}

impl Semantics {
    /// All of them, those that come first in a grid before.
    pub const ALL: [Semantics; 3] = [Semantics::CoreParallel, Semantics::Parallel, Semantics::Arbitrary];

    /// Whether steps along such a dimension are independent.
    pub const fn is_parallel(self) -> bool {
        matches!(self, Semantics::CoreParallel | Semantics::Parallel)
    }

    /// The name used in text.
    pub const fn name(self) -> &'static str {
        match self {
            Semantics::CoreParallel => "core_parallel",
            Semantics::Parallel => "parallel",
            Semantics::Arbitrary => "arbitrary",
        }
    }
}

/// The least and the greatest value of a named size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bound {
    /// The size.
    pub size: SizeId,
    /// Its least value.
    pub low: i32,
    /// Its greatest value.
    pub high: i32,
}

/// An operand of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// The name of the user's parameter.
    pub name: String,
    /// `Type::Ref` for windows and scratch, or `Type::Semaphore` for scratch; `Type::Array` for whole arrays and prefetched
    /// ones; `Type::Scalar` for scalars.
    pub ty: Type,
    /// Its role.
    pub kind: ParamKind,
    /// Of an output: the input whose array it starts as, and whose array it is from then on.
    pub alias: Option<String>,
    /// Where it is written.
    pub loc: Loc,
}

/// The role of an operand.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamKind {
    /// A window on an input array; read only.
    In(Window),
    /// A window on an output array; starts as poison, written back when its block index changes.
    Out(Window),
    /// A whole input array where it lies, of this shape; copies read parts of it.
    InArray(Vec<SizeExpr>),
    /// A whole output array where it lies, of this shape; starts as poison, copies write parts of it.
    OutArray(Vec<SizeExpr>),
    /// An input array of this shape that lies in scalar memory before the grid starts. Index maps read it. What the body
    /// writes to it is seen by later loads and maps, and lost at the end.
    Prefetch(Vec<SizeExpr>),
    /// Memory that lives for the whole grid and starts as poison, or semaphores, which start at 0.
    Scratch,
    /// A scalar given at the launch.
    Scalar,
}

/// How blocks of an array are seen through an operand, step by step.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// The shape of the array.
    pub array: Vec<SizeExpr>,
    /// The block along each dimension of the array.
    pub block: Vec<BlockDim>,
    /// The index map: arguments are the grid indices (i32), then the prefetched arrays in their order; yields one block
    /// index (i32; along an element dimension the first element) per array dimension. Pure scalar operations only, and
    /// loads from the prefetched arrays.
    pub map: Region,
    /// How its blocks come and go.
    pub pipelining: Pipelining,
}

/// A block along one dimension of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockDim {
    /// That many elements; the block starts at index × size.
    Blocked(usize),
    /// One element, and the dimension is absent from the operand's shape.
    Squeezed,
    /// That many elements; the index map gives the first one, so blocks may overlap.
    Element {
        /// Elements of the block.
        size: usize,
        /// How many elements before the array a block may reach; they read as poison.
        low: usize,
        /// How many elements after it.
        high: usize,
    },
}

impl BlockDim {
    /// Elements along the dimension.
    pub const fn size(self) -> usize {
        match self {
            BlockDim::Blocked(size) | BlockDim::Element { size, .. } => size,
            BlockDim::Squeezed => 1,
        }
    }

    /// Elements along the dimension, where the operand's shape has it.
    pub const fn kept(self) -> Option<usize> {
        match self {
            BlockDim::Squeezed => None,
            BlockDim::Blocked(size) | BlockDim::Element { size, .. } => Some(size),
        }
    }

    /// The first element of the block that the index map names so; it may lie outside the array.
    pub fn first(self, index: i32) -> i64 {
        match self {
            BlockDim::Blocked(size) => i64::from(index).saturating_mul(signed(size)),
            BlockDim::Squeezed | BlockDim::Element { .. } => i64::from(index),
        }
    }

    /// The least and the greatest index that the index map may give, for an array of that extent; none where the second is less.
    pub fn indices(self, extent: usize) -> (i64, i64) {
        match self {
            BlockDim::Blocked(_) | BlockDim::Squeezed => (0, signed(self.blocks(extent)) - 1),
            BlockDim::Element { size, low, high } => {
                (-signed(low), signed(extent.saturating_add(high)).saturating_sub(signed(size)))
            }
        }
    }

    /// How many blocks cover an array of that extent, side by side. A block of nothing covers none.
    pub const fn blocks(self, extent: usize) -> usize {
        if self.size() == 0 { 0 } else { extent.div_ceil(self.size()) }
    }
}

/// Sizes beyond 64 bits do not occur in a verified kernel.
fn signed(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

impl fmt::Display for BlockDim {
    /// As in a kernel's text: `8`, `squeezed`, `element 8 pad (1, 2)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            BlockDim::Blocked(size) => write!(f, "{size}"),
            BlockDim::Squeezed => f.write_str("squeezed"),
            BlockDim::Element { size, low: 0, high: 0 } => write!(f, "element {size}"),
            BlockDim::Element { size, low, high } => write!(f, "element {size} pad ({low}, {high})"),
        }
    }
}

impl Param {
    /// The window, where the operand has one.
    pub const fn window(&self) -> Option<&Window> {
        match &self.kind {
            ParamKind::In(w) | ParamKind::Out(w) => Some(w),
            ParamKind::InArray(_) | ParamKind::OutArray(_) | ParamKind::Prefetch(_) => None,
            ParamKind::Scratch | ParamKind::Scalar => None,
        }
    }

    /// The index map, where the operand has one.
    pub const fn map_mut(&mut self) -> Option<&mut Region> {
        match &mut self.kind {
            ParamKind::In(w) | ParamKind::Out(w) => Some(&mut w.map),
            ParamKind::InArray(_) | ParamKind::OutArray(_) | ParamKind::Prefetch(_) => None,
            ParamKind::Scratch | ParamKind::Scalar => None,
        }
    }

    /// The shape of the array of the launch that the operand shows, where it shows one.
    pub fn array(&self) -> Option<&[SizeExpr]> {
        match &self.kind {
            ParamKind::In(w) | ParamKind::Out(w) => Some(&w.array),
            ParamKind::InArray(shape) | ParamKind::OutArray(shape) | ParamKind::Prefetch(shape) => Some(shape),
            ParamKind::Scratch | ParamKind::Scalar => None,
        }
    }

    /// Whether the operand is an input array.
    pub const fn is_input(&self) -> bool {
        matches!(self.kind, ParamKind::In(_) | ParamKind::InArray(_) | ParamKind::Prefetch(_))
    }

    /// Whether the operand is an output array.
    pub const fn is_output(&self) -> bool {
        matches!(self.kind, ParamKind::Out(_) | ParamKind::OutArray(_))
    }

    /// Whether the kernel may write to it.
    pub const fn is_written(&self) -> bool {
        matches!(self.kind, ParamKind::Out(_) | ParamKind::OutArray(_) | ParamKind::Scratch | ParamKind::Prefetch(_))
    }
}

impl Kernel {
    /// Whether the cores of a device run side by side, and may wait for one another; else one may run after the other.
    pub fn is_side_by_side(&self) -> bool {
        self.grid.first().is_some_and(|dim| dim.semantics == Semantics::CoreParallel)
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.types[value.0 as usize]
    }

    /// The operand that is this value, with its position.
    pub fn param_of(&self, value: Value) -> Option<(usize, &Param)> {
        let at = self.body.args.iter().position(|&arg| arg == value)?;
        Some((at, &self.params[at]))
    }

    /// Input arrays in order, windows and whole ones, with their positions among the operands.
    pub fn inputs(&self) -> impl Iterator<Item = (usize, &Param)> {
        self.params.iter().enumerate().filter(|(_, p)| p.is_input())
    }

    /// Output arrays in order, windows and whole ones, with their positions among the operands.
    pub fn outputs(&self) -> impl Iterator<Item = (usize, &Param)> {
        self.params.iter().enumerate().filter(|(_, p)| p.is_output())
    }

    /// Sizes that scalars of the launch give, those of their names: the number of the size and the position of the scalar.
    pub fn given(&self) -> impl Iterator<Item = (SizeId, usize)> {
        let scalar = |name: &str| self.params.iter().position(|p| p.kind == ParamKind::Scalar && p.name == name);
        (0..).map(SizeId).zip(&self.sizes).filter_map(move |(id, name)| Some((id, scalar(name)?)))
    }

    /// Whether a scalar of the launch decides the extent of a grid dimension.
    pub fn is_dynamic(&self, axis: usize) -> bool {
        let mut found = false;
        if let Some(dim) = self.grid.get(axis) {
            dim.extent.sizes(&mut |size| found |= self.given().any(|(id, _)| id == size));
        }
        found
    }

    /// Outputs that share their array with an input: the positions of output and input. One that names no operand is left out.
    pub fn aliases(&self) -> impl Iterator<Item = (usize, usize)> {
        self.params.iter().enumerate().filter_map(|(at, param)| {
            let input = param.alias.as_ref()?;
            Some((at, self.params.iter().position(|p| p.name == *input)?))
        })
    }

    /// Whether an operand shares its array with another one.
    pub fn is_aliased(&self, at: usize) -> bool {
        self.aliases().any(|(output, input)| output == at || input == at)
    }

    /// Prefetched arrays in order, with their positions among the operands: index maps take them in this order.
    pub fn prefetched(&self) -> impl Iterator<Item = (usize, &Param)> {
        self.params.iter().enumerate().filter(|(_, p)| matches!(p.kind, ParamKind::Prefetch(_)))
    }

    /// What an index map takes: the grid indices, then the prefetched arrays.
    pub fn map_types(&self) -> Vec<Type> {
        let indices = self.grid.iter().map(|_| Type::Scalar(DType::I32));
        indices.chain(self.prefetched().map(|(_, p)| p.ty)).collect()
    }

    /// A new value of that type.
    pub fn new_value(&mut self, ty: Type) -> Value {
        let value = Value(u32::try_from(self.types.len()).expect("fewer than 2^32 values"));
        self.types.push(ty);
        value
    }
}
