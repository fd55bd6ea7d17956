//! Conversions and other readings of bits.

use super::Row;
use super::meaning::{Meaning, Sign, dims, dtypes, operation};
use tpu_kernel::ir::{DType, OpKind, Shape, Type};

pub(super) fn meanings(row: &Row) -> Vec<Meaning> {
    let Some(shape) = dims(row.shape).map(|dims| Shape::new(&dims)) else { return vec![] };
    let Some((name, to)) = row.op.split_once(" to ") else { return vec![] };
    let (name, mode) = name.split_once(' ').unwrap_or((name, ""));
    let tile = |d: DType| Type::Tile(d, shape);
    match (name, mode) {
        ("arith.bitcast" | "tpu.bitcast" | "vector.bitcast", _) if !row.extra.starts_with("lanes") => {
            bitcasts(name, row.ty, to, tile)
        }
        // Conversion to an integer truncates, of anything else it rounds to nearest.
        ("tpu.fptosi" | "tpu.fptoui", "nearest") | ("tpu.truncf", "zero") => vec![],
        _ => conversions(name, row.ty, to, tile),
    }
}

/// `extsi` and the like, from one type to another. Of a mask, one that is set is 1, not -1, and what is not 0 becomes one.
pub(super) fn conversions(name: &'static str, from: &str, to: &str, ty: impl Fn(DType) -> Type) -> Vec<Meaning> {
    use Sign::{Either, Signed, Unsigned};
    let (source, target) = match name.split_once('.').map_or(name, |(_, op)| op) {
        "extf" | "truncf" => (Either, Either),
        "sitofp" if from != "i1" => (Signed, Either),
        "uitofp" => (Unsigned, Either),
        "fptosi" if to != "i1" => (Either, Signed),
        "fptoui" if to != "i1" => (Either, Unsigned),
        "extsi" if from != "i1" => (Signed, Either),
        "extui" => (Unsigned, Either),
        "trunci" if to != "i1" => (Either, Either),
        _ => return vec![],
    };
    let mut all = vec![];
    for from in dtypes(from, source) {
        for to in dtypes(to, target) {
            all.extend(operation(name, OpKind::Cast(to), &[ty(from)]));
        }
    }
    all
}

pub(super) fn bitcasts(name: &'static str, from: &str, to: &str, ty: impl Fn(DType) -> Type) -> Vec<Meaning> {
    let mut all = vec![];
    for from in dtypes(from, Sign::Either) {
        for to in dtypes(to, Sign::Either) {
            all.extend(operation(name, OpKind::Bitcast(to), &[ty(from)]));
        }
    }
    all
}
