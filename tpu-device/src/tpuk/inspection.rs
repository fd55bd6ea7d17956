//! What `tpuk inspect` knows of a kernel: plain data, collected once, for every form in which it is shown.
//!
//! Rules: everything here comes from one kernel, one binding and one chip; nothing is measured. Text is ready to be
//! shown, but not escaped for any format.

use super::index_map;
use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{Kernel, Literal, Loc, ParamKind};
use tpu_kernel::launch::{Binding, Cost, VmemRow, cost, vmem};
use tpu_kernel::predict::Prediction;

/// A kernel with one configuration and one set of sizes, looked at for one chip.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// The kernel's name.
    pub kernel: String,
    /// Where it is: module and name.
    pub path: String,
    /// Where it is written.
    pub loc: Loc,
    /// Block sizes, element types and precision, by name: `BM`, `128`.
    pub config: Vec<(String, String)>,
    /// Array sizes, by name.
    pub sizes: Vec<(String, i64)>,
    /// The chip.
    pub chip: Chip,
    /// The grid, slowest dimension first.
    pub grid: Vec<GridRow>,
    /// The windows and the whole arrays, in the order of the operands.
    pub windows: Vec<WindowRow>,
    /// Scalars of the launch.
    pub scalars: Vec<(String, Literal)>,
    /// What each window and scratch takes of the vector memory, in the order of the operands.
    pub vmem: Vec<VmemRow>,
    /// The kernel's IR: as it was staged, and after each further step.
    pub stages: Vec<Stage>,
    /// What each chip says to it.
    pub legality: Vec<Legality>,
    /// Arithmetic and bytes.
    pub cost: Cost,
    /// Predicted cycles, by the model; or why there are none.
    pub prediction: Result<Prediction, String>,
}

/// A dimension of the grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GridRow {
    /// The name of the index.
    pub name: String,
    /// The number of steps as it is written: `ceildiv(m, 128)`.
    pub expression: String,
    /// The number of steps.
    pub extent: i64,
    /// `parallel` or `arbitrary`.
    pub semantics: &'static str,
}

/// A window, or an array that the kernel takes whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowRow {
    /// The operand.
    pub name: String,
    /// `in`, `out`, or `prefetch`.
    pub role: &'static str,
    /// The element type.
    pub dtype: String,
    /// The shape of the array, as it is written: `m`, `k`.
    pub array_expression: Vec<String>,
    /// The shape of the array.
    pub array: Vec<usize>,
    /// The block along each dimension of the array: `128`, `squeezed`, `element 8 pad (1, 2)`; of a whole array where it lies.
    pub block: Vec<String>,
    /// The index map, an expression for each dimension of the array: `i`, `kk`.
    pub index_map: Vec<String>,
    /// Where it is declared.
    pub loc: Loc,
}

/// The kernel's IR after one step of the way to the chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// `staged`, `canonical`, `legalised`, `mosaic`.
    pub name: &'static str,
    /// Its text, or why the kernel does not get there.
    pub text: Result<String, String>,
}

/// Whether a chip takes the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Legality {
    /// The chip.
    pub chip: &'static str,
    /// Nothing, or why it is refused.
    pub refused: Option<Refusal>,
}

/// Why a chip does not take a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The code of the rule: `L013`, `M004`.
    pub code: &'static str,
    /// One line.
    pub reason: String,
    /// As it is shown in a terminal, with the user's line.
    pub rendered: String,
}

impl Inspection {
    /// Bytes that the windows take, which stand against the scoped limit.
    pub fn window_bytes(&self) -> u64 {
        self.vmem.iter().filter(|row| row.is_window()).fold(0, |n, row| n.saturating_add(row.bytes()))
    }

    /// Bytes that windows and scratch take.
    pub fn vmem_bytes(&self) -> u64 {
        self.vmem.iter().fold(0, |n, row| n.saturating_add(row.bytes()))
    }

    /// Steps of the grid.
    pub fn steps(&self) -> i64 {
        self.grid.iter().fold(1, |n, dim| n.saturating_mul(dim.extent))
    }
}

/// The parts of an inspection that one kernel and its binding decide.
pub(super) struct Tables {
    pub(super) sizes: Vec<(String, i64)>,
    pub(super) grid: Vec<GridRow>,
    pub(super) windows: Vec<WindowRow>,
    pub(super) vmem: Vec<VmemRow>,
    pub(super) cost: Cost,
}

/// Sizes, grid, windows, vector memory and cost of a bound kernel.
pub(super) fn tables(kernel: &Kernel, binding: &Binding) -> Tables {
    let sizes = kernel.sizes.iter().cloned().zip(binding.sizes.iter().map(|&n| i64::from(n))).collect();
    let grid = kernel.grid.iter().zip(&binding.grid).map(|(dim, &extent)| GridRow {
        name: dim.name.clone(),
        expression: dim.extent.display(&kernel.sizes).to_string(),
        extent: i64::from(extent),
        semantics: dim.semantics.name(),
    });
    let windows = kernel.params.iter().zip(&binding.arrays).filter_map(|(param, array)| {
        let whole = |space: &str| vec![format!("whole, in {space}")];
        let (block, index_map) = match (&param.kind, param.window()) {
            (_, Some(window)) => {
                (window.block.iter().map(ToString::to_string).collect(), index_map::expressions(kernel, &window.map))
            }
            (ParamKind::Prefetch(_), _) => (whole("SMEM"), vec![]),
            _ => (whole("HBM"), vec![]),
        };
        Some(WindowRow {
            name: param.name.clone(),
            role: match param.kind {
                ParamKind::Prefetch(_) => "prefetch",
                _ if param.is_output() => "out",
                _ => "in",
            },
            dtype: param.ty.dtype().to_string(),
            array_expression: param.array()?.iter().map(|d| d.display(&kernel.sizes).to_string()).collect(),
            array: array.clone(),
            block,
            index_map,
            loc: param.loc.clone(),
        })
    });
    Tables { sizes, grid: grid.collect(), windows: windows.collect(), vmem: vmem(kernel, binding), cost: cost(kernel, binding) }
}
