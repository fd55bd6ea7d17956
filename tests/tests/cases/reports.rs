//! What users reported, each as its whole kind: the smallest input, the right answer, and what lies around it.
//!
//! - 4: not done, because no operand is aliased yet; that an output which nothing writes is refused is here and in `answers.rs`.
//! - 5: not done, because copies and allocations inside a kernel are another part of the language; its value, one element
//!   under another rank, is here.
//! - 19: the alignment of the packed words is not asked for, because rows fold along the second to last dimension alone.
//! - 14, 15, 17, 20: in `report_types.rs`; 34: in `cost.rs`.
//! - 42: not done, because kernels are not partitioned over devices.

use std::time::{Duration, Instant};
use tpu_device::Device;
use tpu_kernel::diagnose::render;
use tpu_kernel::ir::{OpKind, Region};
use tpu_kernel::launch::Launchable;
use tpu_kernel::prelude::*;
use tpu_tests::devices::{devices, expect, failed, kernel_error, made, tensor};

// ---- 4, 5: outputs that nothing writes, one element under another rank ---------------------------------------------------

#[tpu_kernel]
fn empty_body(#[block([2] at (0))] x: In<f32, (D<2>,)>, #[block([2] at (0))] o: Out<f32, (D<2>,)>) {
    let _ = x.load();
    let _ = o;
}

#[tpu_kernel]
fn other_rank(#[block([1] at (0))] x: In<f32, (One,)>, #[block([1, 1] at (0, 0))] o: Out<f32, (One, One)>) {
    o.store_at((0, 0), x.load().reshape::<(One, One)>());
}

#[test]
fn report_04_an_output_that_nothing_writes_is_refused() {
    for device in devices() {
        let text = render(&kernel_error(empty_body().launch(&device, &tensor(&device, &[1.0f32, 1.0], &[2]))));
        assert!(text.contains("error[V028]") && text.contains("`o`"), "{text}");
    }
}

#[test]
fn report_05_one_element_under_another_rank() {
    for device in devices() {
        expect(&other_rank().launch(&device, &tensor(&device, &[1.0f32], &[1])).unwrap(), &[1, 1], &[1.0f32]);
    }
}

// ---- 7: products of f16 ---------------------------------------------------------------------------------------------------

#[tpu_kernel(grid(i: m / 64, j: n / 64))]
fn half_product<T: Float, K: Dim>(
    #[block([m, k] at (i, 0))] x: In<T, (D<64>, K)>,
    #[block([k, n] at (0, j))] y: In<T, (K, D<64>)>,
    #[block([m, n] at (i, j))] o: Out<T, (D<64>, D<64>)>,
) {
    let product = dot(x.load().cast::<f16>(), y.load().cast::<f16>());
    o.store(product.cast::<T>());
}

/// Sums in f32 and one rounding: within half an ulp of the exact product, and what the order of a sum in f32 may add.
#[test]
fn report_07_f16_products_round_once() {
    let [interpreter, cranelift] = devices();
    for (device, [m, k, n]) in [(&interpreter, [70, 19, 64]), (&interpreter, [64, 130, 65]), (&cranelift, [256, 952, 130])] {
        let value = |at: usize| f16::from_f32(((at * 7919 + at / 7) % 2003) as f32 / 1000.0 - 1.0);
        let x = made(device, &[m, k], value);
        let y = made(device, &[k, n], |at| value(at + 31));
        let o = half_product().k(k).allow(Allow::BlockShape).launch(device, &x, &y).unwrap().to_vec::<f16>().unwrap();
        for (at, got) in o.iter().enumerate() {
            let products = (0..k).map(|l| value(at / n * k + l).to_f64() * value(l * n + at % n + 31).to_f64());
            let (exact, size) = products.fold((0.0, 0.0), |(sum, size), p| (sum + p, size + p.abs()));
            let ulp = 2f64.powi((exact.abs().max(2f64.powi(-14)).log2().floor() as i32) - 10);
            let error = (got.to_f64() - exact).abs();
            assert!(error <= 0.5 * ulp + 2.0 * k as f64 * 2f64.powi(-24) * size, "element {at}: {got} for {exact}");
        }
    }
}

// ---- 12: cumulative sums ------------------------------------------------------------------------------------------------

#[tpu_kernel]
fn first_sums(#[block([4] at (0))] x: In<i32, (D<4>,)>, #[block([2] at (0))] o: Out<i32, (D<2>,)>) {
    o.store(x.load().cumsum(Lanes).slice::<(D<2>,)>([0]));
}

