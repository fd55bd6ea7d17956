//! Operation × element types × shape: a kernel for each combination that the IR's own typing rule allows.
//!
//! Rules: the operations come from the IR's table, the element types from [`infer`]; an operation without a sample here does
//! not compile (a kind) or panics (a name of the table). Windows are blocks of an array with a named leading size, so that one
//! kernel runs on ragged, whole and empty arrays.

use crate::executors::Array;
use crate::generate::Rng;
use crate::kernels::Writer;
use tpu_kernel::ir::table::{self, State};
use tpu_kernel::ir::{
    BinaryOp, BlockDim, CompareOp, DType, DotDims, Kernel, Literal, OpKind, Precision, ReduceOp, RotateStride, ScanOp, Semantics,
    Shape, SizeExpr, Type, UnaryOp, Value, infer,
};
use tpu_kernel::launch::Binding;

/// A kernel and its arrays, for one size of them.
pub struct Run {
    /// The numbers of the launch.
    pub binding: Binding,
    /// An array an input.
    pub inputs: Vec<Array>,
}

/// A combination.
pub struct Case {
    /// Operation, element types and shape.
    pub name: String,
    /// The kernel: its operands in windows, its results in others.
    pub kernel: Kernel,
    /// Ragged, whole and empty.
    pub runs: Vec<Run>,
}

/// Ranks 1 to 4, with units, around the widths of vectors, ragged.
pub const SHAPES: [&[usize]; 10] =
    [&[1], &[5], &[130], &[1, 1], &[3, 7], &[8, 128], &[17, 1], &[2, 1, 33], &[2, 3, 5], &[2, 3, 4, 6]];

/// The names of all operations that the table calls implemented, by what runs them: those of [`cases`], and the others,
/// which need control flow, memory or a launch around them and have tests of their own.
pub fn names() -> (Vec<&'static str>, Vec<&'static str>) {
    let rows = table::operations().filter(|row| row.state == State::Implemented).map(|row| row.mnemonic);
    rows.partition(|name| !kinds(name, Shape::new(&[2, 2])).is_empty())
}

/// Every combination of that operation.
pub fn cases(name: &str) -> Vec<Case> {
    cases_on(name, &SHAPES)
}

/// Every combination of that operation on tiles of these shapes.
pub fn cases_on(name: &str, shapes: &[&[usize]]) -> Vec<Case> {
    let cases: Vec<Case> = shapes.iter().flat_map(|shape| combinations(name, shape)).map(|one| one.case()).collect();
    assert!(!cases.is_empty(), "`{name}` takes no operands at all");
    cases
}

/// An operation with the types of its operands and results.
pub struct Combination {
    /// The operation.
    pub kind: OpKind,
    /// The types of its operands.
    pub operands: Vec<Type>,
    /// The types of its results.
    pub results: Vec<Type>,
}

impl Combination {
    /// Its kernel and runs.
    pub fn case(&self) -> Case {
        case(&self.kind, &self.operands, &self.results)
    }
}

/// Every combination of that operation on tiles of that shape.
pub fn combinations(name: &str, shape: &[usize]) -> Vec<Combination> {
    let mut all = vec![];
    for kind in kinds(name, Shape::new(shape)) {
        for operands in operands(&kind, Shape::new(shape)) {
            if let Ok(results) = infer(&kind, &operands) {
                all.push(Combination { kind: kind.clone(), operands, results });
            }
        }
    }
    all
}

