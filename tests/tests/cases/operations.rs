//! Operations: rolls (44); arg-reductions, quantisation, stochastic rounding, packing, bits, products of mixed types (45).

use safetensors::SafeTensors;
use std::collections::BTreeSet;
use std::path::Path;
use tpu_device::{Device, Tensor};
use tpu_kernel::ir::Literal;
use tpu_kernel::prelude::*;
use tpu_tests::devices::{devices, expect, made, tensor};

/// The bytes of one of the arrays that `goldens/cases.py` wrote.
fn golden(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("goldens/cases.safetensors");
    let data = std::fs::read(path).expect("the goldens");
    let tensors = SafeTensors::deserialize(&data).expect("a file of tensors");
    tensors.tensor(name).unwrap_or_else(|e| panic!("{name}: {e}")).data().to_vec()
}

// ---- 44: rolls -----------------------------------------------------------------------------------------------------

const SHIFTS: [i32; 12] = [0, 1, 3, 7, 8, 15, 16, 127, 128, 129, -1, -3];
const STRIDES: [i32; 4] = [1, 2, 17, -1];

#[tpu_kernel]
fn rolls<T: Element>(
    #[block([16, 128] at (0, 0))] x: In<T, (D<16>, D<128>)>,
    #[block([12, 16, 128] at (0, 0, 0))] lanes: Out<T, (D<12>, D<16>, D<128>)>,
    #[block([12, 16, 128] at (0, 0, 0))] rows: Out<T, (D<12>, D<16>, D<128>)>,
    #[block([4, 16, 128] at (0, 0, 0))] strided: Out<T, (D<4>, D<16>, D<128>)>,
    #[block([2, 16, 128] at (0, 0, 0))] dynamic: Out<T, (D<2>, D<16>, D<128>)>,
    by: Scalar<i32>,
) {
    let x = x.load();
    for (at, shift) in SHIFTS.into_iter().enumerate() {
        lanes.store_at((at as i32, 0, 0), x.roll(shift, Lanes).expand(Axis::<0>));
        rows.store_at((at as i32, 0, 0), x.roll(shift, Sublanes).expand(Axis::<0>));
    }
    for (at, stride) in STRIDES.into_iter().enumerate() {
        strided.store_at((at as i32, 0, 0), x.roll_strided(by, Lanes, stride, Sublanes).expand(Axis::<0>));
    }
    dynamic.store_at((0, 0, 0), x.roll(by, Lanes).expand(Axis::<0>));
    dynamic.store_at((1, 0, 0), x.roll(by, Sublanes).expand(Axis::<0>));
}

/// `np.roll` of (16, 128): the place that each element comes from, where row r moves by `shift` + r · `stride` along the lanes.
fn rolled_lanes(shift: i64, stride: i64) -> impl Fn(usize) -> usize {
    move |at| {
        let (row, column) = ((at / 128 % 16) as i64, (at % 128) as i64);
        (row * 128 + (column - shift - row * stride).rem_euclid(128)) as usize
    }
}

fn rolled_rows(shift: i64) -> impl Fn(usize) -> usize {
    move |at| ((at / 128 % 16) as i64 - shift).rem_euclid(16) as usize * 128 + at % 128
}

fn roll_of<T: tpu_device::Element + std::fmt::Debug>(device: &Device, of: impl Fn(usize) -> T) {
    let values: Vec<T> = (0..2048).map(of).collect();
    let x = tensor(device, &values, &[16, 128]);
    let take = |from: &dyn Fn(usize) -> usize| (0..2048).map(|at| values[from(at)]).collect::<Vec<T>>();
    for by in [0, 5, 129, -1, -3, 131, 128 * 9 + 2, i32::MAX, i32::MIN] {
        let (lanes, rows, strided, dynamic) = rolls().launch(device, &x, by).unwrap();
        expect(&lanes, &[12, 16, 128], &SHIFTS.map(|s| take(&rolled_lanes(i64::from(s), 0))).concat());
        expect(&rows, &[12, 16, 128], &SHIFTS.map(|s| take(&rolled_rows(i64::from(s)))).concat());
        expect(&strided, &[4, 16, 128], &STRIDES.map(|s| take(&rolled_lanes(i64::from(by), i64::from(s)))).concat());
        expect(&dynamic, &[2, 16, 128], &[take(&rolled_lanes(i64::from(by), 0)), take(&rolled_rows(i64::from(by)))].concat());
    }
}

