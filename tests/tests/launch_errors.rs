//! Launches that are refused before anything runs: every code, with the operand, the numbers, the line
//! of the declaration and the advice; and nothing of the device is used.

use half::bf16;
use tpu_device::{Chip, DType, Device, DeviceError, Tensor};
use tpu_kernel::Error;
use tpu_kernel::diagnose::render;
use tpu_kernel::ir::Loc;
use tpu_kernel::launch::{LaunchError, Target};
use tpu_kernel::prelude::*;
use tpu_tests::devices::{devices, kernel_error, made, refused};

/// The line of `scale`'s attribute; its operands follow.
const SCALE: u32 = line!() + 1;
#[tpu_kernel(grid(i: m / BM, j: n / BN))]
fn scale<BM: Dim, BN: Dim>(
    #[block([m, n] at (i, j))] x: In<f32, (BM, BN)>,
    #[block([n] at (j))] factor: In<f32, (BN,)>,
    #[block([m, n] at (i, j))] o: Out<f32, (BM, BN)>,
    by: Scalar<f32>,
) {
    o.store(x.load() * factor.load().reshape::<(One, BN)>() * by);
}

const GENERIC: u32 = line!() + 1;
#[tpu_kernel(grid(i: n / B))]
fn generic<T: Number, B: Dim>(
    #[block([n] at (i))] x: In<T, (B,)>,
    #[block([n] at (i))] y: In<T, (B,)>,
    #[block([n] at (i))] o: Out<T, (B,)>,
) {
    o.store(x.load() + y.load());
}

const NO_INPUT: u32 = line!() + 1;
#[tpu_kernel(grid(i: n / B))]
fn no_input<T: Element, B: Dim>(#[block([n] at (i))] o: Out<T, (B,)>) {
    o.fill(i.cast::<T>());
}

const ELEMENTS: u32 = line!() + 1;
#[tpu_kernel(grid(i: n / B))]
fn elements<B: Dim>(#[block([n] at (i * B))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
    o.store(x.load());
}

const EXPRESSIONS: u32 = line!() + 1;
#[tpu_kernel(
    grid(i: n - 10)
)]
fn expressions(
    #[block([n] at (0))] x: In<f32, (D<128>,)>,
    #[block([2 * n + 1] at (0))] y: In<f32, (D<128>,)>,
    #[block([n * n * n] at (0))] o: Out<f32, (D<128>,)>,
) {
    o.store(x.load() + y.load());
}

const EMPTY: u32 = line!() + 1;
#[tpu_kernel(grid(i: n / 8, j: m / 128))]
fn two_outputs(
    #[block([n, m] at (i, j))] x: In<f32, (D<8>, D<128>)>,
    #[block([n, m] at (i, j))] a: Out<f32, (D<8>, D<128>)>,
    #[block([8, m] at (0, j))] b: Out<f32, (D<8>, D<128>)>,
) {
    a.store(x.load());
    b.store(x.load());
}

const LARGE: u32 = line!() + 1;
#[tpu_kernel(grid(i: m / BM))]
fn large<BM: Dim, S: Dim>(
    #[block([m, 128] at (i, 0))] x: In<f32, (BM, D<128>)>,
    #[block([1, 128] at (0, 0))] row: In<bf16, (One, D<128>)>,
    #[block([m, 128] at (i, 0))] o: Out<bf16, (BM, D<128>)>,
    #[scratch] kept: Vmem<i32, (S, D<128>)>,
) {
    kept.fill(0);
    o.store(x.load().cast::<bf16>() + row.load());
}

const FREE: u32 = line!() + 1;
#[tpu_kernel(grid(i: n, j: n, k: n))]
fn free(#[block([2 * n] at (0))] x: In<i32, (D<8>,)>, #[block([n] at (0))] o: Out<i32, (D<8>,)>) {
    o.store(x.load());
}

#[tpu_kernel(grid(i: n, j: n, k: n))]
fn endless(#[block([n] at (0))] o: Out<i32, (D<8>,)>, #[block([m, m, m] at (0, 0, 0))] p: Out<i32, (One, One, One)>) {
    o.fill(0);
    p.fill(0);
}

/// The place is that line of this file, in the column of `token` there.
#[track_caller]
fn at(loc: &Loc, line: u32, token: &str) {
    let source = include_str!("launch_errors.rs").lines().nth(line as usize - 1).unwrap();
    let column = source.find(token).map(|at| at as u32 + 1);
    assert_eq!((loc.file.as_ref(), loc.line, Some(loc.column)), (file!(), line, column), "{source}");
}

