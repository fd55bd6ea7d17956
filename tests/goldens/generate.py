"""Writes cases.json and tensors.safetensors: for every operation of the IR and every element type it takes, inputs and
the values that NumPy and JAX give. Needs numpy, ml_dtypes and jax (CPU); running the tests needs no Python.

    python tests/goldens/generate.py

Oracles. XLA on the CPU flushes denormal operands and results to zero, a TPU kernel's semantics here keep them. So
floats are computed by NumPy (IEEE, denormals kept), in f32, bf16 through f32; and wherever no denormal is involved the
result must equal that of JAX, or this script stops. exp and tanh come from float64. i32 division, remainder and casts
to i32 come from JAX. Sums are added here in the order that docs/semantics.md states. Matrix products come from float64,
with the bound that docs/semantics.md states for each element.
"""

import functools
import itertools
import json
import pathlib
import struct

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

np.seterr(all="ignore")
HERE = pathlib.Path(__file__).parent
BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = {"f32": np.dtype(np.float32), "bf16": BF16, "i32": np.dtype(np.int32), "bool": np.dtype(np.bool_)}
FLOATS, NUMBERS, ALL = ["f32", "bf16"], ["f32", "bf16", "i32"], ["f32", "bf16", "i32", "bool"]
STORED = {"float32": "F32", "bfloat16": "BF16", "int32": "I32", "bool": "BOOL", "float64": "F64"}
rng = np.random.default_rng(20240229)
cases, tensors = [], {}


def tensor(name, value):
    value = np.ascontiguousarray(value)
    if name in tensors:
        assert tensors[name].tobytes() == value.tobytes(), name
    tensors[name] = value
    return name


def case(op, inputs, out, check="bits", **attributes):
    """`check`: bits (NaN as NaN), a number of ulp from a float64, or the name of a tensor of bounds."""
    cases.append({"op": op, "in": inputs, "out": out, "check": check, **attributes})


