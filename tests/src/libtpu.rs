//! libtpu as the tests' judge, where `LIBTPU_PATH` names it; without it the tests check nothing there, and say so once.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Once;
use tpu_device::libtpu::{Job, Library, Pool, PoolOptions, Verdict};
use tpu_kernel::ahead::Built;
use tpu_kernel::chips::Chip;
use tpu_kernel::ir::DType;
use tpu_kernel::launch::Launchable;

/// The library that `LIBTPU_PATH` names.
pub fn library() -> Option<Library> {
    static SAID: Once = Once::new();
    match std::env::var_os("LIBTPU_PATH") {
        Some(path) => Some(Library::find(Some(Path::new(&path))).expect("LIBTPU_PATH names libtpu")),
        None => {
            SAID.call_once(|| {
                // Past the test harness, which keeps what passing tests print.
                let _ = writeln!(std::io::stderr(), "LIBTPU_PATH is not set: what libtpu accepts is not checked");
            });
            None
        }
    }
}

/// A pool whose workers run the tests' binary of that path.
pub fn pool(worker: &str, library: &Library) -> Pool {
    Pool::new(library, PoolOptions { program: Some(PathBuf::from(worker)), ..PoolOptions::default() })
}

/// A verdict for each program on one chip.
pub fn judge(worker: &str, library: &Library, chip: &'static Chip, programs: Vec<String>) -> Vec<Verdict> {
    let jobs: Vec<Job> = programs.into_iter().map(|program| Job { chip, program, estimate: None }).collect();
    pool(worker, library).judge(&jobs, &mut |_, _| {}).expect("libtpu can be asked")
}

/// The kernel has a form on every chip, a predicted time, and libtpu compiles it there.
///
/// # Panics
/// Where it has none, or libtpu refuses it.
#[track_caller]
pub fn compiles(worker: &str, kernel: &dyn Launchable, inputs: &[(DType, Vec<usize>)]) {
    let types: Vec<DType> = inputs.iter().map(|input| input.0).collect();
    let built = Built::new(kernel, &types).unwrap_or_else(|error| panic!("{error:?}"));
    for chip in Chip::ALL {
        let bound = built.bind(chip, inputs).unwrap_or_else(|error| panic!("{}: {error:?}", chip.name));
        let text = bound.stablehlo().unwrap_or_else(|error| panic!("{}: {error}", chip.name));
        assert!(bound.predict().is_ok_and(|prediction| prediction.cycles > 0), "{} on {}", built.kernel.name, chip.name);
        let Some(library) = library() else { continue };
        for verdict in judge(worker, &library, chip, vec![text]) {
            assert!(accepted(&verdict), "{} on {}: {verdict:?}", built.kernel.name, chip.name);
        }
    }
}

/// Whether it compiles.
pub fn accepted(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Accepted { .. })
}

/// Bytes in base64, as a kernel's text stands in a module.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = |chunk: &[u8]| {
        let word = (0..3).fold(0, |word, at| word << 8 | chunk.get(at).map_or(0, |&byte| usize::from(byte)));
        let digit = |at: usize| if at > chunk.len() { '=' } else { char::from(DIGITS[(word >> (18 - 6 * at)) & 63]) };
        [0, 1, 2, 3].map(digit)
    };
    bytes.chunks(3).flat_map(digits).collect()
}
