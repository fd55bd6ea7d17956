//! The command line for kernels that the examples do not have: without a reference, with a wrong one, with sizes that no
//! input binds, with errors of their own.

use serde_json::Value;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_odd_kernels")).args(arguments).env("PATH", "").env_remove("LIBTPU_PATH").output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[track_caller]
fn fails(code: i32, arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(code), ""), "{}", text(&output.stderr));
    text(&output.stderr).to_string()
}

/// The objects, and the exit code.
#[track_caller]
fn json(arguments: &[&str]) -> (Vec<Value>, Option<i32>) {
    let output = run(&[arguments, &["--json"]].concat());
    (text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect(), output.status.code())
}

#[track_caller]
fn one(arguments: &[&str]) -> Value {
    let (rows, code) = json(arguments);
    assert_eq!((rows.len(), code), (1, Some(0)));
    rows[0].clone()
}

#[test]
fn without_a_reference_the_interpreter_is_one() {
    let row = one(&["run", "scale"]);
    assert_eq!((&row["reference"], &row["ok"]), (&"interpreter".into(), &true.into()));
    let row = one(&["run", "scale", "--executor", "interpreter"]);
    assert!(row["reference"].is_null() && row["ok"].is_null() && row["max_abs_error"].is_null());
}

#[test]
fn a_wrong_result_has_an_exit_code() {
    let (rows, code) = json(&["run", "wrong"]);
    assert_eq!(code, Some(1));
    assert_eq!((&rows[0]["ok"], &rows[0]["tolerance"]), (&false.into(), &1e-5.into()));
    assert!((rows[0]["max_rel_error"].as_f64().unwrap() - 0.25).abs() < 1e-6);
    let output = run(&["run", "right", "wrong"]);
    assert_eq!(output.status.code(), Some(1), "the worst of both");
    assert!(text(&output.stdout).contains("ok: ") && text(&output.stdout).contains("MISMATCH: "));
    // Whoever corrects the scalar has the right result.
    assert_eq!(one(&["run", "wrong", "--config", "by=2"])["ok"], true);
}

#[test]
fn references_that_fail_are_errors() {
    assert!(fails(3, &["run", "panics"]).contains("error[D014]: a reference panicked: out of order"));
    assert!(fails(3, &["run", "short"]).contains("it gives [1] elements, and the outputs have [300]"));
    assert!(fails(3, &["run", "misnamed"]).contains("the kernel has no input `y`"));
    assert_eq!(one(&["run", "ranged"])["ok"], true);
}

#[test]
fn entries_that_do_not_fit_their_kernel_are_errors() {
    assert!(fails(2, &["run", "unknown"]).contains("kernel `unknown` has no `c`"));
    assert!(fails(3, &["run", "sized"]).contains("`sized` is registered with a size `N`, which it lacks\n  its sizes: n\n"));
    assert!(fails(3, &["run", "ranged_wrong"]).contains("is registered with a range of `y`, which is none of its inputs"));
    assert!(fails(3, &["list", "typeless"]).contains("is registered with no element type of `T`"));
    assert!(fails(2, &["run", "open"]).contains("give it with `--config t=f32`"));
    assert!(fails(2, &["run", "unnamed_batch", "--config", "t=f32"]).contains("a transformation added it"));
}

/// A kernel that fails does not keep the others from their turn.
#[test]
fn all_kernels_are_run() {
    let output = run(&["run", "--all", "--json"]);
    assert_eq!(output.status.code(), Some(3), "the worst of all");
    let rows: Vec<Value> = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = rows.iter().map(|row| row["kernel"].as_str().unwrap()).collect();
    assert_eq!(names, ["scale", "right", "wrong", "ranged", "batch", "cases", "letters", "Letters", "narrow"]);
    let words = text(&output.stderr);
    assert!(words.contains("error[R008]") && words.contains("error[D014]"), "{words}");
    let (rows, code) = json(&["list"]);
    assert_eq!((rows.len(), code), (16, Some(3)), "{rows:?}");
}

#[test]
fn sizes_that_no_input_binds() {
    assert!(fails(2, &["run", "count"]).contains("size `n` has no value: give it with `--size n=…`"));
    assert_eq!(one(&["list", "count"])["dtypes"], serde_json::json!(["i32", "f32"]), "those of its output");
    let row = one(&["run", "count", "--n", "200"]);
    assert_eq!((&row["config"], &row["ok"]), (&"b=128,t=i32,n=200,first=-3".into(), &true.into()));
    assert_eq!(one(&["run", "count", "--n", "200", "--config", "t=f32,first=7"])["config"], "b=128,t=f32,n=200,first=7");
    // What transformations add.
    assert_eq!(one(&["run", "batch", "--batch", "2"])["config"], "b=128,t=f32,n=300,batch=2,by=2.0");
    assert_eq!(one(&["inspect", "batch"])["windows"][0]["array"], serde_json::json!([3, 300]));
}

