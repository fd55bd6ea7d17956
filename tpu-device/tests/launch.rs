//! Launches and operations: values through both executors, errors by code, counters of the cache.

mod kernels;

use half::bf16;
use kernels::{Handmade, add, count, element, first_block, larger, scale};
use std::sync::{Barrier, OnceLock};
use std::time::Duration;
use tpu_device::{Arg, ArgSpec, Chip, DType, Device, DeviceError, Executor, Operation, Target, Tensor};
use tpu_kernel::launch::Allow;

fn devices() -> [Device; 2] {
    [Executor::Interpreter, Executor::Cranelift].map(|executor| Device::builder(Chip::V5E).executor(executor).build())
}

fn floats(device: &Device, n: usize) -> Tensor {
    let values: Vec<f32> = (0..n).map(|i| i as f32 - 3.5).collect();
    Tensor::from_slice(device, &values, &[n]).unwrap()
}

fn code<T: std::fmt::Debug>(result: Result<T, DeviceError>) -> &'static str {
    result.unwrap_err().code()
}

#[test]
fn ragged_sizes_of_every_element_type() {
    for device in devices() {
        for n in [1, 7, 127, 128, 129, 300] {
            let ints: Vec<i32> = (0..n as i32).map(|i| i.wrapping_mul(77_777_777)).collect();
            let x = Tensor::from_slice(&device, &ints, &[n]).unwrap();
            let sum = device.launch(&add(), &[(&x).into(), (&x).into()]).unwrap();
            assert_eq!(sum[0].to_vec::<i32>().unwrap(), ints.iter().map(|i| i.wrapping_mul(2)).collect::<Vec<_>>());

            let x = floats(&device, n);
            let sum = device.launch(&add(), &[(&x).into(), (&x).into()]).unwrap();
            assert_eq!(sum[0].to_vec::<f32>().unwrap(), (0..n).map(|i| 2.0 * i as f32 - 7.0).collect::<Vec<_>>());

            let small: Vec<bf16> = (0..n).map(|i| bf16::from_f32(i as f32 * 0.1)).collect();
            let x = Tensor::from_slice(&device, &small, &[n]).unwrap();
            let sum = device.launch(&add(), &[(&x).into(), (&x).into()]).unwrap();
            let want: Vec<bf16> = small.iter().map(|v| bf16::from_f32(v.to_f32() * 2.0)).collect();
            assert_eq!(sum[0].to_vec::<bf16>().unwrap(), want);

            let (a, b): (Vec<bool>, Vec<bool>) = (0..n).map(|i| (i % 2 == 0, i % 3 == 0)).unzip();
            let args = [a, b].map(|v| Tensor::from_slice(&device, &v, &[n]).unwrap());
            let both = device.launch(&add(), &[(&args[0]).into(), (&args[1]).into()]).unwrap();
            assert_eq!(both[0].to_vec::<bool>().unwrap(), (0..n).map(|i| i % 6 == 0).collect::<Vec<_>>());
        }
        assert_eq!(device.stats().compilations, 4, "one a type");
    }
}

/// What is more than the caches hold is written past them, and its memory is used again: ragged and whole, twice.
#[test]
fn large_arrays_are_written_whole() {
    let device = Device::new("v5e").unwrap();
    for n in [(16 << 20) / 4 + 4 * 128, (17 << 20) / 4 + 77] {
        let ints: Vec<i32> = (0..n as i32).map(|i| i.wrapping_mul(77_777_777)).collect();
        let x = Tensor::from_slice(&device, &ints, &[n]).unwrap();
        for times in [2, 4] {
            let y = if times == 2 { x.clone() } else { device.launch(&add(), &[(&x).into(), (&x).into()]).unwrap()[0].clone() };
            let sum = device.launch(&add(), &[(&y).into(), (&y).into()]).unwrap();
            let want: Vec<i32> = ints.iter().map(|i| i.wrapping_mul(times)).collect();
            assert!(sum[0].to_vec::<i32>().unwrap() == want, "{n} {times}");
        }
    }
}

