//! The operations that exist.

use super::{Row, State};

const fn row(group: &'static str, mnemonic: &'static str, cells: [&'static str; 6]) -> Row {
    let [operands, attributes, result, elements, meaning, mosaic] = cells;
    Row { group, mnemonic, operands, attributes, result, elements, meaning, mosaic, state: State::Implemented }
}

const CONSTANTS: &str = "Constants and indices";
const UNARY: &str = "Elementwise, one operand";
const BINARY: &str = "Elementwise, two operands";
const COMPARE: &str = "Comparison, selection, conversion";
const SHAPE: &str = "Shape";
const REDUCTION: &str = "Reduction and product";
const MEMORY: &str = "Memory";
const DMA: &str = "Copies between memories";
const SEMAPHORE: &str = "Semaphores";
const LAUNCH: &str = "Grid and sizes";
const RANDOM: &str = "Random numbers";
const DEBUG: &str = "Debugging";
const CONTROL: &str = "Control flow";

/// Operands are tiles, or scalars where the cell says so; "x" alone is a tile or a scalar.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row(CONSTANTS, "const", ["", "literal", "scalar", "all", "The literal, kept by its bits.", "`arith.constant`; a broadcast constant is a splat"]),
    row(CONSTANTS, "iota", ["", "axis", "i32 tile", "i32", "The index along the axis of each element.", "`tpu.iota`, rank ≥ 2; rank 1: as 1×N, then `vector.shape_cast`"]),

    row(UNARY, "neg", ["x", "", "as x", "numbers", "Negation; of a float the sign bit flips, also of NaN; integers wrap.", "`arith.negf`; integers: `arith.subi` from 0"]),
    row(UNARY, "abs", ["x", "", "as x", "numbers", "Absolute value; of a float the sign bit is cleared; of the smallest signed integer itself.", "`math.absf`, `math.absi`"]),
    row(UNARY, "not", ["x", "", "as x", "integers bool", "Logical not of a bool, bitwise not of an integer.", "`arith.xori` with ones"]),
    row(UNARY, "sign", ["x", "", "as x", "numbers", "-1, 0 or 1; of a float NaN and the zeros stay.", "comparisons and `select`"]),
    row(UNARY, "exp", ["x", "", "as x", "floats", "e to the power x, within 2 ulp.", "`math.exp`; scalar bf16: through f32"]),
    row(UNARY, "exp2", ["x", "", "as x", "floats", "2 to the power x.", "`math.exp2`"]),
    row(UNARY, "expm1", ["x", "", "as x", "floats", "e to the power x, minus 1, without cancellation.", "refused: `exp` - 1 with a series near 0"]),
    row(UNARY, "log", ["x", "", "as x", "floats", "Natural logarithm; of the zeros -inf, of negative numbers NaN.", "`math.log`"]),
    row(UNARY, "log2", ["x", "", "as x", "floats", "Logarithm to base 2, exact for powers of two.", "`math.log2`"]),
    row(UNARY, "log1p", ["x", "", "as x", "floats", "log(1 + x) without cancellation.", "`math.log1p`"]),
    row(UNARY, "sqrt", ["x", "", "as x", "floats", "Square root, correctly rounded; of a negative number NaN.", "`math.sqrt`"]),
    row(UNARY, "rsqrt", ["x", "", "as x", "floats", "1 / sqrt(x), two correctly rounded operations.", "`math.rsqrt`"]),
    row(UNARY, "cbrt", ["x", "", "as x", "floats", "Cube root, of negative numbers negative.", "refused: exp(log |x| / 3) with the sign"]),
    row(UNARY, "recip", ["x", "", "as x", "floats", "1 / x, correctly rounded.", "`tpu.reciprocal`; bf16 on v4 to v5p: through f32"]),
    row(UNARY, "recip_approx", ["x", "", "as x", "floats", "1 / x as the chip approximates it: x rounded to bf16, and the quotient rounded to bf16.", "`tpu.reciprocal` with `approx`"]),
    row(UNARY, "sin", ["x", "", "as x", "floats", "Sine of radians, of any size.", "`math.sin`"]),
    row(UNARY, "cos", ["x", "", "as x", "floats", "Cosine of radians, of any size.", "`math.cos`"]),
    row(UNARY, "tan", ["x", "", "as x", "floats", "Tangent of radians, of any size.", "`math.tan`"]),
    row(UNARY, "asin", ["x", "", "as x", "floats", "Inverse sine.", "refused: `atan2` with `sqrt`"]),
    row(UNARY, "acos", ["x", "", "as x", "floats", "Inverse cosine.", "refused: `atan2` with `sqrt`"]),
    row(UNARY, "atan", ["x", "", "as x", "floats", "Inverse tangent.", "refused: `atan2(x, 1)`"]),
    row(UNARY, "sinh", ["x", "", "as x", "floats", "Hyperbolic sine.", "refused: (eˣ - e⁻ˣ) / 2"]),
    row(UNARY, "cosh", ["x", "", "as x", "floats", "Hyperbolic cosine.", "refused: (eˣ + e⁻ˣ) / 2"]),
    row(UNARY, "tanh", ["x", "", "as x", "floats", "Hyperbolic tangent, within 2 ulp.", "`math.tanh`"]),
    row(UNARY, "asinh", ["x", "", "as x", "floats", "Inverse hyperbolic sine.", "refused: `log`, `sqrt`, `log1p`"]),
    row(UNARY, "acosh", ["x", "", "as x", "floats", "Inverse hyperbolic cosine; NaN below 1.", "refused: `log`, `sqrt`, `log1p`"]),
    row(UNARY, "atanh", ["x", "", "as x", "floats", "Inverse hyperbolic tangent; infinite of ±1.", "refused: `log`, `sqrt`, `log1p`"]),
    row(UNARY, "erf", ["x", "", "as x", "floats", "Error function.", "`math.erf`"]),
    row(UNARY, "erfc", ["x", "", "as x", "floats", "1 - erf(x), accurate where that is small.", "refused: 1 - `erf`; a polynomial"]),
    row(UNARY, "erf_inv", ["x", "", "as x", "floats", "Inverse of the error function; infinite of ±1.", "refused: a polynomial"]),
    row(UNARY, "logistic", ["x", "", "as x", "floats", "1 / (1 + e⁻ˣ).", "`tpu.logistic`"]),
    row(UNARY, "floor", ["x", "", "as x", "floats", "Down to an integer.", "`math.floor`"]),
    row(UNARY, "ceil", ["x", "", "as x", "floats", "Up to an integer.", "`math.ceil`"]),
    row(UNARY, "round_even", ["x", "", "as x", "floats", "To the nearest integer, ties to even.", "`math.roundeven`"]),
    row(UNARY, "round", ["x", "", "as x", "floats", "To the nearest integer, ties away from zero.", "`math.round`"]),
    row(UNARY, "trunc", ["x", "", "as x", "floats", "Toward zero to an integer.", "`math.trunc`; bf16 on v4 to v5p: through f32"]),
    row(UNARY, "is_nan", ["x", "", "bool, shape of x", "floats", "Whether it is NaN.", "refused: comparison of the bits"]),
    row(UNARY, "is_finite", ["x", "", "bool, shape of x", "floats", "Whether it is neither NaN nor infinite.", "refused: comparison of the bits"]),
    row(UNARY, "popcount", ["x", "", "as x", "integers", "How many bits are set.", "`math.ctpop`; narrow: through i32"]),
    row(UNARY, "clz", ["x", "", "as x", "integers", "How many bits are clear above the highest set one.", "`math.ctlz`; narrow: through i32"]),

    row(BINARY, "add", ["a, b", "", "as a", "numbers", "Sum; integers wrap.", "`arith.addf`, `arith.addi`; a loop's carry stands left of a product, or the compiler dies"]),
    row(BINARY, "sub", ["a, b", "", "as a", "numbers", "Difference; integers wrap.", "`arith.subf`, `arith.subi`"]),
    row(BINARY, "mul", ["a, b", "", "as a", "numbers", "Product; integers wrap.", "`arith.mulf`, `arith.muli`"]),
    row(BINARY, "div", ["a, b", "", "as a", "numbers", "Quotient; integers truncate. Signed: x / 0 = -1, MIN / -1 = MIN; unsigned: x / 0 = MAX.", "`arith.divf`, `arith.divsi`, `arith.divui`"]),
    row(BINARY, "rem", ["a, b", "", "as a", "numbers", "Remainder with the sign of a, as C's fmod; integers: x % 0 = x, MIN % -1 = 0.", "`arith.remf` (bf16: through f32), `arith.remsi`, `arith.remui`"]),
    row(BINARY, "floor_div", ["a, b", "", "as a", "integers", "Quotient, rounded down; by 0 as `div`.", "refused: `divsi`, `remsi`, sign test, `select`"]),
    row(BINARY, "floor_mod", ["a, b", "", "as a", "numbers", "Remainder with the sign of b: that of `rem`, plus b where it is not 0 and the signs differ; of integers x by 0: x.", "refused: `rem`, sign test, `select`"]),
    row(BINARY, "min", ["a, b", "", "as a", "numbers", "The smaller; NaN wins, -0 is below +0.", "`arith.minimumf`, `arith.minsi`; unsigned: flip the sign bit"]),
    row(BINARY, "max", ["a, b", "", "as a", "numbers", "The larger; NaN wins, -0 is below +0.", "`arith.maximumf`, `arith.maxsi`; unsigned: flip the sign bit"]),
    row(BINARY, "and", ["a, b", "", "as a", "integers bool", "Logical and, bitwise and.", "`arith.andi`"]),
    row(BINARY, "or", ["a, b", "", "as a", "integers bool", "Logical or, bitwise or.", "`arith.ori`"]),
    row(BINARY, "xor", ["a, b", "", "as a", "integers bool", "Exclusive or.", "`arith.xori`"]),
    row(BINARY, "pow", ["a, b", "", "as a", "floats", "a to the power b, with the special cases of C99.", "`math.powf`; scalars: through a 1×1 vector"]),
    row(BINARY, "atan2", ["y, x", "", "as y", "floats", "The angle of the point (x, y), from -π to π.", "`math.atan2`; bf16: through f32"]),
    row(BINARY, "hypot", ["a, b", "", "as a", "floats", "sqrt(a² + b²) without overflow between; infinite where an operand is.", "refused: `max`, `min`, `sqrt`"]),
    row(BINARY, "copysign", ["a, b", "", "as a", "floats", "a with the sign of b.", "refused: bit operations"]),
    row(BINARY, "next_after", ["a, b", "", "as a", "floats", "The neighbour of a toward b in their own format; b where they are equal, NaN where one is.", "refused: bit operations"]),
    row(BINARY, "shl", ["a, b", "", "as a", "integers", "Shift to the left by b, taken as unsigned; by the width or more, 0.", "`arith.shli` with `select`; not proof of alignment"]),
    row(BINARY, "shr", ["a, b", "", "as a", "integers", "Shift to the right by b, taken as unsigned; of signed integers copies the sign. By the width or more: all sign, or 0.", "`arith.shrsi`, `arith.shrui` with `select`"]),
    row(BINARY, "shr_logical", ["a, b", "", "as a", "integers", "Shift to the right by b, taken as unsigned, that fills with 0; by the width or more, 0.", "`arith.shrui` with `select`"]),

    row(COMPARE, "eq", ["a, b", "", "bool, shape of a", "all", "Equal.", "`cmpf oeq`, `cmpi eq`; masks: `xori`, then `xori` with ones"]),
    row(COMPARE, "ne", ["a, b", "", "bool, shape of a", "all", "Not equal; true with NaN.", "`une` is refused: `oeq`, then `xori`; `cmpi ne`; masks: `xori`"]),
    row(COMPARE, "lt", ["a, b", "", "bool, shape of a", "numbers", "Less; false with NaN, like the next three; unsigned integers as such.", "`cmpf olt`, `cmpi slt`, `cmpi ult`"]),
    row(COMPARE, "le", ["a, b", "", "bool, shape of a", "numbers", "Less or equal.", "`cmpf ole`, `cmpi sle`, `cmpi ule`"]),
    row(COMPARE, "gt", ["a, b", "", "bool, shape of a", "numbers", "Greater.", "`cmpf ogt`, `cmpi sgt`, `cmpi ugt`"]),
    row(COMPARE, "ge", ["a, b", "", "bool, shape of a", "numbers", "Greater or equal.", "`cmpf oge`, `cmpi sge`, `cmpi uge`"]),
    row(COMPARE, "select", ["c, a, b", "", "as a", "all", "a where c, else b; c is bool, of the shape of a.", "`arith.select`; of masks: `andi`, `ori`"]),
    row(COMPARE, "cast", ["x", "element type", "x with it", "all", "Float to integer: truncates, saturates, NaN is 0; between integers: wraps; to a float: nearest even (integers to narrow floats through f32), beyond the largest to infinity where there is one, else to NaN, else to the largest; to bool: is not 0; from bool: 0 or 1.", "`extf truncf fptosi sitofp`; bool: `extui`, `cmpi ne`, `cmpf one` or unequal to itself"]),
    row(COMPARE, "bitcast", ["x", "element type", "x with it; rows by the widths", "numbers", "The same bits; between widths, the rows of a tile fold along the second to last dimension, low bits first.", "`arith.bitcast`, `tpu.bitcast`"]),
    row(COMPARE, "stochastic_round", ["x, bits", "element type", "x with it", "f32 and u32 to the narrower floats", "One of the two neighbours: the one farther from zero where bits / 2³² is below the distance from the nearer one. Exact values, infinities and NaN as `cast`; beyond the largest number lies what `cast` makes of overflow.", "`tpu.stochastic_convert_elementwise`; v5 and later"]),

    row(SHAPE, "broadcast", ["x", "shape", "tile", "all", "A scalar, or dimensions of 1, repeated; the rank stays.", "`vector.broadcast`"]),
    row(SHAPE, "reshape", ["tile", "shape", "tile", "all", "The same elements in row-major order.", "`vector.shape_cast` where the last dimension stays or fills whole lanes; else slices and `tpu.concatenate`"]),
    row(SHAPE, "transpose", ["tile", "permutation", "tile", "all", "Dimension d of the result is dimension perm\\[d] of the operand.", "`tpu.transpose`"]),
    row(SHAPE, "slice", ["tile", "starts, shape, strides", "tile", "all", "The elements starts + i · strides, which must all be there.", "`vector.extract_strided_slice`, stride 1"]),
    row(SHAPE, "concat", ["tiles", "axis", "tile", "all", "One after the other along the axis.", "`tpu.concatenate`, aligned or not"]),
    row(SHAPE, "rotate", ["tile, i32 amount", "axis; stride and its axis", "tile", "all", "As `np.roll`: element i comes to (i + amount) mod n, for any amount. With a stride, row r rotates by amount + r · stride.", "`tpu.dynamic_rotate`; strided: 32 bits on v5 and later"]),
    row(SHAPE, "gather", ["tile, i32 indices", "axis", "tile of the indices' shape", "all", "Element indices\\[i] along the axis; -n to -1 count from the end; outside: an error, R007.", "`tpu.dynamic_gather` within 128 lanes or one register; else several and `select`, or a one-hot product"]),
    row(SHAPE, "sort", ["keys, payloads", "axis, descending", "as the operands", "keys: numbers; payloads: all", "All operands in the order of the keys; ties keep theirs, also descending. NaN is above all numbers, -0 equals +0.", "SparseCore: `tpu.sort`; else compare and exchange"]),
    row(SHAPE, "extract", ["tile", "indices", "scalar", "all", "One element.", "`vector.extract` of 32 bits, constant indices; else mask and reduce"]),

    row(REDUCTION, "reduce sum", ["tile", "axis", "tile, 1 along the axis", "numbers", "Sum in the order of `docs/semantics.md`; narrow floats accumulate in f32 and round once, integers wrap.", "`vector.multi_reduction`, then `vector.shape_cast`"]),
    row(REDUCTION, "reduce prod", ["tile", "axis", "tile, 1 along the axis", "numbers", "Product, in the same order and precision.", "`dynamic_rotate` and `mulf`"]),
    row(REDUCTION, "reduce max", ["tile", "axis", "tile, 1 along the axis", "numbers", "The largest; NaN wins.", "`vector.multi_reduction`, then `vector.shape_cast`"]),
    row(REDUCTION, "reduce min", ["tile", "axis", "tile, 1 along the axis", "numbers", "The smallest; NaN wins.", "`vector.multi_reduction`, then `vector.shape_cast`"]),
    row(REDUCTION, "reduce any", ["tile", "axis", "tile, 1 along the axis", "bool", "Whether one is true.", "`extui`, `maxsi`"]),
    row(REDUCTION, "reduce all", ["tile", "axis", "tile, 1 along the axis", "bool", "Whether each is true.", "`extui`, `minsi`"]),
    row(REDUCTION, "reduce argmax", ["tile", "axis", "i32 tile, 1 along the axis", "numbers", "The first index of the largest; -0 equals +0; the first NaN wins.", "`tpu.reduce_index` of f32; else `max`, `eq`, `iota`, `min`"]),
    row(REDUCTION, "reduce argmin", ["tile", "axis", "i32 tile, 1 along the axis", "numbers", "The first index of the smallest; -0 equals +0; the first NaN wins.", "`tpu.reduce_index` of f32; else `min`, `eq`, `iota`, `min`"]),
    row(REDUCTION, "scan sum", ["tile", "axis, reverse", "tile", "numbers", "Each element with all before it (reverse: after it), one after the other; narrow floats accumulate in f32, each result is rounded.", "refused: triangular product, or rotate, `select` and combine"]),
    row(REDUCTION, "scan prod", ["tile", "axis, reverse", "tile", "numbers", "The same of products.", "refused: triangular product, or rotate, `select` and combine"]),
    row(REDUCTION, "scan max", ["tile", "axis, reverse", "tile", "numbers", "The largest so far; NaN wins.", "refused: triangular product, or rotate, `select` and combine"]),
    row(REDUCTION, "scan min", ["tile", "axis, reverse", "tile", "numbers", "The smallest so far; NaN wins.", "refused: triangular product, or rotate, `select` and combine"]),
    row(REDUCTION, "dot", ["a, b", "lhs_transposed, rhs_transposed, or contracted and batch dimensions; precision", "f32 tile; i32 of integers", "floats; integers of at most 16 bits; i32", "Sums of products over one dimension of each, beside at most two batch dimensions; the result has the batch dimensions, then what is left of a, of b. Floats, mixed or with integers of at most 8 bits, accumulate in f32; integers of at most 16 bits, mixed, and i32 with i32 in wrapping i32. Precision says how f32 enters the multiplier; all else is exact.", "`tpu.matmul` with dimension numbers; i32 operands: through f32 where exact; i8 · i4: extend; v4: through bf16"]),

    row(MEMORY, "load", ["memory, starts", "shape", "tile", "all", "The tile that starts there. Outside the memory: an error, R001.", "`vector.load`; dynamic starts with `tpu.assume_multiple`; unaligned: `tpu.dynamic_rotate`; bool: i8 memory and `cmpi ne`"]),
    row(MEMORY, "store", ["memory, tile, starts", "", "", "all", "Writes the tile there. Outside the memory: an error, R001.", "`vector.store`; bool: `extui`, `trunci` to i8"]),

    row(MEMORY, "load_scalar", ["SMEM memory, indices", "", "scalar", "all", "One element of scalar memory. Outside: an error, R001.", "`memref.load`"]),
    row(MEMORY, "store_scalar", ["SMEM memory, scalar, indices", "", "", "all", "Writes one element of scalar memory.", "`memref.store`"]),
    row(MEMORY, "view", ["memory, starts", "shape, strides", "memory", "all", "The part that starts there, with elements so far apart; views compose. Outside the memory: an error, R001.", "`tpu.memref_slice`; of a load or store: part of its starts"]),
    row(MEMORY, "load_masked", ["memory, mask, other, starts", "shape", "tile", "all", "The tile that starts there, where the mask is true; elsewhere `other`. Elements where it is false may lie outside; one where it is true: an error, R001.", "the whole extent where it may leave the memory: `vector.load`, `tpu.dynamic_rotate`, `select`"]),
    row(MEMORY, "store_masked", ["memory, tile, mask, starts", "", "", "all", "Writes the tile there where the mask is true. Elements where it is false may lie outside; one where it is true: an error, R001.", "load, `select`, store"]),
    row(MEMORY, "view_reshaped", ["memory", "shape", "memory", "all", "The same elements in row-major order under another shape. Without strides for it: V052.", "of the loaded or stored tile: `vector.shape_cast`"]),
    row(MEMORY, "view_transposed", ["memory", "permutation", "memory", "all", "Dimension d of the view is dimension perm[d] of the memory.", "of the loaded or stored tile: `tpu.transpose`"]),
    row(MEMORY, "view_bitcast", ["memory", "element type", "memory", "numbers", "The same bits as other elements; between widths rows fold along the second to last dimension, low bits first. Scalar memory keeps the width (V053).", "of the loaded or stored tile: `tpu.bitcast`"]),
    row(MEMORY, "view_squeezed", ["memory", "dimensions", "memory", "all", "The same memory without dimensions of 1.", "`tpu.memref_squeeze`"]),

    row(DMA, "dma_start", ["source, target, dma semaphore, rows", "priority, add", "", "all", "Starts a copy between two memories of one shape, or of their first rows; the semaphore grows by its bytes when it is done. With `add` (not of bool) the target's elements are added to.", "`tpu.enqueue_dma`"]),
    row(DMA, "remote_dma_start", ["source, target, receive and send semaphore, i32 device, rows", "priority", "", "all", "Starts a copy to the same memory of a device, an operand of the kernel; when it is done the receive semaphore has grown there and the send semaphore here. No such device: an error, R023.", "`tpu.enqueue_dma` with a device; the call says `has_communication`"]),
    row(DMA, "dma_wait", ["source, target, dma semaphore, rows", "", "", "all", "Waits for the bytes of such a copy and takes them off. Where nothing is left to bring them: an error, R011.", "`tpu.wait_dma`"]),

    row(SEMAPHORE, "semaphore_at", ["semaphores, indices", "", "semaphore", "", "One of an array of semaphores. Outside: an error, R001.", "`tpu.memref_slice`, `tpu.memref_squeeze`"]),
    row(SEMAPHORE, "core_signal", ["semaphore, i32, core", "", "", "", "Adds to it as another core of the device has it, where the first grid dimension is `core_parallel`. No such core: R021.", "`tpu.sem_signal`"]),
    row(SEMAPHORE, "semaphore_signal", ["regular or barrier semaphore, i32, device", "", "", "", "Adds to it, here or on that device. Below 0 or beyond 2^31 - 1: an error, R013; no such device: R023.", "`tpu.sem_signal`"]),
    row(SEMAPHORE, "semaphore_wait", ["regular or barrier semaphore, i32", "", "", "", "Waits until it is at least n, and takes n off. Where nothing is left to signal: an error, R011.", "`tpu.sem_wait`"]),
    row(SEMAPHORE, "semaphore_read", ["semaphore", "", "i32 scalar", "", "Its count.", "`tpu.sem_read`"]),

    row(LAUNCH, "program_id", ["", "grid dimension", "i32 scalar", "i32", "The index of the running step.", "an argument of the function"]),
    row(LAUNCH, "num_programs", ["", "grid dimension", "i32 scalar", "i32", "The extent of the dimension.", "a constant of the launch, or `tpu.iteration_bound`"]),
    row(LAUNCH, "size", ["", "named size", "i32 scalar", "i32", "The value of a named array size.", "a constant of the launch"]),
    row(LAUNCH, "device_id", ["", "", "i32 scalar", "i32", "The number of the running device among those that run the kernel together; 0 where it runs alone.", "`tpu.device_id`"]),

    row(RANDOM, "prng_seed", ["one or two u32 scalars", "", "", "u32", "Seeds the generator of the launch: key (a, b), of one seed (0, a), and counter 0.", "`tpu.prng_set_seed_32`, one or two seeds"]),
    row(RANDOM, "prng_bits", ["", "shape", "u32 tile", "u32", "The next random bits: of element i, the two words of Threefry-2x32 of the counter plus i, exclusive or; the counter moves on. Before a seed: an error, R009. The chip's own generator gives other bits.", "`tpu.prng_random_bits`, rank ≥ 2"]),

    row(DEBUG, "print", ["values", "text", "", "all", "Writes the text, with a value for each `{}`, and the grid step to the log.", "`tpu.log`, scalars only"]),
    row(DEBUG, "check", ["bool scalar", "message", "", "bool", "Where it is false: an error, R008.", "`cf.assert`"]),
    row(DEBUG, "defined", ["bool scalar", "text", "", "bool", "Where it is true, poison reaches what the text says: an error, R015. Made by passes, for checked execution.", "`cf.assert` of the contrary"]),

    row(CONTROL, "if", ["bool scalar", "regions then, else", "any number", "all", "The taken region; results are what it yields.", "`scf.if`; masks and narrow scalars yield as i32 or f32"]),
    row(CONTROL, "for", ["lo, hi, step, initial values", "region", "the last values", "all", "Steps max(0, ceil((hi - lo) / step)) times; a step that is not positive is an error, R003.", "`scf.for`; masks and narrow scalars are carried as i32 or f32"]),
    row(CONTROL, "while", ["initial values", "regions test, body", "the last values", "all", "As long as the test yields true.", "`scf.while`; as for `for`"]),
    row(CONTROL, "scoped", ["", "types of memory and semaphores; region", "any number", "all", "The region, with memory of its own in VMEM or SMEM, which starts as poison, and semaphores, which start at 0 and must end at 0, R012.", "`tpu.region` with `memref.alloca`, `tpu.sem_alloc`"]),
];
