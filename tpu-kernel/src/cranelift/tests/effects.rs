//! Messages, checks and random bits: what a launch leaves besides its outputs.

use super::ops::whole as whole_text;
use super::ops::{dims, zeros};
use super::{Array, Case};
use crate::exec::{Args, ArrayMut, ArrayRef, Printed, RunError};
use crate::interpret;
use crate::ir::{DType, Literal};

type Log<'l> = &'l mut dyn FnMut(&Printed);

/// Runs with a log of its own.
fn logged(case: &Case, compiled: bool, inputs: &[Array], scalars: &[Literal], log: Log<'_>) -> Result<(), RunError> {
    let inputs: Vec<ArrayRef<'_>> = inputs.iter().map(|a| ArrayRef { dtype: a.dtype, shape: &a.shape, bytes: &a.bytes }).collect();
    let mut outputs: Vec<Array> = case.kernel.outputs().map(|(i, p)| Array::zeros(p.ty.dtype(), &case.binding.arrays[i])).collect();
    let mut outputs: Vec<ArrayMut<'_>> =
        outputs.iter_mut().map(|a| ArrayMut { dtype: a.dtype, shape: &a.shape, bytes: &mut a.bytes }).collect();
    let mut args = Args { inputs: &inputs, outputs: &mut outputs, scalars, log };
    if compiled { case.compile().run(&case.binding, &mut args) } else { interpret::run(&case.kernel, &case.binding, &mut args) }
}

/// The messages of both executors, which must be equal.
fn messages(case: &Case, inputs: &[Array], scalars: &[Literal]) -> Vec<Printed> {
    let [want, got] = [false, true].map(|compiled| {
        let mut all = vec![];
        logged(case, compiled, inputs, scalars, &mut |m| all.push(m.clone())).unwrap();
        all
    });
    assert_eq!(want, got, "{}", case.kernel);
    got
}

const GRID: &str = "kernel @p(n) {
  grid i = n arbitrary
  in %x: vmem<4x8xf32> = [4, 8] blocks [4, 8] at (%i) { %za = const 0 : i32 yield %za, %za }
  out %o: vmem<4x8xf32> = [4, 8] blocks [4, 8] at (%j) { %zb = const 0 : i32 yield %zb, %zb }
  scalar %s: f32
  body {
    %z = const 0 : i32
    %k = program_id 0 : i32
    %t = load %x[%z, %z] : tile<4x8xf32>
BODY
    store %t, %o[%z, %z]
  }
}
";

#[test]
fn prints() {
    let body = r#"    print "step {} has {}", %k, %s loc(11:5)
    %h = slice %t starts [1, 2] strides [2, 3] : tile<2x2xf32>
    %two = const 2 : i32
    %first = lt %k, %two : bool
    if %first {
      %d = add %h, %h : tile<2x2xf32>
      %c = lt %d, %h : tile<2x2xbool>
      print "{} and {}: {}", %h, %d, %c
    }
    print "nothing"
    print "{}", %first"#;
    let case = Case::new(&GRID.replace("BODY", body), &[3]);
    let x = Array::new(DType::F32, &[4, 8], |i| (i as f32).to_bits());
    let all = messages(&case, &[x], &[Literal::from(0.5f32)]);
    assert_eq!(all[0].text, "step 0 has 0.5");
    assert_eq!((all[0].loc.line, all[0].loc.column), (11, 5));
    assert_eq!(all[1].text, "[[10.0, 13.0], [26.0, 29.0]] and [[20.0, 26.0], [52.0, 58.0]]: [[false, false], [false, false]]");
    assert_eq!(all.iter().map(|m| m.step[0]).collect::<Vec<_>>(), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2]);
    assert_eq!((all[7].text.as_str(), all[10].text.as_str()), ("true", "false"));
}

/// A message shows what memory held at its place in the program.
#[test]
fn prints_between_stores() {
    let text = whole_text(
        &[("x", DType::F32, &[2, 3]), ("o", DType::F32, &[2, 3])],
        &format!(
            "    %t = load %x[{z}] : tile<2x3xf32>
    store %t, %o[{z}]
    %a = load %o[{z}] : tile<2x3xf32>
    print \"{{}}\", %a
    %n = neg %t : tile<2x3xf32>
    store %n, %o[{z}]
    %b = load %o[{z}] : tile<2x3xf32>
    print \"{{}} {{}}\", %a, %b
",
            z = zeros(&[2, 3])
        ),
    );
    let x = Array::new(DType::F32, &[2, 3], |i| (i as f32 + 1.0).to_bits());
    let all = messages(&Case::new(&text, &[]), &[x], &[]);
    assert_eq!(all[0].text, "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]");
    assert_eq!(all[1].text, "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]] [[-1.0, -2.0, -3.0], [-4.0, -5.0, -6.0]]");
}