/// What a user sees: the code, the line as it is written, and advice.
#[track_caller]
fn shows(error: LaunchError, code: &str, line: Option<u32>, help: Option<&str>) {
    assert_eq!(error.code(), code);
    let text = render(&Error::Launch(error));
    assert!(text.contains(&format!("error[{code}]")), "{text}");
    if let Some(line) = line {
        let source = include_str!("launch_errors.rs").lines().nth(line as usize - 1).unwrap();
        assert!(text.contains(source.trim()), "{text}");
        assert!(text.contains(&format!("{}:{line}:", file!())), "{text}");
    }
    if let Some(help) = help {
        assert!(text.contains("help: ") && text.contains(help), "{text}");
    }
}

/// Runs `launches` on both executors and checks that the device is as before.
fn untouched(launches: impl Fn(&Device)) {
    for device in devices() {
        launches(&device);
        let stats = device.stats();
        assert_eq!((stats.launches, stats.compilations, stats.cache_hits), (0, 0, 0), "nothing was compiled or ran");
        assert_eq!(stats.live_bytes, 0);
        let large = stats.peak_bytes;
        // Inputs are at most 1 MiB here; any output would be more than nothing of it.
        assert!(large <= 2 << 20, "{large}");
    }
}

fn f32s(device: &Device, dims: &[usize]) -> Tensor {
    made(device, dims, |at| at as f32)
}

#[test]
fn l001_argument_count() {
    untouched(|device| {
        let (x, factor) = (f32s(device, &[8, 128]), f32s(device, &[128]));
        let kernel = scale().bm(8).bn(128);
        for args in [&[][..], &[(&x).into(), (&factor).into()], &[(&x).into(), (&factor).into(), 1.0f32.into(), 1.0f32.into()]] {
            let error = refused(device.launch(&kernel, args));
            let got = args.len();
            assert_eq!(error.code(), "L001");
            match &error {
                LaunchError::ArgumentCount { kernel, want: 3, got: n, .. } if kernel == "scale" && *n == got => {}
                other => panic!("{got} arguments: {other}"),
            }
            // The first argument that is missing, or the last that there is.
            let line = if got == 0 { SCALE + 2 } else { SCALE + 5 };
            at(error.loc(), line, if got == 0 { "x: In" } else { "by" });
            shows(error, "L001", Some(line), Some("in the order of the kernel's parameters"));
        }
    });
}

#[test]
fn l002_argument_kind() {
    untouched(|device| {
        let (x, factor) = (f32s(device, &[8, 128]), f32s(device, &[128]));
        let kernel = scale().bm(8).bn(128);
        let error = refused(device.launch(&kernel, &[(&x).into(), (&factor).into(), 2.into()]));
        assert_eq!(error.to_string(), "operand `by` takes a scalar of f32, got a scalar of i32");
        at(error.loc(), SCALE + 5, "by");
        shows(error, "L002", Some(SCALE + 5), Some("pass a scalar of f32"));
        for (args, operand, got) in [
            (&[(&x).into(), (&factor).into(), true.into()], "by", "a scalar of bool"),
            (&[(&x).into(), (&factor).into(), (&factor).into()], "by", "an array f32[128]"),
        ] {
            match refused(device.launch(&kernel, args)) {
                LaunchError::ArgumentKind { operand: o, got: g, .. } => assert_eq!((o.as_str(), g.as_str()), (operand, got)),
                other => panic!("{other}"),
            }
        }
        // As many arrays as inputs, in another order.
        let error = refused(device.launch(&kernel, &[(&x).into(), 1.0f32.into(), (&factor).into()]));
        assert_eq!(error.to_string(), "operand `factor` takes an array of f32, got a scalar of f32");
        at(error.loc(), SCALE + 3, "factor");
    });
}

#[test]
fn l003_rank() {
    untouched(|device| {
        let (x, factor) = (f32s(device, &[2, 4, 128]), f32s(device, &[128]));
        let error = refused(scale().bm(8).bn(128).launch(device, &x, &factor, 1.0));
        assert_eq!(error.to_string(), "operand `x` has rank 2 ([m, n]), got an array of rank 3 with shape [2, 4, 128]");
        at(error.loc(), SCALE + 2, "x: In");
        shows(error, "L003", Some(SCALE + 2), Some("reshape the array to rank 2"));
        let (x, factor) = (f32s(device, &[8, 128]), f32s(device, &[]));
        assert_eq!(refused(scale().bm(8).bn(128).launch(device, &x, &factor, 1.0)).code(), "L003");
    });
}

