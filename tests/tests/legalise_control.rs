//! Legalised branches and loops: what crosses their borders keeps its bits, and libtpu, which fails on several of their forms,
//! compiles what is made of them.

use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{
    BinaryOp, BlockDim, CompareOp, DType, DotDims, Kernel, Literal, OpKind, Param, Precision, ReduceOp, Shape, SizeExpr, Type,
    Value,
};
use tpu_kernel::launch::Binding;
use tpu_kernel::legalise::{Rule, legalise};
use tpu_kernel::mosaic;
use tpu_tests::executors::{Array, same};
use tpu_tests::generate::Rng;
use tpu_tests::kernels::{Writer, blocked};
use tpu_tests::legalised::{Original, forms};
use tpu_tests::libtpu::{accepted, judge, library};
use tpu_tests::one_op;

/// A kernel under a name.
struct Case {
    name: String,
    kernel: Kernel,
}

impl Case {
    /// Whole arrays, one block each.
    fn binding(&self) -> Binding {
        let block = |param: &Param| param.window().map_or(vec![], |w| w.block.iter().map(|b| b.size()).collect::<Vec<_>>());
        Binding { cores: 1, sizes: vec![], grid: vec![], arrays: self.kernel.params.iter().map(block).collect() }
    }

    /// Runs the original and each legalised form on random elements; scalars are true and small.
    fn check(&self, chips: &mut usize) {
        let (forms, refusals) = forms(&self.kernel);
        for refusal in refusals {
            let known = matches!(refusal.rule, Rule::ElementType(_) | Rule::Vector { .. });
            assert!(known, "{}: {refusal}", self.name);
        }
        for seed in 0..2 {
            let mut rng = Rng::new(seed);
            let binding = self.binding();
            let mut inputs = vec![];
            for (at, param) in self.kernel.inputs() {
                let shape = &binding.arrays[at];
                let elements: Vec<Literal> = (0..shape.iter().product()).map(|_| rng.literal(param.ty.dtype(), 10)).collect();
                inputs.push(Array::new(param.ty.dtype(), shape, elements));
            }
            let scalars: Vec<Literal> = self
                .kernel
                .params
                .iter()
                .filter(|p| p.ty.is_scalar())
                .enumerate()
                .map(|(at, p)| {
                    Literal::from_int(p.ty.dtype(), if p.ty.dtype() == DType::Bool { seed as i64 } else { at as i64 + 2 })
                })
                .collect();
            let original = Original::run(&self.kernel, &binding, &inputs, &scalars);
            assert!(original.outputs().is_ok(), "{}: {:?}", self.name, original.outputs());
            for (legal, names) in &forms {
                *chips += names.len();
                let right = original.against(legal, &|_, _, want, got| same(want, got));
                right.unwrap_or_else(|error| panic!("{} on {names:?}: {error}", self.name));
            }
        }
    }
}

fn whole(shape: &[usize]) -> Vec<(SizeExpr, BlockDim)> {
    shape.iter().map(|&n| (SizeExpr::Const(n as i64), blocked(n))).collect()
}

/// A kernel of tiles of one shape, and an i32 and a bool scalar, that stores what is computed of them.
fn tiles(name: &str, dtypes: &[DType], shape: &[usize], f: impl FnOnce(&mut Writer, &[Value], [Value; 2]) -> Value) -> Case {
    let mut w = Writer::new("control", "control.rs");
    let dims = whole(shape);
    let inputs: Vec<Value> =
        dtypes.iter().enumerate().map(|(at, &d)| w.input(&format!("x{at}"), d, &dims, &vec![None; shape.len()])).collect();
    let scalars = [w.scalar("n", DType::I32), w.scalar("c", DType::Bool)];
    let o = w.output("o", dtypes[0], &dims, &vec![None; shape.len()]);
    let loaded: Vec<Value> = inputs.iter().map(|&x| w.load(x)).collect();
    let result = f(&mut w, &loaded, scalars);
    w.store(o, result);
    Case { name: format!("{name} {dtypes:?} {shape:?}"), kernel: w.finish() }
}

