//! Arrays in directives: `[[1, 2], [3, 4]]`.

use crate::executors::Array;
use tpu_kernel::ir::{DType, Literal};

/// Reads nested lists of literals; all lists of one level have one length.
pub(super) fn parse(dtype: DType, text: &str) -> Result<Array, String> {
    let mut reader = Reader { dtype, shape: vec![], elements: vec![] };
    let rest = reader.list(text.trim(), 0)?;
    if !rest.is_empty() {
        return Err(format!("`{rest}` follows the array"));
    }
    match reader.shape.iter().product::<usize>() == reader.elements.len() {
        true => Ok(Array::new(dtype, &reader.shape, reader.elements)),
        false => Err("lists of different depths".into()),
    }
}

struct Reader {
    dtype: DType,
    shape: Vec<usize>,
    elements: Vec<Literal>,
}

impl Reader {
    fn list<'a>(&mut self, text: &'a str, level: usize) -> Result<&'a str, String> {
        let Some(mut rest) = text.strip_prefix('[') else {
            let end = text.find([',', ']']).unwrap_or(text.len());
            let literal = Literal::parse(self.dtype, text[..end].trim());
            self.elements.push(literal.ok_or_else(|| format!("`{}` is not a literal of {}", &text[..end], self.dtype))?);
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
}

/// The text of an array; every NaN is `nan`.
pub(super) fn text(array: &Array) -> String {
    let nan = |x: &Literal| x.as_f32().is_some_and(f32::is_nan);
    let literals: Vec<String> = array.elements().map(|x| if nan(&x) { "nan".into() } else { x.to_string() }).collect();
    nest(&literals, &array.shape)
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
