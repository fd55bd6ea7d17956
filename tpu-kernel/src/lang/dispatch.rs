//! From an element type known at launch to a Rust type: the staging function of every type of a class.

/// Expands `$body` with `$t` the Rust type of the element type `$dtype`, which staging has checked against the class.
#[doc(hidden)]
#[macro_export]
macro_rules! with_element {
    (Element, $($rest:tt)*) => {
        $crate::with_element!(@ [F32 f32, Bf16 $crate::bf16, I32 i32, Bool bool] $($rest)*)
    };
    (Number, $($rest:tt)*) => {
        $crate::with_element!(@ [F32 f32, Bf16 $crate::bf16, I32 i32] $($rest)*)
    };
    (Float, $($rest:tt)*) => {
        $crate::with_element!(@ [F32 f32, Bf16 $crate::bf16] $($rest)*)
    };
    (Bits, $($rest:tt)*) => {
        $crate::with_element!(@ [I32 i32, Bool bool] $($rest)*)
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
