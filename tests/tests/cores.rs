//! Two cores of a device: which steps each has, what is its own, what they say to one another, and that an error on one ends the other.

use tpu_device::{Chip, Device, DeviceError, Executor, Mesh, Tensor};
use tpu_kernel::ahead::Built;
use tpu_kernel::launch::{Launchable, numbers};
use tpu_kernel::mosaic::stablehlo;
use tpu_kernel::prelude::*;
use tpu_tests::libtpu::{accepted, judge, library};

/// Each core of TPU7x is a device of its own.
const ONE: [Chip; 3] = [Chip::V5E, Chip::V6E, Chip::TPU7X];
const TWO: [Chip; 2] = [Chip::V4, Chip::V5P];

fn both_executors(chip: Chip) -> [Device; 2] {
    [Executor::Cranelift, Executor::Interpreter].map(|executor| Device::builder(chip).executor(executor).build())
}

/// How many steps its core has run before this one: scratch tells, which the step `0` of the grid alone writes first.
#[tpu_kernel(grid(i: m, j: n), semantics(parallel, arbitrary))]
fn counted(
    #[prefetch([m, n])] x: Prefetch<i32, 2>,
    #[scratch] mut steps: Smem<i32, (One,)>,
    #[block([m, n, 8, 128] at (squeeze i, squeeze j, 0, 0))] mut o: Out<i32, (D<8>, D<128>)>,
) {
    if i == 0 && j == 0 {
        steps.write((0,), x.read((0, 0)));
    }
    o.fill(steps.read((0,)));
    steps.write((0,), steps.read((0,)) + 1);
}

#[test]
fn case_20_parallel_steps_are_split_and_scratch_is_each_cores_own() {
    for (chips, cores) in [(&ONE[..], 1), (&TWO[..], 2)] {
        for &chip in chips {
            for device in both_executors(chip) {
                for m in [1usize, 2, 3, 4, 5] {
                    let n = 4;
                    let x = Tensor::zeros(&device, DType::I32, &[m, n]).unwrap();
                    let o = counted().launch(&device, &x).unwrap().to_vec::<i32>().unwrap();
                    let per_step: Vec<i32> = o.chunks(1024).map(|block| block[0]).collect();
                    // The second core begins here, with scratch that nothing has written.
                    let second = if cores == 2 && m > 1 { m.div_ceil(2) * n } else { m * n };
                    let want = (0..m * n).map(|at| if at < second { at as i32 } else { i32::MIN + (at - second) as i32 });
                    assert_eq!(per_step, want.collect::<Vec<_>>(), "{} {m}", chip.name);
                }
            }
        }
    }
}

/// Both cores pass their block of `x` to the other one, through an array that they share.
#[tpu_kernel(grid(c: 2), semantics(core_parallel))]
fn swap(
    #[hbm([2, 8, 128])] x: Hbm<f32, 3>,
    #[hbm([2, 8, 128])] between: HbmOut<f32, 3>,
    #[hbm([2, 8, 128])] o: HbmOut<f32, 3>,
    #[scratch] mut block: Vmem<f32, (One, D<8>, D<128>)>,
    #[scratch] copied: DmaSemaphore,
    #[scratch] ready: Semaphore,
    wrong: Scalar<i32>,
    silent: Scalar<i32>,
) {
    let other = 1 - c;
    copy(x.view::<(One, D<8>, D<128>)>((c, 0, 0)), block).start(copied).wait();
    block.store(block.load() + 1.0);
    if c == wrong {
        debug_check!(c != wrong, "it fails here");
    }
    copy(block, between.view::<(One, D<8>, D<128>)>((c, 0, 0))).start(copied).wait();
    if c != silent {
        ready.signal_on_core(other, 1);
    }
    ready.wait(1);
    copy(between.view::<(One, D<8>, D<128>)>((other, 0, 0)), o.view::<(One, D<8>, D<128>)>((c, 0, 0))).start(copied).wait();
}

fn blocks(device: &Device) -> Tensor {
    let x: Vec<f32> = (0..2048).map(|at| if at < 1024 { 10.0 } else { 20.0 }).collect();
    Tensor::from_slice(device, &x, &[2, 8, 128]).unwrap()
}

