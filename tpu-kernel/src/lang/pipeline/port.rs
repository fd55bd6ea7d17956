//! One operand of a pipeline: its buffers, and the copies between them and the array.
//!
//! Rules: a buffer has a slot for each block that it holds, a slot a semaphore of its own. A block that may end within the array's
//! last one, or whose size the map gives, is copied row by row, in eights where there are so many: only what exists is touched.

use super::super::session::{self, Raw};
use super::super::value::Scalar;
use super::record::Record;
use super::shape::{CutDim, Kind, Place, multiple};
use crate::ir::{BinaryOp, CompareOp, DType, Loc, OpKind, SemaphoreKind, Shape, SizeExpr, Space, Type};

/// The rows of a tile of HBM: copies of so many begin at a multiple of them.
const TILE: usize = 8;

/// The elements of a register of 32 bits.
const REGISTER: usize = 1024;

/// What a pipeline does with an operand.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Role {
    Input,
    Output,
    /// An output whose blocks are read back when they come again.
    Update,
}

/// Which way a copy goes.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Way {
    In,
    Out,
}

pub(super) type Map<'a, const D: usize> = Box<dyn Fn([Scalar<i32>; D]) -> Vec<Place> + 'a>;

/// An operand.
pub(super) struct Port<'a, const D: usize> {
    pub(super) array: Raw,
    pub(super) dtype: DType,
    pub(super) cuts: Vec<CutDim>,
    pub(super) map: Map<'a, D>,
    pub(super) role: Role,
    pub(super) depth: usize,
    pub(super) loc: Loc,
}

/// Its memory: the buffer, and the semaphores of its slots.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    buffer: Raw,
    semaphores: Raw,
}

/// How the dimension along which a block may be smaller is copied.
#[derive(Clone)]
struct Rows {
    /// Of the array.
    axis: usize,
    /// Of the window.
    kept: usize,
    size: usize,
    /// How many rows at once, from the most to the fewest.
    steps: Vec<usize>,
    list: Option<Raw>,
}

