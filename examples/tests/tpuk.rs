//! The command line of the examples as a program: each subcommand, its JSON, its exit codes, and what is typed wrong.

use serde_json::{Map, Value};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tpu_device::{Device, Tensor, io};

const KERNELS: [&str; 4] = ["add", "matmul", "softmax", "attention"];
const CHIPS: [&str; 5] = ["v4", "v5e", "v5p", "v6e", "tpu7x"];

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tpuk"));
    // No libtpu but the one that a test names.
    command.args(arguments).env_remove("LIBTPU_PATH").env_remove("VIRTUAL_ENV").env_remove("CONDA_PREFIX").env("PATH", "");
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[track_caller]
fn ok(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "", "{arguments:?}");
    text(&output.stdout).to_string()
}

#[track_caller]
fn objects(lines: &str) -> Vec<Map<String, Value>> {
    lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap().as_object().unwrap().clone()).collect()
}

/// The objects of a command that goes well.
#[track_caller]
fn json(arguments: &[&str]) -> Vec<Map<String, Value>> {
    objects(&ok(&[arguments, &["--json"]].concat()))
}

/// A command that ends with that code and nothing on standard output; its words.
#[track_caller]
fn fails(code: i32, arguments: &[&str]) -> String {
    let output = run(arguments);
    let words = text(&output.stderr).to_string();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {words}");
    assert_eq!(text(&output.stdout), "", "{arguments:?}");
    assert!(words.starts_with("error") && !words.contains("panicked"), "{arguments:?}: {words}");
    words
}

#[track_caller]
fn keys(object: &Map<String, Value>) -> Vec<&str> {
    object.keys().map(String::as_str).collect()
}

