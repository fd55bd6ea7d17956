//! Sizes within bounds: one compilation here, one program on a chip, the same numbers as without, and what lies outside is refused.

use tpu_device::{Chip, Device, Tensor};
use tpu_kernel::ahead::Built;
use tpu_kernel::exec::{Args, ArrayMut, ArrayRef};
use tpu_kernel::interpret;
use tpu_kernel::ir::Kernel;
use tpu_kernel::launch::{Launchable, largest, numbers};
use tpu_kernel::legalise::legalise;
use tpu_kernel::prelude::*;
use tpu_kernel::transform::by_scalars;
use tpu_tests::libtpu::{accepted, judge, library};

const LOW: usize = 5;
const HIGH: usize = 300;

/// The sum, the largest and the smallest element of each row, and the rows doubled.
#[tpu_kernel(grid(i: m / 8, j: n / 128), semantics(parallel, arbitrary), bounds(m: 1..=40, n: 5..=300))]
fn rows(
    #[block([m, n] at (i, j))] x: In<f32, (D<8>, D<128>)>,
    #[block([m, n] at (i, j))] o: Out<f32, (D<8>, D<128>)>,
    #[block([m, 128] at (i, 0))] mut sum: Out<f32, (D<8>, D<128>)>,
    #[block([m, 128] at (i, 0))] mut most: Out<f32, (D<8>, D<128>)>,
    #[scratch] mut all: Vmem<f32, (D<8>, One)>,
    #[scratch] mut max: Vmem<f32, (D<8>, One)>,
) {
    if j == 0 {
        all.fill(0.0);
        max.fill(f32::NEG_INFINITY);
    }
    all += x.load_or(0.0).sum(Lanes);
    max.store(max.load().maximum(x.load_or(f32::NEG_INFINITY).max(Lanes)));
    o.store(x.load() * 2.0);
    sum.store(all.load().broadcast::<(D<8>, D<128>)>());
    most.store(max.load().broadcast::<(D<8>, D<128>)>() + n.cast::<f32>());
}

fn values(m: usize, n: usize) -> Vec<f32> {
    (0..m * n).map(|at| ((at * 7919) % 1001) as f32 - 500.0).collect()
}

/// The three outputs, by plain loops.
fn reference(x: &[f32], m: usize, n: usize) -> [Vec<f32>; 3] {
    let row = |r: usize| &x[r * n..(r + 1) * n];
    let wide = |f: &dyn Fn(&[f32]) -> f32| (0..m).flat_map(|r| vec![f(row(r)); 128]).collect::<Vec<_>>();
    [
        x.iter().map(|v| v * 2.0).collect(),
        wide(&|row| row.iter().sum()),
        wide(&|row| row.iter().fold(f32::NEG_INFINITY, |a, &b| a.max(b)) + n as f32),
    ]
}

const SIZES: [(usize, usize); 9] = [(1, LOW), (1, 6), (7, 127), (8, 128), (9, 129), (39, 299), (40, HIGH), (40, LOW), (16, 256)];

#[test]
fn one_compilation_serves_all_sizes_within() {
    let device = Device::new("v5e").unwrap();
    for (m, n) in SIZES {
        let x = values(m, n);
        let tensor = Tensor::from_slice(&device, &x, &[m, n]).unwrap();
        let (o, sum, most) = rows().launch(&device, &tensor).unwrap();
        let got = [o, sum, most].map(|tensor| tensor.to_vec::<f32>().unwrap());
        assert_eq!(got, reference(&x, m, n), "{m} {n}");
    }
    assert_eq!(device.stats().compilations, 1);
    for seed in 0..20 {
        let (m, n) = SIZES[seed as usize % SIZES.len()];
        let tensor = Tensor::from_slice(&device, &values(m, n), &[m, n]).unwrap();
        rows().checked(seed).launch(&device, &tensor).unwrap();
    }
}

#[test]
fn what_is_outside_is_refused_and_named() {
    let device = Device::new("v5e").unwrap();
    for (m, n, words) in [
        (40, HIGH + 1, "size `n` is 301, by operand `x`, outside its bounds: 5 to 300"),
        (40, LOW - 1, "size `n` is 4, by operand `x`, outside its bounds: 5 to 300"),
        (0, LOW, "size `m` is 0, by operand `x`, outside its bounds: 1 to 40"),
        (41, LOW, "size `m` is 41, by operand `x`, outside its bounds: 1 to 40"),
    ] {
        let x = Tensor::zeros(&device, DType::F32, &[m, n]).unwrap();
        let error = rows().launch(&device, &x).unwrap_err();
        assert_eq!((error.code(), error.to_string().as_str()), ("L024", words));
        device.register(rows()).unwrap();
        assert_eq!(device.infer("rows", &[(&x).into()]).unwrap_err().code(), "L024");
    }
    assert_eq!(device.stats().compilations, 0);
}

