//! Windows, grids and the size of the vector memory.
//!
//! Rules: here a kernel counts as native where its launch may run and has a text.

use super::Row;
use super::meaning::{Meaning, Sign, dims, dtypes};
use tpu_kernel::ir::{
    BinaryOp, BlockDim, Builder, CompareOp, DType, GridDim, Literal, Loc, OpKind, ParamKind, Pipelining, Semantics, Shape,
    SizeExpr, Space, Type, Value, Window,
};
use tpu_kernel::launch::{Allow, Config};
use tpu_kernel::legalise::stored;

pub(super) fn meanings(row: &Row) -> Vec<Meaning> {
    let Some(shape) = dims(row.shape) else { return vec![] };
    let plan = match row.group {
        "limits" => limits(row, &shape),
        _ => window(row, &shape),
    };
    let Some(plan) = plan else { return vec![] };
    // What is stored as another type has no window of its own.
    dtypes(row.ty, Sign::Either).into_iter().filter(|&d| stored(d) == d).map(|d| plan.meaning(d)).collect()
}

/// A block index, or where a window begins.
#[derive(Clone, Copy)]
enum Index {
    Grid(usize),
    At(i32),
    /// The grid index times this.
    Times(usize, i32),
    /// The sum of both grid indices, modulo 4.
    Modulo,
    Half(usize),
    /// The grid index below 2, then block 0.
    Below,
}

/// A copy, window by window.
struct Plan {
    array: Vec<usize>,
    block: Vec<BlockDim>,
    grid: Vec<i64>,
    map: Vec<Index>,
    /// That of the output, where it is another.
    out: Option<Vec<Index>>,
    /// What is loaded and stored of a block, the whole of which may be large.
    part: Option<Vec<usize>>,
    scratch: Option<Vec<usize>>,
}

fn copy(array: &[usize], block: &[usize]) -> Plan {
    let grid: Vec<i64> = array.iter().zip(block).map(|(&a, &b)| a.div_ceil(b) as i64).collect();
    Plan {
        array: array.to_vec(),
        block: block.iter().map(|&n| BlockDim::Blocked(n)).collect(),
        map: (0..grid.len()).map(Index::Grid).collect(),
        grid,
        out: None,
        part: None,
        scratch: None,
    }
}

fn window(row: &Row, array: &[usize]) -> Option<Plan> {
    let square = || copy(array, &[128, 128]);
    let zero = Index::At(0);
    Some(match (row.op, row.extra) {
        ("block" | "block 1-D", extra) => copy(array, &dims(extra.strip_prefix("block ")?)?),
        ("swapped map", _) => Plan { map: vec![Index::Grid(1), Index::Grid(0)], ..square() },
        ("computed map", "(i+j) rem 4") => Plan { map: vec![Index::Modulo, Index::Grid(1)], ..square() },
        ("computed map", "divsi") => Plan { map: vec![Index::Half(0), Index::Grid(1)], ..square() },
        ("computed map", "select") => Plan { map: vec![Index::Below, Index::Grid(1)], ..square() },
        ("out of range map", _) => Plan { map: vec![Index::At(100), Index::Grid(1)], ..square() },
        ("negative map", _) => Plan { map: vec![Index::At(-1), Index::Grid(1)], ..square() },
        ("grid past array", _) => Plan { grid: vec![8, 4], ..square() },
        ("zero grid", _) => Plan { grid: vec![0, 4], ..square() },
        ("program id use" | "dimension_semantics", "grid index in arithmetic" | "parallel") => square(),
        ("revisit output", "output constant over inner dim") => Plan { out: Some(vec![Index::Grid(0), zero]), ..square() },
        ("revisit output", _) => Plan { out: Some(vec![zero, Index::Grid(1)]), ..square() },
        ("grid rank", extra) => {
            let rank: usize = extra.strip_prefix("rank ")?.parse().ok()?;
            Plan { grid: vec![1; rank], map: vec![zero, zero], ..square() }
        }
        ("squeezed memref", "memref drops the unit dim") => {
            let block = vec![BlockDim::Squeezed, BlockDim::Blocked(128), BlockDim::Blocked(128)];
            Plan { block, ..copy(array, &[1, 128, 128]) }
        }
        ("element window", extra) => elements(extra, array)?,
        _ => return None,
    })
}

fn elements(extra: &str, array: &[usize]) -> Option<Plan> {
    let window = |size: &[usize], low: usize, grid: &[i64], map: &[Index]| {
        let block = size.iter().enumerate().map(|(at, &size)| {
            let pad = if at == 0 { low } else { 0 };
            BlockDim::Element { size, low: pad, high: pad }
        });
        Plan { block: block.collect(), grid: grid.to_vec(), map: map.to_vec(), ..copy(array, array) }
    };
    let by = |n: i32| [Index::Times(0, n), Index::Times(1, 128)];
    Some(match extra {
        "offset g0 (unaligned)" => window(&[8, 128], 0, &[4, 2], &[Index::Grid(0), Index::Times(1, 128)]),
        "column offset g1 (unaligned)" => window(&[8, 128], 0, &[4, 2], &[Index::Times(0, 8), Index::Grid(1)]),
        "offset g0*8 (multiple 8)" => window(&[8, 128], 0, &[4, 2], &by(8)),
        "padding low 8 high 8" => window(&[128, 128], 8, &[4, 2], &by(128)),
        "leading dim offset g0" => {
            window(&[3, 128, 128], 0, &[4, 2, 2], &[Index::Grid(0), Index::Times(1, 128), Index::Times(2, 128)])
        }
        other => window(&dims(other.strip_prefix("offsets g*128 block ")?)?, 0, &[4, 2], &by(128)),
    })
}

