//! Predicted cycles against those that libtpu estimates.

pub mod kernels;
pub mod plot;
pub mod points;
pub mod records;
pub mod summary;
