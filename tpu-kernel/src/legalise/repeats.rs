//! Which tiles libtpu keeps as one row or one column that stands for all.
//!
//! Rules: a constant has every row and every column the same, so that libtpu keeps one of each; a sum along the last dimension has
//! one column. It lays out what a loop carries by how the carried values begin, passes over the body once more where they go
//! on otherwise, and then no more: a value that comes to be repeated only in that second pass is an error ("Sublane
//! broadcast", "Invalid relayout"). Such a value begins as a selection that libtpu cannot see through.

use super::Illegal;
use super::lowering::{Lowering, Typed};
use crate::chips::SUBLANES;
use crate::ir::{BinaryOp, CompareOp, DType, Literal, Op, OpKind, Region, Shape, Type, Value};
use std::collections::HashMap;

/// Whether all rows of a tile are one, and all columns.
pub(super) type Repeats = [bool; 2];

/// Of the result of an operation on tiles. It is what libtpu does, as far as that is known; elsewhere each element is kept.
pub(super) fn of_op(kind: &OpKind, operands: &[(Type, Repeats)]) -> Repeats {
    let tiles = || operands.iter().filter(|(ty, _)| ty.is_tile()).map(|&(_, repeats)| repeats);
    let all = || tiles().fold([true; 2], |[a, b], [c, d]| [a && c, b && d]);
    match (kind, operands) {
        (OpKind::Unary(_) | OpKind::Binary(_) | OpKind::Compare(_) | OpKind::Select, _) => all(),
        (OpKind::Cast(_) | OpKind::Slice { .. }, _) => all(),
        (OpKind::Reshape(_), _) => [all() == [true; 2]; 2],
        (OpKind::Broadcast(to), &[(Type::Tile(_, from), repeats)]) => {
            let stretched = |back: usize| extent(from, back) != extent(*to, back);
            [repeats[0] || stretched(1), repeats[1] || stretched(0)]
        }
        (OpKind::Broadcast(_), _) => [true; 2],
        (OpKind::Reduce { axis, .. }, &[(ty, repeats)]) => {
            let back = ty.shape().rank() - 1 - axis;
            [repeats[0] || back == 1, repeats[1] || back == 0]
        }
        _ => [false; 2],
    }
}

/// The extent of the last dimension but so many.
fn extent(shape: Shape, back: usize) -> usize {
    shape.rank().checked_sub(back + 1).map_or(1, |axis| shape.dim(axis))
}

