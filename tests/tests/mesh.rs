//! A kernel on several devices at once: copies and signals to others, barriers, who waits for what, and that nothing hangs.

use tpu_kernel::cranelift::Executable;
use tpu_kernel::cranelift::checked::CheckedExecutable;
use tpu_kernel::exec::{Args, ArrayMut, ArrayRef, Printed, RunError};
use tpu_kernel::interpret;
use tpu_kernel::ir::{DType, Kernel, parse};
use tpu_kernel::launch::{Binding, Launchable};
use tpu_kernel::passes::verify;
use tpu_kernel::prelude::*;
use tpu_tests::libtpu::compiles;

/// Runs a kernel of one input and one output of f32 on each device; the outputs.
fn run(kernel: &Kernel, from: &[usize], to: &[usize], inputs: &[Vec<f32>], seed: u64) -> Result<Vec<Vec<f32>>, RunError> {
    let exe = Executable::compile(kernel).unwrap();
    run_by(kernel, from, to, inputs, |binding, args| exe.run_mesh(binding, args, seed))
}

/// Likewise, checked.
fn checked(kernel: &Kernel, from: &[usize], to: &[usize], inputs: &[Vec<f32>], seed: u64) -> Result<Vec<Vec<f32>>, RunError> {
    let exe = CheckedExecutable::compile(kernel).unwrap();
    run_by(kernel, from, to, inputs, |binding, args| exe.run_mesh(binding, args, seed.into()))
}

