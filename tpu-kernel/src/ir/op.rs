//! The closed set of operations.
//!
//! Rules: an operation computes from its operands and attributes alone, except those on memory and semaphores, and
//! regions; every consumer (interpreter, Cranelift, Mosaic, cost) matches on [`OpKind`] without
//! a wildcard, so that a new row fails to compile until each of them has it. The table of all rows,
//! with their meaning, is in `docs/ir.md`.

use super::{BinaryOp, CompareOp, DType, Literal, Loc, Precision, ReduceOp, ScanOp, Shape, SizeId, UnaryOp};

/// A value of a kernel: an operand, a region argument, or the result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

/// An operation with its operands, results and nested regions.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// What it does.
    pub kind: OpKind,
    /// The values it reads.
    pub operands: Vec<Value>,
    /// The values it defines.
    pub results: Vec<Value>,
    /// Nested regions: `if` then and else; `for` body; `while` test and body; `scoped` its one.
    pub regions: Vec<Region>,
    /// Where the user wrote it.
    pub loc: Loc,
}

/// A straight-line list of operations with arguments, ending in the values that it hands on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region {
    /// Values defined on entry.
    pub args: Vec<Value>,
    /// The operations, in order.
    pub ops: Vec<Op>,
    /// The values handed to the enclosing operation at the end.
    pub yields: Vec<Value>,
}

