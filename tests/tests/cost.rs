//! What launches cost, against numbers worked out by hand.

use half::bf16;
use std::time::{Duration, Instant};
use tpu_device::DType;
use tpu_kernel::Error;
use tpu_kernel::ir::{
    BinaryOp, BlockDim, Builder, CompareOp, DotDims, Literal, Loc, OpKind, ParamKind, Pipelining, ReduceOp, ScanOp, Shape,
    SizeExpr, UnaryOp, Value, Window,
};
use tpu_kernel::launch::{Binding, Cost, cost, numbers};
use tpu_kernel::passes::canonicalise;
use tpu_kernel::prelude::*;

const F32: DType = DType::F32;

#[tpu_kernel(grid(i: m / BM, j: n / BN, kk: k / BK), semantics(parallel, parallel, arbitrary))]
fn matmul<BM: Dim, BN: Dim, BK: Dim>(
    #[block([m, k] at (i, kk))] x: In<f32, (BM, BK)>,
    #[block([k, n] at (kk, j))] w: In<f32, (BK, BN)>,
    #[block([m, n] at (i, j))] o: Out<f32, (BM, BN)>,
    #[scratch] acc: Vmem<f32, (BM, BN)>,
) {
    if kk == 0 {
        acc.store(dot(x.load(), w.load()));
    } else {
        acc.store(acc.load() + dot(x.load(), w.load()));
    }
    if kk == last(kk) {
        o.store(acc.load().tanh());
    }
}

#[test]
fn a_product() {
    let kernel = matmul().bm(128).bn(128).bk(128);
    let inputs: [(DType, &[usize]); 2] = [(F32, &[512, 384]), (F32, &[384, 256])];
    // 4 × 2 × 3 steps. Each step multiplies, all but the first along k add, the last applies the function.
    let block = 128 * 128;
    let want = Cost {
        flops: 2 * 512 * 384 * 256 + 4 * 2 * 2 * block,
        product_flops: 2 * 512 * 384 * 256,
        integer_flops: 0,
        // Both inputs change at every step; an output block leaves once.
        bytes: (24 + 24 + 8) * block * 4,
        transcendentals: 512 * 256,
        exact: true,
    };
    assert_eq!(kernel.cost(&inputs), Ok(want));

    // One block along k: x stays while j runs. 4 × 2 × 1 steps.
    let whole = matmul().bm(128).bn(128).bk(384);
    let want = Cost {
        flops: 2 * 512 * 384 * 256,
        product_flops: 2 * 512 * 384 * 256,
        integer_flops: 0,
        bytes: (4 * 128 * 384 + 8 * 384 * 128 + 8 * block) * 4,
        transcendentals: 512 * 256,
        exact: true,
    };
    assert_eq!(whole.cost(&inputs), Ok(want));

    // A batch of 10 with weights in common. They return to their first block with each slice.
    let batched = kernel.batched(["x", "o"]);
    let inputs: [(DType, &[usize]); 2] = [(F32, &[10, 512, 384]), (F32, &[384, 256])];
    let want = Cost {
        flops: 10 * (2 * 512 * 384 * 256 + 4 * 2 * 2 * block),
        product_flops: 10 * 2 * 512 * 384 * 256,
        integer_flops: 0,
        bytes: 10 * (24 + 24 + 8) * block * 4,
        transcendentals: 10 * 512 * 256,
        exact: true,
    };
    assert_eq!(batched.cost(&inputs), Ok(want));

    // Blocks that stick out count in whole.
    let inputs: [(DType, &[usize]); 2] = [(F32, &[400, 300]), (F32, &[300, 200])];
    let ragged = matmul().bm(128).bn(128).bk(128).cost(&inputs).unwrap();
    assert_eq!((ragged.bytes, ragged.transcendentals), ((24 + 24 + 8) * block * 4, 8 * block));
}

/// A function that is fused costs for each element that it is applied to.
#[test]
fn fused_functions() {
    let inputs: [(DType, &[usize]); 2] = [(F32, &[512, 384]), (F32, &[384, 256])];
    let plain = matmul().bm(128).bn(128).bk(128).cost(&inputs).unwrap();
    let kernel = matmul().bm(128).bn(128).bk(128);
    let after = kernel.clone().map_output("o", |x: Each<f32>| (x * 2.0).exp()).cost(&inputs).unwrap();
    let outputs = 512 * 256;
    assert_eq!((after.flops - plain.flops, after.transcendentals - plain.transcendentals), (outputs, outputs));
    assert_eq!(after.bytes, plain.bytes);

    // On an input for each block that is loaded, from an array of half the bytes.
    let inputs: [(DType, &[usize]); 2] = [(DType::Bf16, &[512, 384]), (F32, &[384, 256])];
    let before = kernel.map_input("x", |x: Each<bf16>| x.cast::<f32>() + 1.0).cost(&inputs).unwrap();
    assert_eq!(before.flops - plain.flops, 24 * 128 * 128);
    assert_eq!(plain.bytes - before.bytes, 24 * 128 * 128 * 2);
}

