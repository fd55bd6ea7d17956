//! StableHLO modules around kernels: several in one, StableHLO between them, and what a kernel stores in another way.
//!
//! `LIBTPU_PATH` names libtpu.so; without it only the texts are looked at.

use tpu_device::libtpu::Verdict;
use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{
    BinaryOp, BlockDim, DType, Kernel, Literal, Loc, Op, OpKind, ParamKind, Precision, Semantics, SizeExpr, Type, Value,
};
use tpu_kernel::launch::{Binding, Config, Launchable, bind};
use tpu_kernel::mosaic::{self, Module};
use tpu_kernel::passes::canonicalise;
use tpu_kernel::prelude::*;
use tpu_tests::kernels::{self, Writer, blocked};
use tpu_tests::libtpu::{accepted, judge, library};

/// What libtpu says of programs for a chip; nothing without it.
fn verdicts(chip: &'static Chip, programs: &[String]) -> Vec<Verdict> {
    library().map(|library| judge(env!("CARGO_BIN_EXE_worker"), &library, chip, programs.to_vec())).unwrap_or_default()
}

fn compiles(name: &str, chip: &'static Chip, program: String) {
    let programs = [program];
    for verdict in verdicts(chip, &programs) {
        assert!(accepted(&verdict), "{name} on {}: {verdict:?}\n{}", chip.name, programs[0]);
    }
}

fn staged(kernel: &dyn Launchable, inputs: &[DType]) -> Kernel {
    let mut kernel = kernel.stage(inputs).expect("a kernel that can be built");
    canonicalise(&mut kernel);
    kernel
}

fn softmax(shape: &[usize], chip: &Chip) -> (Kernel, Binding) {
    let kernel = kernels::softmax(8, 128);
    let binding = bind(&kernel, chip, &[(DType::F32, shape.to_vec())], &Config::default()).expect("a launch that may run");
    (kernel, binding)
}

/// A product with its right operand in blocks of 128 columns.
fn product() -> Kernel {
    let mut w = Writer::new("product", "product.rs");
    let n = w.size("n");
    w.grid("j", n.clone() / SizeExpr::Const(128), Semantics::Parallel);
    let rows = (SizeExpr::Const(32), blocked(32));
    let columns = (n, blocked(128));
    let x = w.input("x", DType::Bf16, &[rows.clone(), (SizeExpr::Const(128), blocked(128))], &[None, None]);
    let y = w.input("y", DType::Bf16, &[(SizeExpr::Const(128), blocked(128)), columns.clone()], &[None, Some(0)]);
    let o = w.output("o", DType::F32, &[rows, columns], &[None, Some(0)]);
    let (x, y) = (w.load(x), w.load(y));
    let product = w.dot(x, y, false, Precision::Default);
    w.store(o, product);
    w.finish()
}

/// Two kernels with StableHLO between and around them, the first of them twice.
#[test]
fn kernels_stand_beside_each_other() {
    for chip in Chip::ALL {
        let (softmax, binding) = softmax(&[32, 128], chip);
        let matmul = product();
        let shapes = [(DType::Bf16, vec![32, 128]), (DType::Bf16, vec![128, 256])];
        let product = bind(&matmul, chip, &shapes, &Config::default()).expect("a launch that may run");

        let mut module = Module::new("chain", chip);
        let x = module.input(DType::F32, &[32, 128]);
        let w = module.input(DType::Bf16, &[128, 256]);
        let first = module.call(&softmax, &binding, &[&x]).expect("a call").remove(0);
        let sum = module.op("stablehlo.add", &[&first, &x], "", DType::F32, &[32, 128]);
        let second = module.call(&softmax, &binding, &[&sum]).expect("a call").remove(0);
        let narrow = module.op("stablehlo.convert", &[&second], "", DType::Bf16, &[32, 128]);
        let out = module.call(&matmul, &product, &[&narrow, &w]).expect("a call").remove(0);
        let two = module.constant(Literal::from_f32(out.dtype(), 2.0), out.shape());
        let (dtype, shape) = (out.dtype(), out.shape().to_vec());
        let doubled = module.op("stablehlo.multiply", &[&out, &two], "", dtype, &shape);
        let text = module.finish(&[&doubled, &second]);

        assert_eq!(text.matches("tpu_custom_call").count(), 3);
        // Of several kernels XLA decides where their arrays are.
        assert!(!text.contains("layout_mode") && !text.contains("memory_space_colors"), "{text}");
        assert!(
            text.contains("\"stablehlo.add\"(%0, %a0) : (tensor<32x128xf32>, tensor<32x128xf32>) -> tensor<32x128xf32>"),
            "{text}"
        );
        compiles("chain", chip, text);
    }
}