/// A loop over one carried tile.
fn count(
    w: &mut Writer,
    [low, high, step]: [Value; 3],
    init: Value,
    body: impl FnOnce(&mut Writer, Value, Value) -> Value,
) -> Value {
    let ty = w.ty(init);
    let args = w.open(&[Type::Scalar(DType::I32), ty]);
    let next = body(w, args[0], args[1]);
    let region = w.close(&[next]);
    w.control(OpKind::For, &[low, high, step, init], vec![region], &[ty])[0]
}

fn choose(
    w: &mut Writer,
    condition: Value,
    yes: impl FnOnce(&mut Writer) -> Value,
    no: impl FnOnce(&mut Writer) -> Value,
) -> Value {
    w.open(&[]);
    let a = yes(w);
    let yes = w.close(&[a]);
    w.open(&[]);
    let b = no(w);
    let no = w.close(&[b]);
    let ty = w.ty(a);
    w.control(OpKind::If, &[condition], vec![yes, no], &[ty])[0]
}

fn compare(w: &mut Writer, op: CompareOp, a: Value, b: Value) -> Value {
    w.op(OpKind::Compare(op), &[a, b])
}

/// Masks, starts below zero, sides that only choose, loops that do nothing.
fn idioms() -> Vec<Case> {
    let mut cases = vec![];
    for shape in [&[16, 128][..], &[7, 100], &[1, 128], &[128, 1], &[256], &[3, 5, 64], &[1]] {
        for dtype in [DType::F32, DType::Bf16, DType::I32, DType::F16, DType::I8, DType::U32] {
            let two = [dtype, dtype];
            cases.push(tiles("carried mask", &two, shape, |w, x, [n, _]| {
                let mask = compare(w, CompareOp::Lt, x[0], x[1]);
                let bounds = [w.constant(0), n, w.constant(1)];
                let mask = count(w, bounds, mask, |w, _, mask| w.op(OpKind::Unary(tpu_kernel::ir::UnaryOp::Not), &[mask]));
                w.op(OpKind::Select, &[mask, x[0], x[1]])
            }));
            cases.push(tiles("mask of a branch", &two, shape, |w, x, [_, c]| {
                let mask = compare(w, CompareOp::Lt, x[0], x[1]);
                let mask = choose(w, c, |_| mask, |w| compare(w, CompareOp::Ne, x[0], x[1]));
                w.op(OpKind::Select, &[mask, x[0], x[1]])
            }));
            cases.push(tiles("mask that is chosen", &two, shape, |w, x, [_, c]| {
                let [a, b] = [CompareOp::Lt, CompareOp::Ge].map(|op| compare(w, op, x[0], x[1]));
                let mask = choose(w, c, |_| a, |_| b);
                w.op(OpKind::Select, &[mask, x[0], x[1]])
            }));
            cases.push(tiles("tile that is chosen", &two, shape, |w, x, [_, c]| choose(w, c, |_| x[0], |_| x[1])));
        }
        let i32s = [DType::I32, DType::I32];
        for (name, low, high) in [("known", -5, Some(3)), ("far", i32::MIN, Some(i32::MIN + 3)), ("open", -2, None)] {
            cases.push(tiles(&format!("start below zero, {name}"), &i32s, shape, |w, x, [n, _]| {
                let bounds = [w.constant(low), high.map_or(n, |high| w.constant(high)), w.constant(1)];
                count(w, bounds, x[0], |w, index, carried| {
                    let index = w.op(OpKind::Broadcast(Shape::new(shape)), &[index]);
                    let scaled = w.binary(BinaryOp::Mul, index, x[1]);
                    w.binary(BinaryOp::Add, carried, scaled)
                })
            }));
        }
        cases.push(tiles("loop that does nothing", &i32s, shape, |w, x, [n, _]| {
            let bounds = [w.constant(0), n, w.constant(1)];
            count(w, bounds, x[0], |w, _, carried| w.binary(BinaryOp::Add, carried, x[1]));
            w.binary(BinaryOp::Sub, x[0], x[1])
        }));
        cases.push(tiles("nested", &i32s, shape, |w, x, [n, c]| {
            let bounds = [w.constant(0), n, w.constant(1)];
            count(w, bounds, x[0], |w, index, carried| {
                let two = w.constant(2);
                let here = compare(w, CompareOp::Lt, index, two);
                choose(
                    w,
                    here,
                    |w| {
                        let bounds = [w.constant(-1), w.constant(2), w.constant(2)];
                        count(w, bounds, carried, |w, _, inner| w.binary(BinaryOp::Xor, inner, x[1]))
                    },
                    |w| choose(w, c, |_| carried, |_| x[1]),
                )
            })
        }));
    }
    cases
}

