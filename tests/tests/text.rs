//! The reader, the verifier and the passes take anything: mutated texts, mutated kernels, hostile texts.

use tpu_kernel::ir::{
    BlockDim, Builder, DType, DotDims, GridDim, Kernel, Literal, Loc, MAX_DEPTH, OpKind, ParamKind, Precision, ReduceOp, Region,
    RotateStride, ScanOp, Semantics, SemaphoreKind, Shape, SizeExpr, SizeId, Space, Type, Value, parse,
};
use tpu_kernel::passes::{canonicalise, verify};
use tpu_tests::filetest::{agreement, corpus, round_trip};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// Words, numbers and single other characters, each with the white space after it.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = vec![];
    let mut joined = false;
    for c in text.chars() {
        let word = c.is_alphanumeric() || c == '_' || c == '%';
        match tokens.last_mut() {
            Some(last) if c.is_whitespace() || (word && joined) => last.push(c),
            _ => tokens.push(c.to_string()),
        }
        joined = word;
    }
    tokens
}

const ODD: &[&str] = &[
    "0",
    "1",
    "-1",
    "2147483647",
    "2147483648",
    "99999999999999999999",
    "nan",
    "inf",
    "0x7fc00001",
    "1e999",
    "\"",
    "\\u{110000}",
    "%",
    "%0",
    "é",
    "\u{0}",
    "loc(1:1)",
    "loc(\"\":4294967295:1)",
    "yield",
    "region {",
    "generic",
    "to [4, 4]",
    "tile<0xf32>",
    "f32",
    "bool",
    "vmem<2x2xf32>",
    "tile<2147483647x2147483647xf32>",
    "?7",
    "ceildiv(",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    ":",
    "as",
    "squeezed",
    "-128",
    "4294967295",
    "tile<2x2xi4>",
    "u32",
    "f8e5m2",
    "axis 1",
    "reverse",
    "contract [0, 0]",
    "batch [[0, 0]]",
    "strides [2, 2]",
    "print \"{}\", %0",
];

fn mutate(text: &str, others: &[Vec<String>], random: &mut Random) -> String {
    let mut tokens = tokens(text);
    for _ in 0..1 + random.below(2) {
        let at = random.below(tokens.len());
        let end = (at + 1 + random.below(6)).min(tokens.len());
        match random.below(10) {
            0 => _ = tokens.drain(at..end),
            1 => {
                let copy = tokens[at..end].to_vec();
                let to = random.below(tokens.len());
                tokens.splice(to..to, copy);
            }
            2 => tokens[at] = format!("{} ", random.pick(ODD)),
            3 => tokens.insert(at, format!("{} ", random.pick(ODD))),
            // A token of the same sort, most often from the same text.
            4..8 => {
                let sort = |token: &str| {
                    token.chars().next().map(|c| if c.is_alphabetic() { 'a' } else { c.to_digit(10).map_or(c, |_| '0') })
                };
                let from = if random.below(4) == 0 { &others[random.below(others.len())] } else { &tokens };
                let alike: Vec<&String> = from.iter().filter(|t| sort(t) == sort(&tokens[at])).collect();
                if !alike.is_empty() {
                    tokens[at] = alike[random.below(alike.len())].clone();
                }
            }
            8 => {
                let other = random.below(tokens.len());
                tokens.swap(at, other);
            }
            _ if random.below(8) == 0 => tokens.truncate(at),
            _ => tokens[at] = char::from_u32(random.below(0x11_0000) as u32).unwrap_or('x').to_string(),
        }
        if tokens.is_empty() {
            break;
        }
    }
    tokens.concat()
}

/// Nothing panics; what verifies still verifies when canonicalised, and stays canonical.
fn exercise(kernel: &Kernel) {
    let sound = verify(kernel).map_err(|faults| faults.iter().for_each(|f| _ = f.to_string())).is_ok();
    let mut canonical = kernel.clone();
    canonicalise(&mut canonical);
    if sound {
        assert_eq!(verify(&canonical), Ok(()), "\n{kernel}\n{canonical}");
        let mut again = canonical.clone();
        canonicalise(&mut again);
        assert_eq!(again, canonical, "\n{kernel}\n{canonical}\n{again}");
    } else {
        assert_eq!(*kernel, canonical);
    }
}

