//! The table through which compiled code reaches everything: memory, sizes, the grid and helpers.
//!
//! Rules: compiled code takes one pointer to a [`Context`] and holds no address of its own, so its bytes
//! can be kept and run in another process; a change of this layout changes [`VERSION`]. Strides are in
//! elements.

use super::movement::{Access, Copy, Fill, Remote, Semaphore};
use super::reach::Reach;
use crate::ir::MAX_RANK;
use std::ffi::c_void;
use std::sync::LazyLock;
use tpu_microkernels::function::{Function, Strip};
use tpu_microkernels::raw;
use tpu_microkernels::tile::{self, Rng, Slot, Task};

/// The version of the layout.
pub(super) const VERSION: u32 = 5;

/// Of [`Context::wanted`]: all windows.
pub(super) const ALL: u32 = 0;
/// Of [`Context::wanted`]: windows on outputs.
pub(super) const OUTPUTS: u32 = 1;
/// Of [`Context::wanted`]: the window on the first operand; those on the others follow.
pub(super) const FIRST: u32 = 2;

/// Everything that one call of compiled code may touch.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Context {
    /// [`VERSION`].
    pub version: u32,
    /// Whose block indices the maps compute: [`ALL`], [`OUTPUTS`], or those of one input, [`FIRST`] and its operand's
    /// number. Without prefetched arrays they compute all.
    pub wanted: u32,
    /// Temporaries: tiles that no register holds.
    pub arena: *mut u8,
    /// One entry an operand; meaningful for windows, scratch and arrays.
    pub refs: *const RefSlot,
    /// One entry an operand; the extents of arrays.
    pub arrays: *const [i64; MAX_RANK],
    /// The running step, one i32 a grid dimension.
    pub grid: *const i32,
    /// The extents of the grid.
    pub extents: *const i32,
    /// The named sizes.
    pub sizes: *const i32,
    /// One entry an operand; the bits of scalar parameters.
    pub scalars: *const u32,
    /// Where the maps write block indices: [`MAX_RANK`] an operand.
    pub blocks: *mut i32,
    /// Descriptions of the tile operations that functions compiled ahead do.
    pub tasks: *const Task,
    /// The generator of random bits, kept from step to step.
    pub rng: *mut Rng,
    /// The number of the running device.
    pub device: i32,
    /// What the helpers that act for the launch take: the running launch.
    pub launch: *mut c_void,
    /// Where the body says what went wrong.
    pub error: ErrorSlot,
    /// Functions compiled ahead.
    pub helpers: Helpers,
}

/// The memory behind an operand, for one step.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct RefSlot {
    /// Its first element.
    pub ptr: *mut u8,
    /// Strides of the operand's dimensions; those that compiled code knows already are not read.
    pub strides: [i64; MAX_RANK],
}

/// What went wrong: which check, and the number that failed it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ErrorSlot {
    /// An index into the list of checks.
    pub site: u32,
    /// Padding, zero.
    pub reserved: u32,
    /// The start, step or outcome.
    pub value: i64,
}

/// Functions compiled ahead, by address.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Helpers {
    pub gemm_f32_default: raw::Gemm,
    pub gemm_f32_high: raw::Gemm,
    pub gemm_f32_highest: raw::Gemm,
    pub gemm_bf16: raw::Gemm,
    pub gemm_i32: raw::Gemm,
    /// The strip form of each function, by its number.
    pub functions: [Strip; Function::ALL.len()],
    pub rotate: tile::Helper,
    pub gather: tile::Helper,
    pub scan: tile::Helper,
    pub sort: tile::Helper,
    pub bitcast: tile::Helper,
    pub argument: tile::Helper,
    pub random_bits: tile::Helper,
    pub print: Print,
    pub copy: Copy,
    pub remote: Remote,
    pub semaphore: Semaphore,
    pub fill: Fill,
    pub access: Access,
    pub reach: Reach,
    pub fma: extern "C" fn(f32, f32, f32) -> f32,
}

/// The helpers of this process.
pub(super) static HELPERS: LazyLock<Helpers> = LazyLock::new(|| Helpers {
    gemm_f32_default: raw::f32_default,
    gemm_f32_high: raw::f32_high,
    gemm_f32_highest: raw::f32_highest,
    gemm_bf16: raw::bf16,
    gemm_i32: raw::i32,
    rotate: tile::rotate,
    gather: tile::gather,
    scan: tile::scan,
    sort: tile::sort,
    bitcast: tile::bitcast,
    argument: tile::argument,
    random_bits: tile::random_bits,
    print: super::launch::print,
    copy: super::movement::copy,
    remote: super::movement::remote,
    semaphore: super::movement::semaphore,
    fill: super::movement::fill,
    access: super::movement::access,
    reach: super::reach::reach,
    functions: std::array::from_fn(|at| Function::ALL[at].strip()),
    fma,
});

/// Writes a message: the running launch, the number of the check that describes it, and its values. Not 0 where the launch
/// must end.
pub(super) type Print = unsafe extern "C" fn(*mut c_void, u32, *const Slot) -> i64;

/// a · b + c, rounded once: for processors without the instruction.
extern "C" fn fma(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}

/// Compiled code: 0, or [`FAILED`] with [`Context::error`] set.
pub(super) type Entry = unsafe extern "C" fn(*mut Context) -> u32;

/// The status of a step that failed a check.
pub(super) const FAILED: u32 = 1;
