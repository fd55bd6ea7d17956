//! The closed set of operations.
//!
//! Rules: an operation computes from its operands and attributes alone, except `load`, `store` and
//! control flow; every consumer (interpreter, Cranelift, Mosaic, cost) matches on [`OpKind`] without
//! a wildcard, so that a new row fails to compile until each of them has it. The table of all rows,
//! with their meaning, is in `docs/ir.md`.

use super::{DType, Literal, Loc, Shape, SizeId};

/// A value of a kernel: an operand, a region argument, or the result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

/// An operation with its operands, results and nested regions.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// What it does.
    pub kind: OpKind,
    /// The values it reads.
    pub operands: Vec<Value>,
    /// The values it defines.
    pub results: Vec<Value>,
    /// Nested regions of control flow: `if` then and else; `for` body; `while` test and body.
    pub regions: Vec<Region>,
    /// Where the user wrote it.
    pub loc: Loc,
}

/// A straight-line list of operations with arguments, ending in the values that it hands on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region {
    /// Values defined on entry.
    pub args: Vec<Value>,
    /// The operations, in order.
    pub ops: Vec<Op>,
    /// The values handed to the enclosing operation at the end.
    pub yields: Vec<Value>,
}

/// What an operation does, with its attributes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OpKind {
    /// A scalar constant.
    Const(Literal),
    /// The index along `axis` of each element, as an i32 tile.
    Iota {
        /// The shape of the result.
        shape: Shape,
        /// The counted dimension.
        axis: usize,
    },
    /// Elementwise, one operand.
    Unary(UnaryOp),
    /// Elementwise, two operands of one type.
    Binary(BinaryOp),
    /// Elementwise comparison of two operands of one type; the result is bool.
    Compare(CompareOp),
    /// `select c, a, b`: a where c, else b. `c` is bool, of the shape of `a` and `b`.
    Select,
    /// Conversion to another element type.
    Cast(DType),
    /// A scalar, or a tile with dimensions of 1, repeated to this shape of the same rank.
    Broadcast(Shape),
    /// The same elements in row-major order under another shape.
    Reshape(Shape),
    /// Result dimension `d` is operand dimension `perm[d]`.
    Transpose(Vec<usize>),
    /// Reduction over one dimension, which stays with size 1.
    Reduce {
        /// The combining operation.
        op: ReduceOp,
        /// The reduced dimension.
        axis: usize,
    },
    /// Matrix product of two rank-2 tiles of one element type, accumulated in f32 (i32 for i32).
    Dot {
        /// Contract dimension 0 of the left operand instead of 1.
        lhs_transposed: bool,
        /// Contract dimension 1 of the right operand instead of 0.
        rhs_transposed: bool,
        /// How f32 operands enter the multiplier.
        precision: Precision,
    },
    /// `load ref, starts…`: the tile of this shape (rank of the ref) from that corner on.
    Load(Shape),
    /// `store ref, tile, starts…`.
    Store,
    /// The index of the running step along grid dimension `axis`.
    ProgramId(usize),
    /// The extent of grid dimension `axis`.
    NumPrograms(usize),
    /// The value of a named array size, i32.
    Size(SizeId),
    /// `if c`: two regions without arguments; results are what the taken one yields.
    If,
    /// `for lo, hi, step, init…`: the region takes the index and the carried values, and yields the next ones.
    For,
    /// `while init…`: the first region takes the carried values and yields a bool; the second takes
    /// them and yields the next ones.
    While,
}

/// Elementwise operations of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// Negation; of a float, the sign bit flips.
    Neg,
    /// Absolute value; of a float, the sign bit is cleared; of `i32::MIN`, itself.
    Abs,
    /// Logical not of a bool, bitwise not of an i32.
    Not,
    /// e to the power x.
    Exp,
    /// Square root, correctly rounded; of a negative number NaN.
    Sqrt,
    /// One over the square root.
    Rsqrt,
    /// Hyperbolic tangent.
    Tanh,
}

/// Elementwise operations of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// Sum; i32 wraps.
    Add,
    /// Difference; i32 wraps.
    Sub,
    /// Product; i32 wraps.
    Mul,
    /// Quotient; i32 truncates, x / 0 = -1, MIN / -1 = MIN.
    Div,
    /// Remainder with the sign of the dividend; i32: x % 0 = x, MIN % -1 = 0; float: as C's fmod.
    Rem,
    /// The smaller; NaN wins, -0 is below +0.
    Min,
    /// The larger; NaN wins, -0 is below +0.
    Max,
    /// Logical and (bool), bitwise and (i32).
    And,
    /// Logical or (bool), bitwise or (i32).
    Or,
    /// Exclusive or.
    Xor,
}

