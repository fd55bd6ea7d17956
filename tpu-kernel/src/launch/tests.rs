//! Launch checks: each refusal with its numbers, index maps against counting, and no panic on any input.

use super::maps::{self, Range};
use super::vmem::padded_bytes;
use super::*;
use crate::chips::Chip;
use crate::ir::*;
use crate::legalise;
use proptest::prelude::*;

fn loc(line: u32) -> Loc {
    Loc { file: "k.rs".into(), line, column: 1 }
}

/// One input and one output of `array` in blocks of `block`, a grid of these extents, and this index map for both.
struct Copy {
    dtype: DType,
    array: Vec<SizeExpr>,
    block: Vec<BlockDim>,
    grid: Vec<SizeExpr>,
}

type Map<'a> = &'a dyn Fn(&mut Builder, &[Value]) -> Vec<Value>;

impl Copy {
    fn kernel(&self, names: &[&str], map: Map<'_>) -> Kernel {
        let mut b = Builder::new("copy", loc(1));
        for name in names {
            b.size(name);
        }
        for (at, extent) in self.grid.iter().enumerate() {
            let name = ["i", "j", "k"][at].to_string();
            b.grid_dim(GridDim { name, extent: extent.clone(), semantics: Semantics::Arbitrary, loc: loc(2 + at as u32) });
        }
        let ty = Builder::window_type(self.dtype, &self.block).expect("a block of rank 0 to 4");
        for (at, name) in ["x", "o"].into_iter().enumerate() {
            let map = b.map(|b, i| Ok::<_, Fault>(map(b, i))).expect("a map");
            let window = Window { array: self.array.clone(), block: self.block.clone(), map, pipelining: Pipelining::default() };
            let kind = if at == 0 { ParamKind::In(window) } else { ParamKind::Out(window) };
            b.param(name, ty, kind, loc(10 + at as u32));
        }
        b.finish().expect("no open region")
    }
}

fn size(id: u32) -> SizeExpr {
    SizeExpr::Size(SizeId(id))
}

fn blocked(dims: &[usize]) -> Vec<BlockDim> {
    dims.iter().map(|&n| BlockDim::Blocked(n)).collect()
}

fn n(value: i64) -> SizeExpr {
    SizeExpr::Const(value)
}

/// `m` elements in blocks of 128, one a step.
fn vector(map: Map<'_>) -> Kernel {
    let grid = vec![size(0) / n(128)];
    Copy { dtype: DType::F32, array: vec![size(0)], block: blocked(&[128]), grid }.kernel(&["m"], map)
}

fn identity(_: &mut Builder, i: &[Value]) -> Vec<Value> {
    i.to_vec()
}

fn go(kernel: &Kernel, shapes: &[&[usize]]) -> Result<Binding, LaunchError> {
    let inputs: Vec<_> = shapes.iter().map(|s| (DType::F32, s.to_vec())).collect();
    bind(kernel, &Chip::V5E, &inputs, &Config::default())
}

#[test]
fn sizes_grid_and_shapes_are_bound() {
    let binding = go(&vector(&identity), &[&[1000]]).unwrap();
    assert_eq!(binding, Binding { cores: 1, sizes: vec![1000], grid: vec![8], arrays: vec![vec![1000], vec![1000]] });
}

#[test]
fn inputs_are_counted_and_have_rank_and_type() {
    let kernel = vector(&identity);
    assert_eq!(go(&kernel, &[]).unwrap_err().code(), "L001");
    assert_eq!(go(&kernel, &[&[8], &[8]]).unwrap_err().code(), "L001");
    let error = go(&kernel, &[&[8, 9]]).unwrap_err();
    assert_eq!(error.to_string(), "operand `x` has rank 1 ([m]), got an array of rank 2 with shape [8, 9]");
    let error = bind(&kernel, &Chip::V5E, &[(DType::I32, vec![8])], &Config::default()).unwrap_err();
    assert_eq!(error.to_string(), "operand `x` takes elements of f32, got i32");
    assert_eq!(error.loc(), &loc(10));
}

