//! The Rust types of tensor elements.

/// A Rust type that tensors hold: `f32`, [`half::bf16`], [`half::f16`], `i32`, `i16`, `i8`, `u32`, `u16`, `u8`, `bool`, and
/// the narrow types of `tpu_kernel`: `F8E4M3`, `F8E5M2`, `F8E4M3B11`, `F4E2M1`, `I4`, `I2`, `U4`. The elements of kernels,
/// and how they lie in memory.
pub trait Element: tpu_kernel::lang::Element + sealed::Bytes {}

impl<T: tpu_kernel::lang::Element + sealed::Bytes> Element for T {}

mod sealed {
    use half::{bf16, f16};
    use tpu_kernel::{F4E2M1, F8E4M3, F8E4M3B11, F8E5M2, I2, I4, U4};

    /// Elements as bytes in native order. Slices given to both functions fit: `bytes.len() == elements × size`.
    pub trait Bytes: Sized {
        fn write(elements: &[Self], bytes: &mut [u8]);
        fn read(bytes: &[u8]) -> Vec<Self>;
    }

    macro_rules! numbers {
        ($($ty:ty: $size:literal),+) => { $(
            impl Bytes for $ty {
                fn write(elements: &[Self], bytes: &mut [u8]) {
                    for (to, element) in bytes.as_chunks_mut::<$size>().0.iter_mut().zip(elements) {
                        *to = element.to_ne_bytes();
                    }
                }
                fn read(bytes: &[u8]) -> Vec<Self> {
                    bytes.as_chunks::<$size>().0.iter().map(|&b| <$ty>::from_ne_bytes(b)).collect()
                }
            }
        )+ };
    }
    numbers!(f32: 4, bf16: 2, f16: 2, i32: 4, i16: 2, i8: 1, u32: 4, u16: 2, u8: 1);

    // Types of a byte each; reading ignores the bits that the narrower ones leave unused.
    macro_rules! bytes {
        ($($ty:ty: |$element:ident| $to:expr, |$byte:ident| $from:expr;)+) => { $(
            impl Bytes for $ty {
                fn write(elements: &[Self], bytes: &mut [u8]) {
                    for (to, &$element) in bytes.iter_mut().zip(elements) {
                        *to = $to;
                    }
                }
                fn read(bytes: &[u8]) -> Vec<Self> {
                    bytes.iter().map(|&$byte| $from).collect()
                }
            }
        )+ };
    }
    bytes! {
        bool: |x| u8::from(x), |b| b != 0;
        F8E4M3: |x| x.to_bits(), |b| F8E4M3::from_bits(b);
        F8E5M2: |x| x.to_bits(), |b| F8E5M2::from_bits(b);
        F8E4M3B11: |x| x.to_bits(), |b| F8E4M3B11::from_bits(b);
        F4E2M1: |x| x.to_bits(), |b| F4E2M1::from_bits(b);
        I4: |x| x.get() as u8, |b| I4::wrapping(b as i8);
        I2: |x| x.get() as u8, |b| I2::wrapping(b as i8);
        U4: |x| x.get(), |b| U4::wrapping(b);
    }
}
