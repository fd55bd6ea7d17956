//! Random bits, the log, and checks.
//!
//! Rules: a chip's generator is its own, and gives other bits than the simulator's from the same seed.

use super::function::{Function, spelled};
use crate::ir::{Type, Value};

impl Function<'_> {
    pub(super) fn seed(&mut self, seeds: &[Value]) {
        let names: Vec<String> = seeds.iter().map(|&v| self.name(v)).collect();
        let types = vec!["i32"; seeds.len()].join(", ");
        self.effect(format!("\"tpu.prng_set_seed_32\"({}) : ({types}) -> ()", names.join(", ")));
    }

    pub(super) fn random_bits(&mut self, ty: Type) -> String {
        self.emit(format!("\"tpu.prng_random_bits\"() : () -> {}", spelled(ty)))
    }

    pub(super) fn print(&mut self, text: &str, operands: &[Value]) {
        let names: Vec<String> = operands.iter().map(|&v| self.name(v)).collect();
        let types: Vec<String> = operands.iter().map(|&v| spelled(self.ty(v))).collect();
        let formatted = if operands.is_empty() { "" } else { ", formatted = true" };
        self.effect(format!(
            "\"tpu.log\"({}) <{{tag = {}{formatted}}}> : ({}) -> ()",
            names.join(", "),
            quoted(text),
            types.join(", ")
        ));
    }

    pub(super) fn check(&mut self, condition: Value, message: &str) {
        let condition = self.name(condition);
        self.effect(format!("cf.assert {condition}, {}", quoted(message)));
    }
}

/// A string of MLIR: what is not printable ASCII, quotes and backslashes go as hexadecimal bytes.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.push_str(&format!("\\{byte:02X}")),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\{byte:02X}")),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    #[test]
    fn strings_are_escaped() {
        assert_eq!(super::quoted("a \"b\" \\ ü\n"), r#""a \22b\22 \5C \C3\BC\0A""#);
    }
}
