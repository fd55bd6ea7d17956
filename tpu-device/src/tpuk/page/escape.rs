//! Text of others in a page: names, paths, messages and IR, none of which may become markup.
//!
//! Rules: what is shown passes through [`Text`] or [`Clipped`], in elements and in quoted attributes alike. Characters that
//! are invisible, or turn the direction of what follows, are shown as a replacement character.

use std::fmt::{self, Write};

/// Text, escaped.
pub(super) struct Text<'a>(pub(super) &'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| write(f, c))
    }
}

/// At most so many characters of a text, escaped; an ellipsis stands for the rest.
pub(super) struct Clipped<'a>(pub(super) &'a str, pub(super) usize);

impl fmt::Display for Clipped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Text(&clipped(self.0, self.1)).to_string())
    }
}

/// At most so many characters; an ellipsis stands for the rest.
pub(super) fn clipped(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_string();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

fn write(f: &mut fmt::Formatter<'_>, c: char) -> fmt::Result {
    match c {
        '&' => f.write_str("&amp;"),
        '<' => f.write_str("&lt;"),
        '>' => f.write_str("&gt;"),
        '"' => f.write_str("&quot;"),
        '\'' => f.write_str("&#39;"),
        '\n' | '\t' => f.write_char(c),
        c if is_hidden(c) => f.write_char('\u{fffd}'),
        c => f.write_char(c),
    }
}

/// Controls, marks and overrides of direction, and what has no width.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        assert_eq!(Text("<script>'a' && \"b\"").to_string(), "&lt;script&gt;&#39;a&#39; &amp;&amp; &quot;b&quot;");
        assert_eq!(Text("a\nb\tc\rd\0\u{202e}e\u{200b}é✓").to_string(), "a\nb\tc\u{fffd}d\u{fffd}\u{fffd}e\u{fffd}é✓");
    }

    #[test]
    fn the_clip_counts_characters_and_never_cuts_an_escape() {
        assert_eq!(Clipped("ab<c", 4).to_string(), "ab&lt;c");
        assert_eq!(Clipped("ab<cd", 4).to_string(), "ab&lt;…");
        assert_eq!(Clipped("éééé", 3).to_string(), "éé…");
        assert_eq!(Clipped("x", 0).to_string(), "…");
        assert_eq!(Clipped("", 0).to_string(), "");
    }
}