/// Two inputs `a: [m, k]` and `b` of another shape, an output `[m]`.
fn two(b_shape: Vec<SizeExpr>) -> Kernel {
    let mut b = Builder::new("two", loc(1));
    let _ = (b.size("m"), b.size("k"));
    for (name, array) in [("a", vec![size(0), size(1)]), ("b", b_shape), ("o", vec![size(0)])] {
        let zero = |b: &mut Builder, rank: usize| (0..rank).map(|_| b.constant(0, loc(3))).collect::<Vec<_>>();
        let map = b.map(|b, _| Ok::<_, Fault>(zero(b, array.len()))).unwrap();
        let block: Vec<BlockDim> = array.iter().enumerate().map(|(d, _)| BlockDim::Blocked([8, 128][d])).collect();
        let ty = Builder::window_type(DType::F32, &block).unwrap();
        let window = Window { array, block, map, pipelining: Pipelining::default() };
        let kind = if name == "o" { ParamKind::Out(window) } else { ParamKind::In(window) };
        b.param(name, ty, kind, loc(20));
    }
    b.finish().unwrap()
}

#[test]
fn a_size_has_one_value() {
    let message = |shape: Vec<SizeExpr>, a: &[usize], b: &[usize]| go(&two(shape), &[a, b]).unwrap_err().to_string();
    assert_eq!(message(vec![size(1), size(0)], &[8, 128], &[64, 8]), "size `k` is 128 in operand `a` and 64 in operand `b`");
    assert_eq!(message(vec![size(0) + n(1)], &[8, 128], &[8]), "size `m + 1` is 9 in operand `a` and 8 in operand `b`");
    assert_eq!(message(vec![n(32)], &[8, 128], &[31]), "operand `b` has a size of 32 where the array has 31");
    let square = Copy { dtype: DType::F32, array: vec![size(0), size(0)], block: blocked(&[8, 128]), grid: vec![] };
    let zeros = |b: &mut Builder, _: &[Value]| vec![b.constant(0, loc(3)), b.constant(0, loc(3))];
    let error = go(&square.kernel(&["m"], &zeros), &[&[8, 128]]).unwrap_err();
    assert_eq!(error.to_string(), "size `m` is both 8 and 128 in operand `x`");
}

#[test]
fn the_launch_sets_sizes_that_no_input_names() {
    let kernel = two(vec![n(4)]);
    let with = |sizes: Vec<(&'static str, usize)>, m: usize| {
        let config = Config { sizes, allow: vec![Allow::BlockShape], ..Config::default() };
        bind(&kernel, &Chip::V5E, &[(DType::F32, vec![m, 9]), (DType::F32, vec![4])], &config)
    };
    assert_eq!(with(vec![], 7).unwrap().sizes, [7, 9]);
    assert_eq!(with(vec![("k", 9)], 7).unwrap().sizes, [7, 9]);
    let error = with(vec![("m", 6)], 7).unwrap_err();
    assert_eq!(error.to_string(), "size `m` is set to 6 on the launch, but it is 7 in operand `a`");
    let error = with(vec![("z", 6)], 7).unwrap_err();
    assert_eq!(error.to_string(), "kernel `two` has no array size `z` to set; it names `m`, `k`");
    // An output-only size: unbound, then set.
    let made = Copy { dtype: DType::F32, array: vec![n(128)], block: blocked(&[128]), grid: vec![size(0)] };
    let kernel = made.kernel(&["m"], &|b, _| vec![b.constant(0, loc(3))]);
    let error = go(&kernel, &[&[128]]).unwrap_err();
    assert!(
        matches!(&error, LaunchError::Unbound { what: "size", name, example: "1000", loc } if name == "m" && loc.is_known()),
        "{error:?}"
    );
    let config = Config { sizes: vec![("m", 3)], ..Config::default() };
    assert_eq!(bind(&kernel, &Chip::V5E, &[(DType::F32, vec![128])], &config).unwrap().grid, [3]);
}

