"""Operations that move, order, reduce and combine elements, and random bits, which are those of JAX."""

import functools
import math

import jax
import numpy as np
from elementwise import A, RANGE, conv, f32, inf, nan, wrap
from kernel import FLOATS, K, NP, ROOT

INTS = [d for d in NP if d not in FLOATS and d != "bool"]
rng = np.random.default_rng(1)

# slice, concat, extract
x = np.arange(2 * 5 * 6).reshape(2, 5, 6)
k = K("slice", "Slices with constant starts and strides of rank 3, of one element, and of everything.")
k.inp("x", "i16", (2, 5, 6))
o = {}
for nm, st, sh, sd in [
    ("a", (0, 1, 2), (2, 3, 4), (1, 1, 1)),
    ("b", (1, 0, 1), (1, 3, 2), (1, 2, 4)),
    ("c", (0, 0, 0), (2, 5, 6), (1, 1, 1)),
    ("d", (1, 4, 5), (1, 1, 1), (7, 9, 3)),
    ("e", (0, 4, 0), (2, 1, 3), (1, 1, 2)),
]:
    sl = tuple(slice(s, s + (n - 1) * t + 1, t) for s, n, t in zip(st, sh, sd))
    r = x[sl]
    assert r.shape == sh
    k.out(nm, "i16", sh, f"slice %xt starts {list(st)}" + (f" strides {list(sd)}" if set(sd) != {1} else ""))
    o[nm] = r
k.write([({"x": x}, o)])
k = K("concat", "Tiles one after the other, of different sizes, along each dimension; one alone; of bools.")
k.inp("x", "f32", (2, 3))
k.inp("y", "f32", (2, 1))
k.inp("w", "f32", (1, 3))
k.inp("b", "bool", (2, 3))
x = A([[1, nan, -0.0], [4, 5, 6]])
y = A([[7], [8]])
w = A([[-1, -2, -3]])
b = np.array([[True, False, True], [False, False, True]])
k.out("xy", "f32", (2, 4), "concat %xt, %yt axis 1")
k.out("yxy", "f32", (2, 5), "concat %yt, %xt, %yt axis 1")
k.out("wx", "f32", (3, 3), "concat %wt, %xt axis 0")
k.out("one", "f32", (2, 3), "concat %xt axis 0")
k.out("bb", "bool", (4, 3), "concat %bt, %bt axis 0")
k.write(
    [
        (
            {"x": x, "y": y, "w": w, "b": b},
            {
                "xy": np.concatenate([x, y], 1),
                "yxy": np.concatenate([y, x, y], 1),
                "wx": np.concatenate([w, x], 0),
                "one": x,
                "bb": np.concatenate([b, b], 0),
            },
        )
    ]
)
k = K("extract", "One element as a scalar.")
k.inp("x", "f8e5m2", (2, 3))
k.inp("b", "bool", (2,))
k.out("o", "f8e5m2", (1,), None)
k.out("p", "bool", (1,), None)
k.write(
    [({"x": [[1, 2, nan], [-0.0, inf, 0.5]], "b": [True, False]}, {"o": A([0.5]), "p": np.array([False])})],
    pre="    %e = extract %xt [1, 2] : f8e5m2\n    %or = broadcast %e : tile<1xf8e5m2>\n    %c = extract %bt [1] : bool\n    %pr = broadcast %c : tile<1xbool>\n",
)

# rotate
x = np.arange(15).reshape(3, 5)
k = K("rotate", "As np.roll, by any amount; with a stride, each row rotates further than the one before.")
k.inp("x", "u8", (3, 5))
k.scalar("n", "i32")
k.out("a", "u8", (3, 5), "rotate %xt, %n axis 1")
k.out("b", "u8", (3, 5), "rotate %xt, %n axis 0")
k.out("c", "u8", (3, 5), "rotate %xt, %n axis 1 stride 2 along 0")
k.out("d", "u8", (3, 5), "rotate %xt, %n axis 0 stride -1 along 1")
k.out("e", "u8", (3, 5), "rotate %xt, %two axis 1")
k.out("f", "u8", (3, 5), "rotate %xt, %two axis 1 stride 2147483647 along 0")


