//! Kernels transformed: batched kernels against a loop over slices, fused functions against functions apart. Bit for
//! bit, since both sides round alike.

use half::bf16;
use tpu_device::{DType, Device, Tensor};
use tpu_kernel::prelude::*;
use tpu_kernel::{F4E2M1, F8E4M3, F8E4M3B11, F8E5M2, I2, I4, U4};
use tpu_tests::devices::{devices, expect, made, tensor};
use tpu_tests::transformed::{same_slices, slice, small, softmax, wild};

/// What the grid looks like from inside: `o[i, :] = 1000 * steps + 100 * i + base`, with running sums in scratch.
#[tpu_kernel(grid(i: n / 8))]
fn running<B: Dim>(
    #[block([n, cols] at (i, 0))] x: In<i32, (D<8>, B)>,
    #[block([n, cols] at (i, 0))] o: Out<i32, (D<8>, B)>,
    #[scratch] mut sum: Vmem<i32, (D<8>, B)>,
    base: Scalar<i32>,
) {
    if i == 0 {
        sum.fill(0);
    }
    sum += x.load_or(0);
    o.store(sum.load() + (num_programs(0) * 1000 + program_id(0) * 100 + base));
}

/// Reverses the blocks: an index map that computes with the grid.
#[tpu_kernel(grid(i: n / B))]
fn reversed<B: Dim>(#[block([n] at (last(i) - i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
    o.store(x.load());
}

fn gelu<R: Dim, C: Dim>(x: Tile<f32, (R, C)>) -> Tile<f32, (R, C)> {
    let inner = (x + x * x * x * 0.044715) * 0.797_884_6;
    x * 0.5 * (inner.tanh() + 1.0)
}

#[tpu_kernel(grid(i: rows / 8), semantics(parallel))]
fn gelu_apart(
    #[block([rows, cols] at (i, 0))] x: In<f32, (D<8>, D<256>)>,
    #[block([rows, cols] at (i, 0))] o: Out<f32, (D<8>, D<256>)>,
) {
    o.store(gelu(x.load()));
}

#[test]
fn a_batched_product_is_a_loop_over_products() {
    for device in devices() {
        for [batch, m, k, n] in [[3, 10, 70, 34], [1, 4, 32, 16], [5, 3, 7, 2]] {
            let x = made(&device, &[batch, m, k], wild);
            let w = made(&device, &[batch, k, n], |at| wild(at + 77));
            let o = small().batched(["x", "w", "o"]).launch(&device, &x, &w).unwrap();
            let each: Vec<Tensor> = (0..batch).map(|b| small().launch(&device, &slice(&x, b), &slice(&w, b)).unwrap()).collect();
            same_slices(&o, &each);

            // One of weights for all slices.
            let shared = slice(&w, 0);
            let o = small().batched(["x", "o"]).launch(&device, &x, &shared).unwrap();
            let each: Vec<Tensor> = (0..batch).map(|b| small().launch(&device, &slice(&x, b), &shared).unwrap()).collect();
            same_slices(&o, &each);

            // And one of x, in bf16.
            let x = made(&device, &[m, k], |at| bf16::from_f32(wild(at)));
            let w = made(&device, &[batch, k, n], |at| bf16::from_f32(wild(at + 5)));
            let o = small().batched(["o", "w"]).launch(&device, &x, &w).unwrap();
            let each: Vec<Tensor> = (0..batch).map(|b| small().launch(&device, &x, &slice(&w, b)).unwrap()).collect();
            same_slices(&o, &each);
        }
    }
}

#[test]
fn a_batched_softmax_is_a_loop_over_softmaxes() {
    for device in devices() {
        let x = made(&device, &[4, 19, 100], wild);
        let kernel = || softmax().r(8).c(128);
        let o = kernel().batched(["x", "o"]).launch(&device, &x).unwrap();
        let each: Vec<Tensor> = (0..4).map(|b| kernel().launch(&device, &slice(&x, b)).unwrap()).collect();
        same_slices(&o, &each);

        // An empty batch is an empty result.
        let none = Tensor::zeros(&device, DType::F32, &[0, 19, 100]).unwrap();
        assert_eq!(kernel().batched(["x", "o"]).launch(&device, &none).unwrap().shape(), [0, 19, 100]);
    }
}

