//! Names as a user types them.
//!
//! Rules: a name is looked for as it is written, then in any letter case; where that fits several, none is meant.

use super::failure::Failure;
use crate::error::close_names;

/// What a name is among others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sought<T> {
    Found(T),
    /// Only the letter case tells these apart.
    Several(Vec<T>),
    Unknown,
}

/// Looks for a name.
pub(super) fn seek<T>(name: &str, all: impl IntoIterator<Item = T>, of: impl Fn(&T) -> &str) -> Sought<T> {
    let lower = name.to_lowercase();
    let mut like = vec![];
    for candidate in all {
        if of(&candidate) == name {
            return Sought::Found(candidate);
        }
        if of(&candidate).to_lowercase() == lower {
            like.push(candidate);
        }
    }
    match (like.pop(), like.is_empty()) {
        (None, _) => Sought::Unknown,
        (Some(one), true) => Sought::Found(one),
        (Some(last), false) => {
            like.push(last);
            Sought::Several(like)
        }
    }
}

/// The refusal of a name that only the letter case of others tells apart.
pub(super) fn ambiguous<'a>(name: &str, several: impl IntoIterator<Item = &'a str>) -> Failure {
    let several: Vec<String> = several.into_iter().map(|name| format!("`{name}`")).collect();
    Failure::usage(format!("`{name}` may be {}: write it in the letter case of the one that you mean", several.join(" or ")))
}

/// Advice to append to what says that there is no such name.
pub(super) fn hint<'a>(name: &str, all: impl Iterator<Item = &'a str>) -> String {
    let close = close_names(name, all);
    if close.is_empty() { String::new() } else { format!("; did you mean `{}`?", close.join("` or `")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_written_then_in_any_letter_case() {
        let seek = |name| seek(name, ["Add", "add", "Mul", "Éa", "éa"], |name| name);
        assert_eq!(seek("add"), Sought::Found("add"));
        assert_eq!(seek("Add"), Sought::Found("Add"));
        assert_eq!(seek("ADD"), Sought::Several(vec!["Add", "add"]));
        assert_eq!(seek("mUL"), Sought::Found("Mul"));
        assert_eq!(seek("ÉA"), Sought::Several(vec!["Éa", "éa"]));
        assert_eq!(seek(""), Sought::Unknown);
        assert_eq!(seek("mu"), Sought::Unknown);
        let words = ambiguous("ADD", ["Add", "add"]).reason;
        assert!(words.starts_with("`ADD` may be `Add` or `add`: "), "{words}");
    }
}