def rot(x, n, ax, s=0, al=None):
    if al is None:
        return np.roll(x, n % x.shape[ax], ax)
    return np.stack([np.roll(np.take(x, r, al), (n + r * s) % x.shape[ax], 0) for r in range(x.shape[al])], al)


k.write(
    [
        (
            {"x": x, "n": n},
            {
                "a": rot(x, n, 1),
                "b": rot(x, n, 0),
                "c": rot(x, n, 1, 2, 0),
                "d": rot(x, n, 0, -1, 1),
                "e": rot(x, 2, 1),
                "f": rot(x, 2, 1, 2147483647, 0),
            },
        )
        for n in [0, 1, -1, 7, -(1 << 31), (1 << 31) - 1]
    ],
    pre="    %two = const 2 : i32\n",
)

# gather
k = K(
    "gather",
    "Elements by index along an axis; negative indices count from the end; the first one outside, in row-major order, is an error.",
)
k.inp("x", "bf16", (3, 4))
k.inp("i", "i32", (3, 2))
k.inp("j", "i32", (5, 4))
k.out("a", "bf16", (3, 2), "gather %xt, %it axis 1")
k.out("b", "bf16", (5, 4), "gather %xt, %jt axis 0")
x = A(np.arange(12).reshape(3, 4) / 2.0)
i = np.array([[0, -1], [3, -4], [2, 2]])
j = np.array([[0, 1, 2, -1], [-3, -2, -1, 0], [1, 1, 1, 1], [2, 0, 2, 0], [0, 0, 0, 0]])
g = lambda x, i, a: np.take_along_axis(x, np.where(i < 0, i + x.shape[a], i), a)
bad = i.copy()
bad[1, 1] = 4
bad[2, 0] = -5
badj = j.copy()
badj[4, 3] = -4
ok = ({"x": x, "i": i, "j": j}, {"a": g(x, i, 1), "b": g(x, j, 0)})
k.write([ok])
p = ROOT + "gather.tpuir"
lines = open(p).read().split("\n")
L = [n + 1 + 2 for n, l in enumerate(lines) if " gather " in l]
r1 = (
    {"x": x, "i": bad, "j": j},
    f"error R007 at {L[0]}:5: gather index 4 along axis 1 is outside [-4, 4), at grid step []",
)
r2 = (
    {"x": x, "i": i, "j": badj},
    f"error R007 at {L[1]}:5: gather index -4 along axis 0 is outside [-3, 3), at grid step []",
)
k.write([ok, r1, r2])


# scan
def scan(op, x, ax, rev, dt):
    x = np.asarray(x, dtype=object if dt in INTS else f32)
    m = np.moveaxis(x, ax, -1).copy()
    r = m.copy()
    for ix in np.ndindex(m.shape[:-1]):
        row = list(m[ix])
        row = row[::-1] if rev else row
        acc = None
        out = []
        for v in row:
            if acc is None:
                acc = v
            elif dt in INTS:
                acc = wrap({"sum": acc + v, "prod": acc * v, "max": max(acc, v), "min": min(acc, v)}[op], dt)
            elif op in ("sum", "prod"):
                acc = f32(acc + v) if op == "sum" else f32(acc * v)
            elif np.isnan(acc) or np.isnan(v):
                acc = f32(nan)
            elif acc == v == 0:
                acc = f32(
                    0.0
                    if (np.signbit(acc) + np.signbit(v) < 2 if op == "max" else not (np.signbit(acc) or np.signbit(v)))
                    else -0.0
                )
            else:
                acc = max(acc, v) if op == "max" else min(acc, v)
            out.append(acc)
        r[ix] = out[::-1] if rev else out
    r = np.moveaxis(r, -1, ax)
    return conv(r, dt) if dt in FLOATS else r