#[test]
fn cores_that_run_side_by_side_wait_for_one_another() {
    for chip in TWO {
        let device = Device::builder(chip).build();
        let (_, o) = swap().launch(&device, &blocks(&device), -1, -1).unwrap();
        let o = o.to_vec::<f32>().unwrap();
        assert!(o[..1024].iter().all(|&v| v == 21.0) && o[1024..].iter().all(|&v| v == 11.0), "{}", chip.name);
        // One core runs after the other there.
        let interprets = Device::builder(chip).executor(Executor::Interpreter).build();
        let error = swap().launch(&interprets, &blocks(&interprets), -1, -1).unwrap_err();
        assert_eq!(error.code(), "R021", "{error}");
        assert!(error.to_string().contains("an interpreter, which runs one core after the other"), "{error}");
    }
    for chip in ONE {
        for device in both_executors(chip) {
            let error = swap().launch(&device, &blocks(&device), -1, -1).unwrap_err();
            assert_eq!(error.code(), "L023", "{error}");
            assert!(error.to_string().contains("2 steps along the core_parallel dimension `c`"), "{error}");
            assert!(error.to_string().contains("has 1 core for a kernel"), "{error}");
        }
    }
}

#[test]
fn case_39_core_map_exception_no_hang() {
    let device = Device::builder(Chip::V5P).build();
    for core in [0, 1] {
        let error = swap().launch(&device, &blocks(&device), core, -1).unwrap_err();
        assert_eq!(error.code(), "R008");
        assert!(error.to_string().ends_with(&format!("on core {core}")), "{error}");
        let error = swap().launch(&device, &blocks(&device), -1, core).unwrap_err();
        assert_eq!(error.code(), "R024");
        let waits = format!("deadlock of 2 cores: core {} waits for 1 on semaphore `ready`, which has 0", 1 - core);
        assert!(error.to_string().starts_with(&waits), "{error}");
    }
}