#[test]
fn l004_size_mismatch() {
    untouched(|device| {
        let (x, factor) = (f32s(device, &[8, 128]), f32s(device, &[129]));
        let error = refused(scale().bm(8).bn(128).launch(device, &x, &factor, 1.0));
        assert_eq!(error.to_string(), "size `n` is 128 in operand `x` and 129 in operand `factor`");
        at(error.loc(), SCALE + 3, "factor");
        shows(error, "L004", Some(SCALE + 3), Some("must agree"));
        let error = refused(expressions().launch(device, &f32s(device, &[10]), &f32s(device, &[20])));
        match &error {
            LaunchError::SizeMismatch { size, first, then, .. } => {
                assert_eq!(size.replace(['(', ')'], ""), "2 * n + 1");
                assert_eq!((first, then), (&("x".to_string(), 21), &("y".to_string(), 20)));
            }
            other => panic!("{other}"),
        }
        at(error.loc(), EXPRESSIONS + 5, "y: In");
    });
}

#[test]
fn l005_element_type() {
    untouched(|device| {
        let (ints, factor) = (made(device, &[8, 128], |at| at as i32), f32s(device, &[128]));
        let error = refused(scale().bm(8).bn(128).launch(device, &ints, &factor, 1.0));
        assert_eq!(error.to_string(), "operand `x` takes elements of f32, got i32");
        at(error.loc(), SCALE + 2, "x: In");
        shows(error, "L005", Some(SCALE + 2), Some("convert the array to f32"));

        let kernel = generic().b(8);
        let (f, b) = (f32s(device, &[8]), made(device, &[8], |at| at > 3));
        match refused(kernel.launch(device, &b, &b)) {
            LaunchError::ElementType { operand, want, got: DType::Bool, loc } => {
                assert_eq!(operand, "x");
                // Every element type with arithmetic, and no other.
                let numbers = DType::ALL.into_iter().filter(|dtype| dtype.is_number()).map(DType::name).collect::<Vec<_>>();
                assert_eq!(want.replace(" or ", ", ").split(", ").collect::<Vec<_>>(), numbers);
                at(&loc, GENERIC + 2, "x: In");
            }
            other => panic!("{other}"),
        }
        let error = refused(kernel.launch(device, &f, &made(device, &[8], |_| bf16::ONE)));
        assert_eq!(error.to_string(), "operand `y` takes elements of f32, as operand `x` does, got bf16");
        at(error.loc(), GENERIC + 3, "y: In");
        let error = refused(kernel.clone().t(DType::I32).launch(device, &f, &f));
        assert_eq!(error.to_string(), "operand `x` takes elements of i32, which the launch chose for `T`, got f32");
        at(error.loc(), GENERIC + 2, "x: In");
    });
}

#[test]
fn l006_and_l013_block_sizes() {
    untouched(|device| {
        let (x, factor) = (f32s(device, &[8, 128]), f32s(device, &[128]));
        let error = refused(scale().launch(device, &x, &factor, 1.0));
        assert!(matches!(&error, LaunchError::BlocksMissing { blocks, .. } if *blocks == ["BM", "BN"]), "{error:?}");
        assert!(error.to_string().contains("`.bm(128)`"), "{error}");
        at(error.loc(), SCALE + 1, "scale");
        shows(error, "L006", Some(SCALE + 1), None);
        let error = refused(scale().bm(8).launch(device, &x, &factor, 1.0));
        assert!(matches!(&error, LaunchError::BlocksMissing { blocks, .. } if *blocks == ["BN"]), "{error:?}");
        for value in [0, 1 << 31, usize::MAX] {
            let error = refused(scale().bm(8).bn(value).launch(device, &x, &factor, 1.0));
            assert!(matches!(&error, LaunchError::BlockRange { name, value: v, .. } if name == "BN" && *v == value), "{error:?}");
            shows(error, "L013", Some(SCALE + 1), None);
        }
    });
}

#[test]
fn l007_unbound() {
    untouched(|device| {
        let error = refused(no_input().b(128).t(DType::F32).launch(device));
        assert!(matches!(&error, LaunchError::Unbound { what: "size", name, .. } if name == "n"), "{error}");
        assert!(error.to_string().contains("`.n(1000)`"), "{error}");
        at(error.loc(), NO_INPUT + 1, "o: Out");
        shows(error, "L007", Some(NO_INPUT + 1), None);
        let error = refused(no_input().b(128).n(9).launch(device));
        assert!(matches!(&error, LaunchError::Unbound { what: "element type", name, .. } if name == "T"), "{error}");
        assert!(error.to_string().contains("`.t(DType::F32)`"), "{error}");
        at(error.loc(), NO_INPUT + 1, "no_input");
    });
}

