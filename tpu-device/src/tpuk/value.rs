//! Values as a user types them: sizes, blocks, scalars; an error is the words that follow the value.

use tpu_kernel::ir::{DType, Literal};

/// The sizes of arrays and blocks are 32-bit numbers of a kernel.
const LARGEST: u64 = i32::MAX as u64;

/// The size of an array.
pub(super) fn size(text: &str) -> Result<usize, String> {
    count(text, 0, "a size")
}

/// A block size.
pub(super) fn block(text: &str) -> Result<usize, String> {
    count(text, 1, "a block size")
}

fn count(text: &str, least: u64, what: &str) -> Result<usize, String> {
    whole(text, least, LARGEST, what).map(|count| count as usize)
}

/// A whole number between two.
pub(super) fn whole(text: &str, least: u64, most: u64, what: &str) -> Result<u64, String> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("{what} is a whole number, {least} or more"));
    }
    match text.parse::<u64>() {
        Ok(number) if number < least => Err(format!("{what} is {least} or more")),
        Ok(number) if number <= most => Ok(number),
        // Digits alone are no number where they are too many.
        _ => Err(format!("{what} is at most {most}")),
    }
}

/// A scalar as a user writes it: what a literal's text is, and for a float `1` or `.5`.
pub(super) fn scalar(dtype: DType, text: &str) -> Result<Literal, String> {
    let lower = text.to_lowercase();
    let number = lower.parse::<f64>().ok();
    // More than f64 holds would be infinite, which nobody wrote.
    let finite = lower.contains(|c: char| c.is_ascii_digit());
    let plain = || {
        let value = number.filter(|value| dtype.is_float() && value.is_finite() == finite)?;
        let text = if value.is_nan() { "nan".to_string() } else { format!("{value:?}") };
        Literal::parse(dtype, &text)
    };
    Literal::parse(dtype, &lower).or_else(plain).ok_or_else(|| match number {
        _ if dtype == DType::Bool => format!("`{text}` is neither true nor false"),
        Some(_) if dtype.is_float() => format!("{dtype} does not hold {text}"),
        None if dtype.is_float() => format!("`{text}` is no number; one of {dtype} is 2, -0.5 or 1e-3"),
        _ => {
            let (low, high) = dtype.range();
            format!("`{text}` is no {dtype}, which is a whole number from {low} to {high}")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_blocks() {
        assert_eq!((size("0"), size("007"), block("1")), (Ok(0), Ok(7), Ok(1)));
        assert_eq!(size("2147483647"), Ok(2147483647));
        for text in ["", "-3", "+3", "1.5", "1e3", "x", "１", " 1"] {
            assert_eq!(size(text), Err("a size is a whole number, 0 or more".to_string()), "{text}");
        }
        for text in ["2147483648", "18446744073709551615", "18446744073709551616", "1000000000000000000000000000000"] {
            assert_eq!(size(text), Err("a size is at most 2147483647".to_string()), "{text}");
        }
        assert_eq!(block("0"), Err("a block size is 1 or more".to_string()));
    }

    #[test]
    fn scalars() {
        for (text, value) in [("2", 2.0), (".5", 0.5), ("-1e-3", -1e-3), ("1E3", 1e3), ("+4", 4.0), ("-Inf", f32::NEG_INFINITY)] {
            assert_eq!(scalar(DType::F32, text).unwrap().as_f32(), Some(value), "{text}");
        }
        assert!(scalar(DType::F32, "NaN").unwrap().as_f32().is_some_and(f32::is_nan));
        assert_eq!(scalar(DType::Bool, "True").unwrap().as_bool(), Some(true));
        assert_eq!(scalar(DType::I8, "-128").unwrap().as_int(), Some(-128));
        for (dtype, text, want) in [
            (DType::F32, "x", "`x` is no number; one of f32 is 2, -0.5 or 1e-3"),
            (DType::F32, "", "`` is no number; one of f32 is 2, -0.5 or 1e-3"),
            (DType::F32, "1e39", "f32 does not hold 1e39"),
            (DType::F32, "-1e400", "f32 does not hold -1e400"),
            (DType::F16, "70000", "f16 does not hold 70000"),
            (DType::F4E2M1Fn, "nan", "f4e2m1fn does not hold nan"),
            (DType::I8, "128", "`128` is no i8, which is a whole number from -128 to 127"),
            (DType::I32, "2.5", "`2.5` is no i32, which is a whole number from -2147483648 to 2147483647"),
            (DType::Bool, "1", "`1` is neither true nor false"),
        ] {
            assert_eq!(scalar(dtype, text), Err(want.to_string()), "{dtype} {text}");
        }
    }
}
