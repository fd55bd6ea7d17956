//! The Mosaic text of whole kernels, as committed, and that libtpu accepts it where there is one.
//!
//! `BLESS=1` rewrites the texts. `LIBTPU_PATH` names libtpu.so; without it only the texts are compared.
//! libtpu runs in workers, processes of their own.

use half::bf16;
use std::path::{Path, PathBuf};
use tpu_device::libtpu::Verdict;
use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{BlockDim, DType, Kernel, OpKind, Precision, Shape, SizeExpr, Value, parse_named};
use tpu_kernel::lang::{Each, Transform};
use tpu_kernel::launch::{Binding, Config, Launchable, bind};
use tpu_kernel::mosaic;
use tpu_kernel::passes::canonicalise;
use tpu_kernel::prelude::*;
use tpu_tests::agreement::{self, random_program};
use tpu_tests::by_hand;
use tpu_tests::kernels;
use tpu_tests::kernels::Writer;
use tpu_tests::libtpu::{accepted, judge, library};

// The kernels of the examples, as people run them.
#[path = "../../examples/attention.rs"]
#[allow(dead_code)]
mod attention;
#[path = "../../examples/matmul.rs"]
#[allow(dead_code)]
mod matmul;
#[path = "../../examples/softmax.rs"]
#[allow(dead_code)]
mod softmax;

fn staged(kernel: &dyn Launchable, inputs: &[DType]) -> Kernel {
    let mut kernel = kernel.stage(inputs).expect("a kernel that can be built");
    canonicalise(&mut kernel);
    kernel
}

/// A batched product with weights in common, functions on an input and on the output.
fn transformed() -> matmul::matmul {
    matmul::matmul()
        .bm(128)
        .bn(128)
        .bk(128)
        .batched(["x", "o"])
        .map_input("w", |w: Each<bf16>| w.cast::<f32>() * 0.5)
        .map_input("x", |x: Each<bf16>| x.cast::<f32>())
        .map_output("o", |o: Each<f32>| (o.tanh() + 1.0).cast::<bf16>())
}

/// Rows with their neighbours below, and an output by elements.
#[tpu_kernel(grid(i: m / 8))]
fn neighbours(
    #[block([m, 256] at (element i * 8 pad (0, 8), 1))] x: In<f32, (D<16>, D<128>)>,
    #[block([m, 128] at (element i * 8, element 0))] o: Out<f32, (D<8>, D<128>)>,
) {
    o.store(x.load_at::<(D<8>, D<128>)>((0, 0)) + x.load_at::<(D<8>, D<128>)>((8, 0)));
}

/// A kernel from its text.
fn read(text: &str) -> Kernel {
    let mut kernel = parse_named(text, "k.tpuir").expect("a kernel");
    canonicalise(&mut kernel);
    kernel
}

/// A kernel with its input shapes.
fn cases() -> Vec<(&'static str, Kernel, DType, Vec<Vec<usize>>)> {
    let qkv = vec![vec![12, 175, 32]; 3];
    let matmul = matmul::matmul().bm(128).bn(128).bk(128);
    let softmax = softmax::softmax().r(8).c(1024);
    let attention = attention::attention().bq(128).bk(128).bd(128).precision(Precision::Highest);
    vec![
        ("matmul", staged(&matmul, &[DType::Bf16; 2]), DType::Bf16, vec![vec![1000, 500], vec![500, 300]]),
        ("softmax", staged(&softmax, &[DType::F32]), DType::F32, vec![vec![175, 1000]]),
        ("attention", staged(&attention, &[DType::F32; 3]), DType::F32, qkv.clone()),
        ("transformed", staged(&transformed(), &[DType::Bf16; 2]), DType::Bf16, vec![vec![10, 1000, 500], vec![500, 300]]),
        ("neighbours", staged(&neighbours(), &[DType::F32]), DType::F32, vec![vec![64, 256]]),
        ("attention_loop", kernels::attention_loop(64, 64, 192, 32), DType::F32, qkv),
        ("buffered", read(&by_hand::buffered(DType::Bf16)), DType::Bf16, vec![vec![128, 100]]),
        ("rows", read(&by_hand::rows(DType::I8)), DType::I8, vec![vec![32, 128]]),
        ("single_rows", read(&by_hand::single_rows(DType::I32)), DType::I32, vec![vec![4], vec![7, 100]]),
        ("scalars", read(&by_hand::scalars(DType::Bool)), DType::Bool, vec![vec![40]]),
        ("roles", read(&by_hand::roles(DType::I32)), DType::I32, vec![vec![4], vec![32, 128], vec![40, 256]]),
        ("prefetch", read(&by_hand::prefetch(DType::F32)), DType::F32, vec![vec![4], vec![32, 128]]),
        ("scoped", read(&by_hand::scoped(DType::F16)), DType::F16, vec![vec![16, 128]]),
        ("semaphores", read(by_hand::SEMAPHORES), DType::I32, vec![vec![8, 128]]),
    ]
}

