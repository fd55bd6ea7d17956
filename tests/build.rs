//! Makes code of the snippets in `docs/errors.md`: a file for each page, so that the lines of a rendered error are
//! those of the snippet, and a list of the pages.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/errors.md");
    println!("cargo::rerun-if-changed={}", document.display());
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let text = fs::read_to_string(&document).expect("docs/errors.md is there");
    let mut list = String::from("pub(super) const PAGES: &[Page] = &[\n");
    for page in text.split("\n## ").skip(1) {
        let code: String = page.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
        let Some((snippet, _)) = page.split_once("```rust\n").and_then(|(_, rest)| rest.split_once("```")) else {
            panic!("the page {code} has no snippet");
        };
        let name = format!("{}.rs", code.to_lowercase());
        fs::write(out.join(&name), format!("{{ {snippet} crate::rendered(&error) }}\n")).expect("OUT_DIR is writable");
        let path = out.join(&name);
        writeln!(list, "    Page {{ code: {code:?}, file: {path:?}, rendered: || include!({path:?}) }},").expect("a string");
    }
    list.push_str("];\n");
    fs::write(out.join("pages.rs"), list).expect("OUT_DIR is writable");
}
