"""Writes every_type.json and every_type.bin: for every operation of the IR's table that computes, on every element
type that it takes, inputs and what NumPy, SciPy and JAX make of them. Needs numpy, scipy, ml_dtypes and jax (CPU); running
the tests needs no Python.

    python tests/goldens/every_type.py

Oracles. Functions come from float64 (NumPy, SciPy): for f32 the test allows the error of docs/accuracy.md; for a narrower
type the float64 rounded to f32 and then to the type, exactly, where an error of 2 ulp of f32 cannot change it (other
elements are left out). Arithmetic of floats comes from NumPy in f32, rounded by ml_dtypes; of integers from int64, wrapped;
both must equal that of XLA where it has the operation for the type and no denormal occurs. Shapes, sorting and
picking come from NumPy. Sums and scans are added here in the order that docs/ir.md states. Casts have goldens of their own
(casts.py). An array is stored as the bytes of memory, where an element
narrower than a byte takes one: "i4:3x5@70" are 15 bytes at 70.
"""

import itertools
import json
import pathlib

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax
from jax.extend.random import threefry_2x32
from scipy import special

from formats import (
    ALL, BITS, DTYPES, FLOATS, INTS, NUMBERS, SIGNED, dtype_of, from_bits, memory, ones, pairs, randoms, rng, rounded_to, to_bits, values, wide,
    wrapped,
)  # fmt: skip

np.seterr(all="ignore")
HERE = pathlib.Path(__file__).parent
cases, blob, by_value, left_out, checked = [], bytearray(), {}, 0, 0


# --- storing ---------------------------------------------------------------------------------------------------------


def store(value):
    """Where an array lies: type, shape, offset; one each value."""
    raw = np.ascontiguousarray(value if value.dtype == np.float64 else memory(value))
    raw = raw.view(np.uint8) if raw.dtype == np.bool_ else raw
    data = raw.tobytes()
    if data not in by_value:
        by_value[data] = len(blob)
        blob.extend(data)
    d = "f64" if value.dtype == np.float64 else dtype_of(value)
    return f"{d}:{'x'.join(map(str, value.shape))}@{by_value[data]}"


def case(op, inputs, out, check=None, **attributes):
    """Without a `check` the bits must be these (NaN is NaN); else it is a number of ulp from a float64, or an array of bounds."""
    one = {"op": op, **attributes, "in": [store(x) for x in inputs], "out": [store(o) for o in (out if isinstance(out, list) else [out])]}
    if check is not None:
        one["check"] = store(check) if isinstance(check, np.ndarray) else check
    cases.append(one)


def save():
    (HERE / "every_type.bin").write_bytes(bytes(blob))
    lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)
    (HERE / "every_type.json").write_text(f"[\n{lines}\n]\n")


# --- oracles --------------------------------------------------------------------------------------------------------


def denormal(x):
    if dtype_of(x) not in FLOATS:
        return np.zeros(x.shape, bool)
    return (wide(x) != 0) & (np.abs(wide(x)) < max(2.0**-126, float(ml_dtypes.finfo(x.dtype).smallest_normal)) * 1.01)


def same(a, b):
    nan = (wide(a) != wide(a)) & (wide(b) != wide(b)) if dtype_of(a) in FLOATS else False
    return nan | (to_bits(a) == to_bits(b))


def agreed(what, ours, f, *inputs):
    """XLA must give the same wherever it has the operation for the type and no denormal occurs."""
    global checked
    try:
        theirs = np.asarray(jax.jit(f)(*inputs))
    except Exception as e:
        print("not in XLA:", what, str(e).split("\n")[0][:90])
        return ours
    checked += 1
    assert theirs.dtype == ours.dtype, (what, theirs.dtype, ours.dtype)
    keep = ~denormal(ours) & ~denormal(theirs) & ~np.any([denormal(x) for x in inputs], 0)
    bad = keep & ~same(ours, theirs)
    assert not bad.any(), (what, [x[bad][:6] for x in inputs], ours[bad][:6], theirs[bad][:6])
    return ours