fn bound(kernel: &Kernel, chip: &Chip, dtype: DType, shapes: &[Vec<usize>]) -> Binding {
    let inputs: Vec<(DType, Vec<usize>)> = shapes.iter().map(|s| (dtype, s.clone())).collect();
    bind(kernel, chip, &inputs, &Config::default()).expect("a launch that may run")
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("mosaic")
}

#[test]
fn texts_are_as_committed() {
    for (name, kernel, dtype, shapes) in cases() {
        let text = mosaic::print(&kernel, &bound(&kernel, &Chip::V5E, dtype, &shapes), &Chip::V5E).expect("a text");
        let file = folder().join(format!("{name}.mlir"));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&file, &text).expect("the text is written");
        }
        let committed = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(text == committed, "{} differs from what is printed now; BLESS=1 rewrites it\n{text}", file.display());
    }
}

/// The refusal of a kernel without a grid that computes something from one tile.
fn refusal(dtype: DType, shape: &[usize], f: impl FnOnce(&mut Writer, Value, &[Value]) -> Value) -> String {
    let mut w = Writer::new("refused", "refused.rs");
    let dims: Vec<_> = shape.iter().map(|&n| (SizeExpr::Const(n as i64), BlockDim::Blocked(n))).collect();
    let x = w.input("x", dtype, &dims, &[None, None]);
    let n = w.scalar("n", DType::I32);
    let start = [n, w.constant(0)];
    let tile = f(&mut w, x, &start);
    let held = w.ty(tile).shape();
    let dims: Vec<_> = held.dims().iter().map(|&n| (SizeExpr::Const(n as i64), BlockDim::Blocked(n))).collect();
    let o = w.output("o", dtype, &dims, &vec![None; dims.len()]);
    w.store(o, tile);
    let kernel = w.finish();
    let binding = bind(&kernel, &Chip::V5E, &[(dtype, shape.to_vec())], &Config::default()).expect("a launch that may run");
    mosaic::print(&kernel, &binding, &Chip::V5E).expect_err("a refusal").to_string()
}

#[test]
fn what_cannot_be_said_is_refused() {
    let unaligned = refusal(DType::F32, &[1024, 1024], |w, x, start| w.load_at(x, &[8, 1024], start));
    assert_eq!(
        unaligned,
        "`load` has no form on v5e: a dynamic start along axis 0 of [1024x1024] must be a multiple of 8 that can be seen, \
         as in `i * 8`"
    );
    let reshape = refusal(DType::F32, &[521, 1030], |w, x, _| {
        let tile = w.load(x);
        w.op(OpKind::Reshape(Shape::new(&[1030, 521])), &[tile])
    });
    assert!(
        reshape.contains("a tile of [521x1030] cannot be reshaped to [1030x521]: it would be cut into 1551 pieces"),
        "{reshape}"
    );
    let kernel = kernels::softmax(8, 128);
    let nothing = Binding { cores: 1, sizes: vec![0, 128], grid: vec![0], arrays: vec![vec![0, 128]; 2] };
    let error = mosaic::print(&kernel, &nothing, &Chip::V5E).expect_err("a refusal");
    assert_eq!((error.at.as_str(), error.code()), ("softmax", "M006"));
}

#[tpu_kernel(grid(i: m / 8))]
fn unaligned(
    #[block([m + 8, 128] at (element i * 4, 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([m, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>,
) {
    o.store(x.load());
}

#[test]
fn windows_by_elements_that_libtpu_lacks_are_refused() {
    let refusal = |kernel: &dyn Launchable| {
        let (staged, shapes) = (staged(kernel, &[DType::F32]), [(DType::F32, vec![64, 128])]);
        let binding = bind(&staged, &Chip::V5E, &shapes, kernel.config()).expect("a launch that may run");
        mosaic::print(&staged, &binding, &Chip::V5E).expect_err("a refusal").rule.to_string()
    };
    assert!(refusal(&unaligned().m(56)).contains("along axis 0 must start at a multiple of 8"));
}

