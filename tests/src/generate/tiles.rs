//! The statements of a random body that move, order and reinterpret elements, and those with effects.

use super::{Generator, line};
use tpu_kernel::ir::{
    BinaryOp, CompareOp, DType, DotDims, OpKind, Precision, RotateStride, ScanOp, Shape, Type, UnaryOp, Value, dot_accumulator,
    infer,
};

impl Generator {
    /// One of them.
    pub(super) fn tile_statement(&mut self) {
        match self.rng.below(13) {
            0 | 1 => self.slice(),
            2 | 3 => self.concat(),
            4 => self.rotate(),
            5 => self.gather(),
            6 | 7 => self.scan(),
            8 => self.sort(),
            9 => self.bitcast(),
            10 => self.extract(),
            11 => self.stochastic_round(),
            _ => self.effect(),
        }
    }

    fn axis_of(&mut self, x: Value) -> usize {
        let rank = self.b.ty(x).shape().rank();
        self.rng.below(rank)
    }

    fn slice(&mut self) {
        let x = self.tile();
        let dims = self.b.ty(x).shape().dims().to_vec();
        let (mut starts, mut sizes, mut strides) = (vec![], vec![], vec![]);
        for dim in dims {
            let stride = self.rng.pick(&[1, 1, 1, 2, 3]);
            let start = if self.rng.chance(40) { 0 } else { self.rng.below(dim) };
            let most = (dim - start).div_ceil(stride);
            sizes.push(if self.rng.chance(40) { most } else { 1 + self.rng.below(most) });
            starts.push(start);
            strides.push(stride);
        }
        self.emit(OpKind::Slice { starts, shape: Shape::new(&sizes), strides }, &[x]);
    }

    fn concat(&mut self) {
        let x = self.tile();
        let (axis, ty) = (self.axis_of(x), self.b.ty(x));
        let mut operands = vec![x];
        for _ in 0..self.rng.below(3) {
            let shape = ty.shape().with_dim(axis, self.dim());
            operands.push(if self.rng.chance(50) { x } else { self.tile_of(ty.dtype(), shape) });
        }
        let place = self.rng.below(operands.len());
        operands.swap(0, place);
        let total: usize = operands.iter().map(|&v| self.b.ty(v).shape().elements()).sum();
        if Generator::may_be(&[total]) {
            self.emit(OpKind::Concat { axis }, &operands);
        }
    }

    fn rotate(&mut self) {
        let x = self.tile();
        let axis = self.axis_of(x);
        let other = self.axis_of(x);
        let by = self.rng.below(7) as i32 - 3;
        let stride = (other != axis && self.rng.chance(50)).then_some(RotateStride { by, axis: other });
        let amount = self.scalar_of(DType::I32);
        self.emit(OpKind::Rotate { axis, stride }, &[x, amount]);
    }

    /// Indices of -n to n - 1, but for a few.
    fn gather(&mut self) {
        let x = self.tile();
        let (axis, shape) = (self.axis_of(x), self.b.ty(x).shape());
        let at = shape.with_dim(axis, self.dim());
        if !Generator::may_be(at.dims()) {
            return;
        }
        let mut indices = self.tile_of(DType::I32, at);
        if !self.rng.chance(2) {
            let extent = self.constant_like((shape.dim(axis) as i32).into(), indices);
            indices = self.binary(BinaryOp::Rem, indices, extent);
        }
        self.emit(OpKind::Gather { axis }, &[x, indices]);
    }

    fn scan(&mut self) {
        let x = self.tile();
        if self.b.ty(x).dtype() != DType::Bool {
            let (op, axis) = (self.rng.pick(ScanOp::ALL), self.axis_of(x));
            let ordered = !self.words.float_scans && self.b.ty(x).dtype().is_float();
            let op = if ordered && matches!(op, ScanOp::Sum | ScanOp::Prod) { ScanOp::Max } else { op };
            let reverse = self.rng.chance(40);
            self.emit(OpKind::Scan { op, axis, reverse }, &[x]);
        }
    }

    fn sort(&mut self) {
        let x = self.tile();
        let shape = self.b.ty(x).shape();
        if self.b.ty(x).dtype() == DType::Bool {
            return;
        }
        let mut operands = vec![x];
        for _ in 0..self.rng.below(3) {
            let dtype = self.rng.pick(&self.words.dtypes);
            let payload = self.tile_of(dtype, shape);
            operands.push(payload);
        }
        let (axis, descending) = (self.axis_of(x), self.rng.chance(50));
        self.line += 1;
        let results = self.b.results(OpKind::Sort { axis, descending }, &operands, line(self.line)).expect("a valid sort");
        self.scope.extend(results);
        self.used.extend(operands);
    }

    fn bitcast(&mut self) {
        let x = self.operand(|d| d != DType::Bool);
        let x = self.without_nan(x);
        let to = self.rng.pick(&self.words.dtypes);
        let kind = OpKind::Bitcast(to);
        if let Ok(types) = infer(&kind, &[self.b.ty(x)])
            && Generator::may_be(types[0].shape().dims())
        {
            self.emit(kind, &[x]);
        }
    }

    fn extract(&mut self) {
        let x = self.tile();
        let dims = self.b.ty(x).shape().dims().to_vec();
        let at = dims.into_iter().map(|n| self.rng.below(n)).collect();
        self.emit(OpKind::Extract(at), &[x]);
    }