#[tpu_kernel(grid(i: rows / R), semantics(parallel))]
fn softmax<R: Dim, C: Dim>(
    #[block([rows, cols] at (i, 0))] x: In<f32, (R, C)>,
    #[block([rows, cols] at (i, 0))] o: Out<f32, (R, C)>,
) {
    let x = x.load();
    let e = (x - x.max(Lanes)).exp();
    o.store(e / e.sum(Lanes));
}

#[test]
fn a_softmax() {
    let found = softmax().r(16).c(128).cost(&[(F32, &[64, 128])]).unwrap();
    // A reduction of n elements combines n - 1; differences and quotients are one each.
    let want = Cost {
        flops: 64 * (127 + 128 + 127 + 128),
        product_flops: 0,
        integer_flops: 0,
        bytes: 2 * 64 * 128 * 4,
        transcendentals: 64 * 128,
        exact: true,
    };
    assert_eq!(found, want);
    let nothing = softmax().r(16).c(128).cost(&[(F32, &[0, 128])]).unwrap();
    assert_eq!(nothing, Cost { flops: 0, product_flops: 0, integer_flops: 0, bytes: 0, transcendentals: 0, exact: true });
}

/// Loops: by a constant, by a size of the launch, by the step; and one that no number bounds.
#[tpu_kernel(grid(i: n / 8))]
fn loops(#[block([n, 128] at (i, 0))] x: In<f32, (D<8>, D<128>)>, #[block([n, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>) {
    let mut sum = x.load();
    for _j in 0..3 {
        sum += 1.0;
    }
    for _j in 0..n {
        sum = sum.exp();
    }
    for _j in 0..i {
        sum *= 2.0;
    }
    o.store(sum);
}

#[tpu_kernel(grid(i: n / 8))]
fn unbounded(#[block([n, 128] at (i, 0))] x: In<f32, (D<8>, D<128>)>, #[block([n, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>) {
    let mut sum = x.load();
    let mut left = n;
    while left > 0 {
        sum += 1.0;
        left /= 2;
    }
    o.store(sum);
}

/// Trips that the grid bounds, but not linearly.
#[tpu_kernel(grid(i: n / 8))]
fn halved(#[block([n, 128] at (i, 0))] x: In<f32, (D<8>, D<128>)>, #[block([n, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>) {
    let mut sum = x.load();
    for _j in 0..i / 2 {
        sum += 1.0;
    }
    o.store(sum);
}

#[test]
fn loops_multiply() {
    let tile = 8 * 128;
    let found = loops().cost(&[(F32, &[40, 128])]).unwrap();
    // 5 steps: 3 sums and 40 functions each, and 0 + 1 + 2 + 3 + 4 products.
    let want = Cost {
        flops: (15 + 10) * tile,
        product_flops: 0,
        integer_flops: 0,
        bytes: 2 * 5 * tile * 4,
        transcendentals: 5 * 40 * tile,
        exact: true,
    };
    assert_eq!(found, want);

    let found = unbounded().cost(&[(F32, &[40, 128])]).unwrap();
    assert_eq!((found.flops, found.exact), (5 * tile, false), "one trip");

    // Really 0 + 0 + 1 + 1 + 2: at most 2 in each of 5 steps.
    let found = halved().cost(&[(F32, &[40, 128])]).unwrap();
    assert_eq!((found.flops, found.exact), (10 * tile, false));
}

#[tpu_kernel(grid(i: 5, j: 4))]
fn branch_steps(
    #[block([40, 512] at (i, j))] x: In<f32, (D<8>, D<128>)>,
    #[block([40, 512] at (i, j))] o: Out<f32, (D<8>, D<128>)>,
) {
    let mut sum = x.load();
    if i == 2 {
        sum += 1.0;
    }
    if i != 2 && j < 3 {
        sum += 2.0;
    }
    if i >= 1 && j * 2 <= 3 {
        if j == 0 {
            sum += 3.0;
        } else {
            sum = sum + 4.0 + 5.0;
        }
    }
    if i > 9 {
        sum += 6.0;
    }
    o.store(sum);
}