/// What a start may be without a multiple in sight: a row of few columns, a whole row, a leading dimension.
#[test]
fn rows_of_one_tile_start_anywhere() {
    for (shape, part) in [([64, 128], [8, 128]), ([64, 256], [1, 256])] {
        let mut w = Writer::new("rows", "rows.rs");
        let dims = shape.map(|n: usize| (SizeExpr::Const(n as i64), BlockDim::Blocked(n)));
        let x = w.input("x", DType::F32, &dims, &[None, None]);
        let n = w.scalar("n", DType::I32);
        let zero = w.constant(0);
        let tile = w.load_at(x, &part, &[n, zero]);
        let dims = part.map(|n: usize| (SizeExpr::Const(n as i64), BlockDim::Blocked(n)));
        let o = w.output("o", DType::F32, &dims, &[None, None]);
        w.store(o, tile);
        let kernel = w.finish();
        let binding = Binding { cores: 1, sizes: vec![], grid: vec![], arrays: vec![shape.to_vec(), vec![], part.to_vec()] };
        assert!(mosaic::print(&kernel, &binding, &Chip::V5E).is_ok(), "{shape:?}");
    }
}

/// The program in which libtpu runs.
const WORKER: &str = env!("CARGO_BIN_EXE_worker");

#[test]
fn libtpu_accepts_the_kernels() {
    let Some(library) = library() else { return };
    for chip in Chip::ALL {
        let programs: Vec<String> = cases()
            .iter()
            .map(|(_, kernel, dtype, shapes)| {
                mosaic::stablehlo(kernel, &bound(kernel, chip, *dtype, shapes), chip).expect("a text")
            })
            .collect();
        let verdicts = judge(WORKER, &library, chip, programs);
        for ((name, ..), verdict) in cases().iter().zip(verdicts) {
            assert!(accepted(&verdict), "{name} on {}: {verdict:?}", chip.name);
        }
    }
}

/// Whether all of a chip's programs compile.
fn all_accepted(chip: &'static Chip, names: &[String], programs: Vec<String>) {
    let Some(library) = library() else { return };
    let verdicts = judge(WORKER, &library, chip, programs);
    let refused: Vec<_> = names.iter().zip(&verdicts).filter(|(_, verdict)| !accepted(verdict)).collect();
    assert!(refused.is_empty(), "{} of {} on {}: {refused:#?}", refused.len(), names.len(), chip.name);
}

/// A part of the matrix of operations, element types, shapes and chips: what libtpu refuses of what we print is a fault. The
/// command `agreement` asks for all of it; `AGREEMENT_SAMPLE=N` for so many cases a chip.
#[test]
fn a_sample_of_the_matrix_agrees() {
    if library().is_none() {
        return;
    }
    let count = std::env::var("AGREEMENT_SAMPLE").map_or(400, |n| n.parse().expect("a number"));
    let cases = agreement::sample(agreement::cases(), count);
    for chip in Chip::ALL {
        let printed = cases.iter().filter_map(|case| Some((case.name.clone(), agreement::program(case, chip).ok()?)));
        let (names, programs): (Vec<String>, Vec<String>) = printed.unzip();
        assert!(names.len() * 2 > cases.len(), "{} of {} cases have a text on {}", names.len(), cases.len(), chip.name);
        all_accepted(chip, &names, programs);
    }
}

/// What compiles, what does not, and what kills the compiler are told apart.
#[test]
fn libtpu_can_refuse_and_die() {
    let Some(library) = library() else { return };
    let kernel = kernels::softmax(8, 128);
    let binding = bound(&kernel, &Chip::V6E, DType::F32, &[vec![32, 128]]);
    let good = mosaic::stablehlo(&kernel, &binding, &Chip::V6E).expect("a text");
    let bad = good.replace("\"tpu_custom_call\"", "\"no_such_call\"");
    // A block index past the array kills libtpu; `bind` would have refused it.
    let past = mosaic::stablehlo(&kernels::fixed_block(100), &kernels::fixed_block_binding(), &Chip::V6E).expect("a text");
    let verdicts = judge(WORKER, &library, &Chip::V6E, vec![good.clone(), bad, past, good]);
    let [first, Verdict::Refused { .. }, Verdict::Crashed { .. }, last] = &verdicts[..] else { panic!("{verdicts:?}") };
    assert!(accepted(first) && accepted(last), "{verdicts:?}");
}

/// Random kernels: what has a text compiles. `RANDOM_KERNELS` and `RANDOM_KERNELS_FROM` choose the seeds of each chip.
#[test]
fn libtpu_accepts_random_kernels() {
    if library().is_none() {
        return;
    }
    let number = |name: &str, otherwise: u64| std::env::var(name).map_or(otherwise, |n| n.parse().expect("a number"));
    let (first, count) = (number("RANDOM_KERNELS_FROM", 0), number("RANDOM_KERNELS", 40));
    for chip in Chip::ALL {
        let printed = (first..first + count).filter_map(|seed| Some((seed.to_string(), random_program(chip, seed)?.ok()?)));
        let (seeds, programs): (Vec<String>, Vec<String>) = printed.unzip();
        assert!(seeds.len() as u64 * 4 > count, "only {} of {count} kernels have a text on {}", seeds.len(), chip.name);
        all_accepted(chip, &seeds, programs);
    }
}
