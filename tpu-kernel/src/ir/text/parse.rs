//! Reads a kernel: its head, grid and operands. `operation.rs` reads the operations.
//!
//! Names of values are unique in the whole text, except that the arguments of an index map are
//! names in that map only. A name may be used above its definition, or in a region where it is not
//! defined (the verifier refuses that); a name that is defined nowhere is an error here.

use super::lex;
use super::lex::{Lexer, MAX_NAME, Position, Token};
use crate::ir::{
    BlockDim, Bound, DType, GridDim, Kernel, Loc, MAX_DEPTH, Param, ParamKind, Pipelining, Region, Revisit, Semantics, Shape,
    SizeExpr, SizeId, Type, Value, Window,
};
use std::borrow::Cow;
use std::collections::HashMap;

/// Text that is not a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ParseError {
    /// The line, from 1.
    pub line: u32,
    /// The column, in characters from 1.
    pub column: u32,
    /// What is wrong there.
    pub message: String,
}

/// Reads a kernel from its text. It is not verified. Places that the text does not give are unknown.
pub fn parse(text: &str) -> Result<Kernel, ParseError> {
    Parser::new(text, None).kernel()
}

/// Reads a kernel from its text; where an operation gives no place in a source, its place is the one in
/// the text itself, in `file`.
pub fn parse_named(text: &str, file: &str) -> Result<Kernel, ParseError> {
    Parser::new(text, Some(file)).kernel()
}

pub(super) type Result<T, E = ParseError> = std::result::Result<T, E>;

/// A value that has been seen.
struct Seen {
    ty: Option<Type>,
    at: Position,
}

