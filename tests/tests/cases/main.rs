//! The telling cases of Pallas' own tests, the answers on which its interpreters agree, and what users of such systems
//! reported, as kernels of this language on both executors. The numbers are those of the project's lists.
//!
//! Cases 1 to 5, 16 and 17 are in `conformance.rs`, reports 6, 33, 35 and 43 in `reports.rs`, 14, 15, 17 and 20 in
//! `report_types.rs`, 34 in `cost.rs`; windows that start
//! at elements (7, 8) and strided access (of 46) are with them.

use safetensors::SafeTensors;
use std::path::Path;

/// The bytes of one of the arrays that `goldens/cases.py` wrote.
fn golden(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("goldens/cases.safetensors");
    let data = std::fs::read(path).expect("the goldens");
    let tensors = SafeTensors::deserialize(&data).expect("a file of tensors");
    tensors.tensor(name).unwrap_or_else(|e| panic!("{name}: {e}")).data().to_vec()
}

mod answers;
mod blocks;
mod operations;
mod random;
mod reports;
