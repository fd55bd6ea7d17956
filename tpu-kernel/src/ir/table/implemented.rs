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
const LAUNCH: &str = "Grid and sizes";
const CONTROL: &str = "Control flow";

/// Operands are tiles, or scalars where the cell says so; "x" alone is a tile or a scalar.
#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row(CONSTANTS, "const", ["", "literal", "scalar", "all", "The literal, kept by its bits.", "`arith.constant`; a broadcast constant is a splat"]),
    row(CONSTANTS, "iota", ["", "axis", "i32 tile", "i32", "The index along the axis of each element.", "`tpu.iota`, rank ≥ 2; rank 1: as 1×N, then `vector.shape_cast`"]),

    row(UNARY, "neg", ["x", "", "as x", "f32 bf16 i32", "Negation; of a float the sign bit flips, also of NaN; `i32::MIN` wraps.", "`arith.negf`; i32: `arith.subi` from 0"]),
    row(UNARY, "abs", ["x", "", "as x", "f32 bf16 i32", "Absolute value; of a float the sign bit is cleared; of `i32::MIN` itself.", "`math.absf`, `math.absi`"]),
    row(UNARY, "not", ["x", "", "as x", "i32 bool", "Logical not of a bool, bitwise not of an i32.", "`arith.xori` with ones"]),
    row(UNARY, "exp", ["x", "", "as x", "f32 bf16", "e to the power x, within 2 ulp.", "`math.exp`; scalar bf16: through f32"]),
    row(UNARY, "sqrt", ["x", "", "as x", "f32 bf16", "Square root, correctly rounded; of a negative number NaN.", "`math.sqrt`"]),
    row(UNARY, "rsqrt", ["x", "", "as x", "f32 bf16", "1 / sqrt(x), two correctly rounded operations.", "`math.rsqrt`"]),
    row(UNARY, "tanh", ["x", "", "as x", "f32 bf16", "Hyperbolic tangent, within 2 ulp.", "`math.tanh`"]),

    row(BINARY, "add", ["a, b", "", "as a", "f32 bf16 i32", "Sum; i32 wraps.", "`arith.addf`, `arith.addi`; a loop's carry stands left of a product, or the compiler dies"]),
    row(BINARY, "sub", ["a, b", "", "as a", "f32 bf16 i32", "Difference; i32 wraps.", "`arith.subf`, `arith.subi`"]),
    row(BINARY, "mul", ["a, b", "", "as a", "f32 bf16 i32", "Product; i32 wraps.", "`arith.mulf`, `arith.muli`"]),
    row(BINARY, "div", ["a, b", "", "as a", "f32 bf16 i32", "Quotient; i32 truncates, x / 0 = -1, MIN / -1 = MIN.", "`arith.divf`, `arith.divsi`"]),
    row(BINARY, "rem", ["a, b", "", "as a", "f32 bf16 i32", "Remainder with the sign of a, as C's fmod; i32: x % 0 = x, MIN % -1 = 0.", "`arith.remf` (bf16: through f32), `arith.remsi`"]),
    row(BINARY, "min", ["a, b", "", "as a", "f32 bf16 i32", "The smaller; NaN wins, -0 is below +0.", "`arith.minimumf`, `arith.minsi`"]),
    row(BINARY, "max", ["a, b", "", "as a", "f32 bf16 i32", "The larger; NaN wins, -0 is below +0.", "`arith.maximumf`, `arith.maxsi`"]),
    row(BINARY, "and", ["a, b", "", "as a", "i32 bool", "Logical and, bitwise and.", "`arith.andi`"]),
    row(BINARY, "or", ["a, b", "", "as a", "i32 bool", "Logical or, bitwise or.", "`arith.ori`"]),
    row(BINARY, "xor", ["a, b", "", "as a", "i32 bool", "Exclusive or.", "`arith.xori`"]),

    row(COMPARE, "eq", ["a, b", "", "bool, shape of a", "all", "Equal.", "`cmpf oeq`, `cmpi eq`; masks: `xori`, then `xori` with ones"]),
    row(COMPARE, "ne", ["a, b", "", "bool, shape of a", "all", "Not equal; true with NaN.", "`une` is refused: `oeq`, then `xori`; `cmpi ne`; masks: `xori`"]),
    row(COMPARE, "lt", ["a, b", "", "bool, shape of a", "f32 bf16 i32", "Less; false with NaN, like the next three.", "`cmpf olt`, `cmpi slt`"]),
    row(COMPARE, "le", ["a, b", "", "bool, shape of a", "f32 bf16 i32", "Less or equal.", "`cmpf ole`, `cmpi sle`"]),
    row(COMPARE, "gt", ["a, b", "", "bool, shape of a", "f32 bf16 i32", "Greater.", "`cmpf ogt`, `cmpi sgt`"]),
    row(COMPARE, "ge", ["a, b", "", "bool, shape of a", "f32 bf16 i32", "Greater or equal.", "`cmpf oge`, `cmpi sge`"]),
    row(COMPARE, "select", ["c, a, b", "", "as a", "all", "a where c, else b; c is bool, of the shape of a.", "`arith.select`; of masks: `andi`, `ori`"]),
    row(COMPARE, "cast", ["x", "element type", "x with it", "all", "To i32: truncates, saturates, NaN is 0; to a float: nearest even (i32 to bf16 through f32); to bool: is not 0; from bool: 0 or 1.", "`extf truncf fptosi sitofp`; bool: `extui`, `cmpi ne`, `cmpf one` or unequal to itself"]),

    row(SHAPE, "broadcast", ["x", "shape", "tile", "all", "A scalar, or dimensions of 1, repeated; the rank stays.", "`vector.broadcast`"]),
    row(SHAPE, "reshape", ["tile", "shape", "tile", "all", "The same elements in row-major order.", "`vector.shape_cast` where the last dimension stays or fills whole lanes; else slices and `tpu.concatenate`"]),
    row(SHAPE, "transpose", ["tile", "permutation", "tile", "all", "Dimension d of the result is dimension perm\\[d] of the operand.", "`tpu.transpose`"]),

    row(REDUCTION, "reduce", ["tile", "sum, max or min; axis", "tile, 1 along the axis", "f32 bf16 i32", "Sum in the order of `docs/semantics.md`, bf16 accumulated in f32; max and min: NaN wins.", "`vector.multi_reduction`, then `vector.shape_cast`"]),
    row(REDUCTION, "dot", ["a, b of rank 2", "lhs_transposed, rhs_transposed, precision", "f32 tile; i32 of i32", "f32 bf16 i32", "Matrix product, accumulated in f32 (i32 wraps); precision says how f32 enters the multiplier.", "`tpu.matmul`; i32 operands: through f32 where exact"]),

    row(MEMORY, "load", ["memory, starts", "shape", "tile", "all", "The tile that starts there. Outside the memory: an error, R001.", "`vector.load`; dynamic starts with `tpu.assume_multiple`; unaligned: `tpu.dynamic_rotate`; bool: i8 memory and `cmpi ne`"]),
    row(MEMORY, "store", ["memory, tile, starts", "", "", "all", "Writes the tile there. Outside the memory: an error, R001.", "`vector.store`; bool: `extui`, `trunci` to i8"]),

    row(LAUNCH, "program_id", ["", "grid dimension", "i32 scalar", "i32", "The index of the running step.", "an argument of the function"]),
    row(LAUNCH, "num_programs", ["", "grid dimension", "i32 scalar", "i32", "The extent of the dimension.", "a constant of the launch, or `tpu.iteration_bound`"]),
    row(LAUNCH, "size", ["", "named size", "i32 scalar", "i32", "The value of a named array size.", "a constant of the launch"]),

    row(CONTROL, "if", ["bool scalar", "regions then, else", "any number", "all", "The taken region; results are what it yields.", "`scf.if`; masks and narrow scalars yield as i32 or f32"]),
    row(CONTROL, "for", ["lo, hi, step, initial values", "region", "the last values", "all", "Steps max(0, ceil((hi - lo) / step)) times; a step that is not positive is an error, R003.", "`scf.for`; masks and narrow scalars are carried as i32 or f32"]),
    row(CONTROL, "while", ["initial values", "regions test, body", "the last values", "all", "As long as the test yields true.", "`scf.while`; as for `for`"]),
];
