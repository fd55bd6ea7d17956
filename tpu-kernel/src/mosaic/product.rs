//! Matrix products.
//!
//! Rules: the accumulator is always fresh zeros, never a value that a loop carries (libtpu dies of it).
//! The matrix unit has no i32: its operands are cut into four signed bytes each, and the ten products
//! of bytes that reach the low 32 bits are added at their places, which is exact where i32 wraps.

use super::function::{Function, spelled};
use crate::ir::{DType, Literal, Op, Precision, Shape, Type};
use crate::legalise::{Illegal, Rule};

/// Which dimensions a product contracts and keeps, and its precision, as the attributes of `tpu.matmul`.
struct Form {
    attributes: String,
    result: Type,
}

impl Function<'_> {
    pub(super) fn dot(&mut self, op: &Op, lhs_t: bool, rhs_t: bool, precision: Precision) -> Result<String, Illegal> {
        let &[result] = op.results.as_slice() else { return Err(self.refuse(op, Rule::Unverified("it must have one result"))) };
        let (a, b) = (self.ty(op.operands[0]), self.ty(op.operands[1]));
        let (lhs, rhs) = (usize::from(!lhs_t), usize::from(rhs_t));
        let (rows, columns) = (1 - lhs, 1 - rhs);
        let dims = format!("<[{lhs}], [{rhs}], [{rows}], [{columns}], [0, {rows}, 1, {columns}], [], []>");
        let precision = match (a.dtype(), precision) {
            (DType::F32, Precision::Highest) => ", precision = #tpu.contract_precision<fp32>",
            (DType::F32, Precision::High) => ", precision = #tpu.contract_precision<bf16x3>",
            _ => "",
        };
        let attributes = format!("{{dimension_numbers = #tpu.dot_dimension_numbers{dims}, transpose_lhs_hint = false{precision}}}");
        let form = Form { attributes, result: self.ty(result) };
        let [left, right] = [0, 1].map(|at| self.name(op.operands[at]));
        if a.dtype() != DType::I32 {
            return Ok(self.matmul(&left, &spelled(a), &right, &spelled(b), &form));
        }
        if !self.chip.int8_products {
            let rule = Rule::Product { lhs: a.dtype(), rhs: b.dtype(), products: self.chip.products() };
            return Err(self.refuse(op, rule));
        }
        Ok(self.integer_product((&left, a.shape()), (&right, b.shape()), &form))
    }

    fn matmul(&mut self, a: &str, a_type: &str, b: &str, b_type: &str, form: &Form) -> String {
        let zero = self.literal(Literal::from_f64(form.result.dtype(), 0.0), form.result);
        let result = spelled(form.result);
        self.emit(format!("tpu.matmul {a}, {b}, {zero} {} : {a_type}, {b_type}, {result} -> {result}", form.attributes))
    }

    /// Lowest place first; each place gathers the products of bytes that belong there.
    fn integer_product(&mut self, a: (&str, Shape), b: (&str, Shape), form: &Form) -> String {
        let (left, right) = (self.bytes(a.0, a.1), self.bytes(b.0, b.1));
        let [a_type, b_type] = [a.1, b.1].map(|shape| format!("vector<{shape}xi8>"));
        let text = spelled(form.result);
        let mut sum: Option<String> = None;
        for place in (0..4).rev() {
            if let Some(higher) = sum {
                let radix = self.literal(Literal::from(256), form.result);
                sum = Some(self.emit(format!("arith.muli {higher}, {radix} : {text}")));
            }
            for at in 0..=place {
                let product = self.matmul(&left[at], &a_type, &right[place - at], &b_type, form);
                sum = Some(match sum {
                    None => product,
                    Some(sum) => self.emit(format!("arith.addi {sum}, {product} : {text}")),
                });
            }
        }
        sum.unwrap_or_default()
    }

    /// The signed bytes of an i32 tile, lowest first: x = d0 + 256·d1 + 65536·d2 + 16777216·d3, where i32 wraps.
    fn bytes(&mut self, x: &str, shape: Shape) -> [String; 4] {
        let (wide, narrow) = (spelled(Type::Tile(DType::I32, shape)), format!("vector<{shape}xi8>"));
        let mut rest = x.to_string();
        let mut digits = [const { String::new() }; 4];
        for (place, digit) in digits.iter_mut().enumerate() {
            *digit = self.emit(format!("arith.trunci {rest} : {wide} to {narrow}"));
            if place < 3 {
                let low = self.emit(format!("arith.extsi {digit} : {narrow} to {wide}"));
                let high = self.emit(format!("arith.subi {rest}, {low} : {wide}"));
                let eight = self.literal(Literal::from(8), Type::Tile(DType::I32, shape));
                rest = self.emit(format!("arith.shrsi {high}, {eight} : {wide}"));
            }
        }
        digits
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    /// The digits and places of [`super::Function::integer_product`], on numbers.
    fn product(a: i32, b: i32) -> i32 {
        let bytes = |mut x: i32| {
            std::array::from_fn::<i32, 4, _>(|_| {
                let digit = x as i8;
                x = x.wrapping_sub(i32::from(digit)) >> 8;
                i32::from(digit)
            })
        };
        let (a, b) = (bytes(a), bytes(b));
        (0..4)
            .rev()
            .fold(0i32, |sum, place| (0..=place).fold(sum.wrapping_mul(256), |sum, at| sum.wrapping_add(a[at] * b[place - at])))
    }

    proptest! {
        #[test]
        fn bytes_multiply_as_i32_wraps(a: i32, b: i32) {
            prop_assert_eq!(product(a, b), a.wrapping_mul(b));
        }
    }

    #[test]
    fn extremes_multiply_too() {
        for a in [i32::MIN, i32::MAX, -1, 0, 1, 127, 128, -128, -129, 0x7f7f_7f7f, 0x8080_8080u32 as i32] {
            for b in [i32::MIN, i32::MAX, -1, 255, 256, 65_535, 0x7fff_ff80] {
                assert_eq!(product(a, b), a.wrapping_mul(b), "{a} {b}");
            }
        }
    }
}