def minimum_maximum(smaller, a, b):
    """NaN wins, -0 is below +0."""
    if a.dtype != np.float32:
        return np.where((a < b) == smaller, a, b)
    a_below = np.where(a == b, np.signbit(a), a < b)
    return np.where(np.isnan(a) | np.isnan(b), np.float32(np.nan), np.where(a_below == smaller, a, b))


def function(op, name, inputs, ulp, f):
    """One whose exact value is not a float: against float64."""
    global left_out
    d = dtype_of(inputs[0])
    exact = f(*[x.astype(np.float64) for x in inputs])
    if d == "f32":
        case(op, inputs, exact, ulp, name=name)
        return
    rounded = exact.astype(np.float32)
    spread = np.maximum(np.abs(np.spacing(rounded)), 2.0**-149) * 2
    low, high = ((exact + s * spread).astype(np.float32).astype(DTYPES[d]) for s in (-1, 1))
    keep = same(low, high) | (rounded.astype(np.float64) == exact) | np.isnan(exact) | ~np.isfinite(rounded)
    left_out += (~keep).sum()
    case(op, [x[keep] for x in inputs], rounded_to(rounded, d)[keep], name=name)


# --- elementwise ----------------------------------------------------------------------------------------------------

FUNCTIONS = {
    "exp": (0.794, np.exp), "exp2": (0.5001, np.exp2), "expm1": (0.5001, np.expm1), "log": (0.5001, np.log), "log2": (0.5001, np.log2),
    "log1p": (0.5001, np.log1p), "cbrt": (0.5001, np.cbrt), "sin": (0.5001, np.sin), "cos": (0.5001, np.cos), "tan": (0.5001, np.tan),
    "asin": (0.5001, np.arcsin), "acos": (0.5001, np.arccos), "atan": (0.5001, np.arctan), "sinh": (0.5001, np.sinh),
    "cosh": (0.5001, np.cosh), "tanh": (1.343, np.tanh), "asinh": (0.5001, np.arcsinh), "acosh": (0.5001, np.arccosh),
    "atanh": (0.5001, np.arctanh), "erf": (0.5001, special.erf), "erfc": (0.5002, special.erfc), "erf_inv": (0.5002, lambda x: np.copysign(special.erfinv(x), x)),
    "logistic": (0.5001, special.expit), "rsqrt": (1.49, lambda x: 1 / np.sqrt(x)),
}  # fmt: skip


def bf16(x):
    return x.astype(ml_dtypes.bfloat16).astype(np.float32)


def unary():
    exact = {
        "neg": (np.negative, lax.neg), "abs": (np.abs, lax.abs), "sqrt": (np.sqrt, lax.sqrt), "floor": (np.floor, lax.floor),
        "ceil": (np.ceil, lax.ceil), "trunc": (np.trunc, jnp.trunc), "round_even": (np.rint, lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)),
        "round": (lambda x: np.copysign(np.floor(np.abs(x.astype(np.float64)) + 0.5), x).astype(np.float32), lax.round),
        "sign": (lambda x: np.where((x == 0) | np.isnan(x), x, np.copysign(np.float32(1), x)), lax.sign),
        "recip": (lambda x: np.float32(1) / x, None), "recip_approx": (lambda x: bf16(np.float32(1) / bf16(x)), None),
    }  # fmt: skip
    for d in FLOATS:
        x = ones(d)
        for name, (f, g) in exact.items():
            y = rounded_to(f(wide(x)), d)
            case("unary", [x], agreed((name, d), y, g, x) if g and BITS[d] >= 16 else y, name=name)
        for name, f in {"is_nan": np.isnan, "is_finite": np.isfinite}.items():
            case("unary", [x], f(wide(x)), name=name)
        for name, (ulp, f) in FUNCTIONS.items():
            function("unary", name, [x], ulp, f)
    count = np.vectorize(lambda v: int(v).bit_count())
    for d in INTS:
        x = ones(d)
        v, width = wide(x), BITS[d]
        leading = np.vectorize(lambda b: width - int(b).bit_length())
        for name, y, g in [("neg", -v, lax.neg), ("abs", np.abs(v), lax.abs), ("not", ~v, lax.bitwise_not), ("sign", np.sign(v), lax.sign),
                           ("popcount", count(to_bits(x)), lax.population_count), ("clz", leading(to_bits(x)), lax.clz)]:  # fmt: skip
            # XLA counts the bits of a sign-extended i4, and has no abs of it or of unsigned integers.
            g = None if width < 8 or (d[0] == "u" and name == "abs") else g
            case("unary", [x], agreed((name, d), wrapped(y, d), g, x) if g else wrapped(y, d), name=name)
    x = ones("bool")
    case("unary", [x], ~x, name="not")


