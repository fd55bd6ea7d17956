//! Where the text that an error means ends: a place in a kernel names only its first character.
//!
//! Rules: the source is scanned, not parsed. What is there is told by how it begins and by the operation that
//! failed: an operand's declaration, the head of a loop or branch, a method with its arguments, an expression
//! around an operator. A scan that meets what it does not know says nothing, and the first token is meant.

use super::tokens::{Kind, Token, Tokens};

/// What begins at the place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum What<'a> {
    /// Whatever is there.
    Any,
    /// The operation of this mnemonic.
    Operation(&'a str),
}

/// The operators that record an operation; `None` of one that no operator records.
fn operators(mnemonic: &str) -> Option<&'static [&'static str]> {
    Some(match mnemonic {
        "add" => &["+", "+="],
        "sub" => &["-", "-="],
        "mul" => &["*", "*="],
        "div" => &["/", "/="],
        "rem" => &["%", "%="],
        "and" => &["&", "&="],
        "or" => &["|", "|="],
        "xor" => &["^", "^="],
        "shl" => &["<<", "<<="],
        "shr" => &[">>", ">>="],
        "neg" | "not" => &[],
        _ => return None,
    })
}

/// How strongly an operator binds; `None` of what is no operator between two operands.
fn strength(operator: &str) -> Option<u32> {
    Some(match operator {
        "*" | "/" | "%" => 9,
        "+" | "-" => 8,
        "<<" | ">>" => 7,
        "&" => 6,
        "^" => 5,
        "|" => 4,
        "==" | "!=" | "<" | "<=" | ">" | ">=" => 3,
        "&&" => 2,
        "||" => 1,
        "+=" | "-=" | "*=" | "/=" | "%=" | "&=" | "|=" | "^=" | "<<=" | ">>=" => 0,
        _ => return None,
    })
}

/// The byte after the last token of what begins at `start`.
pub(super) fn end(source: &str, start: usize, what: What<'_>) -> Option<usize> {
    let mut tokens = Tokens::new(source, start);
    let first = tokens.peek()?;
    match (first.kind, first.text) {
        (Kind::Word, "if" | "while" | "for") => head(tokens),
        // A kernel is meant by its name.
        (Kind::Word, _) if source[..start].trim_end().ends_with("fn") => Some(first.end),
        (Kind::Word, _) if follows_dot(source, start) => {
            tokens.next();
            Some(arguments(&mut tokens).unwrap_or(first.end))
        }
        (Kind::Word, _) if Tokens::new(source, first.end).peek().is_some_and(|t| t.text == ":") => declaration(tokens),
        (Kind::Punctuation, sign) if strength(sign).is_some() && !["-", "*", "&"].contains(&sign) => Some(first.end),
        _ => expression(tokens, what),
    }
}

/// Whether the place is a method's name.
fn follows_dot(source: &str, start: usize) -> bool {
    let before = source[..start].trim_end();
    before.ends_with('.') && !before.ends_with("..")
}

/// `for j in 0..n`, up to the block.
fn head(mut tokens: Tokens<'_>) -> Option<usize> {
    let mut end = None;
    loop {
        let token = tokens.next()?;
        match token.kind {
            Kind::Open if token.text == "{" => return end,
            Kind::Open => end = Some(tokens.close()?),
            Kind::Close => return None,
            _ => end = Some(token.end),
        }
    }
}

/// `x: In<f32, (BM, BN)>`, up to what separates it from the next; `<` and `>` are brackets here.
fn declaration(mut tokens: Tokens<'_>) -> Option<usize> {
    let (mut end, mut angles) = (None, 0usize);
    loop {
        let token = tokens.peek()?;
        match (token.kind, token.text) {
            (Kind::Close, _) | (Kind::Punctuation, ";" | "=") => return end,
            (Kind::Punctuation, ",") if angles == 0 => return end,
            _ => {}
        }
        tokens.next();
        end = Some(token.end);
        match (token.kind, token.text) {
            (Kind::Open, _) => end = Some(tokens.close()?),
            (Kind::Punctuation, "<") => angles += 1,
            (Kind::Punctuation, ">") => angles = angles.saturating_sub(1),
            (Kind::Punctuation, ">>") => angles = angles.saturating_sub(2),
            _ => {}
        }
    }
}

