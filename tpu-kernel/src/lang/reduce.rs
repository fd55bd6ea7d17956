//! Reductions over an axis, several axes or all: they stay, as `One`.
//!
//! Rules: several axes are reduced one at a time from the last, a narrow float in f32 and rounded once. What is made
//! of several operations (`mean`, `softmax`) computes in f32 and rounds to the element type at the end.

use super::axes::HasAxes;
use super::element::{Element, Float, Number};
use super::formula::Term;
use super::session::{self, Raw};
use super::shape::Shape;
use super::value::{Handle, Tile};
use crate::ir::{DType, Loc, OpKind, ReduceOp, Rule, UnaryOp};

/// The axes from the last; naming one twice is a fault.
fn from_last<S: HasAxes<A>, A>(at: &'static str, loc: &Loc) -> Option<Vec<usize>> {
    let mut axes = S::axes();
    axes.sort_unstable_by(|a, b| b.cmp(a));
    if let Some(twice) = axes.windows(2).find(|pair| pair[0] == pair[1]) {
        session::broken(Rule::SameAxis { axis: twice[0] }, at, loc);
        return None;
    }
    Some(axes)
}

fn along(x: Term<'_>, op: ReduceOp, axes: &[usize]) -> Raw {
    let dtype = x.dtype();
    let accumulates = matches!(op, ReduceOp::Sum | ReduceOp::Prod);
    let wide = if axes.len() > 1 && accumulates && dtype.is_float() { x.cast(DType::F32) } else { x };
    axes.iter().fold(wide, |x, &axis| x.reduce(op, axis)).cast(dtype).raw
}

fn reduce<T: Element, S: HasAxes<A>, A>(tile: Tile<T, S>, op: ReduceOp, loc: Loc) -> Raw {
    match from_last::<S, A>(op.name(), &loc) {
        Some(axes) => along(Term::new(tile.raw(), &loc), op, &axes),
        None => session::dead(),
    }
}

/// The index among the elements of all axes, in row-major order.
fn index_of<T: Number, S: HasAxes<A>, A>(tile: Tile<T, S>, op: ReduceOp, loc: Loc) -> Raw {
    let Some(mut axes) = from_last::<S, A>(op.name(), &loc) else { return session::dead() };
    let x = Term::new(tile.raw(), &loc);
    if let [axis] = axes[..] {
        return x.reduce(op, axis).raw;
    }
    // The axes come last, and are one.
    axes.reverse();
    let shape = S::shape();
    let kept: Vec<usize> = (0..S::RANK).filter(|d| !axes.contains(d)).collect();
    let order: Vec<usize> = kept.iter().chain(&axes).copied().collect();
    let in_order = order.is_sorted();
    let x = if in_order { x } else { x.emit(OpKind::Transpose(order), &[]) };
    let many = axes.iter().map(|&d| shape.dim(d)).product();
    let mut dims: Vec<usize> = kept.iter().map(|&d| shape.dim(d)).collect();
    dims.push(many);
    let Some(flat) = crate::ir::Shape::try_new(&dims) else { return session::dead() };
    x.reshape(flat).reduce(op, kept.len()).reshape(S::Reduced::shape()).raw
}

/// Elements of a mask: `bool`.
#[diagnostic::on_unimplemented(
    message = "`any` and `all` take masks, not elements of `{Self}`",
    label = "a comparison makes a mask of `bool`, as in `(x > 0.0).any(Lanes)`"
)]
pub trait Truth: Element {}
impl Truth for bool {}

