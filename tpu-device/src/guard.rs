//! Panics end at the border of the runtime: code that is not ours runs under [`guarded`].

use crate::DeviceError;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`; a panic becomes an error. What `work` shares must stay sound when it is left half-way:
/// in this crate that is counters, tables behind locks that are updated whole, and tensors not yet handed out.
pub(crate) fn guarded<T>(during: &'static str, work: impl FnOnce() -> Result<T, DeviceError>) -> Result<T, DeviceError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let message = match payload.downcast::<String>() {
            Ok(message) => *message,
            Err(payload) => match payload.downcast::<&'static str>() {
                Ok(message) => message.to_string(),
                Err(payload) => {
                    // Dropping a payload of an unknown type could panic again.
                    std::mem::forget(payload);
                    "no message".to_string()
                }
            },
        };
        Err(DeviceError::Panic { during, message })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_of_any_type_is_an_error() {
        struct Loud;
        impl Drop for Loud {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        let message = |work: fn() -> Result<(), DeviceError>| match guarded("a test", work) {
            Err(DeviceError::Panic { message, .. }) => message,
            other => panic!("{other:?}"),
        };
        assert_eq!(message(|| std::panic::panic_any("text")), "text");
        assert_eq!(message(|| std::panic::panic_any(String::from("owned"))), "owned");
        assert_eq!(message(|| std::panic::panic_any(Loud)), "no message");
    }
}
