//! Tiles made, reshaped, joined, cut and moved: the same elements in other places.
//!
//! Rule: where the types can say the resulting shape, they do; where a target shape is named, it is compared when the
//! kernel is built.

use super::axes::{Expand, Fold, Follows, SingleElement, Squeeze, Unfold};
use super::convert::claim;
use super::dim::{D, Dim, Prod, Quot};
use super::element::Element;
use super::formula::Term;
use super::memory::SameRank;
use super::session::{self, Raw};
use super::shape::{BcastShape, HasAxis, Shape};
use super::value::{Handle, IntoScalar, Operand, Scalar, Tile};
use crate::ir::{self, Loc, OpKind, RotateStride, Rule};

/// A tile of shape `S` but with `N` along the axis `A`.
pub(super) type Resized<T, S, A, N> = Tile<T, <S as HasAxis<A>>::With<N>>;

/// One of `N` equal parts along the axis `A`.
type Part<T, S, A, const N: usize> = Resized<T, S, A, Quot<<S as HasAxis<A>>::Dim, D<N>>>;

impl<T: Element, S: Shape> Tile<T, S> {
    /// A tile with this value everywhere: a literal or a scalar.
    #[track_caller]
    pub fn full(value: impl IntoScalar<T>) -> Self {
        let loc = Loc::caller();
        Tile::wrap(value.into_scalar().operand::<S>(&loc))
    }

    /// A tile of this tile's type with another value everywhere.
    #[track_caller]
    pub fn like(self, value: impl IntoScalar<T>) -> Self {
        Self::full(value)
    }

    /// Dimensions of [`One`](super::One) repeated to those of `J`.
    #[track_caller]
    pub fn broadcast<J: Shape>(self) -> Tile<T, J>
    where
        S: BcastShape<J, J = J>,
    {
        Tile::wrap(self.operand::<J>(&Loc::caller()))
    }

    /// The same elements in row-major order as another shape; the numbers of elements must agree (V007).
    #[track_caller]
    pub fn reshape<J: Shape>(self) -> Tile<T, J> {
        Tile::wrap(session::emit(OpKind::Reshape(J::shape()), &[self.raw()], Loc::caller()))
    }

    /// The same tile under another name of its shape, `(R, D<256>)` for `(R, Sum<D<128>, D<128>>)`: the numbers must
    /// agree, dimension by dimension (V019).
    #[track_caller]
    pub fn same_as<J: SameRank<S>>(self) -> Tile<T, J> {
        claim(self.raw(), "same_as", Loc::caller())
    }

    /// Result dimension `d` is dimension `perm[d]` of this tile. `J` must be the permuted shape (V019).
    #[track_caller]
    pub fn transpose<J: Shape>(self, perm: J::Array<usize>) -> Tile<T, J> {
        let loc = Loc::caller();
        let permuted = session::emit(OpKind::Transpose(perm.as_ref().to_vec()), &[self.raw()], loc.clone());
        claim(permuted, "transpose", loc)
    }

    /// Without an axis of [`One`](super::One).
    #[track_caller]
    pub fn squeeze<A: Squeeze<S>>(self, _axis: A) -> Tile<T, A::Squeezed> {
        self.reshape()
    }

    /// With a new axis of [`One`](super::One), which is the axis of that name in the result.
    #[track_caller]
    pub fn expand<A>(self, _axis: A) -> Tile<T, S::Expanded>
    where
        S: Expand<A>,
    {
        self.reshape()
    }

    /// An axis and the one after it as one: `(A, B, C)` folded at `Axis::<0>` is `(Prod<A, B>, C)`.
    #[track_caller]
    pub fn fold_axes<A>(self, _axis: A) -> Tile<T, S::Folded>
    where
        S: Fold<A>,
    {
        self.reshape()
    }

    /// An axis as two: `x.unfold_axis::<D<4>, D<8>, _>(Axis::<0>)`. Its size is their product (V007).
    #[track_caller]
    pub fn unfold_axis<X: Dim, Y: Dim, A>(self, _axis: A) -> Tile<T, S::Unfolded<X, Y>>
    where
        S: Unfold<A>,
    {
        self.reshape()
    }

