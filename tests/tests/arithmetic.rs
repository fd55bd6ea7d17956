//! The definition of scalar arithmetic, `eval`, against arithmetic of another kind: integers in i128, floats in f64, rounded
//! by looking for the nearest number in a list of all of them.
//!
//! Types of at most 8 bits: every pair of values. Wider ones: the corners in all pairs, and random values.

use half::{bf16, f16};
use tpu_kernel::ir::{BinaryOp, CompareOp, DType, Literal, UnaryOp, eval};

/// What the bits of a float of at most 8 bits mean, from the definition of each format; NaN and infinities by name.
fn value(dtype: DType, bits: u32) -> f64 {
    let (exponent, mantissa, bias) = match dtype {
        DType::F8E4M3Fn => (4, 3, 7),
        DType::F8E5M2 => (5, 2, 15),
        DType::F8E4M3B11Fnuz => (4, 3, 11),
        _ => (2, 1, 1),
    };
    match (dtype, bits) {
        (DType::F8E4M3Fn, 0x7f | 0xff) | (DType::F8E4M3B11Fnuz, 0x80) => return f64::NAN,
        (DType::F8E5M2, 0x7c) => return f64::INFINITY,
        (DType::F8E5M2, 0xfc) => return f64::NEG_INFINITY,
        (DType::F8E5M2, 0x7d..=0x7f | 0xfd..=0xff) => return f64::NAN,
        _ => {}
    }
    let sign = if bits >> (exponent + mantissa) == 1 { -1.0 } else { 1.0 };
    let (field, fraction) = (bits >> mantissa & ((1 << exponent) - 1), f64::from(bits & ((1 << mantissa) - 1)));
    let unit = 2f64.powi(mantissa);
    let scaled = |e: i32, one: f64| sign * 2f64.powi(e - bias) * (one + fraction / unit);
    if field == 0 { scaled(1, 0.0) } else { scaled(field as i32, 1.0) }
}

/// The numbers of a float type of at most 8 bits, to round to.
struct Numbers {
    dtype: DType,
    /// Those from 0 on: by their bits.
    positive: Vec<f64>,
    sign: u32,
}

impl Numbers {
    fn new(dtype: DType) -> Numbers {
        let sign = 1 << (dtype.bits() - 1);
        let positive: Vec<f64> = (0..sign).map(|bits| value(dtype, bits)).take_while(|v| v.is_finite()).collect();
        Numbers { dtype, positive, sign }
    }

    fn nan(&self) -> Option<u32> {
        match self.dtype {
            DType::F8E4M3Fn => Some(0x7f),
            DType::F8E5M2 => Some(0x7e),
            DType::F8E4M3B11Fnuz => Some(0x80),
            _ => None,
        }
    }

    /// The nearest number, by its bits; ties to the even bits, beyond the largest what the format has.
    fn nearest(&self, v: f64) -> u32 {
        if v.is_nan() {
            return self.nan().unwrap_or(0);
        }
        let magnitude = v.abs();
        let count = self.positive.len();
        // One more number, as far beyond the largest as the one before it lies below.
        let next = 2.0 * self.positive[count - 1] - self.positive[count - 2];
        let at = |n: usize| if n == count { next } else { self.positive[n] };
        let above = self.positive.partition_point(|&n| n < magnitude);
        let bits = if magnitude >= next {
            count
        } else if above == 0 || at(above) == magnitude {
            above
        } else {
            let (low, high) = (magnitude - at(above - 1), at(above) - magnitude);
            if low < high || (low == high && (above - 1).is_multiple_of(2)) { above - 1 } else { above }
        };
        let signed = |bits: u32| if v.is_sign_negative() { bits | self.sign } else { bits };
        match (self.dtype, bits == count) {
            (DType::F8E5M2, true) => signed(0x7c),
            (DType::F4E2M1Fn, true) => signed(7),
            (_, true) => self.nan().expect("a format with NaN"),
            (DType::F8E4M3B11Fnuz, _) if bits == 0 => 0,
            (_, false) => signed(bits as u32),
        }
    }

    /// The neighbour of `a` toward `b`, from the order of all numbers.
    fn neighbour(&self, a: u32, b: u32) -> u32 {
        let (x, y) = (value(self.dtype, a), value(self.dtype, b));
        if x.is_nan() || y.is_nan() {
            return self.nan().unwrap_or(0);
        }
        if x == y {
            return b;
        }
        let toward = |v: &f64| if x < y { *v > x } else { *v < x };
        let all = (0..2 * self.sign).map(|bits| value(self.dtype, bits)).filter(|v| !v.is_nan()).filter(toward);
        let found = if x < y { all.fold(f64::INFINITY, f64::min) } else { all.fold(f64::NEG_INFINITY, f64::max) };
        // Zero as it is reached: with the sign of the side that one comes from.
        let zero = if x < 0.0 && self.dtype != DType::F8E4M3B11Fnuz { self.sign } else { 0 };
        match found {
            0.0 => zero,
            _ => (0..2 * self.sign).find(|&bits| value(self.dtype, bits) == found).expect("a number"),
        }
    }
}

