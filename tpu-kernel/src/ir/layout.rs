//! How far the elements of a memory, or of a view of it, lie apart.
//!
//! Rules: a view under another shape needs strides of its own; where there are none, no view shows the elements in that order. Of
//! an array the distance along each dimension but the last is known to the launch only, and stands for itself.

use super::{OpKind, Shape, Type};

/// The distance of neighbours along a dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Distance {
    /// Whether it is in units of what an array has along that dimension, else in elements.
    of: Option<usize>,
    times: i64,
}

/// The distances along all dimensions of a memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Layout(Vec<Distance>);

impl Layout {
    /// Of a memory that is no view.
    pub(crate) fn of(ty: Type) -> Layout {
        match ty {
            Type::Array(_, _, rank) => {
                Layout((0..rank).map(|axis| Distance { of: (axis + 1 < rank).then_some(axis), times: 1 }).collect())
            }
            ty => Layout::dense(ty.shape()),
        }
    }

    fn dense(shape: Shape) -> Layout {
        let mut times = 1i64;
        let mut distances: Vec<Distance> = shape
            .dims()
            .iter()
            .rev()
            .map(|&n| {
                let distance = Distance { of: None, times };
                times = times.wrapping_mul(n as i64);
                distance
            })
            .collect();
        distances.reverse();
        Layout(distances)
    }

    /// Of a view of a memory that has this layout, from its type to that of the view; `None` where it has no strides.
    pub(crate) fn viewed(&self, kind: &OpKind, from: Type, to: Type) -> Option<Layout> {
        let Layout(own) = self;
        let times = |d: Distance, n: usize| Distance { times: d.times.wrapping_mul(n as i64), ..d };
        Some(Layout(match kind {
            OpKind::View { strides, .. } => own.iter().zip(strides).map(|(&d, &n)| times(d, n)).collect(),
            OpKind::ViewSqueezed(axes) => {
                own.iter().enumerate().filter(|(axis, _)| !axes.contains(axis)).map(|(_, &d)| d).collect()
            }
            OpKind::ViewTransposed(perm) => perm.iter().map(|&axis| own[axis]).collect(),
            OpKind::ViewReshaped(shape) => {
                reshaped(from.shape().dims(), own, shape.dims(), times, Distance { of: None, times: 1 })?
            }
            OpKind::ViewBitcast(dtype) if dtype.bits() != from.dtype().bits() => return Some(Layout::dense(to.shape())),
            _ => own.clone(),
        }))
    }
}

/// The strides under which elements lie in the same order as another shape with as many elements, where there are such: dimensions
/// become one where each lies as far apart as the next one is long. `one` is a stride for dimensions of 1.
pub(crate) fn reshaped<S: Copy + PartialEq>(
    dims: &[usize],
    strides: &[S],
    to: &[usize],
    times: impl Fn(S, usize) -> S,
    one: S,
) -> Option<Vec<S>> {
    let (dims, strides): (Vec<usize>, Vec<S>) = dims.iter().zip(strides).filter(|&(&n, _)| n != 1).unzip();
    let mut found = vec![one; to.len()];
    let (mut old, mut new) = (0, 0);
    while old < dims.len() && new < to.len() {
        let (mut old_end, mut new_end) = (old + 1, new + 1);
        let (mut had, mut has) = (dims[old], to[new]);
        while had != has {
            if has < had {
                has *= to.get(new_end)?;
                new_end += 1;
            } else {
                had *= dims.get(old_end)?;
                old_end += 1;
            }
        }
        if (old..old_end - 1).any(|d| strides[d] != times(strides[d + 1], dims[d + 1])) {
            return None;
        }
        found[new_end - 1] = strides[old_end - 1];
        for d in (new..new_end - 1).rev() {
            found[d] = times(found[d + 1], to[d + 1]);
        }
        (old, new) = (old_end, new_end);
    }
    Some(found)
}
