//! The kernels of all filetests, as seeds for other tests.

use std::path::{Path, PathBuf};

/// The folder of the filetests.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests")
}

/// Every filetest, sorted.
pub fn files() -> Vec<PathBuf> {
    let mut files = vec![];
    collect(&root(), &mut files);
    files.sort();
    files
}

/// The text of every filetest.
pub fn texts() -> Vec<String> {
    files().iter().filter_map(|path| std::fs::read_to_string(path).ok()).map(|text| super::input(&text)).collect()
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()) {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "tpuir") {
            files.push(path);
        }
    }
}
