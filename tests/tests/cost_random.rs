//! Costs of random grids, index maps and conditions, against going through every step.

use tpu_kernel::ir::{
    BinaryOp, BlockDim, Builder, CompareOp, DType, GridDim, Loc, OpKind, ParamKind, Pipelining, Semantics, SizeExpr, UnaryOp,
    Value, Window,
};
use tpu_kernel::launch::{Binding, cost};

/// A number in `0..n`, another at each call.
struct Random(u64);

impl Random {
    fn below(&mut self, n: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as i64 % n
    }
}

/// A linear form of the three grid indices.
type Linear = [i64; 4];

fn value(form: Linear, step: [i64; 3]) -> i64 {
    form[3] + (0..3).map(|d| form[d] * step[d]).sum::<i64>()
}

fn steps(grid: [i64; 3]) -> impl Iterator<Item = [i64; 3]> {
    (0..grid.iter().product()).map(move |at| [at / (grid[1] * grid[2]), at / grid[2] % grid[1], at % grid[2]])
}

fn emitted(b: &mut Builder, form: Linear, indices: &[Value]) -> Value {
    let constant = |b: &mut Builder, n: i64| b.constant(n as i32, Loc::UNKNOWN);
    let mut sum = constant(b, form[3]);
    for (d, &index) in indices.iter().enumerate() {
        let factor = constant(b, form[d]);
        let term = b.value(OpKind::Binary(BinaryOp::Mul), &[index, factor], Loc::UNKNOWN).unwrap();
        sum = b.value(OpKind::Binary(BinaryOp::Add), &[sum, term], Loc::UNKNOWN).unwrap();
    }
    sum
}

/// Linear maps and conditions: an exact cost is what going through the grid counts, another is no less.
#[test]
fn counts_are_those_of_every_step() {
    let mut random = Random(7);
    let mut exact = [0, 0];
    for _ in 0..2000 {
        let grid = [0; 3].map(|_| 1 + random.below(4));
        let mut form = |zeros: i64| [0; 4].map(|_| if random.below(4) < zeros { 0 } else { random.below(5) - 2 });
        let maps = [form(2), form(2)];
        // Two conditions joined, and one in the first arm.
        let conditions = [form(3), form(3), form(2)];
        let ops = [0; 3].map(|_| CompareOp::ALL[random.below(6) as usize]);
        let join = [BinaryOp::And, BinaryOp::Or][random.below(2) as usize];

        let mut b = Builder::new("counted", Loc::UNKNOWN);
        for (name, extent) in ["i", "j", "k"].into_iter().zip(grid) {
            let extent = SizeExpr::Const(extent);
            b.grid_dim(GridDim { name: name.into(), extent, semantics: Semantics::Arbitrary, loc: Loc::UNKNOWN });
        }
        let block = vec![BlockDim::Blocked(1), BlockDim::Blocked(8)];
        let array = vec![SizeExpr::Const(64), SizeExpr::Const(64)];
        let Ok(map) = b.map::<std::convert::Infallible>(|b, i| Ok(maps.iter().map(|&form| emitted(b, form, i)).collect()));
        let ty = Builder::window_type(DType::F32, &block).unwrap();
        let o = b.param("o", ty, ParamKind::Out(Window { array, block, map, pipelining: Pipelining::default() }), Loc::UNKNOWN);

        let op = |b: &mut Builder, kind, operands: &[Value]| b.value(kind, operands, Loc::UNKNOWN).unwrap();
        let indices: Vec<Value> = (0..3).map(|d| op(&mut b, OpKind::ProgramId(d), &[])).collect();
        let zero = b.constant(0, Loc::UNKNOWN);
        let holds: Vec<Value> = conditions
            .iter()
            .zip(ops)
            .map(|(&form, compare)| {
                let form = emitted(&mut b, form, &indices);
                op(&mut b, OpKind::Compare(compare), &[form, zero])
            })
            .collect();
        let one = b.constant(1.0f32, Loc::UNKNOWN);
        let tile = op(&mut b, OpKind::Broadcast(ty.shape()), &[one]);
        let joined = op(&mut b, OpKind::Binary(join), &[holds[0], holds[1]]);
        // 1 sum and then 2 or 4 functions; else 8 sums.
        let mut nested = vec![];
        for count in [2, 4] {
            b.begin_region(&[]);
            (0..count).for_each(|_| _ = op(&mut b, OpKind::Unary(UnaryOp::Exp), &[tile]));
            nested.push(b.end_region(&[]));
        }
        b.begin_region(&[]);
        op(&mut b, OpKind::Binary(BinaryOp::Add), &[tile, tile]);
        b.control(OpKind::If, &[holds[2]], nested, &[], Loc::UNKNOWN);
        let then = b.end_region(&[]);
        b.begin_region(&[]);
        (0..8).for_each(|_| _ = op(&mut b, OpKind::Binary(BinaryOp::Add), &[tile, tile]));
        let otherwise = b.end_region(&[]);
        b.control(OpKind::If, &[joined], vec![then, otherwise], &[], Loc::UNKNOWN);
        b.op(OpKind::Store, &[o, tile, zero, zero], Loc::UNKNOWN).unwrap();
        let kernel = b.finish().unwrap();

        let (mut flops, mut functions, mut moves, mut last) = (0, 0, 0, None);
        for step in steps(grid) {
            let test = |at: usize| {
                let n = value(conditions[at], step);
                match ops[at] {
                    CompareOp::Eq => n == 0,
                    CompareOp::Ne => n != 0,
                    CompareOp::Lt => n < 0,
                    CompareOp::Le => n <= 0,
                    CompareOp::Gt => n > 0,
                    CompareOp::Ge => n >= 0,
                }
            };
            if if join == BinaryOp::And { test(0) && test(1) } else { test(0) || test(1) } {
                flops += 8;
                functions += if test(2) { 16 } else { 32 };
            } else {
                flops += 64;
            }
            let block = Some(maps.map(|form| value(form, step)));
            moves += u64::from(block != last);
            last = block;
        }
        let binding = Binding { cores: 1, sizes: vec![], grid: grid.map(|n| n as i32).to_vec(), arrays: vec![vec![64, 64]] };
        let found = cost(&kernel, &binding);
        assert_eq!(found.bytes, moves * 32, "{kernel}");
        let counted = (found.flops, found.transcendentals);
        if found.exact {
            assert_eq!(counted, (flops, functions), "{kernel}");
        } else {
            assert!(counted.0 >= flops && counted.1 >= functions, "{counted:?} {kernel}");
        }
        exact[usize::from(found.exact)] += 1;
    }
    assert!(exact.iter().all(|&n| n > 300), "{exact:?}");
}
