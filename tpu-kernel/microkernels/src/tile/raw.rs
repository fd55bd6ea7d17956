//! Entry points for compiled code: C calling convention, a description, and addresses.

use super::fold::Width;
use super::random::Rng;
use super::view::{Dims, View, elements, lines, span};
use super::{DONE, F32, I32, INDEX, INVALID, MAX, MIN, RANK, Slot, Task, U32, UNSEEDED, outcome};
use super::{extreme, fold, gather as gathering, rotate as rotation, scan as running, sort as sorting};
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// Description, tiles, a number, and memory that the operation may use; what each is, is said at each function.
pub type Helper = unsafe extern "C" fn(*const Task, *const Slot, i32, *mut u8) -> i64;

/// The shape, and the dimension along which it works.
fn shape(task: &Task) -> Option<(Dims, usize)> {
    let valid = task.axis < RANK as u32 && !task.dims.contains(&0);
    valid.then_some((task.dims.map(|n| n as usize), task.axis as usize))
}

fn with(mut dims: Dims, axis: usize, size: u32) -> Dims {
    dims[axis] = size as usize;
    dims
}

/// Whether an address may be that of elements of this type.
fn fits<T>(ptr: *mut u8) -> bool {
    !ptr.is_null() && ptr.addr().is_multiple_of(align_of::<T>())
}

/// A tile to read.
///
/// # Safety
/// The slot's address is valid for the elements that shape and strides reach, and nobody writes them for `'a`.
unsafe fn read<'a, T: Copy>(slot: &Slot, dims: Dims) -> Option<View<'a, T>> {
    let mut strides = [0; RANK];
    for (to, from) in strides.iter_mut().zip(slot.strides) {
        *to = usize::try_from(from).ok()?;
    }
    let len = span(dims, strides).filter(|n| n.checked_mul(size_of::<T>()).is_some_and(|n| isize::try_from(n).is_ok()))?;
    if !fits::<T>(slot.ptr) {
        return None;
    }
    // SAFETY: by this function's contract; the address is aligned and the length in range.
    View::new(unsafe { from_raw_parts(slot.ptr.cast::<T>(), len) }, dims, strides)
}

/// A dense tile to write.
///
/// # Safety
/// The slot's address is valid for the elements of the shape, and nobody else reads or writes them for `'a`.
unsafe fn write<'a, T>(slot: &Slot, dims: Dims) -> Option<&'a mut [T]> {
    let len = elements(dims).filter(|n| n.checked_mul(size_of::<T>()).is_some_and(|n| isize::try_from(n).is_ok()))?;
    if !fits::<T>(slot.ptr) {
        return None;
    }
    // SAFETY: by this function's contract; the address is aligned and the length in range.
    Some(unsafe { from_raw_parts_mut(slot.ptr.cast::<T>(), len) })
}

/// Something for the integer of that many bytes.
macro_rules! by_bytes {
    ($bytes:expr, $ty:ident => $body:expr) => {
        match $bytes {
            1 => {
                type $ty = u8;
                $body
            }
            2 => {
                type $ty = u16;
                $body
            }
            4 => {
                type $ty = u32;
                $body
            }
            _ => None,
        }
    };
}

/// Something for the number type of that name.
macro_rules! by_number {
    ($number:expr, $ty:ident => $body:expr) => {
        match $number {
            F32 => {
                type $ty = f32;
                $body
            }
            I32 => {
                type $ty = i32;
                $body
            }
            U32 => {
                type $ty = u32;
                $body
            }
            _ => None,
        }
    };
}

fn done(result: Option<()>) -> i64 {
    result.map_or(outcome(INVALID, 0), |()| DONE)
}

