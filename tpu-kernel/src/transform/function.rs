//! A function on each element: a small region of IR, recorded once on a tile of one element and put
//! into kernels at any shape.
//!
//! Rules: only operations that treat every element alike and alone are allowed, so that the shape does
//! not matter; two functions are the same where their operations, types and places are.

use super::TransformError;
use crate::ir::{DType, Kernel, Op, OpKind, Region, Shape, Type, Value};
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// A function on each element.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    // First: what differs most often is compared first.
    hash: u64,
    input: DType,
    output: DType,
    arg: Value,
    result: Value,
    ops: Vec<Op>,
    /// The type of each value, by number.
    types: Vec<Type>,
}

/// Equality is of IR, whose constants are bits.
impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// The shape that a function is recorded on.
pub(crate) fn one_element() -> Shape {
    Shape::new(&[1, 1])
}

impl Function {
    /// The function that a region computes: one argument and one result, tiles of one element. `types` has the
    /// type of each value, `operand` names what the function is for.
    pub(crate) fn new(region: Region, types: &[Type], operand: &str) -> Result<Function, TransformError> {
        let refuse =
            |op: &Op| TransformError::NotElementwise { operand: operand.to_string(), operation: name(op), loc: op.loc.clone() };
        for op in &region.ops {
            let allowed = match &op.kind {
                OpKind::Const(_) | OpKind::Unary(_) | OpKind::Binary(_) | OpKind::Compare(_) | OpKind::Select => true,
                // Between widths a bitcast changes the shape, which is refused below.
                OpKind::Cast(_) | OpKind::Bitcast(_) | OpKind::StochasticRound(_) => true,
                OpKind::Broadcast(to) => *to == one_element(),
                // Whatever sees more than one element, or tells elements apart.
                _ => false,
            };
            let fits = |v: &Value| match types[v.0 as usize] {
                Type::Tile(_, shape) => shape == one_element(),
                Type::Scalar(_) => true,
                Type::Ref(..) | Type::Array(..) | Type::Semaphore(..) => false,
            };
            if !(allowed && op.regions.is_empty() && op.results.iter().all(fits)) {
                return Err(refuse(op));
            }
        }
        let (arg, result) = (region.args[0], region.yields[0]);
        let mut hasher = DefaultHasher::new();
        for op in &region.ops {
            (&op.kind, &op.operands, &op.loc).hash(&mut hasher);
        }
        let (input, output) = (types[arg.0 as usize].dtype(), types[result.0 as usize].dtype());
        (input, output, result).hash(&mut hasher);
        Ok(Function { input, output, arg, result, ops: region.ops, types: types.to_vec(), hash: hasher.finish() })
    }

    /// The element type that it takes.
    pub const fn input(&self) -> DType {
        self.input
    }

    /// The element type that it gives.
    pub const fn output(&self) -> DType {
        self.output
    }

    /// Appends the function of `value`, a tile of its element type, to `out`; the result, a tile of the same shape.
    pub(super) fn apply(&self, kernel: &mut Kernel, value: Value, out: &mut Vec<Op>) -> Value {
        let shape = kernel.ty(value).shape();
        let mut values = HashMap::from([(self.arg, value)]);
        for op in &self.ops {
            let kind = match &op.kind {
                OpKind::Broadcast(_) => OpKind::Broadcast(shape),
                kind => kind.clone(),
            };
            let operands = op.operands.iter().map(|v| values[v]).collect();
            let mut results = vec![];
            for &result in &op.results {
                let ty = match self.types[result.0 as usize] {
                    Type::Tile(dtype, _) => Type::Tile(dtype, shape),
                    ty => ty,
                };
                let new = kernel.new_value(ty);
                values.insert(result, new);
                results.push(new);
            }
            out.push(Op { kind, operands, results, regions: vec![], loc: op.loc.clone() });
        }
        values[&self.result]
    }
}

fn name(op: &Op) -> String {
    op.kind.mnemonic().to_string()
}