#[tpu_kernel]
fn scans<T: Number>(
    #[block([5, 30] at (0, 0))] x: In<T, (D<5>, D<30>)>,
    #[block([6, 5, 30] at (0, 0, 0))] o: Out<T, (D<6>, D<5>, D<30>)>,
) {
    let x = x.load();
    let all = [
        x.cumsum(Lanes),
        x.cumsum(Sublanes),
        x.cumsum_reverse(Lanes),
        x.cumprod(Sublanes),
        x.cummax(Lanes),
        x.cummin_reverse(Sublanes),
    ];
    for (at, tile) in all.into_iter().enumerate() {
        o.store_at((at as i32, 0, 0), tile.expand(Axis::<0>));
    }
}

fn scanned(x: &[i32], step: usize, len: usize, reverse: bool, f: impl Fn(i32, i32) -> i32) -> Vec<i32> {
    let all = (0..x.len()).map(|at| {
        let place = at / step % len;
        let first = at - place * step;
        let range = if reverse { place..len } else { 0..place + 1 };
        range.map(|p| x[first + p * step]).reduce(&f).unwrap()
    });
    all.collect()
}

#[test]
fn report_12_cumulative_sums() {
    let x: Vec<i32> = (0..150).map(|at| at * 37 % 19 * 2 - 17).collect();
    let want = [
        scanned(&x, 1, 30, false, |a, b| a + b),
        scanned(&x, 30, 5, false, |a, b| a + b),
        scanned(&x, 1, 30, true, |a, b| a + b),
        scanned(&x, 30, 5, false, |a, b| a * b),
        scanned(&x, 1, 30, false, i32::max),
        scanned(&x, 30, 5, true, i32::min),
    ]
    .concat();
    for device in devices() {
        expect(&first_sums().launch(&device, &tensor(&device, &[0, 1, 2, 3], &[4])).unwrap(), &[2], &[0, 1]);
        expect(&scans().launch(&device, &tensor(&device, &x, &[5, 30])).unwrap(), &[6, 5, 30], &want);
        let floats: Vec<f32> = x.iter().map(|&v| v as f32).collect();
        let o = scans().launch(&device, &tensor(&device, &floats, &[5, 30])).unwrap();
        expect(&o, &[6, 5, 30], &want.iter().map(|&v| v as f32).collect::<Vec<_>>());
        let bytes: Vec<i8> = x.iter().map(|&v| v as i8).collect();
        let o = scans().launch(&device, &tensor(&device, &bytes, &[5, 30])).unwrap();
        expect(&o, &[6, 5, 30], &want.iter().map(|&v| v as i8).collect::<Vec<_>>());
    }
}

// ---- 19: packed nibbles ------------------------------------------------------------------------------

#[tpu_kernel]
fn nibbles(
    #[block([16, 64] at (0, 0))] x: In<i8, (D<16>, D<64>)>,
    #[block([16, 64] at (0, 0))] low: Out<i8, (D<16>, D<64>)>,
    #[block([16, 64] at (0, 0))] high: Out<i8, (D<16>, D<64>)>,
    #[block([32, 64] at (0, 0))] rows: Out<I4, (D<32>, D<64>)>,
) {
    let x = x.load();
    low.store((x << 4) >> 4);
    high.store(x >> 4);
    rows.store(x.bitcast_rows::<I4, (D<32>, D<64>)>());
}

#[test]
fn report_19_nibbles_are_sign_extended_the_low_one_first() {
    let byte = |at: usize| (at * 3) as u8 as i8;
    let low = |at: usize| ((byte(at) as u8) << 4) as i8 >> 4;
    for device in devices() {
        let outputs = nibbles().launch(&device, &made(&device, &[16, 64], byte)).unwrap();
        expect(&outputs.0, &[16, 64], &(0..1024).map(low).collect::<Vec<_>>());
        expect(&outputs.1, &[16, 64], &(0..1024).map(|at| byte(at) >> 4).collect::<Vec<_>>());
        let rows = (0..2048).map(|at| (at / 128 * 64 + at % 64, at / 64 % 2));
        let rows = rows.map(|(of, part)| I4::wrapping(if part == 0 { low(of) } else { byte(of) >> 4 }));
        expect(&outputs.2, &[32, 64], &rows.collect::<Vec<_>>());
    }
}

// ---- 21, 22: products of odd shapes ------------------------------------------------------------------------------------------

#[tpu_kernel(grid(b: 2))]
fn batched(
    #[block([2, 4, 128] at (squeeze b, 0, 0))] a: In<bf16, (D<4>, D<128>)>,
    #[block([2, 4, 128, 128] at (squeeze b, 0, 0, 0))] m: In<bf16, (D<4>, D<128>, D<128>)>,
    #[block([2, 4, 128] at (squeeze b, 0, 0))] o: Out<bf16, (D<4>, D<128>)>,
) {
    o.store(batch_dot_over(a.load(), Lanes, m.load(), Axis::<1>, Axis::<0>).cast::<bf16>());
}

