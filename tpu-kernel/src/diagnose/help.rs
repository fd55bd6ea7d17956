//! What to do about an error: one line of advice for each.

use crate::BuildFault;
use crate::exec::{Meeting, RunError};
use crate::ir::{BlockDim, Literal, Rule};
use crate::launch::LaunchError;
use crate::legalise;

/// Advice for a kernel that cannot be built.
pub(super) fn build(fault: &BuildFault) -> &'static str {
    match fault {
        BuildFault::Rule(fault) => rule(&fault.rule),
        BuildFault::TooLarge { .. } => "make the block size smaller: windows, scratch and values share the VMEM",
        BuildFault::ForeignValue(_) => "build the value inside this kernel's function",
        BuildFault::OutOfRegion(_) => "give a `let mut` variable a value before the loop or branch, and assign it inside",
        BuildFault::BrokenRegion(_) => "carry a variable that says whether to go on, and test it",
        BuildFault::Panic { .. } => "the body of a kernel is Rust that runs while the kernel is built: mend what panics there",
        BuildFault::Overflow { .. } => {
            "elements wrap while a kernel runs, but a constant that wraps is no wish: write the constant that is meant"
        }
        BuildFault::DivisionByZero { .. } => "divide by a constant that is not zero",
        BuildFault::Shift { .. } => "shift by 0 up to one bit less than the elements have",
        BuildFault::Index { .. } => "negative indices count from the end, others from 0",
        BuildFault::CopyNotAwaited(_) => "keep what `.start(…)` returns and call `.wait()`; `.leave()` where a `.finish(…)` waits",
        BuildFault::CopyNotMade(_) => "call `.now()`, `.start(semaphore)`, or `.finish(semaphore)` for one that was started before",
        BuildFault::AwaitedElsewhere(_) => "leave the copy, `.leave()`, and wait with `copy(from, to).finish(semaphore)`",
        BuildFault::BoundsOfWritten(_) => "keep what the kernel writes in scratch, `Smem<T, S>`, or load without bounds",
        BuildFault::Buffers { .. } => "write `.buffers(n)` after the operand, with 2 or 3; leave it out after `.update(…)`",
        BuildFault::BlockSizes(_) => "keep one dimension `Bounded` or `Indirect`, and cut the others into blocks",
        BuildFault::Literal { dtype, .. } if !Literal::from_f32(*dtype, f32::INFINITY).as_f32().is_some_and(f32::is_infinite) => {
            "write a value within the range of the elements"
        }
        BuildFault::Literal { .. } => "write a value within the range of the elements, or `f32::INFINITY`",
    }
}

/// Advice for a kernel that has no form on a chip.
pub(super) fn illegal(rule: &legalise::Rule) -> &'static str {
    match rule {
        legalise::Rule::ElementType(_) => "store the array with another element type, or choose a chip that has this one",
        legalise::Rule::NoLowering(_) => "write it with other operations, or cast to a type on which it has a form",
        legalise::Rule::Reshape { .. } => "choose a last dimension that stays, or one with a larger divisor in common",
        legalise::Rule::Start { .. } => "compute the start as a product with that constant",
        legalise::Rule::Window(_) => "choose another block or another index map",
        legalise::Rule::Binding(_) => "bind the kernel that is printed, to arrays that have elements",
        legalise::Rule::Unverified(_) => "verify the kernel first",
        legalise::Rule::PrintedTile(_) => "print one element, or a reduction, as a scalar",
        legalise::Rule::CopyStart { .. } => "compute the start as a product with that constant",
        legalise::Rule::CopySize { .. } => {
            "copy whole tiles of 8 rows and 128 columns, or give the array one more leading dimension"
        }
        legalise::Rule::CopyRows { .. } => {
            "round the number up, as in `(n + 7) / 8 * 8`, or give the memory one more leading dimension"
        }
        legalise::Rule::CopyView(_) => "copy a larger part, and load what is wanted of it",
        legalise::Rule::CopyAdds => "copy to scratch, and add what was there as it is loaded",
        legalise::Rule::StoreBesideCopy { .. } => {
            "wait for the copy first, or store whole rows at a start that is seen to be a multiple of 8"
        }
        legalise::Rule::Wide(_) => "view nearer elements, or fewer of them",
        legalise::Rule::Whole { .. } => "make the memory smaller, or start at constants, so that only that part is loaded",
        legalise::Rule::Semaphores { .. } => "wait for several copies with one semaphore",
        legalise::Rule::Pipelining(_) => "the simulator runs it; for the chip say `buffered(1)`, `buffered(2)` or nothing",
        legalise::Rule::SharedPadding { .. } => "give both windows the same padding before the array",
        legalise::Rule::Vector { .. } => "give it a second dimension, as in [1, n], or cast it to 32 bits as it is loaded",
    }
}