#[test]
fn case_44_roll() {
    for device in devices() {
        roll_of(&device, |at| at as f32 - 0.5);
        roll_of(&device, |at| bf16::from_bits(at as u16 * 31));
        roll_of(&device, |at| (at * 13) as u8 as i8);
        roll_of(&device, |at| I4::wrapping((at * 5 + at / 128) as u8 as i8));
        roll_of(&device, |at| at % 3 == 0);
    }
}

// ---- 45: arg-reductions ----------------------------------------------------------------------------------------------

type Block = (D<2>, D<29>, D<206>);

#[tpu_kernel]
fn extremes<T: Number>(
    #[block([2, 29, 206] at (0, 0, 0))] x: In<T, Block>,
    #[block([1, 29, 206] at (0, 0, 0))] max0: Out<i32, (One, D<29>, D<206>)>,
    #[block([2, 1, 206] at (0, 0, 0))] max1: Out<i32, (D<2>, One, D<206>)>,
    #[block([2, 29, 1] at (0, 0, 0))] max2: Out<i32, (D<2>, D<29>, One)>,
    #[block([1, 29, 206] at (0, 0, 0))] min0: Out<i32, (One, D<29>, D<206>)>,
    #[block([2, 1, 206] at (0, 0, 0))] min1: Out<i32, (D<2>, One, D<206>)>,
    #[block([2, 29, 1] at (0, 0, 0))] min2: Out<i32, (D<2>, D<29>, One)>,
) {
    let x = x.load();
    max0.store(x.argmax(Axis::<0>));
    max1.store(x.argmax(Axis::<1>));
    max2.store(x.argmax(Axis::<2>));
    min0.store(x.argmin(Axis::<0>));
    min1.store(x.argmin(Axis::<1>));
    min2.store(x.argmin(Axis::<2>));
}

fn extremes_of<T: tpu_device::Element + Number>(device: &Device, of: impl Fn(i32) -> T) {
    let x = made(device, &[2, 29, 206], |at| of((at * 7919 + at / 13 * 31) as i32 % 61 - 30));
    let (max0, max1, max2, min0, min1, min2) = extremes().launch(device, &x).unwrap();
    let results =
        [("argmax.0", max0), ("argmax.1", max1), ("argmax.2", max2), ("argmin.0", min0), ("argmin.1", min1), ("argmin.2", min2)];
    for (name, got) in results {
        let want: Vec<i32> = golden(name).into_iter().map(i32::from).collect();
        assert_eq!(got.to_vec::<i32>().unwrap(), want, "{name}");
    }
}

#[test]
fn case_45_reduce_index() {
    for device in devices() {
        extremes_of(&device, |v| v as f32);
        extremes_of(&device, |v| bf16::from_f32(v as f32));
        extremes_of(&device, |v| f16::from_f32(v as f32));
        extremes_of(&device, |v| v * 1_000_003);
        extremes_of(&device, |v| v as i8);
    }
}

// ---- 45: quantisation ------------------------------------------------------------------------------------------------

#[tpu_kernel]
fn quantized(
    #[block([512, 128] at (0, 0))] x: In<bf16, (D<512>, D<128>)>,
    #[block([512, 128] at (0, 0))] truncated: Out<i8, (D<512>, D<128>)>,
    #[block([512, 128] at (0, 0))] rounded: Out<i8, (D<512>, D<128>)>,
) {
    let x = x.load();
    truncated.store(x.cast::<i8>());
    rounded.store(x.cast::<f32>().round_even().clamp(-128.0, 127.0).cast::<i8>());
}

#[test]
fn case_45_quantize() {
    for device in devices() {
        let x = made(&device, &[512, 128], |at| bf16::from_bits(at as u16));
        let (truncated, rounded) = quantized().launch(&device, &x).unwrap();
        for (name, got) in [("truncated", truncated), ("rounded", rounded)] {
            let ends = golden(&format!("quantized.{name}.ends"));
            let values = golden(&format!("quantized.{name}.values"));
            let mut want: Vec<i8> = vec![];
            for (end, value) in ends.as_chunks().0.iter().zip(values) {
                want.resize(usize::from(u16::from_le_bytes(*end)) + 1, value as i8);
            }
            expect(&got, &[512, 128], &want);
        }
    }
}

// ---- 45: stochastic rounding -----------------------------------------------------------------------------------------

type Rows = (D<8>, D<128>);