#[test]
fn calls_take_what_the_binding_says() {
    let (kernel, binding) = softmax(&[32, 128], &Chip::V6E);
    let mut module = Module::new("wrong", &Chip::V6E);
    let short = module.input(DType::F32, &[16, 128]);
    let other = module.input(DType::Bf16, &[32, 128]);
    let right = module.input(DType::F32, &[32, 128]);
    for operands in [&[][..], &[&short], &[&other], &[&right, &right]] {
        let refusal = module.call(&kernel, &binding, operands).expect_err("a refusal");
        assert_eq!(refusal.code(), "M006");
    }
}

/// One of each type in memory, which leaves as the user has it, and a scalar of that type before and after it.
#[test]
fn operands_have_the_users_types() {
    for chip in Chip::ALL {
        let mut programs = vec![];
        for dtype in DType::ALL {
            let mut w = Writer::new("copy", "copy.rs");
            w.scalar("before", dtype);
            let dims = [(SizeExpr::Const(16), blocked(16)), (SizeExpr::Const(128), blocked(128))];
            let x = w.input("x", dtype, &dims, &[None, None]);
            w.scalar("after", DType::I32);
            let o = w.output("o", dtype, &dims, &[None, None]);
            let tile = w.load(x);
            w.store(o, tile);
            let kernel = w.finish();
            let binding =
                Binding { cores: 1, sizes: vec![], grid: vec![], arrays: vec![vec![], vec![16, 128], vec![], vec![16, 128]] };
            let Ok(text) = mosaic::stablehlo_placed(&kernel, &binding, chip) else {
                assert!(!chip.product_floats.contains(&dtype), "{dtype} on {}", chip.name);
                continue;
            };
            let element = match dtype {
                DType::Bool => "i1".to_string(),
                _ if dtype.is_unsigned() => format!("ui{}", dtype.bits()),
                _ => dtype.name().to_lowercase(),
            };
            let signature = text.lines().nth(1).expect("two lines").to_lowercase();
            let array = format!("tensor<16x128x{element}> {{mhlo.layout_mode = \"{{1,0}}\"}}");
            let wanted = format!("main(%a0: tensor<{element}>, %a1: {array}, %a2: tensor<i32>) -> ({array})");
            assert!(signature.contains(&wanted), "{signature}");
            // The array, and no scalar, is in device memory.
            let colours = "\\22input_memory_space_colors\\22: [{\\22operand_index\\22: 2, \\22color\\22: 0}]";
            assert!(text.contains(colours), "{text}");
            programs.push(text);
        }
        assert!(programs.len() >= 14, "{} types on {}", programs.len(), chip.name);
        for (program, verdict) in programs.iter().zip(verdicts(chip, &programs)) {
            assert!(accepted(&verdict), "{}: {verdict:?}\n{program}", chip.name);
        }
    }
}

#[tpu_kernel(grid(i: m / 8))]
fn lifted<H: Dim>(
    #[block([m, 128] at (element i * 8 - H pad (H, 8), 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([m, 128] at (element i * 8 - H pad (H, 8), 0))] o: Out<f32, (D<8>, D<128>)>,
) {
    o.store(x.load());
}

/// What lies before an array is put there by the module, for a window that reaches into it.
#[test]
fn arrays_are_padded_before_the_call() {
    for chip in Chip::ALL {
        for h in [8, 1] {
            let launch = lifted().h(h);
            let kernel = staged(&launch, &[DType::F32]);
            let config = Config { allow: vec![tpu_kernel::launch::Allow::Unwritten], ..launch.config().clone() };
            let binding = bind(&kernel, chip, &[(DType::F32, vec![64, 128])], &config).expect("a launch that may run");
            let text = mosaic::stablehlo(&kernel, &binding, chip).expect("a text");
            let padded = 64 + h;
            assert!(text.contains(&format!("edge_padding_low = array<i64: {h}, 0>")), "{text}");
            assert!(text.contains(&format!("(tensor<{padded}x128xf32>) -> (tensor<{padded}x128xf32>)")), "{text}");
            assert!(
                text.contains(&format!("start_indices = array<i64: {h}, 0>, limit_indices = array<i64: {padded}, 128>")),
                "{text}"
            );
            compiles("padded", chip, text);
        }
    }
}