/// A batch of batches: a leading dimension at a time.
#[test]
fn batched_twice() {
    for device in devices() {
        let x = made(&device, &[2, 3, 19, 100], wild);
        let kernel = || softmax().r(8).c(128).batched(["x", "o"]);
        let o = kernel().batched(["x", "o"]).launch(&device, &x).unwrap();
        let each: Vec<Tensor> = (0..2).map(|b| kernel().launch(&device, &slice(&x, b)).unwrap()).collect();
        same_slices(&o, &each);
    }
}

/// Grid indices, their number, scratch and scalars mean in each slice what they mean in a launch.
#[test]
fn the_grid_of_a_slice_is_that_of_a_launch() {
    for device in devices() {
        let x = made(&device, &[3, 21, 128], |at| (at % 11) as i32 - 3);
        let o = running().b(128).batched(["x", "o"]).launch(&device, &x, 7).unwrap();
        let each: Vec<Tensor> = (0..3).map(|b| running().b(128).launch(&device, &slice(&x, b), 7).unwrap()).collect();
        same_slices(&o, &each);

        let kernel = || reversed().b(128).allow(Allow::BlockShape);
        let x = made(&device, &[3, 512], wild);
        let o = kernel().batched(["x", "o"]).launch(&device, &x).unwrap();
        let each: Vec<Tensor> = (0..3).map(|b| kernel().launch(&device, &slice(&x, b)).unwrap()).collect();
        same_slices(&o, &each);
    }
}

#[test]
fn a_fused_epilogue_is_the_function_apart() {
    for device in devices() {
        let x = made(&device, &[20, 200], wild);
        let w = made(&device, &[200, 130], |at| wild(at + 77));
        let plain = small().launch(&device, &x, &w).unwrap();

        let fused = small().map_output("o", gelu::<One, One>).launch(&device, &x, &w).unwrap();
        same_bytes_one(&fused, &gelu_apart().launch(&device, &plain).unwrap());

        let relu = small().map_output("o", |x: Each<f32>| x.maximum(0.0)).launch(&device, &x, &w).unwrap();
        let want: Vec<f32> = plain.to_vec::<f32>().unwrap().iter().map(|&x| if x > 0.0 { x } else { 0.0 }).collect();
        expect(&relu, &[20, 130], &want);

        // Another element type, and two functions: the first is nearer to the kernel.
        let narrow = small().map_output("o", |x: Each<f32>| x.cast::<bf16>()).launch(&device, &x, &w).unwrap();
        let want: Vec<bf16> = plain.to_vec::<f32>().unwrap().into_iter().map(bf16::from_f32).collect();
        expect(&narrow, &[20, 130], &want);
        let positive = small()
            .map_output("o", |x: Each<f32>| x - 1.0)
            .map_output("o", |x: Each<f32>| x.gt(0.0))
            .launch(&device, &x, &w)
            .unwrap();
        let want: Vec<bool> = plain.to_vec::<f32>().unwrap().into_iter().map(|x| x - 1.0 > 0.0).collect();
        expect(&positive, &[20, 130], &want);
    }
}

fn same_bytes_one(got: &Tensor, want: &Tensor) {
    assert_eq!(got.shape(), want.shape());
    assert!(got.bytes() == want.bytes(), "by {:?}: {got:?} against {want:?}", got.device().executor());
}

