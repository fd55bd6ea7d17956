//! Arithmetic, functions, comparison and selection, on tiles and on scalars.

use super::Row;
use super::meaning::{Meaning, Sign, computing, dims, dtypes, operation};
use tpu_kernel::ir::{BinaryOp, CompareOp, DType, OpKind, Shape, Type, UnaryOp};

pub(super) fn meanings(row: &Row) -> Vec<Meaning> {
    if row.group == "scalar" {
        return scalars(row);
    }
    let Some(shape) = dims(row.shape).map(|dims| Shape::new(&dims)) else { return vec![] };
    match (row.op, row.extra) {
        ("select", "scalar condition") => vec![],
        ("select", from) => masks_of(row, from, shape),
        ("cmp+select", _) => each(row.ty, Sign::Signed, |d| Some(compare_and_select(d, shape))),
        ("arith.select", "select of masks") => {
            operation("arith.select", OpKind::Select, &[Type::Tile(DType::Bool, shape); 3]).into_iter().collect()
        }
        ("add", _) => {
            let name = if row.ty.starts_with(['f', 'b']) { "arith.addf" } else { "arith.addi" };
            each(row.ty, Sign::Either, |d| operation(name, OpKind::Binary(BinaryOp::Add), &[Type::Tile(d, shape); 2]))
        }
        _ => operations(row, |d| Type::Tile(d, shape)),
    }
}

fn each(ty: &str, sign: Sign, f: impl Fn(DType) -> Option<Meaning>) -> Vec<Meaning> {
    dtypes(ty, sign).into_iter().filter_map(f).collect()
}

fn compare_and_select(dtype: DType, shape: Shape) -> Meaning {
    let ty = Type::Tile(dtype, shape);
    computing("arith.select", &[ty, ty], ty, |w, x| {
        let mask = w.op(OpKind::Compare(CompareOp::Gt), x);
        w.op(OpKind::Select, &[mask, x[0], x[1]])
    })
}

/// `mask from bf16 compare`: a mask of one type selects of another.
fn masks_of(row: &Row, from: &str, shape: Shape) -> Vec<Meaning> {
    let Some(from) = from.strip_prefix("mask from ").and_then(|rest| rest.strip_suffix(" compare")) else { return vec![] };
    let mut all = vec![];
    for mask in dtypes(from, Sign::Signed) {
        for dtype in dtypes(row.ty, Sign::Either) {
            let (mask, ty) = (Type::Tile(mask, shape), Type::Tile(dtype, shape));
            all.push(computing("arith.select", &[mask, mask, ty, ty], ty, |w, x| {
                let mask = w.op(OpKind::Compare(CompareOp::Gt), &x[..2]);
                w.op(OpKind::Select, &[mask, x[2], x[3]])
            }));
        }
    }
    all
}

fn scalars(row: &Row) -> Vec<Meaning> {
    operations(row, Type::Scalar)
}

/// The operation of that name on operands of one type.
fn operations(row: &Row, ty: impl Fn(DType) -> Type) -> Vec<Meaning> {
    let name = row.op;
    if let Some((kinds, sign)) = comparison(row) {
        return each(row.ty, sign, |d| {
            let operands = [ty(d); 2];
            if row.group == "compare" && !row.extra.starts_with("mask") {
                return None;
            }
            match row.extra {
                "mask to i32 by extui" => operation(kinds.0, OpKind::Compare(kinds.1), &operands),
                _ => Some(computing(kinds.0, &operands, ty(d), |w, x| {
                    let mask = w.op(OpKind::Compare(kinds.1), x);
                    w.op(OpKind::Select, &[mask, x[0], x[1]])
                })),
            }
        });
    }
    if let Some((op, sign)) = unary(name, row.extra) {
        return each(row.ty, sign, |d| operation(name, OpKind::Unary(op), &[ty(d)]));
    }
    if let Some((op, sign)) = binary(name) {
        return each(row.ty, sign, |d| operation(name, OpKind::Binary(op), &[ty(d); 2]));
    }
    if row.group == "scalar" { scalar_casts(row) } else { vec![] }
}

