//! The files that `tpuk` reads and writes.

// Each test program uses some of it.
#[allow(dead_code)]
mod command;

use command::{File, fails, json, ok, text};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tpu_device::{Device, Tensor, io};

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

/// A folder of the test's own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tpuk_{}_{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn at(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }

    fn names(&self) -> Vec<String> {
        let names = std::fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Every option that names a file to write, at the end.
const WRITERS: [&[&str]; 4] = [
    &["run", "add", "--json", "--output"],
    &["emit", "mosaic", "add", "--output"],
    &["inspect", "add", "--json", "--html"],
    &["inspect", "add", "--json", "--trace"],
];

#[cfg(unix)]
#[test]
fn what_is_no_file_is_never_replaced() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let folder = Folder::new("kinds");
    let (inner, socket, fifo, link, file) =
        (folder.at("folder"), folder.at("socket"), folder.at("fifo"), folder.at("link"), folder.at("file"));
    std::fs::create_dir(&inner).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    symlink("file", &link).unwrap();
    let before = folder.names();
    // Nobody writes into the fifo: it is not waited for.
    assert!(fails(4, &["run", "add", "--input", &fifo]).contains("it is a fifo, not a file"));
    for writer in WRITERS {
        let to = |path| [writer, &[path]].concat();
        assert!(fails(4, &to(&inner)).contains("it is a folder, not a file"), "{writer:?}");
        assert!(fails(4, &to(&socket)).contains("it is a socket, not a file"), "{writer:?}");
        ok(&to(&link));
        assert!(std::fs::symlink_metadata(&link).unwrap().file_type().is_symlink(), "{writer:?}");
        let want = std::fs::read(&file).unwrap();
        let reader = {
            let fifo = fifo.clone();
            std::thread::spawn(move || std::fs::read(fifo).unwrap())
        };
        ok(&to(&fifo));
        assert!(reader.join().unwrap() == want && !want.is_empty(), "{writer:?}");
        std::fs::remove_file(&file).unwrap();
        let kind = |path: &str| std::fs::symlink_metadata(path).unwrap().file_type();
        assert!(kind(&inner).is_dir() && kind(&socket).is_socket() && kind(&fifo).is_fifo(), "{writer:?}");
        assert_eq!(folder.names(), before, "{writer:?}");
    }
}

/// The limit of a file's size stands for the end of a disk.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_file() {
    let folder = Folder::new("full");
    let limited = |arguments: &[&str], stdout: Option<std::fs::File>| {
        let program = env!("CARGO_BIN_EXE_tpuk");
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"", program]).args(arguments).env_remove("LIBTPU_PATH");
        if let Some(stdout) = stdout {
            shell.stdout(stdout);
        }
        shell.output().unwrap()
    };
    for writer in WRITERS {
        let old = folder.at("old");
        std::fs::write(&old, "as it was").unwrap();
        let output = limited(&[writer, &[&old]].concat(), None);
        let words = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(4), ""), "{writer:?}: {words}");
        assert!(words.starts_with("error") && words.contains("old: File too large"), "{words}");
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "as it was", "{writer:?}");
        assert_eq!(folder.names(), ["old"], "{writer:?}: nothing half done is left");
    }
    // The same of standard output.
    let output = limited(&["emit", "clif", "matmul"], Some(std::fs::File::create(folder.at("stdout")).unwrap()));
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stderr).starts_with("error: the output cannot be written: "), "{}", text(&output.stderr));
}

#[test]
fn a_command_that_fails_leaves_the_old_file() {
    let folder = Folder::new("failed");
    let old = folder.at("old");
    std::fs::write(&old, "as it was").unwrap();
    for arguments in [
        &["run", "add", "--config", "t=bool", "--output", &old][..],
        &["emit", "clif", "add", "--config", "t=bool", "--output", &old],
        &["emit", "mosaic", "softmax", "matmul", "--config", "c=90,bm=100", "--output", &old],
        &["inspect", "add", "--config", "t=bool", "--html", &old],
    ] {
        fails(3, arguments);
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "as it was", "{arguments:?}");
    }
    assert!(fails(2, &["inspect", "add", "--html", &old, "--trace", &old]).contains("name one file"));
    assert_eq!(folder.names(), ["old"]);
}

/// A file of tensors with that header and these elements.
fn tensors(path: &str, header: &str, elements: &[u8]) {
    std::fs::write(path, [&(header.len() as u64).to_le_bytes(), header.as_bytes(), elements].concat()).unwrap();
}

