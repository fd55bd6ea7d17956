//! Control flow, scratch, revisited blocks, stores between loads, and what fuses.

use super::{Array, Case};
use crate::cranelift::PlanSummary;
use crate::exec::RunError;
use crate::ir::{DType, Literal};

/// A kernel over one array `x` and one `o` of 8 × n in blocks of 8 × 128.
fn blocks(scalars: &str, body: &str) -> String {
    format!(
        "kernel @k(n) {{
  grid i = ceildiv(n, 128) arbitrary
  in %x: vmem<8x128xf32> = [8, n] blocks [8, 128] at (%i) {{ %za = const 0 : i32 yield %za, %i }}
  out %o: vmem<8x128xf32> = [8, n] blocks [8, 128] at (%j) {{ %zb = const 0 : i32 yield %zb, %j }}
{scalars}  body {{
    %z = const 0 : i32
    %one = const 1 : i32
    %x0 = load %x[%z, %z] : tile<8x128xf32>
{body}
  }}
}}
"
    )
}

fn run(scalars: &str, body: &str, values: &[Literal]) -> PlanSummary {
    let case = Case::new(&blocks(scalars, body), &[300]);
    case.agree(&[Array::small(DType::F32, &[8, 300], 1)], values).unwrap();
    case.compile().plan_summary()
}

#[test]
fn carried_tiles_change_places() {
    // Three rotations and a swap: what a loop yields is read before it is written.
    let body = "
    %a0 = mul %x0, %x0 : tile<8x128xf32>
    %b0 = add %x0, %a0 : tile<8x128xf32>
    %n = const 5 : i32
    %p, %q, %r, %s = for %k = %z to %n step %one carry (%a = %a0, %b = %b0, %c = %x0, %t = %z) : tile<8x128xf32>, tile<8x128xf32>, tile<8x128xf32>, i32 {
      %next = add %a, %b : tile<8x128xf32>
      %sum = add %t, %k : i32
      yield %b, %next, %c, %sum
    }
    %f = cast %s : f32
    %fs = broadcast %f : tile<8x128xf32>
    %u = add %p, %q : tile<8x128xf32>
    %v = mul %u, %r : tile<8x128xf32>
    %w = add %v, %fs : tile<8x128xf32>
    store %w, %o[%z, %z]";
    run("", body, &[]);
}

#[test]
fn swap_only() {
    let body = "
    %a0 = mul %x0, %x0 : tile<8x128xf32>
    %n = const 3 : i32
    %p, %q = for %k = %z to %n step %one carry (%a = %a0, %b = %x0) : tile<8x128xf32>, tile<8x128xf32> {
      yield %b, %a
    }
    %v = sub %p, %q : tile<8x128xf32>
    store %v, %o[%z, %z]";
    run("", body, &[]);
}

#[test]
fn zero_trips_and_negative_ranges() {
    for (low, high) in [(3, 3), (5, -2), (-7, 4), (i32::MAX - 1, i32::MAX)] {
        let body = "
    %two = const 2 : i32
    %p = for %k = %low to %high step %two carry (%a = %x0) : tile<8x128xf32> {
      %f = cast %k : f32
      %fs = broadcast %f : tile<8x128xf32>
      %b = add %a, %fs : tile<8x128xf32>
      yield %b
    }
    store %p, %o[%z, %z]";
        run("  scalar %low: i32\n  scalar %high: i32\n", body, &[low.into(), high.into()]);
    }
}

#[test]
fn branches_and_while() {
    for flag in [true, false] {
        let body = "
    %p, %m = if %flag : tile<8x128xf32>, f32 {
      %a = exp %x0 : tile<8x128xf32>
      %half = const 0.5 : f32
      yield %a, %half
    } else {
      yield %x0, %scale
    }
    %limit = const 1000.0 : f32
    %q, %n = while carry (%b = %p, %c = %m) : tile<8x128xf32>, f32 {
      %go = lt %c, %limit : bool
      yield %go
    } do (%d, %e) {
      %f = broadcast %e : tile<8x128xf32>
      %g = sub %d, %f : tile<8x128xf32>
      %h = add %e, %e : f32
      %one_f = const 1.0 : f32
      %i1 = add %h, %one_f : f32
      yield %g, %i1
    }
    %ns = broadcast %n : tile<8x128xf32>
    %w = add %q, %ns : tile<8x128xf32>
    store %w, %o[%z, %z]";
        run("  scalar %flag: bool\n  scalar %scale: f32\n", body, &[flag.into(), 1.5f32.into()]);
    }
}

