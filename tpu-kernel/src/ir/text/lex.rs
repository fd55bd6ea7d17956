//! Splits text into tokens, lazily, each with its place.

use std::borrow::Cow;

/// A place in the text: line and column, in characters, from 1.
pub(super) type Position = (u32, u32);

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// Letters, digits and `_`, not starting with a digit.
    Word(&'a str),
    /// Whatever starts with a digit: `12`, `1.5e-7`, `0x7fc1`, `8x128xf32`.
    Number(&'a str),
    /// A quoted string, without quotes and escapes.
    Text(String),
    /// The name of a value, without the `%`.
    Value(Cow<'a, str>),
    /// A sign of punctuation.
    Punct(&'static str),
    /// The end of the text.
    End,
}

/// What is wrong, and where.
pub(super) type LexError = (Position, String);

/// Names and numbers are not longer, so that a kernel that repeats one is not much larger than its text.
pub(super) const MAX_NAME: usize = 1024;

const PUNCTUATION: [&str; 17] = ["->", "(", ")", "{", "}", "[", "]", "<", ">", ",", ":", "=", "+", "-", "*", "@", "?"];

pub(super) struct Lexer<'a> {
    rest: &'a str,
    at: Position,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Lexer<'a> {
        Lexer { rest: text, at: (1, 1) }
    }

    /// The next token and where it starts.
    pub(super) fn next(&mut self) -> Result<(Token<'a>, Position), LexError> {
        self.skip_space();
        let start = self.at;
        let Some(first) = self.rest.chars().next() else {
            return Ok((Token::End, start));
        };
        let token = match first {
            'a'..='z' | 'A'..='Z' | '_' => Token::Word(self.word()),
            '0'..='9' => Token::Number(self.number()),
            '"' => Token::Text(self.string(start)?),
            '%' => {
                self.take(1);
                let quoted = self.rest.starts_with('"');
                let name = if quoted { Cow::Owned(self.string(start)?) } else { Cow::Borrowed(self.word()) };
                if name.is_empty() && !quoted {
                    return Err((start, "expected the name of a value after `%`".into()));
                }
                Token::Value(name)
            }
            other => match PUNCTUATION.into_iter().find(|p| self.rest.starts_with(p)) {
                Some(p) => {
                    self.take(p.len());
                    Token::Punct(p)
                }
                None => return Err((start, format!("unexpected character {other:?}"))),
            },
        };
        match &token {
            Token::Word(s) | Token::Number(s) if s.len() > MAX_NAME => Err((start, format!("longer than {MAX_NAME} bytes"))),
            _ => Ok((token, start)),
        }
    }

    /// Takes that many bytes, all of them ASCII and on one line.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        self.at.1 = self.at.1.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
        taken
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        self.at = if c == '\n' { (self.at.0.saturating_add(1), 1) } else { (self.at.0, self.at.1.saturating_add(1)) };
        Some(c)
    }

    /// Skips white space and comments, which run from `;` to the end of the line.
    fn skip_space(&mut self) {
        while let Some(c) = self.rest.chars().next() {
            match c {
                ';' => while self.bump().is_some_and(|c| c != '\n') {},
                c if c.is_whitespace() => _ = self.bump(),
                _ => break,
            }
        }
    }

    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        self.take(end)
    }

    fn number(&mut self) -> &'a str {
        let bytes = self.rest.as_bytes();
        let mut end = 0;
        let mut decimal = true;
        while let Some(&c) = bytes.get(end) {
            let exponent = decimal && (c == b'e' || c == b'E');
            match c {
                b'0'..=b'9' | b'.' => end += 1,
                _ if exponent && matches!(bytes.get(end + 1), Some(b'+' | b'-')) => end += 2,
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => end += 1,
                _ => break,
            }
            decimal &= matches!(c, b'0'..=b'9' | b'.');
        }
        self.take(end)
    }

    fn string(&mut self, start: Position) -> Result<String, LexError> {
        self.bump();
        let mut text = String::new();
        loop {
            let at = self.at;
            let c = match self.bump() {
                None | Some('\n') => return Err((start, "this string does not end on its line".into())),
                Some('"') => return Ok(text),
                Some('\\') => {
                    self.escape().ok_or_else(|| (at, "unknown escape; known are \\\\ \\\" \\n \\r \\t \\u{hex}".to_string()))?
                }
                Some(c) => c,
            };
            text.push(c);
        }
    }

    fn escape(&mut self) -> Option<char> {
        match self.bump()? {
            c @ ('\\' | '"') => Some(c),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'u' => {
                (self.bump()? == '{').then_some(())?;
                let mut code = 0u32;
                let mut digits = 0;
                loop {
                    match self.bump()? {
                        '}' if digits > 0 => return char::from_u32(code),
                        c if digits < 6 => code = code * 16 + c.to_digit(16)?,
                        _ => return None,
                    }
                    digits += 1;
                }
            }
            _ => None,
        }
    }
}

/// `text` in quotes, with escapes.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '\\' | '"' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.extend(c.escape_unicode()),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