#[test]
fn sizes_and_extents_fit_i32_and_bytes_fit_the_host() {
    let kernel = vector(&identity);
    let error = go(&kernel, &[&[1 << 31]]).unwrap_err();
    assert_eq!(error.to_string(), "size `m` is 2147483648: it must lie between 0 and 2147483647");
    let grid = |extent: SizeExpr| {
        let made = Copy { dtype: DType::F32, array: vec![size(0)], block: blocked(&[128]), grid: vec![extent] };
        go(&made.kernel(&["m"], &|b, _| vec![b.constant(0, loc(3))]), &[&[128]])
    };
    let error = grid(size(0) - n(200)).unwrap_err();
    assert_eq!(error.to_string(), "grid dimension `i` (m - 200) is -72: it must lie between 0 and 2147483647");
    let error = grid(size(0) / (size(0) - n(128))).unwrap_err();
    let value = "without a value (it divides by 0)";
    assert_eq!(
        error.to_string(),
        format!("grid dimension `i` (ceildiv(m, m - 128)) is {value}: it must lie between 0 and 2147483647")
    );
    assert_eq!(grid(size(0) * n(i64::MAX)).unwrap_err().code(), "L010");
    let cube = Copy { dtype: DType::F32, array: vec![size(0); 4], block: blocked(&[1, 1, 8, 128]), grid: vec![] };
    let zeros = |b: &mut Builder, _: &[Value]| (0..4).map(|_| b.constant(0, loc(3))).collect();
    let error = go(&cube.kernel(&["m"], &zeros), &[&[1 << 20; 4]]).unwrap_err();
    assert_eq!(error.code(), "L016", "{error}");
    let many = Copy { dtype: DType::F32, array: vec![n(128)], block: blocked(&[128]), grid: vec![size(0); 3] };
    let kernel = many.kernel(&["m"], &|b, _| vec![b.constant(0, loc(3))]);
    let config = Config { sizes: vec![("m", 1 << 30)], ..Config::default() };
    assert_eq!(bind(&kernel, &Chip::V5E, &[(DType::F32, vec![128])], &config).unwrap_err().code(), "L016");
}

#[test]
fn a_grid_without_steps_needs_empty_outputs() {
    assert_eq!(go(&vector(&identity), &[&[0]]).unwrap().grid, [0]);
    let made = Copy { dtype: DType::F32, array: vec![size(0)], block: blocked(&[128]), grid: vec![size(0) - n(5)] };
    let error = go(&made.kernel(&["m"], &identity), &[&[5]]).unwrap_err();
    let want = "the grid has no step (i = 0), but output `o` has 5 elements that nothing would write";
    assert_eq!(error.to_string(), want);
}

#[test]
fn a_block_outside_the_array_is_found_at_its_first_step() {
    let offset = |b: &mut Builder, i: &[Value]| {
        let by = b.constant(128, loc(3));
        vec![b.value(OpKind::Binary(BinaryOp::Mul), &[i[0], by], loc(3)).unwrap()]
    };
    let error = go(&vector(&offset), &[&[1000]]).unwrap_err();
    let LaunchError::BlockIndex { index, blocks, step, .. } = &error else { panic!("{error}") };
    assert_eq!((*index, *blocks, step.as_slice()), (128, 8, &[1][..]));
    let below = |b: &mut Builder, i: &[Value]| {
        let by = b.constant(-1, loc(3));
        vec![b.value(OpKind::Binary(BinaryOp::Add), &[i[0], by], loc(3)).unwrap()]
    };
    let error = go(&vector(&below), &[&[1000]]).unwrap_err();
    assert!(matches!(error, LaunchError::BlockIndex { index: -1, .. }), "{error}");
    // A billion steps, the last of which is outside.
    let made = Copy { dtype: DType::F32, array: vec![size(0)], block: blocked(&[128]), grid: vec![n(1 << 30)] };
    let error = go(&made.kernel(&["m"], &identity), &[&[(1 << 30) - 128]]).unwrap_err();
    assert!(matches!(&error, LaunchError::BlockIndex { step, .. } if step[..] == [(1 << 23) - 1]), "{error}");
}

