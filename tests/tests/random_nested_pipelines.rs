//! Random pipelines in pipelines against a loop that takes one block at a time: in every executor, as recorded and made canonical,
//! and lowered for chips, by the interpreter; some of them before libtpu.
//!
//! `RANDOM_PIPELINES=N` tries N seeds instead of 40, `RANDOM_PIPELINES_FROM=S` starts at seed S.

use tpu_kernel::chips::Chip;
use tpu_kernel::exec::Printed;
use tpu_kernel::ir::{DType, Kernel, Literal};
use tpu_kernel::legalise::legalise;
use tpu_tests::executors::{Array, EXECUTORS, Executor, INTERPRETER, run_logged};
use tpu_tests::libtpu::{accepted, judge, library};
use tpu_tests::nested::Plan;

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |n| n.parse().expect("a number"))
}

fn array((shape, values): &(Vec<usize>, Vec<i32>)) -> Array {
    Array::new(DType::I32, shape, values.iter().map(|&v| Literal::from(v)))
}

fn check(plan: &Plan) -> Result<(), String> {
    let (built, want) = (plan.built(), plan.outputs());
    let inputs = plan.inputs();
    let arrays: Vec<Array> = inputs.iter().map(array).collect();
    let shapes: Vec<(DType, Vec<usize>)> = inputs.iter().map(|(shape, _)| (DType::I32, shape.clone())).collect();
    let binding = built.bind(&Chip::V5E, &shapes).map_err(|e| format!("{e:?}"))?.binding;
    let run = |executor: &Executor, form: &str, kernel: &Kernel| {
        let compiled = (executor.compile)(kernel)?;
        let got = run_logged(kernel, &compiled, &binding, &arrays, &[], &mut |_: &Printed| ());
        let got = got.map_err(|e| format!("{}, {form}: {e}", executor.name))?;
        for (at, (got, want)) in got.iter().zip(&want).enumerate() {
            let wrong = got.elements().zip(want).position(|(got, &want)| got.as_i32() != Some(want));
            if let Some(place) = wrong {
                return Err(format!(
                    "{}, {form}: output {at} differs at row {}, column {}",
                    executor.name,
                    place / 128,
                    place % 128
                ));
            }
        }
        Ok(())
    };
    for executor in EXECUTORS {
        run(executor, "as recorded", &built.recorded)?;
        run(executor, "canonical", &built.kernel)?;
    }
    for chip in [&Chip::V4, &Chip::V5E, &Chip::TPU7X] {
        let legal = legalise(&built.kernel, chip).map_err(|e| format!("{}: {e}", chip.name))?;
        run(&INTERPRETER, chip.name, &legal)?;
    }
    Ok(())
}

#[test]
fn pipelines_leave_what_loops_leave() {
    let (first, count) = (from_environment("RANDOM_PIPELINES_FROM", 0), from_environment("RANDOM_PIPELINES", 40));
    for seed in first..first + count {
        let plan = Plan::random(seed);
        if let Err(wrong) = check(&plan) {
            panic!("seed {seed}: {wrong}\n{plan:#?}");
        }
    }
}

/// Plans that put all outputs to use, so that a reference that writes nothing would be found.
#[test]
fn every_output_is_written_by_some_plan() {
    let mut written = [false; 6];
    for seed in 0..20 {
        for (seen, output) in written.iter_mut().zip(Plan::random(seed).outputs()) {
            *seen |= output.iter().any(|&v| v != 0);
        }
    }
    assert_eq!(written, [true; 6]);
}

#[test]
fn libtpu_takes_random_pipelines() {
    let Some(library) = library() else { return };
    for chip in Chip::ALL {
        let text = |seed: u64| {
            let plan = Plan::random(seed);
            let shapes: Vec<_> = plan.inputs().into_iter().map(|(shape, _)| (DType::I32, shape)).collect();
            let built = plan.built();
            let text = built.bind(chip, &shapes).and_then(|bound| bound.stablehlo());
            text.unwrap_or_else(|e| panic!("seed {seed} on {}: {e:?}", chip.name))
        };
        let verdicts = judge(env!("CARGO_BIN_EXE_worker"), &library, chip, (0..6).map(text).collect());
        for (seed, verdict) in verdicts.iter().enumerate() {
            assert!(accepted(verdict), "seed {seed} on {}: {verdict:?}", chip.name);
        }
    }
}
