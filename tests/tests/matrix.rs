//! Every operation of the IR's table, with every element type that it takes, on every shape: interpreter and machine code
//! give the same bits.
//!
//! A test an operation. An operation that has a row in the table but no sample in `tpu_tests::matrix` fails here.

use libtest_mimic::{Arguments, Failed, Trial};
use tpu_kernel::passes::verify;
use tpu_tests::executors::{EXECUTORS, run, same};
use tpu_tests::matrix::{Case, cases, names};

/// Operations that are no computation on tiles, and the tests that run them.
const ELSEWHERE: [(&str, &str); 32] = [
    ("const", "filetests, random_kernels"),
    ("core_signal", "filetests, cores"),
    ("load", "every case loads"),
    ("store", "every case stores"),
    ("program_id", "rotate's amount"),
    ("num_programs", "filetests, random_kernels"),
    ("size", "filetests, random_kernels"),
    ("if", "filetests, random_kernels"),
    ("for", "filetests, random_kernels"),
    ("while", "filetests, random_kernels"),
    ("prng_seed", "prng_bits"),
    ("print", "filetests"),
    ("check", "filetests, random_kernels"),
    ("defined", "filetests, checked, random_checked"),
    ("load_scalar", "filetests, random_movement"),
    ("store_scalar", "filetests, random_movement"),
    ("view", "filetests, random_movement, random_views"),
    ("view_squeezed", "filetests, random_movement"),
    ("view_reshaped", "filetests, random_movement, random_views"),
    ("view_transposed", "filetests, random_movement, random_views"),
    ("view_bitcast", "filetests, random_views"),
    ("load_masked", "filetests, random_masked"),
    ("store_masked", "filetests, random_masked"),
    ("remote_dma_start", "filetests, mesh"),
    ("device_id", "filetests, mesh"),
    ("dma_start", "filetests, random_movement, random_copies"),
    ("dma_wait", "filetests, random_movement, random_copies"),
    ("semaphore_at", "filetests, random_movement"),
    ("semaphore_signal", "filetests, random_movement"),
    ("semaphore_wait", "filetests, random_movement"),
    ("semaphore_read", "filetests, random_movement"),
    ("scoped", "filetests, random_movement"),
];

fn main() {
    let arguments = Arguments::from_args();
    let (sampled, others) = names();
    let mut trials: Vec<Trial> = sampled.into_iter().map(|name| Trial::test(name, move || operation(name))).collect();
    trials.push(Trial::test("operations_of_other_tests_are_known", move || {
        let mut known: Vec<&str> = ELSEWHERE.iter().map(|(name, _)| *name).collect();
        let mut others = others;
        known.sort_unstable();
        others.sort_unstable();
        if known == others { Ok(()) } else { Err(format!("{others:?}, listed are {known:?}").into()) }
    }));
    libtest_mimic::run(&arguments, trials).exit();
}

fn operation(name: &str) -> Result<(), Failed> {
    let all = cases(name);
    let wrong: Vec<String> = all.iter().filter_map(|case| check(case).err()).collect();
    match wrong.first() {
        None => Ok(()),
        Some(first) => Err(format!("{} of {} combinations: {first}", wrong.len(), all.len()).into()),
    }
}

fn check(case: &Case) -> Result<(), String> {
    let Case { name, kernel, runs } = case;
    verify(kernel).map_err(|faults| format!("{name}: {faults:?}"))?;
    let [oracle, other] = EXECUTORS else { return Err("two executors".into()) };
    let [want, got] = [oracle, other].map(|executor| (executor.compile)(kernel));
    let (want, got) = (want?, got.map_err(|e| format!("{name}: {e}"))?);
    for given in runs {
        let outputs = [&want, &got].map(|compiled| run(kernel, compiled, &given.binding, &given.inputs, &[]));
        let [Ok(want), Ok(got)] = outputs else { return Err(format!("{name}: {outputs:?}")) };
        for (want, got) in want.iter().zip(&got) {
            for (at, (w, g)) in want.elements().zip(got.elements()).enumerate() {
                if !same(w, g) {
                    return Err(format!("{name}, arrays {:?}: element {at}: {w:?} against {g:?}", given.binding.arrays));
                }
            }
        }
    }
    Ok(())
}