/// Vectors whose windows overlap, of each width, start at whole rows of packed registers, and not between them.
#[test]
fn vectors_have_windows_by_elements() {
    let overlapping = |dtype: DType, by: usize| {
        let block = [BlockDim::Element { size: 2048, low: 0, high: 0 }];
        let mut w = Writer::new("vectors", "vectors.rs");
        w.grid("i", SizeExpr::Const(4), Semantics::Arbitrary);
        let x = w.input("x", dtype, &[(SizeExpr::Const(8192), block[0])], &[Some(0)]);
        let o = w.output("o", dtype, &[(SizeExpr::Const(8192), blocked(2048))], &[Some(0)]);
        let tile = w.load(x);
        w.store(o, tile);
        let mut kernel = w.finish();
        let types = kernel.types.len() as u32;
        kernel.types.extend([Type::Scalar(DType::I32); 2]);
        let ParamKind::In(window) = &mut kernel.params[0].kind else { panic!("an input") };
        let (step, start, index) = (Value(types), Value(types + 1), window.map.args[0]);
        let op = |kind, operands: &[Value], result| Op {
            kind,
            operands: operands.to_vec(),
            results: vec![result],
            regions: vec![],
            loc: Loc::UNKNOWN,
        };
        window.map.ops =
            vec![op(OpKind::Const(Literal::from(by as i32)), &[], step), op(OpKind::Binary(BinaryOp::Mul), &[index, step], start)];
        window.map.yields = vec![start];
        kernel
    };
    let binding = Binding { cores: 1, sizes: vec![], grid: vec![4], arrays: vec![vec![8192]; 2] };
    for chip in Chip::ALL {
        for dtype in [DType::F32, DType::Bf16, DType::I8, DType::I4] {
            let row = 128 * 32 / dtype.bits() as usize;
            compiles("vectors", chip, mosaic::stablehlo(&overlapping(dtype, row), &binding, chip).expect("a text"));
            let refusal = mosaic::stablehlo(&overlapping(dtype, row / 2), &binding, chip).expect_err("a refusal");
            assert_eq!(refusal.code(), "M005", "{refusal}");
        }
    }
}

/// The call, the operands and the operations carry the user's places, which libtpu repeats where it refuses one.
#[test]
fn texts_carry_the_users_places() {
    let (kernel, binding) = softmax(&[32, 128], &Chip::V5E);
    let text = mosaic::print(&kernel, &binding, &Chip::V5E).expect("a text");
    assert!(
        text.lines().any(|line| line.trim_start().starts_with("%x: memref<") && line.contains("loc(\"softmax.rs\":")),
        "{text}"
    );
    let program = mosaic::stablehlo(&kernel, &binding, &Chip::V5E).expect("a text");
    let call = program.lines().find(|line| line.contains("custom_call")).expect("a call");
    assert!(call.ends_with(&format!(" loc(\"softmax.rs\":{}:{})", kernel.loc.line, kernel.loc.column)), "{call}");
    // No kernel that was checked is as large as that; the module alone is what is looked at.
    let mut w = Writer::new("huge", "huge.rs");
    let rows = 2 * usize::try_from(Chip::V5E.scoped_vmem_bytes / (128 * 4)).expect("a size");
    let dims = [(SizeExpr::Const(rows as i64), blocked(rows)), (SizeExpr::Const(128), blocked(128))];
    let x = w.input("x", DType::F32, &dims, &[None, None]);
    let o = w.output("o", DType::F32, &dims, &[None, None]);
    let zero = w.constant(0);
    let tile = w.load_at(x, &[8, 128], &[zero, zero]);
    w.store(o, tile);
    let binding = Binding { cores: 1, sizes: vec![], grid: vec![], arrays: vec![vec![rows, 128]; 2] };
    let program = mosaic::stablehlo(&w.finish(), &binding, &Chip::V5E).expect("a text");
    for verdict in verdicts(&Chip::V5E, &[program]) {
        assert!(matches!(&verdict, Verdict::Refused { .. }), "{verdict:?}");
    }
}

/// Windows up to the limit that a launch allows, and no further.
#[test]
fn the_scoped_limit_is_what_a_launch_checks() {
    for chip in Chip::ALL {
        let rows = |bytes: u64| usize::try_from(bytes / (128 * 4) / 4).expect("a size");
        let case = |rows: usize| {
            let mut w = Writer::new("large", "large.rs");
            w.grid("i", SizeExpr::Const(2), Semantics::Arbitrary);
            let dims = [(SizeExpr::Const(2 * rows as i64), BlockDim::Blocked(rows)), (SizeExpr::Const(128), blocked(128))];
            let x = w.input("x", DType::F32, &dims, &[Some(0), None]);
            let o = w.output("o", DType::F32, &dims, &[Some(0), None]);
            let zero = w.constant(0);
            let tile = w.load_at(x, &[8, 128], &[zero, zero]);
            w.store(o, tile);
            w.finish()
        };
        let most = rows(chip.scoped_vmem_bytes);
        for (rows, fits) in [(most, true), (most + 8, false)] {
            let kernel = case(rows);
            let launch = bind(&kernel, chip, &[(DType::F32, vec![2 * rows, 128])], &Config::default());
            assert_eq!(launch.is_ok(), fits, "{rows} rows on {}", chip.name);
            if let Ok(binding) = launch {
                compiles("limit", chip, mosaic::stablehlo(&kernel, &binding, chip).expect("a text"));
            }
        }
    }
}
