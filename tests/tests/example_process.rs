//! The attention example as a program: its one line of JSON, its exit codes, and files of other sizes.

use half::bf16;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use tpu_device::{Device, Tensor, io};

/// The program, built as the tests are; built already where the whole workspace is tested.
fn program() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let own = std::env::current_exe().unwrap();
        let profile = own.ancestors().nth(2).unwrap();
        let name = profile.file_name().unwrap().to_str().unwrap();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--offline", "--workspace", "--example", "attention"]);
        cargo.args(["--profile", if name == "debug" { "dev" } else { name }]);
        cargo.arg("--target-dir").arg(profile.parent().unwrap());
        let built = cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        profile.join("examples").join(format!("attention{}", std::env::consts::EXE_SUFFIX))
    })
}

fn run(arguments: &[&str]) -> Output {
    Command::new(program()).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The five fields of the one line that a run with `--json` prints.
#[track_caller]
fn json(output: &Output) -> serde_json::Map<String, serde_json::Value> {
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(output.stderr.is_empty());
    let line = text(&output.stdout).strip_suffix('\n').unwrap();
    assert!(!line.contains('\n'));
    let value: serde_json::Value = serde_json::from_str(line).unwrap();
    let fields = value.as_object().unwrap();
    assert_eq!(fields.keys().collect::<Vec<_>>(), ["kernel", "chip", "max_abs_error", "compile_ms", "run_ms"]);
    assert_eq!(fields["kernel"], "attention");
    for number in ["compile_ms", "run_ms"] {
        assert!(fields[number].as_f64().is_some_and(|n| n > 0.0), "{line}");
    }
    // A softmax over one key is exact.
    assert!(fields["max_abs_error"].as_f64().is_some_and(|n| n >= 0.0), "{line}");
    fields.clone()
}

/// A file in the directory for temporary files of tests, removed at the end.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> File {
        File(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}_{name}.safetensors", std::process::id())))
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A file with q of the first shape, k and v of the second.
fn written(name: &str, q: &[usize], kv: &[usize], small: bool) -> File {
    let device = Device::new("v5e").unwrap();
    let file = File::new(name);
    let tensor = |dims: &[usize], from: usize| {
        let values = (0..dims.iter().product()).map(|at: usize| ((at + from) % 17) as f32 / 9.0 - 0.9);
        if small {
            Tensor::from_slice(&device, &values.map(bf16::from_f32).collect::<Vec<_>>(), dims).unwrap()
        } else {
            Tensor::from_slice(&device, &values.collect::<Vec<_>>(), dims).unwrap()
        }
    };
    let (q, k, v) = (tensor(q, 0), tensor(kv, 3), tensor(kv, 11));
    io::save_safetensors(&file.0, [("q", &q), ("k", &k), ("v", &v)]).unwrap();
    file
}

#[test]
fn one_line_of_json() {
    let fields = json(&run(&["--json"]));
    assert_eq!(fields["chip"], "v5e");
    assert!(fields["max_abs_error"].as_f64().unwrap() < 2e-6);
    let fields = json(&run(&["--json", "--causal", "--chip", "v6e"]));
    assert_eq!(fields["chip"], "v6e");
    assert!(fields["max_abs_error"].as_f64().unwrap() < 2e-6);
}

#[test]
fn text_names_chip_grid_and_blocks() {
    let output = run(&["--blocks", "64,128,128"]);
    assert!(output.status.success());
    let text = text(&output.stdout);
    for part in
        ["attention: 12 heads × 175 queries × 175 keys × 32", "v5e", "h: 12, i: 3, j: 2", "BQ: 64, BK: 128, BD: 128", "error"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    let help = run(&["--help"]);
    assert!(help.status.success() && self::text(&help.stdout).starts_with("usage: attention"));
}

#[test]
fn files_of_other_sizes() {
    for (name, q, kv, small) in [
        ("three", &[3, 20, 40][..], &[3, 33, 40][..], false),
        ("four", &[2, 2, 9, 160], &[2, 2, 9, 160], false),
        ("two", &[5, 8], &[1, 8], false),
        ("small", &[1, 130, 64], &[1, 7, 64], true),
    ] {
        let file = written(name, q, kv, small);
        for causal in [&["--causal"][..], &[]] {
            let fields = json(&run(&[&["--json", "--input", file.path()], causal].concat()));
            assert!(fields["max_abs_error"].as_f64().unwrap() < 2e-6, "{name}: {fields:?}");
        }
    }
}

#[track_caller]
fn fails(arguments: &[&str], code: i32, parts: &[&str]) {
    let output = run(arguments);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{message}");
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    for part in parts {
        assert!(message.contains(part), "{part} in {message}");
    }
    assert!(!message.contains("panicked"), "{message}");
}

#[test]
fn wrong_options_are_2() {
    fails(&["--jason"], 2, &["unknown option `--jason`", "usage: attention"]);
    fails(&["file"], 2, &["unknown option `file`"]);
    fails(&["--input"], 2, &["`--input` takes a value"]);
    fails(&["--blocks", "a,b"], 2, &["not a list of block sizes"]);
    fails(&["NAME"], 2, &["unknown option `NAME`"]);
    fails(&["--blocks", "128"], 2, &["takes 3 sizes, got 1", "usage: attention"]);
    fails(&["--blocks", "1,2,3,4"], 2, &["takes 3 sizes, got 4"]);
    fails(&["--chip", "v99"], 2, &["no chip is called `v99`", "v5e", "usage: attention"]);
}

#[test]
fn failures_are_1() {
    fails(&["--input", "/nowhere/at/all.safetensors"], 1, &["error: ", "/nowhere/at/all.safetensors"]);
    fails(&["--blocks", "0,128,128"], 1, &["L013", "BQ"]);
    fails(&["--blocks", "100,128,128"], 1, &["L012", "operand `q`", "help"]);
    fails(&["--blocks", "8192,8192,8192"], 1, &["L011", "VMEM"]);

    let malformed = File::new("malformed");
    std::fs::write(&malformed.0, b"\xff\xff\xff\xff\xff\xff\xff\x7fno header").unwrap();
    fails(&["--input", malformed.path()], 1, &["not a valid safetensors file"]);
    std::fs::write(&malformed.0, b"").unwrap();
    fails(&["--input", malformed.path()], 1, &["not a valid safetensors file"]);

    let empty = written("empty", &[2, 3, 0], &[2, 3, 0], false);
    fails(&["--input", empty.path()], 1, &["`q` has vectors of no element", "[2, 3, 0]"]);
    let rank = written("rank", &[7], &[7], false);
    fails(&["--input", rank.path()], 1, &["`q` must have the shape [heads, tokens, d]"]);
    let heads = written("heads", &[3, 20, 40], &[2, 20, 40], false);
    fails(
        &["--input", heads.path()],
        1,
        &["L004", "size `heads` is 3 in operand `q` and 2 in operand `k`", "k: In<f32, (BK, BD)>"],
    );
}

#[test]
fn a_message_names_a_file_once() {
    for name in ["missing", "malformed_once", "nameless"] {
        let file = File::new(name);
        match name {
            "missing" => {}
            "malformed_once" => std::fs::write(&file.0, b"no header").unwrap(),
            _ => io::save_safetensors(&file.0, []).unwrap(),
        }
        let output = run(&["--input", file.path()]);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(text(&output.stderr).matches(file.path()).count(), 1, "{}", text(&output.stderr));
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    for arguments in [&["--json"][..], &[], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Command::new(program()).args(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_1() {
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    for arguments in [&["--json"][..], &[], &["--help"]] {
        let output = Command::new(program()).args(arguments).stdout(full()).stderr(Stdio::piped()).output().unwrap();
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.starts_with("error: the output cannot be written: ") && message.lines().count() == 1, "{message}");
    }
    // Nor does a message that cannot be written change the exit code.
    assert_eq!(Command::new(program()).arg("--jason").stderr(full()).status().unwrap().code(), Some(2));
}

/// A program that is run from anywhere finds the sources above it.
#[test]
fn the_line_of_the_kernel_is_shown_from_any_directory() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}_workspace", std::process::id()));
    let (built, sources) = (root.join("target/debug/examples"), root.join("examples"));
    std::fs::create_dir_all(&built).unwrap();
    std::fs::create_dir_all(&sources).unwrap();
    let copy = built.join(program().file_name().unwrap());
    std::fs::copy(program(), &copy).unwrap();
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/attention.rs"), sources.join("attention.rs")).unwrap();
    let output = Command::new(copy).args(["--blocks", "100,128,128"]).current_dir(std::env::temp_dir()).output().unwrap();
    std::fs::remove_dir_all(root).unwrap();
    let message = text(&output.stderr);
    assert!(message.contains("--> examples/attention.rs:") && message.contains("q: In<f32, (BQ, BD)>,"), "{message}");
}
