"""Functions, rounding, arithmetic, comparisons and shapes of the element types that `goldens/` does not have.

    cd tests/filetests/generate && for part in elementwise conversions tiles; do python $part.py; done

Needs numpy, scipy, ml_dtypes and jax (CPU). Functions are computed in f64 and rounded once to f32, once to the element type;
floats narrower than f32 compute in f32; integers are Python's, wrapped. The other parts import this one, which writes its files again.
"""

import scipy.special as sp
from kernel import FLOATS, K, NP
import numpy as np

nan, inf = float("nan"), float("inf")


def A(x, dt="f32"):
    return np.array(x, dtype=NP[dt])


f32 = np.float32


def wrap(v, dt):
    bits = {"i32": 32, "i16": 16, "i8": 8, "i4": 4, "i2": 2, "u32": 32, "u16": 16, "u8": 8, "u4": 4}[dt]
    v = int(v) & ((1 << bits) - 1)
    if dt[0] == "i" and v >> (bits - 1):
        v -= 1 << bits
    return v


BITS = {
    "i32": 32,
    "i16": 16,
    "i8": 8,
    "i4": 4,
    "i2": 2,
    "u32": 32,
    "u16": 16,
    "u8": 8,
    "u4": 4,
    "f32": 32,
    "bf16": 16,
    "f16": 16,
    "f8e4m3fn": 8,
    "f8e5m2": 8,
    "f8e4m3b11fnuz": 8,
    "f4e2m1fn": 4,
}
np.seterr(all="ignore")


def conv(y, dt):
    y = f32(y)
    r = np.asarray(y.astype(NP[dt]))
    # Where there is no NaN, it is 0, as in XLA.
    return np.where(np.isnan(y), NP[dt](0), r) if dt == "f4e2m1fn" else r


# functions
FN = {
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log1p": np.log1p,
    "cbrt": np.cbrt,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": sp.erf,
    "erfc": sp.erfc,
    "erf_inv": lambda x: np.where(x == 0, x, sp.erfinv(x)),
    "logistic": sp.expit,
}
for dt in FLOATS:
    k = K(f"function_{dt}", "Functions of one operand: results from NumPy and SciPy in f64, rounded.")
    k.inp("x", dt, (10,))
    F = dict(FN)
    if dt not in ("f32", "bf16"):
        F.update({"exp": np.exp, "tanh": np.tanh, "rsqrt": lambda X: f32(1) / np.sqrt(f32(X))})
    for n in F:
        k.out(n, dt, (10,), f"{n} %xt")
    runs = []
    for x in [
        (
            [nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.25, 2.0]
            if dt != "f4e2m1fn"
            else [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 4.0, -6.0]
        ),
        [0.125, 1.5, -3.0, 0.75, -0.875, 6.0, 14.0, -10.0, 0.0625, 3.5],
    ]:
        x = A(x, dt) if dt != "f4e2m1fn" else A(x).astype(NP[dt])
        X = x.astype(np.float64)
        runs.append(({"x": x}, {n: conv(f(X), dt) for n, f in F.items()}))
    k.write(runs)

R = {
    "sign": np.sign,
    "recip": lambda x: f32(1) / x,
    "floor": np.floor,
    "ceil": np.ceil,
    "round_even": np.rint,
    "trunc": np.trunc,
    "round": lambda x: np.where(np.abs(x - np.trunc(x)) == 0.5, np.trunc(x) + np.sign(x), np.rint(x)),
    "neg": None,
    "abs": None,
    "sqrt": np.sqrt,
    "is_nan": np.isnan,
    "is_finite": np.isfinite,
}


def recip_approx(x):
    b = x.astype(NP["bf16"]).astype(f32)
    return (f32(1) / b).astype(NP["bf16"]).astype(f32)