/// `arith.cmpf` with `olt` in the extra, or in the name.
fn comparison(row: &Row) -> Option<((&'static str, CompareOp), Sign)> {
    let predicate = match row.op {
        "arith.cmpf" | "arith.cmpi" if row.group == "scalar" => "olt",
        "arith.cmpf" | "arith.cmpi" => row.extra,
        _ => row.op.strip_prefix("arith.cmpf ").or_else(|| row.op.strip_prefix("arith.cmpi "))?,
    };
    use CompareOp::{Eq, Ge, Gt, Le, Lt, Ne};
    use Sign::{Either, Signed, Unsigned};
    // An `is not equal` that is ordered, and the unordered ones but `une`, are no comparison of the language.
    Some(match predicate {
        "oeq" => (("arith.cmpf oeq", Eq), Either),
        "une" => (("arith.cmpf une", Ne), Either),
        "olt" => (("arith.cmpf olt", Lt), Either),
        "ole" => (("arith.cmpf ole", Le), Either),
        "ogt" => (("arith.cmpf ogt", Gt), Either),
        "oge" => (("arith.cmpf oge", Ge), Either),
        "eq" => (("arith.cmpi eq", Eq), Either),
        "ne" => (("arith.cmpi ne", Ne), Either),
        "slt" => (("arith.cmpi slt", Lt), Signed),
        "sle" => (("arith.cmpi sle", Le), Signed),
        "sgt" => (("arith.cmpi sgt", Gt), Signed),
        "sge" => (("arith.cmpi sge", Ge), Signed),
        "ult" if row.ty != "i1" => (("arith.cmpi ult", Lt), Unsigned),
        "ule" => (("arith.cmpi ule", Le), Unsigned),
        "ugt" if row.ty.starts_with('i') => (("arith.cmpi ugt", Gt), Unsigned),
        "uge" if row.ty.starts_with('i') => (("arith.cmpi uge", Ge), Unsigned),
        _ => return None,
    })
    .filter(|_| !(row.op.contains("cmpf") && predicate.starts_with('u') && predicate != "une"))
}

fn unary(name: &str, extra: &str) -> Option<(UnaryOp, Sign)> {
    let op = match name {
        "arith.negf" => UnaryOp::Neg,
        "math.absf" => UnaryOp::Abs,
        "math.absi" => return Some((UnaryOp::Abs, Sign::Signed)),
        "math.ctlz" => UnaryOp::Clz,
        "math.ctpop" => UnaryOp::Popcount,
        "math.roundeven" => UnaryOp::RoundEven,
        "math.isnan" => UnaryOp::IsNan,
        "math.isfinite" => UnaryOp::IsFinite,
        "tpu.logistic" => UnaryOp::Logistic,
        "tpu.reciprocal" if extra.is_empty() => UnaryOp::Recip,
        "tpu.reciprocal" if extra.starts_with("{approx = true}") => UnaryOp::RecipApprox,
        _ => UnaryOp::from_name(name.strip_prefix("math.")?)?,
    };
    Some((op, Sign::Either))
}

fn binary(name: &str) -> Option<(BinaryOp, Sign)> {
    use BinaryOp::{Add, And, Div, FloorDiv, Max, Min, Mul, Or, Rem, Shl, Shr, ShrLogical, Sub, Xor};
    use Sign::{Either, Signed, Unsigned};
    Some(match name {
        "arith.addf" | "arith.addi" => (Add, Either),
        "arith.subf" | "arith.subi" => (Sub, Either),
        "arith.mulf" | "arith.muli" => (Mul, Either),
        "arith.divf" => (Div, Either),
        "arith.divsi" => (Div, Signed),
        "arith.divui" => (Div, Unsigned),
        "arith.remf" => (Rem, Either),
        "arith.remsi" => (Rem, Signed),
        "arith.remui" => (Rem, Unsigned),
        "arith.floordivsi" => (FloorDiv, Signed),
        "arith.maximumf" => (Max, Either),
        "arith.minimumf" => (Min, Either),
        "arith.maxsi" => (Max, Signed),
        "arith.minsi" => (Min, Signed),
        "arith.maxui" => (Max, Unsigned),
        "arith.minui" => (Min, Unsigned),
        "arith.andi" => (And, Either),
        "arith.ori" => (Or, Either),
        "arith.xori" => (Xor, Either),
        "arith.shli" => (Shl, Either),
        "arith.shrsi" => (Shr, Signed),
        "arith.shrui" => (ShrLogical, Either),
        "math.powf" => (BinaryOp::Pow, Either),
        "math.atan2" => (BinaryOp::Atan2, Either),
        "math.copysign" => (BinaryOp::Copysign, Either),
        _ => return None,
    })
}

/// Conversions of scalars.
fn scalar_casts(row: &Row) -> Vec<Meaning> {
    let (name, to) = row.op.split_once(" to ").unwrap_or((row.op, "i32"));
    if let Some(to) = row.op.strip_prefix("arith.bitcast ") {
        return super::casts::bitcasts("arith.bitcast", row.ty, to, Type::Scalar);
    }
    super::casts::conversions(name, row.ty, to, Type::Scalar)
}