/// Sums of a matrix product and what a loop carries, in the orders and disguises that could be folded into an accumulator.
fn products() -> Vec<Case> {
    let mut cases = vec![];
    let kind = OpKind::Dot { dims: DotDims::matrices(false, false), precision: Precision::Default };
    for dtype in [DType::F32, DType::Bf16, DType::I8] {
        let sum = if dtype == DType::I8 { DType::I32 } else { DType::F32 };
        for form in 0..8 {
            let shape = [128, 128];
            let mut w = Writer::new("product", "control.rs");
            let dims = whole(&shape);
            let inputs = [("x", dtype), ("y", dtype), ("z", sum)].map(|(name, d)| w.input(name, d, &dims, &[None, None]));
            let o = w.output("o", sum, &dims, &[None, None]);
            let [a, b, more] = inputs.map(|x| w.load(x));
            let zero = w.filled(Literal::from_int(sum, 0), &shape);
            let bounds = [w.constant(0), w.constant(3), w.constant(1)];
            let result = count(&mut w, bounds, zero, |w, _, carried| {
                let product = w.op(kind.clone(), &[a, b]);
                let add = |w: &mut Writer, a, b| w.binary(BinaryOp::Add, a, b);
                match form {
                    0 => add(w, product, carried),
                    1 => add(w, carried, product),
                    2 => {
                        let scaled = w.binary(BinaryOp::Mul, carried, more);
                        add(w, product, scaled)
                    }
                    3 => {
                        let changed = add(w, product, more);
                        add(w, changed, carried)
                    }
                    4 => {
                        let other = w.op(kind.clone(), &[b, a]);
                        let left = add(w, product, carried);
                        add(w, other, left)
                    }
                    5 => {
                        let tall = w.op(OpKind::Reshape(Shape::new(&[16, 8, 128])), &[product]);
                        let carried = w.op(OpKind::Reshape(Shape::new(&[16, 8, 128])), &[carried]);
                        let total = add(w, tall, carried);
                        w.op(OpKind::Reshape(Shape::new(&[128, 128])), &[total])
                    }
                    6 => {
                        let top = w.reduce(ReduceOp::Max, product, 1);
                        let top = w.op(OpKind::Broadcast(Shape::new(&[128, 128])), &[top]);
                        add(w, top, carried)
                    }
                    _ => {
                        let mask = compare(w, CompareOp::Lt, more, product);
                        let kept = w.op(OpKind::Select, &[mask, product, carried]);
                        add(w, kept, carried)
                    }
                }
            });
            w.store(o, result);
            cases.push(Case { name: format!("product {dtype} form {form}"), kernel: w.finish() });
        }
    }
    cases
}

/// Messages, checks and random bits.
fn effects() -> Vec<Case> {
    let mut cases = vec![];
    for dtype in DType::ALL {
        let mut w = Writer::new("effects", "control.rs");
        let [s, c] = [("s", dtype), ("c", DType::Bool)].map(|(name, d)| w.scalar(name, d));
        let o = w.output("o", DType::U32, &whole(&[8, 128]), &[None, None]);
        w.effect(OpKind::Print("a \"message\" \\ of ü: {} and {}".into()), &[s, c]);
        w.effect(OpKind::Print("nothing".into()), &[]);
        let seed = w.constant(Literal::from(7u32));
        w.effect(OpKind::PrngSeed, &[seed]);
        let bits = w.op(OpKind::PrngBits(Shape::new(&[8, 128])), &[]);
        w.effect(OpKind::PrngSeed, &[seed, seed]);
        w.open(&[]);
        let more = w.op(OpKind::PrngBits(Shape::new(&[8, 128])), &[]);
        w.effect(OpKind::Print("drawn".into()), &[]);
        let yes = w.close(&[more]);
        w.open(&[]);
        let no = w.close(&[bits]);
        let ty = w.ty(bits);
        let chosen = w.control(OpKind::If, &[c], vec![yes, no], &[ty])[0];
        let seen = w.op(OpKind::Extract(vec![3, 5]), &[chosen]);
        let same = w.op(OpKind::Compare(CompareOp::Eq), &[seen, seen]);
        w.effect(OpKind::Check("equal \"to\" itself".into()), &[same]);
        let total = w.binary(BinaryOp::Xor, bits, chosen);
        w.store(o, total);
        cases.push(Case { name: format!("effects {dtype}"), kernel: w.finish() });
    }
    cases
}

