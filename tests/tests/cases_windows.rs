//! Windows by elements that overlap (7), that reach beyond their array (8), and accesses with strides (46).

use tpu_kernel::launch::LaunchError;
use tpu_kernel::prelude::*;
use tpu_tests::devices::{devices, expect, made, refused};

/// Two windows of one kind, half a window apart.
#[tpu_kernel(grid(i: m / 8))]
fn halves(
    #[block([m + 8, 128] at (element i * 8, 0))] x: In<f32, (D<16>, D<128>)>,
    #[block([m, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>,
) {
    o.store(x.load_at::<(D<8>, D<128>)>((0, 0)) + x.load_at::<(D<8>, D<128>)>((8, 0)));
}

/// The same of a vector: the window is copied, or used where it lies.
#[tpu_kernel(grid(i: m / B))]
fn sums<B: Dim>(
    #[block([m + 1] at (element i * B))] x: In<i32, (B,)>,
    #[block([m + 1] at (element i * B + 1))] next: In<i32, (B,)>,
    #[block([m] at (i))] o: Out<i32, (B,)>,
) {
    o.store(x.load() + next.load());
}

/// Output windows that overlap: the later step wins.
#[tpu_kernel(grid(i: 5))]
fn steps_over(
    #[block([6] at (element i))] x: In<i32, (One,)>,
    #[block([12, 32] at (element 2 * i, 0))] o: Out<i32, (D<4>, D<32>)>,
) {
    let first = x.load().reshape::<(One, One)>();
    o.store(iota::<(D<4>, D<32>)>(Sublanes) + first);
}

#[test]
fn case_07_element_windows_overlap() {
    for device in devices() {
        let m = 40;
        let x = made(&device, &[m + 8, 128], |at| at as f32 * 0.5);
        let o = halves().m(m).launch(&device, &x).unwrap();
        let value = |row: usize, column: usize| (row * 128 + column) as f32 * 0.5;
        let want = (0..m * 128).map(|at| (at / 128, at % 128)).map(|(r, c)| value(r, c) + value(r + 8, c));
        expect(&o, &[m, 128], &want.collect::<Vec<_>>());

        for b in [1, 4, 8, 16, 32] {
            let x = made(&device, &[65], |at| (at * at) as i32);
            let o = sums().m(64).b(b).allow(Allow::BlockShape).launch(&device, &x, &x).unwrap();
            expect(&o, &[64], &(0..64).map(|at| at * at + (at + 1) * (at + 1)).collect::<Vec<_>>());
        }

        let x = made(&device, &[6], |at| 100 * at as i32);
        let o = steps_over().allow(Allow::BlockShape).launch(&device, &x).unwrap();
        let want = (0..12 * 32).map(|at| {
            let (row, step) = (at / 32, (at / 64).min(4));
            100 * step + row - 2 * step
        });
        expect(&o, &[12, 32], &want.collect::<Vec<_>>());
    }
}

/// Pallas' own case: six elements of three, one before and two after.
#[tpu_kernel]
fn padded(
    #[block([n] at (element 0 - 1 pad (1, 2)))] x: In<i32, (D<6>,)>,
    #[block([6] at (0))] o: Out<i32, (D<6>,)>,
    #[block([6] at (0))] masked: Out<i32, (D<6>,)>,
    #[block([n] at (element 0 - 1 pad (1, 2)))] back: Out<i32, (D<6>,)>,
) {
    o.store(x.load());
    masked.store(x.load_or(7));
    back.store(iota::<(D<6>,)>(Lanes) * 10);
}

/// A stencil with a halo of `H` rows and one column, edges as 0.
#[tpu_kernel(grid(i: m / B, j: n / 32))]
fn halo<B: Dim, H: Dim>(
    #[block([m, n] at (element i * B - H pad (H, B), element j * 32 - 1 pad (1, 32)))] up: In<i32, (B, D<34>)>,
    #[block([m, n] at (element i * B + H pad (0, 64), element j * 32 - 1 pad (1, 32)))] down: In<i32, (B, D<34>)>,
    #[block([m, n] at (i, j))] o: Out<i32, (B, D<32>)>,
) {
    let (up, down) = (up.load_or(0), down.load_or(0));
    let left = up.slice::<(B, D<32>)>([0, 0]);
    let right = down.slice::<(B, D<32>)>([0, 2]);
    o.store(left * 1000 + right);
}

