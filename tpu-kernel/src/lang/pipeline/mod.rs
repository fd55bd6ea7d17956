//! Pipelines inside a kernel: a grid of its own over arrays in HBM, whose blocks are on their way while others are computed.
//!
//! Rules: everything is recorded from loops, branches, copies and semaphores of a region of its own; there is no operation for it.
//! A block that stays from one step to the next is not copied again; that of an output is written back when it changes, and at the
//! end. Every copy is waited for, each in the slot where it began.

mod flow;
mod port;
mod record;
mod shape;

use super::element::Element;
use super::memory::Vmem;
use super::session::{self, Raw};
use super::value::{Handle, IntoScalar, Scalar};
use super::view::{HbmOutput, InputWindow, View};
use crate::BuildFault;
use crate::ir::Loc;
use port::{Port, Role};
use shape::Sizing;
pub use shape::{
    BlockShape, Blocks, BlocksOf, Bounded, ByBounds, ByList, ByNumber, Cut, Indirect, List, PlaceOf, Places, Sliding, Squeezed,
};
use std::marker::PhantomData;

/// The most slots of an operand.
const SLOTS: usize = 16;

/// The grid of a pipeline: the number of steps along one to three dimensions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the grid of a pipeline",
    label = "expected a tuple or an array of one to three numbers of steps, each an `i32` or a `Scalar<i32>`, as in `(m.div_ceil(BM), 4)`"
)]
pub trait Grid<const D: usize> {
    #[doc(hidden)]
    #[track_caller]
    fn bounds(self) -> [Raw; D];
}

macro_rules! grid {
    ($rank:literal: $($i:ident $n:tt),+) => {
        #[diagnostic::do_not_recommend]
        impl<$($i: IntoScalar<i32>),+> Grid<$rank> for ($($i,)+) {
            #[track_caller]
            fn bounds(self) -> [Raw; $rank] {
                [$(self.$n.into_scalar().raw()),+]
            }
        }
        #[diagnostic::do_not_recommend]
        impl<I: IntoScalar<i32>> Grid<$rank> for [I; $rank] {
            #[track_caller]
            fn bounds(self) -> [Raw; $rank] {
                self.map(|bound| bound.into_scalar().raw())
            }
        }
    };
}

grid!(1: A 0);
grid!(2: A 0, B 1);
grid!(3: A 0, B 1, C 2);

/// A pipeline with the grid `grid`, the last dimension fastest. Operands follow, and then the body:
///
/// ```
/// use tpu_kernel::prelude::*;
///
/// #[tpu_kernel]
/// fn doubled<BM: Dim, BK: Dim>(#[hbm([m, k])] x: Hbm<f32, 2>, #[hbm([m, k])] o: HbmOut<f32, 2>) {
///     pipeline((m.div_ceil(BM), k / BK))
///         .input(x.blocks::<(BM, BK)>(), |[i, kk]| (i, kk))
///         .output(o.blocks::<(BM, BK)>(), |[i, kk]| (i, kk))
///         .run(|[_, _], (x, o)| o.store(x.load() * 2.0));
/// }
///
/// doubled().bm(8).bk(128).stage(&[DType::F32])?;
/// # Ok::<(), tpu_kernel::Error>(())
/// ```
#[track_caller]
pub fn pipeline<'a, const D: usize>(grid: impl Grid<D>) -> Pipeline<'a, D, ()> {
    Pipeline { bounds: grid.bounds(), ports: vec![], of: PhantomData }
}

/// A pipeline that is described, and not run yet.
#[must_use = "this runs nothing yet: call `.run(|[i], (x, o)| …)`"]
pub struct Pipeline<'a, const D: usize, L> {
    bounds: [Raw; D],
    ports: Vec<Port<'a, D>>,
    of: PhantomData<(L, *const ())>,
}

/// Of a list of operands: an input.
#[doc(hidden)]
pub struct Input<T, P>(PhantomData<(T, P)>);
/// Of a list of operands: an output.
#[doc(hidden)]
pub struct Output<T, P>(PhantomData<(T, P)>);

/// What the body gets for an operand.
#[doc(hidden)]
pub trait Streamed {
    type Handle;
    fn handle(window: Raw, size: Option<Raw>) -> Self::Handle;
}

/// Operands, to which one more may be added.
#[doc(hidden)]
pub trait Operands {
    type Push<A>;
    /// What the body gets.
    type Handles;
    fn handles(windows: &mut dyn Iterator<Item = (Raw, Option<Raw>)>) -> Self::Handles;
}

