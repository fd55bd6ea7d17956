//! A kernel that does next to nothing, to see what a grid step costs.

use tpu_kernel::prelude::*;

/// `o = x + 1`, in blocks of `R` × `C`.
#[tpu_kernel(grid(i: rows / R, j: cols / C), semantics(parallel, parallel))]
pub fn increment<R: Dim, C: Dim>(
    #[block([rows, cols] at (i, j))] x: In<f32, (R, C)>,
    #[block([rows, cols] at (i, j))] o: Out<f32, (R, C)>,
) {
    o.store(x.load() + 1.0);
}