fn run_by(
    kernel: &Kernel,
    from: &[usize],
    to: &[usize],
    inputs: &[Vec<f32>],
    run: impl FnOnce(&Binding, &mut [Args<'_, '_>]) -> Result<(), RunError>,
) -> Result<Vec<Vec<f32>>, RunError> {
    verify(kernel).unwrap_or_else(|faults| panic!("{faults:?}\n{kernel}"));
    let binding = binding(kernel, from, to);
    let inputs: Vec<Vec<u8>> = inputs.iter().map(|x| x.iter().flat_map(|v| v.to_ne_bytes()).collect()).collect();
    let mut outputs: Vec<Vec<u8>> = inputs.iter().map(|_| vec![0; to.iter().product::<usize>() * 4]).collect();
    let given: Vec<[ArrayRef<'_>; 1]> = inputs.iter().map(|bytes| [ArrayRef { dtype: DType::F32, shape: from, bytes }]).collect();
    let mut made: Vec<[ArrayMut<'_>; 1]> =
        outputs.iter_mut().map(|bytes| [ArrayMut { dtype: DType::F32, shape: to, bytes }]).collect();
    let mut logs: Vec<fn(&Printed)> = inputs.iter().map(|_| (|_: &Printed| {}) as fn(&Printed)).collect();
    let mut args: Vec<Args<'_, '_>> = given
        .iter()
        .zip(&mut made)
        .zip(&mut logs)
        .map(|((inputs, outputs), log)| Args { inputs, outputs, scalars: &[], log })
        .collect();
    run(&binding, &mut args)?;
    let floats = |bytes: &Vec<u8>| bytes.chunks(4).map(|b| f32::from_ne_bytes([b[0], b[1], b[2], b[3]])).collect();
    Ok(outputs.iter().map(floats).collect())
}

fn binding(kernel: &Kernel, from: &[usize], to: &[usize]) -> Binding {
    let arrays = kernel.params.iter().map(|param| match (param.array().is_some(), param.is_output()) {
        (false, _) => vec![],
        (true, false) => from.to_vec(),
        (true, true) => to.to_vec(),
    });
    Binding { cores: 1, sizes: vec![], grid: vec![], arrays: arrays.collect() }
}

/// Of each device its number, in every element.
fn numbered(devices: usize, elements: usize) -> Vec<Vec<f32>> {
    (0..devices).map(|device| vec![device as f32; elements]).collect()
}

fn staged(launchable: impl Launchable) -> Kernel {
    launchable.stage(&[DType::F32]).unwrap()
}

/// Everyone gives its array to the right neighbour, of `N`.
#[tpu_kernel(grid())]
fn right<N: Dim>(
    #[hbm([8, 128])] x: Hbm<f32, 2>,
    #[hbm([8, 128])] o: HbmOut<f32, 2>,
    #[scratch] send: DmaSemaphore,
    #[scratch] receive: DmaSemaphore,
    #[scratch] ready: Barrier<7>,
) {
    let devices = N::size() as i32;
    let me = device_id();
    ready.signal_on((me + (devices - 1)) % devices, 1);
    ready.wait(1);
    copy_to_device((me + 1) % devices, x, o).start(send, receive).wait();
}

#[test]
fn case_42_right_permute_example() {
    for devices in [1, 2, 3, 4, 16] {
        let kernel = staged(right().n(devices));
        for seed in 0..20 {
            let got = run(&kernel, &[8, 128], &[8, 128], &numbered(devices, 1024), seed).unwrap();
            assert_eq!(checked(&kernel, &[8, 128], &[8, 128], &numbered(devices, 1024), seed), Ok(got.clone()));
            for (device, o) in got.iter().enumerate() {
                let left = (device + devices - 1) % devices;
                assert!(o.iter().all(|&v| v == left as f32), "{devices} devices, seed {seed}: device {device} has {}", o[0]);
            }
        }
    }
}

/// Blocks go round the ring until everyone has all of them: each hop copies what the hop before brought.
#[tpu_kernel(grid())]
fn gather<N: Dim>(
    #[hbm([8, 128])] x: Hbm<f32, 2>,
    #[hbm([8 * N, 128])] o: HbmOut<f32, 2>,
    #[scratch] own: DmaSemaphore,
    #[scratch] send: DmaSemaphore,
    #[scratch] receive: DmaSemaphore<(N,)>,
    #[scratch] ready: Barrier<3>,
) {
    let devices = N::size() as i32;
    let me = device_id();
    ready.signal_on((me + (devices - 1)) % devices, 1);
    ready.wait(1);
    copy(x.view::<(D<8>, D<128>)>((0, 0)), o.view::<(D<8>, D<128>)>((8 * me, 0))).start(own).wait();
    for hop in 0..devices - 1 {
        let block = (me + (devices - hop)) % devices;
        let part = o.view::<(D<8>, D<128>)>((8 * block, 0));
        let coming = (block + (devices - 1)) % devices;
        copy_to_device((me + 1) % devices, part, part).start(send, receive.at(block)).wait_send().leave();
        let arrived = o.view::<(D<8>, D<128>)>((8 * coming, 0));
        copy(arrived, arrived).finish(receive.at(coming));
    }
}

#[test]
fn case_42_all_gather_example() {
    for devices in [2, 4, 5] {
        let kernel = staged(gather().n(devices));
        for seed in 0..20 {
            let got = run(&kernel, &[8, 128], &[8 * devices, 128], &numbered(devices, 1024), seed).unwrap();
            assert_eq!(checked(&kernel, &[8, 128], &[8 * devices, 128], &numbered(devices, 1024), seed), Ok(got.clone()));
            let want: Vec<f32> = (0..devices).flat_map(|device| [device as f32; 1024]).collect();
            assert!(got.iter().all(|o| *o == want), "{devices} devices, seed {seed}");
        }
    }
}

/// Each adds what its left neighbour has passed on, around the ring, through VMEM; a signal back says that the buffer is free again.
#[tpu_kernel(grid())]
fn all_sum<N: Dim>(
    #[hbm([8, 128])] x: Hbm<f32, 2>,
    #[hbm([8, 128])] o: HbmOut<f32, 2>,
    #[scratch] mut sum: Vmem<f32, (D<8>, D<128>)>,
    #[scratch] passed: Vmem<f32, (D<8>, D<128>)>,
    #[scratch] coming: Vmem<f32, (D<8>, D<128>)>,
    #[scratch] own: DmaSemaphore,
    #[scratch] send: DmaSemaphore,
    #[scratch] receive: DmaSemaphore,
    #[scratch] free: Barrier<4>,
) {
    let devices = N::size() as i32;
    let me = device_id();
    let (left, right) = ((me + (devices - 1)) % devices, (me + 1) % devices);
    copy(x.view::<(D<8>, D<128>)>((0, 0)), sum).start(own).wait();
    passed.store(sum.load());
    for _hop in 0..devices - 1 {
        free.signal_on(left, 1);
        free.wait(1);
        copy_to_device(right, passed, coming).start(send, receive).wait();
        passed.store(coming.load());
        sum += coming.load();
    }
    copy(sum, o.view::<(D<8>, D<128>)>((0, 0))).start(own).wait();
}

#[test]
fn case_42_all_reduce_sum_example() {
    for devices in [2, 3, 4] {
        let kernel = staged(all_sum().n(devices));
        let inputs: Vec<Vec<f32>> =
            (0..devices).map(|device| (0..1024).map(|at| (at % 97 + 100 * device) as f32).collect()).collect();
        let want: Vec<f32> = (0..1024).map(|at| inputs.iter().map(|x| x[at]).sum()).collect();
        for seed in 0..20 {
            let got = run(&kernel, &[8, 128], &[8, 128], &inputs, seed).unwrap();
            assert_eq!(checked(&kernel, &[8, 128], &[8, 128], &inputs, seed), Ok(got.clone()));
            assert!(got.iter().all(|o| *o == want), "{devices} devices, seed {seed}");
        }
    }
}

/// Alone, a device is number 0, and there is no other.
#[test]
fn a_device_alone_is_number_0() {
    let text = "kernel @k() {
  in %a: hbm<?x?xf32> = [8, 128]
  out %o: hbm<?x?xf32> = [8, 128]
  scratch %send: semaphore<dma>
  scratch %receive: semaphore<dma>
  scratch %ready: semaphore<barrier0>
  body {
    %0 = device_id : i32
    %1 = const TO : i32
    %2 = add %0, %1 : i32
    %3 = const 1 : i32
    semaphore_signal %ready, %3, %2
    semaphore_wait %ready, %3
    remote_dma_start %a, %o, %receive, %send, %2
    dma_wait %a, %o, %send
    dma_wait %a, %o, %receive
  }
}
";
    for (to, code) in [("0", None), ("1", Some("R023")), ("-1", Some("R023"))] {
        let kernel = parse(&text.replace("TO", to)).unwrap();
        verify(&kernel).unwrap();
        let binding = binding(&kernel, &[8, 128], &[8, 128]);
        let exe = Executable::compile(&kernel).unwrap();
        for interpreted in [true, false] {
            let from: Vec<u8> = vec![7; 4096];
            let mut to = vec![0; 4096];
            let inputs = [ArrayRef { dtype: DType::F32, shape: &[8, 128], bytes: &from }];
            let mut outputs = [ArrayMut { dtype: DType::F32, shape: &[8, 128], bytes: &mut to }];
            let mut args = Args { inputs: &inputs, outputs: &mut outputs, scalars: &[], log: &mut |_| {} };
            let got = if interpreted { interpret::run(&kernel, &binding, &mut args) } else { exe.run(&binding, &mut args) };
            assert_eq!(got.as_ref().err().map(RunError::code), code, "{got:?}");
            assert!(code.is_some() || from == to);
        }
    }
}

fn barrier_kernel(body: &str) -> Kernel {
    let text = format!(
        "kernel @k() {{
  in %x: hbm<?xf32> = [8]
  out %o: hbm<?xf32> = [8]
  scratch %copy: semaphore<dma>
  scratch %sem: semaphore<regular>
  scratch %ready: semaphore<barrier0>
  body {{
    dma_start %x, %o, %copy
    dma_wait %x, %o, %copy
    %me = device_id : i32
    %zero = const 0 : i32
    %one = const 1 : i32
    %first = eq %me, %zero : bool
{body}
  }}
}}
"
    );
    parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn a_deadlock_says_who_waits_for_what() {
    // Device 1 never comes to the barrier, and waits for something else.
    let kernel = barrier_kernel(
        "    if %first {
      semaphore_wait %ready, %one
    } else {
      %three = const 3 : i32
      semaphore_wait %sem, %three
    }",
    );
    for seed in 0..20 {
        for by in [run, checked] {
            let error = by(&kernel, &[8], &[8], &numbered(3, 8), seed).unwrap_err();
            assert_eq!(error.code(), "R024");
            assert_eq!(
                error.to_string(),
                "deadlock of 3 devices: device 0 waits for 1 on semaphore `ready`, which has 0, at grid step []; \
                 device 1 waits for 3 on semaphore `sem`, which has 0, at grid step []; \
                 device 2 waits for 3 on semaphore `sem`, which has 0, at grid step []"
            );
        }
    }
}

