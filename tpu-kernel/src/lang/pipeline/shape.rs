//! Blocks of an array: how each of its dimensions is cut, and where a step's block lies.
//!
//! Rules: a block has as many dimensions as its array. A [`Dim`] cuts it into blocks of its size, and an index map gives the number of
//! the block; the other kinds say themselves what a map gives. At most one dimension is [`Bounded`] or [`Indirect`].

use super::super::hbm::{Hbm, HbmOut};
use super::super::session::{self, Raw};
use super::super::shape::Shape;
use super::super::smem::{Prefetch, Smem};
use super::super::value::{Handle, IntoScalar, Scalar};
use super::super::view::{HbmInput, HbmOutput};
use super::super::{Dim, Element};
use crate::ir::SizeExpr;
use std::marker::PhantomData;

/// Of a block: one element along this dimension, which the window does not have. The map gives its index.
#[derive(Clone, Copy, Debug)]
pub struct Squeezed;

/// Of a block: `N` elements from any element on, so that blocks may overlap. The map gives the first one.
#[derive(Clone, Copy, Debug)]
pub struct Sliding<N>(N);

/// Of a block: at most `N` elements from any element on. The map gives the first and how many, `(start, size)`, and the body gets the
/// size with the window.
#[derive(Clone, Copy, Debug)]
pub struct Bounded<N>(N);

/// Of a block: `N` elements that a list in scalar memory names, one by one. The map gives the list and where in it to begin,
/// `(list, start)`, or also how many of them, `(list, start, size)`.
#[derive(Clone, Copy, Debug)]
pub struct Indirect<N>(N);

/// How a dimension of the array is cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Blocked,
    Squeezed,
    Sliding,
    Bounded,
    Indirect,
}

/// One dimension of a block.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct CutDim {
    pub(super) kind: Kind,
    pub(super) size: usize,
}

impl CutDim {
    /// Whether the map says how many elements there are.
    pub(super) fn has_size(self) -> bool {
        matches!(self.kind, Kind::Bounded | Kind::Indirect)
    }
}

/// A dimension of a block.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a dimension of a block",
    label = "a dimension is a block size or `D<128>`, `Squeezed`, `Sliding<BM>`, `Bounded<BM>` or `Indirect<BM>`"
)]
pub trait Cut {
    /// What a map gives there.
    type Place;
    /// The window's shape, where `S` is that of the dimensions after this one.
    type Onto<S: Kept>: Kept;
    /// Whether the body gets a size, where `F` says so of the dimensions after this one.
    type Sized<F: Sizing>: Sizing;
    #[doc(hidden)]
    fn cut() -> CutDim;
}

/// A block, of which the map gives the number.
#[derive(Clone, Copy, Debug)]
pub struct ByNumber;
/// A part, of which the map gives start and size.
#[derive(Clone, Copy, Debug)]
pub struct ByBounds;
/// Elements, of which the map gives the list.
#[derive(Clone, Copy, Debug)]
pub struct ByList;

#[diagnostic::do_not_recommend]
impl<N: Dim> Cut for N {
    type Place = ByNumber;
    type Onto<S: Kept> = S::Push<N>;
    type Sized<F: Sizing> = F;
    fn cut() -> CutDim {
        CutDim { kind: Kind::Blocked, size: N::size() }
    }
}
impl Cut for Squeezed {
    type Place = ByNumber;
    type Onto<S: Kept> = S;
    type Sized<F: Sizing> = F;
    fn cut() -> CutDim {
        CutDim { kind: Kind::Squeezed, size: 1 }
    }
}
#[diagnostic::do_not_recommend]
impl<N: Dim> Cut for Sliding<N> {
    type Place = ByNumber;
    type Onto<S: Kept> = S::Push<N>;
    type Sized<F: Sizing> = F;
    fn cut() -> CutDim {
        CutDim { kind: Kind::Sliding, size: N::size() }
    }
}
#[diagnostic::do_not_recommend]
impl<N: Dim> Cut for Bounded<N> {
    type Place = ByBounds;
    type Onto<S: Kept> = S::Push<N>;
    type Sized<F: Sizing> = WithSize;
    fn cut() -> CutDim {
        CutDim { kind: Kind::Bounded, size: N::size() }
    }
}
#[diagnostic::do_not_recommend]
impl<N: Dim> Cut for Indirect<N> {
    type Place = ByList;
    type Onto<S: Kept> = S::Push<N>;
    type Sized<F: Sizing> = F;
    fn cut() -> CutDim {
        CutDim { kind: Kind::Indirect, size: N::size() }
    }
}

