//! Numbers as a reader wants them.
//!
//! Rules: counts have separators and all digits; what has a unit has three or four digits; a share that is not nothing is
//! not shown as nothing, and one that is not all is not shown as all.

use crate::tpuk::output::TOO_MANY;

/// A whole number: `1,234,567`.
pub(super) fn count(n: impl Into<i128>) -> String {
    let n: i128 = n.into();
    if n == i128::from(u64::MAX) {
        return TOO_MANY.to_string();
    }
    let digits = n.unsigned_abs().to_string();
    let mut text = String::from(if n < 0 { "−" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 step`, `2 steps`.
pub(super) fn counted(n: impl Into<i128>, noun: &str) -> String {
    let n: i128 = n.into();
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// Bytes: `96 B`, `1.5 KiB`, `128 MiB`.
pub(super) fn bytes(n: u64) -> String {
    if n == u64::MAX {
        return format!("{TOO_MANY} bytes");
    }
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    // What rounds up to the next unit is shown as that.
    if unit + 1 < units.len() && value >= 1023.95 {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", digits(value), units[unit])
}

/// Cycles as time at a clock: `737 ns`, `814.6 µs`.
pub(super) fn time(cycles: u64, clock_mhz: u32) -> String {
    let ns = cycles as f64 * 1e3 / f64::from(clock_mhz.max(1));
    scaled(ns, &[(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")])
}

/// A large or small number of some unit: `197 TFLOP/s`, `65.5 kFLOP`.
pub(super) fn large(value: f64, unit: &str) -> String {
    if value >= u64::MAX as f64 {
        return format!("{TOO_MANY} {unit}");
    }
    let text = scaled(value, &[(1.0, " "), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"), (1e15, "P"), (1e18, "E")]);
    match text.strip_suffix("  ") {
        Some(plain) => format!("{plain} {unit}"),
        None => format!("{text}{unit}"),
    }
}

/// The value in the largest unit of which there is one.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let mut best = units.first().copied().unwrap_or((1.0, ""));
    for &(scale, name) in units {
        // What rounds up to the next unit is shown as that.
        if value.abs() >= scale * 0.99995 {
            best = (scale, name);
        }
    }
    format!("{} {}", digits(value / best.0), best.1)
}

/// At most four digits that mean something, none of them a trailing zero after the point.
pub(super) fn digits(value: f64) -> String {
    if !value.is_finite() {
        return "∞".to_string();
    }
    let places = match value.abs() {
        a if (1000.0..1e15).contains(&a) => return count(value.round() as i64),
        a if a == 0.0 || a >= 1e15 => 0,
        a if a >= 100.0 => 1,
        a if a >= 10.0 => 2,
        a if a >= 1.0 => 3,
        a if a >= 0.1 => 3,
        a if a >= 0.001 => 4,
        _ => return format!("{value:.1e}"),
    };
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// A share: `83%`, `0.4%`, `< 0.1%`.
pub(super) fn share(part: u64, whole: u64) -> String {
    let percent = fraction(part, whole) * 100.0;
    match percent {
        _ if part == 0 || whole == 0 => "0%".to_string(),
        p if p < 0.1 => "< 0.1%".to_string(),
        p if p < 9.95 => format!("{p:.1}%"),
        p if p > 99.0 && part < whole => "> 99%".to_string(),
        p => format!("{p:.0}%"),
    }
}

/// A part of a whole, nothing of nothing.
pub(super) fn fraction(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A coordinate of a picture: a tenth is as fine as an eye sees.
pub(super) fn px(value: f64) -> String {
    let text = format!("{:.1}", if value.is_finite() { value } else { 0.0 });
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_string() } else { text.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_separators() {
        let all = [0i64, 7, 123, 1234, 123_456, 1_234_567, -1234];
        assert_eq!(all.map(count), ["0", "7", "123", "1,234", "123,456", "1,234,567", "−1,234"]);
        assert_eq!(count(u64::MAX - 1), "18,446,744,073,709,551,614");
        assert_eq!(count(u64::MAX), TOO_MANY);
        assert_eq!([0, 1, 2].map(|n| counted(n, "step")), ["0 steps", "1 step", "2 steps"]);
    }

    #[test]
    fn units_fit_the_number() {
        let all = [0, 96, 1023, 1024, 1536, 65_536, 1 << 27, (1 << 20) - 1, u64::MAX];
        assert_eq!(
            all.map(bytes),
            ["0 B", "96 B", "1,023 B", "1 KiB", "1.5 KiB", "64 KiB", "128 MiB", "1 MiB", "more than 2^64 bytes"]
        );
        assert_eq!([0, 1, 1500, 1_221_904].map(|n| time(n, 1500)), ["0 ns", "0.667 ns", "1 µs", "814.6 µs"]);
        assert_eq!(time(3_000_000_000, 1500), "2 s");
        assert_eq!(time(1, 0), "1 µs");
        assert_eq!(
            [0.5, 12.0, 131_072.0, 1.97e14].map(|n| large(n, "FLOP/s")),
            ["0.5 FLOP/s", "12 FLOP/s", "131.1 kFLOP/s", "197 TFLOP/s"]
        );
    }

    #[test]
    fn shares_are_neither_nothing_nor_all_by_rounding() {
        let all = [(0, 5), (1, 100_000), (1, 200), (83, 100), (999, 1000), (5, 5), (3, 0)];
        assert_eq!(all.map(|(part, whole)| share(part, whole)), ["0%", "< 0.1%", "0.5%", "83%", "> 99%", "100%", "0%"]);
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!([0.0, -0.01, 12.34, 7.0, f64::NAN].map(px), ["0", "0", "12.3", "7", "0"]);
    }
}
