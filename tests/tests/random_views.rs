//! Random loads and stores through views of views: the interpreter gives the same on the legalised kernel, in which the views are
//! gone, and libtpu takes the text. `RANDOM_VIEWS` and `RANDOM_VIEWS_FROM` choose the seeds; `LIBTPU_PATH` names libtpu.so.

use std::fmt::Write;
use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{DType, Kernel, Literal, OpKind, parse};
use tpu_kernel::launch::{Binding, Config, bind};
use tpu_kernel::{mosaic, passes};
use tpu_tests::executors::{Array, same};
use tpu_tests::generate::Rng;
use tpu_tests::legalised::{Original, forms};
use tpu_tests::libtpu::{accepted, judge, library};

const TYPES: [DType; 7] = [DType::F32, DType::U32, DType::Bf16, DType::F16, DType::I8, DType::F8E5M2, DType::Bool];

/// The number of the launch, which a start may be.
const N: usize = 3;

fn dims(sizes: &[usize]) -> String {
    sizes.iter().map(|n| format!("{n}x")).collect()
}

fn list<T: ToString>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

/// Text while it grows, with numbered values.
struct Text {
    body: String,
    next: usize,
}

impl Text {
    fn value(&mut self) -> String {
        self.next += 1;
        format!("%v{}", self.next)
    }

    fn number(&mut self, n: usize, rng: &mut Rng) -> String {
        if n == N && rng.chance(50) {
            return "%n".to_string();
        }
        let name = self.value();
        let _ = writeln!(self.body, "    {name} = const {n} : i32");
        name
    }

    /// Views of a memory, up to three deep; the last one with its shape.
    fn views(&mut self, rng: &mut Rng, memory: &str, shape: &[usize], dtype: DType, space: &str) -> (String, Vec<usize>) {
        let (mut name, mut shape) = (memory.to_string(), shape.to_vec());
        for _ in 0..1 + rng.below(3) {
            let (mut starts, mut sizes, mut strides) = (vec![], vec![], vec![]);
            for &extent in &shape {
                let start = if extent > N && rng.chance(30) { N } else { rng.below(extent.div_ceil(2)) };
                let stride = rng.pick(&[1, 1, 1, 2, 3]);
                let most = (extent - start - 1) / stride + 1;
                let size = if rng.chance(30) {
                    1
                } else if rng.chance(50) {
                    most
                } else {
                    1 + rng.below(most)
                };
                starts.push(self.number(start, rng));
                sizes.push(size);
                strides.push(stride);
            }
            let view = self.value();
            let _ = writeln!(
                self.body,
                "    {view} = view {name}[{}] strides [{}] : {space}<{}{dtype}>",
                list(&starts),
                list(&strides),
                dims(&sizes)
            );
            (name, shape) = (view, sizes);
            let axes: Vec<usize> = (0..shape.len()).filter(|&a| shape[a] == 1 && rng.chance(50)).take(shape.len() - 1).collect();
            if !axes.is_empty() {
                let view = self.value();
                shape = (0..shape.len()).filter(|a| !axes.contains(a)).map(|a| shape[a]).collect();
                let _ = writeln!(
                    self.body,
                    "    {view} = view_squeezed {name} axes [{}] : {space}<{}{dtype}>",
                    list(&axes),
                    dims(&shape)
                );
                name = view;
            }
        }
        (name, shape)
    }
}

