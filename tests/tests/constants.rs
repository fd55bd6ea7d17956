//! Mistakes that constants show: each is refused while the kernel is built, at the line that makes it.
//!
//! A fault's line is marked at its end by `// here`; the macro finds the first mark after itself.

use tpu_kernel::diagnose::render;
use tpu_kernel::prelude::*;
use tpu_kernel::{BuildFault, Error};

/// The first line after `from` that is marked.
fn marked(from: u32) -> u32 {
    let mut lines = include_str!("constants.rs").lines().zip(1..).skip(from as usize);
    lines.find(|(line, _)| line.ends_with("// here")).expect("a marked line").1
}

/// Asserts that staging finds one fault, of this code and message, in the line marked after this one.
macro_rules! fault {
    ($kernel:expr, $inputs:expr, $code:literal, $message:expr) => {
        let from = line!();
        let Err(Error::Build { kernel: _, faults }) = $kernel.stage(&$inputs) else { panic!("the kernel is wrong") };
        let found: Vec<(&str, u32)> = faults.iter().map(|f| (f.code(), f.loc().line)).collect();
        assert_eq!(found, [($code, marked(from))]);
        assert_eq!(faults[0].to_string(), $message);
    };
}

/// A kernel of one output, whose line after the mark is wrong.
macro_rules! wrong {
    ($test:ident, $code:literal, $message:expr, |$x:ident, $n:ident, $i:ident| $body:block) => {
        #[test]
        fn $test() {
            fault!(kernel().b(8), [DType::I32], $code, $message);
            #[tpu_kernel(grid($i: $n / B))]
            fn kernel<B: Dim>(#[block([$n] at ($i))] $x: In<i32, (B,)>, #[block([$n] at ($i))] o: Out<i32, (B,)>) {
                o.store($x.load());
                $body
            }
        }
    };
}

wrong!(a_sum_of_constants, "B005", "this overflows i32: 2147483647 + 1 is 2147483648", |x, n, i| {
    let top = Scalar::from(i32::MAX);
    let _ = top + 1; // here
});

wrong!(a_difference_of_constants, "B005", "this overflows i32: -2147483648 - 1 is -2147483649", |x, n, i| {
    let bottom = Scalar::from(i32::MIN);
    let _ = bottom - 1; // here
});

wrong!(a_difference_with_a_negative, "B005", "this overflows i32: 2147483647 - (-1) is 2147483648", |x, n, i| {
    let _ = Scalar::from(i32::MAX) - -1; // here
});

wrong!(a_product_of_constants, "B005", "this overflows i32: 65536 * 65536 is 4294967296", |x, n, i| {
    let side = Scalar::from(1 << 16);
    let _ = side * side; // here
});

wrong!(a_negation_of_a_constant, "B005", "this overflows i32: -(-2147483648) is 2147483648", |x, n, i| {
    let bottom = Scalar::from(i32::MIN);
    let _ = -bottom; // here
});

wrong!(a_quotient_of_constants, "B005", "this overflows i32: -2147483648 / (-1) is 2147483648", |x, n, i| {
    let _ = Scalar::from(i32::MIN) / -1; // here
});

wrong!(constants_through_arithmetic, "B005", "this overflows i32: 2000000000 + 2000000000 is 4000000000", |x, n, i| {
    let half = Scalar::from(1_000_000_000) + 1_000_000_000;
    let _ = half + half; // here
});

wrong!(tiles_of_a_constant, "B005", "this overflows i32: 2147483647 + 1 is 2147483648", |x, n, i| {
    let top = Tile::<i32, (B,)>::full(i32::MAX).reshape::<(One, B)>();
    let _ = top + 1; // here
});

wrong!(a_literal_on_the_left, "B005", "this overflows i32: 2147483647 * 2 is 4294967294", |x, n, i| {
    let _ = i32::MAX * Scalar::from(2); // here
});

wrong!(an_assignment_to_a_constant, "B005", "this overflows i32: 2147483647 + 1 is 2147483648", |x, n, i| {
    let mut top = Scalar::from(i32::MAX);
    top += 1; // here
});

wrong!(a_line_of_an_unrolled_loop_once, "B005", "this overflows i32: 2147483645 + 3 is 2147483648", |x, n, i| {
    let near = Scalar::from(i32::MAX - 2);
    for k in unroll(0..8) {
        let _ = near + k; // here
    }
});

wrong!(a_tile_by_zero, "B006", "this divides i32 elements by zero: the right side of `/` is 0 in every element", |x, n, i| {
    let nothing = 0;
    let _ = x.load() / nothing; // here
});

wrong!(a_remainder_by_zero, "B006", "this divides i32 elements by zero: the right side of `%` is 0 in every element", |x, n, i| {
    let zero = Scalar::from(0);
    let _ = x.load() % zero; // here
});

