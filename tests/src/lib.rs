//! What the tests share: executors and arrays, the filetests' directives, the generator of random
//! kernels, libtpu as a judge, and the measuring of functions.

pub mod accuracy;
pub mod agreement;
pub mod browser;
pub mod by_hand;
pub mod checked;
pub mod devices;
pub mod executors;
pub mod filetest;
pub mod generate;
pub mod golden;
pub mod idioms;
pub mod kernels;
pub mod legalised;
pub mod legality;
pub mod libtpu;
pub mod matrix;
pub mod movement;
pub mod nested;
pub mod one_op;
pub mod pictured;
pub mod prediction;
pub mod tracked;
pub mod transformed;

/// The snippets of the documents compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// So do those of every error's page.
#[cfg(doctest)]
#[doc = include_str!("../../docs/errors.md")]
pub struct Errors;

/// So do those of the language.
#[cfg(doctest)]
#[doc = include_str!("../../docs/language.md")]
pub struct Language;

#[cfg(doctest)]
#[doc = include_str!("../../docs/checked.md")]
pub struct Checked;

#[cfg(doctest)]
#[doc = include_str!("../../docs/transformations.md")]
pub struct Transformations;

#[cfg(doctest)]
#[doc = include_str!("../../docs/tpuk.md")]
pub struct Tpuk;

#[cfg(doctest)]
#[doc = include_str!("../../docs/verify.md")]
pub struct Verify;
