//! Copies, views, scalar memory, prefetched arrays, semaphores and regions with memory of their own as each chip has them: the
//! interpreter gives on the legalised kernel what it gives on the kernel itself, bit for bit.
//!
//! `LIBTPU_PATH` names libtpu.so, which then has to accept the same kernels; without it only the numbers are compared.

use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{DType, Kernel, Literal, OpKind, parse};
use tpu_kernel::launch::{Binding, Config, bind};
use tpu_kernel::legalise::legalise;
use tpu_kernel::mosaic;
use tpu_kernel::passes::{canonicalise, verify};
use tpu_tests::by_hand as kernels;
use tpu_tests::executors::{Array, same};
use tpu_tests::generate::Rng;
use tpu_tests::legalised::{Original, forms};
use tpu_tests::libtpu::{accepted, judge, library};

/// The element types that move: all that some chip has.
const MOVED: [DType; 16] = [
    DType::F32,
    DType::Bf16,
    DType::F16,
    DType::I32,
    DType::I16,
    DType::I8,
    DType::U32,
    DType::U16,
    DType::U8,
    DType::F8E4M3Fn,
    DType::F8E5M2,
    DType::Bool,
    DType::I4,
    DType::U4,
    DType::F8E4M3B11Fnuz,
    DType::F4E2M1Fn,
];

/// A kernel with what it is launched on.
struct Case {
    name: String,
    kernel: Kernel,
    binding: Binding,
    inputs: Vec<Array>,
    scalars: Vec<Literal>,
}

fn random(dtype: DType, shape: &[usize], seed: u64) -> Array {
    let mut rng = Rng::new(seed);
    Array::new(dtype, shape, (0..shape.iter().product()).map(|_| rng.literal(dtype, 5)))
}