/// `a op b` in f64, rounded to f32 as the definition says; a sum, product or quotient of two f32 so rounded is the correct one.
fn float_binary(op: BinaryOp, x: f64, y: f64) -> f64 {
    let r = x % y;
    let result = match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x * y,
        BinaryOp::Div => x / y,
        BinaryOp::Rem => r,
        BinaryOp::FloorMod if r != 0.0 && (r > 0.0) != (y > 0.0) => r + y,
        BinaryOp::FloorMod => r,
        BinaryOp::Min | BinaryOp::Max if x.is_nan() || y.is_nan() => f64::NAN,
        BinaryOp::Min if x == y => {
            if x.is_sign_negative() {
                x
            } else {
                y
            }
        }
        BinaryOp::Max if x == y => {
            if x.is_sign_positive() {
                x
            } else {
                y
            }
        }
        BinaryOp::Min => x.min(y),
        BinaryOp::Max => x.max(y),
        other => panic!("{other}"),
    };
    f64::from(result as f32)
}

const FLOAT_OPS: [BinaryOp; 8] =
    [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Rem, BinaryOp::FloorMod, BinaryOp::Min, BinaryOp::Max];

const NARROW_FLOATS: [DType; 4] = [DType::F8E4M3Fn, DType::F8E5M2, DType::F8E4M3B11Fnuz, DType::F4E2M1Fn];

#[test]
fn narrow_floats_all_pairs() {
    for dtype in NARROW_FLOATS {
        let numbers = Numbers::new(dtype);
        let values: Vec<(Literal, f64)> =
            (0..=dtype.mask()).map(|bits| (Literal::from_bits(dtype, bits), value(dtype, bits))).collect();
        for &(a, x) in &values {
            assert_eq!(
                a.as_f32().map(|v| (v.is_nan(), v.to_bits())).filter(|v| !v.0),
                Some((false, (x as f32).to_bits())).filter(|_| !x.is_nan()),
                "{a:?}"
            );
            for &(b, y) in &values {
                for op in FLOAT_OPS {
                    let want = numbers.nearest(float_binary(op, x, y));
                    let got = eval::binary(op, a, b).map(Literal::bits);
                    assert_eq!(got, Some(want), "{op} {a:?} {b:?}");
                }
                let orders = [x == y, x != y, x < y, x <= y, x > y, x >= y];
                let ops = [CompareOp::Eq, CompareOp::Ne, CompareOp::Lt, CompareOp::Le, CompareOp::Gt, CompareOp::Ge];
                for (op, want) in ops.into_iter().zip(orders) {
                    assert_eq!(eval::compare(op, a, b), Some(want), "{op} {a:?} {b:?}");
                }
            }
        }
    }
}

#[test]
fn narrow_floats_signs_and_neighbours() {
    for dtype in NARROW_FLOATS {
        let numbers = Numbers::new(dtype);
        let sign = numbers.sign;
        let unsigned_zero = dtype == DType::F8E4M3B11Fnuz;
        for bits in 0..=dtype.mask() {
            let (a, x) = (Literal::from_bits(dtype, bits), value(dtype, bits));
            let is = |op: UnaryOp| eval::unary(op, a).map(Literal::bits);
            // Zero and NaN of the format without a negative zero have no sign to change.
            let fixed = unsigned_zero && (x == 0.0 || x.is_nan());
            assert_eq!(is(UnaryOp::Neg), Some(if fixed { bits } else { bits ^ sign }), "{a:?}");
            assert_eq!(is(UnaryOp::Abs), Some(if fixed { bits } else { bits & !sign }), "{a:?}");
            let one = numbers.nearest(1f64.copysign(x));
            assert_eq!(is(UnaryOp::Sign), Some(if x == 0.0 || x.is_nan() { bits } else { one }), "{a:?}");
            assert_eq!(is(UnaryOp::IsNan), Some(u32::from(x.is_nan())), "{a:?}");
            assert_eq!(is(UnaryOp::IsFinite), Some(u32::from(x.is_finite())), "{a:?}");
            for (op, y) in [
                (UnaryOp::Floor, x.floor()),
                (UnaryOp::Ceil, x.ceil()),
                (UnaryOp::Trunc, x.trunc()),
                (UnaryOp::Round, x.round()),
                (UnaryOp::RoundEven, x.round_ties_even()),
                (UnaryOp::Sqrt, f64::from(x.sqrt() as f32)),
                (UnaryOp::Recip, f64::from((1.0 / x) as f32)),
            ] {
                assert_eq!(is(op), Some(numbers.nearest(y)), "{op} {a:?}");
            }
            for other in 0..=dtype.mask() {
                let b = Literal::from_bits(dtype, other);
                let want = if fixed { bits } else { bits & !sign | other & sign };
                let want = if unsigned_zero && other == 0x80 && !fixed { bits | sign } else { want };
                assert_eq!(eval::binary(BinaryOp::Copysign, a, b).map(Literal::bits), Some(want), "copysign {a:?} {b:?}");
                let want = numbers.neighbour(bits, other);
                assert_eq!(eval::binary(BinaryOp::NextAfter, a, b).map(Literal::bits), Some(want), "next_after {a:?} {b:?}");
            }
        }
    }
}