fn rule(rule: &Rule) -> &'static str {
    match rule {
        Rule::OperandCount { .. } | Rule::OperandType { .. } => "the operation's row in docs/ir.md says what it takes",
        Rule::Mismatch { .. } => "nothing is converted by itself: cast or broadcast one of the operands",
        Rule::Element { .. } => "cast to an element type that the operation takes",
        Rule::Axis { .. } => "axes count from 0, outermost first",
        Rule::Broadcast { .. } => "only dimensions of 1 are repeated: reshape to the same rank first",
        Rule::Reshape { .. } => "a reshape keeps the number of elements: choose block sizes that agree",
        Rule::Permutation { .. } => "name each dimension once, as in `[1, 0]`",
        Rule::Contraction { .. } => "the last dimension of the left must equal the first of the right, or transpose one",
        Rule::TileShape { .. } => "leave out what is empty; merge dimensions with `reshape`",
        Rule::TooLarge { .. } => "use smaller blocks and let the grid cover the rest",
        Rule::OutOfBounds { .. } => "a slice lies inside the operand's block: move its start or make the block larger",
        Rule::WriteToInput { .. } => "declare the parameter as an output, or keep the values in scratch",
        Rule::Undefined => "define the value before its use, and carry what leaves a region",
        Rule::Redefined => "give each result a name of its own",
        Rule::RegionCount { .. } => "`if` and `while` have two regions, `for` and `scoped` one, all other operations none",
        Rule::RegionArgs { .. } => "a `for` hands its region the index and what it carries, a `while` what it carries",
        Rule::RegionYields { .. } => "branches yield the results, loops what they carry on, the test of a `while` a bool",
        Rule::Results { .. } => "write the type that the operation gives",
        Rule::CarriedRef => "carry the loaded tile, or an index into the memory",
        Rule::GridAxis { .. } => "dimensions of the grid count from 0, outermost first",
        Rule::SizeIndex { .. } => "name the size in the kernel's head",
        Rule::ImpureMap => "compute the index from grid indices, sizes and constants",
        Rule::MapRank { .. } => "an index map gives one block index for each dimension of the array",
        Rule::BlockShape { .. } => "give the block one size for each dimension of the array that is not squeezed",
        Rule::DuplicateName { .. } => "give each a name of its own",
        Rule::Bound { .. } => "bound each size once, as in `n = 16 to 4096`",
        Rule::CoreParallelAfterOthers => "make it the first dimension; the others may be parallel or arbitrary",
        Rule::NoCores => "declare `semantics(core_parallel, …)`: only then do the cores of a device run side by side",
        Rule::ParallelAfterArbitrary => "move the parallel dimension to the front, or make it arbitrary",
        Rule::NeverWritten => "store to it on every path that matters, or remove the parameter",
        Rule::ArrayRank { .. } => "merge dimensions of the array before the launch",
        Rule::PerDimension { .. } => "give one number for each dimension of the operand",
        Rule::Slice { .. } => "a slice ends inside its operand: start earlier, or read fewer elements",
        Rule::Stride { .. } => "a stride of 1 reads every element",
        Rule::SameAxis { .. } => "name each axis once",
        Rule::Bitcast { .. } => "narrower elements need whole groups of rows: make the second to last dimension larger",
        Rule::DotElements { .. } => "cast one operand to an element type that the other multiplies",
        Rule::Space { .. } => {
            "copy the part that is needed into VMEM first; scalar memory is read with indices, one element at a time"
        }
        Rule::CopyShapes { .. } => "take views of one shape on both sides; nothing is converted on the way",
        Rule::ScalarCopy => "move the elements one by one, or copy from HBM",
        Rule::Priority { .. } => "leave it out, or pass 1 for a copy that may wait",
        Rule::SemaphoreKind { .. } => "copies count bytes on a `DmaSemaphore`; signals and waits use a `Semaphore`",
        Rule::Squeeze { .. } => "view one index along it first",
        Rule::PrefetchAfterWindow => "move the parameter in front of those with a block",
        Rule::ScopedType { .. } => "arrays in HBM are operands of the kernel",
        Rule::Semaphores { .. } => "one semaphore can count the copies of many steps",
        Rule::Barrier => "declare one: `#[scratch] barrier: Barrier<ID>`; its id is the same on every device",
        Rule::ElsewhereOperand { .. } => {
            "devices share what the launch gives each of them; windows and the memory of a region come and go on their own"
        }
        Rule::Pipelining { .. } => "leave the word out; two buffers already let a block arrive while the last one is computed",
        Rule::Given { .. } => {
            "let the scalar count steps of the grid alone; in the body read the scalar, in an index map `num_programs`"
        }
        Rule::Alias { .. } => "name an input array of the same element type and sizes, each for one output",
        Rule::ViewStrides { .. } => "reshape the whole memory before taking a part of it, or load the part and reshape the tile",
        Rule::ScalarBits { .. } => "read the elements as they are, and take them apart with shifts",
        Rule::OperandRole { .. } => "the operand's row in docs/ir.md says where it lies",
        Rule::TooDeep { .. } => "split the kernel, or decide with `choose` and `select`",
    }
}

