//! What the tests share.

pub mod idioms;
pub mod kernels;
pub mod libtpu;
pub mod one_op;