macro_rules! reductions {
    ($class:ident: $($(#[$doc:meta])* $method:ident $op:ident -> $out:ty, $by:ident;)+) => {
        impl<T: Element, S: Shape> Tile<T, S> { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $method<A>(self, _axes: A) -> Tile<$out, S::Reduced>
            where
                T: $class,
                S: HasAxes<A>,
            {
                Tile::wrap($by::<T, S, A>(self, ReduceOp::$op, Loc::caller()))
            }
        )+ }
    };
}

reductions! { Number:
    /// The sum along an axis, several or all, which stay as [`One`](super::One). The order of additions does not depend on
    /// the block size.
    sum Sum -> T, reduce;
    /// The product along an axis, several or all.
    prod Prod -> T, reduce;
    /// The largest element along an axis, several or all; NaN wins.
    max Max -> T, reduce;
    /// The smallest element along an axis, several or all; NaN wins.
    min Min -> T, reduce;
    /// The index of the largest element: the first of equal ones, the first NaN before all numbers. Over several axes, the
    /// index in row-major order of the elements along them.
    argmax ArgMax -> i32, index_of;
    /// The index of the smallest element, as [`Tile::argmax`].
    argmin ArgMin -> i32, index_of;
}
reductions! { Truth:
    /// Whether an element along an axis, several or all, is true.
    any Any -> bool, reduce;
    /// Whether every element along an axis, several or all, is true.
    all All -> bool, reduce;
}

/// The axes and how many elements are along them.
struct Over {
    axes: Vec<usize>,
    count: f32,
}

impl Over {
    fn new<S: HasAxes<A>, A>(at: &'static str, loc: &Loc) -> Option<Over> {
        let axes = from_last::<S, A>(at, loc)?;
        let count = axes.iter().map(|&d| S::shape().dim(d) as f32).product();
        Some(Over { axes, count })
    }

    fn reduce<'l>(&self, x: Term<'l>, op: ReduceOp) -> Term<'l> {
        self.axes.iter().fold(x, |x, &axis| x.reduce(op, axis))
    }

    fn mean<'l>(&self, x: Term<'l>) -> Term<'l> {
        self.reduce(x, ReduceOp::Sum) / self.count
    }

    fn variance<'l>(&self, x: Term<'l>) -> Term<'l> {
        let centred = x - self.mean(x);
        self.mean(centred * centred)
    }

    /// The elements without their largest, and that: 0 where it is infinite or NaN, so that infinities stay.
    fn shifted<'l>(&self, x: Term<'l>) -> (Term<'l>, Term<'l>) {
        let largest = self.reduce(x, ReduceOp::Max);
        let zero = Term::constant(0.0f32, x.loc);
        let finite = largest.unary(UnaryOp::IsFinite);
        let largest = finite.select(largest, zero.broadcast(largest.shape().unwrap_or(crate::ir::Shape::new(&[]))));
        (x - largest, largest)
    }
}

/// A formula in f32 over some axes, rounded to `T`.
fn formula<T: Float, S: HasAxes<A>, A, J: Shape>(
    tile: Tile<T, S>,
    at: &'static str,
    loc: Loc,
    f: impl for<'l> Fn(&Over, Term<'l>) -> Term<'l>,
) -> Tile<T, J> {
    let Some(over) = Over::new::<S, A>(at, &loc) else { return Tile::wrap(session::dead()) };
    let x = Term::new(tile.raw(), &loc);
    if x.shape().is_none() {
        return Tile::wrap(session::dead());
    }
    Tile::wrap(f(&over, x.cast(DType::F32)).cast(T::DTYPE).raw)
}

macro_rules! formulas {
    ($($(#[$doc:meta])* $method:ident -> $out:ty, |$over:ident, $x:ident| $f:expr;)+) => {
        impl<T: Element, S: Shape> Tile<T, S> { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $method<A>(self, _axes: A) -> Tile<T, $out>
            where
                T: Float,
                S: HasAxes<A>,
            {
                formula::<T, S, A, $out>(self, stringify!($method), Loc::caller(), |$over, $x| $f)
            }
        )+ }
    };
}

formulas! {
    /// The mean along an axis, several or all.
    mean -> S::Reduced, |over, x| over.mean(x);
    /// The mean of the squared distances from the mean, which divides by the number of elements.
    variance -> S::Reduced, |over, x| over.variance(x);
    /// The square root of the variance.
    std_dev -> S::Reduced, |over, x| over.variance(x).unary(UnaryOp::Sqrt);
    /// The logarithm of the sum of e to the power of the elements, without overflow between.
    logsumexp -> S::Reduced, |over, x| {
        let (shifted, largest) = over.shifted(x);
        over.reduce(shifted.exp(), ReduceOp::Sum).unary(UnaryOp::Log) + largest
    };
    /// e to the power of each element, divided by the sum of those along an axis, several or all.
    softmax -> S, |over, x| {
        let e = (x - over.reduce(x, ReduceOp::Max)).exp();
        e / over.reduce(e, ReduceOp::Sum)
    };
    /// The logarithm of [`Tile::softmax`], without underflow between.
    log_softmax -> S, |over, x| {
        let shifted = x - over.reduce(x, ReduceOp::Max);
        shifted - over.reduce(shifted.exp(), ReduceOp::Sum).unary(UnaryOp::Log)
    };
}
