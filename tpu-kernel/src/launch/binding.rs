//! The numbers of one launch.

/// A kernel's named sizes, grid and array shapes for one launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// How many cores the chip has, over which steps along parallel dimensions are split.
    pub cores: usize,
    /// The value of each of [`Kernel::sizes`](crate::ir::Kernel::sizes).
    pub sizes: Vec<i32>,
    /// The extent of each grid dimension. All positive, or the kernel has nothing to do and the grid holds a 0.
    pub grid: Vec<i32>,
    /// The shape of each operand's array, by position among the operands; empty for scratch and scalars.
    pub arrays: Vec<Vec<usize>>,
}
