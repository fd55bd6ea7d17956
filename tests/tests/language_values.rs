//! What the language composes from several operations, against NumPy, SciPy and JAX.
//!
//! `goldens/language.py` wrote the inputs and the values.

use safetensors::SafeTensors;
use std::path::Path;
use tpu_device::{Device, Tensor};
use tpu_kernel::prelude::*;
use tpu_tests::devices::{devices, expect};

struct Goldens(Vec<u8>);

impl Goldens {
    fn read() -> Goldens {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("goldens/language.safetensors");
        Goldens(std::fs::read(path).expect("the goldens"))
    }

    fn bytes(&self, name: &str) -> (Vec<usize>, Vec<u8>) {
        let tensors = SafeTensors::deserialize(&self.0).expect("a file of tensors");
        let view = tensors.tensor(name).unwrap_or_else(|_| panic!("no tensor `{name}`"));
        (view.shape().to_vec(), view.data().to_vec())
    }

    fn floats(&self, name: &str) -> Vec<f32> {
        self.bytes(name).1.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect()
    }

    fn integers(&self, name: &str) -> Vec<i32> {
        self.bytes(name).1.as_chunks().0.iter().map(|&b| i32::from_le_bytes(b)).collect()
    }

    fn doubles(&self, name: &str) -> Vec<f64> {
        self.bytes(name).1.as_chunks().0.iter().map(|&b| f64::from_le_bytes(b)).collect()
    }

    fn tensor_f32(&self, device: &Device, name: &str) -> Tensor {
        Tensor::from_slice(device, &self.floats(name), &self.bytes(name).0).unwrap()
    }

    fn tensor_i32(&self, device: &Device, name: &str) -> Tensor {
        Tensor::from_slice(device, &self.integers(name), &self.bytes(name).0).unwrap()
    }

    #[track_caller]
    fn expect_f32(&self, got: &Tensor, name: &str) {
        expect(got, &self.bytes(name).0, &self.floats(name));
    }

    #[track_caller]
    fn expect_i32(&self, got: &Tensor, name: &str) {
        expect(got, &self.bytes(name).0, &self.integers(name));
    }
}

/// Asserts that values are within `ulp` units in the last place of f32, or `tiny`, of these.
#[track_caller]
fn near(got: &Tensor, want: &[f64], ulp: f64, tiny: f64, what: &str) {
    let got = got.to_vec::<f32>().unwrap();
    assert_eq!(got.len(), want.len(), "{what}");
    for (at, (&got, &want)) in got.iter().zip(want).enumerate() {
        let rounded = want as f32;
        let fine = match rounded {
            _ if rounded.is_nan() => got.is_nan(),
            _ if rounded.is_infinite() => got == rounded,
            _ => {
                let unit = f64::from(rounded.abs().next_up() - rounded.abs()).min(f64::from(f32::MAX));
                (f64::from(got) - want).abs() <= (unit * ulp).max(tiny)
            }
        };
        assert!(fine, "{what}, element {at}: got {got:e}, want {want:e}");
    }
}

type Block = (D<3>, D<4>, D<50>);

#[tpu_kernel]
fn random(
    #[block([3, 4, 50] at (0, 0, 0))] bits: Out<i32, Block>,
    #[block([3, 4, 50] at (0, 0, 0))] uniform: Out<f32, Block>,
    #[block([3, 4, 50] at (0, 0, 0))] normal: Out<f32, Block>,
    #[block([3, 4, 50] at (0, 0, 0))] bernoulli: Out<bool, Block>,
    seed: Scalar<i32>,
    which: Scalar<i32>,
) {
    let mut key = Key::new(seed);
    if which == 1 {
        key = key.fold_in(5);
    } else if which == 2 {
        let [_, second, _] = key.split();
        key = second;
    }
    bits.store(key.random_bits::<Block>().bitcast::<i32>());
    uniform.store(key.uniform::<Block>());
    normal.store(key.normal::<Block>());
    bernoulli.store(key.bernoulli::<Block>(0.3));
}