    /// This tile and then `other` along an axis, where the result has the sum of their sizes.
    #[track_caller]
    pub fn concat<P: Follows<S, A>, A>(self, other: Tile<T, P>, _axis: A) -> Tile<T, P::Both> {
        Tile::wrap(session::emit(OpKind::Concat { axis: P::AXIS }, &[self.raw(), other.raw()], Loc::caller()))
    }

    /// `N` equal parts along an axis: `let [a, b] = x.split(Lanes);`. `N` must divide its size.
    #[track_caller]
    pub fn split<const N: usize, A>(self, _axis: A) -> [Part<T, S, A, N>; N]
    where
        S: HasAxis<A>,
    {
        let loc = Loc::caller();
        let (whole, axis) = (S::shape(), S::AXIS);
        let extent = whole.dim(axis);
        if N == 0 || !extent.is_multiple_of(N) {
            let parts = Rule::Reshape { from: whole, to: whole.with_dim(axis, extent.checked_div(N).unwrap_or(0)) };
            let dead = session::broken(parts, "split", &loc);
            return [Tile::wrap(dead); N];
        }
        let shape = whole.with_dim(axis, extent / N);
        std::array::from_fn(|part| {
            let mut starts = vec![0; whole.rank()];
            starts[axis] = part * shape.dim(axis);
            Tile::wrap(slice(self.raw(), starts, shape, vec![1; whole.rank()], &loc))
        })
    }

    /// The part of shape `P` whose first element is at `starts`, constants. What leaves the tile is a fault (V032).
    #[track_caller]
    pub fn slice<P: SameRank<S>>(self, starts: S::Array<usize>) -> Tile<T, P> {
        Tile::wrap(slice(self.raw(), starts.as_ref().to_vec(), P::shape(), vec![1; S::RANK], &Loc::caller()))
    }

    /// As [`Tile::slice`], of elements `strides` apart: at least 1 in each dimension.
    #[track_caller]
    pub fn slice_strided<P: SameRank<S>>(self, starts: S::Array<usize>, strides: S::Array<usize>) -> Tile<T, P> {
        Tile::wrap(slice(self.raw(), starts.as_ref().to_vec(), P::shape(), strides.as_ref().to_vec(), &Loc::caller()))
    }

    /// This tile inside one of shape `P` with `value` around it: its first element comes to `starts`.
    #[track_caller]
    pub fn pad<P: SameRank<S>>(self, starts: S::Array<usize>, value: impl IntoScalar<T>) -> Tile<T, P> {
        let loc = Loc::caller();
        let value = value.into_scalar().raw();
        Tile::wrap(pad(self.raw(), S::shape(), starts.as_ref(), P::shape(), value, &loc))
    }

    /// The tile `N` times in a row along an axis: `a b a b`.
    #[track_caller]
    pub fn tile<N: Dim, A>(self, _axis: A) -> Resized<T, S, A, Prod<N, S::Dim>>
    where
        S: HasAxis<A>,
    {
        let dims = S::shape();
        let (before, after) = dims.dims().split_at(S::AXIS);
        self.repeated([size(before), N::size(), size(after)])
    }

    /// Each element `N` times in a row along an axis: `a a b b`.
    #[track_caller]
    pub fn repeat<N: Dim, A>(self, _axis: A) -> Resized<T, S, A, Prod<S::Dim, N>>
    where
        S: HasAxis<A>,
    {
        let dims = S::shape();
        let (before, after) = dims.dims().split_at(S::AXIS + 1);
        self.repeated([size(before), N::size(), size(after)])
    }

    /// As three dimensions, the middle one of 1 repeated, and back.
    #[track_caller]
    fn repeated<J: Shape>(self, [before, times, after]: [usize; 3]) -> Tile<T, J> {
        let loc = Loc::caller();
        let of = |times| ir::Shape::try_new(&[before, times, after]);
        let (Some(one), Some(many)) = (of(1), of(times)) else { return Tile::wrap(session::dead()) };
        Tile::wrap(Term::new(self.raw(), &loc).reshape(one).broadcast(many).reshape(J::shape()).raw)
    }

    /// Each element `shift` places further along an axis, around its end, as numpy's `roll`; any shift, also a scalar.
    #[track_caller]
    pub fn roll<A>(self, shift: impl IntoScalar<i32>, _axis: A) -> Self
    where
        S: HasAxis<A>,
    {
        let kind = OpKind::Rotate { axis: S::AXIS, stride: None };
        Tile::wrap(session::emit(kind, &[self.raw(), shift.into_scalar().raw()], Loc::caller()))
    }

