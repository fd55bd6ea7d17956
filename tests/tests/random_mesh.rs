//! Random programs of copies between devices, in phases that a barrier of all keeps apart: what they compute hangs on no order, and a
//! checked run is silent; without the barriers between phases it says what races. In half of the programs each device has two cores,
//! which do the same with rows of their own, and wait for one another between phases.

use tpu_kernel::cranelift::Executable;
use tpu_kernel::cranelift::checked::CheckedExecutable;
use tpu_kernel::exec::{Args, ArrayMut, ArrayRef, Printed, RunError};
use tpu_kernel::ir::{DType, Kernel, parse};
use tpu_kernel::launch::Binding;
use tpu_kernel::passes::verify;

const BUFFERS: usize = 3;
/// Rows of a core's part of an array.
const ROWS: usize = 8 * BUFFERS;

/// A sequence of numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

/// One buffer of a device to one of another.
#[derive(Clone, Copy)]
struct Move {
    from: (usize, usize),
    to: (usize, usize),
}

/// Copies of which no two touch one buffer.
fn phase(numbers: &mut Numbers, devices: usize) -> Vec<Move> {
    let mut free: Vec<(usize, usize)> = (0..devices).flat_map(|device| (0..BUFFERS).map(move |buffer| (device, buffer))).collect();
    let mut moves = vec![];
    while free.len() > 1 && numbers.below(5) > 0 {
        let from = free.swap_remove(numbers.below(free.len()));
        let to = free.swap_remove(numbers.below(free.len()));
        moves.push(Move { from, to });
    }
    moves
}

/// The kernel: each device fills its buffers with the first rows of its input, and gives them back in the end.
fn kernel(devices: usize, cores: usize, phases: &[Vec<Move>], barriers: bool) -> Kernel {
    let copies: usize = phases.iter().map(Vec::len).sum::<usize>().max(1);
    let grid = if cores > 1 { format!("  grid c = {cores} core_parallel\n") } else { String::new() };
    let rows = cores * ROWS;
    let mut text = format!("kernel @k() {{\n{grid}  in %x: hbm<?x?xf32> = [{rows}, 128]\n  out %o: hbm<?x?xf32> = [{rows}, 128]\n");
    for buffer in 0..BUFFERS {
        text += &format!("  scratch %b{buffer}: vmem<8x128xf32>\n");
    }
    text += &format!("  scratch %local: semaphore<dma>\n  scratch %send: semaphore<{copies}xdma>\n");
    text += &format!("  scratch %receive: semaphore<{copies}xdma>\n  scratch %first: semaphore<barrier2>\n");
    text += "  scratch %turn: semaphore<regular>\n";
    text += &format!("  scratch %between: semaphore<{}xregular>\n  body {{\n    %me = device_id : i32\n", phases.len());
    let mut names = 0;
    let mut name = || {
        names += 1;
        names
    };
    for n in 0..copies.max(devices).max(phases.len()).max(BUFFERS * 8 + 1) {
        text += &format!("    %c{n} = const {n} : i32\n");
    }
    text += &match cores {
        1 => "    %first_row = const 0 : i32\n".to_string(),
        _ => format!(
            "    %core = program_id 0 : i32\n    %other_core = sub %c1, %core : i32\n    %rows = const {ROWS} : i32\n    %first_row = mul %core, %rows : i32\n"
        ),
    };
    let local = |buffer: usize, out: bool, view: usize| {
        let row = 8 * buffer;
        let array = if out { "%o" } else { "%x" };
        let (from, to) =
            if out { (format!("%b{buffer}"), format!("%v{view}")) } else { (format!("%v{view}"), format!("%b{buffer}")) };
        format!(
            "    %a{view} = add %first_row, %c{row} : i32\n    %v{view} = view {array}[%a{view}, %c0] : hbm<8x128xf32>\n    dma_start {from}, {to}, %local\n    dma_wait {from}, {to}, %local\n"
        )
    };
    for buffer in 0..BUFFERS {
        text += &local(buffer, false, name());
    }
    let barrier = |semaphore: &str, name: &mut dyn FnMut() -> usize| {
        let mut text = String::new();
        for device in 0..devices {
            let n = name();
            text += &format!(
                "    %n{n} = ne %me, %c{device} : bool\n    if %n{n} {{\n      semaphore_signal {semaphore}, %c1, %c{device}\n    }}\n"
            );
        }
        text + &format!("    semaphore_wait {semaphore}, %c{}\n", devices - 1)
    };
    text += &barrier("%first", &mut name);
    let mut copy = 0;
    for (at, moves) in phases.iter().enumerate() {
        for &Move { from, to } in moves {
            let n = name();
            let [source, target] = [format!("%b{}", from.1), format!("%b{}", to.1)];
            text += &format!(
                "    %s{n} = semaphore_at %send[%c{copy}] : semaphore<dma>\n    %r{n} = semaphore_at %receive[%c{copy}] : semaphore<dma>\n"
            );
            text += &format!(
                "    %f{n} = eq %me, %c{} : bool\n    if %f{n} {{\n      remote_dma_start {source}, {target}, %r{n}, %s{n}, %c{}\n      dma_wait {source}, {target}, %s{n}\n    }}\n",
                from.0, to.0
            );
            text += &format!(
                "    %t{n} = eq %me, %c{} : bool\n    if %t{n} {{\n      dma_wait {source}, {target}, %r{n}\n    }}\n",
                to.0
            );
            copy += 1;
        }
        if cores > 1 {
            text += "    core_signal %turn, %c1, %other_core\n    semaphore_wait %turn, %c1\n";
        }
        // The last barrier stays: nobody comes to the next launch before.
        if barriers || at + 1 == phases.len() {
            let n = name();
            text += &format!("    %w{n} = semaphore_at %between[%c{at}] : semaphore<regular>\n");
            text += &barrier(&format!("%w{n}"), &mut name);
        }
    }
    for buffer in 0..BUFFERS {
        text += &local(buffer, true, name());
    }
    text += "  }\n}\n";
    let kernel = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&kernel).unwrap_or_else(|faults| panic!("{faults:?}\n{text}"));
    kernel
}

