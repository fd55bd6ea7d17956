//! Kernels of other tests, checked: what is clean gives what it always gives, whatever memory held that nothing has written and in
//! whichever order parallel steps run and copies land; what is not ends with an error of the checks.
//!
//! `RANDOM_CHECKED=N` tries N random kernels and programs instead of 300, `RANDOM_CHECKED_FROM=S` starts at seed S. What exactly
//! is poison has its test in `random_poison`.

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tpu_kernel::exec::{Printed, RunError};
use tpu_kernel::ir::{DType, Kernel, Literal, Loc, Op, OpKind, ParamKind, Region, Semantics, Space, Type, Value};
use tpu_kernel::launch::Binding;
use tpu_kernel::passes::{canonicalise, poison, verify};
use tpu_tests::executors::{Array, CHECKED, Compiled, EXECUTORS, LENIENT, run_logged, same};
use tpu_tests::filetest::round_trip;
use tpu_tests::generate::generate;
use tpu_tests::matrix::{cases_on, names};
use tpu_tests::movement::{Program, program};

/// The codes of what only checked launches find.
const CODES: [&str; 5] = ["R015", "R016", "R017", "R018", "R019"];

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |n| n.parse().expect("a number"))
}

fn seeds(count: u64, check: impl Fn(u64) -> Result<(), String> + std::panic::RefUnwindSafe) {
    let (first, count) = (from_environment("RANDOM_CHECKED_FROM", 0), from_environment("RANDOM_CHECKED", count));
    let mut failed = vec![];
    for seed in first..first + count {
        match catch_unwind(|| check(seed)) {
            Ok(Ok(())) => {}
            Ok(Err(what)) => failed.push((seed, what)),
            Err(_) => failed.push((seed, "panicked".into())),
        }
    }
    if let Some((seed, what)) = failed.iter().min_by_key(|(_, what)| what.len()) {
        let seeds: Vec<u64> = failed.iter().map(|(seed, _)| *seed).collect();
        panic!("{} of {count} fail: {seeds:?}\nseed {seed}: {what}", failed.len());
    }
}

/// Runs in silence.
fn run(
    kernel: &Kernel,
    compiled: &Compiled,
    binding: &Binding,
    inputs: &[Array],
    scalars: &[Literal],
) -> Result<Vec<Array>, RunError> {
    run_logged(kernel, compiled, binding, inputs, scalars, &mut |_: &Printed| {})
}

/// Where the outputs differ.
fn difference(want: &[Array], got: &[Array]) -> Option<String> {
    want.iter().zip(got).enumerate().find_map(|(output, (want, got))| {
        let wrong = want.elements().zip(got.elements()).enumerate().find(|(_, (w, g))| !same(*w, *g));
        wrong.map(|(at, (w, g))| format!("output {output}, element {at}: {w:?} against {g:?}"))
    })
}

/// Random kernels leave much unwritten, so that few are clean: the tracked kernel verifies, nothing panics, and no other error comes.
#[test]
fn random_kernels_end_as_ever_or_with_an_error_of_the_checks() {
    seeds(300, |seed| {
        let mut case = generate(seed);
        canonicalise(&mut case.kernel);
        let kernel = &case.kernel;
        let tracked = poison::track(kernel).kernel;
        verify(&tracked).map_err(|faults| format!("tracked, it does not verify: {faults:?}\n{tracked}"))?;
        round_trip(&tracked)?;
        let compiled = (EXECUTORS[0].compile)(kernel)?;
        let want = run(kernel, &compiled, &case.binding, &case.inputs, &case.scalars);
        let parallel = kernel.grid.iter().any(|dim| dim.semantics == Semantics::Parallel);
        for executor in CHECKED {
            let compiled = (executor.compile)(kernel).map_err(|e| format!("{e}\n{kernel}"))?;
            let got = run(kernel, &compiled, &case.binding, &case.inputs, &case.scalars);
            let wrong = match (&got, &want) {
                (Ok(got), Ok(want)) => difference(want, got),
                (Err(error), _) if CODES.contains(&error.code()) => None,
                // In another order another step may be the first that fails, and each core has a generator of its own.
                (Err(error), Err(want)) if error.code() == want.code() => None,
                (Err(RunError::Unseeded { .. }), _) if parallel => None,
                (got, want) => Some(format!("{:?} against {:?}", got.as_ref().err(), want.as_ref().err())),
            };
            if let Some(wrong) = wrong {
                return Err(format!("{}: {wrong}\n{kernel}", executor.name));
            }
        }
        Ok(())
    });
}

