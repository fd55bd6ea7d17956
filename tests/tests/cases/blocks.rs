//! Blocks: squeezed dimensions (6), products of any size (10), which shapes of blocks a chip takes (11), access by index (46).

use half::bf16;
use tpu_device::{Chip, Device, Tensor};
use tpu_kernel::diagnose::render;
use tpu_kernel::ir::{BlockDim, DType, Literal, SizeExpr};
use tpu_kernel::launch::{Binding, LaunchError};
use tpu_kernel::prelude::*;
use tpu_tests::devices::{devices, expect, failed, made, refused, tensor};
use tpu_tests::executors::{Array, EXECUTORS, run};
use tpu_tests::generate::Rng;
use tpu_tests::kernels::Writer;

#[tpu_kernel]
fn both_rows(
    #[block([2, n] at (squeeze 0, 0))] x: In<f32, (D<256>,)>,
    #[block([2, n] at (squeeze 1, 0))] y: In<f32, (D<256>,)>,
    #[block([n] at (0))] o: Out<f32, (D<256>,)>,
) {
    o.store(x.load() + y.load());
}

/// Squeezed in the middle and at the front, by the grid, of an output too.
#[tpu_kernel(grid(b: 3, h: 4))]
fn heads(
    #[block([3, 8, 4, 128] at (squeeze b, 0, squeeze h, 0))] x: In<i32, (D<8>, D<128>)>,
    #[block([3, 8, 4, 128] at (squeeze 2 - b, 0, squeeze 3 - h, 0))] y: In<i32, (D<8>, D<128>)>,
    #[block([4, 3, 8, 128] at (squeeze h, squeeze b, 0, 0))] o: Out<i32, (D<8>, D<128>)>,
) {
    o.store(x.load() * 2 + y.load());
}

#[test]
fn case_06_block_spec_mapped_dimension() {
    for device in devices() {
        let xy = made(&device, &[2, 256], |at| at as f32 * 0.5);
        let o = both_rows().allow(Allow::BlockShape).launch(&device, &xy, &xy).unwrap();
        expect(&o, &[256], &(0..256).map(|at| at as f32 * 0.5 + (at + 256) as f32 * 0.5).collect::<Vec<_>>());

        let x = made(&device, &[3, 8, 4, 128], |at| at as i32 * 3 - 7);
        let o = heads().allow(Allow::BlockShape).launch(&device, &x, &x).unwrap();
        let value = |b: usize, r: usize, h: usize, c: usize| (((b * 8 + r) * 4 + h) * 128 + c) as i32 * 3 - 7;
        let want = (0..4 * 3 * 8 * 128).map(|at| (at / 3072, at / 1024 % 3, at / 128 % 8, at % 128));
        let want = want.map(|(h, b, r, c)| 2 * value(b, r, h, c) + value(2 - b, r, 3 - h, c));
        expect(&o, &[4, 3, 8, 128], &want.collect::<Vec<_>>());
    }
}

macro_rules! padded_product {
    ($name:ident, $t:ty, $acc:ty, $zero:literal) => {
        #[tpu_kernel(grid(i: m / B, j: n / B, l: k / B), semantics(parallel, parallel, arbitrary))]
        fn $name<B: Dim>(
            #[block([m, k] at (i, l))] x: In<$t, (B, B)>,
            #[block([k, n] at (l, j))] y: In<$t, (B, B)>,
            #[block([m, n] at (i, j))] o: Out<$acc, (B, B)>,
            #[scratch] mut acc: Vmem<$acc, (B, B)>,
        ) {
            if l == 0 {
                acc.fill($zero);
            }
            acc += dot(x.load_or($zero), y.load_or($zero));
            if l == last(l) {
                o.store(acc.load());
            }
        }
    };
}

padded_product!(padded_f32, f32, f32, 0.0);
padded_product!(padded_bf16, bf16, f32, 0.0);
padded_product!(padded_i8, i8, i32, 0);