def save():
    header, data = {}, b""
    for name, value in tensors.items():
        raw = value.tobytes()
        header[name] = {"dtype": STORED[value.dtype.name], "shape": value.shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    (HERE / "tensors.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    lines = ",\n".join(json.dumps(c) for c in cases)
    (HERE / "cases.json").write_text(f"[\n{lines}\n]\n")


# --- values ---------------------------------------------------------------------------------------------------------

FLOAT_BITS = [
    0x7FC00000, 0x7F800000, 0xFF800000, 0x00000000, 0x80000000,  # NaN, infinities, zeros
    0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF, 0x00400000,  # denormals
    0x00800000, 0x80800000, 0x7F7FFFFF, 0xFF7FFFFF,  # the smallest normal, the largest
    0x3F800000, 0xBF800000, 0x3F000000, 0x40200000, 0xC0200000, 0x3FC00000,  # 1, -1, 1/2, 5/2, -5/2, 3/2
    0x3F808000, 0x3F818000, 0x3F808001, 0x7F7F7FFF, 0x7F7F8000, 0x00008000, 0x00018000,  # ties and limits of bf16
    0x4F000000, 0xCF000000, 0x4EFFFFFF, 0xCF000001, 0x4B000001, 0x3EFFFFFF, 0x4F32D05E,  # limits of i32; 2^23 + 1
    0x42B17218, 0x42B17219, 0xC2AEAC50, 0xC2CFF1B5, 0xC2CE8ED0, 0x41200000, 0x3F200000,  # limits of exp and tanh
]
INT_VALUES = [0, 1, -1, 2, -2, 3, -3, 7, -7, 255, 256, 257, 65535, 16777217, -16777217, 33554435, 2**31 - 1, -(2**31), 2**31 - 64]
INT_VALUES += [2**31 - 65, -(2**31) + 1, 1900019749, -112984063, -580911111]  # the last three round twice on the way to bf16


def special(dtype):
    if dtype == "f32":
        return np.array(FLOAT_BITS, np.uint32).view(np.float32)
    if dtype == "bf16":
        return np.unique(np.array(FLOAT_BITS, np.uint32) >> 16).astype(np.uint16).view(BF16)
    if dtype == "i32":
        return np.array(INT_VALUES, np.int32)
    return np.array([False, True])


def randoms(dtype, n):
    """Values of all magnitudes, and as many of moderate ones."""
    if dtype == "f32":
        any_bits = rng.integers(0, 2**32, n, dtype=np.uint32).view(np.float32)
        return np.concatenate([any_bits, (rng.normal(size=n) * 4).astype(np.float32)])
    if dtype == "bf16":
        any_bits = rng.integers(0, 2**16, n, dtype=np.uint16).view(BF16)
        return np.concatenate([any_bits, (rng.normal(size=n) * 4).astype(np.float32).astype(BF16)])
    if dtype == "i32":
        wide = rng.integers(-(2**31), 2**31, n, dtype=np.int64).astype(np.int32)
        return np.concatenate([wide, rng.integers(-100, 100, n).astype(np.int32)])
    return rng.integers(0, 2, 2 * n).astype(np.bool_)


@functools.cache
def ones(dtype):
    values = np.concatenate([special(dtype), randoms(dtype, 100)])
    return values, tensor(f"one.{dtype}", values)


@functools.cache
def pairs(dtype):
    some = special(dtype)
    if dtype in FLOATS:
        some = some[: 24 if dtype == "f32" else None]
    a, b = (np.array(x, some.dtype) for x in zip(*itertools.product(some, some)))
    a, b = np.concatenate([a, randoms(dtype, 60)]), np.concatenate([b, randoms(dtype, 60)])
    return a, b, tensor(f"two.{dtype}.0", a), tensor(f"two.{dtype}.1", b)


# --- oracles --------------------------------------------------------------------------------------------------------


def wide(x):
    return x.astype(np.float32) if x.dtype == BF16 else x


def denormal(x):
    if x.dtype not in (np.float32, BF16):
        return np.zeros(x.shape, bool)
    x = wide(x)
    return (x != 0) & (np.abs(x) < np.float32(2.0**-126))


def same(a, b):
    kind = {1: np.uint8, 2: np.uint16, 4: np.uint32}[a.dtype.itemsize]
    both_nan = (wide(a) != wide(a)) & (wide(b) != wide(b))
    return both_nan | (a.view(kind) == b.view(kind))


def agreed(what, numpy_result, jax_function, *inputs):
    """NumPy's result, which JAX must share wherever no denormal is read or made."""
    theirs = np.asarray(jax.jit(jax_function)(*inputs))
    assert theirs.dtype == numpy_result.dtype, (what, theirs.dtype, numpy_result.dtype)
    keep = ~denormal(numpy_result) & ~denormal(theirs)
    # A result below the normal range that rounds up to it is flushed too.
    if numpy_result.dtype in (np.float32, BF16):
        keep &= ~(np.abs(wide(numpy_result)) == np.float32(2.0**-126))
    for x in inputs:
        keep &= ~denormal(x)
    bad = keep & ~same(numpy_result, theirs)
    assert not bad.any(), (what, [(x[bad][:4]) for x in inputs], numpy_result[bad][:4], theirs[bad][:4])
    return numpy_result


# --- elementwise ----------------------------------------------------------------------------------------------------


def unary():
    in_f32 = {"neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "rsqrt": lambda x: np.float32(1) / np.sqrt(x)}
    exact = {"exp": np.exp, "tanh": np.tanh}
    ulp = {"exp": 1.0, "tanh": 2.0}
    for dtype in FLOATS:
        x, name = ones(dtype)
        for op, f in in_f32.items():
            y = f(wide(x)).astype(x.dtype)
            if op != "rsqrt":  # JAX's is one operation, rounded once; here it is two.
                agreed(op, y, {"neg": lax.neg, "abs": lax.abs, "sqrt": lax.sqrt}[op], x)
            case("unary", [name], tensor(f"{op}.{dtype}", y), name=op)
        for op, f in exact.items():
            # bf16: half an ulp of rounding, and the f32 function's error, which is 2^-16 of a bf16's ulp an ulp.
            check = ulp[op] if dtype == "f32" else 0.5 + ulp[op] / 65536
            case("unary", [name], tensor(f"{op}.{dtype}", f(x.astype(np.float64))), check, name=op)
    x, name = ones("i32")
    for op, f, g in [("neg", np.negative, lax.neg), ("abs", np.abs, lax.abs), ("not", np.invert, lax.bitwise_not)]:
        case("unary", [name], tensor(f"{op}.i32", agreed(op, f(x), g, x)), name=op)
    x, name = ones("bool")
    case("unary", [name], tensor("not.bool", agreed("not", ~x, lax.bitwise_not, x)), name="not")


def minimum_maximum(take_first, a, b):
    nan = np.isnan(a) | np.isnan(b)
    a_first = np.where(a == b, np.signbit(a), a < b)
    return np.where(nan, np.float32(np.nan), np.where(a_first == take_first, a, b))


def binary():
    floats = {
        "add": (np.add, lax.add),
        "sub": (np.subtract, lax.sub),
        "mul": (np.multiply, lax.mul),
        "div": (np.divide, lax.div),
        "rem": (np.fmod, lax.rem),
        "min": (lambda a, b: minimum_maximum(True, a, b), lax.min),
        "max": (lambda a, b: minimum_maximum(False, a, b), lax.max),
    }
    for dtype in FLOATS:
        a, b, *names = pairs(dtype)
        for op, (f, g) in floats.items():
            y = f(wide(a), wide(b)).astype(a.dtype)
            # XLA's remainder of bf16 is that of f32, rounded, as here.
            case("binary", names, tensor(f"{op}.{dtype}", agreed(op, y, g, a, b)), name=op)
    a, b, *names = pairs("i32")
    for op in ["add", "sub", "mul", "div", "rem", "min", "max", "and", "or", "xor"]:
        f = getattr(lax, {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}.get(op, op))
        case("binary", names, tensor(f"{op}.i32", np.asarray(jax.jit(f)(a, b))), name=op)
    a, b, *names = pairs("bool")
    for op, f, g in [("and", np.logical_and, lax.bitwise_and), ("or", np.logical_or, lax.bitwise_or), ("xor", np.not_equal, lax.bitwise_xor)]:
        case("binary", names, tensor(f"{op}.bool", agreed(op, f(a, b), g, a, b)), name=op)


def compare():
    ops = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
    for dtype in ALL:
        a, b, *names = pairs(dtype)
        for op, f in ops.items():
            if dtype != "bool" or op in ("eq", "ne"):
                y = agreed(op, f(wide(a), wide(b)), getattr(lax, op), a, b)
                case("compare", names, tensor(f"{op}.{dtype}", y), name=op)


def select():
    for dtype in ALL:
        a, b, *names = pairs(dtype)
        chosen = rng.integers(0, 2, a.shape).astype(np.bool_)
        condition = tensor(f"select.{dtype}.c", chosen)
        case("select", [condition, *names], tensor(f"select.{dtype}", np.where(chosen, a, b)))


def cast():
    for source, target in itertools.product(ALL, ALL):
        x, name = ones(source)
        to_jax = lambda v: lax.convert_element_type(v, DTYPES[target])
        theirs = np.asarray(jax.jit(to_jax)(x))
        if target == "bool":
            y = wide(x) != 0  # JAX flushes a denormal to false.
        elif target == "i32" or source in ("i32", "bool"):
            y = theirs
        else:
            y = wide(x).astype(DTYPES[target])
        agreed((source, target), y, to_jax, x)
        case("cast", [name], tensor(f"cast.{source}.{target}", y), to=target)


# --- shapes ---------------------------------------------------------------------------------------------------------


def numbered(dtype, shape):
    """Different elements, as far as the type has them."""
    values = np.arange(int(np.prod(shape)))
    values = values % 3 == 1 if dtype == "bool" else values
    name = f"numbered.{dtype}.{'x'.join(map(str, shape))}"
    values = values.astype(np.float32).astype(DTYPES[dtype]).reshape(shape)
    return values, tensor(name, values)


def text(numbers):
    return "x".join(map(str, numbers))


def shapes():
    for shape in [(1,), (130,), (3, 5), (2, 1, 9), (2, 3, 4, 5)]:
        for axis in range(len(shape)):
            y = np.asarray(lax.broadcasted_iota(np.int32, shape, axis))
            case("iota", [], tensor(f"iota.{text(shape)}.{axis}", y), axis=axis)
    for dtype in ALL:
        for source, target in [((1,), (7,)), ((1, 9), (5, 9)), ((5, 1), (5, 9)), ((1, 1), (3, 4)), ((2, 1, 5), (2, 3, 5)),
                               ((1, 2, 1, 3), (4, 2, 5, 3)), ((1, 1, 8, 1), (2, 2, 8, 17)), ((3, 4), (3, 4))]:  # fmt: skip
            x, name = numbered(dtype, source)
            case("broadcast", [name], tensor(f"broadcast.{dtype}.{text(source)}.{text(target)}", np.broadcast_to(x, target)))
        for source, target in [((24,), (4, 6)), ((4, 6), (24,)), ((2, 3, 4), (6, 4)), ((2, 3, 4), (4, 3, 2)), ((5, 1, 7), (1, 35)),
                               ((2, 2, 3, 5), (60,)), ((35,), (1, 5, 1, 7))]:  # fmt: skip
            x, name = numbered(dtype, source)
            case("reshape", [name], tensor(f"reshape.{dtype}.{text(source)}.{text(target)}", x.reshape(target)))
        for shape in [(5,), (3, 7), (9, 17), (2, 3, 5), (2, 3, 4, 2)]:
            x, name = numbered(dtype, shape)
            for perm in itertools.permutations(range(len(shape))):
                y = np.asarray(lax.transpose(x, perm))
                case("transpose", [name], tensor(f"transpose.{dtype}.{text(shape)}.{text(perm)}", y), perm=perm)


# --- reductions -----------------------------------------------------------------------------------------------------


def summed(x, axis):
    """In the stated order: over the last axis 16 partial sums folded in halves, over another axis one after the other."""
    rows = list(np.moveaxis(wide(x), axis, 0))
    if axis == x.ndim - 1:
        partial = rows[:16]
        for i, row in enumerate(rows[16:]):
            partial[i % 16] = partial[i % 16] + row
        for half in (8, 4, 2, 1):
            for j in range(half, min(2 * half, len(partial))):
                partial[j - half] = partial[j - half] + partial[j]
            partial = partial[:half]
        total = partial[0]
    else:
        total = rows[0]
        for row in rows[1:]:
            total = total + row
    return np.expand_dims(total, axis).astype(x.dtype)


def reductions():
    with_specials = [(4, 9), (9, 4)]
    for dtype in NUMBERS:
        for shape in [(1,), (7,), (16,), (33,), (5, 1), (3, 130), (130, 3), (4, 9), (9, 4), (2, 17, 3), (2, 3, 4, 19)]:
            n = int(np.prod(shape))
            x = rng.integers(-(2**31), 2**31, n, dtype=np.int64) if dtype == "i32" else rng.normal(size=n) * 10
            x = x.astype(np.float32).astype(DTYPES[dtype]) if dtype != "i32" else x.astype(np.int32)
            if shape in with_specials and dtype in FLOATS:
                # NaN, both infinities, and rows of zeros of both signs and of denormals.
                x[:12] = np.array([np.nan, 1, 2, 3, np.inf, -np.inf, 5, np.inf, -np.inf, 2, 3, 4], np.float32).astype(x.dtype)
                x[18:36] = np.array([0.0, -0.0, -0.0] * 3 + [1e-40, 3e-40, -1e-40] * 3, np.float32).astype(x.dtype)
            x = x.reshape(shape)
            name = tensor(f"reduce.{dtype}.{text(shape)}", x)
            for axis in range(len(shape)):
                y = summed(x, axis)
                if dtype != "i32":
                    exact = x.astype(np.float64).sum(axis, keepdims=True)
                    slack = np.abs(x.astype(np.float64)).sum(axis, keepdims=True) * 2.0**-24 * shape[axis]
                    if dtype == "bf16":
                        slack += np.abs(exact) * 2.0**-8
                    finite = np.isfinite(exact)
                    assert (np.abs(y.astype(np.float64) - exact)[finite] <= slack[finite] + 1e-40).all()
                else:
                    assert (y == np.asarray(jnp.sum(x, axis, keepdims=True))).all()
                case("reduce", [name], tensor(f"sum.{dtype}.{text(shape)}.{axis}", y), name="sum", axis=axis)
                for op in ("max", "min"):
                    f = (lambda a, b: (np.minimum if op == "min" else np.maximum)(a, b)) if dtype == "i32" else (
                        lambda a, b: minimum_maximum(op == "min", a, b))  # fmt: skip
                    rows = list(np.moveaxis(wide(x), axis, 0))
                    y = rows[0]
                    for row in rows[1:]:
                        y = f(y, row)
                    y = np.expand_dims(y, axis).astype(x.dtype)
                    jax_reduce = jnp.min if op == "min" else jnp.max
                    theirs = np.asarray(jax_reduce(x, axis, keepdims=True))
                    assert (same(y, theirs) | denormal(y) | denormal(theirs) | (wide(y) == wide(theirs))).all(), (op, dtype, shape, axis)
                    case("reduce", [name], tensor(f"{op}.{dtype}.{text(shape)}.{axis}", y), name=op, axis=axis)


# --- matrix products ------------------------------------------------------------------------------------------------


def high(x):
    return x.astype(BF16).astype(np.float32)


def passes(a, b, precision):
    """The pairs of operands that are multiplied, the main one first."""
    if precision == "default":
        return [(high(a), high(b))]
    if precision == "high":
        low = lambda x: high(x - high(x))
        return [(high(a), high(b)), (high(a), low(b)), (low(a), high(b))]
    return [(a, b)]


def dots():
    special_rows = np.array([[np.inf, 1, 0, 2], [np.nan, 1, 2, 3], [0, 0, 0, 0], [1, 2, 3, -np.inf], [3e38, 3e38, 3e38, 3e38]], np.float32)
    special_columns = np.array([[1, 0, 2, -1], [1, np.inf, 2, 3], [0.5, 1, -0.0, np.nan], [1, 1, 1, 2]], np.float32)
    sizes = [(1, 1, 1), (5, 19, 7), (8, 130, 9), (17, 3, 33), "special"]
    for dtype, size in itertools.product(NUMBERS, sizes):
        if size == "special":
            if dtype == "i32":
                continue
            a, b = special_rows.astype(DTYPES[dtype]), special_columns.astype(DTYPES[dtype])
            label = size
        else:
            m, k, n = size
            label = text(size)
            if dtype == "i32":
                a, b = (rng.integers(-(2**31), 2**31, s, dtype=np.int64).astype(np.int32) for s in ((m, k), (k, n)))
            else:
                a, b = (rng.normal(size=s).astype(np.float32).astype(DTYPES[dtype]) for s in ((m, k), (k, n)))
        for precision in ["default", "high", "highest"] if dtype == "f32" else ["default"]:
            if dtype == "i32":
                want, check = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32), "bits"
                assert (want == np.asarray(jnp.dot(a, b))).all()
                tensor(f"dot.{dtype}.{label}.{precision}", want)
            else:
                x, y = wide(a), wide(b)
                products = [(p.astype(np.float64), q.astype(np.float64)) for p, q in passes(x, y, precision)]
                want = products[0][0] @ products[0][1]
                rest = sum((p @ q for p, q in products[1:]), np.zeros_like(want))
                want = want + np.where(np.isfinite(rest), rest, 0)
                bound = sum(2 * a.shape[1] * 2.0**-24 * (np.abs(p) @ np.abs(q)) for p, q in products)
                if precision == "highest" or dtype == "bf16":
                    theirs = np.asarray(lax.dot(a, b, precision=lax.Precision.HIGHEST, preferred_element_type=np.float32))
                    finite = np.isfinite(want) & (np.abs(want) < 3e38)
                    assert (np.abs(theirs - want)[finite] <= bound[finite]).all()
                check = tensor(f"dot.{dtype}.{label}.{precision}.bound", bound)
                # A sum beyond f32 is infinite in f32.
                want = np.where(np.abs(want) > np.finfo(np.float32).max, np.sign(want) * np.inf, want)
                tensor(f"dot.{dtype}.{label}.{precision}", want)
            for left, right in itertools.product([False, True], repeat=2):
                names = [
                    tensor(f"dot.{dtype}.{label}.a{int(left)}", a.T if left else a),
                    tensor(f"dot.{dtype}.{label}.b{int(right)}", b.T if right else b),
                ]
                # Every precision is the same for bf16 and i32: all three are tried.
                for p in [precision] if dtype == "f32" else ["default", "high", "highest"]:
                    case("dot", names, f"dot.{dtype}.{label}.{precision}", check, lhs_transposed=left, rhs_transposed=right, precision=p)


unary()
binary()
compare()
select()
cast()
shapes()
reductions()
dots()
save()
size = sum((HERE / f).stat().st_size for f in ("cases.json", "tensors.safetensors"))
print(f"{len(cases)} cases, {len(tensors)} tensors, {size} bytes")