#[test]
fn random_numbers_are_those_of_jax() {
    let goldens = Goldens::read();
    for device in devices() {
        for seed in [0, 42, -7] {
            for (which, name) in [(0, "plain"), (1, "folded"), (2, "split")] {
                let name = |of: &str| format!("random.{seed}.{name}.{of}");
                let (bits, uniform, normal, bernoulli) = random().launch(&device, seed, which).unwrap();
                goldens.expect_i32(&bits, &name("bits"));
                goldens.expect_f32(&uniform, &name("uniform"));
                let want: Vec<bool> = goldens.bytes(&name("bernoulli")).1.iter().map(|&b| b != 0).collect();
                expect(&bernoulli, &[3, 4, 50], &want);
                near(&normal, &goldens.doubles(&name("normal")), 3.0, 0.0, &name("normal"));
            }
        }
    }
}

/// The stateful generator: another draw is another number, a seed starts over, a pair is not one seed.
#[tpu_kernel(grid(i: 2))]
fn stateful(#[block([2, 4, 128] at (squeeze i, 0, 0))] o: Out<f32, (D<4>, D<128>)>, seed: Scalar<i32>) {
    if i == 0 {
        prng_seed(seed);
    } else {
        prng_seed((seed, 1));
    }
    let first = stateful_uniform::<(One, D<128>)>();
    let second = stateful_uniform::<(One, D<128>)>();
    prng_seed(seed);
    let again = stateful_uniform::<(One, D<128>)>();
    let chances = stateful_bernoulli::<(One, D<128>)>(0.5).cast::<f32>();
    o.store(concat([first, second, again, chances], Sublanes).same_as::<(D<4>, D<128>)>());
}

#[test]
fn the_generator_goes_on_and_starts_over() {
    for device in devices() {
        let o = stateful().launch(&device, 9).unwrap().to_vec::<f32>().unwrap();
        let rows: Vec<&[f32]> = o.chunks(128).collect();
        assert!(o.iter().all(|x| (0.0..=1.0).contains(x)));
        assert!(rows[0] != rows[1] && rows[4] != rows[0]);
        assert_eq!((rows[0], rows[2]), (rows[2], rows[6]));
        let chances = rows[3].iter().sum::<f32>();
        assert!((40.0..88.0).contains(&chances), "{chances}");
    }
}

macro_rules! activations {
    ($($name:ident($($parameter:literal)?) $ulp:literal $tiny:literal;)+) => {
        $(
            #[tpu_kernel(grid(i: n / 1))]
            fn $name(#[block([n, 128] at (i, 0))] x: In<f32, (One, D<128>)>, #[block([n, 128] at (i, 0))] o: Out<f32, (One, D<128>)>) {
                o.store(x.load().$name($($parameter)?));
            }
        )+

        fn check_activations(goldens: &Goldens, device: &Device) {
                let x = goldens.tensor_f32(device, "activation.x");
                $(
                    let o = $name().allow(Allow::BlockShape).launch(device, &x).unwrap();
                    near(&o, &goldens.doubles(concat!("activation.", stringify!($name))), $ulp, $tiny, stringify!($name));
                )+
        }
    };
}

// Ulp of the value, and what is close enough near zero: the functions' own errors, and those of the steps between. Far
// below zero half an ulp of the argument of gelu's error function, or of gelu_tanh's exponent, is that many of the value.
activations! {
    relu() 0.5 0.0;
    relu6() 0.5 0.0;
    leaky_relu(0.1) 0.6 0.0;
    elu(0.5) 2.0 0.0;
    selu() 3.0 0.0;
    sigmoid() 2.0 2e-45;
    log_sigmoid() 3.0 2e-45;
    silu() 3.0 1e-43;
    gelu() 200.0 1e-43;
    gelu_tanh() 400.0 1e-43;
    hard_sigmoid() 2.0 1e-7;
    hard_swish() 3.0 1e-6;
    softplus() 3.0 2e-45;
    mish() 4.0 1e-43;
}

