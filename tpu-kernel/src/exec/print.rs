//! What `debug_print` writes: the same text from every executor.

use crate::ir::{Literal, Loc, Shape};
use std::io::Write;

/// One message of a running kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Printed {
    /// The grid step.
    pub step: Vec<i32>,
    /// The text, with the values in it.
    pub text: String,
    /// The user's line.
    pub loc: Loc,
}

/// Takes the messages of a launch, in the order of the grid.
pub type Log<'b> = &'b mut dyn FnMut(&Printed);

/// A value to be shown in a message.
#[derive(Clone, Debug)]
pub enum Shown {
    /// One element.
    Scalar(Literal),
    /// A tile: its shape, and its elements in row-major order.
    Tile(Shape, Vec<Literal>),
}

/// Writes messages to standard error, as `step [1, 0]: text`.
pub fn to_stderr(message: &Printed) {
    // Nothing can be done where standard error is closed.
    let _ = writeln!(std::io::stderr(), "step {:?}: {}", message.step, message.text);
}

/// The text with each `{}` replaced by the value of that position.
pub fn format(template: &str, values: &[Shown]) -> String {
    let mut text = String::new();
    for (at, part) in template.split("{}").enumerate() {
        if at > 0
            && let Some(value) = values.get(at - 1)
        {
            show(value, &mut text);
        }
        text.push_str(part);
    }
    text
}

fn show(value: &Shown, text: &mut String) {
    match value {
        Shown::Scalar(literal) => element(*literal, text),
        Shown::Tile(shape, elements) => rows(shape.dims(), elements, text),
    }
}

/// Every NaN is `nan`: its payload is not promised.
fn element(literal: Literal, text: &mut String) {
    match literal.as_f32() {
        Some(v) if v.is_nan() => text.push_str("nan"),
        _ => text.push_str(&literal.to_string()),
    }
}

/// At most so many entries a dimension are shown in full.
const FULL: usize = 16;
/// Of more, so many from each end.
const ENDS: usize = 3;

/// Nested lists, `[[1, 2], [3, 4]]`; of long dimensions the ends.
fn rows(dims: &[usize], elements: &[Literal], text: &mut String) {
    let Some((&size, inner)) = dims.split_first() else {
        if let Some(literal) = elements.first() {
            element(*literal, text);
        }
        return;
    };
    let stride: usize = inner.iter().product();
    text.push('[');
    for at in 0..size {
        if size > FULL && at == ENDS {
            text.push_str(", …");
        }
        if size > FULL && (ENDS..size - ENDS).contains(&at) {
            continue;
        }
        if at > 0 {
            text.push_str(", ");
        }
        rows(inner, elements.get(at * stride..(at + 1) * stride).unwrap_or_default(), text);
    }
    text.push(']');
}
