//! Faults that show while a kernel is built: their codes, and the user's line.
//!
//! A fault's line is marked in its kernel, at its end by `// here` or on the line before by `// below`; `faults!`
//! finds the first mark after itself.

use std::cell::{Cell, RefCell};
use tpu_kernel::Error;
use tpu_kernel::launch::LaunchError;
use tpu_kernel::prelude::*;

/// The first line after `from` that is marked.
fn marked(from: u32) -> u32 {
    let mut lines = include_str!("staging.rs").lines().zip(1..).skip(from as usize);
    let found = lines.find_map(|(line, number)| match line.trim_start() {
        "// below" => Some(number + 1),
        line => line.ends_with("// here").then_some(number),
    });
    found.expect("a marked line")
}

/// Asserts that staging fails with exactly these faults, all at the line marked after this one.
macro_rules! faults {
    ($kernel:expr, $inputs:expr, [$($code:literal),+]) => {
        let from = line!();
        let Err(Error::Build { kernel: _, faults }) = $kernel.stage(&$inputs) else { panic!("the kernel is wrong") };
        let found: Vec<(&str, u32)> = faults.iter().map(|f| (f.code(), f.loc().line)).collect();
        assert_eq!(found, [$(($code, marked(from))),+]);
    };
}

/// Asserts that staging refuses the launch with this code.
fn refused(kernel: &impl Launchable, inputs: &[DType], code: &str) -> LaunchError {
    match kernel.stage(inputs) {
        Err(Error::Launch(error)) => {
            assert_eq!(error.code(), code);
            error
        }
        other => panic!("expected {code}, got {other:?}"),
    }
}

#[test]
fn an_output_that_no_path_writes() {
    faults!(kernel().b(8), [DType::F32], ["V028"]);
    #[tpu_kernel(grid(i: n / B))]
    fn kernel<B: Dim>(
        #[block([n] at (i))] x: In<f32, (B,)>,
        #[block([n] at (i))] o: Out<f32, (B,)>,
        #[block([n] at (i))] forgotten: Out<f32, (B,)>, // here
    ) {
        o.store(x.load());
        let _ = forgotten;
    }
}

/// What the macro cannot see.
fn keep<T>(cell: &Cell<T>, value: T) {
    cell.set(value);
}

fn append<T>(list: &RefCell<Vec<T>>, value: T) {
    list.borrow_mut().push(value);
}

#[test]
fn a_value_outside_of_its_loop() {
    faults!(kernel().b(8), [DType::F32], ["B002"]);
    #[tpu_kernel(grid(i: n / B))]
    fn kernel<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
        let last = Cell::new(x.load());
        for _ in 0..4 {
            keep(&last, x.load() * 2.0);
        }
        o.store(last.get() + 1.0); // here
    }
}

#[test]
fn a_value_outside_of_its_branch() {
    faults!(kernel().b(8), [DType::F32], ["B002"]);
    #[tpu_kernel(grid(i: n / B))]
    fn kernel<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
        let parts = RefCell::new(vec![x.load()]);
        if i == 0 {
            append(&parts, x.load().exp());
        }
        let all = parts.borrow();
        o.store(all[0]);
        o.store(all[1] * 2.0); // here
    }
}

thread_local! {
    static KEPT: Cell<Option<Tile<f32, (D<8>,)>>> = const { Cell::new(None) };
}

#[test]
fn a_value_of_another_kernel() {
    #[tpu_kernel(grid(i: n / 8))]
    fn first(#[block([n] at (i))] x: In<f32, (D<8>,)>, #[block([n] at (i))] o: Out<f32, (D<8>,)>) {
        KEPT.set(Some(x.load()));
        o.store(x.load());
    }
    first().stage(&[DType::F32]).expect("the kernel is right");

    faults!(second(), [], ["B001"]);
    #[tpu_kernel(grid(i: n / 8))]
    fn second(#[block([n] at (i))] o: Out<f32, (D<8>,)>) {
        let kept = KEPT.get().expect("the first kernel was staged");
        o.fill(0.0);
        o.store(kept * 2.0); // here
    }
}

