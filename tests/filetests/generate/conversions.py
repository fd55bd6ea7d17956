"""Casts, bitcasts, and rounding by random bits, which is computed in exact fractions."""

import bisect
import math
import numpy as np
from fractions import Fraction as Fr
from kernel import FLOATS, K, NP
from elementwise import BITS, RANGE, conv, f32, inf, nan, wrap

ALL = list(NP)
INTS = [d for d in ALL if d not in FLOATS and d != "bool"]


def cast(x, src, dst):
    """one value (python number or np scalar) -> value for lit"""
    if dst == src:
        return x
    if src in FLOATS:
        v = float(f32(x))
        if dst == "bool":
            return v != 0
        if dst in FLOATS:
            return conv(np.array([v]), dst)[0]
        if math.isnan(v):
            return 0
        lo, hi = RANGE[dst]
        return max(lo, min(hi, hi + 1 if v == inf else lo - 1 if v == -inf else int(v)))
    v = int(x)
    if dst == "bool":
        return v != 0
    if dst in FLOATS:
        return conv(np.array([f32(v)]), dst)[0]
    return wrap(v, dst)


VALS = {
    "f32": [
        nan,
        inf,
        -inf,
        0.0,
        -0.0,
        0.5,
        -1.5,
        2.25,
        7.75,
        -7.75,
        3e9,
        -3e9,
        300.0,
        1e-40,
        464.0,
        65520.0,
        61440.0,
        31.0,
    ],
    "bool": [True, False],
}
for d in FLOATS[1:]:
    VALS[d] = (
        [nan, inf, -inf, 0.0, -0.0, 0.5, -1.5, 2.5, -6, 57344.0]
        if d not in ("f4e2m1fn",)
        else [0.0, -0.0, 0.5, -1.5, 2.0, 3.0, -6.0]
    )
