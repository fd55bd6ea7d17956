//! The blocks of a window: where they lie in the array, and the copies of those that cannot be used there.

use super::context::RefSlot;
use super::mem::may_stay_in_place;
use super::memory::{ALIGN, poison};
use crate::ir::{BlockDim, DType, Kernel, MAX_RANK, OpKind, ParamKind, Pipelining, Region, Revisit, Value};
use tpu_microkernels::stream;

/// What is known of a kernel's windows before a launch.
#[derive(Debug)]
pub(super) struct Windows {
    /// One an operand; scalars have none.
    pub params: Vec<Option<Param>>,
    /// Bytes of everything that a run allocates; the arena comes first.
    pub bytes: usize,
}

/// An operand's memory.
#[derive(Debug)]
pub(super) struct Param {
    pub dtype: DType,
    pub role: Role,
    /// The block along each dimension of the array (of scratch: of the operand).
    pub block: Vec<BlockDim>,
    /// For each of the array's dimensions the operand's; absent where squeezed.
    pub kept: Vec<Option<usize>>,
    /// Where its copy or scratch lies in the memory of a run.
    pub offset: usize,
    /// Elements of a block.
    pub elements: usize,
    /// Whether a block inside the array may be used there.
    in_place: bool,
    /// Whether each step overwrites the whole block before it reads any of it.
    overwritten: bool,
    /// Of an output: whether a block that is entered is read from the array.
    pub read_back: bool,
    /// How many copies it has, one after the other: of an input those of blocks on their way.
    pub copies: usize,
    /// Bytes from one copy to the next.
    copy_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Input,
    Output,
    Scratch,
}

impl Windows {
    /// Lays out the memory; `None` where it exceeds the address space. `early`: blocks of inputs are fetched before their steps;
    /// `direct`: blocks may be used where they lie.
    pub(super) fn new(kernel: &Kernel, arena: usize, early: bool, direct: bool) -> Option<Windows> {
        let mut bytes = arena.checked_next_multiple_of(ALIGN)?;
        let mut params = vec![];
        for (at, param) in kernel.params.iter().enumerate() {
            let (role, block, kept, pipelining) = match &param.kind {
                ParamKind::Scalar | ParamKind::InArray(_) | ParamKind::OutArray(_) | ParamKind::Prefetch(_) => {
                    params.push(None);
                    continue;
                }
                ParamKind::Scratch if !param.ty.is_ref() => {
                    params.push(None);
                    continue;
                }
                ParamKind::Scratch => {
                    let shape = param.ty.shape();
                    let block = shape.dims().iter().map(|&n| BlockDim::Blocked(n)).collect();
                    (Role::Scratch, block, (0..shape.rank()).map(Some).collect(), Pipelining::default())
                }
                ParamKind::In(window) | ParamKind::Out(window) => {
                    let role = if param.is_output() { Role::Output } else { Role::Input };
                    let mut next = 0;
                    let kept = window.block.iter().map(|b| {
                        b.kept().map(|_| {
                            next += 1;
                            next - 1
                        })
                    });
                    (role, window.block.clone(), kept.collect(), window.pipelining)
                }
            };
            let dtype = param.ty.dtype();
            let elements = param.ty.shape().checked_elements()?;
            let offset = bytes;
            // A few lines more, so that the size of an empty block is no special case.
            let copy_bytes = elements.checked_mul(dtype.bytes())?.checked_next_multiple_of(ALIGN)?.checked_add(ALIGN)?;
            // One is in use while the others arrive, and with lookahead one more is made before that one goes.
            let copies = if early && role == Role::Input { pipelining.depth() + 1 } else { 1 };
            bytes = bytes.checked_add(copy_bytes.checked_mul(copies)?)?;
            let overwritten = direct && role == Role::Output && overwrites(kernel, at);
            let in_place =
                direct && may_stay_in_place(kernel, at) && !kernel.is_aliased(at) && (role == Role::Input || overwritten);
            let read_back = role == Role::Output && !overwritten && pipelining.revisit == Revisit::Any;
            params.push(Some(Param {
                dtype,
                role,
                block,
                kept,
                offset,
                elements,
                in_place,
                overwritten,
                read_back,
                copies,
                copy_bytes,
            }));
        }
        isize::try_from(bytes).ok()?;
        Some(Windows { params, bytes })
    }
}

