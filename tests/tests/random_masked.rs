//! Random loads and stores under masks, with parts outside of the memory: lists say what they leave, both executors and the legalised
//! kernel agree with them, and libtpu takes the text. `RANDOM_MASKED` and `RANDOM_MASKED_FROM` choose the seeds.

use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{DType, Kernel, Literal, parse};
use tpu_kernel::launch::{Binding, Config, bind};
use tpu_kernel::{mosaic, passes};
use tpu_tests::executors::{Array, EXECUTORS, run, same};
use tpu_tests::generate::Rng;
use tpu_tests::legalised::{Original, forms};
use tpu_tests::libtpu::{accepted, judge, library};

const TYPES: [DType; 6] = [DType::F32, DType::I32, DType::Bf16, DType::F16, DType::I8, DType::Bool];

struct Case {
    seed: u64,
    kernel: Kernel,
    binding: Binding,
    inputs: Vec<Array>,
    scalars: Vec<Literal>,
    outputs: Vec<Array>,
}

/// `o = x under the mask, else y`, and `p = y` with that stored under the mask: from two places, of which one is a constant or not.
fn case(seed: u64) -> Case {
    let mut rng = Rng::new(seed);
    let dtype = rng.pick(&TYPES);
    let memory = [rng.pick(&[8, 16, 11]), rng.pick(&[128, 256, 130])];
    let part = [rng.pick(&[8, 3, 16]), rng.pick(&[128, 100, 256])];
    let start = memory.map(|extent| match rng.below(4) {
        0 => 0,
        1 => -(rng.below(12) as i32),
        2 => rng.below(extent) as i32,
        _ => rng.pick(&[i32::MIN, i32::MAX, extent as i32, 1]),
    });
    // A chip masks what lies inside; so do these masks, and leave out some more.
    let every = 1 + rng.below(3) as i32;
    let constant = [rng.chance(30), rng.chance(30)];
    let begin = |axis: usize, name: &str| match constant[axis] {
        true => format!("%{name} = const {} : i32", start[axis]),
        false => format!("%{name} = add %{}, %z : i32", ["at", "to"][axis]),
    };
    let (m, p) = (format!("{}x{}", memory[0], memory[1]), format!("{}x{}", part[0], part[1]));
    let text = format!(
        "kernel @k() {{
  scalar %at: i32
  scalar %to: i32
  in %x: vmem<{m}x{dtype}> = [{m0}, {m1}] blocks [{m0}, {m1}] at () {{
    %a = const 0 : i32
    yield %a, %a
  }}
  in %y: vmem<{p}x{dtype}> = [{p0}, {p1}] blocks [{p0}, {p1}] at () {{
    %b = const 0 : i32
    yield %b, %b
  }}
  out %o: vmem<{p}x{dtype}> = [{p0}, {p1}] blocks [{p0}, {p1}] at () {{
    %d = const 0 : i32
    yield %d, %d
  }}
  out %p: vmem<{m}x{dtype}> = [{m0}, {m1}] blocks [{m0}, {m1}] at () {{
    %e = const 0 : i32
    yield %e, %e
  }}
  body {{
    %z = const 0 : i32
    {row}
    {column}
    %zeros = broadcast %z : tile<{p}xi32>
    %i = iota axis 0 : tile<{p}xi32>
    %j = iota axis 1 : tile<{p}xi32>
    %rows = broadcast %r : tile<{p}xi32>
    %columns = broadcast %c : tile<{p}xi32>
    %u = add %i, %rows : tile<{p}xi32>
    %v = add %j, %columns : tile<{p}xi32>
    %m0 = const {m0} : i32
    %m1 = const {m1} : i32
    %ends0 = broadcast %m0 : tile<{p}xi32>
    %ends1 = broadcast %m1 : tile<{p}xi32>
    %n = const {every} : i32
    %ns = broadcast %n : tile<{p}xi32>
    %q0 = ge %u, %zeros : tile<{p}xbool>
    %q1 = lt %u, %ends0 : tile<{p}xbool>
    %q2 = ge %v, %zeros : tile<{p}xbool>
    %q3 = lt %v, %ends1 : tile<{p}xbool>
    %w = rem %j, %ns : tile<{p}xi32>
    %q4 = eq %w, %zeros : tile<{p}xbool>
    %a0 = and %q0, %q1 : tile<{p}xbool>
    %a1 = and %q2, %q3 : tile<{p}xbool>
    %a2 = and %a0, %a1 : tile<{p}xbool>
    %mask = and %a2, %q4 : tile<{p}xbool>
    %other = load %y[%z, %z] : tile<{p}x{dtype}>
    %t = load_masked %x[%r, %c] where %mask else %other : tile<{p}x{dtype}>
    store %t, %o[%z, %z]
    %all = load %x[%z, %z] : tile<{m}x{dtype}>
    store %all, %p[%z, %z]
    store_masked %other, %p[%r, %c] where %mask
  }}
}}
",
        row = begin(0, "r"),
        column = begin(1, "c"),
        m0 = memory[0],
        m1 = memory[1],
        p0 = part[0],
        p1 = part[1],
    );
    let kernel = parse(&text).unwrap_or_else(|e| panic!("{seed}: {e}\n{text}"));
    passes::verify(&kernel).unwrap_or_else(|e| panic!("{seed}: {e:?}\n{text}"));
    let arrays = [(dtype, memory.to_vec()), (dtype, part.to_vec())];
    let binding = bind(&kernel, &Chip::V5E, &arrays, &Config::default()).unwrap_or_else(|e| panic!("{seed}: {e}\n{text}"));
    let [x, y] = [memory, part].map(|shape| (0..shape[0] * shape[1]).map(|_| rng.literal(dtype, 5)).collect::<Vec<_>>());
    let (mut o, mut q) = (y.clone(), x.clone());
    for row in 0..part[0] {
        for column in (0..part[1]).step_by(every as usize) {
            // As 32 bits wrap; a place that wraps into the memory is one of its elements.
            let place = [start[0].wrapping_add(row as i32), start[1].wrapping_add(column as i32)];
            let exact = [i64::from(start[0]) + row as i64, i64::from(start[1]) + column as i64];
            let inside = (0..2).all(|axis| (0..memory[axis] as i64).contains(&exact[axis]));
            assert!(inside || !(0..2).all(|axis| (0..memory[axis] as i32).contains(&place[axis])));
            if inside {
                let at = exact[0] as usize * memory[1] + exact[1] as usize;
                o[row * part[1] + column] = x[at];
                q[at] = y[row * part[1] + column];
            }
        }
    }
    Case {
        seed,
        kernel,
        binding,
        inputs: vec![Array::new(dtype, &memory, x), Array::new(dtype, &part, y)],
        scalars: start.map(Literal::from).to_vec(),
        outputs: vec![Array::new(dtype, &part, o), Array::new(dtype, &memory, q)],
    }
}

