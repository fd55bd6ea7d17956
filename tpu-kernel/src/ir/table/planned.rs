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
const DMA: &str = "Copies to other devices and by index";
const SEMAPHORE: &str = "Barriers";
const PLACE: &str = "Cores and devices";
const REGION: &str = "Regions";
const DEBUG: &str = "Debugging";
const SPARSE: &str = "SparseCore";

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row(MATH, "fma", ["a, b, c", "", "as a", "floats", "a · b + c, rounded once.", "refused: `mul`, `add` (rounds twice: only where allowed)"]),

    row(BITS, "ctz", ["x", "", "as x", "integers", "Trailing zeros.", "by `popcount`"]),
    row(BITS, "ceil_div", ["a, b", "", "as a", "integers", "Division that rounds up.", "refused: `divsi`, `remsi`, sign test, `select`"]),
    row(BITS, "mul_wide", ["a, b", "", "two tiles", "i32 u32", "The low and the high half of a product.", "`arith.mulsi_extended`, `mului_extended`"]),

    row(CONVERT, "cast with rounding", ["x", "element type, rounding", "tile", "all", "A cast that rounds to even or toward zero, or saturates.", "`tpu.truncf`, `tpu.fptosi`, `tpu.sitofp`"]),
    row(CONVERT, "reduce_precision", ["x", "exponent and mantissa bits", "as x", "f32", "Rounds to a smaller format and back.", "`tpu.reduce_precision`"]),

    row(SHAPE, "insert", ["tile, x, indices", "", "tile", "all", "The tile with one element replaced.", "refused: `iota`, `eq`, `select`"]),

    row(REDUCTION, "reduce over axes", ["tile", "operation, several axes", "tile", "numbers", "`reduce` over a set of axes in one step.", "`vector.multi_reduction`"]),
    row(REDUCTION, "dot with accumulator", ["a, b, acc", "as `dot`", "as acc", "as `dot`", "acc + a · b.", "`tpu.matmul`; never with a loop's carry as acc"]),
    row(REDUCTION, "mxu_push, mxu_acc, mxu_pop", ["tile", "unit, register", "tile", "as `dot`", "The multiplier's own staging registers and accumulators.", "operations of their own, not yet tried against libtpu"]),

    row(VIEW, "select memory", ["bool, a, b", "", "memory", "all", "One of two memories, chosen at run time.", "`scf.if` around the accesses"]),
    row(VIEW, "assume_multiple", ["i32 scalar", "factor", "i32 scalar", "i32", "The same number; that it is a multiple is checked.", "`tpu.assume_multiple`"]),

    row(ACCESS, "load strided, store strided", ["memory, starts", "shape, strides", "tile", "all", "Every n-th row; stride 0 repeats one.", "`tpu.strided_load`, `tpu.strided_store`: 128 columns"]),

    row(DMA, "indirect_dma_start", ["source, indices, target, semaphore", "add", "", "all but bool", "Gathers or scatters rows by index.", "SparseCore only"]),

    row(SEMAPHORE, "core_barrier", ["semaphore", "", "", "", "Waits for all cores of the chip.", "signals and waits; `tpu.barrier` is refused on a TensorCore"]),

    row(PLACE, "subcore_index, subcore_count", ["", "", "i32 scalar", "i32", "The same of a SparseCore's subcores.", "a grid dimension `subcore_parallel`"]),

    row(REGION, "pipeline", ["arrays", "grid, windows; region", "", "all", "A grid inside the kernel, with its own windows.", "`scf.for` with `enqueue_dma` and waits"]),
    row(REGION, "switch", ["i32 scalar", "regions", "any number", "all", "One of several regions.", "`scf.index_switch` is refused: nested `scf.if`"]),

    row(DEBUG, "trace", ["", "name; region", "any number", "all", "Names a span in the timeline.", "`tpu.trace_start`, `tpu.trace_stop`"]),
    row(DEBUG, "delay", ["i32 scalar", "", "", "i32", "Waits so many cycles.", "`tpu.delay`"]),

    row(SPARSE, "gather load, scatter store", ["memory, indices, mask", "add", "tile", "32 bits", "Elements by index, one a lane.", "SparseCore only"]),
    row(SPARSE, "load expanded, store compressed", ["memory, mask", "", "tile", "32 bits", "The elements of the mask's true lanes, side by side in memory.", "SparseCore only"]),
    row(SPARSE, "sort_key_value", ["keys, values", "descending", "two tiles", "32 bits", "Sorted by key.", "`tpu.sort`, SparseCore only"]),
    row(SPARSE, "count_ones, find_first_set", ["mask", "", "i32 tile", "bool", "Of all lanes.", "`tpu.all_reduce`, SparseCore only"]),
    row(SPARSE, "fetch_and_add", ["memory, i32, indices", "subcore", "i32 scalar", "i32", "Adds and gives the old value, at once.", "SparseCore only"]),
    row(SPARSE, "subcore_barrier", ["", "", "", "", "Waits for all subcores.", "`tpu.barrier`"]),
];