for d in INTS:
    lo, hi = RANGE[d]
    VALS[d] = sorted({lo, hi, 0, 1, min(hi, 7), max(lo, -3), hi // 2 + 1, min(hi, 200), min(hi, 70000)})
for d in ALL:
    if d in ("f32", "bf16", "i32", "bool"):
        name = f"cast_{d}_to_all"
    else:
        name = f"cast_{d}"
    v = np.array(VALS[d], dtype=object if d in INTS else f32 if d in FLOATS else bool)
    if d in FLOATS:
        v = v.astype(NP[d])
    n = len(v)
    k = K(name, f"{d} to every element type.")
    k.inp("x", d, (n,))
    o = {}
    for t in ALL:
        if t != d:
            k.out(t + "_", t, (n,), "cast %xt")
            o[t + "_"] = np.array([cast(x, d, t) for x in v], dtype=object)
    k.write([({"x": v}, o)])


# bitcast: view of columns as bit strings
def fold(a, src, dst):
    bs, bd = BITS[src], BITS[dst]
    a = np.asarray(a)
    if bs == bd:
        return a.copy()
    m = np.moveaxis(a, -2, -1)
    flat = m.reshape(-1, m.shape[-1])
    res = []
    for col in flat:
        s = 0
        for i, v in enumerate(col):
            s |= int(v) << (i * bs)
        res.append([(s >> (j * bd)) & ((1 << bd) - 1) for j in range(len(col) * bs // bd)])
    r = np.array(res, dtype=object).reshape(m.shape[:-1] + (-1,))
    return np.moveaxis(r, -1, -2)


def bits_to(a, dt):
    a = np.asarray(a)
    if dt in FLOATS:
        h = {32: np.uint32, 16: np.uint16, 8: np.uint8}.get(BITS[dt])
        return a.astype(h).view(NP[dt])
    return np.vectorize(lambda v: wrap(v, dt), otypes=[object])(a)


k = K(
    "bitcast",
    "The same bits as other elements: of the same width; narrower, a row becomes several, low bits first; wider, several become one.",
)
xu = np.array([[0x3F804000, 0x12345678, 0xFEDCBA98], [0x00000001, 0x80000000, 0xC0A8F00D]], dtype=np.uint32)
k.inp("x", "f32", (2, 3))
k.inp("y", "i8", (8, 2))
k.inp("s", "bf16", (2,))
o = {}
yv = np.array([[1, -1], [2, -128], [3, 127], [4, 0], [-5, 16], [-6, 17], [7, -18], [8, 100]])
yb = yv & 0xFF
for d in ["u32", "i32", "bf16", "u16", "i16", "f16", "u8", "i4", "i2", "u4"]:
    r = bits_to(fold(xu, "u32", d), d)
    k.out("x_" + d, d, r.shape, "bitcast %xt")
    o["x_" + d] = r
for d in ["u8", "i16", "u32", "i4", "i2"]:
    r = bits_to(fold(yb, "i8", d), d)
    k.out("y_" + d, d, r.shape, "bitcast %yt")
    o["y_" + d] = r
k.out("s_i16", "i16", (2,), "bitcast %st")
o["s_i16"] = np.array([0x3F80, -0x4000])
k.write([({"x": xu.view(f32), "y": yv, "s": np.array([1.0, -2.0])}, o)])

k = K(
    "bitcast_batch", "Rows fold along the second to last dimension of higher ranks as well; a scalar keeps its width."
)
b = np.arange(2 * 4 * 2).reshape(2, 4, 2) * 0x0101 % 65536
k.inp("x", "u16", (2, 4, 2))
k.scalar("f", "f32")
r = fold(b, "u16", "u32")
k.out("w", "u32", r.shape, "bitcast %xt")
r8 = fold(b, "u16", "u8")
k.out("n", "u8", r8.shape, "bitcast %xt")
k.out("c", "u32", (1,), None)
k.write(
    [({"x": b, "f": f32(-1.5)}, {"w": r, "n": r8, "c": np.array([0xBFC00000])})],
    pre="    %fb = bitcast %f : u32\n    %cr = broadcast %fb : tile<1xu32>\n",
)


# stochastic rounding: exact rational arithmetic
def numbers(dt):
    n = 1 << BITS[dt]
    h = {16: np.uint16, 8: np.uint8}.get(BITS[dt], np.uint8)
    if dt == "f4e2m1fn":
        v = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    else:
        v = [float(f32(x)) for x in np.arange(n, dtype=h).view(NP[dt]).astype(f32)]
    return sorted({Fr(x) for x in v if math.isfinite(x) and x >= 0})


OVER = {"bf16": inf, "f16": inf, "f8e5m2": inf, "f8e4m3fn": nan, "f8e4m3b11fnuz": nan, "f4e2m1fn": 6.0}


def stoch(x, b, dt):
    x = float(x)
    if math.isnan(x):
        return nan if dt != "f4e2m1fn" else 0.0
    sg = math.copysign(1, x)
    if math.isinf(x):
        return sg * OVER[dt]
    N = NUM[dt]
    a = Fr(abs(x))
    i = bisect.bisect_right(N, a) - 1
    lo = N[i]
    hi = N[i + 1] if i + 1 < len(N) else lo + (lo - N[-2])
    if a >= hi:
        v = OVER[dt]
        r = v
    else:
        up = Fr(b, 1 << 32) < (a - lo) / (hi - lo)
        r = float(lo) if not up else (float(hi) if i + 1 < len(N) else OVER[dt])
    r = sg * r
    return 0.0 if r == 0 and dt == "f8e4m3b11fnuz" else r


NUM = {d: numbers(d) for d in FLOATS[1:]}
k = K(
    "stochastic_round",
    "f32 to one of its neighbours: the one farther from zero where bits / 2^32 is below the distance from the nearer one.\nExact values, infinities and NaN stay; beyond the largest number lies what a cast makes of overflow.",
)
xs = [
    1.0,
    1.0009765625,
    1.0009765625,
    1.0009765625,
    -1.3,
    -1.3,
    1e-40,
    1e-40,
    nan,
    inf,
    -inf,
    -0.0,
    3.4e38,
    3.4e38,
    65510.0,
    65510.0,
    450.0,
    450.0,
    460.0,
    30.5,
    30.5,
    6.5,
    1e-45,
    1e-45,
    5.0,
    5.0,
]
bs = [
    0,
    0,
    1 << 30,
    (1 << 32) - 1,
    0,
    0x99999999,
    0,
    (1 << 32) - 1,
    0,
    0,
    5,
    9,
    0,
    (1 << 32) - 1,
    0,
    1 << 31,
    0,
    1 << 31,
    0,
    0,
    1 << 31,
    7,
    0,
    1,
    (1 << 31) - 1,
    1 << 31,
]
n = len(xs)
k.inp("x", "f32", (n,))
k.inp("b", "u32", (n,))
o = {}
for d in FLOATS[1:]:
    k.out(d + "_", d, (n,), "stochastic_round %xt, %bt")
    o[d + "_"] = np.array([stoch(f32(x), b, d) for x, b in zip(xs, bs)])
k.write([({"x": np.array(xs), "b": np.array(bs)}, o)])
