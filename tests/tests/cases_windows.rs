//! Windows by elements that overlap (7), that reach beyond their array (8), and accesses with strides (46).

use tpu_kernel::Error;
use tpu_kernel::exec::RunError;
use tpu_kernel::ir::DType;
use tpu_kernel::launch::{LaunchError, Launchable};
use tpu_kernel::prelude::*;
use tpu_tests::devices::{devices, expect, failed, made, refused};

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

/// Every other row and every third column, at a corner that the launch says, into and out of windows and scratch.
#[tpu_kernel]
fn strided<T: Element>(
    #[block([16, 128] at (0, 0))] x: In<T, (D<16>, D<128>)>,
    #[block([5, 40] at (0, 0))] part: Out<T, (D<5>, D<40>)>,
    #[block([16, 128] at (0, 0))] back: Out<T, (D<16>, D<128>)>,
    #[block([5, 128] at (0, 0))] rows: Out<T, (D<5>, D<128>)>,
    #[scratch] held: Vmem<T, (D<16>, D<128>)>,
    row: Scalar<i32>,
    column: Scalar<i32>,
) {
    let tile = x.load_strided::<(D<5>, D<40>)>((row, column), [2, 3]);
    part.store(tile);
    back.store(x.load());
    held.store(x.load());
    // Swapped with what lies one row below.
    held.store_strided((row, column), [2, 3], x.load_strided::<(D<5>, D<40>)>((row + 1, column), [2, 3]));
    held.store_strided((row + 1, column), [2, 3], tile);
    back.store(held.load());
    rows.store(back.load_strided::<(D<5>, D<128>)>((row, 0), [3, 1]));
}

fn strided_of<T: tpu_tests::devices::Counted + std::fmt::Debug>() {
    for device in devices() {
        let value = |at: usize| T::counted(at as i32 * 7 % 100);
        let x = made(&device, &[16, 128], value);
        for (row, column) in [(0, 0), (1, 3), (3, 10)] {
            let (part, back, rows) = strided().launch(&device, &x, row as i32, column as i32).unwrap();
            let want = (0..200).map(|at| value((row + at / 40 * 2) * 128 + column + at % 40 * 3));
            expect(&part, &[5, 40], &want.collect::<Vec<_>>());
            let moved = |at: usize| {
                let (r, c) = (at / 128, at % 128);
                let hit = (row..row + 10).contains(&r) && (column..column + 118).contains(&c) && (c - column).is_multiple_of(3);
                match hit {
                    true if (r - row).is_multiple_of(2) => value(at + 128),
                    true => value(at - 128),
                    false => value(at),
                }
            };
            expect(&back, &[16, 128], &(0..16 * 128).map(moved).collect::<Vec<_>>());
            expect(&rows, &[5, 128], &(0..640).map(|at| moved((row + at / 128 * 3) * 128 + at % 128)).collect::<Vec<_>>());
        }
        for (row, column, axis, last) in [(8, 0, 0, 17), (0, 11, 1, 129), (-1, 0, 0, 8), (0, -5, 1, 113)] {
            match failed(strided().launch(&device, &x, row, column)) {
                // The range ends after the last element.
                RunError::OutOfBounds { operand, axis: a, start, size, extent, .. } => {
                    assert_eq!((operand.as_str(), a, start + size as i64), ("x", axis, last));
                    assert_eq!(extent, [16, 128][axis]);
                }
                other => panic!("{other}"),
            }
        }
    }
}

/// Strides in each of three dimensions, and 0, which repeats.
#[tpu_kernel]
fn repeated(
    #[block([4, 6, 8] at (0, 0, 0))] x: In<i32, (D<4>, D<6>, D<8>)>,
    #[block([2, 5, 4] at (0, 0, 0))] rows: Out<i32, (D<2>, D<5>, D<4>)>,
    #[block([7, 6, 3] at (0, 0, 0))] planes: Out<i32, (D<7>, D<6>, D<3>)>,
    #[block([4, 6, 8] at (0, 0, 0))] o: Out<i32, (D<4>, D<6>, D<8>)>,
    at: Scalar<i32>,
) {
    rows.store(x.load_strided::<(D<2>, D<5>, D<4>)>((1, at, 0), [2, 0, 2]));
    planes.store(x.load_strided::<(D<7>, D<6>, D<3>)>((at, 0, 1), [0, 1, 3]));
    o.fill(-1);
    o.store_strided((0, 1, at), [3, 2, 2], x.load_at::<(D<2>, D<3>, D<2>)>((0, 0, 0)));
}

