//! The command line itself: subcommands, options, and what they have in common.
//!
//! Rules: every array size that a registered kernel names is an option of its own, `--m 512`, unless the word is taken;
//! block sizes, element types and the rest go through `--config`, which takes sizes too. What would have no effect is
//! refused: a name that is set twice, an option that the others leave nothing to do.

use super::case::{self, Settings};
use super::catalogue::{Catalogue, Entry};
use super::failure::{EXIT_CODES, Failure};
use super::names::{Sought, ambiguous, hint, seek};
use super::output::Ends;
use super::progress::Progress;
use super::value;
use clap::builder::PossibleValuesParser;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tpu_kernel::chips::Chip;

/// What `--chip` takes for every chip.
const ALL: &str = "all";

/// The prefix of the identifiers of the options that are sizes.
const SIZE: &str = "size:";

/// What `tpuk verify --help` says.
const VERIFY: &str = "\
Ask Google's TPU compiler, libtpu, what it says to kernels. No TPU is needed.

Verdicts: `accepted`; `unsupported`, where we refuse the kernel for the chip before libtpu sees it; `refused`, with libtpu's
reason at the line of the kernel; `crashed`. Every registered configuration is asked about. Cycles that libtpu estimates and
that our model predicts are both models, not measurements.

libtpu is not part of this program. It is Google's, under Google's own licence, and loaded at run time from where you
installed it: `pip install libtpu==0.0.50.1`.";

/// The whole command line, for the kernels of a catalogue.
pub(super) fn command(catalogue: &Catalogue) -> Command {
    let sub = |name: &'static str, about: &'static str| common(Command::new(name).about(about));
    let kernels = |help: &'static str| Arg::new("kernel").value_name("KERNEL").num_args(0..).help(help);
    let named = "The kernels, by name";
    let file = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("FILE").value_parser(value_parser!(PathBuf)).help(help)
    };
    let number = |name: &'static str, least: u64, most: u64, help: &'static str| {
        let parse = move |text: &str| value::whole(text, least, most, "it");
        Arg::new(name).long(name).value_name("N").allow_negative_numbers(true).value_parser(parse).help(help)
    };
    let seed = || number("seed", 0, u64::MAX, "The seed of the random arrays").default_value("0");
    let every = || {
        let help = "Take every registered configuration and element type, not only the first";
        Arg::new("every").long("every").action(ArgAction::SetTrue).help(help)
    };
    let list = sub("list", "List the registered kernels").arg(kernels("The kernels, by name; all unless named"));
    let run = sub("run", "Run kernels on random or given arrays, and compare with their references")
        .arg(kernels(named))
        .arg(every())
        .arg(file("input", "A safetensors file with an array for each input, by the name of the operand"))
        .arg(file("output", "Write the outputs to a safetensors file"))
        .arg(
            Arg::new("executor")
                .long("executor")
                .value_name("NAME")
                .value_parser(["cranelift", "interpreter"])
                .ignore_case(true)
                .default_value("cranelift")
                .help("What runs the kernel"),
        )
        .arg(seed());
    let inspect = sub("inspect", "Show a kernel: grid, windows, memory, its IR, which chips take it, predicted cycles")
        .arg(kernels(named))
        .arg(every())
        .arg(file("html", "Write a page: timeline, memory, roofline, all in one file"))
        .arg(file("trace", "Write the predicted timeline for Chrome's or Perfetto's viewer of traces"));
    let check = sub("check", "Run kernels with every check: uninitialised memory, races, outputs that are not written or shared")
        .arg(kernels(named))
        .arg(every())
        .arg(
            number("seeds", 1, 1_000_000, "How many seeds: each draws the orders that the semantics leave open")
                .default_value("20"),
        )
        .arg(number("seed", 0, u64::MAX, "The first of them: with `--seeds 1` one that was reported").default_value("0"));
    let emit = sub("emit", "Print a kernel in another form: tpuir, clif, asm, mosaic or stablehlo")
        .arg(
            Arg::new("kernel")
                .value_name("FORM KERNEL")
                .num_args(0..)
                .help("The form (tpuir, clif, asm, mosaic, stablehlo) and the kernels, in any order"),
        )
        .arg(
            Arg::new("form")
                .long("form")
                .alias("format")
                .value_name("FORM")
                .value_parser(super::emit::Form::NAMES)
                .ignore_case(true)
                .help("The form"),
        )
        .arg(
            Arg::new("stage")
                .long("stage")
                .value_name("STAGE")
                .value_parser(super::emit::STAGES)
                .ignore_case(true)
                .default_value("canonical")
                .help("tpuir: as recorded, as executors take it, or in operations that the chip has"),
        )
        .arg(every())
        .arg(file("output", "Write to a file"));
    let verify = sub("verify", "Ask Google's TPU compiler, libtpu, what it says to kernels")
        .long_about(VERIFY)
        .arg(kernels("The kernels, by name; all unless named"))
        .arg(file("libtpu", "The compiler; else LIBTPU_PATH, else what the active Python environment has"))
        .arg(number("jobs", 1, 1024, "Compilations at once; by default one for each processor"))
        .arg(number("limit", 1, 1_000_000, "Seconds that one compilation may take; by default 120"))
        .arg(Arg::new("no-estimates").long("no-estimates").action(ArgAction::SetTrue).help("Do not ask libtpu for cycles"));
    let bench = sub("bench", "Measure kernels against the limit of this machine, and against other programs")
        .arg(kernels("The kernels, by name; all that have a row unless named"))
        .arg(number("rounds", 1, 1_000_000, "How often each is measured; the least time counts").default_value("7"))
        .arg(seed());
    Command::new("tpuk")
        .about("Kernels for TPUs on a machine without one: run, look at, print and measure those that this program registers")
        .after_help(EXIT_CODES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands([list, run, check, inspect, emit, verify, bench].map(|command| with_sizes(command, catalogue)))
}