#[tpu_kernel(grid(i: 5, j: 4))]
fn branch_unknown(
    #[block([40, 512] at (i, j))] x: In<f32, (D<8>, D<128>)>,
    #[block([40, 512] at (i, j))] o: Out<f32, (D<8>, D<128>)>,
    flag: Scalar<bool>,
) {
    let mut sum = x.load();
    if i < j {
        sum += 1.0;
    }
    if flag {
        sum = sum.exp();
    } else {
        sum = sum * 2.0 + 1.0;
    }
    o.store(sum);
}

#[test]
fn branches_count_where_they_are_taken() {
    let tile = 8 * 128;
    let input: [(DType, &[usize]); 1] = [(F32, &[40, 512])];
    // i == 2: 4 steps. i != 2 and j < 3: 4 × 3. i >= 1 and j <= 1: 4 × 2, half with one sum, half with two.
    let found = branch_steps().cost(&input).unwrap();
    assert_eq!((found.flops, found.exact), ((4 + 12 + 4 + 8) * tile, true));

    // On two indices at once, and on a scalar of the launch: the most, in each count.
    let found = branch_unknown().cost(&input).unwrap();
    assert_eq!((found.flops, found.transcendentals, found.exact), (20 * (1 + 2) * tile, 20 * tile, false));
}

/// Windows: the same block, a diagonal, and one that is not linear in the step.
#[tpu_kernel(grid(i: 6, j: 4))]
fn windows(
    #[block([8, 128] at (0, 0))] same: In<f32, (D<8>, D<128>)>,
    #[block([72, 128] at (i + j, 0))] diagonal: In<f32, (D<8>, D<128>)>,
    #[block([192, 128] at (i * 4 + j, 0))] counted: In<f32, (D<8>, D<128>)>,
    #[block([24, 128] at (i / 2, 0))] grouped: In<f32, (D<8>, D<128>)>,
    #[block([8, 512] at (0, j))] o: Out<f32, (D<8>, D<128>)>,
) {
    o.store(same.load() + diagonal.load() + counted.load() + grouped.load());
}

#[test]
fn windows_move_when_their_block_changes() {
    let inputs: [(DType, &[usize]); 4] = [(F32, &[8, 128]), (F32, &[72, 128]), (F32, &[192, 128]), (F32, &[24, 128])];
    let found = windows().cost(&inputs).unwrap();
    // From (i, 3) to (i + 1, 0) the diagonal goes back by 2; every step of `counted` is new; `grouped` may change
    // with i, 6 times at most; the output goes round 6 times.
    assert_eq!((found.bytes, found.exact), ((1 + 24 + 24 + 6 + 24) * 8 * 128 * 4, false));
}

#[tpu_kernel(grid(b: batch, h: heads, i: t / BQ, j: t / BK), semantics(parallel, parallel, parallel, arbitrary))]
fn attention<BQ: Dim, BK: Dim, C: Dim>(
    #[block([batch, heads, t, d] at (squeeze b, squeeze h, i, 0))] q: In<bf16, (BQ, C)>,
    #[block([batch, heads, t, d] at (squeeze b, squeeze h, j, 0))] k: In<bf16, (BK, C)>,
    #[block([batch, heads, t, d] at (squeeze b, squeeze h, j, 0))] v: In<bf16, (BK, C)>,
    #[block([batch, heads, t, d] at (squeeze b, squeeze h, i, 0))] o: Out<bf16, (BQ, C)>,
    #[scratch] m: Vmem<f32, (BQ, One)>,
    #[scratch] l: Vmem<f32, (BQ, One)>,
    #[scratch] acc: Vmem<f32, (BQ, C)>,
) {
    if j == 0 {
        m.fill(f32::NEG_INFINITY);
        l.fill(0.0);
        acc.fill(0.0);
    }
    let scores = dot(q.load(), k.load().t());
    let largest = m.load().maximum(scores.max(Lanes));
    let p = (scores - largest).exp();
    let shrink = (m.load() - largest).exp();
    l.store(l.load() * shrink + p.sum(Lanes));
    acc.store(acc.load() * shrink + dot(p.cast::<bf16>(), v.load()));
    m.store(largest);
    if j == last(j) {
        o.store((acc.load() / l.load()).cast::<bf16>());
    }
}

