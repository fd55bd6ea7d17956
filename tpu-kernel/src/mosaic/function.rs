//! The text of one function while it grows: names, constants, lines.
//!
//! Rules: every constant is defined once at the top, so that it is visible in every region; other
//! values are numbered in order. Each line carries the user's place, which libtpu repeats in its errors.

use super::movement::{Known, semaphores, space};
use crate::chips::Chip;
use crate::ir::{DType, Kernel, Literal, Loc, Op, OpKind, Region, Type, Value};
use crate::launch::Binding;
use crate::legalise::divisible::{self, Fact};
use crate::legalise::illegal::called;
use crate::legalise::{Illegal, Rule};
use std::collections::HashMap;
use std::fmt::Display;

/// A function being written.
pub(super) struct Function<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) binding: &'a Binding,
    pub(super) chip: &'a Chip,
    /// The names of the grid indices, which `program_id` reads.
    pub(super) grid: Vec<String>,
    names: HashMap<Value, String>,
    /// Scalars and broadcasts of a constant.
    pub(super) literals: HashMap<Value, Literal>,
    /// Trailing zero bits of i32 scalars.
    zeros: HashMap<Value, u32>,
    /// How a sum hangs on a matrix product: see `elementwise`.
    pub(super) products: HashMap<Value, u8>,
    /// Views as they lie in their memory.
    pub(super) known: HashMap<Value, Known>,
    /// What an index map takes in place of an operand.
    pub(super) arrays: HashMap<Value, Value>,
    constants: HashMap<String, String>,
    prologue: String,
    lines: String,
    indent: usize,
    next: usize,
    loc: String,
}