#[tpu_kernel]
fn stochastic(
    #[block([8, 128] at (0, 0))] x: In<f32, Rows>,
    #[block([8, 128] at (0, 0))] to_bf16: Out<bf16, Rows>,
    #[block([8, 128] at (0, 0))] to_f16: Out<f16, Rows>,
    #[block([8, 128] at (0, 0))] to_e5m2: Out<F8E5M2, Rows>,
    #[block([8, 128] at (0, 0))] to_e4m3: Out<F8E4M3, Rows>,
    #[block([8, 128] at (0, 0))] to_b11: Out<F8E4M3B11, Rows>,
    seed: Scalar<i32>,
) {
    prng_seed(seed);
    let x = x.load();
    to_bf16.store(x.stochastic_round::<bf16>(prng_bits()));
    to_f16.store(x.stochastic_round::<f16>(prng_bits()));
    to_e5m2.store(x.stochastic_round::<F8E5M2>(prng_bits()));
    to_e4m3.store(x.stochastic_round::<F8E4M3>(prng_bits()));
    to_b11.store(x.stochastic_round::<F8E4M3B11>(prng_bits()));
}

/// Each result is one of the two neighbours of its value; exact values and NaN stay. Gives how many went away from zero.
fn neighbours<T: tpu_device::Element + Into<Literal>>(x: &[f32], got: &Tensor, bits: u32) -> usize {
    let got = got.to_vec::<T>().unwrap();
    let float = |v: Literal| v.as_f32().unwrap();
    let every: Vec<f32> = (0..1u32 << bits).map(|b| float(Literal::from_bits(T::DTYPE, b))).filter(|v| v.is_finite()).collect();
    let mut every: Vec<f32> = every.into_iter().filter(|&v| v >= 0.0).collect();
    every.sort_by(f32::total_cmp);
    let mut away = 0;
    for (&x, got) in x.iter().zip(got) {
        let got: f32 = float(got.into());
        if x.is_nan() {
            assert!(got.is_nan(), "NaN became {got}");
            continue;
        }
        let size = x.abs();
        let above = every.partition_point(|&v| v <= size);
        let low = every[above - 1];
        match every.get(above) {
            Some(_) if low == size => assert_eq!(got, x),
            Some(&high) => {
                assert!(got.abs() == low || got.abs() == high, "{x} became {got}, not {low} or {high}");
                assert!(got == 0.0 || got.is_sign_negative() == x.is_sign_negative(), "{x} became {got}");
                away += usize::from(got.abs() == high);
            }
            None => assert!(got.abs() == low || !got.is_finite(), "{x} became {got}"),
        }
    }
    away
}

#[test]
fn case_45_stochastic_round() {
    // Values of all magnitudes that the formats have, then 512 times one value a quarter of the way up.
    let mut x: Vec<f32> =
        (0..512).map(|at| (1.0 + at as f32 * 0.013) * 2f32.powi(at % 20 - 12) * if at % 3 == 0 { -1.0 } else { 1.0 }).collect();
    x[..8].copy_from_slice(&[f32::NAN, 0.0, -0.0, 1.0, -2.0, f32::INFINITY, f32::NEG_INFINITY, f32::MAX]);
    let quarter = |step: f32| 1.0 + step / 4.0;
    for device in devices() {
        for (step, output, bits) in [(2f32.powi(-7), 0, 16), (2f32.powi(-10), 1, 16), (0.25, 2, 8), (0.125, 3, 8), (0.125, 4, 8)] {
            let values: Vec<f32> = x.iter().copied().chain(std::iter::repeat_n(quarter(step), 512)).collect();
            let (a, b, c, d, e) = stochastic().launch(&device, &tensor(&device, &values, &[8, 128]), 45).unwrap();
            let outputs = [a, b, c, d, e];
            let got = &outputs[output];
            let count = |got: &Tensor| match output {
                0 => neighbours::<bf16>(&values, got, bits),
                1 => neighbours::<f16>(&values, got, bits),
                2 => neighbours::<F8E5M2>(&values, got, bits),
                3 => neighbours::<F8E4M3>(&values, got, bits),
                _ => neighbours::<F8E4M3B11>(&values, got, bits),
            };
            count(got);
            let first: Vec<f32> = values[..512].to_vec();
            let all = count(got);
            let of_first = {
                let mut padded = first.clone();
                padded.resize(1024, 1.0);
                all.min(padded.len())
            };
            assert!(of_first > 64, "some go away from zero: {of_first}");
        }
    }
}

// ---- 45: packing and bits ----------------------------------------------------------------------------------------------

