//! What a pool and its workers say to each other: a line of JSON each way, over a socket that is the worker's standard input.
//!
//! Rules: nothing else uses the socket, so that what libtpu prints never mixes with an answer. Whoever waits does so up to a
//! deadline. A line has a longest length, so that a worker that never ends one cannot fill the memory.

use serde_json::{Value, json};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The longest answer, bytes.
const LONGEST: usize = 1 << 20;
/// How much of libtpu's words goes into an answer, bytes: enough for any first sentence.
const LONGEST_TEXT: usize = 1 << 16;

/// A question to a worker.
#[derive(Debug, PartialEq)]
pub(super) struct Question {
    pub(super) topology: String,
    pub(super) program: String,
}

impl Question {
    pub(super) fn line(&self) -> String {
        format!("{}\n", json!({"topology": self.topology, "program": self.program}))
    }

    pub(super) fn parse(line: &str) -> Option<Question> {
        let value: Value = serde_json::from_str(line).ok()?;
        let text = |name: &str| Some(value.get(name)?.as_str()?.to_string());
        Some(Question { topology: text("topology")?, program: text("program")? })
    }
}

/// What a worker says: the first two once, when it starts, the others to a question.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    /// The library is loaded.
    Ready,
    /// The library cannot be used, or does not know a topology.
    Unfit(String),
    /// The program compiles, with the estimate where one was made.
    Accepted(Option<u64>),
    /// It does not, in libtpu's words.
    Refused(String),
}

impl Answer {
    pub(super) fn line(&self) -> String {
        let value = match self {
            Answer::Ready => json!("ready"),
            Answer::Unfit(why) => json!({"unfit": head(why)}),
            Answer::Accepted(cycles) => json!({"accepted": cycles}),
            Answer::Refused(why) => json!({"refused": head(why)}),
        };
        format!("{value}\n")
    }

    pub(super) fn parse(line: &str) -> Option<Answer> {
        let value: Value = serde_json::from_str(line).ok()?;
        if value == "ready" {
            return Some(Answer::Ready);
        }
        let object = value.as_object().filter(|object| object.len() == 1)?;
        let (name, value) = object.iter().next()?;
        let text = || value.as_str().map(str::to_string);
        match name.as_str() {
            "unfit" => text().map(Answer::Unfit),
            "refused" => text().map(Answer::Refused),
            "accepted" if value.is_null() => Some(Answer::Accepted(None)),
            "accepted" => value.as_u64().map(|cycles| Answer::Accepted(Some(cycles))),
            _ => None,
        }
    }
}

fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_TEXT)]
}

/// Why no line came.
#[derive(Debug, PartialEq)]
pub(super) enum Broken {
    /// The other side closed the socket.
    Closed,
    /// The deadline passed.
    Late,
    /// It is no line: too long, or not text.
    Garbled,
}

/// The pool's end of a socket.
pub(super) struct Line {
    socket: UnixStream,
    unread: Vec<u8>,
}

impl Line {
    pub(super) fn new(socket: UnixStream) -> Line {
        Line { socket, unread: vec![] }
    }

    /// Writes it all.
    pub(super) fn write(&mut self, text: &str, deadline: Instant) -> Result<(), Broken> {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            self.socket.set_write_timeout(Some(remaining(deadline)?)).map_err(|_| Broken::Closed)?;
            match self.socket.write(rest) {
                Ok(0) => return Err(Broken::Closed),
                Ok(n) => rest = &rest[n..],
                Err(e) => passing(e.kind())?,
            }
        }
        Ok(())
    }

    /// Reads up to the end of a line.
    pub(super) fn read(&mut self, deadline: Instant) -> Result<String, Broken> {
        let mut searched = 0;
        loop {
            if let Some(end) = self.unread[searched..].iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=searched + end).collect();
                return String::from_utf8(line).map_err(|_| Broken::Garbled);
            }
            searched = self.unread.len();
            if searched > LONGEST {
                return Err(Broken::Garbled);
            }
            self.socket.set_read_timeout(Some(remaining(deadline)?)).map_err(|_| Broken::Closed)?;
            let mut bytes = [0; 1 << 14];
            match self.socket.read(&mut bytes) {
                Ok(0) => return Err(Broken::Closed),
                Ok(n) => self.unread.extend_from_slice(&bytes[..n]),
                Err(e) => passing(e.kind())?,
            }
        }
    }
}

/// The time that is left, never zero.
fn remaining(deadline: Instant) -> Result<Duration, Broken> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(Broken::Late) } else { Ok(left) }
}

/// Whether to try again: the deadline tells when to stop.
fn passing(kind: ErrorKind) -> Result<(), Broken> {
    match kind {
        ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut => Ok(()),
        _ => Err(Broken::Closed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(200)
    }

    #[test]
    fn what_is_said_is_understood() {
        let question = Question { topology: "v5e:1x1".to_string(), program: "line \"one\"\nline two é\u{0}".to_string() };
        assert_eq!(question.line().matches('\n').count(), 1);
        assert_eq!(Question::parse(&question.line()), Some(question));
        let why = || "no\n\"no\"".to_string();
        for answer in
            [Answer::Ready, Answer::Unfit(why()), Answer::Accepted(None), Answer::Accepted(Some(u64::MAX)), Answer::Refused(why())]
        {
            assert_eq!(Answer::parse(&answer.line()), Some(answer));
        }
        for garbage in
            ["", "ready", "{}", "{\"accepted\":-1}", "{\"refused\":null}", "{\"accepted\":1,\"refused\":\"x\"}", "[1]", "\u{0}"]
        {
            assert_eq!(Answer::parse(garbage), None, "{garbage}");
            assert_eq!(Question::parse(garbage), None, "{garbage}");
        }
        let long = Answer::Refused("é".repeat(LONGEST)).line();
        assert!(long.len() < LONGEST);
    }

    #[test]
    fn lines_come_in_pieces_and_together() {
        let (mut other, socket) = UnixStream::pair().expect("a pair");
        let mut line = Line::new(socket);
        other.write_all(b"one\ntwo\nthr").expect("written");
        assert_eq!(line.read(soon()), Ok("one\n".to_string()));
        assert_eq!(line.read(soon()), Ok("two\n".to_string()));
        assert_eq!(line.read(soon()), Err(Broken::Late));
        other.write_all(b"ee\n\xff\n").expect("written");
        assert_eq!(line.read(soon()), Ok("three\n".to_string()));
        assert_eq!(line.read(soon()), Err(Broken::Garbled));
        drop(other);
        assert_eq!(line.read(soon()), Err(Broken::Closed));
        assert_eq!(line.write("anybody\n", soon()), Err(Broken::Closed));
    }

    #[test]
    fn a_line_without_an_end_is_given_up() {
        let (mut other, socket) = UnixStream::pair().expect("a pair");
        let writer = std::thread::spawn(move || while other.write_all(&[b'x'; 4096]).is_ok() {});
        let mut line = Line::new(socket);
        assert_eq!(line.read(Instant::now() + Duration::from_secs(20)), Err(Broken::Garbled));
        drop(line);
        writer.join().expect("it ends when nobody reads");
    }

    #[test]
    fn writing_to_who_does_not_read_ends() {
        let (_other, socket) = UnixStream::pair().expect("a pair");
        assert_eq!(Line::new(socket).write(&"x".repeat(1 << 23), soon()), Err(Broken::Late));
    }
}
