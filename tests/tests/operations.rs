//! Kernels as operations of a device: by one line, by name, with inferred shapes, several outputs,
//! generic over the element type, from many threads; and launches of every arity.

use half::bf16;
use tpu_device::{ArgSpec, DType, Device, DeviceError, Tensor};
use tpu_kernel::prelude::*;
use tpu_tests::devices::{Counted, devices, expect, kernel_error, made};

/// `o = a · x + y`.
#[tpu_kernel(grid(i: n / B), semantics(parallel))]
fn axpy<T: Number, B: Dim>(
    a: Scalar<T>,
    #[block([n] at (i))] x: In<T, (B,)>,
    #[block([n] at (i))] y: In<T, (B,)>,
    #[block([n] at (i))] o: Out<T, (B,)>,
) {
    o.store(a * x.load() + y.load());
}

/// Each row of x twice with a column of its sums, and the transpose of x.
#[tpu_kernel(grid(i: n, j: m / BM), semantics(parallel, parallel))]
fn rearranged<T: Number, BM: Dim>(
    #[block([n, m] at (squeeze i, j))] x: In<T, (BM,)>,
    #[block([2 * n, m + 1] at (squeeze 2 * i + 1, j))] twice: Out<T, (BM,)>,
    #[block([m, n] at (j, squeeze i))] turned: Out<T, (BM,)>,
    #[block([(m / BM) * n] at (i * num_programs(1) + j))] sums: Out<T, (One,)>,
    zero: Scalar<T>,
) {
    twice.store(x.load());
    turned.store(x.load());
    sums.store(x.load_or(zero).sum(Lanes));
}

/// Sizes in outputs alone: one of an input, one that the launch sets.
#[tpu_kernel(grid(i: copies))]
fn repeated<T: Element, B: Dim>(#[block([n] at (0))] x: In<T, (B,)>, #[block([copies, n] at (squeeze i, 0))] o: Out<T, (B,)>) {
    o.store(x.load());
}

/// Sizes as expressions of constants, differences and rounded-up quotients.
#[tpu_kernel]
fn measured(
    #[block([n, m] at (0, 0))] _x: In<f32, (D<8>, D<8>)>,
    #[block([n - m, n / m * 3] at (0, 0))] a: Out<f32, (D<8>, D<8>)>,
    #[block([(n + m) / 4, 5] at (0, 0))] b: Out<i32, (D<8>, D<8>)>,
    #[block([m] at (0))] c: Out<bool, (D<8>,)>,
) {
    a.fill(1.0);
    b.fill(n * 10 + m);
    c.fill(true);
}

