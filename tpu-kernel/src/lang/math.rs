//! Elementwise functions of tiles and scalars.

use super::arith::{scalars, tiles, unary};
use super::element::{Element, Float, Int, Number};
use super::formula::Term;
use super::session;
use super::shape::{BcastShape, Shape};
use super::value::{Handle, IntoScalar, Join, Operand, Scalar, Tile};
use crate::ir::{BinaryOp, Literal, Loc, OpKind, UnaryOp};

// Bounds on the elements are the methods', not the blocks': a method that is found and then refused explains itself.
macro_rules! unary_methods {
    ($class:ident: $($(#[$doc:meta])* $method:ident $op:ident),+ $(,)?) => {
        impl<T: Element, S: Shape> Tile<T, S> { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $method(self) -> Self
            where
                T: $class,
            {
                unary(UnaryOp::$op, self, Loc::caller())
            }
        )+ }
        impl<T: Element> Scalar<T> { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $method(self) -> Self
            where
                T: $class,
            {
                unary(UnaryOp::$op, self, Loc::caller())
            }
        )+ }
    };
}

unary_methods!(Float:
    /// e to the power of each element.
    exp Exp,
    /// 2 to the power of each element.
    exp2 Exp2,
    /// e to the power of each element, minus 1, without cancellation.
    expm1 Expm1,
    /// The natural logarithm of each element; of 0 minus infinity, below NaN.
    log Log,
    /// The logarithm to base 2 of each element.
    log2 Log2,
    /// The natural logarithm of 1 plus each element, without cancellation.
    log1p Log1p,
    /// The square root of each element, correctly rounded; NaN below zero.
    sqrt Sqrt,
    /// One over the square root of each element.
    rsqrt Rsqrt,
    /// The cube root of each element.
    cbrt Cbrt,
    /// One over each element, correctly rounded.
    recip Recip,
    /// One over each element as the chip approximates it: of the element rounded to bf16, rounded to bf16.
    recip_approx RecipApprox,
    /// The sine of each element, in radians.
    sin Sin,
    /// The cosine of each element, in radians.
    cos Cos,
    /// The tangent of each element, in radians.
    tan Tan,
    /// The inverse sine of each element.
    asin Asin,
    /// The inverse cosine of each element.
    acos Acos,
    /// The inverse tangent of each element.
    atan Atan,
    /// The hyperbolic sine of each element.
    sinh Sinh,
    /// The hyperbolic cosine of each element.
    cosh Cosh,
    /// The hyperbolic tangent of each element.
    tanh Tanh,
    /// The inverse hyperbolic sine of each element.
    asinh Asinh,
    /// The inverse hyperbolic cosine of each element.
    acosh Acosh,
    /// The inverse hyperbolic tangent of each element.
    atanh Atanh,
    /// The error function of each element.
    erf Erf,
    /// One minus the error function of each element, without cancellation.
    erfc Erfc,
    /// The inverse of the error function of each element.
    erf_inv ErfInv,
    /// Each element down to an integer.
    floor Floor,
    /// Each element up to an integer.
    ceil Ceil,
    /// Each element to the nearest integer, halves away from zero, as Rust's `f32::round`.
    round Round,
    /// Each element to the nearest integer, halves to the even one, as numpy's `round`.
    round_even RoundEven,
    /// Each element toward zero to an integer.
    trunc Trunc,
);
unary_methods!(Number:
    /// The absolute value of each element; of the smallest signed integer, itself.
    abs Abs,
    /// -1, 0 or 1 by the sign of each element; of a float, NaN and the zeros stay.
    sign Sign,
);
unary_methods!(Int:
    /// How many bits of each element are set.
    popcount Popcount,
    /// How many bits of each element are clear above its highest set one; of 0, all.
    clz Clz,
);