#[test]
fn several_outputs_and_scalars() {
    for device in devices() {
        let (x, zero) = (floats(&device, 200), Tensor::full(&device, 0.0f32, &[200]).unwrap());
        let outputs = device.launch(&larger(), &[(&x).into(), (&zero).into()]).unwrap();
        assert_eq!(outputs.len(), 2);
        let want: Vec<f32> = x.to_vec::<f32>().unwrap();
        assert_eq!(outputs[0].to_vec::<f32>().unwrap(), want.iter().map(|v| v.max(0.0)).collect::<Vec<_>>());
        assert_eq!(outputs[1].to_vec::<bool>().unwrap(), want.iter().map(|&v| v > 0.0).collect::<Vec<_>>());

        let product = device.launch(&scale(), &[(&x).into(), 0.5f32.into()]).unwrap();
        assert_eq!(product[0].to_vec::<f32>().unwrap(), want.iter().map(|v| v * 0.5).collect::<Vec<_>>());
    }
}

#[test]
fn another_size_or_scalar_compiles_nothing() {
    for device in devices() {
        let kernel = scale();
        for (launches, n) in [5, 5, 128, 1000, 0, 1].into_iter().enumerate() {
            device.launch(&kernel, &[(&floats(&device, n)).into(), (n as f32).into()]).unwrap();
            let stats = device.stats();
            assert_eq!((stats.compilations, stats.cache_hits, stats.launches), (1, launches as u64, launches as u64 + 1));
        }
        for n in [3, 260] {
            let counted = device.launch(&count().size("n", n), &[]).unwrap();
            let want: Vec<i32> = (0..n as i32).map(|i| i % 128).collect();
            assert_eq!(counted[0].to_vec::<i32>().unwrap(), want);
        }
        assert_eq!(device.stats().compilations, 2, "sizes of the configuration are not part of the key");
        assert_eq!(kernel.times_staged(), 1);

        device.launch(&kernel.clone().block(256), &[(&floats(&device, 5)).into(), 1.0f32.into()]).unwrap();
        assert_eq!(kernel.times_staged(), 2, "block sizes are");
        let stats = device.stats();
        assert_eq!(
            stats.kernels.iter().map(|k| (k.name, k.launches)).collect::<Vec<_>>(),
            [("count", 2), ("scale", 6), ("scale", 1)]
        );
        assert!(stats.kernels.iter().all(|k| k.compile_time >= k.stage_time));
        assert_eq!(stats.compile_time, stats.kernels.iter().map(|k| k.compile_time).sum());
    }
}

#[test]
fn many_shapes_of_one_kernel_stay_right() {
    let device = Device::new("v5e").unwrap();
    for n in (1..60).chain((1..60).rev()) {
        let x = floats(&device, n);
        let sum = device.launch(&add(), &[(&x).into(), (&x).into()]).unwrap();
        assert_eq!(sum[0].shape(), [n]);
    }
}

#[test]
fn what_no_step_writes_is_poison() {
    for device in devices() {
        let x = floats(&device, 300);
        let refused = device.launch(&first_block(), &[(&x).into()]).unwrap_err();
        assert_eq!(refused.code(), "L017", "{refused}");
        let first_block = || first_block().allow(Allow::Unwritten);
        let output = device.launch(&first_block(), &[(&x).into()]).unwrap()[0].to_vec::<f32>().unwrap();
        assert_eq!(output[..128], x.to_vec::<f32>().unwrap()[..128]);
        assert!(output[128..].iter().all(|v| v.is_nan()));
        let x = Tensor::full(&device, 5, &[130]).unwrap();
        let output = device.launch(&first_block(), &[(&x).into()]).unwrap()[0].to_vec::<i32>().unwrap();
        assert_eq!(output[127..], [5, i32::MIN, i32::MIN]);
    }
}

#[test]
fn empty_arrays_run_nothing() {
    for device in devices() {
        let x = floats(&device, 0);
        let sum = device.launch(&add(), &[(&x).into(), (&x).into()]).unwrap();
        assert_eq!((sum[0].shape(), sum[0].dtype()), ([0].as_slice(), DType::F32));
        assert_eq!(device.stats().live_bytes, 0);
    }
}