    /// As [`Tile::roll`]; row r along the axis `rows` by r · `stride` more.
    #[track_caller]
    pub fn roll_strided<A, B>(self, shift: impl IntoScalar<i32>, _axis: A, stride: i32, _rows: B) -> Self
    where
        S: HasAxis<A> + HasAxis<B>,
    {
        let stride = RotateStride { by: stride, axis: <S as HasAxis<B>>::AXIS };
        let kind = OpKind::Rotate { axis: <S as HasAxis<A>>::AXIS, stride: Some(stride) };
        Tile::wrap(session::emit(kind, &[self.raw(), shift.into_scalar().raw()], Loc::caller()))
    }

    /// The element at a constant index, as a scalar.
    #[track_caller]
    pub fn at(self, index: S::Array<usize>) -> Scalar<T> {
        Scalar::wrap(session::emit(OpKind::Extract(index.as_ref().to_vec()), &[self.raw()], Loc::caller()))
    }

    /// The one element of a tile of one.
    #[track_caller]
    pub fn scalar(self) -> Scalar<T>
    where
        S: SingleElement,
    {
        Scalar::wrap(session::emit(OpKind::Extract(vec![0; S::RANK]), &[self.raw()], Loc::caller()))
    }
}

/// The shape of a matrix, two dimensions, whose transpose has the shape `J`: a parameter, for a method whose result is not
/// known is not found.
#[diagnostic::on_unimplemented(
    message = "a tile of shape `{Self}` is not a matrix",
    label = "`.t()` swaps the dimensions of `(R, C)`; of other ranks `.transpose::<J>([…])` orders them"
)]
pub trait Matrix<J> {}
#[diagnostic::do_not_recommend]
impl<R: Dim, C: Dim> Matrix<(C, R)> for (R, C) {}

impl<T: Element, S: Shape> Tile<T, S> {
    /// The transpose of a matrix. Inside [`dot`](super::dot) it costs nothing.
    #[track_caller]
    pub fn t<J: Shape>(self) -> Tile<T, J>
    where
        S: Matrix<J>,
    {
        Tile::wrap(session::emit(OpKind::Transpose(vec![1, 0]), &[self.raw()], Loc::caller()))
    }
}

/// Tiles of one shape after each other along an axis: `concat([a, b, c], Lanes)`.
#[track_caller]
pub fn concat<T: Element, S, A, const N: usize>(tiles: [Tile<T, S>; N], _axis: A) -> Resized<T, S, A, Prod<D<N>, S::Dim>>
where
    S: HasAxis<A>,
{
    let raws = tiles.map(Handle::raw);
    Tile::wrap(session::emit(OpKind::Concat { axis: S::AXIS }, &raws, Loc::caller()))
}

fn size(dims: &[usize]) -> usize {
    dims.iter().product()
}

pub(super) fn slice(tile: Raw, starts: Vec<usize>, shape: ir::Shape, strides: Vec<usize>, loc: &Loc) -> Raw {
    session::emit(OpKind::Slice { starts, shape, strides }, &[tile], loc.clone())
}

/// Axis by axis, what is before and after.
fn pad(tile: Raw, from: ir::Shape, starts: &[usize], to: ir::Shape, value: Raw, loc: &Loc) -> Raw {
    let ends = starts.iter().zip(from.dims()).map(|(&start, &size)| start.saturating_add(size));
    if let Some((axis, last)) = ends.enumerate().find(|&(axis, end)| end > to.dim(axis)) {
        return session::broken(Rule::Slice { axis, last: last - 1, extent: to.dim(axis) }, "pad", loc);
    }
    let mut padded = Term::new(tile, loc);
    let mut shape = from;
    for axis in (0..from.rank()).rev() {
        let (before, whole) = (starts[axis], to.dim(axis));
        let after = whole - before - shape.dim(axis);
        let filled = |n: usize| (n > 0).then(|| Term::new(value, loc).broadcast(shape.with_dim(axis, n)).raw);
        let parts: Vec<Raw> = [filled(before), Some(padded.raw), filled(after)].into_iter().flatten().collect();
        if parts.len() > 1 {
            padded = Term::new(session::emit(OpKind::Concat { axis }, &parts, loc.clone()), loc);
        }
        shape = shape.with_dim(axis, whole);
    }
    padded.raw
}
