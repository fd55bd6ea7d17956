//! What is refused before anything runs.

use crate::ir::{DType, Loc};

/// A launch that may not run. Every message names the operand, the rule and what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LaunchError {
    /// L001
    #[error("kernel `{kernel}` takes {want} arguments, got {got}")]
    ArgumentCount {
        /// The kernel.
        kernel: String,
        /// Inputs and scalars it takes.
        want: usize,
        /// How many were given.
        got: usize,
        /// Where the kernel is, or the argument that is missing.
        loc: Loc,
    },
    /// L002
    #[error("operand `{operand}` takes {want}, got {got}")]
    ArgumentKind {
        /// The operand.
        operand: String,
        /// What it takes: an array, or a scalar of some type.
        want: String,
        /// What was given.
        got: String,
        /// Where the operand is declared.
        loc: Loc,
    },
    /// L003
    #[error("operand `{operand}` has rank {want} ([{declared}]), got an array of rank {got} with shape {shape:?}")]
    Rank {
        /// The operand.
        operand: String,
        /// Its declared rank.
        want: usize,
        /// Its declared shape, as written.
        declared: String,
        /// The array's rank.
        got: usize,
        /// The array's shape.
        shape: Vec<usize>,
        /// Where the operand is declared.
        loc: Loc,
    },
    /// L004
    #[error("{}", mismatch(.size, .first, .then))]
    SizeMismatch {
        /// The named size, or the expression.
        size: String,
        /// The operand that bound it first, and its value there.
        first: (String, usize),
        /// The operand that contradicts, and its value there.
        then: (String, usize),
        /// Where the second operand is declared.
        loc: Loc,
    },
    /// L005
    #[error("operand `{operand}` takes elements of {want}, got {got}")]
    ElementType {
        /// The operand.
        operand: String,
        /// What it takes.
        want: String,
        /// The array's element type.
        got: DType,
        /// Where the operand is declared.
        loc: Loc,
    },
    /// L006
    #[error("block sizes are not set: {}; set each on the launch, as in `.{}(128)`", .blocks.join(", "), .blocks[0].to_lowercase())]
    BlocksMissing {
        /// The block sizes without a value.
        blocks: Vec<String>,
        /// Where the kernel is.
        loc: Loc,
    },
    /// L007
    #[error("{what} `{name}` has no value: no input binds it; set it on the launch, as in `.{}({example})`", .name.to_lowercase())]
    Unbound {
        /// `size` or `element type`.
        what: &'static str,
        /// Its name.
        name: String,
        /// An example of a value.
        example: &'static str,
        /// Where the output that has it is declared, or the kernel is.
        loc: Loc,
    },
    /// L008
    #[error(
        "block index {index} along axis {axis} of operand `{operand}` is outside the array {array:?}: {} in blocks of {block} make {}; at grid step {step:?}",
        counted(.extent, "element"), counted(.blocks, "block")
    )]
    BlockIndex {
        /// The operand.
        operand: String,
        /// The axis of the array.
        axis: usize,
        /// The array's shape.
        array: Vec<usize>,
        /// What the index map gave.
        index: i64,
        /// Elements of the array along the axis.
        extent: usize,
        /// Elements of a block along the axis.
        block: usize,
        /// Blocks that cover the axis.
        blocks: usize,
        /// The first grid step that gives it.
        step: Vec<i32>,
        /// Where the operand is declared.
        loc: Loc,
    },
    /// L009
    #[error("the grid has no step ({extents}), but output `{output}` has {elements} elements that nothing would write")]
    EmptyGrid {
        /// The extents, by name.
        extents: String,
        /// The first output that is not empty.
        output: String,
        /// Its elements.
        elements: usize,
        /// Where the grid dimension is declared.
        loc: Loc,
    },
    /// L010
    #[error("{what} is {value}: it must lie between 0 and 2147483647")]
    SizeRange {
        /// The size, shape or grid dimension.
        what: String,
        /// Its value, or the reason that it has none.
        value: String,
        /// Where it is declared.
        loc: Loc,
    },
    /// L011
    #[error("the kernel needs {need} bytes of VMEM on {chip}, the limit is {limit}:{table}")]
    Vmem {
        /// The chip.
        chip: String,
        /// Bytes needed.
        need: u64,
        /// The scoped limit, bytes.
        limit: u64,
        /// Every window and scratch: a line each, with shape, padding, buffers and bytes.
        table: String,
        /// Where the operand that takes most is declared.
        loc: Loc,
    },
    /// L020
    #[error("the kernel needs {need} bytes of SMEM on {chip}, which has {limit}:{table}")]
    Smem {
        /// The chip.
        chip: String,
        /// Bytes needed.
        need: u64,
        /// Bytes of scalar memory.
        limit: u64,
        /// A line for each prefetched array and scratch.
        table: String,
        /// The kernel.
        loc: Loc,
    },
    /// L012
    #[error("operand `{operand}`: a block of {block} along axis {axis} of {extent} elements does not fit {chip}'s tiles: {rule}")]
    BlockShape {
        /// The operand.
        operand: String,
        /// The axis of the array.
        axis: usize,
        /// The block size.
        block: usize,
        /// Elements of the array along the axis.
        extent: usize,
        /// The chip.
        chip: String,
        /// The rule, and a size that would work.
        rule: String,
        /// Where the operand is declared.
        loc: Loc,
    },
    /// L013
    #[error("block size `{name}` is {value}: it must lie between 1 and 2147483647")]
    BlockRange {
        /// The block size.
        name: String,
        /// Its value.
        value: usize,
        /// Where the kernel is.
        loc: Loc,
    },
    /// L014
    #[error("kernel `{kernel}` has no array size `{size}` to set; it names {}", quoted(.names))]
    UnknownSize {
        /// The kernel.
        kernel: String,
        /// The name that was set.
        size: String,
        /// The sizes that it has.
        names: Vec<String>,
        /// Where the kernel is.
        loc: Loc,
    },
    /// L015
    #[error("size `{size}` is set to {set} on the launch, but it is {got} in operand `{operand}`")]
    SizeSet {
        /// The named size, or an expression over it.
        size: String,
        /// Its value by the launch.
        set: usize,
        /// The operand that contradicts.
        operand: String,
        /// Its value there.
        got: usize,
        /// Where the operand is declared.
        loc: Loc,
    },
    /// L016
    #[error("{what} has more {unit} than the host can count")]
    TooLarge {
        /// The array or the grid.
        what: String,
        /// What is counted.
        unit: &'static str,
        /// Where it is declared.
        loc: Loc,
    },
    /// L017
    #[error(
        "output `{operand}` would not be written everywhere: along axis {axis} it has {extent} elements, {blocks} block(s) of {block}, and the grid visits {visited}"
    )]
    Unwritten {
        /// The output.
        operand: String,
        /// The axis of the array.
        axis: usize,
        /// Elements of the array along the axis.
        extent: usize,
        /// Elements of a block along the axis.
        block: usize,
        /// Blocks that the array has along the axis.
        blocks: usize,
        /// The blocks that the grid visits.
        visited: String,
        /// Where the output is declared.
        loc: Loc,
    },
    /// L018
    #[error("{chip} does not multiply {lhs} by {rhs}: it has no {missing}; it multiplies {accepted}")]
    DotTypes {
        /// The chip.
        chip: String,
        /// The element type of the left operand.
        lhs: DType,
        /// The element type of the right operand.
        rhs: DType,
        /// The one of them that the chip has not.
        missing: DType,
        /// The products that it has, in words.
        accepted: String,
        /// Where the product is written.
        loc: Loc,
    },
    /// L019
    #[error(
        "a window of {size} elements from element {start} along axis {axis} of operand `{operand}` leaves the array {array:?}: with padding of ({}, {}), {}; at grid step {step:?}",
        .pad.0, .pad.1, starts(.allowed)
    )]
    ElementStart {
        /// The operand.
        operand: String,
        /// The axis of the array.
        axis: usize,
        /// The array's shape.
        array: Vec<usize>,
        /// What the index map gave.
        start: i64,
        /// Elements of the window along the axis.
        size: usize,
        /// Elements before and after the array that a window may reach.
        pad: (usize, usize),
        /// The least and the greatest start; none where the second is less.
        allowed: (i64, i64),
        /// The first grid step that gives it.
        step: Vec<i32>,
        /// Where the operand is declared.
        loc: Loc,
    },
    /// L024
    #[error("size `{size}` is {value}{}, outside its bounds: {low} to {high}", .operand.as_ref().map(|operand| format!(", by operand `{operand}`")).unwrap_or_default())]
    Bounds {
        /// The size.
        size: String,
        /// Its value.
        value: usize,
        /// The operand that gives it; else the launch does.
        operand: Option<String>,
        /// The least value.
        low: i32,
        /// The greatest value.
        high: i32,
        /// Where the operand is declared, or the kernel.
        loc: Loc,
    },
    /// L023
    #[error("{} along the core_parallel dimension `{dimension}`: {chip} has {} for a kernel, and each takes one", counted(&(*.extent as usize), "step"), counted(.cores, "core"))]
    Cores {
        /// The dimension.
        dimension: String,
        /// Its steps.
        extent: i32,
        /// The cores of the chip that run a kernel together.
        cores: usize,
        /// The chip.
        chip: &'static str,
        /// Where the dimension is declared.
        loc: Loc,
    },
    /// L022
    #[error("scalar `{scalar}` counts steps of the grid, and is {value}")]
    Steps {
        /// The scalar.
        scalar: String,
        /// Its value, less than 0.
        value: i32,
        /// Where the scalar is declared.
        loc: Loc,
    },
    /// L021
    #[error("output `{output}` has shape {got:?}, and shares the array of `{input}`, which has {want:?}")]
    Alias {
        /// The output.
        output: String,
        /// The input.
        input: String,
        /// The input's shape.
        want: Vec<usize>,
        /// The output's shape.
        got: Vec<usize>,
        /// Where the output is declared.
        loc: Loc,
    },
}

