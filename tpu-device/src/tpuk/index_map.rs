//! Index maps as a reader writes them: `i`, `i * 2 + 1`.

use std::collections::HashMap;
use tpu_kernel::ir::{BinaryOp, Kernel, OpKind, Region, Value};

/// The expression of each index that the map yields.
pub(super) fn expressions(kernel: &Kernel, map: &Region) -> Vec<String> {
    let mut known: HashMap<Value, Text> = HashMap::new();
    for (arg, dim) in map.args.iter().zip(&kernel.grid) {
        known.insert(*arg, Text { text: dim.name.clone(), infix: false });
    }
    for op in &map.ops {
        let operands: Vec<&Text> = op.operands.iter().filter_map(|value| known.get(value)).collect();
        let text = match (&op.kind, operands.as_slice()) {
            (OpKind::Const(literal), _) => Text { text: literal.to_string(), infix: false },
            (OpKind::Size(id), _) => Text { text: kernel.sizes.get(id.0 as usize).cloned().unwrap_or_default(), infix: false },
            (OpKind::Binary(op), [a, b]) if sign(*op).is_some() => {
                Text { text: format!("{} {} {}", a.inner(), sign(*op).unwrap_or_default(), b.inner()), infix: true }
            }
            (kind, operands) => {
                let list: Vec<&str> = operands.iter().map(|text| text.text.as_str()).collect();
                Text { text: format!("{}({})", kind.mnemonic(), list.join(", ")), infix: false }
            }
        };
        for result in &op.results {
            known.insert(*result, Text { text: text.text.clone(), infix: text.infix });
        }
    }
    map.yields.iter().map(|value| known.get(value).map_or_else(|| "?".to_string(), |text| text.text.clone())).collect()
}

/// An expression, and whether it is two operands beside an operator.
struct Text {
    text: String,
    infix: bool,
}

impl Text {
    fn inner(&self) -> String {
        if self.infix { format!("({})", self.text) } else { self.text.clone() }
    }
}

const fn sign(op: BinaryOp) -> Option<&'static str> {
    match op {
        BinaryOp::Add => Some("+"),
        BinaryOp::Sub => Some("-"),
        BinaryOp::Mul => Some("*"),
        BinaryOp::Div => Some("/"),
        BinaryOp::Rem => Some("%"),
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
        #[block([n] at (i))] o: Out<f32, (B,)>,
    ) {
        o.store(x.load().sum(Lanes).reshape::<(B,)>());
    }

    #[test]
    fn maps_read_as_they_are_written() {
        let mut kernel = moved().b(8).stage(&[DType::F32]).unwrap();
        tpu_kernel::passes::canonicalise(&mut kernel);
        let maps: Vec<Vec<String>> = kernel.params.iter().map(|p| expressions(&kernel, &p.window().unwrap().map)).collect();
        assert_eq!(maps, [vec!["i", "(j + 1) % m", "(j * 2) + i"], vec!["i"]]);
    }
}
