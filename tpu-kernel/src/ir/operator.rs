//! The operators of elementwise operations, reductions and scans: their names, and the element types that they take.

use super::DType;

/// Elementwise operations of one operand. Of a float narrower than f32, that of the widened value, rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UnaryOp {
    /// Negation; of a float, the sign bit flips; integers wrap.
    Neg,
    /// Absolute value; of a float, the sign bit is cleared; of the smallest signed integer, itself.
    Abs,
    /// Logical not of a bool, bitwise not of an integer.
    Not,
    /// -1, 0 or 1; of a float, NaN and the zeros stay.
    Sign,
    /// e to the power x.
    Exp,
    /// 2 to the power x.
    Exp2,
    /// e to the power x, minus 1, without cancellation.
    Expm1,
    /// Natural logarithm.
    Log,
    /// Logarithm to base 2.
    Log2,
    /// Natural logarithm of 1 + x, without cancellation.
    Log1p,
    /// Square root, correctly rounded; of a negative number NaN.
    Sqrt,
    /// One over the square root.
    Rsqrt,
    /// Cube root.
    Cbrt,
    /// One over x, correctly rounded.
    Recip,
    /// One over x as the chip approximates it: x rounded to bf16, and the quotient rounded to bf16.
    RecipApprox,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Tangent.
    Tan,
    /// Inverse sine.
    Asin,
    /// Inverse cosine.
    Acos,
    /// Inverse tangent.
    Atan,
    /// Hyperbolic sine.
    Sinh,
    /// Hyperbolic cosine.
    Cosh,
    /// Hyperbolic tangent.
    Tanh,
    /// Inverse hyperbolic sine.
    Asinh,
    /// Inverse hyperbolic cosine.
    Acosh,
    /// Inverse hyperbolic tangent.
    Atanh,
    /// Error function.
    Erf,
    /// One minus the error function.
    Erfc,
    /// Inverse of the error function.
    ErfInv,
    /// 1 / (1 + e to the power -x).
    Logistic,
    /// Down to an integer.
    Floor,
    /// Up to an integer.
    Ceil,
    /// To the nearest integer, ties to even.
    RoundEven,
    /// To the nearest integer, ties away from zero.
    Round,
    /// Toward zero to an integer.
    Trunc,
    /// Whether it is NaN; a bool.
    IsNan,
    /// Whether it is neither NaN nor infinite; a bool.
    IsFinite,
    /// How many bits are set.
    Popcount,
    /// How many bits are clear above the highest set one.
    Clz,
}

/// Elementwise operations of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BinaryOp {
    /// Sum; integers wrap.
    Add,
    /// Difference; integers wrap.
    Sub,
    /// Product; integers wrap.
    Mul,
    /// Quotient; integers truncate. Signed: x / 0 = -1, MIN / -1 = MIN; unsigned: x / 0 = MAX.
    Div,
    /// Remainder with the sign of the dividend; integers: x % 0 = x, MIN % -1 = 0; float: as C's fmod.
    Rem,
    /// Quotient of integers, rounded down; by 0 as `Div`.
    FloorDiv,
    /// Remainder with the sign of the divisor; by the integer 0, x.
    FloorMod,
    /// The smaller; NaN wins, -0 is below +0.
    Min,
    /// The larger; NaN wins, -0 is below +0.
    Max,
    /// Logical and (bool), bitwise and (integers).
    And,
    /// Logical or (bool), bitwise or (integers).
    Or,
    /// Exclusive or.
    Xor,
    /// The left to the power of the right.
    Pow,
    /// The angle of the point (right, left).
    Atan2,
    /// The root of the sum of squares, without overflow between.
    Hypot,
    /// The left with the sign of the right.
    Copysign,
    /// The neighbour of the left, in its own format, toward the right.
    NextAfter,
    /// Shift to the left; by the width or more, 0.
    Shl,
    /// Shift to the right; of signed integers copies the sign. By the width or more: all sign, or 0.
    Shr,
    /// Shift to the right that fills with 0.
    ShrLogical,
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

/// Reductions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReduceOp {
    /// Sum, in the order that `docs/semantics.md` states; integers wrap; narrow floats accumulate in f32 and round once.
    Sum,
    /// Product, in the same order.
    Prod,
    /// Largest; NaN wins.
    Max,
    /// Smallest; NaN wins.
    Min,
    /// Whether one is true.
    Any,
    /// Whether each is true.
    All,
    /// The first index of the largest; the first NaN wins; i32.
    ArgMax,
    /// The first index of the smallest; the first NaN wins; i32.
    ArgMin,
}

/// Running reductions, in the order of the elements; narrow floats accumulate in f32, each result is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScanOp {
    /// Sum; integers wrap.
    Sum,
    /// Product; integers wrap.
    Prod,
    /// Largest so far; NaN wins.
    Max,
    /// Smallest so far; NaN wins.
    Min,
}

/// How f32 operands of [`OpKind::Dot`](super::OpKind::Dot) enter the multiplier. All others are exact in all three.
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

