//! From a recorded kernel to kernels of the IR.
//!
//! Rules: an element type of MLIR without a sign is both types of the IR of that width; a kernel loads its operands, does one
//! thing and stores the result, as the recorded one does. A mask comes from a comparison and leaves as i32. What has no
//! counterpart in the language has no meaning.

use super::{Row, casts, copies, elementwise, launch, memory, shapes};
use crate::kernels::{Writer, blocked};
use tpu_kernel::ir::{CompareOp, DType, Kernel, OpKind, Shape, SizeExpr, Type, Value};
use tpu_kernel::launch::{Allow, Config};

/// What a recorded kernel is in the IR.
pub struct Meaning {
    /// The kernel.
    pub kernel: Kernel,
    /// Its inputs.
    pub inputs: Vec<(DType, Vec<usize>)>,
    /// What a line of the printed text must hold to be the recorded operation: its name and the types that are written with it.
    /// None: the launch is what is asked about.
    pub spelled: Option<Vec<String>>,
    /// What the launch allows.
    pub config: Config,
}

/// Each meaning of a recorded kernel.
pub fn meanings(row: &Row) -> Vec<Meaning> {
    match row.group {
        "elementwise" | "elementwise_shapes" | "compare" | "scalar" => elementwise::meanings(row),
        "cast" => casts::meanings(row),
        "broadcast" | "iota" | "reduce" | "argreduce" | "transpose" | "reshape" | "concat" | "slice" | "roll" | "gather"
        | "matmul" | "misc" => shapes::meanings(row),
        "loadstore" | "dynindex" | "control" => memory::meanings(row),
        "dma" => copies::meanings(row),
        "window" | "limits" => launch::meanings(row),
        _ => vec![],
    }
}

/// Which of the types of a width: both, or by sign.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Either,
    Signed,
    Unsigned,
}

/// The element types of that name; integers of that sign.
pub(super) fn dtypes(name: &str, sign: Sign) -> Vec<DType> {
    let both = match name {
        "f32" => vec![DType::F32],
        "bf16" => vec![DType::Bf16],
        "f16" => vec![DType::F16],
        "f8E4M3FN" => vec![DType::F8E4M3Fn],
        "f8E5M2" => vec![DType::F8E5M2],
        "f8E4M3B11FNUZ" => vec![DType::F8E4M3B11Fnuz],
        "f4E2M1FN" => vec![DType::F4E2M1Fn],
        "i32" => vec![DType::I32, DType::U32],
        "i16" => vec![DType::I16, DType::U16],
        "i8" => vec![DType::I8, DType::U8],
        "i4" => vec![DType::I4, DType::U4],
        "i2" => vec![DType::I2],
        "ui32" => vec![DType::U32],
        "ui16" => vec![DType::U16],
        "ui8" => vec![DType::U8],
        "ui4" => vec![DType::U4],
        "i1" => vec![DType::Bool],
        _ => vec![],
    };
    let fits = |d: &DType| match sign {
        Sign::Either => true,
        Sign::Signed => !d.is_unsigned(),
        Sign::Unsigned => !d.is_signed(),
    };
    both.into_iter().filter(fits).collect()
}

/// `8x128`, of rank 1 to 4.
pub(super) fn dims(text: &str) -> Option<Vec<usize>> {
    let dims: Vec<usize> = text.split('x').map(|n| n.parse().ok()).collect::<Option<_>>()?;
    (dims.len() <= 4).then_some(dims)
}

/// `[0, 64]`
pub(super) fn list(text: &str) -> Option<Vec<usize>> {
    let inside = text.strip_prefix('[')?.strip_suffix(']')?;
    inside.split(", ").map(|n| n.parse().ok()).collect()
}

/// A kernel under construction, whole arrays in and out.
pub(super) struct Draft {
    pub(super) w: Writer,
    inputs: Vec<(DType, Vec<usize>)>,
}

impl Draft {
    pub(super) fn new() -> Draft {
        Draft { w: Writer::new("recorded", "recorded.rs"), inputs: vec![] }
    }

    /// The memory of an input.
    pub(super) fn input(&mut self, dtype: DType, shape: &[usize]) -> Value {
        let name = format!("x{}", self.inputs.len());
        self.inputs.push((dtype, shape.to_vec()));
        self.w.input(&name, dtype, &whole(shape), &vec![None; shape.len()])
    }

    /// The memory of the output.
    pub(super) fn output(&mut self, dtype: DType, shape: &[usize]) -> Value {
        self.w.output("o", dtype, &whole(shape), &vec![None; shape.len()])
    }

