//! Random copies of parts: of what the legaliser takes, the interpreter gives the same on the legalised kernel, and libtpu takes
//! the text. `RANDOM_COPIES` and `RANDOM_COPIES_FROM` choose the seeds; `LIBTPU_PATH` names libtpu.so.

use std::collections::BTreeMap;
use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{DType, Kernel, Literal, parse};
use tpu_kernel::launch::{Binding, Config, bind};
use tpu_kernel::passes::verify;
use tpu_kernel::{mosaic, passes};
use tpu_tests::executors::{Array, same};
use tpu_tests::generate::Rng;
use tpu_tests::legalised::{Original, forms};
use tpu_tests::libtpu::{accepted, judge, library};

const TYPES: [DType; 8] = [DType::F32, DType::I32, DType::Bf16, DType::F16, DType::I8, DType::F8E5M2, DType::Bool, DType::I4];

/// One dimension of an array, of a buffer, and of the part of both that is copied.
struct Dim {
    array: usize,
    buffer: usize,
    part: usize,
    /// Where the part begins: a number, or the launch's number times one.
    array_at: Start,
    buffer_at: Start,
}

#[derive(Clone, Copy)]
enum Start {
    At(usize),
    Times(usize),
}

/// The number of the launch.
const N: usize = 1;

/// A start that leaves room for the part.
fn start(rng: &mut Rng, room: usize) -> Start {
    let multiple = rng.pick(&[1, 1, 8, 16, 32, 128, 1024]);
    match rng.below(3) {
        0 => Start::At(0),
        1 => Start::At(rng.below(room / multiple + 1) * multiple),
        _ if multiple * N <= room => Start::Times(multiple),
        _ => Start::At(0),
    }
}

fn dim(rng: &mut Rng, from_last: usize, rank: usize) -> Dim {
    let part = match (from_last, rank) {
        (0, 1) => rng.pick(&[128, 1024, 2048, 100]),
        (0, _) => rng.pick(&[128, 128, 128, 256, 100, 1]),
        (1, _) => rng.pick(&[1, 7, 8, 8, 16, 32, 40, 64]),
        _ => rng.pick(&[1, 1, 2, 3]),
    };
    let mut room = || if rng.chance(40) { 0 } else { rng.pick(&[1, 8, 32, 128, 1024]).min(if from_last > 1 { 3 } else { 1024 }) };
    let (a, b) = (room(), room());
    Dim { array: part + a, buffer: part + b, part, array_at: start(rng, a), buffer_at: start(rng, b) }
}

fn sizes(dims: &[Dim], f: impl Fn(&Dim) -> usize) -> String {
    dims.iter().map(|d| format!("{}x", f(d))).collect()
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

/// A kernel that copies a part of an array to a part of a buffer, in memory of its own, and that part back to another array.
fn program(seed: u64) -> (DType, Vec<usize>, String) {
    let mut rng = Rng::new(seed);
    let dtype = rng.pick(&TYPES);
    let rank = 1 + rng.below(3);
    let dims: Vec<Dim> = (0..rank).map(|axis| dim(&mut rng, rank - 1 - axis, rank)).collect();
    let space = if rng.chance(20) && dims.iter().map(|d| d.buffer).product::<usize>() < 1 << 14 { "smem" } else { "vmem" };
    let squeezed: Vec<usize> =
        (0..rank).filter(|&axis| dims[axis].part == 1 && rank > 1 && rng.chance(60)).take(rank - 1).collect();
    let rows = if rng.chance(25) { rng.pick(&[1, 8, 32, 128, 1024]) } else { 0 };
    let first = (0..rank).find(|axis| !squeezed.contains(axis)).unwrap_or(0);
    let rows = if rows * N <= dims[first].part { rows } else { 0 };

    let name = |at: Start| match at {
        Start::At(n) => format!("%c{n}"),
        Start::Times(n) => format!("%t{n}"),
    };
    let mut numbers: BTreeMap<String, String> = BTreeMap::new();
    let starts = dims.iter().flat_map(|d| [d.array_at, d.buffer_at]).chain((rows > 0).then_some(Start::Times(rows)));
    for at in starts {
        let (Start::At(n) | Start::Times(n)) = at;
        numbers.insert(format!("%c{n}"), format!("    %c{n} = const {n} : i32\n"));
        if let Start::Times(n) = at {
            numbers.insert(format!("%t{n}"), format!("    %t{n} = mul %n, %c{n} : i32\n"));
        }
    }
    let numbers: String = numbers.into_values().collect();
    let array = list(dims.iter().map(|d| d.array.to_string()));
    let part = sizes(&dims, |d| d.part);
    let kept: Vec<&Dim> = dims.iter().enumerate().filter(|(axis, _)| !squeezed.contains(axis)).map(|(_, d)| d).collect();
    let short: String = kept.iter().map(|d| format!("{}x", d.part)).collect();
    let [at, room] = [list(dims.iter().map(|d| name(d.array_at))), list(dims.iter().map(|d| name(d.buffer_at)))];
    let view = |name: &str, of: &str, space: &str, at: &str| {
        let view = format!("    %{name}0 = view %{of}[{at}] : {space}<{part}{dtype}>\n");
        match squeezed.is_empty() {
            true => view.replace(&format!("%{name}0"), &format!("%{name}")),
            false => {
                let axes = list(squeezed.iter().map(usize::to_string));
                view + &format!("    %{name} = view_squeezed %{name}0 axes [{axes}] : {space}<{short}{dtype}>\n")
            }
        }
    };
    let limit = if rows > 0 { format!(", %t{rows}") } else { String::new() };
    let unknown = "?x".repeat(rank);
    let text = format!(
        "kernel @k() {{
  scalar %n: i32
  in %x: hbm<{unknown}{dtype}> = [{array}]
  out %o: hbm<{unknown}{dtype}> = [{array}]
  scratch %buf: {space}<{}{dtype}>
  scratch %sem: semaphore<dma>
  body {{
{numbers}    dma_start %x, %o, %sem
    dma_wait %x, %o, %sem
{}{}{}    dma_start %from, %room, %sem{limit}
    dma_wait %from, %room, %sem{limit}
    dma_start %room, %to, %sem{limit} priority 1
    dma_wait %room, %to, %sem{limit}
  }}
}}
",
        sizes(&dims, |d| d.buffer),
        view("from", "x", "hbm", &at),
        view("room", "buf", space, &room),
        view("to", "o", "hbm", &at),
    );
    (dtype, dims.iter().map(|d| d.array).collect(), text)
}

