//! Every `.tpuir` file below `filetests/` is a test: see `tpu_tests::filetest`.

use libtest_mimic::{Arguments, Trial};
use std::path::{Path, PathBuf};

fn main() {
    let args = Arguments::from_args();
    let bless = std::env::var_os("BLESS").is_some_and(|v| v == "1");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests");
    let trials = files(&root).into_iter().map(|path| {
        let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        Trial::test(name, move || tpu_tests::filetest::check(&path, bless).map_err(Into::into))
    });
    libtest_mimic::run(&args, trials.collect()).exit();
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files = vec![];
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    for path in entries.map(|e| e.path()) {
        if path.is_dir() {
            files.extend(self::files(&path));
        } else if path.extension().is_some_and(|e| e == "tpuir") {
            files.push(path);
        }
    }
    files.sort();
    files
}
