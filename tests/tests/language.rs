//! Programs in the language against the same programs in Rust: loops with carried variables, branches
//! with values, early ends, helper functions, conditions that stop early, tiles of every rank.

use tpu_device::{Device, Tensor};
use tpu_kernel::prelude::*;
use tpu_tests::devices::{devices, expect, failed, made};

/// Steps of the Collatz sequence from `start`, its largest member, and a digest of the odd ones.
#[tpu_kernel]
fn collatz(#[block([1, 4] at (0, 0))] o: Out<i32, (One, D<4>)>, start: Scalar<i32>, limit: Scalar<i32>) {
    let (mut n, mut steps, mut largest) = (start, Scalar::from(0), start);
    let mut digest = Scalar::from(7);
    while n != 1 && steps < limit {
        if n % 2 == 0 {
            n /= 2;
        } else {
            digest = digest * 31 + n;
            n = 3 * n + 1;
        }
        largest = largest.maximum(n);
        steps += 1;
    }
    let done = if n == 1 { Scalar::from(1) } else { Scalar::from(0) };
    let lane = iota::<(One, D<4>)>(Lanes);
    let pairs = select(lane == 0, steps, select(lane == 1, largest, digest));
    o.store(select(lane == 3, done, pairs));
}

fn collatz_in_rust(start: i32, limit: i32) -> [i32; 4] {
    let (mut n, mut steps, mut largest, mut digest) = (start, 0, start, 7i32);
    while n != 1 && steps < limit {
        if n % 2 == 0 {
            n /= 2;
        } else {
            digest = digest.wrapping_mul(31).wrapping_add(n);
            n = n.wrapping_mul(3).wrapping_add(1);
        }
        largest = largest.max(n);
        steps += 1;
    }
    [steps, largest, digest, i32::from(n == 1)]
}

#[test]
fn while_loops_carry_what_they_assign() {
    for device in devices() {
        for (start, limit) in [(1, 100), (2, 100), (27, 1000), (27, 10), (97, 1000), (-5, 40), (i32::MAX, 30), (7, 0)] {
            let o = collatz().launch(&device, start, limit).unwrap();
            expect(&o, &[1, 4], &collatz_in_rust(start, limit));
        }
    }
}

/// Fibonacci by swapping, a triangle of nested loops, tiles carried in a tuple and in an array.
#[tpu_kernel]
fn loops(
    #[block([8, 8] at (0, 0))] x: In<i32, (D<8>, D<8>)>,
    #[block([8, 8] at (0, 0))] o: Out<i32, (D<8>, D<8>)>,
    from: Scalar<i32>,
    to: Scalar<i32>,
    by: Scalar<i32>,
) {
    let (mut a, mut b) = (x.load(), x.load().t());
    let mut kept = [a, b];
    let mut inner = Scalar::from(0);
    for i in (from..to).step_by(by) {
        (a, b) = (b, a + b);
        for j in i..to {
            if j == i + 1 {
                continue;
            }
            inner += j - i;
            kept[0] = kept[0] + j;
        }
        for half in unroll(0..2) {
            kept[1] = kept[1] * 3 + half;
        }
    }
    let a = a + inner;
    o.store(a * 5 + b * 7 + kept[0] * 11 + kept[1]);
}

fn loops_in_rust(x: &[i32; 64], from: i32, to: i32, by: usize) -> Vec<i32> {
    let mut inner = 0i32;
    let element = |at: usize| {
        let (mut a, mut b) = (x[at], x[at % 8 * 8 + at / 8]);
        let mut kept = [a, b];
        inner = 0;
        for i in (from..to).step_by(by) {
            (a, b) = (b, a.wrapping_add(b));
            for j in (i..to).filter(|j| *j != i + 1) {
                inner += j - i;
                kept[0] = kept[0].wrapping_add(j);
            }
            for half in 0..2 {
                kept[1] = kept[1].wrapping_mul(3).wrapping_add(half);
            }
        }
        let a = a.wrapping_add(inner);
        let sum = a.wrapping_mul(5).wrapping_add(b.wrapping_mul(7)).wrapping_add(kept[0].wrapping_mul(11));
        sum.wrapping_add(kept[1])
    };
    (0..64).map(element).collect()
}