/// Comparisons. With NaN all are false but `Ne`. Of bool: `Eq` and `Ne` only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

/// Reductions of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduceOp {
    /// Sum, in the order that `docs/semantics.md` states; i32 wraps; bf16 accumulates in f32 and rounds once.
    Sum,
    /// Largest; NaN wins.
    Max,
    /// Smallest; NaN wins.
    Min,
}

/// How f32 operands of [`OpKind::Dot`] enter the multiplier. bf16 and i32 operands are exact in all three.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// One pass: operands rounded to bf16, products accumulated in f32. What a TPU does unless told otherwise.
    #[default]
    Default,
    /// Three bf16 passes over operands split in two.
    High,
    /// f32 fused multiply-add.
    Highest,
}

macro_rules! names {
    ($ty:ident { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl $ty {
            /// Every member.
            pub const ALL: &'static [$ty] = &[$($ty::$variant),+];

            /// The name used in text.
            pub const fn name(self) -> &'static str {
                match self { $($ty::$variant => $name),+ }
            }

            /// The member of that [`name`](Self::name).
            pub fn from_name(name: &str) -> Option<$ty> {
                Self::ALL.iter().copied().find(|x| x.name() == name)
            }
        }

        impl std::fmt::Display for $ty {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

names!(UnaryOp { Neg = "neg", Abs = "abs", Not = "not", Exp = "exp", Sqrt = "sqrt", Rsqrt = "rsqrt", Tanh = "tanh" });
names!(BinaryOp {
    Add = "add", Sub = "sub", Mul = "mul", Div = "div", Rem = "rem", Min = "min", Max = "max", And = "and", Or = "or", Xor = "xor",
});
names!(CompareOp { Eq = "eq", Ne = "ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge" });
names!(ReduceOp { Sum = "sum", Max = "max", Min = "min" });
names!(Precision { Default = "default", High = "high", Highest = "highest" });

impl UnaryOp {
    /// Whether the operation takes elements of that type.
    pub const fn takes(self, dtype: DType) -> bool {
        match self {
            UnaryOp::Neg | UnaryOp::Abs => dtype.is_number(),
            UnaryOp::Not => !dtype.is_float(),
            UnaryOp::Exp | UnaryOp::Sqrt | UnaryOp::Rsqrt | UnaryOp::Tanh => dtype.is_float(),
        }
    }
}

impl BinaryOp {
    /// Whether the operation takes elements of that type.
    pub const fn takes(self, dtype: DType) -> bool {
        match self {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem | BinaryOp::Min | BinaryOp::Max => {
                dtype.is_number()
            }
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => !dtype.is_float(),
        }
    }
}

impl CompareOp {
    /// Whether the comparison takes elements of that type.
    pub const fn takes(self, dtype: DType) -> bool {
        dtype.is_number() || matches!(self, CompareOp::Eq | CompareOp::Ne)
    }
}

impl OpKind {
    /// The name used in text.
    pub const fn mnemonic(&self) -> &'static str {
        match self {
            OpKind::Const(_) => "const",
            OpKind::Iota { .. } => "iota",
            OpKind::Unary(op) => op.name(),
            OpKind::Binary(op) => op.name(),
            OpKind::Compare(op) => op.name(),
            OpKind::Select => "select",
            OpKind::Cast(_) => "cast",
            OpKind::Broadcast(_) => "broadcast",
            OpKind::Reshape(_) => "reshape",
            OpKind::Transpose(_) => "transpose",
            OpKind::Reduce { .. } => "reduce",
            OpKind::Dot { .. } => "dot",
            OpKind::Load(_) => "load",
            OpKind::Store => "store",
            OpKind::ProgramId(_) => "program_id",
            OpKind::NumPrograms(_) => "num_programs",
            OpKind::Size(_) => "size",
            OpKind::If => "if",
            OpKind::For => "for",
            OpKind::While => "while",
        }
    }

    /// Whether the operation neither reads nor writes memory nor holds regions: it may be moved, merged and dropped.
    pub const fn is_pure(&self) -> bool {
        !matches!(self, OpKind::Load(_) | OpKind::Store | OpKind::If | OpKind::For | OpKind::While)
    }
}