/// Random sizes: m at least that of a block.
fn sizes(rng: &mut Rng, b: usize, most: usize) -> [usize; 3] {
    [b + rng.below(most), 1 + rng.below(most), 1 + rng.below(most)]
}

fn product(a: &[f64], b: &[f64], [m, k, n]: [usize; 3]) -> Vec<f64> {
    let mut o = vec![0.0; m * n];
    for i in 0..m {
        for l in 0..k {
            let x = a[i * k + l];
            for (o, y) in o[i * n..][..n].iter_mut().zip(&b[l * n..][..n]) {
                *o += x * y;
            }
        }
    }
    o
}

fn near(got: &Tensor, want: &[f64], tolerance: f64) {
    for (at, (&got, &want)) in got.to_vec::<f32>().unwrap().iter().zip(want).enumerate() {
        let error = (f64::from(got) - want).abs();
        assert!(error <= tolerance * (1.0 + want.abs()), "element {at}: {got} for {want}");
    }
}

fn padded_products(device: &Device, rng: &mut Rng, b: usize, most: usize) {
    let dims = sizes(rng, b, most);
    let [m, k, n] = dims;
    let mut draw = |len: usize| -> Vec<i8> { (0..len).map(|_| rng.below(256) as u8 as i8).collect() };
    let (x, y) = (draw(m * k), draw(k * n));
    let exact =
        product(&x.iter().map(|&v| f64::from(v)).collect::<Vec<_>>(), &y.iter().map(|&v| f64::from(v)).collect::<Vec<_>>(), dims);
    let o = padded_i8()
        .b(b)
        .allow(Allow::BlockShape)
        .launch(device, &tensor(device, &x, &[m, k]), &tensor(device, &y, &[k, n]))
        .unwrap();
    expect(&o, &[m, n], &exact.iter().map(|&v| v as i32).collect::<Vec<_>>());

    // Fractions that f32 holds and bf16 rounds.
    let float = |v: i8| (f32::from(v) + 0.3) / 100.0;
    let (xs, ys): (Vec<f32>, Vec<f32>) = (x.iter().map(|&v| float(v)).collect(), y.iter().map(|&v| float(v)).collect());
    let exact =
        product(&xs.iter().map(|&v| f64::from(v)).collect::<Vec<_>>(), &ys.iter().map(|&v| f64::from(v)).collect::<Vec<_>>(), dims);
    let (xt, yt) = (tensor(device, &xs, &[m, k]), tensor(device, &ys, &[k, n]));
    near(&padded_f32().b(b).allow(Allow::BlockShape).precision(Precision::Highest).launch(device, &xt, &yt).unwrap(), &exact, 1e-4);
    let narrow = |v: &[f32]| v.iter().map(|&v| bf16::from_f32(v)).collect::<Vec<_>>();
    let (xb, yb) = (narrow(&xs), narrow(&ys));
    let back = |v: &[bf16]| v.iter().map(|v| v.to_f64()).collect::<Vec<_>>();
    let o = padded_bf16()
        .b(b)
        .allow(Allow::BlockShape)
        .launch(device, &tensor(device, &xb, &[m, k]), &tensor(device, &yb, &[k, n]))
        .unwrap();
    near(&o, &product(&back(&xb), &back(&yb), dims), 1e-2);
}

/// Sizes that are no multiples of the blocks: both operands are masked, f32 within 1e-4, bf16 within 1e-2, i8 exactly.
#[test]
fn case_10_padded_matmul() {
    let [interpreter, cranelift] = devices();
    let mut rng = Rng::new(10);
    for b in [32, 128, 256, 512] {
        padded_products(&cranelift, &mut rng, b, 200);
        padded_products(&cranelift, &mut rng, b, 70);
    }
    for b in [32, 32, 64] {
        padded_products(&interpreter, &mut rng, b, 40);
    }
}

