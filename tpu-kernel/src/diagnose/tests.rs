//! Whole reports, against source files written for the test.

use super::*;
use crate::exec::RunError;
use crate::ir::{DType, Fault, Rule, Shape, Type};

/// A place in a file of this content, which lives as long as the test's process.
fn source(name: &str, content: &str, line: u32, column: u32) -> Loc {
    let dir = std::env::temp_dir().join(format!("tpu-kernel-diagnose-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a temporary directory");
    let path = dir.join(name);
    std::fs::write(&path, content).expect("a temporary file");
    Loc { file: path.to_string_lossy().into_owned().into(), line, column }
}

/// The report with the temporary directory cut from paths.
fn shown(error: &Error) -> String {
    let dir = std::env::temp_dir().join(format!("tpu-kernel-diagnose-{}/", std::process::id()));
    render(error).replace(&*dir.to_string_lossy(), "src/")
}

fn block_index(index: i64, extent: usize, block: usize, loc: Loc) -> Error {
    let blocks = extent.div_ceil(block);
    LaunchError::BlockIndex { operand: "x".into(), axis: 0, array: vec![extent], index, extent, block, blocks, step: vec![1], loc }
        .into()
}

#[test]
fn a_launch_error_shows_the_operand_and_the_hint() {
    let loc = source("a.rs", "fn scale(\n    x: In<f32, [BM]>,\n) {}\n", 2, 5);
    assert_eq!(
        shown(&block_index(128, 1000, 128, loc)),
        "\
error[L008]: block index 128 along axis 0 of operand `x` is outside the array [1000]: 1000 elements in blocks of 128 make 8 blocks; at grid step [1]
 --> src/a.rs:2:5
  |
2 |     x: In<f32, [BM]>,
  |     ^^^^^^^^^^^^^^^^
  |
  = help: did you return an element offset? an index map returns block indices: divide by 128
  = note: see docs/errors.md#l008"
    );
}

#[test]
fn the_hint_is_for_what_looks_like_an_element() {
    let help = |index, extent, block| {
        let text = shown(&block_index(index, extent, block, Loc::UNKNOWN));
        text.split("help: ").nth(1).and_then(|help| help.lines().next()).map(String::from)
    };
    let elements = Some("did you return an element offset? an index map returns block indices: divide by 128".to_string());
    assert_eq!(help(130, 1000, 128), elements);
    assert_eq!(help(1024, 1000, 128), elements);
    assert_eq!(help(1001, 1000, 128), Some("the index map must give 0 to 7 along this axis".to_string()));
    assert_eq!(help(-1, 1000, 128), Some("the index map must give 0 to 7 along this axis".to_string()));
    assert_eq!(help(0, 0, 128), Some("the array is empty and has no block: let the grid have no step either".to_string()));
    assert_eq!(help(9, 9, 1), Some("the index map must give 0 to 8 along this axis".to_string()));
}

#[test]
fn every_fault_of_a_build_is_shown() {
    let text = "let a = q.dot(k);\nlet grüße = a + mask;\n";
    let tile = |shape: &[usize]| Type::Tile(DType::F32, Shape::new(shape));
    let first = Rule::Contraction { left: tile(&[8, 32]), right: tile(&[16, 8]), left_k: 32, right_k: 16 };
    let second = Rule::Mismatch { left: tile(&[8, 8]), right: Type::Scalar(DType::F32) };
    let faults = vec![
        BuildFault::Rule(Fault { rule: first, at: "dot".into(), loc: source("b.rs", text, 1, 11) }),
        BuildFault::Rule(Fault { rule: second, at: "add".into(), loc: source("b.rs", text, 2, 13) }),
        BuildFault::ForeignValue(Loc { file: "gone.rs".into(), line: 7, column: 3 }),
    ];
    assert_eq!(
        shown(&Error::Build { kernel: "attention".into(), faults }),
        "\
error[V009]: `dot` cannot multiply tile<8x32xf32> by tile<16x8xf32>: the contracted dimensions are 32 and 16
 --> src/b.rs:1:11
  |
1 | let a = q.dot(k);
  |           ^^^^^^
  |
  = help: the last dimension of the left must equal the first of the right, or transpose one
  = note: see docs/errors.md#v009

error[V003]: `add` operands must have one type, got tile<8x8xf32> and f32
 --> src/b.rs:2:13
  |
2 | let grüße = a + mask;
  |             ^^^^^^^^
  |
  = help: nothing is converted by itself: cast or broadcast one of the operands
  = note: see docs/errors.md#v003

error[B001]: this value belongs to another kernel
--> gone.rs:7:3
 = help: build the value inside this kernel's function
 = note: see docs/errors.md#b001

error: kernel `attention` cannot be built: 3 errors"
    );
}

#[test]
fn the_vmem_table_keeps_its_columns() {
    let table = "\n  operand role block\n  x       in   8x128xf32".to_string();
    let loc = source("v.rs", "fn k(x: In<f32, (R, C)>) {}", 1, 6);
    let error = LaunchError::Vmem { chip: "v5e".into(), need: 20, limit: 16, table, loc };
    assert_eq!(
        shown(&error.into()),
        "\
error[L011]: the kernel needs 20 bytes of VMEM on v5e, the limit is 16
 --> src/v.rs:1:6
  |
1 | fn k(x: In<f32, (R, C)>) {}
  |      ^^^^^^^^^^^^^^^^^^
  |
  = note:   operand role block
            x       in   8x128xf32
  = help: make the blocks smaller; two buffers let a block arrive while the last one is computed
  = note: see docs/errors.md#l011"
    );
}

#[test]
fn a_run_error_shows_the_load() {
    let loc = source("c.rs", "let t = x.load((i, 0));", 1, 11);
    let error = RunError::OutOfBounds { operand: "x".into(), axis: 0, start: 6, size: 4, extent: 8, step: vec![0, 2], loc };
    assert_eq!(
        shown(&error.into()),
        "\
error[R001]: index out of bounds: [6, 10) along axis 0 of operand `x`, which has 8 elements there, at grid step [0, 2]
 --> src/c.rs:1:11
  |
1 | let t = x.load((i, 0));
  |           ^^^^^^^^^^^^
  |
  = help: nothing is clamped: bound the start so that all of it lies inside the operand
  = note: see docs/errors.md#r001"
    );
}

#[test]
fn a_place_past_the_line_or_the_file_is_still_named() {
    for (line, column) in [(1, 40), (9, 1), (1, 0)] {
        let text = shown(&block_index(1001, 1000, 128, source("d.rs", "short\n", line, column)));
        assert!(text.contains(&format!("src/d.rs:{line}")), "{text}");
    }
    let text = shown(&block_index(1001, 1000, 128, Loc::UNKNOWN));
    assert!(!text.contains("-->"), "{text}");
}

#[test]
fn files_are_found_from_a_directory_below() {
    // Tests run in the package's directory; rustc names files from the workspace's.
    let loc = Loc { file: "tpu-kernel/src/diagnose.rs".into(), line: 1, column: 5 };
    let line = Excerpt::read(&loc, None).expect("this file");
    assert!(line.text.starts_with("//! Errors of kernels"), "{}", line.text);
}

#[test]
fn files_are_found_above_the_program_whose_line_they_have() {
    let root = std::env::temp_dir().join(format!("tpu-kernel-diagnose-above-{}", std::process::id()));
    let (program, elsewhere) = (root.join("one/target/release/examples"), root.join("other/src"));
    std::fs::create_dir_all(&program).expect("a temporary directory");
    std::fs::create_dir_all(&elsewhere).expect("a temporary directory");
    std::fs::write(root.join("one/target/mine.rs"), "too short\n").expect("a temporary file");
    std::fs::write(root.join("one/mine.rs"), "first\nsecond mine\n").expect("a temporary file");
    std::fs::write(root.join("other/mine.rs"), "first\nsecond other\n").expect("a temporary file");
    let text = |file: &str, starts: [&PathBuf; 2]| {
        let loc = Loc { file: file.to_string().into(), line: 2, column: 8 };
        Excerpt::read_above(&loc, None, starts.map(PathBuf::clone)).map(|line| line.text)
    };
    assert_eq!(text("mine.rs", [&program, &elsewhere]).as_deref(), Some("second mine"));
    assert_eq!(text("mine.rs", [&elsewhere, &program]).as_deref(), Some("second other"));
    let absolute = root.join("other/mine.rs");
    assert_eq!(text(&absolute.to_string_lossy(), [&program, &program]).as_deref(), Some("second other"));
    assert_eq!(text("examples", [&program, &program]), None, "a directory");
    assert_eq!(text("none.rs", [&program, &elsewhere]), None);
    std::fs::remove_dir_all(root).expect("the directories of the test");
}

/// What spans lines is underlined over all of them; what spans too many, or does not end, at its first token.
#[test]
fn an_expression_over_several_lines() {
    let build = |text: &str| {
        let loc = source("e.rs", text, 2, 5);
        let left = Type::Tile(DType::F32, Shape::new(&[8]));
        let rule = Rule::Mismatch { left, right: Type::Scalar(DType::F32) };
        let fault = BuildFault::Rule(Fault { rule, at: "mul".into(), loc });
        shown(&Error::Build { kernel: "k".into(), faults: vec![fault] })
    };
    assert!(
        build("o.store(\n    x.load() // the block\n        * scale\n        + 1.0,\n);\n").contains(
            "\
 --> src/e.rs:2:5
  |
2 | /     x.load() // the block
3 | |         * scale
  | |_______________^"
        ),
        "{}",
        build("o.store(\n    x.load() // the block\n        * scale\n        + 1.0,\n);\n")
    );
    let long = format!("\n    f({}x)", "x,\n".repeat(30));
    assert!(build(&long).contains("2 |     f(x,\n  |     ^\n"), "{}", build(&long));
    assert!(build("\n    f((x)\n").contains("2 |     f((x)\n  |     ^\n"));
}

#[test]
fn colours_are_only_in_the_styled_text() {
    let error = block_index(128, 1000, 128, Loc::UNKNOWN);
    assert!(!render(&error).contains('\u{1b}'));
    assert!(render_styled(&error).contains('\u{1b}'));
}
