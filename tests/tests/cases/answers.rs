//! The answers on which both of Pallas' interpreters agree, and those given here where they disagree (`docs/semantics.md`).
//!
//! Not here: a padding of windows that start at elements, which has its tests with them.
//!
//! - Writes to an input window that last while its block stays: not done, because inputs are read only; the refusal is tested.
//! - An aliased output that nothing writes: not done, because no output is aliased yet; an unwritten output is refused.
//! - A gather outside and a grid without steps are errors here, not NaN and not uninitialised outputs.

use tpu_device::{Device, Tensor};
use tpu_kernel::diagnose::render;
use tpu_kernel::ir::{BlockDim, SizeExpr};
use tpu_kernel::passes::verify;
use tpu_kernel::prelude::*;
use tpu_tests::devices::{Counted, devices, expect, failed, kernel_error, made, refused, tensor};
use tpu_tests::kernels::Writer;

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

#[tpu_kernel]
fn extremes<T: Number>(
    #[block([8, 4] at (0, 0))] x: In<T, (D<8>, D<4>)>,
    #[block([8, 1] at (0, 0))] first_max: Out<i32, (D<8>, One)>,
    #[block([8, 1] at (0, 0))] first_min: Out<i32, (D<8>, One)>,
    #[block([8, 1] at (0, 0))] max: Out<T, (D<8>, One)>,
    #[block([8, 1] at (0, 0))] min: Out<T, (D<8>, One)>,
) {
    let x = x.load();
    first_max.store(x.argmax(Lanes));
    first_min.store(x.argmin(Lanes));
    max.store(x.max(Lanes));
    min.store(x.min(Lanes));
}

const ROWS: [[f32; 4]; 8] = [
    [1.0, 3.0, 3.0, 1.0],
    [2.0, NAN, 5.0, NAN],
    [NAN, NAN, NAN, NAN],
    [-INF, -INF, -INF, -INF],
    [INF, 0.0, INF, -INF],
    [-0.0, 0.0, -0.0, 0.0],
    [0.0, -0.0, 0.0, -0.0],
    [7.0, NAN, -INF, INF],
];

fn extremes_of<T: tpu_device::Element + Number + std::fmt::Debug>(device: &Device, of: impl Fn(f32) -> T) {
    let of = |values: &[f32]| values.iter().map(|&v| of(v)).collect::<Vec<T>>();
    let x = tensor(device, &of(&ROWS.concat()), &[8, 4]);
    let (first_max, first_min, max, min) = extremes().launch(device, &x).unwrap();
    expect(&first_max, &[8, 1], &[1, 1, 0, 0, 0, 0, 0, 1]);
    expect(&first_min, &[8, 1], &[0, 1, 0, 0, 3, 0, 0, 1]);
    expect(&max, &[8, 1], &of(&[3.0, NAN, NAN, -INF, INF, 0.0, 0.0, NAN]));
    expect(&min, &[8, 1], &of(&[1.0, NAN, NAN, -INF, -INF, -0.0, -0.0, NAN]));
}

#[test]
fn answer_argmax_takes_the_first_and_nan_wins_and_max_orders_zeros() {
    for device in devices() {
        extremes_of(&device, |v| v);
        extremes_of(&device, bf16::from_f32);
        extremes_of(&device, f16::from_f32);
        extremes_of(&device, F8E5M2::from_f32);
    }
}

#[tpu_kernel]
fn divided<T: Int>(
    #[block([8] at (0))] a: In<T, (D<8>,)>,
    #[block([8] at (0))] b: In<T, (D<8>,)>,
    #[block([4, 8] at (0, 0))] o: Out<T, (D<4>, D<8>)>,
) {
    let (a, b) = (a.load(), b.load());
    let rows = [a.floor_div(b), a.floor_mod(b), a / b, a % b];
    for (at, row) in rows.into_iter().enumerate() {
        o.store_at((at as i32, 0), row.expand(Axis::<0>));
    }
}