#[test]
fn activations_are_right_everywhere() {
    let goldens = Goldens::read();
    for device in devices() {
        check_activations(&goldens, &device);
    }
}

#[tpu_kernel]
fn flat(#[block([4] at (0))] x: In<f32, (D<4>,)>, #[block([4] at (0))] o: Out<f32, (D<4>,)>) {
    o.store(x.load().leaky_relu(0.0));
}

#[tpu_kernel]
fn labelled(
    #[block([6, 1] at (0, 0))] x: In<f32, (D<6>, One)>,
    #[block([6, 1] at (0, 0))] n: In<u32, (D<6>, One)>,
    #[block([6, 3] at (0, 0))] of_floats: Out<i32, (D<6>, D<3>)>,
    #[block([6, 3] at (0, 0))] of_integers: Out<bf16, (D<6>, D<3>)>,
) {
    of_floats.store(x.load().one_hot::<i32, D<3>, _>(Lanes));
    of_integers.store(n.load().one_hot::<bf16, D<3>, _>(Lanes));
}

/// Only what names a place has a one.
#[test]
fn labels_that_name_no_place() {
    for device in devices() {
        let x = Tensor::from_slice(&device, &[1.0f32, 1.5, f32::NAN, -0.5, -0.0, 3.0], &[6, 1]).unwrap();
        let n = Tensor::from_slice(&device, &[2u32, 3, u32::MAX, 0, 1 << 31, 1], &[6, 1]).unwrap();
        let (of_floats, of_integers) = labelled().launch(&device, &x, &n).unwrap();
        expect(&of_floats, &[6, 3], &[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]);
        let want = [0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0].map(|v: i32| bf16::from_f32(v as f32));
        expect(&of_integers, &[6, 3], &want);
    }
}

/// The limit of 0 · x below zero is 0.
#[test]
fn a_leak_of_nothing() {
    for device in devices() {
        let x = Tensor::from_slice(&device, &[f32::NEG_INFINITY, -2.0, f32::INFINITY, f32::NAN], &[4]).unwrap();
        let o = flat().launch(&device, &x).unwrap().to_vec::<f32>().unwrap();
        assert_eq!(o[..3], [0.0, 0.0, f32::INFINITY]);
        assert!(o[3].is_nan());
    }
}

type Cube = (D<3>, D<4>, D<5>);

macro_rules! reductions {
    ($($test:ident $kernel:ident $axes:expr, $name:literal, [$a:literal, $b:literal, $c:literal], $reduced:ty;)+) => { $(
        #[tpu_kernel]
        fn $kernel(
            #[block([3, 4, 5] at (0, 0, 0))] x: In<f32, Cube>,
            #[block([$a, $b, $c] at (0, 0, 0))] sum: Out<f32, $reduced>,
            #[block([$a, $b, $c] at (0, 0, 0))] max: Out<f32, $reduced>,
            #[block([$a, $b, $c] at (0, 0, 0))] argmax: Out<i32, $reduced>,
            #[block([$a, $b, $c] at (0, 0, 0))] argmin: Out<i32, $reduced>,
            #[block([$a, $b, $c] at (0, 0, 0))] mean: Out<f32, $reduced>,
            #[block([$a, $b, $c] at (0, 0, 0))] variance: Out<f32, $reduced>,
            #[block([$a, $b, $c] at (0, 0, 0))] logsumexp: Out<f32, $reduced>,
            #[block([3, 4, 5] at (0, 0, 0))] softmax: Out<f32, Cube>,
            #[block([3, 4, 5] at (0, 0, 0))] log_softmax: Out<f32, Cube>,
        ) {
            let x = x.load();
            sum.store(x.sum($axes));
            max.store(x.max($axes));
            argmax.store(x.argmax($axes));
            argmin.store(x.argmin($axes));
            mean.store(x.mean($axes));
            variance.store(x.variance($axes));
            logsumexp.store(x.logsumexp($axes));
            softmax.store(x.softmax($axes));
            log_softmax.store(x.log_softmax($axes));
        }

        fn $test(goldens: &Goldens, device: &Device) {
                let x = goldens.tensor_f32(device, "reduce.x");
                let (sum, max, argmax, argmin, mean, variance, logsumexp, softmax, log_softmax) = $kernel().launch(device, &x).unwrap();
                let name = |of: &str| format!("reduce.{}.{of}", $name);
                goldens.expect_f32(&sum, &name("sum"));
                goldens.expect_f32(&max, &name("max"));
                goldens.expect_i32(&argmax, &name("argmax"));
                goldens.expect_i32(&argmin, &name("argmin"));
                let results = [("mean", mean), ("variance", variance), ("logsumexp", logsumexp), ("softmax", softmax), ("log_softmax", log_softmax)];
                for (of, got) in results {
                    near(&got, &goldens.doubles(&name(of)), 8.0, 2.5e-7, &name(of));
                }
        }
    )+ };
}