#[test]
fn for_loops_nest_swap_and_skip() {
    let x: [i32; 64] = std::array::from_fn(|at| (at * at) as i32 % 23 - 9);
    for device in devices() {
        let tensor = made(&device, &[8, 8], |at| x[at]);
        for (from, to, by) in [(0, 10, 1), (0, 10, 3), (-4, 5, 2), (3, 3, 1), (5, 2, 1), (0, 60, 7)] {
            let o = loops().launch(&device, &tensor, from, to, by).unwrap();
            expect(&o, &[8, 8], &loops_in_rust(&x, from, to, by as usize));
        }
    }
}

#[tile_fn]
fn classify(value: Scalar<i32>) -> Scalar<i32> {
    if value < 0 {
        Scalar::from(-1)
    } else if value == 0 {
        Scalar::from(0)
    } else {
        let mut bits = Scalar::from(0);
        let mut rest = value;
        while rest > 0 {
            bits += 1;
            rest /= 2;
        }
        bits
    }
}

/// `b` to the power of `exponent`, elementwise.
#[tile_fn]
fn power<R: Dim, C: Dim>(b: Tile<f32, (R, C)>, exponent: Scalar<i32>) -> Tile<f32, (R, C)> {
    let mut product = b.like(1.0);
    for _ in 0..exponent {
        product *= b;
    }
    product
}

#[tpu_kernel(grid(i: n / 8))]
fn helped(
    #[block([n, 8] at (i, 0))] x: In<f32, (D<8>, D<8>)>,
    #[block([n, 8] at (i, 0))] o: Out<f32, (D<8>, D<8>)>,
    mut value: Scalar<i32>,
) {
    if value == 99 {
        o.fill(-1.0);
        return;
    }
    value += i;
    let class = classify(value);
    if class < 0 {
        o.store(x.load());
        return;
    }
    let powered = power(x.load_or(1.0), class);
    o.store(if i == last(i) { powered * 2.0 } else { powered });
}

#[test]
fn helpers_branch_loop_and_end_early() {
    for device in devices() {
        let x = made(&device, &[20, 8], |at| (at % 5) as f32 - 2.0);
        for value in [-2, -1, 0, 1, 5, 8, 99] {
            let o = helped().allow(Allow::BlockShape).launch(&device, &x, value).unwrap();
            let element = |at: usize| {
                let (x, step) = ((at % 5) as f32 - 2.0, (at / 64) as i32);
                let value = if value == 99 { return -1.0 } else { value + step };
                match value {
                    ..0 => x,
                    _ => {
                        let bits = 32 - value.leading_zeros();
                        let powered = (0..bits).fold(1.0, |product, _| product * x);
                        if step == 2 { powered * 2.0 } else { powered }
                    }
                }
            };
            expect(&o, &[20, 8], &(0..160).map(element).collect::<Vec<f32>>());
        }
    }
}

/// The right of `&&` and `||` runs only where the left leaves it open.
#[tpu_kernel]
fn guarded(
    #[block([8] at (0))] x: In<i32, (D<8>,)>,
    #[block([3] at (0))] o: Out<i32, (D<3>,)>,
    at: Scalar<i32>,
    guard: Scalar<bool>,
) {
    let mut found = Scalar::from(0);
    if guard && within(x, at) {
        found = Scalar::from(1);
    }
    if !guard || within(x, at) {
        found += 10;
    }
    o.fill(found);
}

fn within(x: In<i32, (D<8>,)>, at: Scalar<i32>) -> Scalar<bool> {
    // Nothing uses what is loaded, but a start outside the block is an error all the same.
    x.load_at::<(One,)>((at,));
    at.ge(4)
}

