//! Element types, tile shapes and the type of a value.
//!
//! Rules: a tile's shape is static and has rank 1 to [`MAX_RANK`]; a scalar is not a tile of rank 0,
//! because the TPU computes scalars on another unit; memory ([`Type::Ref`], [`Type::Array`]) is never an
//! operand of arithmetic, it is loaded first, and a semaphore is never anything but signalled and waited for.

use std::fmt;

/// The element types of tiles and scalars.
///
/// In memory an element takes [`bytes`](DType::bytes) whole bytes; the types narrower than a byte lie in its low bits, signed
/// integers sign-extended, the others zero-extended, and whoever reads ignores the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// IEEE 754 binary32.
    F32,
    /// bfloat16: the upper half of binary32. Arithmetic of this and the narrower floats widens to f32 and rounds to
    /// nearest even after each operation.
    Bf16,
    /// IEEE 754 binary16.
    F16,
    /// 8 bits, 4 of exponent, 3 of mantissa; NaN, no infinity (OCP 8-bit floating point).
    F8E4M3Fn,
    /// 8 bits, 5 of exponent, 2 of mantissa; NaN and infinity (OCP 8-bit floating point).
    F8E5M2,
    /// 8 bits, 4 of exponent with bias 11, 3 of mantissa; one NaN, no infinity, no negative zero.
    F8E4M3B11Fnuz,
    /// 4 bits, 2 of exponent, 1 of mantissa; neither NaN nor infinity (OCP microscaling formats).
    F4E2M1Fn,
    /// Two's complement, 32 bits; overflow wraps, as of all integers.
    I32,
    /// Two's complement, 16 bits.
    I16,
    /// Two's complement, 8 bits.
    I8,
    /// Two's complement, 4 bits.
    I4,
    /// Two's complement, 2 bits.
    I2,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 4 bits.
    U4,
    /// A truth value: one byte (0 or 1) in memory, a mask in registers.
    Bool,
}

impl DType {
    /// Every element type.
    pub const ALL: [DType; 17] = [
        DType::F32,
        DType::Bf16,
        DType::F16,
        DType::F8E4M3Fn,
        DType::F8E5M2,
        DType::F8E4M3B11Fnuz,
        DType::F4E2M1Fn,
        DType::I32,
        DType::I16,
        DType::I8,
        DType::I4,
        DType::I2,
        DType::U32,
        DType::U16,
        DType::U8,
        DType::U4,
        DType::Bool,
    ];

    /// Bits of one element on the chip; of a bool, those of the byte that holds it.
    pub const fn bits(self) -> u32 {
        match self {
            DType::F32 | DType::I32 | DType::U32 => 32,
            DType::Bf16 | DType::F16 | DType::I16 | DType::U16 => 16,
            DType::F8E4M3Fn | DType::F8E5M2 | DType::F8E4M3B11Fnuz | DType::I8 | DType::U8 | DType::Bool => 8,
            DType::F4E2M1Fn | DType::I4 | DType::U4 => 4,
            DType::I2 => 2,
        }
    }

    /// Bytes of one element in memory.
    pub const fn bytes(self) -> usize {
        self.bits().div_ceil(8) as usize
    }

    /// The low [`bits`](DType::bits), set.
    pub const fn mask(self) -> u32 {
        u32::MAX >> (32 - self.bits())
    }

    /// Whether it has a sign, an exponent and a mantissa.
    pub const fn is_float(self) -> bool {
        match self {
            DType::F32 | DType::Bf16 | DType::F16 | DType::F8E4M3Fn | DType::F8E5M2 | DType::F8E4M3B11Fnuz | DType::F4E2M1Fn => {
                true
            }
            DType::I32 | DType::I16 | DType::I8 | DType::I4 | DType::I2 => false,
            DType::U32 | DType::U16 | DType::U8 | DType::U4 | DType::Bool => false,
        }
    }

    /// Whether it is an integer, signed or not.
    pub const fn is_integer(self) -> bool {
        !self.is_float() && !matches!(self, DType::Bool)
    }

    /// Whether it is a signed integer.
    pub const fn is_signed(self) -> bool {
        matches!(self, DType::I32 | DType::I16 | DType::I8 | DType::I4 | DType::I2)
    }

    /// Whether it is an unsigned integer.
    pub const fn is_unsigned(self) -> bool {
        matches!(self, DType::U32 | DType::U16 | DType::U8 | DType::U4)
    }

    /// A float or an integer: anything but bool.
    pub const fn is_number(self) -> bool {
        !matches!(self, DType::Bool)
    }

    /// The name used in text.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::Bf16 => "bf16",
            DType::F16 => "f16",
            DType::F8E4M3Fn => "f8e4m3fn",
            DType::F8E5M2 => "f8e5m2",
            DType::F8E4M3B11Fnuz => "f8e4m3b11fnuz",
            DType::F4E2M1Fn => "f4e2m1fn",
            DType::I32 => "i32",
            DType::I16 => "i16",
            DType::I8 => "i8",
            DType::I4 => "i4",
            DType::I2 => "i2",
            DType::U32 => "u32",
            DType::U16 => "u16",
            DType::U8 => "u8",
            DType::U4 => "u4",
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
    /// The vector memory beside the compute units: windows of operands, and scratch. Loads and stores move tiles.
    Vmem,
    /// The scalar memory: one element at a time.
    Smem,
    /// The device's main memory: arrays, of which copies move parts.
    Hbm,
}

