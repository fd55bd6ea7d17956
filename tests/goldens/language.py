"""Writes language.safetensors: inputs, and what NumPy and JAX make of them, for what the language composes from several
operations. Needs numpy, scipy, safetensors and jax (CPU); running the tests needs no Python.

    python tests/goldens/language.py

Random numbers come from jax.random with jax_threefry_partitionable. Activations and reductions come from float64.
"""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import save_file
from scipy import special

jax.config.update("jax_threefry_partitionable", True)
np.seterr(all="ignore")
HERE = pathlib.Path(__file__).parent
out = {}


def put(name, value):
    value = np.ascontiguousarray(np.asarray(value))
    assert value.dtype in (np.float32, np.float64, np.int32, np.bool_), (name, value.dtype)
    out[name] = value


def words(x):
    return np.asarray(x).view(np.uint32).astype(np.uint32).view(np.int32)


# Random numbers: of a seed, of a folded key, of the second key of a split.
SHAPE = (3, 4, 50)
for seed in (0, 42, -7):
    key = jax.random.key(seed)
    keys = {"plain": key, "folded": jax.random.fold_in(key, 5), "split": jax.random.split(key, 3)[1]}
    for name, key in keys.items():
        put(f"random.{seed}.{name}.bits", words(jax.random.bits(key, SHAPE)))
        put(f"random.{seed}.{name}.uniform", jax.random.uniform(key, SHAPE))
        # The inverse of the error function from float64; that of JAX is some ulp off where it is steep.
        u = jax.random.uniform(key, SHAPE, minval=np.nextafter(np.float32(-1), np.float32(0)), maxval=np.float32(1))
        normal = np.sqrt(2) * special.erfinv(np.asarray(u, np.float64))
        assert np.allclose(normal, jax.random.normal(key, SHAPE), rtol=4e-6, atol=1e-7)
        put(f"random.{seed}.{name}.normal", normal)
        put(f"random.{seed}.{name}.bernoulli", jax.random.bernoulli(key, 0.3, SHAPE))

# Activations, over magnitudes from tiny to the largest, and what is special.
magnitudes = np.concatenate([np.logspace(-40, 38, 400), np.linspace(0.01, 12, 300), np.linspace(12, 130, 100)])
x = np.concatenate([magnitudes, -magnitudes, [0.0, -0.0, np.inf, -np.inf, np.nan, 3.4e38, -3.4e38, 1e-45, -1e-45]])
x = np.concatenate([x, np.ones(-len(x) % 128)]).astype(np.float32)
put("activation.x", x.reshape(-1, 128))
x = x.astype(np.float64)
finite = np.maximum(x, -1e300)
sigmoid = special.expit(x)
softplus = np.logaddexp(x, 0)
u = np.maximum((x + 0.044715 * x**3) * np.sqrt(2 / np.pi), -1e300)
activations = {
    "relu": np.maximum(x, 0),
    "relu6": np.clip(x, 0, 6),
    "leaky_relu": np.where(x >= 0, x, x * np.float32(0.1)),
    "elu": np.where(x > 0, x, np.expm1(np.minimum(x, 0)) * 0.5),
    "selu": np.where(x > 0, x, np.expm1(np.minimum(x, 0)) * 1.6732632423543772) * 1.0507009873554805,
    "sigmoid": sigmoid,
    "log_sigmoid": -np.logaddexp(-x, 0),
    "silu": finite * sigmoid,
    "gelu": finite * 0.5 * special.erfc(-x / np.sqrt(2)),
    "gelu_tanh": finite * special.expit(2 * u),
    "hard_sigmoid": np.clip(x + 3, 0, 6) / 6,
    "hard_swish": finite * np.clip(x + 3, 0, 6) / 6,
    "softplus": softplus,
    "mish": finite * np.tanh(softplus),
}
for name, want in activations.items():
    put(f"activation.{name}", want.reshape(-1, 128))

