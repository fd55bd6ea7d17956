//! Random loads and stores through views of views: the interpreter gives the same on the legalised kernel, in which the views are
//! gone, and libtpu takes the text. `RANDOM_VIEWS` and `RANDOM_VIEWS_FROM` choose the seeds; `LIBTPU_PATH` names libtpu.so.

use std::fmt::Write;
use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{DType, Kernel, Literal, parse};
use tpu_kernel::launch::{Binding, Config, bind};
use tpu_kernel::{mosaic, passes};
use tpu_tests::executors::{Array, CRANELIFT, INTERPRETER, run, same};
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

    /// Views of a memory, up to four deep; the last one with its shape and element type.
    fn views(&mut self, rng: &mut Rng, memory: &str, shape: &[usize], dtype: DType, space: &str) -> (String, Vec<usize>, DType) {
        let (mut name, mut shape, mut dtype) = (memory.to_string(), shape.to_vec(), dtype);
        // Whether all its elements lie one after the other.
        let mut dense = true;
        for _ in 0..1 + rng.below(4) {
            if rng.chance(40) {
                self.seen(rng, (&mut name, &mut shape, &mut dtype, &mut dense), space);
                continue;
            }
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
            dense &= sizes == shape && strides.iter().zip(&sizes).all(|(&by, &n)| by == 1 || n == 1);
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
        (name, shape, dtype)
    }

    /// A view with its dimensions in another order, under another shape, or of other elements.
    fn seen(
        &mut self,
        rng: &mut Rng,
        (name, shape, dtype, dense): (&mut String, &mut Vec<usize>, &mut DType, &mut bool),
        space: &str,
    ) {
        let rank = shape.len();
        let kind = match rng.below(3) {
            0 => {
                let mut perm: Vec<usize> = (0..rank).collect();
                (1..rank).for_each(|at| perm.swap(at, rng.below(at + 1)));
                *dense &= perm.is_sorted();
                *shape = perm.iter().map(|&axis| shape[axis]).collect();
                format!("view_transposed {name} perm [{}]", list(&perm))
            }
            1 => {
                let axis = rng.below(rank);
                let factor = rng.pick(&[2, 4, 8]);
                if rank < 4 && shape[axis].is_multiple_of(factor) {
                    shape[axis] /= factor;
                    shape.insert(axis, factor);
                } else if *dense && axis + 1 < rank {
                    shape[axis] *= shape.remove(axis + 1);
                }
                format!("view_reshaped {name}")
            }
            _ => {
                let to: DType = rng.pick(&[DType::F32, DType::I32, DType::Bf16, DType::I8]);
                let (old, new) = (dtype.bits() as usize, to.bits() as usize);
                let rows = rank.checked_sub(2).map_or(1, |row| shape[row]);
                let folds = rank > 1 && space == "vmem" && (rows * old).is_multiple_of(new);
                if *dtype == DType::Bool || (old != new && !folds) {
                    return;
                }
                if old != new {
                    // Elements of another width lie one after the other in an order of their own.
                    shape[rank - 2] = rows * old / new;
                    *dense = true;
                }
                *dtype = to;
                format!("view_bitcast {name}")
            }
        };
        let view = self.value();
        let _ = writeln!(self.body, "    {view} = {kind} : {space}<{}{dtype}>", dims(shape));
        *name = view;
    }
}

