//! Loads and stores under a mask.
//!
//! Rule: what the mask leaves out is neither read nor written, and may lie outside of the memory; what it covers must lie inside.

use super::element::Element;
use super::memory::{Corner, In, Out, SameRank, Vmem};
use super::session::{self, Raw};
use super::shape::{BcastShape, Shape};
use super::value::{Handle, Operand, Tile};
use super::view::{InputWindow, View};
use crate::ir::{Loc, OpKind};

fn origin(rank: usize, loc: &Loc) -> Vec<Raw> {
    vec![session::emit(OpKind::Const(0.into()), &[], loc.clone()); rank]
}

fn load<T: Element, P: Shape>(memory: Raw, mask: Raw, other: Raw, starts: Vec<Raw>, loc: Loc) -> Tile<T, P> {
    let operands = [vec![memory, mask, other], starts].concat();
    Tile::wrap(session::emit(OpKind::LoadMasked(P::shape()), &operands, loc))
}

fn store(memory: Raw, tile: Raw, mask: Raw, starts: Vec<Raw>, loc: Loc) {
    session::emit(OpKind::StoreMasked, &[vec![memory, tile, mask], starts].concat(), loc);
}

macro_rules! loads {
    ($memory:ty) => {
        impl<T: Element, S: Shape> $memory {
            /// The whole block where the mask is true, else `other`, which broadcasts to its shape.
            #[track_caller]
            pub fn load_where<B: Operand<T>>(self, mask: Tile<bool, S>, other: B) -> Tile<T, S>
            where
                S: BcastShape<B::Shape, J = S>,
            {
                let loc = Loc::caller();
                let other = other.operand::<S>(&loc);
                load(self.raw, mask.raw(), other, origin(S::RANK, &loc), loc)
            }

            /// The tile of shape `P` whose first element is at `corner` where the mask is true, else `other`.
            ///
            /// What the mask leaves out may lie outside of the block, before it too; an element that it covers there is an error
            /// with its index (R001).
            #[track_caller]
            pub fn load_at_where<P, B: Operand<T>>(self, corner: impl Corner<S>, mask: Tile<bool, P>, other: B) -> Tile<T, P>
            where
                P: SameRank<S> + BcastShape<B::Shape, J = P>,
            {
                let loc = Loc::caller();
                let other = other.operand::<P>(&loc);
                load(self.raw, mask.raw(), other, corner.starts(), loc)
            }
        }
    };
}

loads!(In<T, S>);
loads!(Out<T, S>);
loads!(Vmem<T, S>);
loads!(View<InputWindow, T, S>);

macro_rules! stores {
    ($memory:ty) => {
        impl<T: Element, S: Shape> $memory {
            /// Writes where the mask is true; the value broadcasts to the shape of the block. Other elements stay as they are.
            #[track_caller]
            pub fn store_where<B: Operand<T>>(self, mask: Tile<bool, S>, value: B)
            where
                S: BcastShape<B::Shape, J = S>,
            {
                let loc = Loc::caller();
                let value = value.operand::<S>(&loc);
                store(self.raw, value, mask.raw(), origin(S::RANK, &loc), loc);
            }

            /// Writes `value` with its first element at `corner` where the mask is true. What the mask leaves out may lie outside of
            /// the block; an element that it covers there is an error with its index (R001), and nothing is written.
            #[track_caller]
            pub fn store_at_where<P: SameRank<S>>(self, corner: impl Corner<S>, mask: Tile<bool, P>, value: Tile<T, P>) {
                store(self.raw, value.raw(), mask.raw(), corner.starts(), Loc::caller());
            }
        }
    };
}

stores!(Out<T, S>);
stores!(Vmem<T, S>);
