//! What the tests share: executors and arrays, the filetests' directives, and the generator of random kernels.

pub mod executors;
pub mod filetest;
pub mod generate;