fn inferred(device: &Device, name: &str, args: &[ArgSpec<'_>]) -> Vec<(DType, Vec<usize>)> {
    device.infer(name, args).unwrap()
}

fn shapes(tensors: &[Tensor]) -> Vec<(DType, Vec<usize>)> {
    tensors.iter().map(|t| (t.dtype(), t.shape().to_vec())).collect()
}

#[test]
fn one_registration_serves_every_element_type() {
    fn all<T: Counted + std::fmt::Debug>(device: &Device, n: usize) {
        let (x, y) = (made(device, &[n], |at| T::counted(at as i32 % 50)), made(device, &[n], |at| T::counted(at as i32 % 7)));
        let a: tpu_kernel::ir::Literal = T::counted(3).into();
        let o = device.call_one("axpy", (a, &x, &y)).unwrap();
        let want: Vec<T> = (0..n as i32).map(|at| T::counted(at % 50 * 3 + at % 7)).collect();
        expect(&o, &[n], &want);
        assert_eq!(inferred(device, "axpy", &[T::DTYPE.into(), (&x).into(), (&y).into()]), shapes(&[o]));
    }
    for device in devices() {
        device.register(axpy().b(512)).unwrap();
        assert_eq!(device.operations(), ["axpy"]);
        for n in [1, 511, 513, 2000] {
            all::<f32>(&device, n);
            all::<bf16>(&device, n);
            all::<i32>(&device, n);
        }
        assert_eq!(device.stats().compilations, 3, "one for each element type");
        let flags = made(&device, &[4], |at| at > 1);
        assert_eq!(device.call("axpy", (true, &flags, &flags)).unwrap_err().code(), "L005");
        let (x, y) = (made(&device, &[4], |at| at as f32), made(&device, &[4], |at| at as i32));
        assert_eq!(device.call("axpy", (1.0f32, &x, &y)).unwrap_err().code(), "L005");
        assert_eq!(device.call("axpy", (1, &x, &x)).unwrap_err().code(), "L002", "a scalar of another type");
    }
}

#[test]
fn several_outputs_with_shapes_from_expressions() {
    for device in devices() {
        let kernel = rearranged().bm(4).allow(Allow::BlockShape);
        device.register(kernel.clone()).unwrap();
        for (n, m) in [(1, 1), (3, 4), (2, 9), (5, 130)] {
            let x = made(&device, &[n, m], |at| at as i32 + 1);
            let outputs = device.call("rearranged", (&x, 0)).unwrap();
            let want = [(DType::I32, vec![2 * n, m + 1]), (DType::I32, vec![m, n]), (DType::I32, vec![m.div_ceil(4) * n])];
            assert_eq!(shapes(&outputs), want);
            assert_eq!(inferred(&device, "rearranged", &[(&x).into(), DType::I32.into()]), want);
            // The odd rows are written, the last column only where a block reaches it, from padding.
            let twice: Vec<i32> = (0..2 * n * (m + 1))
                .map(|at| (at / (m + 1), at % (m + 1)))
                .map(|(row, column)| if row % 2 == 1 && column < m { (row / 2 * m + column) as i32 + 1 } else { i32::MIN })
                .collect();
            expect(&outputs[0], &[2 * n, m + 1], &twice);
            expect(&outputs[1], &[m, n], &(0..m * n).map(|at| (at % n * m + at / n) as i32 + 1).collect::<Vec<_>>());
            let blocks = m.div_ceil(4);
            let sum = |at: usize| (at % blocks * 4..m.min(at % blocks * 4 + 4)).map(|j| (at / blocks * m + j) as i32 + 1).sum();
            expect(&outputs[2], &[blocks * n], &(0..blocks * n).map(sum).collect::<Vec<i32>>());

            let (a, b, c) = kernel.launch(&device, &x, 0).unwrap();
            for (direct, named) in [a, b, c].iter().zip(&outputs) {
                assert_eq!(direct.bytes(), named.bytes());
            }
            assert!(matches!(device.call_one("rearranged", (&x, 0)), Err(DeviceError::OutputCount { want: 1, got: 3, .. })));
        }
    }
}

#[test]
fn sizes_that_no_input_binds() {
    for device in devices() {
        for (name, copies) in [("once", 1), ("thrice", 3), ("never", 0)] {
            device.register_as(name, repeated().b(128).copies(copies).allow(Allow::BlockShape)).unwrap();
            let x = made(&device, &[100], |at| at as f32);
            let o = device.call_one(name, [&x]);
            let o = o.unwrap();
            expect(&o, &[copies, 100], &(0..copies * 100).map(|at| (at % 100) as f32).collect::<Vec<_>>());
            assert_eq!(inferred(&device, name, &[(&x).into()]), shapes(&[o]));
        }
        assert_eq!(device.stats().compilations, 1, "a size is no part of the compiled kernel");
        device.register_as("unset", repeated().b(128)).unwrap();
        let x = made(&device, &[100], |at| at as f32);
        let error = device.call("unset", [&x]).unwrap_err();
        assert_eq!((error.code(), error.clone()), ("L007", device.infer("unset", &[(&x).into()]).unwrap_err()));
        assert!(error.to_string().contains("`.copies(1000)`"), "{error}");
    }
}

#[test]
fn inferred_shapes_are_the_actual_ones() {
    for device in devices() {
        device.register(measured().allow(Allow::BlockShape)).unwrap();
        for (n, m) in [(5, 2), (8, 1), (7, 5)] {
            let x = made(&device, &[n, m], |_| 0.0f32);
            let outputs = device.call("measured", [&x]).unwrap();
            let want =
                [(DType::F32, vec![n - m, n.div_ceil(m) * 3]), (DType::I32, vec![(n + m).div_ceil(4), 5]), (DType::Bool, vec![m])];
            assert_eq!(shapes(&outputs), want);
            assert_eq!(inferred(&device, "measured", &[(DType::F32, &[n, m]).into()]), want);
            let at = |row: usize, column: usize| row < 8 && column < 8;
            let columns = n.div_ceil(m) * 3;
            let a = (0..(n - m) * columns).map(|i| if at(i / columns, i % columns) { 1.0 } else { f32::NAN });
            expect(&outputs[0], &[n - m, columns], &a.collect::<Vec<_>>());
            expect(&outputs[1], &[(n + m).div_ceil(4), 5], &vec![(n * 10 + m) as i32; (n + m).div_ceil(4) * 5]);
        }
        // A size below 0, and an array without a block that the one step could write.
        for (dims, code) in [([2, 5], "L010"), ([3, 3], "L008")] {
            let x = made(&device, &dims, |_| 0.0f32);
            let error = kernel_error(device.call("measured", [&x]));
            assert_eq!((error.code(), device.infer("measured", &[(&x).into()]).unwrap_err().code()), (code, code));
        }
    }
}

#[test]
fn threads_call_one_operation() {
    for device in devices() {
        device.register(axpy().b(128)).unwrap();
        device.register(rearranged().bm(8).allow(Allow::BlockShape)).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8usize {
                let device = &device;
                scope.spawn(move || {
                    for round in 0..12usize {
                        let n = 1 + (thread * 37 + round * 53) % 300;
                        let x = made(device, &[n], |at| (at + thread) as f32);
                        let o = device.call_one("axpy", (round as f32, &x, &x)).unwrap();
                        expect(&o, &[n], &(0..n).map(|at| ((at + thread) * (round + 1)) as f32).collect::<Vec<_>>());
                        let x = made(device, &[2, n], |at| (at * (thread + 1)) as i32);
                        let turned = &device.call("rearranged", (&x, 0)).unwrap()[1];
                        let want = (0..2 * n).map(|at| ((at % 2 * n + at / 2) * (thread + 1)) as i32);
                        expect(turned, &[n, 2], &want.collect::<Vec<_>>());
                    }
                });
            }
        });
        let stats = device.stats();
        assert_eq!((stats.compilations, stats.launches, stats.live_bytes), (2, 8 * 12 * 2, 0));
    }
}

