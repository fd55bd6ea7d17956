//! The functions that are emitted inline, each defined once over [`Lanes`], and every elementwise operation on scalars.
//!
//! Rules: a function is straight-line code over the operations of [`Lanes`], each of which has one
//! correctly rounded (or exact) result. The interpreter instantiates it for plain f32, the code
//! generator for the vectors that it emits, so both give the same bits. Arguments and results are
//! f32; the function of a narrower float is that of the widened value, rounded. All other functions that are approximated
//! come from [`tpu_microkernels::function`], which compiled code calls.

mod binary;
mod exp;
mod format;
mod integral;
mod lanes;
mod neighbour;
mod scalar;
mod stochastic;
mod tanh;
#[cfg(test)]
mod tests;
mod unary;

pub use binary::binary;
pub use exp::exp;
pub use format::{decode, encode, pack, round};
pub use integral::{ceil, floor, round_even, trunc};
pub use lanes::Lanes;
pub use neighbour::next_after;
pub use scalar::Scalar;
pub use stochastic::stochastic_round;
pub use tanh::tanh;
pub(crate) use unary::function as unary_function;
pub use unary::unary;

/// One over the square root: two correctly rounded operations, within 1.5 ulp together.
pub fn rsqrt<L: Lanes>(l: &mut L, x: L::F) -> L::F {
    let one = l.f32(1.0);
    let root = l.sqrt(x);
    l.div(one, root)
}
