//! libtpu's words when it refuses a program: the reason in short, and the place in the user's source.
//!
//! Rules: the texts are libtpu's and may be anything; nothing here fails on one. Places stand in the Mosaic text as
//! `loc("file":line:column)`, one an operation. libtpu repeats them as `at location: loc("file":line:column)`, or before the word
//! `error`; without one it names a line of the Mosaic text, `-:9:10`, which is looked up there.

/// The longest reason, bytes.
const LONGEST: usize = 400;

/// What comes after the reason.
const NOISE: [&str; 8] = [
    "\nat location:",
    "\nThe MLIR operation involved",
    "\nSee https://",
    "\nSuspected Python Code Location",
    "\nPlease report a bug",
    "\n<unknown>:0: error: ",
    "=== Source Location Trace",
    "*** Check failure stack trace",
];

/// What stands in the middle of one, in braces: the whole kernel, among others.
const ATTRIBUTES: [&str; 2] = [", backend_config={", ", metadata={"];

/// How refusals by Mosaic begin: of a text, and of a kernel, which is named before the reason.
const TEXT: &str = "Failed to parse the Mosaic module: ";
const KERNEL: &str = "Mosaic failed to compile TPU kernel with MLIR module name ";

/// The first sentences in one line.
pub(super) fn reason(words: &str) -> String {
    let words = without_kernel(words);
    let note = words.find(": note: ").map(|at| words[..at].rfind('\n').unwrap_or(at));
    let end = NOISE.iter().filter_map(|noise| words.find(noise)).chain(note).min().unwrap_or(words.len());
    let words = &words[..end];
    let mut text = match position(words) {
        // The place is said apart.
        Some(found) => format!("{}{}", &words[..found.start], &words[found.end..]),
        None => words.to_string(),
    };
    for attribute in ATTRIBUTES {
        while let Some(start) = text.find(attribute) {
            text.replace_range(start..closing(&text, start + attribute.len()), "");
        }
    }
    let short = shorten(&text);
    if short.is_empty() { "libtpu gives no reason".to_string() } else { short }
}

/// The words without the kernel's name.
fn without_kernel(words: &str) -> &str {
    words.strip_prefix(KERNEL).and_then(|rest| rest.split_once("`: ")).map_or(words, |(_, rest)| rest)
}

/// The end of what an opening brace just before `from` begins.
fn closing(text: &str, from: usize) -> usize {
    let mut open = 1;
    for (at, byte) in text.bytes().enumerate().skip(from) {
        match byte {
            b'{' => open += 1,
            b'}' if open == 1 => return at + 1,
            b'}' => open -= 1,
            _ => {}
        }
    }
    text.len()
}

/// In one line and not too long.
pub(super) fn shorten(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    if line.len() <= LONGEST {
        return line;
    }
    format!("{}…", line[..line.floor_char_boundary(LONGEST)].trim_end())
}

/// The user's file, line and column; in a program that is StableHLO around Mosaic text.
pub(super) fn place(words: &str, program: &str) -> Option<(String, u32, u32)> {
    let located = words.split_once("at location:").and_then(|(_, rest)| innermost(rest.lines().next()?));
    let located = located.or_else(|| position(without_kernel(words)).map(|found| found.place))?;
    if located.0 != "-" {
        return Some(located);
    }
    // A line of the module around it is nowhere in the user's source.
    if !words.starts_with(TEXT) && !words.starts_with(KERNEL) {
        return None;
    }
    let text = only_body(program)?;
    let line = text.lines().nth(usize::try_from(located.1).ok()?.checked_sub(1)?)?;
    let (_, loc) = line.rsplit_once(" loc(")?;
    innermost(loc).filter(|found| found.0 != "-")
}

/// The first `"file":line:column` of a location, which may be named, fused or of a call.
fn innermost(location: &str) -> Option<(String, u32, u32)> {
    let mut rest = location;
    while let Some((_, after)) = rest.split_once('"') {
        let (quoted, after) = after.split_once('"')?;
        if let Some(place) = after.strip_prefix(':').and_then(numbers).map(|(line, column, _)| (quoted.to_string(), line, column)) {
            return Some(place);
        }
        rest = after;
    }
    None
}

/// A place before the word `error`: `file:line:column: error: `.
struct Position {
    start: usize,
    end: usize,
    place: (String, u32, u32),
}

fn position(words: &str) -> Option<Position> {
    let mark = ": error: ";
    let at = words.find(mark)?;
    let line = words[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let before = &words[line..at];
    let (head, column) = before.rsplit_once(':')?;
    let (file, row) = head.rsplit_once(':')?;
    let place = (row.parse().ok()?, column.parse().ok()?);
    // libtpu's own words come before the file in the same line.
    let file_at = if file.starts_with(TEXT) { TEXT.len() } else { 0 };
    let file = file[file_at..].to_string();
    (!file.is_empty() && !file.starts_with(KERNEL)).then_some(Position {
        start: line + file_at,
        end: at + mark.len(),
        place: (file, place.0, place.1),
    })
}

/// `line:column` and what follows.
fn numbers(text: &str) -> Option<(u32, u32, &str)> {
    let (line, rest) = text.split_once(':')?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((line.parse().ok()?, rest[..end].parse().ok()?, &rest[end..]))
}

/// The Mosaic text of a program with one kernel.
fn only_body(program: &str) -> Option<String> {
    let mut bodies = program.split("\\22body\\22: \\22").skip(1);
    let body = bodies.next().filter(|_| bodies.next().is_none())?;
    String::from_utf8(from_base64(body.split_once("\\22")?.0)?).ok()
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = vec![];
    let (mut word, mut bits) = (0u32, 0);
    for digit in text.trim_end_matches('=').bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        word = (word << 6 | u32::from(value)) & 0xffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