# Reductions over one, two and all axes of (3, 4, 5), with ties.
rng = np.random.default_rng(1)
x = rng.integers(-6, 7, (3, 4, 5)).astype(np.float32)
put("reduce.x", x)
for name, axes in {"1": (1,), "02": (0, 2), "12": (1, 2), "all": (0, 1, 2)}.items():
    x64 = x.astype(np.float64)
    put(f"reduce.{name}.sum", x.sum(axes, keepdims=True))
    put(f"reduce.{name}.max", x.max(axes, keepdims=True))
    order = [d for d in range(3) if d not in axes] + list(axes)
    flat = x.transpose(order).reshape([x.shape[d] for d in order[: 3 - len(axes)]] + [-1])
    shape = [1 if d in axes else x.shape[d] for d in range(3)]
    put(f"reduce.{name}.argmax", flat.argmax(-1).reshape(shape).astype(np.int32))
    put(f"reduce.{name}.argmin", flat.argmin(-1).reshape(shape).astype(np.int32))
    put(f"reduce.{name}.mean", x64.mean(axes, keepdims=True))
    put(f"reduce.{name}.variance", x64.var(axes, keepdims=True))
    put(f"reduce.{name}.logsumexp", special.logsumexp(x64, axes, keepdims=True))
    put(f"reduce.{name}.softmax", special.softmax(x64, axes))
    put(f"reduce.{name}.log_softmax", special.log_softmax(x64, axes))

# Shapes, of the indices of (4, 6).
x = np.arange(24, dtype=np.int32).reshape(4, 6)
put("shape.x", x)
put("shape.pad", np.pad(x, ((1, 2), (0, 3)), constant_values=-5))
put("shape.slice", x[1:4:2, 0:5:2])
put("shape.tile_rows", np.tile(x, (3, 1)))
put("shape.tile_lanes", np.tile(x, (1, 2)))
put("shape.repeat_rows", np.repeat(x, 3, 0))
put("shape.repeat_lanes", np.repeat(x, 2, 1))
put("shape.concat", np.concatenate([x[:, :2], x[:, 4:], x[:, 2:4]], 1))
put("shape.roll", np.roll(x, -9, 1))
put("shape.roll_strided", np.stack([np.roll(row, 2 - r) for r, row in enumerate(x)]))
put("shape.fold", x.reshape(2, 2, 6).transpose(1, 0, 2).reshape(4, 6))

# Order and picking, of floats with ties and NaN.
x = rng.integers(-3, 4, (4, 16)).astype(np.float32)
x[1, 3] = np.nan
put("order.x", x)
# Stable also in descending order, where NaN comes first.
down = np.array([sorted(range(16), key=lambda i: (0 if np.isnan(r[i]) else 1, -r[i] if not np.isnan(r[i]) else 0, i)) for r in x])
put("order.sorted", np.sort(x, 1))
put("order.argsort", np.argsort(x, 1, stable=True).astype(np.int32))
put("order.argsort_descending", down.astype(np.int32))
put("order.cumsum", np.cumsum(x, 1, dtype=np.float32))
put("order.cummax_reverse", np.maximum.accumulate(x[:, ::-1], 1)[:, ::-1])
indices = rng.integers(-16, 16, (4, 8)).astype(np.int32)
put("order.indices", indices)
put("order.taken", np.take_along_axis(x, indices.astype(np.int64), 1))

# Products of integers: exact.
a = rng.integers(-8, 8, (2, 3, 4)).astype(np.int32)
b = rng.integers(-8, 8, (2, 4, 5)).astype(np.int32)
put("product.a", a)
put("product.b", b)
put("product.batch", np.einsum("pmk,pkn->pmn", a, b))
put("product.over_m", np.einsum("mk,mn->kn", a[0], b[0][:3]))
put("product.vector", np.einsum("mk,k->m", a[0], b[0][:, 0]))
put("product.batch_rows", np.einsum("pk,pkn->pn", a[:, 0], b))
put("product.batch_turned", np.einsum("pkm,pkn->pmn", b, b))

save_file(out, HERE / "language.safetensors")
print(sum(v.nbytes for v in out.values()), "bytes in", len(out), "tensors")
