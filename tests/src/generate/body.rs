//! The statements of a random body.

use super::{Generator, line};
use tpu_kernel::ir::{BinaryOp, CompareOp, DType, DotDims, OpKind, Precision, ReduceOp, Region, Shape, SizeId, Type, Value};

/// Nested control flow at most.
const DEPTH: usize = 2;
/// Values that get an output of their own, at most.
const OBSERVED: usize = 6;

impl Generator {
    /// The body: statements, then stores, also of values that nothing else uses, to outputs made for them.
    pub(super) fn body(&mut self) {
        for at in 0..self.memories.len() {
            if !self.memories[at].unwritten {
                self.load(at, true);
            }
        }
        let statements = 4 + self.rng.below(14);
        self.statements(statements, 0);
        for at in 0..self.memories.len() {
            if self.memories[at].unwritten || (self.memories[at].writable && self.rng.chance(70)) {
                let whole = self.rng.chance(80);
                self.store(at, whole);
            }
        }
        let unused: Vec<Value> = self.scope.iter().rev().copied().filter(|v| !self.used.contains(v)).collect();
        let (floats, others): (Vec<Value>, Vec<Value>) = unused.into_iter().partition(|&v| self.b.ty(v).dtype().is_float());
        for (at, value) in floats.into_iter().chain(others).take(OBSERVED).enumerate() {
            let tile = match self.b.ty(value) {
                Type::Scalar(_) => self.emit(OpKind::Broadcast(Shape::new(&[2])), &[value]),
                Type::Tile(..) | Type::Ref(..) | Type::Array(..) | Type::Semaphore(..) => value,
            };
            let ty = self.b.ty(tile);
            let (memory, _) = self.window(&format!("observed{at}"), true, ty.dtype(), ty.shape().dims());
            let zero = self.constant(0);
            self.store_tile(memory.value, tile, &vec![zero; memory.shape.rank()]);
        }
    }

    fn statements(&mut self, count: usize, depth: usize) {
        for _ in 0..count {
            match self.rng.below(if depth < DEPTH { 43 } else { 40 }) {
                0..5 => self.binary_statement(),
                5..8 => self.unary_statement(),
                8..10 => self.compare_and_select(),
                10..12 => self.cast_statement(),
                12 => drop(self.iota()),
                13 => self.broadcast(),
                14 => self.reshape(),
                15 => self.transpose(),
                16..19 => self.reduce(),
                19..21 => self.dot(),
                21..24 => {
                    let at = self.rng.below(self.memories.len());
                    self.load(at, false);
                }
                24..27 => {
                    let at = self.rng.below(self.memories.len());
                    if self.memories[at].writable {
                        let whole = self.rng.chance(30);
                        self.store(at, whole);
                    }
                }
                27..29 => self.number(),
                29..38 => self.tile_statement(),
                38..40 => self.general_dot(),
                40 => self.branch(depth),
                41 => self.counted_loop(depth),
                _ => self.while_loop(depth),
            }
        }
    }

    /// A scalar or, mostly, a tile with that kind of element.
    pub(super) fn operand(&mut self, takes: impl Fn(DType) -> bool) -> Value {
        let tile = self.rng.chance(75);
        if let Some(found) = self.find(|ty| ty.is_tile() == tile && takes(ty.dtype())) {
            return found;
        }
        let dtypes: Vec<DType> = self.words.dtypes.iter().copied().filter(|&d| takes(d)).collect();
        let dtype = self.rng.pick(&dtypes);
        if tile && let Some(other) = self.any_tile(|_, _| true) {
            return self.cast(dtype, other);
        }
        self.scalar_of(dtype)
    }

    fn unary_statement(&mut self) {
        let op = self.rng.pick(&self.words.unary);
        let x = self.operand(|d| op.takes(d));
        self.emit(OpKind::Unary(op), &[x]);
    }

