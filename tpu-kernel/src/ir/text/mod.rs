//! The text form of a kernel, `.tpuir`: `impl Display for Kernel` prints it, [`parse`] reads it.
//!
//! Rules: for every kernel that the parser reads, and for every kernel that the verifier accepts,
//! `parse(print(k)) == k` up to [`Kernel::renumber`](super::Kernel::renumber), places in the source included, and printing again
//! gives the same text. The parser takes any bytes of any length: it never panics, its work is
//! linear in the text, and nesting is bounded. It reads kernels that break the IR's rules, so that
//! the verifier can be tested from text. The grammar is in `docs/ir.md`.

mod lex;
mod operation;
mod parse;
mod print;
mod size_expr;
mod types;

pub use parse::{ParseError, parse, parse_named};

/// Whether a name needs no quotes.
fn is_word(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