/// What an operation does, with its attributes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OpKind {
    /// A scalar constant.
    Const(Literal),
    /// The index along `axis` of each element, as an i32 tile.
    Iota {
        /// The shape of the result.
        shape: Shape,
        /// The counted dimension.
        axis: usize,
    },
    /// Elementwise, one operand.
    Unary(UnaryOp),
    /// Elementwise, two operands of one type.
    Binary(BinaryOp),
    /// Elementwise comparison of two operands of one type; the result is bool.
    Compare(CompareOp),
    /// `select c, a, b`: a where c, else b. `c` is bool, of the shape of `a` and `b`.
    Select,
    /// Conversion to another element type.
    Cast(DType),
    /// The same bits as another element type (neither is bool). Between widths, rows fold along the second to last
    /// dimension, low bits first: row r of f32 is rows 2r (low halves) and 2r + 1 of bf16.
    Bitcast(DType),
    /// `stochastic_round x, bits`: f32 to one of the two neighbours in that float type: the one farther from zero where
    /// `bits` / 2^32 is below the distance from the nearer one. NaN, infinities and exact values stay.
    StochasticRound(DType),
    /// A scalar, or a tile with dimensions of 1, repeated to this shape of the same rank.
    Broadcast(Shape),
    /// The same elements in row-major order under another shape.
    Reshape(Shape),
    /// Result dimension `d` is operand dimension `perm[d]`.
    Transpose(Vec<usize>),
    /// The elements `starts + i · strides` for i below `shape`, dimension by dimension.
    Slice {
        /// The first element.
        starts: Vec<usize>,
        /// The shape of the result.
        shape: Shape,
        /// The distance between elements, at least 1.
        strides: Vec<usize>,
    },
    /// Tiles of one element type one after the other along a dimension.
    Concat {
        /// The dimension.
        axis: usize,
    },
    /// `rotate tile, amount`: element i comes to (i + amount) mod n, for any i32 amount.
    Rotate {
        /// The dimension that rotates.
        axis: usize,
        /// Along another dimension, row r rotates by r · stride more.
        stride: Option<RotateStride>,
    },
    /// `gather tile, indices`: element i along the axis of the result is element `indices[i]` of the tile, of i32 indices of
    /// the tile's shape but along the axis. From -n to n - 1, negative ones from the end; outside: an error, R007.
    Gather {
        /// The dimension that is indexed.
        axis: usize,
    },
    /// Running reduction, each element with all before it; the shape stays.
    Scan {
        /// The combining operation.
        op: ScanOp,
        /// The dimension.
        axis: usize,
        /// From the last element to the first.
        reverse: bool,
    },
    /// `sort keys, payloads…`: all operands in the order of the keys, ties in their order. NaN is greater than all numbers.
    Sort {
        /// The dimension that is sorted.
        axis: usize,
        /// The greatest first.
        descending: bool,
    },
    /// One element as a scalar.
    Extract(Vec<usize>),
    /// Reduction over one dimension, which stays with size 1.
    Reduce {
        /// The combining operation.
        op: ReduceOp,
        /// The reduced dimension.
        axis: usize,
    },
    /// Product of two tiles: sums over one dimension of each, beside batch dimensions; accumulated in f32 (of integers, i32).
    Dot {
        /// Which dimensions are contracted, and which go side by side.
        dims: DotDims,
        /// How f32 operands enter the multiplier.
        precision: Precision,
    },
    /// `load ref, starts…`: the tile of this shape (rank of the ref) from that corner on.
    Load(Shape),
    /// `store ref, tile, starts…`.
    Store,
    /// `load_scalar ref, indices…`: one element of scalar memory.
    LoadScalar,
    /// `store_scalar ref, scalar, indices…`.
    StoreScalar,
    /// `view ref, starts…`: the part of a memory that begins at that corner, with elements that many `strides` apart. Views of
    /// views compose. A part that leaves the memory is an error, R001.
    View {
        /// The shape of the part.
        shape: Shape,
        /// The distance between its elements, one for each dimension, at least 1.
        strides: Vec<usize>,
    },
    /// The same memory without these dimensions, each of size 1.
    ViewSqueezed(Vec<usize>),
    /// The same elements in row-major order under another shape. There must be strides for it.
    ViewReshaped(Shape),
    /// Dimension `d` of the view is dimension `perm[d]` of the memory.
    ViewTransposed(Vec<usize>),
    /// The same bits as another element type, as [`OpKind::Bitcast`] of a tile has them.
    ViewBitcast(DType),
    /// `load_masked ref, mask, other, starts…`: the tile of this shape from that corner on where the mask is true, which lies inside;
    /// elsewhere that of `other`.
    LoadMasked(Shape),
    /// `store_masked ref, tile, mask, starts…`: writes where the mask is true, which lies inside.
    StoreMasked,
    /// `semaphore_at semaphores, indices…`: one of them.
    SemaphoreAt,
    /// `dma_start source, target, semaphore[, rows]`: begins a copy between memories of one shape; when it is done the semaphore
    /// has grown by the bytes. With `rows` only so many along the first dimension. Before the wait, neither the source
    /// may be written nor the target read or written.
    DmaStart {
        /// 0, or 1: which of the queues takes it.
        priority: u8,
        /// Whether the target's elements are added to, not replaced.
        add: bool,
    },
    /// `dma_wait source, target, semaphore[, rows]`: waits until the semaphore has the bytes of such a copy, and takes them off.
    DmaWait,
    /// `remote_dma_start source, target, receive, send, device[, rows]`: begins a copy from a memory of this device to the same
    /// memory of another. `receive` grows there and `send` here by the bytes; `dma_wait` with either waits for that end.
    RemoteStart {
        /// 0, or 1: which of the queues takes it.
        priority: u8,
    },
    /// `semaphore_signal semaphore, i32[, device]`: adds, on this device or on that one.
    SemaphoreSignal,
    /// Adds to a semaphore as another core of the device has it. Operands: the semaphore, the amount, the core.
    CoreSignal,
    /// `semaphore_wait semaphore, i32`: waits until the count is at least that, and takes it off.
    SemaphoreWait,
    /// The count of a semaphore, i32.
    SemaphoreRead,
    /// The number of the running device among those that run the kernel together, i32.
    DeviceId,
    /// The index of the running step along grid dimension `axis`.
    ProgramId(usize),
    /// The extent of grid dimension `axis`.
    NumPrograms(usize),
    /// The value of a named array size, i32.
    Size(SizeId),
    /// `prng_seed a` or `prng_seed a, b`: seeds the generator of the running core with u32 scalars.
    PrngSeed,
    /// The next random bits, a u32 tile of that shape.
    PrngBits(Shape),
    /// Writes the text, with each `{}` replaced by an operand, to the log of the launch, with the grid step.
    Print(String),
    /// `check c`: ends the launch with error R008 and this message where the bool scalar is false.
    Check(String),
    /// `defined c`: ends the launch with error R015 where the bool scalar is true: poison reaches what the text says. Only passes
    /// make it, for checked execution.
    Defined(String),
    /// `if c`: two regions without arguments; results are what the taken one yields.
    If,
    /// `for lo, hi, step, init…`: the region takes the index and the carried values, and yields the next ones.
    For,
    /// `while init…`: the first region takes the carried values and yields a bool; the second takes
    /// them and yields the next ones.
    While,
    /// `scoped`: a region whose arguments are memory, which starts as poison, and semaphores, which start at 0 and must be 0 again
    /// at the end; all of them live for the region. Results are what it yields.
    Scoped,
}

