//! What can be wrong with IR: one rule a variant, each with a stable code.

use super::{DType, Loc, SemaphoreKind, Shape, Space, Type};

/// A broken rule, the operation that broke it, and where the user wrote it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{rule}")]
pub struct Fault {
    /// The rule.
    pub rule: Rule,
    /// The mnemonic of the operation, or the name of the operand or grid dimension.
    pub at: String,
    /// Where it was written.
    pub loc: Loc,
}

/// A rule of the IR. Messages speak the user's words: tile, block, operand.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Rule {
    /// V001
    #[error("takes {want} operands, got {got}")]
    OperandCount {
        /// How many it takes.
        want: usize,
        /// How many there are.
        got: usize,
    },
    /// V002
    #[error("operand {index} must be {want}, got {got}")]
    OperandType {
        /// Which operand, from 0.
        index: usize,
        /// What it must be.
        want: String,
        /// What it is.
        got: Type,
    },
    /// V003
    #[error("operands must have one type, got {left} and {right}")]
    Mismatch {
        /// The left operand's type.
        left: Type,
        /// The right operand's type.
        right: Type,
    },
    /// V004
    #[error("is not defined for {dtype} elements")]
    Element {
        /// The element type that it does not take.
        dtype: DType,
    },
    /// V005
    #[error("axis {axis} does not exist in a value of rank {rank}")]
    Axis {
        /// The axis that was named.
        axis: usize,
        /// The rank of the value.
        rank: usize,
    },
    /// V006
    #[error("cannot broadcast {from} to {to}: each dimension must be equal or 1")]
    Broadcast {
        /// The operand's type.
        from: Type,
        /// The wanted shape.
        to: Shape,
    },
    /// V007
    #[error("cannot reshape {from} to {to}: {} elements against {}", .from.elements(), .to.elements())]
    Reshape {
        /// The operand's shape.
        from: Shape,
        /// The wanted shape.
        to: Shape,
    },
    /// V008
    #[error("{perm:?} is not a permutation of the dimensions of rank {rank}")]
    Permutation {
        /// What was given.
        perm: Vec<usize>,
        /// The rank of the value.
        rank: usize,
    },
    /// V009
    #[error("cannot multiply {left} by {right}: the contracted dimensions are {left_k} and {right_k}")]
    Contraction {
        /// Left operand.
        left: Type,
        /// Right operand.
        right: Type,
        /// Size of the contracted dimension on the left.
        left_k: usize,
        /// Size of the contracted dimension on the right.
        right_k: usize,
    },
    /// V010
    #[error("a tile must have rank 1 to 4 and no dimension of 0, got shape [{shape}]")]
    TileShape {
        /// The shape.
        shape: Shape,
    },
    /// V011
    #[error("a value of {shape}x{dtype} ({bytes} bytes) is larger than any VMEM (limit {limit} bytes)")]
    TooLarge {
        /// Its element type.
        dtype: DType,
        /// Its shape.
        shape: Shape,
        /// Its size.
        bytes: u128,
        /// The limit.
        limit: u128,
    },
    /// V012
    #[error("{}", outside(.operand, *.axis, *.start, *.size, *.extent))]
    OutOfBounds {
        /// The operand's name.
        operand: String,
        /// The axis.
        axis: usize,
        /// The constant start.
        start: i64,
        /// Elements accessed.
        size: usize,
        /// Elements there are; [`usize::MAX`] of an array, which has as many as the launch brings.
        extent: usize,
    },
    /// V013
    #[error("operand `{operand}` is an input: it cannot be written")]
    WriteToInput {
        /// The operand's name.
        operand: String,
    },
    /// V014
    #[error("uses a value that is not defined here (it belongs to another region, or comes later)")]
    Undefined,
    /// V015
    #[error("defines a value a second time")]
    Redefined,
    /// V016
    #[error("must have {want} regions, got {got}")]
    RegionCount {
        /// How many it has by its nature.
        want: usize,
        /// How many there are.
        got: usize,
    },
    /// V017
    #[error("region {region} must take {want}, takes {got}")]
    RegionArgs {
        /// Which region, from 0.
        region: usize,
        /// Types wanted.
        want: String,
        /// Types there.
        got: String,
    },
    /// V018
    #[error("region {region} must yield {want}, yields {got}")]
    RegionYields {
        /// Which region, from 0.
        region: usize,
        /// Types wanted.
        want: String,
        /// Types there.
        got: String,
    },
    /// V019
    #[error("results must be {want}, are {got}")]
    Results {
        /// Types by the operation's rule.
        want: String,
        /// Types there.
        got: String,
    },
    /// V020
    #[error("memory cannot be carried by control flow or yielded")]
    CarriedRef,
    /// V021
    #[error("grid dimension {axis} does not exist: the grid has {rank}")]
    GridAxis {
        /// The axis that was named.
        axis: usize,
        /// Dimensions of the grid.
        rank: usize,
    },
    /// V022
    #[error("size {index} does not exist: the kernel names {count}")]
    SizeIndex {
        /// The index.
        index: u32,
        /// Named sizes of the kernel.
        count: usize,
    },
    /// V023
    #[error("an index map may compute with scalars only: no memory, no tiles, no control flow")]
    ImpureMap,
    /// V024
    #[error("the index map yields {got} block indices for an array of rank {want}")]
    MapRank {
        /// Rank of the array.
        want: usize,
        /// Indices yielded.
        got: usize,
    },
    /// V025
    #[error("the block [{block}] does not match the operand's shape [{operand}]")]
    BlockShape {
        /// The blocked dimensions.
        block: String,
        /// The operand's shape.
        operand: Shape,
    },
    /// V026
    #[error("the name `{name}` is used twice")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// V027
    #[error("parallel grid dimensions must come before arbitrary ones")]
    ParallelAfterArbitrary,
    /// V059
    #[error("size `{size}` {why}: bounds are from 0 on, the least first, one pair for each size, of sizes that arrays give")]
    Bound {
        /// The size.
        size: String,
        /// What is wrong.
        why: &'static str,
    },
    /// V057
    #[error("a core_parallel grid dimension must be the first")]
    CoreParallelAfterOthers,
    /// V058
    #[error("a signal to a core takes a grid whose first dimension is core_parallel")]
    NoCores,
    /// V028
    #[error("the output is never written: no path of the kernel stores to it")]
    NeverWritten,
    /// V029
    #[error("an array has rank 1 to {limit}, this one has {rank}")]
    ArrayRank {
        /// Its rank.
        rank: usize,
        /// The limit.
        limit: usize,
    },
    /// V030
    #[error("is nested deeper than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// V031
    #[error("takes one of its {what} a dimension: {rank}, got {got}")]
    PerDimension {
        /// What is counted.
        what: &'static str,
        /// Rank of the operand.
        rank: usize,
        /// How many there are.
        got: usize,
    },
    /// V032
    #[error("reads element {last} along axis {axis}, which has {extent}")]
    Slice {
        /// The axis.
        axis: usize,
        /// The last element that it reads.
        last: usize,
        /// Elements there are.
        extent: usize,
    },
    /// V033
    #[error("the stride along axis {axis} is 0; it must be at least 1")]
    Stride {
        /// The axis.
        axis: usize,
    },
    /// V034
    #[error("names axis {axis} twice")]
    SameAxis {
        /// The axis.
        axis: usize,
    },
    /// V035
    #[error(
        "cannot see {from} as {to}: {} against {} bits an element; rows fold along the second to last dimension, which must be there and come out whole",
        .from.dtype().bits(), .to.bits()
    )]
    Bitcast {
        /// The operand's type.
        from: Type,
        /// The wanted element type.
        to: DType,
    },
    /// V036
    #[error(
        "there is no product of {lhs} and {rhs}: floats multiply floats and integers of at most 8 bits; integers of at most 16 bits, and i32, multiply each other"
    )]
    DotElements {
        /// Element type of the left operand.
        lhs: DType,
        /// Element type of the right operand.
        rhs: DType,
    },
    /// V037
    #[error("reaches {want} only, and this memory lies in {got}")]
    Space {
        /// Where the operation reaches.
        want: Space,
        /// Where the memory lies.
        got: Space,
    },
    /// V038
    #[error("a copy moves between memories of one shape and element type, got {from} and {to}")]
    CopyShapes {
        /// The source.
        from: Type,
        /// The target.
        to: Type,
    },
    /// V039
    #[error("there is no copy from scalar memory to scalar memory")]
    ScalarCopy,
    /// V040
    #[error("the priority of a copy is 0 or 1, got {got}")]
    Priority {
        /// What was given.
        got: u8,
    },
    /// V041
    #[error("takes a {want} semaphore, this one is {got}")]
    SemaphoreKind {
        /// The kind that it takes.
        want: SemaphoreKind,
        /// The kind it is.
        got: SemaphoreKind,
    },
    /// V042
    #[error("axis {axis} has {extent} elements: only a dimension of 1 is left out")]
    Squeeze {
        /// The axis.
        axis: usize,
        /// Elements there are.
        extent: usize,
    },
    /// V043
    #[error("prefetched arrays come before all windows, whose index maps read them")]
    PrefetchAfterWindow,
    /// V044
    #[error("a region has memory in VMEM or SMEM, or semaphores, of its own, got {got}")]
    ScopedType {
        /// The type of the argument.
        got: Type,
    },
    /// V045
    #[error("{role} is {want}, got {got}")]
    OperandRole {
        /// The role of the operand.
        role: &'static str,
        /// Where such an operand lies.
        want: &'static str,
        /// Its type.
        got: Type,
    },
    /// V046
    #[error("[{shape}] semaphores are more than {limit}")]
    Semaphores {
        /// The shape.
        shape: Shape,
        /// The limit.
        limit: usize,
    },
    /// V055
    #[error("a kernel has one barrier semaphore, as scratch, and not an array of them")]
    Barrier,
    /// V056
    #[error("{what} on another device is an operand of the kernel: scratch, or an output in HBM")]
    ElsewhereOperand {
        /// What is reached there.
        what: &'static str,
    },
    /// V049
    #[error("{what}")]
    Pipelining {
        /// What a window says of its pipeline, and may not.
        what: String,
    },
    /// V050
    #[error("shares the array of `{input}`, which {why}")]
    Alias {
        /// The input that is named.
        input: String,
        /// Why it cannot be shared.
        why: String,
    },
    /// V051
    #[error("the size `{size}` is the scalar of that name, which {why}")]
    Given {
        /// The size.
        size: String,
        /// What it may not.
        why: &'static str,
    },
    /// V052
    #[error("a view of [{from}] as [{to}] has no strides: the elements that become one dimension do not lie at one distance")]
    ViewStrides {
        /// The shape of the memory.
        from: Shape,
        /// The wanted shape.
        to: Shape,
    },
    /// V053
    #[error("scalar memory of {from} cannot be seen as {to}: its elements keep their width of {} bits", .from.bits())]
    ScalarBits {
        /// The element type of the memory.
        from: DType,
        /// The wanted element type.
        to: DType,
    },
}

