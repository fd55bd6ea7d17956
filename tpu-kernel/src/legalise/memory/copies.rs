//! Copies between memories.
//!
//! Rules: libtpu copies whole memories of every type and shape. Of a part it must see that it begins and ends at a tile: along the
//! last dimension at a multiple of the lanes, along the second to last of the rows of a tile, of which memories of 32 bits and
//! few columns have one; leading dimensions are free. What is whole along a dimension fits it. It has no strides and
//! adds nothing. The extents of an array are known once a launch is printed, and all of this is looked at again then.

use super::place::held;
use super::views::{End, emitted};
use crate::chips::LANES;
use crate::ir::{Kernel, Op, OpKind, Type, Value};
use crate::legalise::divisible::Fact;
use crate::legalise::lowering::Lowering;
use crate::legalise::{Illegal, Rule};

/// Semaphores that fit beside those of the windows, on every chip.
const SEMAPHORES: usize = 400;

/// A start or a wait.
pub(in crate::legalise) fn copy(lowering: &mut Lowering<'_>, op: &Op) -> Result<(), Illegal> {
    if let OpKind::DmaStart { add: true, .. } = op.kind {
        return Err(lowering.refuse(Rule::CopyAdds));
    }
    let ends = [emitted(lowering, op.operands[0])?, emitted(lowering, op.operands[1])?];
    let remote = matches!(op.kind, OpKind::RemoteStart { .. });
    let rows = op.operands.get(if remote { 5 } else { 3 }).map(|&v| lowering.value(v));
    for end in &ends {
        let fact = |v: Value| lowering.fact(v);
        let extents: Vec<Option<usize>> = match lowering.ty(end.root) {
            Type::Array(_, _, rank) => vec![None; rank],
            ty => ty.shape().dims().iter().map(|&n| Some(n)).collect(),
        };
        let slice = Slice::of(lowering.builder.kernel(), end, &extents, fact, rows.map(fact));
        if let Some(rule) = slice.refusal() {
            return Err(lowering.refuse(rule));
        }
    }
    // The semaphore; of a copy to another device both, and the device.
    let with: Vec<Value> = op.operands[2..if remote { 5 } else { 3 }].iter().map(|&v| lowering.value(v)).collect();
    let values: Vec<Value> = ends.iter().map(|e| e.value).chain(with).chain(rows).collect();
    lowering.emit(op.kind.clone(), &values);
    Ok(())
}

/// A part of a memory that is copied, dimension by dimension as memory holds them.
pub(crate) struct Slice {
    /// The operand's name; that of a region has none.
    pub(crate) name: Option<String>,
    pub(crate) bits: u32,
    pub(crate) dims: Vec<SliceDim>,
    /// How many rows, where that is not all of them.
    pub(crate) rows: Option<Fact>,
}

/// One dimension of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SliceDim {
    /// Of the memory, where it is known.
    pub(crate) extent: Option<usize>,
    pub(crate) start: Fact,
    pub(crate) size: Option<usize>,
    pub(crate) stride: usize,
    pub(crate) kept: bool,
}

impl Slice {
    fn of(kernel: &Kernel, end: &End, extents: &[Option<usize>], fact: impl Fn(Value) -> Fact, rows: Option<Fact>) -> Slice {
        let none = Fact::multiple(31);
        let mut dims: Vec<SliceDim> = match &end.dims {
            None => extents.iter().map(|&extent| SliceDim { extent, start: none, size: extent, stride: 1, kept: true }).collect(),
            Some(dims) => {
                let dim = |(&(start, size, stride, kept), &extent): (&(Value, usize, usize, bool), &Option<usize>)| SliceDim {
                    extent,
                    start: fact(start),
                    size: Some(size),
                    stride,
                    kept,
                };
                dims.iter().zip(extents).map(dim).collect()
            }
        };
        if let Some((_, param)) = kernel.param_of(end.root).filter(|(_, p)| p.window().is_some()) {
            dims = with_squeezed(&held(param), dims);
        }
        let name = kernel.param_of(end.root).map(|(_, param)| param.name.clone());
        Slice { name, bits: kernel.ty(end.root).dtype().bits(), dims, rows }
    }