/// The dimensions that a window keeps.
#[doc(hidden)]
pub trait Kept {
    type Push<N: Dim>: Kept;
}

macro_rules! kept {
    ($($rest:ident)* => $push:ty) => {
        impl<$($rest: Dim),*> Kept for ($($rest,)*) {
            type Push<N: Dim> = $push;
        }
    };
}

kept!(=> (N,));
kept!(A => (N, A));
kept!(A B => (N, A, B));
kept!(A B C => (N, A, B, C));
// No array has a fifth dimension.
kept!(A B C E => (A, B, C, E));

/// Whether the body gets the size of a window with it.
#[doc(hidden)]
pub trait Sizing {
    type Handle<W>;
    fn handle<W>(window: W, size: Option<Raw>) -> Self::Handle<W>;
}

/// It does not.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Alone;
/// It does.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct WithSize;

impl Sizing for Alone {
    type Handle<W> = W;
    fn handle<W>(window: W, _size: Option<Raw>) -> W {
        window
    }
}
impl Sizing for WithSize {
    type Handle<W> = (W, Scalar<i32>);
    fn handle<W>(window: W, size: Option<Raw>) -> (W, Scalar<i32>) {
        (window, Scalar::wrap(size.unwrap_or(session::dead())))
    }
}

/// The shape of blocks.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the shape of blocks",
    label = "expected a tuple of one to four dimensions, not all of them `Squeezed`"
)]
pub trait BlockShape {
    /// The shape of the window.
    type Window: Shape;
    /// Whether the body gets a size with it.
    type Sizing: Sizing;
    #[doc(hidden)]
    fn cuts() -> Vec<CutDim>;
}

/// The shape of the blocks of an array with `R` dimensions.
#[diagnostic::on_unimplemented(
    message = "blocks of `{Self}` have not as many dimensions as their array, which has {R}",
    label = "expected a tuple of {R} dimensions"
)]
pub trait BlocksOf<const R: usize>: BlockShape {}

/// Where a block of shape `P` lies: what an index map gives.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the place of a block of `{P}`",
    label = "expected a tuple with, for each dimension of the array, the number of the block, or the index or first element of `Squeezed` and `Sliding`; `(start, size)` of `Bounded`; `(list, start)` of `Indirect`"
)]
pub trait Places<P> {
    #[doc(hidden)]
    #[track_caller]
    fn places(self) -> Vec<Place>;
}

/// Where a block lies along a dimension.
#[doc(hidden)]
#[derive(Clone)]
pub struct Place {
    pub(super) at: Raw,
    pub(super) size: Option<Raw>,
    pub(super) list: Option<Raw>,
}

/// What a map gives for one dimension.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say where a block lies",
    label = "expected an `i32` or `Scalar<i32>`; `(start, size)` where the dimension is `Bounded`; `(list, start)` or `(list, start, size)` where it is `Indirect`"
)]
pub trait PlaceOf<K> {
    #[doc(hidden)]
    #[track_caller]
    fn place(self) -> Place;
}

#[diagnostic::do_not_recommend]
impl<I: IntoScalar<i32>> PlaceOf<ByNumber> for I {
    #[track_caller]
    fn place(self) -> Place {
        Place { at: self.into_scalar().raw(), size: None, list: None }
    }
}
#[diagnostic::do_not_recommend]
impl<I: IntoScalar<i32>, N: IntoScalar<i32>> PlaceOf<ByBounds> for (I, N) {
    #[track_caller]
    fn place(self) -> Place {
        Place { at: self.0.into_scalar().raw(), size: Some(self.1.into_scalar().raw()), list: None }
    }
}
#[diagnostic::do_not_recommend]
impl<L: List, I: IntoScalar<i32>> PlaceOf<ByList> for (L, I) {
    #[track_caller]
    fn place(self) -> Place {
        Place { at: self.1.into_scalar().raw(), size: None, list: Some(self.0.list()) }
    }
}
#[diagnostic::do_not_recommend]
impl<L: List, I: IntoScalar<i32>, N: IntoScalar<i32>> PlaceOf<ByList> for (L, I, N) {
    #[track_caller]
    fn place(self) -> Place {
        Place { at: self.1.into_scalar().raw(), size: Some(self.2.into_scalar().raw()), list: Some(self.0.list()) }
    }
}