#[test]
fn l008_block_index() {
    untouched(|device| {
        let error = refused(elements().b(1024).launch(device, &f32s(device, &[3000])));
        match &error {
            LaunchError::BlockIndex { operand, axis: 0, index: 1024, extent: 3000, block: 1024, blocks: 3, step, .. } => {
                assert_eq!((operand.as_str(), step.as_slice()), ("x", [1].as_slice()));
            }
            other => panic!("{other}"),
        }
        at(error.loc(), ELEMENTS + 1, "x: In");
        shows(
            error,
            "L008",
            Some(ELEMENTS + 1),
            Some("did you return an element offset? an index map returns block indices: divide by 1024"),
        );
    });
}

#[test]
fn l009_empty_grid() {
    untouched(|device| {
        let error = refused(two_outputs().launch(device, &f32s(device, &[0, 200])));
        match &error {
            LaunchError::EmptyGrid { extents, output, elements: 1600, .. } => {
                assert_eq!((extents.as_str(), output.as_str()), ("i = 0, j = 2", "b"));
            }
            other => panic!("{other}"),
        }
        at(error.loc(), EMPTY, "i: n");
        shows(error, "L009", Some(EMPTY), Some("at least one step"));
    });
    // With nothing to write, nothing happens.
    for device in devices() {
        let (a, b) = two_outputs().launch(&device, &f32s(&device, &[9, 0])).unwrap();
        assert_eq!((a.shape(), b.shape()), ([9, 0].as_slice(), [8, 0].as_slice()));
        assert_eq!((device.stats().launches, device.stats().peak_bytes), (1, 0));
    }
}

#[test]
fn l010_size_range() {
    untouched(|device| {
        let error = refused(expressions().launch(device, &f32s(device, &[2000]), &f32s(device, &[4001])));
        assert_eq!(error.code(), "L010");
        assert!(error.to_string().contains("operand `o` is 8000000000: it must lie between 0 and 2147483647"), "{error}");
        at(error.loc(), EXPRESSIONS + 6, "o: Out");
        shows(error, "L010", Some(EXPRESSIONS + 6), None);
        let error = refused(expressions().launch(device, &f32s(device, &[9]), &f32s(device, &[19])));
        assert_eq!(error.to_string(), "grid dimension `i` (n - 10) is -1: it must lie between 0 and 2147483647");
        at(error.loc(), EXPRESSIONS + 1, "i: n");
    });
}

#[test]
fn l011_vmem() {
    untouched(|device| {
        let x = f32s(device, &[1000, 128]);
        let row = made(device, &[1, 128], |_| bf16::ONE);
        let error = refused(large().bm(32768).s(8).allow(Allow::BlockShape).launch(device, &x, &row));
        let (windows, limit) = (32768 * 128 * (4 + 2) + 2 * 128 * 2, Chip::V5E.scoped_vmem_bytes);
        match &error {
            LaunchError::Vmem { chip, need, limit: l, table, .. } => {
                // One step, so that every window has one buffer; the row is padded to a tile of two.
                assert_eq!((chip.as_str(), *l), ("v5e", limit));
                assert_eq!(*need, windows, "{table}");
                for (name, block, bytes) in [
                    ("x", "32768x128xf32", "16777216"),
                    ("row", "1x128xbf16", "512"),
                    ("o", "32768x128xbf16", "8388608"),
                    ("kept", "8x128xi32", "4096"),
                ] {
                    let line = table.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
                    assert!(line.contains(block) && line.trim_end().ends_with(bytes), "{line}");
                }
            }
            other => panic!("{other}"),
        }
        let text = render(&Error::Launch(error.clone()));
        assert!(text.contains("padded bytes") && text.contains("kept"), "{text}");
        at(error.loc(), LARGE + 2, "x: In");
        shows(error, "L011", Some(LARGE + 2), Some("make the blocks smaller"));
        // Scratch counts against the whole memory.
        let error = refused(large().bm(8).s(1 << 18).launch(device, &x, &row));
        assert!(matches!(&error, LaunchError::Vmem { limit, .. } if *limit == Chip::V5E.vmem_bytes), "{error}");
        at(error.loc(), LARGE + 5, "kept");
    });
}

