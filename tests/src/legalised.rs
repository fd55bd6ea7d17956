//! Legalised kernels run by the interpreter, against the kernels that they come from.
//!
//! Rules: the arrays of a legalised kernel have the bytes of the user's, under the types that the chip stores; its scalars are
//! words. Two values agree exactly, or within a bound that is stated with the comparison: [`Bound`].

use crate::executors::{Array, INTERPRETER, run_logged, same};
use tpu_kernel::chips::Chip;
use tpu_kernel::exec::{Printed, RunError};
use tpu_kernel::ir::{DType, Kernel, Literal};
use tpu_kernel::launch::Binding;
use tpu_kernel::legalise::{Illegal, legalise, stored, word};
use tpu_kernel::passes::verify;

/// How far a legalised kernel's float may be from the original's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The same bits, or both NaN.
    Exact,
    /// At most so many numbers of the format away; NaN for NaN.
    Ulps(u32),
}

impl Bound {
    /// Whether a value is close enough to the expected one.
    pub fn holds(self, want: Literal, got: Literal) -> bool {
        match self {
            _ if same(want, got) => true,
            Bound::Exact => false,
            Bound::Ulps(limit) => distance(want, got).is_some_and(|d| d <= limit),
        }
    }
}

/// How many numbers of their float format lie between two of them; the zeros are one number. None where one is NaN.
fn distance(a: Literal, b: Literal) -> Option<u32> {
    let number = |x: Literal| -> Option<i64> {
        let value = x.as_f32().filter(|v| !v.is_nan())?;
        let sign = 1u32 << (x.dtype().bits() - 1);
        let magnitude = i64::from(x.bits() & (sign - 1));
        Some(if value.is_sign_negative() { -magnitude } else { magnitude })
    };
    (a.dtype() == b.dtype()).then_some(())?;
    u32::try_from((number(a)? - number(b)?).abs()).ok()
}

/// A kernel as each chip gets it: the different forms, with the names of the chips, and why the others have none.
pub fn forms(kernel: &Kernel) -> (Vec<(Kernel, Vec<&'static str>)>, Vec<Illegal>) {
    let mut forms: Vec<(Kernel, Vec<&'static str>)> = vec![];
    let mut refusals = vec![];
    for chip in Chip::ALL {
        match legalise(kernel, chip) {
            Err(illegal) => refusals.push(illegal),
            Ok(legal) => match forms.iter_mut().find(|(form, _)| *form == legal) {
                Some((_, chips)) => chips.push(chip.name),
                None => forms.push((legal, vec![chip.name])),
            },
        }
    }
    (forms, refusals)
}

/// What a run gave, and how many messages it printed.
type Outcome = (Result<Vec<Array>, RunError>, usize);

/// A run by the interpreter.
///
/// # Panics
/// Where the kernel does not verify.
fn outcome(kernel: &Kernel, binding: &Binding, inputs: &[Array], scalars: &[Literal]) -> Outcome {
    let compiled = (INTERPRETER.compile)(kernel).expect("the interpreter takes every kernel");
    let mut printed = 0;
    let result = run_logged(kernel, &compiled, binding, inputs, scalars, &mut |_: &Printed| printed += 1);
    (result, printed)
}

/// The original's run.
pub struct Original<'a> {
    /// The numbers of the launch.
    pub binding: &'a Binding,
    /// Its arrays.
    pub inputs: &'a [Array],
    /// Its scalars.
    pub scalars: &'a [Literal],
    outcome: Outcome,
}

impl<'a> Original<'a> {
    /// Runs the kernel.
    pub fn run(kernel: &Kernel, binding: &'a Binding, inputs: &'a [Array], scalars: &'a [Literal]) -> Original<'a> {
        Original { binding, inputs, scalars, outcome: outcome(kernel, binding, inputs, scalars) }
    }

    /// The outputs.
    pub fn outputs(&self) -> Result<&[Array], &RunError> {
        self.outcome.0.as_deref()
    }

    /// What is wrong with a legalised form: it does not verify, its types are not those that a chip has, it fails, or an
    /// element is not close enough. What a launch gives that ends in an error is not promised.
    pub fn against(&self, legal: &Kernel, close: &dyn Fn(usize, usize, Literal, Literal) -> bool) -> Result<(), String> {
        verify(legal).map_err(|faults| format!("the legalised kernel does not verify: {faults:?}\n{legal}"))?;
        let Ok(want) = &self.outcome.0 else { return Ok(()) };
        let inputs: Vec<Array> =
            self.inputs.iter().map(|a| Array { dtype: stored(a.dtype), shape: a.shape.clone(), bytes: a.bytes.clone() }).collect();
        let scalars: Vec<Literal> = self.scalars.iter().map(|&scalar| as_word(scalar)).collect();
        let (got, printed) = outcome(legal, self.binding, &inputs, &scalars);
        let got = got.map_err(|error| format!("the legalised kernel fails: {error}\n{legal}"))?;
        if printed != self.outcome.1 {
            return Err(format!("{printed} messages, not {}\n{legal}", self.outcome.1));
        }
        for (output, (want, got)) in want.iter().zip(&got).enumerate() {
            if got.dtype != stored(want.dtype) {
                return Err(format!("output {output} is {}, not {}\n{legal}", got.dtype, stored(want.dtype)));
            }
            let got = Array { dtype: want.dtype, shape: got.shape.clone(), bytes: got.bytes.clone() };
            for (at, (w, g)) in want.elements().zip(got.elements()).enumerate() {
                if !close(output, at, w, g) {
                    return Err(format!("output {output}, element {at} of {:?}: {w:?} became {g:?}\n{legal}", want.shape));
                }
            }
        }
        Ok(())
    }
}

/// A scalar of the launch as the word that a legalised kernel takes.
fn as_word(scalar: Literal) -> Literal {
    let to = if scalar.dtype() == DType::Bool { DType::I32 } else { word(scalar.dtype()) };
    match (scalar.as_f32(), scalar.as_int()) {
        // The same NaN.
        _ if scalar.dtype() == to => scalar,
        (Some(number), _) => Literal::from_f32(to, number),
        (_, Some(number)) => Literal::from_int(to, number),
        _ => Literal::from_int(to, i64::from(scalar.bits())),
    }
}