R["recip_approx"] = recip_approx
for dt, vals in {
    "f32": [nan, inf, -inf, 0.0, -0.0, 0.5, 1.5, -2.5, -0.49999997, 3.0],
    "bf16": [nan, inf, -inf, 0.0, -0.0, 0.5, -1.5, 2.5, 3.3895314e38, 9.2e-41],
    "f16": [nan, inf, -inf, 0.0, -0.0, 0.5, -1.5, 2.5, 65504, 6e-8],
    "f8e4m3fn": [nan, 448, -448, 0.0, -0.0, 0.5, -1.5, 2.5, 0.001953125, 3.0],
    "f8e5m2": [nan, inf, -inf, 0.0, -0.0, 0.5, -1.5, 2.5, 57344, 3.0],
    "f8e4m3b11fnuz": [nan, 30, -30, 0.0, 0.5, -1.5, 2.5, -0.375, 3.0, 0.0001220703125],
    "f4e2m1fn": [0, -0.0, 0.5, -0.5, 1, -1.5, 2, 3, -4, 6],
}.items():
    k = K(f"rounding_{dt}", "Operations of one operand that are exact or correctly rounded.")
    k.inp("x", dt, (10,))
    x = A(vals, dt)
    X = x.astype(f32)
    o = {}
    for n, f in R.items():
        rd = "bool" if n.startswith("is_") else dt
        k.out(n, rd, (10,), f"{n} %xt")
        if n == "neg":
            y = -X
        elif n == "abs":
            y = np.abs(X)
        elif n == "round":
            y = np.copysign(np.floor(np.abs(X.astype(np.float64)) + 0.5), X).astype(f32)
            y = np.where(np.isfinite(X), y, X)
        elif n == "sign":
            y = np.where((X == 0) | np.isnan(X), X, np.sign(X))
        else:
            y = f(X)
        o[n] = y if rd == "bool" else conv(y, dt)
    k.write([({"x": x}, o)])