/// Python's `//` and `%` round down, with the sign of the divisor; `lax.div` and `lax.rem` truncate.
#[test]
fn answer_integer_division_floors_or_truncates_by_its_name() {
    let (a, b) = ([7, -7, 7, -7, 6, -6, 0, -1], [2, 2, -2, -2, 3, 3, -5, 100]);
    let python = |a: i32, b: i32| (f64::from(a) / f64::from(b)).floor() as i32;
    let mut want: Vec<i32> = std::iter::zip(a, b).map(|(a, b)| python(a, b)).collect();
    want.extend(std::iter::zip(a, b).map(|(a, b)| a - python(a, b) * b));
    want.extend(std::iter::zip(a, b).map(|(a, b)| a / b));
    want.extend(std::iter::zip(a, b).map(|(a, b)| a % b));
    assert_eq!(want[..4], [3, -4, -4, 3]);
    for device in devices() {
        let o = divided().launch(&device, &tensor(&device, &a, &[8]), &tensor(&device, &b, &[8])).unwrap();
        expect(&o, &[4, 8], &want);
        let narrow = |v: &[i32]| v.iter().map(|&v| v as i8).collect::<Vec<i8>>();
        let o = divided().launch(&device, &tensor(&device, &narrow(&a), &[8]), &tensor(&device, &narrow(&b), &[8])).unwrap();
        expect(&o, &[4, 8], &narrow(&want));
    }
}

#[tpu_kernel]
fn to_bytes(#[block([12] at (0))] x: In<f32, (D<12>,)>, #[block([12] at (0))] o: Out<i8, (D<12>,)>) {
    o.store(x.load().cast::<i8>());
}

#[test]
fn answer_f32_to_i8_saturates_truncates_and_nan_is_0() {
    let x = [2.5, -2.5, 0.99, -0.99, 127.9, 128.0, 1e30, -128.9, -129.0, -INF, INF, NAN];
    for device in devices() {
        let o = to_bytes().launch(&device, &tensor(&device, &x, &[12])).unwrap();
        expect(&o, &[12], &[2i8, -2, 0, 0, 127, 127, 127, -128, -128, -128, 127, 0]);
    }
}

#[tpu_kernel]
fn rolled(#[block([1, 128] at (0, 0))] o: Out<i32, (One, D<128>)>, by: Scalar<i32>) {
    o.store(iota::<(One, D<128>)>(Lanes).roll(by, Lanes));
}

#[tpu_kernel]
fn rolled_by_3(#[block([1, 128] at (0, 0))] o: Out<i32, (One, D<128>)>) {
    o.store(iota::<(One, D<128>)>(Lanes).roll(3, Lanes));
}

#[test]
fn answer_roll_by_3_starts_at_125_and_any_amount_wraps() {
    for device in devices() {
        let o = rolled_by_3().launch(&device).unwrap().to_vec::<i32>().unwrap();
        assert_eq!(o[..5], [125, 126, 127, 0, 1]);
        for by in [3, -3, 131, 128, 0, -128 * 77 + 1] {
            let want: Vec<i32> = (0..128i32).map(|at| (at - by).rem_euclid(128)).collect();
            expect(&rolled().launch(&device, by).unwrap(), &[1, 128], &want);
        }
    }
}

#[tpu_kernel(grid(i: 3, j: 2))]
fn counted(#[block([3, 2, 8] at (squeeze i, squeeze j, 0))] o: Out<i32, (D<8>,)>, #[scratch] mut steps: Vmem<i32, (D<8>,)>) {
    if i == 0 && j == 0 {
        steps.fill(10);
    }
    steps += 1;
    o.store(steps.load());
}

#[test]
fn answer_scratch_lasts_over_the_steps() {
    for device in devices() {
        let o = counted().allow(Allow::BlockShape).launch(&device).unwrap();
        expect(&o, &[3, 2, 8], &(0..48).map(|at| 11 + at / 8).collect::<Vec<i32>>());
    }
}

/// Pallas lets a kernel write to its input; here the verifier names the store.
#[test]
fn answer_inputs_are_read_only() {
    let mut w = Writer::new("overwrites", "answers.rs");
    let dims = [(SizeExpr::Const(8), BlockDim::Blocked(8))];
    let x = w.input("x", DType::F32, &dims, &[None]);
    let o = w.output("o", DType::F32, &dims, &[None]);
    let tile = w.load(x);
    w.store(o, tile);
    w.store(x, tile);
    let faults = verify(&w.finish()).unwrap_err();
    assert_eq!(faults.iter().map(|fault| fault.rule.code()).collect::<Vec<_>>(), ["V013"]);
}

