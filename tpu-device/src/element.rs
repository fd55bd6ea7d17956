//! The Rust types of tensor elements.

/// A Rust type that tensors hold: `f32`, [`half::bf16`], `i32` or `bool`. The elements of kernels, and how
/// they lie in memory.
pub trait Element: tpu_kernel::lang::Element + sealed::Bytes {}

impl<T: tpu_kernel::lang::Element + sealed::Bytes> Element for T {}

mod sealed {
    use half::bf16;

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
    numbers!(f32: 4, bf16: 2, i32: 4);

    impl Bytes for bool {
        fn write(elements: &[Self], bytes: &mut [u8]) {
            for (to, &element) in bytes.iter_mut().zip(elements) {
                *to = u8::from(element);
            }
        }
        fn read(bytes: &[u8]) -> Vec<Self> {
            bytes.iter().map(|&b| b != 0).collect()
        }
    }
}
