//! Random numbers: of keys, the same as JAX's; and of the generator of the chip.
//!
//! Rules: a key draws the same numbers wherever and whenever it is used: fold the grid index in, split it, never use
//! one twice. Threefry with 20 rounds and counters as JAX has them (`jax_threefry_partitionable`), so that bits,
//! `uniform` and `bernoulli` are those of `jax.random` for `f32`, and `normal` is but for the last bits. What draws
//! without a key goes on from where the launch's generator is; it is seeded first.

use super::control::{Carry, Dynamic};
use super::formula::Term;
use super::session::{self, Raw};
use super::shape::Shape;
use super::value::{Handle, IntoScalar, Scalar, Tile};
use crate::ir::{CompareOp, DType, Loc, OpKind, UnaryOp};

/// A key of random numbers: two words.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    words: [Scalar<u32>; 2],
}

/// What seeds a generator or changes a key: a `u32` or `i32`, constant or scalar.
#[diagnostic::on_unimplemented(message = "`{Self}` is no seed", label = "expected an `i32` or `u32`, or a scalar of them")]
pub trait Seed {
    /// Its bits.
    #[doc(hidden)]
    #[track_caller]
    fn word(self) -> Scalar<u32>;
}
#[diagnostic::do_not_recommend]
impl Seed for i32 {
    #[track_caller]
    fn word(self) -> Scalar<u32> {
        Scalar::new(self as u32)
    }
}
#[diagnostic::do_not_recommend]
impl Seed for u32 {
    #[track_caller]
    fn word(self) -> Scalar<u32> {
        Scalar::new(self)
    }
}
#[diagnostic::do_not_recommend]
impl Seed for Scalar<u32> {
    fn word(self) -> Scalar<u32> {
        self
    }
}
#[diagnostic::do_not_recommend]
impl Seed for Scalar<i32> {
    #[track_caller]
    fn word(self) -> Scalar<u32> {
        self.cast()
    }
}

/// Threefry-2x32 with 20 rounds of a pair of counters.
fn threefry<'l>([k0, k1]: [Term<'l>; 2], [x0, x1]: [Term<'l>; 2]) -> [Term<'l>; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let keys = [k0, k1, k0 ^ k1 ^ 0x1bd1_1bda_u32];
    let (mut x0, mut x1) = (x0 + keys[0], x1 + keys[1]);
    for group in 0..5u32 {
        for by in ROTATIONS[group as usize % 2] {
            x0 = x0 + x1;
            x1 = ((x1 << by) | (x1 >> (32 - by))) ^ x0;
        }
        let next = group as usize + 1;
        x0 = x0 + keys[next % 3];
        x1 = x1 + (keys[(next + 1) % 3] + (group + 1));
    }
    [x0, x1]
}

/// The numbers from 0 to 1 whose first bits those are: 2⁻²³ apart.
fn unit(bits: Term<'_>) -> Term<'_> {
    ((bits >> 9) | 0x3f80_0000_u32).bitcast(DType::F32) - 1.0
}

fn uniform<'l>(bits: Term<'l>, low: f32, high: f32) -> Term<'l> {
    if (low, high) == (0.0, 1.0) { unit(bits) } else { (unit(bits) * (high - low) + low).max(low) }
}

fn normal(bits: Term<'_>) -> Term<'_> {
    // The number above -1.
    let low = f32::from_bits((-1.0f32).to_bits() - 1);
    uniform(bits, low, 1.0).unary(UnaryOp::ErfInv) * std::f32::consts::SQRT_2
}

fn below<'l>(bits: Term<'l>, probability: Scalar<f32>) -> Term<'l> {
    unit(bits).compare(CompareOp::Lt, Term::new(probability.raw(), bits.loc))
}

impl Key {
    /// The key of a seed, as `jax.random.key(seed)`.
    #[track_caller]
    pub fn new(seed: impl Seed) -> Key {
        Key { words: [Scalar::new(0u32), seed.word()] }
    }

    /// The key of two words, as `jax.random.wrap_key_data`.
    #[track_caller]
    pub fn of_words(high: impl Seed, low: impl Seed) -> Key {
        Key { words: [high.word(), low.word()] }
    }

    /// The two words.
    pub fn words(self) -> [Scalar<u32>; 2] {
        self.words
    }

    fn hashed(self, counters: impl Fn(&Loc) -> [Raw; 2], loc: Loc) -> [Raw; 2] {
        let key = self.words.map(|word| Term::new(word.raw(), &loc));
        threefry(key, counters(&loc).map(|raw| Term::new(raw, &loc))).map(|word| word.raw)
    }

    /// The key of this one and a number, as `jax.random.fold_in`: of a grid index, of a step.
    #[track_caller]
    pub fn fold_in(self, number: impl Seed) -> Key {
        let number = number.word().raw();
        let words = self.hashed(|loc| [Term::constant(0u32, loc).raw, number], Loc::caller());
        Key { words: words.map(Scalar::wrap) }
    }

    /// `N` keys, as `jax.random.split`: `let [a, b] = key.split();`.
    #[track_caller]
    pub fn split<const N: usize>(self) -> [Key; N] {
        let loc = Loc::caller();
        std::array::from_fn(|at| {
            let counters = |loc: &Loc| [0, at as u32].map(|word| Term::constant(word, loc).raw);
            Key { words: self.hashed(counters, loc.clone()).map(Scalar::wrap) }
        })
    }