#[test]
fn files_that_are_wrong() {
    let folder = Folder::new("wrong");
    let path = folder.at("given");
    let reads = ["run", "add", "--input", &path];
    let both = |x: &str, y: &str| format!("{{\"x\":{x},\"y\":{y}}}");
    let of =
        |dtype: &str, shape: &str, offsets: &str| format!("{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":{offsets}}}");
    for (code, part, header, elements) in [
        (4, "D011", "{".to_string(), 0),
        (4, "D011", "[]".to_string(), 0),
        (4, "D011", both(&of("F32", "[2]", "[0,8]"), &of("F32", "[2]", "[8,16]")), 15),
        (4, "D011", both(&of("F32", "[2]", "[0,8]"), &of("F32", "[2]", "[8,16]")), 17),
        (4, "D011", both(&of("F32", "[2]", "[0,8]"), &of("F32", "[2]", "[0,8]")), 8),
        (4, "D011", both(&of("F32", "[-2]", "[0,8]"), &of("F32", "[2]", "[8,16]")), 16),
        (4, "D011", both(&of("F32", "[2]", "[0,8]"), &of("F99", "[2]", "[8,16]")), 16),
        (4, "D011", both(&of("F32", "[4611686018427387904,4]", "[0,8]"), &of("F32", "[2]", "[8,16]")), 16),
        (4, "D012", both(&of("F64", "[1]", "[0,8]"), &of("F64", "[1]", "[8,16]")), 16),
        (
            4,
            "has no tensor `y`; did you mean `Y` or `x`?",
            format!("{{\"x\":{},\"Y\":{}}}", of("F32", "[2]", "[0,8]"), of("F32", "[2]", "[8,16]")),
            16,
        ),
        (3, "L005", both(&of("BOOL", "[8]", "[0,8]"), &of("BOOL", "[8]", "[8,16]")), 16),
        (3, "error[L", both(&of("F32", "[2]", "[0,8]"), &of("BF16", "[4]", "[8,16]")), 16),
        (3, "error[L", both(&of("F32", "[2]", "[0,8]"), &of("F32", "[1]", "[8,12]")), 12),
        (3, "error[L", both(&of("F32", "[2,1]", "[0,8]"), &of("F32", "[2]", "[8,16]")), 16),
        (3, "error", both(&of("F32", "[0,9223372036854775807]", "[0,0]"), &of("F32", "[2]", "[0,8]")), 8),
    ] {
        tensors(&path, &header, &vec![0; elements]);
        let words = fails(code, &reads);
        assert!(words.contains(part), "{header}: {words}");
    }
    std::fs::write(&path, [0; 9]).unwrap();
    // Sizes are those of the file, which nobody knows yet.
    assert!(fails(4, &["run", "add", "--input", &path, "--n", "9"]).contains("note: kernel `add` with b=4096,t=f32,n=9\n"));
    assert!(fails(4, &reads).contains("note: kernel `add` with b=4096,t=f32\n"));
    for length in [0u64, 1 << 20, u64::MAX] {
        std::fs::write(&path, length.to_le_bytes()).unwrap();
        assert!(fails(4, &reads).contains("D011"), "{length}");
    }
    let rank = format!("[{}2]", "1,".repeat(10_000));
    tensors(&path, &both(&of("F32", &rank, "[0,8]"), &of("F32", "[2]", "[8,16]")), &[0; 16]);
    let words = fails(3, &reads);
    assert!(words.contains("…] of 10001 dimensions: the highest rank is 4") && words.len() < 500, "{words}");
    assert!(fails(4, &["run", "add", "--input", folder.0.to_str().unwrap()]).contains("it is a folder, not a file"));
}

/// What a file holds beside the inputs is not looked at; NaN and infinities are numbers like any other.
#[test]
fn files_with_more_and_with_nan() {
    let device = Device::new("v5e").unwrap();
    let given = File::new("nan.safetensors");
    let x = Tensor::from_slice(&device, &[f32::NAN, f32::INFINITY, f32::INFINITY, 1.0], &[4]).unwrap();
    let y = Tensor::from_slice(&device, &[0.0, f32::NEG_INFINITY, 1.0, 2.0f32], &[4]).unwrap();
    let other = Tensor::from_slice(&device, &[true], &[1]).unwrap();
    io::save_safetensors(&given.0, [("x", &x), ("y", &y), ("other", &other)]).unwrap();
    let row = &json(&["run", "add", "--input", given.path()])[0];
    assert_eq!((&row["max_abs_error"], &row["ok"]), (&0.0.into(), &true.into()));
    // Integers wrap, in the kernel and in its reference.
    let x = Tensor::from_slice(&device, &[100i8, -100, 1], &[3]).unwrap();
    io::save_safetensors(&given.0, [("x", &x), ("y", &x)]).unwrap();
    assert_eq!(json(&["run", "add", "--input", given.path()])[0]["max_abs_error"], 0.0);
}

