"""Writes kernels with `; run:` lines: what they are given, and what NumPy, SciPy, ml_dtypes or JAX say comes out."""

import pathlib
from decimal import Decimal
import ml_dtypes
import numpy as np

ROOT = str(pathlib.Path(__file__).parent.parent / "run") + "/"
NP = {
    "f32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz,
    "f4e2m1fn": ml_dtypes.float4_e2m1fn,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "i4": ml_dtypes.int4,
    "i2": ml_dtypes.int2,
    "u32": np.uint32,
    "u16": np.uint16,
    "u8": np.uint8,
    "u4": ml_dtypes.uint4,
    "bool": np.bool_,
}
FLOATS = ["f32", "bf16", "f16", "f8e4m3fn", "f8e5m2", "f8e4m3b11fnuz", "f4e2m1fn"]


def tie(t, v):
    # Of two shortest texts that are equally near, Rust takes the larger.
    m, e = (t.split("e") + [""])[:2]
    if m[-1] == "9" or m.endswith(".0"):
        return t
    up = m[:-1] + str(int(m[-1]) + 1) + ("e" + e if e else "")
    ex = Decimal(float(v))
    if abs(Decimal(up) - ex) == abs(Decimal(t) - ex) and np.float32(up) == v:
        return up
    return t


def lit(x, dt):
    if dt == "bool":
        return "true" if bool(x) else "false"
    if dt in FLOATS:
        v = np.float32(x)
        if np.isnan(v):
            return "nan"
        if np.isinf(v):
            return "inf" if v > 0 else "-inf"
        a = abs(v)
        if a != 0 and (a < np.float32(1e-4) or a >= np.float32(1e16)):
            return tie(np.format_float_scientific(v, unique=True, trim="-", exp_digits=1).replace("e+", "e"), v)
        return tie(np.format_float_positional(v, unique=True, trim="0"), v)
    return str(int(x))


def text(a, dt):
    a = np.asarray(a)
    if a.ndim == 0:
        return lit(a[()], dt)
    return "[" + ", ".join(text(r, dt) for r in a) + "]"


class K:
    """A kernel without a grid: whole arrays in, one output an operation."""

    def __init__(s, name, doc):
        s.name = name
        s.doc = doc
        s.ins = []
        s.outs = []
        s.body = []
        s.scal = []

    def inp(s, n, dt, shape):
        s.ins.append((n, dt, shape))
        return n

    def scalar(s, n, dt):
        s.scal.append((n, dt))
        return n

    def out(s, n, dt, shape, expr):
        """An output, which is `expr` of the inputs (`%xt` of `x`); without one, of a value that `pre` defines."""
        s.outs.append((n, dt, shape))
        s.body.append((n, expr, dt, shape))

    def param(s, kind, n, dt, shape):
        d = "x".join(map(str, shape))
        a = ", ".join(map(str, shape))
        return f"  {kind} %{n}: vmem<{d}x{dt}> = [{a}] blocks [{a}] at () {{\n    %z{n} = const 0 : i32\n    yield {', '.join(['%z'+n]*len(shape))}\n  }}\n"

    def write(s, runs, pre="", head=""):
        """runs: list of (inputs dict, outputs dict or error str)"""
        t = "; test: run\n" + "".join(f"; {l}\n" for l in s.doc.split("\n"))
        for ins, outs in runs:
            g = " ".join(
                f"{n}={text(np.asarray(ins[n]).astype(NP[dt]) if not isinstance(ins[n],str) else 0,dt)}"
                for n, dt, *_ in s.ins + s.scal
            )
            if isinstance(outs, str):
                e = outs
            else:
                parts = []
                for n, dt, shape in s.outs:
                    a = np.asarray(outs[n])
                    assert tuple(a.shape) == tuple(shape), (n, a.shape, shape)
                    parts.append(f"{n}={text(a,dt)}")
                e = " ".join(parts) + outs.get("@log", "")
            t += f"; run: {g}{' ' if g else ''}-> {e}\n"
        t += "kernel @k() {\n" + head
        for n, dt, shape in s.ins:
            t += s.param("in", n, dt, shape)
        for n, dt, shape in s.outs:
            t += s.param("out", n, dt, shape)
        for n, dt in s.scal:
            t += f"  scalar %{n}: {dt}\n"
        t += "  body {\n    %z = const 0 : i32\n"
        for n, dt, shape in s.ins:
            t += f"    %{n}t = load %{n}[{', '.join(['%z']*len(shape))}] : tile<{'x'.join(map(str,shape))}x{dt}>\n"
        t += pre
        for n, expr, dt, shape in s.body:
            if expr is not None:
                t += f"    %{n}r = {expr} : tile<{'x'.join(map(str,shape))}x{dt}>\n"
            t += f"    store %{n}r, %{n}[{', '.join(['%z']*len(shape))}]\n"
        t += "  }\n}\n"
        open(ROOT + s.name + ".tpuir", "w").write(t)