impl Space {
    /// Every space.
    pub const ALL: [Space; 3] = [Space::Vmem, Space::Smem, Space::Hbm];

    /// The name used in text.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Vmem => "vmem",
            Space::Smem => "smem",
            Space::Hbm => "hbm",
        }
    }

    /// The space of that [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Space> {
        Space::ALL.into_iter().find(|s| s.name() == name)
    }
}

impl fmt::Display for Space {
    /// As users write it: `VMEM`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Space::Vmem => "VMEM",
            Space::Smem => "SMEM",
            Space::Hbm => "HBM",
        })
    }
}

/// What a semaphore counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SemaphoreKind {
    /// Signals.
    Regular,
    /// Bytes that copies have moved: copies and waits for them alone use it.
    Dma,
    /// Signals of all devices that run kernels of this collective id: one semaphore of the device, not of the kernel.
    Barrier(u32),
}

impl SemaphoreKind {
    /// Every kind, of barriers the first.
    pub const ALL: [SemaphoreKind; 3] = [SemaphoreKind::Regular, SemaphoreKind::Dma, SemaphoreKind::Barrier(0)];

    /// The kind of that name, as text has it.
    pub fn from_name(name: &str) -> Option<SemaphoreKind> {
        match (name, name.strip_prefix("barrier")) {
            ("regular", _) => Some(SemaphoreKind::Regular),
            ("dma", _) => Some(SemaphoreKind::Dma),
            (_, Some(id)) if id.bytes().all(|b| b.is_ascii_digit()) => id.parse().ok().map(SemaphoreKind::Barrier),
            _ => None,
        }
    }

    /// Whether it counts signals.
    pub const fn is_signalled(self) -> bool {
        matches!(self, SemaphoreKind::Regular | SemaphoreKind::Barrier(_))
    }
}

/// `regular`, `dma`, `barrier7`.
impl fmt::Display for SemaphoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SemaphoreKind::Regular => f.write_str("regular"),
            SemaphoreKind::Dma => f.write_str("dma"),
            SemaphoreKind::Barrier(id) => write!(f, "barrier{id}"),
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
    /// Memory of that rank, whose extents are those of an array of the launch.
    Array(Space, DType, usize),
    /// Semaphores, as many as the shape says; of rank 0 a single one.
    Semaphore(SemaphoreKind, Shape),
}

impl Type {
    /// The element type; of semaphores that of their count.
    pub const fn dtype(self) -> DType {
        match self {
            Type::Scalar(d) | Type::Tile(d, _) | Type::Ref(_, d, _) | Type::Array(_, d, _) => d,
            Type::Semaphore(..) => DType::I32,
        }
    }

    /// The shape; rank 0 for a scalar, and for an array, which has no static one.
    pub fn shape(self) -> Shape {
        match self {
            Type::Scalar(_) | Type::Array(..) => Shape::new(&[]),
            Type::Tile(_, s) | Type::Ref(_, _, s) | Type::Semaphore(_, s) => s,
        }
    }

    /// The number of dimensions, also of an array.
    pub fn rank(self) -> usize {
        match self {
            Type::Array(_, _, rank) => rank,
            ty => ty.shape().rank(),
        }
    }

    /// The same shape and kind with another element type; a semaphore stays as it is.
    pub const fn with_dtype(self, dtype: DType) -> Type {
        match self {
            Type::Scalar(_) => Type::Scalar(dtype),
            Type::Tile(_, s) => Type::Tile(dtype, s),
            Type::Ref(space, _, s) => Type::Ref(space, dtype, s),
            Type::Array(space, _, rank) => Type::Array(space, dtype, rank),
            Type::Semaphore(..) => self,
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

    /// Memory of a static shape.
    pub const fn is_ref(self) -> bool {
        matches!(self, Type::Ref(..))
    }

    /// The space of memory, of a static shape or not.
    pub const fn space(self) -> Option<Space> {
        match self {
            Type::Ref(space, ..) | Type::Array(space, ..) => Some(space),
            Type::Scalar(_) | Type::Tile(..) | Type::Semaphore(..) => None,
        }
    }

    /// A value that computations take and give: a scalar or a tile. Memory and semaphores are places, and stay where they are.
    pub const fn is_value(self) -> bool {
        matches!(self, Type::Scalar(_) | Type::Tile(..))
    }
}

/// `f32`, `tile<8x128xf32>`, `vmem<8x128xf32>`, `hbm<?x?xf32>`, `semaphore<2xdma>`, `semaphore<dma>`.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Scalar(d) => write!(f, "{d}"),
            Type::Tile(d, s) => write!(f, "tile<{s}x{d}>"),
            Type::Ref(space, d, s) => write!(f, "{}<{s}x{d}>", space.name()),
            Type::Array(space, d, rank) => write!(f, "{}<{}{d}>", space.name(), "?x".repeat((*rank).min(MAX_RANK + 1))),
            Type::Semaphore(kind, s) if s.rank() == 0 => write!(f, "semaphore<{kind}>"),
            Type::Semaphore(kind, s) => write!(f, "semaphore<{s}x{kind}>"),
        }
    }
}
