//! Element types, memory spaces, kinds of operands and what a grid and a window are made of.

use super::State;
use super::State::{Implemented, Planned};

/// A word of the language that is not an operation.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The heading that it stands under.
    pub group: &'static str,
    /// Its name in text.
    pub name: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// What it becomes in Mosaic.
    pub mosaic: &'static str,
    /// Whether it exists.
    pub state: State,
}

const fn entry(group: &'static str, name: &'static str, state: State, meaning: &'static str, mosaic: &'static str) -> Entry {
    Entry { group, name, meaning, mosaic, state }
}

const ELEMENT: &str = "Element types";
const SPACE: &str = "Memory spaces";
const VALUE: &str = "Types of values";
const OPERAND: &str = "Operands";
const GRID: &str = "Grid";
const WINDOW: &str = "Windows";

/// Every entry, group by group.
#[rustfmt::skip]
pub const TYPES: &[Entry] = &[
    entry(ELEMENT, "f32", Implemented, "IEEE 754 binary32.", "`f32`"),
    entry(ELEMENT, "bf16", Implemented, "The upper half of binary32. Each operation of this and the narrower floats computes in f32 and rounds.", "`bf16`; scalars: load, store, widen only"),
    entry(ELEMENT, "f16", Implemented, "IEEE 754 binary16.", "refused everywhere: i16 bits, decoded in the kernel"),
    entry(ELEMENT, "f8e4m3fn", Implemented, "8 bits, 4 of exponent, 3 of mantissa, to ±448; NaN, no infinity.", "move, convert, `tpu.matmul`, not on v4"),
    entry(ELEMENT, "f8e5m2", Implemented, "8 bits, 5 of exponent, 2 of mantissa, to ±57344; NaN and infinity.", "move, convert, `tpu.matmul`, not on v4"),
    entry(ELEMENT, "f8e4m3b11fnuz", Implemented, "8 bits, 4 of exponent with bias 11, 3 of mantissa, to ±30; one NaN, no infinity, no negative zero.", "`tpu.matmul` on v5e to v6e"),
    entry(ELEMENT, "f4e2m1fn", Implemented, "0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives; in the low bits of a byte.", "convert and `tpu.matmul` on tpu7x only"),
    entry(ELEMENT, "i32", Implemented, "Two's complement, wraps, as all integers.", "`i32`"),
    entry(ELEMENT, "i16", Implemented, "Two's complement, 16 bits.", "move, shift, convert; arithmetic through i32"),
    entry(ELEMENT, "i8", Implemented, "Two's complement, 8 bits.", "move, shift, convert; arithmetic through i32; `tpu.matmul`, not on v4"),
    entry(ELEMENT, "i4", Implemented, "Two's complement, 4 bits; a byte in the memory of the host, sign-extended.", "as i8; 1-D only in whole 1024s; no gather, no strided rotate"),
    entry(ELEMENT, "i2", Implemented, "Two's complement, 2 bits; a byte in the memory of the host, sign-extended.", "convert, on v6e and later"),
    entry(ELEMENT, "u32", Implemented, "Unsigned, 32 bits.", "the signless type of the width with unsigned operations"),
    entry(ELEMENT, "u16", Implemented, "Unsigned, 16 bits.", "as u32"),
    entry(ELEMENT, "u8", Implemented, "Unsigned, 8 bits.", "as u32"),
    entry(ELEMENT, "u4", Implemented, "Unsigned, 4 bits; a byte in the memory of the host.", "as u32"),
    entry(ELEMENT, "bool", Implemented, "A truth value: a byte in memory, a mask in registers.", "`i1` as a value; `i8` in memory, as a carry `i32`"),

    entry(SPACE, "vmem", Implemented, "The vector memory beside the compute units: windows and scratch.", "`#tpu.memory_space<vmem>`"),
    entry(SPACE, "smem", Implemented, "The scalar memory: words for control flow, loaded one at a time.", "`#tpu.memory_space<smem>`"),
    entry(SPACE, "hbm", Implemented, "The device's main memory; copied from and to, never loaded.", "`#tpu.memory_space<hbm>` or `<any>`"),
    entry(SPACE, "vmem_shared", Planned, "Memory that the subcores of a SparseCore share.", "`#tpu.memory_space<vmem_shared>`"),
    entry(SPACE, "cmem", Planned, "The second memory of v4.", "`#tpu.memory_space<cmem>`"),
    entry(SPACE, "host", Planned, "The host's memory.", "`#tpu.memory_space<host>`"),
    entry(SPACE, "acc", Planned, "The accumulators of the matrix unit.", "not yet tried against libtpu"),

    entry(VALUE, "f32", Implemented, "A scalar of an element type, on the scalar unit.", "the type itself; bf16 scalars as f32"),
    entry(VALUE, "tile<8x128xf32>", Implemented, "A block of rank 1 to 4, in vector registers.", "`vector<8x128xf32>`"),
    entry(VALUE, "vmem<8x128xf32>", Implemented, "Memory of a static shape in a space.", "`memref<8x128xf32, #tpu.memory_space<vmem>>`"),
    entry(VALUE, "hbm<?x?xf32>", Implemented, "Memory whose shape is known at the launch.", "`memref<512x512xf32, #tpu.memory_space<any>>`: the launch's numbers"),
    entry(VALUE, "semaphore<2xdma>", Implemented, "Semaphores: `regular` ones count signals, `dma` ones bytes of copies. `semaphore<dma>` is a single one.", "`memref<2x!tpu.semaphore>`, `memref<2x!tpu.dma_semaphore>`"),
    entry(VALUE, "semaphore<barrier0>", Implemented, "The semaphore that the devices of a collective kernel share.", "`tpu.sem_barrier`"),

    entry(OPERAND, "in", Implemented, "A window on an input array; read only. Without blocks: the whole array in HBM, copied by hand.", "a memref with `window_params`"),
    entry(OPERAND, "out", Implemented, "A window on an output array; starts as poison. Without blocks: the whole array in HBM.", "a memref with `window_params`"),
    entry(OPERAND, "scratch", Implemented, "Memory for the whole grid, which starts as poison, or semaphores, which start at 0 and end at 0.", "a memref counted by `scratch_operands`"),
    entry(OPERAND, "scalar", Implemented, "A scalar of the launch. A size of its name is its value, and counts steps of the grid.", "a word in SMEM; of a size also a dynamic bound in `iteration_bounds` and a leading `tensor<i32>`"),
    entry(OPERAND, "prefetch", Implemented, "An array in SMEM before the grid starts; index maps see it.", "counted by `scalar_prefetch`; an argument of every index map"),
    entry(OPERAND, "alias", Implemented, "An output that shares the array of an input: it starts as the input, and is it from then on.", "`output_operand_aliases`"),

    entry(GRID, "core_parallel", Implemented, "Steps along the dimension, the first one, are the cores of a device, which run side by side.", "`#tpu.dimension_semantics<core_parallel>`"),
    entry(GRID, "parallel", Implemented, "Steps along the dimension are independent.", "`#tpu.dimension_semantics<parallel>`"),
    entry(GRID, "arbitrary", Implemented, "Steps run in order.", "`#tpu.dimension_semantics<arbitrary>`"),
    entry(GRID, "subcore_parallel", Planned, "One step a subcore.", "`subcore_parallel`, one dimension at most"),

    entry(WINDOW, "128", Implemented, "A block of so many elements; starts at index × size.", "`window_bounds`; last dimension 128s, the one before 8s, or the whole"),
    entry(WINDOW, "squeezed", Implemented, "One element, and the dimension is absent from the operand.", "a bound of 1 and a memref without the dimension"),
    entry(WINDOW, "element 128", Implemented, "The index map gives the first element; windows may overlap.", "`#tpu.element_window`, then of every dimension; starts provably multiples of 8 and 128"),
    entry(WINDOW, "element 128 pad (8, 8)", Implemented, "The same, and it may reach so many elements before and after the array: poison.", "no padding before the array"),
    entry(WINDOW, "bounded 128", Planned, "The index map gives start and size.", "in a pipeline inside the kernel"),
    entry(WINDOW, "indirect 128", Planned, "Rows by an array of indices.", "SparseCore only"),
    entry(WINDOW, "buffers 2", Implemented, "How many blocks of the window are in memory at once, 1 to 16.", "`pipeline_mode`: `synchronous` or `double_buffered`"),
    entry(WINDOW, "lookahead", Implemented, "The next block that differs is fetched as soon as there is a buffer for it.", "in a pipeline inside the kernel"),
    entry(WINDOW, "revisit any", Implemented, "A block of an output is read from the array when it is entered, so that it may be visited again.", "`revisit_mode`, with one buffer"),
];