#[test]
fn one_program_on_a_chip_serves_all_sizes_within() {
    let built = Built::new(&rows(), &[DType::F32]).unwrap();
    for chip in Chip::ALL {
        let texts: Vec<String> =
            SIZES.iter().map(|&(m, n)| built.bind(chip, &[(DType::F32, vec![m, n])]).unwrap().stablehlo().unwrap()).collect();
        assert!(texts.iter().all(|text| *text == texts[0]), "{}", chip.name);
        assert!(texts[0].contains("tensor<40x300xf32>") && texts[0].contains("tensor<i32>"), "{}", texts[0]);
        let Some(library) = library() else { continue };
        for verdict in judge(env!("CARGO_BIN_EXE_worker"), &library, chip, vec![texts[0].clone()]) {
            assert!(accepted(&verdict), "{}: {verdict:?}\n{}", chip.name, texts[0]);
        }
    }
}

/// What a kernel that takes its sizes as scalars leaves in the largest arrays, as far as the sizes go.
fn in_the_largest(kernel: &Kernel, m: usize, n: usize, x: &[f32]) -> [Vec<f32>; 3] {
    let mut large = vec![f32::NAN; 40 * HIGH];
    for row in 0..m {
        large[row * HIGH..row * HIGH + n].copy_from_slice(&x[row * n..(row + 1) * n]);
    }
    let bytes: Vec<u8> = large.iter().flat_map(|v| v.to_ne_bytes()).collect();
    let original = rows().stage(&[DType::F32]).unwrap();
    let own = numbers(&original, &[(DType::F32, vec![m, n])], &Default::default()).unwrap();
    let mut binding = largest(&original, &own).unwrap();
    (binding.sizes, binding.grid) = (own.sizes, own.grid);
    binding.arrays.resize(kernel.params.len(), vec![]);
    let shapes = [[40, HIGH], [40, 128], [40, 128]];
    let mut outputs = shapes.map(|shape| vec![0u8; shape[0] * shape[1] * 4]);
    let mut arrays: Vec<ArrayMut<'_>> =
        outputs.iter_mut().zip(&shapes).map(|(bytes, shape)| ArrayMut { dtype: DType::F32, shape, bytes }).collect();
    let inputs = [ArrayRef { dtype: DType::F32, shape: &[40, HIGH], bytes: &bytes }];
    let scalars = [(m as i32).into(), (n as i32).into()];
    let mut args = Args { inputs: &inputs, outputs: &mut arrays, scalars: &scalars, log: &mut |_| {} };
    interpret::run(kernel, &binding, &mut args).unwrap();
    let widths = [n, 128, 128];
    let mut each = outputs.iter().zip(shapes).zip(widths);
    std::array::from_fn(|_| {
        let ((bytes, shape), width) = each.next().unwrap();
        let all: Vec<f32> = bytes.chunks(4).map(|b| f32::from_ne_bytes(b.try_into().unwrap())).collect();
        (0..m).flat_map(|row| all[row * shape[1]..row * shape[1] + width].to_vec()).collect()
    })
}

#[test]
fn the_program_computes_the_same_whatever_lies_behind_the_size() {
    let kernel = rows().stage(&[DType::F32]).unwrap();
    let bounded = by_scalars(&kernel).unwrap().into_owned();
    for (m, n) in SIZES {
        let x = values(m, n);
        assert_eq!(in_the_largest(&bounded, m, n, &x), reference(&x, m, n), "{m} {n}");
        for chip in [Chip::V4, Chip::V5E, Chip::TPU7X] {
            let legal = legalise(&bounded, &chip).unwrap();
            assert_eq!(in_the_largest(&legal, m, n, &x), reference(&x, m, n), "{m} {n} on {}", chip.name);
        }
    }
}

/// A block as wide as the array, which only one size is.
#[tpu_kernel(grid(i: m / 8), bounds(n: 5..=100))]
fn whole_rows(#[block([m, n] at (i, 0))] x: In<f32, (D<8>, D<100>)>, #[block([m, n] at (i, 0))] o: Out<f32, (D<8>, D<100>)>) {
    o.store(x.load());
}

/// On the chip the array has 100 columns, whatever this launch has: rules hold for all sizes or for none.
#[test]
fn rules_are_those_of_the_largest_array() {
    let device = Device::new("v5e").unwrap();
    for n in [5, 50, 99, 100] {
        let x = Tensor::full(&device, 1.5f32, &[16, n]).unwrap();
        assert_eq!(whole_rows().launch(&device, &x).unwrap().to_vec::<f32>().unwrap(), vec![1.5; 16 * n]);
    }
}
