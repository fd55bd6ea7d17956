//! What cores keep apart: semaphores and generators of the parts of a grid, and what devices with two cores each send one another.

use tpu_device::libtpu::{Estimate, Job, Verdict};
use tpu_device::{Chip, Device, DeviceError, Executor, Mesh, Tensor};
use tpu_kernel::ahead::Built;
use tpu_kernel::launch::Launchable;
use tpu_kernel::prelude::*;
use tpu_tests::libtpu::{accepted, judge, library, pool};

fn both_executors() -> [Device; 2] {
    [Executor::Cranelift, Executor::Interpreter].map(|executor| Device::builder(Chip::V5P).executor(executor).build())
}

fn mesh() -> ([Device; 2], Mesh) {
    let devices = [0, 1].map(|_| Device::builder(Chip::V5P).build());
    let mesh = Mesh::of(devices.clone()).unwrap();
    (devices, mesh)
}

/// An array for so many steps.
fn steps(device: &Device, m: usize) -> Tensor {
    Tensor::zeros(device, DType::I32, &[m, 8, 128]).unwrap()
}

/// What a run says under each seed, unchecked and checked.
fn verdicts(launch: impl Fn(u64, bool) -> Result<(), DeviceError>) -> Vec<String> {
    let verdict = |at: u64| match launch(at / 2, at % 2 == 1) {
        Ok(()) => "clean".to_string(),
        Err(error) => format!("{}: {error}", error.code()),
    };
    (0..40).map(verdict).collect()
}

/// The first step signals, the last one waits.
#[tpu_kernel(grid(i: m), semantics(parallel))]
fn handed_on(
    #[scratch] passed: Semaphore,
    #[block([m, 8, 128] at (squeeze i, 0, 0))] x: In<i32, (D<8>, D<128>)>,
    #[block([m, 8, 128] at (squeeze i, 0, 0))] o: Out<i32, (D<8>, D<128>)>,
) {
    if i == 0 {
        passed.signal(1);
    }
    if i == num_programs(0) - 1 {
        passed.wait(1);
    }
    o.store(x.load() + i);
}

#[test]
fn a_semaphore_is_at_0_where_the_second_core_begins() {
    for device in both_executors() {
        assert!(handed_on().launch(&device, &steps(&device, 1)).is_ok());
        for m in [2, 3, 4, 5] {
            let error = handed_on().launch(&device, &steps(&device, m)).unwrap_err();
            assert_eq!(error.code(), "R012", "{error}");
        }
    }
}

/// The generator is seeded in the first step.
#[tpu_kernel(grid(i: m), semantics(parallel))]
fn drawn(
    #[block([m, 8, 128] at (squeeze i, 0, 0))] x: In<i32, (D<8>, D<128>)>,
    #[block([m, 8, 128] at (squeeze i, 0, 0))] o: Out<i32, (D<8>, D<128>)>,
) {
    if i == 0 {
        prng_seed(1u32);
    }
    o.store(x.load() + prng_bits::<(D<8>, D<128>)>().bitcast::<i32>());
}

#[test]
fn a_generator_is_unseeded_where_the_second_core_begins() {
    for device in both_executors() {
        assert!(drawn().launch(&device, &steps(&device, 1)).is_ok());
        for (m, second) in [(2, 1), (3, 2), (4, 2), (5, 3)] {
            let error = drawn().launch(&device, &steps(&device, m)).unwrap_err();
            assert_eq!(error.code(), "R009", "{error}");
            assert!(error.to_string().contains(&format!("at grid step [{second}]")), "{error}");
        }
    }
}

/// Each device signals the other in the first step, and waits in the last, after a barrier at each.
#[tpu_kernel(grid(i: m), semantics(parallel))]
fn handed_across(
    #[scratch] passed: Semaphore,
    #[scratch] ready: Barrier<4>,
    #[block([m, 8, 128] at (squeeze i, 0, 0))] x: In<i32, (D<8>, D<128>)>,
    #[block([m, 8, 128] at (squeeze i, 0, 0))] o: Out<i32, (D<8>, D<128>)>,
) {
    ready.signal_on(1 - device_id(), 1);
    ready.wait(1);
    if i == 0 {
        passed.signal_on(1 - device_id(), 1);
    }
    if i == num_programs(0) - 1 {
        passed.wait(1);
    }
    o.store(x.load() + i);
}