macro_rules! arity {
    ($name:ident: $($x:ident)*) => {
        #[tpu_kernel]
        fn $name($(#[block([1, n] at (0, 0))] $x: In<i32, (One, D<8>)>,)* #[block([1, n] at (0, 0))] o: Out<i32, (One, D<8>)>) {
            let mut sum = Tile::<i32, (One, D<8>)>::full(0);
            $(sum = sum * 3 + $x.load();)*
            o.store(sum);
        }
    };
}
arity!(inputs_0:);
arity!(inputs_1: a);
arity!(inputs_2: a b);
arity!(inputs_3: a b c);
arity!(inputs_4: a b c d);
arity!(inputs_5: a b c d e);
arity!(inputs_6: a b c d e f);
arity!(inputs_7: a b c d e f g);
arity!(inputs_8: a b c d e f g h);

#[test]
fn every_arity() {
    for device in devices() {
        let xs: Vec<Tensor> = (0..8).map(|number| made(&device, &[1, 8], |at| (number + at) as i32)).collect();
        let [a, b, c, d, e, f, g, h] = &xs[..] else { unreachable!("eight were made") };
        let want = |inputs: usize| {
            (0..8).map(|at| (0..inputs).fold(0, |sum, number| sum * 3 + (number + at) as i32)).collect::<Vec<i32>>()
        };
        let outputs = [
            inputs_0().n(8).launch(&device),
            inputs_1().launch(&device, a),
            inputs_2().launch(&device, a, b),
            inputs_3().launch(&device, a, b, c),
            inputs_4().launch(&device, a, b, c, d),
            inputs_5().launch(&device, a, b, c, d, e),
            inputs_6().launch(&device, a, b, c, d, e, f),
            inputs_7().launch(&device, a, b, c, d, e, f, g),
            inputs_8().launch(&device, a, b, c, d, e, f, g, h),
        ];
        for (inputs, o) in outputs.into_iter().enumerate() {
            expect(&o.unwrap(), &[1, 8], &want(inputs));
        }
        device.register(inputs_8()).unwrap();
        let by_name = device.call_one("inputs_8", (a, b, c, d, e, f, g, h)).unwrap();
        expect(&by_name, &[1, 8], &want(8));
    }
}

/// Scalars of every type, between arrays, two outputs as a tuple.
#[tpu_kernel]
fn scalars(
    flag: Scalar<bool>,
    #[block([1, 8] at (0, 0))] x: In<f32, (One, D<8>)>,
    whole: Scalar<i32>,
    half: Scalar<bf16>,
    #[block([1, 8] at (0, 0))] first: Out<f32, (One, D<8>)>,
    #[block([1, 8] at (0, 0))] second: Out<bf16, (One, D<8>)>,
    float: Scalar<f32>,
) {
    first.store(x.load() * float + whole.cast::<f32>());
    if flag {
        second.fill(half);
    } else {
        second.store(x.load().cast::<bf16>());
    }
}

#[test]
fn scalars_of_every_type_and_two_outputs() {
    for device in devices() {
        let x = made(&device, &[1, 8], |at| at as f32);
        let counts: Vec<f32> = (0..8).map(|at| at as f32).collect();
        for flag in [true, false] {
            let half = bf16::from_f32(2.5);
            let (first, second): (Tensor, Tensor) = scalars().launch(&device, flag, &x, -7, half, 0.5).unwrap();
            expect(&first, &[1, 8], &counts.iter().map(|v| v * 0.5 - 7.0).collect::<Vec<f32>>());
            expect(&second, &[1, 8], &counts.iter().map(|&v| if flag { half } else { bf16::from_f32(v) }).collect::<Vec<_>>());
        }
        device.register(scalars()).unwrap();
        let outputs = device.call("scalars", (true, &x, 1, bf16::ONE, 1.0f32)).unwrap();
        assert_eq!(shapes(&outputs), [(DType::F32, vec![1, 8]), (DType::Bf16, vec![1, 8])]);
        assert_eq!(device.call("scalars", (true, &x, 1, 1.0f32, 1.0f32)).unwrap_err().code(), "L002");
        assert_eq!(device.call("scalars", (1, &x, 1, bf16::ONE, 1.0f32)).unwrap_err().code(), "L002");
        assert_eq!(device.stats().compilations, 1);
    }
}