reductions! {
    over_one_axis over_1 Sublanes, "1", [3, 1, 5], (D<3>, One, D<5>);
    over_the_outer_axes over_02 (Lanes, Axis::<0>), "02", [1, 4, 1], (One, D<4>, One);
    over_the_last_axes over_12 (Sublanes, Lanes), "12", [3, 1, 1], (D<3>, One, One);
    over_all_axes over_all AllAxes, "all", [1, 1, 1], (One, One, One);
}

#[test]
fn reductions_over_any_axes() {
    let goldens = Goldens::read();
    for device in devices() {
        over_one_axis(&goldens, &device);
        over_the_outer_axes(&goldens, &device);
        over_the_last_axes(&goldens, &device);
        over_all_axes(&goldens, &device);
    }
}

/// Bf16 over two axes is rounded once: 256 and 1 a hundred times are 356 rounded, not 256.
#[tpu_kernel]
fn narrow(#[block([1, 1] at (0, 0))] o: Out<f32, (One, One)>) {
    let ones = Tile::<bf16, (D<10>, D<10>)>::full(1.0);
    let padded = ones.pad::<(D<11>, D<10>)>([0, 0], 25.5);
    o.store(padded.sum((Sublanes, Lanes)).cast::<f32>());
}

#[test]
fn narrow_sums_over_axes_round_once() {
    for device in devices() {
        // 100 + 255 = 355, between the neighbours 354 and 356 of even mantissa.
        expect(&narrow().launch(&device).unwrap(), &[1, 1], &[356.0f32]);
    }
}

#[tpu_kernel]
fn shapes(
    #[block([4, 6] at (0, 0))] x: In<i32, (D<4>, D<6>)>,
    #[block([7, 9] at (0, 0))] pad: Out<i32, (D<7>, D<9>)>,
    #[block([2, 3] at (0, 0))] slice: Out<i32, (D<2>, D<3>)>,
    #[block([12, 6] at (0, 0))] tile_rows: Out<i32, (D<12>, D<6>)>,
    #[block([4, 12] at (0, 0))] tile_lanes: Out<i32, (D<4>, D<12>)>,
    #[block([12, 6] at (0, 0))] repeat_rows: Out<i32, (D<12>, D<6>)>,
    #[block([4, 12] at (0, 0))] repeat_lanes: Out<i32, (D<4>, D<12>)>,
    #[block([4, 6] at (0, 0))] joined: Out<i32, (D<4>, D<6>)>,
    #[block([4, 6] at (0, 0))] roll: Out<i32, (D<4>, D<6>)>,
    #[block([4, 6] at (0, 0))] roll_strided: Out<i32, (D<4>, D<6>)>,
    #[block([4, 6] at (0, 0))] fold: Out<i32, (D<4>, D<6>)>,
    minus_nine: Scalar<i32>,
) {
    let x = x.load();
    pad.store(x.pad::<(D<7>, D<9>)>([1, 0], -5));
    slice.store(x.slice_strided::<(D<2>, D<3>)>([1, 0], [2, 2]));
    tile_rows.store(x.tile::<D<3>, _>(Sublanes).same_as::<(D<12>, D<6>)>());
    tile_lanes.store(x.tile::<D<2>, _>(Lanes).same_as::<(D<4>, D<12>)>());
    repeat_rows.store(x.repeat::<D<3>, _>(Sublanes).same_as::<(D<12>, D<6>)>());
    repeat_lanes.store(x.repeat::<D<2>, _>(Lanes).same_as::<(D<4>, D<12>)>());
    let [a, b, c] = x.split(Lanes);
    joined.store(a.concat(c, Lanes).concat(b, Lanes).same_as::<(D<4>, D<6>)>());
    roll.store(x.roll(minus_nine, Lanes));
    roll_strided.store(x.roll_strided(2, Lanes, -1, Sublanes));
    let halves = x.unfold_axis::<D<2>, D<2>, _>(Sublanes).transpose::<(D<2>, D<2>, D<6>)>([1, 0, 2]);
    fold.store(halves.fold_axes(Axis::<0>).same_as::<(D<4>, D<6>)>());
}

