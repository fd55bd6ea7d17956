//! What libtpu takes, as recorded, against what the legaliser calls native.
//!
//! Rules: the record is `tests/data/legality.txt`, the verdicts of libtpu 0.0.50.1 on 19,767 small Mosaic kernels; its header
//! says how it is read. `meaning` finds the kernel of the IR that would be printed as such a kernel, where there is one, and
//! [`ask`] what the legaliser says of it.

mod ask;
mod casts;
mod copies;
mod elementwise;
mod launch;
mod meaning;
mod memory;
mod shapes;

pub use ask::{Answer, ask};
pub use meaning::{Meaning, meanings};

use tpu_kernel::chips::Chip;

/// The chips of the record, in its order.
pub const CHIPS: [&Chip; 5] = [&Chip::V4, &Chip::V5E, &Chip::V5P, &Chip::V6E, &Chip::TPU7X];

/// A recorded kernel.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// What it is about.
    pub group: &'static str,
    /// The operation of Mosaic text, or a name.
    pub op: &'static str,
    /// Its element type, as MLIR writes it; of some a pair.
    pub ty: &'static str,
    /// The shape of its operand.
    pub shape: &'static str,
    /// More about it.
    pub extra: &'static str,
    /// A verdict a chip: `a` accepted, `r` refused, `p` not parsed, `c` the compiler died, `-` not tried.
    pub verdicts: [char; 5],
}

const RECORD: &str = include_str!("../../data/legality.txt");

/// The record.
///
/// # Panics
/// Where the file is not in its form.
pub fn rows() -> Vec<Row> {
    let mut rows = vec![];
    let (mut group, mut op, mut types) = ("", "", vec![]);
    for line in RECORD.lines() {
        if let Some(head) = line.strip_prefix("# ") {
            (group, op) = head.split_once('\t').expect("a group and an operation");
        } else if let Some(cases) = line.strip_prefix('\t') {
            let (shapes, extras) = cases.split_once('\t').expect("shapes and extras");
            for shape in shapes.split(';') {
                for extra in extras.split(" | ") {
                    let row = |&(ty, verdicts)| Row { group, op, ty, shape, extra, verdicts };
                    rows.extend(types.iter().map(row));
                }
            }
        } else {
            types = line.split(' ').flat_map(verdicts).collect();
        }
    }
    rows
}

/// `aaraa:f32,bf16`
fn verdicts(text: &'static str) -> impl Iterator<Item = (&'static str, [char; 5])> {
    let (letters, types) = text.split_once(':').expect("verdicts and types");
    let letters: Vec<char> = letters.chars().collect();
    let letters: [char; 5] = letters.try_into().expect("a letter a chip");
    types.split(',').map(move |ty| (ty, letters))
}
