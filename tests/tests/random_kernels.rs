//! Random kernels: verified, printed and read, canonicalised, and run by every executor.
//!
//! `RANDOM_KERNELS=N` tries N seeds instead of 1000, `RANDOM_KERNELS_FROM=S` starts at seed S.

use std::panic::catch_unwind;
use tpu_kernel::exec::{Printed, RunError};
use tpu_kernel::ir::table::{self, State};
use tpu_kernel::ir::{Kernel, OpKind, Region};
use tpu_kernel::passes::{canonicalise, verify};
use tpu_tests::executors::{Array, EXECUTORS, Executor, run_logged, same};
use tpu_tests::filetest::round_trip;
use tpu_tests::generate::{Case, generate};
use tpu_tests::movement::OPERATIONS;

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |n| n.parse().expect("a number"))
}

/// What became of a run, and what it printed.
type Outcome = (Result<Vec<Array>, RunError>, Vec<Printed>);

fn outcome(executor: Executor, kernel: &Kernel, case: &Case) -> Result<Outcome, String> {
    let compiled = (executor.compile)(kernel)?;
    let mut printed = vec![];
    let mut log = |message: &Printed| printed.push(message.clone());
    let result = run_logged(kernel, &compiled, &case.binding, &case.inputs, &case.scalars, &mut log);
    Ok((result, printed))
}

fn faults(kernel: &Kernel) -> Result<(), String> {
    verify(kernel).map_err(|faults| faults.iter().map(|f| format!("{} {} `{}` {f}\n", f.loc, f.rule.code(), f.at)).collect())
}

/// Where two outcomes differ.
fn difference((want, expected): &Outcome, (got, printed): &Outcome) -> Option<String> {
    if let Some((want, got)) = expected.iter().zip(printed).find(|(want, got)| want != got) {
        return Some(format!("{want:?} against {got:?} is printed"));
    }
    if expected.len() != printed.len() {
        return Some(format!("{} against {} messages are printed", expected.len(), printed.len()));
    }
    match (want, got) {
        (Ok(want), Ok(got)) => {
            for (output, (want, got)) in want.iter().zip(got).enumerate() {
                for (at, (w, g)) in want.elements().zip(got.elements()).enumerate() {
                    if !same(w, g) {
                        return Some(format!("output {output}{:?}, element {at}: {w:?} against {g:?}", want.shape));
                    }
                }
            }
            None
        }
        (want, got) if want == got => None,
        (want, got) => {
            let short =
                |outcome: &Result<Vec<Array>, RunError>| outcome.as_ref().map_or_else(ToString::to_string, |_| "values".into());
            Some(format!("{} against {}", short(want), short(got)))
        }
    }
}

fn check(seed: u64) -> Result<Result<(), RunError>, String> {
    let case = generate(seed);
    let kernel = &case.kernel;
    faults(kernel).map_err(|e| format!("does not verify: {e}\n{kernel}"))?;
    round_trip(kernel)?;
    let mut canonical = kernel.clone();
    canonicalise(&mut canonical);
    faults(&canonical).map_err(|e| format!("does not verify when canonicalised: {e}\n{kernel}\n{canonical}"))?;
    round_trip(&canonical)?;
    let oracle = outcome(EXECUTORS[0], kernel, &case)?;
    for (form, kernel) in [("as written", kernel), ("canonicalised", &canonical)] {
        for &executor in EXECUTORS {
            let name = executor.name;
            let got = outcome(executor, kernel, &case).map_err(|e| format!("{name}, {form}: {e}\n{kernel}"))?;
            if let Some(what) = difference(&oracle, &got) {
                return Err(format!("{name}, {form}: {what}\n{kernel}\n{:?} {:?}", case.binding, case.scalars));
            }
        }
    }
    Ok(oracle.0.map(drop))
}

#[test]
fn executors_agree_on_random_kernels() {
    let first = from_environment("RANDOM_KERNELS_FROM", 0);
    let count = from_environment("RANDOM_KERNELS", 1000);
    let (mut failed, mut errors) = (vec![], 0);
    for seed in first..first + count {
        match catch_unwind(|| check(seed)) {
            Ok(Ok(outcome)) => errors += u64::from(outcome.is_err()),
            Ok(Err(what)) => failed.push((seed, what)),
            Err(_) => failed.push((seed, "panicked".into())),
        }
    }
    if let Some((seed, what)) = failed.iter().min_by_key(|(_, what)| what.len()) {
        let seeds: Vec<u64> = failed.iter().map(|(seed, _)| *seed).collect();
        panic!("{} of {count} seeds fail: {seeds:?}\nseed {seed}: {what}", failed.len());
    }
    // Most kernels run to their end, and some do not: both paths are compared.
    assert!(errors * 4 < count, "{errors} of {count} kernels end in an error");
    assert!(errors > 0 || count < 100, "no kernel ends in an error");
}

/// Counts the operations of a region and of those inside it.
fn visit(region: &Region, seen: &mut dyn FnMut(&OpKind)) {
    for op in &region.ops {
        seen(&op.kind);
        op.regions.iter().for_each(|inner| visit(inner, seen));
    }
}

#[test]
fn the_generator_reaches_every_operation() {
    let mut seen = std::collections::BTreeMap::<String, usize>::new();
    for seed in 0..1000 {
        visit(&generate(seed).kernel.body, &mut |kind| *seen.entry(table::row_of(kind)).or_default() += 1);
    }
    // Those on memory moved by hand are in random programs of their own: `random_movement`, `random_views`, `random_masked`, `mesh`,
    // `random_mesh`; signals between cores are in `cores`.
    let views = ["view_reshaped", "view_transposed", "view_bitcast", "load_masked", "store_masked"];
    let others = ["remote_dma_start", "device_id", "core_signal"];
    let elsewhere = |name: &str| OPERATIONS.contains(&name) || views.contains(&name) || others.contains(&name);
    let all = table::operations().filter(|row| row.state == State::Implemented && !elsewhere(row.mnemonic));
    for row in all {
        let count = seen.get(row.mnemonic).copied().unwrap_or(0);
        assert!(count >= 10, "`{}` occurs {count} times", row.mnemonic);
    }
}

#[test]
fn the_same_seed_gives_the_same_kernel() {
    assert_eq!(generate(7).kernel, generate(7).kernel);
    assert_ne!(generate(7).kernel.body, generate(8).kernel.body);
}
