//! Rust types for the elements that Rust and `half` do not have.

use super::Format;
use crate::ir::DType;
use std::fmt;

macro_rules! floats {
    ($($(#[$doc:meta])* $name:ident $dtype:ident),+ $(,)?) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Default)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            const FORMAT: Format = Format::of(DType::$dtype).expect("a float format");

            /// The number with these low bits.
            pub const fn from_bits(bits: u8) -> $name {
                $name(bits & DType::$dtype.mask() as u8)
            }

            /// Its bits.
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// The nearest number, ties to even.
            pub fn from_f32(value: f32) -> $name {
                $name(Self::FORMAT.encode(value) as u8)
            }

            /// Its value.
            pub fn to_f32(self) -> f32 {
                Self::FORMAT.decode(u32::from(self.0))
            }
        }

        /// As f32: NaN equals nothing, the zeros are equal.
        impl PartialEq for $name {
            fn eq(&self, other: &$name) -> bool {
                self.to_f32() == other.to_f32()
            }
        }
        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &$name) -> Option<std::cmp::Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }
        impl From<$name> for f32 {
            fn from(value: $name) -> f32 {
                value.to_f32()
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.to_f32(), f)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f32(), f)
            }
        }
    )+ };
}

floats!(
    /// The float of 8 bits with 4 of exponent: to ±448, NaN, no infinity.
    F8E4M3 F8E4M3Fn,
    /// The float of 8 bits with 5 of exponent: to ±57344, NaN and infinity.
    F8E5M2 F8E5M2,
    /// The float of 8 bits with 4 of exponent and bias 11: to ±30, one NaN, no infinity, no negative zero.
    F8E4M3B11 F8E4M3B11Fnuz,
    /// The float of 4 bits: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
    F4E2M1 F4E2M1Fn,
);

macro_rules! integers {
    ($($(#[$doc:meta])* $name:ident $holder:ident $bits:literal),+ $(,)?) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name($holder);

        impl $name {
            /// The smallest value.
            pub const MIN: $name = $name($holder::MIN >> (8 - $bits));
            /// The largest value.
            pub const MAX: $name = $name($holder::MAX >> (8 - $bits));

            /// The value, or `None` where it does not fit.
            pub const fn new(value: $holder) -> Option<$name> {
                if value >= Self::MIN.0 && value <= Self::MAX.0 { Some($name(value)) } else { None }
            }

            /// The value of the low bits.
            pub const fn wrapping(value: $holder) -> $name {
                $name(value << (8 - $bits) >> (8 - $bits))
            }

            /// Its value.
            pub const fn get(self) -> $holder {
                self.0
            }
        }

        impl From<$name> for i32 {
            fn from(value: $name) -> i32 {
                i32::from(value.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    )+ };
}

integers!(
    /// An integer of 4 bits: -8 to 7.
    I4 i8 4,
    /// An integer of 2 bits: -2 to 1.
    I2 i8 2,
    /// An unsigned integer of 4 bits: 0 to 15.
    U4 u8 4,
);