impl<const D: usize> Port<'_, D> {
    pub(super) fn record(&self) -> Record<'_> {
        Record(&self.loc)
    }

    /// The dimensions of the window.
    fn window(&self) -> Vec<usize> {
        self.cuts.iter().filter(|c| c.kind != Kind::Squeezed).map(|c| c.size).collect()
    }

    /// Whether the slots lie along the window's first dimension: memory has no fifth one, and vectors of whole registers are copied
    /// to parts of a vector, narrow ones to no row of a matrix.
    fn folded(&self) -> bool {
        match self.window()[..] {
            [n] => n % REGISTER == 0,
            [_, _, _, _] => true,
            _ => false,
        }
    }

    /// The types of buffer and semaphores.
    pub(super) fn types(&self) -> [Type; 2] {
        let mut dims = self.window();
        match (self.depth, self.folded()) {
            (1, _) => {}
            (depth, true) => dims[0] = dims[0].saturating_mul(depth),
            (depth, false) => dims.insert(0, depth),
        }
        let semaphores = if self.depth == 1 { Shape::new(&[]) } else { Shape::new(&[self.depth]) };
        [Type::Ref(Space::Vmem, self.dtype, Shape::new(&dims)), Type::Semaphore(SemaphoreKind::Dma, semaphores)]
    }

    /// The memory among that of the region, as `types` orders it.
    pub(super) fn memory(own: &mut impl Iterator<Item = Raw>) -> Memory {
        let mut next = || own.next().unwrap_or(session::dead());
        Memory { buffer: next(), semaphores: next() }
    }

    /// Whether the map gives the same numbers of Rust for every step.
    pub(super) fn is_constant(&self) -> bool {
        let depth = session::depth();
        let (step, _) = session::begin_region(&[Type::Scalar(DType::I32); D], &[]);
        let keys = Self::keys(&self.places(std::array::from_fn(|d| step[d])));
        let constant = keys.into_iter().all(|key| session::constant_of(key).is_some());
        // Nothing of this is kept.
        session::abandon(depth);
        constant
    }

    /// What a map says of a step.
    pub(super) fn places(&self, step: [Raw; D]) -> Vec<Place> {
        (self.map)(step.map(super::super::value::Handle::wrap))
    }

    /// The dimension along which blocks may be smaller: one whose size the map gives, else the first that is cut into blocks and not
    /// known to be a multiple of them. The last one of a block is always whole.
    fn rows(&self, list: Option<Raw>) -> Option<Rows> {
        let last = self.cuts.len() - 1;
        let axis = match self.cuts.iter().position(|c| c.has_size()) {
            Some(axis) => axis,
            None => {
                let axis = self.cuts.iter().position(|c| c.kind == Kind::Blocked && c.size > 1).filter(|&axis| axis < last)?;
                let extent = self.extents().into_iter().nth(axis)?;
                if multiple(&extent, self.cuts[axis].size) {
                    return None;
                }
                axis
            }
        };
        let kept = self.cuts[..axis].iter().filter(|c| c.kind != Kind::Squeezed).count();
        let (size, blocked) = (self.cuts[axis].size, self.cuts[axis].kind == Kind::Blocked);
        // Along the rows of a tile whole tiles can be copied at once, of elements narrower than a word nothing less.
        let steps = match axis + 1 == last && blocked && size.is_multiple_of(TILE) {
            true if self.dtype.bits() < 32 => vec![TILE],
            true => vec![TILE, 1],
            false => vec![1],
        };
        Some(Rows { axis, kept, size, steps, list })
    }

    /// The extents of the array.
    fn extents(&self) -> Vec<SizeExpr> {
        session::array(self.array).unwrap_or_else(|| vec![SizeExpr::Const(0); self.cuts.len()])
    }

    /// Whether the blocks have a size of their own.
    pub(super) fn is_sized(&self) -> bool {
        self.rows(None).is_some()
    }

    /// How many rows a block has, where that is not always all of them.
    pub(super) fn size(&self, places: &[Place]) -> Option<Raw> {
        let (record, rows) = (self.record(), self.rows(None)?);
        let place = places.get(rows.axis)?;
        Some(match self.cuts[rows.axis].kind {
            Kind::Blocked => {
                let extent = record.size(&self.extents()[rows.axis]);
                let rest = record.binary(BinaryOp::Sub, extent, self.start(rows.axis, place));
                record.binary(BinaryOp::Min, rest, record.number(rows.size))
            }
            _ => place.size.unwrap_or_else(|| record.number(rows.size)),
        })
    }

    /// What tells two blocks apart.
    pub(super) fn keys(places: &[Place]) -> Vec<Raw> {
        places.iter().flat_map(|place| [Some(place.at), place.size]).flatten().collect()
    }

    /// Whether two blocks differ: a bool, none where they cannot.
    pub(super) fn differ(&self, places: &[Place], keys: &[Raw]) -> Option<Raw> {
        let record = self.record();
        let new = Self::keys(places);
        // What is a number of Rust is the same in every step.
        let pairs = new.into_iter().zip(keys).filter(|(new, _)| session::constant_of(*new).is_none());
        let differ = pairs.map(|(new, &old)| record.compare(CompareOp::Ne, new, old));
        differ.reduce(|a, b| record.binary(BinaryOp::Or, a, b))
    }

    /// The first element of a block along a dimension.
    fn start(&self, axis: usize, place: &Place) -> Raw {
        let (record, cut) = (self.record(), self.cuts[axis]);
        match cut.kind {
            Kind::Blocked if cut.size > 1 => {
                record.binary(BinaryOp::Mul, self.bounded(place.at, cut.size), record.number(cut.size))
            }
            _ => place.at,
        }
    }

    /// The number of a block of that size, where it is computed: one whose elements no i32 counts is one that no array has, before the
    /// first or as far behind the last, so that it is found outside. It stays a factor of the start, for who wants to know multiples.
    fn bounded(&self, number: Raw, size: usize) -> Raw {
        if session::constant_of(number).is_some() {
            return number;
        }
        let record = self.record();
        let most = record.binary(BinaryOp::Min, number, record.number(i32::MAX as usize / size));
        record.binary(BinaryOp::Max, most, record.before_zero())
    }

    /// The slot of that number: memory of the window's shape.
    pub(super) fn slot(&self, memory: Memory, slot: Raw) -> Raw {
        let (record, window) = (self.record(), self.window());
        if self.depth == 1 {
            return memory.buffer;
        }
        let zeros = vec![record.number(0); window.len()];
        let ones = |n: usize| vec![1; n];
        if self.folded() {
            let start = record.binary(BinaryOp::Mul, slot, record.number(window[0]));
            let kind = OpKind::View { shape: Shape::new(&window), strides: ones(window.len()) };
            return record.emit(kind, &[&[memory.buffer, start], &zeros[1..]].concat());
        }
        let kind = OpKind::View { shape: Shape::new(&[&[1], window.as_slice()].concat()), strides: ones(window.len() + 1) };
        let row = record.emit(kind, &[&[memory.buffer, slot], zeros.as_slice()].concat());
        record.emit(OpKind::ViewSqueezed(vec![0]), &[row])
    }

    fn semaphore(&self, memory: Memory, slot: Raw) -> Raw {
        match self.depth {
            1 => memory.semaphores,
            _ => self.record().emit(OpKind::SemaphoreAt, &[memory.semaphores, slot]),
        }
    }

    /// Begins to copy a block, or waits for that: `size` rows of it, where it has a size.
    pub(super) fn copy(&self, kind: &OpKind, way: Way, places: &[Place], size: Option<Raw>, (memory, slot): (Memory, Raw)) {
        let (record, window) = (self.record(), self.slot(memory, slot));
        let semaphore = self.semaphore(memory, slot);
        let list = places.iter().find_map(|place| place.list);
        let starts: Vec<Raw> = places.iter().enumerate().map(|(axis, place)| self.start(axis, place)).collect();
        let Some((rows, size)) = self.rows(list).zip(size) else {
            return self.whole(kind, way, &starts, window, semaphore);
        };
        if let Some(list) = rows.list {
            let zero = record.number(0);
            record.each([zero, size], vec![], |row, _| {
                let at = record.emit(OpKind::LoadScalar, &[list, record.add(starts[rows.axis], row)]);
                self.part(kind, way, &rows, 1, (&starts, at), (window, row), semaphore);
                vec![]
            });
            return;
        }
        let all = record.compare(CompareOp::Eq, size, record.number(rows.size));
        let part = || {
            // A block that begins outside of the array is an error, also where nothing of it is left.
            self.view(&rows, 1, &starts, starts[rows.axis]);
            let mut from = record.number(0);
            for &step in &rows.steps {
                let by = record.number(step);
                let last = step == *rows.steps.last().unwrap_or(&1);
                // The last step takes what is left, however little.
                let up = if last { record.add(size, record.number(step - 1)) } else { size };
                let times = record.binary(BinaryOp::Div, up, by);
                let base = from;
                let left = record.binary(BinaryOp::Div, base, by);
                record.each([left, times], vec![], |turn, _| {
                    let row = record.binary(BinaryOp::Mul, turn, by);
                    let at = record.add(starts[rows.axis], row);
                    self.part(kind, way, &rows, step, (&starts, at), (window, row), semaphore);
                    vec![]
                });
                from = record.binary(BinaryOp::Mul, times, by);
            }
            vec![]
        };
        let whole = || {
            self.whole(kind, way, &starts, window, semaphore);
            vec![]
        };
        record.branch(all, whole, part);
    }

    fn whole(&self, kind: &OpKind, way: Way, starts: &[Raw], window: Raw, semaphore: Raw) {
        let sizes: Vec<usize> = self.cuts.iter().map(|c| c.size).collect();
        let array = self.shown(&sizes, starts);
        self.moved(kind, way, array, window, semaphore);
    }

    /// The part of the array, without its squeezed dimensions.
    fn shown(&self, sizes: &[usize], starts: &[Raw]) -> Raw {
        let record = self.record();
        let kind = OpKind::View { shape: Shape::new(sizes), strides: vec![1; sizes.len()] };
        let view = record.emit(kind, &[&[self.array], starts].concat());
        let axes: Vec<usize> = (0..self.cuts.len()).filter(|&axis| self.cuts[axis].kind == Kind::Squeezed).collect();
        if axes.is_empty() { view } else { record.emit(OpKind::ViewSqueezed(axes), &[view]) }
    }

    /// So many rows of the array from that one on.
    fn view(&self, rows: &Rows, count: usize, starts: &[Raw], at: Raw) -> Raw {
        let sizes = self.cuts.iter().enumerate().map(|(axis, c)| if axis == rows.axis { count } else { c.size });
        let mut starts = starts.to_vec();
        starts[rows.axis] = at;
        self.shown(&sizes.collect::<Vec<_>>(), &starts)
    }

    /// So many rows of a block.
    #[allow(clippy::too_many_arguments)]
    fn part(
        &self,
        kind: &OpKind,
        way: Way,
        rows: &Rows,
        count: usize,
        (starts, at): (&[Raw], Raw),
        (window, row): (Raw, Raw),
        semaphore: Raw,
    ) {
        let record = self.record();
        let array = self.view(rows, count, starts, at);
        let mut sizes = self.window();
        sizes[rows.kept] = count;
        let mut corner = vec![record.number(0); sizes.len()];
        corner[rows.kept] = row;
        let view = OpKind::View { shape: Shape::new(&sizes), strides: vec![1; sizes.len()] };
        let part = record.emit(view, &[&[window], corner.as_slice()].concat());
        self.moved(kind, way, array, part, semaphore);
    }

    fn moved(&self, kind: &OpKind, way: Way, array: Raw, window: Raw, semaphore: Raw) {
        let ends = if way == Way::In { [array, window] } else { [window, array] };
        self.record().emit(kind.clone(), &[ends[0], ends[1], semaphore]);
    }
}

/// The beginning of a copy.
pub(super) const START: OpKind = OpKind::DmaStart { priority: 0, add: false };
/// The wait for its end.
pub(super) const WAIT: OpKind = OpKind::DmaWait;
