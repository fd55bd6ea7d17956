//! The telling cases of Pallas' own tests, the answers on which its interpreters agree, and what users of such systems
//! reported, as kernels of this language on both executors. The numbers are those of the project's lists.
//!
//! Cases 1 to 5, 16 and 17 are in `conformance.rs`, reports 6, 33, 35 and 43 in `reports.rs`, 34 in `cost.rs`; windows that start
//! at elements (7, 8) and strided access (of 46) are with them.

mod answers;
mod blocks;
mod operations;
mod reports;
