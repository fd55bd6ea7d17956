//! Where libtpu is: named by the user, or in the Python environment that is active.
//!
//! Rules: a path that the user names is taken or refused, never passed over for another. Looking loads nothing.

use super::LibtpuError;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The time in which Python has to answer.
const PYTHON_LIMIT: Duration = Duration::from_secs(20);

/// Prints the folder of the package without importing it.
const PYTHON_ASKS: &str = "\
import importlib.util
spec = importlib.util.find_spec('libtpu')
print(spec.submodule_search_locations[0] if spec and spec.submodule_search_locations else '')";

/// A libtpu.so on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    path: PathBuf,
}

impl Library {
    /// The library at `explicit`, else at `LIBTPU_PATH`, else of the Python environment that is active:
    /// `VIRTUAL_ENV`, `CONDA_PREFIX`, then what `python3` finds.
    ///
    /// ```
    /// use tpu_device::libtpu::Library;
    /// let error = Library::find(Some("no/libtpu.so".as_ref())).unwrap_err();
    /// assert!(error.to_string().starts_with("there is no file no/libtpu.so; `pip install libtpu"));
    /// ```
    pub fn find(explicit: Option<&Path>) -> Result<Library, LibtpuError> {
        let mut python = Command::new("python3");
        python.args(["-c", PYTHON_ASKS]);
        find(explicit, &|name| std::env::var_os(name), python, PYTHON_LIMIT)
    }

    /// Its path, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file that is there and may be a library; whether it is libtpu shows when a worker loads it.
    fn at(path: &Path) -> Result<Library, LibtpuError> {
        let absolute = path.canonicalize().ok().filter(|p| p.is_file());
        let Some(absolute) = absolute else {
            return Err(LibtpuError::Missing { reason: format!("there is no file {}", path.display()) });
        };
        let unfit = |reason: String| LibtpuError::Unfit { path: path.to_path_buf(), reason };
        let mut file = std::fs::File::open(&absolute).map_err(|e| unfit(e.to_string()))?;
        let mut magic = [0; 4];
        if file.read_exact(&mut magic).is_err() || magic != *b"\x7fELF" {
            return Err(unfit("it is no shared library of Linux".to_string()));
        }
        Ok(Library { path: absolute })
    }
}

fn find(
    explicit: Option<&Path>,
    env: &dyn Fn(&str) -> Option<OsString>,
    python: Command,
    limit: Duration,
) -> Result<Library, LibtpuError> {
    let set = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = explicit {
        return Library::at(path);
    }
    if let Some(path) = set("LIBTPU_PATH") {
        return Library::at(&path);
    }
    let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(set);
    let installed = environments.filter_map(|root| in_environment(&root)).next();
    match installed.or_else(|| in_python(python, limit)) {
        Some(path) => Library::at(&path),
        None => {
            Err(LibtpuError::Missing { reason: "libtpu is neither at LIBTPU_PATH nor in an active Python environment".to_string() })
        }
    }
}

/// The library under the root of a Python environment; of several versions of Python, the last by name.
fn in_environment(root: &Path) -> Option<PathBuf> {
    let versions = std::fs::read_dir(root.join("lib")).ok()?.filter_map(Result::ok);
    let pythons = versions.filter(|entry| entry.file_name().to_string_lossy().starts_with("python"));
    pythons.map(|entry| entry.path().join("site-packages/libtpu/libtpu.so")).filter(|path| path.is_file()).max()
}

/// The library in the package that Python finds.
fn in_python(python: Command, limit: Duration) -> Option<PathBuf> {
    let printed = output_within(python, limit)?;
    let folder = printed.lines().last().filter(|line| !line.is_empty())?;
    Some(Path::new(folder).join("libtpu.so")).filter(|path| path.is_file())
}

/// What a program prints, unless it fails or takes too long.
fn output_within(mut program: Command, limit: Duration) -> Option<String> {
    program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = program.spawn().ok()?;
    let mut out = child.stdout.take()?;
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = out.read_to_string(&mut text);
        // The receiver may have given up.
        let _ = send.send(read.map(|_| text).ok());
    });
    let text = receive.recv_timeout(limit).ok().flatten();
    if text.is_none() {
        // It may have ended meanwhile.
        let _ = child.kill();
    }
    let ended = child.wait().is_ok_and(|status| status.success());
    text.filter(|_| ended)
}

#[cfg(test)]
mod tests;
