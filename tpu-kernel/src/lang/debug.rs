//! Messages and checks of a running kernel.

use super::element::Element;
use super::formula::Term;
use super::session::{self, Raw};
use super::shape::Shape;
use super::value::{Handle, Scalar, Tile};
use crate::ir::{Loc, OpKind, ReduceOp};

/// Writes a text with values to the log of the launch, with the grid step: `debug_print!("m = {}, x = {}", m, x)`.
///
/// Each `{}` takes one value: a tile, a scalar, or a number known when the kernel is built. By default the log is
/// standard error.
#[macro_export]
macro_rules! debug_print {
    ($text:literal $(, $value:expr)* $(,)?) => {
        $crate::lang::debug_print($text, &[$(&$value as &dyn $crate::lang::Printable),*])
    };
}

/// Ends the launch with error R008, the message, the grid step and this line, where a condition does not hold:
/// `debug_check!(n > 0, "no rows")`. The condition is a `Scalar<bool>`, a mask of which all must hold, or a `bool`.
#[macro_export]
macro_rules! debug_check {
    ($condition:expr, $message:literal $(,)?) => {
        $crate::lang::Checkable::check($condition, $message)
    };
}

/// What [`debug_print!`](crate::debug_print) shows.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be printed by a kernel",
    label = "expected a tile, a scalar, or a number known when the kernel is built",
    note = "memory is loaded first: `x.load()`"
)]
pub trait Printable {
    #[doc(hidden)]
    fn shown(&self, loc: &Loc) -> Raw;
}
#[diagnostic::do_not_recommend]
impl<T: Element, S: Shape> Printable for Tile<T, S> {
    fn shown(&self, _loc: &Loc) -> Raw {
        self.raw()
    }
}
#[diagnostic::do_not_recommend]
impl<T: Element> Printable for Scalar<T> {
    fn shown(&self, _loc: &Loc) -> Raw {
        self.raw()
    }
}
macro_rules! printable {
    ($($ty:ty),+) => { $(
        #[diagnostic::do_not_recommend]
        impl Printable for $ty {
            fn shown(&self, loc: &Loc) -> Raw {
                Term::constant(*self, loc).raw
            }
        }
    )+ };
}
printable!(f32, i32, u32, bool);

/// What [`debug_print!`](crate::debug_print) calls.
#[doc(hidden)]
#[track_caller]
pub fn debug_print(text: &str, values: &[&dyn Printable]) {
    let loc = Loc::caller();
    let values: Vec<Raw> = values.iter().map(|value| value.shown(&loc)).collect();
    session::emit(OpKind::Print(text.to_string()), &values, loc);
}

/// A condition of [`debug_check!`](crate::debug_check).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a condition to check",
    label = "expected a `Scalar<bool>`, a mask `Tile<bool, S>`, or a `bool`"
)]
pub trait Checkable {
    #[doc(hidden)]
    #[track_caller]
    fn check(self, message: &str);
}
#[diagnostic::do_not_recommend]
impl Checkable for Scalar<bool> {
    #[track_caller]
    fn check(self, message: &str) {
        session::emit(OpKind::Check(message.to_string()), &[self.raw()], Loc::caller());
    }
}
#[diagnostic::do_not_recommend]
impl Checkable for bool {
    #[track_caller]
    fn check(self, message: &str) {
        Checkable::check(Scalar::new(self), message);
    }
}
#[diagnostic::do_not_recommend]
impl<S: Shape> Checkable for Tile<bool, S> {
    #[track_caller]
    fn check(self, message: &str) {
        let loc = Loc::caller();
        let mask = Term::new(self.raw(), &loc);
        let all = (0..S::RANK).rev().fold(mask, |mask, axis| mask.reduce(ReduceOp::All, axis));
        let holds = all.emit(OpKind::Extract(vec![0; S::RANK]), &[]);
        session::emit(OpKind::Check(message.to_string()), &[holds.raw], loc);
    }
}
