//! Random kernels with their poison tracked. All poison comes into values by loads: so what is loaded as poison is replaced by one
//! number, then by another, and no element that is said to be no poison may differ, nor from what the kernel always gives.
//!
//! What is computed beside the data leaves it as it is, poison too.
//!
//! `RANDOM_POISON=N` tries N kernels instead of 500, `RANDOM_POISON_FROM=S` starts at seed S.

use std::panic::catch_unwind;
use tpu_kernel::exec::{Printed, RunError};
use tpu_kernel::ir::{DType, Kernel, Literal, Op, OpKind, ParamKind, Region, Type, Value};
use tpu_kernel::launch::Binding;
use tpu_kernel::passes::poison::{Tracked, track};
use tpu_kernel::passes::{canonicalise, verify};
use tpu_tests::executors::{Array, EXECUTORS, Executor, run_logged, same};
use tpu_tests::generate::{Case, generate};
use tpu_tests::tracked::with_windows;

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |n| n.parse().expect("a number"))
}

/// The tracked kernel with the shadows of windows as windows, and another number in the place of each loaded poison.
fn replaced(original: &Kernel, tracked: &Tracked, by: f64) -> Kernel {
    let mut kernel = with_windows(original, tracked);
    let mut body = std::mem::take(&mut kernel.body);
    replace(&mut body, &mut kernel, tracked, by);
    kernel.body = body;
    kernel
}

fn replace(region: &mut Region, kernel: &mut Kernel, tracked: &Tracked, by: f64) {
    let mut ops: Vec<Op> = vec![];
    for mut op in std::mem::take(&mut region.ops) {
        op.regions.iter_mut().for_each(|inner| replace(inner, kernel, tracked, by));
        let shadow = tracked.shadows.get(op.operands.first().unwrap_or(&Value(u32::MAX))).copied();
        // The shadow is loaded just before.
        let poison = match (&op.kind, shadow, ops.last()) {
            (OpKind::Load(_) | OpKind::LoadScalar, Some(shadow), Some(before)) if before.operands[0] == shadow => {
                Some(before.results[0])
            }
            _ => None,
        };
        let Some(poison) = poison else {
            ops.push(op);
            continue;
        };
        let (result, loc) = (op.results[0], op.loc.clone());
        let ty = kernel.ty(result);
        op.results[0] = kernel.new_value(ty);
        let loaded = op.results[0];
        ops.push(op);
        let mut emit = |kind: OpKind, operands: Vec<Value>, result: Value| {
            ops.push(Op { kind, operands, results: vec![result], regions: vec![], loc: loc.clone() });
        };
        let number = kernel.new_value(Type::Scalar(ty.dtype()));
        emit(OpKind::Const(Literal::from_f64(ty.dtype(), by)), vec![], number);
        let mut other = number;
        if let Type::Tile(_, shape) = ty {
            other = kernel.new_value(ty);
            emit(OpKind::Broadcast(shape), vec![number], other);
        }
        emit(OpKind::Select, vec![poison, other, loaded], result);
    }
    region.ops = ops;
}

/// The values of outputs and what says which of them are poison.
fn outcome(executor: Executor, case: &Case, kernel: &Kernel) -> Result<Result<Vec<Array>, RunError>, String> {
    verify(kernel).map_err(|faults| format!("it does not verify: {faults:?}\n{kernel}"))?;
    let own = &case.binding.arrays;
    let shadowed = case.kernel.params.iter().zip(own).filter(|(param, _)| param.ty.is_ref());
    let arrays: Vec<Vec<usize>> = own.iter().cloned().chain(shadowed.map(|(_, array)| array.clone())).collect();
    let binding = Binding { arrays, ..case.binding.clone() };
    let windows = case.kernel.params.iter().zip(own).filter(|(param, _)| matches!(param.kind, ParamKind::In(_)));
    let clean = windows.map(|(_, array)| Array::filled(array, Literal::from(false)));
    let inputs: Vec<Array> = case.inputs.iter().cloned().chain(clean).collect();
    let compiled = (executor.compile)(kernel)?;
    Ok(run_logged(kernel, &compiled, &binding, &inputs, &case.scalars, &mut |_: &Printed| {}))
}