/// The stride of [`OpKind::Rotate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RotateStride {
    /// How much more each row rotates than the one before.
    pub by: i32,
    /// The dimension that counts rows.
    pub axis: usize,
}

/// The dimensions of [`OpKind::Dot`]. Each operand has the batch dimensions, the contracted one, and at most one more.
/// The result has the batch dimensions in their order, then what is left of the left operand, then of the right.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DotDims {
    /// The dimension of the left and of the right operand that is summed over.
    pub contract: (usize, usize),
    /// Dimensions of the left and the right operand that go side by side, at most two pairs.
    pub batch: Vec<(usize, usize)>,
}

impl DotDims {
    /// The product of two matrices, either of them transposed.
    pub fn matrices(lhs_transposed: bool, rhs_transposed: bool) -> DotDims {
        DotDims { contract: (usize::from(!lhs_transposed), usize::from(rhs_transposed)), batch: vec![] }
    }

    /// Whether a product of two matrices takes the left one, the right one transposed; `None` of another product.
    pub fn transposed(&self, lhs: Shape, rhs: Shape) -> Option<(bool, bool)> {
        let matrices = self.batch.is_empty() && lhs.rank() == 2 && rhs.rank() == 2;
        matrices.then_some((self.contract.0 == 0, self.contract.1 == 1))
    }

    /// The one dimension of the left operand that is neither contracted nor batch.
    pub fn lhs_free(&self, rank: usize) -> Option<usize> {
        (0..rank).find(|&d| d != self.contract.0 && !self.batch.iter().any(|&(l, _)| l == d))
    }

    /// The same of the right operand.
    pub fn rhs_free(&self, rank: usize) -> Option<usize> {
        (0..rank).find(|&d| d != self.contract.1 && !self.batch.iter().any(|&(_, r)| r == d))
    }
}

impl Op {
    /// Of an access that starts somewhere in a memory, its first operand: how many elements it reaches over along each dimension,
    /// and the starts. `shape` gives the shape of a value.
    pub fn reach(&self, shape: impl Fn(Value) -> Shape) -> Option<(Vec<usize>, &[Value])> {
        match (&self.kind, self.operands.as_slice()) {
            (OpKind::Load(shape), [_, starts @ ..]) => Some((shape.dims().to_vec(), starts)),
            (OpKind::Store, &[_, tile, ref starts @ ..]) => Some((shape(tile).dims().to_vec(), starts)),
            (OpKind::LoadScalar | OpKind::SemaphoreAt, [_, indices @ ..]) => Some((vec![1; indices.len()], indices)),
            (OpKind::StoreScalar, [_, _, indices @ ..]) => Some((vec![1; indices.len()], indices)),
            (OpKind::View { shape, strides }, [_, starts @ ..]) => {
                let reach = |(&n, &by): (&usize, &usize)| n.saturating_sub(1).saturating_mul(by).saturating_add(1);
                Some((shape.dims().iter().zip(strides).map(reach).collect(), starts))
            }
            _ => None,
        }
    }
}