wrong!(
    a_scalar_by_a_computed_zero,
    "B006",
    "this divides i32 elements by zero: the right side of `/` is 0 in every element",
    |x, n, i| {
        let zero = Scalar::from(B) - B;
        let _ = i / zero; // here
    }
);

wrong!(
    a_tile_by_a_tile_of_zeros,
    "B006",
    "this divides i32 elements by zero: the right side of `%` is 0 in every element",
    |x, n, i| {
        let mut left = x.load();
        left %= Tile::<i32, (B,)>::full(0); // here
        let _ = left;
    }
);

wrong!(a_shift_by_all_bits, "B008", "this shifts i32 elements by 32, and they have 32 bits", |x, n, i| {
    let _ = x.load() << 32; // here
});

wrong!(a_shift_by_a_negative, "B008", "this shifts i32 elements by -1, and they have 32 bits", |x, n, i| {
    let one = Scalar::from(1);
    let _ = x.load() >> -one; // here
});

wrong!(a_shift_of_narrow_elements, "B008", "this shifts i8 elements by 8, and they have 8 bits", |x, n, i| {
    let _ = x.load().cast::<i8>() << 8; // here
});

wrong!(a_sum_of_narrow_constants, "B005", "this overflows i8: 100 + 28 is 128", |x, n, i| {
    let top = Tile::<i8, (B,)>::full(100);
    let _ = top + 28; // here
});

wrong!(a_literal_beyond_narrow_elements, "B007", "the literal 300 does not fit i8: it would become 44", |x, n, i| {
    let _ = x.load().cast::<i8>() + 300; // here
});

wrong!(a_literal_below_unsigned_elements, "B007", "the literal -1 does not fit u8: it would become 255", |x, n, i| {
    let _ = x.load().cast::<u8>() + -1; // here
});

wrong!(
    an_unsigned_division_by_zero,
    "B006",
    "this divides u8 elements by zero: the right side of `/` is 0 in every element",
    |x, n, i| {
        let zero = 0;
        let _ = x.load().cast::<u8>() / zero; // here
    }
);

wrong!(an_index_that_is_the_same_everywhere, "B009", "index -9 is outside axis 0, which has the indices -8 to 7", |x, n, i| {
    let before = Tile::<i32, (B,)>::full(-9);
    let _ = x.load().take_along_axis(before, Lanes); // here
});

wrong!(a_slice_by_the_index_of_an_unrolled_loop, "V032", "`slice` reads element 8 along axis 0, which has 8", |x, n, i| {
    for k in unroll(0..8usize) {
        let _ = x.load().slice::<(D<4>,)>([k]); // here
    }
});

wrong!(
    a_corner_computed_from_constants,
    "V012",
    "`load` accesses [6, 10) along axis 0 of operand `x`, which has 8 elements there",
    |x, n, i| {
        let start = Scalar::from(2) * 3;
        let _ = x.load_at::<(D<4>,)>((start,)); // here
    }
);

wrong!(
    a_corner_of_an_unrolled_loop,
    "V012",
    "`load` accesses [8, 12) along axis 0 of operand `x`, which has 8 elements there",
    |x, n, i| {
        for k in unroll(0..4) {
            let _ = x.load_at::<(D<4>,)>((k * 4,)); // here
        }
    }
);

wrong!(
    a_part_larger_than_its_block,
    "V012",
    "`load` accesses [0, 9) along axis 0 of operand `x`, which has 8 elements there",
    |x, n, i| {
        let _ = x.load_at::<(D<9>,)>((i,)); // here
    }
);

wrong!(
    an_index_of_an_unrolled_loop_into_an_array,
    "B004",
    "the kernel panicked while it was built: index out of bounds: the len is 2 but the index is 2",
    |x, n, i| {
        let parts = [x.load(), x.load() + 1];
        for k in unroll(0..3) {
            let _ = parts[k]; // here
        }
    }
);

/// Values that only a run knows have their meaning: they wrap, and x / 0 is -1.
#[test]
fn what_is_not_constant_is_not_refused() {
    kernel().b(8).stage(&[DType::I32, DType::I32]).expect("nothing here is constant");
    #[tpu_kernel(grid(i: n / B))]
    fn kernel<B: Dim>(
        #[block([n] at (i))] x: In<i32, (B,)>,
        #[block([n] at (i))] y: In<i32, (B,)>,
        #[block([n] at (i))] o: Out<i32, (B,)>,
    ) {
        let mut zero = Scalar::from(0);
        for k in 0..4 {
            zero += k;
        }
        let most = Scalar::from(i32::MAX - 1) + 1;
        o.store(x.load() / y.load() + x.load() % zero + (i + i32::MAX) * most - x.load() / -1);
    }
}