fn case(name: &str, text: &str, inputs: Vec<Array>, scalars: &[i32]) -> Case {
    let mut kernel = parse(text).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
    verify(&kernel).unwrap_or_else(|e| panic!("{name}: {e:?}\n{text}"));
    canonicalise(&mut kernel);
    let shapes: Vec<(DType, Vec<usize>)> = inputs.iter().map(|a| (a.dtype, a.shape.clone())).collect();
    let binding = bind(&kernel, &Chip::V5E, &shapes, &Config::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
    let scalars = scalars.iter().map(|&n| Literal::from(n)).collect();
    Case { name: name.to_string(), kernel, binding, inputs, scalars }
}

/// Every case on every chip that has its element types: the same numbers, and libtpu takes what is printed.
fn check_all(name: &str, cases: &[Case]) {
    check_numbers(cases);
    check_texts(name, cases);
}

fn check_numbers(cases: &[Case]) {
    for case in cases {
        let (forms, refusals) = forms(&case.kernel);
        let odd: Vec<_> = refusals.iter().filter(|r| !["M001", "M009"].contains(&r.code())).collect();
        assert!(odd.is_empty() && !forms.is_empty(), "{}: {refusals:?}", case.name);
        let original = Original::run(&case.kernel, &case.binding, &case.inputs, &case.scalars);
        original.outputs().unwrap_or_else(|e| panic!("{}: {e}", case.name));
        for (form, chips) in forms {
            let exact = |_: usize, _: usize, want, got| same(want, got);
            original.against(&form, &exact).unwrap_or_else(|e| panic!("{} on {chips:?}: {e}", case.name));
        }
    }
}

fn check_texts(name: &str, cases: &[Case]) {
    let Some(library) = library() else { return };
    for chip in Chip::ALL {
        let legal: Vec<&Case> = cases.iter().filter(|case| legalise(&case.kernel, chip).is_ok()).collect();
        let text = |case: &&Case| {
            mosaic::stablehlo(&case.kernel, &case.binding, chip).unwrap_or_else(|e| panic!("{} on {}: {e}", case.name, chip.name))
        };
        let programs: Vec<String> = legal.iter().map(text).collect();
        let verdicts = judge(env!("CARGO_BIN_EXE_worker"), &library, chip, programs);
        let refused: Vec<String> = legal
            .iter()
            .zip(&verdicts)
            .filter(|(_, verdict)| !accepted(verdict))
            .map(|(case, verdict)| format!("{}: {verdict:?}", case.name))
            .collect();
        assert!(refused.is_empty(), "{} of {} {name} on {}:\n{}", refused.len(), legal.len(), chip.name, refused.join("\n"));
    }
}

/// The cases of a text that has an element type in it.
fn of_types(name: &str, text: fn(DType) -> String, shapes: &[&[usize]], scalars: &[i32]) -> Vec<Case> {
    let of = |dtype: DType| {
        let inputs = shapes.iter().enumerate().map(|(seed, shape)| random(dtype, shape, seed as u64 + 1)).collect();
        case(&format!("{name} {dtype}"), &text(dtype), inputs, scalars)
    };
    MOVED.into_iter().map(of).collect()
}

#[test]
fn copies_of_whole_memories() {
    check_all("whole", &of_types("whole", kernels::whole, &[&[7, 100]], &[]));
    check_all("between arrays", &of_types("between arrays", kernels::between_arrays, &[&[64, 256]], &[]));
}

#[test]
fn copies_of_parts_in_a_loop() {
    check_all("parts", &of_types("parts", kernels::parts, &[&[128, 256]], &[]));
    check_all("buffered", &of_types("buffered", kernels::buffered, &[&[128, 100]], &[]));
    check_all("leading", &of_types("leading", kernels::leading, &[&[5, 16, 100]], &[]));
}

#[test]
fn copies_of_so_many_rows() {
    for rows in [0, 2, 4] {
        check_numbers(&of_types("rows", kernels::rows, &[&[32, 128]], &[rows]));
    }
    check_texts("rows", &of_types("rows", kernels::rows, &[&[32, 128]], &[2]));
}

#[test]
fn copies_of_vectors() {
    check_all("vectors", &of_types("vectors", kernels::vectors, &[&[4096]], &[]));
}

#[test]
fn windows_are_ends_of_copies() {
    check_all("windows", &of_types("windows", kernels::windows, &[&[3, 16, 128]], &[]));
}

/// A squeezed dimension that tiles lie in stays in memory: of words it is dropped on the way, of others no copy moves it.
#[test]
fn windows_that_keep_a_squeezed_dimension() {
    let words = [DType::F32, DType::I32, DType::U32];
    let of = |dtype| case(&format!("kept {dtype}"), &kernels::kept(dtype), vec![random(dtype, &[16, 1, 128], 1)], &[]);
    check_all("kept", &words.map(of));
    let narrow = of(DType::Bf16);
    let error = legalise(&narrow.kernel, &Chip::V5E).expect_err("a refusal");
    assert_eq!(error.code(), "M013", "{error}");
}

/// Operands of every role, in an order of their own.
#[test]
fn operands_of_every_role() {
    let inputs = |dtype| {
        let ids = Array::new(DType::I32, &[4], [3, 0, 1, 3].map(Literal::from));
        vec![ids, random(dtype, &[32, 128], 1), random(dtype, &[40, 256], 2)]
    };
    let of = |dtype| case(&format!("roles {dtype}"), &kernels::roles(dtype), inputs(dtype), &[2]);
    check_all("roles", &[DType::F32, DType::Bf16, DType::Bool].map(of));
}

#[test]
fn single_rows_of_words() {
    let of = |dtype: DType| {
        let ids = Array::new(DType::I32, &[4], [3, 0, 6, 3].map(Literal::from));
        case(&format!("single {dtype}"), &kernels::single_rows(dtype), vec![ids, random(dtype, &[7, 100], 1)], &[])
    };
    check_all("single", &[DType::F32, DType::I32, DType::U32].map(of));
}

#[test]
fn scalar_memory() {
    check_all("scalars", &of_types("scalars", kernels::scalars, &[&[40]], &[]));
    check_all("table", &of_types("table", kernels::table, &[&[8, 12]], &[]));
}

#[test]
fn prefetched_arrays_of_every_type() {
    let of = |dtype: DType| {
        let index = |n: i32| if dtype.is_float() { Literal::from_f32(dtype, n as f32) } else { Literal::from_int(dtype, n.into()) };
        let ids = Array::new(dtype, &[4], [3, 0, 1, 3].map(index));
        case(&format!("prefetch {dtype}"), &kernels::prefetch(dtype), vec![ids, random(DType::F32, &[32, 128], 1)], &[])
    };
    let numbers = MOVED.into_iter().filter(|&d| d != DType::Bool);
    check_all("prefetched", &numbers.map(of).collect::<Vec<_>>());
    let truths = Array::new(DType::Bool, &[4], [true, false, false, true].map(Literal::from));
    let bool = case("prefetch bool", &kernels::prefetch(DType::Bool), vec![truths, random(DType::F32, &[32, 128], 1)], &[]);
    check_all("prefetched", &[bool]);
}

#[test]
fn regions_with_memory_of_their_own() {
    check_all("scoped", &of_types("scoped", kernels::scoped, &[&[16, 128]], &[]));
}

#[test]
fn semaphores() {
    check_all("semaphores", &[case("semaphores", kernels::SEMAPHORES, vec![random(DType::I32, &[8, 128], 1)], &[])]);
}

/// Loads and stores through views start anywhere, leave elements out, and lack dimensions.
#[test]
fn accesses_through_views() {
    check_all("views", &of_types("views", kernels::views, &[&[3, 32, 128]], &[1, 5]));
    check_all("strided", &of_types("strided", kernels::strided, &[&[32, 128]], &[3]));
}

/// No view is left where only loads and stores reach through it.
#[test]
fn views_are_folded_into_accesses() {
    let kernel = parse(&kernels::views(DType::F32)).expect("a kernel");
    let legal = legalise(&kernel, &Chip::V5E).expect("a form");
    let views = |op: &tpu_kernel::ir::Op| matches!(op.kind, OpKind::View { .. } | OpKind::ViewSqueezed(_));
    assert!(!legal.body.ops.iter().any(views), "{legal}");
}

/// What libtpu refuses is refused before, each with its rule.
#[test]
fn what_cannot_be_copied_is_refused() {
    let refusal = |name: &str, text: String, shapes: &[&[usize]]| {
        let kernel = parse(&text).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
        verify(&kernel).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        let dtype = kernel.inputs().next().map_or(DType::F32, |(_, p)| p.ty.dtype());
        let inputs: Vec<(DType, Vec<usize>)> = shapes.iter().map(|s| (dtype, s.to_vec())).collect();
        let binding = bind(&kernel, &Chip::V5E, &inputs, &Config::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        mosaic::print(&kernel, &binding, &Chip::V5E).expect_err(name)
    };
    for (code, text, shape) in [
        // A row of 16 bits at any place.
        ("M010", kernels::part(DType::Bf16, [1, 128], "%n, %z", ""), [64, 128]),
        ("M010", kernels::part(DType::F32, [8, 128], "%n, %z", ""), [64, 256]),
        ("M010", kernels::part(DType::F32, [8, 128], "%z, %n", ""), [64, 256]),
        // Bytes lie in tiles of 32 rows.
        ("M010", kernels::part(DType::I8, [32, 128], "%n8, %z", ""), [64, 256]),
        ("M011", kernels::part(DType::F32, [7, 256], "%z, %z", ""), [64, 256]),
        ("M011", kernels::part(DType::F32, [8, 100], "%z, %z", ""), [64, 256]),
        ("M012", kernels::part(DType::Bf16, [8, 128], "%z, %z", ", %n"), [64, 128]),
        ("M012", kernels::part(DType::F32, [8, 256], "%z, %z", ", %n"), [64, 256]),
    ] {
        let error = refusal(code, text.clone(), &[&shape]);
        assert_eq!(error.code(), code, "{error}\n{text}");
    }
    // What fits the array as a whole, or ends where it does, is no such part.
    for (text, shape) in [
        (kernels::part(DType::F32, [7, 100], "%z, %z", ""), [7, 100]),
        (kernels::part(DType::F32, [8, 100], "%n8, %z", ""), [64, 100]),
        (kernels::part(DType::F32, [1, 100], "%n, %z", ""), [64, 100]),
        (kernels::part(DType::F32, [8, 256], "%z, %z", ", %n8"), [64, 256]),
    ] {
        let kernel = parse(&text).expect("a kernel");
        let inputs = [(DType::F32, shape.to_vec())];
        let binding = bind(&kernel, &Chip::V5E, &inputs, &Config::default()).expect("a launch that may run");
        mosaic::print(&kernel, &binding, &Chip::V5E).unwrap_or_else(|e| panic!("{e}\n{text}"));
    }
    let strided = kernels::part_strided(DType::F32);
    assert_eq!(refusal("strided", strided, &[&[64, 128]]).code(), "M013");
    let adds = kernels::whole(DType::F32).replace("%sem\n    dma_wait", "%sem add\n    dma_wait");
    assert_eq!(refusal("adds", adds, &[&[7, 100]]).code(), "M014");
    let many =
        kernels::whole(DType::F32).replace("%sem: semaphore<dma>", "%sem: semaphore<dma>\n  scratch %more: semaphore<20x20xdma>");
    assert_eq!(refusal("many", many, &[&[7, 100]]).code(), "M015");
}

/// A store that a copy reads is no store that a later one covers, and what a copy has written is not known from the store before.
#[test]
fn stores_beside_copies_stay() {
    let text = "kernel @k() {
  in %x: hbm<?x?xf32> = [8, 128]
  out %first: hbm<?x?xf32> = [8, 128]
  out %second: vmem<8x128xf32> = [8, 128] blocks [8, 128] at () {
    %c = const 0 : i32
    yield %c, %c
  }
  scratch %s: vmem<8x128xf32>
  scratch %sem: semaphore<dma>
  body {
    %z = const 0 : i32
    %one = const 1.0 : f32
    %two = const 2.0 : f32
    %t = broadcast %one : tile<8x128xf32>
    %u = broadcast %two : tile<8x128xf32>
    %to = view %first[%z, %z] : hbm<8x128xf32>
    %from = view %x[%z, %z] : hbm<8x128xf32>
    store %t, %s[%z, %z]
    dma_start %s, %to, %sem
    dma_wait %s, %to, %sem
    store %u, %s[%z, %z]
    dma_start %from, %s, %sem
    dma_wait %from, %s, %sem
    %came = load %s[%z, %z] : tile<8x128xf32>
    store %u, %s[%z, %z]
    %now = load %s[%z, %z] : tile<8x128xf32>
    %sum = add %came, %now : tile<8x128xf32>
    store %sum, %second[%z, %z]
  }
}";
    check_all("stores beside copies", &[case("stores beside copies", text, vec![random(DType::F32, &[8, 128], 7)], &[])]);
}

/// A store that a chip makes by rewriting its neighbours, and a copy of the same memory: refused while the copy is in flight, also from
/// the step before; taken before its start and after its wait, and where the store is made in place.
#[test]
fn stores_that_rewrite_their_neighbours_wait_for_copies() {
    let kernel = |before: &str, between: &str, after: &str| {
        let text = format!(
            "kernel @k(n) {{
  grid i = n arbitrary
  prefetch %ids: smem<?xi32> = [n]
  in %x: hbm<?x?xbf16> = [16, 128]
  scratch %buf: vmem<32x128xbf16>
  scratch %sem: semaphore<dma>
  body {{
    %z = const 0 : i32
    %half = const 16 : i32
    %row = load_scalar %ids[%z] : i32
    %end = view %buf[%half, %z] : vmem<16x128xbf16>
    %from = view %x[%z, %z] : hbm<16x128xbf16>
    %one = const 1.0 : bf16
    %t = broadcast %one : tile<1x128xbf16>
    %whole = broadcast %one : tile<16x128xbf16>
    {before}
    dma_start %from, %end, %sem
    {between}
    dma_wait %from, %end, %sem
    {after}
  }}
}}"
        );
        let kernel = parse(&text).unwrap_or_else(|e| panic!("{e}"));
        verify(&kernel).unwrap_or_else(|e| panic!("{e:?}"));
        Chip::ALL.iter().map(|chip| legalise(&kernel, chip).map_err(|e| e.code())).map(|form| form.err()).collect::<Vec<_>>()
    };
    let anywhere = "store %t, %buf[%row, %z]";
    assert_eq!(kernel("", anywhere, ""), [Some("M016"); 5]);
    assert_eq!(kernel("", "store %whole, %buf[%z, %z]", ""), [None; 5]);
    assert_eq!(kernel(anywhere, "", anywhere), [None; 5]);
    // The last copy of a step is waited for in the next one.
    let later = "dma_start %from, %end, %sem";
    assert_eq!(kernel(anywhere, "", later), [Some("M016"); 5]);
}