#[test]
fn case_43_that_barrier_does_not_hang_after_exception() {
    // Device 0 fails before the barrier at which the others wait.
    let kernel = barrier_kernel(
        "    if %first {
      %no = const false : bool
      check \"it fails here\", %no
    }
    semaphore_wait %ready, %one",
    );
    for seed in 0..20 {
        for by in [run, checked] {
            let error = by(&kernel, &[8], &[8], &numbered(4, 8), seed).unwrap_err();
            assert_eq!(error.code(), "R008", "{error}");
            assert!(error.to_string().ends_with("on device 0"), "{error}");
        }
    }
    // And a run after it finds everything as new.
    let kernel = barrier_kernel("    semaphore_signal %ready, %one, %me\n    semaphore_wait %ready, %one");
    assert_eq!(run(&kernel, &[8], &[8], &numbered(4, 8), 1).unwrap(), numbered(4, 8));
}

#[test]
fn a_semaphore_that_another_device_leaves_is_named_with_the_device() {
    let kernel = barrier_kernel("    semaphore_signal %ready, %one, %zero");
    let error = run(&kernel, &[8], &[8], &numbered(2, 8), 0).unwrap_err();
    assert_eq!(error.to_string(), "semaphore `ready` ends with 2, and must end with 0, on device 0");
    // A number that no device has.
    let kernel = barrier_kernel("    %far = const 2 : i32\n    semaphore_signal %ready, %one, %far");
    assert_eq!(run(&kernel, &[8], &[8], &numbered(2, 8), 0).unwrap_err().code(), "R023");
}