    fn stochastic_round(&mut self) {
        let x = self.operand(|d| d == DType::F32);
        let bits = self.value_of(self.b.ty(x).with_dtype(DType::U32));
        let narrow: Vec<DType> = self.words.dtypes.iter().copied().filter(|d| d.is_float() && *d != DType::F32).collect();
        let to = self.rng.pick(&narrow);
        self.emit(OpKind::StochasticRound(to), &[x, bits]);
    }

    /// Random bits of the launch's generator, which is seeded first but for a few; a message; a check that mostly holds.
    fn effect(&mut self) {
        match self.rng.below(8) {
            0 => {
                let text = "a {} b".to_string();
                let x = self.operand(|_| true);
                self.effect_of(OpKind::Print(text), &[x]);
            }
            1 => {
                let mut condition = self.scalar_of(DType::Bool);
                if !self.rng.chance(5) {
                    let yes = self.constant(true);
                    condition = self.binary(BinaryOp::Or, condition, yes);
                }
                if self.rng.chance(30) {
                    let fails = self.emit(OpKind::Unary(UnaryOp::Not), &[condition]);
                    self.effect_of(OpKind::Defined("a test".into()), &[fails]);
                } else {
                    self.effect_of(OpKind::Check("holds".into()), &[condition]);
                }
            }
            _ => {
                if !self.rng.chance(2) {
                    let count = 1 + self.rng.below(2);
                    let seeds: Vec<Value> = (0..count).map(|_| self.scalar_of(DType::U32)).collect();
                    self.effect_of(OpKind::PrngSeed, &seeds);
                }
                if let Some(tile) = self.scope.iter().copied().rev().find(|&v| self.b.ty(v).is_tile()) {
                    let shape = self.b.ty(tile).shape();
                    self.emit(OpKind::PrngBits(shape), &[]);
                }
            }
        }
    }

    fn effect_of(&mut self, kind: OpKind, operands: &[Value]) {
        self.used.extend(operands);
        self.line += 1;
        self.b.op(kind, operands, line(self.line)).expect("a valid effect");
    }

    /// Contracts any dimension, beside one or two batch dimensions or none, of operands of any element types that multiply.
    pub(super) fn general_dot(&mut self) {
        let Some(x) = self.any_tile(|_, s| (1..=4).contains(&s.rank()) && s.elements() <= 400) else { return };
        let shape = self.b.ty(x).shape();
        let mut dims: Vec<usize> = (0..shape.rank()).collect();
        for at in 1..dims.len() {
            dims.swap(at, self.rng.below(at + 1));
        }
        // Contracted, perhaps free, the rest batch.
        let contract = dims.pop().unwrap_or(0);
        let free = dims.len() > 2 || (!dims.is_empty() && self.rng.chance(70));
        if free {
            dims.pop();
        }
        let rhs_free = (dims.is_empty() && !free) || self.rng.chance(70);
        let mut sizes: Vec<usize> = dims.iter().map(|&d| shape.dim(d)).collect();
        let mut rhs_dims: Vec<Option<usize>> = (0..dims.len()).map(Some).collect();
        let place = self.rng.below(sizes.len() + 1);
        sizes.insert(place, shape.dim(contract));
        rhs_dims.insert(place, None);
        let mut free_at = None;
        if rhs_free {
            let at = self.rng.below(sizes.len() + 1);
            sizes.insert(at, self.rng.pick(&[1, 2, 3, 5, 9]));
            rhs_dims.insert(at, None);
            free_at = Some(at);
        }
        let of = |wanted: Option<usize>, skip: Option<usize>| {
            (0..rhs_dims.len()).find(|&d| rhs_dims[d] == wanted && Some(d) != skip).unwrap_or(0)
        };
        let dims = DotDims {
            contract: (contract, of(None, free_at)),
            batch: dims.iter().enumerate().map(|(at, &l)| (l, of(Some(at), None))).collect(),
        };
        if sizes.len() > 4 || !Generator::may_be(&sizes) {
            return;
        }
        let (lhs, rhs) = loop {
            let pair = (self.rng.pick(&self.words.dtypes), self.rng.pick(&self.words.dtypes));
            if dot_accumulator(pair.0, pair.1).is_some() {
                break pair;
            }
        };
        let y = self.tile_of(rhs, Shape::new(&sizes));
        let (x, y) = (self.small(lhs, x), self.small(rhs, y));
        let precision = self.rng.pick(Precision::ALL);
        let kind = OpKind::Dot { dims, precision };
        match infer(&kind, &[self.b.ty(x), self.b.ty(y)]) {
            Ok(types) if Generator::may_be(types[0].shape().dims()) => self.positive(kind, &[x, y]),
            _ => {}
        }
    }

    /// A product whose zeros are made positive: it leaves the scope itself.
    pub(super) fn positive(&mut self, kind: OpKind, operands: &[Value]) {
        let product = self.emit(kind, operands);
        if self.b.ty(product).dtype() == DType::F32 {
            self.scope.pop();
            let zero = self.constant_like(0f32.into(), product);
            self.binary(BinaryOp::Add, product, zero);
        }
    }

    /// Whether some, all of a mask.
    pub(super) fn quantifier(&mut self) -> Option<Value> {
        let x = self.any_tile(|d, _| d == DType::Bool);
        x.or_else(|| {
            let tile = self.any_tile(|d, _| d.is_number())?;
            let ty: Type = self.b.ty(tile);
            let other = self.value_of(ty);
            Some(self.emit(OpKind::Compare(CompareOp::Lt), &[tile, other]))
        })
    }
}