/// A copy in blocks of that shape: whether a launch takes it, and what it says.
fn copied(chip: &Chip, dtype: DType, array: &[usize], block: &[usize]) -> Result<(), LaunchError> {
    let mut w = Writer::new("copy", "cases.rs");
    let dims: Vec<_> = array.iter().zip(block).map(|(&n, &b)| (SizeExpr::Const(n as i64), BlockDim::Blocked(b))).collect();
    let grid: Vec<Option<usize>> = (0..array.len()).map(Some).collect();
    for (d, (&n, &b)) in array.iter().zip(block).enumerate() {
        let extent = SizeExpr::Const(n.div_ceil(b) as i64);
        w.grid(&format!("i{d}"), extent, tpu_kernel::ir::Semantics::Arbitrary);
    }
    let x = w.input("x", dtype, &dims, &grid);
    let o = w.output("o", dtype, &dims, &grid);
    let tile = w.load(x);
    w.store(o, tile);
    tpu_kernel::launch::bind(&w.finish(), chip, &[(dtype, array.to_vec())], &Default::default()).map(|_: Binding| ())
}

/// The last dimension of a block is a multiple of 128 or the whole axis, the one before of 8 or whole; a block of a vector is whole or
/// fills lines of 128 words.
#[test]
fn case_11_block_spec_valid_block_shapes() {
    use DType::{Bf16, F32, I8, I32};
    let legal: [(DType, &[usize], &[usize]); 16] = [
        (F32, &[16, 256], &[8, 128]),
        (F32, &[16, 256], &[16, 256]),
        (F32, &[15, 100], &[15, 100]),
        (F32, &[15, 100], &[8, 100]),
        (F32, &[1, 1], &[1, 1]),
        (F32, &[2, 16, 256], &[1, 8, 128]),
        (F32, &[2, 16, 256], &[2, 16, 256]),
        (F32, &[7, 5, 9, 130], &[3, 2, 9, 130]),
        (F32, &[7, 5, 9, 130], &[1, 1, 8, 128]),
        (Bf16, &[64, 256], &[8, 128]),
        (I8, &[64, 256], &[32, 128]),
        (F32, &[1024], &[128]),
        (F32, &[1024], &[1024]),
        (I32, &[37], &[37]),
        (F32, &[1], &[1]),
        (Bf16, &[1024], &[256]),
    ];
    for (dtype, array, block) in legal {
        assert_eq!(copied(&Chip::V5E, dtype, array, block).map_err(|e| e.to_string()), Ok(()), "{dtype} {array:?} {block:?}");
    }
    let illegal: [(DType, &[usize], &[usize], usize); 9] = [
        (F32, &[16, 256], &[8, 100], 1),
        (F32, &[16, 256], &[8, 64], 1),
        (F32, &[16, 256], &[7, 128], 0),
        (F32, &[16, 256], &[4, 128], 0),
        (F32, &[16, 256], &[1, 256], 0),
        (F32, &[2, 16, 256], &[1, 12, 128], 1),
        (F32, &[7, 5, 9, 130], &[1, 1, 9, 65], 3),
        (F32, &[1000], &[100], 0),
        (Bf16, &[1000], &[128], 0),
    ];
    for (dtype, array, block, wrong) in illegal {
        let error = copied(&Chip::V5E, dtype, array, block).unwrap_err();
        let LaunchError::BlockShape { operand, axis, block: size, extent, .. } = &error else { panic!("{error}") };
        assert_eq!((operand.as_str(), *axis, *size, *extent), ("x", wrong, block[wrong], array[wrong]), "{block:?}");
        let text = render(&tpu_kernel::Error::Launch(error.clone()));
        assert!(text.contains("error[L012]") && text.contains("works") && text.contains("Allow::BlockShape"), "{text}");
    }
}

#[tpu_kernel]
fn row_of_three(
    #[block([3, 16, 128] at (0, 0, 0))] x: In<f32, (D<3>, D<16>, D<128>)>,
    #[block([3, 1, 128] at (0, 0, 0))] o: Out<f32, (D<3>, One, D<128>)>,
    row: Scalar<i32>,
) {
    o.store(x.load_at::<(D<3>, One, D<128>)>((0, row, 0)));
}