/// What each device has in its output, by core and buffer, where each buffer holds one value.
fn run(kernel: &Kernel, (devices, cores): (usize, usize), seed: u64, checked: bool) -> Result<Vec<Vec<f32>>, RunError> {
    let shape = [cores * ROWS, 128];
    let arrays = kernel.params.iter().map(|param| if param.array().is_some() { shape.to_vec() } else { vec![] });
    let binding = Binding { cores, sizes: vec![], grid: vec![cores as i32; kernel.grid.len()], arrays: arrays.collect() };
    let inputs: Vec<Vec<u8>> = (0..devices)
        .map(|device| {
            let value = |at: usize| (100 * (at / (1024 * BUFFERS)) + 10 * device + at / 1024 % BUFFERS) as f32;
            (0..1024 * BUFFERS * cores).flat_map(|at| value(at).to_ne_bytes()).collect()
        })
        .collect();
    let mut outputs: Vec<Vec<u8>> = inputs.iter().map(|bytes| vec![0; bytes.len()]).collect();
    let given: Vec<[ArrayRef<'_>; 1]> = inputs.iter().map(|bytes| [ArrayRef { dtype: DType::F32, shape: &shape, bytes }]).collect();
    let mut made: Vec<[ArrayMut<'_>; 1]> =
        outputs.iter_mut().map(|bytes| [ArrayMut { dtype: DType::F32, shape: &shape, bytes }]).collect();
    let mut logs: Vec<fn(&Printed)> = inputs.iter().map(|_| (|_: &Printed| {}) as fn(&Printed)).collect();
    let mut args: Vec<Args<'_, '_>> = given
        .iter()
        .zip(&mut made)
        .zip(&mut logs)
        .map(|((inputs, outputs), log)| Args { inputs, outputs, scalars: &[], log })
        .collect();
    match checked {
        true => CheckedExecutable::compile(kernel).unwrap().run_mesh(&binding, &mut args, seed.into())?,
        false => Executable::compile(kernel).unwrap().run_mesh(&binding, &mut args, seed)?,
    }
    let first = |bytes: &Vec<u8>| {
        (0..BUFFERS * cores).map(|buffer| f32::from_ne_bytes(std::array::from_fn(|i| bytes[buffer * 4096 + i]))).collect::<Vec<_>>()
    };
    Ok(outputs.iter().map(first).collect())
}

#[test]
fn phases_between_barriers_are_in_order_and_without_them_race() {
    let mut numbers = Numbers(7);
    let (mut found, mut clean) = (0, 0);
    for program in 0..40 {
        let devices = 2 + numbers.below(3);
        let phases: Vec<Vec<Move>> = (0..1 + numbers.below(4)).map(|_| phase(&mut numbers, devices)).collect();
        let mut want: Vec<Vec<f32>> =
            (0..devices).map(|device| (0..BUFFERS).map(|buffer| (10 * device + buffer) as f32).collect()).collect();
        for &Move { from, to } in phases.iter().flatten() {
            want[to.0][to.1] = want[from.0][from.1];
        }
        let cores = 1 + program % 2;
        for row in &mut want {
            *row = (0..cores).flat_map(|core| row.iter().map(move |value| value + 100.0 * core as f32)).collect();
        }
        let all = (devices, cores);
        let right = kernel(devices, cores, &phases, true);
        for seed in 0..5 {
            assert_eq!(run(&right, all, seed, false), Ok(want.clone()), "program {program}, seed {seed}\n{right}");
            assert_eq!(run(&right, all, seed, true), Ok(want.clone()), "program {program}, seed {seed}\n{right}");
        }
        let open = kernel(devices, cores, &phases, false);
        for seed in 0..5 {
            match run(&open, all, seed, true) {
                Ok(got) => {
                    clean += 1;
                    assert_eq!(got, want, "program {program}, seed {seed}: silent, and wrong\n{open}");
                }
                Err(error) => {
                    found += 1;
                    assert!(["R016", "R020"].contains(&error.code()), "program {program}, seed {seed}: {error}\n{open}");
                }
            }
        }
    }
    assert!(found > 20 && clean > 20, "{found} races, {clean} clean");
}