/// What a configuration is called can be given back, also where only the letter case tells names apart.
#[test]
fn names_in_both_letter_cases() {
    let row = one(&["run", "cases", "--config", "N=256,n=500"]);
    assert_eq!(row["config"], "N=256,n=500");
    assert_eq!(one(&["run", "cases", "--config", "N=256", "--n", "500"])["config"], row["config"]);
    // A block size says nothing about the arrays of a file.
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cases_{}.safetensors", std::process::id()));
    let device = tpu_device::Device::new("v5e").unwrap();
    let x = tpu_device::Tensor::zeros(&device, tpu_device::DType::I32, &[70]).unwrap();
    tpu_device::io::save_safetensors(&file, [("x", &x)]).unwrap();
    let row = one(&["run", "cases", "--config", "N=256", "--input", file.to_str().unwrap()]);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(row["config"], "N=256,n=70");
    assert!(fails(2, &["run", "cases", "--config", "m=3"]).contains("known names: N, precision, n"));
}

/// A name in another letter case is taken where one alone is meant.
#[test]
fn names_that_only_the_letter_case_tells_apart() {
    assert_eq!(one(&["run", "letters"])["config"], "Nx=128,nX=300");
    assert_eq!(one(&["run", "letters", "--config", "Nx=256,nX=500"])["config"], "Nx=256,nX=500");
    let words = fails(2, &["run", "letters", "--config", "nx=256"]);
    assert!(words.contains("`nx` may be `Nx` or `nX`"), "{words}");
    let words = fails(2, &["run", "LETTERS"]);
    assert!(words.contains("`LETTERS` may be `letters` or `Letters`"), "{words}");
    assert_eq!(one(&["run", "RIGHT"])["kernel"], "right");
}

/// The element type of a scalar may be said after its value, and by a file.
#[test]
fn scalars_have_the_element_type_of_the_launch() {
    for config in ["b=512,by=3,t=f16", "t=f16,by=3,b=512"] {
        assert_eq!(one(&["run", "scale", "--config", config])["config"], "b=512,t=f16,n=300,by=3.0");
    }
    assert_eq!(one(&["run", "scale", "--config", "b=512,t=bf16"])["config"], "b=512,t=bf16,n=300,by=2.0");
    for (config, part) in [
        ("by=x", "`by=x`: `x` is no number; one of f32 is"),
        ("by=1e5,t=f16", "`by=1e5`: f16 does not hold 1e5"),
        ("by=1e400", "f32 does not hold 1e400"),
    ] {
        let words = fails(2, &["run", "scale", "--config", config]);
        assert!(words.contains(part), "{words}");
    }
    assert!(fails(2, &["run", "count", "--config", "n=200,first=2.5"]).contains("`2.5` is no i32, which is a whole number"));
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("scalars_{}.safetensors", std::process::id()));
    let device = tpu_device::Device::new("v5e").unwrap();
    let x = tpu_device::Tensor::full(&device, half::bf16::from_f32(1.5), &[70]).unwrap();
    tpu_device::io::save_safetensors(&file, [("x", &x)]).unwrap();
    let row = one(&["run", "Letters", "--input", file.to_str().unwrap()]);
    std::fs::remove_file(&file).unwrap();
    assert_eq!((&row["config"], &row["max_abs_error"]), (&"b=512,t=bf16,n=70,by=2.0".into(), &0.0.into()));
}

/// The greatest tolerance that applies counts, and the general one where none does.
#[test]
fn tolerances_by_element_type_and_precision() {
    for (config, tolerance) in [
        ("t=f32,by=1.3", 0.0),
        ("t=f16,by=1.3", 5e-4),
        ("t=bf16,by=1.3", 4e-3),
        ("t=f16,precision=high", 1e-3),
        ("t=bf16,precision=high", 4e-3),
        ("t=f32,precision=high", 1e-3),
    ] {
        let (rows, code) = json(&["run", "Letters", "--config", config]);
        assert_eq!(rows[0]["tolerance"], tolerance, "{config}");
        // Without rounding, the reference is not what f32 has.
        assert_eq!(code, Some(i32::from(tolerance == 0.0)), "{config}: {}", rows[0]);
    }
}

#[test]
fn errors_of_a_run_show_the_line() {
    let words = fails(3, &["run", "check"]);
    assert!(words.contains("error[R008]: check failed: one step is enough") && words.contains("debug_check!(i < 1"), "{words}");
    assert_eq!(one(&["run", "check", "--n", "128"])["ok"], true);
}

/// No chip has integers of 2 bits: libtpu need not be there to say so.
#[test]
fn what_no_chip_has_is_unsupported() {
    let (rows, code) = json(&["verify", "narrow"]);
    assert_eq!((rows.len(), code), (5, Some(5)));
    for row in rows {
        assert_eq!(row["verdict"], "unsupported");
        assert!(row["reason"].as_str().unwrap().starts_with("[M001]"), "{row}");
    }
    let (rows, _) = json(&["list", "narrow"]);
    assert_eq!((&rows[0]["dtypes"], &rows[0]["chips"]), (&serde_json::json!(["i2"]), &serde_json::json!([])));
    // What is known is said before libtpu is missed.
    let output = run(&["verify", "narrow", "scale", "--chip", "v5e"]);
    assert_eq!(output.status.code(), Some(8));
    assert!(text(&output.stdout).contains("unsupported") && text(&output.stderr).contains("pip install libtpu"));
}