    fn binary_statement(&mut self) {
        let op = self.rng.pick(&self.words.binary);
        let x = self.operand(|d| op.takes(d));
        let y = self.value_of(self.b.ty(x));
        let (x, y) = if self.rng.chance(50) { (x, y) } else { (y, x) };
        let y = if op == BinaryOp::Copysign { self.without_nan(y) } else { y };
        self.binary(op, x, y);
    }

    fn compare(&mut self) -> Value {
        let op = self.rng.pick(CompareOp::ALL);
        let x = self.operand(|d| op.takes(d));
        let y = self.value_of(self.b.ty(x));
        self.emit(OpKind::Compare(op), &[x, y])
    }

    fn compare_and_select(&mut self) {
        let condition = self.compare();
        if self.rng.chance(70) {
            let dtype = self.rng.pick(&self.words.dtypes);
            let ty = self.b.ty(condition).with_dtype(dtype);
            let (x, y) = (self.value_of(ty), self.value_of(ty));
            self.emit(OpKind::Select, &[condition, x, y]);
        }
    }

    fn cast_statement(&mut self) {
        let to = self.rng.pick(&self.words.dtypes);
        let x = self.operand(|_| true);
        self.emit(OpKind::Cast(to), &[x]);
    }

    fn iota(&mut self) -> Value {
        let shape = loop {
            let dims: Vec<usize> = (0..1 + self.rng.below(3)).map(|_| self.dim()).collect();
            if Generator::may_be(&dims) {
                break Shape::new(&dims);
            }
        };
        let axis = self.rng.below(shape.rank());
        self.emit(OpKind::Iota { shape, axis }, &[])
    }

    pub(super) fn tile(&mut self) -> Value {
        match self.any_tile(|_, _| true) {
            Some(tile) => tile,
            None => self.iota(),
        }
    }

    /// Dimensions of 1 become larger.
    fn broadcast(&mut self) {
        let x = self.any_tile(|_, s| s.dims().contains(&1));
        let Some(x) = x else { return };
        let mut dims = self.b.ty(x).shape().dims().to_vec();
        for dim in dims.iter_mut().filter(|d| **d == 1) {
            *dim = self.dim();
        }
        if Generator::may_be(&dims) {
            self.emit(OpKind::Broadcast(Shape::new(&dims)), &[x]);
        }
    }

    /// Moves a factor between dimensions, or adds or drops dimensions.
    fn reshape(&mut self) {
        let x = self.tile();
        let mut dims = self.b.ty(x).shape().dims().to_vec();
        match self.rng.below(3) {
            0 => dims = vec![dims.iter().product()],
            1 if dims.len() < 4 => dims.insert(self.rng.below(dims.len() + 1), 1),
            _ => {
                let at = self.rng.below(dims.len());
                let factor = self.rng.pick(&[2, 3, 4, 5, 8]);
                if dims[at].is_multiple_of(factor) {
                    dims[at] /= factor;
                    if dims.len() < 4 { dims.insert(at + self.rng.below(2), factor) } else { dims[at] *= factor }
                }
            }
        }
        self.emit(OpKind::Reshape(Shape::new(&dims)), &[x]);
    }

    fn transpose(&mut self) {
        let x = self.tile();
        let mut perm: Vec<usize> = (0..self.b.ty(x).shape().rank()).collect();
        for at in 1..perm.len() {
            perm.swap(at, self.rng.below(at + 1));
        }
        self.emit(OpKind::Transpose(perm), &[x]);
    }

    fn reduce(&mut self) {
        let long = self.any_tile(|_, s| s.dims().iter().any(|&d| d > 16)).filter(|_| self.rng.chance(50));
        let x = long.unwrap_or_else(|| self.tile());
        let op = self.rng.pick(&self.words.reduce);
        let op = if self.rng.chance(30) { ReduceOp::Sum } else { op };
        let op = if op == ReduceOp::Prod && !self.words.float_scans { ReduceOp::Max } else { op };
        let x = if matches!(op, ReduceOp::Any | ReduceOp::All) {
            let Some(mask) = self.quantifier() else { return };
            mask
        } else if self.b.ty(x).dtype() == DType::Bool || self.rng.chance(30) {
            self.cast(DType::F32, x)
        } else {
            x
        };
        if !self.b.ty(x).is_tile() {
            return;
        }
        let rank = self.b.ty(x).shape().rank();
        let axis = if self.rng.chance(50) { rank - 1 } else { self.rng.below(rank) };
        let y = self.emit(OpKind::Reduce { op, axis }, &[x]);
        if self.rng.chance(50) && !matches!(op, ReduceOp::ArgMax | ReduceOp::ArgMin) {
            self.emit(OpKind::Broadcast(self.b.ty(x).shape()), &[y]);
        }
    }