#[test]
fn mutated_texts() {
    let texts = corpus::texts();
    let others: Vec<Vec<String>> = texts.iter().map(|t| tokens(t)).collect();
    let mut random = Random(1);
    let (mut parsed, mut verified) = (0, 0);
    for round in 0..25 * texts.len() {
        let text = mutate(&texts[round % texts.len()], &others, &mut random);
        if let Ok(kernel) = parse(&text) {
            parsed += 1;
            round_trip(&kernel).unwrap_or_else(|e| panic!("{e}\n{text}"));
            verified += usize::from(verify(&kernel).is_ok());
            exercise(&kernel);
        }
    }
    assert!(
        parsed > 2 * texts.len() && verified > texts.len() / 2,
        "the mutations are too wild: {parsed} parsed, {verified} verified"
    );
}

/// Mutated kernels give the same results through every executor, as written and canonicalised.
#[test]
fn mutated_runs() {
    let texts: Vec<String> = corpus::texts().into_iter().filter(|t| t.starts_with("; test: run")).collect();
    let others: Vec<Vec<String>> = texts.iter().map(|t| tokens(t)).collect();
    let mut random = Random(4);
    let mut runs = 0;
    for round in 0..10 * texts.len() {
        let text = mutate(&texts[round % texts.len()], &others, &mut random);
        // A mutated loop may never end.
        if text.contains("while") || text.contains("for ") {
            continue;
        }
        runs += agreement(&text).unwrap_or_else(|difference| panic!("{difference}\n{text}"));
    }
    assert!(runs > texts.len() / 4, "only {runs} runs");
}

fn values<'a>(region: &'a mut Region, all: &mut Vec<&'a mut Value>) {
    all.extend(&mut region.args);
    all.extend(&mut region.yields);
    for op in &mut region.ops {
        all.extend(&mut op.operands);
        all.extend(&mut op.results);
        op.regions.iter_mut().for_each(|r| values(r, all));
    }
}

fn kinds<'a>(region: &'a mut Region, all: &mut Vec<&'a mut OpKind>) {
    for op in &mut region.ops {
        all.push(&mut op.kind);
        op.regions.iter_mut().for_each(|r| kinds(r, all));
    }
}

fn random_type(random: &mut Random) -> Type {
    let dtype = random.pick(&DType::ALL);
    let dims: Vec<usize> = (0..random.below(5)).map(|_| random.pick(&[0, 1, 2, 128, 65536, i32::MAX as usize])).collect();
    match random.below(5) {
        0 => Type::Scalar(dtype),
        1 => Type::Tile(dtype, Shape::new(&dims)),
        2 => Type::Array(random.pick(&Space::ALL), dtype, 1 + random.below(4)),
        3 => Type::Semaphore(random.pick(&SemaphoreKind::ALL), Shape::new(&dims)),
        _ => Type::Ref(random.pick(&Space::ALL), dtype, Shape::new(&dims)),
    }
}