/// Who asks a semaphore again and again, and waits for nothing, ends where another fails, and where the log of another panics.
#[test]
fn who_only_asks_ends_with_the_others() {
    let body = |ends: &str| {
        format!(
            "    if %first {{
      semaphore_wait %ready, %one
{ends}
    }} else {{
      semaphore_signal %ready, %one, %zero
      while {{
        %found = semaphore_read %sem : i32
        %more = lt %found, %one : bool
        yield %more
      }} do {{
      }}
    }}"
        )
    };
    let fails = barrier_kernel(&body("      %no = const false : bool\n      check \"it fails here\", %no"));
    for seed in 0..20 {
        for by in [run, checked] {
            let error = by(&fails, &[8], &[8], &numbered(2, 8), seed).unwrap_err();
            assert_eq!(error.code(), "R008", "{error}");
            assert!(error.to_string().ends_with("on device 0"), "{error}");
        }
    }
    let prints = barrier_kernel(&body("      print \"hello\""));
    for is_checked in [false, true] {
        let caught = std::panic::catch_unwind(|| logged(&prints, is_checked, &mut |_| panic!("the log is full")));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"the log is full"));
    }
}

/// Whoever takes messages has the stack of the thread: as much as nobody knows.
#[test]
fn the_log_may_need_a_deep_stack() {
    fn deep(levels: usize) -> u8 {
        let held = std::hint::black_box([levels as u8; 1 << 16]);
        if levels == 0 { 0 } else { deep(levels - 1).wrapping_add(std::hint::black_box(&held)[levels]) }
    }
    let kernel = barrier_kernel("    print \"hello\"");
    for is_checked in [false, true] {
        let mut printed = 0;
        let thread = std::thread::Builder::new().stack_size(16 << 20);
        let mut log = |_: &Printed| printed += usize::from(deep(64) > 0);
        std::thread::scope(|scope| {
            thread.spawn_scoped(scope, || logged(&kernel, is_checked, &mut log)).unwrap().join().unwrap().unwrap();
        });
        assert_eq!(printed, 2, "checked: {is_checked}");
    }
}

