//! Asks libtpu for its verdict on everything that we print: each operation × element type × shape class × chip.
//!
//! `agreement [--sample N] [--random N] [--chip NAME] [--only TEXT] [--libtpu PATH] [--jobs N] [--json] [--write]`: so many cases of
//! the matrix instead of all, or so many random kernels instead; on one chip; those whose name has that text. `--json` prints an
//! object for each chip and each disagreement; `--write` puts the tables into `docs/agreement.md`. Ends with an error where we
//! print what libtpu refuses or dies of.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};
use tpu_device::libtpu::{Job, Library, Pool, PoolOptions, Verdict, serve_if_worker};
use tpu_kernel::chips::Chip;
use tpu_tests::agreement::{cases, program, random_program, sample};
use tpu_tests::one_op::Case;

#[derive(Default)]
struct Options {
    sample: Option<usize>,
    random: Option<usize>,
    chip: Option<String>,
    only: Option<String>,
    libtpu: Option<PathBuf>,
    jobs: Option<usize>,
    json: bool,
    write: bool,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut options = Options::default();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value"));
            let number =
                |text: String| text.parse::<usize>().ok().filter(|&n| n > 0).ok_or(format!("{arg}: not a positive number"));
            match arg.as_str() {
                "--sample" => options.sample = Some(number(value()?)?),
                "--random" => options.random = Some(number(value()?)?),
                "--chip" => options.chip = Some(value()?),
                "--only" => options.only = Some(value()?),
                "--libtpu" => options.libtpu = Some(value()?.into()),
                "--jobs" => options.jobs = Some(number(value()?)?),
                "--json" => options.json = true,
                "--write" => options.write = true,
                _ => return Err(format!("unknown option {arg}")),
            }
        }
        Ok(options)
    }
}

/// What a chip's cases came to.
struct Outcome {
    chip: &'static Chip,
    cases: usize,
    accepted: usize,
    /// Refused by us, by the rule's code.
    unsupported: BTreeMap<&'static str, Unsupported>,
    /// Printed by us, and refused by libtpu or the end of it: name and reason.
    refused: Vec<(String, String)>,
    crashed: Vec<(String, String)>,
}

#[derive(Default)]
struct Unsupported {
    count: usize,
    /// The words of the first.
    example: String,
}

fn main() -> ExitCode {
    serve_if_worker();
    let message = match Options::parse(std::env::args().skip(1)).and_then(|options| run(&options)) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(message) => message,
    };
    // Where the message cannot be written either, the exit code remains.
    let _ = writeln!(std::io::stderr(), "agreement: {message}");
    ExitCode::FAILURE
}

fn run(options: &Options) -> Result<(), String> {
    let library = Library::find(options.libtpu.as_deref()).map_err(|e| e.to_string())?;
    let named = |chip: &&'static Chip| options.chip.as_ref().is_none_or(|name| name == chip.name || name == "all");
    let chips: Vec<&'static Chip> = Chip::ALL.iter().filter(named).collect();
    let fitting = cases().into_iter().filter(|case| options.only.as_ref().is_none_or(|text| case.name.contains(text)));
    let all: Vec<Case> = if options.random.is_some() { vec![] } else { fitting.collect() };
    let cases = sample(all, options.sample.unwrap_or(usize::MAX));
    if chips.is_empty() || (cases.is_empty() && options.random.is_none()) {
        return Err("no such chip, or no such case".to_string());
    }
    if options.write && (options.chip.is_some() || options.only.is_some()) {
        return Err("--write takes all chips and operations".to_string());
    }
    let workers = options.jobs.unwrap_or(PoolOptions::default().workers);
    let pool = Pool::new(&library, PoolOptions { workers, ..PoolOptions::default() });
    let mut outcomes = vec![];
    for chip in chips {
        let outcome = match options.random {
            Some(count) => ask(&pool, chip, count, &mut random(chip, count))?,
            None => ask(&pool, chip, cases.len(), &mut cases.iter().map(|case| (case.name.clone(), program(case, chip))))?,
        };
        if options.json {
            print(&json(&outcome))?;
        }
        outcomes.push(outcome);
    }
    let version = version(library.path());
    let what = match (options.random, options.sample) {
        (Some(_), _) => "Random kernels".to_string(),
        (None, Some(n)) => format!("A sample of {n} cases"),
        (None, None) => "The whole matrix".to_string(),
    };
    let report = report(&what, &outcomes, &version);
    if !options.json {
        print(&report)?;
    }
    if options.write {
        write_document(if options.random.is_some() { "random" } else { "agreement" }, &report)?;
    }
    match outcomes.iter().map(|o| o.refused.len() + o.crashed.len()).sum::<usize>() {
        0 => Ok(()),
        n => Err(format!("libtpu does not take {n} kernels that we print")),
    }
}

