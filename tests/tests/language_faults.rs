//! What the numbers of a launch make wrong: refused when the kernel is built, each mistake once, with its code and line.

use tpu_kernel::Error;
use tpu_kernel::lang::PerWord;
use tpu_kernel::prelude::*;

type S = (D<8>, D<128>);

macro_rules! faults {
    ($($name:ident |$x:ident, $n:ident, $u:ident| { $($body:tt)* } => $code:literal, $message:literal;)+) => { $(
        #[test]
        fn $name() {
            #[tpu_kernel(grid(i: k / 8))]
            #[allow(unused_variables)]
            fn kernel(
                #[block([k, 128] at (i, 0))] x: In<f32, S>,
                #[block([k, 128] at (i, 0))] n: In<i32, S>,
                #[block([k, 128] at (i, 0))] u: In<u32, S>,
                #[block([k, 128] at (i, 0))] o: Out<i32, S>,
            ) {
                let ($x, $n, $u) = (x.load(), n.load(), u.load());
                o.fill(0);
                $($body)*
            }
            let Err(Error::Build { faults, .. }) = kernel().stage(&[DType::F32, DType::I32, DType::U32]) else { panic!("the kernel is wrong") };
            let found: Vec<&str> = faults.iter().map(|fault| fault.code()).collect();
            assert_eq!(found, [$code], "{faults:?}");
            let text = faults[0].to_string();
            assert!(text.contains($message), "{text}");
            let line = include_str!("language_faults.rs").lines().nth(faults[0].loc().line as usize - 1);
            assert!(line.is_some_and(|line| line.ends_with("// here")), "{:?}", faults[0].loc());
        }
    )+ };
}

/// A mistake in a plain helper, which no macro sees.
fn printed(x: Tile<f32, S>) {
    debug_print!("x = {} and {}", x); // here
}

fn packed<T: PerWord<2>>(x: Tile<i32, S>) -> Tile<u32, S> {
    let part = x.cast::<T>();
    pack([part, part])
}

faults! {
    a_literal_too_large |x, n, u| {
        let _ = n.cast::<i8>() + 300; // here
    } => "B007", "the literal 300 does not fit i8: it would become 44";
    a_literal_too_small |x, n, u| {
        let _ = select(n.eq(0), -9, n.cast::<I4>()); // here
    } => "B007", "the literal -9 does not fit i4: it would become 7";
    a_negative_literal_of_unsigned |x, n, u| {
        let _ = u.maximum(-1); // here
    } => "B007", "the literal -1 does not fit u32: it would become 4294967295";
    a_float_literal_that_would_be_cut |x, n, u| {
        let _ = x.cast::<F4E2M1>() + 8.0; // here
    } => "B007", "the literal 8.0 does not fit f4e2m1fn: it would become 6.0";
    another_name_of_other_numbers |x, n, u| {
        let _ = x.concat(x, Lanes).same_as::<(D<8>, D<255>)>(); // here
    } => "V019", "`same_as`";
    a_split_that_leaves_a_rest |x, n, u| {
        let [_, _, _] = x.split(Lanes); // here
    } => "V007", "`split`";
    an_axis_as_two_of_another_product |x, n, u| {
        let _ = x.unfold_axis::<D<3>, D<3>, _>(Sublanes); // here
    } => "V007", "1024 elements against 1152";
    a_slice_outside |x, n, u| {
        let _ = x.slice::<(D<4>, D<64>)>([5, 0]); // here
    } => "V032", "reads element 8 along axis 0, which has 8";
    a_stride_of_zero |x, n, u| {
        let _ = x.slice_strided::<(D<4>, D<64>)>([0, 0], [0, 1]); // here
    } => "V033", "the stride along axis 0 is 0";
    a_pad_that_is_too_small |x, n, u| {
        let _ = x.pad::<(D<9>, D<128>)>([2, 0], 0.0); // here
    } => "V032", "`pad`";
    an_element_outside |x, n, u| {
        let _ = x.at([0, 128]); // here
    } => "V032", "reads element 128 along axis 1, which has 128";
    more_than_there_are |x, n, u| {
        let _ = x.top_k::<D<9>, _>(Sublanes); // here
    } => "V032", "which has 8";
    an_axis_twice |x, n, u| {
        let _ = x.sum((Lanes, Axis::<1>)); // here
    } => "V034", "names axis 1 twice";
    an_axis_twice_of_a_formula |x, n, u| {
        let _ = x.softmax((Lanes, Axis::<1>)).exp(); // here
    } => "V034", "names axis 1 twice";
    a_roll_along_its_rows |x, n, u| {
        let _ = x.roll_strided(0, Lanes, 1, Axis::<1>); // here
    } => "V034", "names axis 1 twice";
    a_width_that_does_not_fold |x, n, u| {
        let _ = n.cast::<i8>().slice::<(D<2>, D<128>)>([0, 0]).bitcast_rows::<u32, (One, D<128>)>(); // here
    } => "V035", "8 against 32 bits";
    a_width_of_another_shape |x, n, u| {
        let _ = x.bitcast_rows::<bf16, (D<8>, D<256>)>(); // here
    } => "V019", "`bitcast`";
    a_place_outside_of_a_word |x, n, u| {
        let _ = u.unpack::<I4>(8); // here
    } => "V032", "`unpack`";
    a_text_with_too_few_values |x, n, u| {
        printed(x);
        let _ = packed::<bf16>(n);
    } => "V001", "takes 2 operands, got 1";
}