    /// The kernel that prints an operation of that name with these types.
    pub(super) fn spelled(self, name: &str, types: &[Type]) -> Meaning {
        let parts = [name.to_string()].into_iter().chain(types.iter().filter_map(vector)).collect();
        Meaning { kernel: self.w.finish(), inputs: self.inputs, spelled: Some(parts), config: lenient() }
    }
}

/// Only what a kernel is, not how it is launched.
pub(super) fn lenient() -> Config {
    Config { allow: vec![Allow::BlockShape, Allow::DotTypes, Allow::Unwritten], ..Config::default() }
}

/// A tile's type as MLIR writes it; what is written of scalars is their name.
fn vector(ty: &Type) -> Option<String> {
    let Type::Tile(dtype, shape) = ty else { return None };
    let element = match dtype {
        DType::F8E4M3Fn => "f8E4M3FN",
        DType::F8E5M2 => "f8E5M2",
        DType::F8E4M3B11Fnuz => "f8E4M3B11FNUZ",
        DType::F4E2M1Fn => "f4E2M1FN",
        DType::U32 => "i32",
        DType::U16 => "i16",
        DType::U8 => "i8",
        DType::U4 => "i4",
        DType::Bool => "i1",
        other => other.name(),
    };
    Some(format!("vector<{shape}x{element}>"))
}

fn whole(shape: &[usize]) -> Vec<(SizeExpr, tpu_kernel::ir::BlockDim)> {
    shape.iter().map(|&n| (SizeExpr::Const(n as i64), blocked(n))).collect()
}

/// A kernel that computes a value of type `out` from values of these types: scalars are operands of the launch, tiles are
/// loaded, masks compared; the result is stored.
pub(super) fn computing(
    name: &'static str,
    operands: &[Type],
    out: Type,
    f: impl FnOnce(&mut Writer, &[Value]) -> Value,
) -> Meaning {
    let mut draft = Draft::new();
    let memory = |ty: &Type| if ty.dtype() == DType::Bool { DType::I32 } else { ty.dtype() };
    let sources: Vec<Value> = operands
        .iter()
        .enumerate()
        .map(|(at, ty)| match ty {
            Type::Tile(_, shape) => draft.input(memory(ty), shape.dims()),
            _ => draft.w.scalar(&format!("s{at}"), ty.dtype()),
        })
        .collect();
    let shape = if out.is_tile() { out.shape() } else { Shape::new(&[8, 128]) };
    let o = draft.output(memory(&out), shape.dims());
    let w = &mut draft.w;
    let values: Vec<Value> = operands
        .iter()
        .zip(sources)
        .map(|(ty, source)| match ty {
            Type::Tile(DType::Bool, shape) => {
                let (tile, zero) = (w.load(source), w.filled(0, shape.dims()));
                w.op(OpKind::Compare(CompareOp::Gt), &[tile, zero])
            }
            Type::Tile(..) => w.load(source),
            _ => source,
        })
        .collect();
    let mut result = f(w, &values);
    if out.dtype() == DType::Bool {
        result = w.op(OpKind::Cast(DType::I32), &[result]);
    }
    if !out.is_tile() {
        result = w.op(OpKind::Broadcast(shape), &[result]);
    }
    w.store(o, result);
    draft.spelled(name, &[out])
}

/// A kernel of one operation, where its operands fit it.
pub(super) fn operation(name: &'static str, kind: OpKind, operands: &[Type]) -> Option<Meaning> {
    let out = *tpu_kernel::ir::infer(&kind, operands).ok()?.first()?;
    // A comparison is written with the type of its operands, a reduction and a product with a result of another shape.
    let written = match kind {
        OpKind::Compare(_) | OpKind::Unary(_) | OpKind::Reduce { .. } | OpKind::Extract(_) | OpKind::Dot { .. } => {
            operands.to_vec()
        }
        OpKind::Select => operands[..2].to_vec(),
        _ => [operands, &[out]].concat(),
    };
    let in_order = matches!(kind, OpKind::Dot { .. } | OpKind::Select);
    let meaning = computing(name, operands, out, |w, values| w.results(kind, values)[0]);
    let written: Vec<String> = written.iter().filter_map(vector).collect();
    // Of these the order tells.
    let written = if in_order { vec![written.join(", ")] } else { written };
    Some(Meaning { spelled: Some([vec![name.to_string()], written].concat()), ..meaning })
}