macro_rules! operands {
    ($($a:ident)+) => {
        impl<$($a: Streamed),+> Operands for ($($a,)+) {
            type Push<Z> = ($($a,)+ Z,);
            type Handles = ($($a::Handle,)+);
            fn handles(windows: &mut dyn Iterator<Item = (Raw, Option<Raw>)>) -> Self::Handles {
                ($({
                    let (window, size) = windows.next().unwrap_or((session::dead(), None));
                    $a::handle(window, size)
                },)+)
            }
        }
    };
}

impl Operands for () {
    type Push<Z> = (Z,);
    type Handles = ();
    fn handles(_windows: &mut dyn Iterator<Item = (Raw, Option<Raw>)>) {}
}

operands!(A);
operands!(A B);
operands!(A B C);
operands!(A B C E);
operands!(A B C E F);
operands!(A B C E F G);
operands!(A B C E F G H);
operands!(A B C E F G H I);

impl<T: Element, P: BlockShape> Streamed for Input<T, P> {
    type Handle = <P::Sizing as Sizing>::Handle<View<InputWindow, T, P::Window>>;
    fn handle(window: Raw, size: Option<Raw>) -> Self::Handle {
        P::Sizing::handle(View::wrap(window), size)
    }
}
impl<T: Element, P: BlockShape> Streamed for Output<T, P> {
    type Handle = <P::Sizing as Sizing>::Handle<Vmem<T, P::Window>>;
    fn handle(window: Raw, size: Option<Raw>) -> Self::Handle {
        P::Sizing::handle(Vmem::wrap(window), size)
    }
}

impl<'a, const D: usize, L: Operands> Pipeline<'a, D, L> {
    /// An input: `map` gives the place of a step's block. It has two buffers, or one where that is the same in every step.
    #[track_caller]
    pub fn input<Sp, T: Element, P: BlockShape, I: Places<P>>(
        self,
        blocks: Blocks<Sp, T, P>,
        map: impl Fn([Scalar<i32>; D]) -> I + 'a,
    ) -> Pipeline<'a, D, L::Push<Input<T, P>>> {
        self.with(blocks, map, Role::Input)
    }

    /// An output: `map` gives the place of a step's block. It has as many buffers as an input. The block holds nothing in
    /// particular when it is new.
    #[track_caller]
    pub fn output<T: Element, P: BlockShape, I: Places<P>>(
        self,
        blocks: Blocks<HbmOutput, T, P>,
        map: impl Fn([Scalar<i32>; D]) -> I + 'a,
    ) -> Pipeline<'a, D, L::Push<Output<T, P>>> {
        self.with(blocks, map, Role::Output)
    }

    /// An output whose block holds what the array has there, also where an earlier step wrote it. It has one buffer.
    #[track_caller]
    pub fn update<T: Element, P: BlockShape, I: Places<P>>(
        self,
        blocks: Blocks<HbmOutput, T, P>,
        map: impl Fn([Scalar<i32>; D]) -> I + 'a,
    ) -> Pipeline<'a, D, L::Push<Output<T, P>>> {
        self.with(blocks, map, Role::Update)
    }

    #[track_caller]
    fn with<Sp, T: Element, P: BlockShape, I: Places<P>, N>(
        mut self,
        blocks: Blocks<Sp, T, P>,
        map: impl Fn([Scalar<i32>; D]) -> I + 'a,
        role: Role,
    ) -> Pipeline<'a, D, N> {
        let loc = Loc::caller();
        let cuts = P::cuts();
        if cuts.iter().filter(|c| c.has_size()).count() > 1 {
            session::fault(BuildFault::BlockSizes(loc.clone()));
        }
        let map = Box::new(move |step| map(step).places());
        let mut port = Port { array: blocks.array, dtype: T::DTYPE, cuts, map, role, depth: 1, loc };
        port.depth = if role == Role::Update || port.is_constant() { 1 } else { 2 };
        self.ports.push(port);
        Pipeline { bounds: self.bounds, ports: self.ports, of: PhantomData }
    }

    /// How many buffers the operand before has: 1 copies when a block is needed, `n` fetch blocks `n - 1` steps ahead.
    #[track_caller]
    pub fn buffers(mut self, n: usize) -> Self {
        let loc = Loc::caller();
        match self.ports.last_mut() {
            Some(port) if (1..=SLOTS).contains(&n) && (port.role != Role::Update || n == 1) => port.depth = n,
            _ => session::fault(BuildFault::Buffers { n, most: SLOTS, loc }),
        }
        self
    }

    /// Runs the pipeline: `body` gets the indices of a step and a tuple of the windows. A window of an input is read only, that of an
    /// output is memory like scratch.
    #[track_caller]
    pub fn run(self, body: impl FnOnce([Scalar<i32>; D], L::Handles)) {
        let loc = Loc::caller();
        flow::run(&self.ports, self.bounds, &loc, |step, windows| {
            body(step.map(Scalar::wrap), L::handles(&mut windows.into_iter()));
        });
    }
}
