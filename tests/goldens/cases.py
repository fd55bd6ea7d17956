"""Writes cases.safetensors: NumPy's and XLA's answers for tests/cases. Needs numpy, scipy, safetensors, ml_dtypes and jax (CPU).

    python tests/goldens/cases.py

The input of the arg-reductions is made by a formula that the test has too. The quantised values of all bf16, in the order of
their bits, are stored as runs.
"""

import pathlib

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from safetensors.numpy import save_file
from scipy import special

jax.config.update("jax_threefry_partitionable", True)

HERE = pathlib.Path(__file__).parent
out = {}

at = np.arange(2 * 29 * 206)
x = ((at * 7919 + at // 13 * 31) % 61 - 30).astype(np.float32).reshape(2, 29, 206)
for axis in range(3):
    out[f"argmax.{axis}"] = np.argmax(x, axis).astype(np.uint8)
    out[f"argmin.{axis}"] = np.argmin(x, axis).astype(np.uint8)

every = np.arange(65536, dtype=np.uint16).view(ml_dtypes.bfloat16)
quantized = {
    "truncated": jax.jit(lambda x: x.astype(jnp.int8))(every),
    "rounded": jax.jit(lambda x: jnp.clip(jnp.round(x.astype(jnp.float32)), -128, 127).astype(jnp.int8))(every),
}
for name, y in quantized.items():
    y = np.asarray(y)
    ends = np.flatnonzero(np.append(y[1:] != y[:-1], True))
    out[f"quantized.{name}.ends"] = ends.astype(np.uint16)
    out[f"quantized.{name}.values"] = y[ends]

# Random numbers: a key of two words, folded with the step of a grid and then with a large number, the third of a split.
for name, words in {"zero": (0, 0), "small": (0, 42), "large": (0xDEADBEEF, 0xFFFFFFFF)}.items():
    key = jax.random.wrap_key_data(np.array(words, np.uint32))
    for step in range(3):
        folded = jax.random.fold_in(jax.random.fold_in(key, step), np.uint32(0xFFFFFFF0))
        third = jax.random.split(folded, 5)[2]
        at = f"random.{name}.{step}"
        out[f"{at}.words"] = np.asarray(jax.random.key_data(third))
        out[f"{at}.bits"] = np.asarray(jax.random.bits(third, (2, 3, 7)))
        out[f"{at}.one"] = np.asarray(jax.random.bits(third, (1,)))
        # XLA on the CPU contracts the product and the sum into one rounding; here they are two.
        low, span = np.float32(-2.5), np.float32(9.75)
        uniform = np.asarray(jax.random.uniform(third, (2, 3, 7))) * span + low
        assert np.abs(uniform - jax.random.uniform(third, (2, 3, 7), minval=-2.5, maxval=7.25)).max() <= 2.0**-21
        out[f"{at}.uniform"] = uniform
        u = jax.random.uniform(third, (2, 3, 7), minval=np.nextafter(np.float32(-1), np.float32(0)), maxval=np.float32(1))
        normal = np.sqrt(2) * special.erfinv(np.asarray(u, np.float64))
        assert np.allclose(normal, jax.random.normal(third, (2, 3, 7)), rtol=4e-6, atol=1e-7)
        out[f"{at}.normal"] = normal
        for p in (0.0, 0.25, 1.0):
            out[f"{at}.bernoulli.{p}"] = np.asarray(jax.random.bernoulli(third, p, (2, 3, 7)))

save_file(out, HERE / "cases.safetensors")
print(sum(v.nbytes for v in out.values()), "bytes")