#[test]
fn an_earlier_build_of_the_same_kernel() {
    KEPT.set(None);
    let kernel = kernel();
    kernel.stage(&[DType::F32]).expect("the first build keeps nothing");
    faults!(kernel, [DType::F32], ["B001"]);
    #[tpu_kernel(grid(i: n / 8))]
    fn kernel(#[block([n] at (i))] x: In<f32, (D<8>,)>, #[block([n] at (i))] o: Out<f32, (D<8>,)>) {
        let t = KEPT.replace(Some(x.load())).unwrap_or(x.load());
        o.store(x.load());
        o.store(t + 1.0); // here
    }
}

#[test]
fn a_dynamic_while_left_half_way() {
    faults!(kernel().b(8), [DType::F32], ["B003"]);
    #[tpu_kernel(grid(i: n / B))]
    fn kernel<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>, steps: Scalar<i32>) {
        let mut left = steps;
        o.store(x.load());
        // below
        while left > 0 {
            left -= 1;
            if B > 4 {
                break;
            }
        }
    }
}

#[test]
fn a_dynamic_if_left_half_way() {
    faults!(kernel().b(8), [DType::F32], ["B003"]);
    #[tpu_kernel(grid(i: n / B))]
    fn kernel<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
        o.store(x.load());
        for _ in unroll(0..2) {
            // below
            if i == 0 {
                break;
            }
            break;
        }
    }
}

#[test]
fn a_panic_in_a_kernel() {
    let Err(Error::Build { kernel: name, faults }) = kernel().b(12).stage(&[DType::F32]) else { panic!("the kernel panics") };
    assert_eq!((name.as_str(), faults.len(), faults[0].code()), ("kernel", 1, "B004"));
    assert!(faults[0].to_string().ends_with("B is a multiple of 8, not 12"), "{}", faults[0]);
    let from = line!();
    assert_eq!((faults[0].loc().file.as_ref(), faults[0].loc().line), (file!(), marked(from)));
    #[tpu_kernel(grid(i: n / B))]
    fn kernel<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
        for _ in 0..4 {
            assert!(B % 8 == 0, "B is a multiple of 8, not {}", B); // here
        }
        o.store(x.load());
    }
    // The thread's next kernel is not touched by it.
    kernel().b(16).stage(&[DType::F32]).expect("16 is a multiple of 8");
}

#[test]
fn a_reshape_of_other_size() {
    faults!(kernel().b(8), [DType::F32], ["V007"]);
    #[tpu_kernel(grid(i: n / B))]
    fn kernel<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
        let square = x.load().reshape::<(D<3>, D<3>)>(); // here
        o.store(square.sum(Lanes).sum(Sublanes).reshape::<(One,)>());
    }
}

#[test]
fn a_transpose_of_other_shape() {
    faults!(kernel().bm(8).bn(16), [DType::F32], ["V019"]);
    #[tpu_kernel(grid(i: m / BM, j: n / BN))]
    fn kernel<BM: Dim, BN: Dim>(#[block([m, n] at (i, j))] x: In<f32, (BM, BN)>, #[block([m, n] at (i, j))] o: Out<f32, (BM, BN)>) {
        let t = x.load().transpose::<(BM, BN)>([1, 0]); // here
        o.store(t);
    }
}

#[test]
fn a_permutation_that_is_none() {
    faults!(kernel().bm(8).bn(16), [DType::F32], ["V008"]);
    #[tpu_kernel(grid(i: m / BM, j: n / BN))]
    fn kernel<BM: Dim, BN: Dim>(#[block([m, n] at (i, j))] x: In<f32, (BM, BN)>, #[block([m, n] at (i, j))] o: Out<f32, (BM, BN)>) {
        let t = x.load().transpose::<(BM, BN)>([1, 1]); // here
        o.store(t);
    }
}

#[test]
fn a_part_outside_of_its_block() {
    faults!(kernel().b(8), [DType::F32], ["V012"]);
    #[tpu_kernel(grid(i: n / B))]
    fn kernel<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
        o.store(x.load());
        o.store_at((0,), x.load_at::<(D<4>,)>((6,))); // here
    }
}

#[test]
fn a_part_before_its_block() {
    faults!(kernel().b(8), [DType::F32], ["V012"]);
    #[tpu_kernel(grid(i: n / B))]
    fn kernel<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
        o.store(x.load());
        o.store_at((-1,), x.load_at::<(D<4>,)>((0,))); // here
    }
}

