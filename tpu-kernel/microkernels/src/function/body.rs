//! What a function is made of: one lane, and 16 of them.

use super::STRIP;

/// 16 words.
pub(super) type Lanes = [u32; STRIP];

/// A function. Its methods are inlined into each instruction set's strip form.
pub(super) trait Body {
    /// One result.
    fn lane(a: u32, b: u32) -> u32;

    /// 16 results, each that of [`Body::lane`].
    #[inline(always)]
    fn lanes(a: &Lanes, b: &Lanes, out: &mut Lanes) {
        for i in 0..STRIP {
            out[i] = Self::lane(a[i], b[i]);
        }
    }
}

/// The bits of an f64 rounded to f32, with one NaN for all.
#[inline(always)]
pub(super) fn rounded(y: f64) -> u32 {
    canonical(y as f32)
}

/// The bits of an f32, with one NaN for all.
#[inline(always)]
pub(super) fn canonical(y: f32) -> u32 {
    if y.is_nan() { 0x7fc0_0000 } else { y.to_bits() }
}

/// The f32 with these bits, widened.
#[inline(always)]
pub(super) fn widened(bits: u32) -> f64 {
    f64::from(f32::from_bits(bits))
}

/// Bodies from functions of one f64 that need nothing else.
macro_rules! unary {
    ($($name:ident = $function:path;)*) => {$(
        pub(super) struct $name;

        impl $crate::function::body::Body for $name {
            #[inline(always)]
            fn lane(a: u32, _: u32) -> u32 {
                $crate::function::body::rounded($function($crate::function::body::widened(a)))
            }
        }
    )*};
}

/// Bodies from functions of two f64 that need nothing else.
macro_rules! binary {
    ($($name:ident = $function:path;)*) => {$(
        pub(super) struct $name;

        impl $crate::function::body::Body for $name {
            #[inline(always)]
            fn lane(a: u32, b: u32) -> u32 {
                $crate::function::body::rounded($function(
                    $crate::function::body::widened(a),
                    $crate::function::body::widened(b),
                ))
            }
        }
    )*};
}

pub(super) use {binary, unary};
