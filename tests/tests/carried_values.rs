//! What changes inside a dynamic branch or loop by other ways than an assignment by name: each changes
//! there and only there. And kernels of one name, which are different kernels.

use tpu_device::{Device, Tensor};
use tpu_kernel::prelude::*;
use tpu_tests::devices::devices;

/// A kernel of x and y under a flag, and the first element of its output for x = 1 and y = 2.
macro_rules! under_a_flag {
    ($($name:ident |$x:ident, $y:ident, $flag:ident| $body:block => $off:literal, $on:literal;)+) => { $(
        #[test]
        fn $name() {
            #[tpu_kernel(grid(i: n / B))]
            fn kernel<B: Dim>(
                #[block([n] at (i))] x: In<f32, (B,)>,
                #[block([n] at (i))] y: In<f32, (B,)>,
                #[block([n] at (i))] o: Out<f32, (B,)>,
                flag: Scalar<bool>,
            ) {
                let ($x, $y, $flag) = (x.load(), y.load(), flag);
                let result = $body;
                o.store(result);
            }
            for device in devices() {
                let one = Tensor::full(&device, 1.0f32, &[128]).unwrap();
                let two = Tensor::full(&device, 2.0f32, &[128]).unwrap();
                for (flag, want) in [(false, $off), (true, $on)] {
                    let o = kernel().b(128).launch(&device, &one, &two, flag).unwrap();
                    assert_eq!(o.to_vec::<f32>().unwrap()[0], want, "flag {flag}");
                }
            }
        }
    )+ };
}

#[tile_fn]
fn put<S: Shape>(t: &mut Tile<f32, S>, v: Tile<f32, S>, flag: Scalar<bool>) {
    if flag {
        *t = v;
    }
}

trait Twice {
    fn twice(&mut self);
}
impl<S: Shape> Twice for Tile<f32, S> {
    fn twice(&mut self) {
        *self = *self + *self;
    }
}

under_a_flag! {
    a_method_that_borrows_mutably |x, y, flag| {
        let mut p = [x, y];
        if flag { p.swap(0, 1); }
        p[0]
    } => 1.0, 2.0;
    filling_an_array |x, y, flag| {
        let mut p = [x, x];
        if flag { p.fill(y); }
        p[0]
    } => 1.0, 2.0;
    a_method_of_ones_own |x, y, flag| {
        let mut t = y;
        if flag { t.twice(); }
        t - x
    } => 1.0, 3.0;
    a_method_in_a_loop |x, y, flag| {
        let mut p = [x, y];
        let times = choose(flag, 1, 2);
        for _ in 0..times { p.swap(0, 1); }
        p[0]
    } => 1.0, 2.0;
    a_place_behind_a_reference |x, y, flag| {
        let mut t = x;
        let place = &mut t;
        if flag { *place = y; }
        t
    } => 1.0, 2.0;
    the_places_of_an_array |x, y, flag| {
        let mut p = [x, x + 4.0];
        for t in p.iter_mut() {
            if flag { *t = y; }
        }
        p[1] - 4.0
    } => 1.0, -2.0;
    the_places_of_an_array_inside |x, y, flag| {
        let mut p = [x, x];
        if flag {
            for t in p.iter_mut() { *t = y; }
        }
        p[1]
    } => 1.0, 2.0;
    the_first_place_of_an_array |x, y, flag| {
        let mut p = [x, x];
        if flag { *p.first_mut().unwrap() = y; }
        p[0]
    } => 1.0, 2.0;
    each_place_of_an_array |x, y, flag| {
        let mut p = [x, x];
        if flag { p.iter_mut().for_each(|t| *t = y); }
        p[0]
    } => 1.0, 2.0;
    a_reference_in_a_pattern |x, y, flag| {
        let mut a = x;
        match Some(&mut a) {
            Some(r) => if flag { *r = y; },
            None => {}
        }
        a
    } => 1.0, 2.0;
    a_pattern_that_borrows |x, y, flag| {
        let mut t = x;
        if flag { let ref mut q = t; *q = y; }
        t
    } => 1.0, 2.0;
    a_reference_as_a_parameter |x, y, flag| {
        let mut t = x;
        put(&mut t, y, flag);
        t
    } => 1.0, 2.0;
    a_name_that_a_pattern_takes_in_the_other_branch |x, y, flag| {
        let mut t = x;
        let none: Option<i32> = None;
        if flag {
            if let Some(t) = none { let _ = t; } else { t = y; }
        }
        t
    } => 1.0, 2.0;
}

/// Kernels of one name in two functions, and from one macro.
#[test]
fn kernels_of_one_name_are_different_kernels() {
    fn one(device: &Device, x: &Tensor) -> f32 {
        #[tpu_kernel(grid(i: n / B))]
        fn kernel<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
            o.store(x.load() + 1.0);
        }
        kernel().b(128).launch(device, x).unwrap().to_vec::<f32>().unwrap()[0]
    }
    fn two(device: &Device, x: &Tensor) -> f32 {
        #[tpu_kernel(grid(i: n / B))]
        fn kernel<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
            o.store(x.load() * 100.0);
        }
        device.register(kernel().b(128)).unwrap();
        kernel().b(128).launch(device, x).unwrap().to_vec::<f32>().unwrap()[0]
    }
    for device in devices() {
        let x = Tensor::full(&device, 3.0f32, &[128]).unwrap();
        assert_eq!((one(&device, &x), two(&device, &x)), (4.0, 300.0));
        #[tpu_kernel(grid(i: n / B))]
        fn kernel<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
            o.store(x.load());
        }
        assert_eq!(device.register(kernel().b(128)).unwrap_err().code(), "D009");
    }
}

/// Helpers may have any name.
#[test]
fn helpers_and_constants_keep_their_names() {
    const SIGNATURE: f32 = 2.0;
    const ARGUMENTS: f32 = 3.0;
    fn record<S: Shape>(x: Tile<f32, S>) -> Tile<f32, S> {
        x * SIGNATURE
    }
    #[tpu_kernel(grid(i: n / B))]
    fn kernel<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
        o.store(record(x.load()) + ARGUMENTS + SIGNATURE);
    }
    for device in devices() {
        let x = Tensor::full(&device, 1.0f32, &[128]).unwrap();
        assert_eq!(kernel().b(128).launch(&device, &x).unwrap().to_vec::<f32>().unwrap()[0], 7.0);
    }
}