#[test]
fn messages_and_random_bits_stay() {
    let mut chips = 0;
    effects().iter().for_each(|case| case.check(&mut chips));
    assert!(chips > 100, "{chips}");
    let mut w = Writer::new("printed", "control.rs");
    let x = w.input("x", DType::F32, &whole(&[8, 128]), &[None, None]);
    let o = w.output("o", DType::F32, &whole(&[8, 128]), &[None, None]);
    let tile = w.load(x);
    w.effect(OpKind::Print("{}".into()), &[tile]);
    w.store(o, tile);
    let refusal = legalise(&w.finish(), &Chip::V5E).expect_err("a tile in the log");
    assert_eq!(refusal.to_string(), "`print` has no form on v5e: the log of a chip takes scalars, not a tile<8x128xf32>");
}

/// Every element type through a branch and both loops, as tiles and scalars.
fn crossings() -> Vec<Case> {
    let control = |name: &str| ["if ", "for ", "while "].iter().any(|start| name.starts_with(start));
    one_op::cases()
        .into_iter()
        .filter(|case| control(&case.name))
        .map(|case| Case { name: case.name, kernel: case.kernel })
        .collect()
}

#[test]
fn what_crosses_a_border_keeps_its_bits() {
    let mut chips = 0;
    let cases = crossings();
    cases.iter().for_each(|case| case.check(&mut chips));
    assert!(chips > 5 * cases.len(), "{chips}");
}

#[test]
fn masks_starts_and_choices_keep_their_bits() {
    let mut chips = 0;
    let cases = idioms();
    cases.iter().for_each(|case| case.check(&mut chips));
    assert!(chips > 9 * cases.len(), "{chips}");
}

/// One bound of a loop: in the kernel, or a scalar of the launch.
#[derive(Clone, Copy, Debug)]
enum Bound {
    Known(i32),
    Open(i32),
}

impl Bound {
    const fn value(self) -> i32 {
        match self {
            Bound::Known(n) | Bound::Open(n) => n,
        }
    }
}

/// A loop between these bounds that tells its trips and folds its indices in order, and the scalars of the launch.
fn between(bounds: [Bound; 3]) -> (Case, Vec<Literal>) {
    let mut w = Writer::new("between", "control.rs");
    let mut scalars = vec![];
    let values = [("low", bounds[0]), ("high", bounds[1]), ("step", bounds[2])].map(|(name, bound)| match bound {
        Bound::Known(n) => Err(n),
        Bound::Open(n) => {
            scalars.push(Literal::from(n));
            Ok(w.scalar(name, DType::I32))
        }
    });
    let o = w.output("o", DType::I32, &whole(&[2, 128]), &[None; 2]);
    let [low, high, step] = values.map(|value| value.unwrap_or_else(|n| w.constant(n)));
    let zero = w.constant(0);
    let i32s = [Type::Scalar(DType::I32); 2];
    let args = w.open(&[Type::Scalar(DType::I32), i32s[0], i32s[1]]);
    let (one, factor) = (w.constant(1), w.constant(31));
    let trips = w.binary(BinaryOp::Add, args[1], one);
    let folded = w.binary(BinaryOp::Mul, args[2], factor);
    let folded = w.binary(BinaryOp::Add, folded, args[0]);
    let region = w.close(&[trips, folded]);
    let results = w.control(OpKind::For, &[low, high, step, zero, zero], vec![region], &i32s);
    let tiles: Vec<Value> = results.iter().map(|&v| w.op(OpKind::Broadcast(Shape::new(&[1, 128])), &[v])).collect();
    let both = w.op(OpKind::Concat { axis: 0 }, &tiles);
    w.store(o, both);
    (Case { name: format!("loop between {bounds:?}"), kernel: w.finish() }, scalars)
}

/// How often a loop between these bounds runs.
fn trips([low, high, step]: [i32; 3]) -> i64 {
    let far = (i64::from(high) - i64::from(low)).max(0);
    (far + i64::from(step) - 1) / i64::from(step)
}

