//! Which variables each loop and branch carries, before any pass.
//!
//! Each variable has a type of its own, so that the type of a carried value tells the variable:
//! `a` to `d` are tiles of 11 to 14 elements, `n` is an `i32`, `q` a `bool`. A list such as
//! `["for a n", "if a"]` has the regions in the order of the source, outer before inner.

use tpu_kernel::ir::{DType, Kernel, OpKind, Region, Type};
use tpu_kernel::prelude::*;

type V<const N: usize> = Tile<f32, (D<N>,)>;

fn make<const N: usize>() -> V<N> {
    Tile::full(0.0)
}

fn count() -> Scalar<i32> {
    program_id(0)
}

fn flag() -> Scalar<bool> {
    program_id(0).eq(0)
}

fn bump<const N: usize>(t: &mut V<N>) {
    *t += 1.0;
}

fn variable(ty: Type) -> &'static str {
    match ty {
        Type::Tile(DType::F32, shape) => ["a", "b", "c", "d"][shape.dim(0) - 11],
        Type::Scalar(DType::I32) => "n",
        Type::Scalar(DType::Bool) => "q",
        other => panic!("no variable has type {other}"),
    }
}

fn carries(kernel: &Kernel) -> Vec<String> {
    fn walk(kernel: &Kernel, region: &Region, found: &mut Vec<String>) {
        for op in &region.ops {
            let word = match op.kind {
                OpKind::For => "for",
                OpKind::While => "while",
                OpKind::If => "if",
                _ => continue,
            };
            let names = op.results.iter().map(|&v| variable(kernel.types[v.0 as usize]));
            found.push(std::iter::once(word).chain(names).collect::<Vec<_>>().join(" "));
            op.regions.iter().for_each(|inner| walk(kernel, inner, found));
        }
    }
    let mut found = vec![];
    walk(kernel, &kernel.body, &mut found);
    found
}

macro_rules! golden {
    ($($name:ident { $($body:tt)* } => [$($want:literal),* $(,)?];)+) => { $(
        #[test]
        fn $name() {
            #[tpu_kernel(grid(i: n / 8))]
            fn kernel(#[block([n] at (i))] o: Out<f32, (D<8>,)>) {
                $($body)*
                o.fill(0.0);
            }
            let staged = kernel().stage(&[]).expect("the kernel is right");
            let want: &[&str] = &[$($want),*];
            assert_eq!(carries(&staged), want);
        }
    )+ };
}

