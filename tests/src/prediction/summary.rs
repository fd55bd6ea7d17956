//! How well predictions agree with estimates, in numbers.

use super::records::{CHIPS, Pair};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The kinds of kernels, in the order in which they are shown.
pub const CLASSES: [&str; 5] = ["matmul", "attention", "softmax", "norm", "elementwise"];

/// How many of some pairs are close.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Within a fifth.
    pub close: usize,
    /// All.
    pub all: usize,
}

impl Share {
    /// Of the pairs that `of` picks.
    pub fn of(pairs: &[Pair], of: impl Fn(&Pair) -> bool) -> Share {
        let picked: Vec<&Pair> = pairs.iter().filter(|p| of(p)).collect();
        Share { close: picked.iter().filter(|p| p.close()).count(), all: picked.len() }
    }

    /// Whether at least nine of ten are close.
    pub fn is_nine_tenths(&self) -> bool {
        self.close * 10 >= self.all * 9
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.close, self.all)
    }
}

/// A matrix product on a chip, with what libtpu estimates for its best tiling and for the one that is predicted to be best.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The chip's name.
    pub chip: &'static str,
    /// The product.
    pub problem: String,
    /// Tilings to choose from.
    pub tilings: usize,
    /// The least estimate.
    pub best: u64,
    /// The estimate of the tiling with the least prediction.
    pub chosen: u64,
}

/// Every matrix product of at least three tilings.
pub fn choices(pairs: &[Pair]) -> Vec<Choice> {
    let mut problems: BTreeMap<(&str, &str), Vec<&Pair>> = BTreeMap::new();
    for pair in pairs.iter().filter(|p| p.class == "matmul") {
        problems.entry((pair.chip.name, &pair.problem)).or_default().push(pair);
    }
    let choice = |((chip, problem), pairs): ((&'static str, &str), Vec<&Pair>)| {
        let best = pairs.iter().map(|p| p.estimated).min()?;
        let chosen = pairs.iter().min_by_key(|p| p.predicted.cycles)?.estimated;
        Some(Choice { chip, problem: problem.to_string(), tilings: pairs.len(), best, chosen })
    };
    problems.into_iter().filter(|(_, pairs)| pairs.len() >= 3).filter_map(choice).collect()
}

/// Tables of the agreement by kind of kernel and chip, in Markdown.
pub fn by_class(pairs: &[Pair]) -> String {
    let mut text = String::from("| kernels |");
    CHIPS.iter().for_each(|chip| text.push_str(&format!(" {} |", chip.name)));
    text.push_str(" all | worst |\n|---|");
    text.push_str(&"---|".repeat(CHIPS.len() + 2));
    text.push('\n');
    let mut row = |name: &str, of: &dyn Fn(&Pair) -> bool| {
        let mut cells: Vec<String> =
            CHIPS.iter().map(|chip| Share::of(pairs, |p| of(p) && p.chip.name == chip.name).to_string()).collect();
        cells.push(Share::of(pairs, of).to_string());
        let worst = pairs.iter().filter(|p| of(p)).map(Pair::ratio).max_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs()));
        cells.push(worst.map_or(String::new(), |ratio| format!("×{ratio:.2}")));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    };
    for class in CLASSES {
        row(class, &|p| p.class == class);
    }
    row("all", &|_| true);
    row("held out", &|p| p.held_out);
    let choices = choices(pairs);
    let good = choices.iter().filter(|c| c.chosen * 100 <= c.best * 105).count();
    let _ =
        writeln!(text, "\n{good} of {} matrix products: the tiling predicted to be best is within 5% of the best.", choices.len());
    text
}

/// A line for each pair.
pub fn by_point<'p>(pairs: impl IntoIterator<Item = &'p Pair>) -> String {
    let mut text = String::new();
    for pair in pairs {
        let units: Vec<String> = pair.predicted.units.iter().map(|(unit, cycles)| format!("{unit} {cycles}")).collect();
        let line = [
            pair.chip.name.to_string(),
            pair.class.to_string(),
            format!("{} {}", pair.problem, pair.tiling),
            pair.estimated.to_string(),
            pair.predicted.cycles.to_string(),
            format!("{:.3}", pair.ratio()),
            pair.predicted.bottleneck.to_string(),
            units.join(" "),
            format!("{:?} of {} steps", pair.predicted.overheads, pair.predicted.grid_steps),
            if pair.held_out { "held out" } else { "" }.to_string(),
        ];
        text.push_str(&line.join("\t"));
        text.push('\n');
    }
    text
}
