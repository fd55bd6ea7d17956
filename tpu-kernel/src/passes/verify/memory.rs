//! Rules of memory: where operands lie, and what accesses reach and write.

use super::{At, State, Verifier};
use crate::ir::layout::Layout;
use crate::ir::{MAX_RANK, Op, OpKind, Param, ParamKind, Rule, SemaphoreKind, Space, Type, Value};

impl<'a> Verifier<'a> {
    /// An operand has the memory of its role, and an array of a rank that there is.
    pub(super) fn param(&mut self, index: usize, param: &'a Param) {
        let at = At(&param.name, &param.loc);
        let (fits, rule) = match (&param.kind, param.ty) {
            (ParamKind::Scalar, got) => (got.is_scalar(), Rule::OperandType { index, want: "a scalar".into(), got }),
            (ParamKind::In(_) | ParamKind::Out(_), got) => {
                let fits = matches!(got, Type::Ref(Space::Vmem, ..));
                (fits, Rule::OperandType { index, want: "memory".into(), got })
            }
            (ParamKind::Scratch, got) => {
                let fits = matches!(got, Type::Ref(Space::Vmem | Space::Smem, ..) | Type::Semaphore(..));
                (fits, Rule::OperandRole { role: "scratch", want: "memory in VMEM or SMEM, or semaphores", got })
            }
            (ParamKind::InArray(_) | ParamKind::OutArray(_), got) => (
                matches!(got, Type::Array(Space::Hbm, ..)),
                Rule::OperandRole { role: "a whole array", want: "memory in HBM", got },
            ),
            (ParamKind::Prefetch(_), got) => {
                let fits = matches!(got, Type::Array(Space::Smem, ..));
                (fits, Rule::OperandRole { role: "a prefetched array", want: "memory in SMEM", got })
            }
        };
        self.check(fits, || rule, at);
        if let Type::Semaphore(SemaphoreKind::Barrier(_), shape) = param.ty {
            let earlier = self.kernel.params[..index].iter();
            let first = !earlier.clone().any(|p| matches!(p.ty, Type::Semaphore(SemaphoreKind::Barrier(_), _)));
            self.check(first && shape.rank() == 0, || Rule::Barrier, at);
        }
        let array = param.array().unwrap_or_default();
        for size in array {
            self.size_expr(size, 0, at);
        }
        let rank = array.len();
        self.check(param.array().is_none() || (1..=MAX_RANK).contains(&rank), || Rule::ArrayRank { rank, limit: MAX_RANK }, at);
        match (param.window(), param.ty) {
            (Some(window), _) => self.window(index, window, param.ty.shape(), at),
            (None, Type::Array(_, _, want)) => {
                self.check(want == rank, || Rule::PerDimension { what: "sizes", rank: want, got: rank }, at);
            }
            (None, _) => {}
        }
    }

    /// What an operation reaches on another device or core is there as it is here: an operand that a launch gives each device.
    pub(super) fn elsewhere(&mut self, op: &Op, at: At<'_>) {
        let reached: &[(usize, &'static str)] = match op.kind {
            OpKind::RemoteStart { .. } => &[(1, "the target of a copy"), (2, "the semaphore of a copy")],
            OpKind::SemaphoreSignal if op.operands.len() == 3 => &[(0, "a semaphore")],
            OpKind::CoreSignal => &[(0, "a semaphore")],
            _ => &[],
        };
        self.check(op.kind != OpKind::CoreSignal || self.kernel.is_side_by_side(), || Rule::NoCores, at);
        for &(operand, what) in reached {
            let root = match self.state[op.operands[operand].0 as usize] {
                State::Live(root) => root.and_then(|index| self.kernel.params.get(index)),
                _ => continue,
            };
            let shared = root.is_some_and(|p| matches!(p.kind, ParamKind::Scratch | ParamKind::OutArray(_)));
            self.check(shared, || Rule::ElsewhereOperand { what }, at);
        }
    }

    /// Bounds of a well-typed access to memory, what it writes, and which operand a view shows.
    pub(super) fn access(&mut self, op: &Op, at: At<'_>) {
        let written = op.kind.writes().map(|at| op.operands[at]);
        let (reach, starts) = match op.reach(|v| self.kernel.ty(v).shape()) {
            Some(access) => access,
            None if written.is_some() || op.kind.is_view() => (vec![], &[][..]),
            None => return,
        };
        let root = |value: Value| match self.state[value.0 as usize] {
            State::Live(root) => root.and_then(|index| Some((index, self.kernel.params.get(index)?))),
            _ => None,
        };
        let memory = op.operands[0];
        let operand = root(memory).map_or("", |(_, p)| p.name.as_str());
        if let Some((index, param)) = written.and_then(root) {
            self.check(param.is_written(), || Rule::WriteToInput { operand: param.name.clone() }, at);
            self.written[index] = true;
        }
        let extents = self.kernel.ty(memory).shape();
        for (axis, &size) in reach.iter().enumerate() {
            let constant = starts.get(axis).and_then(|v| self.constants[v.0 as usize]);
            // Where the start is unknown, 0 is the most favourable one; an array is as large as the launch makes it.
            let start = i64::from(constant.unwrap_or(0));
            let extent = if axis < extents.rank() { extents.dim(axis) } else { usize::MAX };
            let inside = start >= 0 && i64::try_from(size).is_ok_and(|n| n <= i64::try_from(extent).unwrap_or(i64::MAX) - start);
            self.check(inside, || Rule::OutOfBounds { operand: operand.to_string(), axis, start, size, extent }, at);
        }
        // A result that is declared with another type, or not at all, is a fault already.
        if let &[view] = op.results.as_slice()
            && op.kind.is_view()
            && let Some(&State::Live(_)) = self.state.get(view.0 as usize)
        {
            self.layout(op, view, at);
        }
        if let &[view] = op.results.as_slice()
            && (op.kind.is_view() || op.kind == OpKind::SemaphoreAt)
            && let Some(&State::Live(_)) = self.state.get(view.0 as usize)
        {
            self.state[view.0 as usize] = self.state[memory.0 as usize];
        }
    }

    /// A view has strides.
    fn layout(&mut self, op: &Op, view: Value, at: At<'_>) {
        let memory = op.operands[0];
        let [from, to] = [memory, view].map(|v| self.kernel.ty(v));
        let own = self.layouts.get(&memory).cloned().unwrap_or_else(|| Layout::of(from));
        match own.viewed(&op.kind, from, to) {
            Some(layout) => _ = self.layouts.insert(view, layout),
            None => {
                self.fault(Rule::ViewStrides { from: from.shape(), to: to.shape() }, at);
                if let Some(state) = self.state.get_mut(view.0 as usize) {
                    *state = State::Faulty;
                }
            }
        }
    }
}
