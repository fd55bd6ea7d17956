//! What each chip's units do in a cycle.
//!
//! Source: calibrated on libtpu 0.0.50.1, from its estimates of the launches in `tests/src/prediction` and from the slots of
//! its schedules; no constant is a measurement of hardware. v4, which libtpu does not estimate, has those of v5p.

use crate::chips::Chip;

/// What a core does in a cycle, and how long things take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rates {
    /// Cores that share the steps of a parallel grid dimension.
    pub(super) shared_by: i32,
    /// From the start of a copy to vector memory until its first byte.
    pub(super) latency_in: f64,
    /// The same from vector memory.
    pub(super) latency_out: f64,
    /// Bytes of one copy a cycle. Copies that run at once do not slow each other down in libtpu's estimate.
    pub(super) copy_bytes: f64,
    /// Cycles of a launch beside its steps.
    pub(super) launch: f64,
    /// Cycles of a step beside its body; more for each moving window, and for each grid dimension after the first.
    pub(super) step: f64,
    pub(super) step_window: f64,
    pub(super) step_dimension: f64,
    /// Cycles of a branch.
    pub(super) branch: f64,
    /// Registers loaded, stored and computed a cycle.
    pub(super) loads: f64,
    pub(super) stores: f64,
    pub(super) arithmetic: f64,
    /// Results of elementary functions a cycle.
    pub(super) functions: f64,
    /// Cycles of the XLU for a register that is reduced, rotated or spread along lanes.
    pub(super) across: f64,
    /// Whether registers of bf16 are computed with as such.
    pub(super) bf16: bool,
    /// Operations that refine a reciprocal and a reciprocal root.
    pub(super) reciprocal: f64,
    pub(super) root: f64,
    /// Cycles in which the matrix units take a row of the left operand, for one tile of the right one.
    pub(super) row: f64,
    /// What a pass over two operands of 8 bits takes of one over bf16: of integers, of floats.
    pub(super) integers: f64,
    pub(super) floats: f64,
    /// Cycles in which they take a tile of the right operand.
    pub(super) weights: f64,
    /// Cycles before the first result: of vector operations; more for a product, a reduction along lanes.
    pub(super) start: f64,
    pub(super) start_product: f64,
    pub(super) start_across: f64,
    /// And for an elementary function.
    pub(super) start_function: f64,
    /// How much the stretches before and after a reduction keep apart: 0, they overlap; 1, one begins when the other ends.
    pub(super) apart: f64,
    /// The same where products and reductions meet.
    pub(super) apart_products: f64,
    /// Cycles from one sum to the next that needs it.
    pub(super) chain: f64,
}

const V5E: Rates = Rates {
    shared_by: 1,
    latency_in: 1095.0,
    latency_out: 455.0,
    copy_bytes: 491.0,
    launch: 30.0,
    step: 15.0,
    step_window: 18.0,
    step_dimension: 12.0,
    branch: 5.0,
    loads: 3.0,
    stores: 1.0,
    arithmetic: 4.0,
    functions: 1.0,
    across: 8.0 / 3.0,
    bf16: false,
    reciprocal: 13.0,
    root: 9.0,
    row: 0.25,
    integers: 0.5,
    floats: 1.0,
    weights: 12.0,
    start: 7.0,
    start_product: 143.0,
    start_across: 85.0,
    start_function: 9.0,
    apart: 0.5,
    apart_products: 0.72,
    chain: 3.0,
};

const V5P: Rates = Rates { shared_by: 2, latency_in: 600.0, latency_out: 680.0, copy_bytes: 1251.0, ..V5E };

const V6E: Rates = Rates {
    shared_by: 1,
    latency_in: 489.0,
    latency_out: 506.0,
    copy_bytes: 776.0,
    launch: 30.0,
    step: 20.0,
    step_window: 22.0,
    step_dimension: 15.0,
    branch: 6.0,
    loads: 3.0,
    stores: 2.0,
    arithmetic: 4.0,
    functions: 1.0,
    across: 2.0,
    bf16: true,
    reciprocal: 1.0,
    root: 1.0,
    row: 0.25,
    integers: 0.5,
    floats: 1.0,
    weights: 31.0,
    start: 7.0,
    start_product: 225.0,
    start_across: 98.0,
    start_function: 17.0,
    apart: 0.5,
    apart_products: 1.0,
    chain: 2.0,
};

const TPU7X: Rates = Rates { latency_in: 641.0, latency_out: 640.0, copy_bytes: 1686.0, integers: 1.0, floats: 0.5, ..V6E };

impl Rates {
    pub(super) fn of(chip: &Chip) -> &'static Rates {
        match chip.name {
            "v5e" => &V5E,
            "v6e" => &V6E,
            "tpu7x" => &TPU7X,
            _ => &V5P,
        }
    }
}
