//! For each operation on values which elements of its result are poison: exactly those, for random shadows of its operands.

use tpu_kernel::ir::DType;
use tpu_tests::tracked::cases::{Case, Given, check, clean, f32, of, one, two};

const F: DType = DType::F32;
const S: &[usize] = &[4, 6];

#[test]
fn elementwise_operations_are_poison_where_an_operand_is() {
    let either: fn(&Given, &[usize]) -> bool = |g, i| g.p(0, i) || g.p(1, i);
    let b = of(DType::Bool, S);
    let i = of(DType::I32, S);
    for case in [
        one("neg", f32(S), (F, S), "%r = neg %t0 : tile<4x6xf32>", |g, i| g.p(0, i)),
        one("not", b, (DType::Bool, S), "%r = not %t0 : tile<4x6xbool>", |g, i| g.p(0, i)),
        one("cast", f32(S), (DType::I8, S), "%r = cast %t0 : tile<4x6xi8>", |g, i| g.p(0, i)),
        two("mul", [f32(S); 2], (F, S), "%r = mul %t0, %t1 : tile<4x6xf32>", either),
        two("and of numbers", [i; 2], (DType::I32, S), "%r = and %t0, %t1 : tile<4x6xi32>", either),
        two("lt", [f32(S); 2], (DType::Bool, S), "%r = lt %t0, %t1 : tile<4x6xbool>", either),
        two("xor", [b; 2], (DType::Bool, S), "%r = xor %t0, %t1 : tile<4x6xbool>", either),
        two(
            "stochastic_round",
            [f32(S), of(DType::U32, S)],
            (DType::Bf16, S),
            "%r = stochastic_round %t0, %t1 : tile<4x6xbf16>",
            either,
        ),
        one("the same twice", f32(S), (F, S), "%r = add %t0, %t0 : tile<4x6xf32>", |g, i| g.p(0, i)),
        one(
            "0 times",
            f32(S),
            (F, S),
            "%none = const 0.0 : f32\n%nones = broadcast %none : tile<4x6xf32>\n%r = mul %nones, %t0 : tile<4x6xf32>",
            |g, i| g.p(0, i),
        ),
    ] {
        check(&case);
    }
}

#[test]
fn what_decides_alone_hides_poison() {
    let b = of(DType::Bool, S);
    for case in [
        two("and", [b; 2], (DType::Bool, S), "%r = and %t0, %t1 : tile<4x6xbool>", |g, i| {
            let decided = |k: usize| !g.p(k, i) && !g.t(k, i);
            (g.p(0, i) || g.p(1, i)) && !decided(0) && !decided(1)
        }),
        two("or", [b; 2], (DType::Bool, S), "%r = or %t0, %t1 : tile<4x6xbool>", |g, i| {
            let decided = |k: usize| !g.p(k, i) && g.t(k, i);
            (g.p(0, i) || g.p(1, i)) && !decided(0) && !decided(1)
        }),
        two(
            "or with what is never poison",
            [b, clean(DType::Bool, S, 2)],
            (DType::Bool, S),
            "%r = or %t1, %t0 : tile<4x6xbool>",
            |g, i| g.p(0, i) && !g.t(1, i),
        ),
        Case {
            name: "select",
            inputs: vec![b, f32(S), f32(S)],
            out: (F, S),
            params: "",
            body: "%r = select %t0, %t1, %t2 : tile<4x6xf32>",
            want: |g, i| g.p(0, i) || g.p(if g.t(0, i) { 1 } else { 2 }, i),
        },
        Case {
            name: "select of a constant",
            inputs: vec![clean(DType::Bool, S, 2), f32(S)],
            out: (F, S),
            params: "",
            body: "%none = const 0.0 : f32\n%nones = broadcast %none : tile<4x6xf32>\n%r = select %t0, %nones, %t1 : tile<4x6xf32>",
            want: |g, i| !g.t(0, i) && g.p(1, i),
        },
        two("select of the same", [b, f32(S)], (F, S), "%r = select %t0, %t1, %t1 : tile<4x6xf32>", |g, i| g.p(0, i) || g.p(1, i)),
    ] {
        check(&case);
    }
}