/// A kernel with two memories, two semaphores and a copy to each; why the first chip refuses it.
fn beside_two(body: &str) -> Option<&'static str> {
    let text = format!(
        "kernel @k(n) {{
  prefetch %ids: smem<?xi32> = [n]
  in %x: hbm<?x?xbf16> = [16, 128]
  scratch %buf: vmem<32x128xbf16>
  scratch %other: vmem<16x128xbf16>
  scratch %sems: semaphore<2xdma>
  body {{
    %z = const 0 : i32
    %one = const 1 : i32
    %half = const 16 : i32
    %n = const 9 : i32
    %row = load_scalar %ids[%z] : i32
    %end = view %buf[%half, %z] : vmem<16x128xbf16>
    %from = view %x[%z, %z] : hbm<16x128xbf16>
    %first = view %x[%z, %z] : hbm<8x128xbf16>
    %few = view %other[%z, %z] : vmem<8x128xbf16>
    %number = const 1.0 : bf16
    %t = broadcast %number : tile<1x128xbf16>
    %a = semaphore_at %sems[%z] : semaphore<dma>
    %b = semaphore_at %sems[%one] : semaphore<dma>
    %c = semaphore_at %sems[%row] : semaphore<dma>
    {body}
  }}
}}"
    );
    let kernel = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    verify(&kernel).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    legalise(&kernel, &Chip::V5E).map_err(|e| e.code()).err()
}