/// How many elements of outputs were compared, and how many are poison; nothing where the kernel ends in an error.
fn check(seed: u64) -> Result<Option<(usize, usize)>, String> {
    let mut case = generate(seed);
    canonicalise(&mut case.kernel);
    let tracked = track(&case.kernel);
    let kernel = &case.kernel;
    let compiled = (EXECUTORS[0].compile)(kernel)?;
    let want = run_logged(kernel, &compiled, &case.binding, &case.inputs, &case.scalars, &mut |_: &Printed| {});
    let Ok(want) = want else { return Ok(None) };
    let beside = with_windows(kernel, &tracked);
    for &executor in EXECUTORS {
        match outcome(executor, &case, &beside)? {
            Ok(got) => {
                let equal = |(w, g): (&Array, &Array)| w.elements().zip(g.elements()).all(|(w, g)| same(w, g));
                if !want.iter().zip(&got).all(equal) {
                    return Err(format!("{}: the data is {got:?}, was {want:?}\n{kernel}", executor.name));
                }
            }
            Err(RunError::Poison { .. }) => {}
            Err(error) => return Err(format!("{}: {error}\n{kernel}", executor.name)),
        }
    }
    let mut counts = (0, 0);
    for by in [1.0, 77.0] {
        for &executor in EXECUTORS {
            let got = match outcome(executor, &case, &replaced(kernel, &tracked, by))? {
                Ok(got) => got,
                // It came where it may not.
                Err(RunError::Poison { .. }) => return Ok(None),
                Err(error) => return Err(format!("{} with {by}: {error}\n{kernel}", executor.name)),
            };
            let (values, shadows) = got.split_at(want.len());
            for (output, (want, (got, shadow))) in want.iter().zip(values.iter().zip(shadows)).enumerate() {
                for (at, ((w, g), poison)) in want.elements().zip(got.elements()).zip(shadow.elements()).enumerate() {
                    if poison.bits() != 0 {
                        counts.1 += 1;
                    } else if same(w, g) {
                        counts.0 += 1;
                    } else {
                        let what = format!("output {output}, element {at}: {w:?} against {g:?}, and it is said to be no poison");
                        return Err(format!("{} with {by}: {what}\n{kernel}", executor.name));
                    }
                }
            }
        }
    }
    assert!(kernel.params.iter().all(|p| p.ty.dtype() != DType::Bool || p.ty.is_value() || p.ty.is_ref()));
    Ok(Some(counts))
}

#[test]
fn what_is_no_poison_does_not_hang_on_poison() {
    let first = from_environment("RANDOM_POISON_FROM", 0);
    let count = from_environment("RANDOM_POISON", 500);
    let (mut failed, mut ran, mut clean, mut poison) = (vec![], 0, 0, 0);
    for seed in first..first + count {
        match catch_unwind(|| check(seed)) {
            Ok(Ok(None)) => {}
            Ok(Ok(Some(counts))) => (ran, clean, poison) = (ran + 1, clean + counts.0, poison + counts.1),
            Ok(Err(what)) => failed.push((seed, what)),
            Err(_) => failed.push((seed, "panicked".into())),
        }
    }
    if let Some((seed, what)) = failed.iter().min_by_key(|(_, what)| what.len()) {
        let seeds: Vec<u64> = failed.iter().map(|(seed, _)| *seed).collect();
        panic!("{} of {count} kernels fail: {seeds:?}\nkernel {seed}: {what}", failed.len());
    }
    // Neither everything nor nothing is poison, in kernels enough.
    assert!(
        count < 100 || (ran * 4 > count && clean * 10 > poison && poison * 100 > clean),
        "{ran} ran: {clean} clean, {poison} poison"
    );
}