/// All bounds near the ends of i32 and near zero, each in the kernel or of the launch, with no more trips than can be counted here.
fn extremes() -> Vec<[Bound; 3]> {
    let ends = [i32::MIN, i32::MIN + 1, -1_000_000_000, -1, 0, 7, 2_000_000_000, i32::MAX];
    let steps = [1, 2, 500_000_000, 1 << 29, 1 << 30, i32::MAX];
    let mut all = vec![];
    for low in ends {
        for high in ends {
            for step in steps.into_iter().filter(|&step| trips([low, high, step]) <= 9) {
                all.extend((0..8).map(|open: u32| {
                    let bound = |at: u32, n| if open >> at & 1 == 1 { Bound::Open(n) } else { Bound::Known(n) };
                    [bound(0, low), bound(1, high), bound(2, step)]
                }));
            }
        }
    }
    all
}

/// The last index and the step of a legalised loop itself, or zeros: the loop is made to carry them.
fn last_and_step(legal: &Kernel, binding: &Binding, scalars: &[Literal]) -> (i32, i32) {
    let mut legal = legal.clone();
    let counts = legal.body.ops.iter_mut().find(|op| op.kind == OpKind::For).expect("a loop");
    let (index, step) = (counts.regions[0].args[0], counts.operands[2]);
    counts.regions[0].yields = vec![index, step];
    let run = Original::run(&legal, binding, &[], scalars);
    let words: Vec<i32> = run.outputs().expect("it runs")[0].elements().step_by(128).filter_map(Literal::as_i32).collect();
    (words[0], words[1])
}

#[test]
fn loops_run_as_often_as_in_the_simulator_up_to_the_ends_of_i32() {
    let (mut chips, mut wrong) = (0, vec![]);
    let cases = extremes();
    assert!(cases.len() > 1500, "{}", cases.len());
    for bounds in &cases {
        let (case, scalars) = between(*bounds);
        let (kernel, binding) = (&case.kernel, case.binding());
        let original = Original::run(kernel, &binding, &[], &scalars);
        let values = bounds.map(Bound::value);
        let counted = original.outputs().map(|outputs| outputs[0].elements().next());
        assert_eq!(counted, Ok(Some(Literal::from(trips(values) as i32))), "{values:?}");
        let (forms, refusals) = forms(kernel);
        assert!(refusals.is_empty(), "{values:?}: {refusals:?}");
        for (legal, names) in &forms {
            chips += names.len();
            if let Err(error) = original.against(legal, &|_, _, want, got| same(want, got)) {
                let open = bounds.map(|bound| matches!(bound, Bound::Open(_)));
                wrong.push(format!("{values:?}, of the launch {open:?}, on {names:?}: {error}"));
            }
            let (last, step) = last_and_step(legal, &binding, &scalars);
            if last.checked_add(step).is_none() {
                wrong.push(format!("{values:?} on {names:?}: the index wraps: {last} + {step}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {chips}:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    assert_eq!(chips, 5 * cases.len());
}

/// A sample, or with `STRUCTURE_EVERY=1` everything.
#[test]
fn libtpu_compiles_control_flow() {
    let Some(library) = library() else { return };
    let every = std::env::var("STRUCTURE_EVERY").map_or(11, |n| n.parse().expect("a number"));
    let mut cases = products();
    cases.extend(effects());
    cases.extend(crossings().into_iter().chain(idioms()).step_by(every));
    cases.extend(extremes().into_iter().step_by(every * 31).map(|bounds| between(bounds).0));
    let (mut asked, mut refused) = (0, vec![]);
    for chip in Chip::ALL {
        let (mut names, mut programs) = (vec![], vec![]);
        for case in &cases {
            if let Ok(program) = mosaic::stablehlo(&case.kernel, &case.binding(), chip) {
                names.push(&case.name);
                programs.push(program);
            }
        }
        asked += programs.len();
        let verdicts = judge(env!("CARGO_BIN_EXE_worker"), &library, chip, programs);
        let wrong = names.iter().zip(&verdicts).filter(|(_, verdict)| !accepted(verdict));
        refused.extend(wrong.map(|(name, verdict)| format!("{name} on {}: {verdict:?}", chip.name)));
    }
    assert!(refused.is_empty(), "{} of {asked}:\n{}", refused.len(), refused.join("\n"));
}
