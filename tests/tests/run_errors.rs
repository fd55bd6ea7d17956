//! What stops a kernel while it runs: a slice that leaves its block, a loop that cannot count. Both
//! executors name the same line, operand, numbers and grid step.

use tpu_device::Device;
use tpu_kernel::diagnose::render;
use tpu_kernel::exec::RunError;
use tpu_kernel::prelude::*;
use tpu_tests::devices::{devices, failed, kernel_error, made};

/// The lines of `part`, from its attribute on.
const PART: u32 = line!() + 1;
#[tpu_kernel(grid(i: 3))]
fn part(
    #[block([8, 128] at (0, 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([8, 128] at (0, 0))] o: Out<f32, (D<8>, D<128>)>,
    #[scratch] kept: Vmem<f32, (D<4>, D<128>)>,
    row: Scalar<i32>,
    column: Scalar<i32>,
    which: Scalar<i32>,
) {
    o.fill(1.0);
    kept.fill(2.0);
    if which == 0 {
        let loaded = x.load_at::<(D<2>, D<8>)>((row + i, column));
        o.store_at((0, 0), loaded);
    }
    if which == 1 {
        o.store_at((row + i, column), Tile::<f32, (D<2>, D<8>)>::full(7.0));
    }
    if which == 2 {
        let loaded = kept.load_at::<(One, D<128>)>((row + i, 0));
        o.store_at((0, 0), loaded);
    }
    if which == 3 {
        kept.store_at((row + i, 0), Tile::<f32, (D<3>, D<128>)>::full(7.0));
    }
}

fn launch(device: &Device, row: i32, column: i32, which: i32) -> Result<tpu_device::Tensor, tpu_device::DeviceError> {
    let x = made(device, &[8, 128], |at| at as f32);
    part().launch(device, &x, row, column, which)
}

#[test]
fn r001_slices_that_leave_the_block() {
    // Row, column, which access; the operand, axis, start, size, extent and grid step of the error.
    let cases = [
        ((7, 0, 0), ("x", 0, 7, 2, 8, 0)),
        ((5, 0, 0), ("x", 0, 7, 2, 8, 2)),
        ((100, 0, 0), ("x", 0, 100, 2, 8, 0)),
        ((-1, 0, 0), ("x", 0, -1, 2, 8, 0)),
        ((0, 121, 0), ("x", 1, 121, 8, 128, 0)),
        ((0, -8, 0), ("x", 1, -8, 8, 128, 0)),
        ((i32::MAX - 2, 0, 0), ("x", 0, i64::from(i32::MAX) - 2, 2, 8, 0)),
        ((i32::MIN, 0, 0), ("x", 0, i64::from(i32::MIN), 2, 8, 0)),
        ((6, 0, 1), ("o", 0, 7, 2, 8, 1)),
        ((-2, 0, 1), ("o", 0, -2, 2, 8, 0)),
        ((0, 128, 1), ("o", 1, 128, 8, 128, 0)),
        ((0, i32::MIN, 1), ("o", 1, i64::from(i32::MIN), 8, 128, 0)),
        ((2, 0, 2), ("kept", 0, 4, 1, 4, 2)),
        ((0, 0, 3), ("kept", 0, 2, 3, 4, 2)),
        ((-1, 0, 3), ("kept", 0, -1, 3, 4, 0)),
    ];
    let lines = [PART + 12, PART + 16, PART + 19, PART + 23];
    for device in devices() {
        for ((row, column, which), (operand, axis, start, size, extent, step)) in cases {
            let live = device.stats().live_bytes;
            match failed(launch(&device, row, column, which)) {
                RunError::OutOfBounds { operand: o, axis: a, start: s, size: n, extent: e, step: at, loc } => {
                    assert_eq!((o.as_str(), a, s, n, e, at.as_slice()), (operand, axis, start, size, extent, [step].as_slice()));
                    assert_eq!((loc.file.as_ref(), loc.line), (file!(), lines[which as usize]));
                }
                other => panic!("{other}"),
            }
            assert_eq!(device.stats().live_bytes, live, "the output is given back");
        }
        let text = render(&kernel_error(launch(&device, 7, 0, 0)));
        for part in
            ["error[R001]", "[7, 9) along axis 0 of operand `x`, which has 8", "grid step [0]", "let loaded = x.load_at", "help: "]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert_eq!(device.stats().launches, 0);
        // At the edges, all is well.
        for (row, column, which) in [(4, 120, 0), (0, 0, 0), (4, 120, 1), (0, 0, 1), (1, 0, 2), (-1, 0, 9)] {
            launch(&device, row, column, which).unwrap();
        }
    }
}

#[test]
fn slices_within_the_block_land_where_they_say() {
    for device in devices() {
        let o = launch(&device, 4, 120, 0).unwrap().to_vec::<f32>().unwrap();
        for (at, value) in o.into_iter().enumerate() {
            // The last step loads from row 6.
            let (row, column) = (at / 128, at % 128);
            let want = if row < 2 && column < 8 { ((row + 6) * 128 + column + 120) as f32 } else { 1.0 };
            assert_eq!(value, want);
        }
        let o = launch(&device, 4, 120, 1).unwrap().to_vec::<f32>().unwrap();
        for (at, value) in o.into_iter().enumerate() {
            assert_eq!(value, if at / 128 >= 6 && at % 128 >= 120 { 7.0 } else { 1.0 });
        }
    }
}

const COUNT: u32 = line!() + 1;
#[tpu_kernel]
fn count(#[block([1, 1] at (0, 0))] o: Out<i32, (One, One)>, from: Scalar<i32>, to: Scalar<i32>, by: Scalar<i32>) {
    let mut times = Scalar::from(0);
    for _ in (from..to).step_by(by) {
        times += 1;
    }
    o.fill(times);
}

#[test]
fn r003_steps_of_a_loop() {
    for device in devices() {
        for by in [0, -1, i32::MIN] {
            for (from, to) in [(0, 10), (10, 0), (5, 5)] {
                match failed(count().launch(&device, from, to, by)) {
                    RunError::LoopStep { by: got, loc } => {
                        assert_eq!((got, loc.file.as_ref(), loc.line), (by, file!(), COUNT + 3));
                    }
                    other => panic!("{other}"),
                }
            }
        }
        let error = kernel_error(count().launch(&device, 0, 1, 0));
        assert_eq!(error.to_string(), "the step of a loop must be positive, got 0");
        assert!(render(&error).contains("for _ in (from..to).step_by(by)"), "{}", render(&error));
        for (from, to, by, times) in [
            (0, 10, 1, 10),
            (0, 10, 3, 4),
            (10, 0, 1, 0),
            (5, 5, 1, 0),
            (0, 10, i32::MAX, 1),
            (i32::MIN, i32::MAX, i32::MAX, 3),
            (i32::MAX - 1, i32::MAX, 5, 1),
        ] {
            let o = count().launch(&device, from, to, by).unwrap().to_vec::<i32>().unwrap();
            assert_eq!(o, [times], "{from}..{to} by {by}");
        }
    }
}