fn program(seed: u64) -> (DType, Vec<usize>, String) {
    let mut rng = Rng::new(seed);
    let dtype = rng.pick(&TYPES);
    let shape: Vec<usize> = match rng.below(3) {
        0 => vec![rng.pick(&[5, 16, 24]), rng.pick(&[7, 128, 200])],
        1 => vec![rng.pick(&[2, 3, 5]), rng.pick(&[8, 12, 16]), rng.pick(&[4, 36, 128])],
        _ => vec![2, 3, rng.pick(&[8, 9]), rng.pick(&[5, 128])],
    };
    let rank = shape.len();
    let mut text = Text { body: "    %z = const 0 : i32\n".to_string(), next: 0 };
    let zeros = list(&vec!["%z"; rank]);
    let whole = format!("{}{dtype}", dims(&shape));
    let _ = writeln!(text.body, "    %all = load %x[{zeros}] : tile<{whole}>\n    store %all, %o[{zeros}]");
    for _ in 0..2 {
        let (from, part, loaded) = text.views(&mut rng, "%x", &shape, dtype, "vmem");
        let (at, tile) = (list(&vec!["%z"; part.len()]), text.value());
        let _ = writeln!(text.body, "    {tile} = load {from}[{at}] : tile<{}{loaded}>", dims(&part));
        // To a view of as many elements, of the same memory as seen from elsewhere.
        let (to, room, stored) = text.views(&mut rng, "%o", &shape, dtype, "vmem");
        let (mut cut, mut fits) = (tile, part.clone());
        if loaded != stored {
            let (one, filled) = (text.value(), text.value());
            let _ = writeln!(
                text.body,
                "    {one} = const {} : {stored}\n    {filled} = broadcast {one} : tile<{}{stored}>",
                if stored.is_float() { "3.0" } else { "3" },
                dims(&room)
            );
            (cut, fits) = (filled, room.clone());
        }
        if fits.len() == room.len() {
            let whole = fits.clone();
            fits = whole.iter().zip(&room).map(|(&a, &b)| a.min(b)).collect();
            if fits != whole {
                let slice = text.value();
                let _ = writeln!(
                    text.body,
                    "    {slice} = slice {cut} starts [{}] : tile<{}{stored}>",
                    list(&vec![0; fits.len()]),
                    dims(&fits)
                );
                cut = slice;
            }
            let _ = writeln!(text.body, "    store {cut}, {to}[{}]", list(&vec!["%z"; fits.len()]));
        }
    }
    // One element of scalar memory.
    let (cell, part, seen) = text.views(&mut rng, "%s", &[6, 7], dtype, "smem");
    let place: Vec<String> = part.iter().map(|&n| text.number(n - 1, &mut rng)).collect();
    let place = list(&place);
    let body = text.body;
    let (cast, put, got, back) = match seen == dtype {
        true => (String::new(), "%cell", "%back", String::new()),
        false => (format!("%put = bitcast %cell : {seen}\n    "), "%put", "%got", format!("    %back = bitcast %got : {dtype}\n")),
    };
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
    {cast}store_scalar {put}, {cell}[{place}]
    {got} = load_scalar {cell}[{place}] : {seen}
{back}    %fill = broadcast %back : tile<{}{dtype}>
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

/// Compiled code gives the interpreter's bits.
fn compiled(case: &Case, scalars: &[Literal]) {
    let [want, got] = [INTERPRETER, CRANELIFT].map(|executor| {
        let compiled = (executor.compile)(&case.kernel).unwrap_or_else(|e| panic!("{}: {e}", case.seed));
        run(&case.kernel, &compiled, &case.binding, &case.inputs, scalars).unwrap_or_else(|e| panic!("{}: {e}", case.seed))
    });
    let differs = want[0].elements().zip(got[0].elements()).position(|(a, b)| !same(a, b));
    assert!(differs.is_none(), "{}: element {differs:?}\n{}", case.seed, case.kernel);
}

#[test]
fn random_views_keep_their_numbers_and_compile() {
    let number = |name: &str, otherwise: u64| std::env::var(name).map_or(otherwise, |n| n.parse().expect("a number"));
    let (first, count) = (number("RANDOM_VIEWS_FROM", 0), number("RANDOM_VIEWS", 40));
    let cases: Vec<Case> = (first..first + count).map(case).collect();
    let scalars = [Literal::from(N as i32)];
    for case in &cases {
        let original = Original::run(&case.kernel, &case.binding, &case.inputs, &scalars);
        compiled(case, &scalars);
        original.outputs().unwrap_or_else(|e| panic!("{}: {e}\n{}", case.seed, case.kernel));
        let (legal, refusals) = forms(&case.kernel);
        // Some reshapes would fall into too many pieces; some vectors cannot be laid out.
        assert!(refusals.iter().all(|r| ["M003", "M009"].contains(&r.code())), "{}: {refusals:?}\n{}", case.seed, case.kernel);
        for (form, chips) in legal {
            let views = |op: &tpu_kernel::ir::Op| op.kind.is_view();
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
