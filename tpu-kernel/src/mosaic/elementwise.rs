//! Arithmetic, comparison, selection and conversion, element by element.
//!
//! Rules: bf16 tiles add, subtract, multiply and take extrema as they are; what the bf16 unit lacks
//! or rounds otherwise goes through f32 and is rounded once. Masks combine by and, or, xor only.
//! libtpu merges `product + x` into an accumulator, which kills it where x is carried by a loop: the
//! operand that is less of a matrix product is written first.

use super::function::{Function, spelled};
use crate::ir::{BinaryOp, CompareOp, DType, Literal, Op, Type, UnaryOp, Value};

impl Function<'_> {
    /// `x` as f32, where it is a bf16 tile.
    pub(super) fn widen(&mut self, x: &str, ty: Type) -> (String, Type) {
        let wide = ty.with_dtype(DType::F32);
        match ty {
            Type::Tile(DType::Bf16, _) => (self.emit(format!("arith.extf {x} : {} to {}", spelled(ty), spelled(wide))), wide),
            _ => (x.to_string(), wide),
        }
    }

    /// An f32 rounded to the elements of `ty`.
    pub(super) fn narrow(&mut self, x: &str, ty: Type) -> String {
        match ty {
            Type::Tile(DType::Bf16, _) => {
                self.emit(format!("arith.truncf {x} : {} to {}", spelled(ty.with_dtype(DType::F32)), spelled(ty)))
            }
            Type::Scalar(DType::Bf16) => {
                let rounded = self.emit(format!("arith.truncf {x} : f32 to bf16"));
                self.emit(format!("arith.extf {rounded} : bf16 to f32"))
            }
            _ => x.to_string(),
        }
    }

    pub(super) fn unary(&mut self, op: UnaryOp, operand: Value) -> String {
        let (x, ty) = (self.name(operand), self.ty(operand));
        let text = spelled(ty);
        let through_f32 = |f: &mut Self, mnemonic: &str| {
            let (wide, wide_ty) = f.widen(&x, ty);
            let result = f.emit(format!("{mnemonic} {wide} : {}", spelled(wide_ty)));
            f.narrow(&result, ty)
        };
        match op {
            UnaryOp::Neg if ty.dtype() == DType::I32 => {
                let zero = self.literal(Literal::from(0), ty);
                self.emit(format!("arith.subi {zero}, {x} : {text}"))
            }
            UnaryOp::Neg => self.emit(format!("arith.negf {x} : {text}")),
            UnaryOp::Abs if ty.dtype() == DType::I32 => self.emit(format!("math.absi {x} : {text}")),
            UnaryOp::Abs => self.emit(format!("math.absf {x} : {text}")),
            UnaryOp::Not => {
                let ones = if ty.dtype() == DType::Bool { Literal::from(true) } else { Literal::from(-1) };
                let ones = self.literal(ones, ty);
                self.emit(format!("arith.xori {x}, {ones} : {text}"))
            }
            UnaryOp::Exp => through_f32(self, "math.exp"),
            UnaryOp::Sqrt => through_f32(self, "math.sqrt"),
            UnaryOp::Rsqrt => through_f32(self, "math.rsqrt"),
            UnaryOp::Tanh => through_f32(self, "math.tanh"),
            other => unreachable!("`{other}` is not native"),
        }
    }

    pub(super) fn binary(&mut self, op: BinaryOp, left: Value, right: Value, result: Value) -> String {
        let ty = self.ty(left);
        if !ty.dtype().is_float() {
            if matches!(op, BinaryOp::Div | BinaryOp::Rem) {
                return self.divide(op, left, right);
            }
            let mnemonic = match op {
                BinaryOp::Add => "addi",
                BinaryOp::Sub => "subi",
                BinaryOp::Mul => "muli",
                BinaryOp::Min => "minsi",
                BinaryOp::Max => "maxsi",
                BinaryOp::And => "andi",
                BinaryOp::Or => "ori",
                BinaryOp::Xor => "xori",
                other => unreachable!("`{other}` is not native, or divides"),
            };
            let (left, right) = if op == BinaryOp::Add { self.product_last(left, right, result) } else { (left, right) };
            let (a, b) = (self.name(left), self.name(right));
            return self.emit(format!("arith.{mnemonic} {a}, {b} : {}", spelled(ty)));
        }
        let (left, right) = if op == BinaryOp::Add { self.product_last(left, right, result) } else { (left, right) };
        let (a, b) = (self.name(left), self.name(right));
        let mnemonic = match op {
            BinaryOp::Add => "addf",
            BinaryOp::Sub => "subf",
            BinaryOp::Mul => "mulf",
            BinaryOp::Div => "divf",
            BinaryOp::Rem => "remf",
            BinaryOp::Max => "maximumf",
            BinaryOp::Min => "minimumf",
            other => unreachable!("`{other}` is not native, or takes no floats"),
        };
        if ty.is_tile() && !matches!(op, BinaryOp::Div | BinaryOp::Rem) {
            return self.emit(format!("arith.{mnemonic} {a}, {b} : {}", spelled(ty)));
        }
        let ((a, wide), (b, _)) = (self.widen(&a, ty), self.widen(&b, ty));
        let result = self.emit(format!("arith.{mnemonic} {a}, {b} : {}", spelled(wide)));
        self.narrow(&result, ty)
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

    /// i32 division: by zero gives -1, its remainder the dividend; what the unit does then is not defined.
    fn divide(&mut self, op: BinaryOp, left: Value, right: Value) -> String {
        let (a, b, ty) = (self.name(left), self.name(right), self.ty(left));
        let text = spelled(ty);
        let mnemonic = if op == BinaryOp::Div { "divsi" } else { "remsi" };
        if self.literals.get(&right).and_then(|l| l.as_i32()).is_some_and(|n| n != 0) {
            return self.emit(format!("arith.{mnemonic} {a}, {b} : {text}"));
        }
        let (zero, one) = (self.literal(Literal::from(0), ty), self.literal(Literal::from(1), ty));
        let is_zero = self.emit(format!("arith.cmpi eq, {b}, {zero} : {text}"));
        let divisor = self.choose(&is_zero, &one, &b, ty);
        let result = self.emit(format!("arith.{mnemonic} {a}, {divisor} : {text}"));
        let by_zero = if op == BinaryOp::Div { self.literal(Literal::from(-1), ty) } else { a };
        self.choose(&is_zero, &by_zero, &result, ty)
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

    /// A comparison of two values of that type, as a mask. libtpu takes ordered predicates only.
    pub(super) fn compare(&mut self, op: CompareOp, a: &str, b: &str, ty: Type) -> String {
        let (text, mask) = (spelled(ty), ty.with_dtype(DType::Bool));
        let not = |f: &mut Self, x: &str| {
            let ones = f.literal(Literal::from(true), mask);
            f.emit(format!("arith.xori {x}, {ones} : {}", spelled(mask)))
        };
        match (ty.dtype(), op) {
            (DType::Bool, CompareOp::Eq) => {
                let differ = self.emit(format!("arith.xori {a}, {b} : {text}"));
                not(self, &differ)
            }
            (DType::Bool, _) => self.emit(format!("arith.xori {a}, {b} : {text}")),
            (DType::I32, op) => {
                let predicate = match op {
                    CompareOp::Eq => "eq",
                    CompareOp::Ne => "ne",
                    CompareOp::Lt => "slt",
                    CompareOp::Le => "sle",
                    CompareOp::Gt => "sgt",
                    CompareOp::Ge => "sge",
                };
                self.emit(format!("arith.cmpi {predicate}, {a}, {b} : {text}"))
            }
            (_, CompareOp::Ne) => {
                let same = self.compare(CompareOp::Eq, a, b, ty);
                not(self, &same)
            }
            (_, op) => {
                let predicate = match op {
                    CompareOp::Eq | CompareOp::Ne => "oeq",
                    CompareOp::Lt => "olt",
                    CompareOp::Le => "ole",
                    CompareOp::Gt => "ogt",
                    CompareOp::Ge => "oge",
                };
                self.emit(format!("arith.cmpf {predicate}, {a}, {b} : {text}"))
            }
        }
    }

    pub(super) fn select(&mut self, op: &Op) -> String {
        let [c, a, b] = [0, 1, 2].map(|at| self.name(op.operands[at]));
        let ty = self.ty(op.operands[1]);
        if ty.dtype() != DType::Bool {
            return self.choose(&c, &a, &b, ty);
        }
        // Masks cannot be selected: b ^ (c & (a ^ b)).
        let text = spelled(ty);
        let differ = self.emit(format!("arith.xori {a}, {b} : {text}"));
        let taken = self.emit(format!("arith.andi {c}, {differ} : {text}"));
        self.emit(format!("arith.xori {b}, {taken} : {text}"))
    }

    pub(super) fn cast(&mut self, operand: Value, to: DType) -> String {
        let (x, ty) = (self.name(operand), self.ty(operand));
        let want = ty.with_dtype(to);
        let convert = |f: &mut Self, mnemonic: &str| f.emit(format!("arith.{mnemonic} {x} : {} to {}", spelled(ty), spelled(want)));
        match (ty.dtype(), to) {
            (from, to) if from == to => x,
            (DType::Bool, to) => {
                let (one, zero) = (self.literal(Literal::from_f64(to, 1.0), want), self.literal(Literal::from_f64(to, 0.0), want));
                self.choose(&x, &one, &zero, want)
            }
            (from, DType::Bool) => {
                let zero = self.literal(Literal::from_f64(from, 0.0), ty);
                self.compare(CompareOp::Ne, &x, &zero, ty)
            }
            (DType::Bf16, DType::F32) => self.widen(&x, ty).0,
            (DType::F32, DType::Bf16) => self.narrow(&x, want),
            (DType::I32, DType::Bf16) if ty.is_scalar() => {
                let wide = convert(self, "sitofp");
                self.narrow(&wide, want)
            }
            (DType::I32, _) => convert(self, "sitofp"),
            (_, _) => convert(self, "fptosi"),
        }
    }
}
