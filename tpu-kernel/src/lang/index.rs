//! Along an axis: indices, elements picked by index, running reductions, order.

use super::axes::{Indexes, IsOne};
use super::dim::Dim;
use super::element::{Element, Number};
use super::formula::Term;
use super::rearrange::{Resized, slice};
use super::session::{self, Raw};
use super::shape::{AxisOf, HasAxis, Shape};
use super::value::{Handle, Tile};
use crate::ir::{self, CompareOp, Loc, OpKind, ScanOp};

/// The index along an axis of each element: `iota::<(BM, BN)>(Lanes)` counts columns 0, 1, 2, …
#[track_caller]
pub fn iota<S>(axis: impl AxisOf<S>) -> Tile<i32, S> {
    let (shape, axis) = of(axis);
    Tile::new(session::emit(OpKind::Iota { shape, axis }, &[], Loc::caller()))
}

/// As [`iota`], with elements of `T`: `iota_of::<f32, (BM, BN)>(Lanes)`. Integers wrap.
#[track_caller]
pub fn iota_of<T: Number, S: Shape>(axis: impl AxisOf<S>) -> Tile<T, S> {
    let loc = Loc::caller();
    let (shape, axis) = of(axis);
    let index = Term::new(session::emit(OpKind::Iota { shape, axis }, &[], loc.clone()), &loc);
    Tile::wrap(index.cast(T::DTYPE).raw)
}

fn of<S, A: AxisOf<S>>(_axis: A) -> (ir::Shape, usize) {
    (A::shape(), A::AXIS)
}

impl<T: Element, S: Shape> Tile<T, S> {
    /// One in the place that each index names along an axis of `K` places, which was [`One`](super::One), else 0; an
    /// index outside has no one, nor has a float between two places, or NaN. `labels.one_hot::<f32, D<10>, _>(Lanes)`.
    #[track_caller]
    pub fn one_hot<U: Element, K: Dim, A>(self, _axis: A) -> Resized<U, S, A, K>
    where
        T: Number,
        S: HasAxis<A>,
        S::Dim: IsOne,
    {
        let loc = Loc::caller();
        let shape = <S::With<K> as Shape>::shape();
        let places = Term::new(session::emit(OpKind::Iota { shape, axis: S::AXIS }, &[], loc.clone()), &loc);
        let label = Term::new(self.raw(), &loc);
        let index = label.cast(ir::DType::I32);
        let hot = places.compare(CompareOp::Eq, index.broadcast(shape));
        let hot = if T::DTYPE.is_float() {
            let label = label.cast(ir::DType::F32);
            hot & index.cast(ir::DType::F32).compare(CompareOp::Eq, label)
        } else {
            hot
        };
        Tile::wrap(hot.cast(U::DTYPE).raw)
    }
}

impl<T: Element, S: Shape> Tile<T, S> {
    /// Element i along an axis of the result is element `indices[i]` of this tile, as numpy's `take_along_axis`. Negative
    /// indices count from the end; one outside of the tile ends the launch with R007.
    #[track_caller]
    pub fn take_along_axis<P: Indexes<S, A>, A>(self, indices: Tile<i32, P>, _axis: A) -> Tile<T, P> {
        Tile::wrap(session::emit(OpKind::Gather { axis: P::AXIS }, &[self.raw(), indices.raw()], Loc::caller()))
    }
}

