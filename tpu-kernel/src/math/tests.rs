//! The number formats over plain f32 against their definition, [`Format`], and roundings by their rules.

use super::{Scalar, ceil, decode, encode, floor, next_after, pack, round, round_even, stochastic_round, trunc, unary};
use crate::formats::Format;
use crate::ir::{BinaryOp, DType, Literal, UnaryOp, eval};

fn formats() -> impl Iterator<Item = (DType, Format)> {
    DType::ALL.into_iter().filter_map(|dtype| Some((dtype, Format::of(dtype)?)))
}

/// Both NaN, or the same bits.
fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// Every 8191st f32, and around every number of the format and every middle between two.
fn dense(format: Format) -> impl Iterator<Item = f32> {
    let near = (0..2 * format.sign()).flat_map(move |bits| {
        let (x, next) = (format.decode(bits), format.decode((bits + 1) % (2 * format.sign())));
        let middle = x / 2.0 + next / 2.0;
        [x, middle].into_iter().flat_map(|v| (0..5).map(move |i| f32::from_bits(v.to_bits().wrapping_add(i).wrapping_sub(2))))
    });
    let special = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN, f32::MAX, f32::MIN].repeat(7);
    (0..=u32::MAX).step_by(8191).map(f32::from_bits).chain(near).chain(special)
}

#[test]
fn decode_every_pattern() {
    for (dtype, format) in formats() {
        for bits in 0..2 * format.sign() {
            for other in [0, u32::MAX ^ dtype.mask()] {
                let (want, got) = (format.decode(bits), decode(&mut Scalar, format, (bits | other).cast_signed()));
                assert!(same(want, got), "{dtype} {bits:#x}: {want} {got}");
                assert_eq!(want.is_sign_negative(), got.is_sign_negative(), "{dtype} {bits:#x}");
            }
        }
    }
}

#[test]
fn pack_undoes_decode() {
    for (dtype, format) in formats() {
        for bits in 0..2 * format.sign() {
            let x = decode(&mut Scalar, format, bits.cast_signed());
            let back = pack(&mut Scalar, format, x).cast_unsigned();
            assert_eq!(back, bits, "{dtype} {bits:#x}");
        }
    }
}

#[test]
fn round_and_encode() {
    for (dtype, format) in formats() {
        for x in dense(format) {
            let want = format.decode(format.encode(x));
            let got = round(&mut Scalar, format, x);
            assert!(same(want, got), "{dtype} {x:e}: {want:e} {got:e}");
            let bits = encode(&mut Scalar, format, x).cast_unsigned();
            let nan = want.is_nan() && format.decode(bits).is_nan();
            assert!(bits == format.encode(x) || nan, "{dtype} {x:e}: {bits:#x}");
        }
    }
}

#[test]
fn neighbours() {
    for (dtype, format) in formats().filter(|(_, format)| format.exponent + format.mantissa < 10) {
        for a in 0..2 * format.sign() {
            for b in 0..2 * format.sign() {
                let (x, y) = (Literal::from_bits(dtype, a), Literal::from_bits(dtype, b));
                let want = eval::binary(BinaryOp::NextAfter, x, y).and_then(Literal::as_f32).unwrap();
                let got = next_after(&mut Scalar, Some(format), x.as_f32().unwrap(), y.as_f32().unwrap());
                assert!(same(want, got), "{x:?} {y:?}: {want} {got}");
            }
        }
    }
    for dtype in [DType::F32, DType::F16, DType::Bf16] {
        let patterns = || (0..=u32::MAX).step_by(40_503_127).chain([0, 1, 0x8000_0000, 0x8000_0001, 0x7f80_0000, 0xff80_0000]);
        for (a, b) in patterns().flat_map(|a| patterns().chain([a.wrapping_add(1)]).map(move |b| (a, b))) {
            let [x, y] = [a, b].map(|bits| Literal::from_bits(dtype, bits >> (32 - dtype.bits())));
            let want = eval::binary(BinaryOp::NextAfter, x, y).and_then(Literal::as_f32).unwrap();
            let got = next_after(&mut Scalar, Format::of(dtype), x.as_f32().unwrap(), y.as_f32().unwrap());
            assert!(same(want, got), "{x:?} {y:?}: {want} {got}");
        }
    }
}