/// The kinds of that name on a tile of that shape; none where the operation is no computation on tiles.
fn kinds(name: &str, shape: Shape) -> Vec<OpKind> {
    let axes = || 0..shape.rank();
    if let Some(op) = UnaryOp::from_name(name) {
        return vec![OpKind::Unary(op)];
    }
    if let Some(op) = BinaryOp::from_name(name) {
        return vec![OpKind::Binary(op)];
    }
    if let Some(op) = CompareOp::from_name(name) {
        return vec![OpKind::Compare(op)];
    }
    if let Some(op) = name.strip_prefix("reduce ").and_then(ReduceOp::from_name) {
        return axes().map(|axis| OpKind::Reduce { op, axis }).collect();
    }
    if let Some(op) = name.strip_prefix("scan ").and_then(ScanOp::from_name) {
        return axes().flat_map(|axis| [false, true].map(|reverse| OpKind::Scan { op, axis, reverse })).collect();
    }
    match name {
        "select" => vec![OpKind::Select],
        "cast" => DType::ALL.map(OpKind::Cast).to_vec(),
        "bitcast" => DType::ALL.map(OpKind::Bitcast).to_vec(),
        "stochastic_round" => DType::ALL.map(OpKind::StochasticRound).to_vec(),
        "iota" => axes().map(|axis| OpKind::Iota { shape, axis }).collect(),
        "broadcast" => axes().map(|axis| OpKind::Broadcast(shape.with_dim(axis, 3 * shape.dim(axis)))).collect(),
        "reshape" => vec![
            OpKind::Reshape(Shape::new(&[shape.elements()])),
            OpKind::Reshape(Shape::new(&[shape.elements(), 1])),
            OpKind::Reshape(Shape::new(&[1, 1, shape.elements()])),
        ],
        "transpose" => permutations(shape.rank()).into_iter().map(OpKind::Transpose).collect(),
        "slice" => slices(shape),
        "concat" => axes().map(|axis| OpKind::Concat { axis }).collect(),
        "rotate" => rotations(shape.rank()),
        "gather" => axes().map(|axis| OpKind::Gather { axis }).collect(),
        "sort" => axes().flat_map(|axis| [false, true].map(|descending| OpKind::Sort { axis, descending })).collect(),
        "extract" => vec![OpKind::Extract(vec![0; shape.rank()]), OpKind::Extract(shape.dims().iter().map(|&n| n - 1).collect())],
        "dot" => products(shape.rank()),
        "prng_bits" => vec![OpKind::PrngBits(shape)],
        "const" | "load" | "store" | "program_id" | "num_programs" | "size" => vec![],
        "if" | "for" | "while" | "prng_seed" | "print" | "check" | "defined" => vec![],
        // What takes places, not values: `random_movement` has random programs of these.
        "load_scalar" | "store_scalar" | "load_masked" | "store_masked" | "scoped" => vec![],
        "view" | "view_squeezed" | "view_reshaped" | "view_transposed" | "view_bitcast" => vec![],
        "dma_start" | "dma_wait" | "semaphore_at" | "semaphore_signal" | "core_signal" | "semaphore_wait" | "semaphore_read" => {
            vec![]
        }
        "remote_dma_start" | "device_id" => vec![],
        other => panic!("`{other}` is in the table of operations but has no sample in the matrix of tests"),
    }
}

/// Operand types to try: all that may be allowed. No wildcard: a new kind needs a line.
fn operands(kind: &OpKind, shape: Shape) -> Vec<Vec<Type>> {
    let tile = |d: DType| Type::Tile(d, shape);
    let alone = || DType::ALL.map(|d| vec![tile(d)]).to_vec();
    match kind {
        OpKind::Unary(_) | OpKind::Cast(_) | OpKind::Bitcast(_) | OpKind::Reshape(_) | OpKind::Transpose(_) => alone(),
        OpKind::Slice { .. } | OpKind::Scan { .. } | OpKind::Extract(_) | OpKind::Reduce { .. } => alone(),
        OpKind::Broadcast(to) => {
            let mut all = alone();
            let ones = (0..shape.rank()).find(|&d| to.dim(d) != shape.dim(d)).map(|d| shape.with_dim(d, 1));
            all.extend(ones.into_iter().flat_map(|from| DType::ALL.map(|d| vec![Type::Tile(d, from)])));
            all
        }
        OpKind::Binary(_) | OpKind::Compare(_) => DType::ALL.map(|d| vec![tile(d); 2]).to_vec(),
        OpKind::Select => DType::ALL.map(|d| vec![tile(DType::Bool), tile(d), tile(d)]).to_vec(),
        OpKind::StochasticRound(_) => vec![vec![tile(DType::F32), tile(DType::U32)]],
        OpKind::Concat { axis } => DType::ALL
            .into_iter()
            .flat_map(|d| [vec![tile(d)], vec![tile(d), Type::Tile(d, shape.with_dim(*axis, 3)), tile(d)]])
            .collect(),
        OpKind::Rotate { .. } => DType::ALL.map(|d| vec![tile(d), Type::Scalar(DType::I32)]).to_vec(),
        OpKind::Gather { axis } => DType::ALL
            .into_iter()
            .flat_map(|d| [1, 9].map(|n| vec![tile(d), Type::Tile(DType::I32, shape.with_dim(*axis, n))]))
            .collect(),
        OpKind::Sort { .. } => {
            let all = DType::ALL.into_iter().enumerate();
            all.flat_map(|(at, d)| [vec![tile(d)], vec![tile(d), tile(DType::ALL[(at + 5) % 17]), tile(DType::I32)]]).collect()
        }
        OpKind::Dot { dims, .. } => {
            let mut rhs = vec![2; dims.batch.len() + 2];
            for &(l, r) in dims.batch.iter().chain([&dims.contract]) {
                rhs[r] = shape.dim(l);
            }
            let rhs = Shape::new(&rhs);
            DType::ALL.into_iter().flat_map(|a| DType::ALL.map(|b| vec![tile(a), Type::Tile(b, rhs)])).collect()
        }
        OpKind::Iota { .. } | OpKind::PrngBits(_) => vec![vec![]],
        OpKind::Const(_) | OpKind::Load(_) | OpKind::Store | OpKind::ProgramId(_) | OpKind::NumPrograms(_) => vec![],
        OpKind::Size(_) | OpKind::PrngSeed | OpKind::Print(_) | OpKind::Check(_) | OpKind::Defined(_) => vec![],
        OpKind::If | OpKind::For | OpKind::While | OpKind::Scoped => vec![],
        OpKind::LoadScalar | OpKind::StoreScalar | OpKind::LoadMasked(_) | OpKind::StoreMasked => vec![],
        OpKind::View { .. } | OpKind::ViewSqueezed(_) => vec![],
        OpKind::ViewReshaped(_) | OpKind::ViewTransposed(_) | OpKind::ViewBitcast(_) => vec![],
        OpKind::DmaStart { .. } | OpKind::RemoteStart { .. } | OpKind::DmaWait | OpKind::SemaphoreAt | OpKind::DeviceId => vec![],
        OpKind::SemaphoreSignal | OpKind::CoreSignal | OpKind::SemaphoreWait | OpKind::SemaphoreRead => vec![],
    }
}

