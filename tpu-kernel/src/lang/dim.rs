//! Dimensions are types: a literal [`D<128>`](D), [`One`], or a block size chosen at launch, for which a kernel
//! has a type of its own with the name of its parameter.
//!
//! Rules: two dimensions broadcast when they are the same type or one of them is [`One`]; two block
//! sizes never are, even where their numbers agree, so that a kernel is right for every block size.

/// The size of one dimension of a tile, known when the kernel is built.
///
/// The supertraits say that a dimension broadcasts with itself and with [`One`]; with the blanket
/// implementation for `One` that is all a generic helper needs, without a `where` clause.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a dimension",
    label = "write `D<128>` for a literal size, `One`, or a type parameter `BM: Dim` for a block size"
)]
pub trait Dim: Copy + 'static + Bcast<Self, Out = Self> + Bcast<One, Out = Self> {
    /// The number of elements. Of a block size: the number chosen for the kernel being built.
    fn size() -> usize;
}

/// A literal dimension.
#[derive(Clone, Copy, Debug)]
pub struct D<const N: usize>;

/// A dimension of size 1 that broadcasts: what a reduction leaves.
#[derive(Clone, Copy, Debug)]
pub struct One;

impl<const N: usize> Dim for D<N> {
    fn size() -> usize {
        N
    }
}

impl Dim for One {
    fn size() -> usize {
        1
    }
}

/// Two dimensions that broadcast to `Out`.
#[diagnostic::on_unimplemented(
    message = "dimensions do not match: `{Self}` against `{B}`",
    label = "`{Self}` and `{B}` are different sizes; only `One` broadcasts"
)]
pub trait Bcast<B> {
    /// The larger of the two.
    type Out: Dim;
}

#[diagnostic::do_not_recommend]
impl<A: Dim> Bcast<A> for One {
    type Out = A;
}
impl<const N: usize> Bcast<D<N>> for D<N> {
    type Out = D<N>;
}
#[diagnostic::do_not_recommend]
impl<const N: usize> Bcast<One> for D<N> {
    type Out = D<N>;
}
