//! Reads types.

use super::lex::Token;
use super::parse::{Parser, Result, error};
use crate::ir::{DType, MAX_RANK, SemaphoreKind, Shape, Space, Type};

impl Parser<'_> {
    /// `f32`, `tile<8x128xf32>`, `vmem<8x128xf32>`.
    pub(super) fn ty(&mut self) -> Result<Type> {
        let at = self.at;
        let word = self.word("a type")?;
        if let Some(dtype) = DType::from_name(word) {
            return Ok(Type::Scalar(dtype));
        }
        let form = match (word, Space::from_name(word)) {
            ("tile", _) => Form::Tile,
            ("semaphore", _) => Form::Semaphore,
            (_, Some(space)) => Form::Memory(space),
            _ => return Err(error(at, format!("`{word}` is not a type"))),
        };
        self.expect("<")?;
        let (at, mut unknown) = (self.at, 0);
        // `?x?xf32` is `?`, `x`, `?`, `xf32`.
        while self.eat("?") {
            unknown += 1;
            if !self.eat_word("x") {
                break;
            }
        }
        let (Token::Number(text) | Token::Word(text)) = self.token else {
            return self.unexpected("a shape and an element type, as in `8x128xf32`");
        };
        let Some(ty) = form.of(text, unknown) else {
            let message = match form {
                Form::Semaphore => format!("`{text}` is not `dma` or `regular`, or so many of them, as in `2xdma`"),
                Form::Tile | Form::Memory(_) => {
                    format!("`{text}` is not a shape of rank 0 to 4 and an element type, as in `8x128xf32`")
                }
            };
            return Err(error(at, message));
        };
        self.advance();
        self.expect(">")?;
        Ok(ty)
    }
}

/// What is written before the brackets of a type.
#[derive(Clone, Copy)]
enum Form {
    Tile,
    Memory(Space),
    Semaphore,
}

impl Form {
    /// The type with `8x128xf32` in its brackets, after so many `?`.
    fn of(self, text: &str, unknown: usize) -> Option<Type> {
        match self {
            Form::Semaphore if unknown == 0 => {
                let (dims, kind) = text.rsplit_once('x').unwrap_or(("", text));
                Some(Type::Semaphore(SemaphoreKind::from_name(kind)?, Shape::try_new(&dims_of(dims)?)?))
            }
            Form::Semaphore => None,
            Form::Memory(space) if unknown > 0 => {
                let dtype = DType::from_name(text.strip_prefix('x')?)?;
                (unknown <= MAX_RANK).then_some(Type::Array(space, dtype, unknown))
            }
            Form::Tile if unknown > 0 => None,
            Form::Tile => shape_and_dtype(text).map(|(dtype, shape)| Type::Tile(dtype, shape)),
            Form::Memory(space) => shape_and_dtype(text).map(|(dtype, shape)| Type::Ref(space, dtype, shape)),
        }
    }
}

/// `8x128xf32`, or `xf32` at rank 0.
fn shape_and_dtype(text: &str) -> Option<(DType, Shape)> {
    let (dims, dtype) = text.rsplit_once('x')?;
    Some((DType::from_name(dtype)?, Shape::try_new(&dims_of(dims)?)?))
}

/// `8x128`, or nothing.
fn dims_of(text: &str) -> Option<Vec<usize>> {
    let dim = |d: &str| d.bytes().all(|b| b.is_ascii_digit()).then(|| d.parse().ok()).flatten();
    if text.is_empty() { Some(vec![]) } else { text.split('x').map(dim).collect() }
}
