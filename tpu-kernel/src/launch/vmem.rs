//! The vector and the scalar memory that a kernel needs on a chip.
//!
//! Rules: memory is padded to whole tiles, and elements are packed: two of 16 bits, eight of 4 bits to a word. A window has the buffers that the kernel names, else two, so that the next block
//! arrives while this one is computed, and one where its block never changes. The windows stand against the
//! scoped limit, windows, scratch and the memory of regions together against the whole memory; a need equal to the limit fits. Of
//! regions that follow one another those count that need the most at once. Scalar memory has words and no tiles.

use super::{Binding, LaunchError, maps};
use crate::chips::{Chip, LANES, SUBLANES};
use crate::ir::{DType, Kernel, OpKind, Region, Space, Type};

/// What one window, scratch or memory of a region takes of the vector memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmemRow {
    /// The operand; of a region's memory the line of the region.
    pub name: String,
    /// `in`, `out`, `scratch` or `region`.
    pub role: &'static str,
    /// The element type.
    pub dtype: DType,
    /// The block.
    pub shape: Vec<usize>,
    /// Bytes of the elements alone, packed.
    pub packed: u64,
    /// Bytes of one buffer, padded to whole tiles.
    pub padded: u64,
    /// How many buffers: one where the block never changes, else what the kernel says, or two.
    pub buffers: u64,
}

impl VmemRow {
    /// Bytes of all buffers.
    pub fn bytes(&self) -> u64 {
        self.padded.saturating_mul(self.buffers)
    }

    /// Whether it stands against the scoped limit.
    pub fn is_window(&self) -> bool {
        self.role == "in" || self.role == "out"
    }
}

/// Bytes of all rows.
fn sum<'a>(rows: impl Iterator<Item = &'a VmemRow>) -> u64 {
    rows.fold(0u64, |n, row| n.saturating_add(row.bytes()))
}

/// Windows against the scoped limit, all against the memory, and scalar memory against its own.
pub(super) fn check(kernel: &Kernel, chip: &Chip, binding: &Binding) -> Result<(), LaunchError> {
    let rows = vmem(kernel, binding);
    let windows = sum(rows.iter().filter(|row| row.is_window()));
    let all = sum(rows.iter());
    let (need, limit) = if windows > chip.scoped_vmem_bytes {
        (windows, chip.scoped_vmem_bytes)
    } else if all > chip.vmem_bytes {
        (all, chip.vmem_bytes)
    } else {
        return smem(kernel, chip, binding);
    };
    let counted = rows.iter().filter(|row| row.is_window() || windows <= chip.scoped_vmem_bytes);
    // The first of those that take most.
    let most = counted.rev().max_by_key(|row| row.bytes());
    let param = most.and_then(|row| kernel.params.iter().find(|param| param.name == row.name));
    let loc = param.map_or(&kernel.loc, |param| &param.loc).clone();
    Err(LaunchError::Vmem { chip: chip.name.to_string(), need, limit, table: table(&rows), loc })
}

/// The vector memory of a launch: a row for each window and scratch, in the order of the operands.
pub fn vmem(kernel: &Kernel, binding: &Binding) -> Vec<VmemRow> {
    let numbers = maps::Numbers { sizes: &binding.sizes, grid: &binding.grid };
    let mut rows = vec![];
    for param in kernel.params.iter().filter(|p| p.ty.is_ref() && p.ty.space() == Some(Space::Vmem)) {
        let (role, buffers) = match param.window() {
            Some(window) => {
                let role = if param.is_output() { "out" } else { "in" };
                (role, if maps::is_constant(kernel, &window.map, &numbers) { 1 } else { window.pipelining.depth() as u64 })
            }
            None => ("scratch", 1),
        };
        let (dtype, shape) = (param.ty.dtype(), param.ty.shape().dims().to_vec());
        // libtpu keeps scratch of less than a byte a byte each; windows are packed.
        let bits = if role == "scratch" { dtype.bits().max(8) } else { dtype.bits() };
        let padded = padded_bytes(dtype, bits, &shape);
        let packed = shape.iter().fold(u64::from(bits), |n, &d| n.saturating_mul(d as u64)).div_ceil(8);
        rows.push(VmemRow { name: param.name.clone(), role, dtype, shape, packed, padded, buffers });
    }
    let padded = |dtype: DType, shape: &[usize]| padded_bytes(dtype, dtype.bits().max(8), shape);
    for Own { name, dtype, shape, bytes } in own(kernel, &kernel.body, Space::Vmem, &padded).1 {
        let packed = shape.iter().fold(u64::from(dtype.bits().max(8)), |n, &d| n.saturating_mul(d as u64)).div_ceil(8);
        rows.push(VmemRow { name, role: "region", dtype, shape, packed, padded: bytes, buffers: 1 });
    }
    rows
}

