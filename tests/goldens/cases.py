"""Writes cases.safetensors: NumPy's and XLA's answers for tests/cases. Needs numpy, safetensors, ml_dtypes and jax (CPU).

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

save_file(out, HERE / "cases.safetensors")
print(sum(v.nbytes for v in out.values()), "bytes")
