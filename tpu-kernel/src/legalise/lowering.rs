//! The kernel while it is rewritten: values by their new names, and the operation that is being lowered.
//!
//! Rules: [`Lowering::lower`] takes an operation with the types that the user gave its operands, beside the values that
//! represent them, and gives the values that represent its results. A lowering is made of [`Lowering::apply`], which
//! legalises what it is given in turn: nothing but [`Lowering::emit`] adds an operation, and only a native one.

use super::divisible::{self, Fact};
use super::illegal::called;
use super::memory::views::Part;
use super::repeats::{self, Repeats};
use super::table::{native, partial};
use super::{Illegal, Rule, elementwise, memory, product, represented, structure};
use crate::chips::Chip;
use crate::ir::{Builder, DType, Kernel, Literal, Loc, Op, OpKind, Param, ParamKind, Region, Shape, Type, Value, Window, infer};
use crate::passes::tidy;
use std::collections::{HashMap, HashSet};

/// How deeply lowerings may stand in each other; none of them needs half of it. One that comes back to itself is refused.
const DEPTH: usize = 32;

/// A value with the type that the user gave it; it is represented by another type where the chip has not that one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Typed {
    /// The value that represents it.
    pub(super) value: Value,
    /// The user's type.
    pub(super) ty: Type,
}

/// A kernel being rewritten.
pub(super) struct Lowering<'a> {
    pub(super) source: &'a Kernel,
    pub(super) chip: &'a Chip,
    pub(super) builder: Builder,
    /// What represents each value of the source.
    values: HashMap<Value, Value>,
    /// Views of the source.
    pub(super) parts: HashMap<Value, Part>,
    /// New values that are a constant, or one everywhere.
    literals: HashMap<Value, Literal>,
    /// Trailing zero bits of new scalars, and of those of the source that have no operation.
    zeros: HashMap<Value, u32>,
    source_zeros: HashMap<Value, u32>,
    /// Which new tiles libtpu keeps as one row or column that stands for all.
    pub(super) repeats: HashMap<Value, Repeats>,
    /// What makes the new values, of those operations that others must know.
    made: HashMap<Value, (OpKind, Vec<Value>)>,
    /// The tile that a chain of reshapes started from.
    reshaped: HashMap<Value, Value>,
    /// The tile that has the same elements in the same order: of a reshape, and of a transposition that moves dimensions of 1.
    pub(super) reordered: HashMap<Value, Value>,
    /// The place and the name of the operation that is being lowered.
    loc: Loc,
    at: String,
    depth: usize,
    /// Stores of the source beside which a copy of their memory may be in flight; and whether this is one.
    stores_beside_copies: HashSet<*const Op>,
    beside_copy: bool,
}

/// Rewrites a verified kernel.
pub(super) fn lower(source: &Kernel, chip: &Chip) -> Result<Kernel, Illegal> {
    let mut lowering = Lowering {
        source,
        chip,
        builder: Builder::new(&source.name, source.loc.clone()),
        values: HashMap::new(),
        parts: HashMap::new(),
        literals: HashMap::new(),
        zeros: HashMap::new(),
        source_zeros: HashMap::new(),
        repeats: HashMap::new(),
        made: HashMap::new(),
        reshaped: HashMap::new(),
        reordered: HashMap::new(),
        loc: source.loc.clone(),
        at: source.name.clone(),
        depth: 0,
        stores_beside_copies: memory::flight::stores_beside_copies(source),
        beside_copy: false,
    };
    if source.side_effects {
        lowering.builder.side_effects();
    }
    for size in &source.sizes {
        lowering.builder.size(size);
    }
    for bound in &source.bounds {
        lowering.builder.bound(&source.sizes[bound.size.0 as usize], bound.low, bound.high);
    }
    for dim in &source.grid {
        lowering.builder.grid_dim(dim.clone());
    }
    for (param, &value) in source.params.iter().zip(&source.body.args) {
        lowering.param(param, value)?;
    }
    lowering.scalars()?;
    lowering.ops(&source.body)?;
    let mut kernel = match lowering.builder.finish() {
        Ok(kernel) => kernel,
        Err(fault) => unreachable!("regions are closed where they are opened: {fault}"),
    };
    tidy(&mut kernel);
    if memory::unchanged::drop_unchanged(&mut kernel) {
        tidy(&mut kernel);
    }
    memory::windows::check(&kernel, chip)?;
    if let Some(rule) = memory::copies::check_semaphores(&kernel) {
        return Err(Illegal { chip: chip.name, at: kernel.name.clone(), rule, loc: kernel.loc.clone() });
    }
    Ok(kernel)
}