golden! {
    assignment {
        let mut a = make::<11>();
        for _ in 0..count() { a = a + 1.0; }
        a.abs();
    } => ["for a"];

    compound_assignment {
        let mut a = make::<11>();
        for _ in 0..count() { a += 1.0; }
        a.abs();
    } => ["for a"];

    what_is_only_read_is_not_carried {
        let mut a = make::<11>();
        let mut b = make::<12>();
        b += 1.0;
        for _ in 0..count() { a += b.sum(Lanes); }
        a.abs();
        b.abs();
    } => ["for a"];

    order_is_that_of_first_assignment {
        let mut a = make::<11>();
        let mut b = make::<12>();
        for _ in 0..count() { b += 1.0; a += 1.0; b += 1.0; }
        a.abs();
        b.abs();
    } => ["for b a"];

    nothing_is_carried_twice {
        let mut a = make::<11>();
        for _ in 0..count() { a += 1.0; a = a * 2.0; bump(&mut a); }
        a.abs();
    } => ["for a"];

    nested_loops {
        let mut a = make::<11>();
        let mut b = make::<12>();
        for _ in 0..count() {
            for _ in 0..4 { b += 1.0; }
            a += 1.0;
        }
        a.abs();
        b.abs();
    } => ["for b a", "for b"];

    a_variable_of_the_loop_is_not_carried {
        for _ in 0..count() { let mut a = make::<11>(); a += 1.0; a.abs(); }
    } => ["for"];

    a_variable_of_the_loop_is_carried_by_loops_inside {
        for _ in 0..count() {
            let mut a = make::<11>();
            for _ in 0..2 { a += 1.0; }
            a.abs();
        }
    } => ["for", "for a"];

    assigned_and_then_shadowed {
        let mut a = make::<11>();
        for _ in 0..count() { a += 1.0; let mut a = make::<12>(); a += 1.0; a.abs(); }
        a.abs();
    } => ["for a"];

    the_initialiser_of_a_shadow_is_outside_of_it {
        let mut a = make::<11>();
        for _ in 0..count() { let a = { a += 1.0; a }; a.abs(); }
        a.abs();
    } => ["for a"];

    shadowed_before_the_loop {
        let a = make::<11>();
        a.abs();
        let mut a = make::<12>();
        for _ in 0..count() { a += 1.0; }
        a.abs();
    } => ["for b"];

    the_index_shadows {
        let mut n = Scalar::from(0);
        let mut a = make::<11>();
        n += 1;
        for n in 0..count() { a += n.cast::<f32>(); }
        a.abs();
        n.abs();
    } => ["for a"];

    tuple_assignment {
        let mut a = make::<11>();
        let mut b = make::<12>();
        for _ in 0..count() { (a, b) = (a * 2.0, b + 1.0); }
        a.abs();
        b.abs();
    } => ["for a b"];

    borrowed_by_a_helper {
        let mut a = make::<11>();
        for _ in 0..count() { bump(&mut a); }
        a.abs();
    } => ["for a"];

    an_element_carries_its_array {
        let mut t = [make::<11>(), make::<11>()];
        for _ in 0..count() { t[1] = t[0] + 1.0; }
        t[1].abs();
    } => ["for a a"];

    a_field_carries_its_tuple {
        let mut t = (make::<11>(), make::<12>());
        for _ in 0..count() { t.1 += 1.0; }
        t.1.abs();
    } => ["for a b"];

    one_branch_assigns {
        let mut a = make::<11>();
        if flag() { a += 1.0; }
        a.abs();
    } => ["if a"];

    both_branches_assign {
        let mut a = make::<11>();
        let mut b = make::<12>();
        if flag() { a += 1.0; } else { b += 1.0; a = a * 2.0; }
        a.abs();
        b.abs();
    } => ["if b a"];

    chained_branches {
        let mut a = make::<11>();
        let mut b = make::<12>();
        if flag() { a += 1.0; } else if count() > 3 { b += 1.0; }
        a.abs();
        b.abs();
    } => ["if b a", "if b"];

    the_value_of_an_if_follows_its_variables {
        let mut a = make::<11>();
        let c = if flag() { a += 1.0; make::<13>() } else { make::<13>() };
        a.abs();
        c.abs();
    } => ["if a c"];

    values_of_branches_may_be_tuples {
        let (a, b) = if flag() { (make::<11>(), make::<12>()) } else { (make::<11>() + 1.0, make::<12>()) };
        a.abs();
        b.abs();
    } => ["if a b"];

    a_known_condition_is_no_branch {
        let mut a = make::<11>();
        let mut calls = 0;
        if calls == 0 { a += 1.0; calls += 1; }
        if calls == 0 { a += 1.0; }
        a.abs();
    } => [];

    a_known_side_of_and_is_no_branch {
        let mut a = make::<11>();
        let last = 3;
        if last > 4 && flag() { a += 1.0; }
        if last < 4 && flag() { a += 1.0; }
        a.abs();
    } => ["if a", "if a"];

    both_sides_of_and_are_dynamic {
        let mut a = make::<11>();
        if flag() && count() > 3 { a += 1.0; }
        a.abs();
    } => ["if q", "if a"];

    a_branch_in_a_loop {
        let mut a = make::<11>();
        for k in 0..count() { if k == 1 { a += 1.0; } }
        a.abs();
    } => ["for a", "if a"];

    early_continue {
        let mut a = make::<11>();
        let mut b = make::<12>();
        for k in 0..count() {
            if k == 1 { b += 1.0; continue; }
            a += 1.0;
        }
        a.abs();
        b.abs();
    } => ["for b a", "if a b"];

    early_return {
        let mut a = make::<11>();
        let mut b = make::<12>();
        if flag() { a += 1.0; a.abs(); return; }
        b += 1.0;
        b.abs();
    } => ["if b a"];

    dynamic_while {
        let mut n = count();
        let mut a = make::<11>();
        while n > 0 { a += 1.0; n -= 1; }
        a.abs();
    } => ["while a n"];

    a_while_with_a_known_condition_is_unrolled {
        let mut k = 3;
        let mut a = make::<11>();
        while k > 0 { k -= 1; a += 1.0; }
        a.abs();
    } => [];

    while_let_is_unrolled {
        let mut parts = vec![make::<11>(), make::<11>()];
        let mut a = make::<11>();
        while let Some(part) = parts.pop() { a += part; }
        a.abs();
    } => [];

    unrolled_in_rolled {
        let mut a = make::<11>();
        for _ in 0..count() { for _ in unroll(0..2) { a += 1.0; } }
        a.abs();
    } => ["for a"];

    rolled_in_unrolled {
        let mut a = make::<11>();
        for _ in unroll(0..2) { for _ in 0..count() { a += 1.0; } }
        a.abs();
    } => ["for a", "for a"];

    leaving_an_unrolled_loop {
        let mut a = make::<11>();
        for k in unroll(0..4) {
            if k == 1 { break; }
            for _ in 0..count() { a += 1.0; }
        }
        a.abs();
    } => ["for a"];

    arms_of_a_match {
        let mut a = make::<11>();
        let mut b = make::<12>();
        let kind = 2;
        for _ in 0..count() { match kind { 2 => a += 1.0, _ => b += 1.0 } }
        a.abs();
        b.abs();
    } => ["for a b"];

    a_pattern_shadows {
        let mut a = make::<11>();
        let mut b = make::<12>();
        a += 1.0;
        for _ in 0..count() {
            match Some(make::<12>()) { Some(mut a) => { a += 1.0; b = a; } None => {} }
        }
        a.abs();
        b.abs();
    } => ["for b"];

    a_closure_reads {
        let mut a = make::<11>();
        let b = make::<12>();
        let step = |t: V<11>| t + b.sum(Lanes);
        for _ in 0..count() { a = step(a); }
        a.abs();
    } => ["for a"];

    a_variable_of_a_closure {
        let mut a = make::<11>();
        for _ in 0..count() { let step = |mut t: V<11>| { t += 1.0; t }; a = step(a); }
        a.abs();
    } => ["for a"];

    an_assignment_in_the_arguments_of_a_macro {
        let mut a = make::<11>();
        for _ in 0..count() { let list = vec![{ a += 1.0; a }]; list[0].abs(); }
        a.abs();
    } => ["for a"];

    an_item_has_variables_of_its_own {
        let mut a = make::<11>();
        a += 1.0;
        for _ in 0..count() {
            fn own() -> i32 { let mut a = 0; a += 1; a }
            assert_eq!(own(), 1);
        }
        a.abs();
    } => ["for"];

    bounds_are_outside_of_the_loop {
        let mut n = count();
        let mut a = make::<11>();
        for _ in 0..({ n += 1; n }) { a += 1.0; }
        a.abs();
        n.abs();
    } => ["for a"];
}