#[test]
fn a_dequantising_prologue_is_the_array_dequantised() {
    for device in devices() {
        let x = made(&device, &[20, 200], wild);
        let q = made(&device, &[200, 130], |at| (at * 7 % 255) as i32 - 127);
        let scale = 0.03125;
        let wide: Vec<f32> = q.to_vec::<i32>().unwrap().into_iter().map(|q| q as f32 * scale).collect();
        let want = small().launch(&device, &x, &tensor(&device, &wide, &[200, 130])).unwrap();
        let kernel = small().map_input("w", |q: Each<i32>| q.cast::<f32>() * scale);
        same_bytes_one(&kernel.launch(&device, &x, &q).unwrap(), &want);

        // The kernel is generic: its element type is what the function gives.
        let x16 = made(&device, &[20, 200], |at| bf16::from_f32(wild(at)));
        let wide: Vec<f32> = x16.to_vec::<bf16>().unwrap().into_iter().map(f32::from).collect();
        let want = kernel.launch(&device, &tensor(&device, &wide, &[20, 200]), &q).unwrap();
        let kernel = kernel.map_input("x", |x: Each<bf16>| x.cast::<f32>());
        same_bytes_one(&kernel.launch(&device, &x16, &q).unwrap(), &want);

        // The last function is the one that sees the array: first doubled, then reduced by 1.
        let both = softmax().r(8).c(256).map_input("x", |x: Each<f32>| x - 1.0).map_input("x", |x: Each<f32>| x * 2.0);
        let apart: Vec<f32> = x.to_vec::<f32>().unwrap().into_iter().map(|x| x * 2.0 - 1.0).collect();
        let want = softmax().r(8).c(256).launch(&device, &tensor(&device, &apart, &[20, 200])).unwrap();
        same_bytes_one(&both.launch(&device, &x).unwrap(), &want);
    }
}

/// Shows a window as it is and filled, where it sticks out of its array, and its parts.
#[tpu_kernel]
fn shown(
    #[block([n] at (0))] x: In<f32, (D<128>,)>,
    #[block([128] at (0))] plain: Out<f32, (D<128>,)>,
    #[block([128] at (0))] filled: Out<f32, (D<128>,)>,
    #[block([128] at (0))] inside: Out<bool, (D<128>,)>,
    #[block([64] at (0))] part: Out<f32, (D<64>,)>,
) {
    plain.store(x.load());
    filled.store(x.load_or(-1.0));
    inside.store(x.in_bounds());
    let mut at = Scalar::from(0);
    for j in 0..2 {
        at = j * 32;
        part.store_at((at,), x.load_at::<(D<32>,)>((at + 64,)));
    }
}

/// Outside the array: `load` reads the function of the array's poison, `load_or` the fill as it is.
#[test]
fn a_fused_input_and_its_padding() {
    for device in devices() {
        let kernel = shown().allow(Allow::BlockShape);
        let outside = |n: usize, inside: &dyn Fn(usize) -> f32, other: f32| -> Vec<f32> {
            (0..128).map(|at| if at < n { inside(at) } else { other }).collect()
        };
        let check = |got: (Tensor, Tensor, Tensor, Tensor), n: usize, inside: &dyn Fn(usize) -> f32, poison: f32| {
            expect(&got.0, &[128], &outside(n, inside, poison));
            expect(&got.1, &[128], &outside(n, inside, -1.0));
            expect(&got.2, &[128], &(0..128).map(|at| at < n).collect::<Vec<bool>>());
            expect(&got.3, &[64], &outside(n, inside, poison)[64..]);
        };
        let x = made(&device, &[100], |at| at as f32);
        let scaled = kernel.clone().map_input("x", |x: Each<f32>| x * 2.0 + 1.0);
        check(scaled.launch(&device, &x).unwrap(), 100, &|at| at as f32 * 2.0 + 1.0, f32::NAN);

        // The poison of an integer is a number: where it would do harm, mask.
        let q = made(&device, &[100], |at| at as i32);
        let wide = kernel.map_input("x", |q: Each<i32>| q.cast::<f32>());
        check(wide.launch(&device, &q).unwrap(), 100, &|at| at as f32, i32::MIN as f32);
    }
}

/// Elements that nothing stores stay poison, whatever the function; what sticks out is dropped.
#[tpu_kernel(grid(i: n / 128))]
fn half_stored(#[block([n] at (i))] x: In<f32, (D<128>,)>, #[block([n] at (i))] o: Out<f32, (D<128>,)>) {
    o.store_at((0,), x.load_at::<(D<64>,)>((0,)));
}

#[test]
fn a_fused_output_and_what_nothing_stores() {
    for device in devices() {
        let x = made(&device, &[200], |at| at as f32);
        let o = half_stored().map_output("o", |x: Each<f32>| x.cast::<i32>() + 1).launch(&device, &x).unwrap();
        let want: Vec<i32> = (0..200).map(|at| if at % 128 < 64 { at + 1 } else { i32::MIN }).collect();
        expect(&o, &[200], &want);
    }
}