/// The options that every subcommand has.
fn common(command: Command) -> Command {
    let chips = Chip::ALL.iter().map(|chip| chip.name).chain([ALL]);
    let (local, most) = match command.get_name() {
        "list" => (ALL, "Only what that chip takes"),
        "verify" => (ALL, "The chip"),
        _ => ("v5e", "The chip"),
    };
    command
        .after_help(EXIT_CODES)
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("One JSON object on one line for each result"))
        .arg(
            Arg::new("chip")
                .long("chip")
                .value_name("NAME")
                .value_parser(PossibleValuesParser::new(chips))
                .ignore_case(true)
                .default_value(local)
                .help(most),
        )
        .arg(
            Arg::new("config")
                .long("config")
                .value_name("K=V,…")
                .action(ArgAction::Append)
                .help("Block sizes, element types, precision, sizes and scalars by name: bm=128,t=bf16,precision=highest"),
        )
        .arg(Arg::new("all").long("all").action(ArgAction::SetTrue).help("Take every registered kernel"))
        .arg(
            Arg::new("size")
                .long("size")
                .alias("sizes")
                .value_name("K=V,…")
                .action(ArgAction::Append)
                .help("Sizes of arrays by name: m=512,k=256"),
        )
}

/// An option for each size that a kernel names, unless another option has the word.
fn with_sizes(command: Command, catalogue: &Catalogue) -> Command {
    let aliases = |arg: &Arg| arg.get_all_aliases().unwrap_or_default().into_iter().map(String::from).collect::<Vec<_>>();
    let words = |arg: &Arg| arg.get_long().map(String::from).into_iter().chain(aliases(arg)).collect::<Vec<_>>();
    let taken: Vec<String> = command.get_arguments().flat_map(words).chain(["help".to_string()]).collect();
    let mut sizes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for entry in catalogue.entries() {
        for size in case::size_names(entry) {
            sizes.entry(size).or_default().push(&entry.name);
        }
    }
    let fits = |name: &str| !taken.iter().any(|word| word == name) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let option = |(name, kernels): (String, Vec<&str>)| {
        let help = format!("Size `{name}` of {}", few(&kernels));
        Arg::new(format!("{SIZE}{name}"))
            .long(name)
            .value_name("N")
            .action(ArgAction::Append)
            .allow_negative_numbers(true)
            .help_heading("Sizes of arrays")
            .help(help)
    };
    command.args(sizes.into_iter().filter(|(name, _)| fits(name)).map(option))
}

/// Names for a line of help.
fn few(names: &[&str]) -> String {
    match names {
        [first, second, third, _, rest @ ..] if !rest.is_empty() => {
            format!("{first}, {second}, {third} and {} more", rest.len() + 1)
        }
        _ => names.join(", "),
    }
}

/// Whether the user gave the option, and not its default.
pub(super) fn is_given(matches: &ArgMatches, option: &str) -> bool {
    matches.value_source(option) == Some(ValueSource::CommandLine)
}

/// What the options that all subcommands share came to.
pub(super) struct Common<'a> {
    pub(super) entries: Vec<&'a Entry>,
    pub(super) chips: Vec<&'static Chip>,
    pub(super) settings: Settings,
    pub(super) json: bool,
}