#[test]
fn an_output_is_written_everywhere_unless_allowed() {
    let zero = |b: &mut Builder, _: &[Value]| vec![b.constant(0, loc(3))];
    let error = go(&vector(&zero), &[&[1000]]).unwrap_err();
    assert_eq!((error.code(), error.loc()), ("L017", &loc(11)));
    assert_eq!(
        error.to_string(),
        "output `o` would not be written everywhere: along axis 0 it has 1000 elements, 8 block(s) of 128, and the grid visits 0 only"
    );
    assert!(go(&vector(&zero), &[&[128]]).is_ok(), "one block is all there is");
    // Fewer steps than blocks, though each axis is reached: the diagonal.
    let made = Copy { dtype: DType::F32, array: vec![size(0); 2], block: blocked(&[128, 128]), grid: vec![size(0) / n(128)] };
    let diagonal = made.kernel(&["m"], &|_, i| vec![i[0], i[0]]);
    let error = go(&diagonal, &[&[256, 256]]).unwrap_err();
    assert!(error.to_string().ends_with("the grid visits at most 2 of 4 blocks in all its steps"), "{error}");
    assert!(go(&diagonal, &[&[100, 100]]).is_ok());
    let config = Config { allow: vec![Allow::Unwritten], ..Config::default() };
    assert!(bind(&diagonal, &Chip::V5E, &[(DType::F32, vec![256, 256])], &config).is_ok());
    // Blocks visited twice, and in another order, are fine.
    let made = Copy { dtype: DType::F32, array: vec![size(0)], block: blocked(&[128]), grid: vec![n(2), size(0) / n(128)] };
    assert!(go(&made.kernel(&["m"], &|_, i| vec![i[1]]), &[&[1000]]).is_ok());
}

#[test]
fn an_empty_array_has_no_blocks() {
    let made = Copy { dtype: DType::F32, array: vec![size(0)], block: blocked(&[128]), grid: vec![n(1)] };
    let error = go(&made.kernel(&["m"], &identity), &[&[0]]).unwrap_err();
    assert!(matches!(error, LaunchError::BlockIndex { blocks: 0, index: 0, .. }), "{error}");
}

#[test]
fn block_shapes_fit_the_tiles_unless_allowed() {
    let check = |dtype: DType, array: &[i64], block: Vec<BlockDim>, allow: bool| {
        let made = Copy { dtype, array: array.iter().map(|&d| n(d)).collect(), block: block.clone(), grid: vec![] };
        let zeros = |b: &mut Builder, _: &[Value]| (0..block.len()).map(|_| b.constant(0, loc(3))).collect();
        let shape = array.iter().map(|&d| d as usize).collect();
        // Only the first block is written: this is about shapes.
        let mut config = Config { allow: vec![Allow::Unwritten], ..Config::default() };
        config.allow.extend(allow.then_some(Allow::BlockShape));
        bind(&made.kernel(&[], &zeros), &Chip::V6E, &[(dtype, shape)], &config).map(|_| ()).map_err(|e| e.to_string())
    };
    for (dtype, array, block) in [
        (DType::F32, vec![175, 32], vec![8, 32]),
        (DType::F32, vec![175, 32], vec![175, 128]),
        (DType::Bf16, vec![256, 256], vec![8, 128]),
        (DType::Bool, vec![256, 256], vec![8, 128]),
        (DType::F32, vec![7, 3, 256, 256], vec![3, 2, 8, 128]),
        (DType::F32, vec![7, 100], vec![8, 128]),
        (DType::F32, vec![1000], vec![128]),
        (DType::Bf16, vec![1000], vec![256]),
        (DType::I32, vec![37], vec![37]),
    ] {
        assert_eq!(check(dtype, &array, blocked(&block), false), Ok(()), "{dtype} {array:?} {block:?}");
    }
    for (dtype, array, block) in [
        (DType::F32, vec![175, 32], vec![7, 32]),
        (DType::F32, vec![175, 256], vec![8, 64]),
        (DType::F32, vec![6, 90], vec![7, 100]),
        (DType::Bf16, vec![1000], vec![128]),
        (DType::Bool, vec![1000], vec![256]),
    ] {
        let error = check(dtype, &array, blocked(&block), false).unwrap_err();
        assert!(error.contains("works"), "{error}");
        assert_eq!(check(dtype, &array, blocked(&block), true), Ok(()));
    }
    assert_eq!(
        check(DType::F32, &[175, 256], blocked(&[8, 100]), false).unwrap_err(),
        "operand `x`: a block of 100 along axis 1 of 256 elements does not fit v6e's tiles: \
         the last dimension of a block is a multiple of 128 or the whole axis; 128 or 256 works"
    );
    let squeezed = vec![BlockDim::Blocked(8), BlockDim::Squeezed];
    assert!(check(DType::F32, &[8, 256], squeezed, false).unwrap_err().contains("do not squeeze it"));
}