#[test]
fn report_21_batched_matvec_of_bf16() {
    let value = |at: usize| bf16::from_f32(((at * 7919 + at / 11) % 1009) as f32 / 500.0 - 1.0);
    for device in devices() {
        let a = made(&device, &[2, 4, 128], value);
        let m = made(&device, &[2, 4, 128, 128], |at| value(at + 5));
        let o = batched().launch(&device, &a, &m).unwrap().to_vec::<bf16>().unwrap();
        for (at, got) in o.iter().enumerate() {
            let products =
                (0..128).map(|k| value(at / 128 * 128 + k).to_f64() * value((at / 128 * 128 + k) * 128 + at % 128 + 5).to_f64());
            let (exact, size) = products.fold((0.0, 0.0), |(sum, size): (f64, f64), p| (sum + p, size + p.abs()));
            // Summed in f32, rounded once to bf16.
            let bound = exact.abs() * 2f64.powi(-8) + 256.0 * 2f64.powi(-24) * size;
            assert!((got.to_f64() - exact).abs() <= bound, "element {at}: {got} for {exact}");
        }
    }
}

#[tpu_kernel(grid(l: k / BK))]
fn narrow_blocks<BK: Dim>(
    #[block([64, k] at (0, l))] x: In<f32, (D<64>, BK)>,
    #[block([16, k] at (0, l))] y: In<f32, (D<16>, BK)>,
    #[block([64, 16] at (0, 0))] mut o: Out<f32, (D<64>, D<16>)>,
) {
    if l == 0 {
        o.fill(0.0);
    }
    o += dot_with(Precision::Highest, x.load(), y.load().t());
}

#[test]
fn report_22_blocks_of_the_contracted_dimension_below_128() {
    let value = |at: usize| (at * 29 % 37) as f32 - 18.0;
    for device in devices() {
        for (k, bk) in [(128, 64), (128, 128), (96, 32), (64, 8), (12, 1), (40, 40)] {
            let x = made(&device, &[64, k], value);
            let y = made(&device, &[16, k], |at| value(at + 3));
            let o = narrow_blocks().bk(bk).allow(Allow::BlockShape).launch(&device, &x, &y).unwrap();
            let entry = |i: usize, j: usize| (0..k).map(|l| value(i * k + l) * value(j * k + l + 3)).sum::<f32>();
            expect(&o, &[64, 16], &(0..1024).map(|at| entry(at / 16, at % 16)).collect::<Vec<_>>());
        }
    }
}

// ---- 24: transposes -----------------------------------------------------------------------------------------------------------

macro_rules! transposes {
    ($($name:ident $rows:literal $columns:literal;)+) => {
        $(
            #[tpu_kernel]
            fn $name<T: Element>(
                #[block([$rows, $columns] at (0, 0))] x: In<T, (D<$rows>, D<$columns>)>,
                #[block([$columns, $rows] at (0, 0))] o: Out<T, (D<$columns>, D<$rows>)>,
            ) {
                o.store(x.load().t());
            }
        )+

        #[test]
        fn report_24_transposes_of_any_shape() {
            fn of<T: tpu_device::Element + std::fmt::Debug>(device: &Device, of: impl Fn(usize) -> T) {
                $(
                    let o = $name().launch(device, &made(device, &[$rows, $columns], &of)).unwrap();
                    let (rows, columns) = ($rows, $columns);
                    let want = (0..rows * columns).map(|at| of(at % rows * columns + at / rows));
                    expect(&o, &[$columns, $rows], &want.collect::<Vec<_>>());
                )+
            }
            for device in devices() {
                of(&device, |at| at as f32);
                of(&device, |at| bf16::from_bits(at as u16 % 0x7F00));
                of(&device, |at| at as u8 as i8);
                of(&device, |at| I4::wrapping(at as i8));
                of(&device, |at| at % 3 == 0);
            }
        }
    };
}

transposes! {
    wide 128 64;
    tall 64 128;
    odd 7 130;
    one_row 1 33;
    one_column 19 1;
    small 3 5;
}

// ---- 26: indices that are arrays ------------------------------------------------------------------------------------------------

#[tpu_kernel]
fn indexed(
    #[block([4, 2] at (0, 0))] x: In<i32, (D<4>, D<2>)>,
    #[block([4, 2] at (0, 0))] same: Out<i32, (D<4>, D<2>)>,
    #[block([4, 2] at (0, 0))] turned: Out<i32, (D<4>, D<2>)>,
) {
    let x = x.load();
    let (rows, columns) = (iota::<(D<4>, D<2>)>(Sublanes), iota::<(D<4>, D<2>)>(Lanes));
    same.store(x.take_along_axis(rows, Sublanes).take_along_axis(columns, Lanes));
    turned.store(x.take_along_axis(3 - rows, Sublanes).take_along_axis(-1 - columns, Lanes));
}

