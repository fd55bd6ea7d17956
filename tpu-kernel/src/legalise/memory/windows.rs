//! What the pipeline around a kernel makes of its windows: those that count in elements, and how blocks come and go.
//!
//! Rules: libtpu must see that one starts at a multiple of the sublanes along the second to last dimension, and of the
//! lanes along the last. It has no padding before the array: the module pads the array instead, and what the index map
//! gives is moved by as much. A constant that the map takes away is taken from that, so that `i * 8 - 1` with a padding
//! of 1 is seen to be a multiple of 8.

use crate::chips::{Chip, LANES, SUBLANES};
use crate::ir::{BinaryOp, BlockDim, DType, Kernel, OpKind, Param, Pipelining, Revisit, Value, Window};
use crate::legalise::divisible::{self, Fact};
use crate::legalise::{Illegal, Rule};
use std::collections::HashMap;

/// Where a window starts along a dimension: a value of the index map, and a number that is added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    /// The value.
    pub(crate) from: Value,
    /// The number.
    pub(crate) add: i32,
    /// Trailing zero bits of the sum.
    zeros: u32,
}

/// Whether a window has a dimension in elements; then every dimension counts in elements.
pub(crate) fn by_elements(window: &Window) -> bool {
    window.block.iter().any(|b| matches!(b, BlockDim::Element { .. }))
}

/// What lies before the array along each dimension.
pub(crate) fn low(window: &Window) -> Vec<usize> {
    let low = |b: &BlockDim| match *b {
        BlockDim::Element { low, .. } => low,
        BlockDim::Blocked(_) | BlockDim::Squeezed => 0,
    };
    window.block.iter().map(low).collect()
}

/// Where a window starts in the padded array, along each dimension; blocks count as blocks.
pub(crate) fn starts(window: &Window) -> Vec<Start> {
    let mut facts: HashMap<Value, Fact> = HashMap::new();
    for op in &window.map.ops {
        let operands: Vec<Fact> = op.operands.iter().map(|v| facts.get(v).copied().unwrap_or_default()).collect();
        let Some(&result) = op.results.first() else { continue };
        let fact = match &op.kind {
            OpKind::Const(literal) => Fact::of(*literal),
            kind => Fact::multiple(divisible::of_op(kind, &operands)),
        };
        facts.insert(result, fact);
    }
    let fact = |value: Value| facts.get(&value).copied().unwrap_or_default();
    let number = |value: Value| fact(value).number.and_then(|n| i32::try_from(n).ok());
    let lows = low(window);
    let start = |(&index, &low): (&Value, &usize)| {
        let low = i32::try_from(low).unwrap_or(i32::MAX);
        let made = window.map.ops.iter().find(|op| op.results.contains(&index));
        let (from, add) = match made.map(|op| (&op.kind, op.operands.as_slice())) {
            Some((OpKind::Binary(BinaryOp::Add), &[a, b])) if low > 0 && number(b).is_some() => (a, number(b)),
            Some((OpKind::Binary(BinaryOp::Add), &[a, b])) if low > 0 && number(a).is_some() => (b, number(a)),
            Some((OpKind::Binary(BinaryOp::Sub), &[a, b])) if low > 0 => match number(b).and_then(i32::checked_neg) {
                Some(n) => (a, Some(n)),
                None => (index, None),
            },
            _ => (index, None),
        };
        let add = add.unwrap_or(0).wrapping_add(low);
        let zeros = fact(from).zeros.min(Fact::of(add.into()).zeros);
        Start { from, add, zeros }
    };
    window.map.yields.iter().zip(&lows).map(start).collect()
}

/// The first window that has no dimension left, is moved as no chip moves it, or counts in elements and cannot be seen to be aligned.
pub(in crate::legalise) fn check(kernel: &Kernel, chip: &Chip) -> Result<(), Illegal> {
    for (output, input) in kernel.aliases() {
        let (output, input) = (&kernel.params[output], &kernel.params[input]);
        let before = |param: &Param| param.window().map_or_else(|| vec![0; param.array().map_or(0, <[_]>::len)], low);
        let (want, got) = (before(input), before(output));
        if want != got {
            let rule = Rule::SharedPadding { input: input.name.clone(), want, got };
            return Err(Illegal { chip: chip.name, at: output.name.clone(), rule, loc: output.loc.clone() });
        }
    }
    for param in &kernel.params {
        let refuse =
            |reason| Illegal { chip: chip.name, at: param.name.clone(), rule: Rule::Window(reason), loc: param.loc.clone() };
        if param.window().is_some() && param.ty.shape().rank() == 0 {
            return Err(refuse("a block with every dimension squeezed is a scalar; keep one dimension".to_string()));
        }
        let Some(window) = param.window() else { continue };
        if let Some(reason) = unpipelined(window.pipelining) {
            return Err(Illegal { rule: Rule::Pipelining(reason), ..refuse(String::new()) });
        }
        if !by_elements(window) {
            continue;
        }
        let rank = window.block.len();
        for (axis, (block, start)) in window.block.iter().zip(starts(window)).enumerate() {
            let wanted = match rank - axis {
                1 if rank == 1 => whole_row(param.ty.dtype()),
                1 => LANES,
                2 => SUBLANES,
                _ => 1,
            };
            let unit = match *block {
                BlockDim::Element { .. } | BlockDim::Squeezed => 0,
                BlockDim::Blocked(size) => size.trailing_zeros(),
            };
            if 1usize << start.zeros.saturating_add(unit).min(30) < wanted {
                let low = if start.add == 0 { String::new() } else { " in the padded array".to_string() };
                let reason = format!(
                    "a window along axis {axis} must start at a multiple of {wanted}{low} that can be seen, as in `element i * {wanted}`"
                );
                return Err(refuse(reason));
            }
        }
    }
    Ok(())
}

/// Why the pipeline that libtpu makes around a kernel does not move a window's blocks so.
fn unpipelined(pipelining: Pipelining) -> Option<String> {
    let depth = pipelining.depth();
    if depth > 2 {
        return Some(format!("the chip's pipeline has one or two buffers for a window, not {depth}"));
    }
    if pipelining.lookahead {
        return Some("the chip's pipeline looks one step ahead, not to the next block that differs".to_string());
    }
    let read_back = pipelining.revisit == Revisit::Any && depth > 1;
    read_back.then(|| "a block that is read back when it is visited again has one buffer".to_string())
}

/// Elements of a row of packed registers.
fn whole_row(dtype: DType) -> usize {
    LANES * 32 / dtype.bits() as usize
}
