//! What is poison after it went through memory, views, branches and loops: exactly that, for random shadows of the inputs.

use tpu_kernel::ir::DType;
use tpu_tests::tracked::cases::{Case, check, clean, f32, one};

const F: DType = DType::F32;
const S: &[usize] = &[4, 6];

#[test]
fn memory_keeps_what_is_poison() {
    let x = f32(S);
    let mask = clean(DType::Bool, &[2, 3], 2);
    for case in [
        one("stored in part", x, (F, S), "%p = load %x0[%one, %two] : tile<2x3xf32>\nstore %p, %o[%z, %one]", |g, i| {
            !(i[0] < 2 && (1..4).contains(&i[1])) || g.p(0, &[i[0] + 1, i[1] + 1])
        }),
        Case {
            name: "scratch",
            inputs: vec![x],
            out: (F, S),
            params: "  scratch %s: vmem<8x6xf32>\n",
            body: "store %t0, %s[%two, %z]\n%r = load %s[%one, %z] : tile<4x6xf32>",
            want: |g, i| i[0] == 0 || g.p(0, &[i[0] - 1, i[1]]),
        },
        Case {
            name: "scratch that is written clean again",
            inputs: vec![x],
            out: (F, S),
            params: "  scratch %s: vmem<4x6xf32>\n",
            body: "store %t0, %s[%z, %z]\n%c = const 1.0 : f32\n%cs = broadcast %c : tile<2x6xf32>\nstore %cs, %s[%one, %z]\n\
                   %r = load %s[%z, %z] : tile<4x6xf32>",
            want: |g, i| !(1..3).contains(&i[0]) && g.p(0, i),
        },
        Case {
            name: "scalar memory",
            inputs: vec![x],
            out: (F, &[2, 3]),
            params: "  scratch %s: smem<3xf32>\n",
            body: "%e = extract %t0 [1, 1] : f32\nstore_scalar %e, %s[%one]\n%a = load_scalar %s[%one] : f32\n\
                   %b = load_scalar %s[%two] : f32\n%as = broadcast %a : tile<1x3xf32>\n%bs = broadcast %b : tile<1x3xf32>\n\
                   %r = concat %as, %bs axis 0 : tile<2x3xf32>",
            want: |g, i| i[0] == 1 || g.p(0, &[1, 1]),
        },
        one(
            "views",
            f32(&[2, 6, 8]),
            (F, &[3, 2]),
            "%a = view %x0[%one, %one, %two] strides [1, 2, 1] : vmem<1x3x6xf32>\n%b = view_squeezed %a axes [0] : vmem<3x6xf32>\n\
             %c = view %b[%z, %one] strides [1, 3] : vmem<3x2xf32>\n%r = load %c[%z, %z] : tile<3x2xf32>",
            |g, i| g.p(0, &[1, 1 + 2 * i[0], 2 + 1 + 3 * i[1]]),
        ),
        one(
            "a view turned and under another shape",
            x,
            (F, &[3, 2, 4]),
            "%a = view_transposed %x0 perm [1, 0] : vmem<6x4xf32>\n%b = view_reshaped %a : vmem<3x2x4xf32>\n\
             %r = load %b[%z, %z, %z] : tile<3x2x4xf32>",
            |g, i| g.p(0, &[i[2], 2 * i[0] + i[1]]),
        ),
        one(
            "a view as other elements of the width",
            x,
            (DType::I32, S),
            "%a = view_bitcast %x0 : vmem<4x6xi32>\n%r = load %a[%z, %z] : tile<4x6xi32>",
            |g, i| g.p(0, i),
        ),
        one(
            "stored through a view",
            x,
            (F, S),
            "%a = view %o[%one, %z] strides [2, 1] : vmem<2x6xf32>\n%p = load %x0[%z, %z] : tile<2x6xf32>\nstore %p, %a[%z, %z]",
            |g, i| i[0] % 2 == 0 || g.p(0, &[i[0] / 2, i[1]]),
        ),
        Case {
            name: "a masked load",
            inputs: vec![x, mask, f32(&[2, 3])],
            out: (F, &[2, 3]),
            params: "",
            body: "%r = load_masked %x0[%one, %two] where %t1 else %t2 : tile<2x3xf32>",
            want: |g, i| if g.t(1, i) { g.p(0, &[i[0] + 1, i[1] + 2]) } else { g.p(2, i) },
        },
        Case {
            name: "a masked store",
            inputs: vec![x, mask, f32(&[2, 3])],
            out: (F, S),
            params: "",
            body: "store %t0, %o[%z, %z]\nstore_masked %t2, %o[%one, %two] where %t1",
            want: |g, i| {
                let here = (1..3).contains(&i[0]) && (2..5).contains(&i[1]);
                let at = [i[0].wrapping_sub(1), i[1].wrapping_sub(2)];
                if here && g.t(1, &at) { g.p(2, &at) } else { g.p(0, i) }
            },
        },
    ] {
        check(&case);
    }
}

