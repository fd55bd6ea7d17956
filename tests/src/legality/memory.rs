//! Loads and stores, scalars, and what control flow hands on.

use super::Row;
use super::meaning::{Draft, Meaning, Sign, computing, dims, dtypes, operation};
use crate::kernels::Writer;
use tpu_kernel::ir::{BinaryOp, CompareOp, DType, Literal, OpKind, Shape, Type, Value};

pub(super) fn meanings(row: &Row) -> Vec<Meaning> {
    let Some(shape) = dims(row.shape) else { return vec![] };
    let found = match row.group {
        "loadstore" => memory(row, &shape),
        "dynindex" => dynamic(row, &shape),
        _ => control(row, &shape),
    };
    found.unwrap_or_default()
}

fn each(ty: &str, f: impl Fn(DType) -> Option<Meaning>) -> Option<Vec<Meaning>> {
    Some(dtypes(ty, Sign::Either).into_iter().filter_map(f).collect())
}

/// Where a part begins, dimension by dimension.
#[derive(Clone, Copy)]
enum Start {
    At(i32),
    /// A scalar of the launch times this.
    Multiple(i32),
}

/// A part that is loaded from an array and stored whole, or loaded whole and stored into one.
fn part(dtype: DType, array: &[usize], part: &[usize], starts: &[Start], store: bool) -> Option<Meaning> {
    if array.len() != part.len() || array.iter().zip(part).any(|(a, p)| p > a) {
        return None;
    }
    let mut draft = Draft::new();
    let (from, to) = if store { (part, array) } else { (array, part) };
    let x = draft.input(dtype, from);
    let n = draft.w.scalar("n", DType::I32);
    let o = draft.output(dtype, to);
    let w = &mut draft.w;
    let starts: Vec<Value> = starts
        .iter()
        .map(|start| match *start {
            Start::At(at) => w.constant(at),
            Start::Multiple(1) => n,
            Start::Multiple(by) => {
                let by = w.constant(by);
                w.binary(BinaryOp::Mul, n, by)
            }
        })
        .collect();
    if store {
        let tile = w.load(x);
        w.effect(OpKind::Store, &[&[o, tile], &starts[..]].concat());
    } else {
        let tile = w.load_at(x, part, &starts);
        w.store(o, tile);
    }
    Some(draft.spelled(if store { "vector.store" } else { "vector.load" }, &[Type::Tile(dtype, Shape::new(part))]))
}

fn memory(row: &Row, shape: &[usize]) -> Option<Vec<Meaning>> {
    let store = row.op.starts_with("store");
    let at = |text: &str| text.split(',').map(|n| n.parse().ok().map(Start::At)).collect::<Option<Vec<Start>>>();
    let multiple = || match row.extra {
        "k*32 without assume" => Some(32),
        extra => extra.strip_prefix("multiple ")?.parse().ok(),
    };
    match row.op {
        "copy" | "copy_unsigned_tensor" => {
            let starts = vec![Start::At(0); shape.len()];
            each(row.ty, |d| part(d, shape, shape, &starts, false))
        }
        "const_store" if row.ty != "i1" => each(row.ty, |d| {
            let one = Literal::from_f64(d, 1.0);
            let out = Type::Tile(d, Shape::new(shape));
            Some(computing("arith.constant dense<1", &[], out, |w, _| w.filled(one, shape)))
        }),
        "load_static" | "store_static" | "load_1d" | "store_1d" => {
            let (starts, array) = row.extra.strip_prefix("at ")?.split_once(" of ")?;
            let (starts, array) = (at(starts)?, dims(array)?);
            each(row.ty, |d| part(d, &array, shape, &starts, store))
        }
        "load_dynrow" | "store_dynrow" => {
            // Of one row of columns there is one array that was tried with a computed start.
            let array = if row.extra.starts_with('k') { [64, 128] } else { [64, 512] };
            let by = multiple()?;
            each(row.ty, |d| part(d, &array, shape, &[Start::Multiple(by), Start::At(0)], store))
        }
        "load_dyncol" | "store_dyncol" => {
            let by = multiple()?;
            each(row.ty, |d| part(d, &[64, 512], shape, &[Start::At(0), Start::Multiple(by)], store))
        }
        "load_dynlead" | "store_dynlead" => {
            each(row.ty, |d| part(d, &[6, 8, 128], shape, &[Start::Multiple(1), Start::At(0), Start::At(0)], store))
        }
        "vector.extract" => {
            let at = match row.extra.strip_prefix("scalar at ") {
                Some(at) => at.strip_suffix(" -> smem")?.split(", ").map(|n| n.parse().ok()).collect::<Option<Vec<usize>>>()?,
                None => vec![0, 0],
            };
            each(row.ty, |d| operation("vector.extract", OpKind::Extract(at.clone()), &[Type::Tile(d, Shape::new(shape))]))
        }
        // A mask's scalar comes as a word.
        "smem_broadcast" if row.ty != "i1" => {
            each(row.ty, |d| operation("vector.broadcast", OpKind::Broadcast(Shape::new(shape)), &[Type::Scalar(d)]))
        }
        _ => None,
    }
}