for dt, x in {
    "f32": [[1e8, 1.0, -1e8, nan, 2.0], [-0.0, 0.0, -0.0, 3.5, inf], [1e30, 1e30, -1e30, 0.5, -inf]],
    "bf16": [[256, 1, 1, 1, -256], [-0.0, 0.0, -0.0, 3.5, nan], [1.0078125, 1.0078125, 1.0078125, 3, 0.1]],
    "i8": [[100, 100, 100, -7, 1], [-128, -1, 5, 3, 127], [2, 3, 5, 7, 11]],
    **{
        d: [[1, 2, 3, 0, 1], [7, 7, 7, 1, 0], [RANGE[d][1], RANGE[d][1], 1, RANGE[d][0], RANGE[d][0]]]
        for d in INTS
        if d not in ("i8", "u16")
    },
    **{d: [[1, 1.5, 0.5, -2, 4], [-0.0, 0.0, -0.0, 3, -6], [6, 6, -6, 0.5, 1]] for d in FLOATS[2:]},
    "u16": [[65535, 1, 2, 3, 4], [300, 300, 7, 0, 9], [1, 2, 3, 65535, 65535]],
}.items():
    x = (
        np.array([[max(RANGE[dt][0], min(RANGE[dt][1], v)) for v in r] for r in x], dtype=object)
        if dt in INTS
        else A(x, dt)
    )
    k = K(
        f"scan_{dt}",
        "Running sums, products, largest and smallest, forward along the last axis and from the end, and along the first.",
    )
    k.inp("x", dt, (3, 5))
    o = {}
    for op in ["sum", "prod", "max", "min"]:
        for nm, ax, rv in [("f", 1, False), ("r", 1, True), ("d", 0, False), ("u", 0, True)]:
            k.out(op + nm, dt, (3, 5), f"scan {op} %xt axis {ax}" + (" reverse" if rv else ""))
            o[op + nm] = scan(op, x.astype(f32) if dt in FLOATS else x, ax, rv, dt)
    k.write([({"x": x}, o)])


# sort
def srt(keys, pays, ax, desc, dt):
    ks = np.moveaxis(np.asarray(keys, dtype=float if dt in FLOATS else object), ax, -1)
    ix = np.empty(ks.shape, int)
    for q in np.ndindex(ks.shape[:-1]):
        key = lambda i: (1, 0) if isinstance(ks[q][i], float) and math.isnan(ks[q][i]) else (0, ks[q][i] + 0)
        ix[q] = (
            sorted(range(ks.shape[-1]), key=key)
            if not desc
            else sorted(range(ks.shape[-1]), key=lambda i: (-key(i)[0], -key(i)[1]))
        )
    ix = np.moveaxis(ix, -1, ax)
    return [np.take_along_axis(np.asarray(p), ix, ax) for p in [keys] + pays]