/// Kernels with the limit that a program of ours asks for.
fn limits(row: &Row, shape: &[usize]) -> Option<Plan> {
    if !row.extra.ends_with("limit raised") {
        return None;
    }
    let part = Some(vec![8, 128]);
    match row.op {
        "operand vmem" => Some(Plan { grid: vec![], map: vec![Index::At(0); 2], part, ..copy(shape, shape) }),
        "window vmem" => Some(Plan { part, map: vec![Index::Grid(0), Index::At(0)], ..copy(&[4 * shape[0], 128], shape) }),
        "scratch vmem" => {
            let small = copy(&[8, 128], &[8, 128]);
            Some(Plan { grid: vec![], map: vec![Index::At(0); 2], scratch: Some(shape.to_vec()), ..small })
        }
        _ => None,
    }
}

impl Plan {
    fn meaning(&self, dtype: DType) -> Meaning {
        let mut b = Builder::new("recorded", loc());
        for (at, &extent) in self.grid.iter().enumerate() {
            let extent = SizeExpr::Const(extent);
            b.grid_dim(GridDim { name: format!("g{at}"), extent, semantics: Semantics::Arbitrary, loc: loc() });
        }
        let x = self.param(&mut b, dtype, "x", &self.array, &self.block, &self.map, false);
        // Of a large block a corner is copied, as it was.
        let o = match &self.part {
            Some(part) => {
                let block: Vec<BlockDim> = part.iter().map(|&n| BlockDim::Blocked(n)).collect();
                self.param(&mut b, dtype, "o", part, &block, &vec![Index::At(0); part.len()], true)
            }
            None => self.param(&mut b, dtype, "o", &self.array, &self.block, self.out.as_ref().unwrap_or(&self.map), true),
        };
        let scratch = self.scratch.as_ref().map(|shape| {
            let ty = Type::Ref(Space::Vmem, dtype, Shape::new(shape));
            b.param("s", ty, ParamKind::Scratch, loc())
        });
        let shape = b.ty(o).shape();
        let mut tile = load(&mut b, x, shape);
        if let Some(scratch) = scratch {
            store(&mut b, scratch, tile);
            tile = load(&mut b, scratch, shape);
        }
        store(&mut b, o, tile);
        let kernel = b.finish().expect("no open region");
        // The mask kernels and the maps that leave blocks out are asked about here, not what they miss.
        let config = Config { allow: vec![Allow::Unwritten, Allow::DotTypes], ..Config::default() };
        // Padding before the array may be given to it outside the kernel.
        let padded = self.block.iter().any(|b| matches!(b, BlockDim::Element { low: 1.., .. }));
        let spelled = padded.then(|| vec!["element_window<[8, 0]".to_string()]);
        Meaning { kernel, inputs: vec![(dtype, self.array.clone())], spelled, config }
    }

    #[allow(clippy::too_many_arguments)]
    fn param(
        &self,
        b: &mut Builder,
        dtype: DType,
        name: &str,
        array: &[usize],
        block: &[BlockDim],
        map: &[Index],
        output: bool,
    ) -> Value {
        let Ok(map) = b.map(|b, grid| Ok::<_, std::convert::Infallible>(map.iter().map(|at| index(b, grid, *at)).collect()));
        let array = array.iter().map(|&n| SizeExpr::Const(n as i64)).collect();
        let ty = Builder::window_type(dtype, block).expect("a block of rank 1 to 4");
        let window = Window { array, block: block.to_vec(), map, pipelining: Pipelining::default() };
        b.param(name, ty, if output { ParamKind::Out(window) } else { ParamKind::In(window) }, loc())
    }
}

fn index(b: &mut Builder, grid: &[Value], at: Index) -> Value {
    let binary = |b: &mut Builder, op: BinaryOp, x: Value, n: i32| {
        let n = b.constant(n, loc());
        b.value(OpKind::Binary(op), &[x, n], loc()).expect("numbers")
    };
    match at {
        Index::Grid(axis) => grid[axis],
        Index::At(n) => b.constant(n, loc()),
        Index::Times(axis, by) => binary(b, BinaryOp::Mul, grid[axis], by),
        Index::Half(axis) => binary(b, BinaryOp::Div, grid[axis], 2),
        Index::Modulo => {
            let sum = b.value(OpKind::Binary(BinaryOp::Add), &[grid[0], grid[1]], loc()).expect("numbers");
            binary(b, BinaryOp::Rem, sum, 4)
        }
        Index::Below => {
            let (two, zero) = (b.constant(2, loc()), b.constant(Literal::from(0), loc()));
            let below = b.value(OpKind::Compare(CompareOp::Lt), &[grid[0], two], loc()).expect("numbers");
            b.value(OpKind::Select, &[below, grid[0], zero], loc()).expect("numbers")
        }
    }
}

fn load(b: &mut Builder, memory: Value, shape: Shape) -> Value {
    let zero = b.constant(0, loc());
    let operands = [vec![memory], vec![zero; shape.rank()]].concat();
    b.value(OpKind::Load(shape), &operands, loc()).expect("a well-typed load")
}

fn store(b: &mut Builder, memory: Value, tile: Value) {
    let zero = b.constant(0, loc());
    let operands = [vec![memory, tile], vec![zero; b.ty(memory).shape().rank()]].concat();
    b.op(OpKind::Store, &operands, loc()).expect("a well-typed store");
}

fn loc() -> Loc {
    Loc { file: "recorded.rs".into(), line: 1, column: 1 }
}
