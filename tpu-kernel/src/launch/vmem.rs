//! The vector memory that a kernel needs on a chip.
//!
//! Rules: memory is padded to whole tiles, and elements are packed: two of 16 bits, eight of 4 bits to a word. A window has two buffers, so that the next block arrives
//! while this one is computed, and one where its block never changes. The windows stand against the
//! scoped limit, windows and scratch together against the whole memory; a need equal to the limit fits.

use super::{Binding, LaunchError, maps};
use crate::chips::{Chip, LANES, SUBLANES};
use crate::ir::{DType, Kernel};

/// One window or scratch.
struct Row {
    name: String,
    kind: &'static str,
    ty: String,
    padded: u64,
    buffers: u64,
}

impl Row {
    fn bytes(&self) -> u64 {
        self.padded.saturating_mul(self.buffers)
    }
}

/// Windows against the scoped limit, and all against the memory.
pub(super) fn check(kernel: &Kernel, chip: &Chip, binding: &Binding) -> Result<(), LaunchError> {
    let rows = rows(kernel, binding);
    let sum = |rows: &mut dyn Iterator<Item = &Row>| rows.fold(0u64, |n, row| n.saturating_add(row.bytes()));
    let windows = sum(&mut rows.iter().filter(|r| r.kind != "scratch"));
    let all = sum(&mut rows.iter());
    let (need, limit) = if windows > chip.scoped_vmem_bytes {
        (windows, chip.scoped_vmem_bytes)
    } else if all > chip.vmem_bytes {
        (all, chip.vmem_bytes)
    } else {
        return Ok(());
    };
    Err(LaunchError::Vmem { chip: chip.name.to_string(), need, limit, table: table(&rows) })
}

fn rows(kernel: &Kernel, binding: &Binding) -> Vec<Row> {
    let numbers = maps::Numbers { sizes: &binding.sizes, grid: &binding.grid };
    let mut rows = vec![];
    for param in kernel.params.iter().filter(|p| p.ty.is_ref()) {
        let (kind, buffers) = match param.window() {
            Some(window) => {
                let kind = if param.is_output() { "out" } else { "in" };
                (kind, if maps::is_constant(kernel, &window.map, &numbers) { 1 } else { 2 })
            }
            None => ("scratch", 1),
        };
        let ty = format!("{}x{}", param.ty.shape(), param.ty.dtype());
        // libtpu keeps scratch of less than a byte a byte each; windows are packed.
        let bits = if kind == "scratch" { param.ty.dtype().bits().max(8) } else { param.ty.dtype().bits() };
        let padded = padded_bytes(param.ty.dtype(), bits, param.ty.shape().dims());
        rows.push(Row { name: param.name.clone(), kind, ty, padded, buffers });
    }
    rows
}

/// Bytes of a block in vector memory, where an element takes that many bits.
pub(super) fn padded_bytes(dtype: DType, bits: u32, shape: &[usize]) -> u64 {
    let packing = 32 / dtype.bits() as usize;
    let (rows, columns, leading) = match *shape {
        [] => (1, 1, &[][..]),
        [n] => (1, n, &[][..]),
        [ref leading @ .., rows, columns] => (rows, columns, leading),
    };
    // Rows are packed into words of 32 bits; a tile has eight rows of any type, or fewer where there are fewer.
    let tile = rows.min(SUBLANES).next_power_of_two().max(packing);
    let dims = leading.iter().copied().chain([rows.div_ceil(tile), columns.div_ceil(LANES), tile * LANES * bits as usize / 8]);
    dims.fold(1u64, |n, d| n.saturating_mul(d as u64))
}

/// A line each: operand, role, block, padded bytes, buffers, bytes.
fn table(rows: &[Row]) -> String {
    let mut lines = vec![["operand", "role", "block", "padded bytes", "buffers", "bytes"].map(String::from)];
    for row in rows {
        lines.push([
            row.name.clone(),
            row.kind.to_string(),
            row.ty.clone(),
            row.padded.to_string(),
            row.buffers.to_string(),
            row.bytes().to_string(),
        ]);
    }
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        text.push_str("\n ");
        for (column, (cell, &width)) in line.iter().zip(&widths).enumerate() {
            let cell = if column < 3 { format!(" {cell:<width$}") } else { format!(" {cell:>width$}") };
            text.push_str(&cell);
        }
    }
    text
}