#[tpu_kernel]
fn byte_products(
    #[block([8, 128] at (0, 0))] x: In<i8, (D<8>, D<128>)>,
    #[block([8, 8] at (0, 0))] wide: Out<i32, (D<8>, D<8>)>,
    #[block([8, 8] at (0, 0))] narrow: Out<i8, (D<8>, D<8>)>,
) {
    let product = dot(x.load(), x.load().t());
    wide.store(product);
    narrow.store(product.cast::<i8>());
}

#[test]
fn answer_int8_products_sum_in_i32_and_wrap_as_i8() {
    for device in devices() {
        let (wide, narrow) = byte_products().launch(&device, &made(&device, &[8, 128], |_| 127i8)).unwrap();
        expect(&wide, &[8, 8], &[2_064_512; 64]);
        // 0x1F8080.
        expect(&narrow, &[8, 8], &[-128i8; 64]);
    }
}

#[tpu_kernel(grid(i: 300))]
fn ones(#[block([8, 128] at (0, 0))] mut o: Out<bf16, (D<8>, D<128>)>) {
    if i == 0 {
        o.fill(0.0);
    }
    o += 1.0;
}

#[test]
fn answer_bf16_counts_to_256() {
    for device in devices() {
        expect(&ones().launch(&device).unwrap(), &[8, 128], &[bf16::from_f32(256.0); 1024]);
    }
}

#[tpu_kernel]
fn masked_softmax(
    #[block([4, 128] at (0, 0))] x: In<f32, (D<4>, D<128>)>,
    #[block([4, 128] at (0, 0))] by_hand: Out<f32, (D<4>, D<128>)>,
    #[block([4, 128] at (0, 0))] in_one: Out<f32, (D<4>, D<128>)>,
    kept: Scalar<i32>,
) {
    let row = iota::<(D<4>, D<128>)>(Sublanes);
    let x = select(row < kept, x.load(), f32::NEG_INFINITY);
    let p = (x - x.max(Lanes)).exp();
    by_hand.store(p / p.sum(Lanes));
    in_one.store(x.softmax(Lanes));
}

#[test]
fn answer_a_fully_masked_softmax_row_is_nan() {
    for device in devices() {
        let x = made(&device, &[4, 128], |_| 3.0f32);
        for kept in 0..=4 {
            let (by_hand, in_one) = masked_softmax().launch(&device, &x, kept).unwrap();
            let want: Vec<f32> = (0..512).map(|at| if at / 128 < kept { 1.0 / 128.0 } else { NAN }).collect();
            expect(&by_hand, &[4, 128], &want);
            expect(&in_one, &[4, 128], &want);
        }
    }
}

#[tpu_kernel(grid(i: m / 8, j: n / 128))]
fn copied(
    #[block([m, n] at (i, j))] x: In<f32, (D<8>, D<128>)>,
    #[block([8, 128] at (0, 0))] o: Out<f32, (D<8>, D<128>)>,
    #[block([m, n] at (i, j))] all: Out<f32, (D<8>, D<128>)>,
) {
    o.store(x.load());
    all.store(x.load());
}

#[test]
fn answer_a_grid_without_steps_writes_nothing() {
    for device in devices() {
        for dims in [[0, 128], [8, 0], [0, 0]] {
            let error = refused(copied().launch(&device, &Tensor::zeros(&device, DType::F32, &dims).unwrap()));
            assert_eq!(error.code(), "L009", "{error}");
        }
        let (o, all) = copied().launch(&device, &made(&device, &[8, 128], |at| at as f32)).unwrap();
        assert_eq!(o.to_vec::<f32>().unwrap(), all.to_vec::<f32>().unwrap());
    }
}