#[test]
fn wrong_arguments() {
    for device in devices() {
        let (x, y) = (floats(&device, 5), floats(&device, 6));
        let one = 1.0f32;
        assert_eq!(code(device.launch(&add(), &[(&x).into(), (&y).into()])), "L004", "one size, two values");
        assert_eq!(code(device.launch(&scale(), &[(&x).into()])), "L001");
        assert_eq!(code(device.launch(&scale(), &[(&x).into(), one.into(), one.into()])), "L001");
        assert_eq!(code(device.launch(&scale(), &[one.into(), (&x).into()])), "L002", "wrong order");
        assert_eq!(code(device.launch(&scale(), &[(&x).into(), (&x).into()])), "L002", "an array for a scalar");
        let error = device.launch(&scale(), &[(&x).into(), 2.into()]).unwrap_err();
        assert_eq!(
            (error.code(), error.to_string().as_str()),
            ("L002", "operand `factor` takes a scalar of f32, got a scalar of i32")
        );
        let int = Tensor::full(&device, 1, &[5]).unwrap();
        assert_eq!(code(device.launch(&scale(), &[(&int).into(), one.into()])), "L005");
        assert_eq!(code(device.launch(&add(), &[(&x).into(), (&int).into()])), "L005");
        let matrix = Tensor::full(&device, 1.0f32, &[5, 1]).unwrap();
        assert_eq!(code(device.launch(&scale(), &[(&matrix).into(), one.into()])), "L003");
        assert_eq!(code(device.launch(&count(), &[])), "L007", "a size without a value");
        let other = Device::new("v5e").unwrap();
        let error = device.launch(&scale(), &[(&floats(&other, 5)).into(), one.into()]).unwrap_err();
        assert_eq!(error, DeviceError::OtherDevice { index: 0 });
        assert_eq!(device.stats().launches, 0);
        assert_eq!(device.launch(&scale(), &[(&x).into(), one.into()]).unwrap()[0].shape(), [5], "errors change nothing");
    }
}

#[test]
fn an_error_while_running_gives_memory_back() {
    for device in devices() {
        let x = floats(&device, 5);
        assert_eq!(code(device.launch(&element(), &[(&x).into(), 128.into()])), "R001");
        assert_eq!(code(device.launch(&element(), &[(&x).into(), (-1).into()])), "R001");
        assert_eq!(device.stats().live_bytes, 20);
        let output = device.launch(&element(), &[(&x).into(), 4.into()]).unwrap();
        assert_eq!(output[0].to_vec::<f32>().unwrap(), [0.5; 5]);
    }
}

#[test]
fn outputs_beyond_the_memory_are_refused() {
    let device = Device::builder(Chip::V5E).hbm_bytes(1000).build();
    let x = floats(&device, 125);
    assert_eq!(device.launch(&scale(), &[(&x).into(), 1.0f32.into()]).unwrap()[0].elements(), 125);
    let y = floats(&device, 1);
    assert_eq!(code(device.launch(&scale(), &[(&x).into(), 1.0f32.into()])), "D002");
    drop(y);
    device.launch(&scale(), &[(&x).into(), 1.0f32.into()]).unwrap();
    assert_eq!(device.stats().peak_bytes, 1000);
}

#[test]
fn a_failing_kernel_is_tried_again() {
    let device = Device::new("v5e").unwrap();
    let broken = Handmade::new("broken", "tests::broken", |_, _| {
        Err(tpu_kernel::Error::Compile { kernel: "broken".into(), reason: "the test says so".into() })
    });
    for times in 1..3 {
        assert_eq!(code(device.launch(&broken, &[])), "C001");
        assert_eq!(broken.times_staged(), times);
    }
    let panics = Handmade::new("panics", "tests::panics", |_, inputs| panic!("a panic of the test, {} inputs", inputs.len()));
    let error = device.launch(&panics, &[]).unwrap_err();
    assert_eq!((error.code(), error.to_string().contains("a panic of the test, 0 inputs")), ("D014", true));
    assert_eq!(device.stats().compilations, 0);
}

#[test]
fn threads_compile_a_kernel_once() {
    for device in devices() {
        let slow = Handmade::new("slow", "tests::slow", |config, inputs| {
            std::thread::sleep(Duration::from_millis(50));
            (add().stage)(config, inputs)
        });
        let barrier = Barrier::new(8);
        std::thread::scope(|scope| {
            for n in 1..9 {
                let (device, slow, barrier) = (&device, &slow, &barrier);
                scope.spawn(move || {
                    let x = floats(device, n);
                    barrier.wait();
                    let sum = device.launch(slow, &[(&x).into(), (&x).into()]).unwrap();
                    assert_eq!(sum[0].elements(), n);
                });
            }
        });
        let stats = device.stats();
        assert_eq!((slow.times_staged(), stats.compilations, stats.cache_hits, stats.launches), (1, 1, 7, 8));
    }
}