#[test]
fn a_mesh_of_devices_with_two_cores_each() {
    let devices = [0, 1].map(|_| Device::builder(Chip::V5P).build());
    let mesh = Mesh::of(devices.clone()).unwrap();
    for seed in 0..20 {
        let x = devices.iter().map(blocks).collect::<Vec<_>>();
        let (_, o) = swap().launch(&mesh.clone().seed(seed), &x, -1, -1).unwrap();
        for o in o {
            let o = o.to_vec::<f32>().unwrap();
            assert!(o[..1024].iter().all(|&v| v == 21.0) && o[1024..].iter().all(|&v| v == 11.0), "seed {seed}");
        }
        let error = swap().launch(&mesh.clone().seed(seed), &x, 1, -1).unwrap_err();
        assert!(error.to_string().contains("on core 1 of device "), "{error}");
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

/// libtpu takes one step for each core that runs a kernel, no more and no fewer, and so do launches.
#[test]
fn a_core_parallel_dimension_has_a_step_for_each_core_as_libtpu_has_it() {
    for chip in Chip::ALL {
        let cores = if TWO.contains(chip) { 2 } else { 1 };
        for n in 1..4 {
            let built = Built::new(&rows(), &[DType::F32]).unwrap();
            let bound = built.bind(chip, &[(DType::F32, vec![n, 32, 128])]);
            assert_eq!(bound.as_ref().err().map(|error| error.code()), (n != cores).then_some("L023"), "{n} on {}", chip.name);
            let device = Device::builder(*chip).build();
            let x = Tensor::zeros(&device, DType::F32, &[n, 32, 128]).unwrap();
            let launched = rows().launch(&device, &x).and_then(|o| o.to_vec::<f32>());
            assert_eq!(
                launched.map(|o| o.iter().all(|&v| v == 1.0)).map_err(|error| error.code()),
                if n == cores { Ok(true) } else { Err("L023") }
            );
        }
        let shape = |n| vec![(DType::F32, vec![n, 32, 128])];
        let kernel = rows().stage(&[DType::F32]).unwrap();
        let Some(library) = library() else { continue };
        for n in 1..4 {
            let binding = numbers(&kernel, &shape(n), &Default::default()).unwrap();
            let text = stablehlo(&kernel, &binding, chip).unwrap();
            let [verdict] = judge(env!("CARGO_BIN_EXE_worker"), &library, chip, vec![text]).try_into().unwrap();
            assert_eq!(accepted(&verdict), n == cores, "{n} on {}: {verdict:?}", chip.name);
        }
    }
}

#[test]
fn libtpu_takes_signals_to_a_core() {
    let Some(library) = library() else { return };
    for chip in Chip::ALL.iter().filter(|chip| TWO.contains(chip)) {
        let built = Built::new(&swap(), &[DType::F32]).unwrap();
        let bound = built.bind(chip, &[(DType::F32, vec![2, 8, 128])]).unwrap();
        let text = bound.stablehlo().unwrap();
        for verdict in judge(env!("CARGO_BIN_EXE_worker"), &library, chip, vec![text]) {
            assert!(accepted(&verdict), "{}: {verdict:?}", chip.name);
        }
    }
}

/// What a checked run says under each seed.
fn verdicts(launch: impl Fn(u64) -> Result<(), DeviceError>) -> Vec<String> {
    let verdict = |seed| match launch(seed) {
        Ok(()) => "clean".to_string(),
        Err(error) => format!("{}: {error}", error.code()),
    };
    (0..20).map(verdict).collect()
}

#[test]
fn checked_cores_race_where_nothing_orders_them() {
    let device = Device::builder(Chip::V5P).build();
    let swapped = |silent: i32, ahead: bool| {
        verdicts(|seed| match ahead {
            false => swap().checked(seed).launch(&device, &blocks(&device), -1, silent).map(|_| ()),
            true => hasty().checked(seed).launch(&device, &blocks(&device)).map(|_| ()),
        })
    };
    assert!(swapped(-1, false).iter().all(|verdict| verdict == "clean"), "{:#?}", swapped(-1, false));
    assert!(swapped(0, false).iter().all(|verdict| verdict.starts_with("R024: deadlock of 2 cores: core 1 waits for 1")));
    let races = swapped(-1, true);
    let found = |verdict: &String| {
        (verdict.starts_with("R016") || verdict.starts_with("R020") || verdict.starts_with("R015"))
            && verdict.contains("operand `between`")
    };
    assert!(races.iter().all(found), "{races:#?}");
    // What is written by windows, each core's own.
    let x = Tensor::zeros(&device, DType::F32, &[2, 32, 128]).unwrap();
    assert!(verdicts(|seed| rows().checked(seed).launch(&device, &x).map(|_| ())).iter().all(|verdict| verdict == "clean"));
    let both = verdicts(|seed| one_block().checked(seed).launch(&device, &x).map(|_| ()));
    assert!(both.iter().all(|verdict| verdict.starts_with("R019: block [0, 0] of operand `o`")), "{both:#?}");
}

/// As `swap`, but that nobody waits.
#[tpu_kernel(grid(c: 2), semantics(core_parallel))]
fn hasty(
    #[hbm([2, 8, 128])] x: Hbm<f32, 3>,
    #[hbm([2, 8, 128])] between: HbmOut<f32, 3>,
    #[hbm([2, 8, 128])] o: HbmOut<f32, 3>,
    #[scratch] copied: DmaSemaphore,
) {
    let other = 1 - c;
    copy(x.view::<(One, D<8>, D<128>)>((c, 0, 0)), between.view::<(One, D<8>, D<128>)>((c, 0, 0))).start(copied).wait();
    copy(between.view::<(One, D<8>, D<128>)>((other, 0, 0)), o.view::<(One, D<8>, D<128>)>((c, 0, 0))).start(copied).wait();
}

/// Both cores write one block.
#[tpu_kernel(grid(c: n), semantics(core_parallel))]
fn one_block(
    #[block([n, 32, 128] at (squeeze c, 0, 0))] x: In<f32, (D<32>, D<128>)>,
    #[block([32, 128] at (0, 0))] o: Out<f32, (D<32>, D<128>)>,
) {
    o.store(x.load() + 1.0);
}

#[test]
fn a_checked_mesh_of_devices_with_two_cores_each() {
    let devices = [0, 1].map(|_| Device::builder(Chip::V5P).build());
    let mesh = Mesh::of(devices.clone()).unwrap();
    let x = devices.iter().map(blocks).collect::<Vec<_>>();
    let clean = verdicts(|seed| swap().checked(seed).launch(&mesh, &x, -1, -1).map(|_| ()));
    assert!(clean.iter().all(|verdict| verdict == "clean"), "{clean:#?}");
    let wrong = verdicts(|seed| swap().checked(seed).launch(&mesh, &x, 0, -1).map(|_| ()));
    assert!(wrong.iter().all(|verdict| verdict.starts_with("R008") && verdict.contains("on core 0 of device")), "{wrong:#?}");
}