def next_after(d):
    every = from_bits(np.arange(2 ** BITS[d], dtype=np.int64), d) if BITS[d] <= 16 else None
    table = None if every is None else np.unique(wide(every)[~np.isnan(wide(every))])

    def f(a, b):
        if table is None:
            return np.nextafter(a, b)
        at = np.searchsorted(table, a)
        y = table[np.clip(np.where(b > a, at + 1, at - 1), 0, len(table) - 1)]
        # Out of 0 the sign is that of the way; into 0 that of the start.
        y = np.where(y == 0, np.copysign(np.float32(0), a), y)
        return np.where(np.isnan(a) | np.isnan(b), np.float32(np.nan), np.where(a == b, b, y))

    return f


def floor_mod(a, b):
    r = np.fmod(a, b)
    return np.where((r != 0) & (np.signbit(r) != np.signbit(b)) & ~np.isnan(b), r + b, r)


def binary():
    exact = {
        "add": (np.add, lax.add), "sub": (np.subtract, lax.sub), "mul": (np.multiply, lax.mul), "div": (np.divide, lax.div),
        "rem": (np.fmod, lax.rem), "floor_mod": (floor_mod, jnp.remainder), "copysign": (np.copysign, None),
        "min": (lambda a, b: minimum_maximum(True, a, b), lax.min), "max": (lambda a, b: minimum_maximum(False, a, b), lax.max),
    }  # fmt: skip
    for d in FLOATS:
        a, b = pairs(d)
        for name, (f, g) in exact.items():
            y = rounded_to(f(wide(a), wide(b)), d)
            case("binary", [a, b], agreed((name, d), y, g, a, b) if g and BITS[d] >= 16 else y, name=name)
        case("binary", [a, b], rounded_to(next_after(d)(wide(a), wide(b)), d), name="next_after")
        for name, f in {"pow": np.power, "atan2": np.arctan2, "hypot": np.hypot}.items():
            function("binary", name, [a, b], 0.5001, f)
    for d in INTS:
        a, b = pairs(d)
        x, y, width = wide(a), wide(b), BITS[d]
        none = np.int64(-1)  # all ones: -1, or the largest
        by = np.where(y == 0, 1, y)
        quotient = np.where(y == 0, none, np.sign(x) * np.sign(by) * (np.abs(x) // np.abs(by)))
        remainder = np.where(y == 0, x, np.sign(x) * (np.abs(x) % np.abs(by)))
        amount = np.minimum(to_bits(b).astype(np.int64), width)
        results = {
            "add": (x + y, lax.add), "sub": (x - y, lax.sub), "mul": ((x.astype(object) * y).astype(object) % 2**64, lax.mul),
            "div": (quotient, lax.div), "rem": (remainder, lax.rem), "floor_div": (np.where(y == 0, none, x // by), None),
            "floor_mod": (np.where(y == 0, x, x % by), None), "min": (np.minimum(x, y), lax.min), "max": (np.maximum(x, y), lax.max),
            "and": (x & y, lax.bitwise_and), "or": (x | y, lax.bitwise_or), "xor": (x ^ y, lax.bitwise_xor),
            "shl": (x << amount, lax.shift_left), "shr": (x >> amount, lax.shift_right_arithmetic if d in SIGNED else lax.shift_right_logical),
            "shr_logical": (to_bits(a).astype(np.int64) >> amount, lax.shift_right_logical),
        }  # fmt: skip
        for name, (z, g) in results.items():
            z = wrapped(np.array([int(v) % 2**width for v in z], np.int64), d)
            case("binary", [a, b], agreed((name, d), z, g, a, b) if g and width >= 8 else z, name=name)
    a, b = pairs("bool")
    for name, f in [("and", np.logical_and), ("or", np.logical_or), ("xor", np.not_equal)]:
        case("binary", [a, b], f(a, b), name=name)


def compare_and_select():
    ops = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
    for d in ALL:
        a, b = pairs(d)
        for name, f in ops.items():
            if d != "bool" or name in ("eq", "ne"):
                case("compare", [a, b], f(wide(a), wide(b)), name=name)
        chosen = rng.integers(0, 2, a.shape).astype(np.bool_)
        case("select", [chosen, a, b], np.where(chosen, a, b).astype(a.dtype))


def bitcast():
    for source, target in itertools.product(NUMBERS, NUMBERS):
        small, big = sorted((BITS[source], BITS[target]))
        if small == big:
            x = ones(source)
            case("bitcast", [x], from_bits(to_bits(x), target), to=target)
            continue
        k = big // small
        if BITS[source] == big:  # the parts of a row, low bits first, become k rows
            x = values(source, (2, 5))
            bits = to_bits(x).astype(np.int64)
            parts = np.stack([bits >> (j * small) & (2**small - 1) for j in range(k)], 1).reshape(2 * k, 5)
            case("bitcast", [x], from_bits(parts, target), to=target)
        else:
            x = values(source, (2 * k, 5))
            bits = to_bits(x).astype(np.int64).reshape(2, k, 5)
            case("bitcast", [x], from_bits(sum(bits[:, j] << (j * small) for j in range(k)), target), to=target)


def stochastic():
    """By the rule of docs/ir.md, in exact arithmetic on the format's own values."""
    x = np.concatenate([ones("f32"), (rng.normal(size=60) * 4).astype(np.float32), (rng.normal(size=40) * 1e-3).astype(np.float32)])
    x = np.concatenate([x, np.array([447, 448, 449, 465, 500, 29.5, 30.5, 31.5, 65504, 65519, 65520, 70000, 57344, 61440, 6.5, 7, 9], np.float32)])
    bits = rng.integers(0, 2**32, len(x), dtype=np.uint32)
    bits[::7], bits[3::7] = 0, 2**32 - 1
    for d in FLOATS[1:]:
        every = wide(from_bits(np.arange(2 ** BITS[d], dtype=np.int64), d))
        grid = np.unique(np.abs(every[np.isfinite(every)].astype(np.float64)))
        top = grid[-1] + (grid[-1] - grid[-2])  # the step after the largest number
        overflow = np.float64(np.array(np.inf, np.float32).astype(DTYPES[d]))
        grid = np.append(grid, top)
        y = rounded_to(x, d)  # exact, infinite, NaN, and far beyond
        size = np.abs(x.astype(np.float64))
        at = np.clip(np.searchsorted(grid, size, "right") - 1, 0, len(grid) - 2)
        low, high = grid[at], grid[at + 1]
        up = bits.astype(np.float64) / 2**32 < (size - low) / (high - low)
        chosen = np.where(up, np.where(high == top, overflow, high), low)
        chosen = rounded_to(np.copysign(chosen, x), d)
        inside = np.isfinite(x) & (size < top) & (size != low)
        case("stochastic_round", [x, bits], rounded_to(np.where(inside, wide(chosen), wide(y)), d), to=d)


# --- shapes ---------------------------------------------------------------------------------------------------------


def shapes():
    for d in ALL:
        for source, target in [((1,), (7,)), ((5, 1), (5, 9)), ((2, 1, 5), (2, 3, 5)), ((1, 2, 1, 3), (4, 2, 5, 3))]:
            x = values(d, source)
            case("broadcast", [x], np.broadcast_to(x, target))
        for source, target in [((24,), (4, 6)), ((2, 3, 4), (6, 4)), ((5, 1, 7), (1, 35)), ((35,), (1, 5, 1, 7))]:
            x = values(d, source)
            case("reshape", [x], x.reshape(target))
        for shape, perm in [((5,), [0]), ((9, 17), [1, 0]), ((2, 3, 5), [2, 0, 1]), ((2, 3, 4, 2), [3, 1, 0, 2])]:
            x = values(d, shape)
            case("transpose", [x], x.transpose(perm), perm=perm)
        for shape, starts, to, strides in [((1,), [0], (1,), [1]), ((33,), [2], (8,), [4]), ((7, 20), [1, 3], (3, 5), [2, 3]),
                                           ((2, 3, 4, 5), [1, 0, 1, 0], (1, 3, 2, 3), [1, 1, 2, 2])]:  # fmt: skip
            x = values(d, shape)
            index = tuple(slice(s, s + (n - 1) * k + 1, k) for s, n, k in zip(starts, to, strides))
            case("slice", [x], x[index], starts=starts, strides=strides)
        for parts, axis in [([(3,), (1,), (6,)], 0), ([(2, 5), (3, 5)], 0), ([(3, 2), (3, 17)], 1), ([(2, 1, 3, 2), (2, 4, 3, 2)], 1)]:
            xs = [values(d, p) for p in parts]
            case("concat", xs, np.concatenate(xs, axis), axis=axis)
        x = values(d, (3, 7))
        case("extract", [x], x[2:3, 4], indices=[2, 4])
        amounts = itertools.cycle([(0, 40), (3, -1), (2**31 - 1, -(2**31))])
        for shape, axis in [((1,), 0), ((19,), 0), ((5, 12), 0), ((5, 12), 1), ((2, 4, 3), 1)]:
            x = values(d, shape)
            for amount in next(amounts):
                case("rotate", [x, np.array([amount], np.int32)], np.roll(x, amount, axis), axis=axis)
            if len(shape) > 1:
                along = 1 - axis if axis < 2 else 0
                rows = [np.roll(part, 5 + r * 3, axis - (axis > along)) for r, part in enumerate(np.moveaxis(x, along, 0))]
                y = np.moveaxis(np.stack(rows), 0, along)
                case("rotate", [x, np.array([5], np.int32)], y, axis=axis, stride=3, along=[along])
        for shape, picks, axis in [((1,), (4,), 0), ((9,), (13,), 0), ((5, 6), (3, 6), 0), ((5, 6), (5, 8), 1), ((2, 3, 4), (2, 7, 4), 1)]:
            x, n = values(d, shape), shape[axis]
            index = rng.integers(-n, n, picks).astype(np.int32)
            case("gather", [x, index], np.take_along_axis(x, index.astype(np.int64), axis), axis=axis)
    for shape in [(1,), (130,), (3, 5), (2, 3, 4, 5)]:
        for axis in range(len(shape)):
            case("iota", [], np.asarray(lax.broadcasted_iota(np.int32, shape, axis)), axis=axis)


def order():
    """Stable, NaN above all, -0 equal to +0; descending keeps ties in order."""
    for d in NUMBERS:
        for shape, axis in [((1,), 0), ((17,), 0), ((4, 9), 0), ((3, 40), 1), ((2, 9, 2), 1)]:
            key = values(d, shape)
            payload, other = np.arange(key.size, dtype=np.int32).reshape(shape), values("bf16", shape)
            v = wide(key)
            nan = np.isnan(v) if d in FLOATS else np.zeros(shape, bool)
            v = np.where(nan, 0, v).astype(np.float64)
            for down in (False, True):
                s = -1 if down else 1
                index = np.lexsort((s * v, s * nan.astype(np.int8)), axis)
                outs = [np.take_along_axis(x, index, axis) for x in (key, payload, other)]
                case("sort", [key, payload, other], outs, axis=axis, descending=down)


# --- reductions, scans, products ------------------------------------------------------------------------------------


def folded(f, x, axis):
    """Over the last axis 16 partial results folded in halves, over another axis one after the other."""
    rows = list(np.moveaxis(x, axis, 0))
    if axis < x.ndim - 1:
        partial = rows[:1]
        for row in rows[1:]:
            partial[0] = f(partial[0], row)
    else:
        partial = rows[:16]
        for i, row in enumerate(rows[16:]):
            partial[i % 16] = f(partial[i % 16], row)
        for half in (8, 4, 2, 1):
            for j in range(half, min(2 * half, len(partial))):
                partial[j - half] = f(partial[j - half], partial[j])
            partial = partial[:half]
    return np.expand_dims(partial[0], axis)


def narrowed(y, d):
    return rounded_to(y, d) if d in FLOATS else wrapped(np.array([int(v) % 2 ** BITS[d] for v in y.flat], np.int64), d).reshape(y.shape)


REDUCED = [((1,), 0), ((33,), 0), ((5, 1), 1), ((4, 19), 0), ((4, 19), 1), ((2, 17, 3), 1), ((2, 3, 2, 9), 3)]
STEPS = {"sum": np.add, "prod": np.multiply, "max": lambda a, b: minimum_maximum(False, a, b), "min": lambda a, b: minimum_maximum(True, a, b)}


def first_extreme(x, axis, largest):
    """XLA's rule: the first NaN, else the first of the largest; where no element is larger than the start, 0."""
    v = wide(x)
    f = np.nanargmax if largest else np.nanargmin
    if dtype_of(x) in FLOATS:
        nan = np.isnan(v)
        filled = np.where(nan, 0, v)
        picked = (np.argmax if largest else np.argmin)(filled, axis, keepdims=True)
        return np.where(nan.any(axis, keepdims=True), np.argmax(nan, axis, keepdims=True), picked).astype(np.int32)
    return (np.argmax if largest else np.argmin)(v, axis, keepdims=True).astype(np.int32)


def reductions():
    for d in NUMBERS:
        for shape, axis in REDUCED:
            x = values(d, shape)
            moderate = x if d not in FLOATS else np.where(rng.random(shape) < 0.85, (rng.normal(size=shape) * 3).astype(np.float32).astype(x.dtype), x).astype(x.dtype)
            for name, f in STEPS.items():
                y = moderate if name in ("sum", "prod") else x
                v = wide(y) if d in FLOATS else wide(y).astype(object)
                v = v if name in ("sum", "prod") or d in FLOATS else wide(y)
                case("reduce", [y], narrowed(folded(f, v, axis), d), name=name, axis=axis)
            for name, largest in (("argmax", True), ("argmin", False)):
                case("reduce", [x], first_extreme(x, axis, largest), name=name, axis=axis)
            if shape in ((33,), (4, 19)):
                for name in ("sum", "prod", "max", "min"):
                    y = moderate if name in ("sum", "prod") else x
                    for reverse in (False, True):
                        v = wide(y) if d in FLOATS or name in ("max", "min") else wide(y).astype(object)
                        rows = list(np.moveaxis(v, axis, 0))[:: -1 if reverse else 1]
                        scanned = list(itertools.accumulate(rows, STEPS[name]))[:: -1 if reverse else 1]
                        out = narrowed(np.moveaxis(np.stack([np.asarray(r) for r in scanned]), 0, axis), d)
                        case("scan", [y], out, name=name, axis=axis, reverse=reverse)
    for shape, axis in REDUCED:
        for x in (rng.random(shape) < 0.1, rng.random(shape) < 0.9, np.zeros(shape, bool), np.ones(shape, bool)):
            case("reduce", [x], x.any(axis, keepdims=True), name="any", axis=axis)
            case("reduce", [x], x.all(axis, keepdims=True), name="all", axis=axis)


def factor(d, shape):
    if d in FLOATS:
        return (rng.normal(size=shape) * 2).astype(np.float32).astype(DTYPES[d])
    return from_bits(rng.integers(0, 2 ** BITS[d], shape, dtype=np.int64), d)


def products():
    """Exact in float64 or int64. Floats within 2·k·2^-24·Σ|a·b|, docs/semantics.md."""
    einsums = {
        "mk,kn->mn": ((5, 19), (19, 6), [1, 0], []), "km,kn->mn": ((3, 4), (3, 5), [0, 0], []), "mk,nk->mn": ((1, 130), (2, 130), [1, 1], []),
        "k,kn->n": ((7,), (7, 3), [0, 0], []), "mk,k->m": ((4, 9), (9,), [1, 0], []),
        "bmk,bkn->bmn": ((2, 3, 5), (2, 5, 4), [2, 1], [[0, 0]]), "bkm,nbk->bmn": ((3, 5, 2), (4, 3, 5), [1, 2], [[0, 1]]),
        "abmk,abkn->abmn": ((2, 2, 3, 4), (2, 2, 4, 3), [3, 2], [[0, 0], [1, 1]]), "bk,bkn->bn": ((3, 6), (3, 6, 5), [1, 1], [[0, 0]]),
    }  # fmt: skip
    narrow = [d for d in INTS if d != "i32" and d != "u32"]
    for a_type, b_type in itertools.product(NUMBERS, NUMBERS):
        both_float = a_type in FLOATS and b_type in FLOATS
        both_int = (a_type in narrow and b_type in narrow) or (a_type == b_type == "i32")
        mixed = (a_type in FLOATS and b_type in narrow and BITS[b_type] <= 8) or (b_type in FLOATS and a_type in narrow and BITS[a_type] <= 8)
        if not (both_float or both_int or mixed):
            continue
        for text, (a_shape, b_shape, contract, batch) in einsums.items():
            if a_type != b_type and text != ("mk,kn->mn" if (NUMBERS.index(a_type) + NUMBERS.index(b_type)) % 2 else "bkm,nbk->bmn"):
                continue
            a, b = factor(a_type, a_shape), factor(b_type, b_shape)
            if both_int:
                y = np.einsum(text, wide(a), wide(b))
                case("dot", [a, b], wrapped(y, "i32"), contract=contract, batch=batch, precision="default")
                continue
            # f32 enters the default product as bf16, the highest as it is.
            for precision in ["default", "highest"] if "f32" in (a_type, b_type) else ["default"]:
                x, y = (bf16(v).astype(np.float64) if dtype_of(v) == "f32" and precision == "default" else wide(v).astype(np.float64) for v in (a, b))
                bound = np.einsum(text, np.abs(x), np.abs(y)) * 2 * a_shape[contract[0]] * 2.0**-24
                case("dot", [a, b], np.einsum(text, x, y), bound, contract=contract, batch=batch, precision=precision)
    special_a, special_b = np.array([[np.nan, 1], [np.inf, 0], [-np.inf, np.inf]]), np.array([[1, 0], [2, 1.0]])
    for d in ("f32", "bf16", "f16", "f8e5m2"):
        a, b = special_a.astype(np.float32).astype(DTYPES[d]), special_b.astype(np.float32).astype(DTYPES[d])
        y = np.array([[sum(p * q for p, q in zip(row, col)) for col in special_b.T] for row in special_a])
        case("dot", [a, b], y, np.zeros(y.shape), contract=[1, 0], batch=[], precision="highest")


def random_bits():
    """Element i of a draw: the two words of threefry of the counter, xored."""
    for seed in ([0, 0], [7, 3], [2**31, 2**32 - 1]):
        for shape in [(1,), (9,), (2, 3, 5), (4, 33)]:
            n = int(np.prod(shape))
            counts = jnp.concatenate([jnp.zeros(n, jnp.uint32), jnp.arange(n, dtype=jnp.uint32)])
            words = np.asarray(threefry_2x32(jnp.array(seed, jnp.uint32), counts))
            case("prng_bits", [], (words[:n] ^ words[n:]).reshape(shape), seed=seed)


unary()
binary()
compare_and_select()
bitcast()
stochastic()
shapes()
order()
reductions()
products()
random_bits()
save()
size = sum((HERE / f).stat().st_size for f in ("every_type.json", "every_type.bin"))
print(f"{len(cases)} cases, {size} bytes, {checked} equal to XLA, {left_out} elements left out")
