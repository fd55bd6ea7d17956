//! The command line of the examples as a program: each subcommand, its JSON, its exit codes.

// Each test program uses some of it.
#[allow(dead_code)]
mod command;

use command::{File, command, fails, json, keys, objects, ok, run, text};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

const KERNELS: [&str; 7] = ["add", "matmul", "softmax", "attention", "increment", "gather_rows", "sum_rows"];
const CHIPS: [&str; 5] = ["v4", "v5e", "v5p", "v6e", "tpu7x"];

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
        "refused",
    ];
    for row in &rows {
        assert_eq!(keys(row), fields);
        // Kernels that move memory by hand have no reference of their own.
        let reference = if row["kernel"].as_str().unwrap().ends_with("_rows") { "interpreter" } else { "own" };
        assert_eq!((&row["chip"], &row["executor"], &row["reference"]), (&"v5e".into(), &"cranelift".into(), &reference.into()));
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
    assert!(fails(2, &["emit", "mosaic"]).contains("name a kernel"));
}

#[test]
fn every_example_is_clean_under_twenty_seeds() {
    let rows = json(&["check", "--all", "--every"]);
    assert!(rows.len() > KERNELS.len());
    for row in &rows {
        assert_eq!(keys(row), ["kernel", "config", "chip", "verdict", "seeds", "seed", "reason"]);
        assert_eq!((&row["verdict"], &row["seeds"]), (&"clean".into(), &20.into()), "{row:?}");
        assert!(row["seed"].is_null() && row["reason"].is_null());
    }
    assert!(ok(&["check", "add", "--seeds", "3"]).contains("clean under 3 seeds"));
    assert!(fails(2, &["check", "add", "--seeds", "0"]).contains("1 or more"));
}

#[test]
fn bench_measures_ours_and_the_limit() {
    // Small, so that the test says nothing of speed.
    let rows = json(&["bench", "add", "softmax", "--rounds", "1", "--config", "rows=256,cols=64,c=128,n=4096,b=4096"]);
    assert_eq!(rows.len(), 2);
    for row in &rows {
        let fields = ["name", "threads", "ours_ms", "limit_ms", "share_of_limit", "steps", "step_us", "peer", "peer_ms", "ratio"];
        assert_eq!(keys(row), fields);
        assert_eq!(row["threads"], 1);
        assert!(row["ours_ms"].as_f64().unwrap() > 0.0 && row["limit_ms"].as_f64().unwrap() > 0.0);
        assert!(row["peer"].is_null() && row["peer_ms"].is_null() && row["ratio"].is_null());
    }
    assert_eq!(rows[0]["name"], "add_f32_16m");
    assert_eq!((&rows[0]["steps"], &rows[1]["steps"]), (&1.into(), &2.into()));
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
    assert!(words.contains("\n  operand `x`: a block of 100") && !words.contains("L012"), "the code is beside the line: {words}");
    assert!(rendered.contains("error[L012]"), "{rendered}");
}

/// What no chip could launch is no matter of the chip: no verdict, and the code of `run`.
#[test]
fn verify_tells_a_wrong_launch_from_a_refusal() {
    let words = fails(3, &["verify", "matmul", "--k", "0"]);
    assert!(words.starts_with("error[L009]: the grid has no step"), "{words}");
    // The others go on: what is too large for a chip is its refusal.
    let output = run(&["verify", "matmul", "softmax", "--k", "0", "--config", "c=65536", "--json"]);
    let rows = objects(text(&output.stdout));
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
    assert!(!rows.is_empty() && rows.iter().all(|row| row["kernel"] == "softmax" && row["verdict"] == "unsupported"), "{rows:?}");
    assert!(text(&output.stderr).starts_with("error[L009]"), "{}", text(&output.stderr));
}

#[test]
fn an_empty_array_is_said_plainly() {
    let output = run(&["verify", "add", "--n", "0", "--chip", "v5e", "--json"]);
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
    let inspected = &json(&["inspect", "add", "--n", "0"])[0]["predicted_cycles"];
    for row in objects(text(&output.stdout)) {
        let reason = row["reason"].as_str().unwrap();
        assert!(reason.contains("an array is empty") && !reason.contains("another kernel"), "{reason}");
        assert_eq!((&row["verdict"], &row["predicted_cycles"]), (&"unsupported".into(), inspected));
    }
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

/// A chip that fails does not keep the others from their turn, and the same is said once.
#[test]
fn one_chip_that_fails_does_not_stop_the_others() {
    let output = run(&["run", "matmul", "--chip", "all", "--config", "t=f8e4m3b11fnuz", "--json"]);
    assert_eq!(output.status.code(), Some(3));
    let rows = objects(text(&output.stdout));
    assert_eq!(rows.iter().map(|row| row["chip"].as_str().unwrap()).collect::<Vec<_>>(), ["v5e", "v5p", "v6e"]);
    assert_eq!(text(&output.stderr).matches("error[L018]: v4 ").count(), 1, "{}", text(&output.stderr));
    let output = run(&["run", "add", "--chip", "all", "--config", "t=bool"]);
    assert_eq!((output.status.code(), text(&output.stderr).matches("error[L005]").count()), (Some(3), 1));
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