#[test]
fn poison_goes_through_control_flow() {
    let x = f32(S);
    for case in [
        Case {
            name: "if",
            inputs: vec![clean(DType::I32, &[1], 2), x, x],
            out: (F, S),
            params: "",
            body: "%e = extract %t0 [0] : i32\n%c = eq %e, %one : bool\n%r = if %c : tile<4x6xf32> {\n%n = neg %t1 : tile<4x6xf32>\nyield %n\n\
                   } else {\nyield %t2\n}",
            want: |g, i| g.p(if g.t(0, &[0]) { 1 } else { 2 }, i),
        },
        Case {
            name: "an if with a constant",
            inputs: vec![clean(DType::I32, &[1], 2), x],
            out: (F, S),
            params: "",
            body: "%e = extract %t0 [0] : i32\n%c = eq %e, %one : bool\n%k = const 1.0 : f32\n%ks = broadcast %k : tile<4x6xf32>\n\
                   %r = if %c : tile<4x6xf32> {\nyield %ks\n} else {\nyield %t1\n}",
            want: |g, i| !g.t(0, &[0]) && g.p(1, i),
        },
        one(
            "a sum in a loop",
            x,
            (F, &[1, 6]),
            "%k = const 0.0 : f32\n%ks = broadcast %k : tile<1x6xf32>\n%three = const 3 : i32\n\
             %r = for %i = %z to %three step %one carry (%s = %ks) : tile<1x6xf32> {\n%p = load %x0[%i, %z] : tile<1x6xf32>\n\
             %n = add %s, %p : tile<1x6xf32>\nyield %n\n}",
            |g, i| (0..3).any(|row| g.p(0, &[row, i[1]])),
        ),
        one(
            "not so far in a loop",
            x,
            (F, &[4, 6]),
            // After two rounds the poison is in the second of three.
            "%k = const 0.0 : f32\n%ks = broadcast %k : tile<4x6xf32>\n\
             %a, %b, %c = for %i = %z to %two step %one carry (%p = %ks, %q = %ks, %s = %ks) : tile<4x6xf32>, tile<4x6xf32>, \
             tile<4x6xf32> {\nyield %t0, %p, %q\n}\n\
             %u = slice %b starts [0, 0] : tile<2x6xf32>\n%v = slice %c starts [0, 0] : tile<2x6xf32>\n\
             %r = concat %u, %v axis 0 : tile<4x6xf32>",
            |g, i| i[0] < 2 && g.p(0, i),
        ),
        one(
            "no round",
            x,
            (F, &[4, 6]),
            "%k = const 0.0 : f32\n%ks = broadcast %k : tile<4x6xf32>\n\
             %a, %b = for %i = %z to %z step %one carry (%p = %ks, %q = %t0) : tile<4x6xf32>, tile<4x6xf32> {\nyield %q, %p\n}\n\
             %u = slice %a starts [0, 0] : tile<2x6xf32>\n%v = slice %b starts [2, 0] : tile<2x6xf32>\n\
             %r = concat %u, %v axis 0 : tile<4x6xf32>",
            |g, i| i[0] >= 2 && g.p(0, i),
        ),
        one(
            "while",
            x,
            (F, S),
            "%k = const 0.0 : f32\n%ks = broadcast %k : tile<4x6xf32>\n%three = const 3 : i32\n\
             %n, %r, %s = while carry (%i = %z, %p = %ks, %q = %t0) : i32, tile<4x6xf32>, tile<4x6xf32> {\n\
             %go = lt %i, %three : bool\nyield %go\n} do (%j, %a, %b) {\n%m = add %j, %one : i32\nyield %m, %b, %a\n}",
            |g, i| g.p(0, i),
        ),
        one(
            "memory of a region",
            x,
            (F, S),
            "%r = scoped (%m: vmem<4x6xf32>) : tile<4x6xf32> {\n%p = load %x0[%z, %z] : tile<2x6xf32>\nstore %p, %m[%one, %z]\n\
             %w = load %m[%z, %z] : tile<4x6xf32>\nyield %w\n}",
            |g, i| match i[0] {
                1 | 2 => g.p(0, &[i[0] - 1, i[1]]),
                _ => true,
            },
        ),
        one(
            "memory of a region, each time anew",
            x,
            (F, S),
            "%k = const 0.0 : f32\n%ks = broadcast %k : tile<2x6xf32>\n\
             %w = for %i = %z to %two step %one carry (%s = %ks) : tile<2x6xf32> {\n\
             %q = scoped (%m: vmem<2x6xf32>) : tile<2x6xf32> {\n%old = load %m[%z, %z] : tile<2x6xf32>\nstore %ks, %m[%z, %z]\nyield %old\n}\n\
             yield %q\n}\n%v = load %x0[%z, %z] : tile<2x6xf32>\n%r = concat %w, %v axis 0 : tile<4x6xf32>",
            |g, i| i[0] < 2 || g.p(0, &[i[0] - 2, i[1]]),
        ),
    ] {
        check(&case);
    }
}
