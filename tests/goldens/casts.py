"""Writes casts.safetensors: for every pair of element types, what the cast of each bit pattern of the source gives. Needs
numpy, ml_dtypes and jax (CPU); running the tests needs no Python.

    python tests/goldens/casts.py

Of a source of at most 16 bits, every pattern; of f32, i32 and u32 those that tell: each tie of each narrower format and
its neighbours (of bf16 and f16 in a sample of mantissas), the limits of each range, denormals, NaN payloads, extremes,
and random ones.

Oracles. JAX gives the results, and a model written here (NumPy, ml_dtypes) must share them; where they differ the model
decides, and only these differences are known, or this script stops:
- XLA on the CPU flushes denormals, so that f32 denormals are false as bool;
- XLA keeps the sign of a NaN that becomes f4e2m1fn, -0 or +0; here, where a NaN's sign is not promised, it is +0;
- XLA on the CPU saturates ±6 of f4e2m1fn, its largest number, as if it were beyond every integer; here it is 6.

Format. `from.T`: the patterns of a 32-bit source. `F.T` for a source F: of 32 bits, the results as they are; else runs
over the patterns from 0 on, three numbers each as LEB128: length, first result, and what each next one adds, modulo
2^32. NaN results are the quiet NaN without payload or sign (of f8e4m3b11fnuz its one NaN).
"""

import itertools
import json
import pathlib
import struct

import jax
import ml_dtypes
import numpy as np
from jax import lax

np.seterr(all="ignore")
HERE = pathlib.Path(__file__).parent
TYPES = {
    "f32": (np.float32, 32), "bf16": (ml_dtypes.bfloat16, 16), "f16": (np.float16, 16),
    "f8e4m3fn": (ml_dtypes.float8_e4m3fn, 8), "f8e5m2": (ml_dtypes.float8_e5m2, 8),
    "f8e4m3b11fnuz": (ml_dtypes.float8_e4m3b11fnuz, 8), "f4e2m1fn": (ml_dtypes.float4_e2m1fn, 4),
    "i32": (np.int32, 32), "i16": (np.int16, 16), "i8": (np.int8, 8), "i4": (ml_dtypes.int4, 4), "i2": (ml_dtypes.int2, 2),
    "u32": (np.uint32, 32), "u16": (np.uint16, 16), "u8": (np.uint8, 8), "u4": (ml_dtypes.uint4, 4), "bool": (np.bool_, 1),
}
FLOATS = [t for t in TYPES if t[0] in "fb" and t != "bool"]
NAN = {"f32": 0x7FC00000, "bf16": 0x7FC0, "f16": 0x7E00, "f8e4m3fn": 0x7F, "f8e5m2": 0x7E, "f8e4m3b11fnuz": 0x80}
WORD = {1: np.uint8, 2: np.uint16, 4: np.uint32}
rng = np.random.default_rng(20240229)


