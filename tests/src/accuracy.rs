//! Measures functions of f32 against f64 values of an independent library: the largest error, and where.
//!
//! Rules: arguments are a fixed set, so that a sparse sweep is a part of a dense one and finds no larger error. The program
//! `accuracy` sweeps densely and writes `docs/accuracy.md`; the test of this name repeats a part of it.

#[path = "../../tpu-kernel/microkernels/src/function/tests/reference.rs"]
pub mod reference;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use tpu_kernel::ir::{Literal, UnaryOp};
use tpu_kernel::math::{self, Lanes as _, Scalar};
use tpu_microkernels::function::{Function, STRIP};

/// How dense a sweep is.
#[derive(Clone, Copy, Debug)]
pub struct Density {
    /// Functions of one operand: every `step`-th of the 2^32 bit patterns from 0.
    pub step: u64,
    /// Functions of two operands: how many random pairs.
    pub pairs: u64,
    /// How many threads share the work.
    pub threads: usize,
}

/// A function that is measured.
pub struct Subject {
    /// Its name, in the language of kernels.
    pub name: &'static str,
    /// How it is computed.
    pub method: &'static str,
    /// What it is measured against.
    pub oracle: String,
    value: Value,
    want: Want,
}

#[derive(Clone, Copy)]
enum Value {
    /// Of `tpu_kernel::math`, emitted inline.
    Inline(fn(f32) -> f32),
    /// The same of two operands.
    InlinePair(fn(f32, f32) -> f32),
    /// Of the function library; its strips are measured, which are the scalars bit by bit.
    Library(Function),
}

#[derive(Clone, Copy)]
enum Want {
    Unary(fn(f64) -> f64),
    Binary(fn(f64, f64) -> f64),
}

/// The largest error, and its arguments' bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Worst {
    /// In ulp of f32.
    pub error: f64,
    /// The first argument.
    pub a: u32,
    /// The second argument; of a function of one operand 0.
    pub b: u32,
}

/// The largest errors of a function.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// Over the sweep of f32.
    pub f32: Worst,
    /// Over arguments that are bf16; the result is still f32.
    pub bf16: Worst,
}

/// Name, method, value.
type Inline = (&'static str, &'static str, fn(f32) -> f32);

/// Every float function: those that are emitted inline, then the library's.
pub fn subjects() -> Vec<Subject> {
    let inline: [Inline; 6] = [
        ("exp", "polynomial in f32", |x| math::exp(&mut Scalar, x)),
        ("tanh", "polynomial, or exp, in f32", |x| math::tanh(&mut Scalar, x)),
        ("rsqrt", "two operations of f32", |x| math::rsqrt(&mut Scalar, x)),
        ("sqrt", "one operation of f32", |x| Scalar.sqrt(x)),
        ("recip", "one operation of f32", |x| Scalar.div(1.0, x)),
        ("round", "exact, f32", |x| math::unary(UnaryOp::Round, x.into()).and_then(Literal::as_f32).expect("an f32")),
    ];
    let inline = inline.map(|(name, method, value)| {
        let want = Want::Unary(reference::unary(name).expect("each has a reference"));
        let oracle = if name == "recip" { "division of f64".to_string() } else { oracle(name) };
        Subject { name, method, oracle, value: Value::Inline(value), want }
    });
    let name = "next_after";
    let next_after = Subject {
        name,
        method: "exact, f32",
        oracle: oracle(name),
        value: Value::InlinePair(|x, y| math::next_after(&mut Scalar, None, x, y)),
        want: Want::Binary(reference::binary(name).expect("it has a reference")),
    };
    let library = Function::ALL.iter().filter_map(|&function| {
        let name = function.name();
        let want = reference::unary(name).map(Want::Unary).or(reference::binary(name).map(Want::Binary))?;
        let method = match function {
            Function::Rem => "exact, f64",
            Function::FloorMod => "exact in f64, one sum of f32",
            _ => "f64, rounded once",
        };
        Some(Subject { name, method, oracle: oracle(name), value: Value::Library(function), want })
    });
    inline.into_iter().chain([next_after]).chain(library).collect()
}

fn oracle(name: &str) -> String {
    match name {
        "rsqrt" => "1 / `libm::sqrt`".to_string(),
        "logistic" => "1 / (1 + `libm::exp`)".to_string(),
        "erf_inv" => "Halley's method on `libm::erf`, `erfc`".to_string(),
        "rem" => "`libm::fmod`".to_string(),
        "floor_mod" => "`libm::fmod`, sum of f64".to_string(),
        "next_after" => "`libm::nextafterf`".to_string(),
        _ => format!("`libm::{name}`"),
    }
}

impl Subject {
    /// Whether it has two operands.
    pub fn is_binary(&self) -> bool {
        matches!(self.want, Want::Binary(_))
    }

    /// The largest errors. `progress` is told the done part of the work, from 0 to 1, now and then.
    pub fn measure(&self, density: Density, progress: impl Fn(f64) + Sync) -> Measured {
        let sweep = |count: u64, from: f64, to: f64, arguments: &(dyn Fn(u64) -> (u32, u32) + Sync)| {
            self.sweep(count, density.threads, arguments, |done| progress(from + (to - from) * done))
        };
        if self.is_binary() {
            let special = SPECIAL.len() as u64;
            let grid = |i: u64| (SPECIAL[(i / special) as usize], SPECIAL[(i % special) as usize]);
            let bf16 = |(a, b): (u32, u32)| (a & 0xffff_0000, b & 0xffff_0000);
            let corners = sweep(special * special, 0.0, 0.01, &grid);
            let corners_bf16 = sweep(special * special, 0.01, 0.02, &|i| bf16(grid(i)));
            let random = sweep(density.pairs, 0.02, 0.6, &pair);
            let random_bf16 = sweep(density.pairs, 0.6, 1.0, &|i| bf16(pair(i)));
            Measured { f32: worse(random, corners), bf16: worse(random_bf16, corners_bf16) }
        } else {
            let bf16 = sweep(1 << 16, 0.0, 0.01, &|i| ((i as u32) << 16, 0));
            let dense = sweep((1u64 << 32).div_ceil(density.step), 0.01, 1.0, &|i| ((i * density.step) as u32, 0));
            Measured { f32: worse(dense, bf16), bf16 }
        }
    }

