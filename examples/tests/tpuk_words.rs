//! What `tpuk` says to what is typed wrong, and what its help says.

// Each test program uses some of it.
#[allow(dead_code)]
mod command;

use command::{command, fails, json, objects, ok, text};
use std::process::Stdio;

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
        ("bm=0", "a block size is 1 or more"),
        ("bm=99999999999999999999", "a block size is at most 2147483647"),
        ("m=1000000000000000000000000000000", "a size is at most 2147483647"),
        ("m=-3", "`m=-3`: a size is a whole number, 0 or more"),
        ("", "`--config` is empty: it takes `name=value`"),
        (" ", "`--config` is empty"),
        (",", "`--config ,` has an empty part"),
        ("bm=64,,bn=64", "has an empty part"),
        ("bm=64=64", "whole number"),
        ("t=f99", "the element types are f32"),
        ("precision=best", "the precisions are default, high, highest"),
        ("m=x", "whole number"),
    ] {
        let words = fails(2, &["run", "matmul", "--config", config]);
        assert!(words.contains(part), "{config}: {words}");
    }
    assert!(fails(2, &["run", "attention", "--config", "causal=3"]).contains("`causal=3`: `3` is neither true nor false"));
    assert!(fails(3, &["run", "matmul", "--config", "t=i32"]).contains("error[L005]"));
}

