//! Arithmetic, comparison, selection and conversion, element by element.
//!
//! Rules: a native operation is one of Mosaic's, or two where it has no shorter spelling; integers are signless, so that
//! unsigned ones take unsigned operations, and a conversion between types of one spelling is nothing.
//! libtpu merges `product + x` into an accumulator, which kills it where x is carried by a loop: the
//! operand that is less of a matrix product is written first.

use super::function::{Function, spelled};
use crate::ir::{BinaryOp, CompareOp, DType, Literal, Op, Type, UnaryOp, Value};

impl Function<'_> {
    pub(super) fn unary(&mut self, op: UnaryOp, operand: Value) -> String {
        let (x, ty) = (self.name(operand), self.ty(operand));
        let (text, float) = (spelled(ty), ty.dtype().is_float());
        let mnemonic = match op {
            UnaryOp::Neg if !float => {
                let zero = self.literal(Literal::from_int(ty.dtype(), 0), ty);
                return self.emit(format!("arith.subi {zero}, {x} : {text}"));
            }
            UnaryOp::Not => {
                let ones = self.literal(Literal::from_bits(ty.dtype(), u32::MAX), ty);
                return self.emit(format!("arith.xori {x}, {ones} : {text}"));
            }
            UnaryOp::RecipApprox => return self.emit(format!("tpu.reciprocal {x} {{approx = true}} : {text} -> {text}")),
            UnaryOp::Logistic => return self.emit(format!("tpu.logistic {x} : {text} -> {text}")),
            UnaryOp::Neg => return self.emit(format!("arith.negf {x} : {text}")),
            UnaryOp::Abs if float => "absf",
            UnaryOp::Abs => "absi",
            UnaryOp::Exp => "exp",
            UnaryOp::Exp2 => "exp2",
            UnaryOp::Log => "log",
            UnaryOp::Log2 => "log2",
            UnaryOp::Log1p => "log1p",
            UnaryOp::Sqrt => "sqrt",
            UnaryOp::Rsqrt => "rsqrt",
            UnaryOp::Sin => "sin",
            UnaryOp::Cos => "cos",
            UnaryOp::Tan => "tan",
            UnaryOp::Tanh => "tanh",
            UnaryOp::Erf => "erf",
            UnaryOp::Floor => "floor",
            UnaryOp::Ceil => "ceil",
            UnaryOp::Round => "round",
            UnaryOp::RoundEven => "roundeven",
            UnaryOp::Trunc => "trunc",
            UnaryOp::Popcount => "ctpop",
            UnaryOp::Clz => "ctlz",
            other => unreachable!("`{other}` is not native"),
        };
        self.emit(format!("math.{mnemonic} {x} : {text}"))
    }

    pub(super) fn binary(&mut self, op: BinaryOp, left: Value, right: Value, result: Value) -> String {
        let ty = self.ty(left);
        let (float, unsigned) = (ty.dtype().is_float(), ty.dtype().is_unsigned());
        let mnemonic = match op {
            BinaryOp::Add if float => "arith.addf",
            BinaryOp::Sub if float => "arith.subf",
            BinaryOp::Mul if float => "arith.mulf",
            BinaryOp::Div if float => "arith.divf",
            BinaryOp::Rem if float => "arith.remf",
            BinaryOp::Max if float => "arith.maximumf",
            BinaryOp::Min if float => "arith.minimumf",
            BinaryOp::Pow => "math.powf",
            BinaryOp::Atan2 => "math.atan2",
            BinaryOp::Add => "arith.addi",
            BinaryOp::Sub => "arith.subi",
            BinaryOp::Mul => "arith.muli",
            BinaryOp::Div if unsigned => "arith.divui",
            BinaryOp::Div => "arith.divsi",
            BinaryOp::Rem if unsigned => "arith.remui",
            BinaryOp::Rem => "arith.remsi",
            BinaryOp::Max if unsigned => "arith.maxui",
            BinaryOp::Max => "arith.maxsi",
            BinaryOp::Min if unsigned => "arith.minui",
            BinaryOp::Min => "arith.minsi",
            BinaryOp::And => "arith.andi",
            BinaryOp::Or => "arith.ori",
            BinaryOp::Xor => "arith.xori",
            BinaryOp::Shl => "arith.shli",
            BinaryOp::Shr if !unsigned => "arith.shrsi",
            BinaryOp::Shr | BinaryOp::ShrLogical => "arith.shrui",
            other => unreachable!("`{other}` is not native"),
        };
        let (left, right) = if op == BinaryOp::Add { self.product_last(left, right, result) } else { (left, right) };
        let (a, b) = (self.name(left), self.name(right));
        self.emit(format!("{mnemonic} {a}, {b} : {}", spelled(ty)))
    }

    /// The operands of a sum, what is more of a matrix product last: 2 is a product, 1 a sum with one in it.
    fn product_last(&mut self, left: Value, right: Value, result: Value) -> (Value, Value) {
        let weight = |v: Value| self.products.get(&v).copied().unwrap_or(0);
        let (a, b) = (weight(left), weight(right));
        if a.max(b) > 0 {
            self.products.insert(result, 1);
        }
        if a > b { (right, left) } else { (left, right) }
    }

    /// `arith.select` of numbers.
    pub(super) fn choose(&mut self, condition: &str, a: &str, b: &str, ty: Type) -> String {
        let text = spelled(ty);
        match ty {
            Type::Tile(..) => {
                let mask = spelled(ty.with_dtype(DType::Bool));
                self.emit(format!("arith.select {condition}, {a}, {b} : {mask}, {text}"))
            }
            _ => self.emit(format!("arith.select {condition}, {a}, {b} : {text}")),
        }
    }

    /// A comparison of two values of that type, as a mask.
    pub(super) fn compare(&mut self, op: CompareOp, a: &str, b: &str, ty: Type) -> String {
        let (float, unsigned) = (ty.dtype().is_float(), ty.dtype().is_unsigned());
        let order = match op {
            CompareOp::Eq => "eq",
            CompareOp::Ne => "ne",
            CompareOp::Lt => "lt",
            CompareOp::Le => "le",
            CompareOp::Gt => "gt",
            CompareOp::Ge => "ge",
        };
        let (mnemonic, kind) = match op {
            _ if float => ("cmpf", "o"),
            CompareOp::Eq | CompareOp::Ne => ("cmpi", ""),
            _ if unsigned => ("cmpi", "u"),
            _ => ("cmpi", "s"),
        };
        self.emit(format!("arith.{mnemonic} {kind}{order}, {a}, {b} : {}", spelled(ty)))
    }

    pub(super) fn select(&mut self, op: &Op) -> String {
        let [c, a, b] = [0, 1, 2].map(|at| self.name(op.operands[at]));
        self.choose(&c, &a, &b, self.ty(op.operands[1]))
    }

    pub(super) fn cast(&mut self, operand: Value, to: DType) -> String {
        let (x, ty) = (self.name(operand), self.ty(operand));
        let (from, want) = (ty.dtype(), ty.with_dtype(to));
        if spelled(ty) == spelled(want) {
            return x;
        }
        let wider = to.bits() > from.bits();
        let mnemonic = match (from.is_float(), to.is_float()) {
            _ if from == DType::Bool => "extui",
            (true, true) if wider => "extf",
            (true, true) => "truncf",
            (true, false) => "fptosi",
            (false, true) if from.is_unsigned() => "uitofp",
            (false, true) => "sitofp",
            (false, false) if !wider => "trunci",
            (false, false) if from.is_unsigned() => "extui",
            (false, false) => "extsi",
        };
        self.emit(format!("arith.{mnemonic} {x} : {} to {}", spelled(ty), spelled(want)))
    }

    /// The same bits as another type.
    pub(super) fn bitcast(&mut self, operand: Value, result: Value) -> String {
        let (x, from, to) = (self.name(operand), self.ty(operand), self.ty(result));
        let (text, want) = (spelled(from), spelled(to));
        match from.dtype().bits() == to.dtype().bits() {
            true if text == want => x,
            true => self.emit(format!("arith.bitcast {x} : {text} to {want}")),
            false => self.emit(format!("tpu.bitcast {x} : {text} -> {want}")),
        }
    }
}