/// A list of indices in scalar memory.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of indices",
    label = "expected a `Prefetch<i32, 1>`, or an `Smem<i32, S>` of one dimension"
)]
pub trait List {
    #[doc(hidden)]
    fn list(self) -> Raw;
}
#[diagnostic::do_not_recommend]
impl List for Prefetch<i32, 1> {
    fn list(self) -> Raw {
        self.raw
    }
}
#[diagnostic::do_not_recommend]
impl<N: Dim> List for Smem<i32, (N,)> {
    fn list(self) -> Raw {
        self.raw
    }
}

macro_rules! block_shape {
    (@onto $a:ident) => { <$a as Cut>::Onto<()> };
    (@onto $a:ident $($rest:ident)+) => { <$a as Cut>::Onto<block_shape!(@onto $($rest)+)> };
    (@sized $a:ident) => { <$a as Cut>::Sized<Alone> };
    (@sized $a:ident $($rest:ident)+) => { <$a as Cut>::Sized<block_shape!(@sized $($rest)+)> };
    ($rank:literal: $($a:ident $i:ident $n:tt),+) => {
        #[diagnostic::do_not_recommend]
        impl<$($a: Cut),+> BlocksOf<$rank> for ($($a,)+) where block_shape!(@onto $($a)+): Shape {}
        #[diagnostic::do_not_recommend]
        impl<$($a: Cut),+> BlockShape for ($($a,)+)
        where
            block_shape!(@onto $($a)+): Shape,
        {
            type Window = block_shape!(@onto $($a)+);
            type Sizing = block_shape!(@sized $($a)+);
            fn cuts() -> Vec<CutDim> {
                vec![$($a::cut()),+]
            }
        }
        #[diagnostic::do_not_recommend]
        impl<$($a: Cut,)+ $($i: PlaceOf<$a::Place>),+> Places<($($a,)+)> for ($($i,)+) {
            #[track_caller]
            fn places(self) -> Vec<Place> {
                vec![$(self.$n.place()),+]
            }
        }
    };
}

block_shape!(1: A I 0);
block_shape!(2: A I 0, B J 1);
block_shape!(3: A I 0, B J 1, C K 2);
block_shape!(4: A I 0, B J 1, C K 2, E L 3);

/// An array in HBM cut into blocks: `x.blocks::<(BM, BK)>()`.
pub struct Blocks<Sp, T, P> {
    pub(super) array: Raw,
    of: PhantomData<(Sp, T, P, *const ())>,
}

impl<Sp, T, P> Clone for Blocks<Sp, T, P> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<Sp, T, P> Copy for Blocks<Sp, T, P> {}

macro_rules! blocks {
    ($($memory:ident => $space:ident;)+) => { $(
        impl<T: Element, const R: usize> $memory<T, R> {
            /// The array in blocks of that shape, for a [`pipeline`](super::pipeline).
            pub fn blocks<P: BlocksOf<R>>(self) -> Blocks<$space, T, P> {
                Blocks { array: self.raw, of: PhantomData }
            }
        }
    )+ };
}

blocks! {
    Hbm => HbmInput;
    HbmOut => HbmOutput;
}

/// Whether every value of the expression is a multiple of `n`.
pub(super) fn multiple(expr: &SizeExpr, n: usize) -> bool {
    match expr {
        SizeExpr::Const(value) => i64::try_from(n).is_ok_and(|n| n > 0 && value % n == 0),
        SizeExpr::Size(_) | SizeExpr::CeilDiv(..) => n == 1,
        SizeExpr::Add(a, b) | SizeExpr::Sub(a, b) => multiple(a, n) && multiple(b, n),
        SizeExpr::Mul(a, b) => multiple(a, n) || multiple(b, n),
    }
}