#[test]
fn sizes_beyond_everything_are_errors() {
    assert!(fails(3, &["run", "matmul", "--m", "2147483647", "--n", "2147483647"]).starts_with("error"));
    for size in ["2147483648", "99999999999", "9223372036854775807", "18446744073709551615", &"9".repeat(30)] {
        let words = fails(2, &["run", "matmul", "--m", size, "--n", size]);
        assert_eq!(words, format!("error: `m={size}`: a size is at most 2147483647\n"));
    }
    assert!(fails(3, &["run", "add", "--n", "2000000000", "--chip", "v5e"]).starts_with("error"));
    for (code, block) in [(3, "2147483647"), (3, "1000000000"), (2, "2147483648"), (2, "4294967296")] {
        fails(code, &["run", "matmul", "--config", &format!("bm={block}")]);
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
    for command in ["run", "verify"] {
        let words = ok(&[command, "--help"]);
        assert!(words.contains("Size `n` of add, matmul") && words.contains("Size `rows` of softmax"), "{words}");
        let blank = words.lines().zip(words.lines().skip(1)).find(|(option, help)| {
            option.trim_start().starts_with("--") && option.trim_end().ends_with('>') && help.trim().is_empty()
        });
        assert_eq!(blank, None, "{command}");
    }
}

#[test]
fn names_are_taken_in_any_letter_case() {
    let row = &json(&["run", "ADD", "--chip", "V5E", "--config", "B=1024,T=BF16,N=300", "--executor", "Interpreter"])[0];
    assert_eq!((&row["kernel"], &row["config"]), (&"add".into(), &"b=1024,t=bf16,n=300".into()));
    let row = &json(&["run", "attention", "--config", "Causal=True,PRECISION=High"])[0];
    assert!(row["config"].as_str().unwrap().contains("precision=high") && row["ok"] == true);
    assert_eq!(ok(&["emit", "Mosaic", "Add"]), ok(&["emit", "--form", "MOSAIC", "add"]));
    let staged = ok(&["emit", "tpuir", "add", "--stage", "staged"]);
    assert_eq!(ok(&["emit", "TPUIR", "add", "--stage", "STAGED"]), staged);
    assert_ne!(ok(&["emit", "tpuir", "add"]), staged);
}

#[test]
fn emit_says_what_it_takes() {
    for (arguments, part) in [
        (&["mosac", "add"][..], "no form is called `mosac`; did you mean `mosaic`?\n  forms: tpuir, clif, asm, mosaic, stablehlo"),
        (&["add", "wasm"], "no form is called `wasm`; did you mean `asm`?"),
        (&["stable", "add"], "did you mean `stablehlo`?"),
        (&["pdf", "add"], "`pdf` is neither a form nor a kernel\n  forms: tpuir"),
        (&["add"], "say what to emit: tpuir, clif"),
        (&[], "say what to emit"),
        (&["mosaic"], "name a kernel, or give `--all`"),
        (&["mosaic", "ad"], "no kernel is called `ad`; did you mean `add`?"),
        (&["mosaic", "clif", "add"], "`mosaic` and `clif` are two forms"),
        (&["mosaic", "add", "--form", "clif"], "`--form clif` and `mosaic` are two forms"),
        (&["add", "--form", "mosac"], "mosaic"),
        (&["clif", "add", "--stage", "legalised"], "`--stage` is for tpuir: clif has no stages"),
        (&["add", "--form", "mosaic", "--stage", "canonical"], "`--stage` is for tpuir: mosaic has no stages"),
        (&["tpuir", "add", "--stage", "last"], "legalised"),
    ] {
        let words = fails(2, &[&["emit"], arguments].concat());
        assert!(words.contains(part), "{arguments:?}: {words}");
    }
}

#[test]
fn what_is_given_twice_is_refused_with_both() {
    for (arguments, both) in [
        (&["--rows", "5", "--rows", "6"][..], "`--rows 5` and `--rows 6`"),
        (&["--rows", "6", "--size", "rows=5"], "`--size rows=5` and `--rows 6`"),
        (&["--config", "rows=5", "--size", "rows=5"], "`--config rows=5` and `--size rows=5`"),
        (&["--config", "r=8,R=16"], "`--config r=8` and `--config R=16`"),
        (&["--config", "precision=high", "--config", "precision=high"], "`--config precision=high` and"),
    ] {
        let words = fails(2, &[&["run", "softmax"], arguments].concat());
        assert!(words.contains(both) && words.contains("set the same of kernel `softmax`"), "{words}");
    }
    assert!(fails(2, &["run", "add", "--chip", "v4", "--chip", "v5e"]).contains("--chip"));
    assert_eq!(json(&["run", "softmax", "--rows", "5", "--size", "cols=6"])[0]["config"], "r=256,c=128,rows=5,cols=6");
}

#[test]
fn numbers_that_are_none_are_refused() {
    let thirty = "9".repeat(30);
    for (arguments, part) in [
        (&["run", "softmax", "--rows", "-3"][..], "error: `rows=-3`: a size is a whole number, 0 or more"),
        (&["run", "softmax", "--rows=-3"], "error: `rows=-3`: a size is a whole number, 0 or more"),
        (&["run", "softmax", "--rows", "3.5"], "error: `rows=3.5`: a size is a whole number, 0 or more"),
        (&["run", "softmax", "--rows", &thirty], "a size is at most 2147483647"),
        (&["run", "softmax", "--seed", "-1"], "invalid value '-1' for '--seed <N>': it is a whole number, 0 or more"),
        (&["run", "softmax", "--seed", &thirty], "it is at most 18446744073709551615"),
        (&["bench", "add", "--rounds", "0"], "invalid value '0' for '--rounds <N>': it is 1 or more"),
        (&["bench", "add", "--rounds", "-1"], "it is a whole number, 1 or more"),
        (&["bench", "add", "--rounds", &thirty], "it is at most 1000000"),
        (&["verify", "add", "--jobs", "0"], "it is 1 or more"),
        (&["verify", "add", "--jobs", &thirty], "it is at most 1024"),
        (&["verify", "add", "--limit", "0"], "it is 1 or more"),
        (&["verify", "add", "--limit", "18446744073709551615"], "it is at most 1000000"),
    ] {
        let words = fails(2, arguments);
        assert!(words.contains(part) && !words.contains("tip:"), "{arguments:?}: {words}");
    }
}

#[test]
fn options_that_lack_something_are_refused() {
    for option in ["--config", "--size", "--rows", "--chip", "--seed", "--input", "--output", "--executor"] {
        assert!(fails(2, &["run", "softmax", option]).contains("a value is required"), "{option}");
    }
    for (arguments, part) in [
        (["run", "softmax", "--config", ""], "`--config` is empty"),
        (["run", "softmax", "--size", ","], "`--size ,` has an empty part"),
        (["run", "softmax", "--size", "rows"], "`rows` is no `name=value`"),
        (["run", "softmax", "--rows", ""], "`rows=`: a size is a whole number"),
        (["run", "softmax", "--output", ""], "a value is required"),
        (["run", "softmax", "--chip", ""], "a value is required"),
        (["bench", "add", "--chip", "all"], "one chip at a time"),
    ] {
        let words = fails(2, &arguments);
        assert!(words.contains(part), "{arguments:?}: {words}");
    }
    assert!(fails(2, &["run", ""]).contains("no kernel is called ``"));
    assert!(fails(2, &["run", "add", "--input", "x", "--seed", "0"]).contains("`--seed` is for random arrays"));
}

#[cfg(unix)]
#[test]
fn arguments_that_are_not_utf8_are_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let broken = OsStr::from_bytes(b"ad\xffd");
    for before in
        [&["run"][..], &["run", "add", "--n"], &["run", "add", "--config"], &["run", "add", "--chip"], &["emit", "mosaic"]]
    {
        let output = command(before).arg(broken).output().unwrap();
        let words = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{before:?}: {words}");
        assert!(words.starts_with("error: ") && words.contains("\"ad\\xFFd\""), "{before:?}: {words}");
    }
    // The path of a file may be anything.
    let output = command(&["run", "add", "--input"]).arg(broken).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
}

/// Where nobody reads what is said, the exit code remains.
#[test]
fn a_closed_standard_error_is_no_panic() {
    for (code, arguments) in [(2, &["run", "matmull"][..]), (3, &["run", "add", "--config", "t=bool"]), (2, &["--no-such-option"])]
    {
        let mut child = command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stderr.take());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{arguments:?}");
    }
    // Of several kernels the others have their turn all the same.
    let mut child = command(&["run", "--all", "--config", "t=bool", "--json"]);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), objects(text(&output.stdout)).len()), (Some(3), 4));
}