#[test]
fn poison_moves_with_its_element() {
    let x = f32(S);
    for case in [
        one("broadcast", f32(&[1, 6]), (F, S), "%r = broadcast %t0 : tile<4x6xf32>", |g, i| g.p(0, &[0, i[1]])),
        one("extract", x, (F, S), "%e = extract %t0 [2, 3] : f32\n%r = broadcast %e : tile<4x6xf32>", |g, _| g.p(0, &[2, 3])),
        one("reshape", x, (F, &[3, 8]), "%r = reshape %t0 : tile<3x8xf32>", |g, i| {
            let at = i[0] * 8 + i[1];
            g.p(0, &[at / 6, at % 6])
        }),
        one("transpose", f32(&[2, 3, 4]), (F, &[4, 2, 3]), "%r = transpose %t0 perm [2, 0, 1] : tile<4x2x3xf32>", |g, i| {
            g.p(0, &[i[1], i[2], i[0]])
        }),
        one("slice", x, (F, &[2, 2]), "%r = slice %t0 starts [1, 1] strides [2, 3] : tile<2x2xf32>", |g, i| {
            g.p(0, &[1 + 2 * i[0], 1 + 3 * i[1]])
        }),
        two("concat", [x, f32(&[4, 2])], (F, &[4, 14]), "%r = concat %t0, %t1, %t0 axis 1 : tile<4x14xf32>", |g, i| match i[1] {
            j @ 0..6 => g.p(0, &[i[0], j]),
            j @ 6..8 => g.p(1, &[i[0], j - 6]),
            j => g.p(0, &[i[0], j - 8]),
        }),
        two(
            "concat with what is never poison",
            [x, clean(F, &[4, 2], 4)],
            (F, &[4, 8]),
            "%c = const 1.0 : f32\n%cs = broadcast %c : tile<4x2xf32>\n%r = concat %cs, %t0 axis 1 : tile<4x8xf32>",
            |g, i| i[1] >= 2 && g.p(0, &[i[0], i[1] - 2]),
        ),
        one("rotate", x, (F, S), "%r = rotate %t0, %two axis 1 : tile<4x6xf32>", |g, i| g.p(0, &[i[0], (i[1] + 4) % 6])),
        one("rotate rows", x, (F, S), "%r = rotate %t0, %two axis 1 stride -1 along 0 : tile<4x6xf32>", |g, i| {
            g.p(0, &[i[0], (i[1] + 6 - 2 + i[0]) % 6])
        }),
        two(
            "rotate by what may be poison",
            [x, of(DType::I32, &[1])],
            (F, S),
            "%n = extract %t1 [0] : i32\n%r = rotate %t0, %n axis 0 : tile<4x6xf32>",
            |g, i| g.p(1, &[0]) || g.p(0, &[(i[0] + 4 - g.v(1, &[0]) as usize) % 4, i[1]]),
        ),
        two("gather", [x, clean(DType::I32, &[4, 3], 6)], (F, &[4, 3]), "%r = gather %t0, %t1 axis 1 : tile<4x3xf32>", |g, i| {
            g.p(0, &[i[0], g.v(1, i) as usize])
        }),
        one("bitcast", x, (DType::I32, S), "%r = bitcast %t0 : tile<4x6xi32>", |g, i| g.p(0, i)),
        one("bitcast to less", x, (DType::I8, &[16, 6]), "%r = bitcast %t0 : tile<16x6xi8>", |g, i| g.p(0, &[i[0] / 4, i[1]])),
        one("bitcast to more", of(DType::I16, &[4, 6]), (DType::U32, &[2, 6]), "%r = bitcast %t0 : tile<2x6xu32>", |g, i| {
            g.p(0, &[2 * i[0], i[1]]) || g.p(0, &[2 * i[0] + 1, i[1]])
        }),
        one(
            "bitcast of floats",
            of(DType::F8E5M2, &[4, 6]),
            (DType::Bf16, &[2, 6]),
            "%r = bitcast %t0 : tile<2x6xbf16>",
            |g, i| g.p(0, &[2 * i[0], i[1]]) || g.p(0, &[2 * i[0] + 1, i[1]]),
        ),
        one("bitcast to half a byte", of(DType::I8, &[2, 3]), (DType::U4, &[4, 3]), "%r = bitcast %t0 : tile<4x3xu4>", |g, i| {
            g.p(0, &[i[0] / 2, i[1]])
        }),
    ] {
        check(&case);
    }
}