/// Generic arguments after `::`, where there are any, and the arguments of a call, which must be there.
fn arguments(tokens: &mut Tokens<'_>) -> Option<usize> {
    if tokens.peek()?.text == "::" {
        tokens.next();
        angles(tokens)?;
    }
    (tokens.peek()?.text == "(").then(|| {
        tokens.next();
        tokens.close()
    })?
}

/// `<…>` of generic arguments.
fn angles(tokens: &mut Tokens<'_>) -> Option<usize> {
    let mut depth = 0usize;
    loop {
        let token = tokens.next()?;
        match (token.kind, token.text) {
            (Kind::Open, _) => {
                tokens.close()?;
            }
            (Kind::Close, _) => return None,
            (_, "<") => depth += 1,
            (_, ">") => depth = depth.checked_sub(1)?,
            (_, ">>") => depth = depth.checked_sub(2)?,
            _ => {}
        }
        if depth == 0 {
            return Some(token.end);
        }
    }
}

/// One operand with its methods: where its first call ends, and where it ends.
struct Operand {
    call: Option<usize>,
    end: usize,
}

/// `-x.load()[0]`, `dot(a, b)`, `(a + b).exp()`, `Tile::<f32, (B,)>::full(1.0)`.
fn operand(tokens: &mut Tokens<'_>) -> Option<Operand> {
    while matches!(tokens.peek()?.text, "-" | "!" | "*" | "&" | "&&" | "mut") {
        tokens.next();
    }
    let first = tokens.next()?;
    let mut operand = Operand { call: None, end: first.end };
    match first.kind {
        Kind::Open => operand.end = tokens.close()?,
        Kind::Word if matches!(first.text, "if" | "match" | "unsafe" | "loop" | "while" | "for" | "move") => return None,
        Kind::Word => {
            while tokens.peek().is_some_and(|t| t.text == "::") {
                tokens.next();
                operand.end = if tokens.peek()?.text == "<" { angles(tokens)? } else { tokens.next()?.end };
            }
            let is_macro = tokens.peek().is_some_and(|t| t.text == "!");
            if is_macro {
                tokens.next();
            }
            if let Some(open) = tokens.peek().filter(|t| t.text == "(" || is_macro && t.kind == Kind::Open) {
                tokens.next();
                operand.end = tokens.close().filter(|_| open.kind == Kind::Open)?;
                operand.call = Some(operand.end);
            }
        }
        Kind::Literal => {}
        Kind::Close | Kind::Punctuation => return None,
    }
    while let Some(token) = tokens.peek() {
        match token.text {
            "(" | "[" => {
                tokens.next();
                operand.end = tokens.close()?;
            }
            "." => {
                tokens.next();
                operand.end = tokens.next()?.end;
                let mut ahead = tokens.clone();
                if let Some(end) = arguments(&mut ahead) {
                    (*tokens, operand.end) = (ahead, end);
                }
            }
            "?" => operand.end = tokens.next()?.end,
            _ => break,
        }
    }
    Some(operand)
}

