//! Element types, tile shapes and the type of a value.
//!
//! Rules: a tile's shape is static and has rank 1 to [`MAX_RANK`]; a scalar is not a tile of rank 0,
//! because the TPU computes scalars on another unit; memory (a [`Type::Ref`]) is never an operand of
//! arithmetic, it is loaded first.

use std::fmt;

/// The element types of tiles and scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// IEEE 754 binary32.
    F32,
    /// bfloat16: the upper half of binary32; arithmetic widens to f32 and rounds to nearest even after each operation.
    Bf16,
    /// Two's complement, 32 bits; overflow wraps.
    I32,
    /// A truth value: one byte (0 or 1) in memory, a mask in registers.
    Bool,
}

impl DType {
    /// Every element type.
    pub const ALL: [DType; 4] = [DType::F32, DType::Bf16, DType::I32, DType::Bool];

    /// Bytes of one element in memory.
    pub const fn bytes(self) -> usize {
        match self {
            DType::F32 | DType::I32 => 4,
            DType::Bf16 => 2,
            DType::Bool => 1,
        }
    }

    /// f32 or bf16.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::Bf16)
    }

    /// A float or an integer: anything but bool.
    pub const fn is_number(self) -> bool {
        !matches!(self, DType::Bool)
    }

    /// The name used in text: `f32`, `bf16`, `i32`, `bool`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::Bf16 => "bf16",
            DType::I32 => "i32",
            DType::Bool => "bool",
        }
    }

    /// The element type of that [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.name() == name)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The highest rank of a tile or an array.
pub const MAX_RANK: usize = 4;

/// A static shape of rank 0 to [`MAX_RANK`], outermost dimension first.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    dims: [usize; MAX_RANK],
    rank: usize,
}

impl Shape {
    /// The shape with these dimensions, or `None` above [`MAX_RANK`] or where a dimension exceeds `i32::MAX`.
    pub fn try_new(dims: &[usize]) -> Option<Shape> {
        let mut shape = Shape { dims: [0; MAX_RANK], rank: dims.len() };
        shape.dims.get_mut(..dims.len())?.copy_from_slice(dims);
        dims.iter().all(|&d| i32::try_from(d).is_ok()).then_some(shape)
    }

    /// The shape with these dimensions.
    ///
    /// # Panics
    /// Above [`MAX_RANK`] or where a dimension exceeds `i32::MAX`; meant for shapes known in source.
    pub fn new(dims: &[usize]) -> Shape {
        Shape::try_new(dims).expect("a shape of rank 0 to 4 with dimensions below 2^31")
    }

    /// Number of dimensions.
    pub const fn rank(&self) -> usize {
        self.rank
    }

    /// The size of dimension `axis`.
    pub fn dim(&self, axis: usize) -> usize {
        self.dims()[axis]
    }

    /// The dimensions, outermost first.
    pub fn dims(&self) -> &[usize] {
        &self.dims[..self.rank]
    }

    /// Number of elements, or `None` where that exceeds `usize`.
    pub fn checked_elements(&self) -> Option<usize> {
        self.dims().iter().try_fold(1usize, |n, &d| n.checked_mul(d))
    }

    /// Number of elements (the verifier bounds it for every value of a kernel).
    pub fn elements(&self) -> usize {
        self.dims().iter().product()
    }

    /// This shape with dimension `axis` replaced.
    pub fn with_dim(mut self, axis: usize, size: usize) -> Shape {
        self.dims[..self.rank][axis] = size;
        self
    }
}

/// `8x128`; the empty string at rank 0.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (axis, dim) in self.dims().iter().enumerate() {
            if axis > 0 {
                f.write_str("x")?;
            }
            write!(f, "{dim}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Where memory lives. The rows of `docs/ir.md` name the spaces that are not in the language yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// The vector memory beside the compute units: windows of operands, and scratch.
    Vmem,
}

impl Space {
    /// The name used in text.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Vmem => "vmem",
        }
    }
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// One element, held by the scalar unit.
    Scalar(DType),
    /// A block of elements, held in vector registers.
    Tile(DType, Shape),
    /// Memory of a static shape.
    Ref(Space, DType, Shape),
}

impl Type {
    /// The element type.
    pub const fn dtype(self) -> DType {
        match self {
            Type::Scalar(d) | Type::Tile(d, _) | Type::Ref(_, d, _) => d,
        }
    }

    /// The shape; rank 0 for a scalar.
    pub fn shape(self) -> Shape {
        match self {
            Type::Scalar(_) => Shape::new(&[]),
            Type::Tile(_, s) | Type::Ref(_, _, s) => s,
        }
    }

    /// The same shape and kind with another element type.
    pub const fn with_dtype(self, dtype: DType) -> Type {
        match self {
            Type::Scalar(_) => Type::Scalar(dtype),
            Type::Tile(_, s) => Type::Tile(dtype, s),
            Type::Ref(space, _, s) => Type::Ref(space, dtype, s),
        }
    }

    /// A tile.
    pub const fn is_tile(self) -> bool {
        matches!(self, Type::Tile(..))
    }

    /// A scalar.
    pub const fn is_scalar(self) -> bool {
        matches!(self, Type::Scalar(_))
    }

    /// Memory.
    pub const fn is_ref(self) -> bool {
        matches!(self, Type::Ref(..))
    }
}

/// `f32`, `tile<8x128xf32>`, `vmem<8x128xf32>`.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Scalar(d) => write!(f, "{d}"),
            Type::Tile(d, s) => write!(f, "tile<{s}x{d}>"),
            Type::Ref(space, d, s) => write!(f, "{}<{s}x{d}>", space.name()),
        }
    }
}
