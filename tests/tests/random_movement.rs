//! Random programs that move memory by hand (views, copies, semaphores, scalar memory, regions) against an oracle that indexes
//! lists, in every executor, as written, read from their text, and canonicalised.
//!
//! `RANDOM_MOVEMENT=N` tries N seeds instead of 300, `RANDOM_MOVEMENT_FROM=S` starts at seed S.

use std::collections::BTreeSet;
use tpu_kernel::exec::Printed;
use tpu_kernel::ir::{Kernel, Region};
use tpu_kernel::passes::{canonicalise, verify};
use tpu_tests::executors::{EXECUTORS, run_logged};
use tpu_tests::filetest::round_trip;
use tpu_tests::movement::{OPERATIONS, Program, program};

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |n| n.parse().expect("a number"))
}

fn check(program: &Program) -> Result<(), String> {
    let Program { kernel, binding, inputs, scalars, outputs } = program;
    verify(kernel).map_err(|faults| format!("{faults:?}"))?;
    round_trip(kernel)?;
    let mut canonical = kernel.clone();
    canonicalise(&mut canonical);
    verify(&canonical).map_err(|faults| format!("canonical: {faults:?}"))?;
    for executor in EXECUTORS {
        for (form, kernel) in [("as written", kernel), ("canonical", &canonical)] {
            let compiled = (executor.compile)(kernel)?;
            let mut log = |_: &Printed| {};
            let got = run_logged(kernel, &compiled, binding, inputs, scalars, &mut log);
            let got = got.map_err(|e| format!("{}, {form}: {e}", executor.name))?;
            if got != *outputs {
                return Err(format!("{}, {form}: {got:?}\nwant {outputs:?}", executor.name));
            }
        }
    }
    Ok(())
}

#[test]
fn random_programs_leave_what_lists_leave() {
    let (first, count) = (from_environment("RANDOM_MOVEMENT_FROM", 0), from_environment("RANDOM_MOVEMENT", 300));
    for seed in first..first + count {
        let program = program(seed);
        if let Err(wrong) = check(&program) {
            panic!("seed {seed}: {wrong}\n{}", program.kernel);
        }
    }
}

#[test]
fn random_programs_have_every_operation_on_memory() {
    fn names(region: &Region, seen: &mut BTreeSet<&'static str>) {
        for op in &region.ops {
            seen.insert(op.kind.mnemonic());
            op.regions.iter().for_each(|r| names(r, seen));
        }
    }
    let mut seen = BTreeSet::new();
    let all: Vec<Kernel> = (0..50).map(|seed| program(seed).kernel).collect();
    all.iter().for_each(|kernel| names(&kernel.body, &mut seen));
    for name in OPERATIONS {
        assert!(seen.contains(name), "no `{name}`");
    }
}
