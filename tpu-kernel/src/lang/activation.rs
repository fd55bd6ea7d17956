//! Activations of neural networks, right at the ends of the range.
//!
//! Rules: each computes in f32 and rounds to the element type once; NaN stays NaN; at an infinity each has its limit,
//! also where that is zero times infinity.

use super::element::{Element, Float};
use super::formula::Term;
use super::shape::Shape;
use super::value::{Handle, Scalar, Tile};
use crate::ir::{CompareOp, DType, Loc, UnaryOp};

fn in_f32<H: Handle>(value: H, loc: Loc, f: impl Fn(Term<'_>) -> Term<'_>) -> H {
    H::wrap(f(Term::new(value.raw(), &loc).cast(DType::F32)).cast(H::Elem::DTYPE).raw)
}

/// Not below the lowest finite number: so that minus infinity times zero is zero.
fn bounded(x: Term<'_>) -> Term<'_> {
    x.max(f32::MIN)
}

/// log(1 + e^x), for any x.
fn softplus(x: Term<'_>) -> Term<'_> {
    x.max(0.0) + (-x.abs()).exp().unary(UnaryOp::Log1p)
}

/// min(max(x + 3, 0), 6) / 6.
fn hard_sigmoid(x: Term<'_>) -> Term<'_> {
    (x + 3.0).max(0.0).min(6.0) / 6.0
}

/// x above 0, else alpha · (e^x - 1).
fn elu(x: Term<'_>, alpha: f32) -> Term<'_> {
    x.compare(CompareOp::Gt, 0.0).select(x, x.min(0.0).unary(UnaryOp::Expm1) * alpha)
}

/// x from 0 on, else `slope` · x.
fn leaky_relu(x: Term<'_>, slope: f32) -> Term<'_> {
    let below = if slope == 0.0 { bounded(x) } else { x };
    x.compare(CompareOp::Ge, 0.0).select(x, below * slope)
}

fn gelu_tanh(x: Term<'_>) -> Term<'_> {
    // (1 + tanh u) / 2 is the logistic function of 2u.
    let u = (x + x * x * x * 0.044_715) * 0.797_884_6;
    bounded(x) * (u * 2.0).unary(UnaryOp::Logistic)
}

macro_rules! activations {
    ($($(#[$doc:meta])* $method:ident($($parameter:ident)?) |$x:ident| $f:expr;)+) => {
        impl<T: Element, S: Shape> Tile<T, S> { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $method(self $(, $parameter: f32)?) -> Self
            where
                T: Float,
            {
                in_f32(self, Loc::caller(), |$x| $f)
            }
        )+ }
        impl<T: Element> Scalar<T> { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $method(self $(, $parameter: f32)?) -> Self
            where
                T: Float,
            {
                in_f32(self, Loc::caller(), |$x| $f)
            }
        )+ }
    };
}

activations! {
    /// The element above 0, else 0.
    relu() |x| x.max(0.0);
    /// The element between 0 and 6, else the nearer of them.
    relu6() |x| x.max(0.0).min(6.0);
    /// The element above 0, else `slope` times it.
    leaky_relu(slope) |x| leaky_relu(x, slope);
    /// x above 0, else `alpha` · (eˣ - 1).
    elu(alpha) |x| elu(x, alpha);
    /// The scaled elu whose constants keep mean and variance.
    selu() |x| elu(x, 1.673_263_2) * 1.050_701;
    /// 1 / (1 + e⁻ˣ).
    sigmoid() |x| x.unary(UnaryOp::Logistic);
    /// The logarithm of the sigmoid.
    log_sigmoid() |x| -softplus(-x);
    /// x · sigmoid(x), also called swish.
    silu() |x| bounded(x) * x.unary(UnaryOp::Logistic);
    /// x times the normal distribution's share below x, by the error function.
    gelu() |x| bounded(x) * 0.5 * (x * -std::f32::consts::FRAC_1_SQRT_2).unary(UnaryOp::Erfc);
    /// [`Tile::gelu`], approximated by a hyperbolic tangent.
    gelu_tanh() |x| gelu_tanh(x);
    /// x / 6 + 1 / 2, but at least 0 and at most 1.
    hard_sigmoid() |x| hard_sigmoid(x);
    /// x times its hard sigmoid.
    hard_swish() |x| bounded(x) * hard_sigmoid(x);
    /// log(1 + eˣ).
    softplus() |x| softplus(x);
    /// x · tanh(softplus(x)).
    mish() |x| bounded(x) * softplus(x).unary(UnaryOp::Tanh);
}