#[test]
fn halves_away_from_zero() {
    const MAX: f32 = f32::MAX;
    const INF: f32 = f32::INFINITY;
    let cases = [
        (0.5, 1.0),
        (-0.5, -1.0),
        (1.5, 2.0),
        (2.5, 3.0),
        (0.49999997, 0.0),
        (-0.25, -0.0),
        (-0.0, -0.0),
        (8_388_607.5, 8_388_608.0),
        (8_388_609.0, 8_388_609.0),
        (-MAX, -MAX),
        (INF, INF),
        (-INF, -INF),
    ];
    for (x, want) in cases {
        let got = unary(UnaryOp::Round, Literal::from(x)).and_then(Literal::as_f32).unwrap();
        assert!(same(want, got), "{x:e}: {want:e} {got:e}");
    }
}

#[test]
fn neighbours_at_corners() {
    const TINY: f32 = f32::from_bits(1);
    const MAX: f32 = f32::MAX;
    const INF: f32 = f32::INFINITY;
    const NAN: f32 = f32::NAN;
    let cases = [
        (0.0, 1.0, TINY),
        (0.0, -1.0, -TINY),
        (-0.0, 1.0, TINY),
        (0.0, -0.0, -0.0),
        (-0.0, 0.0, 0.0),
        (1.0, 1.0, 1.0),
        (1.0, 2.0, 1.000_000_1),
        (1.0, 0.0, 0.999_999_94),
        (-1.0, 0.0, -0.999_999_94),
        (-1.0, -2.0, -1.000_000_1),
        (TINY, 0.0, 0.0),
        (-TINY, 0.0, -0.0),
        (MAX, INF, INF),
        (INF, 0.0, MAX),
        (-INF, 0.0, -MAX),
        (INF, INF, INF),
        (NAN, 1.0, NAN),
        (1.0, NAN, NAN),
        (f32::MIN_POSITIVE, 0.0, f32::from_bits(0x7f_ffff)),
    ];
    for (a, b, want) in cases {
        let got = next_after(&mut Scalar, None, a, b);
        assert!(same(want, got), "{a:e} {b:e}: {want:e} {got:e}");
    }
}

#[test]
fn stochastic() {
    for (dtype, format) in formats() {
        for (at, x) in dense(format).enumerate().filter(|(at, _)| at % 7 == 0) {
            let bits = (at as u32).wrapping_mul(0x9e37_79b9);
            for random in [0, 1, u32::MAX, u32::MAX - 1, 1 << 31, bits, bits >> (at % 32)] {
                let got = stochastic_round(&mut Scalar, format, x, random.cast_signed());
                let want = format.decode(format.encode_stochastic(x, random));
                assert!(same(want, got), "{dtype} {x:e} {random:#x}: {want:e} {got:e}");
            }
        }
    }
}

#[test]
fn stochastic_rounding_is_fair() {
    // 1 + 3/8 of the step between 1 and the next number goes up for 3/8 of the bits.
    for (dtype, format) in formats() {
        let step = 2f32.powi(-(format.mantissa as i32));
        let x = 1.0 + step * 0.375;
        let ups = (0..=u32::MAX).step_by(1 << 16).filter(|&random| {
            let y = stochastic_round(&mut Scalar, format, x, random.cast_signed());
            assert!(y == 1.0 || y == 1.0 + step, "{dtype} {y}");
            y > 1.0
        });
        assert_eq!(ups.count(), 3 << 13, "{dtype}");
    }
}

#[test]
fn integers() {
    let near = [0.5f32, 1.0, 1.5, 2.5, 4_194_303.5, 8_388_607.5, 8_388_608.0, 16_777_215.0, f32::INFINITY];
    let near = near.into_iter().flat_map(|v| (0..5).map(move |i| f32::from_bits(v.to_bits().wrapping_add(i).wrapping_sub(2))));
    for x in (0..=u32::MAX).step_by(8191).map(f32::from_bits).chain(near.flat_map(|x| [x, -x])).chain([0.0, -0.0]) {
        for (want, got) in [
            (x.floor(), floor(&mut Scalar, x)),
            (x.ceil(), ceil(&mut Scalar, x)),
            (x.trunc(), trunc(&mut Scalar, x)),
            (x.round_ties_even(), round_even(&mut Scalar, x)),
        ] {
            assert!(same(want, got), "{x:e}: {want:e} {got:e}");
        }
    }
}