/// A file in the directory for temporary files of tests, removed at the end.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> File {
        File(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tpuk_{}_{name}", std::process::id())))
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

#[test]
fn list_names_every_kernel_with_its_types_configurations_and_chips() {
    let kernels = json(&["list"]);
    assert_eq!(kernels.iter().map(|k| k["name"].as_str().unwrap()).collect::<Vec<_>>(), KERNELS);
    for kernel in &kernels {
        assert_eq!(keys(kernel), ["name", "dtypes", "configs", "chips", "prebuilt"]);
        assert_eq!(kernel["chips"].as_array().unwrap(), &CHIPS);
        assert!(kernel["prebuilt"].as_array().unwrap().is_empty());
        assert!(!kernel["configs"].as_array().unwrap().is_empty());
    }
    assert_eq!(kernels[0]["dtypes"], serde_json::json!(["f32", "bf16", "i32"]));
    assert_eq!(kernels[2]["configs"][0], "r=256,c=128,rows=300,cols=100");

    let one = json(&["list", "matmul", "--chip", "v6e"]);
    assert_eq!((one.len(), &one[0]["chips"]), (1, &serde_json::json!(["v6e"])));
    // A block of more than the vector memory: no chip takes it.
    assert!(json(&["list", "softmax", "--chip", "v4", "--config", "r=8192,c=1024"]).is_empty());
    let table = ok(&["list"]);
    assert!(KERNELS.iter().all(|name| table.contains(name)) && table.contains("configurations"), "{table}");
}

/// What a row calls its configuration is what `--config` takes.
#[test]
fn configurations_are_taken_back() {
    for kernel in json(&["list"]) {
        let name = kernel["name"].as_str().unwrap();
        for config in kernel["configs"].as_array().unwrap() {
            let config = config.as_str().unwrap();
            let row = &json(&["run", name, "--config", config])[0];
            assert_eq!((&row["config"], &row["ok"]), (&config.into(), &true.into()));
        }
    }
}

#[test]
fn run_compares_with_the_reference() {
    let rows = json(&["run", "--all"]);
    assert_eq!(rows.iter().map(|r| r["kernel"].as_str().unwrap()).collect::<Vec<_>>(), KERNELS);
    let fields = [
        "kernel",
        "config",
        "chip",
        "executor",
        "seed",
        "reference",
        "max_abs_error",
        "max_rel_error",
        "tolerance",
        "ok",
        "compile_ms",
        "run_ms",
    ];
    for row in &rows {
        assert_eq!(keys(row), fields);
        assert_eq!((&row["chip"], &row["executor"], &row["reference"]), (&"v5e".into(), &"cranelift".into(), &"own".into()));
        assert!(row["max_rel_error"].as_f64().unwrap() <= row["tolerance"].as_f64().unwrap());
    }
    let every = json(&["run", "matmul", "softmax", "--every"]);
    assert_eq!(every.len(), 8);
    assert!(every.iter().all(|row| row["ok"] == true));
    let words = ok(&["run", "add"]);
    assert!(words.starts_with("add on v5e (cranelift), b=4096,t=f32,n=10000\n  ok: error 0.0e0 at most"), "{words}");
}

#[test]
fn run_takes_sizes_configurations_chips_seeds_and_executors() {
    let ragged = ["run", "matmul", "--config", "bm=64,BN=128,t=bf16", "--m", "70", "--size", "n=129,k=3", "--chip", "all"];
    let rows = json(&ragged);
    assert_eq!(rows.iter().map(|r| r["chip"].as_str().unwrap()).collect::<Vec<_>>(), CHIPS);
    assert!(rows.iter().all(|r| r["config"] == "bm=64,bn=128,bk=128,t=bf16,m=70,k=3,n=129" && r["ok"] == true));

    let seeded = |seed| json(&["run", "softmax", "--seed", seed])[0]["max_abs_error"].clone();
    assert_eq!(seeded("5"), seeded("5"));
    assert_ne!(seeded("5"), seeded("6"));

    let row = &json(&["run", "attention", "--executor", "interpreter", "--tq", "9", "--tk", "130", "--config", "causal=true"])[0];
    assert_eq!((&row["executor"], &row["ok"]), (&"interpreter".into(), &true.into()));
    let row = &json(&["run", "attention", "--config", "precision=default"])[0];
    assert_eq!(row["tolerance"], 3e-2);
    assert!(row["max_rel_error"].as_f64().unwrap() > 1e-5, "one bf16 pass is not f32");
}

#[test]
fn run_on_arrays_without_elements() {
    for arguments in [["run", "add", "--n", "0"], ["run", "matmul", "--m", "0"]] {
        assert_eq!(json(&arguments)[0]["max_abs_error"], 0.0, "{arguments:?}");
    }
}

#[test]
fn run_reads_and_writes_files() {
    let device = Device::new("v5e").unwrap();
    let (given, written) = (File::new("given.safetensors"), File::new("written.safetensors"));
    let x: Vec<i32> = (0..600).collect();
    let x = Tensor::from_slice(&device, &x, &[600]).unwrap();
    // Leading dimensions of 1 are left out.
    let y = Tensor::from_slice(&device, &[7; 600], &[1, 600]).unwrap();
    io::save_safetensors(&given.0, [("x", &x), ("y", &y)]).unwrap();
    let row = &json(&["run", "add", "--input", given.path(), "--output", written.path()])[0];
    assert_eq!((&row["config"], &row["seed"], &row["ok"]), (&"b=4096,t=i32,n=600".into(), &Value::Null, &true.into()));
    let outputs = device.load_safetensors(&written.0).unwrap();
    assert_eq!(outputs["o"].to_vec::<i32>().unwrap(), (7..607).collect::<Vec<_>>());

    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/attention.safetensors");
    let row = &json(&["run", "attention", "--input", data.to_str().unwrap()])[0];
    assert_eq!(row["config"], "bq=128,bk=128,bd=128,precision=highest,heads=12,tq=175,d=32,tk=175,causal=false");
    assert_eq!(row["ok"], true);

    let words = fails(3, &["run", "add", "--input", given.path(), "--n", "601"]);
    assert!(words.starts_with("error[L009]") || words.contains("size `n`"), "{words}");
    assert!(fails(4, &["run", "matmul", "--input", given.path()]).contains("has no tensor `w`"));
    assert!(fails(4, &["run", "add", "--input", "no/such/file"]).contains("no/such/file"));
    std::fs::write(&given.0, b"not a file of tensors").unwrap();
    assert!(fails(4, &["run", "add", "--input", given.path()]).contains("error[D011]"));
    assert!(fails(4, &["run", "add", "--output", "/no/such/folder/o"]).contains("/no/such/folder/o"));
    assert!(fails(2, &["run", "--all", "--output", written.path()]).contains("for one kernel"));
}

#[test]
fn inspect_shows_everything() {
    let rows = json(&["inspect", "--all", "--chip", "v6e"]);
    assert_eq!(rows.iter().map(|r| r["kernel"].as_str().unwrap()).collect::<Vec<_>>(), KERNELS);
    let matmul = &rows[1];
    assert_eq!(matmul["grid"][2]["expression"], "ceildiv(k, 128)");
    assert_eq!(matmul["grid"].as_array().unwrap().iter().map(|g| g["steps"].as_i64().unwrap()).collect::<Vec<_>>(), [2, 2, 2]);
    assert_eq!(matmul["windows"][1]["index_map"], serde_json::json!(["kk", "j"]));
    assert_eq!(matmul["vmem"]["rows"][3]["role"], "scratch");
    assert_eq!(matmul["vmem"]["bytes"], 3 * 2 * 65536 + 65536);
    for stage in ["staged", "canonical", "legalised", "mosaic"] {
        assert!(matmul["stages"][stage].as_str().unwrap().contains("matmul") || stage == "mosaic", "{stage}");
    }
    for row in &rows {
        let legality = row["legality"].as_array().unwrap();
        assert_eq!(legality.iter().map(|l| l["chip"].as_str().unwrap()).collect::<Vec<_>>(), CHIPS);
        assert!(legality.iter().all(|l| l["legal"] == true && l["reason"].is_null()));
        assert!(row["predicted_cycles"].as_u64().is_some_and(|n| n > 0), "{}", row["kernel"]);
        assert_eq!(
            (&row["bottleneck"], &row["predicted_cycles"]),
            (&row["prediction"]["bottleneck"], &row["prediction"]["cycles"])
        );
        assert!(!row["prediction"]["timeline"].as_array().unwrap().is_empty());
    }
    let words = ok(&["inspect", "softmax"]);
    for part in
        ["softmax on v5e", "grid: 2 step(s)", "ceildiv(rows, 256)", "vector memory", "x        in", "legality", "v4     legal"]
    {
        assert!(words.contains(part), "{part} in {words}");
    }
    // What no chip takes is shown all the same.
    let row = &json(&["inspect", "softmax", "--config", "r=8192,c=1024"])[0];
    assert!(row["legality"].as_array().unwrap().iter().all(|l| l["code"] == "L011"), "{row:?}");
    assert!(row["vmem"]["window_bytes"].as_u64().unwrap() > row["vmem"]["window_limit"].as_u64().unwrap());
    assert!(row["predicted_cycles"].is_null());
}

#[test]
fn inspect_writes_a_page_and_a_trace() {
    let (page, trace) = (File::new("page.html"), File::new("trace.json"));
    let files = ["--html", page.path(), "--trace", trace.path()];
    json(&[&["inspect", "matmul"][..], &files].concat());
    let html = std::fs::read_to_string(&page.0).unwrap();
    assert!(html.starts_with("<!doctype html>") || html.starts_with("<!DOCTYPE html>"), "{}", &html[..80]);
    assert!(html.contains("matmul"));
    let events: Value = serde_json::from_str(&std::fs::read_to_string(&trace.0).unwrap()).unwrap();
    assert!(events["traceEvents"].as_array().unwrap().iter().any(|event| event["ph"] == "X"));
    assert!(fails(2, &[&["inspect", "--all"][..], &files].concat()).contains("for one kernel"));
    assert!(fails(4, &["inspect", "add", "--html", "/no/such/folder/page.html"]).contains("/no/such/folder/page.html"));
    // What no chip takes has a page, but no timeline.
    let refused = ["inspect", "softmax", "--config", "r=8192,c=1024"];
    json(&[&refused[..], &files[..2]].concat());
    assert!(fails(3, &[&refused[..], &files[2..]].concat()).contains("there is no trace"));
}

#[test]
fn emit_prints_every_form() {
    let parsed = tpu_kernel::ir::parse(&ok(&["emit", "tpuir", "softmax"])).unwrap();
    assert_eq!(parsed.name, "softmax");
    for stage in ["staged", "canonical", "legalised"] {
        let kernel = tpu_kernel::ir::parse(&ok(&["emit", "softmax", "--form", "tpuir", "--stage", stage])).unwrap();
        assert_eq!(tpu_kernel::passes::verify(&kernel), Ok(()), "{stage}");
    }
    for (form, part) in [
        ("clif", "function u0:0(i64) -> i32"),
        ("asm", "maps: ; "),
        ("mosaic", "func.func @main("),
        ("stablehlo", "tpu_custom_call"),
    ] {
        let words = ok(&["emit", "matmul", form]);
        assert!(words.contains(part), "{form}");
        assert_eq!(words, ok(&["emit", form, "matmul"]), "the order of words does not count");
        let object = &json(&["emit", form, "matmul"])[0];
        assert_eq!(keys(object), ["kernel", "config", "chip", "form", "stage", "text"]);
        assert_eq!(object["form"], form);
        assert!(object["text"].as_str().unwrap().contains(part));
    }
    assert_eq!(json(&["emit", "mosaic", "--all", "--chip", "all"]).len(), KERNELS.len() * CHIPS.len());
    assert_eq!(json(&["emit", "clif", "--all", "--chip", "all"]).len(), KERNELS.len(), "one text for every chip");
    let file = File::new("emitted.mlir");
    assert_eq!(ok(&["emit", "mosaic", "add", "--output", file.path()]), "");
    assert_eq!(std::fs::read_to_string(&file.0).unwrap(), ok(&["emit", "mosaic", "add"]));
    assert!(fails(2, &["emit", "add"]).contains("say what to emit"));
    assert!(fails(2, &["emit", "wasm", "add"]).contains("say what to emit"));
    assert!(fails(2, &["emit", "mosaic"]).contains("name a kernel"));
}

#[test]
fn bench_measures_ours_and_the_limit() {
    // Small, so that the test says nothing of speed.
    let rows = json(&["bench", "add", "softmax", "--rounds", "1", "--config", "rows=256,cols=64,c=128,n=4096,b=4096"]);
    assert_eq!(rows.len(), 2);
    for row in &rows {
        assert_eq!(keys(row), ["name", "threads", "ours_ms", "limit_ms", "share_of_limit", "peer", "peer_ms", "ratio"]);
        assert_eq!(row["threads"], 1);
        assert!(row["ours_ms"].as_f64().unwrap() > 0.0 && row["limit_ms"].as_f64().unwrap() > 0.0);
        assert!(row["peer"].is_null() && row["peer_ms"].is_null() && row["ratio"].is_null());
    }
    assert_eq!(rows[0]["name"], "add_f32_16m");
}

#[test]
fn verify_says_what_we_refuse_before_libtpu_is_asked() {
    let rows = objects(text(&run(&["verify", "add", "--chip", "v5e", "--config", "b=100,t=f32", "--json"]).stdout));
    assert_eq!(rows.len(), 1);
    let fields = ["kernel", "config", "chip", "verdict", "reason", "estimated_cycles", "predicted_cycles", "estimate_error"];
    assert_eq!(keys(&rows[0]), fields);
    assert_eq!(rows[0]["verdict"], "unsupported");
    assert!(rows[0]["reason"].as_str().unwrap().starts_with("[L012] operand `x`"));
    assert!(rows[0]["estimated_cycles"].is_null() && rows[0]["predicted_cycles"].is_null());
    let output = run(&["verify", "add", "--chip", "all", "--config", "b=100,t=f32"]);
    assert_eq!(output.status.code(), Some(5));
    let (words, rendered) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(words.matches("unsupported").count(), CHIPS.len(), "{words}");
    assert_eq!(rendered.matches("examples/quickstart.rs").count(), 1, "at the user's line, once: {rendered}");
}

#[test]
fn verify_without_libtpu_says_how_to_get_it() {
    let words = fails(8, &["verify", "--all", "--chip", "all"]);
    assert!(words.contains("pip install libtpu") && words.contains("licence"), "{words}");
    assert!(fails(8, &["verify", "add", "--libtpu", "/no/libtpu.so"]).contains("/no/libtpu.so"));
    let file = File::new("libtpu.so");
    std::fs::write(&file.0, b"no library").unwrap();
    assert!(fails(9, &["verify", "add", "--libtpu", file.path()]).contains("cannot be used as libtpu"));
}

/// Where there is a libtpu: LIBTPU_PATH names it.
#[test]
fn verify_asks_libtpu() {
    let Some(library) = std::env::var_os("LIBTPU_PATH") else {
        eprintln!("LIBTPU_PATH is not set: libtpu is not asked");
        return;
    };
    let output = command(&["verify", "softmax", "add", "--chip", "all", "--json"]).env("LIBTPU_PATH", library).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let rows = objects(text(&output.stdout));
    assert_eq!(rows.len(), (2 + 6) * CHIPS.len());
    for row in &rows {
        assert_eq!(row["verdict"], "accepted", "{row:?}");
        assert!(row["reason"].is_null());
        assert!(row["chip"] != "v4" || row["estimated_cycles"].is_null());
        assert!(row["predicted_cycles"].as_u64().is_some_and(|n| n > 0), "{row:?}");
    }
    assert!(rows.iter().any(|row| row["estimated_cycles"].as_u64().is_some_and(|n| n > 0)));
}

#[test]
fn what_is_typed_wrong_is_said() {
    assert!(fails(2, &["run", "matmull"]).contains("did you mean `matmul`?"));
    assert!(fails(2, &["run"]).contains("name a kernel, or give `--all`\n  kernels: add, matmul, softmax, attention"));
    assert!(fails(2, &["run", "add", "--all"]).contains("not both"));
    assert!(fails(2, &["run", "add", "--chip", "v3"]).contains("v5e"));
    assert!(fails(2, &["run", "add", "--cip", "v4"]).contains("--chip"));
    assert!(fails(2, &["lst"]).contains("list"));
    let words = fails(2, &["run", "matmul", "--config", "bx=3"]);
    assert!(
        words.contains("kernel `matmul` has no `bx`") && words.contains("known names: bm, bn, bk, t, precision, m, k, n"),
        "{words}"
    );
    // A size of another kernel.
    assert!(fails(2, &["run", "add", "--rows", "3"]).contains("has no `rows`"));
    for (config, part) in [
        ("bm", "no `name=value`"),
        ("=3", "no `name=value`"),
        ("bm=", "no `name=value`"),
        ("bm=-1", "whole number"),
        ("bm=1.5", "whole number"),
        ("bm=99999999999999999999", "whole number"),
        ("t=f99", "the element types are f32"),
        ("precision=best", "the precisions are default, high, highest"),
        ("m=x", "whole number"),
    ] {
        let words = fails(2, &["run", "matmul", "--config", config]);
        assert!(words.contains(part), "{config}: {words}");
    }
    assert!(fails(2, &["run", "attention", "--config", "causal=3"]).contains("no number of bool"));
    assert!(fails(3, &["run", "matmul", "--config", "t=i32"]).contains("error[L005]"));
    assert!(fails(3, &["run", "matmul", "--config", "bm=0"]).contains("error[L013]"));
}

#[test]
fn sizes_beyond_everything_are_errors() {
    for size in ["2147483647", "2147483648", "99999999999", "9223372036854775807", "18446744073709551615"] {
        let words = fails(3, &["run", "matmul", "--m", size, "--n", size]);
        assert!(words.contains("too large") || words.contains("must lie between") || words.contains("error"), "{words}");
    }
    assert!(fails(3, &["run", "add", "--n", "2000000000", "--chip", "v5e"]).starts_with("error"));
    for block in ["2147483647", "2147483648", "4294967296", "1000000000"] {
        fails(3, &["run", "matmul", "--config", &format!("bm={block}")]);
    }
}

/// A reader that leaves early is no error.
#[test]
fn a_closed_pipe_is_no_panic() {
    for arguments in
        [&["emit", "clif", "--all", "--every"][..], &["list"], &["run", "--all", "--every"], &["inspect", "--all"], &["--help"]]
    {
        let mut child = command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::with_capacity(1, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(!line.is_empty());
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn help_names_subcommands_options_and_exit_codes() {
    let words = ok(&["--help"]);
    for part in ["list", "run", "inspect", "emit", "verify", "bench", "Exit codes:", "  0  ", "  9  "] {
        assert!(words.contains(part), "{part} in {words}");
    }
    for command in ["list", "run", "inspect", "emit", "verify", "bench"] {
        let words = ok(&[command, "--help"]);
        for part in ["--json", "--chip", "--config", "--all", "--m <N>", "Exit codes:"] {
            assert!(words.contains(part), "{part} in {words}");
        }
    }
    assert!(ok(&["verify", "--help"]).contains("licence"));
}