#[test]
fn the_vmem_table_lists_every_window() {
    let made =
        Copy { dtype: DType::F32, array: vec![size(0), n(1024)], block: blocked(&[1024, 1024]), grid: vec![size(0) / n(1024)] };
    let zero = |b: &mut Builder, i: &[Value]| vec![i[0], b.constant(0, loc(3))];
    let mut kernel = made.kernel(&["m"], &zero);
    assert!(go(&kernel, &[&[2048, 1024]]).is_ok(), "16 MiB are the limit and fit");
    let ty = Type::Ref(Space::Vmem, DType::F32, Shape::new(&[7, 100]));
    let value = kernel.new_value(ty);
    kernel.body.args.push(value);
    kernel.params.push(Param { name: "acc".into(), ty, kind: ParamKind::Scratch, alias: None, loc: loc(30) });
    assert!(go(&kernel, &[&[2048, 1024]]).is_ok(), "scratch stands against the whole memory");
    let error = bind(&kernel, &Chip::V4, &[(DType::F32, vec![2048, 1024])], &Config::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the kernel needs 16781312 bytes of VMEM on v4, the limit is 16777216:
  operand role    block         padded bytes buffers   bytes
  x       in      1024x1024xf32      4194304       2 8388608
  o       out     1024x1024xf32      4194304       2 8388608
  acc     scratch 7x100xf32             4096       1    4096"
    );
    assert!(go(&kernel, &[&[1024, 1024]]).is_ok(), "one step needs one buffer");
}

/// Floats, and a grid that needs more boxes than the budget: found before anything runs, at the first step.
#[test]
fn maps_that_ranges_do_not_follow_are_evaluated() {
    let op = |b: &mut Builder, kind: OpKind, operands: &[Value]| b.value(kind, operands, loc(3)).expect("well typed");
    // i32(exp(tanh(f32(i))) * 3): 3, 6, 7, 8 (e = 2.718…), of 8 blocks.
    let float = |b: &mut Builder, i: &[Value]| {
        let x = op(b, OpKind::Cast(DType::F32), &[i[0]]);
        let x = op(b, OpKind::Unary(UnaryOp::Tanh), &[x]);
        let x = op(b, OpKind::Unary(UnaryOp::Exp), &[x]);
        let three = b.constant(3.0f32, loc(3));
        let x = op(b, OpKind::Binary(BinaryOp::Mul), &[x, three]);
        vec![op(b, OpKind::Cast(DType::I32), &[x])]
    };
    match go(&vector(&float), &[&[1000]]).unwrap_err() {
        LaunchError::BlockIndex { index: 8, blocks: 8, step, .. } => assert_eq!(step, [3]),
        other => panic!("{other}"),
    }
    // 1 where i is `last`, else 0: ranges see only that it is a bool.
    let scattered = |last: i32| {
        move |b: &mut Builder, i: &[Value]| {
            let last = b.constant(last, loc(3));
            let x = op(b, OpKind::Binary(BinaryOp::Xor), &[i[0], last]);
            let x = op(b, OpKind::Cast(DType::F32), &[x]);
            let zero = b.constant(0.0f32, loc(3));
            let bad = op(b, OpKind::Compare(CompareOp::Eq), &[x, zero]);
            vec![op(b, OpKind::Cast(DType::I32), &[bad])]
        }
    };
    let one_block = |steps: i64, last: i32| {
        Copy { dtype: DType::F32, array: vec![size(0)], block: blocked(&[128]), grid: vec![n(steps)] }
            .kernel(&["m"], &scattered(last))
    };
    match go(&one_block(1 << 20, (1 << 20) - 1), &[&[128]]).unwrap_err() {
        LaunchError::BlockIndex { index: 1, blocks: 1, step, .. } => assert_eq!(step, [(1 << 20) - 1]),
        other => panic!("{other}"),
    }
    assert!(go(&one_block(1 << 20, 1 << 20), &[&[128]]).is_ok());
    assert!(go(&one_block((1 << 20) + 1, 1 << 20), &[&[128]]).is_ok(), "beyond, the executor finds it");
}