/// Prefetched arrays, scratch and the memory of regions against the scalar memory.
fn smem(kernel: &Kernel, chip: &Chip, binding: &Binding) -> Result<(), LaunchError> {
    let mut rows: Vec<(String, u64)> = vec![];
    for (param, array) in kernel.params.iter().zip(&binding.arrays) {
        match param.ty {
            Type::Array(Space::Smem, dtype, _) => rows.push((param.name.clone(), words(dtype, array))),
            Type::Ref(Space::Smem, dtype, shape) => rows.push((param.name.clone(), words(dtype, shape.dims()))),
            _ => {}
        }
    }
    let own = own(kernel, &kernel.body, Space::Smem, &|dtype, shape| words(dtype, shape));
    rows.extend(own.1.into_iter().map(|at| (at.name, at.bytes)));
    let need = rows.iter().fold(0u64, |n, (_, bytes)| n.saturating_add(*bytes));
    if need <= chip.smem_bytes {
        return Ok(());
    }
    let (chip_name, limit) = (chip.name.to_string(), chip.smem_bytes);
    let table: String = rows.iter().map(|(name, bytes)| format!("\n  {name}: {bytes} bytes")).collect();
    Err(LaunchError::Smem { chip: chip_name, need, limit, table, loc: kernel.loc.clone() })
}

/// Bytes in scalar memory: elements packed into words.
fn words(dtype: DType, shape: &[usize]) -> u64 {
    let bits = shape.iter().fold(u64::from(dtype.bits()), |n, &d| n.saturating_mul(d as u64));
    bits.div_ceil(32).saturating_mul(4)
}

/// Memory of a region.
struct Own {
    name: String,
    dtype: DType,
    shape: Vec<usize>,
    bytes: u64,
}

/// The memory in that space that the regions inside need at once, at most, and what it consists of.
fn own(kernel: &Kernel, region: &Region, space: Space, size: &dyn Fn(DType, &[usize]) -> u64) -> (u64, Vec<Own>) {
    let mut most = (0, vec![]);
    for op in &region.ops {
        for inner in &op.regions {
            let (mut bytes, mut rows) = own(kernel, inner, space, size);
            for &arg in inner.args.iter().filter(|_| op.kind == OpKind::Scoped) {
                let Type::Ref(_, dtype, shape) = kernel.ty(arg) else { continue };
                if kernel.ty(arg).space() == Some(space) {
                    let (name, dims) = (format!("line {}", op.loc.line), shape.dims().to_vec());
                    let own = Own { name, dtype, bytes: size(dtype, &dims), shape: dims };
                    bytes = bytes.saturating_add(own.bytes);
                    rows.push(own);
                }
            }
            if bytes > most.0 {
                most = (bytes, rows);
            }
        }
    }
    most
}

/// The limit that is asked for when the kernel is compiled for the chip: its own, unless windows that fit leave too little
/// beside them for scratch and for values on their way, which libtpu keeps in the same memory. Twice the largest value is room
/// for those.
pub(crate) fn scoped_limit(kernel: &Kernel, chip: &Chip, binding: &Binding) -> u64 {
    let rows = vmem(kernel, binding);
    let windows = sum(rows.iter().filter(|row| row.is_window()));
    let value = |ty: &Type| match *ty {
        Type::Tile(dtype, shape) => padded_bytes(dtype, dtype.bits(), shape.dims()),
        Type::Scalar(_) | Type::Ref(..) | Type::Array(..) | Type::Semaphore(..) => 0,
    };
    let largest = kernel.types.iter().map(value).max().unwrap_or(0);
    let wanted = sum(rows.iter()).saturating_add(largest.saturating_mul(2));
    if windows > chip.scoped_vmem_bytes { chip.scoped_vmem_bytes } else { wanted.clamp(chip.scoped_vmem_bytes, chip.vmem_bytes) }
}

/// Bytes of a block in vector memory, where an element takes that many bits.
pub(crate) fn padded_bytes(dtype: DType, bits: u32, shape: &[usize]) -> u64 {
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
fn table(rows: &[VmemRow]) -> String {
    let mut lines = vec![["operand", "role", "block", "padded bytes", "buffers", "bytes"].map(String::from)];
    for row in rows {
        let shape: String = row.shape.iter().map(|d| format!("{d}x")).collect();
        lines.push([
            row.name.clone(),
            row.role.to_string(),
            format!("{shape}{}", row.dtype),
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
