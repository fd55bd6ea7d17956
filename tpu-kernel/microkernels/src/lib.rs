//! Work for compiled code, compiled ahead of time: matrix products picked by instruction set at run time, operations on
//! whole tiles ([`tile`]), and elementwise functions ([`function`]). Beside them, what the machine can do at most ([`probe`]).
//!
//! Rules of the products: operands are strided in both dimensions, so a transposed operand is the same matrix with its
//! strides exchanged; the result has unit column stride; it is overwritten, or, through [`raw`], read
//! once for each element, where the whole product is added to it in one addition; NaN and infinity propagate (nothing is skipped because a factor is zero); accumulation is in f32, or wrapping i32; the
//! order of accumulation differs between instruction sets, within the error bound of each function.
//! Single-threaded: the caller owns the threads.

mod add;
mod bf16;
#[cfg(target_arch = "x86_64")]
mod bf16_avx512;
mod f32;
pub mod function;
mod i32;
mod matrix;
pub mod probe;
pub mod raw;
mod scratch;
pub mod stream;
pub mod tile;

pub use bf16::{gemm_bf16, gemm_f32_default, gemm_f32_high};
pub use f32::gemm_f32;
pub use i32::gemm_i32;
pub use matrix::{Mat, MatMut};
