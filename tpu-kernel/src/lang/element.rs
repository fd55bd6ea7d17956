//! The Rust types of tile elements, and what they can do.
//!
//! Rules: the set is closed; a class is a trait, so that an operation on elements that do not have it is rustc's
//! error. `Number` is every type but bool; a number is a `Float` or an `Int`; an `Int` has `Bits`, as bool has.

use crate::formats::{F4E2M1, F8E4M3, F8E4M3B11, F8E5M2, I2, I4, U4};
use crate::ir::{DType, Literal};
use half::{bf16, f16};

/// An element type: a float (`f32 bf16 f16 F8E4M3 F8E5M2 F8E4M3B11 F4E2M1`), an integer
/// (`i32 i16 i8 I4 I2 u32 u16 u8 U4`) or `bool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element type",
    label = "tiles hold `f32`, `bf16`, `f16`, 8- and 4-bit floats, `i32` to `I2`, `u32` to `U4`, or `bool`"
)]
pub trait Element: Copy + Default + Send + Sync + Into<Literal> + sealed::Sealed + 'static {
    /// The element type in the IR.
    const DTYPE: DType;
}

/// An element type with arithmetic and an order: every one but `bool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` elements have no arithmetic and no order",
    label = "this takes elements of a float or an integer type"
)]
pub trait Number: Element {}

/// A floating-point element type: `f32`, `bf16`, `f16`, `F8E4M3`, `F8E5M2`, `F8E4M3B11` or `F4E2M1`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a floating-point element type",
    label = "this takes elements of a float type: convert with `.cast::<f32>()`; an integer literal has no point"
)]
pub trait Float: Number {}

/// An integer element type: `i32`, `i16`, `i8`, `I4`, `I2`, `u32`, `u16`, `u8` or `U4`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an integer element type",
    label = "this takes elements of an integer type: convert with `.cast::<i32>()`; a float literal has a point"
)]
pub trait Int: Number + Bits {}

/// An element type with bitwise or logical operations: an integer or `bool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no bitwise operations",
    label = "`&`, `|`, `^` and `!` take elements of an integer type or `bool`"
)]
pub trait Bits: Element {}

/// A float type narrower than `f32`: what stochastic rounding makes.
#[diagnostic::on_unimplemented(
    message = "nothing is rounded to `{Self}`",
    label = "this makes `bf16`, `f16`, `F8E4M3`, `F8E5M2`, `F8E4M3B11` or `F4E2M1` elements of `f32`"
)]
pub trait NarrowFloat: Float {}

/// An element type of as many bits as `U`: its bits are also an element of `U`.
#[diagnostic::on_unimplemented(
    message = "an element of `{Self}` has not as many bits as one of `{U}`",
    label = "the widths differ, or one is `bool`: `x.bitcast_rows::<{U}, J>()` folds rows, the target shape says how"
)]
pub trait SameWidth<U>: Number {}

/// An element type of which `N` fill a word of `u32`.
#[diagnostic::on_unimplemented(
    message = "{N} elements of `{Self}` do not fill a word of `u32`",
    label = "a word holds 2 elements of 16 bits, 4 of 8, 8 of 4 or 16 of 2"
)]
pub trait PerWord<const N: usize>: Number {}

mod sealed {
    /// Element types are a closed set: each is known to every executor.
    pub trait Sealed {}
}

macro_rules! elements {
    ($($ty:ty = $dtype:ident: $($class:ident)*;)+) => { $(
        impl sealed::Sealed for $ty {}
        #[diagnostic::do_not_recommend]
        impl Element for $ty {
            const DTYPE: DType = DType::$dtype;
        }
        $(
            #[diagnostic::do_not_recommend]
            impl $class for $ty {}
        )*
    )+ };
}

elements! {
    f32 = F32: Number Float;
    bf16 = Bf16: Number Float NarrowFloat;
    f16 = F16: Number Float NarrowFloat;
    F8E4M3 = F8E4M3Fn: Number Float NarrowFloat;
    F8E5M2 = F8E5M2: Number Float NarrowFloat;
    F8E4M3B11 = F8E4M3B11Fnuz: Number Float NarrowFloat;
    F4E2M1 = F4E2M1Fn: Number Float NarrowFloat;
    i32 = I32: Number Int Bits;
    i16 = I16: Number Int Bits;
    i8 = I8: Number Int Bits;
    I4 = I4: Number Int Bits;
    I2 = I2: Number Int Bits;
    u32 = U32: Number Int Bits;
    u16 = U16: Number Int Bits;
    u8 = U8: Number Int Bits;
    U4 = U4: Number Int Bits;
    bool = Bool: Bits;
}

macro_rules! widths {
    ($([$($ty:ident)+] $per_word:literal;)+) => { $(
        widths!(@each [$($ty)+] [$($ty)+]);
        $(
            #[diagnostic::do_not_recommend]
            impl PerWord<$per_word> for $ty {}
        )+
    )+ };
    (@each [$($from:ident)+] $to:tt) => { $(widths!(@one $from $to);)+ };
    (@one $from:ident [$($to:ident)+]) => { $(
        #[diagnostic::do_not_recommend]
        impl SameWidth<$to> for $from {}
    )+ };
}

widths! {
    [f32 i32 u32] 1;
    [bf16 f16 i16 u16] 2;
    [F8E4M3 F8E5M2 F8E4M3B11 i8 u8] 4;
    [F4E2M1 I4 U4] 8;
    [I2] 16;
}
