//! Dimensions are types: a literal [`D<128>`](D), [`One`], or a block size chosen at launch, for which a kernel
//! has a type of its own with the name of its parameter.
//!
//! Rules: two dimensions broadcast when they are the same type or one of them is [`One`]; two block
//! sizes never are, even where their numbers agree, so that a kernel is right for every block size. What
//! joins and cuts tiles makes dimensions of dimensions; `same_as` gives such a shape another name, checked.

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

/// A dimension of `A` and then `B`: what [`concat`](super::Tile::concat) makes.
#[derive(Clone, Copy, Debug)]
pub struct Sum<A, B>(A, B);

/// A dimension of `A` times `B`: what folding two dimensions makes.
#[derive(Clone, Copy, Debug)]
pub struct Prod<A, B>(A, B);

/// A dimension of one of `B` equal parts of `A`. That `B` divides `A` is checked when the kernel is built.
#[derive(Clone, Copy, Debug)]
pub struct Quot<A, B>(A, B);

macro_rules! made_of_two {
    ($($name:ident |$a:ident, $b:ident| $size:expr;)+) => { $(
        impl<A: Dim, B: Dim> Dim for $name<A, B> {
            fn size() -> usize {
                let ($a, $b) = (A::size(), B::size());
                $size
            }
        }
        #[diagnostic::do_not_recommend]
        impl<A: Dim, B: Dim> Bcast<$name<A, B>> for $name<A, B> {
            type Out = $name<A, B>;
        }
        #[diagnostic::do_not_recommend]
        impl<A: Dim, B: Dim> Bcast<One> for $name<A, B> {
            type Out = $name<A, B>;
        }
    )+ };
}

// What no shape can have (it is beyond any memory, or nothing) is a fault where the shape is used.
made_of_two! {
    Sum |a, b| a.saturating_add(b).min(i32::MAX as usize);
    Prod |a, b| a.saturating_mul(b).min(i32::MAX as usize);
    Quot |a, b| a.checked_div(b).unwrap_or(0);
}
