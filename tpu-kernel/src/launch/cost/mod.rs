//! What a launch costs, from the kernel and the launch's numbers alone: nothing runs, and the time is linear in
//! the kernel's text, whatever the grid.
//!
//! Rules. An element that arithmetic, a comparison, a selection or a bitwise operation gives is one flop, whatever
//! its type; an element that a mathematical function gives is one transcendental and no flop; a reduction or scan is a
//! flop for each element that it combines with another; sorting n elements is n·⌈log2 n⌉ flops; a product of m×k by
//! k×n is 2·m·n·k. Conversions, changes of shape, elements that move, random bits, and scalars are free. A window moves its block, in whole also where it
//! sticks out of the array, each time its block index changes from one step to the next: an input when it
//! arrives, an output when it leaves, and where it may be revisited in any step also when it is entered. A copy by hand moves its view, or the whole array, each time it is started; of `rows` the most.
//!
//! A body counts once a step, whole blocks of it: what lies past an array's edge is computed too. Loops multiply by their trips. A branch counts where it is taken: as many steps as
//! the condition holds in, where it compares something linear in one grid index, or joins such comparisons; else as
//! the larger arm. What is not known is counted as its most, and the cost is then not exact; a `while`, of which
//! there is no most, as one trip.

mod body;
mod moves;
mod steps;

use super::Binding;
use super::maps::{Numbers, Range};
use crate::ir::{Kernel, Revisit, Type};
use body::Counter;
use moves::moves;
use steps::{Times, volume};

/// What a launch costs. Counts beyond 64 bits are the largest there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Arithmetic on elements of tiles, of any type; a product and a sum are two.
    pub flops: u64,
    /// The part of it that products of matrices are.
    pub product_flops: u64,
    /// The part of it that is no floating-point arithmetic: on integers and masks, as of indices, masks and random bits.
    pub integer_flops: u64,
    /// Bytes that move between arrays and windows, and those of copies that the body starts.
    pub bytes: u64,
    /// Elements of mathematical functions: `exp`, `tanh`, `sqrt` …
    pub transcendentals: u64,
    /// Whether the counts are exact. Else no count is too small, unless the kernel has a `while`.
    pub exact: bool,
}

/// The cost of a launch that binds these numbers.
///
/// # Panics
/// On a kernel that [`verify`](crate::passes::verify()) refuses, or a binding of another kernel.
pub fn cost(kernel: &Kernel, binding: &Binding) -> Cost {
    if binding.grid.contains(&0) {
        return Cost { flops: 0, product_flops: 0, integer_flops: 0, bytes: 0, transcendentals: 0, exact: true };
    }
    let numbers = Numbers { sizes: &binding.sizes, grid: &binding.grid };
    let steps: Vec<Range> = binding.grid.iter().map(|&n| Range { lo: 0, hi: i64::from(n) - 1 }).collect();
    let mut counter = Counter::new(kernel, Numbers { sizes: &binding.sizes, grid: &binding.grid }, &binding.arrays);
    let times = Times { total: volume(&steps), steps: steps.clone(), uniform: true };
    counter.region(&kernel.body, &times);

    let mut bytes = counter.work.bytes;
    let mut exact = counter.work.exact;
    for (window, ty) in kernel.params.iter().filter_map(|p| Some((p.window()?, p.ty))) {
        let (moves, moves_exact) = moves(kernel, window, &numbers, &steps);
        let times = if window.pipelining.revisit == Revisit::Any { 2 } else { 1 };
        bytes = bytes.saturating_add(moves.saturating_mul(times * block_bytes(ty)));
        exact &= moves_exact;
    }
    let mut fit = |n: u128| {
        u64::try_from(n).unwrap_or_else(|_| {
            exact = false;
            u64::MAX
        })
    };
    let work = counter.work;
    let [flops, product_flops, integer_flops] = [work.flops, work.products, work.integers].map(&mut fit);
    let (bytes, transcendentals) = (fit(bytes), fit(work.transcendentals));
    Cost { flops, product_flops, integer_flops, bytes, transcendentals, exact }
}

/// Bytes of a window's block, as the chip packs its elements.
fn block_bytes(window: Type) -> u128 {
    (window.shape().elements() as u128 * u128::from(window.dtype().bits())).div_ceil(8)
}