for dt, x in {
    "f32": [[2.0, nan, -0.0, 0.0, -inf, nan], [0.0, -0.0, 1e-45, -1e-45, inf, 0.0], [1, 3, 2, 1, 3, 2]],
    "u32": [[4294967295, 0, 2147483648, 1, 0, 4294967295], [3, 2, 1, 0, 1, 2], [7, 7, 7, 7, 7, 7]],
    "i4": [[7, -8, 0, -1, 7, -8], [1, 2, 1, 2, 1, 2], [3, 2, 1, 0, -1, -2]],
    **{
        d: [[RANGE[d][1], RANGE[d][0], 0, 1, RANGE[d][1], 0], [1, 0, 1, 0, 1, 0], [RANGE[d][0]] * 6]
        for d in INTS
        if d not in ("u32", "i4")
    },
    **{d: [[2.0, -4.0, -0.0, 0.0, 6, 0.5], [0.0, -0.0, 0.5, -0.5, 6.0, 0.0], [1, 3, 2, 1, 3, 2]] for d in FLOATS[1:]},
}.items():
    if dt in FLOATS and dt not in ("f32", "f4e2m1fn"):
        x[0][4] = x[0][1] = nan
    x = A(x, dt) if dt in FLOATS else np.array(x, dtype=object)
    p = np.arange(18).reshape(3, 6)
    q = p % 2 == 0
    k = K(f"sort_{dt}", "Sorted stably by the keys, with payloads: NaN last, or first when descending; -0 equals +0.")
    k.inp("x", dt, (3, 6))
    k.inp("p", "i8", (3, 6))
    k.inp("q", "bool", (3, 6))
    o = {}
    pre = ""
    for nm, ax, de in [("a", 1, False), ("b", 1, True), ("c", 0, False), ("d", 0, True)]:
        pre += f"    %{nm}kr, %{nm}pr, %{nm}qr = sort %xt, %pt, %qt axis {ax}{' descending' if de else ''} : tile<3x6x{dt}>, tile<3x6xi8>, tile<3x6xbool>\n"
        r = srt(x, [p, q], ax, de, dt)
        for s, d, v in zip("kpq", [dt, "i8", "bool"], r):
            k.out(nm + s, d, (3, 6), None)
            o[nm + s] = v
    k.out("only", dt, (3, 6), "sort %xt axis 1")
    o["only"] = srt(x, [], 1, False, dt)[0]
    k.write([({"x": x, "p": p, "q": q}, o)], pre=pre)


# reductions
def partial(op, row):
    p = []
    for i, v in enumerate(row):
        if i < 16:
            p.append(v)
        else:
            p[i % 16] = op(p[i % 16], v)
    for h in [8, 4, 2, 1]:
        for j in range(h, min(len(p), 2 * h)):
            p[j - h] = op(p[j - h], p[j])
        p = p[:h]
    return p[0]


def red(op, x, ax, dt):
    m = np.moveaxis(x, ax, -1)
    res = np.empty(m.shape[:-1], dtype=object)
    for q in np.ndindex(res.shape):
        row = list(m[q])
        if op in ("sum", "prod"):
            f = (lambda a, b: a + b) if op == "sum" else (lambda a, b: a * b)
            if dt in INTS:
                v = wrap(functools.reduce(f, map(int, row)), dt)
            else:
                g = lambda a, b: f32(f(f32(a), f32(b)))
                v = partial(g, row) if ax == x.ndim - 1 else functools.reduce(g, row)
        elif op in ("argmax", "argmin"):
            b = 0
            for i in range(1, len(row)):
                if row[b] != row[b]:
                    break
                if row[i] != row[i] or (row[i] > row[b] if op == "argmax" else row[i] < row[b]):
                    b = i
            v = b
        elif op == "any":
            v = any(row)
        elif op == "all":
            v = all(row)
        elif op in ("max", "min"):
            # NaN wins, -0 is below +0.
            v = (
                f32(nan)
                if any(r != r for r in row)
                else (max if op == "max" else min)(row, key=lambda r: (r, not np.signbit(r)) if dt in FLOATS else r)
            )
        res[q] = v
    res = np.expand_dims(res, ax)
    if op in ("sum", "prod") and dt in FLOATS:
        return conv(res.astype(f32), dt)
    return res


