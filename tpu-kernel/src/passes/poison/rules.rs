//! For each operation: where its result is poison, and where poison may not come.
//!
//! Rules: 0 · poison is poison, a selection of something else is not. `and` and `or` of bool are exact: false and poison is false.
//! Of a fold an element is poison where any that it is made of is.

use super::{Tracker, shape_of};
use crate::ir::{BinaryOp, CompareOp, DType, DotDims, Literal, Loc, Op, OpKind, ReduceOp, ScanOp, Shape, Type, UnaryOp, Value};

impl Tracker<'_> {
    /// The operation, with what is computed beside it.
    pub(super) fn op(&mut self, op: &mut Op) {
        let loc = op.loc.clone();
        match &op.kind {
            OpKind::If | OpKind::For | OpKind::While | OpKind::Scoped => return self.control(op),
            OpKind::Load(_) | OpKind::LoadScalar => self.load(op),
            OpKind::LoadMasked(_) => self.load_masked(op),
            OpKind::Store | OpKind::StoreScalar => self.store(op),
            OpKind::StoreMasked => self.store_masked(op),
            OpKind::View { .. }
            | OpKind::ViewSqueezed(_)
            | OpKind::ViewReshaped(_)
            | OpKind::ViewTransposed(_)
            | OpKind::ViewBitcast(_) => self.view(op),
            OpKind::SemaphoreAt => self.indices(op, 1, "index"),
            OpKind::DmaStart { .. } | OpKind::DmaWait => {
                if let Some(&rows) = op.operands.get(3) {
                    self.defined(rows, "the number of rows of a copy", &loc);
                }
            }
            OpKind::RemoteStart { .. } => {
                self.defined(op.operands[4], "the device of a copy", &loc);
                if let Some(&rows) = op.operands.get(5) {
                    self.defined(rows, "the number of rows of a copy", &loc);
                }
            }
            OpKind::SemaphoreSignal | OpKind::CoreSignal | OpKind::SemaphoreWait => {
                self.defined(op.operands[1], "the amount of a semaphore", &loc);
                if let Some(&device) = op.operands.get(2) {
                    self.defined(device, "the device of a signal", &loc);
                }
            }
            OpKind::PrngSeed => {
                for &seed in &op.operands {
                    self.defined(seed, "the seed of random numbers", &loc);
                }
            }
            OpKind::Check(_) => self.defined(op.operands[0], "a check", &loc),
            OpKind::Gather { .. } => self.gather_indices(op),
            OpKind::Const(_)
            | OpKind::Iota { .. }
            | OpKind::ProgramId(_)
            | OpKind::NumPrograms(_)
            | OpKind::Size(_)
            | OpKind::PrngBits(_)
            | OpKind::SemaphoreRead
            | OpKind::DeviceId
            | OpKind::Print(_)
            | OpKind::Defined(_)
            | OpKind::Unary(_)
            | OpKind::Binary(_)
            | OpKind::Compare(_)
            | OpKind::Select
            | OpKind::Cast(_)
            | OpKind::Bitcast(_)
            | OpKind::StochasticRound(_)
            | OpKind::Broadcast(_)
            | OpKind::Reshape(_)
            | OpKind::Transpose(_)
            | OpKind::Slice { .. }
            | OpKind::Concat { .. }
            | OpKind::Rotate { .. }
            | OpKind::Scan { .. }
            | OpKind::Sort { .. }
            | OpKind::Extract(_)
            | OpKind::Reduce { .. }
            | OpKind::Dot { .. } => {}
        }
        self.ops.push(op.clone());
        // Beside values that are never poison there is nothing to compute.
        if op.operands.iter().any(|v| self.poison.contains_key(v)) {
            self.value(op);
        }
    }

    /// A load, and one of what says whether its elements are poison.
    fn load(&mut self, op: &Op) {
        self.indices(op, 1, "start");
        let Some(&shadow) = self.shadows.get(&op.operands[0]) else { return };
        let operands: Vec<Value> = [shadow].into_iter().chain(op.operands[1..].iter().copied()).collect();
        let ty = self.shadow_type(op.results[0]);
        let poison = self.emit(op.kind.clone(), &operands, ty, &op.loc);
        self.poison.insert(op.results[0], poison);
    }

    /// What is stored beside a store, before it.
    fn store(&mut self, op: &Op) {
        self.indices(op, 2, "start");
        let (memory, value) = (op.operands[0], op.operands[1]);
        match self.shadows.get(&memory).copied() {
            Some(shadow) => {
                let poison = self.of(value, &op.loc);
                let operands: Vec<Value> = [shadow, poison].into_iter().chain(op.operands[2..].iter().copied()).collect();
                self.effect(op.kind.clone(), &operands, &op.loc);
            }
            None if self.unwatched.contains(&self.roots.root(memory)) => {}
            None => {
                let what = format!("a store to {}", self.called(memory));
                self.defined(value, &what, &op.loc);
            }
        }
    }

    /// A masked load, and one of what says whether its elements are poison: where the mask is false it is what stands there.
    fn load_masked(&mut self, op: &Op) {
        self.indices(op, 3, "start");
        self.mask(op.operands[1], &op.loc);
        let other = self.of(op.operands[2], &op.loc);
        let ty = self.shadow_type(op.results[0]);
        let poison = match self.shadows.get(&op.operands[0]) {
            Some(&shadow) => {
                let operands: Vec<Value> =
                    [shadow, op.operands[1], other].into_iter().chain(op.operands[3..].iter().copied()).collect();
                self.emit(op.kind.clone(), &operands, ty, &op.loc)
            }
            None => {
                let off = self.not(op.operands[1], &op.loc);
                self.and(off, other, &op.loc)
            }
        };
        self.poison.insert(op.results[0], poison);
    }

    /// What is stored beside a masked store, before it.
    fn store_masked(&mut self, op: &Op) {
        self.indices(op, 3, "start");
        self.mask(op.operands[2], &op.loc);
        let Some(&shadow) = self.shadows.get(&op.operands[0]) else { return };
        let poison = self.of(op.operands[1], &op.loc);
        let operands: Vec<Value> = [shadow, poison].into_iter().chain(op.operands[2..].iter().copied()).collect();
        self.effect(op.kind.clone(), &operands, &op.loc);
    }

    /// No element of a mask may be poison.
    fn mask(&mut self, mask: Value, loc: &Loc) {
        let one = self.poison.get(&mask).copied().map(|poison| self.any_of(poison, loc));
        if let Some(one) = one {
            self.effect(OpKind::Defined("a mask".into()), &[one], loc);
        }
    }

    /// A view, and one of what says whether its elements are poison.
    fn view(&mut self, op: &Op) {
        self.indices(op, 1, "start");
        let Some(&shadow) = self.shadows.get(&op.operands[0]) else { return };
        if let OpKind::ViewBitcast(_) = op.kind {
            // The same elements: memory that is seen under another width has no shadow.
            self.shadows.insert(op.results[0], shadow);
            return;
        }
        let operands: Vec<Value> = [shadow].into_iter().chain(op.operands[1..].iter().copied()).collect();
        if let Type::Ref(space, _, shape) = self.kernel.ty(op.results[0]) {
            let twin = self.emit(op.kind.clone(), &operands, Type::Ref(space, DType::Bool, shape), &op.loc);
            self.shadows.insert(op.results[0], twin);
        }
    }

    /// Indices into a memory may not be poison.
    fn indices(&mut self, op: &Op, first: usize, word: &str) {
        let word = if matches!(op.kind, OpKind::LoadScalar | OpKind::StoreScalar) { "index" } else { word };
        for (axis, &index) in op.operands[first..].iter().enumerate() {
            if self.poison.contains_key(&index) {
                let what = format!("the {word} along axis {axis} of {}", self.called(op.operands[0]));
                self.defined(index, &what, &op.loc);
            }
        }
    }

    /// None of the indices of a gather may be poison.
    fn gather_indices(&mut self, op: &Op) {
        let Some(&poison) = self.poison.get(&op.operands[1]) else { return };
        let one = self.any_of(poison, &op.loc);
        self.effect(OpKind::Defined("an index of a gather".into()), &[one], &op.loc);
    }

    /// Whether any element is poison, as a scalar.
    fn any_of(&mut self, poison: Value, loc: &Loc) -> Value {
        let Some(shape) = shape_of(self.kernel.ty(poison)) else { return poison };
        let mut any = poison;
        for axis in 0..shape.rank() {
            any = self.any(any, axis, loc);
        }
        self.emit(OpKind::Extract(vec![0; shape.rank()]), &[any], Type::Scalar(DType::Bool), loc)
    }

    /// Whether any along the dimension is poison; the dimension stays with size 1.
    fn any(&mut self, poison: Value, axis: usize, loc: &Loc) -> Value {
        let Some(shape) = shape_of(self.kernel.ty(poison)) else { return poison };
        let ty = Type::Tile(DType::Bool, shape.with_dim(axis, 1));
        self.emit(OpKind::Reduce { op: ReduceOp::Any, axis }, &[poison], ty, loc)
    }

    fn or(&mut self, one: Option<Value>, other: Option<Value>, loc: &Loc) -> Option<Value> {
        match (one, other) {
            (Some(a), Some(b)) if a == b => Some(a),
            (Some(a), Some(b)) => Some(self.emit(OpKind::Binary(BinaryOp::Or), &[a, b], self.kernel.ty(a), loc)),
            (one, other) => one.or(other),
        }
    }

    fn and(&mut self, one: Value, other: Value, loc: &Loc) -> Value {
        self.emit(OpKind::Binary(BinaryOp::And), &[one, other], self.kernel.ty(one), loc)
    }

    fn not(&mut self, value: Value, loc: &Loc) -> Value {
        self.emit(OpKind::Unary(UnaryOp::Not), &[value], self.kernel.ty(value), loc)
    }

    /// Where the results of an operation on values are poison.
    fn value(&mut self, op: &Op) {
        let loc = op.loc.clone();
        let known = |tracker: &Self, at: usize| op.operands.get(at).and_then(|v| tracker.poison.get(v)).copied();
        let (a, b) = (known(self, 0), known(self, 1));
        let poison = match &op.kind {
            OpKind::Unary(_) | OpKind::Cast(_) => a,
            OpKind::Binary(logic @ (BinaryOp::And | BinaryOp::Or)) if self.kernel.ty(op.results[0]).dtype() == DType::Bool => {
                self.logic(op, *logic, a, b)
            }
            OpKind::Binary(_) | OpKind::Compare(_) | OpKind::StochasticRound(_) => self.or(a, b, &loc),
            OpKind::Select => self.select(op),
            OpKind::Bitcast(to) => a.map(|a| self.bitcast(op, a, *to)),
            OpKind::Broadcast(_)
            | OpKind::Reshape(_)
            | OpKind::Transpose(_)
            | OpKind::Slice { .. }
            | OpKind::Extract(_)
            | OpKind::Gather { .. } => a.map(|a| self.same(op, a)),
            OpKind::Rotate { .. } => {
                let moved = a.map(|a| self.same(op, a));
                let ty = self.shadow_type(op.results[0]);
                let amount = b.map(|b| self.spread(b, ty, &loc));
                self.or(moved, amount, &loc)
            }
            OpKind::Concat { .. } => {
                let parts: Vec<Value> = op.operands.iter().map(|&part| self.of(part, &loc)).collect();
                let ty = self.shadow_type(op.results[0]);
                Some(self.emit(op.kind.clone(), &parts, ty, &loc))
            }
            OpKind::Scan { axis, reverse, .. } => a.map(|a| self.running(a, *axis, *reverse, &loc)),
            OpKind::Sort { axis, .. } => return self.sort(op, *axis),
            OpKind::Reduce { axis, .. } => a.map(|a| self.any(a, *axis, &loc)),
            OpKind::Dot { dims, .. } => {
                let shape = self.kernel.ty(op.results[0]).shape();
                let left = a.map(|a| self.factor(a, dims, true, shape, &loc));
                let right = b.map(|b| self.factor(b, dims, false, shape, &loc));
                self.or(left, right, &loc)
            }
            // Effects, and what is never poison.
            _ => None,
        };
        if let (Some(poison), Some(&result)) = (poison, op.results.first())
            && self.kernel.ty(result).is_value()
        {
            self.poison.insert(result, poison);
        }
    }

    /// The operation on what says whether its first operand is poison.
    fn same(&mut self, op: &Op, first: Value) -> Value {
        let operands: Vec<Value> = [first].into_iter().chain(op.operands[1..].iter().copied()).collect();
        let ty = self.shadow_type(op.results[0]);
        self.emit(op.kind.clone(), &operands, ty, &op.loc)
    }

    /// False and poison is false, true or poison is true.
    fn logic(&mut self, op: &Op, logic: BinaryOp, a: Option<Value>, b: Option<Value>) -> Option<Value> {
        let loc = op.loc.clone();
        // Poison of one side shows where the other does not decide: is poison, or lets it through.
        let mut through = |poison: Option<Value>, other: Value, others: Option<Value>| {
            let poison = poison?;
            let lets = if logic == BinaryOp::And { other } else { self.not(other, &loc) };
            let shows = self.or(Some(lets), others, &loc)?;
            Some(self.and(poison, shows, &loc))
        };
        let (left, right) = (through(a, op.operands[1], b), through(b, op.operands[0], a));
        self.or(left, right, &loc)
    }

    fn select(&mut self, op: &Op) -> Option<Value> {
        let loc = op.loc.clone();
        let &[condition, a, b] = op.operands.as_slice() else { return None };
        let [c, pa, pb] = [condition, a, b].map(|v| self.poison.get(&v).copied());
        let taken = match (pa, pb) {
            (Some(pa), Some(pb)) if pa == pb => Some(pa),
            (Some(pa), Some(pb)) => {
                let ty = self.shadow_type(op.results[0]);
                Some(self.emit(OpKind::Select, &[condition, pa, pb], ty, &loc))
            }
            (Some(pa), None) => Some(self.and(condition, pa, &loc)),
            (None, Some(pb)) => {
                let other = self.not(condition, &loc);
                Some(self.and(other, pb, &loc))
            }
            (None, None) => None,
        };
        self.or(c, taken, &loc)
    }

    /// Between widths rows fold: the bits of an element are all poison, or none are, and go where its bits go.
    fn bitcast(&mut self, op: &Op, poison: Value, to: DType) -> Value {
        let (from, result) = (self.kernel.ty(op.operands[0]), self.kernel.ty(op.results[0]));
        if from.dtype().bits() == to.bits() {
            return poison;
        }
        let loc = op.loc.clone();
        let (wide, narrow) = (word(from.dtype().bits()), word(to.bits()));
        let mut filled = |bits: u32| {
            let one = self.emit(OpKind::Const(Literal::from_bits(wide, bits)), &[], Type::Scalar(wide), &loc);
            self.spread(one, from.with_dtype(wide), &loc)
        };
        let (ones, zeros) = (filled(u32::MAX), filled(0));
        let bits = self.emit(OpKind::Select, &[poison, ones, zeros], from.with_dtype(wide), &loc);
        let folded = self.emit(OpKind::Bitcast(narrow), &[bits], result.with_dtype(narrow), &loc);
        let zero = self.emit(OpKind::Const(Literal::from_bits(narrow, 0)), &[], Type::Scalar(narrow), &loc);
        let zeros = self.spread(zero, result.with_dtype(narrow), &loc);
        self.emit(OpKind::Compare(CompareOp::Ne), &[folded, zeros], result.with_dtype(DType::Bool), &loc)
    }

    /// Whether any so far is poison.
    fn running(&mut self, poison: Value, axis: usize, reverse: bool, loc: &Loc) -> Value {
        let ty = self.kernel.ty(poison);
        let count = self.emit(OpKind::Cast(DType::I32), &[poison], ty.with_dtype(DType::I32), loc);
        let scan = OpKind::Scan { op: ScanOp::Max, axis, reverse };
        let most = self.emit(scan, &[count], ty.with_dtype(DType::I32), loc);
        self.emit(OpKind::Cast(DType::Bool), &[most], ty, loc)
    }

    /// A line with a poison key is poison, whole; what lies beside the keys is sorted with them.
    fn sort(&mut self, op: &Op, axis: usize) {
        let loc = op.loc.clone();
        let ty = self.shadow_type(op.operands[0]);
        let line = self.poison.get(&op.operands[0]).copied().map(|keys| {
            let any = self.any(keys, axis, &loc);
            self.emit(OpKind::Broadcast(ty.shape()), &[any], ty, &loc)
        });
        for (at, &result) in op.results.iter().enumerate() {
            let beside = match self.poison.get(&op.operands[at]).copied() {
                Some(poison) if at > 0 => {
                    let keys = self.kernel.new_value(self.kernel.ty(op.operands[0]));
                    let sorted = self.kernel.new_value(ty);
                    let (operands, results) = (vec![op.operands[0], poison], vec![keys, sorted]);
                    self.ops.push(Op { kind: op.kind.clone(), operands, results, regions: vec![], loc: loc.clone() });
                    Some(sorted)
                }
                _ => None,
            };
            if let Some(poison) = self.or(line, beside, &loc) {
                self.poison.insert(result, poison);
            }
        }
    }

    /// Where the poison of one factor shows in a product.
    fn factor(&mut self, poison: Value, dims: &DotDims, left: bool, result: Shape, loc: &Loc) -> Value {
        let shape = self.kernel.ty(poison).shape();
        let contract = if left { dims.contract.0 } else { dims.contract.1 };
        let any = self.any(poison, contract, loc);
        // Batch dimensions, what is left of this factor, and the contracted one, which has size 1 now.
        let free = if left { dims.lhs_free(shape.rank()) } else { dims.rhs_free(shape.rank()) };
        let mut order: Vec<usize> = dims.batch.iter().map(|&(l, r)| if left { l } else { r }).collect();
        order.extend(free);
        order.push(contract);
        let moved: Vec<usize> = order.iter().map(|&axis| if axis == contract { 1 } else { shape.dim(axis) }).collect();
        let ty = Type::Tile(DType::Bool, Shape::new(&moved));
        let moved = self.emit(OpKind::Transpose(order), &[any], ty, loc);
        // Under the rank of the product: 1 where the other factor has its dimension.
        let mut spread: Vec<usize> = result.dims().to_vec();
        let other = match (left, free.is_some()) {
            (true, has) => dims.batch.len() + usize::from(has),
            (false, _) => dims.batch.len(),
        };
        let others = result.rank() - dims.batch.len() - usize::from(free.is_some());
        spread.iter_mut().skip(other).take(others).for_each(|size| *size = 1);
        let ty = Type::Tile(DType::Bool, Shape::new(&spread));
        let shaped = self.emit(OpKind::Reshape(Shape::new(&spread)), &[moved], ty, loc);
        self.emit(OpKind::Broadcast(result), &[shaped], Type::Tile(DType::Bool, result), loc)
    }
}

/// An integer type of that many bits.
fn word(bits: u32) -> DType {
    match bits {
        32 => DType::U32,
        16 => DType::U16,
        8 => DType::U8,
        4 => DType::U4,
        _ => DType::I2,
    }
}