impl Lowering<'_> {
    /// What a loop carries first, so that libtpu finds a layout for it; `body` is its body, whose arguments from `first` on are
    /// carried.
    pub(super) fn settled(&mut self, body: &Region, first: usize, inits: &[Value]) -> Result<Vec<Value>, Illegal> {
        let mut begins: Vec<Repeats> = inits.iter().map(|&v| self.repeats(v)).collect();
        let mut spread = vec![false; inits.len()];
        loop {
            let once = self.passed(body, first, &begins);
            let twice = self.passed(body, first, &once);
            if once == twice {
                break;
            }
            for at in (0..inits.len()).filter(|&at| once[at] != twice[at]) {
                (begins[at], spread[at]) = ([false; 2], true);
            }
        }
        let inits = inits.iter().zip(spread);
        inits.map(|(&init, spread)| if spread { self.spread(init) } else { Ok(init) }).collect()
    }

    /// The arguments of a body begin as what is carried first.
    pub(super) fn carried(&mut self, args: &[Value], inits: &[Value]) {
        for (&arg, &init) in args.iter().zip(inits) {
            self.repeats.insert(arg, self.repeats(init));
        }
    }

    /// What is carried is repeated only as long as all that follows it is.
    fn passed(&self, body: &Region, first: usize, carried: &[Repeats]) -> Vec<Repeats> {
        let mut known: HashMap<Value, Repeats> = body.args[first..].iter().copied().zip(carried.iter().copied()).collect();
        self.follow(&body.ops, &mut known);
        let next = |value: &Value| known.get(value).copied().unwrap_or_else(|| self.repeats(*value));
        carried
            .iter()
            .zip(&body.yields)
            .map(|(&[a, b], value)| (next(value), a, b))
            .map(|([c, d], a, b)| [a && c, b && d])
            .collect()
    }

    fn follow(&self, ops: &[Op], known: &mut HashMap<Value, Repeats>) {
        for op in ops {
            let &[result] = op.results.as_slice() else { continue };
            if op.regions.is_empty() {
                let one = |&v: &Value| (self.ty(v), known.get(&v).copied().unwrap_or_else(|| self.repeats(v)));
                let operands: Vec<(Type, Repeats)> = op.operands.iter().map(one).collect();
                known.insert(result, of_op(&op.kind, &operands));
            }
        }
    }

    /// A column that is repeated, where it comes from a reshape that cut or joined rows, or from few rows of half floats: libtpu may
    /// hold it in short tiles, of which it repeats none.
    pub(super) fn cut_column(&mut self, kind: &OpKind, of: Typed) -> Result<Option<Value>, Illegal> {
        let column = of.value;
        let (OpKind::Broadcast(to), Type::Tile(dtype, shape)) = (kind, self.ty(column)) else { return Ok(None) };
        let stretched = shape.rank() > 1 && (extent(shape, 0), extent(*to, 0) > 1) == (1, true);
        let cut = match self.reordered.get(&column) {
            Some(&before) => extent(self.ty(before).shape(), 1) != extent(shape, 1),
            None => of.ty.dtype() == DType::F16 && extent(shape, 1) < SUBLANES,
        };
        let constant = self.literal_of(self.before_reshapes(column)).is_some();
        if !stretched || !cut || constant || dtype.bits() < 32 {
            return Ok(None);
        }
        self.spread(column).map(Some)
    }

    /// The same tile with a place for each element: chosen by numbers that are counted, and never negative.
    fn spread(&mut self, tile: Value) -> Result<Value, Illegal> {
        let shape = self.ty(tile).shape();
        if shape.rank() < 2 {
            return Ok(tile);
        }
        let [row, column] = [2, 1].map(|back| OpKind::Iota { shape, axis: shape.rank() - back });
        let (row, column) = (self.apply(row, &[])?, self.apply(column, &[])?);
        let place = self.apply(OpKind::Binary(BinaryOp::Add), &[row, column])?;
        let zero = self.constant(Literal::from(0), Some(shape));
        let here = self.apply(OpKind::Compare(CompareOp::Ge), &[place, zero])?;
        // A choice between equal constants is none.
        let constant = self.literal_of(self.before_reshapes(tile));
        let other = u32::from(constant.is_some_and(|literal| literal.bits() == 0));
        let other = self.constant(Literal::from_bits(self.ty(tile).dtype(), other), Some(shape));
        self.apply(OpKind::Select, &[here, tile, other])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::ReduceOp;

    #[test]
    fn rows_and_columns_are_repeated_by_what_makes_them() {
        let column = Type::Tile(DType::F32, Shape::new(&[8, 1]));
        let tile = Type::Tile(DType::F32, Shape::new(&[8, 128]));
        let wide = OpKind::Broadcast(Shape::new(&[8, 128]));
        assert_eq!(of_op(&wide, &[(column, [false; 2])]), [false, true]);
        assert_eq!(of_op(&wide, &[(Type::Scalar(DType::F32), [false; 2])]), [true; 2]);
        assert_eq!(of_op(&OpKind::Reduce { op: ReduceOp::Sum, axis: 0 }, &[(tile, [false; 2])]), [true, false]);
        assert_eq!(of_op(&OpKind::Binary(BinaryOp::Add), &[(tile, [true; 2]), (tile, [true, false])]), [true, false]);
    }
}
