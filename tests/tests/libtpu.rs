//! libtpu as it is, through the pool: verdicts, reasons, places, estimates, deaths. Without `LIBTPU_PATH` nothing is checked.
//!
//! The kernels are written out, so that what is expected of libtpu depends on nothing that prints.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tpu_device::libtpu::{Estimate, Job, Library, LibtpuError, Pool, PoolOptions, Verdict};
use tpu_kernel::chips::Chip;
use tpu_tests::libtpu::{base64, library, pool};

const WORKER: &str = env!("CARGO_BIN_EXE_worker");

/// A kernel that computes `%w` from `%v`, a tile of (8, 128); the operations start in line 5, and have places in `src/a.rs`.
fn body(ops: &str) -> String {
    let memory = "memref<8x128xf32, #tpu.memory_space<vmem>>";
    format!(
        "module {{
  func.func @main(%x: {memory}, %o: {memory}) {{
    %c0 = arith.constant 0 : index
    %v = vector.load %x[%c0, %c0] : {memory}, vector<8x128xf32> loc(\"src/a.rs\":4:9)
{ops}
    vector.store %w, %o[%c0, %c0] : {memory}, vector<8x128xf32> loc(\"src/a.rs\":6:9)
    return
  }}
}}
"
    )
}

/// The call of a kernel of (8, 128) tiles in StableHLO.
fn call(result: &str, operand: &str, body: &str) -> String {
    let config =
        format!("{{\"custom_call_config\": {{\"body\": \"{}\", \"needs_layout_passes\": true}}}}", base64(body.as_bytes()));
    let layout = "[dense<[1, 0]> : tensor<2xindex>]";
    format!(
        "    {result} = stablehlo.custom_call @tpu_custom_call({operand}) {{backend_config = \"{}\", kernel_name = \"k\", \
         operand_layouts = {layout}, result_layouts = {layout}}} : (tensor<8x128xf32>) -> tensor<8x128xf32>\n",
        config.replace('"', "\\22")
    )
}

fn module(calls: &str, result: &str) -> String {
    let ty = "tensor<8x128xf32>";
    format!("module {{\n  func.func @main(%a: {ty}) -> {ty} {{\n{calls}    return {result} : {ty}\n  }}\n}}\n")
}

fn program(ops: &str) -> String {
    module(&call("%r", "%a", &body(ops)), "%r")
}

const SINE: &str = "    %w = math.sin %v : vector<8x128xf32> loc(\"src/a.rs\":5:9)";

/// A kernel on a grid whose every step has the block of that index. One past the array kills libtpu on every chip.
fn on_grid(steps: usize, block: usize) -> String {
    let memory = "memref<8x128xf32, #tpu.memory_space<vmem>>";
    let body = format!(
        "module {{
  func.func @main(%i: i32, %x: {memory}, %o: {memory}) attributes {{dimension_semantics = [#tpu.dimension_semantics<arbitrary>], \
         iteration_bounds = array<i64: {steps}>, scalar_prefetch = 0 : i64, scratch_operands = 0 : i64, window_params = [\
         {{transform_indices = @t, window_bounds = array<i64: 8, 128>}}, {{transform_indices = @t, window_bounds = array<i64: 8, 128>}}]}} {{
    %c0 = arith.constant 0 : index
    %v = vector.load %x[%c0, %c0] : {memory}, vector<8x128xf32>
    vector.store %v, %o[%c0, %c0] : {memory}, vector<8x128xf32>
    return
  }}
  func.func @t(%i: i32) -> (i32, i32) {{
    %block = arith.constant {block} : i32
    %c0 = arith.constant 0 : i32
    return %block, %c0 : i32, i32
  }}
}}
"
    );
    module(&call("%r", "%a", &body), "%r")
}

fn job(chip: &'static Chip, program: String) -> Job {
    Job { chip, program, estimate: None }
}

fn place(line: u32, column: u32) -> Option<(String, u32, u32)> {
    Some(("src/a.rs".to_string(), line, column))
}

#[test]
fn every_chip_is_known_to_one_worker() {
    let Some(library) = library() else { return };
    let options = PoolOptions { workers: 1, program: Some(WORKER.into()), ..PoolOptions::default() };
    let jobs: Vec<Job> = Chip::ALL.iter().map(|chip| job(chip, program(SINE))).collect();
    let verdicts = Pool::new(&library, options).judge(&jobs, &mut |_, _| {}).expect("libtpu can be asked");
    assert_eq!(verdicts, vec![Verdict::Accepted { estimate: Estimate::NotAsked }; Chip::ALL.len()]);
}