struct Case {
    seed: u64,
    kernel: Kernel,
    binding: Binding,
    inputs: Vec<Array>,
}

fn case(seed: u64) -> Case {
    let (dtype, shape, text) = program(seed);
    let mut kernel = parse(&text).unwrap_or_else(|e| panic!("{seed}: {e}\n{text}"));
    verify(&kernel).unwrap_or_else(|e| panic!("{seed}: {e:?}\n{text}"));
    passes::canonicalise(&mut kernel);
    let binding =
        bind(&kernel, &Chip::V5E, &[(dtype, shape.clone())], &Config::default()).unwrap_or_else(|e| panic!("{seed}: {e}\n{text}"));
    let mut rng = Rng::new(seed);
    let input = Array::new(dtype, &shape, (0..shape.iter().product()).map(|_| rng.literal(dtype, 5)));
    Case { seed, kernel, binding, inputs: vec![input] }
}

#[test]
fn random_copies_keep_their_numbers_and_compile() {
    let number = |name: &str, otherwise: u64| std::env::var(name).map_or(otherwise, |n| n.parse().expect("a number"));
    let (first, count) = (number("RANDOM_COPIES_FROM", 0), number("RANDOM_COPIES", 60));
    let cases: Vec<Case> = (first..first + count).map(case).collect();
    let scalars = [Literal::from(N as i32)];
    for case in &cases {
        let original = Original::run(&case.kernel, &case.binding, &case.inputs, &scalars);
        original.outputs().unwrap_or_else(|e| panic!("{}: {e}\n{}", case.seed, case.kernel));
        let (legal, refusals) = forms(&case.kernel);
        let codes: Vec<&str> = refusals.iter().map(|r| r.code()).collect();
        assert!(codes.iter().all(|c| ["M010", "M011", "M012", "M013"].contains(c)), "{}: {refusals:?}", case.seed);
        for (form, chips) in legal {
            let exact = |_: usize, _: usize, want, got| same(want, got);
            original.against(&form, &exact).unwrap_or_else(|e| panic!("{} on {chips:?}: {e}", case.seed));
        }
    }
    for chip in Chip::ALL {
        let printed = cases.iter().filter_map(|c| Some((c, mosaic::stablehlo(&c.kernel, &c.binding, chip).ok()?)));
        let (printed, programs): (Vec<&Case>, Vec<String>) = printed.unzip();
        assert!(printed.len() as u64 * 5 > count, "only {} of {count} have a text on {}", printed.len(), chip.name);
        let Some(library) = library() else { continue };
        let verdicts = judge(env!("CARGO_BIN_EXE_worker"), &library, chip, programs);
        let refused: Vec<String> = printed
            .iter()
            .zip(&verdicts)
            .filter(|(_, verdict)| !accepted(verdict))
            .map(|(case, verdict)| format!("{}: {verdict:?}\n{}", case.seed, case.kernel))
            .collect();
        assert!(refused.is_empty(), "{} of {} on {}:\n{}", refused.len(), printed.len(), chip.name, refused.join("\n"));
    }
}