for dt in [d for d in NP if d != "bool"]:
    n = 35
    k = K(
        f"reduce_more_{dt}",
        "Products, and the indices of extremes, which are the first; narrow floats accumulate in f32.",
    )
    if dt in FLOATS:
        x = A(rng.choice([0.5, 1.0, 1.5, -1.0, 0.75, 1.25, -2.0, 3.0], (2, n)), dt)
        y = np.where(rng.random((2, n)) < 0.1, nan, rng.choice([-0.0, 0.0, -1.0], (2, n)))
        y[0, :3] = -1.0
        y[1] = -inf if dt != "f8e4m3fn" else -1.0
        y = A(y, dt) if dt != "f4e2m1fn" else np.nan_to_num(y, nan=1.0, neginf=-6.0).astype(f32).astype(NP[dt])
    else:
        lo, hi = RANGE[dt]
        x = np.array(
            [[int(v) for v in rng.choice([lo, hi, 1, 3, 5, hi // 2, 7 % (hi + 1)], n)] for _ in range(2)], dtype=object
        )
        y = np.array([[int(v) for v in rng.choice([lo, hi, 1], n)] for _ in range(2)], dtype=object)
    k.inp("x", dt, (2, n))
    k.inp("y", dt, (2, n))
    o = {}
    ops = ["sum", "prod", "max", "min"]
    X = x.astype(f32) if dt in FLOATS else x
    Y = y.astype(f32) if dt in FLOATS else y
    for op in ops:
        for ax in (0, 1):
            w, W = ("x", X) if op in ("sum", "prod") else ("y", Y)
            sh = (1, n) if ax == 0 else (2, 1)
            k.out(f"{op}{ax}", dt, sh, f"reduce {op} %{w}t axis {ax}")
            o[f"{op}{ax}"] = red(op, W, ax, dt)
    for op in ["argmax", "argmin"]:
        for ax in (0, 1):
            sh = (1, n) if ax == 0 else (2, 1)
            k.out(f"{op}{ax}", "i32", sh, f"reduce {op} %yt axis {ax}")
            o[f"{op}{ax}"] = red(op, Y, ax, dt)
    k.write([({"x": x, "y": y}, o)])
k = K("reduce_bool", "Whether one is, whether each is.")
k.inp("x", "bool", (3, 2))
x = np.array([[True, True], [False, True], [False, False]])
o = {}
for op in ["any", "all"]:
    for ax in (0, 1):
        k.out(f"{op}{ax}", "bool", (1, 2) if ax == 0 else (3, 1), f"reduce {op} %xt axis {ax}")
        o[f"{op}{ax}"] = red(op, x, ax, "bool")
k.write([({"x": x}, o)])

# dot
k = K("dot_batch", "Products with batch dimensions, any contracted one, and with nothing left of an operand.")
a = np.array(rng.integers(-4, 5, (2, 3, 4)), dtype=f32)
b = np.array(rng.integers(-4, 5, (4, 2, 5)), dtype=f32)
v = np.array([1, 2, 3, 4], dtype=f32)
c = np.array(rng.integers(-4, 5, (2, 3, 2, 4)), dtype=f32)
d = np.array(rng.integers(-4, 5, (3, 2, 4, 2)), dtype=f32)
k.inp("a", "f32", a.shape)
k.inp("b", "f32", b.shape)
k.inp("v", "f32", (4,))
k.inp("c", "f32", c.shape)
k.inp("d", "f32", d.shape)
o = {}


def D(nm, e, sub, x, y):
    r = np.einsum(sub, x.astype(np.float64), y.astype(np.float64))
    k.out(nm, "f32", r.shape, e)
    o[nm] = r


D("bmm", "dot %at, %bt contract [2, 0] batch [[0, 1]] precision highest", "bmk,kbn->bmn", a, b)
D("mid", "dot %at, %ct contract [1, 1] batch [[0, 0], [2, 3]]", "bkn,bkmn->bnm", a, c)
D("two", "dot %ct, %dt contract [2, 3] batch [[0, 1], [1, 0]] precision high", "abkm,bank->abmn", c, d)
D("mv", "dot %v2t, %vt contract [1, 0]", "mk,k->m", a[0], v)
D("vm", "dot %vt, %v2t contract [0, 1]", "k,mk->m", v, a[0])
D("bv", "dot %at, %v3t contract [2, 1] batch [[0, 0]]", "bmk,bk->bm", a, np.stack([v, v]))
D("bd", "dot %v3t, %v3t contract [1, 1] batch [[0, 0]]", "bk,bk->b", np.stack([v, v]), np.stack([v, v]))
k.write(
    [({"a": a, "b": b, "v": v, "c": c, "d": d}, o)],
    pre="    %v1t = slice %at starts [0, 0, 0] : tile<1x3x4xf32>\n    %v2t = reshape %v1t : tile<3x4xf32>\n    %r1 = reshape %vt : tile<1x4xf32>\n    %v3t = concat %r1, %r1 axis 0 : tile<2x4xf32>\n",
)
k = K(
    "dot_mixed",
    "Elements of every pair that has a product: floats, floats and narrow integers in f32; narrow integers and i32 in wrapping i32.",
)
PAIRS = [
    ("bf16", "f16"),
    ("f8e4m3fn", "f8e5m2"),
    ("f4e2m1fn", "f8e4m3b11fnuz"),
    ("f32", "bf16"),
    ("bf16", "i8"),
    ("i4", "f16"),
    ("u8", "f32"),
    ("i8", "i8"),
    ("u8", "i8"),
    ("i16", "u16"),
    ("i4", "i2"),
    ("u4", "i16"),
    ("i32", "i32"),
    ("f8e4m3fn", "f8e4m3fn"),
    ("f4e2m1fn", "f4e2m1fn"),
    ("f16", "f16"),
    ("i4", "i4"),
    ("u8", "u8"),
    ("u4", "u4"),
    ("u16", "u16"),
    ("i2", "i2"),
]
o = {}
ins = {}
used = sorted({d for p in PAIRS for d in p})
for d in used:
    if d in FLOATS:
        x = A([[1.5, -2.0, 0.5], [3.0, -0.5, 6.0]], d)
    else:
        lo, hi = RANGE[d]
        x = np.array([[hi, lo, 1], [hi, hi, lo]], dtype=object)
    ins[d + "_"] = x
    k.inp(d + "_", d, (2, 3))
for p, q in PAIRS:
    x, y = ins[p + "_"], ins[q + "_"]
    nm = f"{p}_{q}"
    if p in FLOATS or q in FLOATS:
        r = np.einsum(
            "mk,nk->mn",
            np.asarray(x, dtype=np.float64) if p not in FLOATS else x.astype(np.float64),
            np.asarray(y, dtype=np.float64) if q not in FLOATS else y.astype(np.float64),
        )
        rd = "f32"
    else:
        r = np.array(
            [[wrap(sum(int(x[i][l]) * int(y[j][l]) for l in range(3)), "i32") for j in range(2)] for i in range(2)],
            dtype=object,
        )
        rd = "i32"
    k.out(nm, rd, (2, 2), f"dot %{p}_t, %{q}_t rhs_transposed")
    o[nm] = r
k.write([(ins, o)])

# prng
k = K(
    "prng",
    "The draws of a seed are those of jax.random.bits with that key; one seed is the low word of the key. The counter goes on; a new seed starts again.",
)
k.scalar("s", "u32")
k.scalar("t", "u32")
pre = """    prng_seed %s
    %ar = prng_bits : tile<2x3xu32>
    %br = prng_bits to [4] : tile<4xu32>
    prng_seed %s, %t
    %cr = prng_bits : tile<3xu32>
    prng_seed %s
    %dr = prng_bits : tile<2x3xu32>
"""
for n, s in [("a", (2, 3)), ("b", (4,)), ("c", (3,)), ("d", (2, 3))]:
    k.out(n, "u32", s, None)
runs = []
for s, t in [(7, 0), (0, 123456789), (4294967295, 4294967295)]:
    b1 = np.asarray(jax.random.bits(jax.random.wrap_key_data(np.array([0, s], np.uint32)), (10,), "uint32"))
    b2 = np.asarray(jax.random.bits(jax.random.wrap_key_data(np.array([s, t], np.uint32)), (3,), "uint32"))
    runs.append(
        (
            {"s": np.uint32(s), "t": np.uint32(t)},
            {"a": b1[:6].reshape(2, 3), "b": b1[6:], "c": b2, "d": b1[:6].reshape(2, 3)},
        )
    )
pre = pre.replace("to [4] :", ":")
k.write(runs, pre=pre)