    fn sweep(
        &self,
        count: u64,
        threads: usize,
        arguments: &(dyn Fn(u64) -> (u32, u32) + Sync),
        progress: impl Fn(f64) + Sync,
    ) -> Worst {
        const PART: u64 = 1 << 16;
        let (next, worst) = (AtomicU64::new(0), Mutex::new(Worst::default()));
        std::thread::scope(|scope| {
            for _ in 0..threads.max(1) {
                scope.spawn(|| {
                    loop {
                        let start = next.fetch_add(PART, Ordering::Relaxed);
                        if start >= count {
                            return;
                        }
                        let found = self.part(start, PART.min(count - start), arguments);
                        let mut worst = worst.lock().expect("no thread panics while it holds the lock");
                        *worst = worse(*worst, found);
                        drop(worst);
                        progress((start + PART).min(count) as f64 / count as f64);
                    }
                });
            }
        });
        worst.into_inner().expect("no thread panics while it holds the lock")
    }

    fn part(&self, start: u64, count: u64, arguments: &(dyn Fn(u64) -> (u32, u32) + Sync)) -> Worst {
        let mut worst = Worst::default();
        let (mut a, mut b, mut got) = ([0; STRIP], [0; STRIP], [0; STRIP]);
        for i in (0..count).step_by(STRIP) {
            let n = (count - i).min(STRIP as u64) as usize;
            for lane in 0..n {
                (a[lane], b[lane]) = arguments(start + i + lane as u64);
            }
            self.values(&a, &b, &mut got);
            for lane in 0..n {
                let wide = |bits: u32| f64::from(f32::from_bits(bits));
                let want = match self.want {
                    Want::Unary(f) => f(wide(a[lane])),
                    Want::Binary(f) => f(wide(a[lane]), wide(b[lane])),
                };
                let error = reference::error(f32::from_bits(got[lane]), want);
                worst = worse(worst, Worst { error, a: a[lane], b: b[lane] });
            }
        }
        worst
    }

    fn values(&self, a: &[u32; STRIP], b: &[u32; STRIP], got: &mut [u32; STRIP]) {
        match self.value {
            Value::Inline(f) => *got = a.map(|bits| f(f32::from_bits(bits)).to_bits()),
            Value::InlinePair(f) => {
                *got = std::array::from_fn(|lane| f(f32::from_bits(a[lane]), f32::from_bits(b[lane])).to_bits());
            }
            // SAFETY: each holds a whole strip.
            Value::Library(function) => unsafe { function.strip()(a.as_ptr(), b.as_ptr(), got.as_mut_ptr(), STRIP as u64) },
        }
    }
}

/// The larger error; of equal ones that with the smaller arguments, so that threads do not matter.
fn worse(x: Worst, y: Worst) -> Worst {
    let y_first = (y.a, y.b) < (x.a, x.b);
    if y.error > x.error || y.error == x.error && y_first { y } else { x }
}

/// Arguments whose pairs are all measured.
const SPECIAL: [u32; 38] = {
    let positive = [
        0.0,
        f32::from_bits(1),
        f32::from_bits(0x7f_ffff),
        f32::MIN_POSITIVE,
        f32::EPSILON,
        0.5,
        0.999_999_94,
        1.0,
        1.000_000_1,
        1.5,
        2.0,
        3.0,
        10.0,
        16_777_215.0,
        16_777_216.0,
        4_294_967_296.0,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
    ];
    let mut all = [0; 38];
    let mut i = 0;
    while i < 19 {
        all[2 * i] = positive[i].to_bits();
        all[2 * i + 1] = positive[i].to_bits() | 0x8000_0000;
        i += 1;
    }
    all
};

/// Random pair i, by i modulo 4:
/// any bits; sizes from 2^-16 to 2^16 and any signs; a from 2^-4 to 2^4 and b from ±2^-8 to ±2^8, where powers are in range;
/// two numbers of at most 2^12 units in the last place apart.
fn pair(i: u64) -> (u32, u32) {
    let bits = mixed(i);
    let (x, y) = (bits as u32, (bits >> 32) as u32);
    match i % 4 {
        0 => (x, y),
        1 => (between(x, -16, 16), between(y, -16, 16)),
        2 => (between(x, -4, 4) & 0x7fff_ffff, between(y, -8, 8)),
        _ => (x, x.wrapping_add(y >> 19).wrapping_sub(1 << 12)),
    }
}

/// A float with the sign and fraction of these bits, and an exponent of at least `low` and less than `high`.
fn between(bits: u32, low: i32, high: i32) -> u32 {
    let exponent = (bits >> 23 & 0xff) % (high - low).cast_unsigned();
    bits & 0x807f_ffff | (low + 127).cast_unsigned().wrapping_add(exponent) << 23
}

/// A permutation of 64-bit words that looks random (D. Stafford's 13th mixing function, of SplitMix64).
fn mixed(i: u64) -> u64 {
    let x = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