/// The first core of a device signals the first core of the other, never the second.
#[test]
fn a_signal_goes_to_the_core_of_that_number() {
    let (devices, mesh) = mesh();
    let of = |m: usize| {
        let x = devices.each_ref().map(|device| steps(device, m)).to_vec();
        verdicts(|seed, checked| {
            let kernel = if checked { handed_across().checked(seed) } else { handed_across() };
            kernel.launch(&mesh.clone().seed(seed), &x).map(|_| ())
        })
    };
    assert!(of(1).iter().all(|verdict| verdict == "clean"), "{:#?}", of(1));
    let waits = ["core 1 of device 0 waits for 1 on semaphore `passed`", "core 1 of device 1 waits for 1 on semaphore `passed`"];
    for verdict in of(2) {
        // A checked run also finds what the first core is left with.
        let left = verdict.starts_with("R012: semaphore `passed` ends with 1, and must end with 0, on core 0 of device");
        assert!(left || verdict.starts_with("R024") && waits.iter().all(|wait| verdict.contains(wait)), "{verdict}");
    }
}

/// Each core gives its rows to that core of the other device, and the devices to one another's cores.
#[tpu_kernel(grid(c: 2), semantics(core_parallel))]
fn across(
    #[hbm([2, 8, 128])] x: Hbm<f32, 3>,
    #[hbm([2, 8, 128])] o: HbmOut<f32, 3>,
    #[scratch] block: Vmem<f32, (One, D<8>, D<128>)>,
    #[scratch] sent: DmaSemaphore,
    #[scratch] arrived: DmaSemaphore,
    #[scratch] ready: Barrier<5>,
    #[scratch] turn: Semaphore,
) {
    let other = 1 - device_id();
    ready.signal_on(other, 1);
    ready.wait(1);
    copy_to_device(other, x.view::<(One, D<8>, D<128>)>((c, 0, 0)), block).start(sent, arrived).wait();
    turn.signal_on_core(1 - c, 1);
    turn.wait(1);
    copy(block, o.view::<(One, D<8>, D<128>)>((c, 0, 0))).start(sent).wait();
}

#[test]
fn a_copy_goes_to_the_core_of_that_number() {
    let (devices, mesh) = mesh();
    let x = [0, 1].map(|device| {
        let rows: Vec<f32> = (0..2048).map(|at| (10 * (device + 1) + at / 1024) as f32).collect();
        Tensor::from_slice(&devices[device], &rows, &[2, 8, 128]).unwrap()
    });
    for seed in 0..20 {
        for checked in [false, true] {
            let kernel = if checked { across().checked(seed) } else { across() };
            let o = kernel.launch(&mesh.clone().seed(seed), &x.to_vec()).unwrap();
            for (device, o) in o.iter().enumerate() {
                let o = o.to_vec::<f32>().unwrap();
                let want = [0, 1].map(|core| (10 * (2 - device) + core) as f32);
                assert!((0..2048).all(|at| o[at] == want[at / 1024]), "device {device}, seed {seed}");
            }
        }
    }
}

/// Where one core waits for ever, those that have ended do not begin the next launch, and the error is that of the one.
#[tpu_kernel(grid(c: 2), semantics(core_parallel))]
fn stuck(
    #[hbm([2, 8, 128])] x: Hbm<f32, 3>,
    #[hbm([2, 8, 128])] o: HbmOut<f32, 3>,
    #[scratch] copied: DmaSemaphore,
    #[scratch] ready: Barrier<6>,
    #[scratch] never: Semaphore,
) {
    ready.signal_on(1 - device_id(), 1);
    ready.wait(1);
    copy(x.view::<(One, D<8>, D<128>)>((c, 0, 0)), o.view::<(One, D<8>, D<128>)>((c, 0, 0))).start(copied).wait();
    if c == 1 {
        never.wait(2);
    }
}

#[test]
fn a_core_that_waits_for_ever_ends_launches_that_follow() {
    let (devices, mesh) = mesh();
    let x = devices.each_ref().map(|device| Tensor::zeros(device, DType::F32, &[2, 8, 128]).unwrap()).to_vec();
    for verdict in verdicts(|seed, checked| {
        let kernel = if checked { stuck().checked(seed) } else { stuck() };
        kernel.launch(&mesh.clone().seed(seed), &x).map(|_| ())
    }) {
        let waits = [0, 1].map(|device| format!("core 1 of device {device} waits for 2 on semaphore `never`, which has 0"));
        assert!(verdict.starts_with("R024: deadlock of 4 cores") && waits.iter().all(|wait| verdict.contains(wait)), "{verdict}");
        assert!(!verdict.contains("core 0"), "{verdict}");
    }
}

/// Each core adds 1 to its rows.
#[tpu_kernel(grid(c: n, i: m / 8), semantics(core_parallel, arbitrary))]
fn rows(
    #[block([n, m, 128] at (squeeze c, i, 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([n, m, 128] at (squeeze c, i, 0))] o: Out<f32, (D<8>, D<128>)>,
) {
    o.store(x.load() + 1.0);
}

