//! TPU kernels written in Rust: the language, its block-tiled IR, and what runs and prints it.
//!
//! Data flows downwards: `lang` (typed handles that record) → `ir` → `passes` and
//! `transform` → executors
//! (`interpret`, `cranelift`), and for a chip `legalise` → the printer (`mosaic`). No module knows a runtime: a launch goes
//! through the trait that a runtime implements.

pub mod ahead;
pub mod chips;
mod codes;
pub mod cranelift;
pub mod diagnose;
mod error;
pub mod exec;
pub mod formats;
pub mod interpret;
pub mod ir;
pub mod lang;
pub mod launch;
pub mod legalise;
pub mod math;
pub mod mosaic;
pub mod passes;
pub mod predict;
pub mod transform;

pub use error::{BuildFault, Error};
pub use formats::{F4E2M1, F8E4M3, F8E4M3B11, F8E5M2, I2, I4, U4};
pub use half::{bf16, f16};
pub use tpu_kernel_macros::{tile_fn, tpu_kernel};

/// Everything that a file of kernels needs: `use tpu_kernel::prelude::*;`.
pub mod prelude {
    pub use crate::ir::{DType, Precision};
    pub use crate::lang::{
        AllAxes, Axis, Barrier, Bits, Bounded, D, Dim, DmaSemaphore, Each, Element, Float, Hbm, HbmInput, HbmOut, HbmOutput, In,
        Indirect, InputWindow, Int, Key, Lanes, Number, One, Out, Prefetch, Prod, Product, Quot, Scalar, Semaphore, Shape, Sliding,
        Smem, Squeezed, Sublanes, Sum, Tile, Transform, View, Vmem, batch_dot, batch_dot_over, choose, concat, copy,
        copy_to_device, device_id, dot, dot_over, dot_with, iota, iota_of, literal, num_programs, pack, pipeline, prng_bits,
        prng_seed, program_id, scoped, select, stateful_bernoulli, stateful_normal, stateful_uniform, unroll,
    };
    pub use crate::launch::{Allow, Launchable};
    pub use crate::{F4E2M1, F8E4M3, F8E4M3B11, F8E5M2, I2, I4, U4, bf16, f16};
    pub use crate::{debug_check, debug_print};
    pub use crate::{tile_fn, tpu_kernel};
}