#[tpu_kernel(grid(i: m / 8))]
fn half_written(
    #[block([m, 128] at (i, 0))] o: Out<i32, (D<8>, D<128>)>,
    #[block([m, 128] at (i, 0))] never: Out<f32, (D<8>, D<128>)>,
) {
    o.store_at((2, 5), Tile::<i32, (D<3>, D<100>)>::full(i + 1));
    if i == 1 {
        never.fill(2.0);
    }
}

/// What a kernel leaves alone is poison, in each block anew: never the data of the block before.
#[test]
fn answer_what_is_not_written_is_poison() {
    for device in devices() {
        let (o, never) = half_written().m(24).launch(&device).unwrap();
        let want = (0..24 * 128).map(|at| {
            let (row, column) = (at / 128, at % 128);
            let inside = (2..5).contains(&(row % 8)) && (5..105).contains(&column);
            if inside { row / 8 + 1 } else { i32::MIN }
        });
        expect(&o, &[24, 128], &want.collect::<Vec<_>>());
        let want = (0..24 * 128).map(|at| if (8..16).contains(&(at / 128)) { 2.0 } else { NAN });
        expect(&never, &[24, 128], &want.collect::<Vec<_>>());
    }
    // An output that no path writes is no kernel.
    let mut w = Writer::new("forgets", "answers.rs");
    w.output("o", DType::F32, &[(SizeExpr::Const(8), BlockDim::Blocked(8))], &[None]);
    let faults = verify(&w.finish()).unwrap_err();
    assert_eq!(faults.iter().map(|fault| fault.rule.code()).collect::<Vec<_>>(), ["V028"]);
}

#[tpu_kernel]
fn taken(
    #[block([2, 8] at (0, 0))] x: In<f32, (D<2>, D<8>)>,
    #[block([2, 4] at (0, 0))] indices: In<i32, (D<2>, D<4>)>,
    #[block([2, 4] at (0, 0))] o: Out<f32, (D<2>, D<4>)>,
) {
    o.store(x.load().take_along_axis(indices.load(), Lanes));
}

#[test]
fn answer_a_gather_counts_from_the_end_and_outside_is_an_error() {
    for device in devices() {
        let x = made(&device, &[2, 8], |at| at as f32);
        let take = |indices: [i32; 8]| taken().launch(&device, &x, &tensor(&device, &indices, &[2, 4]));
        expect(&take([0, 7, -1, -8, 3, -3, 0, 0]).unwrap(), &[2, 4], &[0.0f32, 7.0, 7.0, 0.0, 11.0, 13.0, 8.0, 8.0]);
        for outside in [8, -9, i32::MAX, i32::MIN] {
            let error = failed(take([0, 0, 0, 0, 0, 0, 0, outside]));
            assert_eq!(error.code(), "R007");
            assert!(error.to_string().contains(&outside.to_string()), "{error}");
        }
    }
}

// ---- where Pallas' interpreters disagree ------------------------------------------------------------------------------

#[tpu_kernel(grid(i: m / 8))]
fn part_at(
    #[block([m, 128] at (i, 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([m, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>,
    start: Scalar<i32>,
) {
    o.fill(0.0);
    o.store_at((start, 0), x.load_at::<(D<4>, D<128>)>((start, 0)));
}

/// One clamps, the other raises: here it is an error with operand, range, step and line.
#[test]
fn answer_a_dynamic_slice_outside_is_an_error() {
    for device in devices() {
        let x = made(&device, &[16, 128], |at| at as f32);
        for start in 0..=4 {
            let want = (0..2048).map(|at| if (start..start + 4).contains(&(at / 128 % 8)) { at as f32 } else { 0.0 });
            expect(&part_at().launch(&device, &x, start).unwrap(), &[16, 128], &want.collect::<Vec<_>>());
        }
        for start in [5, 8, -1, i32::MAX, i32::MIN] {
            let text = render(&kernel_error(part_at().launch(&device, &x, start)));
            for part in ["error[R001]", "x", "answers.rs"] {
                assert!(text.contains(part), "`{part}` in {text}");
            }
        }
    }
}

#[tpu_kernel(grid(i: m / 8))]
fn shifted(#[block([m, 128] at (i + 1, 0))] x: In<f32, (D<8>, D<128>)>, #[block([m, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>) {
    o.store(x.load());
}

