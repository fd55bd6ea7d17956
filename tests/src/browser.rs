//! Headless Chromium, where there is one: opens a page of the command line as a reader would.
//!
//! The one that `CHROMIUM` names, else on the path, else among Playwright's. Without one the tests check nothing there, and
//! say so once.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any page takes.
const LIMIT: Duration = Duration::from_secs(180);

/// A browser that is installed.
pub struct Browser {
    program: PathBuf,
}

/// What the browser made of a page.
pub struct Opened {
    /// The document after its script has run.
    pub dom: String,
    /// What reached the console: errors, exceptions, refusals of the security policy.
    pub console: Vec<String>,
}

/// The browser, or nothing.
pub fn browser() -> Option<Browser> {
    static SAID: Once = Once::new();
    let program = std::env::var_os("CHROMIUM").map(PathBuf::from).or_else(on_path).or_else(among_playwrights);
    if program.is_none() {
        SAID.call_once(|| {
            // Past the test harness, which keeps what passing tests print.
            let _ = writeln!(std::io::stderr(), "there is no Chromium (CHROMIUM is not set): pages are not opened");
        });
    }
    program.map(|program| Browser { program })
}

fn on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
    let all: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names.iter().flat_map(|name| all.iter().map(move |folder| folder.join(name))).find(|program| program.is_file())
}

fn among_playwrights() -> Option<PathBuf> {
    let home = PathBuf::from(std::env::var_os("HOME")?);
    let mut browsers: Vec<PathBuf> =
        std::fs::read_dir(home.join(".cache/ms-playwright")).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    browsers.sort();
    let inside = ["chrome-linux/chrome", "chrome-linux64/chrome", "chrome-linux/headless_shell"];
    browsers.iter().flat_map(|folder| inside.iter().map(move |program| folder.join(program))).find(|program| program.is_file())
}

impl Browser {
    /// Opens a file in a window of that width.
    ///
    /// # Panics
    /// Where the browser does not start, does not end, or gives no document.
    pub fn open(&self, page: &Path, width: u32) -> Opened {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let profile =
            std::env::temp_dir().join(format!("tpuk-page-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
        let mut child = Command::new(&self.program)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"])
            .args(["--no-first-run", "--disable-extensions", "--enable-logging=stderr", "--dump-dom"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg(format!("--window-size={width},1000"))
            .arg(format!("file://{}", page.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{} does not start: {e}", self.program.display()));
        let read = |mut from: Box<dyn Read + Send>| {
            thread::spawn(move || {
                let mut bytes = vec![];
                from.read_to_end(&mut bytes).map(|_| String::from_utf8_lossy(&bytes).into_owned())
            })
        };
        let out = read(Box::new(child.stdout.take().expect("piped")));
        let log = read(Box::new(child.stderr.take().expect("piped")));
        let start = Instant::now();
        while child.try_wait().expect("a child can be asked").is_none() {
            if start.elapsed() > LIMIT {
                let _ = child.kill();
                panic!("{} takes longer than {LIMIT:?}", page.display());
            }
            thread::sleep(Duration::from_millis(20));
        }
        let dom = out.join().expect("read").expect("output");
        let log = log.join().expect("read").expect("log");
        let _ = std::fs::remove_dir_all(&profile);
        assert!(dom.contains("</html>"), "no document from {}:\n{log}", page.display());
        let console = log.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_string).collect();
        Opened { dom, console }
    }
}