/// Whether the body, whatever happens, stores the whole block before it reads any of it.
fn overwrites(kernel: &Kernel, param: usize) -> bool {
    let value = kernel.body.args[param];
    for op in &kernel.body.ops {
        if op.kind == OpKind::Store && op.operands[0] == value {
            let whole = kernel.ty(op.operands[1]).shape() == kernel.ty(value).shape();
            if whole && op.operands[2..].iter().all(|&start| is_zero(&kernel.body, start)) {
                return true;
            }
        }
        if op.operands.contains(&value) || op.regions.iter().any(|region| mentions(region, value)) {
            return false;
        }
    }
    false
}

fn is_zero(body: &Region, start: Value) -> bool {
    body.ops.iter().any(|op| match &op.kind {
        OpKind::Const(literal) => op.results[0] == start && literal.as_i32() == Some(0),
        _ => false,
    })
}

/// Whether an operation of the region, at any depth, reads or writes that memory.
fn mentions(region: &Region, memory: Value) -> bool {
    region.ops.iter().any(|op| op.operands.contains(&memory) || op.regions.iter().any(|inner| mentions(inner, memory)))
}

/// The array behind a window in one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Array {
    pub pointer: *mut u8,
    pub extent: [usize; MAX_RANK],
    /// In elements.
    pub stride: [usize; MAX_RANK],
    /// Whether it is more than the caches hold: what is written passes them by.
    pub streamed: bool,
}

/// Arrays of more bytes are streamed, in blocks of at most as many as a cache near the processor holds.
pub(super) const STREAMED: usize = 16 << 20;
const STREAMED_BLOCK: usize = 1 << 18;

/// Where block and array meet along an axis, in elements.
pub(super) struct Part {
    /// The first element, in the array.
    pub start: usize,
    pub count: usize,
    /// Elements of the block before it.
    pub skip: usize,
}

impl Param {
    /// Where the copy of that number lies in the memory of a run.
    pub(super) fn copy(&self, number: usize) -> usize {
        self.offset + number % self.copies * self.copy_bytes
    }

    /// The first block index outside the array, with its axis.
    pub(super) fn outside(&self, array: &Array, index: &[i32]) -> Option<(usize, i64)> {
        (0..self.block.len()).find_map(|axis| {
            let (least, most) = self.block[axis].indices(array.extent[axis]);
            let index = i64::from(index[axis]);
            (index < least || index > most).then_some((axis, index))
        })
    }

    /// The part of a block inside the array along an axis; nothing where the block lies in the padding.
    pub(super) fn part(&self, array: &Array, index: &[i32], axis: usize) -> Part {
        let block = self.block[axis];
        let first = block.first(index[axis]);
        let inside = |element: i64| usize::try_from(element).map_or(0, |n| n.min(array.extent[axis]));
        let (start, end) = (inside(first), inside(first.saturating_add(block.size() as i64)));
        let skip = if end > start { (start as i64 - first) as usize } else { 0 };
        Part { start, count: end - start, skip }
    }

    fn origin(&self, array: &Array, index: &[i32]) -> usize {
        (0..self.block.len()).map(|axis| self.part(array, index, axis).start * array.stride[axis]).sum()
    }

    fn whole(&self, array: &Array, index: &[i32]) -> bool {
        (0..self.block.len()).all(|axis| self.part(array, index, axis).count == self.block[axis].size())
    }

    /// Whether the block can be used where it lies.
    fn stays(&self, array: &Array, index: &[i32]) -> bool {
        self.in_place && !self.streams(array) && array.pointer.addr().is_multiple_of(self.dtype.bytes()) && self.whole(array, index)
    }