#[test]
fn a_load_keeps_what_it_read() {
    // The store comes between the load and its use; then one with other starts; then in a loop.
    let body = "
    store %x0, %o[%z, %z]
    %a = load %o[%z, %z] : tile<8x128xf32>
    %b = add %a, %a : tile<8x128xf32>
    %head = load %o[%z, %z] : tile<7x128xf32>
    store %b, %o[%z, %z]
    store %head, %o[%one, %z]
    %n = const 3 : i32
    %c = load %o[%z, %z] : tile<8x128xf32>
    for %k = %z to %n step %one {
      %row = load %o[%k, %z] : tile<1x128xf32>
      %up = add %row, %row : tile<1x128xf32>
      %next = add %k, %one : i32
      store %up, %o[%next, %z]
      store %up, %o[%k, %z]
    }
    %d = load %o[%z, %z] : tile<8x128xf32>
    %e = sub %d, %c : tile<8x128xf32>
    store %e, %o[%z, %z]";
    run("", body, &[]);
}

#[test]
fn shifted_and_transposed_updates() {
    let body = "
    store %x0, %o[%z, %z]
    %r = load %o[%z, %z] : tile<8x8xf32>
    %t = transpose %r perm [1, 0] : tile<8x8xf32>
    %u = add %t, %r : tile<8x8xf32>
    store %u, %o[%z, %z]
    %s = load %o[%z, %z] : tile<8x120xf32>
    %eight = const 8 : i32
    store %s, %o[%z, %eight]
    %b = load %o[%z, %z] : tile<1x128xf32>
    %bb = broadcast %b : tile<8x128xf32>
    %v = mul %bb, %x0 : tile<8x128xf32>
    store %v, %o[%z, %z]";
    run("", body, &[]);
}

#[test]
fn scratch_persists_and_outputs_revisit() {
    let text = "kernel @k(n) {
  grid i = ceildiv(n, 128) arbitrary
  in %x: vmem<8x128xf32> = [8, n] blocks [8, 128] at (%i) { %za = const 0 : i32 yield %za, %i }
  out %o: vmem<8x1xf32> = [8, 1] blocks [8, 1] at (%j) { %zb = const 0 : i32 yield %zb, %zb }
  out %p: vmem<8x128xf32> = [8, 256] blocks [8, 128] at (%l) { %zc = const 0 : i32 %two = const 2 : i32 %m = rem %l, %two : i32 yield %zc, %m }
  scratch %acc: vmem<8x128xf32>
  body {
    %z = const 0 : i32
    %step = program_id 0 : i32
    %first = eq %step, %z : bool
    if %first {
      %f = const 0.0 : f32
      %zero = broadcast %f : tile<8x128xf32>
      store %zero, %acc[%z, %z]
    }
    %a = load %acc[%z, %z] : tile<8x128xf32>
    %t = load %x[%z, %z] : tile<8x128xf32>
    %isnan = ne %t, %t : tile<8x128xbool>
    %f0 = const 0.0 : f32
    %fz = broadcast %f0 : tile<8x128xf32>
    %clean = select %isnan, %fz, %t : tile<8x128xf32>
    %b = add %a, %clean : tile<8x128xf32>
    store %b, %acc[%z, %z]
    %four = const 4 : i32
    %part = load %acc[%four, %z] : tile<2x128xf32>
    store %part, %p[%four, %z]
    %c = load %acc[%z, %z] : tile<8x128xf32>
    %s = reduce sum %c axis 1 : tile<8x1xf32>
    store %s, %o[%z, %z]
  }
}
";
    let case = Case::new(text, &[500]);
    case.agree(&[Array::small(DType::F32, &[8, 500], 2)], &[]).unwrap();
}

#[test]
fn softmax_is_three_nests() {
    let body = "
    %m = reduce max %x0 axis 1 : tile<8x1xf32>
    %mb = broadcast %m : tile<8x128xf32>
    %d = sub %x0, %mb : tile<8x128xf32>
    %e = exp %d : tile<8x128xf32>
    %s = reduce sum %e axis 1 : tile<8x1xf32>
    %sb = broadcast %s : tile<8x128xf32>
    %y = div %e, %sb : tile<8x128xf32>
    store %y, %o[%z, %z]";
    let plan = run("", body, &[]);
    // max; exp with sum; divide. In memory: max, e, sum.
    assert_eq!(plan, PlanSummary { nests: 3, outputs: 4, dots: 0, arena_bytes: 64 + 8 * 128 * 4 + 64 });
}

#[test]
fn a_chain_is_one_nest() {
    let body = "
    %c = const 0.5 : f32
    %cs = broadcast %c : tile<8x128xf32>
    %a1 = mul %x0, %cs : tile<8x128xf32>
    %a2 = add %a1, %x0 : tile<8x128xf32>
    %a3 = tanh %a2 : tile<8x128xf32>
    %a4 = mul %a3, %a1 : tile<8x128xf32>
    %a5 = abs %a4 : tile<8x128xf32>
    %a6 = sqrt %a5 : tile<8x128xf32>
    %a7 = exp %a6 : tile<8x128xf32>
    %a8 = gt %a7, %x0 : tile<8x128xbool>
    %a9 = select %a8, %a7, %x0 : tile<8x128xf32>
    %a10 = max %a9, %cs : tile<8x128xf32>
    store %a10, %o[%z, %z]";
    assert_eq!(run("", body, &[]), PlanSummary { nests: 1, outputs: 1, dots: 0, arena_bytes: 0 });
}