/// Values that tell, and random ones.
fn samples(dtype: DType) -> Vec<u32> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    let sign = 1u32 << (dtype.bits() - 1);
    let mut all = vec![0, 1, 2, 3, 7, 31, 32, sign, sign - 1, sign + 1, dtype.mask(), dtype.mask() - 1, sign >> 1];
    all.extend((0..dtype.bits()).map(|b| 1 << b));
    all.extend((0..120).map(|_| random()));
    all.extend((0..30).map(|_| random() % 9).map(|v| v.wrapping_sub(4)));
    if dtype.is_float() {
        let special = [0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0x3f80_0000, 0xbf80_0000, 0x7f7f_ffff, 0x0080_0000, 0x4049_0fdb];
        all.extend(special.map(|bits| Literal::from_f32(dtype, f32::from_bits(bits)).bits()));
    }
    all.into_iter().map(|bits| bits & dtype.mask()).collect()
}

type Encode = fn(f32) -> u32;
type Decode = fn(u32) -> f32;

/// The rounding of an f32 by `half`, and its value by `half`.
fn halves(dtype: DType) -> (Encode, Decode) {
    match dtype {
        DType::F16 => (|v| u32::from(f16::from_f32(v).to_bits()), |b| f16::from_bits(b as u16).to_f32()),
        _ => (|v| u32::from(bf16::from_f32(v).to_bits()), |b| bf16::from_bits(b as u16).to_f32()),
    }
}

#[test]
fn halves_are_those_of_another_crate() {
    for dtype in [DType::F16, DType::Bf16] {
        let (encode, decode) = halves(dtype);
        for bits in 0..=0xffff {
            let (got, want) = (Literal::from_bits(dtype, bits).as_f32().unwrap(), decode(bits));
            assert!(got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()), "{dtype} {bits:#x}");
        }
        // Every exponent, all low bits that decide, and odd strides through the rest.
        for bits in (0..=u32::MAX).step_by(4093).chain((0..=u32::MAX >> 12).map(|b| b << 12)) {
            let v = f32::from_bits(bits);
            let got = Literal::from_f32(dtype, v);
            assert!(got.bits() == encode(v) || v.is_nan() && got.as_f32().unwrap().is_nan(), "{dtype} {bits:#x}");
        }
        let values = samples(dtype);
        for (&a, &b) in values.iter().flat_map(|a| values.iter().map(move |b| (a, b))) {
            let (x, y) = (f64::from(decode(a)), f64::from(decode(b)));
            for op in FLOAT_OPS {
                let want = float_binary(op, x, y) as f32;
                let got = eval::binary(op, Literal::from_bits(dtype, a), Literal::from_bits(dtype, b)).unwrap();
                let both_nan = want.is_nan() && got == Literal::poison(dtype);
                assert!(both_nan || got.bits() == encode(want), "{op} {x} {y} of {dtype}: {got:?}, not {want}");
            }
        }
    }
}

#[test]
fn f32_is_that_of_f64_rounded() {
    let values = samples(DType::F32);
    for (&a, &b) in values.iter().flat_map(|a| values.iter().map(move |b| (a, b))) {
        let (x, y) = (f64::from(f32::from_bits(a)), f64::from(f32::from_bits(b)));
        for op in FLOAT_OPS {
            let want = float_binary(op, x, y) as f32;
            let got = eval::binary(op, f32::from_bits(a).into(), f32::from_bits(b).into()).unwrap();
            let both_nan = want.is_nan() && got == Literal::poison(DType::F32);
            assert!(both_nan || got.bits() == want.to_bits(), "{op} {x:e} {y:e}: {got:?}, not {want:e}");
        }
    }
}

