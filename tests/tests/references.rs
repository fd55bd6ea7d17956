//! What changes through a reference is carried, wherever the reference goes.
//!
//! Each kernel adds 1 to a tile of zeros three times and stores it each time: a change that a loop does not carry
//! gives the same row three times.

use tpu_device::Device;
use tpu_kernel::prelude::*;

type V = Tile<i32, (D<4>,)>;
type Rows = Out<i32, (D<3>, D<4>)>;
type Memory = Vmem<i32, (D<4>,)>;

fn device() -> Device {
    Device::new("v5e").expect("the chip is known")
}

fn bump(t: &mut V) {
    *t += 1;
}

fn pick(t: &mut V) -> &mut V {
    t
}

fn put(o: Rows, j: Scalar<i32>, t: V) {
    o.store_at((j, 0), t.expand(Axis::<0>));
}

trait Steps {
    fn step(&mut self);
    fn plus(self, n: i32) -> Self;
    fn times(self, n: Scalar<i32>) -> Self;
    fn positive(&self) -> Scalar<bool>;
}
impl Steps for V {
    fn step(&mut self) {
        *self += 1;
    }
    fn plus(self, n: i32) -> V {
        self + n
    }
    #[tile_fn]
    fn times(mut self, n: Scalar<i32>) -> V {
        for _ in 0..n {
            self += 1;
        }
        self
    }
    fn positive(&self) -> Scalar<bool> {
        self.sum(Lanes).scalar().gt(0)
    }
}

#[tile_fn]
fn of_a_parameter(t: &mut V, o: Rows) {
    for j in 0..3 {
        bump(t);
        put(o, j, *t);
    }
}

#[tile_fn]
fn by_a_method(t: &mut V, o: Rows) {
    for j in 0..3 {
        t.step();
        put(o, j, *t);
    }
}

#[tile_fn]
fn of_an_array(ts: &mut [V; 2], o: Rows) {
    for j in 0..3 {
        ts.iter_mut().for_each(|t| *t += 1);
        put(o, j, ts[0]);
    }
}

#[tile_fn]
fn of_a_slice(ts: &mut [V], o: Rows) {
    for j in 0..3 {
        ts.iter_mut().for_each(bump);
        put(o, j, ts[0]);
    }
}

#[tile_fn]
fn of_a_place_of_a_slice(ts: &mut [V], known: bool, o: Rows) {
    if known {
        ts.fill(Tile::full(0));
    }
    for j in 0..3 {
        bump(&mut ts[0]);
        put(o, j, ts[0]);
    }
}

#[tile_fn]
fn of_a_pattern((mut a, b): (V, V), o: Rows) {
    for j in 0..3 {
        a += b;
        put(o, j, a);
    }
}