#[test]
fn shapes_are_those_of_numpy() {
    let goldens = Goldens::read();
    for device in devices() {
        let x = goldens.tensor_i32(&device, "shape.x");
        let outputs = shapes().launch(&device, &x, -9).unwrap();
        let (pad, slice, tile_rows, tile_lanes, repeat_rows, repeat_lanes, joined, roll, roll_strided, fold) = outputs;
        let names = [
            ("pad", pad),
            ("slice", slice),
            ("tile_rows", tile_rows),
            ("tile_lanes", tile_lanes),
            ("repeat_rows", repeat_rows),
            ("repeat_lanes", repeat_lanes),
            ("concat", joined),
            ("roll", roll),
            ("roll_strided", roll_strided),
            ("fold", fold),
        ];
        for (name, got) in names {
            goldens.expect_i32(&got, &format!("shape.{name}"));
        }
    }
}

type Rows = (D<4>, D<16>);

#[tpu_kernel]
fn order(
    #[block([4, 16] at (0, 0))] x: In<f32, Rows>,
    #[block([4, 8] at (0, 0))] indices: In<i32, (D<4>, D<8>)>,
    #[block([4, 16] at (0, 0))] sorted: Out<f32, Rows>,
    #[block([4, 16] at (0, 0))] argsort: Out<i32, Rows>,
    #[block([4, 16] at (0, 0))] descending: Out<i32, Rows>,
    #[block([4, 5] at (0, 0))] top: Out<i32, (D<4>, D<5>)>,
    #[block([4, 16] at (0, 0))] cumsum: Out<f32, Rows>,
    #[block([4, 16] at (0, 0))] cummax: Out<f32, Rows>,
    #[block([4, 8] at (0, 0))] taken: Out<f32, (D<4>, D<8>)>,
    #[block([4, 16] at (0, 0))] along: Out<f32, Rows>,
) {
    let x = x.load();
    sorted.store(x.sorted(Lanes));
    argsort.store(x.argsort(Lanes));
    descending.store(x.argsort_descending(Lanes));
    top.store(x.top_k::<D<5>, _>(Lanes).1);
    cumsum.store(x.cumsum(Lanes));
    cummax.store(x.cummax_reverse(Lanes));
    taken.store(x.take_along_axis(indices.load(), Lanes));
    let (keys, (twice, _)) = x.sorted_with((x + x, iota::<Rows>(Lanes)), Lanes);
    along.store(select(keys.is_nan(), keys, twice - keys));
}