/// The cost of an attention too large to run comes from its shapes, at once.
#[test]
fn report_34_cost_of_a_huge_attention() -> Result<(), Error> {
    let shape = [18usize, 32, 16384, 256];
    let [batch, heads, t, d] = shape.map(|n| n as u64);
    let inputs: [(DType, &[usize]); 3] = [(DType::Bf16, &shape); 3];
    let kernel = attention().bq(512).bk(1024).c(256);
    let found = kernel.cost(&inputs)?;
    let (rows, columns, steps) = (t / 512, t / 1024, batch * heads * (t / 512) * (t / 1024));
    let scores = batch * heads * t * t;
    // By step and row: maxima and sums of the scores, the running maximum and sum, both differences, the
    // accumulator scaled and added to; at the end the quotient.
    let by_row = 1023 + 1 + 1024 + 1 + 1 + 1 + 1023 + 2 * 256;
    let want = Cost {
        flops: 2 * 2 * scores * d + steps * 512 * by_row + batch * heads * t * d,
        product_flops: 2 * 2 * scores * d,
        integer_flops: 0,
        // Queries and results once; keys and values again for each block of queries.
        bytes: batch * heads * (2 * t * d + 2 * rows * t * d) * 2,
        transcendentals: scores + steps * 512,
        exact: true,
    };
    assert_eq!(found, want);
    assert_eq!(steps, batch * heads * rows * columns);

    // The time does not depend on the grid: 18 × 32 × 32 × 16 steps, or one.
    let mut ir = kernel.stage(&[DType::Bf16; 3])?;
    canonicalise(&mut ir);
    let binding = |shape: &[usize]| numbers(&ir, &vec![(DType::Bf16, shape.to_vec()); 3], kernel.config());
    let large = binding(&shape)?;
    let start = Instant::now();
    for _ in 0..100 {
        assert_eq!(cost(&ir, &large), want);
    }
    let each = start.elapsed() / 100;
    assert!(each < Duration::from_millis(2), "{each:?}");
    Ok(())
}

/// Counts that no number holds are the largest there is, and the cost is not exact.
#[test]
fn counts_saturate() {
    let shape = [2_000_000_000usize, 1, 2_000_000_000, 256];
    let inputs: [(DType, &[usize]); 3] = [(DType::Bf16, &shape); 3];
    let found = attention().bq(512).bk(1024).c(256).cost(&inputs);
    match found {
        Ok(cost) => assert_eq!((cost.flops, cost.exact), (u64::MAX, false)),
        Err(error) => assert_eq!(error.code(), "L016"),
    }
}

/// What a launch refuses of the inputs, the cost refuses.
#[test]
fn inputs_that_do_not_fit() {
    let kernel = matmul().bm(128).bn(128).bk(128);
    assert_eq!(kernel.cost(&[(F32, &[512, 384])]).unwrap_err().code(), "L001");
    assert_eq!(kernel.cost(&[(F32, &[512, 384]), (F32, &[385, 256])]).unwrap_err().code(), "L004");
    assert_eq!(matmul().bm(128).cost(&[(F32, &[512, 384]), (F32, &[384, 256])]).unwrap_err().code(), "L006");
}

/// The work of one operation on tiles of these types, in a kernel of one step.
fn one(kind: OpKind, types: &[(DType, &[usize])]) -> (u64, u64) {
    let mut b = Builder::new("one", Loc::UNKNOWN);
    let blocks = vec![BlockDim::Blocked(8)];
    let Ok(map) = b.map::<std::convert::Infallible>(|b, _| Ok(vec![b.constant(0, Loc::UNKNOWN)]));
    let window = Window { array: vec![SizeExpr::Const(8)], block: blocks.clone(), map, pipelining: Pipelining::default() };
    let o = b.param("o", Builder::window_type(F32, &blocks).unwrap(), ParamKind::Out(window), Loc::UNKNOWN);
    let op = |b: &mut Builder, kind, operands: &[Value]| b.op(kind, operands, Loc::UNKNOWN).unwrap();
    let operands: Vec<Value> = types
        .iter()
        .map(|&(dtype, dims)| {
            let zero = b.constant(Literal::from_bits(dtype, 0), Loc::UNKNOWN);
            op(&mut b, OpKind::Broadcast(Shape::new(dims)), &[zero]).unwrap()
        })
        .collect();
    op(&mut b, kind, &operands);
    let start = b.constant(0, Loc::UNKNOWN);
    let zero = b.constant(0.0f32, Loc::UNKNOWN);
    let tile = op(&mut b, OpKind::Broadcast(Shape::new(&[8])), &[zero]).unwrap();
    op(&mut b, OpKind::Store, &[o, tile, start]);
    let kernel = b.finish().unwrap();
    let found = cost(&kernel, &Binding { cores: 1, sizes: vec![], grid: vec![], arrays: vec![vec![8]] });
    assert_eq!((found.bytes, found.exact), (32, true));
    (found.flops, found.transcendentals)
}

