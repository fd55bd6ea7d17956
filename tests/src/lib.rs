//! What the tests share: executors and arrays, the filetests' directives, the generator of random
//! kernels, and libtpu as a judge.

pub mod devices;
pub mod executors;
pub mod filetest;
pub mod generate;
pub mod idioms;
pub mod kernels;
pub mod libtpu;
pub mod one_op;
pub mod transformed;

/// The snippets of the documents compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
#[cfg(doctest)]
#[doc = include_str!("../../docs/transformations.md")]
pub struct Transformations;