/// Advice for a launch that is refused.
pub(super) fn launch(error: &LaunchError) -> String {
    match error {
        LaunchError::ArgumentCount { .. } => "pass inputs and scalars in the order of the kernel's parameters".to_string(),
        LaunchError::ArgumentKind { want, .. } => format!("pass {want}"),
        LaunchError::Rank { want, .. } => format!("reshape the array to rank {want}, or declare the operand otherwise"),
        LaunchError::SizeMismatch { .. } => {
            "arrays that name one size must agree on it; name two sizes where they need not".to_string()
        }
        LaunchError::ElementType { want, .. } => format!("convert the array to {want}, or make the kernel generic over it"),
        LaunchError::BlocksMissing { .. } => "the block sizes are the kernel's type parameters with the bound `Dim`".to_string(),
        LaunchError::Unbound { what, .. } => format!("what only outputs have, here the {what}, is set by its lower-case name"),
        LaunchError::BlockIndex { index, extent, block, blocks, .. } => index_help(*index, Some(*extent), Some(*block), *blocks),
        LaunchError::Bounds { .. } => "widen the kernel's `bounds`, or split what is larger over several launches".to_string(),
        LaunchError::Cores { cores, .. } => format!(
            "give it {cores}, from a size or a block size of the launch, and loop over the rest inside, or in another dimension"
        ),
        LaunchError::Steps { .. } => "pass 0 or more".to_string(),
        LaunchError::Alias { .. } => "give both the same sizes".to_string(),
        LaunchError::EmptyGrid { .. } => "give the grid at least one step for every block of the output".to_string(),
        LaunchError::SizeRange { .. } => "check the expression against the arrays that are passed".to_string(),
        LaunchError::Vmem { .. } => {
            "make the blocks smaller; two buffers let a block arrive while the last one is computed".to_string()
        }
        LaunchError::Smem { .. } => {
            "scalar memory is for what decides: keep large arrays in HBM or VMEM, or launch on parts of them".to_string()
        }
        LaunchError::BlockShape { .. } => {
            "to run in the simulator all the same, allow it on the launch: `.allow(Allow::BlockShape)`".to_string()
        }
        LaunchError::DotTypes { missing, .. } => {
            let wider = if missing.is_float() { "bf16" } else { "i8" };
            format!(
                "pass what is {missing} as {wider}, which holds all its values, or take another chip; to run in the simulator all the \
                 same, allow it on the launch: `.allow(Allow::DotTypes)`"
            )
        }
        LaunchError::BlockRange { name, .. } => format!("set it on the launch, as in `.{}(128)`", name.to_lowercase()),
        LaunchError::UnknownSize { .. } => "set one of the sizes that the kernel names".to_string(),
        LaunchError::SizeSet { size, .. } => format!("leave `{size}` out of the launch: the inputs bind it"),
        LaunchError::TooLarge { .. } => "make the arrays or the grid smaller".to_string(),
        LaunchError::ElementStart { .. } => {
            "bound the start in the index map, or let the window reach beyond the array: `element i pad (lo, hi)`".to_string()
        }
        LaunchError::Unwritten { extent, blocks, .. } => format!(
            "a block of {extent} or more would cover the axis, or a grid dimension that counts {blocks} block(s); to leave the rest \
             poison, `.allow(Allow::Unwritten)`"
        ),
    }
}

