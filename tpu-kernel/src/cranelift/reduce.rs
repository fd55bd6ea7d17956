//! Reductions inside a nest.
//!
//! Rules: a sum over the vectorised dimension keeps 16 partial sums, element i in partial i mod 16, folded by
//! halves (8, 4, 2, 1); along any other dimension it adds in increasing order. The order of a maximum or
//! minimum does not show, so it takes the fast instruction, which forgets NaN and the sign of zero, and
//! remembers beside it the largest bits, signed and unsigned, in which both can still be seen.

use super::code::Pack;
use super::loops::{Loops, Width};
use crate::ir::{DType, ReduceOp};
use cranelift::prelude::*;

/// A reduction of a nest.
pub(super) struct Reduction {
    pub op: ReduceOp,
    pub dtype: DType,
    /// The node that is reduced.
    pub node: usize,
    /// Where the result goes.
    pub stream: usize,
}

/// Bits of -infinity, and of +infinity.
const NEGATIVE: u32 = 0xff80_0000;
const POSITIVE: u32 = 0x7f80_0000;

impl Reduction {
    /// Whether it is a maximum or minimum of floats.
    fn extreme(&self) -> bool {
        self.dtype.is_float() && matches!(self.op, ReduceOp::Max | ReduceOp::Min)
    }

    /// Accumulators over the vectorised dimension: four vectors; of an extreme three kinds and a scalar.
    fn accumulators(&self) -> usize {
        if self.extreme() { 13 } else { 4 }
    }
}