impl<'a> Function<'a> {
    pub(super) fn new(kernel: &'a Kernel, binding: &'a Binding, chip: &'a Chip, grid: Vec<String>) -> Function<'a> {
        Function {
            kernel,
            binding,
            chip,
            grid,
            names: HashMap::new(),
            literals: HashMap::new(),
            zeros: HashMap::new(),
            products: HashMap::new(),
            known: HashMap::new(),
            arrays: HashMap::new(),
            constants: HashMap::new(),
            prologue: String::new(),
            lines: String::new(),
            indent: 2,
            next: 0,
            loc: String::new(),
        }
    }

    /// A refusal of an operation.
    pub(super) fn refuse(&self, op: &Op, rule: Rule) -> Illegal {
        Illegal { chip: self.chip.name, at: called(&op.kind).to_string(), rule, loc: op.loc.clone() }
    }

    /// The lines so far, constants first.
    pub(super) fn finish(self) -> String {
        self.prologue + &self.lines
    }

    pub(super) fn define(&mut self, value: Value, name: impl Into<String>) {
        self.names.insert(value, name.into());
    }

    /// The name of a value; of a constant, which is defined when it is first named.
    pub(super) fn name(&mut self, value: Value) -> String {
        match (self.names.get(&value), self.literals.get(&value)) {
            (Some(name), _) => name.clone(),
            (None, Some(&literal)) => {
                let name = self.literal(literal, self.ty(value));
                self.names.insert(value, name.clone());
                name
            }
            // The verifier leaves no such value; libtpu refuses the text if it does.
            (None, None) => format!("%undefined_{}", value.0),
        }
    }

    pub(super) fn ty(&self, value: Value) -> Type {
        self.kernel.ty(value)
    }

    pub(super) fn fact(&self, value: Value) -> Fact {
        let known = || Fact::multiple(self.zeros.get(&value).copied().unwrap_or(0));
        self.literals.get(&value).map_or_else(known, |&literal| Fact::of(literal))
    }

    pub(super) fn zeros(&self, value: Value) -> u32 {
        self.fact(value).zeros
    }

    pub(super) fn set_zeros(&mut self, value: Value, zeros: u32) {
        self.zeros.insert(value, zeros);
    }

    /// A new name.
    pub(super) fn fresh(&mut self) -> String {
        self.next += 1;
        format!("%{}", self.next - 1)
    }

    /// A line that defines one value; returns its name.
    pub(super) fn emit(&mut self, text: impl Display) -> String {
        let name = self.fresh();
        self.line(format!("{name} = {text}{}", self.loc));
        name
    }

    /// A line that defines nothing.
    pub(super) fn effect(&mut self, text: impl Display) {
        self.line(format!("{text}{}", self.loc));
    }

    /// A line as it is.
    pub(super) fn line(&mut self, text: impl Display) {
        let indent = self.indent * 2;
        self.lines.push_str(&format!("{:indent$}{text}\n", ""));
    }

    /// What [`emit`](Self::emit) appends: the place of the running operation.
    pub(super) fn place(&self) -> String {
        self.loc.clone()
    }

    /// Lines of a nested region.
    pub(super) fn nested<T>(&mut self, write: impl FnOnce(&mut Self) -> Result<T, Illegal>) -> Result<T, Illegal> {
        self.indent += 1;
        let result = write(self);
        self.indent -= 1;
        result
    }

    /// A constant by its text, `0 : i32` or `dense<1.0> : vector<8xf32>`.
    pub(super) fn constant(&mut self, text: String) -> String {
        if let Some(name) = self.constants.get(&text) {
            return name.clone();
        }
        let name = match text.strip_suffix(" : index") {
            Some(n) => format!("%c{n}"),
            None => format!("%cst_{}", self.constants.len()),
        };
        self.prologue.push_str(&format!("    {name} = arith.constant {text}\n"));
        self.constants.insert(text, name.clone());
        name
    }

    /// The literal as a value of that type's kind and shape; bool as i1, bf16 scalars as f32.
    pub(super) fn literal(&mut self, literal: Literal, ty: Type) -> String {
        let element = element(ty, literal.dtype());
        let text = match ty {
            Type::Tile(_, shape) => format!("dense<{}> : vector<{shape}x{element}>", number(literal, element)),
            _ if literal.dtype() == DType::Bool => number(literal, element),
            _ => format!("{} : {element}", number(literal, element)),
        };
        self.constant(text)
    }

    /// Writes the operations of a region.
    pub(super) fn ops(&mut self, region: &Region) -> Result<(), Illegal> {
        for op in &region.ops {
            self.at(&op.loc);
            self.op(op)?;
        }
        Ok(())
    }

    /// Sets the place of the lines that follow.
    pub(super) fn at(&mut self, loc: &Loc) {
        self.loc = location(loc);
    }

    fn op(&mut self, op: &Op) -> Result<(), Illegal> {
        match &op.kind {
            OpKind::If => return self.branch(op),
            OpKind::For => return self.count(op),
            OpKind::While => return self.repeat(op),
            OpKind::Store => {
                self.store(op);
                return Ok(());
            }
            OpKind::StoreScalar => {
                self.store_scalar(op);
                return Ok(());
            }
            OpKind::DmaStart { .. } | OpKind::RemoteStart { .. } | OpKind::DmaWait => return self.copy(op),
            OpKind::SemaphoreSignal | OpKind::CoreSignal | OpKind::SemaphoreWait => {
                self.semaphore(op);
                return Ok(());
            }
            OpKind::Scoped => return self.scoped(op, &op.regions[0]),
            OpKind::PrngSeed => {
                self.seed(&op.operands);
                return Ok(());
            }
            OpKind::Print(text) => {
                self.print(text, &op.operands);
                return Ok(());
            }
            OpKind::Check(message) => {
                self.check(op.operands[0], message);
                return Ok(());
            }
            _ => {}
        }
        let &[result] = op.results.as_slice() else {
            return Err(self.refuse(op, Rule::Unverified("it must have one result".into())));
        };
        let name = match &op.kind {
            OpKind::Const(literal) => {
                self.literals.insert(result, *literal);
                return Ok(());
            }
            OpKind::Iota { shape, axis } => self.iota(*shape, *axis),
            OpKind::Unary(unary) => self.unary(*unary, op.operands[0]),
            OpKind::Binary(binary) => self.binary(*binary, op.operands[0], op.operands[1], result),
            OpKind::Compare(compare) => {
                let ty = self.ty(op.operands[0]);
                let (a, b) = (self.name(op.operands[0]), self.name(op.operands[1]));
                self.compare(*compare, &a, &b, ty)
            }
            OpKind::Select => self.select(op),
            OpKind::Cast(to) => self.cast(op.operands[0], *to),
            OpKind::Bitcast(_) => self.bitcast(op.operands[0], result),
            OpKind::Broadcast(shape) => {
                if let Some(&literal) = self.literals.get(&op.operands[0]) {
                    self.literals.insert(result, literal);
                    return Ok(());
                }
                self.broadcast(op.operands[0], *shape)
            }
            OpKind::Reshape(shape) => self.reshape(op.operands[0], *shape),
            OpKind::Slice { starts, shape, .. } => self.slice(op.operands[0], starts, *shape),
            OpKind::Concat { axis } => self.concat(&op.operands, *axis, result),
            OpKind::Extract(index) => self.extract(op.operands[0], index),
            OpKind::Rotate { axis, stride } => self.rotate(op.operands[0], op.operands[1], *axis, *stride),
            OpKind::Gather { axis } => self.gather(op.operands[0], op.operands[1], *axis),
            OpKind::PrngBits(_) => self.random_bits(self.ty(result)),
            OpKind::Transpose(perm) => self.transpose(op.operands[0], perm),
            OpKind::Reduce { op: reduce, axis } => self.reduce(*reduce, op.operands[0], *axis),
            OpKind::Dot { dims, precision } => {
                self.products.insert(result, 2);
                self.dot(op, dims, *precision)?
            }
            OpKind::Load(shape) => self.load(op, *shape),
            OpKind::LoadScalar => self.load_scalar(op),
            OpKind::View { shape, .. } => self.view(op, *shape),
            OpKind::ViewSqueezed(axes) => self.view_squeezed(op, axes),
            OpKind::SemaphoreAt => self.semaphore_at(op),
            OpKind::SemaphoreRead => self.semaphore_read(op),
            OpKind::DeviceId => self.emit("\"tpu.device_id\"() : () -> i32".to_string()),
            OpKind::ProgramId(axis) => self.grid.get(*axis).cloned().ok_or_else(|| {
                self.refuse(op, Rule::Binding("the binding is of another kernel: the grid has no such dimension"))
            })?,
            OpKind::NumPrograms(axis) if self.kernel.is_dynamic(*axis) => {
                self.emit(format!("\"tpu.iteration_bound\"() <{{dim = {axis} : i32}}> : () -> i32"))
            }
            OpKind::NumPrograms(axis) => {
                let extent = self.binding.grid.get(*axis).copied().unwrap_or(1);
                self.literals.insert(result, Literal::from(extent));
                return Ok(());
            }
            OpKind::Size(size) => {
                let size = self.binding.sizes.get(size.0 as usize).copied();
                let size = size.ok_or_else(|| {
                    self.refuse(op, Rule::Binding("the binding is of another kernel: the size has no value in this launch"))
                })?;
                self.literals.insert(result, Literal::from(size));
                return Ok(());
            }
            OpKind::If | OpKind::For | OpKind::While | OpKind::Store => return Ok(()),
            other => unreachable!("`{}` is not native", other.mnemonic()),
        };
        if divisible::follows(self.ty(result)) {
            let operands: Vec<Fact> = op.operands.iter().map(|&v| self.fact(v)).collect();
            self.set_zeros(result, divisible::of_op(&op.kind, &operands));
        }
        self.define(result, name);
        Ok(())
    }
}

/// The place as MLIR has it, with a space before it; nothing where it is not known.
pub(super) fn location(loc: &Loc) -> String {
    let file: String = loc.file.chars().map(|c| if c == '"' || c == '\\' || c.is_control() { '_' } else { c }).collect();
    if loc.is_known() { format!(" loc(\"{file}\":{}:{})", loc.line, loc.column) } else { String::new() }
}

/// The element type in registers.
pub(super) fn element(ty: Type, dtype: DType) -> &'static str {
    match (ty, dtype) {
        (_, DType::F32) => "f32",
        (_, DType::Bf16) => "bf16",
        (_, DType::Bool) => "i1",
        (_, other) => stored(other),
    }
}