fn permutations(rank: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for _ in 0..rank {
        let longer = |perm: &Vec<usize>| {
            let rest: Vec<usize> = (0..rank).filter(|d| !perm.contains(d)).collect();
            rest.into_iter().map(|d| [&perm[..], &[d]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

fn slices(shape: Shape) -> Vec<OpKind> {
    let of = |stride: usize, start: fn(usize) -> usize| {
        let starts: Vec<usize> = shape.dims().iter().map(|&n| start(n)).collect();
        let sizes: Vec<usize> = shape.dims().iter().zip(&starts).map(|(&n, &s)| (n - s).div_ceil(stride)).collect();
        OpKind::Slice { starts, shape: Shape::new(&sizes), strides: vec![stride; shape.rank()] }
    };
    vec![of(1, |n| n / 2), of(2, |_| 0), of(3, |n| n.min(2) - 1), of(1, |n| n - 1)]
}

fn rotations(rank: usize) -> Vec<OpKind> {
    let mut all: Vec<OpKind> = (0..rank).map(|axis| OpKind::Rotate { axis, stride: None }).collect();
    for (axis, other, by) in [(0, 1, 2), (1, 0, -3), (2, 0, 1)] {
        if axis.max(other) < rank {
            all.push(OpKind::Rotate { axis, stride: Some(RotateStride { by, axis: other }) });
        }
    }
    all
}

/// Matrices either way around, one and two batch dimensions in odd places, no free dimension.
fn products(rank: usize) -> Vec<OpKind> {
    let dims: Vec<DotDims> = match rank {
        1 => vec![DotDims { contract: (0, 1), batch: vec![] }],
        2 => {
            let mut all: Vec<DotDims> =
                [(false, false), (false, true), (true, false), (true, true)].map(|(l, r)| DotDims::matrices(l, r)).to_vec();
            all.push(DotDims { contract: (0, 2), batch: vec![(1, 0)] });
            all
        }
        3 => vec![
            DotDims { contract: (2, 1), batch: vec![(0, 0)] },
            DotDims { contract: (0, 0), batch: vec![(2, 2)] },
            DotDims { contract: (1, 3), batch: vec![(2, 0), (0, 2)] },
        ],
        _ => vec![
            DotDims { contract: (3, 2), batch: vec![(0, 0), (1, 1)] },
            DotDims { contract: (1, 0), batch: vec![(3, 3), (0, 1)] },
        ],
    };
    dims.into_iter()
        .flat_map(|dims| Precision::ALL.iter().map(move |&precision| OpKind::Dot { dims: dims.clone(), precision }))
        .collect()
}

/// The name of the leading size, and the blocks along it.
const SIZE: &str = "n";

fn case(kind: &OpKind, operands: &[Type], results: &[Type]) -> Case {
    let types: Vec<String> = operands.iter().map(ToString::to_string).collect();
    let name = format!("{kind:?} {}", types.join(", "));
    let mut w = Writer::new("matrix", "matrix.rs");
    let tiles: Vec<Type> = operands.iter().copied().filter(|ty| ty.is_tile()).collect();
    // The array of the first tile is n long; the grid has a step for each of its blocks, and so has every other array.
    let lead = tiles.first().map_or(1, |ty| ty.shape().dim(0));
    let n = w.size(SIZE);
    let steps = n.clone() / SizeExpr::Const(lead as i64);
    w.grid("i", steps.clone(), Semantics::Arbitrary);
    let dims = |ty: Type, first: bool| -> Vec<(SizeExpr, BlockDim)> {
        let shape = ty.shape();
        let mut dims: Vec<_> = shape.dims().iter().map(|&d| (SizeExpr::Const(d as i64), BlockDim::Blocked(d))).collect();
        dims[0].0 = if first { n.clone() } else { steps.clone() * SizeExpr::Const(shape.dim(0) as i64) };
        dims
    };
    let map = |ty: Type| -> Vec<Option<usize>> { (0..ty.shape().rank()).map(|d| (d == 0).then_some(0)).collect() };
    let ins: Vec<Value> =
        tiles.iter().enumerate().map(|(at, &ty)| w.input(&format!("x{at}"), ty.dtype(), &dims(ty, at == 0), &map(ty))).collect();
    let shown: Vec<Type> =
        results.iter().map(|&ty| if ty.is_scalar() { Type::Tile(ty.dtype(), Shape::new(&[2])) } else { ty }).collect();
    let outs: Vec<Value> =
        shown.iter().enumerate().map(|(at, &ty)| w.output(&format!("o{at}"), ty.dtype(), &dims(ty, false), &map(ty))).collect();

    let mut loaded = ins.iter().map(|&x| w.load(x)).collect::<Vec<_>>().into_iter();
    let mut values: Vec<Value> = vec![];
    for ty in operands {
        let value = if ty.is_tile() { loaded.next().expect("a window a tile") } else { amount(&mut w) };
        values.push(value);
    }
    if let OpKind::Gather { axis } = kind {
        let extent = operands[0].shape().dim(*axis) as i32;
        values[1] = modulo(&mut w, values[1], extent);
    }
    if let OpKind::PrngBits(_) = kind {
        let seed = w.constant(Literal::from(7u32));
        w.effect(OpKind::PrngSeed, &[seed]);
    }
    let computed = w.results(kind.clone(), &values);
    for (&out, mut value) in outs.iter().zip(computed) {
        if w.ty(value).is_scalar() {
            value = w.op(OpKind::Broadcast(Shape::new(&[2])), &[value]);
        }
        if matches!(kind, OpKind::Dot { .. }) && w.ty(value).dtype() == DType::F32 {
            // The sign of a zero depends on the order of a sum that is not promised.
            let zero = w.filled(0f32, w.ty(value).shape().dims());
            value = w.binary(BinaryOp::Add, value, zero);
        }
        w.store(out, value);
    }
    let kernel = w.finish();

    let whole = 2 * lead;
    let sizes = if lead > 1 { vec![whole - 1, whole, 0] } else { vec![whole, 0] };
    let runs = sizes.into_iter().map(|n| run(kind, &tiles, &shown, n, lead)).collect();
    Case { name, kernel, runs }
}

/// An i32 scalar that differs from step to step: -3, 133.
fn amount(w: &mut Writer) -> Value {
    let step = w.op(OpKind::ProgramId(0), &[]);
    let by = w.constant(136);
    let product = w.binary(BinaryOp::Mul, step, by);
    let three = w.constant(3);
    w.binary(BinaryOp::Sub, product, three)
}

fn modulo(w: &mut Writer, x: Value, n: i32) -> Value {
    let shape = w.ty(x).shape();
    let n = w.filled(n, shape.dims());
    w.binary(BinaryOp::Rem, x, n)
}

fn run(kind: &OpKind, tiles: &[Type], shown: &[Type], n: usize, lead: usize) -> Run {
    let steps = n.div_ceil(lead);
    let extent = |ty: &Type, first: bool| -> Vec<usize> {
        let mut dims = ty.shape().dims().to_vec();
        dims[0] = if first { n } else { steps * dims[0] };
        dims
    };
    let mut rng = Rng::new(n as u64 + 1);
    let inputs: Vec<Array> = tiles
        .iter()
        .enumerate()
        .map(|(at, ty)| {
            let shape = extent(ty, at == 0);
            let elements: Vec<Literal> = (0..shape.iter().product()).map(|_| element(kind, ty.dtype(), &mut rng)).collect();
            Array::new(ty.dtype(), &shape, elements)
        })
        .collect();
    let mut arrays: Vec<Vec<usize>> = inputs.iter().map(|a| a.shape.clone()).collect();
    arrays.extend(shown.iter().map(|ty| extent(ty, false)));
    Run { binding: Binding { cores: 1, sizes: vec![n as i32], grid: vec![steps as i32], arrays }, inputs }
}

/// Any element, one in four a special one; of a product small integers, whose sums are exact in any order.
fn element(kind: &OpKind, dtype: DType, rng: &mut Rng) -> Literal {
    match kind {
        OpKind::Dot { .. } => Literal::from_int(dtype, rng.below(9) as i64 - 4),
        _ => rng.literal(dtype, 25),
    }
}