#[test]
fn operations() {
    let f = (F32, [6, 10].as_slice());
    let i = (DType::I32, [6, 10].as_slice());
    assert_eq!(one(OpKind::Unary(UnaryOp::Neg), &[f]), (60, 0));
    assert_eq!(one(OpKind::Unary(UnaryOp::Recip), &[f]), (60, 0));
    assert_eq!(one(OpKind::Unary(UnaryOp::Floor), &[f]), (60, 0));
    assert_eq!(one(OpKind::Unary(UnaryOp::Log), &[f]), (0, 60));
    assert_eq!(one(OpKind::Binary(BinaryOp::Pow), &[f, f]), (0, 60));
    assert_eq!(one(OpKind::Binary(BinaryOp::Shl), &[i, i]), (60, 0));
    assert_eq!(one(OpKind::Compare(CompareOp::Lt), &[f, f]), (60, 0));
    assert_eq!(one(OpKind::Cast(DType::Bf16), &[f]), (0, 0));
    assert_eq!(one(OpKind::Transpose(vec![1, 0]), &[f]), (0, 0));
    assert_eq!(one(OpKind::Concat { axis: 0 }, &[f, f]), (0, 0));
    assert_eq!(one(OpKind::Gather { axis: 1 }, &[f, i]), (0, 0));
    assert_eq!(one(OpKind::PrngBits(Shape::new(&[6, 10])), &[]), (0, 0));
    // Six rows of ten: nine combine with the first, or with all before.
    assert_eq!(one(OpKind::Reduce { op: ReduceOp::ArgMax, axis: 1 }, &[f]), (54, 0));
    assert_eq!(one(OpKind::Scan { op: ScanOp::Sum, axis: 1, reverse: false }, &[f]), (54, 0));
    assert_eq!(one(OpKind::Sort { axis: 1, descending: false }, &[f, i]), (60 * 4, 0));
    // A batch of three products of 4×5 by 5×7, contracted over other dimensions than usual.
    let dims = DotDims { contract: (1, 2), batch: vec![(0, 0)] };
    let kind = OpKind::Dot { dims, precision: Precision::Default };
    assert_eq!(one(kind, &[(F32, &[3, 5, 4]), (F32, &[3, 7, 5])]), (2 * 3 * 4 * 5 * 7, 0));
}

/// Fetches a block a step, of the last step only some rows, and writes back the whole array once.
#[tpu_kernel(grid(i: m / 8))]
fn copies(
    #[hbm([m, 128])] x: Hbm<bf16, 2>,
    #[hbm([m, 128])] y: HbmOut<bf16, 2>,
    #[hbm([8, 128])] o: HbmOut<bf16, 2>,
    #[scratch] buffer: Vmem<bf16, (D<8>, D<128>)>,
    #[scratch] done: DmaSemaphore,
) {
    let from = x.view((i * 8, 0));
    let started = copy(from, buffer).start(done);
    started.wait();
    if i == last(i) {
        copy(x, y).now();
        copy(buffer, o.view((0, 0))).now();
    }
}

/// Copies by hand count as often as they start, with the extents of their views or arrays.
#[test]
fn copies_by_hand() {
    let block = 8 * 128 * 2;
    let found = copies().cost(&[(DType::Bf16, &[40, 128])]).unwrap();
    // 5 steps; the last one copies the array of 5 blocks and one block more.
    assert_eq!((found.bytes, found.flops, found.exact), ((5 + 5 + 1) * block, 0, true));
}

#[tpu_kernel]
fn some_rows(#[hbm([m, 128])] x: Hbm<f32, 2>, #[hbm([8, 128])] o: HbmOut<f32, 2>, n: Scalar<i32>) {
    copy(x.view::<(D<8>, D<128>)>((0, 0)), o.view::<(D<8>, D<128>)>((0, 0))).rows(n.clamp(0, 5)).now();
}

/// Of rows that data decide, the most counts.
#[test]
fn copies_of_some_rows() {
    let found = some_rows().cost(&[(F32, &[16, 128])]).unwrap();
    assert!((5 * 128 * 4..=8 * 128 * 4).contains(&found.bytes) && !found.exact, "{found:?}");
}
