//! `docs/ir.md` says what the code says. `BLESS=1` rewrites its generated parts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tpu_kernel::ir::table::{State, TYPES, operations, operations_markdown, row_of, types_markdown};
use tpu_kernel::ir::{
    BinaryOp, CompareOp, DType, DotDims, Literal, OpKind, Precision, ReduceOp, ScanOp, Semantics, Shape, SizeId, Space, UnaryOp,
    parse,
};
use tpu_kernel::passes::verify;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The table of rules in the verifier's module documentation.
fn rules() -> String {
    let source = read(&root().join("tpu-kernel/src/passes/verify.rs"));
    let rows = source.lines().filter_map(|line| line.strip_prefix("//! ")).filter(|line| line.starts_with('|'));
    rows.flat_map(|row| [row, "\n"]).collect()
}

#[test]
fn generated_parts() {
    let path = root().join("docs/ir.md");
    let document = read(&path);
    let mut found = document.clone();
    let parts = [
        ("rules", rules()),
        ("operations", operations_markdown(State::Implemented)),
        ("types", types_markdown()),
        ("planned", operations_markdown(State::Planned)),
    ];
    for (name, text) in parts {
        let start = format!("<!-- generated: {name} -->\n");
        let (before, rest) = found.split_once(&start).unwrap_or_else(|| panic!("no part `{name}`"));
        let (_, after) = rest.split_once("<!-- end -->").expect("an end of the part");
        found = format!("{before}{start}\n{}\n\n<!-- end -->{after}", text.trim());
    }
    if std::env::var_os("BLESS").is_some_and(|v| v == "1") {
        std::fs::write(&path, &found).expect("writable");
    } else {
        assert!(found == document, "docs/ir.md is out of date: BLESS=1 rewrites it");
    }
}