fn program(seed: u64) -> (DType, Vec<usize>, String) {
    let mut rng = Rng::new(seed);
    let dtype = rng.pick(&TYPES);
    let shape: Vec<usize> = match rng.below(3) {
        0 => vec![rng.pick(&[5, 16, 40]), rng.pick(&[7, 128, 200])],
        1 => vec![rng.pick(&[2, 3, 5]), rng.pick(&[8, 12, 32]), rng.pick(&[4, 100, 128])],
        _ => vec![2, 3, rng.pick(&[8, 9]), rng.pick(&[5, 128])],
    };
    let rank = shape.len();
    let mut text = Text { body: "    %z = const 0 : i32\n".to_string(), next: 0 };
    let zeros = list(&vec!["%z"; rank]);
    let whole = format!("{}{dtype}", dims(&shape));
    let _ = writeln!(text.body, "    %all = load %x[{zeros}] : tile<{whole}>\n    store %all, %o[{zeros}]");
    for _ in 0..2 {
        let (from, part) = text.views(&mut rng, "%x", &shape, dtype, "vmem");
        let (at, tile) = (list(&vec!["%z"; part.len()]), text.value());
        let _ = writeln!(text.body, "    {tile} = load {from}[{at}] : tile<{}{dtype}>", dims(&part));
        // To a view of as many elements, of the same memory as seen from elsewhere.
        let (to, room) = text.views(&mut rng, "%o", &shape, dtype, "vmem");
        let (mut cut, mut fits) = (tile, part.clone());
        if fits.len() == room.len() {
            fits = part.iter().zip(&room).map(|(&a, &b)| a.min(b)).collect();
            if fits != part {
                let slice = text.value();
                let _ = writeln!(
                    text.body,
                    "    {slice} = slice {cut} starts [{}] : tile<{}{dtype}>",
                    list(&vec![0; fits.len()]),
                    dims(&fits)
                );
                cut = slice;
            }
            let _ = writeln!(text.body, "    store {cut}, {to}[{}]", list(&vec!["%z"; fits.len()]));
        }
    }
    // One element of scalar memory.
    let (cell, part) = text.views(&mut rng, "%s", &[6, 7], dtype, "smem");
    let place: Vec<String> = part.iter().map(|&n| text.number(n - 1, &mut rng)).collect();
    let place = list(&place);
    let body = text.body;
    let text = format!(
        "kernel @k() {{
  scalar %n: i32
  in %x: vmem<{whole}> = [{}] blocks [{}] at () {{
    %c = const 0 : i32
    yield {}
  }}
  out %o: vmem<{whole}> = [{}] blocks [{}] at () {{
    %c1 = const 0 : i32
    yield {}
  }}
  scratch %s: smem<6x7x{dtype}>
  body {{
{body}    %one = load %x[{zeros}] : tile<{}{dtype}>
    %cell = extract %one [{}] : {dtype}
    store_scalar %cell, {cell}[{place}]
    %back = load_scalar {cell}[{place}] : {dtype}
    %fill = broadcast %back : tile<{}{dtype}>
    store %fill, %o[{zeros}]
  }}
}}
",
        list(&shape),
        list(&shape),
        list(&vec!["%c"; rank]),
        list(&shape),
        list(&shape),
        list(&vec!["%c1"; rank]),
        dims(&vec![1; rank]),
        list(&vec![0; rank]),
        dims(&vec![1; rank]),
    );
    (dtype, shape, text)
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
    passes::verify(&kernel).unwrap_or_else(|e| panic!("{seed}: {e:?}\n{text}"));
    passes::canonicalise(&mut kernel);
    let binding =
        bind(&kernel, &Chip::V5E, &[(dtype, shape.clone())], &Config::default()).unwrap_or_else(|e| panic!("{seed}: {e}\n{text}"));
    let mut rng = Rng::new(seed);
    let input = Array::new(dtype, &shape, (0..shape.iter().product()).map(|_| rng.literal(dtype, 5)));
    Case { seed, kernel, binding, inputs: vec![input] }
}

#[test]
fn random_views_keep_their_numbers_and_compile() {
    let number = |name: &str, otherwise: u64| std::env::var(name).map_or(otherwise, |n| n.parse().expect("a number"));
    let (first, count) = (number("RANDOM_VIEWS_FROM", 0), number("RANDOM_VIEWS", 40));
    let cases: Vec<Case> = (first..first + count).map(case).collect();
    let scalars = [Literal::from(N as i32)];
    for case in &cases {
        let original = Original::run(&case.kernel, &case.binding, &case.inputs, &scalars);
        original.outputs().unwrap_or_else(|e| panic!("{}: {e}\n{}", case.seed, case.kernel));
        let (legal, refusals) = forms(&case.kernel);
        // Some reshapes would fall into too many pieces; some vectors cannot be laid out.
        assert!(refusals.iter().all(|r| ["M003", "M009"].contains(&r.code())), "{}: {refusals:?}\n{}", case.seed, case.kernel);
        for (form, chips) in legal {
            let views = |op: &tpu_kernel::ir::Op| matches!(op.kind, OpKind::View { .. } | OpKind::ViewSqueezed(_));
            assert!(!form.body.ops.iter().any(views), "{}:\n{form}", case.seed);
            let exact = |_: usize, _: usize, want, got| same(want, got);
            original.against(&form, &exact).unwrap_or_else(|e| panic!("{} on {chips:?}: {e}\n{}", case.seed, case.kernel));
        }
    }
    for chip in Chip::ALL {
        let printed = cases.iter().filter_map(|c| Some((c, mosaic::stablehlo(&c.kernel, &c.binding, chip).ok()?)));
        let (printed, programs): (Vec<&Case>, Vec<String>) = printed.unzip();
        assert!(printed.len() as u64 * 5 > count * 3, "only {} of {count} have a text on {}", printed.len(), chip.name);
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