macro_rules! scans {
    ($($(#[$doc:meta])* $method:ident $op:ident $reverse:literal),+ $(,)?) => {
        impl<T: Element, S: Shape> Tile<T, S> { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $method<A>(self, _axis: A) -> Self
            where
                T: Number,
                S: HasAxis<A>,
            {
                let kind = OpKind::Scan { op: ScanOp::$op, axis: S::AXIS, reverse: $reverse };
                Tile::wrap(session::emit(kind, &[self.raw()], Loc::caller()))
            }
        )+ }
    };
}

scans!(
    /// Each element plus all before it along an axis.
    cumsum Sum false,
    /// Each element plus all after it along an axis.
    cumsum_reverse Sum true,
    /// Each element times all before it along an axis.
    cumprod Prod false,
    /// Each element times all after it along an axis.
    cumprod_reverse Prod true,
    /// The largest of each element and all before it along an axis; NaN wins.
    cummax Max false,
    /// The largest of each element and all after it along an axis; NaN wins.
    cummax_reverse Max true,
    /// The smallest of each element and all before it along an axis; NaN wins.
    cummin Min false,
    /// The smallest of each element and all after it along an axis; NaN wins.
    cummin_reverse Min true,
);

/// Tiles of shape `S` that are put into the order of others: one, or a tuple of up to four.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot go along with keys of shape `{S}`",
    label = "expected a tile of the shape of the keys, or a tuple of such tiles"
)]
pub trait Payload<S>: Copy {
    #[doc(hidden)]
    fn raws(self) -> Vec<Raw>;
    #[doc(hidden)]
    fn ordered(results: &mut std::vec::IntoIter<Raw>) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Element, S: Shape> Payload<S> for Tile<T, S> {
    fn raws(self) -> Vec<Raw> {
        vec![self.raw()]
    }
    fn ordered(results: &mut std::vec::IntoIter<Raw>) -> Self {
        // Fewer results are those of a fault.
        Tile::wrap(results.next().unwrap_or(session::dead()))
    }
}

macro_rules! payload {
    ($($p:ident $n:tt),+) => {
        #[diagnostic::do_not_recommend]
        impl<S, $($p: Payload<S>),+> Payload<S> for ($($p,)+) {
            fn raws(self) -> Vec<Raw> {
                [$(self.$n.raws()),+].concat()
            }
            fn ordered(results: &mut std::vec::IntoIter<Raw>) -> Self {
                ($($p::ordered(results),)+)
            }
        }
    };
}

payload!(A 0);
payload!(A 0, B 1);
payload!(A 0, B 1, C 2);
payload!(A 0, B 1, C 2, E 3);

fn sort<S: Shape, P: Payload<S>>(operands: P, axis: usize, descending: bool, loc: &Loc) -> P {
    let sorted = session::emit_all(OpKind::Sort { axis, descending }, &operands.raws(), loc.clone());
    P::ordered(&mut sorted.unwrap_or_default().into_iter())
}

fn argsort<T: Element, S: Shape>(keys: Tile<T, S>, axis: usize, descending: bool, loc: &Loc) -> (Tile<T, S>, Tile<i32, S>) {
    let indices = session::emit(OpKind::Iota { shape: S::shape(), axis }, &[], loc.clone());
    sort::<S, _>((keys, Tile::<i32, S>::wrap(indices)), axis, descending, loc)
}

macro_rules! sorts {
    ($descending:literal: $(#[$one:meta])* $sorted:ident, $(#[$with:meta])* $sorted_with:ident, $(#[$arg:meta])* $argsort:ident) => {
        impl<T: Element, S: Shape> Tile<T, S> {
            $(#[$one])*
            #[track_caller]
            pub fn $sorted<A>(self, _axis: A) -> Self
            where
                T: Number,
                S: HasAxis<A>,
            {
                sort::<S, _>(self, S::AXIS, $descending, &Loc::caller())
            }

            $(#[$with])*
            #[track_caller]
            pub fn $sorted_with<P: Payload<S>, A>(self, payload: P, _axis: A) -> (Self, P)
            where
                T: Number,
                S: HasAxis<A>,
            {
                sort::<S, _>((self, payload), S::AXIS, $descending, &Loc::caller())
            }

            $(#[$arg])*
            #[track_caller]
            pub fn $argsort<A>(self, _axis: A) -> Tile<i32, S>
            where
                T: Number,
                S: HasAxis<A>,
            {
                argsort(self, S::AXIS, $descending, &Loc::caller()).1
            }
        }
    };
}

sorts!(false:
    /// The elements along an axis in ascending order; NaN comes last.
    sorted,
    /// The elements in ascending order, and a tile or a tuple of tiles in the same order; ties stay in theirs.
    sorted_with,
    /// The indices that put the elements into ascending order; ties stay in theirs.
    argsort
);
sorts!(true:
    /// The elements along an axis in descending order; NaN comes first.
    sorted_descending,
    /// The elements in descending order, and a tile or a tuple of tiles in the same order; ties stay in theirs.
    sorted_with_descending,
    /// The indices that put the elements into descending order; ties stay in theirs.
    argsort_descending
);

/// Values and their indices.
type Top<T, S, A, K> = (Resized<T, S, A, K>, Resized<i32, S, A, K>);

impl<T: Element, S: Shape> Tile<T, S> {
    /// The `K` largest elements along an axis, the largest first, and their indices; of equal ones the lowest index
    /// first, NaN before all numbers. `x.top_k::<D<8>, _>(Lanes)`. More than there are is a fault (V032).
    #[track_caller]
    pub fn top_k<K: Dim, A>(self, _axis: A) -> Top<T, S, A, K>
    where
        T: Number,
        S: HasAxis<A>,
    {
        let loc = Loc::caller();
        let (values, indices) = argsort(self, S::AXIS, true, &loc);
        let shape = <S::With<K> as Shape>::shape();
        let first = |raw: Raw| slice(raw, vec![0; S::RANK], shape, vec![1; S::RANK], &loc);
        (Tile::wrap(first(values.raw())), Tile::wrap(first(indices.raw())))
    }
}