/// What adds up beyond the numbers of a type is what the type makes of it, in the references too.
#[test]
fn references_hold_at_the_ends_of_the_types() {
    let device = Device::new("v5e").unwrap();
    let given = File::new("ends.safetensors");
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let ok = |kernel: &str, arrays: &[(&str, Tensor)], config: &str| {
        io::save_safetensors(&given.0, arrays.iter().map(|(name, tensor)| (*name, tensor))).unwrap();
        let row = &json(&["run", kernel, "--input", given.path(), "--config", config])[0];
        assert_eq!(row["ok"], true, "{arrays:?} {config}: {row:?}");
    };
    fn tensor<T: tpu_device::Element>(device: &Device, values: &[T], shape: &[usize]) -> Tensor {
        Tensor::from_slice(device, values, shape).unwrap()
    }
    let (x, y) = ([i32::MAX, 1, i32::MIN, i32::MIN], [1, 1, -1, i32::MIN]);
    ok("add", &[("x", tensor(&device, &x, &[4])), ("y", tensor(&device, &y, &[4]))], "b=1024");
    let (x, y) = ([u32::MAX, u32::MAX, 1], [1, u32::MAX, 1]);
    ok("add", &[("x", tensor(&device, &x, &[3])), ("y", tensor(&device, &y, &[3]))], "b=1024");
    let (x, y) = ([i8::MAX, i8::MIN, 1], [i8::MAX, i8::MIN, 1]);
    ok("add", &[("x", tensor(&device, &x, &[3])), ("y", tensor(&device, &y, &[3]))], "b=4096");
    let (x, y) = ([f32::MAX, f32::MIN, inf, inf, nan, 1e-45], [f32::MAX, f32::MIN, -inf, inf, 1.0, 1e-45]);
    ok("add", &[("x", tensor(&device, &x, &[6])), ("y", tensor(&device, &y, &[6]))], "b=1024");

    for precision in ["default", "high", "highest"] {
        for (x, w) in [
            ([1e30, 1.0], [1e30, 1.0]),
            ([3e38, 3e38], [1.0, 1.0]),
            ([3.4e38, 0.0], [1.0, 1.0]),
            ([1e-30, 1e-30], [1e-20, 1e-20]),
            ([inf, -inf], [1.0, 1.0]),
            ([nan, 1.0], [0.0, 1.0]),
        ] {
            let arrays = [("x", tensor(&device, &x, &[1, 2])), ("w", tensor(&device, &w, &[2, 1]))];
            ok("matmul", &arrays, &format!("precision={precision}"));
        }
    }
    for x in [[nan, 1.0, 2.0], [inf, 1.0, 2.0], [-inf, -inf, -inf], [-inf, 1.0, 2.0], [3e38, -3e38, 0.0], [1e-45, 0.0, -1e-45]] {
        ok("softmax", &[("x", tensor(&device, &x, &[1, 3]))], "r=256");
    }
    let (q, k, v) = ([1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 0.0, 1.0], [1.0, 2.0, 3.0, 4.0]);
    let first = |value: f32, rest: [f32; 4]| [value, rest[1], rest[2], rest[3]];
    for causal in ["causal=true", "causal=false"] {
        for (q, k, v) in [
            (first(nan, q), k, v),
            (q, first(nan, k), v),
            (q, k, first(nan, v)),
            (q, first(inf, k), v),
            (q, first(-inf, k), v),
            (q, k, first(inf, v)),
            (first(1e30, q), first(1e30, k), v),
            (first(1e30, q), first(-1e30, k), v),
            (q, k, [3.4e38, 1.0, 3.4e38, 1.0]),
        ] {
            let arrays = [("q", &q), ("k", &k), ("v", &v)].map(|(name, values)| (name, tensor(&device, values, &[1, 2, 2])));
            ok("attention", &arrays, causal);
        }
    }
}

/// A number of the model beyond 64 bits is none.
#[test]
fn counts_beyond_64_bits_are_none() {
    let page = File::new("far.html");
    let far = ["inspect", "attention", "--heads", "2000000000", "--tq", "1000000", "--tk", "1000000", "--d", "100"];
    let row = &json(&[&far[..], &["--html", page.path()]].concat())[0];
    assert_eq!(
        (&row["predicted_cycles"], &row["cost"]["flops"], &row["cost"]["bytes"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    let words = command::ok(&far);
    assert!(words.contains("prediction: none: the cycles are more than 2^64"), "{words}");
    for text in [words, row["prediction"].to_string(), std::fs::read_to_string(&page.0).unwrap()] {
        assert!(!text.contains("18446744073709551615") && !text.contains("18,446,744"), "{text}");
    }
}

#[test]
fn a_page_and_a_trace_in_one_file_are_refused() {
    let page = File::new("both");
    let folder = page.0.parent().unwrap().display();
    let other = format!("{folder}/./{}", page.0.file_name().unwrap().to_str().unwrap());
    assert!(fails(2, &["inspect", "add", "--html", page.path(), "--trace", &other]).contains("name one file"));
    assert!(!page.0.exists());
}