macro_rules! entry {
    ($(#[$doc:meta])* $name:ident, $inner:ident) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// Description and slots are valid to read; each slot is valid for the elements that its shape and strides reach,
        /// aligned for them; results overlap nothing else that is named here.
        pub unsafe extern "C" fn $name(task: *const Task, slots: *const Slot, amount: i32, memory: *mut u8) -> i64 {
            // SAFETY: by this function's contract.
            unsafe { $inner(task, slots, amount, memory) }
        }
    };
}

entry!(
    /// From slot 0 to slot 1: `dims`, `axis`, `bytes`, `step_axis`, `step`; the number is the amount.
    rotate, rotate_tile
);
entry!(
    /// From slot 0, at the indices in slot 1, to slot 2: `dims`, `axis`, `extent`, `bytes`. [`INDEX`] with the first index outside.
    gather, gather_tile
);
entry!(
    /// From slot 0 to slot 1: `dims`, `axis`, `number`, `op`, `reverse`.
    scan, scan_tile
);
entry!(
    /// Orders along `axis` by the keys in slot 0: `dims`, `number`, `reverse`. Then `payloads` groups of two slots, from and
    /// to; the n-th task after this one says by its `bytes` how wide the n-th payload is. The memory has 8 aligned bytes for
    /// each element along the axis.
    sort, sort_tiles
);
entry!(
    /// From slot 0 to slot 1: `dims`, `extent` rows of the operand, `bytes`, `bits`, `signed`.
    bitcast, bitcast_tile
);
entry!(
    /// From slot 0 to i32 in slot 1: `dims`, `axis`, `number`, `op` ([`MAX`] or [`MIN`]).
    argument, argument_tile
);
entry!(
    /// To u32 in slot 0: `dims`. The memory is an [`Rng`]. [`UNSEEDED`] where that has no seed.
    random_bits, random_tile
);

unsafe fn rotate_tile(task: *const Task, slots: *const Slot, amount: i32, _: *mut u8) -> i64 {
    // SAFETY: by the contract of `rotate`.
    let task = unsafe { &*task };
    let Some((dims, axis)) = shape(task) else { return done(None) };
    let step = (task.step_axis < RANK as u32).then_some((task.step_axis as usize, task.step));
    if step.is_some_and(|(at, _)| at == axis) {
        return done(None);
    }
    // SAFETY: by the contract of `rotate`.
    let (from, to) = unsafe { (&*slots, &*slots.add(1)) };
    // SAFETY: as above.
    done(by_bytes!(task.bytes, T => unsafe { read::<T>(from, dims) }.zip(unsafe { write::<T>(to, dims) }).map(|(from, to)| {
        rotation::rotate(&from, to, axis, amount, step);
    })))
}

unsafe fn gather_tile(task: *const Task, slots: *const Slot, _: i32, _: *mut u8) -> i64 {
    // SAFETY: by the contract of `gather`.
    let task = unsafe { &*task };
    let Some((dims, axis)) = shape(task) else { return done(None) };
    // SAFETY: by the contract of `gather`.
    let [from, at, to] = [0, 1, 2].map(|i| unsafe { &*slots.add(i) });
    let source = with(dims, axis, task.extent);
    // SAFETY: as above.
    let Some(indices) = (unsafe { read::<i32>(at, dims) }) else { return done(None) };
    let result = by_bytes!(task.bytes, T => {
        // SAFETY: as above.
        let tiles = unsafe { read::<T>(from, source).zip(write::<T>(to, dims)) };
        tiles.map(|(from, to)| gathering::gather(&from, &indices, to, axis))
    });
    match result {
        Some(Err(index)) => outcome(INDEX, index),
        result => done(result.map(|_| ())),
    }
}

unsafe fn scan_tile(task: *const Task, slots: *const Slot, _: i32, _: *mut u8) -> i64 {
    // SAFETY: by the contract of `scan`.
    let task = unsafe { &*task };
    let Some((dims, axis)) = shape(task) else { return done(None) };
    // SAFETY: by the contract of `scan`.
    let (from, to) = unsafe { (&*slots, &*slots.add(1)) };
    done(by_number!(task.number, T => {
        // SAFETY: as above.
        let tiles = unsafe { read::<T>(from, dims).zip(write::<T>(to, dims)) };
        tiles.and_then(|(from, to)| running::scan(&from, to, axis, task.op, task.reverse != 0))
    }))
}

unsafe fn sort_tiles(tasks: *const Task, slots: *const Slot, _: i32, memory: *mut u8) -> i64 {
    // SAFETY: by the contract of `sort`.
    let task = unsafe { &*tasks };
    let Some((dims, axis)) = shape(task) else { return done(None) };
    let pairs = Slot { ptr: memory, strides: [0; RANK] };
    // SAFETY: by the contract of `sort`: the memory is apart from every tile.
    let Some(pairs) = (unsafe { write::<u64>(&pairs, [1, 1, 1, dims[axis]]) }) else { return done(None) };
    for start in lines(dims, axis) {
        // SAFETY: as above.
        let keys = unsafe { &*slots };
        let ordered = by_number!(task.number, T => {
            // SAFETY: as above.
            unsafe { read::<T>(keys, dims) }.map(|keys| sorting::order(&keys, start, axis, task.reverse != 0, pairs))
        });
        if ordered.is_none() {
            return done(None);
        }
        for payload in 0..task.payloads as usize {
            // SAFETY: as above: there are two slots and a task of its own for each payload.
            let (own, from, to) = unsafe { (&*tasks.add(1 + payload), &*slots.add(1 + 2 * payload), &*slots.add(2 + 2 * payload)) };
            let moved = by_bytes!(own.bytes, T => {
                // SAFETY: as above.
                let tiles = unsafe { read::<T>(from, dims).zip(write::<T>(to, dims)) };
                tiles.map(|(from, to)| sorting::apply(&from, to, start, axis, pairs))
            });
            if moved.is_none() {
                return done(None);
            }
        }
    }
    DONE
}

unsafe fn bitcast_tile(task: *const Task, slots: *const Slot, _: i32, _: *mut u8) -> i64 {
    // SAFETY: by the contract of `bitcast`.
    let task = unsafe { &*task };
    let Some((dims, _)) = shape(task) else { return done(None) };
    let source = with(dims, RANK - 2, task.extent);
    let [old, new] = task.bits;
    let widths = [old, new].iter().all(|bits| [2, 4, 8, 16, 32].contains(bits));
    let whole = u64::from(task.extent) * u64::from(old) == dims[RANK - 2] as u64 * u64::from(new);
    if !widths || !whole || task.bytes != old.div_ceil(8) {
        return done(None);
    }
    // SAFETY: by the contract of `bitcast`.
    let (from, to) = unsafe { (&*slots, &*slots.add(1)) };
    let width = Width { bits: new, signed: task.signed != 0 };
    done(by_bytes!(task.bytes, S => by_bytes!(new.div_ceil(8), D => {
        // SAFETY: as above.
        let tiles = unsafe { read::<S>(from, source).zip(write::<D>(to, dims)) };
        tiles.map(|(from, to)| fold::bitcast::<S, D>(&from, old, to, width, dims[RANK - 2]))
    })))
}

unsafe fn argument_tile(task: *const Task, slots: *const Slot, _: i32, _: *mut u8) -> i64 {
    // SAFETY: by the contract of `argument`.
    let task = unsafe { &*task };
    let Some((dims, axis)) = shape(task).filter(|_| matches!(task.op, MAX | MIN)) else { return done(None) };
    // SAFETY: by the contract of `argument`.
    let (from, to) = unsafe { (&*slots, &*slots.add(1)) };
    // SAFETY: as above.
    let Some(to) = (unsafe { write::<i32>(to, with(dims, axis, 1)) }) else { return done(None) };
    done(by_number!(task.number, T => {
        // SAFETY: as above.
        unsafe { read::<T>(from, dims) }.map(|from| extreme::argument(&from, to, axis, task.op == MIN))
    }))
}

unsafe fn random_tile(task: *const Task, slots: *const Slot, _: i32, memory: *mut u8) -> i64 {
    // SAFETY: by the contract of `random_bits`.
    let task = unsafe { &*task };
    if !fits::<Rng>(memory) {
        return done(None);
    }
    // SAFETY: by the contract of `random_bits`: the memory is a generator that nobody else uses.
    let rng = unsafe { &mut *memory.cast::<Rng>() };
    let Some((dims, _)) = shape(task) else { return done(None) };
    if rng.seeded == 0 {
        return outcome(UNSEEDED, 0);
    }
    // SAFETY: as above.
    done(unsafe { write::<u32>(&*slots, dims) }.map(|words| rng.draw(words)))
}