/// Launches from inside staging on the device of the test, whose code reaches the outer launch as a reason.
fn launched_inside(kernel: &Handmade) -> tpu_kernel::Error {
    let device = NESTED.get().unwrap();
    let x = floats(device, 5);
    let code = match device.launch(kernel, &[(&x).into(), (&x).into()]) {
        Ok(_) => "no error",
        Err(e) => e.code(),
    };
    tpu_kernel::Error::Compile { kernel: "outer".into(), reason: code.into() }
}

static NESTED: OnceLock<Device> = OnceLock::new();
static BOTH_STAGE: Barrier = Barrier::new(2);

fn ping() -> Handmade {
    Handmade::new("ping", "tests::ping", |_, _| {
        BOTH_STAGE.wait();
        Err(launched_inside(&pong()))
    })
}

fn pong() -> Handmade {
    Handmade::new("pong", "tests::pong", |_, _| {
        BOTH_STAGE.wait();
        Err(launched_inside(&ping()))
    })
}

#[test]
fn a_launch_from_inside_staging_is_refused() {
    let device = NESTED.get_or_init(|| Device::new("v5e").unwrap());
    let x = floats(device, 5);
    let args: [Arg<'_, Tensor>; 2] = [(&x).into(), (&x).into()];
    let refused = tpu_kernel::Error::Compile { kernel: "outer".into(), reason: "D015".into() };
    // Two kernels that launch each other, on two threads that stage at the same time.
    std::thread::scope(|scope| {
        let threads = [ping(), pong()].map(|kernel| scope.spawn(move || device.launch(&kernel, &args).unwrap_err()));
        for thread in threads {
            assert_eq!(thread.join().unwrap().kernel(), Some(&refused));
        }
    });
    // Any kernel, also one that is compiled already.
    device.launch(&add(), &args).unwrap();
    let outer = Handmade::new("outer", "tests::outer", |_, _| Err(launched_inside(&add())));
    assert_eq!(device.launch(&outer, &args).unwrap_err().kernel(), Some(&refused));
    device.launch(&add(), &args).unwrap();
}

#[test]
fn threads_hammer_one_device() {
    for device in devices() {
        let capacity = device.stats().capacity_bytes;
        device.register(add()).unwrap();
        device.register(scale()).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8usize {
                let device = &device;
                scope.spawn(move || {
                    for round in 0..40usize {
                        let n = 1 + (thread * 37 + round * 11) % 300;
                        let x = floats(device, n);
                        let y = device.call_one("scale", (&x, round as f32)).unwrap();
                        let z = device.call_one("add", (&x, &y)).unwrap();
                        let want: Vec<f32> = (0..n).map(|i| i as f32 - 3.5).map(|v| v + v * round as f32).collect();
                        assert_eq!(z.to_vec::<f32>().unwrap(), want);
                        if round % 8 == 0 {
                            assert_eq!(code(device.call("scale", (&x, 1))), "L002");
                            assert_eq!(code(Tensor::zeros(device, DType::Bool, &[1 << 20, 1 << 20])), "D002");
                        }
                    }
                });
            }
        });
        let stats = device.stats();
        assert_eq!((stats.compilations, stats.launches), (2, 8 * 40 * 2));
        assert_eq!((stats.live_bytes, stats.capacity_bytes), (0, capacity));
        assert!(stats.peak_bytes > 0 && stats.peak_bytes < 8 * 3 * 4 * 300 + 1);
    }
}