fn starts((least, most): &(i64, i64)) -> String {
    match least <= most {
        true => format!("it may start at {least} to {most}"),
        false => "it fits nowhere".to_string(),
    }
}

fn mismatch(size: &str, first: &(String, usize), then: &(String, usize)) -> String {
    let named = size.chars().all(|c| c.is_alphanumeric() || c == '_') && !size.starts_with(|c: char| c.is_ascii_digit());
    match (first, then) {
        ((a, n), (b, m)) if a != b => format!("size `{size}` is {n} in operand `{a}` and {m} in operand `{b}`"),
        ((a, n), (_, m)) if named => format!("size `{size}` is both {n} and {m} in operand `{a}`"),
        ((a, n), (_, m)) if *size == n.to_string() => format!("operand `{a}` has a size of {n} where the array has {m}"),
        ((a, n), (_, m)) => format!("operand `{a}` has a size of `{size}`, which is {n} here, where the array has {m}"),
    }
}

fn counted(n: &usize, what: &str) -> String {
    format!("{n} {what}{}", if *n == 1 { "" } else { "s" })
}

fn quoted(names: &[String]) -> String {
    match names {
        [] => "none".to_string(),
        names => names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", "),
    }
}

impl LaunchError {
    crate::codes! {
        /// The stable code.
        [const] {
            LaunchError::ArgumentCount { .. } => "L001",
            LaunchError::ArgumentKind { .. } => "L002",
            LaunchError::Rank { .. } => "L003",
            LaunchError::SizeMismatch { .. } => "L004",
            LaunchError::ElementType { .. } => "L005",
            LaunchError::BlocksMissing { .. } => "L006",
            LaunchError::Unbound { .. } => "L007",
            LaunchError::BlockIndex { .. } => "L008",
            LaunchError::EmptyGrid { .. } => "L009",
            LaunchError::SizeRange { .. } => "L010",
            LaunchError::Vmem { .. } => "L011",
            LaunchError::BlockShape { .. } => "L012",
            LaunchError::BlockRange { .. } => "L013",
            LaunchError::UnknownSize { .. } => "L014",
            LaunchError::SizeSet { .. } => "L015",
            LaunchError::TooLarge { .. } => "L016",
            LaunchError::Unwritten { .. } => "L017",
            LaunchError::DotTypes { .. } => "L018",
            LaunchError::ElementStart { .. } => "L019",
            LaunchError::Smem { .. } => "L020",
            LaunchError::Alias { .. } => "L021",
            LaunchError::Steps { .. } => "L022",
            LaunchError::Cores { .. } => "L023",
            LaunchError::Bounds { .. } => "L024",
        }
    }

