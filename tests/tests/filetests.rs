//! Every `.tpuir` file below `filetests/` is a test: see `tpu_tests::filetest`.

use libtest_mimic::{Arguments, Trial};
use tpu_tests::filetest::{check, corpus};

fn main() {
    let args = Arguments::from_args();
    let bless = std::env::var_os("BLESS").is_some_and(|v| v == "1");
    let root = corpus::root();
    let trials = corpus::files().into_iter().map(|path| {
        let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        Trial::test(name, move || check(&path, bless).map_err(Into::into))
    });
    libtest_mimic::run(&args, trials.collect()).exit();
}
