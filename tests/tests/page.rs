//! The page and the trace of an inspection: what they hold, and what a browser says to them.

use std::path::PathBuf;
use tpu_device::tpuk::page::html;
use tpu_tests::pictured::{attention, inspect, matmul, softmax};

#[test]
fn write() {
    let dir = PathBuf::from(std::env::var("PAGES").unwrap());
    for (name, sketch) in [("matmul", matmul()), ("softmax", softmax()), ("attention", attention())] {
        std::fs::write(dir.join(format!("{name}.html")), html(&inspect(&sketch))).unwrap();
    }
}
