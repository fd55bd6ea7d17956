//! From an element type known at launch to a Rust type: the staging function of every type of a class.

/// Expands `$body` with `$t` the Rust type of the element type `$dtype`, which staging has checked against the class.
#[doc(hidden)]
#[macro_export]
macro_rules! with_element {
    (Element, $($rest:tt)*) => {
        $crate::with_element!(@ [
            F32 f32, Bf16 $crate::bf16, F16 $crate::f16, F8E4M3Fn $crate::F8E4M3, F8E5M2 $crate::F8E5M2,
            F8E4M3B11Fnuz $crate::F8E4M3B11, F4E2M1Fn $crate::F4E2M1,
            I32 i32, I16 i16, I8 i8, I4 $crate::I4, I2 $crate::I2, U32 u32, U16 u16, U8 u8, U4 $crate::U4,
            Bool bool
        ] $($rest)*)
    };
    (Number, $($rest:tt)*) => {
        $crate::with_element!(@ [
            F32 f32, Bf16 $crate::bf16, F16 $crate::f16, F8E4M3Fn $crate::F8E4M3, F8E5M2 $crate::F8E5M2,
            F8E4M3B11Fnuz $crate::F8E4M3B11, F4E2M1Fn $crate::F4E2M1,
            I32 i32, I16 i16, I8 i8, I4 $crate::I4, I2 $crate::I2, U32 u32, U16 u16, U8 u8, U4 $crate::U4
        ] $($rest)*)
    };
    (Float, $($rest:tt)*) => {
        $crate::with_element!(@ [
            F32 f32, Bf16 $crate::bf16, F16 $crate::f16, F8E4M3Fn $crate::F8E4M3, F8E5M2 $crate::F8E5M2,
            F8E4M3B11Fnuz $crate::F8E4M3B11, F4E2M1Fn $crate::F4E2M1
        ] $($rest)*)
    };
    (Int, $($rest:tt)*) => {
        $crate::with_element!(@ [
            I32 i32, I16 i16, I8 i8, I4 $crate::I4, I2 $crate::I2, U32 u32, U16 u16, U8 u8, U4 $crate::U4
        ] $($rest)*)
    };
    (Bits, $($rest:tt)*) => {
        $crate::with_element!(@ [
            I32 i32, I16 i16, I8 i8, I4 $crate::I4, I2 $crate::I2, U32 u32, U16 u16, U8 u8, U4 $crate::U4,
            Bool bool
        ] $($rest)*)
    };
    (@ [$($dtype:ident $ty:ty),+] $given:expr, $t:ident, $body:expr) => {
        match $given {
            $($crate::ir::DType::$dtype => {
                type $t = $ty;
                $body
            })+
            #[allow(unreachable_patterns)]
            _ => {}
        }
    };
}