    /// Where the kernel, the operand or the grid dimension is declared that the error is about, or the operation stands.
    pub const fn loc(&self) -> &Loc {
        match self {
            LaunchError::ArgumentCount { loc, .. }
            | LaunchError::ArgumentKind { loc, .. }
            | LaunchError::Rank { loc, .. }
            | LaunchError::SizeMismatch { loc, .. }
            | LaunchError::ElementType { loc, .. }
            | LaunchError::BlocksMissing { loc, .. }
            | LaunchError::Unbound { loc, .. }
            | LaunchError::BlockIndex { loc, .. }
            | LaunchError::EmptyGrid { loc, .. }
            | LaunchError::SizeRange { loc, .. }
            | LaunchError::Vmem { loc, .. }
            | LaunchError::BlockShape { loc, .. }
            | LaunchError::BlockRange { loc, .. }
            | LaunchError::UnknownSize { loc, .. }
            | LaunchError::SizeSet { loc, .. }
            | LaunchError::TooLarge { loc, .. }
            | LaunchError::Unwritten { loc, .. }
            | LaunchError::DotTypes { loc, .. }
            | LaunchError::Smem { loc, .. }
            | LaunchError::Alias { loc, .. }
            | LaunchError::Steps { loc, .. }
            | LaunchError::Cores { loc, .. }
            | LaunchError::Bounds { loc, .. }
            | LaunchError::ElementStart { loc, .. } => loc,
        }
    }
}