#[test]
fn each_core_runs_all_slices_of_a_batch() {
    let numbers: Vec<f32> = (0..3 * 2 * 32 * 128).map(|at| at as f32).collect();
    for device in both_executors() {
        let x = Tensor::from_slice(&device, &numbers, &[3, 2, 32, 128]).unwrap();
        let o = rows().batched(["x", "o"]).launch(&device, &x).unwrap().to_vec::<f32>().unwrap();
        assert!(o.iter().zip(&numbers).all(|(o, x)| *o == x + 1.0));
    }
    let device = Device::builder(Chip::V5P).build();
    let x = Tensor::from_slice(&device, &numbers, &[3, 2, 32, 128]).unwrap();
    for seed in 0..5 {
        assert!(rows().batched(["x", "o"]).checked(seed).launch(&device, &x).is_ok());
    }
    // A step for each core, as without a batch; and libtpu takes it.
    let error = rows().batched(["x", "o"]).launch(&device, &Tensor::zeros(&device, DType::F32, &[2, 3, 32, 128]).unwrap());
    assert_eq!(error.map(|_| ()).unwrap_err().code(), "L023");
    let built = Built::new(&rows().batched(["x", "o"]), &[DType::F32]).unwrap();
    let text = built.bind(&Chip::V5P, &[(DType::F32, vec![3, 2, 32, 128])]).unwrap().stablehlo().unwrap();
    let Some(library) = library() else { return };
    for verdict in judge(env!("CARGO_BIN_EXE_worker"), &library, &Chip::V5P, vec![text]) {
        assert!(accepted(&verdict), "{verdict:?}");
    }
}

/// Copies blocks through a window; the two differ in a word.
#[tpu_kernel(grid(i: m / 8), semantics(parallel))]
fn by_window(
    #[block([m, 8192] at (i, 0))] x: In<f32, (D<8>, D<8192>)>,
    #[block([m, 8192] at (i, 0))] o: Out<f32, (D<8>, D<8192>)>,
) {
    o.store(x.load());
}

#[tpu_kernel(grid(i: m / 8), semantics(arbitrary))]
fn by_window_in_order(
    #[block([m, 8192] at (i, 0))] x: In<f32, (D<8>, D<8192>)>,
    #[block([m, 8192] at (i, 0))] o: Out<f32, (D<8>, D<8192>)>,
) {
    o.store(x.load());
}

/// The same by copies: where these write is not seen, so that a chip is told nothing of parallel steps.
#[tpu_kernel(grid(i: m / 8), semantics(parallel))]
fn by_copies(
    #[block([m, 8192] at (i, 0))] x: In<f32, (D<8>, D<8192>)>,
    #[hbm([m, 8192])] o: HbmOut<f32, 2>,
    #[scratch] mut block: Vmem<f32, (D<8>, D<8192>)>,
    #[scratch] copied: DmaSemaphore,
) {
    block.store(x.load());
    copy(block, o.view::<(D<8>, D<8192>)>((i * 8, 0))).start(copied).wait();
}

#[tpu_kernel(grid(i: m / 8), semantics(arbitrary))]
fn by_copies_in_order(
    #[block([m, 8192] at (i, 0))] x: In<f32, (D<8>, D<8192>)>,
    #[hbm([m, 8192])] o: HbmOut<f32, 2>,
    #[scratch] mut block: Vmem<f32, (D<8>, D<8192>)>,
    #[scratch] copied: DmaSemaphore,
) {
    block.store(x.load());
    copy(block, o.view::<(D<8>, D<8192>)>((i * 8, 0))).start(copied).wait();
}

#[test]
fn a_prediction_counts_the_cores_that_the_chip_is_told_of() {
    let input = [(DType::F32, vec![1024, 8192])];
    let cycles = |kernel: &dyn Launchable| {
        let built = Built::new(kernel, &[DType::F32]).unwrap();
        let bound = built.bind(&Chip::V5P, &input).unwrap();
        let predicted = bound.predict().unwrap().cycles;
        if let Some(library) = library() {
            let program = bound.stablehlo().unwrap();
            let job = Job { chip: &Chip::V5P, program: program.clone(), estimate: Some(program) };
            let verdicts = pool(env!("CARGO_BIN_EXE_worker"), &library).judge(&[job], &mut |_, _| {}).unwrap();
            let [Verdict::Accepted { estimate: Estimate::Cycles(estimated) }] = verdicts[..] else { panic!("{verdicts:?}") };
            let ratio = predicted as f64 / estimated as f64;
            assert!((0.8..1.2).contains(&ratio), "{}: {predicted} against {estimated}", built.kernel.name);
        }
        predicted as f64
    };
    let halved = cycles(&by_window_in_order()) / cycles(&by_window());
    assert!((1.8..2.2).contains(&halved), "{halved}");
    assert_eq!(cycles(&by_copies_in_order()), cycles(&by_copies()));
}