#[test]
fn refusals_have_a_reason_and_the_users_place() {
    let Some(library) = library() else { return };
    let narrow = "    %n = arith.fptosi %v : vector<8x128xf32> to vector<8x128xi8> loc(\"src/a.rs\":5:3)
    %m = arith.addi %n, %n : vector<8x128xi8> loc(\"src/a.rs\":5:30)
    %w = arith.sitofp %m : vector<8x128xi8> to vector<8x128xf32> loc(\"src/a.rs\":5:60)";
    let cases = [
        // Refused by a pass, by the verifier, and by the parser, which names a line of the text.
        (
            "    %w = math.asinh %v : vector<8x128xf32> loc(\"src/a.rs\":5:9)",
            "failed to legalize operation 'math.asinh'",
            place(5, 9),
        ),
        (narrow, "Not implemented: Only vector<i16> and vector<i32> are supported", place(5, 30)),
        (
            "    %w = arith.addi %v, %v : vector<8x128xf32> loc(\"src/a.rs\":5:9)",
            "Failed to parse the Mosaic module: 'arith.addi' op operand #0 must be",
            place(5, 9),
        ),
        (
            "    %w = math.nosuch %v : vector<8x128xf32> loc(\"src/a.rs\":5:9)",
            "Failed to parse the Mosaic module: custom op 'math.nosuch' is unknown",
            place(5, 9),
        ),
        ("    %w = math.asinh %v : vector<8x128xf32>", "failed to legalize operation 'math.asinh'", None),
    ];
    let jobs: Vec<Job> = cases.iter().map(|(ops, ..)| job(&Chip::V6E, program(ops))).collect();
    let verdicts = pool(WORKER, &library).judge(&jobs, &mut |_, _| {}).expect("libtpu can be asked");
    for ((ops, begins, expected), verdict) in cases.into_iter().zip(verdicts) {
        let Verdict::Refused { reason, place } = verdict else { panic!("{ops}: {verdict:?}") };
        assert!(reason.starts_with(begins) && !reason.contains('\n'), "{reason}");
        assert_eq!(place, expected, "{reason}");
    }
    let other = pool(WORKER, &library).judge(&[job(&Chip::V6E, "no program".to_string())], &mut |_, _| {});
    let expected = Verdict::Refused { reason: "custom op 'no' is unknown (tried 'builtin.no' as well)".to_string(), place: None };
    assert_eq!(other, Ok(vec![expected]));
}

#[test]
fn a_death_is_told_and_the_rest_goes_on() {
    let Some(library) = library() else { return };
    let jobs =
        [program(SINE), on_grid(1, 100), program(SINE), on_grid(1, 100), program(SINE)].map(|program| job(&Chip::V5E, program));
    let mut seen = BTreeSet::new();
    let verdicts = pool(WORKER, &library).judge(&jobs, &mut |at, _| assert!(seen.insert(at))).expect("libtpu can be asked");
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    let accepted = Verdict::Accepted { estimate: Estimate::NotAsked };
    let crashed = Verdict::Crashed { how: "SIGABRT: Check failed: llo::CouldLeS32(digits[i], bounds[i])".to_string() };
    assert_eq!(verdicts, [accepted.clone(), crashed.clone(), accepted.clone(), crashed, accepted]);
}

/// Two calls in one module are two kernels, or one that is there twice; other operations count too.
#[test]
fn estimates_are_of_the_whole_program_and_the_same_each_time() {
    let Some(library) = library() else { return };
    let one = program(SINE);
    let calls = call("%p", "%a", &body(SINE)) + &call("%r", "%p", &body(&SINE.replace("sin", "exp")));
    let two = module(&calls, "%r");
    let job = |chip, program: &str| Job { chip, program: program.to_string(), estimate: Some(program.to_string()) };
    let pool = pool(WORKER, &library);
    let judge = |jobs: &[Job]| -> Vec<Estimate> {
        let verdicts = pool.judge(jobs, &mut |_, _| {}).expect("libtpu can be asked");
        let cycles = |verdict| match verdict {
            Verdict::Accepted { estimate } => estimate,
            other => panic!("{other:?}"),
        };
        verdicts.into_iter().map(cycles).collect()
    };
    for chip in Chip::ALL {
        let jobs = [job(chip, &one), job(chip, &two), job(chip, &one)];
        let cycles = judge(&jobs);
        if chip.name == "v4" {
            assert!(cycles.iter().all(|estimate| estimate.error() == Some("libtpu has no estimates for v4")), "{cycles:?}");
            continue;
        }
        let [Estimate::Cycles(first), Estimate::Cycles(both), Estimate::Cycles(again)] = cycles[..] else {
            panic!("{}: {cycles:?}", chip.name)
        };
        assert!(first > 100 && first < 100_000 && both > first, "{}: {first} {both}", chip.name);
        assert_eq!(first, again, "{}", chip.name);
    }
}

#[test]
fn a_compile_that_takes_too_long_is_ended() {
    let Some(library) = library() else { return };
    let limit = Duration::from_millis(1);
    let options = PoolOptions { workers: 1, limit, program: Some(WORKER.into()) };
    let begin = Instant::now();
    let verdicts = Pool::new(&library, options).judge(&[job(&Chip::V5E, program(SINE))], &mut |_, _| {});
    assert_eq!(verdicts, Ok(vec![Verdict::Crashed { how: "no answer within 0.001 s".to_string() }]));
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
}

/// The processes that a process has started.
fn children(of: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").expect("Linux").filter_map(Result::ok);
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // The number of the parent is the second field after the name, which is in parentheses.
    let parent = |process: &u32| -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    numbers.filter(|process| parent(process) == Some(of)).collect()
}

fn within(limit: Duration, mut what: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    while Instant::now() < end {
        if what() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Set in the process that is interrupted while its worker compiles.
const VICTIM: &str = "TPU_TESTS_LIBTPU_VICTIM";

#[test]
fn workers_end_when_their_pools_process_is_interrupted() {
    let Some(library) = library() else { return };
    if std::env::var_os(VICTIM).is_some() {
        // The estimate follows the grid step by step: it would take minutes.
        let long = on_grid(100_000, 0);
        let job = Job { chip: &Chip::V5E, program: long.clone(), estimate: Some(long) };
        let options = PoolOptions { workers: 1, limit: Duration::from_secs(300), program: Some(WORKER.into()) };
        let verdict = Pool::new(&library, options).judge(&[job], &mut |_, _| {});
        panic!("it was not interrupted in time: {verdict:?}");
    }
    let this = std::env::current_exe().expect("a path");
    let name = "workers_end_when_their_pools_process_is_interrupted";
    let mut victim = Command::new(this);
    let mut victim = victim.args(["--exact", name]).env(VICTIM, "1").process_group(0).spawn().expect("it runs");
    let mut workers = vec![];
    let started = within(Duration::from_secs(60), || {
        workers = children(victim.id());
        // The one that judged, and the one that estimates.
        workers.len() == 2
    });
    // Long enough for libtpu to be at work; the test holds whenever the worker is.
    std::thread::sleep(Duration::from_secs(3));
    let folders: Vec<_> = workers.iter().map(|worker| std::fs::read_link(format!("/proc/{worker}/cwd"))).collect();
    let still = children(victim.id());
    // As from a terminal: to the process and all in its group.
    let interrupt = format!("kill -s INT -- -{}", victim.id());
    assert!(Command::new("/bin/sh").args(["-c", &interrupt]).status().is_ok_and(|status| status.success()));
    victim.wait().expect("it ends");
    assert!(started && still == workers, "{workers:?} {still:?}");
    for (worker, folder) in workers.into_iter().zip(folders) {
        let folder = folder.expect("a worker's folder");
        let running = || std::fs::read_to_string(format!("/proc/{worker}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
        assert!(within(Duration::from_secs(20), || !running()), "worker {worker} is still there");
        assert!(!folder.exists(), "{}", folder.display());
    }
}

/// Other libraries, with the real worker; no libtpu is needed.
#[test]
fn libraries_that_are_not_libtpu_are_refused() {
    let worker = Library::find(Some(Path::new(WORKER))).expect("a file of the right kind");
    let error = pool(WORKER, &worker).judge(&[job(&Chip::V5E, String::new())], &mut |_, _| {}).expect_err("no library");
    assert!(matches!(&error, LibtpuError::Unfit { path, .. } if path.ends_with("worker")), "{error}");
}

/// A program that is no worker, here the tests' binary run by hand, does not serve.
#[test]
fn a_worker_that_nobody_started_leaves() {
    let status = Command::new(WORKER).status().expect("it runs");
    assert_eq!(status.code(), Some(3));
}