/// Padding rows and columns of an output, where it can be written in place and where it cannot.
#[tpu_kernel(grid(i: 3, j: 2))]
fn frame(
    #[block([1] at (0))] x: In<i32, (One,)>,
    #[block([20, 40] at (element i * 8 - 2 pad (2, 2), element j * 24 - 4 pad (4, 4)))] o: Out<i32, (D<8>, D<24>)>,
) {
    let place = (iota::<(D<8>, D<24>)>(Sublanes) + i * 8 - 2) * 100 + iota::<(D<8>, D<24>)>(Lanes) + j * 24 - 4;
    o.store(place + x.load().reshape::<(One, One)>());
}

#[test]
fn case_08_element_padding() {
    let poison = i32::MIN;
    for device in devices() {
        let x = made(&device, &[3], |_| 42);
        let (o, masked, back) = padded().allow(Allow::BlockShape).launch(&device, &x).unwrap();
        expect(&o, &[6], &[poison, 42, 42, 42, poison, poison]);
        expect(&masked, &[6], &[7, 42, 42, 42, 7, 7]);
        expect(&back, &[3], &[10, 20, 30]);

        for (m, n, b, h) in [(16, 64, 8, 1), (24, 32, 8, 3), (5, 50, 5, 2), (10, 70, 4, 4)] {
            let x = made(&device, &[m, n], |at| 1 + at as i32);
            let o = halo().b(b).h(h).allow(Allow::BlockShape).launch(&device, &x, &x).unwrap();
            let value = |r: i32, c: i32| {
                let inside = (0..m as i32).contains(&r) && (0..n as i32).contains(&c);
                if inside { 1 + r * n as i32 + c } else { 0 }
            };
            let want = (0..(m * n) as i32).map(|at| (at / n as i32, at % n as i32));
            let want = want.map(|(r, c)| value(r - h as i32, c - 1) * 1000 + value(r + h as i32, c + 1));
            expect(&o, &[m, n], &want.collect::<Vec<_>>());
        }

        let x = made(&device, &[1], |_| 5);
        let o = frame().allow(Allow::BlockShape).launch(&device, &x).unwrap();
        expect(&o, &[20, 40], &(0..800).map(|at| at / 40 * 100 + at % 40 + 5).collect::<Vec<_>>());
    }
}

#[tpu_kernel(grid(i: 4))]
fn too_far(
    #[block([n] at (element i * 3 - 1 pad (1, 2)))] x: In<i32, (D<4>,)>,
    #[block([4, 4] at (i, 0))] o: Out<i32, (One, D<4>)>,
) {
    o.store(x.load().reshape::<(One, D<4>)>());
}

#[tpu_kernel(grid(i: 2))]
fn gap(#[block([1] at (0))] x: In<i32, (One,)>, #[block([n] at (element i * 2))] o: Out<i32, (D<4>,)>) {
    o.store(x.load().broadcast::<(D<4>,)>());
}

#[test]
fn element_windows_outside_are_refused() {
    for device in devices() {
        let launch = |n: usize| too_far().allow(Allow::BlockShape).launch(&device, &made(&device, &[n], |at| at as i32));
        // The last window starts at 8 and ends at 12.
        launch(10).unwrap();
        match refused(launch(9)) {
            LaunchError::ElementStart {
                operand, axis: 0, array, start: 8, size: 4, pad: (1, 2), allowed: (-1, 7), step, ..
            } => {
                assert_eq!((operand.as_str(), array, step), ("x", vec![9], vec![3]));
            }
            other => panic!("{other}"),
        }
        match refused(launch(0)) {
            LaunchError::ElementStart { start: -1, allowed: (-1, -2), step, .. } => assert_eq!(step, [0]),
            other => panic!("{other}"),
        }
        let x = made(&device, &[1], |_| 1);
        let launch = |n: usize| gap().n(n).allow(Allow::BlockShape).launch(&device, &x);
        launch(6).unwrap();
        match refused(launch(7)) {
            LaunchError::Unwritten { operand, axis: 0, visited, .. } => {
                assert_eq!((operand.as_str(), visited.as_str()), ("o", "elements 0 to 5"))
            }
            other => panic!("{other}"),
        }
    }
}
