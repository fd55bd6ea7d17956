//! The pure operations in scope, by what they compute.

use crate::ir::{BinaryOp, CompareOp, OpKind, Type, Value};
use std::collections::HashMap;

type Key = (OpKind, Vec<Value>, Type);

/// A scoped table: what a region adds is forgotten when it closes, what encloses it is seen inside.
#[derive(Default)]
pub(super) struct Table {
    values: HashMap<Key, Value>,
    /// Keys added in each open region.
    scopes: Vec<Vec<Key>>,
}

impl Table {
    pub(super) fn open(&mut self) {
        self.scopes.push(vec![]);
    }

    pub(super) fn close(&mut self) {
        for key in self.scopes.pop().unwrap_or_default() {
            self.values.remove(&key);
        }
    }

    /// The value that is the same already, or `None` after noting that `value` is it.
    pub(super) fn find(&mut self, kind: &OpKind, operands: &[Value], ty: Type, value: Value) -> Option<Value> {
        let mut operands = operands.to_vec();
        if commutes(kind) {
            operands.sort_unstable();
        }
        let key = (kind.clone(), operands, ty);
        if let Some(&found) = self.values.get(&key) {
            return Some(found);
        }
        self.values.insert(key.clone(), value);
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(key);
        }
        None
    }
}

fn commutes(kind: &OpKind) -> bool {
    match kind {
        OpKind::Binary(op) => match op {
            BinaryOp::Add | BinaryOp::Mul | BinaryOp::Min | BinaryOp::Max | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => true,
            BinaryOp::Sub | BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorMod => false,
            BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Hypot | BinaryOp::Copysign | BinaryOp::NextAfter => false,
            BinaryOp::Shl | BinaryOp::Shr | BinaryOp::ShrLogical => false,
        },
        OpKind::Compare(op) => matches!(op, CompareOp::Eq | CompareOp::Ne),
        _ => false,
    }
}