    /// Random bits, as `jax.random.bits`.
    #[track_caller]
    pub fn random_bits<S: Shape>(self) -> Tile<u32, S> {
        Tile::wrap(self.bits::<S>(&Loc::caller()).raw)
    }

    fn bits<S: Shape>(self, loc: &Loc) -> Term<'_> {
        // The words are hashed with the index of each element: high word 0, low word the index.
        let shape = S::shape();
        let mut index = Term::constant(0u32, loc).broadcast(shape);
        let mut stride = 1usize;
        // Also of one element: as a function on each element this would be one number for all, and is refused.
        let single = shape.dims().iter().all(|&dim| dim == 1);
        for axis in (0..shape.rank()).rev() {
            if shape.dim(axis) > 1 || single && axis == 0 {
                let along = Term::new(session::emit(OpKind::Iota { shape, axis }, &[], loc.clone()), loc).cast(DType::U32);
                index = index + along * stride as u32;
            }
            stride = stride.saturating_mul(shape.dim(axis));
        }
        let high = Term::constant(0u32, loc).broadcast(shape);
        let key = self.words.map(|word| Term::new(word.raw(), loc));
        let [a, b] = threefry(key, [high, index]);
        a ^ b
    }

    /// Numbers from 0 up to but without 1, as `jax.random.uniform`.
    #[track_caller]
    pub fn uniform<S: Shape>(self) -> Tile<f32, S> {
        Tile::wrap(unit(self.bits::<S>(&Loc::caller())).raw)
    }

    /// Numbers from `low` up to `high`.
    #[track_caller]
    pub fn uniform_in<S: Shape>(self, low: f32, high: f32) -> Tile<f32, S> {
        Tile::wrap(uniform(self.bits::<S>(&Loc::caller()), low, high).raw)
    }

    /// Numbers of the normal distribution with mean 0 and variance 1, as `jax.random.normal`.
    #[track_caller]
    pub fn normal<S: Shape>(self) -> Tile<f32, S> {
        Tile::wrap(normal(self.bits::<S>(&Loc::caller())).raw)
    }

    /// True with this probability, as `jax.random.bernoulli`.
    #[track_caller]
    pub fn bernoulli<S: Shape>(self, probability: impl IntoScalar<f32>) -> Tile<bool, S> {
        let probability = probability.into_scalar();
        Tile::wrap(below(self.bits::<S>(&Loc::caller()), probability).raw)
    }
}

#[diagnostic::do_not_recommend]
impl Carry<Dynamic> for Key {
    fn collect(&self, into: &mut Vec<Raw>) {
        into.extend(self.words.map(Handle::raw));
    }
    fn replace(&mut self, from: &mut std::vec::IntoIter<Raw>) {
        for word in &mut self.words {
            <Scalar<u32> as Carry<Dynamic>>::replace(word, from);
        }
    }
}

/// One seed, or a pair.
#[diagnostic::on_unimplemented(message = "`{Self}` is no seed", label = "expected an `i32` or `u32`, a scalar of them, or a pair")]
pub trait Seeds {
    #[doc(hidden)]
    #[track_caller]
    fn words(self) -> Vec<Raw>;
}
macro_rules! seeds {
    ($($ty:ty),+) => { $(
        #[diagnostic::do_not_recommend]
        impl Seeds for $ty {
            #[track_caller]
            fn words(self) -> Vec<Raw> {
                vec![self.word().raw()]
            }
        }
    )+ };
}
seeds!(i32, u32, Scalar<i32>, Scalar<u32>);
#[diagnostic::do_not_recommend]
impl<A: Seed, B: Seed> Seeds for (A, B) {
    #[track_caller]
    fn words(self) -> Vec<Raw> {
        vec![self.0.word().raw(), self.1.word().raw()]
    }
}

/// Seeds the generator of the launch: by one number, or by a pair, as `(seed, i)`.
#[track_caller]
pub fn prng_seed(seed: impl Seeds) {
    session::emit(OpKind::PrngSeed, &seed.words(), Loc::caller());
}

fn draw<S: Shape>(loc: &Loc) -> Term<'_> {
    Term::new(session::emit(OpKind::PrngBits(S::shape()), &[], loc.clone()), loc)
}

/// The next random bits of the generator. Before [`prng_seed`] they are an error, R009.
#[track_caller]
pub fn prng_bits<S: Shape>() -> Tile<u32, S> {
    Tile::wrap(draw::<S>(&Loc::caller()).raw)
}

/// The next numbers from 0 up to but without 1.
#[track_caller]
pub fn stateful_uniform<S: Shape>() -> Tile<f32, S> {
    Tile::wrap(unit(draw::<S>(&Loc::caller())).raw)
}

/// The next numbers of the normal distribution with mean 0 and variance 1.
#[track_caller]
pub fn stateful_normal<S: Shape>() -> Tile<f32, S> {
    Tile::wrap(normal(draw::<S>(&Loc::caller())).raw)
}

/// The next truth values, true with this probability.
#[track_caller]
pub fn stateful_bernoulli<S: Shape>(probability: impl IntoScalar<f32>) -> Tile<bool, S> {
    let probability = probability.into_scalar();
    Tile::wrap(below(draw::<S>(&Loc::caller()), probability).raw)
}