/// One mistake is one fault: what is computed from a faulty value is silent.
#[test]
fn a_faulty_value_is_reported_once() {
    faults!(kernel().b(8), [DType::F32], ["V007"]);
    #[tpu_kernel(grid(i: n / B))]
    fn kernel<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
        let mut t = x.load().reshape::<(D<3>,)>(); // here
        for k in 0..4 {
            if k == 2 {
                t = t.exp();
            }
            t += k.cast::<f32>();
        }
        o.store(t.sum(Lanes).reshape::<(One,)>());
    }
}

#[tpu_kernel(grid(i: n / B))]
fn copy<T: Float, B: Dim>(#[block([n] at (i))] x: In<T, (B,)>, #[block([n] at (i))] o: Out<T, (B,)>) {
    o.store(x.load());
}

#[tpu_kernel(grid(i: n / B))]
fn fill<T: Float, B: Dim>(#[block([n] at (i))] o: Out<T, (B,)>) {
    o.fill(1.0);
}

#[test]
fn a_block_size_is_missing() {
    let error = refused(&copy(), &[DType::F32], "L006");
    assert!(matches!(&error, LaunchError::BlocksMissing { blocks, .. } if *blocks == ["B"]), "{error:?}");
}

#[test]
fn a_block_size_out_of_range() {
    let error = refused(&copy().b(0), &[DType::F32], "L013");
    assert!(matches!(&error, LaunchError::BlockRange { name, value: 0, .. } if name == "B"), "{error:?}");
    refused(&copy().b(1 << 31), &[DType::F32], "L013");
}

#[test]
fn a_wrong_element_type() {
    refused(&copy().b(8), &[DType::I32], "L005");
    refused(&copy().b(8).t(DType::Bf16), &[DType::F32], "L005");
    refused(&fill().b(8).t(DType::Bool), &[], "L005");
}

#[test]
fn an_element_type_that_nothing_binds() {
    let error = refused(&fill().b(8), &[], "L007");
    assert!(matches!(&error, LaunchError::Unbound { name, .. } if name == "T"), "{error:?}");
    fill().b(8).t(DType::Bf16).stage(&[]).expect("the launch binds it");
}

#[test]
fn a_wrong_number_of_inputs() {
    refused(&copy().b(8), &[], "L001");
}

/// Outside a kernel a handle stands for nothing: it can be made and used, and no kernel takes it.
#[test]
fn values_outside_of_any_kernel() {
    let t = Tile::<f32, (D<8>,)>::full(1.0) + 2.0;
    let u = dot(t.reshape::<(D<2>, D<4>)>(), t.reshape::<(D<4>, D<2>)>()).sum(Lanes);
    let n = program_id(0) + 1;
    let _ = (u, n, t.eq(0.0));

    KEPT.set(Some(t));
    faults!(kernel(), [], ["B001"]);
    #[tpu_kernel(grid(i: n / 8))]
    fn kernel(#[block([n] at (i))] o: Out<f32, (D<8>,)>) {
        o.fill(0.0);
        o.store(KEPT.get().expect("a value") + 1.0); // here
    }
}

/// One block size makes many values too large: one fault says which.
#[test]
fn a_block_size_beyond_any_vmem() {
    let Err(error) = kernel().bm(1_000_000).bn(128).stage(&[DType::F32]) else { panic!("the kernel is too large") };
    let Error::Build { faults, .. } = &error else { panic!("{error}") };
    let [fault] = &faults[..] else { panic!("{error}") };
    let from = line!();
    assert_eq!((fault.code(), fault.loc().line), ("V011", marked(from)));
    assert_eq!(
        fault.to_string(),
        "`load` a value of 1000000x128xf32 (512000000 bytes) is larger than any VMEM (limit 268435456 bytes); \
         the block size `BM` is 1000000"
    );
    #[tpu_kernel(grid(i: m / BM, j: n / BN))]
    fn kernel<BM: Dim, BN: Dim>(#[block([m, n] at (i, j))] x: In<f32, (BM, BN)>, #[block([m, n] at (i, j))] o: Out<f32, (BM, BN)>) {
        let doubled = x.load() * 2.0; // here
        o.store(doubled + x.load() * iota::<(BM, BN)>(Lanes).cast::<f32>());
    }
}