/// Runs it on two devices of which each has the log.
fn logged(kernel: &Kernel, is_checked: bool, log: &mut (dyn FnMut(&Printed) + Send)) -> Result<(), RunError> {
    let log = std::cell::RefCell::new(log);
    let binding = binding(kernel, &[8], &[8]);
    let from = vec![0; 32];
    let [mut a, mut b] = [vec![0; 32], vec![0; 32]];
    let inputs = [ArrayRef { dtype: DType::F32, shape: &[8], bytes: &from }];
    let mut first = [ArrayMut { dtype: DType::F32, shape: &[8], bytes: &mut a }];
    let mut second = [ArrayMut { dtype: DType::F32, shape: &[8], bytes: &mut b }];
    let (mut to_first, mut to_second) = (|p: &Printed| (*log.borrow_mut())(p), |p: &Printed| (*log.borrow_mut())(p));
    let mut devices = [
        Args { inputs: &inputs, outputs: &mut first, scalars: &[], log: &mut to_first },
        Args { inputs: &inputs, outputs: &mut second, scalars: &[], log: &mut to_second },
    ];
    match is_checked {
        false => Executable::compile(kernel).unwrap().run_mesh(&binding, &mut devices, 0),
        true => CheckedExecutable::compile(kernel).unwrap().run_mesh(&binding, &mut devices, 1.into()),
    }
}

/// What a panicking log ends goes on as that panic, and ends the devices that wait.
#[test]
fn a_panic_of_the_log_ends_all() {
    let kernel = barrier_kernel("    if %first {\n      print \"hello\"\n    }\n    semaphore_wait %ready, %one");
    for is_checked in [false, true] {
        let caught = std::panic::catch_unwind(|| logged(&kernel, is_checked, &mut |_| panic!("the log is full")));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"the log is full"));
    }
}

/// Random signals and waits of four devices, in half of the programs as many of both: each run ends, with everything at 0, with what is
/// left, or with who waits.
#[test]
fn random_programs_of_semaphores_never_hang() {
    let mut state = 1u64;
    let mut below = |n: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % n
    };
    let mut seen = std::collections::BTreeMap::<String, usize>::new();
    for program in 0..150 {
        let mut bodies = vec![String::new(); 4];
        for name in 0..2 + below(8) {
            let (semaphore, count) = (["%sem", "%ready"][below(2) as usize], 1 + below(2));
            let (from, to, kept) = (below(4), below(4), program % 2 == 0 || below(4) > 0);
            bodies[from as usize] += &format!(
                "      %n{name} = const {count} : i32\n      %o{name} = const {to} : i32\n      semaphore_signal {semaphore}, %n{name}, %o{name}\n"
            );
            if kept {
                bodies[to as usize] +=
                    &format!("      %w{name} = const {count} : i32\n      semaphore_wait {semaphore}, %w{name}\n");
            }
            if program % 4 == 1 {
                bodies[below(4) as usize] += &format!("      %m{name} = const 1 : i32\n      semaphore_wait %sem, %m{name}\n");
            }
        }
        let branch = |(device, body): (usize, &String)| {
            format!(
                "    %d{device} = const {device} : i32\n    %c{device} = eq %me, %d{device} : bool\n    if %c{device} {{\n{body}    }}\n"
            )
        };
        let kernel = barrier_kernel(&bodies.iter().enumerate().map(branch).collect::<String>());
        for seed in 0..20 {
            for by in [run, checked] {
                let end = match by(&kernel, &[8], &[8], &numbered(4, 8), seed) {
                    Ok(_) => "ends".to_string(),
                    Err(error) => error.code().to_string(),
                };
                *seen.entry(end).or_default() += 1;
            }
        }
    }
    assert_eq!(seen.values().sum::<usize>(), 6000);
    assert_eq!(seen.keys().map(String::as_str).collect::<Vec<_>>(), ["R012", "R020", "R024", "ends"], "{seen:?}");
}

/// Two devices that wait for each other 100,000 times.
#[test]
fn many_waits_end() {
    let kernel = barrier_kernel(
        "    %turns = const 100000 : i32
    %other = sub %one, %me : i32
    for %i = %zero to %turns step %one {
      semaphore_signal %ready, %one, %other
      semaphore_wait %ready, %one
    }",
    );
    assert_eq!(run(&kernel, &[8], &[8], &numbered(2, 8), 0).unwrap(), numbered(2, 8));
}

/// What is printed of these kernels compiles for every chip, with a device assignment.
#[test]
fn libtpu_takes_copies_and_signals_to_devices() {
    let array = (DType::F32, vec![8, 128]);
    compiles(env!("CARGO_BIN_EXE_worker"), &right().n(4), std::slice::from_ref(&array));
    compiles(env!("CARGO_BIN_EXE_worker"), &gather().n(4), &[array]);
}
