//! Arrays in directives: `[[1, 2], [3, 4]]`.

use tpu_kernel::ir::{DType, Literal};

/// A dense array.
pub(super) struct Array {
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: Vec<u8>,
}

impl Array {
    pub(super) fn zeros(dtype: DType, shape: &[usize]) -> Array {
        let elements: usize = shape.iter().product();
        Array { dtype, shape: shape.to_vec(), bytes: vec![0; elements * dtype.bytes()] }
    }

    /// Reads nested lists of literals; all lists of one level have one length.
    pub(super) fn parse(dtype: DType, text: &str) -> Result<Array, String> {
        let mut array = Array { dtype, shape: vec![], bytes: vec![] };
        let rest = array.list(text.trim(), 0)?;
        if rest.is_empty() { Ok(array) } else { Err(format!("`{rest}` follows the array")) }
    }

    fn list<'a>(&mut self, text: &'a str, level: usize) -> Result<&'a str, String> {
        let Some(mut rest) = text.strip_prefix('[') else {
            let end = text.find([',', ']']).unwrap_or(text.len());
            let literal = Literal::parse(self.dtype, text[..end].trim());
            let literal = literal.ok_or_else(|| format!("`{}` is not a literal of {}", &text[..end], self.dtype))?;
            let bits = literal.bits();
            self.bytes.extend(match self.dtype.bytes() {
                1 => (bits as u8).to_ne_bytes().to_vec(),
                2 => (bits as u16).to_ne_bytes().to_vec(),
                _ => bits.to_ne_bytes().to_vec(),
            });
            return Ok(&text[end..]);
        };
        let first = self.shape.len() == level;
        if first {
            self.shape.push(0);
        }
        let mut count = 0;
        rest = rest.trim_start();
        while !rest.starts_with(']') {
            rest = self.list(rest, level + 1)?.trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
            if rest.is_empty() {
                return Err("an array that does not end".into());
            }
            count += 1;
        }
        if first {
            self.shape[level] = count;
        }
        if self.shape[level] == count { Ok(&rest[1..]) } else { Err("lists of different lengths".into()) }
    }

    /// The text of the array; every NaN is `nan`.
    pub(super) fn text(&self) -> String {
        let literals: Vec<String> = self.bytes.chunks_exact(self.dtype.bytes()).map(|c| literal(self.dtype, c)).collect();
        nest(&literals, &self.shape)
    }
}

fn literal(dtype: DType, bytes: &[u8]) -> String {
    let bits = match *bytes {
        [a] => u32::from(a),
        [a, b] => u32::from(u16::from_ne_bytes([a, b])),
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]),
        _ => 0,
    };
    let literal = Literal::from_bits(dtype, bits);
    if literal.as_f32().is_some_and(f32::is_nan) { "nan".into() } else { literal.to_string() }
}

fn nest(literals: &[String], shape: &[usize]) -> String {
    match shape {
        [] => literals.concat(),
        [_] => format!("[{}]", literals.join(", ")),
        [0, ..] => "[]".into(),
        [n, inner @ ..] => {
            let rows: Vec<String> = literals.chunks((literals.len() / n).max(1)).map(|row| nest(row, inner)).collect();
            format!("[{}]", rows.join(", "))
        }
    }
}