def limits(name):
    bits = TYPES[name][1]
    return (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def from_bits(name, patterns):
    dtype, bits = np.dtype(TYPES[name][0]), TYPES[name][1]
    if name == "bool":
        return patterns.astype(np.bool_)
    if name[0] == "i":  # signed integers narrower than a byte are sign-extended
        patterns = (patterns << np.uint32(32 - bits)).view(np.int32) >> np.int32(32 - bits)
    return patterns.astype(WORD[dtype.itemsize]).view(dtype)


def to_bits(name, values):
    bits = values.view(WORD[values.dtype.itemsize]).astype(np.uint32) & np.uint32(2 ** TYPES[name][1] - 1)
    if name in NAN:
        bits[np.isnan(values.astype(np.float32))] = NAN[name]
    return bits


def model(source, target, x):
    if source in FLOATS:
        wide = x.astype(np.float32)
        if target == "bool":
            return wide != 0
        if target in FLOATS:
            y = np.array(wide.astype(TYPES[target][0]))
            if target == "f4e2m1fn":
                y[np.isnan(wide)] = 0
            return y
        low, high = limits(target)
        whole = np.where(np.isnan(wide), 0, np.clip(np.trunc(wide.astype(np.float64)), low, high)).astype(np.int64)
    else:
        whole = x.astype(np.int64)
        if target == "bool":
            return whole != 0
        if target in FLOATS:
            return whole.astype(np.float32).astype(TYPES[target][0])
    return from_bits(target, (whole & 0xFFFFFFFF).astype(np.uint32))


def known(source, target, patterns, x):
    """Where JAX may differ from the model."""
    if source == "f32" and target == "bool":
        return (x != 0) & (np.abs(x) < np.float32(2.0**-126))
    if source in FLOATS and target == "f4e2m1fn":
        return np.isnan(x.astype(np.float32))
    if source == "f4e2m1fn" and target not in FLOATS:
        return np.abs(x.astype(np.float32)) == 6
    return np.zeros(len(x), bool)


def telling_f32():
    exact = [0x00000000, 0x00000001, 0x007FFFFF, 0x00400000, 0x00800000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000]
    exact += [0x7FC00001, 0x7FFFFFFF, 0x7FBFFFFF, 0x3EFFFFFF, 0x3F000000, 0x3F7FFFFF, 0x3F800000, 0x3FC00000, 0x40200000]
    values = []
    for name in FLOATS[1:]:
        bits = TYPES[name][1]
        patterns = np.arange(2 ** (bits - 1), dtype=np.uint32)
        if bits == 16:  # about 20 a binade, and the ends
            low, step = (7, 7) if name == "bf16" else (10, 51)
            keep = (patterns % step == 0) | (patterns % 2**low < 2) | (patterns % 2**low >= 2**low - 2)
            if name == "bf16":
                binade = patterns >> 7
                keep &= (binade < 3) | (binade > 252) | (np.abs(binade.astype(int) - 127) < 4) | (binade % 16 == 0)
            patterns = patterns[keep]
        here = from_bits(name, patterns).astype(np.float64)
        there = from_bits(name, patterns + np.uint32(1)).astype(np.float64)
        fine = np.isfinite(here)
        # Beyond the largest number the next one lies as far again.
        last = here[fine].max()
        beyond = last + (last - from_bits(name, patterns[fine][-1:] - np.uint32(1)).astype(np.float64)[0])
        there = np.where(np.isfinite(there) & (there > here), there, beyond)
        values += [here[fine], ((here + there) / 2)[fine]]
    for name in TYPES:
        if name not in FLOATS and name != "bool":
            values.append(np.abs(np.array(limits(name), np.float64)))
            values.append(np.abs(np.array(limits(name), np.float64)) + 0.5)
            values.append(np.abs(np.array(limits(name), np.float64)) + 1)
    near = np.unique(np.concatenate(values).astype(np.float32)).view(np.uint32)
    near = np.concatenate([near, near + np.uint32(1), np.maximum(near, np.uint32(1)) - np.uint32(1), np.array(exact, np.uint32)])
    near = np.unique(near)
    # Positive and negative in turns, both for what is exact.
    signs = (rng.integers(0, 2, len(near), dtype=np.uint32) << np.uint32(31)) | near
    both = np.array(exact, np.uint32)
    any_bits = rng.integers(0, 2**32, 500, dtype=np.uint64).astype(np.uint32)
    moderate = (rng.normal(size=500) * 100).astype(np.float32).view(np.uint32)
    return np.unique(np.concatenate([signs, both, both | np.uint32(1 << 31), any_bits, moderate]))


def telling_word():
    """Of i32 and u32, as bits: powers of two and ties of f32 and bf16 with their neighbours, small ones, random ones."""
    values = list(range(-300, 300)) + [2**31 - 1, -(2**31), 2**32 - 1]
    for exponent in range(1, 33):
        top = 2**exponent
        for low in {exponent - 8, exponent - 9, exponent - 11, exponent - 24, exponent - 25}:
            if low >= 0:
                for m in (0, 1, 2, 3, 85, 127):
                    base = top + (m << low)
                    # A tie of bf16 that f32 makes: a little more or less than half.
                    values += [base + d + (half if low else 0) for d in (-1, 0, 1, 129) for half in (0, 2 ** (low - 1) if low else 0)]
    values += [1900019749, -112984063, -580911111]
    values = np.array(values, np.int64)
    values = np.concatenate([values, -values[np.arange(len(values)) % 2 == 0]])
    any_bits = rng.integers(0, 2**32, 400, dtype=np.int64)
    return np.unique((np.concatenate([values, any_bits]) & 0xFFFFFFFF).astype(np.uint32))


def leb128(numbers):
    out = bytearray()
    for n in numbers:
        while n >= 128:
            out.append(n & 127 | 128)
            n >>= 7
        out.append(n)
    return bytes(out)


def runs(results):
    results = results.astype(np.uint32)
    steps = np.diff(results)  # modulo 2^32, as the results
    changes = np.append(np.flatnonzero(steps[1:] != steps[:-1]) + 1, len(steps))
    numbers, at, change = [], 0, 0
    while at < len(results):
        while change < len(changes) and changes[change] <= at:
            change += 1
        end = min(changes[change] + 1, len(results)) if change < len(changes) else at + 1
        numbers += [end - at, int(results[at]), int(steps[at]) if end - at > 1 else 0]
        at = end
    again = np.concatenate([first + np.arange(n, dtype=np.uint64) * step for n, first, step in zip(*[iter(numbers)] * 3)])
    assert (again.astype(np.uint32) == results).all()
    return np.frombuffer(leb128(map(int, numbers)), np.uint8)


def main():
    words = telling_word()
    telling = {"f32": telling_f32(), "i32": words, "u32": words}
    tensors = {f"from.{name}": patterns for name, patterns in telling.items()}
    for source, target in itertools.product(TYPES, TYPES):
        if source == target:
            continue
        patterns = telling[source] if source in telling else np.arange(2 ** TYPES[source][1], dtype=np.uint32)
        x = from_bits(source, patterns)
        theirs = np.asarray(jax.jit(lambda v: lax.convert_element_type(v, TYPES[target][0]))(x))
        ours = model(source, target, x)
        assert theirs.dtype == ours.dtype == np.dtype(TYPES[target][0]), (source, target)
        results = to_bits(target, ours)
        bad = (results != to_bits(target, theirs)) & ~known(source, target, patterns, x)
        assert not bad.any(), (source, target, x[bad][:4], ours[bad][:4], theirs[bad][:4])
        stored = results.astype(WORD[max(1, TYPES[target][1] // 8)]) if source in telling else runs(results)
        tensors[f"{source}.{target}"] = stored
    header, data = {}, b""
    for name, value in sorted(tensors.items(), key=lambda t: -t[1].itemsize):
        raw = value.tobytes()
        kind = {1: "U8", 2: "U16", 4: "U32"}[value.itemsize]
        header[name] = {"dtype": kind, "shape": value.shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    (HERE / "casts.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    print({name: len(p) for name, p in telling.items()}, len(tensors), "tensors,", len(text) + len(data), "bytes")


main()
