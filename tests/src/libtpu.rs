//! Asks libtpu, Google's TPU compiler, whether it accepts programs. It needs no TPU.
//!
//! Rules: libtpu is optional, found through `LIBTPU_PATH`. It can crash or hang, so that it runs in a
//! child process with a time limit for each program; a crash is a verdict like any other.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The time for one program, the load of the library included.
const LIMIT: Duration = Duration::from_secs(120);

/// What libtpu says of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It compiles.
    Accepted,
    /// It does not, and why.
    Refused(String),
    /// The compiler died or did not end.
    Died,
}

/// libtpu's path, where the environment names one.
pub fn path() -> Option<PathBuf> {
    std::env::var_os("LIBTPU_PATH").map(PathBuf::from)
}

/// The topology of one chip, by the chip's name.
pub fn topology(chip: &str) -> &'static str {
    match chip {
        "v4" => "v4:2x2x1",
        "v5p" => "v5p:1x1x1",
        "v6e" => "v6e:1x1",
        "tpu7x" => "tpu7x:1x1x1",
        _ => "v5e:1x1",
    }
}

/// Compiles StableHLO programs with the `aot` binary at `driver`; a verdict each, in order.
pub fn compile(driver: &Path, libtpu: &Path, chip: &str, programs: &[String], folder: &Path) -> std::io::Result<Vec<Verdict>> {
    std::fs::create_dir_all(folder)?;
    let mut files = vec![];
    for (at, program) in programs.iter().enumerate() {
        let file = folder.join(format!("{chip}_{at}.mlir"));
        std::fs::write(&file, program)?;
        files.push(file);
    }
    let mut verdicts = vec![];
    while verdicts.len() < files.len() {
        let before = verdicts.len();
        let rest = &files[before..];
        let mut child = Command::new(driver)
            .arg(libtpu)
            .arg(topology(chip))
            .args(rest)
            .env("TPU_SKIP_MDS_QUERY", "1")
            .env("TPU_WORKER_HOSTNAMES", "localhost")
            .env("TPU_WORKER_ID", "0")
            .env("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")
            .env("TPU_STDERR_LOG_LEVEL", "3")
            .env("TPU_MIN_LOG_LEVEL", "3")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (send, receive) = mpsc::channel();
        if let Some(out) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    if send.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        while verdicts.len() < files.len() {
            match receive.recv_timeout(LIMIT) {
                Ok(line) if line == "accepted" => verdicts.push(Verdict::Accepted),
                // libtpu prints lines of its own.
                Ok(line) => {
                    if let Some(reason) = line.strip_prefix("refused ") {
                        verdicts.push(Verdict::Refused(reason.to_string()));
                    }
                }
                Err(_) => {
                    verdicts.push(Verdict::Died);
                    break;
                }
            }
        }
        child.kill()?;
        child.wait()?;
    }
    Ok(verdicts)
}
