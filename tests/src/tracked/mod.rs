//! Kernels with their poison tracked, in a form that every executor runs: the shadows of windows are windows of bool themselves.
//!
//! Rules: what lies outside an array, and what nothing wrote, reads as true, and so does scratch. The shadows of inputs are inputs
//! behind the kernel's own, those of outputs are outputs behind its own.

pub mod cases;

use std::collections::HashMap;
use tpu_kernel::ir::{Kernel, ParamKind, Region, Value};
use tpu_kernel::passes::poison::Tracked;

/// The tracked kernel with the shadows of windows as windows. No memory may go without a shadow.
///
/// # Panics
/// Where some memory has none.
pub fn with_windows(original: &Kernel, tracked: &Tracked) -> Kernel {
    assert!(tracked.unwatched.is_empty(), "each memory has a shadow");
    let mut kernel = tracked.kernel.clone();
    let own = original.params.len();
    let shadowed: Vec<usize> = (0..own).filter(|&at| original.params[at].ty.is_ref()).collect();
    for (shadow, &of) in (own..).zip(&shadowed) {
        let mut window = original.params[of].window().cloned();
        if let Some(window) = &mut window {
            window.map = renamed(&window.map, &mut kernel);
        }
        match (&original.params[of].kind, window) {
            (ParamKind::In(_), Some(window)) => kernel.params[shadow].kind = ParamKind::In(window),
            (ParamKind::Out(_), Some(window)) => kernel.params[shadow].kind = ParamKind::Out(window),
            _ => {}
        }
    }
    kernel
}

/// The region with values of its own.
fn renamed(region: &Region, kernel: &mut Kernel) -> Region {
    let mut names: HashMap<Value, Value> = HashMap::new();
    let mut name = |value: Value, kernel: &mut Kernel| *names.entry(value).or_insert_with(|| kernel.new_value(kernel.ty(value)));
    let mut region = region.clone();
    region.args.iter_mut().for_each(|v| *v = name(*v, kernel));
    for op in &mut region.ops {
        op.operands.iter_mut().chain(&mut op.results).for_each(|v| *v = name(*v, kernel));
    }
    region.yields.iter_mut().for_each(|v| *v = name(*v, kernel));
    region
}
