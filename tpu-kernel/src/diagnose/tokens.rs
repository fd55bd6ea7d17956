//! Rust source as tokens, enough to find brackets and operators: comments are skipped, strings are one token.

/// A token of the source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'s> {
    pub(super) kind: Kind,
    pub(super) text: &'s str,
    /// The byte after it.
    pub(super) end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// A name or keyword.
    Word,
    /// A number, string, character or lifetime.
    Literal,
    Open,
    Close,
    Punctuation,
}

/// The signs of more than one character, longer ones first.
const SIGNS: [&str; 24] = [
    "<<=", ">>=", "..=", "...", "::", "->", "=>", "==", "!=", "<=", ">=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
    "^=", "<<", ">>", "..",
];

/// The tokens from a place on.
#[derive(Clone)]
pub(super) struct Tokens<'s> {
    source: &'s str,
    at: usize,
}

impl<'s> Tokens<'s> {
    pub(super) fn new(source: &'s str, at: usize) -> Tokens<'s> {
        Tokens { source, at }
    }

    /// The next token, which stays.
    pub(super) fn peek(&self) -> Option<Token<'s>> {
        self.clone().next()
    }

    pub(super) fn next(&mut self) -> Option<Token<'s>> {
        self.at += blank(&self.source[self.at..])?;
        let rest = &self.source[self.at..];
        let first = rest.chars().next()?;
        let (kind, length) = match first {
            '(' | '[' | '{' => (Kind::Open, 1),
            ')' | ']' | '}' => (Kind::Close, 1),
            '"' => (Kind::Literal, string(rest)?),
            '\'' => (Kind::Literal, quote(rest)?),
            c if c.is_ascii_digit() => (Kind::Literal, number(rest)),
            c if is_word(c) => match raw_string(rest) {
                Some(length) => (Kind::Literal, length),
                None => (Kind::Word, word(rest)),
            },
            c => (Kind::Punctuation, SIGNS.iter().find(|s| rest.starts_with(**s)).map_or(c.len_utf8(), |s| s.len())),
        };
        self.at += length;
        Some(Token { kind, text: &rest[..length], end: self.at })
    }

    /// Goes past the bracket that closes the one just read; returns its end.
    pub(super) fn close(&mut self) -> Option<usize> {
        let mut depth = 1usize;
        loop {
            let token = self.next()?;
            match token.kind {
                Kind::Open => depth += 1,
                Kind::Close => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(token.end);
            }
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word(rest: &str) -> usize {
    rest.find(|c| !is_word(c)).unwrap_or(rest.len())
}

/// Bytes of white space and comments.
fn blank(rest: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let here = &rest[at..];
        let space = here.len() - here.trim_start().len();
        if space > 0 {
            at += space;
        } else if here.starts_with("//") {
            at += here.find('\n').unwrap_or(here.len());
        } else if here.starts_with("/*") {
            at += comment(here)?;
        } else {
            return Some(at);
        }
    }
}

/// Bytes of a block comment, which may hold others.
fn comment(rest: &str) -> Option<usize> {
    let (mut depth, mut at) = (0usize, 0);
    loop {
        let here = &rest[at..];
        if here.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += here.chars().next()?.len_utf8();
        }
    }
}

/// Bytes of `"…"`.
fn string(rest: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Bytes of `r"…"`, `r#"…"#`, `b"…"`, `br"…"`, `c"…"`.
fn raw_string(rest: &str) -> Option<usize> {
    let prefix = rest.find(|c| !matches!(c, 'r' | 'b' | 'c'))?;
    let hashes = rest[prefix..].find(|c| c != '#')?;
    let quoted = &rest[prefix + hashes..];
    if prefix == 0 || prefix > 2 || !quoted.starts_with('"') {
        return None;
    }
    if !rest[..prefix].contains('r') {
        return string(quoted).map(|length| prefix + length);
    }
    let close = format!("\"{}", "#".repeat(hashes));
    quoted[1..].find(&close).map(|at| prefix + hashes + 1 + at + close.len())
}

/// Bytes of `'a'`, `'\n'` or of the lifetime `'a`.
fn quote(rest: &str) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    let (_, first) = chars.next()?;
    if first == '\\' {
        let (escaped, _) = chars.next()?;
        return rest[escaped + 1..].find('\'').map(|at| escaped + 1 + at + 1);
    }
    match chars.next() {
        Some((at, '\'')) => Some(at + 1),
        _ if is_word(first) => Some(1 + word(&rest[1..])),
        _ => None,
    }
}

/// Bytes of `12`, `0x1f`, `2.5e-3f32`; of `0..4`, the `0`, and of `1.max(2)`, the `1`.
fn number(rest: &str) -> usize {
    let mut at = word(rest);
    let fraction = |at: usize| {
        rest[at..].strip_prefix('.').is_some_and(|r| !r.starts_with(|c: char| c == '.' || is_word(c) && !c.is_ascii_digit()))
    };
    if fraction(at) {
        at += 1;
        at += word(&rest[at..]);
    }
    let exponent = !rest.starts_with("0x") && rest[..at].ends_with(['e', 'E']) && rest[at..].starts_with(['+', '-']);
    if exponent {
        at += 1;
        at += word(&rest[at..]);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_everything() {
        let source = "a.b::<C>(1.5e-3, 0..4, 1.max(2), 'x', '\\'', &'a str, r#\"\")\"#, b\"\\\"\") /* ( /* */ */ >>= // )\n !=";
        let mut tokens = Tokens::new(source, 0);
        let texts: Vec<&str> = std::iter::from_fn(|| tokens.next()).map(|t| t.text).collect();
        let want = [
            "a",
            ".",
            "b",
            "::",
            "<",
            "C",
            ">",
            "(",
            "1.5e-3",
            ",",
            "0",
            "..",
            "4",
            ",",
            "1",
            ".",
            "max",
            "(",
            "2",
            ")",
            ",",
            "'x'",
            ",",
            "'\\''",
            ",",
            "&",
            "'a",
            "str",
            ",",
            "r#\"\")\"#",
            ",",
            "b\"\\\"\"",
            ")",
            ">>=",
            "!=",
        ];
        assert_eq!(texts, want);
    }

    #[test]
    fn what_does_not_end_is_no_token() {
        for source in ["\"a", "/* /* */", "'", "'\\"] {
            assert!(Tokens::new(source, 0).next().is_none(), "{source}");
        }
        assert_eq!(Tokens::new("(a [b] \"c\"", 1).close(), None);
        assert_eq!(Tokens::new("(a [b] \")\") c", 1).close(), Some(11));
    }
}
