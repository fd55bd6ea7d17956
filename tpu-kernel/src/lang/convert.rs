//! From one element type to another: by value, by bits, packed into words, rounded at random.

use super::element::{Element, NarrowFloat, Number, PerWord, SameWidth};
use super::formula::Term;
use super::session;
use super::shape::Shape;
use super::value::{Handle, Scalar, Tile};
use crate::ir::{DType, Loc, OpKind, Rule};

impl<T: Element, S: Shape> Tile<T, S> {
    /// The elements converted to `U`: float to integer truncates and saturates, NaN becomes 0; integers wrap; floats
    /// round to nearest even; to bool is `!= 0`.
    #[track_caller]
    pub fn cast<U: Element>(self) -> Tile<U, S> {
        Tile::wrap(session::emit(OpKind::Cast(U::DTYPE), &[self.raw()], Loc::caller()))
    }

    /// The elements' bits as elements of `U`, which has as many.
    #[track_caller]
    pub fn bitcast<U: Number>(self) -> Tile<U, S>
    where
        T: SameWidth<U>,
    {
        Tile::wrap(session::emit(OpKind::Bitcast(U::DTYPE), &[self.raw()], Loc::caller()))
    }
}

impl<T: Element, S: Shape> Tile<T, S> {
    /// The bits as elements of another width: rows fold along the second to last dimension, low bits first, so that row
    /// r of `f32` is rows 2r and 2r + 1 of `bf16`. `J` is the shape that comes out (V019).
    #[track_caller]
    pub fn bitcast_rows<U: Number, J: Shape>(self) -> Tile<U, J>
    where
        T: Number,
    {
        let loc = Loc::caller();
        claim(session::emit(OpKind::Bitcast(U::DTYPE), &[self.raw()], loc.clone()), "bitcast", loc)
    }
}

impl<T: Element> Scalar<T> {
    /// The scalar converted to `U`, as [`Tile::cast`].
    #[track_caller]
    pub fn cast<U: Element>(self) -> Scalar<U> {
        Scalar::wrap(session::emit(OpKind::Cast(U::DTYPE), &[self.raw()], Loc::caller()))
    }

    /// The scalar's bits as an element of `U`, which has as many.
    #[track_caller]
    pub fn bitcast<U: Number>(self) -> Scalar<U>
    where
        T: SameWidth<U>,
    {
        Scalar::wrap(session::emit(OpKind::Bitcast(U::DTYPE), &[self.raw()], Loc::caller()))
    }
}

impl<S: Shape> Tile<f32, S> {
    /// Each element rounded to one of the two neighbours in `U`, to the farther one as often as uniform random `bits`
    /// say: the mean is the element. NaN, infinities and what `U` holds exactly stay.
    #[track_caller]
    pub fn stochastic_round<U: NarrowFloat>(self, bits: Tile<u32, S>) -> Tile<U, S> {
        Tile::wrap(session::emit(OpKind::StochasticRound(U::DTYPE), &[self.raw(), bits.raw()], Loc::caller()))
    }
}

/// A result of which the user says the shape; another one is a fault.
pub(super) fn claim<T: Element, J: Shape>(raw: session::Raw, at: &str, loc: Loc) -> Tile<T, J> {
    match session::type_of(raw) {
        Some(ty) if ty.shape() != J::shape() => {
            let rule = Rule::Results { want: Tile::<T, J>::ty().to_string(), got: ty.to_string() };
            Tile::wrap(session::broken(rule, at, &loc))
        }
        _ => Tile::wrap(raw),
    }
}

/// The unsigned integer of a float's width.
const fn word_of(float: DType) -> DType {
    match float.bits() {
        32 => DType::U32,
        16 => DType::U16,
        8 => DType::U8,
        _ => DType::U4,
    }
}

/// Words of `u32`, each of the elements of that place in `N` tiles, the first in the lowest bits: two of `bf16`, eight
/// of `I4`.
#[track_caller]
pub fn pack<T: PerWord<N>, S: Shape, const N: usize>(tiles: [Tile<T, S>; N]) -> Tile<u32, S> {
    let loc = Loc::caller();
    let bits = T::DTYPE.bits();
    let words = tiles.iter().enumerate().map(|(at, tile)| {
        let tile = Term::new(tile.raw(), &loc);
        let integer = if T::DTYPE.is_float() { tile.bitcast(word_of(T::DTYPE)) } else { tile };
        let word = integer.cast(DType::U32);
        // A signed integer comes with copies of its sign above its bits.
        let word = if T::DTYPE.is_signed() && bits < 32 { word & T::DTYPE.mask() } else { word };
        if at == 0 { word } else { word << (at as u32 * bits) }
    });
    let packed = words.reduce(|all, word| all | word);
    Tile::wrap(packed.map_or(session::dead(), |packed| packed.raw))
}

/// Elements that words of packed elements are made of: `u32` alone.
#[diagnostic::on_unimplemented(
    message = "elements are unpacked from words of `u32`, not from `{Self}`",
    label = "rows of narrow elements become words by `x.bitcast_rows::<u32, J>()`; `pack([a, b])` makes words of tiles"
)]
pub trait Word: Number {}
impl Word for u32 {}

impl<W: Element, S: Shape> Tile<W, S> {
    /// The elements at a place in each word of `u32`, counted from the lowest bits: what [`pack`] put there.
    #[track_caller]
    pub fn unpack<U: Number>(self, at: usize) -> Tile<U, S>
    where
        W: Word,
    {
        let loc = Loc::caller();
        let bits = U::DTYPE.bits();
        let places = 32 / bits as usize;
        if at >= places {
            return Tile::wrap(session::broken(Rule::Slice { axis: 0, last: at, extent: places }, "unpack", &loc));
        }
        let word = Term::new(self.raw(), &loc);
        let low = if at == 0 { word } else { word >> (at as u32 * bits) };
        // The cast keeps the low bits, with the sign of a signed integer.
        let unpacked = if U::DTYPE.is_float() { low.cast(word_of(U::DTYPE)).bitcast(U::DTYPE) } else { low.cast(U::DTYPE) };
        Tile::wrap(unpacked.raw)
    }
}