/// Memory is no variable: it keeps what is stored, and loops carry nothing for it.
#[test]
fn memory_is_not_carried() {
    #[tpu_kernel(grid(i: n / 8))]
    fn kernel(
        #[block([n] at (i))] mut o: Out<f32, (D<8>,)>,
        #[scratch] mut acc: Vmem<f32, (D<11>,)>,
        count: Scalar<i32>,
        flag: Scalar<bool>,
    ) {
        acc.fill(0.0);
        o.fill(0.0);
        for _ in 0..count {
            acc += 1.0;
            if flag {
                o += acc.load().sum(Lanes);
            }
        }
    }
    assert_eq!(carries(&kernel().stage(&[]).expect("the kernel is right")), ["for", "if"]);
}

/// A scalar operand that is `mut` is a variable like any other.
#[test]
fn operands_that_are_scalars_are_carried() {
    #[tpu_kernel(grid(i: n / 8))]
    fn kernel(#[block([n] at (i))] o: Out<i32, (D<8>,)>, mut n_left: Scalar<i32>) {
        while n_left > 3 {
            n_left -= 1;
        }
        o.store(n_left);
    }
    assert_eq!(carries(&kernel().stage(&[]).expect("the kernel is right")), ["while n"]);
}

/// The same rules in helper functions.
#[test]
fn helpers_carry() {
    #[tile_fn]
    fn halve_until(mut a: V<11>, n: Scalar<i32>) -> V<11> {
        for k in 0..n {
            if k > 2 {
                a = a * 0.5;
            }
        }
        a
    }

    #[tpu_kernel(grid(i: n / 8))]
    fn kernel(#[block([n] at (i))] o: Out<f32, (D<8>,)>, count: Scalar<i32>) {
        o.store(halve_until(Tile::full(1.0), count).sum(Lanes));
    }
    assert_eq!(carries(&kernel().stage(&[]).expect("the kernel is right")), ["for a", "if a"]);
}