macro_rules! rows {
    ($($name:ident |$a:ident, $o:ident| $body:block)+) => { $(
        #[test]
        fn $name() {
            #[tpu_kernel]
            fn kernel(#[block([3, 4] at (0, 0))] $o: Out<i32, (D<3>, D<4>)>) {
                let mut $a: V = Tile::full(0);
                $body
            }
            let rows = kernel().launch(&device()).expect("the kernel runs").to_vec::<i32>().expect("i32");
            assert_eq!(rows, [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
        }
    )+ };
}

rows! {
    a_parameter |a, o| { of_a_parameter(&mut a, o) }
    a_method |a, o| { by_a_method(&mut a, o) }
    an_array |a, o| { of_an_array(&mut [a, a], o) }
    a_slice |a, o| { of_a_slice(&mut [a], o) }
    a_place_of_a_slice |a, o| { of_a_place_of_a_slice(&mut [a], true, o) }
    a_pattern_of_parameters |a, o| { of_a_pattern((a, Tile::full(1)), o) }
    a_variable |a, o| {
        let r = &mut a;
        for j in 0..3 { bump(r); put(o, j, *r); }
    }
    a_variable_that_changes |a, o| {
        let mut b: V = Tile::full(9);
        let mut r = &mut b;
        r.step();
        r = &mut a;
        for j in 0..3 { bump(r); put(o, j, *r); }
    }
    what_a_function_gives |a, o| {
        let r = pick(&mut a);
        for j in 0..3 { bump(r); put(o, j, *r); }
    }
    a_reborrow |a, o| {
        let r = &mut a;
        for j in 0..3 { let q: &mut V = r; bump(q); put(o, j, *r); }
    }
    a_reference_in_a_tuple |a, o| {
        let mut b: V = Tile::full(1);
        let (r, q) = (&mut a, &mut b);
        for j in 0..3 { if j >= 0 { bump(r); } put(o, j, *r); }
        bump(q);
    }
    a_pattern_that_borrows |a, o| {
        let ref mut r = a;
        for j in 0..3 { bump(r); put(o, j, *r); }
    }
    the_places_of_an_array |a, o| {
        for r in [a].iter_mut() { for j in 0..3 { bump(r); put(o, j, *r); } }
    }
    an_arm |a, o| {
        match Some(&mut a) {
            Some(r) => for j in 0..3 { bump(r); put(o, j, *r); },
            None => {}
        }
    }
    an_if_let |a, o| {
        let r = Some(&mut a);
        if let Some(r) = r { for j in 0..3 { bump(r); put(o, j, *r); } }
    }
    a_closure |a, o| {
        [a].iter_mut().for_each(|r| for j in 0..3 { bump(r); put(o, j, *r); })
    }
}

fn add_to(memory: &mut Memory) {
    *memory += 1;
}

#[tile_fn]
fn add_often(memory: &mut Memory, n: Scalar<i32>) {
    for _ in 0..n {
        *memory += 1;
        add_to(memory);
        add_to(&mut *memory);
    }
}

#[tile_fn]
fn add_in_branches(mut memory: Vmem<i32, (D<4>,)>, n: Scalar<i32>) {
    if n > 2 {
        memory.fill(0);
    }
    for _ in 0..n {
        memory += 1;
    }
}

/// Memory keeps what is stored, and is nothing to carry, in a helper as in a kernel.
#[test]
fn memory_of_a_helper() {
    #[tpu_kernel]
    fn kernel(#[block([4] at (0))] o: Out<i32, (D<4>,)>, #[scratch] memory: Vmem<i32, (D<4>,)>, n: Scalar<i32>) {
        add_in_branches(memory, n);
        o.store(memory.load());
    }
    let o = kernel().launch(&device(), 3).expect("the kernel runs");
    assert_eq!(o.to_vec::<i32>().expect("i32"), [3; 4]);
}

/// The same through a reference.
#[test]
fn memory_behind_a_reference() {
    #[tpu_kernel]
    fn kernel(#[block([4] at (0))] o: Out<i32, (D<4>,)>, #[scratch] mut memory: Vmem<i32, (D<4>,)>, n: Scalar<i32>) {
        memory.fill(0);
        add_often(&mut memory, n);
        o.store(memory.load());
    }
    let o = kernel().launch(&device(), 3).expect("the kernel runs");
    assert_eq!(o.to_vec::<i32>().expect("i32"), [9; 4]);
}

/// A method that nothing is known of changes no variable that is neither `mut` nor a reference.
#[test]
fn methods_of_ones_own() {
    #[tpu_kernel]
    fn kernel(#[block([4] at (0))] o: Out<i32, (D<4>,)>, n: Scalar<i32>) {
        let base = V::full(1).times(n);
        let list: Vec<V> = (0..3).map(|i| base.plus(i)).collect();
        let mut a = list[0];
        if n > 0 && base.positive() {
            a = list[2];
        }
        while a.at([0]) < 10 && base.positive() {
            a += 1;
        }
        o.store(a + base);
    }
    let o = kernel().launch(&device(), 3).expect("the kernel runs");
    assert_eq!(o.to_vec::<i32>().expect("i32"), [14; 4]);
}