/// Two copies on one semaphore: a wait may be met by the bytes of either, so that both are in flight until all are waited for.
#[test]
fn a_wait_may_be_met_by_another_copy() {
    let store = "store %t, %buf[%row, %z]";
    let [to_buf, to_other] = ["%from, %end", "%from, %other"];
    let start = |ends: &str, semaphore: &str| format!("dma_start {ends}, {semaphore}\n");
    let wait = |ends: &str, semaphore: &str| format!("dma_wait {ends}, {semaphore}\n");
    let both = |s: &str| start(to_buf, "%a") + &start(to_other, s);
    // Of its own bytes, it may be that those of the other have come.
    assert_eq!(beside_two(&(both("%a") + &wait(to_buf, "%a") + store + "\n" + &wait(to_other, "%a"))), Some("M016"));
    assert_eq!(beside_two(&(both("%a") + &wait(to_buf, "%a") + &wait(to_other, "%a") + store)), None);
    // Semaphores of their own tell them apart; one that is computed may be either.
    assert_eq!(beside_two(&(both("%b") + &wait(to_buf, "%a") + store + "\n" + &wait(to_other, "%b"))), None);
    assert_eq!(beside_two(&(both("%c") + &wait(to_buf, "%a") + store + "\n" + &wait(to_other, "%c"))), Some("M016"));
    // Half of the bytes are not all.
    let halves = start(to_buf, "%a") + &wait("%first, %few", "%a");
    assert_eq!(beside_two(&(halves.clone() + store + "\n" + &wait("%first, %few", "%a"))), Some("M016"));
    assert_eq!(beside_two(&(halves + &wait("%first, %few", "%a") + store)), None);
    // A wait on one side of a branch may not happen.
    let side = |arm: &str| format!("%yes = lt %row, %one : bool\nif %yes {{\n{arm}\n}} else {{\n}}\n");
    assert_eq!(beside_two(&(start(to_buf, "%a") + &side(&wait(to_buf, "%a")) + store)), Some("M016"));
}