RANGE = {
    d: ((-(1 << (BITS[d] - 1)), (1 << (BITS[d] - 1)) - 1) if d[0] == "i" else (0, (1 << BITS[d]) - 1))
    for d in ["i32", "i16", "i8", "i4", "i2", "u32", "u16", "u8", "u4"]
}
for dt in ["i16", "i8", "i4", "i2", "u32", "u16", "u8", "u4"]:
    lo, hi = RANGE[dt]
    b = BITS[dt]
    xs = sorted({lo, hi, 0, min(hi, 5), hi // 2})
    k = K(f"integers_{dt}", f"Every operation of {dt}, with wrapping, division by 0, and shifts by the width and more.")
    pairs = [(x, y) for x in xs for y in sorted({0, hi, lo, wrap(b, dt), wrap(b - 1, dt), min(hi, 3)})]
    n = len(pairs)
    k.inp("x", dt, (n,))
    k.inp("y", dt, (n,))
    X = [p[0] for p in pairs]
    Y = [p[1] for p in pairs]
    m = (1 << b) - 1
    U = {
        "neg": lambda x: -x,
        "abs": abs,
        "not": lambda x: ~x,
        "sign": lambda x: (x > 0) - (x < 0),
        "popcount": lambda x: bin(x & m).count("1"),
        "clz": lambda x: b - (x & m).bit_length(),
    }

    def div(x, y):
        if y == 0:
            return -1
        q = abs(x) // abs(y)
        return q if (x < 0) == (y < 0) else -q

    def rem(x, y):
        return x if y == 0 else x - y * div(x, y)

    B = {
        "add": lambda x, y: x + y,
        "sub": lambda x, y: x - y,
        "mul": lambda x, y: x * y,
        "div": div,
        "rem": rem,
        "floor_div": lambda x, y: -1 if y == 0 else x // y,
        "floor_mod": lambda x, y: x if y == 0 else x % y,
        "min": min,
        "max": max,
        "and": lambda x, y: x & y,
        "or": lambda x, y: x | y,
        "xor": lambda x, y: x ^ y,
        "shl": lambda x, y: 0 if (y & m) >= b else x << (y & m),
        "shr": lambda x, y: x >> min(y & m, 64),
        "shr_logical": lambda x, y: 0 if (y & m) >= b else (x & m) >> (y & m),
    }
    C = {
        "lt": lambda x, y: x < y,
        "le": lambda x, y: x <= y,
        "gt": lambda x, y: x > y,
        "ge": lambda x, y: x >= y,
        "eq": lambda x, y: x == y,
        "ne": lambda x, y: x != y,
    }
    o = {}
    for nm, f in U.items():
        k.out(nm, dt, (n,), f"{nm} %xt")
        o[nm] = np.array([wrap(f(x), dt) for x in X], dtype=object)
    for nm, f in B.items():
        k.out(nm, dt, (n,), f"{nm} %xt, %yt")
        o[nm] = np.array([wrap(f(x, y), dt) for x, y in zip(X, Y)], dtype=object)
    for nm, f in C.items():
        k.out(nm, "bool", (n,), f"{nm} %xt, %yt")
        o[nm] = np.array([f(x, y) for x, y in zip(X, Y)])
    k.write([({"x": np.array(X, dtype=object), "y": np.array(Y, dtype=object)}, o)])

# i32 only what is new
k = K("integers_i32", "The operations of i32 beside those of `binary_i32` and `unary_i32`.")
dt = "i32"
lo, hi = RANGE[dt]
b = 32
m = (1 << 32) - 1
pairs = [(x, y) for x in [lo, -7, 0, 7, hi] for y in [0, -1, 3, -3, 31, 32, lo]]
n = len(pairs)
X = [p[0] for p in pairs]
Y = [p[1] for p in pairs]
k.inp("x", dt, (n,))
k.inp("y", dt, (n,))
o = {}
for nm in ["sign", "popcount", "clz"]:
    k.out(nm, dt, (n,), f"{nm} %xt")
    o[nm] = np.array(
        [
            wrap(
                {
                    "sign": lambda x: (x > 0) - (x < 0),
                    "popcount": lambda x: bin(x & m).count("1"),
                    "clz": lambda x: b - (x & m).bit_length(),
                }[nm](x),
                dt,
            )
            for x in X
        ],
        dtype=object,
    )
for nm in ["floor_div", "floor_mod", "shl", "shr", "shr_logical"]:
    f = {
        "floor_div": lambda x, y: -1 if y == 0 else x // y,
        "floor_mod": lambda x, y: x if y == 0 else x % y,
        "shl": lambda x, y: 0 if (y & m) >= b else x << (y & m),
        "shr": lambda x, y: x >> min(y & m, 64),
        "shr_logical": lambda x, y: 0 if (y & m) >= b else (x & m) >> (y & m),
    }[nm]
    k.out(nm, dt, (n,), f"{nm} %xt, %yt")
    o[nm] = np.array([wrap(f(x, y), dt) for x, y in zip(X, Y)], dtype=object)
k.write([({"x": np.array(X, dtype=object), "y": np.array(Y, dtype=object)}, o)])


# float binary
def floor_mod(x, y):
    r = np.fmod(x, y)
    return np.where((r != 0) & ((r < 0) != (y < 0)), f32(r + y), r)


SPEC = {
    "f32": [nan, inf, 0.0, -0.0, 1.5, -2.5, 1e-45, 3.4028235e38],
    "bf16": [nan, -inf, 0.0, -0.0, 1.5, -2.5, 9.2e-41, 3.3895314e38],
    "f16": [nan, inf, 0.0, -0.0, 1.5, -2.5, 6e-8, 65504],
    "f8e5m2": [nan, -inf, 0.0, -0.0, 1.5, -2.5, 1.5258789e-05, 57344],
    "f8e4m3fn": [nan, 448, 0.0, -0.0, 1.5, -2.5, 0.001953125, 7.0],
    "f8e4m3b11fnuz": [nan, 30, 0.0, 1.5, -2.5, 0.0001220703125, -0.0001220703125, -0.875],
    "f4e2m1fn": [0, -0.0, 0.5, -0.5, -1.5, 2, 3, 6],
}
for dt, vals in SPEC.items():
    v = A(vals, dt)
    xs, ys = np.repeat(v, 8), np.tile(v, 8)
    X, Y = xs.astype(f32), ys.astype(f32)
    k = K(
        f"binary_more_{dt}",
        "Operations of two floats beside arithmetic: results from NumPy (f64 for functions), rounded.",
    )
    k.inp("x", dt, (64,))
    k.inp("y", dt, (64,))
    o = {}
    D = lambda f: f32(f(X.astype(np.float64), Y.astype(np.float64)))
    res = {
        "floor_mod": f32(floor_mod(X, Y)),
        "pow": D(np.power),
        "atan2": D(np.arctan2),
        "hypot": D(np.hypot),
        "copysign": np.copysign(X, Y),
    }
    if dt not in ("f32", "bf16"):
        res.update(
            {
                "add": X + Y,
                "sub": X - Y,
                "mul": X * Y,
                "div": X / Y,
                "rem": np.fmod(X, Y),
                "max": np.where(
                    np.isnan(X) | np.isnan(Y),
                    nan,
                    np.where((X == 0) & (Y == 0), np.where(np.signbit(X) & np.signbit(Y), -0.0, 0.0), np.maximum(X, Y)),
                ),
                "min": np.where(
                    np.isnan(X) | np.isnan(Y),
                    nan,
                    np.where((X == 0) & (Y == 0), np.where(np.signbit(X) | np.signbit(Y), -0.0, 0.0), np.minimum(X, Y)),
                ),
            }
        )
    for n, y in res.items():
        k.out(n, dt, (64,), f"{n} %xt, %yt")
        o[n] = conv(y, dt)
    k.out("next_after", dt, (64,), "next_after %xt, %yt")
    o["next_after"] = np.where(X == Y, ys, np.nextafter(xs, ys))
    if dt in ("f8e4m3b11fnuz", "f4e2m1fn"):
        # by the list of all numbers
        allv = (
            np.unique(np.arange(1 << BITS[dt], dtype=np.uint8).view(NP[dt]).astype(f32))
            if dt != "f4e2m1fn"
            else np.array([-6, -4, -3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4, 6], f32)
        )
        allv = allv[np.isfinite(allv)]

        def na(x, y):
            if np.isnan(x) or np.isnan(y):
                return nan
            if x == y:
                return y
            i = int(np.searchsorted(allv, x))
            r = allv[i + (1 if y > x else -1)]
            return f32(-0.0) if r == 0 and x < 0 and dt == "f4e2m1fn" else r

        o["next_after"] = A([na(x, y) for x, y in zip(X, Y)], dt)
    k.write([({"x": xs, "y": ys}, o)])

# comparisons and selection of the narrow floats
for dt, vals in SPEC.items():
    if dt in ("f32", "bf16"):
        continue
    v = A(vals, dt)
    xs, ys = np.repeat(v, 8), np.tile(v, 8)
    X, Y = xs.astype(f32), ys.astype(f32)
    k = K(f"compare_{dt}", "Comparisons, also with NaN, and selection by them.")
    k.inp("x", dt, (64,))
    k.inp("y", dt, (64,))
    o = {}
    for n, f in {
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
    }.items():
        k.out(n, "bool", (64,), f"{n} %xt, %yt")
        o[n] = f(X, Y)
    k.out("chosen", dt, (64,), "select %ltr, %xt, %yt")
    o["chosen"] = np.where(X < Y, xs, ys)
    k.write([({"x": xs, "y": ys}, o)])
# shapes of every element type that the goldens do not have
for dt in NP:
    if dt in ("f32", "bf16", "i32", "bool"):
        continue
    lo, hi = RANGE[dt] if dt not in FLOATS else (0, 0)
    x = (
        np.array([[0, 1, -1], [hi, lo, max(lo, -2)]], dtype=object)
        if dt not in FLOATS
        else A([[0.5, -1.0, 2.0], [3.0, -4.0, 1.5]], dt)
    )
    if dt[0] == "u":
        x = np.array([[0, 1, hi], [hi - 1, 2, 3]], dtype=object)
    s = np.array([[hi, lo, 0]], dtype=object) if dt not in FLOATS else A([[1.5, -2.0, 6.0]], dt)
    k = K(f"shape_{dt}", f"Broadcasts, reshapes, transposes and selection of {dt}.")
    k.inp("x", dt, (2, 3))
    k.inp("s", dt, (1, 3))
    k.inp("c", "bool", (2, 3))
    k.scalar("v", dt)
    c = np.array([[True, False, True], [False, False, True]])
    vv = x[1, 0]
    o = {
        "wide": np.broadcast_to(s, (2, 3)),
        "flat": x.reshape(6),
        "turned": x.T,
        "splat": np.broadcast_to(np.asarray(vv), (1, 2)),
    }
    k.out("wide", dt, (2, 3), "broadcast %st")
    k.out("flat", dt, (6,), "reshape %xt")
    k.out("turned", dt, (3, 2), "transpose %xt perm [1, 0]")
    k.out("splat", dt, (1, 2), "broadcast %v")
    k.out("chosen", dt, (2, 3), "select %ct, %xt, %wider")
    o["chosen"] = np.where(c, x, o["wide"])
    k.write([({"x": x, "s": s, "c": c, "v": vv}, o)])