#[test]
fn operations_by_name() {
    for device in devices() {
        device.register(add()).unwrap();
        device.register(larger()).unwrap();
        device.register_as("wide_add", add().block(512)).unwrap();
        assert_eq!(device.operations(), ["add", "larger", "wide_add"]);
        let x = floats(&device, 200);

        let specs: [ArgSpec<'_>; 2] = [(&x).into(), (DType::F32, &[200]).into()];
        assert_eq!(device.infer("larger", &specs).unwrap(), [(DType::F32, vec![200]), (DType::Bool, vec![200])]);
        assert_eq!((device.stats().launches, device.stats().compilations), (0, 0), "inference runs nothing");
        assert_eq!(code(device.infer("larger", &[(&x).into(), (DType::F32, &[201]).into()])), "L004");
        assert_eq!(code(device.infer("larger", &[(&x).into(), DType::F32.into()])), "L002");
        assert_eq!(code(device.infer("larger", &[])), "L001");

        let sum = device.call_one("add", [&x, &x]).unwrap();
        assert_eq!(sum.bytes(), device.call_one("wide_add", [Arg::Array(&x), (&x).into()]).unwrap().bytes());
        assert_eq!(device.call("larger", (&x, &sum)).unwrap().len(), 2);
        assert_eq!(
            device.call_one("larger", (&x, &sum)).unwrap_err(),
            DeviceError::OutputCount { operation: "larger".into(), want: 1, got: 2 }
        );

        let error = device.call("ad", [&x, &x]).unwrap_err();
        assert_eq!((error.code(), error.to_string().as_str()), ("D008", "no operation is called `ad`; did you mean `add`?"));
        assert_eq!(code(device.infer("transpose", &[])), "D008");
        let elsewhere = floats(&Device::new("v4").unwrap(), 200);
        assert_eq!(device.call("add", (&x, &elsewhere)).unwrap_err(), DeviceError::OtherDevice { index: 1 });
        let moved = elsewhere.to_device(&device).unwrap();
        assert_eq!(device.call_one("add", (&x, &moved)).unwrap().bytes(), sum.bytes());
    }
}

#[test]
fn names_mean_one_operation() {
    let device = Device::new("v5e").unwrap();
    device.register(add()).unwrap();
    device.register(add()).unwrap();
    assert_eq!(code(device.register(add().block(256))), "D009");
    assert_eq!(code(device.register_as("add", scale())), "D009");
    assert_eq!(code(device.register_operation(Hello)), "D009");
    assert_eq!(device.operations(), ["add"]);
}

struct Hello;

impl Operation for Hello {
    fn name(&self) -> &str {
        "add"
    }
    fn infer(&self, _: &Device, _: &[ArgSpec<'_>]) -> Result<Vec<(DType, Vec<usize>)>, DeviceError> {
        panic!("a panic of the test")
    }
    fn call(&self, _: &Device, _: &[Arg<'_, Tensor>]) -> Result<Vec<Tensor>, DeviceError> {
        panic!("a panic of the test")
    }
}

#[test]
fn a_panic_of_an_operation_is_an_error() {
    let device = Device::new("v5e").unwrap();
    device.register_operation(Hello).unwrap();
    assert_eq!(code(device.call("add", ())), "D014");
    assert_eq!(code(device.infer("add", &[])), "D014");
}

#[test]
fn everything_crosses_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Device>();
    shared::<Tensor>();
    shared::<DeviceError>();
}

#[test]
fn inference_and_calls_agree_on_any_arguments() {
    let device = Device::builder(Chip::V5E).executor(Executor::Interpreter).build();
    for kernel in [add(), scale(), larger(), count().size("n", 9), first_block(), element()] {
        device.register(kernel).unwrap();
    }
    let names = device.operations();
    let mut tensors = vec![Tensor::full(&device, 1.0f32, &[]).unwrap()];
    for dims in [&[3][..], &[200], &[0], &[3, 3]] {
        tensors.push(Tensor::full(&device, 0.5f32, dims).unwrap());
        tensors.push(Tensor::full(&device, 2, dims).unwrap());
        tensors.push(Tensor::full(&device, bf16::ONE, dims).unwrap());
        tensors.push(Tensor::full(&device, true, dims).unwrap());
    }
    let mut random = 1u64;
    let mut pick = |n: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % n
    };
    let (mut ran, mut refused) = (0, 0);
    for _ in 0..3000 {
        let name = &names[pick(names.len())];
        let args: Vec<Arg<'_, Tensor>> = (0..pick(4))
            .map(|_| match pick(8) {
                0 => 1.5f32.into(),
                1 => 2.into(),
                2 => bf16::ONE.into(),
                3 => true.into(),
                _ => (&tensors[pick(tensors.len())]).into(),
            })
            .collect();
        let specs: Vec<ArgSpec<'_>> = args.iter().map(|&arg| arg.into()).collect();
        match (device.infer(name, &specs), device.call(name, args)) {
            (Ok(want), Ok(got)) => {
                assert_eq!(want, got.iter().map(|t| (t.dtype(), t.shape().to_vec())).collect::<Vec<_>>());
                ran += 1;
            }
            (Err(want), Err(got)) => {
                assert_eq!(want, got);
                assert!(got.code().starts_with('L'), "{name}: {got}");
                refused += 1;
            }
            (inferred, called) => panic!("{name}{specs:?}: inferred {inferred:?}, called {called:?}"),
        }
    }
    assert!(ran > 100 && refused > 1000, "{ran} ran, {refused} refused");
}