fn outside(operand: &str, axis: usize, start: i64, size: usize, extent: usize) -> String {
    let part =
        format!("accesses [{start}, {}) along axis {axis} of operand `{operand}`", start.saturating_add_unsigned(size as u64));
    match extent {
        usize::MAX => format!("{part}, which begins with element 0"),
        _ => format!("{part}, which has {extent} elements there"),
    }
}

impl Rule {
    crate::codes! {
        /// The stable code.
        [const] {
            Rule::OperandCount { .. } => "V001",
            Rule::OperandType { .. } => "V002",
            Rule::Mismatch { .. } => "V003",
            Rule::Element { .. } => "V004",
            Rule::Axis { .. } => "V005",
            Rule::Broadcast { .. } => "V006",
            Rule::Reshape { .. } => "V007",
            Rule::Permutation { .. } => "V008",
            Rule::Contraction { .. } => "V009",
            Rule::TileShape { .. } => "V010",
            Rule::TooLarge { .. } => "V011",
            Rule::OutOfBounds { .. } => "V012",
            Rule::WriteToInput { .. } => "V013",
            Rule::Undefined => "V014",
            Rule::Redefined => "V015",
            Rule::RegionCount { .. } => "V016",
            Rule::RegionArgs { .. } => "V017",
            Rule::RegionYields { .. } => "V018",
            Rule::Results { .. } => "V019",
            Rule::CarriedRef => "V020",
            Rule::GridAxis { .. } => "V021",
            Rule::SizeIndex { .. } => "V022",
            Rule::ImpureMap => "V023",
            Rule::MapRank { .. } => "V024",
            Rule::BlockShape { .. } => "V025",
            Rule::DuplicateName { .. } => "V026",
            Rule::ParallelAfterArbitrary => "V027",
            Rule::NeverWritten => "V028",
            Rule::ArrayRank { .. } => "V029",
            Rule::TooDeep { .. } => "V030",
            Rule::PerDimension { .. } => "V031",
            Rule::Slice { .. } => "V032",
            Rule::Stride { .. } => "V033",
            Rule::SameAxis { .. } => "V034",
            Rule::Bitcast { .. } => "V035",
            Rule::DotElements { .. } => "V036",
            Rule::Space { .. } => "V037",
            Rule::CopyShapes { .. } => "V038",
            Rule::ScalarCopy => "V039",
            Rule::Priority { .. } => "V040",
            Rule::SemaphoreKind { .. } => "V041",
            Rule::Squeeze { .. } => "V042",
            Rule::PrefetchAfterWindow => "V043",
            Rule::ScopedType { .. } => "V044",
            Rule::OperandRole { .. } => "V045",
            Rule::Semaphores { .. } => "V046",
            Rule::Pipelining { .. } => "V049",
            Rule::Alias { .. } => "V050",
            Rule::Given { .. } => "V051",
            Rule::ViewStrides { .. } => "V052",
            Rule::ScalarBits { .. } => "V053",
            Rule::Barrier => "V055",
            Rule::ElsewhereOperand { .. } => "V056",
            Rule::Bound { .. } => "V059",
            Rule::CoreParallelAfterOthers => "V057",
            Rule::NoCores => "V058",
        }
    }
}