names!(UnaryOp {
    Neg = "neg", Abs = "abs", Not = "not", Sign = "sign", Exp = "exp", Exp2 = "exp2", Expm1 = "expm1", Log = "log", Log2 = "log2",
    Log1p = "log1p", Sqrt = "sqrt", Rsqrt = "rsqrt", Cbrt = "cbrt", Recip = "recip", RecipApprox = "recip_approx", Sin = "sin",
    Cos = "cos", Tan = "tan", Asin = "asin", Acos = "acos", Atan = "atan", Sinh = "sinh", Cosh = "cosh", Tanh = "tanh",
    Asinh = "asinh", Acosh = "acosh", Atanh = "atanh", Erf = "erf", Erfc = "erfc", ErfInv = "erf_inv", Logistic = "logistic",
    Floor = "floor", Ceil = "ceil", RoundEven = "round_even", Round = "round", Trunc = "trunc", IsNan = "is_nan",
    IsFinite = "is_finite", Popcount = "popcount", Clz = "clz",
});
names!(BinaryOp {
    Add = "add", Sub = "sub", Mul = "mul", Div = "div", Rem = "rem", FloorDiv = "floor_div", FloorMod = "floor_mod", Min = "min",
    Max = "max", And = "and", Or = "or", Xor = "xor", Pow = "pow", Atan2 = "atan2", Hypot = "hypot", Copysign = "copysign",
    NextAfter = "next_after", Shl = "shl", Shr = "shr", ShrLogical = "shr_logical",
});
names!(CompareOp { Eq = "eq", Ne = "ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge" });
names!(ReduceOp {
    Sum = "sum", Prod = "prod", Max = "max", Min = "min", Any = "any", All = "all", ArgMax = "argmax", ArgMin = "argmin",
});
names!(ScanOp { Sum = "sum", Prod = "prod", Max = "max", Min = "min" });
names!(Precision { Default = "default", High = "high", Highest = "highest" });

impl UnaryOp {
    /// Whether the operation takes elements of that type.
    pub const fn takes(self, dtype: DType) -> bool {
        match self {
            UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Sign => dtype.is_number(),
            UnaryOp::Not => !dtype.is_float(),
            UnaryOp::Popcount | UnaryOp::Clz => dtype.is_integer(),
            UnaryOp::Exp | UnaryOp::Exp2 | UnaryOp::Expm1 | UnaryOp::Log | UnaryOp::Log2 | UnaryOp::Log1p => dtype.is_float(),
            UnaryOp::Sqrt | UnaryOp::Rsqrt | UnaryOp::Cbrt | UnaryOp::Recip | UnaryOp::RecipApprox => dtype.is_float(),
            UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan | UnaryOp::Asin | UnaryOp::Acos | UnaryOp::Atan => dtype.is_float(),
            UnaryOp::Sinh | UnaryOp::Cosh | UnaryOp::Tanh | UnaryOp::Asinh | UnaryOp::Acosh | UnaryOp::Atanh => dtype.is_float(),
            UnaryOp::Erf | UnaryOp::Erfc | UnaryOp::ErfInv | UnaryOp::Logistic => dtype.is_float(),
            UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::RoundEven | UnaryOp::Round | UnaryOp::Trunc => dtype.is_float(),
            UnaryOp::IsNan | UnaryOp::IsFinite => dtype.is_float(),
        }
    }

    /// The element type of the result.
    pub const fn result(self, dtype: DType) -> DType {
        match self {
            UnaryOp::IsNan | UnaryOp::IsFinite => DType::Bool,
            _ => dtype,
        }
    }
}

impl BinaryOp {
    /// Whether the operation takes elements of that type.
    pub const fn takes(self, dtype: DType) -> bool {
        match self {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => dtype.is_number(),
            BinaryOp::FloorMod | BinaryOp::Min | BinaryOp::Max => dtype.is_number(),
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => !dtype.is_float(),
            BinaryOp::FloorDiv | BinaryOp::Shl | BinaryOp::Shr | BinaryOp::ShrLogical => dtype.is_integer(),
            BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Hypot | BinaryOp::Copysign | BinaryOp::NextAfter => dtype.is_float(),
        }
    }
}

impl ReduceOp {
    /// Whether the reduction takes elements of that type.
    pub const fn takes(self, dtype: DType) -> bool {
        match self {
            ReduceOp::Any | ReduceOp::All => matches!(dtype, DType::Bool),
            ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Max | ReduceOp::Min | ReduceOp::ArgMax | ReduceOp::ArgMin => {
                dtype.is_number()
            }
        }
    }

    /// The element type of the result.
    pub const fn result(self, dtype: DType) -> DType {
        match self {
            ReduceOp::ArgMax | ReduceOp::ArgMin => DType::I32,
            _ => dtype,
        }
    }
}

impl CompareOp {
    /// Whether the comparison takes elements of that type.
    pub const fn takes(self, dtype: DType) -> bool {
        dtype.is_number() || matches!(self, CompareOp::Eq | CompareOp::Ne)
    }
}
