//! Predicted cycles against those that libtpu estimates.

pub mod kernels;
pub mod points;
pub mod records;