/// The row of a dynamic index along the second to last dimension.
#[tpu_kernel(grid(i: 5))]
fn picked_row(
    #[block([3, 5, 128] at (0, 0, 0))] x: In<f32, (D<3>, D<5>, D<128>)>,
    #[block([5, 3, 128] at (squeeze i, 0, 0))] o: Out<f32, (D<3>, D<128>)>,
) {
    o.store(x.load_at::<(D<3>, One, D<128>)>((0, 4 - i, 0)).squeeze(Sublanes));
}

#[test]
fn case_46_strided_load_and_store() {
    strided_of::<f32>();
    strided_of::<i32>();
    strided_of::<bool>();
    strided_of::<half::bf16>();
}

#[test]
fn case_46_load_and_broadcast_with_stride_0() {
    for device in devices() {
        let x = made(&device, &[4, 6, 8], |at| at as i32);
        let value = |a: usize, b: usize, c: usize| (a * 48 + b * 8 + c) as i32;
        for n in 0..4 {
            let (rows, planes, o) = repeated().allow(Allow::BlockShape).launch(&device, &x, n as i32).unwrap();
            expect(&rows, &[2, 5, 4], &(0..40).map(|at| value(1 + at / 20 * 2, n, at % 4 * 2)).collect::<Vec<_>>());
            expect(&planes, &[7, 6, 3], &(0..126).map(|at| value(n, at / 3 % 6, 1 + at % 3 * 3)).collect::<Vec<_>>());
            let mut want = vec![-1; 192];
            for (a, b, c) in (0..12).map(|at| (at / 6, at / 2 % 3, at % 2)) {
                want[value(3 * a, 1 + 2 * b, n + 2 * c) as usize] = value(a, b, c);
            }
            expect(&o, &[4, 6, 8], &want);
        }
        match failed(repeated().allow(Allow::BlockShape).launch(&device, &x, 6)) {
            RunError::OutOfBounds { axis: 1, start: 6, size: 1, extent: 6, .. } => {}
            other => panic!("{other}"),
        }
    }
}

#[test]
fn case_46_load_with_dynamic_2nd_minor_index() {
    for device in devices() {
        let x = made(&device, &[3, 5, 128], |at| at as f32);
        let o = picked_row().allow(Allow::BlockShape).launch(&device, &x).unwrap();
        let want =
            (0..5 * 3 * 128).map(|at| (at / 384, at / 128 % 3, at % 128)).map(|(i, a, c)| ((a * 5 + 4 - i) * 128 + c) as f32);
        expect(&o, &[5, 3, 128], &want.collect::<Vec<_>>());
    }
}

#[tpu_kernel]
fn too_long(#[block([8] at (0))] x: In<i32, (D<8>,)>, #[block([3] at (0))] o: Out<i32, (D<3>,)>) {
    o.store(x.load_strided::<(D<3>,)>((2,), [3]));
}

#[tpu_kernel]
fn stored_too_long(#[block([3] at (0))] x: In<i32, (D<3>,)>, #[block([8] at (0))] o: Out<i32, (D<8>,)>) {
    o.fill(0);
    o.store_strided((2,), [3], x.load());
}

#[tpu_kernel]
fn stored_at_once(#[block([3] at (0))] x: In<i32, (D<3>,)>, #[block([8] at (0))] o: Out<i32, (D<8>,)>) {
    o.fill(0);
    o.store_strided((2,), [0], x.load());
}

/// Strides far beyond any memory, at a start that is not known.
#[tpu_kernel]
fn far(#[block([3] at (0))] x: In<i32, (D<3>,)>, #[block([8] at (0))] o: Out<i32, (D<8>,)>, n: Scalar<i32>) {
    o.fill(0);
    o.store_strided((n,), [usize::MAX], x.load());
}

#[test]
fn strides_are_checked_when_the_kernel_is_built() {
    let codes = |kernel: &dyn Launchable| match kernel.stage(&[DType::I32]) {
        Err(Error::Build { faults, .. }) => faults.iter().map(|fault| fault.code()).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(codes(&too_long()), ["V012"]);
    assert_eq!(codes(&stored_too_long()), ["V012"]);
    assert_eq!(codes(&stored_at_once()), ["V033"]);
    assert_eq!(codes(&far()), ["V012"]);
}