/// A log that panics ends the launch; the executable can be used again.
#[test]
fn a_log_that_panics() {
    let case = Case::new(&GRID.replace("BODY", "    print \"{}\", %t"), &[2]);
    let (x, s) = ([Array::small(DType::F32, &[4, 8], 61)], [Literal::from(1f32)]);
    let got = std::panic::catch_unwind(|| logged(&case, true, &x, &s, &mut |_| panic!("no more paper")));
    assert_eq!(got.unwrap_err().downcast_ref::<&str>(), Some(&"no more paper"));
    assert_eq!(messages(&case, &x, &s).len(), 2);
}

#[test]
fn checks() {
    let body = r#"    %two = const 2 : i32
    %fine = lt %k, %two : bool
    print "before {}", %k
    check "fewer than two steps", %fine loc(14:7)
    print "after {}", %k"#;
    let case = Case::new(&GRID.replace("BODY", body), &[4]);
    let (x, s) = ([Array::small(DType::F32, &[4, 8], 62)], [Literal::from(1f32)]);
    for compiled in [false, true] {
        let mut texts = vec![];
        match logged(&case, compiled, &x, &s, &mut |m| texts.push(m.text.clone())) {
            Err(RunError::Check { message, step, loc }) => {
                assert_eq!((message.as_str(), step, loc.line, loc.column), ("fewer than two steps", vec![2], 14, 7));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(texts, ["before 0", "after 0", "before 1", "after 1", "before 2"]);
    }
    assert_eq!(messages(&Case::new(&GRID.replace("BODY", body), &[2]), &x, &s).len(), 4);
}

/// Draws of every rank, some that nothing reads, over a grid: the counter runs on from step to step.
#[test]
fn random_bits() {
    for shape in [&[5][..], &[3, 7], &[2, 3, 4], &[2, 1, 3, 5]] {
        for seeds in ["%a", "%a, %b"] {
            let ty = dims(shape);
            let text = format!(
                "kernel @r(n) {{
  grid i = n arbitrary
  out %o: vmem<1x{ty}xf32> = [n, SIZES] blocks [1, SIZES] at (%j) {{ %zb = const 0 : i32 yield %j ZEROS }}
  body {{
    %z = const 0 : i32
    %k = program_id 0 : i32
    %first = eq %k, %z : bool
    if %first {{
      %a = const 5 : u32
      %b = const 4000000000 : u32
      prng_seed {seeds}
    }}
    %skipped = prng_bits : tile<3xu32>
    %u = prng_bits : tile<{ty}xu32>
    %v = prng_bits : tile<{ty}xu32>
    %d = bitcast %u : tile<{ty}xf32>
    %e = bitcast %v : tile<{ty}xf32>
    %c = lt %d, %e : tile<{ty}xbool>
    %f = select %c, %d, %e : tile<{ty}xf32>
    %r = reshape %f : tile<1x{ty}xf32>
    store %r, %o[%z PLACES]
  }}
}}
"
            );
            let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
            let text = text
                .replace("SIZES", &sizes.join(", "))
                .replace("ZEROS", &", %zb".repeat(shape.len()))
                .replace("PLACES", &", %z".repeat(shape.len()));
            if shape.len() < 4 {
                Case::new(&text, &[3]).agree(&[], &[]).unwrap();
            }
        }
    }
}

#[test]
fn random_bits_without_a_seed() {
    for used in [true, false] {
        let text = whole_text(
            &[("x", DType::I32, &[1]), ("o", DType::I32, &[4])],
            &format!(
                "    %i = load %x[%z] : tile<1xi32>
    %b = prng_bits : tile<4xu32> loc(9:3)
    %c = bitcast %b : tile<4xi32>
    %w = broadcast %i : tile<4xi32>
    store {}, %o[%z]
",
                if used { "%c" } else { "%w" }
            ),
        );
        let case = Case::new(&text, &[]);
        match case.agree(&[Array::zeros(DType::I32, &[1])], &[]) {
            Err(RunError::Unseeded { step, loc }) => assert_eq!((step.len(), loc.line, loc.column), (0, 9, 3)),
            other => panic!("{other:?}"),
        }
        // One run's seed is not the next one's.
        let seeded = text.replace("    %i = load", "    %s = const 7 : u32\n    prng_seed %s\n    %i = load");
        Case::new(&seeded, &[]).agree(&[Array::zeros(DType::I32, &[1])], &[]).unwrap();
    }
}
