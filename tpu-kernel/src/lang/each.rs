//! A function on each element, recorded on a tile of one element.

use super::dim::One;
use super::element::Element;
use super::panics;
use super::session::{self, Session};
use super::value::{Handle, Tile};
use crate::ir::{Builder, Loc, Precision, Type};
use crate::transform::{Function, one_element};
use crate::{BuildFault, Error};

/// A tile that stands for each element of an operand: what functions for `map_input` and `map_output` take and give.
pub type Each<T> = Tile<T, (One, One)>;

/// Records a function on each element, for the operand of that name; `loc` is where the user asks for it. What
/// [`Transform::map_input`](super::Transform::map_input) does; on IR, [`fuse_input`](crate::transform::fuse_input)
/// takes the result.
///
/// # Errors
/// The function does not record (it panics, or uses values of another kernel), or it is not elementwise.
pub fn function<T: Element, U: Element>(operand: &str, loc: &Loc, f: impl FnOnce(Each<T>) -> Each<U>) -> Result<Function, Error> {
    let session = Session::new(Builder::new("function", loc.clone()), vec![], Precision::default());
    panics::watch();
    let (mut session, outcome) = session::scope(session, || {
        let (args, _) = session::begin_region(&[Type::Tile(T::DTYPE, one_element())], &[]);
        let result = f(Each::wrap(args[0]));
        session::end_region(&[result.raw()], loc)
    });
    let (region, panic) = match outcome {
        Ok(region) => (region, None),
        Err(panic) => (None, Some(BuildFault::panic(panic.as_ref(), panics::take().unwrap_or_else(|| loc.clone())))),
    };
    let mut faults = std::mem::take(&mut session.faults);
    faults.extend(panic);
    match region.filter(|_| faults.is_empty()) {
        Some(region) => Ok(Function::new(region, &session.builder.kernel().types, operand)?),
        None => Err(Error::Build { kernel: format!("function for {operand}"), faults }),
    }
}
