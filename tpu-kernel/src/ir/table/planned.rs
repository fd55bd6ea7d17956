//! The operations that are to come. Data only: there is no code for them.

use super::{Row, State};

const fn row(group: &'static str, mnemonic: &'static str, cells: [&'static str; 6]) -> Row {
    let [operands, attributes, result, elements, meaning, mosaic] = cells;
    Row { group, mnemonic, operands, attributes, result, elements, meaning, mosaic, state: State::Planned }
}

const MATH: &str = "Elementwise mathematics";
const BITS: &str = "Integers and bits";
const CONVERT: &str = "Conversion and packing";
const SHAPE: &str = "Shape and movement";
const REDUCTION: &str = "Reduction, scan, product";
const VIEW: &str = "Views of memory";
const ACCESS: &str = "Access to memory";
const DMA: &str = "Copies between memories";
const SEMAPHORE: &str = "Semaphores and barriers";
const PLACE: &str = "Cores and devices";
const REGION: &str = "Regions";
const RANDOM: &str = "Random numbers";
const DEBUG: &str = "Debugging";
const SPARSE: &str = "SparseCore";

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row(MATH, "exp2", ["x", "", "as x", "floats", "2 to the power x.", "`math.exp2`"]),
    row(MATH, "expm1", ["x", "", "as x", "floats", "exp(x) - 1 without cancellation.", "refused: `exp` - 1 with a series near 0"]),
    row(MATH, "log", ["x", "", "as x", "floats", "Natural logarithm.", "`math.log`"]),
    row(MATH, "log2", ["x", "", "as x", "floats", "Logarithm to base 2.", "`math.log2`"]),
    row(MATH, "log1p", ["x", "", "as x", "floats", "log(1 + x) without cancellation.", "`math.log1p`"]),
    row(MATH, "sin", ["x", "", "as x", "floats", "Sine.", "`math.sin`"]),
    row(MATH, "cos", ["x", "", "as x", "floats", "Cosine.", "`math.cos`"]),
    row(MATH, "tan", ["x", "", "as x", "floats", "Tangent.", "`math.tan`"]),
    row(MATH, "asin, acos, atan", ["x", "", "as x", "floats", "Inverse sine, cosine, tangent.", "refused: `atan2` with `sqrt`; `atan2(x, 1)`"]),
    row(MATH, "atan2", ["y, x", "", "as y", "floats", "The angle of (x, y).", "`math.atan2`; bf16: through f32"]),
    row(MATH, "sinh, cosh", ["x", "", "as x", "floats", "Hyperbolic sine and cosine.", "refused: (eˣ ∓ e⁻ˣ) / 2"]),
    row(MATH, "asinh, acosh, atanh", ["x", "", "as x", "floats", "Inverse hyperbolic functions.", "refused: `log`, `sqrt`, `log1p`"]),
    row(MATH, "erf", ["x", "", "as x", "floats", "Error function.", "`math.erf`"]),
    row(MATH, "erfc, erf_inv", ["x", "", "as x", "floats", "Its complement and inverse.", "refused: 1 - `erf`; a polynomial"]),
    row(MATH, "pow", ["a, b", "", "as a", "floats", "a to the power b.", "`math.powf`; scalars: through a 1×1 vector"]),
    row(MATH, "cbrt", ["x", "", "as x", "floats", "Cube root.", "refused: exp(log |x| / 3) with the sign"]),
    row(MATH, "logistic", ["x", "", "as x", "floats", "1 / (1 + exp(-x)).", "`tpu.logistic`"]),
    row(MATH, "recip", ["x", "approximate", "as x", "floats", "1 / x, or the chip's approximation.", "`tpu.reciprocal`; bf16 on v4 to v5p: through f32"]),
    row(MATH, "floor, ceil, trunc", ["x", "", "as x", "floats", "Down, up, toward zero.", "`math.floor`, `math.ceil`, `math.trunc` (bf16 on v4 to v5p: through f32)"]),
    row(MATH, "round, round_even", ["x", "", "as x", "floats", "To nearest; ties away from zero, or to even.", "`math.round`, `math.roundeven`"]),
    row(MATH, "sign", ["x", "", "as x", "numbers", "-1, 0 or 1; of a float NaN and the sign of zero stay.", "comparisons and `select`"]),
    row(MATH, "copysign, next_after", ["a, b", "", "as a", "floats", "a with the sign of b; the neighbour of a toward b.", "refused: bit operations"]),
    row(MATH, "is_nan, is_finite", ["x", "", "bool", "floats", "Classification.", "refused: comparison of the bits"]),
    row(MATH, "fma", ["a, b, c", "", "as a", "floats", "a · b + c, rounded once.", "refused: `mul`, `add` (rounds twice: only where allowed)"]),
    row(MATH, "clamp", ["lo, x, hi", "", "as x", "numbers", "max(lo, min(x, hi)).", "refused: `max`, `min`"]),

    row(BITS, "shl, shr, shr_logical", ["a, b", "", "as a", "integers", "Shifts; by the width or more gives 0, or the sign.", "`arith.shli`, `shrsi`, `shrui` with `select`; not proof of alignment"]),
    row(BITS, "clz, popcount, ctz", ["x", "", "as x", "integers", "Leading zeros, ones, trailing zeros.", "`math.ctlz`, `math.ctpop`; narrow: through i32; `ctz` by `popcount`"]),
    row(BITS, "floor_div, floor_mod, ceil_div", ["a, b", "", "as a", "integers", "Division that rounds down or up.", "refused: `divsi`, `remsi`, sign test, `select`"]),
    row(BITS, "unsigned min, max, div, rem, lt…", ["a, b", "", "as a", "u8 u16 u32", "The same on unsigned element types.", "`divui`, `remui`, `cmpi ult`; `maxui`: flip the sign bit, `maxsi`"]),
    row(BITS, "mul_wide", ["a, b", "", "two tiles", "i32 u32", "The low and the high half of a product.", "`arith.mulsi_extended`, `mului_extended`"]),

    row(CONVERT, "bitcast", ["x", "element type", "tile", "all but bool", "The same bits; between widths, rows fold into words along the second to last dimension.", "`arith.bitcast`, `tpu.bitcast`"]),
    row(CONVERT, "cast with rounding", ["x", "element type, rounding", "tile", "all", "A cast that rounds to even or toward zero, or saturates.", "`tpu.truncf`, `tpu.fptosi`, `tpu.sitofp`"]),
    row(CONVERT, "reduce_precision", ["x", "exponent and mantissa bits", "as x", "f32", "Rounds to a smaller format and back.", "`tpu.reduce_precision`"]),
    row(CONVERT, "stochastic_round", ["x, bits", "element type", "tile", "f32", "One of the two neighbours, by the given random bits.", "`tpu.stochastic_convert_elementwise`; v5 and later"]),
    row(CONVERT, "pack, unpack", ["tiles, or a tile and a position", "element type", "tile", "f32 bf16 integers", "Several narrow elements in one word, lowest bits first.", "`tpu.pack_elementwise`, `tpu.unpack_elementwise`"]),

    row(SHAPE, "slice", ["tile", "starts, sizes", "tile", "all", "A part with constant starts.", "`vector.extract_strided_slice`, stride 1"]),
    row(SHAPE, "extract", ["tile, indices", "", "scalar", "all", "One element.", "`vector.extract` of 32 bits, constant indices; else mask and reduce"]),
    row(SHAPE, "insert", ["tile, x, indices", "", "tile", "all", "The tile with one element replaced.", "refused: `iota`, `eq`, `select`"]),
    row(SHAPE, "concatenate", ["tiles", "axis", "tile", "all", "One after the other along the axis.", "`tpu.concatenate`, aligned or not"]),
    row(SHAPE, "pad", ["tile, x", "low and high, by dimension", "tile", "all", "The tile with a border of x.", "`tpu.concatenate`"]),
    row(SHAPE, "tile", ["tile", "counts, by dimension", "tile", "all", "Repeated whole.", "`tpu.concatenate`"]),
    row(SHAPE, "rotate", ["tile, amount", "axis; stride and its axis", "tile", "all", "As `np.roll`; with a stride, row r rotates by amount + r · stride.", "`tpu.dynamic_rotate`; strided: 32 bits on v5 and later"]),
    row(SHAPE, "gather", ["tile, indices", "axis", "tile", "32 bits; others by widening", "Element indices\\[i] along the axis; outside: NaN, or the poison of the type.", "`tpu.dynamic_gather` within 128 lanes or one register; else several and `select`, or a one-hot product"]),
    row(SHAPE, "triangle", ["", "shape, diagonal", "bool tile", "bool", "Whether the column is not above the row's diagonal.", "two `tpu.iota`, `cmpi`"]),

    row(REDUCTION, "reduce over axes", ["tile", "operation, several axes", "tile", "numbers", "`reduce` over a set of axes in one step.", "`vector.multi_reduction`"]),
    row(REDUCTION, "reduce product, all, any", ["tile", "axis", "tile", "numbers; bool", "Product; whether all, or any.", "`dynamic_rotate` and `mulf`; `extui`, `minsi`, `maxsi`"]),
    row(REDUCTION, "argmax, argmin", ["tile", "axis", "i32 tile", "numbers", "The first index of the extreme; the first NaN wins; of nothing but NaN or -inf, 0.", "`tpu.reduce_index` of f32; else `max`, `eq`, `iota`, `min`"]),
    row(REDUCTION, "cumsum, cummax", ["tile", "axis, reverse", "tile", "numbers", "Running sum or maximum.", "refused: triangular product, or rotate, `select` and add"]),
    row(REDUCTION, "dot of narrow elements", ["a, b", "as `dot`", "i32 or f32 tile", "i8 i4 f8, mixed with floats", "Exact products, accumulated in i32 or f32.", "`tpu.matmul`; i8 · i4: extend; v4: through bf16"]),
    row(REDUCTION, "dot with batch", ["a, b of rank 3", "batch, contracted and free dimensions", "tile", "as `dot`", "Products side by side.", "`tpu.matmul` with dimension numbers, one or two batch dimensions"]),
    row(REDUCTION, "dot with accumulator", ["a, b, acc", "as `dot`", "as acc", "as `dot`", "acc + a · b.", "`tpu.matmul`; never with a loop's carry as acc"]),
    row(REDUCTION, "mxu_push, mxu_acc, mxu_pop", ["tile", "unit, register", "tile", "as `dot`", "The multiplier's own staging registers and accumulators.", "operations of their own, not yet tried against libtpu"]),

    row(VIEW, "view", ["memory, starts", "sizes, strides", "memory", "all", "A part of a memory, without a copy; views compose.", "`tpu.memref_slice`; starts provably aligned"]),
    row(VIEW, "view squeezed", ["memory", "dimensions", "memory", "all", "Without dimensions of 1.", "`tpu.memref_squeeze`"]),
    row(VIEW, "view reshaped", ["memory", "shape", "memory", "all", "The same bytes under another shape.", "`tpu.memref_reshape`, leading or tile-aligned dimensions"]),
    row(VIEW, "view as", ["memory", "element type", "memory", "all but bool", "The same bytes as other elements.", "`tpu.memref_bitcast` on aligned rows"]),
    row(VIEW, "view transposed", ["memory", "permutation", "memory", "all", "Dimensions in another order.", "on the loaded tile: `tpu.transpose`"]),
    row(VIEW, "select memory", ["bool, a, b", "", "memory", "all", "One of two memories, chosen at run time.", "`scf.if` around the accesses"]),
    row(VIEW, "assume_multiple", ["i32 scalar", "factor", "i32 scalar", "i32", "The same number; that it is a multiple is checked.", "`tpu.assume_multiple`"]),

    row(ACCESS, "load masked", ["memory, mask, other, starts", "shape", "tile", "all", "other where the mask is false; such elements may lie outside.", "refused: load, `select`"]),
    row(ACCESS, "store masked", ["memory, tile, mask, starts", "", "", "all", "Writes where the mask is true; other elements may lie outside.", "`tpu.vector_store` of 32 bits; else load, `select`, store"]),
    row(ACCESS, "load strided, store strided", ["memory, starts", "shape, strides", "tile", "all", "Every n-th row; stride 0 repeats one.", "`tpu.strided_load`, `tpu.strided_store`: 128 columns"]),
    row(ACCESS, "load scalar, store scalar", ["SMEM memory, indices", "", "scalar", "all but bool", "One element of scalar memory.", "`memref.load`, `memref.store`"]),

    row(DMA, "dma_start", ["source, target, semaphore", "priority, add", "", "all but bool", "Starts a copy between two memories of one shape; the semaphore counts its bytes.", "`tpu.enqueue_dma`"]),
    row(DMA, "dma_wait", ["source, target, semaphore", "", "", "all but bool", "Waits for the bytes of such a copy.", "`tpu.wait_dma`"]),
    row(DMA, "remote_dma_start", ["source, target, send and receive semaphore, device", "priority", "", "all but bool", "Starts a copy into the memory of another device.", "`tpu.enqueue_dma` with a device; needs `has_communication` and a device assignment"]),
    row(DMA, "remote_dma_wait", ["source, target, semaphore", "send or receive", "", "all but bool", "Waits for one end of such a copy.", "`tpu.wait_dma`"]),
    row(DMA, "indirect_dma_start", ["source, indices, target, semaphore", "add", "", "all but bool", "Gathers or scatters rows by index.", "SparseCore only"]),

    row(SEMAPHORE, "semaphore_signal", ["semaphore, i32", "device and core", "", "", "Adds to a semaphore, here or elsewhere.", "`tpu.sem_signal`; not of DMA semaphores"]),
    row(SEMAPHORE, "semaphore_wait", ["semaphore, i32", "", "", "", "Waits until it is at least n, and takes n off.", "`tpu.sem_wait`"]),
    row(SEMAPHORE, "semaphore_read", ["semaphore", "", "i32 scalar", "", "Its count.", "`tpu.sem_read`"]),
    row(SEMAPHORE, "semaphore_at", ["semaphores, indices", "", "semaphore", "", "One of an array of semaphores.", "`tpu.memref_slice`, `tpu.memref_squeeze`"]),
    row(SEMAPHORE, "barrier_semaphore", ["", "collective id", "semaphore", "", "The semaphore that all devices of a collective kernel share.", "`tpu.sem_barrier`; without `collective_id` the compiler dies"]),
    row(SEMAPHORE, "core_barrier", ["semaphore", "", "", "", "Waits for all cores of the chip.", "signals and waits; `tpu.barrier` is refused on a TensorCore"]),

    row(PLACE, "core_index, core_count", ["", "", "i32 scalar", "i32", "Which core of the chip runs, and how many do.", "a grid dimension `core_parallel`; `core_id` is refused on a TensorCore"]),
    row(PLACE, "subcore_index, subcore_count", ["", "", "i32 scalar", "i32", "The same of a SparseCore's subcores.", "a grid dimension `subcore_parallel`"]),
    row(PLACE, "device_index, device_count", ["", "axis of the mesh", "i32 scalar", "i32", "Where the device stands in the mesh, and its size.", "`tpu.device_id`; the mesh is part of the launch"]),

    row(REGION, "scoped", ["", "types of memory and semaphores; region", "any number", "all", "Memory that lives for the region.", "`tpu.region` with `memref.alloca`, `tpu.sem_alloc`"]),
    row(REGION, "pipeline", ["arrays", "grid, windows; region", "", "all", "A grid inside the kernel, with its own windows.", "`scf.for` with `enqueue_dma` and waits"]),
    row(REGION, "switch", ["i32 scalar", "regions", "any number", "all", "One of several regions.", "`scf.index_switch` is refused: nested `scf.if`"]),

    row(RANDOM, "prng_seed", ["i32 scalars", "", "", "i32", "Seeds the core's generator.", "`tpu.prng_set_seed_32`, one or two seeds"]),
    row(RANDOM, "prng_bits", ["", "shape", "i32 tile", "i32", "The next random bits; they depend on the chip.", "`tpu.prng_random_bits`, rank ≥ 2"]),
    row(RANDOM, "threefry, philox", ["key, counters", "shape", "i32 tile", "i32", "Random bits that are the same everywhere.", "arithmetic on i32"]),

    row(DEBUG, "print", ["values", "format", "", "all", "Writes to the log, with the grid step.", "`tpu.log`, scalars only"]),
    row(DEBUG, "check", ["bool scalar", "message", "", "bool", "Ends the kernel with an error where it is false.", "`cf.assert`"]),
    row(DEBUG, "trace", ["", "name; region", "any number", "all", "Names a span in the timeline.", "`tpu.trace_start`, `tpu.trace_stop`"]),
    row(DEBUG, "delay", ["i32 scalar", "", "", "i32", "Waits so many cycles.", "`tpu.delay`"]),

    row(SPARSE, "gather load, scatter store", ["memory, indices, mask", "add", "tile", "32 bits", "Elements by index, one a lane.", "SparseCore only"]),
    row(SPARSE, "load expanded, store compressed", ["memory, mask", "", "tile", "32 bits", "The elements of the mask's true lanes, side by side in memory.", "SparseCore only"]),
    row(SPARSE, "sort_key_value", ["keys, values", "descending", "two tiles", "32 bits", "Sorted by key.", "`tpu.sort`, SparseCore only"]),
    row(SPARSE, "count_ones, find_first_set", ["mask", "", "i32 tile", "bool", "Of all lanes.", "`tpu.all_reduce`, SparseCore only"]),
    row(SPARSE, "fetch_and_add", ["memory, i32, indices", "subcore", "i32 scalar", "i32", "Adds and gives the old value, at once.", "SparseCore only"]),
    row(SPARSE, "subcore_barrier", ["", "", "", "", "Waits for all subcores.", "`tpu.barrier`"]),
];