impl<'a> Common<'a> {
    /// The kernels of these names; where none is named, all of `otherwise`, or the user's mistake.
    pub(super) fn of(
        catalogue: &'a Catalogue,
        matches: &ArgMatches,
        names: &[String],
        otherwise: Option<&dyn Fn(&Entry) -> bool>,
    ) -> Result<Common<'a>, Failure> {
        let entries = select(catalogue, names, matches.get_flag("all"), otherwise)?;
        let given = given(matches)?;
        for setting in &given {
            if !entries.iter().any(|entry| case::knows(entry, &setting.name)) {
                return Err(case::unknown(&entries, &setting.name));
            }
        }
        for entry in &entries {
            once(entry, &given)?;
        }
        let settings = given.into_iter().map(|setting| (setting.name, setting.value)).collect();
        let chip = matches.get_one::<String>("chip").map_or(ALL, String::as_str);
        let chips = Chip::ALL.iter().filter(|c| chip.eq_ignore_ascii_case(ALL) || chip.eq_ignore_ascii_case(c.name)).collect();
        Ok(Common { entries, chips, settings, json: matches.get_flag("json") })
    }

    /// What was set of what a kernel has: with several kernels, a name goes to those that have it.
    pub(super) fn settings_of(&self, entry: &Entry) -> Settings {
        self.settings.iter().filter(|(name, _)| case::knows(entry, name)).cloned().collect()
    }

    /// The cases of a kernel: every one, or the first.
    pub(super) fn cases(&self, entry: &'a Entry, every: bool) -> Result<Vec<case::Case<'a>>, Failure> {
        let mut cases = case::cases(entry, &self.settings_of(entry))?;
        if !every {
            cases.truncate(1);
        }
        Ok(cases)
    }

    /// The cases of every kernel.
    pub(super) fn all_cases(&self, every: bool, ends: &mut Ends) -> Result<Vec<case::Case<'a>>, Failure> {
        let progress = Progress::new(0);
        let mut all = vec![];
        for entry in &self.entries {
            all.extend(ends.take(&progress, self.cases(entry, every))?.into_iter().flatten());
        }
        Ok(all)
    }
}

/// The words beside the options.
pub(super) fn words(matches: &ArgMatches) -> Vec<String> {
    matches.get_many::<String>("kernel").into_iter().flatten().cloned().collect()
}

fn select<'a>(
    catalogue: &'a Catalogue,
    names: &[String],
    all: bool,
    otherwise: Option<&dyn Fn(&Entry) -> bool>,
) -> Result<Vec<&'a Entry>, Failure> {
    let known = || catalogue.entries().iter().map(|entry| entry.name.as_str());
    let list = || known().collect::<Vec<_>>().join(", ");
    let mut entries: Vec<&Entry> = vec![];
    for name in names {
        let entry = match seek(name, catalogue.entries(), |entry| &entry.name) {
            Sought::Found(entry) => entry,
            Sought::Several(several) => return Err(ambiguous(name, several.iter().map(|entry| entry.name.as_str()))),
            Sought::Unknown => {
                let hint = hint(name, known());
                return Err(Failure::usage(format!("no kernel is called `{name}`{hint}\n  kernels: {}", list())));
            }
        };
        if !entries.iter().any(|e| e.name == entry.name) {
            entries.push(entry);
        }
    }
    match (names.is_empty(), all, otherwise) {
        (false, true, _) => Err(Failure::usage("name kernels or give `--all`, not both")),
        (false, false, _) => Ok(entries),
        (true, _, Some(takes)) => Ok(catalogue.entries().iter().filter(|entry| takes(entry)).collect()),
        (true, true, None) => Ok(catalogue.entries().iter().collect()),
        (true, false, None) => Err(Failure::usage(format!("name a kernel, or give `--all`\n  kernels: {}", list()))),
    }
}

/// `name=value`, and how it was given.
struct Given {
    name: String,
    value: String,
    words: String,
}

/// What `--config` and the sizes set; sizes after configurations.
fn given(matches: &ArgMatches) -> Result<Vec<Given>, Failure> {
    let mut all = vec![];
    for option in ["config", "size"] {
        for list in matches.get_many::<String>(option).into_iter().flatten() {
            for pair in list.split(',').map(str::trim) {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                let (name, value) = (name.trim(), value.trim());
                let words = format!("--{option} {pair}");
                match (pair.is_empty(), name.is_empty() || value.is_empty()) {
                    (true, _) if list.trim().is_empty() => return Err(Failure::usage(format!("`--{option}` is empty: {PAIRS}"))),
                    (true, _) => return Err(Failure::usage(format!("`--{option} {list}` has an empty part: {PAIRS}"))),
                    (_, true) => return Err(Failure::usage(format!("`{pair}` is no `name=value`"))),
                    _ => all.push(Given { name: name.to_string(), value: value.to_string(), words }),
                }
            }
        }
    }
    for id in matches.ids().filter(|id| id.as_str().starts_with(SIZE)) {
        let name = &id.as_str()[SIZE.len()..];
        for value in matches.get_many::<String>(id.as_str()).into_iter().flatten() {
            all.push(Given { name: name.to_string(), value: value.clone(), words: format!("--{name} {value}") });
        }
    }
    Ok(all)
}

const PAIRS: &str = "it takes `name=value`, with commas between several";

/// Refuses what sets one name of the kernel twice.
fn once(entry: &Entry, given: &[Given]) -> Result<(), Failure> {
    for (at, later) in given.iter().enumerate() {
        if let Some(earlier) = given.iter().take(at).find(|earlier| case::same(entry, &earlier.name, &later.name)) {
            let (one, other, name) = (&earlier.words, &later.words, &entry.name);
            return Err(Failure::usage(format!("`{one}` and `{other}` set the same of kernel `{name}`: leave one of them out")));
        }
    }
    Ok(())
}