    /// On small integers, so that the order of accumulation does not show; `+ 0.0` makes zeros positive.
    fn dot(&mut self) {
        let Some(x) = self.any_tile(|_, s| s.rank() == 2) else { return };
        let dtype = self.rng.pick(&[DType::F32, DType::F32, DType::Bf16, DType::I32]);
        let [lhs_transposed, rhs_transposed] = [self.rng.chance(50), self.rng.chance(50)];
        let shape = self.b.ty(x).shape();
        let (m, k) = if lhs_transposed { (shape.dim(1), shape.dim(0)) } else { (shape.dim(0), shape.dim(1)) };
        let n = self.dim();
        if !Generator::may_be(&[m, n]) || !Generator::may_be(&[k, n]) {
            return;
        }
        let y = self.tile_of(dtype, Shape::new(&if rhs_transposed { [n, k] } else { [k, n] }));
        let (x, y) = (self.small(dtype, x), self.small(dtype, y));
        let precision = self.rng.pick(Precision::ALL);
        self.positive(OpKind::Dot { dims: DotDims::matrices(lhs_transposed, rhs_transposed), precision }, &[x, y]);
    }

    /// A number that the kernel is given.
    fn number(&mut self) {
        let kernel = self.b.kernel();
        let (rank, sizes) = (kernel.grid.len(), kernel.sizes.len());
        let kind = match self.rng.below(3) {
            0 if rank > 0 => OpKind::ProgramId(self.rng.below(rank)),
            1 if rank > 0 => OpKind::NumPrograms(self.rng.below(rank)),
            _ if sizes > 0 => OpKind::Size(SizeId(self.rng.below(sizes) as u32)),
            _ => return,
        };
        self.emit(kind, &[]);
    }

    /// A part of that memory, and the starts of it: rarely outside.
    fn part(&mut self, at: usize, whole: bool) -> (Shape, Vec<Value>) {
        let extents = self.memories[at].shape;
        let mut dims = extents.dims().to_vec();
        let mut starts = vec![];
        for dim in &mut dims {
            let extent = *dim;
            if !whole && self.rng.chance(60) {
                *dim = 1 + self.rng.below(extent);
            }
            let mut start = self.within(extent - *dim);
            if self.rng.chance(1) {
                // Perhaps outside. The verifier would refuse a constant outside, so this is none.
                let any = self.scalar_of(DType::I32);
                start = self.binary(BinaryOp::Add, any, start);
            }
            starts.push(start);
        }
        (Shape::new(&dims), starts)
    }

    fn load(&mut self, at: usize, whole: bool) {
        let (shape, starts) = self.part(at, whole);
        let operands = [&[self.memories[at].value], &starts[..]].concat();
        self.emit(OpKind::Load(shape), &operands);
    }

    fn store(&mut self, at: usize, whole: bool) {
        let (shape, starts) = self.part(at, whole);
        let tile = self.tile_of(self.memories[at].dtype, shape);
        self.store_tile(self.memories[at].value, tile, &starts);
        self.memories[at].unwritten = false;
    }

    fn store_tile(&mut self, memory: Value, tile: Value, starts: &[Value]) {
        let operands = [&[memory, tile], starts].concat();
        self.used.extend(&operands);
        self.line += 1;
        self.b.op(OpKind::Store, &operands, line(self.line)).expect("a valid store");
    }