/// Arrays of indices pick along an axis, in every mode; a memory itself takes corners only, which rustc says
/// (`compile-fail/shape/load_at_indices.rs`).
#[test]
fn report_26_arrays_of_indices() {
    for device in devices() {
        let (same, turned) = indexed().launch(&device, &tensor(&device, &[10, 11, 20, 21, 30, 31, 40, 41], &[4, 2])).unwrap();
        expect(&same, &[4, 2], &[10, 11, 20, 21, 30, 31, 40, 41]);
        expect(&turned, &[4, 2], &[41, 40, 31, 30, 21, 20, 11, 10]);
    }
}

// ---- 27: one element by the grid index -------------------------------------------------------------------------------------------

#[tpu_kernel(grid(i: 8))]
fn element_a_step(#[block([8] at (0))] o: Out<i32, (D<8>,)>) {
    o.store_at((i,), Tile::<i32, (One,)>::full(i));
}

#[tpu_kernel(grid(i: 9))]
fn one_too_far(#[block([8] at (0))] o: Out<i32, (D<8>,)>) {
    o.store_at((i,), Tile::<i32, (One,)>::full(i));
}

#[tpu_kernel(grid(i: 2, j: 3))]
fn element_of_a_matrix(#[block([2, 3] at (0, 0))] o: Out<f32, (D<2>, D<3>)>) {
    o.store_at((i, j), Tile::<f32, (One, One)>::full((i * 10 + j).cast::<f32>()));
}

#[test]
fn report_27_an_element_at_the_grid_index() {
    for device in devices() {
        expect(&element_a_step().launch(&device).unwrap(), &[8], &[0, 1, 2, 3, 4, 5, 6, 7]);
        expect(&element_of_a_matrix().launch(&device).unwrap(), &[2, 3], &[0.0f32, 1.0, 2.0, 10.0, 11.0, 12.0]);
        let error = failed(one_too_far().launch(&device));
        assert_eq!(error.code(), "R001");
        assert!(error.to_string().contains('8'), "{error}");
    }
}

// ---- 38: loops ----------------------------------------------------------------------------------------------------------------------

#[tpu_kernel]
fn long_loop(#[block([8, 128] at (0, 0))] o: Out<i32, (D<8>, D<128>)>, n: Scalar<i32>) {
    let mut sum = Tile::<i32, (D<8>, D<128>)>::full(0);
    for i in 0..n {
        sum = sum * 3 + i;
    }
    o.store(sum);
}

#[tpu_kernel]
fn counts(#[block([1, 1] at (0, 0))] o: Out<i32, (One, One)>, n: Scalar<i32>) {
    let mut sum = Scalar::from(0);
    for i in 0..n {
        sum += i & 1;
    }
    o.fill(sum);
}

fn operations(region: &Region) -> usize {
    region.ops.iter().map(|op| 1 + op.regions.iter().map(operations).sum::<usize>()).sum()
}

/// A loop is one in the kernel, whatever it counts to; it is compiled once, and its time is that of its trips.
#[test]
fn report_38_loops_are_compiled_once_and_cost_what_they_run() {
    let kernel = long_loop().stage(&[]).unwrap();
    assert!(operations(&kernel.body) < 20, "{kernel}");
    assert_eq!(kernel.body.ops.iter().filter(|op| matches!(op.kind, OpKind::For)).count(), 1);
    let [interpreter, cranelift] = devices();
    let want = |n: i32| (0..n).fold(0i32, |sum, i| sum.wrapping_mul(3).wrapping_add(i));
    for (device, trips) in [(&interpreter, [0, 1, 7, 500]), (&cranelift, [0, 1, 1000, 200_000])] {
        for n in trips {
            expect(&long_loop().launch(device, n).unwrap(), &[8, 128], &[want(n); 1024]);
        }
    }
    // The second count of the same kernel compiles nothing: 2^26 trips take about 2^10 times as long as 2^16.
    let time = |n: i32| {
        let start = Instant::now();
        expect(&counts().launch(&cranelift, n).unwrap(), &[1, 1], &[n / 2]);
        start.elapsed()
    };
    time(1 << 16);
    let (short, long) = (time(1 << 20), time(1 << 26));
    assert!(long < (short + Duration::from_millis(5)) * 64 * 8, "{short:?}, {long:?}");
}
