//! How often a loop runs, in words.
//!
//! A chip counts in i32: it compares the index with the end and adds the step, and both wrap. Some loops between constants from
//! below zero libtpu does not compile.
//!
//! Rules: neither the index nor the distance that a loop counts to wraps, whatever its bounds are. A loop that is safe as it is
//! stays so. What is known only in the launch is decided there, by selections: for most numbers they leave the loop as it was.

use super::Illegal;
use super::lowering::{Lowering, Typed};
use crate::ir::{BinaryOp, CompareOp, DType, Literal, OpKind, Type, Value};

const I32: Type = Type::Scalar(DType::I32);

/// A loop that a chip counts right; the index of the original is `base + index * scale`, with 0 and 1 where there is none.
struct Counting {
    bounds: [Value; 3],
    base: Option<Value>,
    scale: Option<Value>,
}

impl Lowering<'_> {
    /// A loop over new values that may cross as they are; `body` gives the next ones from the index and the carried ones.
    pub(super) fn counted(
        &mut self,
        bounds: [Value; 3],
        inits: &[Value],
        types: &[Type],
        body: impl FnOnce(&mut Self, Value, &[Value]) -> Result<Vec<Value>, Illegal>,
    ) -> Result<Vec<Value>, Illegal> {
        let Counting { bounds, base, scale } = self.counting(bounds)?;
        let args = self.builder.begin_region(&[&[I32], types].concat());
        self.carried(&args[1..], inits);
        let mut index = args[0];
        for (op, by) in [(BinaryOp::Mul, scale), (BinaryOp::Add, base)] {
            if let Some(by) = by {
                index = self.word(op, index, by)?;
            }
        }
        let yields = body(self, index, &args[1..])?;
        let region = self.builder.end_region(&yields);
        let inits = self.settled(&region, 1, inits)?;
        let operands = [&bounds[..], inits.as_slice()].concat();
        let loc = self.loc();
        Ok(self.builder.control(OpKind::For, &operands, vec![region], types, loc))
    }

    fn counting(&mut self, bounds: [Value; 3]) -> Result<Counting, Illegal> {
        let [low, high, step] = bounds;
        let [from, to, by] = bounds.map(|v| self.literal_of(v).and_then(Literal::as_i32));
        let as_it_is = Counting { bounds, base: None, scale: None };
        if let (Some(from), Some(to), Some(by)) = (from, to, by.filter(|&by| by > 0)) {
            return Ok(constant_counting(from, to, by).map_or(as_it_is, |(bounds, base)| Counting {
                base: Some(self.number(base)),
                scale: (bounds[2] != by).then_some(step),
                bounds: bounds.map(|n| self.number(n)),
            }));
        }
        // The last index is a step or more below the end where all are multiples of the step.
        let aligned = by.is_some_and(|by| {
            by > 0 && by & (by - 1) == 0 && [low, high].iter().all(|&v| self.fact(v).zeros >= by.trailing_zeros())
        });
        let short = to.zip(by).is_some_and(|(to, by)| i64::from(to) + i64::from(by) - 1 <= i64::from(i32::MAX));
        match from.filter(|&n| n < 0) {
            _ if !(aligned || short || by == Some(1)) => self.by_trips(bounds),
            Some(from) => self.start_from_zero(bounds, from),
            None => Ok(as_it_is),
        }
    }

    /// From zero, unless that is too far.
    fn start_from_zero(&mut self, [low, high, step]: [Value; 3], from: i32) -> Result<Counting, Illegal> {
        let (farthest, zero) = (self.number(i32::MAX + from), self.number(0));
        let near = self.apply(OpKind::Compare(CompareOp::Le), &[high, farthest])?;
        let distance = self.word(BinaryOp::Sub, high, low)?;
        let start = self.either(near, zero, low)?;
        let end = self.either(near, distance, high)?;
        Ok(Counting { bounds: [start, end, step], base: Some(self.either(near, low, zero)?), scale: None })
    }

    /// By one, as often as the loop runs, where it would step over the last number.
    fn by_trips(&mut self, bounds: [Value; 3]) -> Result<Counting, Illegal> {
        let [low, high, step] = bounds;
        let known = bounds.map(|v| self.literal_of(v).and_then(Literal::as_i32));
        let [zero, one, least] = [0, 1, i32::MIN].map(|n| self.number(n));
        // One above the largest number, less a step.
        let within = self.word(BinaryOp::Sub, least, step)?;
        let within = self.word(BinaryOp::Max, within, low)?;
        let plain = self.apply(OpKind::Compare(CompareOp::Le), &[high, within])?;
        let distance = self.word(BinaryOp::Sub, high, low)?;
        let farthest = self.word(BinaryOp::Sub, distance, one)?;
        // The trips but one; from below zero the distance takes all bits.
        let trips = if known[0].is_some_and(|n| n >= 0) {
            self.word(BinaryOp::Div, farthest, step)?
        } else {
            let ty = Type::Scalar(DType::U32);
            let mut bits = vec![];
            for word in [farthest, step] {
                bits.push(Typed { value: self.apply(OpKind::Bitcast(DType::U32), &[word])?, ty });
            }
            let trips = self.lower(&OpKind::Binary(BinaryOp::Div), &bits)?[0];
            self.apply(OpKind::Bitcast(DType::I32), &[trips])?
        };
        // From end to end of i32 by two there is one trip more than a count from zero holds.
        let ends = [i32::MIN, i32::MAX, 2];
        let widest = known.iter().zip(ends).all(|(known, end)| known.is_none_or(|n| n == end));
        let (first, base, end) = if widest {
            (self.number(-1), self.word(BinaryOp::Add, low, step)?, trips)
        } else {
            (zero, low, self.word(BinaryOp::Add, trips, one)?)
        };
        let bounds = [(low, first), (high, end), (step, one)];
        let [start, end, by] = bounds.map(|(as_it_is, counted)| self.either(plain, as_it_is, counted));
        let (base, scale) = (self.either(plain, zero, base)?, self.either(plain, one, step)?);
        Ok(Counting { bounds: [start?, end?, by?], base: Some(base), scale: Some(scale) })
    }

    fn number(&mut self, n: i32) -> Value {
        self.constant(Literal::from(n), None)
    }

    fn word(&mut self, op: BinaryOp, a: Value, b: Value) -> Result<Value, Illegal> {
        self.apply(OpKind::Binary(op), &[a, b])
    }

    fn either(&mut self, condition: Value, a: Value, b: Value) -> Result<Value, Illegal> {
        self.apply(OpKind::Select, &[condition, a, b])
    }
}

/// Other bounds for a loop between constants, where it needs some, and the first index: from zero, by the same step or by one.
fn constant_counting(from: i32, to: i32, by: i32) -> Option<([i32; 3], i32)> {
    let [first, end, step] = [from, to, by].map(i64::from);
    let (most, distance) = (i64::from(i32::MAX), (end - first).max(0));
    let trips = (distance + step - 1) / step;
    if first >= 0 && first + trips * step <= most {
        return None;
    }
    match (i32::try_from(distance), i32::try_from(trips)) {
        (Ok(distance), _) if trips * step <= most => Some(([0, distance, by], from)),
        (_, Ok(trips)) => Some(([0, trips, 1], from)),
        // From end to end of i32: libtpu does not compile these.
        _ if by == 1 => None,
        _ => Some(([-1, i32::MAX, 1], from.wrapping_add(by))),
    }
}