#[test]
fn conditions_stop_early() {
    for device in devices() {
        let x = made(&device, &[8], |at| at as i32);
        let run = |at, guard| guarded().launch(&device, &x, at, guard);
        for (at, guard, want) in [(0, true, 0), (5, true, 11), (0, false, 10), (5, false, 10), (100, false, 10), (-1, false, 10)] {
            expect(&run(at, guard).unwrap(), &[3], &[want; 3]);
        }
        assert_eq!(failed(run(100, true)).code(), "R001");
    }
}

/// A tile of rank 4 turned, reduced and reshaped.
#[tpu_kernel(grid(i: a, j: d / 4))]
fn ranks(
    #[block([a, 2, 3, d] at (i, 0, 0, j))] x: In<i32, (One, D<2>, D<3>, D<4>)>,
    #[block([3, d, a, 2] at (0, j, i, 0))] turned: Out<i32, (D<3>, D<4>, One, D<2>)>,
    #[block([a, 2, d] at (squeeze i, 0, j))] sums: Out<i32, (D<2>, D<4>)>,
    #[block([a, 1, 3, d] at (i, 0, 0, j))] tops: Out<i32, (One, One, D<3>, D<4>)>,
) {
    let tile = x.load();
    turned.store(tile.transpose::<(D<3>, D<4>, One, D<2>)>([2, 3, 0, 1]));
    sums.store(tile.sum(Sublanes).reshape::<(D<2>, D<4>)>());
    tops.store(tile.max(Axis::<1>));
}

#[test]
fn tiles_of_rank_four() {
    for device in devices() {
        for (a, d) in [(1, 4), (3, 9), (2, 130)] {
            let value = |i: usize, p: usize, q: usize, j: usize| ((i * 31 + p * 17 + q * 7 + j * 3) % 41) as i32 - 20;
            let x = made(&device, &[a, 2, 3, d], |at| value(at / (6 * d), at / (3 * d) % 2, at / d % 3, at % d));
            let (turned, sums, tops) = ranks().allow(Allow::BlockShape).launch(&device, &x).unwrap();
            let want = (0..6 * a * d).map(|at| value(at / 2 % a, at % 2, at / (d * a * 2), at / (a * 2) % d));
            expect(&turned, &[3, d, a, 2], &want.collect::<Vec<_>>());
            let want = (0..2 * a * d).map(|at| (0..3).map(|q| value(at / (2 * d), at / d % 2, q, at % d)).sum::<i32>());
            expect(&sums, &[a, 2, d], &want.collect::<Vec<_>>());
            let top = |at: usize| (0..2).map(|p| value(at / (3 * d), p, at / d % 3, at % d)).max().unwrap();
            expect(&tops, &[a, 1, 3, d], &(0..3 * a * d).map(top).collect::<Vec<_>>());
        }
    }
}

/// Rows in an order that a loop computes: dynamic corners of loads and stores.
#[tpu_kernel]
fn shuffled(
    #[block([16, 128] at (0, 0))] x: In<f32, (D<16>, D<128>)>,
    #[block([16, 128] at (0, 0))] o: Out<f32, (D<16>, D<128>)>,
    by: Scalar<i32>,
) {
    for row in 0..16 {
        let source = (row * by + 3) % 16;
        o.store_at((row, 0), x.load_at::<(One, D<128>)>((source, 0)) + row.cast::<f32>());
    }
}

#[test]
fn corners_that_a_loop_computes() {
    fn run(device: &Device, x: &Tensor, by: i32) -> Tensor {
        shuffled().launch(device, x, by).unwrap()
    }
    for device in devices() {
        let x = made(&device, &[16, 128], |at| at as f32);
        for by in [0, 1, 5, 7] {
            let want = (0..16 * 128).map(|at| ((at / 128 * by + 3) % 16 * 128 + at % 128 + at / 128) as f32);
            expect(&run(&device, &x, by), &[16, 128], &want.collect::<Vec<_>>());
        }
        assert_eq!(failed(shuffled().launch(&device, &x, -1)).code(), "R001");
    }
}
