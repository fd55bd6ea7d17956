//! What compiled code calls while it runs: messages go to the log of the launch.
//!
//! Rules: nothing unwinds through compiled code; what ends a launch here is kept until the step has returned.

use super::checked::Watched;
use super::crew::Seat;
use super::mesh::World;
use super::semaphore::Group;
use super::site::Site;
use crate::exec::print::{self as text, Shown};
use crate::exec::{Printed, RunError};
use crate::ir::{Literal, MAX_RANK, Type};
use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tpu_microkernels::tile::{DONE, RANK, Slot};

/// A launch while its steps run.
pub(super) struct Running<'r> {
    pub sites: &'r [Site],
    /// The shape of each operand's array; empty of those that have none.
    pub extents: &'r [Vec<usize>],
    pub semaphores: Vec<Group>,
    /// The running step.
    pub grid: Vec<i32>,
    /// Valid for `'r`. The cores of a device share it: they run on one thread, and none goes on while it is called.
    pub log: *mut (dyn FnMut(&Printed) + 'r),
    /// Its place among those that run the kernel together.
    pub seat: Option<Seat<'r>>,
    /// What it reaches of them, where the launch is not checked.
    pub world: Option<&'r World>,
    /// What is watched; nothing where the launch is not checked.
    pub watched: Option<Watched<'r>>,
    /// Why it ends.
    pub ended: Option<Ended>,
}

/// What ends a launch from inside a call.
pub(super) enum Ended {
    /// An error.
    Error(RunError),
    /// The log panicked: the panic goes on where no compiled code is running.
    Panic(Box<dyn Any + Send>),
}

/// The function behind [`Helpers::print`](super::context::Helpers::print).
///
/// # Safety
/// `launch` is a [`Running`] that nobody else uses; the slots are those of the `print` of that number.
pub(super) unsafe extern "C" fn print(launch: *mut c_void, site: u32, slots: *const Slot) -> i64 {
    // SAFETY: by this function's contract.
    let running = unsafe { &mut *launch.cast::<Running<'_>>() };
    // SAFETY: as above.
    let ended = match catch_unwind(AssertUnwindSafe(|| unsafe { running.print(site, slots) })) {
        Ok(Ok(())) => return DONE,
        Ok(Err(error)) => Ended::Error(error),
        Err(panic) => Ended::Panic(panic),
    };
    running.ended = Some(ended);
    !DONE
}

impl Running<'_> {
    /// Writes a message.
    ///
    /// # Safety
    /// As [`print`].
    unsafe fn print(&mut self, site: u32, slots: *const Slot) -> Result<(), RunError> {
        let Some(Site::Print { text, types, loc }) = self.sites.get(site as usize) else { return Ok(()) };
        let mut shown = vec![];
        for (at, &ty) in types.iter().enumerate() {
            // SAFETY: by the contract of `print` there is a slot for each value.
            let elements = unsafe { elements(&*slots.add(at), ty)? };
            shown.push(match ty {
                Type::Scalar(_) => Shown::Scalar(elements[0]),
                Type::Tile(_, shape) => Shown::Tile(shape, elements),
                Type::Ref(..) | Type::Array(..) | Type::Semaphore(..) => unreachable!("verified: values are printed"),
            });
        }
        let printed = Printed { step: self.grid.clone(), text: text::format(text, &shown), loc: loc.clone() };
        // SAFETY: the log is borrowed for the run, and nobody else calls it now.
        let write = || unsafe { (*self.log)(&printed) };
        match &self.seat {
            // SAFETY: whoever takes messages knows nothing of seats.
            Some(seat) => unsafe { seat.outside(write) },
            None => write(),
        }
        Ok(())
    }
}

/// The elements of a value in row-major order.
///
/// # Safety
/// The slot is valid for the elements that type and strides reach.
unsafe fn elements(slot: &Slot, ty: Type) -> Result<Vec<Literal>, RunError> {
    let (dtype, shape) = (ty.dtype(), ty.shape());
    let mut elements = vec![];
    let count = shape.elements();
    elements.try_reserve_exact(count).map_err(|_| RunError::OutOfMemory { bytes: count.saturating_mul(size_of::<Literal>()) })?;
    let mut index = [0; MAX_RANK];
    for _ in 0..count {
        let strides = &slot.strides[RANK - shape.rank()..];
        let offset: i64 = index.iter().zip(strides).map(|(&i, stride)| i as i64 * stride).sum();
        // SAFETY: by this function's contract; an element is read at any alignment.
        let bits = unsafe {
            let ptr = slot.ptr.offset(offset as isize * dtype.bytes() as isize);
            match dtype.bytes() {
                4 => ptr.cast::<u32>().read_unaligned(),
                2 => u32::from(ptr.cast::<u16>().read_unaligned()),
                _ => u32::from(ptr.read()),
            }
        };
        elements.push(Literal::from_bits(dtype, bits));
        for d in (0..shape.rank()).rev() {
            index[d] += 1;
            if index[d] < shape.dim(d) {
                break;
            }
            index[d] = 0;
        }
    }
    Ok(elements)
}