fn random_kind(random: &mut Random) -> OpKind {
    let dims: Vec<usize> = (0..random.below(5)).map(|_| random.pick(&[0, 1, 2, 8, i32::MAX as usize])).collect();
    let shape = Shape::new(&dims);
    let axis = random.pick(&[0, 1, 3, 4, usize::MAX]);
    let (dtype, index) = (random.pick(&DType::ALL), vec![axis; random.below(5)]);
    match random.below(46) {
        0 => OpKind::Iota { shape, axis },
        1 => OpKind::Broadcast(shape),
        2 => OpKind::Reshape(shape),
        3 => OpKind::Transpose(vec![axis, 0, 1]),
        4 => OpKind::Load(shape),
        5 => OpKind::Store,
        6 => OpKind::ProgramId(axis),
        7 => OpKind::Size(SizeId(random.next() as u32)),
        8 => OpKind::If,
        9 => OpKind::For,
        10 => OpKind::While,
        11 => OpKind::Bitcast(dtype),
        12 => OpKind::StochasticRound(dtype),
        13 => OpKind::Slice { starts: index.clone(), shape, strides: index },
        14 => OpKind::Concat { axis },
        15 => OpKind::Rotate { axis, stride: Some(RotateStride { by: random.next() as i32, axis: random.below(3) }) },
        16 => OpKind::Rotate { axis, stride: None },
        17 => OpKind::Gather { axis },
        18 => OpKind::Scan { op: random.pick(ScanOp::ALL), axis, reverse: true },
        19 => OpKind::Sort { axis, descending: true },
        20 => OpKind::Extract(index),
        21 => OpKind::Reduce { op: random.pick(ReduceOp::ALL), axis },
        22 => {
            let batch = (0..random.below(4)).map(|_| (random.below(3), axis)).collect();
            OpKind::Dot { dims: DotDims { contract: (axis, random.below(3)), batch }, precision: Precision::High }
        }
        23 => OpKind::PrngSeed,
        24 => OpKind::PrngBits(shape),
        25 => OpKind::Print("{}\n".into()),
        26 => OpKind::Check("{}\"".into()),
        27 => OpKind::LoadScalar,
        28 => OpKind::StoreScalar,
        29 => OpKind::View { shape, strides: index },
        30 => OpKind::ViewSqueezed(index),
        31 => OpKind::SemaphoreAt,
        32 => OpKind::DmaStart { priority: random.below(4) as u8, add: random.below(2) == 0 },
        33 => OpKind::DmaWait,
        34 => OpKind::SemaphoreSignal,
        35 => OpKind::SemaphoreWait,
        36 => OpKind::SemaphoreRead,
        37 => OpKind::Scoped,
        38 => OpKind::ViewReshaped(shape),
        39 => OpKind::ViewTransposed(index),
        40 => OpKind::ViewBitcast(dtype),
        41 => OpKind::LoadMasked(shape),
        42 => OpKind::StoreMasked,
        43 => OpKind::RemoteStart { priority: random.below(4) as u8 },
        44 => OpKind::DeviceId,
        _ => OpKind::Const(Literal::from_bits(dtype, random.next() as u32)),
    }
}

fn break_kernel(kernel: &mut Kernel, random: &mut Random) {
    let count = kernel.types.len();
    let known = random.below(count) as u32;
    let value = Value(random.pick(&[0, known, known, known, count as u32, u32::MAX]));
    let (ty, kind) = (random_type(random), random_kind(random));
    match random.below(10) {
        0 => _ = kernel.types.pop(),
        1 if count > 0 => kernel.types[value.0 as usize % count] = ty,
        2 => {
            let mut all = vec![];
            kinds(&mut kernel.body, &mut all);
            let at = random.below(all.len());
            if let Some(slot) = all.get_mut(at) {
                **slot = kind;
            }
        }
        3 => _ = kernel.sizes.pop(),
        4 => _ = kernel.grid.pop(),
        5 => _ = kernel.params.pop(),
        6 => kernel.body.ops.truncate(random.below(kernel.body.ops.len())),
        7 => {
            for param in &mut kernel.params {
                if let ParamKind::In(window) | ParamKind::Out(window) = &mut param.kind {
                    window.block.push(BlockDim::Blocked(usize::MAX));
                    window.array.push(SizeExpr::Size(SizeId(u32::MAX)) + SizeExpr::Const(i64::MIN));
                    window.map.yields.push(value);
                }
            }
        }
        8 => kernel.body.ops.iter_mut().for_each(|op| _ = op.regions.pop()),
        _ => {
            let mut all = vec![];
            values(&mut kernel.body, &mut all);
            let at = random.below(all.len());
            if let Some(slot) = all.get_mut(at) {
                **slot = value;
            }
        }
    }
}

#[test]
fn broken_kernels() {
    let kernels: Vec<Kernel> = corpus::texts().iter().filter_map(|t| parse(t).ok()).collect();
    let mut random = Random(2);
    for round in 0..30 * kernels.len() {
        let mut kernel = kernels[round % kernels.len()].clone();
        for _ in 0..1 + random.below(3) {
            break_kernel(&mut kernel, &mut random);
        }
        let _ = parse(&kernel.to_string());
        kernel.clone().renumber();
        exercise(&kernel);
    }
}

