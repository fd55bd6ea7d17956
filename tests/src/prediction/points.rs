//! The launches by which predictions are calibrated: kernel, tiling, shapes.

use super::kernels;
use tpu_kernel::ahead::Built;
use tpu_kernel::ir::DType;
use tpu_kernel::launch::Launchable;

const BF16: DType = DType::Bf16;
const F32: DType = DType::F32;

/// An element type, the sizes of a problem, and the blocks to try on it.
type Sweep<const S: usize, const B: usize> = (DType, [usize; S], &'static [[usize; B]]);

/// One launch.
pub struct Point {
    /// What kind of kernel: `matmul`, `attention` …
    pub class: &'static str,
    /// Whether no constant of the model was chosen with it in sight.
    pub held_out: bool,
    /// What it computes: launches of one problem differ in tiling alone.
    pub problem: String,
    /// Its block sizes.
    pub tiling: String,
    /// The kernel.
    pub built: Built,
    /// Its input arrays.
    pub inputs: Vec<(DType, Vec<usize>)>,
}

impl Point {
    /// Names the point among all.
    pub fn name(&self) -> String {
        format!("{} {}", self.problem, self.tiling)
    }
}

fn point(class: &'static str, problem: String, launch: &dyn Launchable, inputs: &[(DType, &[usize])]) -> Point {
    let types: Vec<DType> = inputs.iter().map(|(dtype, _)| *dtype).collect();
    let built = Built::new(launch, &types).expect("a kernel that can be built");
    let tiling: Vec<String> = launch.config().blocks.iter().map(|(name, n)| format!("{}={n}", name.to_lowercase())).collect();
    let inputs = inputs.iter().map(|(dtype, shape)| (*dtype, shape.to_vec())).collect();
    Point { class, held_out: false, problem, tiling: tiling.join(" "), built, inputs }
}

/// Every point, in a fixed order.
pub fn points() -> Vec<Point> {
    let mut all = vec![];
    matmuls(&mut all);
    attentions(&mut all);
    rows(&mut all);
    elementwise(&mut all);
    let seen = all.len();
    others(&mut all);
    all[seen..].iter_mut().for_each(|point| point.held_out = true);
    all
}

/// Launches that came after the model: other sizes, other blocks.
fn others(all: &mut Vec<Point>) {
    let products: [Sweep<3, 3>; 6] = [
        (BF16, [768, 768, 768], &[[128, 256, 384], [384, 384, 384], [256, 768, 256], [384, 768, 768]]),
        (BF16, [1536, 1024, 512], &[[256, 256, 512], [512, 512, 256], [768, 512, 512]]),
        (BF16, [3072, 3072, 1024], &[[512, 512, 512], [1024, 768, 512], [768, 1024, 1024]]),
        (BF16, [512, 8192, 512], &[[256, 1024, 512], [512, 512, 512], [128, 2048, 256]]),
        (F32, [768, 1536, 1024], &[[256, 512, 512], [384, 384, 1024], [128, 768, 256]]),
        (BF16, [1024, 1000, 1024], &[[256, 1024, 512], [512, 512, 512]]),
    ];
    for (dtype, [m, n, k], tilings) in products {
        for &[bm, bn, bk] in tilings {
            let launch = kernels::matmul().bm(bm).bn(bn).bk(bk);
            let inputs: [(DType, &[usize]); 2] = [(dtype, &[m, k]), (dtype, &[k, n])];
            all.push(point("matmul", format!("matmul {dtype} {m}x{n}x{k}"), &launch, &inputs));
        }
    }
    let heads: [(DType, [usize; 3], [usize; 2]); 5] = [
        (BF16, [6, 1536, 128], [256, 512]),
        (BF16, [4, 2048, 128], [512, 256]),
        (F32, [2, 2048, 128], [256, 512]),
        (BF16, [8, 1024, 128], [128, 512]),
        (BF16, [4, 512, 256], [128, 128]),
    ];
    for (dtype, [heads, t, d], [bq, bk]) in heads {
        let launch = kernels::attention().bq(bq).bk(bk).hd(d);
        let array: &[usize] = &[heads, t, d];
        all.push(point("attention", format!("attention {dtype} {heads}x{t}x{d}"), &launch, &[(dtype, array); 3]));
    }
    let rows: [(DType, [usize; 2], usize); 5] = [
        (F32, [1024, 768], 128),
        (F32, [8192, 512], 512),
        (BF16, [2048, 2048], 128),
        (F32, [1024, 4096], 64),
        (F32, [640, 1280], 32),
    ];
    for (dtype, [rows, cols], r) in rows {
        let x: (DType, &[usize]) = (dtype, &[rows, cols]);
        let weights: (DType, &[usize]) = (F32, &[1, cols]);
        let name = |kernel: &str| format!("{kernel} {dtype} {rows}x{cols}");
        all.push(point("softmax", name("softmax"), &kernels::softmax().r(r).c(cols), &[x]));
        all.push(point("norm", name("layer_norm"), &kernels::layer_norm().r(r).c(cols), &[x, weights, weights]));
        all.push(point("norm", name("rms_norm"), &kernels::rms_norm().r(r).c(cols), &[x, weights]));
    }
    let planes: [(DType, [usize; 2], [usize; 2]); 5] = [
        (F32, [2048, 1536], [128, 768]),
        (F32, [512, 8192], [64, 1024]),
        (BF16, [2048, 4096], [128, 2048]),
        (F32, [3000, 2000], [256, 512]),
        (BF16, [16384, 256], [1024, 256]),
    ];
    for (dtype, [rows, cols], [r, c]) in planes {
        let x: (DType, &[usize]) = (dtype, &[rows, cols]);
        let name = |kernel: &str| format!("{kernel} {dtype} {rows}x{cols}");
        all.push(point("elementwise", name("add"), &kernels::add().r(r).c(c), &[x, x]));
        all.push(point("elementwise", name("gelu"), &kernels::gelu().r(r).c(c), &[x]));
        all.push(point("elementwise", name("swiglu"), &kernels::swiglu().r(r).c(c), &[x, x]));
    }
}

/// Six tilings of cubes, and products that are no cubes.
fn matmuls(all: &mut Vec<Point>) {
    let cubes: [(usize, [[usize; 3]; 6]); 5] = [
        (256, [[128, 128, 128], [128, 128, 256], [128, 256, 128], [256, 128, 256], [256, 256, 128], [256, 256, 256]]),
        (512, [[128, 128, 128], [128, 256, 256], [256, 256, 256], [256, 512, 256], [512, 256, 512], [512, 512, 512]]),
        (1024, [[128, 128, 256], [256, 256, 256], [256, 256, 1024], [512, 512, 512], [512, 1024, 256], [256, 1024, 1024]]),
        (2048, [[256, 256, 256], [256, 256, 2048], [512, 512, 512], [512, 1024, 512], [1024, 512, 1024], [1024, 1024, 256]]),
        (4096, [[256, 512, 512], [512, 512, 512], [512, 1024, 512], [512, 1024, 1024], [1024, 1024, 512], [256, 1024, 2048]]),
    ];
    let mut product = |dtype: DType, [m, n, k]: [usize; 3], [bm, bn, bk]: [usize; 3]| {
        let launch = kernels::matmul().bm(bm).bn(bn).bk(bk);
        all.push(point("matmul", format!("matmul {dtype} {m}x{n}x{k}"), &launch, &[(dtype, &[m, k]), (dtype, &[k, n])]));
    };
    for (n, tilings) in cubes {
        tilings.iter().for_each(|&tiling| product(BF16, [n; 3], tiling));
    }
    for (n, tilings) in &cubes[1..4] {
        let fits = |[bm, bn, bk]: [usize; 3]| bm * bn * 2 + (bm + bn) * bk * 2 <= 3 << 20;
        tilings.iter().filter(|&&tiling| fits(tiling)).for_each(|&tiling| product(F32, [*n; 3], tiling));
    }
    let others: [([usize; 3], [[usize; 3]; 3]); 4] = [
        ([128, 4096, 4096], [[128, 512, 512], [128, 512, 2048], [128, 1024, 1024]]),
        ([4096, 128, 1024], [[512, 128, 512], [1024, 128, 256], [512, 128, 1024]]),
        ([2048, 2048, 128], [[256, 256, 128], [512, 512, 128], [1024, 512, 128]]),
        ([8192, 1024, 1024], [[256, 512, 512], [1024, 512, 512], [512, 1024, 1024]]),
    ];
    for (shape, tilings) in others {
        tilings.iter().for_each(|&tiling| product(BF16, shape, tiling));
    }
    for ([m, n, k], [bm, bn, bk]) in [([1024, 4096, 1024], [256, 512, 512]), ([2048, 1024, 2048], [512, 512, 1024])] {
        let launch = kernels::dense().bm(bm).bn(bn).bk(bk);
        let inputs: [(DType, &[usize]); 3] = [(BF16, &[m, k]), (BF16, &[k, n]), (F32, &[1, n])];
        all.push(point("matmul", format!("dense bf16 {m}x{n}x{k}"), &launch, &inputs));
    }
}

fn attentions(all: &mut Vec<Point>) {
    let shapes: [Sweep<3, 2>; 6] = [
        (BF16, [8, 1024, 128], &[[128, 128], [256, 256], [512, 512], [256, 1024]]),
        (BF16, [4, 2048, 64], &[[256, 256], [512, 512]]),
        (BF16, [4, 1024, 256], &[[128, 256], [256, 512]]),
        (F32, [8, 512, 128], &[[128, 128], [256, 256]]),
        (F32, [4, 1024, 64], &[[256, 256]]),
        (BF16, [2, 4096, 128], &[[512, 1024]]),
    ];
    for (dtype, [heads, t, d], tilings) in shapes {
        for &[bq, bk] in tilings {
            let launch = kernels::attention().bq(bq).bk(bk).hd(d);
            let array: &[usize] = &[heads, t, d];
            all.push(point("attention", format!("attention {dtype} {heads}x{t}x{d}"), &launch, &[(dtype, array); 3]));
        }
    }
    for (dtype, [heads, t, d], [bq, bk]) in [(BF16, [8, 1024, 128], [256, 256]), (F32, [4, 1024, 128], [128, 256])] {
        let launch = kernels::causal_attention().bq(bq).bk(bk).hd(d);
        let array: &[usize] = &[heads, t, d];
        all.push(point("attention", format!("causal attention {dtype} {heads}x{t}x{d}"), &launch, &[(dtype, array); 3]));
    }
}

/// Kernels over whole rows.
fn rows(all: &mut Vec<Point>) {
    let shapes: [(DType, [usize; 2], &[usize]); 6] = [
        (F32, [512, 512], &[64, 128, 256]),
        (F32, [4096, 1024], &[64, 256, 512]),
        (F32, [2048, 2048], &[32, 128]),
        (F32, [256, 8192], &[16, 64]),
        (BF16, [4096, 1024], &[256]),
        (F32, [4096, 256], &[256, 1024]),
    ];
    for (dtype, [rows, cols], blocks) in shapes {
        for &r in blocks {
            let x: (DType, &[usize]) = (dtype, &[rows, cols]);
            let weights: (DType, &[usize]) = (F32, &[1, cols]);
            let name = |kernel: &str| format!("{kernel} {dtype} {rows}x{cols}");
            all.push(point("softmax", name("softmax"), &kernels::softmax().r(r).c(cols), &[x]));
            all.push(point("norm", name("layer_norm"), &kernels::layer_norm().r(r).c(cols), &[x, weights, weights]));
            all.push(point("norm", name("rms_norm"), &kernels::rms_norm().r(r).c(cols), &[x, weights]));
        }
    }
    for [rows, cols, r, c] in [[1000, 1000, 128, 1024], [4096, 500, 256, 512]] {
        let launch = kernels::masked_softmax().r(r).c(c);
        all.push(point("softmax", format!("masked_softmax f32 {rows}x{cols}"), &launch, &[(F32, &[rows, cols])]));
    }
}

fn elementwise(all: &mut Vec<Point>) {
    let shapes: [Sweep<2, 2>; 6] = [
        (F32, [256, 128], &[[256, 128], [64, 128]]),
        (F32, [1024, 1024], &[[64, 512], [256, 256], [512, 1024]]),
        (F32, [4096, 4096], &[[256, 1024], [512, 2048]]),
        (BF16, [1024, 1024], &[[256, 512], [512, 1024]]),
        (BF16, [4096, 4096], &[[256, 2048], [512, 2048]]),
        (F32, [8192, 128], &[[512, 128], [2048, 128]]),
    ];
    for (dtype, [rows, cols], blocks) in shapes {
        for &[r, c] in blocks {
            let x: (DType, &[usize]) = (dtype, &[rows, cols]);
            let name = |kernel: &str| format!("{kernel} {dtype} {rows}x{cols}");
            all.push(point("elementwise", name("add"), &kernels::add().r(r).c(c), &[x, x]));
            all.push(point("elementwise", name("gelu"), &kernels::gelu().r(r).c(c), &[x]));
            all.push(point("elementwise", name("swiglu"), &kernels::swiglu().r(r).c(c), &[x, x]));
            if dtype == F32 {
                all.push(point("elementwise", name("column_sums"), &kernels::column_sums().r(r).c(c), &[x]));
            }
        }
    }
}