/// Advice for a run that failed.
pub(super) fn run(error: &RunError) -> String {
    match error {
        RunError::OutOfBounds { .. } => "nothing is clamped: bound the start so that all of it lies inside the operand".to_string(),
        RunError::BlockIndex { block: BlockDim::Element { .. }, .. } => {
            "bound the start in the index map, or let the window reach beyond the array".to_string()
        }
        RunError::BlockIndex { index, block, extent, .. } => index_help(*index, None, None, block.blocks(*extent)),
        RunError::Unordered { other: Meeting::NotBegun { .. }, .. } => {
            "let it say first that it is there: it signals a barrier of all that reach it, and they wait".to_string()
        }
        RunError::Unordered { .. } => {
            "put a signal and a wait between the two, or wait for the copy with the semaphore that counts it there".to_string()
        }
        RunError::NoCore { cores: 0, .. } => "run it as machine code, where cores run side by side".to_string(),
        RunError::NoCore { .. } => "cores count from 0; the index along the core_parallel dimension is the core".to_string(),
        RunError::NoDevice { .. } => "devices count from 0; take the number modulo how many run the kernel".to_string(),
        RunError::AllWait { .. } => {
            "signal, or copy, before the wait, as often as is waited for; every device of a barrier has to come to it".to_string()
        }
        RunError::On { error, .. } | RunError::Again { error } => run(error),
        RunError::LoopStep { .. } => "count upwards, and derive the other direction from the index".to_string(),
        RunError::GatherIndex { index: i32::MIN, .. } => {
            "this index is poison, what lies outside an array: load the indices with `load_or(0)`".to_string()
        }
        RunError::GatherIndex { .. } => {
            "clamp the indices, or give those that mean nothing an index inside and select them away".to_string()
        }
        RunError::Unseeded { .. } => "seed it in the first step of the grid: `if i == 0 { prng_seed(seed); }`".to_string(),
        RunError::Check { .. } => "the kernel's author put this check here: its message says what must hold".to_string(),
        RunError::CopyRows { .. } => "bound the number of rows, as in `rows.minimum(block)`".to_string(),
        RunError::Deadlock { .. } => {
            "start the copy, or signal, before the wait; a wait takes off what it waits for, so that a second one finds nothing"
                .to_string()
        }
        RunError::SemaphoreLeft { .. } => "wait once for each copy that is started, and for all that is signalled; nothing is left to \
                                           steps with other indices along parallel dimensions"
            .to_string(),
        RunError::SemaphoreCount { .. } => "signal and wait for positive numbers".to_string(),
        RunError::Poison { .. } => {
            "write it first, or select it away: `load_or(v)` has a value for what lies outside the array, `select(mask, x, v)` for the rest; \
             0 times poison is poison"
                .to_string()
        }
        RunError::Race { .. } => {
            "wait for the copy first; of several copies on one semaphore none is known to be done before all have been waited for".to_string()
        }
        RunError::NeverWritten { .. } => {
            "store to it in every step that visits its block; to leave elements unwritten, `.allow(Allow::Unwritten)`".to_string()
        }
        RunError::Revisited { .. } => {
            "let the steps that visit a block follow one another: make the dimension that they differ in the last one".to_string()
        }
        RunError::Parallel { dimension, .. } => {
            format!("make `{dimension}` an `arbitrary` dimension, or let its steps write apart from one another")
        }
        RunError::CopyShapes { .. } => "copy views of one static shape".to_string(),
        RunError::Array { .. } | RunError::Count { .. } => "pass what the binding was made from".to_string(),
        RunError::OutOfMemory { .. } => "make the blocks smaller, or run on a host with more memory".to_string(),
    }
}

/// What an index outside the array most likely is.
fn index_help(index: i64, extent: Option<usize>, block: Option<usize>, blocks: usize) -> String {
    let within = |n: usize| i64::try_from(n).is_ok_and(|n| index < n);
    let multiple = |n: usize| i64::try_from(n).is_ok_and(|n| n > 0 && index % n == 0);
    let element = index > 0 && block != Some(1) && (extent.is_some_and(within) || block.is_some_and(multiple));
    match (blocks, block) {
        (0, _) => "the array is empty and has no block: let the grid have no step either".to_string(),
        (_, Some(n)) if element => format!("did you return an element offset? an index map returns block indices: divide by {n}"),
        (n, _) => format!("the index map must give 0 to {} along this axis", n - 1),
    }
}
