//! libtpu's own estimate of a program's cycles, which it writes to a folder while it compiles.
//!
//! The folder gets a file for each operation of the compiled program that differs from the others:
//!
//! ```text
//! hlo_op_estimate {
//!   hlo_op_name: "name.1"
//!   estimated_cycles: 6026
//!   num_equivalent_hlos: 1
//!   …
//! }
//! ```
//!
//! Rules: a program's estimate is the sum over its operations, each as often as it is there. It is a model's, not a measurement.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use tpu_kernel::chips::Chip;

/// The flags that make libtpu estimate, into the folder that it runs in. It estimates from a copy of the program without its
/// conversions between registers of one width, and its check of register types then kills it: of nearly every kernel that selects
/// or loads 16 bits on v5e and v5p. Only the estimate is without that check, the verdict is not.
pub(super) const FLAGS: &str = "--xla_jf_dump_static_llo_profile_to=. --xla_tpu_check_llo_types=false";

/// Whether libtpu can estimate for a chip: for v4 it lacks a model of the memory's latency, and dies.
pub(super) fn estimates(chip: &Chip) -> bool {
    chip.name != "v4"
}

/// The sum of the estimates in a folder, whose files are removed; none where there are none.
pub(super) fn take(folder: &Path) -> Option<u64> {
    let mut total: Option<u64> = None;
    for entry in std::fs::read_dir(folder).ok()?.filter_map(Result::ok) {
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "textproto")
            && let Some(cycles) = std::fs::read_to_string(&path).ok().and_then(|text| sum(&text))
        {
            total = Some(total.unwrap_or(0).saturating_add(cycles));
        }
        // What cannot be removed goes with the folder.
        let _ = std::fs::remove_file(path);
    }
    total
}

/// The sum of the estimates of one file.
fn sum(text: &str) -> Option<u64> {
    let field = |block: &str, name: &str| -> Option<u64> {
        let value = block.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'))?;
        value.trim().parse().ok()
    };
    let mut total: Option<u64> = None;
    for block in text.split("hlo_op_estimate {").skip(1) {
        let Some(cycles) = field(block, "estimated_cycles") else { continue };
        let times = field(block, "num_equivalent_hlos").unwrap_or(1).max(1);
        total = Some(total.unwrap_or(0).saturating_add(cycles.saturating_mul(times)));
    }
    total
}

/// A new folder of a worker, removed with all that is in it at the end.
pub(super) struct Folder(PathBuf);

/// How the folders' names begin.
const NAME: &str = "tpu-device-libtpu-";

impl Folder {
    pub(super) fn new() -> std::io::Result<Folder> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let name = format!("{NAME}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let path = std::path::absolute(std::env::temp_dir().join(name))?;
            match std::fs::create_dir(&path) {
                // Left by a process of the same number that was killed.
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => continue,
                made => return made.map(|()| Folder(path)),
            }
        }
    }

    /// The folder that a worker was given, to be removed by it when its pool is gone; no other folder will do.
    pub(super) fn of_worker(path: PathBuf) -> Option<Folder> {
        // Checked before there is a value whose end removes it.
        if is_ours(&path) { Some(Folder(path)) } else { None }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if is_ours(&self.0) {
            // It may be gone, and there is nobody to tell.
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// Whether a path is one that `Folder::new` makes: nothing else is ever removed.
fn is_ours(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    path.is_absolute() && name.is_some_and(|name| name.starts_with(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADD: &str = "hlo_op_estimate {\n  hlo_op_name: \"name.1\"\n  estimated_cycles: 2159\n  num_equivalent_hlos: 4\n}\n";

    #[test]
    fn operations_count_as_often_as_they_are_there() {
        assert_eq!(sum(ADD), Some(4 * 2159));
        assert_eq!(sum(&format!("{ADD}hlo_op_estimate {{\n  estimated_cycles: 7\n}}\n")), Some(4 * 2159 + 7));
        for nothing in ["", "garbage", "hlo_op_estimate {", "hlo_op_estimate {\n estimated_cycles: -1\n}"] {
            assert_eq!(sum(nothing), None, "{nothing}");
        }
        assert_eq!(sum(&ADD.replace("2159", "18446744073709551615")), Some(u64::MAX));
    }

    #[test]
    fn a_folder_is_emptied_when_read_and_removed_at_the_end() {
        let folder = Folder::new().expect("a folder");
        let path = folder.path().to_path_buf();
        assert_eq!(take(&path), None);
        std::fs::write(path.join("a.textproto"), ADD).expect("written");
        std::fs::write(path.join("b_TPU v5 lite.textproto"), ADD).expect("written");
        std::fs::write(path.join("core"), ADD).expect("written");
        assert_eq!(take(&path), Some(8 * 2159));
        assert_eq!(take(&path), None);
        std::fs::write(path.join("late"), "").expect("written");
        drop(folder);
        assert!(!path.exists());
        assert_eq!(take(&path), None);
    }

    #[test]
    fn a_worker_removes_no_folder_but_its_own() {
        let own = Folder::new().expect("a folder");
        // Inside a folder of the test's own, so that a fault here costs nothing.
        let other = own.path().join("other");
        std::fs::create_dir(&other).expect("a folder");
        assert!(Folder::of_worker(other.clone()).is_none());
        assert!(other.is_dir());
        let inner = own.path().join(format!("{NAME}inner"));
        std::fs::create_dir(&inner).expect("a folder");
        drop(Folder::of_worker(inner.clone()).expect("a name of ours"));
        assert!(!inner.exists() && own.path().is_dir());
        for path in ["", "tpu-device-libtpu-none"] {
            assert!(!is_ours(Path::new(path)), "{path}");
        }
    }
}
