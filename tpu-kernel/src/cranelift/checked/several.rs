//! A checked run of several agents.
use super::CheckedExecutable;
use crate::exec::{Args, Checking, RunError};
use crate::launch::Binding;
pub(super) fn run(_: &CheckedExecutable, _: &Binding, _: &mut [Args<'_, '_>], _: Checking) -> Result<(), RunError> {
    Ok(())
}
