//! The attributes of the kernel language: `#[tpu_kernel]` and `#[tile_fn]`.
//!
//! The macro stages, it does not interpret: it reads the function (`parse`), makes its own model of
//! it (`model`), checks the model (`check`) and expands it (`expand`) into a builder that records IR
//! when it is called; `lower` rewrites the body's control flow. Every error is collected, names the
//! user's token, and leaves a stub behind, so that one mistake is one error.

mod alias;
mod carries;
mod carry;
mod check;
mod control;
mod errors;
mod expand;
mod lower;
mod memory;
mod message;
mod model;
mod parse;
mod pipeline;
mod scope;
mod size;
mod zero;

use proc_macro::TokenStream;

/// Turns a function into a TPU kernel. See the README for a first kernel.
///
/// `#[tpu_kernel(grid(i: m / BM, j: n / BN), semantics(parallel, arbitrary))]`: the grid's dimensions,
/// slowest first, with their extents over named sizes and block sizes (`/` rounds up), and what the
/// order of steps means (default `arbitrary`; `core_parallel` splits the first dimension over the cores of a chip, which run side by
/// side). `bounds(n: 1..=4096)` says how small and large a size may be, so that one program on a chip serves all. `side_effects` keeps a call on a chip where nothing uses its outputs.
#[proc_macro_attribute]
pub fn tpu_kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::kernel(attribute.into(), item.into()).into()
}

/// Lets a helper function over tiles use comparisons and dynamic `if`, `for` and `while` as a kernel does.
#[proc_macro_attribute]
pub fn tile_fn(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand::helper(attribute.into(), item.into()).into()
}