pub(super) struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The next token, and where it starts.
    pub(super) token: Token<'a>,
    pub(super) at: Position,
    /// The lexer's complaint about the next token, reported when that token is needed.
    broken: Option<String>,
    /// The name of the text, where its places fill in for missing ones.
    text_file: Option<&'a str>,
    /// The file of places that give only line and column.
    kernel_file: Cow<'static, str>,
    pub(super) size_ids: HashMap<String, SizeId>,
    names: HashMap<String, Value>,
    /// Names of the arguments of the index map that is being read.
    map_names: HashMap<String, Value>,
    values: Vec<Seen>,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, text_file: Option<&'a str>) -> Parser<'a> {
        let mut parser = Parser {
            lexer: Lexer::new(text),
            token: Token::End,
            at: (1, 1),
            broken: None,
            text_file,
            kernel_file: Cow::Borrowed(""),
            size_ids: HashMap::new(),
            names: HashMap::new(),
            map_names: HashMap::new(),
            values: vec![],
            depth: 0,
        };
        parser.advance();
        parser
    }

    /// Takes the next token.
    pub(super) fn advance(&mut self) -> Token<'a> {
        let (token, at) = match self.lexer.next() {
            Ok(next) => next,
            Err((at, message)) => {
                self.broken = Some(message);
                (Token::End, at)
            }
        };
        self.at = at;
        std::mem::replace(&mut self.token, token)
    }

    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(match &self.broken {
            Some(broken) => error(self.at, broken.clone()),
            None => error(self.at, message.into()),
        })
    }

    pub(super) fn unexpected<T>(&self, want: &str) -> Result<T> {
        self.fail(format!("expected {want}, found {}", describe(&self.token)))
    }

    pub(super) fn is(&self, punct: &str) -> bool {
        matches!(self.token, Token::Punct(p) if p == punct)
    }

    pub(super) fn eat(&mut self, punct: &str) -> bool {
        let found = self.is(punct);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect(&mut self, punct: &str) -> Result<()> {
        if self.eat(punct) { Ok(()) } else { self.unexpected(&format!("`{punct}`")) }
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.token, Token::Word(w) if w == word)
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) { Ok(()) } else { self.unexpected(&format!("`{word}`")) }
    }

    pub(super) fn word(&mut self, want: &str) -> Result<&'a str> {
        match self.token {
            Token::Word(word) => {
                self.advance();
                Ok(word)
            }
            _ => self.unexpected(want),
        }
    }

    /// A quoted string of any length.
    pub(super) fn text(&mut self, want: &str) -> Result<String> {
        match self.token {
            Token::Text(_) => match self.advance() {
                Token::Text(text) => Ok(text),
                _ => self.unexpected(want),
            },
            _ => self.unexpected(&format!("{want} in quotes")),
        }
    }

    /// Refuses a quoted name that is too long.
    fn short(&self) -> Result<()> {
        match &self.token {
            Token::Text(text) if text.len() > MAX_NAME => self.fail(format!("longer than {MAX_NAME} bytes")),
            _ => Ok(()),
        }
    }

    /// A name: a word, or a quoted string.
    pub(super) fn name(&mut self) -> Result<String> {
        self.short()?;
        match self.token {
            Token::Word(_) | Token::Text(_) => match self.advance() {
                Token::Word(word) => Ok(word.to_string()),
                Token::Text(text) => Ok(text),
                _ => self.unexpected("a name"),
            },
            _ => self.unexpected("a name"),
        }
    }

    /// A number without a sign.
    pub(super) fn number<N: std::str::FromStr>(&mut self, want: &str) -> Result<N> {
        let Token::Number(digits) = self.token else {
            return self.unexpected(want);
        };
        let Some(number) = digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok()).flatten() else {
            return self.fail(format!("`{digits}` is not {want}"));
        };
        self.advance();
        Ok(number)
    }

    /// `item, item, …` up to `close`, which is taken.
    pub(super) fn list<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![];
        while !self.eat(close) {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Runs `inner` one level deeper, up to the limit. That is two levels above the verifier's, for the
    /// body around all regions, and for the operands below all operators of a size expression.
    pub(super) fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH + 2 {
            return self.fail(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// The value of that name, made on first sight.
    fn named(&mut self, name: Cow<'_, str>, at: Position) -> Result<Value> {
        if let Some(&value) = self.map_names.get(name.as_ref()).or_else(|| self.names.get(name.as_ref())) {
            return Ok(value);
        }
        let value = self.new_value(at)?;
        self.names.insert(name.into_owned(), value);
        Ok(value)
    }

    fn new_value(&mut self, at: Position) -> Result<Value> {
        let Ok(number) = u32::try_from(self.values.len()) else {
            return self.fail("more than 2^32 values");
        };
        self.values.push(Seen { ty: None, at });
        Ok(Value(number))
    }

    /// `%name`.
    pub(super) fn value(&mut self) -> Result<Value> {
        let at = self.at;
        match self.token {
            Token::Value(_) => match self.advance() {
                Token::Value(name) => self.named(name, at),
                _ => self.unexpected("a value"),
            },
            _ => self.unexpected("a value"),
        }
    }

    /// `%a, %b, …`, or nothing.
    pub(super) fn values(&mut self) -> Result<Vec<Value>> {
        let mut values = vec![];
        if matches!(self.token, Token::Value(_)) {
            values.push(self.value()?);
            while self.eat(",") {
                values.push(self.value()?);
            }
        }
        Ok(values)
    }

    /// Gives a value its type; the first definition decides.
    pub(super) fn define(&mut self, value: Value, ty: Type) {
        self.values[value.0 as usize].ty.get_or_insert(ty);
    }

    /// `: type, …`, or nothing.
    pub(super) fn types(&mut self) -> Result<Vec<Type>> {
        let mut types = vec![];
        if self.eat(":") {
            types.push(self.ty()?);
            while self.eat(",") {
                types.push(self.ty()?);
            }
        }
        Ok(types)
    }

    /// `[8, 128]`.
    pub(super) fn shape(&mut self) -> Result<Shape> {
        let at = self.at;
        self.expect("[")?;
        let dims = self.list("]", |p| p.number::<usize>("a dimension"))?;
        Shape::try_new(&dims).ok_or_else(|| error(at, "a shape has rank 0 to 4 and dimensions below 2^31".into()))
    }

    /// `loc("file":1:2)`, `loc(1:2)`, or nothing; `start` is where the thing itself stands in the text.
    pub(super) fn loc(&mut self, start: Position) -> Result<Loc> {
        if !self.eat_word("loc") {
            return Ok(match self.text_file {
                Some(file) => Loc { file: Cow::Owned(file.to_string()), line: start.0, column: start.1 },
                None => Loc::UNKNOWN,
            });
        }
        self.expect("(")?;
        self.short()?;
        let file = match self.token {
            Token::Text(_) => {
                let text = self.text("a file")?;
                self.expect(":")?;
                Cow::Owned(text)
            }
            _ => self.kernel_file.clone(),
        };
        let line = self.number("a line")?;
        self.expect(":")?;
        let column = self.number("a column")?;
        self.expect(")")?;
        Ok(Loc { file, line, column })
    }

    fn kernel(mut self) -> Result<Kernel> {
        let start = self.at;
        self.expect_word("kernel")?;
        self.expect("@")?;
        let name = self.name()?;
        self.expect("(")?;
        let mut bounds = vec![];
        let sizes = self.list(")", |p| {
            let name = p.name()?;
            if p.eat("=") {
                let low = p.number("the least size")?;
                p.expect_word("to")?;
                bounds.push((name.clone(), low, p.number("the greatest size")?));
            }
            Ok(name)
        })?;
        for (i, size) in sizes.iter().enumerate() {
            let id = u32::try_from(i).map(SizeId).or_else(|_| self.fail("more than 2^32 sizes"))?;
            self.size_ids.entry(size.clone()).or_insert(id);
        }
        let side_effects = self.eat_word("side_effects");
        if let Some(file) = self.text_file {
            self.kernel_file = Cow::Owned(file.to_string());
        }
        let loc = self.loc(start)?;
        self.kernel_file = loc.file.clone();
        self.expect("{")?;
        let mut kernel = Kernel {
            name,
            sizes,
            grid: vec![],
            params: vec![],
            body: Region::default(),
            types: vec![],
            side_effects,
            bounds: vec![],
            loc,
        };
        for (name, low, high) in bounds {
            kernel.bounds.push(Bound { size: self.size_ids[&name], low, high });
        }
        while self.is_word("grid") {
            kernel.grid.push(self.grid_dim()?);
        }
        let mut args = vec![];
        while !self.is_word("body") {
            let (param, value) = self.param()?;
            kernel.params.push(param);
            args.push(value);
        }
        self.expect_word("body")?;
        kernel.body = self.region(args)?;
        self.expect("}")?;
        if self.token != Token::End || self.broken.is_some() {
            return self.unexpected("the end of the text");
        }
        for seen in &self.values {
            match seen.ty {
                Some(ty) => kernel.types.push(ty),
                None => return Err(error(seen.at, "this value is defined nowhere".into())),
            }
        }
        kernel.renumber();
        Ok(kernel)
    }

    fn grid_dim(&mut self) -> Result<GridDim> {
        let start = self.at;
        self.expect_word("grid")?;
        let name = self.name()?;
        self.expect("=")?;
        let extent = self.size_expr()?;
        let semantics = Semantics::ALL.into_iter().find(|s| self.is_word(s.name()));
        let Some(semantics) = semantics else {
            return self.unexpected("`core_parallel`, `parallel` or `arbitrary`");
        };
        self.advance();
        Ok(GridDim { name, extent, semantics, loc: self.loc(start)? })
    }

    fn param(&mut self) -> Result<(Param, Value)> {
        let start = self.at;
        let Token::Word(role @ ("in" | "out" | "prefetch" | "scratch" | "scalar")) = self.token else {
            return self.unexpected("`in`, `out`, `prefetch`, `scratch`, `scalar` or `body`");
        };
        self.advance();
        let own_name = match &self.token {
            Token::Value(name) => name.to_string(),
            _ => return self.unexpected("a value"),
        };
        let value = self.value()?;
        let name = if self.eat_word("as") { self.name()? } else { own_name };
        self.expect(":")?;
        let ty = self.ty()?;
        let mut alias = None;
        let kind = match role {
            "in" | "out" => {
                let array = self.array()?;
                if self.eat_word("alias") {
                    alias = Some(self.name()?);
                }
                match (role, self.is_word("blocks")) {
                    ("in", true) => ParamKind::In(self.window(array)?),
                    ("in", false) => ParamKind::InArray(array),
                    (_, true) => ParamKind::Out(self.window(array)?),
                    (_, false) => ParamKind::OutArray(array),
                }
            }
            "prefetch" => ParamKind::Prefetch(self.array()?),
            "scratch" => ParamKind::Scratch,
            _ => ParamKind::Scalar,
        };
        self.define(value, ty);
        Ok((Param { name, ty, kind, alias, loc: self.loc(start)? }, value))
    }

    /// `8`, `squeezed`, `element 8 pad (1, 2)`.
    fn block(&mut self) -> Result<BlockDim> {
        if self.eat_word("squeezed") {
            return Ok(BlockDim::Squeezed);
        }
        if !self.eat_word("element") {
            return self.number("a block size, `squeezed` or `element`").map(BlockDim::Blocked);
        }
        let size = self.number("a block size")?;
        let (mut low, mut high) = (0, 0);
        if self.eat_word("pad") {
            self.expect("(")?;
            low = self.number("elements before the array")?;
            self.expect(",")?;
            high = self.number("elements after the array")?;
            self.expect(")")?;
        }
        Ok(BlockDim::Element { size, low, high })
    }

    /// `buffers 3 lookahead revisit any`, or nothing.
    fn pipelining(&mut self) -> Result<Pipelining> {
        let buffers = if self.eat_word("buffers") { Some(self.number("how many buffers")?) } else { None };
        let lookahead = self.eat_word("lookahead");
        let mut revisit = Revisit::Immediate;
        if self.eat_word("revisit") {
            self.expect_word("any")?;
            revisit = Revisit::Any;
        }
        Ok(Pipelining { buffers, lookahead, revisit })
    }

    /// `= [m, 2 * n]`.
    fn array(&mut self) -> Result<Vec<SizeExpr>> {
        self.expect("=")?;
        self.expect("[")?;
        self.list("]", |p| p.size_expr())
    }

    fn window(&mut self, array: Vec<SizeExpr>) -> Result<Window> {
        self.expect_word("blocks")?;
        self.expect("[")?;
        let block = self.list("]", |p| p.block())?;
        let pipelining = self.pipelining()?;
        self.expect_word("at")?;
        self.expect("(")?;
        let args = self.list(")", |p| {
            let (name, at) = match (&p.token, p.at) {
                (Token::Value(name), at) => (name.to_string(), at),
                _ => return p.unexpected("the name of a grid index"),
            };
            p.advance();
            let value = match p.map_names.get(&name) {
                Some(&value) => value,
                None => p.new_value(at)?,
            };
            p.map_names.insert(name, value);
            let ty = if p.eat(":") { p.ty()? } else { Type::Scalar(DType::I32) };
            p.define(value, ty);
            Ok(value)
        })?;
        let map = if self.eat("->") {
            self.expect("(")?;
            let yields = self.list(")", |p| p.value())?;
            Region { args, ops: vec![], yields }
        } else {
            self.region(args)?
        };
        self.map_names.clear();
        Ok(Window { array, block, map, pipelining })
    }
}

pub(super) fn error(at: Position, message: String) -> ParseError {
    ParseError { line: at.0, column: at.1, message }
}

fn describe(token: &Token<'_>) -> String {
    match token {
        Token::Word(text) | Token::Number(text) => format!("`{text}`"),
        Token::Text(text) => lex::quote(text),
        Token::Value(name) => format!("`%{name}`"),
        Token::Punct(text) => format!("`{text}`"),
        Token::End => "the end of the text".into(),
    }
}