/// The type of a value: `vector<8x128xf32>`, `i32`.
pub(super) fn spelled(ty: Type) -> String {
    match ty {
        Type::Tile(dtype, shape) => format!("vector<{shape}x{}>", element(ty, dtype)),
        Type::Scalar(dtype) => element(ty, dtype).to_string(),
        Type::Ref(place, dtype, shape) => format!("memref<{shape}x{}, #tpu.memory_space<{}>>", stored(dtype), space(place)),
        // Its extents are the launch's: `Function::memref` has them.
        Type::Array(place, dtype, rank) => {
            format!("memref<{}{}, #tpu.memory_space<{}>>", "?x".repeat(rank), stored(dtype), space(place))
        }
        Type::Semaphore(kind, shape) => semaphores(kind, shape),
    }
}

/// The element type in memory.
pub(super) fn stored(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "f32",
        DType::Bf16 => "bf16",
        DType::F16 => "f16",
        DType::F8E4M3Fn => "f8E4M3FN",
        DType::F8E5M2 => "f8E5M2",
        DType::F8E4M3B11Fnuz => "f8E4M3B11FNUZ",
        DType::F4E2M1Fn => "f4E2M1FN",
        // Integers are signless: what an operation makes of them is its own.
        DType::I32 | DType::U32 => "i32",
        DType::I16 | DType::U16 => "i16",
        DType::I8 | DType::U8 | DType::Bool => "i8",
        DType::I4 | DType::U4 => "i4",
        DType::I2 => "i2",
    }
}

