//! The chips as data: what a launch check, a cost or a printer must know of each.
//!
//! Rules: a constant stands here once, with its source. The sources are libtpu 0.0.50.1 (compiled
//! against, ahead of time: "libtpu"), Google's public tables as jax repeats them in
//! `pallas/mosaic/tpu_info.py` ("jax") and the Cloud TPU documentation ("cloud"). Where a table and
//! what libtpu accepts differ, libtpu wins: it is what a kernel meets.

use crate::ir::DType;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// A TPU chip. Memory sizes are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chip {
    /// The name by which a user picks it: `v6e`.
    pub name: &'static str,
    /// TensorCores of a chip.
    pub cores: usize,
    /// Those of them that run one kernel together; where it is 1 each core is a device of its own.
    pub cores_together: usize,
    /// Matrix units of a core.
    pub mxus: usize,
    /// Rows and columns of a matrix unit.
    pub mxu_size: usize,
    /// Vector memory of a core.
    pub vmem_bytes: u64,
    /// What the windows of one kernel may take of it; the limit itself still fits.
    pub scoped_vmem_bytes: u64,
    /// Scalar memory of a core.
    pub smem_bytes: u64,
    /// High-bandwidth memory of the chip.
    pub hbm_bytes: u64,
    /// Cycles of a core in a microsecond.
    pub clock_mhz: u32,
    /// Whether lanes can be gathered across sublanes, which turns a column into a row.
    pub sublane_gather: bool,
    /// Whether vectors of one dimension of elements of 8 bits may be less than whole registers.
    pub byte_vectors: bool,
    /// Whether a tile of bf16 has an approximate reciprocal.
    pub bf16_reciprocal: bool,
    /// Whether tiles of 8 and 4 bits are shifted.
    pub byte_shifts: bool,
    /// The floats that the matrix units take, beside each other and beside integers of at most 8 bits.
    pub product_floats: &'static [DType],
    /// Whether the matrix units multiply integers of at most 8 bits with each other.
    pub int8_products: bool,
}

/// Sublanes of a vector register, for elements of 32 bits. "jax" `num_sublanes`.
pub const SUBLANES: usize = 8;
/// Lanes of a vector register. "jax" `num_lanes`.
pub const LANES: usize = 128;

impl Chip {
    // Cores, mxus, mxu_size, hbm: "jax", "cloud". vmem, scoped, sublane_gather, bf16_reciprocal, byte_shifts,
    // byte_vectors, product_floats, int8_products, cores_together: "libtpu", by bisection and trial (v4 with its cores configured as
    // "megacore", which tpu7x does not have). smem: "jax". clock: the peak in bf16 ("jax",
    // "cloud") over the 2·mxus·mxu_size² operations of a cycle, twice as many on v6e and tpu7x: libtpu's estimates of
    // large products are faster there than one such product a cycle.

    /// TPU v4.
    pub const V4: Chip = Chip {
        name: "v4",
        cores: 2,
        cores_together: 2,
        mxus: 4,
        mxu_size: 128,
        vmem_bytes: 16 * MIB,
        scoped_vmem_bytes: 16 * MIB,
        smem_bytes: MIB,
        hbm_bytes: 32 * GIB,
        clock_mhz: 1050,
        sublane_gather: false,
        byte_vectors: false,
        bf16_reciprocal: false,
        byte_shifts: false,
        product_floats: &[DType::F32, DType::Bf16],
        int8_products: false,
    };
    /// TPU v5e.
    pub const V5E: Chip = Chip {
        name: "v5e",
        cores: 1,
        cores_together: 1,
        mxus: 4,
        mxu_size: 128,
        vmem_bytes: 128 * MIB,
        scoped_vmem_bytes: 16 * MIB,
        smem_bytes: MIB,
        hbm_bytes: 16 * GIB,
        clock_mhz: 1500,
        sublane_gather: true,
        byte_vectors: true,
        bf16_reciprocal: false,
        byte_shifts: true,
        product_floats: &[DType::F32, DType::Bf16, DType::F8E4M3Fn, DType::F8E5M2, DType::F8E4M3B11Fnuz],
        int8_products: true,
    };
    /// TPU v5p.
    pub const V5P: Chip = Chip {
        name: "v5p",
        cores: 2,
        cores_together: 2,
        mxus: 4,
        mxu_size: 128,
        vmem_bytes: 64 * MIB,
        scoped_vmem_bytes: 16 * MIB,
        smem_bytes: MIB,
        // "cloud" says 95 GiB, "jax" 103e9 bytes (96 GiB): the smaller is what a program can have.
        hbm_bytes: 95 * GIB,
        clock_mhz: 1750,
        sublane_gather: true,
        byte_vectors: true,
        bf16_reciprocal: false,
        byte_shifts: true,
        product_floats: &[DType::F32, DType::Bf16, DType::F8E4M3Fn, DType::F8E5M2, DType::F8E4M3B11Fnuz],
        int8_products: true,
    };
    /// TPU v6e.
    pub const V6E: Chip = Chip {
        name: "v6e",
        cores: 1,
        cores_together: 1,
        mxus: 2,
        mxu_size: 256,
        vmem_bytes: 128 * MIB,
        scoped_vmem_bytes: 32 * MIB,
        smem_bytes: MIB,
        hbm_bytes: 32 * GIB,
        clock_mhz: 1750,
        sublane_gather: true,
        byte_vectors: true,
        bf16_reciprocal: true,
        byte_shifts: true,
        product_floats: &[DType::F32, DType::Bf16, DType::F8E4M3Fn, DType::F8E5M2, DType::F8E4M3B11Fnuz],
        int8_products: true,
    };
    /// TPU7x.
    pub const TPU7X: Chip = Chip {
        name: "tpu7x",
        cores: 2,
        cores_together: 1,
        mxus: 2,
        mxu_size: 256,
        vmem_bytes: 64 * MIB,
        scoped_vmem_bytes: 32 * MIB,
        smem_bytes: MIB,
        hbm_bytes: 192 * GIB,
        clock_mhz: 2200,
        sublane_gather: true,
        byte_vectors: true,
        bf16_reciprocal: true,
        byte_shifts: true,
        product_floats: &[DType::F32, DType::Bf16, DType::F8E4M3Fn, DType::F8E5M2, DType::F4E2M1Fn],
        int8_products: true,
    };

    /// Every chip, oldest first.
    pub const ALL: &'static [Chip] = &[Chip::V4, Chip::V5E, Chip::V5P, Chip::V6E, Chip::TPU7X];

    /// The chip of that name, in any case.
    pub fn by_name(name: &str) -> Option<&'static Chip> {
        Chip::ALL.iter().find(|chip| chip.name.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case_and_are_unique() {
        for chip in Chip::ALL {
            assert_eq!(Chip::by_name(&chip.name.to_uppercase()), Some(chip));
        }
        assert_eq!(Chip::by_name("v5"), None);
        assert_eq!(Chip::by_name(""), None);
    }

    #[test]
    fn the_scoped_limit_is_part_of_the_memory() {
        for chip in Chip::ALL {
            assert!(chip.scoped_vmem_bytes <= chip.vmem_bytes, "{}", chip.name);
        }
    }
}
