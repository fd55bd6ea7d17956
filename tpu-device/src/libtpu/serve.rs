//! A worker: the process in which libtpu runs.
//!
//! Rules: it ends as soon as its standard input is closed, whatever libtpu is doing then, so that no worker outlives its pool.

use super::pjrt::{self, Plugin, Topology};
use super::wire::{Answer, Question};
use super::{estimate, worker};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

/// Makes this process a worker, and does not return, where a [`Pool`](super::Pool) started it as one; otherwise does nothing.
///
/// A pool starts the current program again: a program with a pool calls this first thing in `main`.
pub fn serve_if_worker() {
    let Some(library) = std::env::var_os(worker::LIBRARY) else { return };
    let folder = std::env::var_os(worker::FOLDER).map(PathBuf::from).and_then(estimate::Folder::of_worker);
    let estimates = std::env::var_os(worker::ESTIMATES).is_some();
    // No socket, no pool: there is nobody to tell.
    let code = if folder.is_some_and(|folder| serve(Path::new(&library), folder, estimates).is_ok()) { 0 } else { 2 };
    pjrt::leave(code);
}

/// Answers questions until there are no more.
fn serve(library: &Path, folder: estimate::Folder, estimates: bool) -> std::io::Result<()> {
    let mut socket = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let questions = BufReader::new(socket.try_clone()?);
    let path = folder.path().to_path_buf();
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for line in questions.lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
        // The pool is gone, and so is whoever would remove the folder.
        drop(folder);
        pjrt::leave(0);
    });
    let mut say = |answer: Answer| socket.write_all(answer.line().as_bytes());
    let plugin = match Plugin::load(library) {
        Ok(plugin) => plugin,
        Err(why) => return say(Answer::Unfit(why)),
    };
    say(Answer::Ready)?;
    let mut topologies: HashMap<String, Topology> = HashMap::new();
    while let Ok(line) = receive.recv() {
        let Some(question) = Question::parse(&line) else {
            return say(Answer::Unfit("its worker got a question that is none".to_string()));
        };
        say(answer(&plugin, &mut topologies, &question, estimates.then_some(&path)))?;
    }
    Ok(())
}

fn answer(plugin: &Plugin, topologies: &mut HashMap<String, Topology>, question: &Question, estimates: Option<&PathBuf>) -> Answer {
    let name = &question.topology;
    if !topologies.contains_key(name) {
        match plugin.topology(name) {
            Ok(topology) => topologies.insert(name.clone(), topology),
            Err(why) => return Answer::Unfit(format!("it knows no topology {name}: {why}")),
        };
    }
    let compiled = plugin.compile(&topologies[name], &question.program);
    let cycles = estimates.and_then(|folder| estimate::take(folder));
    match compiled {
        Ok(()) => Answer::Accepted(cycles),
        Err(why) => Answer::Refused(why),
    }
}