#[test]
fn random_masked_accesses_are_those_of_lists() {
    let number = |name: &str, otherwise: u64| std::env::var(name).map_or(otherwise, |n| n.parse().expect("a number"));
    let (first, count) = (number("RANDOM_MASKED_FROM", 0), number("RANDOM_MASKED", 40));
    let cases: Vec<Case> = (first..first + count).map(case).collect();
    for case in &cases {
        for executor in EXECUTORS {
            let compiled = (executor.compile)(&case.kernel).unwrap_or_else(|e| panic!("{}: {e}", case.seed));
            let got = run(&case.kernel, &compiled, &case.binding, &case.inputs, &case.scalars)
                .unwrap_or_else(|e| panic!("{} by the {}: {e}\n{}", case.seed, executor.name, case.kernel));
            for (want, got) in case.outputs.iter().zip(&got) {
                let differs = want.elements().zip(got.elements()).position(|(a, b)| !same(a, b));
                assert_eq!(differs, None, "{} by the {}:\n{}", case.seed, executor.name, case.kernel);
            }
        }
        let original = Original::run(&case.kernel, &case.binding, &case.inputs, &case.scalars);
        let (legal, refusals) = forms(&case.kernel);
        assert!(refusals.is_empty(), "{}: {refusals:?}\n{}", case.seed, case.kernel);
        for (form, chips) in legal {
            let exact = |_: usize, _: usize, want, got| same(want, got);
            original.against(&form, &exact).unwrap_or_else(|e| panic!("{} on {chips:?}: {e}\n{}", case.seed, case.kernel));
        }
    }
    for chip in Chip::ALL {
        let printed: Vec<(u64, String)> = cases
            .iter()
            .map(|case| {
                (case.seed, mosaic::stablehlo(&case.kernel, &case.binding, chip).unwrap_or_else(|e| panic!("{}: {e}", case.seed)))
            })
            .collect();
        let Some(library) = library() else { continue };
        let verdicts = judge(env!("CARGO_BIN_EXE_worker"), &library, chip, printed.iter().map(|(_, text)| text.clone()).collect());
        let refused: Vec<String> = printed
            .iter()
            .zip(&verdicts)
            .filter(|(_, verdict)| !accepted(verdict))
            .map(|((seed, _), verdict)| format!("{seed}: {verdict:?}"))
            .collect();
        assert!(refused.is_empty(), "{} of {} on {}:\n{}", refused.len(), printed.len(), chip.name, refused.join("\n"));
    }
}