/// Batching and fusion in one launch, called as an operation.
#[test]
fn transformed_kernels_are_operations() {
    for device in devices() {
        let kernel = small().batched(["x", "o"]).map_input("w", |q: Each<i32>| q.cast::<f32>()).map_output("o", gelu::<One, One>);
        device.register(kernel.clone()).unwrap();
        device.register(kernel).unwrap();
        let x = made(&device, &[3, 20, 200], wild);
        let q = made(&device, &[200, 130], |at| (at % 5) as i32 - 2);
        let o = device.call_one("matmul", (&x, &q)).unwrap();
        let wide: Vec<f32> = q.to_vec::<i32>().unwrap().into_iter().map(|q| q as f32).collect();
        let w = tensor(&device, &wide, &[200, 130]);
        let each = |b| gelu_apart().launch(&device, &small().launch(&device, &slice(&x, b), &w).unwrap()).unwrap();
        same_slices(&o, &(0..3).map(each).collect::<Vec<_>>());
        let specs = [(&x).into(), (&q).into()];
        assert_eq!(device.infer("matmul", &specs).unwrap(), [(DType::F32, vec![3, 20, 130])]);
        // The cost comes with the name; a kernel's own says the same.
        let cost = device.cost("matmul", &specs).unwrap().unwrap();
        assert!(cost.flops > 2 * 3 * 20 * 200 * 130 && cost.exact, "{cost:?}");
        assert_eq!(device.cost("matmul", &specs[..1]).unwrap_err().code(), "L001");
        // The kernel itself, and another function, are other operations.
        assert_eq!(device.register(small()).unwrap_err().code(), "D009");
        let other = small().batched(["x", "o"]).map_input("w", |q: Each<i32>| q.cast::<f32>()).map_output("o", |x: Each<f32>| x);
        assert_eq!(device.register(other).unwrap_err().code(), "D009");
    }
}

/// What is compiled once, and what apart.
#[test]
fn the_cache_tells_transformations_apart() {
    let device = Device::new("v5e").unwrap();
    let x = made(&device, &[16, 100], wild);
    let kernel = || softmax().r(8).c(128);
    let compiled = |kernel: softmax| {
        let before = device.stats().compilations;
        let o = kernel.launch(&device, &x).unwrap();
        (o, device.stats().compilations - before)
    };
    let times = |by: f32| kernel().map_input("x", move |x: Each<f32>| x * by);
    assert_eq!(compiled(kernel()).1, 1);
    let (two, n) = compiled(times(2.0));
    assert_eq!(n, 1);
    let (three, n) = compiled(times(3.0));
    assert_eq!(n, 1, "another constant");
    assert_ne!(two.bytes(), three.bytes());
    assert_eq!(compiled(times(2.0)).1, 0, "the same function again");
    assert_eq!(compiled(kernel().map_output("o", gelu::<One, One>)).1, 1);
    assert_eq!(compiled(kernel().map_output("o", gelu::<One, One>)).1, 0, "asked for elsewhere");
    assert_eq!(compiled(kernel().map_input("x", gelu::<One, One>)).1, 1, "of another operand");

    let x = made(&device, &[2, 16, 100], wild);
    let before = device.stats().compilations;
    kernel().batched(["x", "o"]).launch(&device, &x).unwrap();
    kernel().batched(["x", "o"]).launch(&device, &slice_of_three(&x)).unwrap();
    assert_eq!(device.stats().compilations - before, 1, "a batch of any size");
}

fn slice_of_three(x: &Tensor) -> Tensor {
    made(x.device(), &[3, 16, 100], wild)
}

/// Adds up what it sees, and never sets its scratch: the first slice starts with poison, the next with the first's sum.
#[tpu_kernel]
fn never_reset(
    #[block([8, 128] at (0, 0))] x: In<i32, (D<8>, D<128>)>,
    #[block([8, 128] at (0, 0))] o: Out<i32, (D<8>, D<128>)>,
    #[scratch] mut sum: Vmem<i32, (D<8>, D<128>)>,
) {
    sum += x.load();
    o.store(sum.load());
}