impl OpKind {
    /// The name used in text.
    pub const fn mnemonic(&self) -> &'static str {
        match self {
            OpKind::Const(_) => "const",
            OpKind::Iota { .. } => "iota",
            OpKind::Unary(op) => op.name(),
            OpKind::Binary(op) => op.name(),
            OpKind::Compare(op) => op.name(),
            OpKind::Select => "select",
            OpKind::Cast(_) => "cast",
            OpKind::Bitcast(_) => "bitcast",
            OpKind::StochasticRound(_) => "stochastic_round",
            OpKind::Broadcast(_) => "broadcast",
            OpKind::Reshape(_) => "reshape",
            OpKind::Transpose(_) => "transpose",
            OpKind::Slice { .. } => "slice",
            OpKind::Concat { .. } => "concat",
            OpKind::Rotate { .. } => "rotate",
            OpKind::Gather { .. } => "gather",
            OpKind::Scan { .. } => "scan",
            OpKind::Sort { .. } => "sort",
            OpKind::Extract(_) => "extract",
            OpKind::Reduce { .. } => "reduce",
            OpKind::Dot { .. } => "dot",
            OpKind::Load(_) => "load",
            OpKind::Store => "store",
            OpKind::LoadScalar => "load_scalar",
            OpKind::StoreScalar => "store_scalar",
            OpKind::View { .. } => "view",
            OpKind::ViewSqueezed(_) => "view_squeezed",
            OpKind::ViewReshaped(_) => "view_reshaped",
            OpKind::ViewTransposed(_) => "view_transposed",
            OpKind::ViewBitcast(_) => "view_bitcast",
            OpKind::LoadMasked(_) => "load_masked",
            OpKind::StoreMasked => "store_masked",
            OpKind::SemaphoreAt => "semaphore_at",
            OpKind::DmaStart { .. } => "dma_start",
            OpKind::DmaWait => "dma_wait",
            OpKind::RemoteStart { .. } => "remote_dma_start",
            OpKind::SemaphoreSignal => "semaphore_signal",
            OpKind::CoreSignal => "core_signal",
            OpKind::SemaphoreWait => "semaphore_wait",
            OpKind::SemaphoreRead => "semaphore_read",
            OpKind::DeviceId => "device_id",
            OpKind::ProgramId(_) => "program_id",
            OpKind::NumPrograms(_) => "num_programs",
            OpKind::Size(_) => "size",
            OpKind::PrngSeed => "prng_seed",
            OpKind::PrngBits(_) => "prng_bits",
            OpKind::Print(_) => "print",
            OpKind::Check(_) => "check",
            OpKind::Defined(_) => "defined",
            OpKind::If => "if",
            OpKind::For => "for",
            OpKind::While => "while",
            OpKind::Scoped => "scoped",
        }
    }

    /// Which of its operands is memory that it writes.
    pub const fn writes(&self) -> Option<usize> {
        match self {
            OpKind::Store | OpKind::StoreMasked | OpKind::StoreScalar => Some(0),
            OpKind::DmaStart { .. } | OpKind::RemoteStart { .. } => Some(1),
            _ => None,
        }
    }

    /// Whether its result is a view of its first operand.
    pub const fn is_view(&self) -> bool {
        matches!(
            self,
            OpKind::View { .. }
                | OpKind::ViewSqueezed(_)
                | OpKind::ViewReshaped(_)
                | OpKind::ViewTransposed(_)
                | OpKind::ViewBitcast(_)
        )
    }

    /// Whether the operation neither touches memory or the state of the launch, nor fails, nor holds regions: it may be
    /// moved, merged and dropped.
    pub const fn is_pure(&self) -> bool {
        !matches!(
            self,
            OpKind::Load(_)
                | OpKind::Store
                | OpKind::Gather { .. }
                | OpKind::LoadScalar
                | OpKind::StoreScalar
                | OpKind::View { .. }
                | OpKind::ViewSqueezed(_)
                | OpKind::ViewReshaped(_)
                | OpKind::ViewTransposed(_)
                | OpKind::ViewBitcast(_)
                | OpKind::LoadMasked(_)
                | OpKind::StoreMasked
                | OpKind::SemaphoreAt
                | OpKind::DmaStart { .. }
                | OpKind::DmaWait
                | OpKind::RemoteStart { .. }
                | OpKind::SemaphoreSignal
                | OpKind::CoreSignal
                | OpKind::SemaphoreWait
                | OpKind::SemaphoreRead
                | OpKind::PrngSeed
                | OpKind::PrngBits(_)
                | OpKind::Print(_)
                | OpKind::Check(_)
                | OpKind::Defined(_)
                | OpKind::If
                | OpKind::For
                | OpKind::While
                | OpKind::Scoped
        )
    }
}
