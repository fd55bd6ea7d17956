//! Elements of scalar memory.
//!
//! Rules: they lie there in the type of the array, and are a word once they are loaded: what crosses is converted, exactly.

use crate::ir::{CompareOp, DType, Literal, OpKind, Type, Value};
use crate::legalise::lowering::{Lowering, Typed};
use crate::legalise::{Illegal, stored, word};

/// An element as what represents a scalar of its type.
pub(in crate::legalise) fn load(lowering: &mut Lowering<'_>, operands: &[Typed]) -> Result<Value, Illegal> {
    let values: Vec<Value> = operands.iter().map(|o| o.value).collect();
    let dtype = operands[0].ty.dtype();
    let loaded = lowering.emit(OpKind::LoadScalar, &values)[0];
    // Floats of 4 bits are read by their bits: a chip widens only tiles of them.
    let (loaded, held) = match stored(dtype) {
        DType::F4E2M1Fn => (lowering.emit(OpKind::Bitcast(DType::U4), &[loaded])[0], DType::U4),
        held => (loaded, held),
    };
    let wide = if word(held) == held { loaded } else { lowering.emit(OpKind::Cast(word(held)), &[loaded])[0] };
    match dtype {
        DType::Bool => {
            let zero = lowering.constant(Literal::from(0), None);
            lowering.apply(OpKind::Compare(CompareOp::Ne), &[wide, zero])
        }
        DType::F16 | DType::F4E2M1Fn => {
            Ok(lowering.lower(&OpKind::Bitcast(dtype), &[Typed { value: wide, ty: Type::Scalar(held) }])?[0])
        }
        _ => Ok(wide),
    }
}

/// The operands are the memory, the scalar and its place.
pub(in crate::legalise) fn store(lowering: &mut Lowering<'_>, operands: &[Typed]) -> Result<(), Illegal> {
    let mut values: Vec<Value> = operands.iter().map(|o| o.value).collect();
    let dtype = operands[0].ty.dtype();
    let held = stored(dtype);
    values[1] = match dtype {
        DType::Bool => lowering.cast(values[1], DType::I32)?,
        DType::F16 => lowering.lower(&OpKind::Bitcast(held), &operands[1..2])?[0],
        _ => values[1],
    };
    if word(held) != held {
        values[1] = lowering.emit(OpKind::Cast(held), &values[1..2])[0];
    }
    lowering.emit(OpKind::StoreScalar, &values);
    Ok(())
}