/// How many programs are held at once.
const BATCH: usize = 256;

/// A name, and what is printed of it or why nothing is.
type Question = (String, Result<String, (&'static str, String)>);

/// The first kernels of the generator that end well, until so many have a text.
fn random(chip: &'static Chip, count: usize) -> impl Iterator<Item = Question> {
    let ending = (0u64..).filter_map(move |seed| Some((format!("seed {seed}"), random_program(chip, seed)?)));
    let mut printed = 0;
    ending.take_while(move |(_, program)| {
        printed += usize::from(program.is_ok());
        printed <= count
    })
}

fn ask(pool: &Pool, chip: &'static Chip, count: usize, questions: &mut dyn Iterator<Item = Question>) -> Result<Outcome, String> {
    let mut outcome = Outcome { chip, cases: 0, accepted: 0, unsupported: BTreeMap::new(), refused: vec![], crashed: vec![] };
    let begin = Instant::now();
    let mut said = begin;
    loop {
        let batch: Vec<Question> = questions.take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        let (mut names, mut jobs) = (vec![], vec![]);
        let before = outcome.cases;
        outcome.cases += batch.len();
        for (name, program) in batch {
            match program {
                Ok(program) => {
                    names.push(name);
                    jobs.push(Job { chip, program, estimate: None });
                }
                Err((code, words)) => {
                    let rule = outcome.unsupported.entry(code).or_default();
                    rule.count += 1;
                    if rule.example.is_empty() {
                        rule.example = format!("{name}: {words}");
                    }
                }
            }
        }
        let mut done = before;
        let mut progress = |_: usize, _: &Verdict| {
            done += 1;
            if said.elapsed() > Duration::from_millis(500) {
                said = Instant::now();
                let left = begin.elapsed().as_secs_f64() / done as f64 * (count.max(done) - done) as f64;
                let _ = write!(std::io::stderr(), "\r{}: {done} of {count}, {left:.0} s left   ", chip.name);
            }
        };
        for (name, verdict) in names.into_iter().zip(pool.judge(&jobs, &mut progress).map_err(|e| e.to_string())?) {
            match verdict {
                Verdict::Accepted { .. } => outcome.accepted += 1,
                Verdict::Refused { reason, .. } => outcome.refused.push((name, reason)),
                Verdict::Crashed { how } => outcome.crashed.push((name, how)),
            }
        }
    }
    let _ =
        writeln!(std::io::stderr(), "\r{}: {} cases in {:.0} s        ", chip.name, outcome.cases, begin.elapsed().as_secs_f64());
    Ok(outcome)
}

fn print(text: &str) -> Result<(), String> {
    std::io::stdout().write_all(text.as_bytes()).map_err(|e| e.to_string())
}

/// The version of the wheel that the library came in, from the folder beside it.
fn version(library: &Path) -> String {
    let beside = library.parent().and_then(Path::parent).and_then(|folder| std::fs::read_dir(folder).ok());
    let names = beside.into_iter().flatten().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let version = |name: String| Some(name.strip_prefix("libtpu-")?.strip_suffix(".dist-info")?.to_string());
    let named = library.ancestors().filter_map(|path| path.file_name()?.to_str()?.strip_prefix("libtpu-").map(String::from));
    names.filter_map(version).chain(named).next().unwrap_or("of unknown version".to_string())
}

/// Year, month and day of now (Gregorian, UTC).
fn today() -> String {
    let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let days = seconds as i64 / 86_400 + 719_468;
    // Years begin in March; 400 of them have 146,097 days.
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (date, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    format!("{:04}-{month:02}-{date:02}", era * 400 + year + i64::from(month <= 2))
}

fn report(what: &str, outcomes: &[Outcome], version: &str) -> String {
    let mut out = format!("{what}, libtpu {version}, {}.\n\n", today());
    out += "| chip | cases | accepted | unsupported | refused | crashed |\n|---|---|---|---|---|---|\n";
    for o in outcomes {
        let unsupported: usize = o.unsupported.values().map(|rule| rule.count).sum();
        let (refused, crashed) = (o.refused.len(), o.crashed.len());
        let _ = writeln!(out, "| {} | {} | {} | {unsupported} | {refused} | {crashed} |", o.chip.name, o.cases, o.accepted);
    }
    out += "\nUnsupported, by rule:\n\n| rule | ";
    out += &outcomes.iter().map(|o| o.chip.name).collect::<Vec<_>>().join(" | ");
    out += " | for example |\n|---|---|";
    out += &"---|".repeat(outcomes.len());
    out.push('\n');
    let mut rules: BTreeMap<&str, &str> = BTreeMap::new();
    for (code, rule) in outcomes.iter().flat_map(|o| &o.unsupported) {
        rules.entry(code).or_insert(&rule.example);
    }
    for (code, example) in rules {
        let count = |o: &Outcome| o.unsupported.get(code).map_or(0, |rule| rule.count).to_string();
        let counts: Vec<String> = outcomes.iter().map(count).collect();
        let _ = writeln!(out, "| {code} | {} | {} |", counts.join(" | "), example.replace(['|', '\n'], " "));
    }
    for o in outcomes {
        for (word, list) in [("refused", &o.refused), ("crashed", &o.crashed)] {
            for (name, reason) in list {
                let _ = writeln!(out, "\n{word} on {}: `{name}`: {reason}", o.chip.name);
            }
        }
    }
    out
}

fn json(o: &Outcome) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\t', '\r'], " "));
    let rules: Vec<String> = o.unsupported.iter().map(|(code, rule)| format!("\"{code}\": {}", rule.count)).collect();
    let mut out = format!(
        "{{\"chip\": \"{}\", \"cases\": {}, \"accepted\": {}, \"unsupported\": {{{}}}, \"refused\": {}, \"crashed\": {}}}\n",
        o.chip.name,
        o.cases,
        o.accepted,
        rules.join(", "),
        o.refused.len(),
        o.crashed.len()
    );
    for (word, list) in [("refused", &o.refused), ("crashed", &o.crashed)] {
        for (name, reason) in list {
            let (name, reason) = (quoted(name), quoted(reason));
            let _ =
                writeln!(out, "{{\"chip\": \"{}\", \"case\": {name}, \"verdict\": \"{word}\", \"reason\": {reason}}}", o.chip.name);
        }
    }
    out
}

fn write_document(part: &str, table: &str) -> Result<(), String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/agreement.md");
    let problem = |what: &str| format!("{}: {what}", path.display());
    let document = std::fs::read_to_string(&path).map_err(|e| problem(&e.to_string()))?;
    let start = format!("<!-- generated: {part} -->\n");
    let (before, rest) = document.split_once(&start).ok_or_else(|| problem("no generated part"))?;
    let (_, after) = rest.split_once("<!-- end -->").ok_or_else(|| problem("no end of the generated part"))?;
    std::fs::write(&path, format!("{before}{start}\n{table}\n<!-- end -->{after}")).map_err(|e| problem(&e.to_string()))
}