/// What libtpu 0.0.50.1 accepts at most, by bisection over the number of columns, on v5e, v6e and tpu7x.
#[test]
fn padding_is_what_libtpu_counts() {
    for (dtype, rows, padded) in [
        (DType::F32, 1, 1),
        (DType::F32, 2, 2),
        (DType::F32, 3, 4),
        (DType::F32, 5, 8),
        (DType::F32, 9, 16),
        (DType::Bf16, 1, 2),
        (DType::Bf16, 8, 8),
        (DType::Bf16, 3, 4),
        (DType::Bf16, 9, 16),
        (DType::Bf16, 24, 24),
        (DType::Bool, 1, 4),
        (DType::Bool, 8, 8),
        (DType::Bool, 9, 16),
        (DType::Bool, 24, 24),
        (DType::Bool, 40, 40),
        (DType::F8E5M2, 3, 4),
        (DType::I8, 24, 24),
        (DType::I4, 1, 8),
        (DType::U4, 8, 8),
        (DType::I4, 9, 16),
        (DType::F4E2M1Fn, 24, 24),
        (DType::I4, 40, 40),
    ] {
        let bits = dtype.bits();
        assert_eq!(padded_bytes(dtype, bits, &[rows, 100]), padded * 128 * u64::from(bits) / 8, "{dtype} {rows}");
    }
}

/// Scratch of 4 bits takes a byte an element: by the same bisection, of scratch.
#[test]
fn narrow_scratch_is_not_packed() {
    let mut b = Builder::new("scratch", loc(1));
    let ty = |dtype, shape: &[usize]| Type::Ref(Space::Vmem, dtype, Shape::new(shape));
    b.param("packed", ty(DType::I4, &[9, 100]), ParamKind::Scratch, loc(2));
    b.param("halves", ty(DType::Bf16, &[9, 100]), ParamKind::Scratch, loc(3));
    let kernel = b.finish().unwrap();
    let chip = Chip { vmem_bytes: 6143, scoped_vmem_bytes: 6143, ..Chip::V5E };
    let error = bind(&kernel, &chip, &[], &Config::default()).unwrap_err();
    match error {
        LaunchError::Vmem { need, table, .. } => assert_eq!(need, 16 * 128 * (1 + 2), "{table}"),
        other => panic!("{other}"),
    }
    let chip = Chip { vmem_bytes: 6144, scoped_vmem_bytes: 6144, ..Chip::V5E };
    assert!(bind(&kernel, &chip, &[], &Config::default()).is_ok());
}

/// A block of a vector holds whole rows of packed registers, as many bits whatever the elements.
#[test]
fn blocks_of_vectors_follow_the_width() {
    let kernel = |dtype: DType, block: usize| {
        Copy { dtype, array: vec![size(0)], block: blocked(&[block]), grid: vec![size(0) / n(block as i64)] }
            .kernel(&["m"], &identity)
    };
    for dtype in DType::ALL {
        let row = 4096 / dtype.bits() as usize;
        let bound = |block| bind(&kernel(dtype, block), &Chip::V5E, &[(dtype, vec![100_000])], &Config::default());
        assert!(bound(row).is_ok() && bound(3 * row).is_ok(), "{dtype} {row}");
        let error = bound(row / 2).unwrap_err();
        assert_eq!(error.code(), "L012", "{dtype}");
        assert!(error.to_string().contains(&format!("a multiple of {row} or the whole axis")), "{error}");
    }
}

/// What libtpu 0.0.50.1 said of 128³ products of floats: none of those that it takes is refused, nor is what is lowered.
#[test]
fn products_are_what_libtpu_accepts() {
    let has = |chip: &Chip, d: DType| match chip.name {
        "v4" => [DType::F32, DType::Bf16].contains(&d),
        "tpu7x" => d != DType::F8E4M3B11Fnuz,
        _ => d != DType::F4E2M1Fn,
    };
    for chip in Chip::ALL {
        for dtype in DType::ALL.into_iter().filter(|d| d.is_float()) {
            let native = chip.product_floats.contains(&dtype);
            assert_eq!(native, has(chip, dtype) && dtype != DType::F16, "{} {dtype}", chip.name);
            // Of v4 alone more is lowered than f16: the two formats of 8 bits that it can move and convert.
            let lowered = dtype == DType::F16 || (chip.name == "v4" && [DType::F8E4M3Fn, DType::F8E5M2].contains(&dtype));
            assert_eq!(legalise::has(chip, dtype), native || lowered, "{} {dtype}", chip.name);
        }
        for dtype in DType::ALL.into_iter().filter(|d| d.is_integer()) {
            assert_eq!(legalise::has(chip, dtype), dtype != DType::I2, "{} {dtype}", chip.name);
        }
    }
}