fn dynamic(row: &Row, shape: &[usize]) -> Option<Vec<Meaning>> {
    let store = row.op == "vector.store row";
    match row.op {
        "vector.load row" | "vector.store row" => {
            let (rows, by) = row.extra.split_once(" rows, multiple ")?;
            let (rows, by) = (rows.parse().ok()?, by.parse().ok()?);
            each(row.ty, |d| part(d, shape, &[rows, shape[1]], &[Start::Multiple(by), Start::At(0)], store))
        }
        "vector.load 1-D" => {
            let (count, by) = row.extra.split_once(" elements, multiple ")?;
            let (count, by) = (count.parse().ok()?, by.parse().ok()?);
            each(row.ty, |d| part(d, shape, &[count], &[Start::Multiple(by)], false))
        }
        "vector.load" => {
            let (tile, starts) = row.extra.split_once(" at ")?;
            let starts = starts.strip_prefix('[')?.strip_suffix(']')?;
            let starts: Vec<Start> =
                starts.split(", ").map(|at| if at == "a" { Start::Multiple(1) } else { Start::At(0) }).collect();
            let tile = dims(tile)?;
            each(row.ty, |d| part(d, shape, &tile, &starts, false))
        }
        "alignment proof" => each(row.ty, |d| proof(d, row.extra)),
        _ => None,
    }
}

/// Rows of a tile, in a loop over `j`, from a start that is computed from it.
fn proof(dtype: DType, start: &str) -> Option<Meaning> {
    let mut draft = Draft::new();
    let x = draft.input(dtype, &[256, 256]);
    let o = draft.output(dtype, &[32, 256]);
    let w = &mut draft.w;
    let by_32 = start == "loop step 32";
    let (zero, one, many) = (w.constant(0), w.constant(1), w.constant(32));
    let trips = w.constant(if by_32 { 128 } else { 4 });
    let first = w.load_at(x, &[32, 256], &[zero, zero]);
    let ty = w.ty(first);
    let args = w.open(&[Type::Scalar(DType::I32), ty]);
    let j = args[0];
    let times = |w: &mut Writer, j: Value| w.binary(BinaryOp::Mul, j, many);
    let row = match start {
        "j*32 muli" => times(w, j),
        "j*32+32" => {
            let row = times(w, j);
            w.binary(BinaryOp::Add, row, many)
        }
        "loop step 32" => j,
        "(j rem 2)*32" => {
            let two = w.constant(2);
            let odd = w.binary(BinaryOp::Rem, j, two);
            times(w, odd)
        }
        "select of multiples" => {
            let row = times(w, j);
            let early = w.op(OpKind::Compare(CompareOp::Lt), &[j, one]);
            w.op(OpKind::Select, &[early, zero, row])
        }
        "minsi" => {
            let row = times(w, j);
            w.binary(BinaryOp::Min, row, many)
        }
        "subi" => {
            let row = times(w, j);
            let last = w.constant(96);
            w.binary(BinaryOp::Sub, last, row)
        }
        // Of what libtpu does not see by itself (shifts, masks) it is told.
        _ => return None,
    };
    let tile = w.load_at(x, &[32, 256], &[row, zero]);
    let body = w.close(&[tile]);
    let step = if by_32 { many } else { one };
    let last = w.control(OpKind::For, &[zero, trips, step, first], vec![body], &[ty])[0];
    w.store(o, last);
    Some(draft.spelled("vector.load", &[ty]))
}

fn control(row: &Row, shape: &[usize]) -> Option<Vec<Meaning>> {
    let scalar = row.extra.strip_prefix("scalar carry ").or_else(|| row.extra.strip_prefix("scalar result "));
    let (ty, name) = match (scalar, row.extra) {
        (Some(ty), _) => (ty, true),
        (None, "mask i1 carried" | "mask i1 result") => ("i1", false),
        (None, "vector carried unchanged" | "vector carried" | "vector result" | "dynamic bound" | "dynamic step")
        | (None, "carry initialised by a constant" | "dynamic lower bound" | "step 3") => (row.ty, false),
        _ => return None,
    };
    let kind = match row.op {
        "scf.for" => OpKind::For,
        "scf.while" => OpKind::While,
        "scf.if" => OpKind::If,
        _ => return None,
    };
    let constant = row.extra == "carry initialised by a constant";
    each(ty, |d| {
        let ty = if name { Type::Scalar(d) } else { Type::Tile(d, Shape::new(shape)) };
        let operands = [ty, ty, Type::Scalar(DType::I32)];
        Some(computing(row.op, &operands, ty, |w, x| {
            let first = if constant { w.filled(Literal::from_f64(d, 1.0), shape) } else { x[0] };
            carried(w, &kind, row.extra, [first, x[1], x[2]], ty)
        }))
    })
}

/// Control flow over two values and a number: the second value, unless nothing runs.
fn carried(w: &mut Writer, kind: &OpKind, extra: &str, [a, b, n]: [Value; 3], ty: Type) -> Value {
    let (zero, one) = (w.constant(0), w.constant(1));
    match kind {
        OpKind::If => {
            let condition = w.op(OpKind::Compare(CompareOp::Eq), &[n, zero]);
            let regions = [a, b].map(|value| {
                w.open(&[]);
                w.close(&[value])
            });
            w.control(OpKind::If, &[condition], regions.to_vec(), &[ty])[0]
        }
        OpKind::While => {
            let types = [Type::Scalar(DType::I32), ty];
            let args = w.open(&types);
            let go = w.op(OpKind::Compare(CompareOp::Lt), &[args[0], n]);
            let test = w.close(&[go]);
            let args = w.open(&types);
            let next = w.binary(BinaryOp::Add, args[0], one);
            let body = w.close(&[next, b]);
            w.control(OpKind::While, &[zero, a], vec![test, body], &types)[1]
        }
        _ => {
            let (eight, three) = (w.constant(8), w.constant(3));
            let (from, to, by) = match extra {
                "dynamic bound" => (zero, n, one),
                "dynamic lower bound" => (n, eight, one),
                "dynamic step" => (zero, eight, n),
                "step 3" => (zero, eight, three),
                _ => (zero, eight, one),
            };
            w.open(&[Type::Scalar(DType::I32), ty]);
            let body = w.close(&[b]);
            w.control(OpKind::For, &[from, to, by, a], vec![body], &[ty])[0]
        }
    }
}
