//! Environments as they may be, with a file that looks like a library in some.

use super::*;
use std::time::Instant;

/// A folder of a test, removed at the end.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str) -> Tree {
        let root = std::env::temp_dir().join(format!("tpu-device-find-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&root).expect("a folder");
        Tree(root.canonicalize().expect("it is there"))
    }

    fn file(&self, path: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, content).expect("written");
        path
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const ELF: &[u8] = b"\x7fELF and so on";

fn sh(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    command
}

/// What is found with these variables, where Python is that script.
fn found(explicit: Option<&Path>, vars: &[(&str, &Path)], python: &str) -> Result<PathBuf, LibtpuError> {
    let env = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_os_str().to_os_string());
    find(explicit, &env, sh(python), Duration::from_secs(10)).map(|library| library.path().to_path_buf())
}

#[test]
fn the_first_place_that_is_named_counts() {
    let tree = Tree::new("order");
    let [explicit, path] = ["explicit.so", "path.so"].map(|name| tree.file(name, ELF));
    let venv = tree.file("venv/lib/python3.12/site-packages/libtpu/libtpu.so", ELF);
    let conda = tree.file("conda/lib/python3.9/site-packages/libtpu/libtpu.so", ELF);
    let asked = tree.file("asked/libtpu.so", ELF);
    let (python, folders) = (format!("echo {}", tree.0.join("asked").display()), ["venv", "conda"].map(|name| tree.0.join(name)));
    let all = [("LIBTPU_PATH", path.as_path()), ("VIRTUAL_ENV", &folders[0]), ("CONDA_PREFIX", &folders[1])];
    assert_eq!(found(Some(&explicit), &all, &python), Ok(explicit));
    assert_eq!(found(None, &all, &python), Ok(path.clone()));
    assert_eq!(found(None, &all[1..], &python), Ok(venv));
    assert_eq!(found(None, &all[2..], &python), Ok(conda));
    assert_eq!(found(None, &[], &python), Ok(asked));
    // An environment without libtpu, and a variable set to nothing.
    assert_eq!(found(None, &[("VIRTUAL_ENV", &tree.0), ("LIBTPU_PATH", Path::new(""))], &python), found(None, &[], &python));
}

#[test]
fn what_is_named_is_not_passed_over() {
    let tree = Tree::new("named");
    let (good, text) = (tree.file("good.so", ELF), tree.file("text.so", b"text"));
    let missing = tree.0.join("missing.so");
    let code = |explicit, vars: &[(&str, &Path)]| found(explicit, vars, "").map_err(|e| e.code());
    assert_eq!(code(Some(&missing), &[("LIBTPU_PATH", &good)]), Err("D022"));
    assert_eq!(code(Some(&tree.0), &[("LIBTPU_PATH", &good)]), Err("D022"));
    assert_eq!(code(None, &[("LIBTPU_PATH", &missing)]), Err("D022"));
    assert_eq!(code(Some(&text), &[]), Err("D023"));
    assert_eq!(code(Some(&tree.file("short.so", b"")), &[]), Err("D023"));
}

#[test]
fn without_a_library_a_sentence_tells_how_to_get_it() {
    for python in ["", "echo", "echo /no/such/folder", "exit 1", "echo /; exit 1", "printf '\\377'"] {
        let error = found(None, &[], python).expect_err("nothing is there");
        assert_eq!(
            error.to_string(),
            "libtpu is neither at LIBTPU_PATH nor in an active Python environment; `pip install libtpu==0.0.50.1` brings Google's TPU \
             compiler, under Google's own licence, and LIBTPU_PATH can name its libtpu.so",
            "{python}"
        );
    }
    let none = find(None, &|_| None, Command::new("/no/such/python"), Duration::from_secs(10));
    assert_eq!(none.map_err(|e| e.code()), Err("D022"));
}

#[test]
fn a_python_that_hangs_is_not_waited_for() {
    let start = Instant::now();
    assert_eq!(output_within(sh("exec sleep 60"), Duration::from_millis(100)), None);
    assert!(start.elapsed() < Duration::from_secs(20));
}

/// The question is asked as real Pythons understand it, where there is one.
#[test]
fn python_prints_the_folder_of_a_package() {
    let tree = Tree::new("python");
    let library = tree.file("libtpu/libtpu.so", ELF);
    tree.file("libtpu/__init__.py", b"raise SystemExit('imported')");
    let mut python = Command::new("python3");
    if python.arg("--version").output().is_err() {
        return;
    }
    let mut python = Command::new("python3");
    python.args(["-c", PYTHON_ASKS]).env("PYTHONPATH", &tree.0);
    assert_eq!(find(None, &|_| None, python, PYTHON_LIMIT).map(|l| l.path().to_path_buf()), Ok(library));
}