#[test]
fn two_sums_share_a_nest() {
    let body = "
    %q = mul %x0, %x0 : tile<8x128xf32>
    %s1 = reduce sum %x0 axis 1 : tile<8x1xf32>
    %s2 = reduce sum %q axis 1 : tile<8x1xf32>
    %s = add %s1, %s2 : tile<8x1xf32>
    %sb = broadcast %s : tile<8x128xf32>
    %y = add %x0, %sb : tile<8x128xf32>
    store %y, %o[%z, %z]";
    // Both sums; and the last store, in which their sum is added again rather than kept.
    assert_eq!(run("", body, &[]).nests, 2);
}

#[test]
fn a_step_that_is_not_positive() {
    let body = "
    for %k = %z to %one step %by {
      store %x0, %o[%z, %z]
    }";
    let case = Case::new(&blocks("  scalar %by: i32\n", body), &[128]);
    for by in [0, -3] {
        let x = Array::small(DType::F32, &[8, 128], 1);
        let got = case.agree(&[x], &[by.into()]);
        assert!(matches!(got, Err(RunError::LoopStep { by: b, .. }) if b == by), "{got:?}");
    }
}

#[test]
fn a_product_is_stored_where_it_belongs() {
    let body = "
    store %x0, %o[%z, %z]
    %a = load %o[%z, %z] : tile<8x8xf32>
    %b = load %x[%z, %z] : tile<8x120xf32>
    %p = dot %a, %b precision highest : tile<8x120xf32>
    %eight = const 8 : i32
    %old = load %o[%z, %eight] : tile<8x120xf32>
    %new = add %p, %old : tile<8x120xf32>
    store %new, %o[%z, %eight]
    %c = load %o[%z, %z] : tile<8x8xf32>
    %d = load %o[%z, %z] : tile<8x128xf32>
    %q = dot %c, %d precision highest : tile<8x128xf32>
    store %q, %o[%z, %z]";
    let case = Case::new(&blocks("", body), &[128]);
    // Small integers: every sum is exact, so the order does not show.
    let x = Array::new(DType::F32, &[8, 128], |i| ((i * 7 % 5) as f32 - 2.0).to_bits());
    case.agree(&[x], &[]).unwrap();
    let plan = case.compile().plan_summary();
    // The first store, and copies of the three tiles read from the operand that the products are stored to; no pass
    // over the results.
    assert_eq!((plan.nests, plan.outputs, plan.dots), (4, 4, 2));
}

#[test]
fn what_only_its_nest_reads_stays_in_registers() {
    let body = "
    %e = exp %x0 : tile<8x128xf32>
    %s = reduce sum %e axis 1 : tile<8x1xf32>
    %t = add %e, %e : tile<8x128xf32>
    store %t, %o[%z, %z]
    %sb = broadcast %s : tile<8x128xf32>
    %old = load %o[%z, %z] : tile<8x128xf32>
    %u = add %old, %sb : tile<8x128xf32>
    store %u, %o[%z, %z]";
    let plan = run("", body, &[]);
    // The sum with the first store; the second store. The exponential is written nowhere.
    assert_eq!((plan.nests, plan.outputs), (2, 3));
}

#[test]
fn nests_fuse_past_others() {
    // Between the exponential and its sum stand operations on columns, as in an online softmax.
    let body = "
    %m0 = load %x[%z, %z] : tile<8x1xf32>
    %mr = reduce max %x0 axis 1 : tile<8x1xf32>
    %m = max %m0, %mr : tile<8x1xf32>
    %mb = broadcast %m : tile<8x128xf32>
    %d = sub %x0, %mb : tile<8x128xf32>
    %e = exp %d : tile<8x128xf32>
    %ad = sub %m0, %m : tile<8x1xf32>
    %alpha = exp %ad : tile<8x1xf32>
    %s = reduce sum %e axis 1 : tile<8x1xf32>
    %l = mul %s, %alpha : tile<8x1xf32>
    %l2 = exp %l : tile<8x1xf32>
    %lb = broadcast %l2 : tile<8x128xf32>
    %y = add %e, %lb : tile<8x128xf32>
    store %y, %o[%z, %z]";
    // The maximum; the new maximum with alpha; the exponential with its sum; l2; the store.
    assert_eq!(run("", body, &[]).nests, 5);
}

#[test]
fn long_chains_and_shared_operands() {
    // 1000 tiles in a row, each read twice by the next: 2^1000 paths, one value each.
    let mut body = String::from("    %c0 = mul %x0, %x0 : tile<8x128xf32>\n");
    for i in 0..1000 {
        let op = ["add", "min", "sub", "max"][i % 4];
        body += &format!("    %c{} = {op} %c{i}, %c{} : tile<8x128xf32>\n", i + 1, i.saturating_sub(1));
    }
    body += "    store %c1000, %o[%z, %z]";
    run("", &body, &[]);
}
