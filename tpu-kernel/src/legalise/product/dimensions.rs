//! Products whose dimensions lie in another order, or are not all there.
//!
//! Rules: batch dimensions lead, in the order of the result; an operand without a dimension of its own gets one of 1 in
//! front of the contracted one. A matrix times a vector is the vector times the matrix, so that the result is a row:
//! turning a column into a row is what v4 cannot do.

use crate::ir::{DotDims, OpKind, Precision, Shape, Type, Value, infer};
use crate::legalise::lowering::{Lowering, Typed};
use crate::legalise::{Illegal, Rule};

pub(super) fn dot(
    lowering: &mut Lowering<'_>,
    a: Typed,
    b: Typed,
    dims: &DotDims,
    precision: Precision,
    result: Shape,
) -> Result<Value, Illegal> {
    let (lhs_batch, rhs_batch): (Vec<usize>, Vec<usize>) = dims.batch.iter().copied().unzip();
    let lhs_free = dims.lhs_free(a.ty.shape().rank());
    let rhs_free = dims.rhs_free(b.ty.shape().rank());
    let lhs = Side { tile: a, batch: lhs_batch, contract: dims.contract.0, free: lhs_free };
    let rhs = Side { tile: b, batch: rhs_batch, contract: dims.contract.1, free: rhs_free };
    // The one with no dimension of its own comes first.
    let (lhs, rhs) = if lhs_free.is_some() && rhs_free.is_none() { (rhs, lhs) } else { (lhs, rhs) };
    let batch = dims.batch.len();
    let (lhs, lhs_contract) = lhs.arranged(lowering)?;
    let (rhs, rhs_contract) = rhs.arranged(lowering)?;
    let leading = DotDims { contract: (lhs_contract, rhs_contract), batch: (0..batch).map(|at| (at, at)).collect() };
    let kind = OpKind::Dot { dims: leading, precision };
    let product = lowering.lower(&kind, &[lhs, rhs])?[0];
    if lowering.ty(product).shape() == result { Ok(product) } else { lowering.apply(OpKind::Reshape(result), &[product]) }
}

/// An operand with what its dimensions are.
struct Side {
    tile: Typed,
    batch: Vec<usize>,
    contract: usize,
    free: Option<usize>,
}

impl Side {
    /// The operand with leading batch dimensions, then its own and the contracted one as they lie, and where that is.
    fn arranged(self, lowering: &mut Lowering<'_>) -> Result<(Typed, usize), Illegal> {
        let batch = self.batch.len();
        let own_first = self.free.is_none_or(|free| free < self.contract);
        let mut order = self.batch;
        match self.free {
            Some(free) if own_first => order.extend([free, self.contract]),
            Some(free) => order.extend([self.contract, free]),
            None => order.push(self.contract),
        }
        let mut tile = self.tile;
        if !order.iter().copied().eq(0..order.len()) {
            tile = apply(lowering, OpKind::Transpose(order), tile)?;
        }
        if self.free.is_none() {
            let mut dims = tile.ty.shape().dims().to_vec();
            dims.insert(batch, 1);
            let Some(shape) = Shape::try_new(&dims) else {
                return Err(lowering.refuse(Rule::NoLowering(tile.ty.dtype())));
            };
            tile = apply(lowering, OpKind::Reshape(shape), tile)?;
        }
        Ok((tile, batch + usize::from(own_first)))
    }
}

/// An operation on a tile of the user's type.
fn apply(lowering: &mut Lowering<'_>, kind: OpKind, tile: Typed) -> Result<Typed, Illegal> {
    let value = lowering.lower(&kind, &[tile])?[0];
    let ty = infer(&kind, &[tile.ty]).ok().and_then(|types| types.first().copied());
    Ok(Typed { value, ty: ty.unwrap_or(Type::Tile(tile.ty.dtype(), lowering.ty(value).shape())) })
}