/// Loops: what the turn before has started, what none leaves, and what more turns leave than one waits for.
#[test]
fn copies_in_flight_in_loops() {
    let store = "store %t, %buf[%row, %z]\n";
    let (start, wait) = ("dma_start %from, %end, %a\n", "dma_wait %from, %end, %a\n");
    let turns = |body: &str| format!("for %i = %z to %n step %one {{\n{body}}}\n");
    assert_eq!(beside_two(&turns(&[start, wait, store].concat())), None);
    assert_eq!(beside_two(&(start.to_string() + &turns(&[wait, store, start].concat()) + wait + store)), None);
    assert_eq!(beside_two(&(start.to_string() + &turns(&[store, wait, start].concat()) + wait)), Some("M016"));
    assert_eq!(beside_two(&(turns(start) + wait + store)), Some("M016"));
    // The test of a `while` runs once more than its body.
    let test = format!("%last = while carry (%at = %z) : i32 {{\n{start}%more = lt %at, %n : bool\nyield %more\n}} do (%now) {{\n");
    let next = "%next = add %now, %one : i32\nyield %next\n}\n";
    assert_eq!(beside_two(&(test.clone() + wait + next + store)), Some("M016"));
    assert_eq!(beside_two(&(test.replacen(start, "", 1) + start + wait + next + store)), None);
}