#[test]
fn answer_a_block_outside_is_an_error() {
    for device in devices() {
        assert_eq!(refused(shifted().launch(&device, &made(&device, &[32, 128], |at| at as f32))).code(), "L008");
    }
}

#[tpu_kernel]
fn padding<T: Element>(#[block([n] at (0))] x: In<T, (D<128>,)>, #[block([128] at (0))] o: Out<T, (D<128>,)>) {
    o.store(x.load());
}

#[tpu_kernel]
fn filled<T: Element>(#[block([n] at (0))] x: In<T, (D<128>,)>, #[block([128] at (0))] o: Out<T, (D<128>,)>) {
    o.store(x.load_or(Scalar::from(1).cast::<T>()));
}

/// NaN, the smallest integer, true; a load with a mask fills what is outside.
#[test]
fn answer_padding_is_poison_and_a_masked_load_fills_it() {
    fn check<T: Counted + std::fmt::Debug>(device: &Device) {
        for n in [1, 5, 127, 128] {
            let x = made(device, &[n], |at| T::counted(at as i32 % 7));
            let with = |fill: T| (0..128).map(|at| if at < n { T::counted(at as i32 % 7) } else { fill }).collect::<Vec<T>>();
            expect(&padding().allow(Allow::BlockShape).launch(device, &x).unwrap(), &[128], &with(T::poison()));
            expect(&filled().allow(Allow::BlockShape).launch(device, &x).unwrap(), &[128], &with(T::counted(1)));
        }
    }
    for device in devices() {
        check::<f32>(&device);
        check::<bf16>(&device);
        check::<i32>(&device);
        check::<bool>(&device);
    }
}

#[tpu_kernel(grid(i: 3))]
fn revisited(
    #[block([16, 128] at (i % 2, 0))] mut o: Out<f32, (D<8>, D<128>)>,
    #[block([24, 128] at (i, 0))] seen: Out<f32, (D<8>, D<128>)>,
) {
    if i < 2 {
        o.fill(i.cast::<f32>() + 1.0);
    }
    o += 1.0;
    seen.store(o.load());
}

/// A block may be visited again; it starts as poison and replaces what the first visit wrote.
#[test]
fn answer_a_revisited_output_starts_anew() {
    for device in devices() {
        let (o, seen) = revisited().launch(&device).unwrap();
        let rows = |values: &[f32]| values.iter().flat_map(|&v| [v; 1024]).collect::<Vec<f32>>();
        expect(&seen, &[24, 128], &rows(&[2.0, 3.0, NAN]));
        expect(&o, &[16, 128], &rows(&[NAN, 3.0]));
    }
}

#[tpu_kernel(grid(i: 2))]
fn drawn(#[block([2, 8, 128] at (squeeze i, 0, 0))] o: Out<u32, (D<8>, D<128>)>, seed: Scalar<i32>) {
    if i == 0 {
        prng_seed(seed);
    }
    o.store(prng_bits::<(D<8>, D<128>)>());
}

#[tpu_kernel]
fn unseeded(#[block([8, 128] at (0, 0))] o: Out<u32, (D<8>, D<128>)>) {
    o.store(prng_bits::<(D<8>, D<128>)>());
}

/// One gives zeros, the other numbers: here they are those of threefry, the same on every executor, and all different.
#[test]
fn answer_random_bits_are_random_and_repeat_with_the_seed() {
    let [interpreter, cranelift] = devices();
    let draw = |device: &Device, seed| drawn().launch(device, seed).unwrap().to_vec::<u32>().unwrap();
    let first = draw(&interpreter, 7);
    assert_eq!(first, draw(&cranelift, 7));
    assert_eq!(first, draw(&cranelift, 7));
    assert_ne!(first, draw(&cranelift, 8));
    let distinct: std::collections::BTreeSet<u32> = first.iter().copied().collect();
    assert_eq!(distinct.len(), 2048);
    let ones: u32 = first.iter().map(|word| word.count_ones()).sum();
    // 32,768 are expected of 65,536, with a deviation of 128.
    assert!((32_000..33_500).contains(&ones), "{ones}");
    for device in devices() {
        assert_eq!(failed(unseeded().launch(&device)).code(), "R009");
    }
}