/// What has no sign wraps by its nature, as counters and hashes do; shifts up to the last bit are whole.
#[test]
fn unsigned_constants_wrap() {
    kernel().b(8).stage(&[DType::U32]).expect("u32 wraps");
    #[tpu_kernel(grid(i: n / B))]
    fn kernel<B: Dim>(#[block([n] at (i))] x: In<u32, (B,)>, #[block([n] at (i))] o: Out<u32, (B,)>) {
        let top = Tile::<u32, (B,)>::full(0) - 1;
        o.store(((x.load() ^ (top + 1)) << 31) * (top * top) + (top >> 31));
    }
}

/// A float divided by zero is an infinity, and wanted.
#[test]
fn floats_divide_by_zero() {
    kernel().b(8).stage(&[DType::F32]).expect("infinity is a float");
    #[tpu_kernel(grid(i: n / B))]
    fn kernel<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
        o.store(x.load() / 0.0);
    }
}

#[tpu_kernel(grid(i: n / B))]
fn limit<T: Float, B: Dim>(#[block([n] at (i))] x: In<T, (B,)>, #[block([n] at (i))] o: Out<T, (B,)>) {
    o.store(x.load().minimum(3.4e38)); // here
}

#[test]
fn a_literal_beyond_the_elements() {
    limit().b(8).stage(&[DType::F32]).expect("an f32 holds it");
    let Err(Error::Build { faults, .. }) = limit().b(8).stage(&[DType::Bf16]) else { panic!("a bf16 does not") };
    let [fault @ BuildFault::Literal { value, dtype: DType::Bf16, .. }] = &faults[..] else { panic!("{faults:?}") };
    assert_eq!(value, "3.4e38");
    assert_eq!((fault.code(), fault.to_string().as_str()), ("B007", "the literal 3.4e38 does not fit bf16: it would become inf"));
    assert!(include_str!("constants.rs").lines().nth(fault.loc().line as usize - 1).is_some_and(|l| l.ends_with("// here")));

    // An infinity is one, and what rounds to a finite value fits.
    #[tpu_kernel(grid(i: n / B))]
    fn fits<T: Float, B: Dim>(#[block([n] at (i))] x: In<T, (B,)>, #[block([n] at (i))] o: Out<T, (B,)>) {
        o.store(select(x.load().lt(-3.38e38), f32::NEG_INFINITY, x.load() * 1e-45));
    }
    fits().b(8).stage(&[DType::Bf16]).expect("these fit");

    // Not of a type that has none: NaN, which f8e4m3fn makes of it, would spread where the minimum was meant.
    #[tpu_kernel(grid(i: n / B))]
    fn least<T: Float, B: Dim>(#[block([n] at (i))] x: In<T, (B,)>, #[block([n] at (i))] o: Out<T, (B,)>) {
        o.store(x.load_or(f32::NEG_INFINITY).maximum(f32::NAN));
    }
    for (dtype, refused) in [
        (DType::F32, &[][..]),
        (DType::F8E5M2, &[]),
        (DType::F8E4M3Fn, &["-inf"]),
        (DType::F8E4M3B11Fnuz, &["-inf"]),
        (DType::F4E2M1Fn, &["-inf", "NaN"]),
    ] {
        let faults = match least().b(8).stage(&[dtype]) {
            Ok(_) => vec![],
            Err(Error::Build { faults, .. }) => faults,
            Err(other) => panic!("{dtype}: {other}"),
        };
        let literals = faults.iter().map(|fault| match fault {
            BuildFault::Literal { value, .. } => value.as_str(),
            other => panic!("{dtype}: {other}"),
        });
        assert_eq!(literals.collect::<Vec<_>>(), refused, "{dtype}");
    }
    let advice = |dtype| render(&limit().b(8).stage(&[dtype]).expect_err("it is too large")).contains("f32::INFINITY");
    assert!(advice(DType::Bf16) && advice(DType::F8E5M2) && !advice(DType::F8E4M3Fn) && !advice(DType::F4E2M1Fn));
}

#[test]
fn the_line_and_the_advice_are_shown() {
    #[tpu_kernel(grid(i: n / B))]
    fn halves<B: Dim>(#[block([n] at (i))] x: In<i32, (B,)>, #[block([n] at (i))] o: Out<i32, (B,)>) {
        let parts = Scalar::from(0);
        o.store(x.load() / parts);
    }
    let error = halves().b(8).stage(&[DType::I32]).expect_err("it divides by zero");
    let text = render(&error);
    for part in ["error[B006]: this divides i32 elements by zero", "o.store(x.load() / parts);", "help: ", "docs/errors.md#b006"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
