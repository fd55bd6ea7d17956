//! Index maps as a reader writes them: `i`, `i * 2 + 1`.

use std::collections::HashMap;
use tpu_kernel::ir::{BinaryOp, Kernel, OpKind, Region, Value};

/// The expression of each index that the map yields.
pub(super) fn expressions(kernel: &Kernel, map: &Region) -> Vec<String> {
    let mut known: HashMap<Value, Text> = HashMap::new();
    for (arg, dim) in map.args.iter().zip(&kernel.grid) {
        known.insert(*arg, Text::whole(dim.name.clone()));
    }
    for op in &map.ops {
        let operands: Vec<&Text> = op.operands.iter().filter_map(|value| known.get(value)).collect();
        let text = match (&op.kind, operands.as_slice()) {
            (OpKind::Const(literal), _) => Text::whole(literal.to_string()),
            (OpKind::Size(id), _) => Text::whole(kernel.sizes.get(id.0 as usize).cloned().unwrap_or_default()),
            (OpKind::Binary(op), [a, b]) if let Some((sign, strength)) = infix(*op) => {
                Text { text: format!("{} {sign} {}", a.inside(strength), b.inside(strength + 1)), strength }
            }
            (kind, operands) => {
                let list: Vec<&str> = operands.iter().map(|text| text.text.as_str()).collect();
                Text::whole(format!("{}({})", kind.mnemonic(), list.join(", ")))
            }
        };
        for result in &op.results {
            known.insert(*result, text.clone());
        }
    }
    map.yields.iter().map(|value| known.get(value).map_or_else(|| "?".to_string(), |text| text.text.clone())).collect()
}

/// An expression, and how strongly its outermost operator binds.
#[derive(Clone)]
struct Text {
    text: String,
    strength: u8,
}

impl Text {
    /// A name, a number or a call.
    fn whole(text: String) -> Text {
        Text { text, strength: u8::MAX }
    }

    /// As an operand of an operator of that strength.
    fn inside(&self, strength: u8) -> String {
        if self.strength < strength { format!("({})", self.text) } else { self.text.clone() }
    }
}

/// The sign of an operator, and how strongly it binds.
const fn infix(op: BinaryOp) -> Option<(&'static str, u8)> {
    match op {
        BinaryOp::Add => Some(("+", 1)),
        BinaryOp::Sub => Some(("-", 1)),
        BinaryOp::Mul => Some(("*", 2)),
        BinaryOp::Div => Some(("/", 2)),
        BinaryOp::Rem => Some(("%", 2)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tpu_kernel::prelude::*;

    #[tpu_kernel(grid(i: n / B, j: m))]
    fn moved<B: Dim>(
        #[block([n, m, m] at (i, squeeze (j + 1) % m, element j * 2 + i))] x: In<f32, (B, B)>,
        #[block([n] at (i - (j - i)))] o: Out<f32, (B,)>,
    ) {
        o.store(x.load().sum(Lanes).reshape::<(B,)>());
    }

    #[test]
    fn maps_read_as_they_are_written() {
        let mut kernel = moved().b(8).stage(&[DType::F32]).unwrap();
        tpu_kernel::passes::canonicalise(&mut kernel);
        let maps: Vec<Vec<String>> = kernel.params.iter().map(|p| expressions(&kernel, &p.window().unwrap().map)).collect();
        assert_eq!(maps, [vec!["i", "(j + 1) % m", "j * 2 + i"], vec!["i - (j - i)"]]);
    }
}