#[test]
fn l012_block_shape() {
    untouched(|device| {
        let (x, factor) = (f32s(device, &[20, 300]), f32s(device, &[300]));
        let error = refused(scale().bm(8).bn(100).launch(device, &x, &factor, 1.0));
        match &error {
            LaunchError::BlockShape { operand, axis: 1, block: 100, extent: 300, chip, rule, .. } => {
                assert_eq!((operand.as_str(), chip.as_str()), ("x", "v5e"));
                assert!(rule.contains("multiple of 128") && rule.contains("128 or 300 works"), "{rule}");
            }
            other => panic!("{other}"),
        }
        at(error.loc(), SCALE + 2, "x: In");
        shows(error, "L012", Some(SCALE + 2), Some("allow"));
        match refused(scale().bm(9).bn(300).launch(device, &x, &factor, 1.0)) {
            LaunchError::BlockShape { axis: 0, block: 9, extent: 20, .. } => {}
            other => panic!("{other}"),
        }
    });
    for device in devices() {
        let (x, factor) = (f32s(&device, &[20, 300]), f32s(&device, &[300]));
        let o = scale().bm(9).bn(100).allow(Allow::BlockShape).launch(&device, &x, &factor, 0.5).unwrap();
        let want: Vec<f32> = (0..6000).map(|at| (at * (at % 300)) as f32 * 0.5).collect();
        assert_eq!(o.to_vec::<f32>().unwrap(), want);
    }
}

#[test]
fn l015_a_size_that_the_launch_sets() {
    untouched(|device| {
        let error = refused(free().n(5).launch(device, &made(device, &[11], |at| at as i32)));
        assert_eq!(error.to_string(), "size `2 * n` is set to 10 on the launch, but it is 11 in operand `x`");
        at(error.loc(), FREE + 1, "x: In");
        shows(error, "L015", Some(FREE + 1), Some("the inputs"));
    });
}

#[test]
fn l016_too_large() {
    untouched(|device| {
        const MAX: usize = i32::MAX as usize;
        let error = refused(endless().n(MAX).m(1).launch(device));
        assert!(error.to_string().ends_with("has more steps than the host can count"), "{error}");
        shows(error, "L016", None, None);
        let error = refused(endless().n(1).m(MAX).launch(device));
        assert!(error.to_string().contains("operand `p`") && error.to_string().contains("more bytes"), "{error}");
        let error = refused(endless().n(1 << 31).m(1).launch(device));
        assert_eq!(error.to_string(), "size `n` is 2147483648: it must lie between 0 and 2147483647");
    });
}

#[test]
fn l017_unwritten() {
    untouched(|device| {
        let error = refused(free().n(17).allow(Allow::BlockShape).launch(device, &made(device, &[34], |at| at as i32)));
        match &error {
            LaunchError::Unwritten { operand, axis: 0, extent: 17, block: 8, blocks: 3, visited, .. } => {
                assert_eq!((operand.as_str(), visited.as_str()), ("o", "0 only"));
            }
            other => panic!("{other}"),
        }
        at(error.loc(), FREE + 1, "o: Out");
        shows(error, "L017", Some(FREE + 1), Some(".allow(Allow::Unwritten)"));
    });
    for device in devices() {
        let x = made(&device, &[18], |at| at as i32);
        let o = free().n(9).allow(Allow::BlockShape).allow(Allow::Unwritten).launch(&device, &x).unwrap();
        assert_eq!(o.to_vec::<i32>().unwrap(), [0, 1, 2, 3, 4, 5, 6, 7, i32::MIN]);
    }
}

#[test]
fn a_refused_launch_can_be_put_right() {
    for device in devices() {
        let (x, factor) = (f32s(&device, &[8, 128]), f32s(&device, &[127]));
        assert_eq!(refused(scale().bm(8).bn(128).launch(&device, &x, &factor, 1.0)).code(), "L004");
        let factor = f32s(&device, &[128]);
        assert_eq!(scale().bm(8).bn(128).launch(&device, &x, &factor, 1.0).unwrap().shape(), [8, 128]);
        let full = Device::builder(Chip::V5E).hbm_bytes(5000).build();
        let (x, factor) = (f32s(&full, &[8, 128]), f32s(&full, &[128]));
        let error = scale().bm(8).bn(128).launch(&full, &x, &factor, 1.0).unwrap_err();
        assert!(matches!(error, DeviceError::OutOfMemory { bytes: 4096, .. }), "{error}");
        let error = kernel_error(scale().bm(8).launch(&full, &x, &factor, 1.0));
        assert_eq!(error.code(), "L006");
    }
}
