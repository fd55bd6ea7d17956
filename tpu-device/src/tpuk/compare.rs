//! How far results are from what they must be.

use super::data;
use crate::Tensor;

/// The largest difference of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Difference {
    /// Of any two elements.
    pub(super) absolute: f64,
    /// As a part of the largest finite magnitude that the output should have; the largest over the outputs.
    pub(super) relative: f64,
}

/// The largest difference over all outputs. As many elements on both sides.
pub(super) fn largest(got: &[Tensor], want: &[Vec<f64>]) -> Difference {
    let each = got.iter().zip(want).map(|(got, want)| of_one(&data::values(got), want));
    each.fold(Difference { absolute: 0.0, relative: 0.0 }, |all, one| Difference {
        absolute: all.absolute.max(one.absolute),
        relative: all.relative.max(one.relative),
    })
}

/// Infinities of one sign are equal, and so are two NaNs; a NaN on one side only is an infinite error.
fn of_one(got: &[f64], want: &[f64]) -> Difference {
    let error = |(&got, &want): (&f64, &f64)| match () {
        () if got == want || (got.is_nan() && want.is_nan()) => 0.0,
        () if got.is_nan() || want.is_nan() => f64::INFINITY,
        () => (got - want).abs(),
    };
    let absolute = got.iter().zip(want).map(error).fold(0.0, f64::max);
    let scale = want.iter().map(|w| w.abs()).filter(|w| w.is_finite()).fold(0.0, f64::max);
    let relative = if absolute == 0.0 { 0.0 } else { absolute / scale };
    Difference { absolute, relative }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_numbers_nan_and_infinities() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        for (got, want, absolute, relative) in [
            (&[][..], &[][..], 0.0, 0.0),
            (&[1.0, -2.0], &[1.5, -4.0], 2.0, 0.5),
            (&[0.0], &[0.0], 0.0, 0.0),
            (&[0.25], &[0.0], 0.25, inf),
            (&[nan, 1.0], &[nan, 2.0], 1.0, 0.5),
            (&[nan, 1.0], &[0.0, 1.0], inf, inf),
            (&[1.0], &[nan], inf, inf),
            (&[inf, 1.0], &[inf, 1.0], 0.0, 0.0),
            (&[inf, 1.0], &[-inf, 1.0], inf, inf),
        ] {
            assert_eq!(of_one(got, want), Difference { absolute, relative }, "{got:?} {want:?}");
        }
    }
}
