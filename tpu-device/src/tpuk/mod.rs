//! The command line: runs, prints, checks and measures the kernels that a program registers with it.
//!
//! Data flows downwards: `args` (the options of a [`Catalogue`]) → `case` (one way to launch a kernel) → `staged` (its IR)
//! and `launch` (its arrays) → a file for each subcommand → `output`.
//!
//! Rules: results go to standard output, everything else to standard error; with `--json` a result is one object on one
//! line; each kind of end has an exit code of its own, which `--help` lists; nothing that a user can type panics.

mod args;
mod bench;
mod case;
mod catalogue;
mod check;
mod compare;
mod data;
mod emit;
mod failure;
mod index_map;
mod inspect;
mod inspect_json;
mod inspect_text;
pub mod inspection;
mod launch;
mod list;
mod names;
mod output;
pub mod page;
mod progress;
mod reference;
mod run;
mod staged;
mod value;
mod verify;
mod waits;

pub use catalogue::{Catalogue, Entry};
pub use inspection::Inspection;
pub use reference::{Array, Call};

use crate::libtpu;
use args::{Common, words};
use clap::error::ErrorKind;
use failure::{Exit, Failure};
use std::process::ExitCode;

/// The `main` of a program that is a command line for its kernels.
pub fn main(catalogue: Catalogue) -> ExitCode {
    libtpu::serve_if_worker();
    let exit = dispatch(&catalogue).unwrap_or_else(|failure| {
        if !failure.text.is_empty() {
            output::complain(&failure.text);
        }
        failure.exit
    });
    ExitCode::from(exit as u8)
}

fn dispatch(catalogue: &Catalogue) -> Result<Exit, Failure> {
    let matches = match args::command(catalogue).try_get_matches() {
        Ok(matches) => matches,
        Err(e) if matches!(e.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            output::write(&e.render().to_string())?;
            return Ok(Exit::Done);
        }
        Err(e) if e.kind() == ErrorKind::InvalidUtf8 => {
            let broken = std::env::args_os().filter(|argument| argument.to_str().is_none()).map(|argument| format!("{argument:?}"));
            return Err(Failure::usage(format!(
                "not UTF-8, as all but the paths of files must be: {}",
                broken.collect::<Vec<_>>().join(", ")
            )));
        }
        Err(e) => return Err(Failure { text: e.render().to_string().trim_end().to_string(), ..Failure::usage("wrong arguments") }),
    };
    let Some((command, matches)) = matches.subcommand() else { return Err(Failure::usage("no subcommand")) };
    let named = |otherwise| Common::of(catalogue, matches, &words(matches), otherwise);
    match command {
        "list" => list::run(&named(Some(&|_| true))?),
        "run" => run::run(&named(None)?, matches),
        "check" => check::run(&named(None)?, matches),
        "inspect" => inspect::run(&named(None)?, matches),
        "verify" => verify::run(&named(Some(&|_| true))?, matches),
        "bench" => bench::run(&named(Some(&|entry| !entry.bench.is_empty()))?, matches),
        _ => {
            let (form, names) = emit::split(catalogue, words(matches), matches)?;
            emit::run(&Common::of(catalogue, matches, &names, None)?, form, matches)
        }
    }
}
