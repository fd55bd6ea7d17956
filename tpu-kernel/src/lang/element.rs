//! The Rust types of tile elements, and what they can do.

use crate::ir::{DType, Literal};
use crate::{F4E2M1, F8E4M3, F8E4M3B11, F8E5M2, I2, I4, U4};
use half::{bf16, f16};

/// An element type: `f32`, `bf16`, `i32` or `bool`.
#[diagnostic::on_unimplemented(message = "`{Self}` is not an element type", label = "tiles hold `f32`, `bf16`, `i32` or `bool`")]
pub trait Element: Copy + Default + Send + Sync + Into<Literal> + sealed::Sealed + 'static {
    /// The element type in the IR.
    const DTYPE: DType;
}

/// An element type with arithmetic: `f32`, `bf16` or `i32`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` elements have no arithmetic and no order",
    label = "this takes elements of `f32`, `bf16` or `i32`"
)]
pub trait Number: Element {
    /// What a matrix product of such elements accumulates in: `f32`, or `i32` for `i32`.
    type Acc: Number;
}

/// A floating-point element type: `f32` or `bf16`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a floating-point element type",
    label = "this takes `f32` or `bf16` elements: convert with `.cast::<f32>()`; an integer literal has no point"
)]
pub trait Float: Number<Acc = f32> {}

/// An element type with bitwise or logical operations: `i32` or `bool`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no bitwise operations",
    label = "`&`, `|`, `^` and `!` take `i32` or `bool` elements"
)]
pub trait Bits: Element {}

mod sealed {
    /// Element types are a closed set: each is known to every executor.
    pub trait Sealed {}
}

macro_rules! elements {
    ($($ty:ty = $dtype:ident),+) => {
        $(
            impl sealed::Sealed for $ty {}
            #[diagnostic::do_not_recommend]
            impl Element for $ty {
                const DTYPE: DType = DType::$dtype;
            }
        )+
    };
}

elements!(
    f32 = F32,
    bf16 = Bf16,
    f16 = F16,
    F8E4M3 = F8E4M3Fn,
    F8E5M2 = F8E5M2,
    F8E4M3B11 = F8E4M3B11Fnuz,
    F4E2M1 = F4E2M1Fn,
    i32 = I32,
    i16 = I16,
    i8 = I8,
    I4 = I4,
    I2 = I2,
    u32 = U32,
    u16 = U16,
    u8 = U8,
    U4 = U4,
    bool = Bool
);

#[diagnostic::do_not_recommend]
impl Number for f32 {
    type Acc = f32;
}
#[diagnostic::do_not_recommend]
impl Number for bf16 {
    type Acc = f32;
}
#[diagnostic::do_not_recommend]
impl Number for i32 {
    type Acc = i32;
}
#[diagnostic::do_not_recommend]
impl Float for f32 {}
#[diagnostic::do_not_recommend]
impl Float for bf16 {}
#[diagnostic::do_not_recommend]
impl Bits for i32 {}
#[diagnostic::do_not_recommend]
impl Bits for bool {}
