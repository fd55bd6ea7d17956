//! Stable codes of errors: a code for each variant, and the list of them.

/// `CODES` and `code()` of an error type. A variant without a code does not compile, and a code without a page in
/// `docs/errors.md` fails the tests. In `else` stand variants that hold another error, whose code is theirs.
#[doc(hidden)]
#[macro_export]
macro_rules! codes {
    (
        $(#[$about:meta])*
        [$($constant:tt)?] { $($variant:pat => $code:literal),+ $(,)? }
        $(else { $($holds:pat => $inner:expr),+ $(,)? })?
    ) => {
        /// Every stable code of this type; each has a page in `docs/errors.md`.
        pub const CODES: &'static [&'static str] = &[$($code),+];

        $(#[$about])*
        pub $($constant)? fn code(&self) -> &'static str {
            match self {
                $($variant => $code,)+
                $($($holds => $inner,)+)?
            }
        }
    };
}