    /// Opens a region with these arguments and fills it with statements.
    fn open_region(&mut self, args: &[Type], depth: usize) -> Vec<Value> {
        let args = self.b.begin_region(args);
        self.scope.extend(&args);
        let statements = 1 + self.rng.below(5);
        self.statements(statements, depth + 1);
        args
    }

    /// Closes a region that yields a value of each of these types, if it can one that nothing uses.
    fn close_region(&mut self, outside: usize, types: &[Type]) -> Region {
        let mut yields = vec![];
        for &ty in types {
            let unused = self.scope[outside..].iter().rev().copied();
            let unused = unused.into_iter().find(|&v| self.b.ty(v) == ty && !self.used.contains(&v) && !yields.contains(&v));
            yields.push(match unused {
                Some(value) => value,
                None => self.value_of(ty),
            });
        }
        self.scope.truncate(outside);
        self.b.end_region(&yields)
    }

    fn control(&mut self, kind: OpKind, operands: &[Value], regions: Vec<Region>, results: &[Type]) {
        self.line += 1;
        self.used.extend(operands);
        self.used.extend(regions.iter().flat_map(|r| &r.yields));
        let results = self.b.control(kind, operands, regions, results, line(self.line));
        self.scope.extend(results);
    }

    fn carried(&mut self) -> Vec<Value> {
        let count = self.rng.below(4);
        (0..count).map(|_| self.operand(|_| true)).collect()
    }

    fn branch(&mut self, depth: usize) {
        let condition = self.scalar_of(DType::Bool);
        let outside = self.scope.len();
        self.open_region(&[], depth);
        let inside = &self.scope[outside..];
        let types: Vec<Type> = inside.iter().rev().filter(|v| !self.used.contains(v)).take(3).map(|&v| self.b.ty(v)).collect();
        let then = self.close_region(outside, &types);
        self.open_region(&[], depth);
        let otherwise = self.close_region(outside, &types);
        self.control(OpKind::If, &[condition], vec![then, otherwise], &types);
    }

    fn counted_loop(&mut self, depth: usize) {
        let (lo, by) = match self.rng.below(8) {
            // The last index plus the step does not fit an i32.
            0 => (i32::MAX - 3, 2),
            n => (n as i32 - 4, 1 + self.rng.below(2) as i32),
        };
        let lo = self.constant(lo);
        let trips = self.within(4);
        let hi = self.binary(BinaryOp::Add, lo, trips);
        let hi = if self.rng.chance(30) { self.constant(2) } else { hi };
        let by = if self.rng.chance(2) { self.within(1) } else { self.constant(by) };
        let inits = self.carried();
        let types: Vec<Type> = inits.iter().map(|&v| self.b.ty(v)).collect();
        let args = [&[Type::Scalar(DType::I32)], &types[..]].concat();
        let outside = self.scope.len();
        self.open_region(&args, depth);
        let body = self.close_region(outside, &types);
        self.control(OpKind::For, &[&[lo, hi, by], &inits[..]].concat(), vec![body], &types);
    }

    /// Carries a counter, so that it ends.
    fn while_loop(&mut self, depth: usize) {
        let counter = self.constant(0);
        let inits = [&[counter], &self.carried()[..]].concat();
        let types: Vec<Type> = inits.iter().map(|&v| self.b.ty(v)).collect();

        let outside = self.scope.len();
        let args = self.b.begin_region(&types);
        self.scope.extend(&args);
        let limit = self.within(4);
        let mut test = self.emit(OpKind::Compare(CompareOp::Lt), &[args[0], limit]);
        if self.rng.chance(50) {
            let other = self.scalar_of(DType::Bool);
            test = self.binary(BinaryOp::And, test, other);
        }
        self.scope.truncate(outside);
        let test = self.b.end_region(&[test]);

        let args = self.open_region(&types, depth);
        let one = self.constant(1);
        let next = self.binary(BinaryOp::Add, args[0], one);
        let mut body = self.close_region(outside, &types[1..]);
        body.yields.insert(0, next);
        self.control(OpKind::While, &inits, vec![test, body], &types);
    }
}