/// Operands and the operators between them, from the first on.
fn expression(mut tokens: Tokens<'_>, what: What<'_>) -> Option<usize> {
    let prefixed = tokens.peek()?.kind == Kind::Punctuation;
    let first = operand(&mut tokens)?;
    let mut ends = vec![first.end];
    let mut signs: Vec<(&str, u32)> = vec![];
    while let Some(Token { text, .. }) = tokens.peek() {
        let Some(strength) = strength(text) else { break };
        tokens.next();
        let Some(next) = operand(&mut tokens) else { break };
        signs.push((text, strength));
        ends.push(next.end);
    }
    let wanted = match what {
        What::Any => None,
        What::Operation("neg" | "not") if prefixed => return Some(first.end),
        What::Operation(mnemonic) => match operators(mnemonic) {
            Some(operators) => Some(operators),
            // A function's place is where the expression around it begins, too.
            None if first.call.is_some() => return first.call,
            None => None,
        },
    };
    // An operator's expression begins here where those before it bind as strongly, and ends before the next that
    // does not bind more strongly. Of a chain, `a + b + c`, the whole is meant.
    let begins_here = |k: usize| signs[..k].iter().all(|(_, s)| *s >= signs[k].1);
    let named = |k: &usize| wanted.is_none_or(|operators| operators.contains(&signs[*k].0));
    let Some(k) = (0..signs.len()).rev().filter(|&k| begins_here(k)).find(named) else { return Some(first.end) };
    let last = (k + 1..signs.len()).find(|&j| signs[j].1 <= signs[k].1).unwrap_or(signs.len());
    Some(ends[last])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text from `^` on, which is taken out, as far as it is meant.
    fn meant(marked: &str, what: What<'_>) -> String {
        let start = marked.find('^').expect("a mark");
        let source = marked.replacen('^', "", 1);
        let end = end(&source, start, what).expect("an end");
        source[start..end].to_string()
    }

    #[test]
    fn operators_and_their_operands() {
        let of = |mnemonic, source| meant(source, What::Operation(mnemonic));
        assert_eq!(of("add", "let t = ^a + b;"), "a + b");
        assert_eq!(of("add", "^a + b * c - d;"), "a + b * c");
        assert_eq!(of("sub", "^a + b * c - d;"), "a + b * c - d");
        assert_eq!(of("mul", "a + ^b * c - d;"), "b * c");
        assert_eq!(of("mul", "^b * c + d"), "b * c");
        assert_eq!(of("add", "f(^a + b + c, d)"), "a + b + c");
        assert_eq!(of("div", "o.store(^x.load() / parts);"), "x.load() / parts");
        assert_eq!(of("rem", "^left %= zero + 1;"), "left %= zero + 1");
        assert_eq!(of("neg", "^-x.load() + 1"), "-x.load()");
        assert_eq!(of("add", "^-x.load() + 1"), "-x.load() + 1");
        assert_eq!(of("add", "^x[(0, 1)].y::<(B,)>(2)? + dot(a, b.t());"), "x[(0, 1)].y::<(B,)>(2)? + dot(a, b.t())");
        assert_eq!(of("add", "^(a + b).exp() + 2.5e-3"), "(a + b).exp() + 2.5e-3");
        assert_eq!(of("add", "^a // why\n    + /* + */ b\n;"), "a // why\n    + /* + */ b");
        assert_eq!(of("add", "^Tile::<f32, (B, One)>::full(1.0) + t < u"), "Tile::<f32, (B, One)>::full(1.0) + t");
    }

    #[test]
    fn calls_and_methods() {
        assert_eq!(meant("let a = q.^dot(k) + 1;", What::Operation("dot")), "dot(k)");
        assert_eq!(meant("^dot(a, b) + c", What::Operation("dot")), "dot(a, b)");
        assert_eq!(meant("x.^load_at::<(D<4>,)>((6,)).exp()", What::Operation("load")), "load_at::<(D<4>,)>((6,))");
        assert_eq!(meant("x\n    .^sum(Lanes)", What::Operation("reduce")), "sum(Lanes)");
        assert_eq!(meant("^assert!(B % 8 == 0, \"no; {}\", B);", What::Any), "assert!(B % 8 == 0, \"no; {}\", B)");
        assert_eq!(meant("let _ = ^parts[k];", What::Any), "parts[k]");
        assert_eq!(meant("f(^last.get() + 1.0)", What::Any), "last.get() + 1.0");
        assert_eq!(meant("a.^b", What::Any), "b");
    }

    #[test]
    fn declarations_and_heads() {
        assert_eq!(meant("(^x: In<f32, (BM, BN)>,\n o: Out)", What::Any), "x: In<f32, (BM, BN)>");
        assert_eq!(meant("(o: Vmem<f32, (D<8>, Sum<A<B>>)>, ^s: Scalar<i32>)", What::Any), "s: Scalar<i32>");
        assert_eq!(meant("grid(^i: m / BM, j: n)", What::Any), "i: m / BM");
        assert_eq!(meant("^while left > 0 {", What::Any), "while left > 0");
        assert_eq!(meant("^for _ in (from..to).step_by(by) { }", What::Any), "for _ in (from..to).step_by(by)");
        assert_eq!(meant("^fn_name(x: In)", What::Any), "fn_name(x: In)");
        assert_eq!(meant("t ^>= 0.0", What::Any), ">=");
    }

    #[test]
    fn what_is_not_known_has_no_end() {
        for source in ["", ")", "if a", "a(", "x: In<f32", "\"unclosed", "match a { b => c } + d", "a.b::<C(d)"] {
            let start = if source.starts_with("a.") { 2 } else { 0 };
            let end = end(source, start, What::Operation("add"));
            assert_eq!(end, (start > 0).then_some(3), "{source}");
        }
    }
}
