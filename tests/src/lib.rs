//! What the tests share: the filetests' directives, their arrays and their bindings.

pub mod filetest;