impl Lowering<'_> {
    /// A refusal of what is being lowered.
    pub(super) fn refuse(&self, rule: Rule) -> Illegal {
        Illegal { chip: self.chip.name, at: self.at.clone(), rule, loc: self.loc.clone() }
    }

    fn param(&mut self, param: &Param, value: Value) -> Result<(), Illegal> {
        (self.loc, self.at) = (param.loc.clone(), param.name.clone());
        if let Some(rule) = super::table::missing(self.chip, param.ty.dtype()) {
            return Err(self.refuse(rule));
        }
        let kind = match &param.kind {
            ParamKind::In(window) => ParamKind::In(self.window(window)?),
            ParamKind::Out(window) => ParamKind::Out(self.window(window)?),
            kind @ (ParamKind::InArray(_) | ParamKind::OutArray(_) | ParamKind::Prefetch(_)) => kind.clone(),
            ParamKind::Scratch => ParamKind::Scratch,
            ParamKind::Scalar => ParamKind::Scalar,
        };
        let ty = match param.ty {
            // There is no memory for a mask.
            Type::Scalar(DType::Bool) => Type::Scalar(DType::I32),
            ty => represented(ty),
        };
        let new = self.builder.param(&param.name, ty, kind, param.loc.clone());
        if let Some(input) = &param.alias {
            self.builder.alias(&param.name, input);
        }
        self.values.insert(value, new);
        Ok(())
    }

    /// Turns the words of bool scalars into bools, before anything reads them.
    fn scalars(&mut self) -> Result<(), Illegal> {
        for (param, &value) in self.source.params.iter().zip(&self.source.body.args) {
            if param.ty == Type::Scalar(DType::Bool) {
                (self.loc, self.at) = (param.loc.clone(), param.name.clone());
                let word = self.value(value);
                let truth = self.cast(word, DType::Bool)?;
                self.bind(value, truth);
            }
        }
        Ok(())
    }

    fn window(&mut self, window: &Window) -> Result<Window, Illegal> {
        let args: Vec<Type> = window.map.args.iter().map(|&v| represented(self.source.ty(v))).collect();
        let new = self.builder.begin_region(&args);
        for (&arg, value) in window.map.args.iter().zip(new) {
            self.bind(arg, value);
        }
        self.ops(&window.map)?;
        let yields: Vec<Value> = window.map.yields.iter().map(|&v| self.value(v)).collect();
        let map = self.builder.end_region(&yields);
        Ok(Window { map, ..window.clone() })
    }

    /// The operations of a region of the source.
    pub(super) fn ops(&mut self, region: &Region) -> Result<(), Illegal> {
        region.ops.iter().try_for_each(|op| self.op(op))
    }

    pub(super) fn op(&mut self, op: &Op) -> Result<(), Illegal> {
        self.enter(op);
        match op.kind {
            OpKind::If => return self.branch(op),
            OpKind::For => {
                if let ([low, _, step, ..], Some(&index)) = (op.operands.as_slice(), op.regions[0].args.first()) {
                    let [low, step] = [low, step].map(|&v| self.fact(self.value(v)).zeros);
                    self.source_zeros.insert(index, low.min(step));
                }
                return self.count(op);
            }
            OpKind::While => return self.repeat(op),
            OpKind::Scoped => return self.scoped(op),
            ref kind if kind.is_view() => return memory::views::view(self, op),
            OpKind::DmaStart { .. } | OpKind::RemoteStart { .. } | OpKind::DmaWait => return memory::copies::copy(self, op),
            _ => {}
        }
        if let Some(part) = op.operands.first().and_then(|memory| self.parts.get(memory)).cloned() {
            let results = memory::views::access(self, op, &part)?;
            op.results.iter().zip(results).for_each(|(&old, new)| self.bind(old, new));
            return Ok(());
        }
        let operands: Vec<Typed> = op.operands.iter().map(|&v| self.typed(v)).collect();
        let results = self.lower(&op.kind, &operands)?;
        for (&old, new) in op.results.iter().zip(results) {
            self.bind(old, new);
        }
        Ok(())
    }

    /// The place of the operation that is being lowered.
    pub(super) fn loc(&self) -> Loc {
        self.loc.clone()
    }

    /// Makes an operation of the source the one that is being lowered.
    pub(super) fn enter(&mut self, op: &Op) {
        (self.loc, self.at) = (op.loc.clone(), called(&op.kind).to_string());
        self.beside_copy = self.stores_beside_copies.contains(&std::ptr::from_ref(op));
    }

    /// That a store which rewrites more of the memory than is stored has no copy beside it.
    pub(super) fn alone(&self, memory: Value) -> Result<(), Illegal> {
        let memory = || self.ty(memory).shape().to_string();
        if self.beside_copy { Err(self.refuse(Rule::StoreBesideCopy { memory: memory() })) } else { Ok(()) }
    }

    /// The value that represents one of the source.
    pub(super) fn value(&self, value: Value) -> Value {
        self.values[&value]
    }

    /// A value of the source with its type.
    pub(super) fn typed(&self, value: Value) -> Typed {
        Typed { value: self.value(value), ty: self.source.ty(value) }
    }

    /// Says what represents a value of the source.
    pub(super) fn bind(&mut self, old: Value, new: Value) {
        self.values.insert(old, new);
        if let Some(&zeros) = self.source_zeros.get(&old) {
            self.zeros.insert(new, zeros);
        }
    }

    /// The type of a new value.
    pub(super) fn ty(&self, value: Value) -> Type {
        self.builder.ty(value)
    }

    /// The constant that a new value is everywhere, where that is known.
    pub(super) fn literal_of(&self, value: Value) -> Option<Literal> {
        self.literals.get(&value).copied()
    }

    /// The new tile of which another is a reshape; of no other, itself.
    pub(super) fn before_reshapes(&self, value: Value) -> Value {
        self.reshaped.get(&value).copied().unwrap_or(value)
    }

    /// Whether all rows and columns of a new tile are one for libtpu.
    pub(super) fn repeats(&self, value: Value) -> Repeats {
        self.repeats.get(&value).copied().unwrap_or_default()
    }

    /// What is known of a new scalar.
    pub(super) fn fact(&self, value: Value) -> Fact {
        match self.literal_of(value) {
            Some(literal) => Fact::of(literal),
            None => Fact::multiple(self.zeros.get(&value).copied().unwrap_or(0)),
        }
    }

    /// The operand of the new kernel that is this value.
    pub(super) fn param_of(&self, value: Value) -> Option<&Param> {
        let kernel = self.builder.kernel();
        kernel.body.args.iter().position(|&arg| arg == value).and_then(|at| kernel.params.get(at))
    }

    /// A memory as the chip holds it: along each dimension the extent, and whether the memory's type lacks it.
    pub(super) fn held(&self, value: Value) -> Vec<(usize, bool)> {
        match self.param_of(value) {
            Some(param) => memory::place::held(param),
            None => self.ty(value).shape().dims().iter().map(|&n| (n, false)).collect(),
        }
    }

    /// What made a new value, where that is elementwise.
    pub(super) fn made(&self, value: Value) -> Option<(&OpKind, &[Value])> {
        self.made.get(&value).map(|(kind, operands)| (kind, operands.as_slice()))
    }

    /// An operation of the user's types: what represents its results.
    pub(super) fn lower(&mut self, kind: &OpKind, operands: &[Typed]) -> Result<Vec<Value>, Illegal> {
        // libtpu merges casts of casts, also into one that it then refuses: a reshape starts from the first tile.
        if let (OpKind::Reshape(to), [x]) = (kind, operands)
            && let Some(&value) = self.reshaped.get(&x.value)
        {
            let ty = Type::Tile(x.ty.dtype(), self.ty(value).shape());
            return if ty.shape() == *to { Ok(vec![value]) } else { self.lower(kind, &[Typed { value, ty }]) };
        }
        if let Some(same) = self.undone(kind, operands) {
            return Ok(vec![same]);
        }
        if let &[x] = operands
            && let Some(value) = self.cut_column(kind, x)?
        {
            // As what represents it: a repeated column has the same numbers as that.
            return self.lower(kind, &[Typed { value, ty: self.ty(value) }]);
        }
        let plain = operands.iter().all(|o| o.ty == self.ty(o.value));
        let types: Vec<Type> = operands.iter().map(|o| o.ty).collect();
        let results = match infer(kind, &types) {
            Ok(results) => results,
            Err(rule) => unreachable!("`{}` in a lowering breaks a rule: {rule}", kind.mnemonic()),
        };
        for ty in types.iter().chain(&results) {
            if let Some(rule) = super::table::missing(self.chip, ty.dtype()) {
                return Err(self.refuse(rule));
            }
        }
        if let Some(rule) = super::table::memory::vector(self.chip, kind, &types, &results) {
            return Err(self.refuse(rule));
        }
        let values: Vec<Value> = operands.iter().map(|o| o.value).collect();
        let native =
            plain && results.iter().all(|&ty| ty == represented(ty)) && native(self.chip, kind, &types) && !partial(kind, &types);
        let lowered = if native && memory::provable(self, kind, &values) {
            Ok(self.emit(kind.clone(), &values))
        } else if self.depth == DEPTH {
            Err(self.refuse(Rule::NoLowering(types.first().map_or(DType::I32, |ty| ty.dtype()))))
        } else {
            self.depth += 1;
            let lowered = self.family(kind, operands, &results);
            self.depth -= 1;
            lowered
        };
        if let (Ok(&[new]), Some(_)) = (lowered.as_deref(), flowing(kind, operands)) {
            // What is older than its operand is known already.
            if new > operands[0].value {
                self.reordered.insert(new, operands[0].value);
            }
        }
        lowered
    }

    /// The tile from which others came, where an operation gives that again: libtpu merges such a chain to nothing too late.
    fn undone(&self, kind: &OpKind, operands: &[Typed]) -> Option<Value> {
        let shape = flowing(kind, operands)?;
        let mut value = operands[0].value;
        while let Some(&before) = self.reordered.get(&value) {
            if self.ty(before).shape() == shape {
                return Some(before);
            }
            value = before;
        }
        None
    }

    /// The lowering of what is not native.
    fn family(&mut self, kind: &OpKind, operands: &[Typed], results: &[Type]) -> Result<Vec<Value>, Illegal> {
        let one = |value: Value| vec![value];
        match kind {
            OpKind::Unary(op) => elementwise::unary(self, *op, operands[0]).map(one),
            OpKind::Binary(op) => elementwise::binary(self, *op, operands[0], operands[1]).map(one),
            OpKind::Compare(op) => elementwise::compare(self, *op, operands[0], operands[1]).map(one),
            OpKind::Select => elementwise::select(self, operands).map(one),
            OpKind::Const(literal) => Ok(one(self.constant(*literal, None))),
            OpKind::Cast(to) => elementwise::cast(self, operands[0], *to).map(one),
            OpKind::Bitcast(to) => elementwise::bitcast(self, operands[0], *to).map(one),
            OpKind::StochasticRound(to) => elementwise::stochastic_round(self, operands, *to).map(one),
            OpKind::Dot { dims, precision } => product::dot(self, operands, dims, *precision, results[0]).map(one),
            OpKind::Load(shape) => memory::load(self, operands, *shape).map(one),
            OpKind::Store => memory::store(self, operands).map(|()| vec![]),
            // What is a constant needs no conversion.
            OpKind::Broadcast(shape) if self.literal_of(operands[0].value).is_some() => {
                let literal = self.literal_of(operands[0].value).unwrap_or(Literal::from(0));
                Ok(one(self.constant(super::number_as(literal, operands[0].ty.dtype()), Some(*shape))))
            }
            OpKind::Iota { .. }
            | OpKind::Broadcast(_)
            | OpKind::Reshape(_)
            | OpKind::Transpose(_)
            | OpKind::Slice { .. }
            | OpKind::Concat { .. }
            | OpKind::Rotate { .. }
            | OpKind::Gather { .. }
            | OpKind::Scan { .. }
            | OpKind::Sort { .. }
            | OpKind::Extract(_)
            | OpKind::Reduce { .. }
            | OpKind::PrngSeed
            | OpKind::PrngBits(_)
            | OpKind::Print(_)
            | OpKind::Check(_)
            | OpKind::Defined(_) => structure::lower(self, kind, operands, results),
            OpKind::ProgramId(_) | OpKind::NumPrograms(_) | OpKind::Size(_) | OpKind::DeviceId => {
                unreachable!("these are native everywhere")
            }
            OpKind::LoadScalar => memory::scalars::load(self, operands).map(one),
            OpKind::StoreScalar => memory::scalars::store(self, operands).map(|()| vec![]),
            OpKind::SemaphoreAt | OpKind::SemaphoreSignal | OpKind::CoreSignal | OpKind::SemaphoreWait | OpKind::SemaphoreRead => {
                unreachable!("these are native everywhere")
            }
            OpKind::LoadMasked(shape) => {
                let starts: Vec<Value> = operands[3..].iter().map(|o| o.value).collect();
                let memory = memory::masked::Memory::Whole(operands[0]);
                memory::masked::load(self, &memory, operands[1], operands[2], &starts, *shape).map(one)
            }
            OpKind::StoreMasked => {
                let starts: Vec<Value> = operands[3..].iter().map(|o| o.value).collect();
                let memory = memory::masked::Memory::Whole(operands[0]);
                memory::masked::store(self, &memory, operands[1], operands[2], &starts).map(|()| vec![])
            }
            OpKind::View { .. }
            | OpKind::ViewSqueezed(_)
            | OpKind::ViewReshaped(_)
            | OpKind::ViewTransposed(_)
            | OpKind::ViewBitcast(_)
            | OpKind::DmaStart { .. }
            | OpKind::RemoteStart { .. }
            | OpKind::DmaWait => {
                unreachable!("copies are lowered with the views that they take")
            }
            OpKind::If | OpKind::For | OpKind::While | OpKind::Scoped => unreachable!("control flow is lowered with its regions"),
        }
    }

    /// Adds a native operation; its results.
    pub(super) fn emit(&mut self, kind: OpKind, operands: &[Value]) -> Vec<Value> {
        let known = match &kind {
            OpKind::Const(literal) => Some(*literal),
            OpKind::Broadcast(_) => self.literal_of(operands[0]),
            _ => None,
        };
        let made =
            matches!(kind, OpKind::Unary(_) | OpKind::Binary(_) | OpKind::Compare(_) | OpKind::Cast(_)).then(|| kind.clone());
        let name = kind.mnemonic();
        let facts: Vec<Fact> = operands.iter().map(|&v| self.fact(v)).collect();
        let zeros = divisible::of_op(&kind, &facts);
        let tiles: Vec<(Type, Repeats)> = operands.iter().map(|&v| (self.ty(v), self.repeats(v))).collect();
        let repeats = repeats::of_op(&kind, &tiles);
        let results = match self.builder.results(kind, operands, self.loc.clone()) {
            Ok(results) => results,
            Err(fault) => unreachable!("`{name}` in a lowering breaks a rule: {fault}"),
        };
        if let (Some(&result), true) = (results.first(), repeats.contains(&true)) {
            self.repeats.insert(result, repeats);
        }
        if let (Some(literal), Some(&result)) = (known, results.first()) {
            self.literals.insert(result, literal);
        }
        if let Some(&result) = results.first().filter(|&&v| divisible::follows(self.ty(v)))
            && operands.iter().all(|&v| divisible::follows(self.ty(v)) || self.ty(v).dtype() == DType::Bool)
        {
            self.zeros.insert(result, zeros);
        }
        if let (Some(kind), Some(&result)) = (made, results.first()) {
            self.made.insert(result, (kind, operands.to_vec()));
        }
        if let (true, Some(&result)) = (matches!(name, "reshape"), results.first()) {
            self.reshaped.insert(result, operands[0]);
        }
        results
    }

    /// An operation on new values: legalised in turn; its results.
    pub(super) fn apply_all(&mut self, kind: OpKind, operands: &[Value]) -> Result<Vec<Value>, Illegal> {
        let operands: Vec<Typed> = operands.iter().map(|&value| Typed { value, ty: self.ty(value) }).collect();
        self.lower(&kind, &operands)
    }

    /// An operation on new values that has one result: legalised in turn.
    pub(super) fn apply(&mut self, kind: OpKind, operands: &[Value]) -> Result<Value, Illegal> {
        Ok(self.apply_all(kind, operands)?[0])
    }

    /// A conversion of a new value.
    pub(super) fn cast(&mut self, value: Value, to: DType) -> Result<Value, Illegal> {
        if self.ty(value).dtype() == to { Ok(value) } else { self.apply(OpKind::Cast(to), &[value]) }
    }

    /// A constant as a scalar, or as every element of a tile of that shape. A tile has the element type of the literal,
    /// a scalar the word that holds it.
    pub(super) fn constant(&mut self, literal: Literal, shape: Option<Shape>) -> Value {
        let ty = shape.map_or(Type::Scalar(literal.dtype()), |shape| Type::Tile(literal.dtype(), shape));
        let literal = super::number_as(literal, represented(ty).dtype());
        let scalar = self.emit(OpKind::Const(literal), &[])[0];
        match shape {
            Some(shape) => self.emit(OpKind::Broadcast(shape), &[scalar])[0],
            None => scalar,
        }
    }

    /// A new value repeated to a shape.
    pub(super) fn broadcast(&mut self, value: Value, shape: Shape) -> Result<Value, Illegal> {
        match self.ty(value) {
            Type::Tile(_, from) if from == shape => Ok(value),
            _ => self.apply(OpKind::Broadcast(shape), &[value]),
        }
    }
}

/// The shape of the result of an operation that leaves the elements of its tile in their order: a reshape, or a transposition that
/// only moves dimensions of 1.
fn flowing(kind: &OpKind, operands: &[Typed]) -> Option<Shape> {
    let shape = operands.first()?.ty.shape();
    match kind {
        OpKind::Reshape(to) => Some(*to),
        OpKind::Transpose(perm) => {
            let moved = perm.iter().filter(|&&d| shape.dim(d) != 1);
            moved.is_sorted().then(|| Shape::new(&perm.iter().map(|&d| shape.dim(d)).collect::<Vec<_>>()))
        }
        _ => None,
    }
}