    /// Whether blocks are computed in a copy and written past the caches.
    fn streams(&self, array: &Array) -> bool {
        array.streamed && self.role == Role::Output && self.elements * self.dtype.bytes() <= STREAMED_BLOCK
    }

    /// Makes a block current: fills the copy, or points into the array. `copy` is the operand's own memory.
    ///
    /// # Safety
    /// The index was found inside the array; array and copy are valid and apart.
    pub(super) unsafe fn open(&self, array: &Array, index: &[i32], copy: *mut u8) -> RefSlot {
        if self.stays(array, index) {
            let mut strides = [0; MAX_RANK];
            for (axis, kept) in self.kept.iter().enumerate() {
                if let Some(d) = kept {
                    strides[*d] = array.stride[axis] as i64;
                }
            }
            // SAFETY: the block lies inside the array.
            let ptr = unsafe { array.pointer.add(self.origin(array, index) * self.dtype.bytes()) };
            return RefSlot { ptr, strides };
        }
        // SAFETY: the copy has room for a block; the rest by this function's contract.
        unsafe {
            if !self.overwritten && (self.role == Role::Output || !self.whole(array, index)) {
                poison(copy, self.dtype, self.elements);
            }
            if self.role == Role::Input || self.read_back {
                self.rows(array, index, |inside, outside, bytes| {
                    std::ptr::copy_nonoverlapping(array.pointer.add(inside), copy.add(outside), bytes);
                });
            }
        }
        RefSlot { ptr: copy, strides: self.dense() }
    }

    /// Writes a block back that was not used in place.
    ///
    /// # Safety
    /// As [`open`](Self::open).
    pub(super) unsafe fn close(&self, array: &Array, index: &[i32], copy: *const u8) {
        if self.role != Role::Output || self.stays(array, index) {
            return;
        }
        let streams = self.streams(array);
        self.rows(array, index, |inside, outside, bytes| {
            // SAFETY: both ranges lie inside; the rest by this function's contract.
            unsafe {
                let (from, to) = (copy.add(outside), array.pointer.add(inside));
                if streams { stream::copy(from, to, bytes) } else { std::ptr::copy_nonoverlapping(from, to, bytes) }
            }
        });
    }

    /// Strides of the copy, in the operand's dimensions.
    pub(super) fn dense(&self) -> [i64; MAX_RANK] {
        let mut strides = [0; MAX_RANK];
        let mut step = 1i64;
        for (axis, kept) in self.kept.iter().enumerate().rev() {
            if let Some(d) = kept {
                strides[*d] = step;
                step *= self.block[axis].size() as i64;
            }
        }
        strides
    }

    /// Calls `f` with the byte offsets in array and copy, and the length, of every row inside the array.
    pub(super) fn rows(&self, array: &Array, index: &[i32], mut f: impl FnMut(usize, usize, usize)) {
        let bytes = self.dtype.bytes();
        let rank = self.block.len();
        // Rank 0 to 4 padded in front to 4 loops.
        let pad = MAX_RANK - rank;
        let (mut count, mut from, mut to) = ([1; MAX_RANK], [0; MAX_RANK], [0; MAX_RANK]);
        let (mut origin, mut skipped, mut step) = (0, 0, 1);
        for axis in (0..rank).rev() {
            let part = self.part(array, index, axis);
            if part.count == 0 {
                return;
            }
            origin += part.start * array.stride[axis];
            skipped += part.skip * step;
            count[pad + axis] = part.count;
            from[pad + axis] = array.stride[axis];
            to[pad + axis] = step;
            step *= self.block[axis].size();
        }
        for i in 0..count[0] {
            for j in 0..count[1] {
                for k in 0..count[2] {
                    let inside = origin + i * from[0] + j * from[1] + k * from[2];
                    let outside = skipped + i * to[0] + j * to[1] + k * to[2];
                    f(inside * bytes, outside * bytes, count[3] * bytes);
                }
            }
        }
    }
}