#[tpu_kernel]
fn packed(
    #[block([8, 128] at (0, 0))] x: In<f32, Rows>,
    #[block([8, 128] at (0, 0))] y: In<f32, Rows>,
    #[block([8, 128] at (0, 0))] words: Out<u32, Rows>,
    #[block([8, 128] at (0, 0))] bytes: Out<u32, Rows>,
    #[block([8, 128] at (0, 0))] low: Out<f32, Rows>,
    #[block([8, 128] at (0, 0))] high: Out<f32, Rows>,
) {
    let (x, y) = (x.load(), y.load());
    let both = pack([x.cast::<bf16>(), y.cast::<bf16>()]);
    words.store(both);
    bytes.store(pack([x.cast::<i8>(), y.cast::<i8>(), (-x).cast::<i8>(), (-y).cast::<i8>()]));
    low.store(both.unpack::<bf16>(0).cast::<f32>());
    high.store(both.unpack::<bf16>(1).cast::<f32>());
}

#[test]
fn case_45_pack_and_unpack() {
    for device in devices() {
        let (fx, fy) = (|at: usize| at as f32 * 0.37 - 120.0, |at: usize| 100.0 - at as f32 * 0.21);
        let (x, y) = (made(&device, &[8, 128], fx), made(&device, &[8, 128], fy));
        let (words, bytes, low, high) = packed().launch(&device, &x, &y).unwrap();
        let all = || 0..1024;
        let halves = |at| (bf16::from_f32(fx(at)), bf16::from_f32(fy(at)));
        let want = all().map(|at| u32::from(halves(at).0.to_bits()) | u32::from(halves(at).1.to_bits()) << 16);
        expect(&words, &[8, 128], &want.collect::<Vec<_>>());
        let byte = |v: f32| u32::from(v as i8 as u8);
        let want = all().map(|at| byte(fx(at)) | byte(fy(at)) << 8 | byte(-fx(at)) << 16 | byte(-fy(at)) << 24);
        expect(&bytes, &[8, 128], &want.collect::<Vec<_>>());
        expect(&low, &[8, 128], &all().map(|at| halves(at).0.to_f32()).collect::<Vec<_>>());
        expect(&high, &[8, 128], &all().map(|at| halves(at).1.to_f32()).collect::<Vec<_>>());
    }
}

#[tpu_kernel]
fn bits(
    #[block([8, 128] at (0, 0))] x: In<u32, Rows>,
    #[block([8, 128] at (0, 0))] y: In<u32, Rows>,
    #[block([8, 128] at (0, 0))] float: Out<f32, Rows>,
    #[block([16, 128] at (0, 0))] halves: Out<i16, (D<16>, D<128>)>,
    #[block([32, 128] at (0, 0))] bytes: Out<u8, (D<32>, D<128>)>,
    #[block([64, 128] at (0, 0))] nibbles: Out<I4, (D<64>, D<128>)>,
    #[block([8, 128] at (0, 0))] same: Out<bool, Rows>,
) {
    let (x, y) = (x.load(), y.load());
    float.store(x.bitcast::<f32>());
    halves.store(x.bitcast_rows::<i16, (D<16>, D<128>)>());
    bytes.store(x.bitcast_rows::<u8, (D<32>, D<128>)>());
    nibbles.store(x.bitcast_rows::<I4, (D<64>, D<128>)>());
    let back = x.bitcast_rows::<bf16, (D<16>, D<128>)>().bitcast_rows::<u32, Rows>();
    let through_bytes = y.bitcast_rows::<i8, (D<32>, D<128>)>().bitcast_rows::<i16, (D<16>, D<128>)>().bitcast_rows::<u32, Rows>();
    same.store((back == x) & (through_bytes == y));
}