/// Fills scratch at the start.
fn filled(kernel: &mut Kernel) {
    let mut ops = vec![];
    for (at, param) in kernel.params.clone().iter().enumerate() {
        let (ParamKind::Scratch, Type::Ref(space, dtype, shape)) = (&param.kind, param.ty) else { continue };
        let memory = kernel.body.args[at];
        let mut emit = |(kind, operands, ty): (OpKind, Vec<Value>, Option<Type>)| {
            let results: Vec<Value> = ty.map(|ty| kernel.new_value(ty)).into_iter().collect();
            ops.push(Op { kind, operands, results: results.clone(), regions: vec![], loc: Loc::UNKNOWN });
            results.first().copied().unwrap_or(Value(0))
        };
        let scalar = emit((OpKind::Const(Literal::from_f64(dtype, 1.0)), vec![], Some(Type::Scalar(dtype))));
        let index = |n: usize| (OpKind::Const((n as i32).into()), vec![], Some(Type::Scalar(DType::I32)));
        if space == Space::Vmem {
            let zeros: Vec<Value> = shape.dims().iter().map(|_| emit(index(0))).collect();
            let tile = emit((OpKind::Broadcast(shape), vec![scalar], Some(Type::Tile(dtype, shape))));
            emit((OpKind::Store, [vec![memory, tile], zeros].concat(), None));
        } else {
            for element in 0..shape.elements() {
                let mut rest = element;
                let mut indices: Vec<Value> = vec![];
                for &extent in shape.dims().iter().rev() {
                    indices.insert(0, emit(index(rest % extent)));
                    rest /= extent;
                }
                emit((OpKind::StoreScalar, [vec![memory, scalar], indices].concat(), None));
            }
        }
    }
    kernel.body.ops.splice(0..0, ops);
}

/// Programs that wait for their copies have no race and no deadlock, and leave what they leave unchecked: where nothing of an
/// array that is not filled is read.
#[test]
fn random_programs_that_wait_are_clean() {
    let clean = AtomicU64::new(0);
    seeds(300, |seed| {
        let Program { mut kernel, binding, inputs, scalars, .. } = program(seed);
        filled(&mut kernel);
        verify(&kernel).map_err(|faults| format!("{faults:?}"))?;
        let plain = (EXECUTORS[1].compile)(&kernel)?;
        let want = run(&kernel, &plain, &binding, &inputs, &scalars).map_err(|e| e.to_string())?;
        for executor in LENIENT {
            let compiled = (executor.compile)(&kernel)?;
            match run(&kernel, &compiled, &binding, &inputs, &scalars) {
                Ok(got) if got == want => _ = clean.fetch_add(1, Relaxed),
                Err(error) if error.code() == "R015" => {}
                got => return Err(format!("{}: {got:?}\nwant {want:?}\n{kernel}", executor.name)),
            }
        }
        Ok(())
    });
    let clean = clean.into_inner();
    assert!(clean > 100, "some are clean: {clean}");
}

/// Moves each wait for a copy to the end of its region.
fn wait_late(region: &mut Region) -> bool {
    let (waits, mut ops): (Vec<_>, Vec<_>) = std::mem::take(&mut region.ops).into_iter().partition(|op| op.kind == OpKind::DmaWait);
    let moved = !waits.is_empty();
    ops.extend(waits);
    region.ops = ops;
    region.ops.iter_mut().flat_map(|op| &mut op.regions).fold(moved, |moved, inner| wait_late(inner) | moved)
}

/// Programs whose waits come late are found out, or it makes no difference: never another answer in silence.
#[test]
fn random_programs_that_wait_late_are_found() {
    let found = AtomicU64::new(0);
    seeds(300, |seed| {
        let Program { mut kernel, binding, inputs, scalars, outputs } = program(seed);
        if !wait_late(&mut kernel.body) || verify(&kernel).is_err() {
            return Ok(());
        }
        for executor in CHECKED {
            let compiled = (executor.compile)(&kernel)?;
            match run(&kernel, &compiled, &binding, &inputs, &scalars) {
                Ok(got) if got == outputs => {}
                Ok(got) => return Err(format!("{}: {got:?}\nwant {outputs:?}\n{kernel}", executor.name)),
                Err(_) => _ = found.fetch_add(1, Relaxed),
            }
        }
        Ok(())
    });
    assert!(found.into_inner() > 100, "late waits show");
}

/// One operation after the other on whole arrays: no false alarm. On ragged ones padding is found where it counts, or is dropped.
#[test]
fn operations_on_whole_arrays_are_clean() {
    let (mut whole, mut ragged) = (0, [0; 2]);
    for name in names().0 {
        for case in cases_on(name, &[&[130], &[3, 7]]) {
            let plain = (EXECUTORS[1].compile)(&case.kernel).expect("it compiles");
            for executor in &CHECKED[1..2] {
                let checked = (executor.compile)(&case.kernel).expect("it compiles");
                for given in &case.runs {
                    let want = run(&case.kernel, &plain, &given.binding, &given.inputs, &[]).expect("it runs");
                    let got = run(&case.kernel, &checked, &given.binding, &given.inputs, &[]);
                    let blocks = case.kernel.params.iter().zip(&given.binding.arrays).filter_map(|(p, a)| Some((p.window()?, a)));
                    let is_whole = blocks
                        .clone()
                        .all(|(window, array)| window.block.iter().zip(array).all(|(b, &n)| n.is_multiple_of(b.size())));
                    match got {
                        Ok(got) => {
                            assert_eq!(difference(&want, &got), None, "{}, {}", case.name, executor.name);
                            whole += usize::from(is_whole);
                            ragged[0] += usize::from(!is_whole);
                        }
                        Err(error) => {
                            assert!(!is_whole && error.code() == "R015", "{}, {}: {error}", case.name, executor.name);
                            ragged[1] += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(whole > 500 && ragged.iter().all(|&n| n > 100), "{whole} whole, {ragged:?} ragged");
}