#[test]
fn order_is_that_of_numpy() {
    let goldens = Goldens::read();
    for device in devices() {
        let (x, indices) = (goldens.tensor_f32(&device, "order.x"), goldens.tensor_i32(&device, "order.indices"));
        let (sorted, argsort, descending, top, cumsum, cummax, taken, along) = order().launch(&device, &x, &indices).unwrap();
        goldens.expect_f32(&sorted, "order.sorted");
        goldens.expect_f32(&along, "order.sorted");
        goldens.expect_i32(&argsort, "order.argsort");
        goldens.expect_i32(&descending, "order.argsort_descending");
        let first: Vec<i32> = goldens.integers("order.argsort_descending").chunks(16).flat_map(|row| row[..5].to_vec()).collect();
        expect(&top, &[4, 5], &first);
        goldens.expect_f32(&cumsum, "order.cumsum");
        goldens.expect_f32(&cummax, "order.cummax_reverse");
        goldens.expect_f32(&taken, "order.taken");
    }
}

#[tpu_kernel]
fn products(
    #[block([2, 3, 4] at (0, 0, 0))] a: In<i32, (D<2>, D<3>, D<4>)>,
    #[block([2, 4, 5] at (0, 0, 0))] b: In<i32, (D<2>, D<4>, D<5>)>,
    #[block([2, 3, 5] at (0, 0, 0))] batch: Out<i32, (D<2>, D<3>, D<5>)>,
    #[block([4, 5] at (0, 0))] over_m: Out<i32, (D<4>, D<5>)>,
    #[block([3] at (0))] vector: Out<i32, (D<3>,)>,
    #[block([2, 5] at (0, 0))] batch_rows: Out<i32, (D<2>, D<5>)>,
    #[block([2, 5, 5] at (0, 0, 0))] batch_turned: Out<f32, (D<2>, D<5>, D<5>)>,
) {
    let (a, b) = (a.load(), b.load());
    // Integers of two widths.
    batch.store(batch_dot(a.cast::<i8>(), b.cast::<I4>()));
    let first = a.slice::<(One, D<3>, D<4>)>([0, 0, 0]).squeeze(Axis::<0>);
    let other = b.slice::<(One, D<3>, D<5>)>([0, 0, 0]).squeeze(Axis::<0>);
    over_m.store(dot_over(first, Sublanes, other, Axis::<0>));
    let column = b.slice::<(One, D<4>, One)>([0, 0, 0]).reshape::<(D<4>,)>();
    vector.store(dot_over(first, Lanes, column, Lanes));
    let rows = a.slice::<(D<2>, One, D<4>)>([0, 0, 0]).squeeze(Sublanes);
    batch_rows.store(batch_dot_over(rows, Lanes, b, Sublanes, Axis::<0>));
    batch_turned.store(batch_dot_over(b.cast::<f16>(), Sublanes, b.cast::<F8E5M2>(), Axis::<1>, Axis::<0>));
}

#[test]
fn products_are_those_of_numpy() {
    let goldens = Goldens::read();
    for device in devices() {
        let (a, b) = (goldens.tensor_i32(&device, "product.a"), goldens.tensor_i32(&device, "product.b"));
        let (batch, over_m, vector, batch_rows, batch_turned) = products().launch(&device, &a, &b).unwrap();
        goldens.expect_i32(&batch, "product.batch");
        goldens.expect_i32(&over_m, "product.over_m");
        goldens.expect_i32(&vector, "product.vector");
        goldens.expect_i32(&batch_rows, "product.batch_rows");
        // 7 is not in F8E5M2: it rounds to 8, -5 to -4, and so on.
        assert_eq!(batch_turned.shape(), [2, 5, 5]);
        let b = goldens.integers("product.b");
        let f8 = |x: i32| F8E5M2::from_f32(x as f32).to_f32();
        let want = |at: usize| {
            let (p, m, n) = (at / 25, at / 5 % 5, at % 5);
            (0..4).map(|k| b[p * 20 + k * 5 + m] as f32 * f8(b[p * 20 + k * 5 + n])).sum::<f32>()
        };
        expect(&batch_turned, &[2, 5, 5], &(0..50).map(want).collect::<Vec<f32>>());
    }
}
