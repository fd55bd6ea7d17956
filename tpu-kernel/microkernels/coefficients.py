"""Writes src/function/coefficients.rs: the polynomials of the function library. Needs mpmath; building needs no Python.

    python tpu-kernel/microkernels/coefficients.py && cargo fmt --all

Method: interpolation at the Chebyshev points of the interval, in 60 digits (near-minimax: at most a few times the error of
the best polynomial; L. N. Trefethen, "Approximation Theory and Approximation Practice", 2013, chapters 4 and 16), turned
into powers of the variable that the code uses, each rounded to f64. The error in each comment is measured: the largest
relative error of the polynomial with these rounded coefficients over 2,000 points.
"""

import pathlib

from mpmath import atan, atanh, cos, erf, erfc, erfinv, exp, expm1, log, mp, mpf, pi, sin, sqrt, taylor

mp.dps = 60


def at_zero(f, x, limit):
    """f(x), by its limit at 0."""
    return limit if abs(x) < mpf(10) ** -40 else f(x)


def chebyshev(f, low, high, degree):
    """The coefficients, in powers of t in [-1, 1] with x = (low + high)/2 + (high - low)/2 · t."""
    n = degree + 1
    points = [cos(pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    values = [f((low + high) / 2 + (high - low) / 2 * t) for t in points]
    # The polynomials T_k in powers of t.
    t_k = [[mpf(1)], [mpf(0), mpf(1)]]
    for k in range(2, n):
        twice = [mpf(0)] + [2 * c for c in t_k[k - 1]]
        t_k.append([a - (t_k[k - 2][i] if i < len(t_k[k - 2]) else 0) for i, a in enumerate(twice)])
    out = [mpf(0)] * n
    for k in range(n):
        weight = sum(v * cos(k * pi * (2 * j + 1) / (2 * n)) for j, v in enumerate(values)) * (1 if k == 0 else 2) / n
        for i, c in enumerate(t_k[k]):
            out[i] += weight * c
    return out


def shifted(coefficients, scale, offset):
    """The coefficients in powers of x, of a polynomial in t = scale · x + offset."""
    out = [mpf(0)] * len(coefficients)
    for c in reversed(coefficients):
        out = [offset * a + (scale * out[i - 1] if i else 0) for i, a in enumerate(out)]
        out[0] += c
    return out


def value(coefficients, x):
    y = mpf(0)
    for c in reversed(coefficients):
        y = y * x + c
    return y


PARTS = []


def fit(name, doc, f, low, high, degree, centred=False):
    low, high = mpf(low), mpf(high)
    in_t = chebyshev(f, low, high, degree)
    scale, offset = 2 / (high - low), -(high + low) / (high - low)
    rounded = [mpf(float(c)) for c in (in_t if centred else shifted(in_t, scale, offset))]
    error = mpf(0)
    for i in range(2001):
        x = low + (high - low) * i / 2000
        y = value(rounded, scale * x + offset if centred else x)
        error = max(error, abs(y / f(x) - 1))
    bits = float(log(error, 2))
    print(f"{name}: degree {degree}, 2^{bits:.1f}")
    lines = "".join(f"    {float(c)!r},\n" for c in rounded)
    PARTS.append(f"/// {doc} Relative error 2^{bits:.1f}.\npub(super) const {name}: [f64; {degree + 1}] = [\n{lines}];\n")


half_ln2 = log(2) / 2
fit("EXPM1", "(e^r - 1) / r in r, for |r| up to ln 2 / 2.", lambda r: at_zero(lambda r: expm1(r) / r, r, mpf(1)), -half_ln2 * 1.0001, half_ln2 * 1.0001, 9)
ATANH_MAX = ((sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1)) ** 2 * mpf("1.0001")
fit("LOG", "log((1 + s) / (1 - s)) / s in z = s², for (1 + s) / (1 - s) from sqrt(1/2) to sqrt(2).", lambda z: 2 * at_zero(lambda z: atanh(sqrt(z)) / sqrt(z), z, mpf(1)), 0, ATANH_MAX, 7)
QUARTER = (pi / 4) ** 2 * mpf("1.0001")
fit("SIN", "sin r / r in z = r², for |r| up to pi / 4.", lambda z: at_zero(lambda z: sin(sqrt(z)) / sqrt(z), z, mpf(1)), 0, QUARTER, 6)
fit("COS", "cos r in z = r², for |r| up to pi / 4.", lambda z: cos(sqrt(z)), 0, QUARTER, 6)
fit("ATAN", "atan t / t in z = t², for |t| up to tan(pi / 8).", lambda z: at_zero(lambda z: atan(sqrt(z)) / sqrt(z), z, mpf(1)), 0, (sqrt(mpf(2)) - 1) ** 2 * mpf("1.0001"), 10)
fit("ERF", "erf x / x in z = x², for |x| up to 1.", lambda z: at_zero(lambda z: erf(sqrt(z)) / sqrt(z), z, 2 / sqrt(pi)), 0, 1, 10)

# x from 1 to 10.5 as u = 1 / (x + d), then t = scale · u + offset in [-1, 1].
D = mpf("1.5")
LOW, HIGH = 1 / (mpf("10.5") + D), 1 / (1 + D)
fit("ERFCX", "e^(x²) · erfc x in t from -1 to 1, t = (1 / (x + 1.5) - ERFCX_MIDDLE) · ERFCX_SCALE, for x from 1 to 10.5.", lambda u: exp((1 / u - D) ** 2) * erfc(1 / u - D), LOW, HIGH, 13, centred=True)
PARTS.append(f"pub(super) const ERFCX_MIDDLE: f64 = {float((LOW + HIGH) / 2)!r};\npub(super) const ERFCX_SCALE: f64 = {float(2 / (HIGH - LOW))!r};\n")


def inverse(w):
    """erf_inv(x) / x where w = -log(1 - x²)."""
    mp.dps = 40
    x = sqrt(-expm1(-w))
    y = erfinv(x) / x if x > mpf(10) ** -20 else sqrt(pi) / 2
    mp.dps = 60
    return y


fit("ERF_INV_NEAR", "erf_inv x / x in t = w / 3 - 1, w = -log(1 - x²), for w from 0 to 6.", inverse, 0, 6, 16, centred=True)
fit("ERF_INV_FAR", "erf_inv x / x in t = sqrt(w) · ERF_INV_SCALE - ERF_INV_OFFSET, for w from 6 to 16.", lambda r: inverse(r * r), sqrt(mpf(6)), 4, 12, centred=True)
low, high = sqrt(mpf(6)), mpf(4)
PARTS.append(f"pub(super) const ERF_INV_SCALE: f64 = {float(2 / (high - low))!r};\npub(super) const ERF_INV_OFFSET: f64 = {float((high + low) / (high - low))!r};\n")


def cube_root_start():
    """B so that the f64 whose upper word is (upper word of x) / 3 + B is nearest to the cube root of x."""

    def errors(b):
        for i in range(3 * 512):
            e, m = divmod(i, 512)
            start = (mpf(e + 1023) + mpf(m) / 512) / 3 + b
            power = int(start // 1)
            root = mpf(2) ** (power - 1023) * (1 + start - power)
            yield abs(root / (mpf(2) ** e * (1 + mpf(m) / 512)) ** (mpf(1) / 3) - 1)

    low, high = mpf(682) - mpf("0.1"), mpf(682)
    for _ in range(40):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        if max(errors(a)) < max(errors(b)):
            high = b
        else:
            low = a
    return (low + high) / 2, max(errors((low + high) / 2))


start, error = cube_root_start()
print("cbrt start", float(error))
PARTS.append(f"/// Upper word of an f64 over 3, plus this: its cube root, with relative error {float(error):.3f}.\npub(super) const CBRT_START: u32 = {int(start * 2**20)};\n")

mp.dps = 120
two_over_pi = int(2 / pi * mpf(2) ** 251)
words = [two_over_pi >> shift & 2**64 - 1 for shift in (192, 128, 64, 0)]
lines = "".join(f"    0x{w:016x},\n" for w in words)
PARTS.append(f"/// 2 / pi, the first bit of weight 2^4.\npub(super) const TWO_OVER_PI: [u64; 4] = [\n{lines}];\n")


def split(x, bits):
    """x as two numbers of `bits` bits, counted from the highest of each, and the rest."""
    out = []
    for part in range(3):
        exponent = int(mp.floor(log(abs(x), 2)))
        scale = mpf(2) ** (bits - 1 - exponent)
        piece = mp.floor(x * scale) / scale if part < 2 else mpf(float(x))
        out.append(float(piece))
        x -= piece
    return out


parts = split(pi / 2, 33)
PARTS.append("/// pi / 2 as a sum: 33 bits, 33 bits, the rest.\npub(super) const HALF_PI: [f64; 3] = [\n" + "".join(f"    {p!r},\n" for p in parts) + "];\n")
high = split(log(mpf(2)), 40)[0]
PARTS.append(f"/// ln 2 as a sum: 40 bits, the rest.\npub(super) const LN_2: [f64; 2] = [{high!r}, {float(log(mpf(2)) - mpf(high))!r}];\n")

header = """//! The numbers of the function library, made by `coefficients.py` of this crate, which says how: lowest power first.

#![allow(clippy::approx_constant, clippy::excessive_precision, reason = "shortest decimals that give the f64")]
"""
path = pathlib.Path(__file__).parent / "src/function/coefficients.rs"
path.parent.mkdir(exist_ok=True)
path.write_text(header + "\n" + "\n".join(PARTS))