/// Loops as deep as a kernel may nest them cost what their operations cost.
#[test]
fn deep_loops_with_copies_are_legalised_in_time() {
    let (start, wait) = ("dma_start %from, %end, %a\n", "dma_wait %from, %end, %a\n");
    let mut body = start.to_string() + wait + "store %t, %buf[%row, %z]\n";
    for depth in 0..60 {
        body = format!("for %i{depth} = %z to %n step %one {{\n{start}{wait}{body}}}\n");
    }
    let begin = std::time::Instant::now();
    assert_eq!(beside_two(&body), None);
    // Twice the work for each of 60 loops would be longer than the age of the universe.
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}

/// Places that a chip's words do not hold, and parts for which too much would be loaded.
#[test]
fn views_too_far_and_parts_of_too_much() {
    let far = "%wide = view %x[%z, %z] strides [65536, 1] : hbm<131072x128xbf16>
    %far = view %wide[%z, %z] strides [65536, 1] : hbm<2x128xbf16>
    %pair = view %other[%z, %z] : vmem<2x128xbf16>
    dma_start %far, %pair, %a";
    assert_eq!(beside_two(far), Some("M017"));
    let begin = "%wide = view %x[%z, %z] strides [65536, 1] : hbm<131072x128xbf16>
    %large = const 65000 : i32
    %begins = view %wide[%large, %z] : hbm<2x128xbf16>
    %pair = view %other[%z, %z] : vmem<2x128xbf16>
    dma_start %begins, %pair, %a";
    assert_eq!(beside_two(begin), Some("M017"));
    // A copy takes memory as it lies.
    let turned = "%turned = view_transposed %other perm [1, 0] : vmem<128x16xbf16>
    %back = view_transposed %turned perm [1, 0] : vmem<16x128xbf16>
    dma_start %from, %back, %a";
    assert_eq!(beside_two(turned), Some("M013"));
}
