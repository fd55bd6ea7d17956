//! Workers that are shell scripts: they die, hang, garble and lie.

use super::*;

/// Starts a script as a worker.
fn start_within(script: &str, limit: Duration) -> Result<Worker, LibtpuError> {
    let (library, program) = (Path::new("/lib/none.so"), Path::new("/bin/sh"));
    let args = ["-c".to_string(), script.to_string()];
    Worker::start(&Start { library, program, name: program, args: &args, estimates: false, limit })
}

fn start(script: &str) -> Result<Worker, LibtpuError> {
    start_within(script, Duration::from_secs(20))
}

/// What a script answers to a question, once it has said that it is ready.
fn asked_within(script: &str, program: &str, limit: Duration) -> Asked {
    let mut worker = start(&format!("echo '\"ready\"' >&0\n{script}")).expect("a worker");
    worker.ask(&Question { topology: "v5e:1x1".to_string(), program: program.to_string() }, limit)
}

fn asked(script: &str) -> Asked {
    asked_within(script, "module", Duration::from_secs(20))
}

#[test]
fn answers_are_taken_as_they_are() {
    let accepted = "read -r question; echo '{\"accepted\":7}' >&0";
    assert_eq!(asked(accepted), Asked::Answer(Answer::Accepted(Some(7))));
    // What is printed is no answer.
    let chatty = format!("echo '{{\"refused\":\"x\"}}'; echo '{{\"refused\":\"y\"}}' >&2; {accepted}");
    assert_eq!(asked(&chatty), Asked::Answer(Answer::Accepted(Some(7))));
    let echo = "read -r question; case $question in *'\"v5e:1x1\"'*'\"module\"'*) echo '{\"refused\":\"seen\"}' >&0;; esac";
    assert_eq!(asked(echo), Asked::Answer(Answer::Refused("seen".to_string())));
}

#[test]
fn deaths_have_names() {
    assert_eq!(asked("read -r q; kill -SEGV $$"), Asked::Died("SIGSEGV".to_string()));
    assert_eq!(asked("read -r q; exit 3"), Asked::Died("it ended with exit code 3".to_string()));
    let log =
        "echo noise >&2; echo 'F1130 23:45:19.360661   10673 a.cc:46] Check failed: rank  >= 2 (1 vs. 2) ' >&2; echo 'F more' >&2";
    assert_eq!(
        asked(&format!("read -r q; {log}; kill -ABRT $$")),
        Asked::Died("SIGABRT: Check failed: rank >= 2 (1 vs. 2)".to_string())
    );
    assert_eq!(asked("read -r q; printf '{\"acc' >&0; kill -KILL $$"), Asked::Died("SIGKILL".to_string()));
}

#[test]
fn nonsense_ends_a_worker() {
    for script in [
        "echo nonsense >&0; exec sleep 60",
        "printf '\\377\\n' >&0; exec sleep 60",
        "yes x >&0",
        "exec 3>&0; yes | tr -d '\\n' >&3",
    ] {
        assert_eq!(asked(script), Asked::Died("its answer is none".to_string()), "{script}");
    }
}

#[test]
fn a_worker_has_so_much_time_and_no_more() {
    let limit = Duration::from_millis(200);
    let late = Asked::Late("no answer within 0.2 s".to_string());
    let begin = Instant::now();
    assert_eq!(asked_within("exec sleep 60", "module", limit), late);
    // Half a line counts for nothing; and a program that is too long for the socket is not waited for.
    assert_eq!(asked_within("printf '{' >&0; exec sleep 60", "module", limit), late);
    assert_eq!(asked_within("exec sleep 60", &"x".repeat(1 << 23), limit), late);
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    // One that dies while it is written to.
    let died = asked_within("head -c 10 >/dev/null; kill -SEGV $$", &"x".repeat(1 << 23), Duration::from_secs(20));
    assert_eq!(died, Asked::Died("SIGSEGV".to_string()));
}

#[test]
fn a_program_that_is_no_worker_is_told_so() {
    let reason = |started: Result<Worker, LibtpuError>| match started.map(|_| ()).expect_err("no worker") {
        LibtpuError::Worker { program, reason } => {
            assert_eq!(program, Path::new("/bin/sh"));
            reason
        }
        other => panic!("{other}"),
    };
    let must = "; its `main` must begin with `tpu_device::libtpu::serve_if_worker()`";
    assert_eq!(reason(start("exit 0")), format!("it ended with exit code 0{must}"));
    assert_eq!(reason(start("echo hello")), format!("it ended with exit code 0{must}"));
    assert_eq!(reason(start("echo hello >&0")), format!("its answer is none{must}"));
    assert_eq!(reason(start_within("exec sleep 60", Duration::from_millis(100))), format!("no answer within 0.1 s{must}"));
    assert_eq!(reason(start("echo '{\"accepted\":1}' >&0")), "it answered before it was asked");
}

#[test]
fn a_library_that_does_not_fit_is_named() {
    let error = |script| start(script).map(|_| ()).expect_err("no worker").to_string();
    assert_eq!(error("echo '{\"unfit\":\"it is old\"}' >&0"), "/lib/none.so cannot be used as libtpu: it is old");
    assert_eq!(error("kill -BUS $$"), "/lib/none.so cannot be used as libtpu: loading it ended with SIGBUS");
}

#[test]
fn the_end_of_a_worker_is_the_end_of_its_process_and_folder() {
    let mut worker =
        start("echo '\"ready\"' >&0; read -r q; echo \"{\\\"refused\\\":\\\"$PWD $$\\\"}\" >&0; exec sleep 60").expect("a worker");
    let question = Question { topology: String::new(), program: String::new() };
    let Asked::Answer(Answer::Refused(said)) = worker.ask(&question, Duration::from_secs(20)) else { panic!("no answer") };
    let (folder, process) = said.rsplit_once(' ').expect("both");
    assert!(Path::new(folder).is_dir() && worker.process.id().to_string() == process);
    drop(worker);
    assert!(!Path::new(folder).exists());
    assert!(!Path::new(&format!("/proc/{process}")).exists());
}