#[test]
fn scratch_lasts_from_slice_to_slice() {
    for device in devices() {
        let x = Tensor::full(&device, 1, &[3, 8, 128]).unwrap();
        let o = never_reset().batched(["x", "o"]).launch(&device, &x).unwrap();
        let want: Vec<i32> = (1..4).flat_map(|slices| [i32::MIN + slices; 8 * 128]).collect();
        expect(&o, &[3, 8, 128], &want);
    }
}

#[tpu_kernel(grid(i: n / 8))]
fn copy<T: Element>(#[block([n, 128] at (i, 0))] x: In<T, (D<8>, D<128>)>, #[block([n, 128] at (i, 0))] o: Out<T, (D<8>, D<128>)>) {
    o.store(x.load());
}

/// What the language computes on each element may be fused: on the input as on the output.
#[test]
fn functions_of_the_language_may_be_fused() {
    macro_rules! check {
        ($device:ident, $x:ident: $($f:expr),+ $(,)?) => { $(
            let before = copy().map_input("x", $f).launch(&$device, &$x).unwrap();
            let after = copy().map_output("o", $f).launch(&$device, &$x).unwrap();
            assert!(before.bytes() == after.bytes(), stringify!($f));
            assert!(before.bytes() != $x.bytes(), stringify!($f));
        )+ };
    }
    let device = Device::new("v5e").unwrap();
    let x = made(&device, &[8, 128], |at| wild(at) * 3.0);
    type X = Each<f32>;
    check!(device, x:
        |x: X| x.relu(), |x: X| x.relu6(), |x: X| x.leaky_relu(0.1), |x: X| x.elu(1.0), |x: X| x.selu(), |x: X| x.sigmoid(),
        |x: X| x.log_sigmoid(), |x: X| x.silu(), |x: X| x.gelu(), |x: X| x.gelu_tanh(), |x: X| x.hard_sigmoid(),
        |x: X| x.hard_swish(), |x: X| x.softplus(), |x: X| x.mish(), |x: X| x.exp(), |x: X| x.log1p(), |x: X| x.sin(),
        |x: X| x.erf(), |x: X| x.recip(), |x: X| x.round(), |x: X| x.square(), |x: X| x.powi(3), |x: X| x.clamp(-1.0, 1.0),
        |x: X| x.bitcast::<u32>().bitcast::<i32>().abs().bitcast::<f32>() * 0.5,
        |x: X| select(x.is_finite() & x.gt(0.0), x, x.exp2()),
    );
}

/// Arrays of every element type, converted as they are stored and as they are loaded.
#[test]
fn every_element_type_may_be_converted() {
    macro_rules! check {
        ($($ty:ty),+) => { $(
            for device in devices() {
                let x = made(&device, &[16, 128], |at| (at % 3 % 2) as f32);
                let narrow = copy().map_output("o", |x: Each<f32>| x.cast::<$ty>()).launch(&device, &x).unwrap();
                assert_eq!(narrow.dtype(), <$ty as Element>::DTYPE);
                let wide = copy().map_input("x", |x: Each<$ty>| x.cast::<f32>()).launch(&device, &narrow).unwrap();
                assert!(wide.bytes() == x.bytes(), stringify!($ty));
            }
        )+ };
    }
    check!(f32, bf16, half::f16, F8E4M3, F8E5M2, F8E4M3B11, F4E2M1, i32, i16, i8, I4, I2, u32, u16, u8, U4, bool);
}

/// Random numbers of a generator that is seeded in the first step.
#[tpu_kernel(grid(i: n / 8))]
fn noise(#[block([n, 128] at (i, 0))] x: In<f32, (D<8>, D<128>)>, #[block([n, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>) {
    if i == 0 {
        prng_seed(7);
    }
    o.store(x.load() + stateful_uniform::<(D<8>, D<128>)>());
}

#[test]
fn each_slice_draws_the_same_random_numbers() {
    for device in devices() {
        let x = made(&device, &[3, 24, 128], wild);
        let o = noise().batched(["x", "o"]).launch(&device, &x).unwrap();
        let each: Vec<Tensor> = (0..3).map(|b| noise().launch(&device, &slice(&x, b)).unwrap()).collect();
        same_slices(&o, &each);
    }
}
