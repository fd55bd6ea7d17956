//! Pools whose workers are shell scripts.

use super::*;
use std::path::Path;
use std::time::Instant;

/// A pool of scripts; each is ready, then runs the commands given for each question.
fn pool(each: &str, workers: usize, limit: Duration) -> Pool {
    scripts(&format!("echo '\"ready\"' >&0; while read -r q; do {each}; done"), workers, limit)
}

fn scripts(script: &str, workers: usize, limit: Duration) -> Pool {
    let library = Library::find(std::env::current_exe().ok().as_deref()).expect("a file of the right kind");
    let mut pool = Pool::new(&library, PoolOptions { workers, limit, program: Some("/bin/sh".into()) });
    pool.args = vec!["-c".to_string(), script.to_string()];
    pool
}

fn jobs(programs: &[&str]) -> Vec<Job> {
    programs.iter().map(|program| Job { chip: &Chip::V6E, program: program.to_string(), estimate: None }).collect()
}

/// What a worker does with a question: by its program.
const BY_PROGRAM: &str = "case $q in
    *good*) echo '{\"accepted\":null}' >&0;;
    *bad*) echo '{\"refused\":\"-:1:2: error: no such thing\"}' >&0;;
    *die*) kill -SEGV $$;;
    *hang*) exec sleep 60;;
    *garble*) echo what >&0;;
    *who*) echo \"{\\\"refused\\\":\\\"$$\\\"}\" >&0;;
    *old*) echo '{\"unfit\":\"it is old\"}' >&0;;
    esac";

const LONG: Duration = Duration::from_secs(30);

fn accepted() -> Verdict {
    Verdict::Accepted { estimate: Estimate::NotAsked }
}

fn crashed(how: &str) -> Verdict {
    Verdict::Crashed { how: how.to_string() }
}

#[test]
fn any_limit_will_do() {
    let good = jobs(&["good", "good"]);
    for limit in [Duration::MAX, Duration::from_secs(u64::MAX), Duration::from_secs(i64::MAX as u64), LONG] {
        assert_eq!(pool(BY_PROGRAM, 1, limit).judge(&good, &mut |_, _| {}), Ok(vec![accepted(); 2]), "{limit:?}");
    }
    let none = pool(BY_PROGRAM, 1, Duration::ZERO).judge(&good, &mut |_, _| {});
    assert_eq!(none, Ok(vec![crashed("no answer within 0 s"); 2]));
}

#[test]
fn each_job_gets_its_verdict() {
    let programs = ["good", "die", "bad", "good", "garble", "die", "good"];
    let refused = Verdict::Refused { reason: "no such thing".to_string(), place: None };
    let none = crashed("its answer is none");
    let expected = [accepted(), crashed("SIGSEGV"), refused, accepted(), none, crashed("SIGSEGV"), accepted()];
    for workers in [0, 1, 3, 20] {
        let mut seen = vec![None; programs.len()];
        let verdicts = pool(BY_PROGRAM, workers, LONG)
            .judge(&jobs(&programs), &mut |at, verdict| assert!(seen[at].replace(verdict.clone()).is_none()))
            .expect("verdicts");
        assert_eq!(verdicts, expected, "{workers} workers");
        assert_eq!(seen.into_iter().flatten().collect::<Vec<_>>(), expected, "{workers} workers");
    }
    assert_eq!(pool(BY_PROGRAM, 2, LONG).judge(&[], &mut |_, _| panic!("no job")), Ok(vec![]));
}