/// An operation of a random map: two earlier values and what to do with them.
fn steps() -> impl Strategy<Value = Vec<(usize, usize, usize, i32)>> {
    proptest::collection::vec((0..13usize, 0..8usize, 0..8usize, prop_oneof![-9..9i32, any::<i32>()]), 0..8)
}

fn random_map(b: &mut Builder, index: &[Value], ops: &[(usize, usize, usize, i32)]) -> Vec<Value> {
    let mut values = index.to_vec();
    values.push(b.constant(3, loc(3)));
    for &(op, left, right, constant) in ops {
        let (x, y) = (values[left % values.len()], values[right % values.len()]);
        let value = match op {
            0 => b.constant(constant, loc(3)),
            1 => b.value(OpKind::NumPrograms(0), &[], loc(3)).unwrap(),
            2 => {
                let less = b.value(OpKind::Compare(CompareOp::Lt), &[x, y], loc(3)).unwrap();
                b.value(OpKind::Select, &[less, y, x], loc(3)).unwrap()
            }
            op => b.value(OpKind::Binary(BinaryOp::ALL[op - 3]), &[x, y], loc(3)).unwrap(),
        };
        values.push(value);
    }
    vec![*values.last().unwrap()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// The range of a map over a grid holds every index; the first step found is the first by counting.
    #[test]
    fn maps_agree_with_counting(ops in steps(), extents in (1..5i32, 1..6i32), allowed in (-3..3i64, 0..12i64)) {
        let made = Copy { dtype: DType::F32, array: vec![n(1)], block: blocked(&[1]), grid: vec![n(1), n(1)] };
        let kernel = made.kernel(&[], &|b, i| random_map(b, i, &ops));
        let map = &kernel.params[0].window().unwrap().map;
        let grid = [extents.0, extents.1];
        let numbers = maps::Numbers { sizes: &[], grid: &grid };
        let allowed = Range { lo: allowed.0, hi: allowed.0 + allowed.1 };
        let whole = [Range { lo: 0, hi: i64::from(grid[0]) - 1 }, Range { lo: 0, hi: i64::from(grid[1]) - 1 }];
        let all = maps::ranges(&kernel, map, &numbers, &whole)[0];
        let mut first = None;
        for i in 0..grid[0] {
            for j in 0..grid[1] {
                let at = [Range { lo: i.into(), hi: i.into() }, Range { lo: j.into(), hi: j.into() }];
                let here = maps::ranges(&kernel, map, &numbers, &at)[0];
                prop_assert_eq!(here.lo, here.hi, "one step is exact");
                prop_assert!(all.lo <= here.lo && here.hi <= all.hi, "{:?} holds {:?}", all, here);
                if first.is_none() && !(allowed.lo <= here.lo && here.lo <= allowed.hi) {
                    first = Some((vec![i, j], here.lo));
                }
            }
        }
        prop_assert_eq!(maps::first_outside(&kernel, map, &numbers, 0, allowed), first);
    }

    /// Any shapes, sizes and blocks: an error or a binding, never a panic.
    #[test]
    fn nothing_panics(
        ops in steps(),
        shape in proptest::collection::vec(prop_oneof![0..300usize, any::<usize>()], 0..5),
        block in 1..300usize,
        set in proptest::option::of(any::<usize>()),
        minus in any::<i64>(),
    ) {
        let array = vec![size(0), size(0) - n(minus)];
        let made = Copy { dtype: DType::Bf16, array, block: blocked(&[block, 128]), grid: vec![size(0) / n(block as i64), size(1)] };
        let kernel = made.kernel(&["m", "k"], &|b, i| [random_map(b, i, &ops), random_map(b, i, &ops)].concat());
        let config = Config { sizes: set.into_iter().map(|s| ("k", s)).collect(), ..Config::default() };
        for chip in Chip::ALL {
            if let Ok(binding) = bind(&kernel, chip, &[(DType::Bf16, shape.clone())], &config) {
                prop_assert_eq!(&binding.arrays[0], &shape);
            }
        }
    }
}