/// A word becomes rows, the low bits first; each row has its own place.
#[test]
fn case_45_bitcast() {
    // Finite numbers: through a float a NaN may lose its payload.
    let of = |at: usize| (at as u32).wrapping_mul(0x9E37_79B9) & 0x7F7F_7F7F & !0x0080_0080 | 0x3000_3000 & !0x4000_4000;
    let part = |at: usize, bits: usize| {
        let per = 32 / bits;
        let (row, column) = (at / 128, at % 128);
        of(row / per * 128 + column) >> (row % per * bits) & ((1u64 << bits) - 1) as u32
    };
    for device in devices() {
        let x = made(&device, &[8, 128], of);
        let y = made(&device, &[8, 128], |at| (at as u32).wrapping_mul(0x85EB_CA6B));
        let (float, halves, bytes, nibbles, same) = bits().launch(&device, &x, &y).unwrap();
        expect(&float, &[8, 128], &(0..1024).map(|at| f32::from_bits(of(at))).collect::<Vec<_>>());
        expect(&halves, &[16, 128], &(0..2048).map(|at| part(at, 16) as u16 as i16).collect::<Vec<_>>());
        expect(&bytes, &[32, 128], &(0..4096).map(|at| part(at, 8) as u8).collect::<Vec<_>>());
        expect(&nibbles, &[64, 128], &(0..8192).map(|at| I4::wrapping(part(at, 4) as i8)).collect::<Vec<_>>());
        expect(&same, &[8, 128], &[true; 1024]);
    }
}

// ---- 45: products of mixed and of integer types --------------------------------------------------------------------------

#[tpu_kernel]
fn mixed<A: Element, B: Product<A, Acc>, Acc: Number>(
    #[block([16, 100] at (0, 0))] a: In<A, (D<16>, D<100>)>,
    #[block([100, 24] at (0, 0))] b: In<B, (D<100>, D<24>)>,
    #[block([16, 24] at (0, 0))] o: Out<Acc, (D<16>, D<24>)>,
) {
    o.store(dot(a.load(), b.load()));
}

/// Small integers, which every type here holds: each product and sum is exact.
fn small(at: usize) -> i32 {
    (at * 7 + at / 9 * 5) as i32 % 9 - 4
}

fn want() -> Vec<i32> {
    (0..16 * 24).map(|at| (0..100).map(|k| small(at / 24 * 100 + k) * small(k * 24 + at % 24 + 1)).sum()).collect()
}

macro_rules! product_of {
    ($device:ident, $a:ty, $b:ty, $acc:ty) => {{
        let make = |dims: [usize; 2], shift: usize| (dims, shift);
        let (a, b) = (make([16, 100], 0), make([100, 24], 1));
        let a = <$a as Small>::tensor(&$device, a.0, a.1);
        let b = <$b as Small>::tensor(&$device, b.0, b.1);
        let o = mixed().allow(Allow::BlockShape).launch(&$device, &a, &b).unwrap();
        expect(&o, &[16, 24], &want().into_iter().map(|v| v as $acc).collect::<Vec<$acc>>());
    }};
}

/// An element type that holds small integers.
trait Small: tpu_device::Element {
    fn small(n: i32) -> Self;
    fn tensor(device: &Device, dims: [usize; 2], shift: usize) -> Tensor {
        made(device, &dims, |at| Self::small(small(at + shift)))
    }
}

macro_rules! small {
    ($($ty:ty: $n:ident => $value:expr;)+) => { $(
        impl Small for $ty {
            fn small($n: i32) -> $ty {
                $value
            }
        }
    )+ };
}

small! {
    f32: n => n as f32;
    bf16: n => bf16::from_f32(n as f32);
    f16: n => f16::from_f32(n as f32);
    F8E4M3: n => F8E4M3::from_f32(n as f32);
    F8E5M2: n => F8E5M2::from_f32(n as f32);
    F4E2M1: n => F4E2M1::from_f32(n as f32);
    i32: n => n;
    i16: n => n as i16;
    i8: n => n as i8;
    I4: n => I4::wrapping(n as i8);
}

#[test]
fn case_45_mixed_precision_dot() {
    for device in devices() {
        product_of!(device, f32, bf16, f32);
        product_of!(device, bf16, i8, f32);
        product_of!(device, i8, bf16, f32);
        product_of!(device, bf16, I4, f32);
        product_of!(device, bf16, F8E4M3, f32);
        product_of!(device, F8E4M3, F8E5M2, f32);
        product_of!(device, F8E5M2, F8E5M2, f32);
        product_of!(device, F8E4M3, F4E2M1, f32);
        product_of!(device, f16, f32, f32);
    }
}

#[test]
fn case_45_integer_dot() {
    for device in devices() {
        product_of!(device, i8, i8, i32);
        product_of!(device, I4, I4, i32);
        product_of!(device, i8, I4, i32);
        product_of!(device, i16, i8, i32);
        product_of!(device, i32, i32, i32);
    }
}

#[test]
fn the_types_of_a_product_are_all_held_exactly() {
    let kept: BTreeSet<i32> = (0..5000).map(small).collect();
    assert_eq!(kept, (-4..=4).collect());
}