#[test]
fn hostile_texts() {
    let many = 200_000;
    let in_body = |text: &str| format!("kernel @k(m) {{ body {{ {text}");
    let grid = |text: &str| format!("kernel @k(m) {{ grid i = {text} arbitrary body {{ }} }}");
    let texts = [
        grid(&"(".repeat(many)),
        grid(&format!("m{}", " + m".repeat(many))),
        grid(&format!("m{}", " * m".repeat(many))),
        grid(&"ceildiv(".repeat(many)),
        in_body(&"if %c { ".repeat(many)),
        in_body(&"while { ".repeat(many)),
        in_body(&"generic if region { ".repeat(many)),
        in_body(&"%a = add %a, %a : f32 ".repeat(many)),
        in_body(&format!("store {}", "%a, ".repeat(many))),
        in_body(&format!("%x = slice %y starts [{}", "1, ".repeat(many))),
        in_body(&format!("dot %x, %y contract [0, 0] batch [{}", "[0, 0], ".repeat(many))),
        in_body(&format!("print \"{}\"", "{}".repeat(many))),
        in_body(&format!("%x = transpose %y perm [{}", "1, ".repeat(many))),
        format!("kernel @k({}", "m, ".repeat(many)),
        "\"".repeat(many),
        "\u{feff}".repeat(many),
        "9".repeat(many),
        format!("kernel @\"{}\"() {{", "\\\\".repeat(many)),
        ";".repeat(many),
        String::new(),
    ];
    for text in texts {
        assert!(parse(&text).is_err());
    }
}

/// What nests as deep as the verifier allows can be read again; one level more is a fault.
#[test]
fn deepest() {
    let sums = |depth: usize, right: bool| {
        (0..depth).fold(SizeExpr::Size(SizeId(0)), |inner, n| match (right, n % 2) {
            (true, 0) => SizeExpr::Const(1) - inner,
            (true, _) => SizeExpr::Const(2) / inner,
            (false, _) => inner + SizeExpr::Const(1),
        })
    };
    let kernel = |size: SizeExpr, regions: usize| {
        let mut builder = Builder::new("deep", Loc::UNKNOWN);
        builder.size("m");
        builder.grid_dim(GridDim { name: "i".into(), extent: size, semantics: Semantics::Parallel, loc: Loc::UNKNOWN });
        let condition = builder.constant(true, Loc::UNKNOWN);
        (0..regions).for_each(|_| _ = builder.begin_region(&[]));
        for _ in 0..regions {
            let region = builder.end_region(&[]);
            builder.control(OpKind::If, &[condition], vec![region, Region::default()], &[], Loc::UNKNOWN);
        }
        builder.finish().unwrap()
    };
    for right in [false, true] {
        let deepest = kernel(sums(MAX_DEPTH, right), MAX_DEPTH);
        assert_eq!(verify(&deepest), Ok(()));
        round_trip(&deepest).unwrap();
        let deeper = [kernel(sums(MAX_DEPTH + 1, right), 1), kernel(1.into(), MAX_DEPTH + 1), kernel(1.into(), 3 * MAX_DEPTH)];
        for kernel in deeper {
            let codes: Vec<&str> = verify(&kernel).unwrap_err().iter().map(|f| f.rule.code()).collect();
            assert_eq!(codes, ["V030"]);
        }
    }
}

/// Every literal survives its text.
#[test]
fn literals() {
    let mut random = Random(3);
    let survives = |literal: Literal| {
        let text = literal.to_string();
        assert_eq!(Literal::parse(literal.dtype(), &text), Some(literal), "{text}");
    };
    for dtype in DType::ALL.into_iter().filter(|d| d.bits() <= 16) {
        (0..=u16::MAX).for_each(|bits| survives(Literal::from_bits(dtype, u32::from(bits))));
    }
    for _ in 0..100_000 {
        let bits = random.next() as u32;
        survives(Literal::from_bits(DType::F32, bits));
        survives(Literal::from_bits(DType::F32, bits & 0x007f_ffff));
        survives(Literal::from_bits(DType::F32, bits | 0x7f80_0000));
        survives(Literal::from_bits(DType::I32, bits));
        survives(Literal::from_bits(DType::U32, bits));
    }
    for (dtype, text) in
        [(DType::I32, "2147483648"), (DType::F32, "1e39"), (DType::Bf16, "0x10000"), (DType::Bool, "1"), (DType::F32, "infinity")]
    {
        assert_eq!(Literal::parse(dtype, text), None, "{text}");
    }
}