#[test]
fn folds_are_poison_where_anything_they_are_made_of_is() {
    let x = f32(S);
    let row: fn(&Given, &[usize]) -> bool = |g, i| (0..6).any(|j| g.p(0, &[i[0], j]));
    let column: fn(&Given, &[usize]) -> bool = |g, i| (0..4).any(|j| g.p(0, &[j, i[1]]));
    let sorted: fn(&Given, &[usize]) -> bool =
        |g, i| (0..6).any(|j| g.p(0, &[i[0], j])) || g.p(1, &[i[0], g.sorted(0, i[0], i[1], false)]);
    let falling: fn(&Given, &[usize]) -> bool =
        |g, i| (0..6).any(|j| g.p(0, &[i[0], j])) || g.p(1, &[i[0], g.sorted(0, i[0], i[1], true)]);
    for case in [
        one("sum of rows", x, (F, &[4, 1]), "%r = reduce sum %t0 axis 1 : tile<4x1xf32>", row),
        one("max of columns", x, (F, &[1, 6]), "%r = reduce max %t0 axis 0 : tile<1x6xf32>", column),
        one("argmax", x, (DType::I32, &[4, 1]), "%r = reduce argmax %t0 axis 1 : tile<4x1xi32>", row),
        one("argmin", x, (DType::I32, &[1, 6]), "%r = reduce argmin %t0 axis 0 : tile<1x6xi32>", column),
        one("all", of(DType::Bool, S), (DType::Bool, &[4, 1]), "%r = reduce all %t0 axis 1 : tile<4x1xbool>", row),
        one("scan", x, (F, S), "%r = scan sum %t0 axis 1 : tile<4x6xf32>", |g, i| (0..=i[1]).any(|j| g.p(0, &[i[0], j]))),
        one("scan back", x, (F, S), "%r = scan max %t0 axis 0 reverse : tile<4x6xf32>", |g, i| {
            (i[0]..4).any(|j| g.p(0, &[j, i[1]]))
        }),
        one("sort", x, (F, S), "%r = sort %t0 axis 1 : tile<4x6xf32>", |g, i| (0..6).any(|j| g.p(0, &[i[0], j]))),
        two(
            "sort beside",
            [x, of(DType::I8, S)],
            (DType::I8, S),
            "%k, %r = sort %t0, %t1 axis 1 : tile<4x6xf32>, tile<4x6xi8>",
            sorted,
        ),
        two(
            "sort beside clean keys",
            [clean(F, S, 4), of(DType::Bool, S)],
            (DType::Bool, S),
            "%k, %r = sort %t0, %t1 axis 1 descending : tile<4x6xf32>, tile<4x6xbool>",
            falling,
        ),
    ] {
        check(&case);
    }
}

#[test]
fn products_are_poison_where_a_row_or_a_column_has_some() {
    for case in [
        two("a · b", [f32(&[3, 4]), f32(&[4, 5])], (F, &[3, 5]), "%r = dot %t0, %t1 : tile<3x5xf32>", |g, i| {
            (0..4).any(|k| g.p(0, &[i[0], k]) || g.p(1, &[k, i[1]]))
        }),
        two(
            "aᵀ · bᵀ",
            [f32(&[4, 3]), f32(&[5, 4])],
            (F, &[3, 5]),
            "%r = dot %t0, %t1 contract [0, 1] : tile<3x5xf32>",
            |g, i| (0..4).any(|k| g.p(0, &[k, i[0]]) || g.p(1, &[i[1], k])),
        ),
        two("a · v", [f32(&[3, 4]), f32(&[4])], (F, &[3]), "%r = dot %t0, %t1 contract [1, 0] : tile<3xf32>", |g, i| {
            (0..4).any(|k| g.p(0, &[i[0], k]) || g.p(1, &[k]))
        }),
        two("v · b", [f32(&[4]), f32(&[3, 4])], (F, &[3]), "%r = dot %t0, %t1 contract [0, 1] : tile<3xf32>", |g, i| {
            (0..4).any(|k| g.p(0, &[k]) || g.p(1, &[i[0], k]))
        }),
        two(
            "one batch",
            [f32(&[2, 3, 4]), f32(&[4, 5, 2])],
            (F, &[2, 3, 5]),
            "%r = dot %t0, %t1 contract [2, 0] batch [[0, 2]] : tile<2x3x5xf32>",
            |g, i| (0..4).any(|k| g.p(0, &[i[0], i[1], k]) || g.p(1, &[k, i[2], i[0]])),
        ),
        two(
            "two batches",
            [f32(&[2, 3, 4, 2]), f32(&[2, 4, 5, 2])],
            (F, &[2, 2, 3, 5]),
            "%r = dot %t0, %t1 contract [2, 1] batch [[0, 3], [3, 0]] : tile<2x2x3x5xf32>",
            |g, i| (0..4).any(|k| g.p(0, &[i[0], i[2], k, i[1]]) || g.p(1, &[i[1], k, i[3], i[0]])),
        ),
        two(
            "a batch and nothing left",
            [f32(&[2, 4]), f32(&[4, 2])],
            (F, &[2]),
            "%r = dot %t0, %t1 contract [1, 0] batch [[0, 1]] : tile<2xf32>",
            |g, i| (0..4).any(|k| g.p(0, &[i[0], k]) || g.p(1, &[k, i[0]])),
        ),
        two(
            "a factor that is never poison",
            [f32(&[3, 4]), clean(DType::Bf16, &[4, 5], 4)],
            (F, &[3, 5]),
            "%r = dot %t0, %t1 : tile<3x5xf32>",
            |g, i| (0..4).any(|k| g.p(0, &[i[0], k])),
        ),
    ] {
        check(&case);
    }
}
