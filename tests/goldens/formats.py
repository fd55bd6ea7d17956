"""The element types: their bits, their values, and inputs that tell something, for every_type.py."""

import itertools

import ml_dtypes
import numpy as np

DTYPES = {
    "f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2, "f8e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz, "f4e2m1fn": ml_dtypes.float4_e2m1fn,
    "i32": np.int32, "i16": np.int16, "i8": np.int8, "i4": ml_dtypes.int4, "i2": ml_dtypes.int2,
    "u32": np.uint32, "u16": np.uint16, "u8": np.uint8, "u4": ml_dtypes.uint4, "bool": np.bool_,
}  # fmt: skip
DTYPES = {name: np.dtype(d) for name, d in DTYPES.items()}
NAMES = {d: name for name, d in DTYPES.items()}
ALL = list(DTYPES)
FLOATS, INTS = ALL[:7], ALL[7:16]
NUMBERS = FLOATS + INTS
SIGNED = [d for d in INTS if d[0] == "i"]
BITS = {"bf16": 16, "f16": 16, "f4e2m1fn": 4, "bool": 8} | {d: 8 for d in FLOATS[3:6]} | {d: int(d[1:]) for d in INTS} | {"f32": 32}
WORD = {32: np.uint32, 16: np.uint16, 8: np.uint8, 4: np.uint8, 2: np.uint8}
rng = np.random.default_rng(20240301)


# --- bits and values ------------------------------------------------------------------------------------------------


def dtype_of(x):
    return NAMES[x.dtype]


def to_bits(x):
    """The low bits of each element."""
    d = dtype_of(x)
    if d in ("i4", "i2"):
        return x.astype(np.int8).view(np.uint8) & np.uint8(2 ** BITS[d] - 1)
    if d == "u4":
        return x.astype(np.uint8)
    if d == "f4e2m1fn":
        return np.ascontiguousarray(x).view(np.uint8) & np.uint8(15)
    return np.ascontiguousarray(x).view(WORD[BITS[d]])


def from_bits(bits, d):
    bits = np.asarray(bits).astype(WORD[BITS[d]])
    if d in ("i4", "i2"):
        low = bits.astype(np.int16)
        return np.where(low >= 2 ** (BITS[d] - 1), low - 2 ** BITS[d], low).astype(np.int8).astype(DTYPES[d])
    if d == "u4":
        return bits.astype(DTYPES[d])
    return np.ascontiguousarray(bits).view(DTYPES[d])


def memory(x):
    d = dtype_of(x)
    return x.astype(np.int8).view(np.uint8) if d in ("i4", "i2") else to_bits(x)


def wide(x):
    """f32, int64 or bool."""
    return x.astype(np.float32) if dtype_of(x) in FLOATS else x if x.dtype == np.bool_ else x.astype(np.int64)


def rounded_to(x, d):
    """To the nearest, through f32; NaN as f4e2m1fn, which has none, is 0, as in XLA."""
    x = x.astype(np.float32)
    return np.where(np.isnan(x) & (d == "f4e2m1fn"), np.float32(0), x).astype(DTYPES[d])


def wrapped(x, d):
    return from_bits(x & (2 ** BITS[d] - 1), d)


# --- inputs ---------------------------------------------------------------------------------------------------------

F32_BITS = [
    0x7FC00000, 0x7F800000, 0xFF800000, 0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF,
    0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F800000, 0xBF800000, 0x3F000000, 0xC0200000, 0x3FC00000, 0x40000000,
]  # fmt: skip
MORE_F32 = [0x40490FDB, 0x3FC90FDB, 0xC0490FDB, 0x42B17218, 0x42B17219, 0xC2CFF1B5, 0x3F7FFFFF, 0xBF7FFFFF, 0x3F800001, 0x4B000001,
            0x4B7FFFFF, 0x43000000, 0xC3150000, 0xC3160000, 0x3EFFFFFF, 0x3F000001, 0x60AD78EC, 0x41200000, 0x38D1B717, 0x33800000]  # fmt: skip


def specials(d):
    if d in FLOATS and BITS[d] >= 16:
        f32 = np.array(F32_BITS, np.uint32).view(np.float32)
        if d == "f16":
            more = np.array([1, 0x8001, 0x3FF, 0x400, 0x7BFF, 0xFBFF], np.uint16)
            return np.unique(np.concatenate([f32.astype(np.float16).view(np.uint16), more])).view(np.float16)
        return f32 if d == "f32" else np.unique(np.array(F32_BITS, np.uint32) >> 16).astype(np.uint16).view(DTYPES[d])
    if d in INTS:
        low, high = (-(2 ** (BITS[d] - 1)), 2 ** (BITS[d] - 1) - 1) if d in SIGNED else (0, 2 ** BITS[d] - 1)
        values = sorted({min(max(v, low), high) for v in [0, 1, 2, 3, 7, -1, -3, -7, low, low + 1, high, high // 2, BITS[d], BITS[d] - 1]})
        return wrapped(np.array(values, np.int64), d)
    n = 2 ** BITS[d] if d != "bool" else 2
    if n == 256:  # zeros, denormals, ones, the largest, NaN or infinity, of both signs
        low = [0, 1, 8, 0x38, 0x41, 0x7B, 0x7C, 0x7E, 0x7F]
        return from_bits(low + [b | 128 for b in low], d)
    return from_bits(np.arange(n), d)


def randoms(d, n):
    if d in FLOATS:
        moderate = (rng.normal(size=n) * 4).astype(np.float32).astype(DTYPES[d])
        return np.concatenate([from_bits(rng.integers(0, 2 ** BITS[d], n // 2), d), moderate])
    if d == "bool":
        return rng.integers(0, 2, n).astype(np.bool_)
    return np.concatenate([from_bits(rng.integers(0, 2 ** BITS[d], n, dtype=np.int64), d), wrapped(rng.integers(0, 20, n // 2), d)])


def ones(d):
    if BITS[d] <= 8:
        return from_bits(np.arange(2 if d == "bool" else 2 ** BITS[d]), d)
    more = [np.array(MORE_F32, np.uint32).view(np.float32).astype(DTYPES[d])] if d in FLOATS else []
    return np.concatenate([specials(d), *more, randoms(d, 60)])


def pairs(d):
    some = specials(d)
    a, b = (np.array(x).astype(some.dtype) for x in zip(*itertools.product(some, some)))
    n = 16 if BITS[d] > 4 else 1
    return np.concatenate([a, randoms(d, n)]), np.concatenate([b, randoms(d, n)])


def values(d, shape):
    """Random, with ties, and with what is special."""
    n = int(np.prod(shape))
    some = np.concatenate([randoms(d, n), specials(d)])
    x = some[rng.integers(0, len(some), n)]
    few = some[rng.integers(0, len(some), 3)]
    return np.where(rng.random(n) < 0.4, few[rng.integers(0, 3, n)], x).reshape(shape).astype(DTYPES[d])