/// `a op b` as docs/semantics.md states it, before it wraps to `bits`.
fn integer_binary(op: BinaryOp, signed: bool, bits: u32, x: i128, y: i128) -> i128 {
    let modulus = 1i128 << bits;
    let floor = |x: i128, y: i128| x / y - i128::from(x % y != 0 && (x < 0) != (y < 0));
    let amount = y.rem_euclid(modulus);
    match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x * y,
        // All ones: -1, or the largest.
        BinaryOp::Div | BinaryOp::FloorDiv if y == 0 => -1,
        BinaryOp::Rem | BinaryOp::FloorMod if y == 0 => x,
        BinaryOp::Div => x / y,
        BinaryOp::Rem => x - x / y * y,
        BinaryOp::FloorDiv => floor(x, y),
        BinaryOp::FloorMod => x - floor(x, y) * y,
        BinaryOp::Min => x.min(y),
        BinaryOp::Max => x.max(y),
        BinaryOp::And => x & y,
        BinaryOp::Or => x | y,
        BinaryOp::Xor => x ^ y,
        BinaryOp::Shl if amount < i128::from(bits) => x << amount,
        BinaryOp::ShrLogical if amount < i128::from(bits) => x.rem_euclid(modulus) >> amount,
        BinaryOp::Shl | BinaryOp::ShrLogical => 0,
        BinaryOp::Shr if amount < i128::from(bits) => floor(x, 1 << amount),
        BinaryOp::Shr => -i128::from(signed && x < 0),
        other => panic!("{other}"),
    }
}

#[test]
fn integers() {
    for dtype in DType::ALL.into_iter().filter(|d| d.is_integer()) {
        let (bits, signed) = (dtype.bits(), dtype.is_signed());
        let modulus = 1i128 << bits;
        let all: Vec<u32> = if bits <= 8 { (0..1 << bits).collect() } else { samples(dtype) };
        let number = |b: u32| if signed && b >> (bits - 1) == 1 { i128::from(b) - modulus } else { i128::from(b) };
        let wrapped = |v: i128| v.rem_euclid(modulus) as u32;
        for &a in &all {
            let (la, x) = (Literal::from_bits(dtype, a), number(a));
            for (op, want) in [
                (UnaryOp::Neg, wrapped(-x)),
                (UnaryOp::Abs, wrapped(x.abs())),
                (UnaryOp::Not, wrapped(-x - 1)),
                (UnaryOp::Sign, wrapped(x.signum())),
                (UnaryOp::Popcount, (0..bits).map(|b| a >> b & 1).sum()),
                (UnaryOp::Clz, (0..bits).rev().take_while(|b| a >> b & 1 == 0).count() as u32),
            ] {
                if op.takes(dtype) {
                    assert_eq!(eval::unary(op, la).map(Literal::bits), Some(want), "{op} {la:?}");
                }
            }
            for &b in &all {
                let (lb, y) = (Literal::from_bits(dtype, b), number(b));
                for &op in BinaryOp::ALL.iter().filter(|op| op.takes(dtype)) {
                    let want = wrapped(integer_binary(op, signed, bits, x, y));
                    assert_eq!(eval::binary(op, la, lb).map(Literal::bits), Some(want), "{op} {la:?} {lb:?}");
                }
                let orders = [x == y, x != y, x < y, x <= y, x > y, x >= y];
                let ops = [CompareOp::Eq, CompareOp::Ne, CompareOp::Lt, CompareOp::Le, CompareOp::Gt, CompareOp::Ge];
                for (op, want) in ops.into_iter().zip(orders) {
                    assert_eq!(eval::compare(op, la, lb), Some(want), "{op} {la:?} {lb:?}");
                }
            }
        }
    }
}

/// The corners of division, as numbers.
#[test]
fn division_has_no_undefined_corner() {
    let of = |op: BinaryOp, dtype: DType, a: i64, b: i64| {
        eval::binary(op, Literal::from_int(dtype, a), Literal::from_int(dtype, b)).and_then(Literal::as_int)
    };
    for dtype in DType::ALL.into_iter().filter(|d| d.is_integer()) {
        let (low, high) = dtype.range();
        for op in [BinaryOp::Div, BinaryOp::FloorDiv] {
            assert_eq!(of(op, dtype, 1, 0), Some(if dtype.is_signed() { -1 } else { high }), "{op} {dtype}");
            assert_eq!(of(op, dtype, low, -1), Some(low), "{op} {dtype}");
        }
        for op in [BinaryOp::Rem, BinaryOp::FloorMod] {
            assert_eq!(of(op, dtype, low, 0), Some(low), "{op} {dtype}");
            assert_eq!(of(op, dtype, 1, 0), Some(1), "{op} {dtype}");
            assert_eq!(of(op, dtype, low, -1), Some(0), "{op} {dtype}");
        }
    }
    assert_eq!((of(BinaryOp::FloorDiv, DType::I8, -7, 2), of(BinaryOp::Div, DType::I8, -7, 2)), (Some(-4), Some(-3)));
    assert_eq!((of(BinaryOp::FloorMod, DType::I4, -7, 2), of(BinaryOp::Rem, DType::I4, -7, 2)), (Some(1), Some(-1)));
}