impl Loops<'_, '_, '_> {
    /// The accumulators over the vectorised dimension before the first element.
    pub(super) fn partials(&mut self) -> Vec<Value> {
        let mut all = vec![];
        for reduction in &self.reductions {
            let Reduction { op, dtype, .. } = *reduction;
            let v = self.code.identity(op, dtype, true);
            all.extend([v; 4]);
            if reduction.extreme() {
                let least = self.code.bits(i32::MIN as u32, types::I32X4);
                let zero = self.code.bits(0, types::I32X4);
                all.extend([least; 4]);
                all.extend([zero; 4]);
                all.push(self.code.identity(op, dtype, false));
            }
        }
        all
    }

    /// Adds the running elements to the accumulators; `partial` is the first partial result that they belong to.
    pub(super) fn accumulate(&mut self, mut sums: &mut [Value], partial: usize) {
        for at in 0..self.reductions.len() {
            let Reduction { op, dtype, node, .. } = self.reductions[at];
            let pack = self.operand(node);
            let (own, rest) = sums.split_at_mut(self.reductions[at].accumulators());
            sums = rest;
            match (self.reductions[at].extreme(), self.width) {
                (true, Width::One) => own[12] = self.code.combine(op, dtype, own[12], pack.values()[0]),
                (true, _) => {
                    for (i, &v) in pack.values().iter().enumerate() {
                        let i = i + partial / 4;
                        own[i] = self.extreme(op, own[i], v);
                        let bits = self.code.bitcast(v, types::I32X4);
                        own[4 + i] = self.code.b.ins().smax(own[4 + i], bits);
                        own[8 + i] = self.code.b.ins().umax(own[8 + i], bits);
                    }
                }
                (false, Width::One) => {
                    let (i, lane) = (partial / 4, (partial % 4) as u8);
                    let old = self.code.b.ins().extractlane(own[i], lane);
                    let x = pack.values()[0];
                    let x = if dtype == DType::Bool { self.code.mask(x) } else { x };
                    let new = self.code.combine(op, dtype, old, x);
                    own[i] = self.code.b.ins().insertlane(own[i], new, lane);
                }
                (false, _) => {
                    for (sum, &v) in own[partial / 4..].iter_mut().zip(pack.values()) {
                        *sum = self.code.combine(op, dtype, *sum, v);
                    }
                }
            }
        }
    }

    /// The larger or smaller by the processor's own instruction: the accumulator where it is not exceeded.
    fn extreme(&mut self, op: ReduceOp, acc: Value, v: Value) -> Value {
        let exceeds = if op == ReduceOp::Max { FloatCC::GreaterThan } else { FloatCC::LessThan };
        let mask = self.code.b.ins().fcmp(exceeds, v, acc);
        self.code.choose(mask, v, acc)
    }

    /// Folds the accumulators and writes what is left.
    pub(super) fn fold(&mut self, mut sums: &[Value]) {
        for at in 0..self.reductions.len() {
            let Reduction { op, dtype, stream, .. } = self.reductions[at];
            let (own, rest) = sums.split_at(self.reductions[at].accumulators());
            sums = rest;
            let four = if self.reductions[at].extreme() {
                self.settled(op, own)
            } else {
                let low = self.code.combine(op, dtype, own[0], own[2]);
                let high = self.code.combine(op, dtype, own[1], own[3]);
                self.code.combine(op, dtype, low, high)
            };
            let lane: Vec<Value> = (0..4u8).map(|i| self.code.b.ins().extractlane(four, i)).collect();
            let even = self.code.combine(op, dtype, lane[0], lane[2]);
            let odd = self.code.combine(op, dtype, lane[1], lane[3]);
            let mut all = self.code.combine(op, dtype, even, odd);
            if let Some(&scalar) = own.get(12) {
                all = self.code.combine(op, dtype, all, scalar);
            }
            if dtype == DType::Bool {
                // A lane of a mask.
                all = self.code.not_zero(DType::I32, Pack::one(all)).values()[0];
            }
            let all = self.code.reduced(op, dtype, Pack::one(all)).values()[0];
            let pointer = self.pointers[stream];
            self.code.store_scalar(dtype, all, pointer, 0);
        }
    }

    /// The extremes of four lanes, with NaN and the sign of zero put right.
    fn settled(&mut self, op: ReduceOp, own: &[Value]) -> Value {
        let (mut value, mut signed, mut unsigned) = (own[0], own[4], own[8]);
        for i in 1..4 {
            value = self.extreme(op, value, own[i]);
            signed = self.code.b.ins().smax(signed, own[4 + i]);
            unsigned = self.code.b.ins().umax(unsigned, own[8 + i]);
        }
        let (zero, int_zero) = (self.code.bits(0, types::F32X4), self.code.bits(0, types::I32X4));
        let is_zero = self.code.b.ins().fcmp(FloatCC::Equal, value, zero);
        // A zero of the winning sign is there where an element with that sign is: every other is beyond it.
        let (there, winner) = match op {
            ReduceOp::Min => (self.code.b.ins().icmp(IntCC::SignedLessThan, unsigned, int_zero), (-0f32).to_bits()),
            _ => (self.code.b.ins().icmp(IntCC::SignedGreaterThanOrEqual, signed, int_zero), 0),
        };
        let winner = self.code.bits(winner, types::F32X4);
        let wins = self.code.b.ins().band(is_zero, there);
        let value = self.code.choose(wins, winner, value);
        let (negative, positive) = (self.code.bits(NEGATIVE, types::I32X4), self.code.bits(POSITIVE, types::I32X4));
        let negative = self.code.b.ins().icmp(IntCC::UnsignedGreaterThan, unsigned, negative);
        let positive = self.code.b.ins().icmp(IntCC::SignedGreaterThan, signed, positive);
        let is_nan = self.code.b.ins().bor(negative, positive);
        let nan = self.code.bits(f32::NAN.to_bits(), types::F32X4);
        self.code.choose(is_nan, nan, value)
    }

    /// The accumulators of lanes that run side by side before the first element.
    fn identities(&mut self, vectors: usize, vector: bool) -> Vec<Value> {
        let mut all = vec![];
        for Reduction { op, dtype, .. } in &self.reductions {
            let v = self.code.identity(*op, *dtype, vector);
            all.extend(std::iter::repeat_n(v, vectors));
        }
        all
    }

    /// Reduces along a dimension that is not vectorised, for the running lanes.
    pub(super) fn along(&mut self) {
        let (axis, vectors) = (self.vector + 1, self.width.vectors());
        let first = self.identities(vectors, self.width != Width::One);
        let size = self.loops[axis].size;
        let sums = self.counted([0, size, 1], &first, &mut |nest, index, sums| {
            let before = nest.enter(axis, index);
            let mut next = vec![];
            for at in 0..nest.reductions.len() {
                let Reduction { op, dtype, node, .. } = nest.reductions[at];
                let pack = nest.operand(node);
                for (&sum, &v) in sums[at * vectors..].iter().zip(pack.values()) {
                    next.push(nest.code.combine(op, dtype, sum, v));
                }
            }
            nest.pointers = before;
            next
        });
        for at in 0..self.reductions.len() {
            let Reduction { op, dtype, stream, .. } = self.reductions[at];
            let pack = self.code.reduced(op, dtype, Pack::from_slice(&sums[at * vectors..(at + 1) * vectors]));
            self.write(stream, pack);
        }
    }
}