#[test]
fn a_program_that_hangs_costs_its_time_only() {
    let begin = Instant::now();
    let verdicts = pool(BY_PROGRAM, 2, Duration::from_millis(500)).judge(&jobs(&["hang", "good", "hang", "good"]), &mut |_, _| {});
    let late = || crashed("no answer within 0.5 s");
    assert_eq!(verdicts, Ok(vec![late(), accepted(), late(), accepted()]));
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

/// The processes that answered.
fn processes(pool: &Pool, programs: &[&str]) -> Vec<String> {
    let verdicts = pool.judge(&jobs(programs), &mut |_, _| {}).expect("verdicts");
    verdicts.into_iter().filter_map(|v| if let Verdict::Refused { reason, .. } = v { Some(reason) } else { None }).collect()
}

#[test]
fn workers_are_reused_until_they_die() {
    let pool = pool(BY_PROGRAM, 1, LONG);
    let first = processes(&pool, &["who", "good", "who"]);
    assert_eq!(first[0], first[1]);
    assert_eq!(processes(&pool, &["who"]), [first[0].clone()]);
    let after = processes(&pool, &["die", "who", "who"]);
    assert_eq!(after[0], after[1]);
    assert_ne!(after[0], first[0]);
}

/// A worker that takes one program only: what it did before is not the program's fault.
#[test]
fn a_death_is_the_programs_fault_only_in_a_new_worker() {
    let once = scripts("echo '\"ready\"' >&0; read -r q; echo '{\"accepted\":null}' >&0; read -r q; kill -SEGV $$", 1, LONG);
    assert_eq!(once.judge(&jobs(&["a", "b", "c"]), &mut |_, _| {}), Ok(vec![accepted(), accepted(), accepted()]));
}

#[test]
fn estimates_count_only_where_they_are_made() {
    let estimating = "case $TPU_DEVICE_WORKER_ESTIMATES$q in
        1*good*) echo '{\"accepted\":41}' >&0;;
        1*fails*) echo '{\"refused\":\"no estimate\"}' >&0;;
        1*die*) kill -ABRT $$;;
        *) echo '{\"accepted\":null}' >&0;;
        esac";
    let pool = pool(estimating, 1, LONG);
    let job = |chip, program: &str, estimate: bool| Job {
        chip,
        program: program.to_string(),
        estimate: estimate.then(|| program.to_string()),
    };
    let accepted = |estimate| Verdict::Accepted { estimate };
    let none = |why: &str| accepted(Estimate::None(why.to_string()));
    let jobs = [
        job(&Chip::V5E, "good", true),
        job(&Chip::V5E, "good", false),
        job(&Chip::V4, "die", true),
        job(&Chip::TPU7X, "fails", true),
        job(&Chip::V5P, "die", true),
        job(&Chip::V6E, "silent", true),
        job(&Chip::V6E, "good", true),
    ];
    let verdicts = pool.judge(&jobs, &mut |_, _| {}).expect("verdicts");
    let expected = [
        accepted(Estimate::Cycles(41)),
        accepted(Estimate::NotAsked),
        none("libtpu has no estimates for v4"),
        none("no estimate"),
        none("libtpu died of estimating: SIGABRT"),
        none("libtpu accepts the program and writes no estimate"),
        accepted(Estimate::Cycles(41)),
    ];
    assert_eq!(verdicts, expected);
}

/// An estimate fails by the program alone: a worker that dies of what it did before is replaced, and the program tried again.
#[test]
fn an_estimate_is_asked_for_again_of_a_new_worker() {
    let once = scripts("echo '\"ready\"' >&0; read -r q; echo '{\"accepted\":7}' >&0; read -r q; kill -SEGV $$", 1, LONG);
    let jobs =
        ["a", "b", "c"].map(|program| Job { chip: &Chip::V6E, program: program.to_string(), estimate: Some(program.to_string()) });
    let seven = Verdict::Accepted { estimate: Estimate::Cycles(7) };
    assert_eq!(once.judge(&jobs, &mut |_, _| {}), Ok(vec![seven.clone(), seven.clone(), seven]));
}

#[test]
fn what_makes_all_verdicts_impossible_is_an_error() {
    let old = pool(BY_PROGRAM, 2, LONG).judge(&jobs(&["good", "old", "good"]), &mut |_, _| {});
    assert_eq!(old.map_err(|e| e.code()), Err("D023"));
    let no_worker = scripts("exit 3", 2, LONG).judge(&jobs(&["good", "good", "good"]), &mut |_, _| {});
    assert_eq!(no_worker.map_err(|e| e.code()), Err("D024"));
    let library = Library::find(std::env::current_exe().ok().as_deref()).expect("a file of the right kind");
    let options = PoolOptions { program: Some("/no/such/program".into()), ..PoolOptions::default() };
    let missing = Pool::new(&library, options).judge(&jobs(&["good"]), &mut |_, _| {});
    let expected = "the worker /no/such/program cannot ask libtpu: No such file or directory (os error 2)";
    assert_eq!(missing.map_err(|e| e.to_string()), Err(expected.to_string()));
    assert_eq!(library.path(), std::env::current_exe().and_then(|p| p.canonicalize()).as_deref().unwrap_or(Path::new("")));
}

#[test]
fn topologies_are_the_least_that_hold_a_chip() {
    let names: Vec<String> = Chip::ALL.iter().map(topology).collect();
    assert_eq!(names, ["v4:2x2x1 megacore", "v5e:1x1", "v5p:1x1x1", "v6e:1x1", "tpu7x:1x1x1"]);
}