    /// Why libtpu does not copy it.
    pub(crate) fn refusal(&self) -> Option<Rule> {
        let rank = self.dims.len();
        let memory = || {
            let dims = self.dims.iter().map(|d| d.extent.map_or("?".to_string(), |n| n.to_string()));
            let shape = dims.collect::<Vec<_>>().join("x");
            self.name.as_ref().map_or_else(|| format!("[{shape}]"), |name| format!("`{name}`, [{shape}],"))
        };
        for (axis, dim) in self.dims.iter().enumerate() {
            if dim.stride != 1 {
                return Some(Rule::CopyView("elements that lie apart; copy all of them, and load with a stride"));
            }
            let tiled = rank - axis <= 2;
            if tiled && !dim.kept && (axis + 1 == rank || self.bits != 32) {
                return Some(Rule::CopyView(
                    "a part without its last dimension, nor of elements of less than 32 bits without the one before",
                ));
            }
        }
        for (axis, dim) in self.dims.iter().enumerate().skip(rank.saturating_sub(2)) {
            let Some(multiple) = self.multiple(axis) else { continue };
            let all = match dim.extent {
                Some(extent) => dim.size == Some(extent),
                // As large as the launch makes it.
                None => dim.start.number == Some(0),
            };
            if let Some(size) = dim.size.filter(|_| !all) {
                let start = dim.start.number;
                if start.map_or(1usize << dim.start.zeros.min(30) < multiple, |n| n % multiple as i64 != 0) {
                    return Some(Rule::CopyStart { axis, memory: memory(), multiple });
                }
                // Rows and columns may end where the memory does.
                let ends = rank > 1 && start.zip(dim.extent).is_some_and(|(start, n)| start + size as i64 == n as i64);
                if !size.is_multiple_of(multiple) && !ends {
                    return Some(Rule::CopySize { axis, memory: memory(), size, multiple });
                }
            }
        }
        let first = self.dims.iter().position(|d| d.kept)?;
        let (rows, multiple) = (self.rows?, self.multiple(first).unwrap_or(1));
        // Fewer rows than those of a tile of bytes are copied by eights; of words also where there is one row.
        let multiple = match rank - first {
            2 if self.bits != 32 || !self.few_columns() => 8,
            _ => multiple,
        };
        (1usize << rows.zeros.min(30) < multiple).then(|| Rule::CopyRows { axis: first, memory: memory(), multiple })
    }

    /// Whether rows of 32 bits lie one by one. Columns that are not known yet may be few.
    fn few_columns(&self) -> bool {
        self.dims.last().is_some_and(|d| match (d.extent, d.size) {
            (Some(n), _) | (None, Some(n)) => n <= LANES,
            (None, None) => true,
        })
    }

    /// What a part must begin at and be a multiple of along a dimension; none where it is free.
    fn multiple(&self, axis: usize) -> Option<usize> {
        let rows = |d: &SliceDim| d.size.unwrap_or(1);
        match (self.dims.len() - axis, self.bits) {
            (1, 32) => Some(LANES),
            (1, _) if self.dims.len() == 1 => Some(8 * LANES),
            (1, _) => Some(LANES),
            (2, 32) if self.few_columns() || self.dims[axis].size == Some(1) => None,
            (2, 8) if rows(&self.dims[axis]) >= 32 => Some(32),
            (2, 4) if rows(&self.dims[axis]) >= 64 => Some(64),
            (2, _) => Some(8),
            _ => None,
        }
    }
}

/// With the squeezed dimensions that memory has as 1.
pub(crate) fn with_squeezed(held: &[(usize, bool)], dims: Vec<SliceDim>) -> Vec<SliceDim> {
    let mut kept = dims.into_iter();
    let one = SliceDim { extent: Some(1), start: Fact::multiple(31), size: Some(1), stride: 1, kept: false };
    held.iter().filter_map(|&(_, squeezed)| if squeezed { Some(one) } else { kept.next() }).collect()
}

/// Whether a kernel has more semaphores than a chip.
pub(in crate::legalise) fn check_semaphores(kernel: &Kernel) -> Option<Rule> {
    fn own(ops: &[Op], values: &mut Vec<Value>) {
        for op in ops {
            for region in &op.regions {
                if op.kind == OpKind::Scoped {
                    values.extend(&region.args);
                }
                own(&region.ops, values);
            }
        }
    }
    let mut values = kernel.body.args.clone();
    own(&kernel.body.ops, &mut values);
    let count = |v: &Value| match kernel.ty(*v) {
        Type::Semaphore(_, shape) => shape.checked_elements().unwrap_or(usize::MAX),
        _ => 0,
    };
    let count = values.iter().map(count).fold(0usize, usize::saturating_add);
    (count > SEMAPHORES).then_some(Rule::Semaphores { count, limit: SEMAPHORES })
}