/// A row by a number of the launch; one that the block has not is an error, negative ones too.
#[test]
fn case_46_load_with_dynamic_2nd_minor_index() {
    for device in devices() {
        let x = made(&device, &[3, 16, 128], |at| at as f32);
        for row in 0..16 {
            let o = row_of_three().launch(&device, &x, row).unwrap();
            let want = (0..3 * 128).map(|at| (at / 128 * 2048 + row as usize * 128 + at % 128) as f32);
            expect(&o, &[3, 1, 128], &want.collect::<Vec<_>>());
        }
        for row in [-1, 16, i32::MAX, i32::MIN] {
            assert_eq!(failed(row_of_three().launch(&device, &x, row)).code(), "R001", "{row}");
        }
        assert_eq!(
            refused(row_of_three().launch(&device, &x.clone(), 0).and_then(|o| row_of_three().launch(&device, &o, 0))).code(),
            "L004"
        );
    }
}

/// Parts of any block at any corner, read and written, against plain indices.
#[test]
fn case_46_ndindexer() {
    let mut rng = Rng::new(46);
    for _ in 0..60 {
        let rank = 1 + rng.below(4);
        let shape: Vec<usize> = (0..rank).map(|_| 1 + rng.below(9)).collect();
        let part: Vec<usize> = shape.iter().map(|&n| 1 + rng.below(n)).collect();
        let mut corner = || -> Vec<usize> { shape.iter().zip(&part).map(|(&n, &p)| rng.below(n - p + 1)).collect() };
        let (from, to) = (corner(), corner());
        let mut w = Writer::new("part", "cases.rs");
        let dims: Vec<_> = shape.iter().map(|&n| (SizeExpr::Const(n as i64), BlockDim::Blocked(n))).collect();
        let x = w.input("x", DType::I32, &dims, &vec![None; rank]);
        // Starts of the read are numbers of the launch, of the write constants.
        let starts: Vec<_> = (0..rank).map(|d| w.scalar(&format!("s{d}"), DType::I32)).collect();
        let o = w.output("o", DType::I32, &dims, &vec![None; rank]);
        let zeros = w.filled(0, &shape);
        w.store(o, zeros);
        let tile = w.load_at(x, &part, &starts);
        let to_values: Vec<_> = to.iter().map(|&n| w.constant(n as i32)).collect();
        w.effect(tpu_kernel::ir::OpKind::Store, &[vec![o, tile], to_values].concat());
        let kernel = w.finish();
        let total: usize = shape.iter().product();
        let input = Array::new(DType::I32, &shape, (0..total).map(|at| Literal::from(at as i32 + 1)));
        let place = |mut at: usize| -> Vec<usize> {
            let mut index = vec![0; rank];
            for d in (0..rank).rev() {
                index[d] = at % shape[d];
                at /= shape[d];
            }
            index
        };
        let want = (0..total).map(|at| {
            let index = place(at);
            let inside = (0..rank).all(|d| index[d] >= to[d] && index[d] < to[d] + part[d]);
            let source = (0..rank).fold(0, |sum, d| sum * shape[d] + (index[d] + from[d]).saturating_sub(to[d]));
            Literal::from(if inside { source as i32 + 1 } else { 0 })
        });
        let want = Array::new(DType::I32, &shape, want);
        let binding = Binding {
            cores: 1,
            sizes: vec![],
            grid: vec![],
            arrays: std::iter::once(shape.clone()).chain(from.iter().map(|_| vec![])).chain([shape.clone()]).collect(),
        };
        let scalars: Vec<Literal> = from.iter().map(|&n| Literal::from(n as i32)).collect();
        for executor in EXECUTORS {
            let compiled = (executor.compile)(&kernel).unwrap();
            let got = run(&kernel, &compiled, &binding, std::slice::from_ref(&input), &scalars).unwrap();
            assert_eq!(got[0], want, "{} {shape:?} {part:?} {from:?} {to:?}", executor.name);
        }
    }
}