/// A literal's number: decimal where that is exact, else its bits in the width of the element.
fn number(literal: Literal, element: &str) -> String {
    let Some(value) = literal.as_f32() else {
        // Signless, as numbers with a sign.
        let unused = 32 - literal.dtype().bits();
        let signed = ((literal.bits() << unused).cast_signed()) >> unused;
        return if literal.dtype() == DType::Bool { literal.to_string() } else { signed.to_string() };
    };
    let text = format!("{value:?}");
    // MLIR reads decimals as f64 and wants a point in them.
    let text = match text.split_once('e') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0e{exponent}"),
        _ => text,
    };
    match text.parse::<f64>() {
        Ok(read) if value.is_finite() && (read as f32).to_bits() == value.to_bits() => text,
        // A scalar is the f32 of the same number.
        _ if element == "f32" => format!("0x{:08X}", value.to_bits()),
        _ => format!("0x{:0width$X}", literal.bits(), width = 2 * literal.dtype().bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact() {
        for (value, text) in [
            (1.0f32, "1.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (1e-7, "1.0e-7"),
            (f32::INFINITY, "0x7F800000"),
            (f32::NEG_INFINITY, "0xFF800000"),
            (f32::NAN, "0x7FC00000"),
        ] {
            assert_eq!(number(Literal::from(value), "f32"), text);
        }
        let infinite = Literal::from_f64(DType::Bf16, f64::INFINITY);
        assert_eq!(number(infinite, "bf16"), "0x7F80");
        assert_eq!(number(infinite, "f32"), "0x7F800000");
        assert_eq!(number(Literal::from(i32::MIN), "i32"), "-2147483648");
        assert_eq!(number(Literal::from(true), "i1"), "true");
    }
}