/// Whether each element is of a kind.
fn test<H: Handle>(value: H, loc: Loc, kind: impl Fn(Term<'_>) -> Term<'_>) -> H::With<bool> {
    H::With::wrap(kind(Term::new(value.raw(), &loc)).raw)
}

macro_rules! tests {
    ($($(#[$doc:meta])* $method:ident |$x:ident| $kind:expr),+ $(,)?) => {
        impl<T: Element, S: Shape> Tile<T, S> { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $method(self) -> Tile<bool, S>
            where
                T: Float,
            {
                test(self, Loc::caller(), |$x| $kind)
            }
        )+ }
        impl<T: Element> Scalar<T> { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $method(self) -> Scalar<bool>
            where
                T: Float,
            {
                test(self, Loc::caller(), |$x| $kind)
            }
        )+ }
    };
}

tests!(
    /// Whether each element is NaN.
    is_nan |x| x.unary(UnaryOp::IsNan),
    /// Whether each element is neither NaN nor infinite.
    is_finite |x| x.unary(UnaryOp::IsFinite),
    /// Whether each element is infinite.
    is_inf |x| !(x.unary(UnaryOp::IsFinite) | x.unary(UnaryOp::IsNan)),
);

macro_rules! binary_methods {
    ($class:ident: $($(#[$doc:meta])* $method:ident $op:ident),+ $(,)?) => {
        impl<T: Element, S: Shape> Tile<T, S> { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $method<B: Operand<T>>(self, other: B) -> Tile<T, Join<S, B::Shape>>
            where
                T: $class,
                S: BcastShape<B::Shape>,
            {
                tiles(BinaryOp::$op, self, other, Loc::caller())
            }
        )+ }
        impl<T: Element> Scalar<T> { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $method(self, other: impl IntoScalar<T>) -> Scalar<T>
            where
                T: $class,
            {
                scalars(BinaryOp::$op, self, other)
            }
        )+ }
    };
}

binary_methods!(Number:
    /// The larger of each two elements; NaN wins, -0 is below +0.
    maximum Max,
    /// The smaller of each two elements; NaN wins, -0 is below +0.
    minimum Min,
    /// The remainder with the sign of the divisor, as numpy's and Python's `%`; by the integer 0, the dividend.
    floor_mod FloorMod,
);
binary_methods!(Int:
    /// The quotient rounded down, as Python's `//`; by 0, -1, and of unsigned integers the largest.
    floor_div FloorDiv,
    /// Shifted to the right, filling with zeros; `>>` copies the sign of signed integers.
    shr_logical ShrLogical,
);
binary_methods!(Float:
    /// Each element to the power of the other.
    pow Pow,
    /// The angle of the point (other, self), from -π to π.
    atan2 Atan2,
    /// The root of the sum of both squares, without overflow between.
    hypot Hypot,
    /// Each element with the sign of the other.
    copysign Copysign,
    /// The neighbour of each element, in its own format, toward the other.
    next_after NextAfter,
);

/// `x` to the power `n` by repeated squaring.
fn powi<H: Handle>(x: H, n: i32, loc: Loc) -> H {
    let x = Term::new(x.raw(), &loc);
    let one = || Term::constant(Literal::from_int(x.dtype(), 1), &loc);
    let (mut square, mut rest, mut power) = (x, n.unsigned_abs(), None);
    while rest > 0 {
        if rest & 1 == 1 {
            power = Some(power.map_or(square, |power: Term<'_>| power * square));
        }
        rest >>= 1;
        if rest > 0 {
            square = square * square;
        }
    }
    let power = match power {
        Some(power) if n < 0 => one() / power,
        Some(power) => power,
        // Of a tile, one everywhere.
        None => x.shape().map_or_else(one, |shape| one().broadcast(shape)),
    };
    H::wrap(power.raw)
}

impl<T: Element, S: Shape> Tile<T, S> {
    /// Each element times itself.
    #[track_caller]
    pub fn square(self) -> Self
    where
        T: Number,
    {
        tiles(BinaryOp::Mul, self, self, Loc::caller())
    }

    /// Each element to the power `n`, by repeated squaring; of a negative `n`, one over the power.
    #[track_caller]
    pub fn powi(self, n: i32) -> Self
    where
        T: Number,
    {
        powi(self, n, Loc::caller())
    }

    /// Each element, but at least `low` and at most `high`, which broadcast; NaN stays NaN.
    #[track_caller]
    pub fn clamp<L: Operand<T>, H: Operand<T>>(self, low: L, high: H) -> Self
    where
        T: Number,
        S: BcastShape<L::Shape, J = S> + BcastShape<H::Shape, J = S>,
    {
        let loc = Loc::caller();
        let at_least: Self = tiles(BinaryOp::Max, self, low, loc.clone());
        tiles(BinaryOp::Min, at_least, high, loc)
    }
}

impl<T: Element> Scalar<T> {
    /// The scalar times itself.
    #[track_caller]
    pub fn square(self) -> Self
    where
        T: Number,
    {
        scalars(BinaryOp::Mul, self, self)
    }

    /// The scalar to the power `n`, as [`Tile::powi`].
    #[track_caller]
    pub fn powi(self, n: i32) -> Self
    where
        T: Number,
    {
        powi(self, n, Loc::caller())
    }

    /// The scalar, but at least `low` and at most `high`.
    #[track_caller]
    pub fn clamp(self, low: impl IntoScalar<T>, high: impl IntoScalar<T>) -> Self
    where
        T: Number,
    {
        scalars(BinaryOp::Min, scalars(BinaryOp::Max, self, low), high)
    }
}

/// The shape that a mask and two operands broadcast to.
type Selected<S, A, B> = Join<Join<S, A>, B>;

/// `a` where `mask` is true, `b` elsewhere; mask and operands broadcast. What is not selected may be anything, NaN included.
#[track_caller]
pub fn select<T: Element, S, A, B>(mask: Tile<bool, S>, a: A, b: B) -> Tile<T, Selected<S, A::Shape, B::Shape>>
where
    A: Operand<T>,
    B: Operand<T>,
    S: Shape + BcastShape<A::Shape>,
    Join<S, A::Shape>: BcastShape<B::Shape>,
{
    let loc = Loc::caller();
    let mask = mask.operand::<Selected<S, A::Shape, B::Shape>>(&loc);
    let a = a.operand::<Selected<S, A::Shape, B::Shape>>(&loc);
    let b = b.operand::<Selected<S, A::Shape, B::Shape>>(&loc);
    Tile::wrap(session::emit(OpKind::Select, &[mask, a, b], loc))
}

/// `a` if `condition`, else `b`, both computed; for scalars.
#[track_caller]
pub fn choose<T: Element>(condition: Scalar<bool>, a: impl IntoScalar<T>, b: impl IntoScalar<T>) -> Scalar<T> {
    let operands = [condition.raw(), a.into_scalar().raw(), b.into_scalar().raw()];
    Scalar::wrap(session::emit(OpKind::Select, &operands, Loc::caller()))
}

/// An element of `T` from a Rust literal, a float one rounded: for code generic over the element type.
#[track_caller]
pub fn literal<T: Element>(value: impl IntoScalar<T>) -> Scalar<T> {
    value.into_scalar()
}