/// The kernels in the document are correct, and printed as they are printed.
#[test]
fn examples() {
    let document = read(&root().join("docs/ir.md"));
    let examples: Vec<&str> = document.split("```tpuir\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!examples.is_empty());
    for example in examples {
        let kernel = parse(example).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(verify(&kernel), Ok(()));
        assert_eq!(kernel.to_string(), example);
    }
}

/// One kind of each sort; a new sort fails to compile here.
fn kinds() -> Vec<OpKind> {
    let shape = Shape::new(&[1]);
    let dot = OpKind::Dot { dims: DotDims::matrices(false, false), precision: Precision::Default };
    let mut kinds = vec![
        OpKind::Const(Literal::from(0)),
        OpKind::Iota { shape, axis: 0 },
        OpKind::Select,
        OpKind::Cast(DType::F32),
        OpKind::Broadcast(shape),
        OpKind::Reshape(shape),
        OpKind::Transpose(vec![0]),
        OpKind::Bitcast(DType::F32),
        OpKind::StochasticRound(DType::Bf16),
        OpKind::Slice { starts: vec![0], shape, strides: vec![1] },
        OpKind::Concat { axis: 0 },
        OpKind::Rotate { axis: 0, stride: None },
        OpKind::Gather { axis: 0 },
        OpKind::Sort { axis: 0, descending: false },
        OpKind::Extract(vec![0]),
        dot,
        OpKind::Load(shape),
        OpKind::Store,
        OpKind::LoadScalar,
        OpKind::StoreScalar,
        OpKind::View { shape, strides: vec![1] },
        OpKind::ViewSqueezed(vec![0]),
        OpKind::ViewReshaped(shape),
        OpKind::ViewTransposed(vec![0]),
        OpKind::ViewBitcast(DType::F32),
        OpKind::LoadMasked(shape),
        OpKind::StoreMasked,
        OpKind::SemaphoreAt,
        OpKind::DmaStart { priority: 0, add: false },
        OpKind::DmaWait,
        OpKind::RemoteStart { priority: 0 },
        OpKind::DeviceId,
        OpKind::SemaphoreSignal,
        OpKind::CoreSignal,
        OpKind::SemaphoreWait,
        OpKind::SemaphoreRead,
        OpKind::Scoped,
        OpKind::ProgramId(0),
        OpKind::NumPrograms(0),
        OpKind::Size(SizeId(0)),
        OpKind::PrngSeed,
        OpKind::PrngBits(shape),
        OpKind::Print(String::new()),
        OpKind::Check(String::new()),
        OpKind::Defined(String::new()),
        OpKind::If,
        OpKind::For,
        OpKind::While,
    ];
    kinds.extend(UnaryOp::ALL.iter().map(|&op| OpKind::Unary(op)));
    kinds.extend(BinaryOp::ALL.iter().map(|&op| OpKind::Binary(op)));
    kinds.extend(CompareOp::ALL.iter().map(|&op| OpKind::Compare(op)));
    kinds.extend(ReduceOp::ALL.iter().map(|&op| OpKind::Reduce { op, axis: 0 }));
    kinds.extend(ScanOp::ALL.iter().map(|&op| OpKind::Scan { op, axis: 0, reverse: false }));
    for kind in &kinds {
        match kind {
            OpKind::Const(_) | OpKind::Iota { .. } | OpKind::Unary(_) | OpKind::Binary(_) | OpKind::Compare(_) => {}
            OpKind::Select | OpKind::Cast(_) | OpKind::Broadcast(_) | OpKind::Reshape(_) | OpKind::Transpose(_) => {}
            OpKind::Bitcast(_) | OpKind::StochasticRound(_) | OpKind::Slice { .. } | OpKind::Concat { .. } => {}
            OpKind::Rotate { .. } | OpKind::Gather { .. } | OpKind::Sort { .. } | OpKind::Extract(_) | OpKind::Scan { .. } => {}
            OpKind::Reduce { .. } | OpKind::Dot { .. } | OpKind::Load(_) | OpKind::Store => {}
            OpKind::LoadScalar | OpKind::StoreScalar | OpKind::View { .. } | OpKind::ViewSqueezed(_) | OpKind::Scoped => {}
            OpKind::ViewReshaped(_) | OpKind::ViewTransposed(_) | OpKind::ViewBitcast(_) => {}
            OpKind::LoadMasked(_) | OpKind::StoreMasked => {}
            OpKind::DmaStart { .. } | OpKind::RemoteStart { .. } | OpKind::DmaWait | OpKind::SemaphoreAt | OpKind::DeviceId => {}
            OpKind::SemaphoreSignal | OpKind::CoreSignal | OpKind::SemaphoreWait | OpKind::SemaphoreRead => {}
            OpKind::PrngSeed | OpKind::PrngBits(_) | OpKind::Print(_) | OpKind::Check(_) | OpKind::Defined(_) => {}
            OpKind::ProgramId(_) | OpKind::NumPrograms(_) | OpKind::Size(_) | OpKind::If | OpKind::For | OpKind::While => {}
        }
    }
    kinds
}

/// The table has a row for each operation of the code, and none that says it is there and is not.
#[test]
fn every_operation_has_a_row() {
    let code: BTreeSet<String> = kinds().iter().map(row_of).collect();
    let rows: Vec<&str> = operations().filter(|row| row.state == State::Implemented).map(|row| row.mnemonic).collect();
    let table: BTreeSet<String> = rows.iter().map(ToString::to_string).collect();
    assert_eq!(rows.len(), table.len(), "a row is there twice");
    assert_eq!(code, table);
}

/// The same of element types, spaces and grid semantics.
#[test]
fn every_type_has_a_row() {
    let table = |group: &str| -> BTreeSet<&str> {
        TYPES.iter().filter(|e| e.group == group && e.state == State::Implemented).map(|e| e.name).collect()
    };
    assert_eq!(table("Element types"), DType::ALL.iter().map(|d| d.name()).collect());
    assert_eq!(table("Memory spaces"), Space::ALL.map(Space::name).into_iter().collect());
    assert_eq!(table("Grid"), Semantics::ALL.map(Semantics::name).into_iter().collect());
}

/// The element types that a cell of the table means.
fn meant(cell: &str) -> Vec<DType> {
    let is = |dtype: DType, word: &str| match word {
        "all" => true,
        "numbers" => dtype.is_number(),
        "floats" => dtype.is_float(),
        "integers" => dtype.is_integer(),
        name => dtype.name() == name,
    };
    DType::ALL.into_iter().filter(|&dtype| cell.split(' ').any(|word| is(dtype, word))).collect()
}

/// The element types in a row are those that the operation takes.
#[test]
fn elements_of_rows() {
    for kind in kinds() {
        let takes = |dtype| match &kind {
            OpKind::Unary(op) => Some(op.takes(dtype)),
            OpKind::Binary(op) => Some(op.takes(dtype)),
            OpKind::Compare(op) => Some(op.takes(dtype)),
            OpKind::Reduce { op, .. } => Some(op.takes(dtype)),
            _ => None,
        };
        if takes(DType::F32).is_none() {
            continue;
        }
        let row = operations().find(|row| row.mnemonic == row_of(&kind)).expect("a row");
        let taken: Vec<DType> = DType::ALL.into_iter().filter(|&dtype| takes(dtype) == Some(true)).collect();
        assert_eq!(meant(row.elements), taken, "`{}`", row.mnemonic);
    }
}
