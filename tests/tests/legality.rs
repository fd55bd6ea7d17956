//! What the legaliser calls native against what libtpu took, wherever both speak.
//!
//! Rules: what is native and is printed as a recorded kernel that libtpu refused, or died of, is a fault. What libtpu takes and
//! we lower or refuse is allowed and counted. How many verdicts are compared is fixed by group, so that none is lost unseen.

use std::collections::BTreeMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tpu_kernel::chips::Chip;
use tpu_tests::legality::{Answer, CHIPS, Meaning, Row, ask, meanings, rows};

/// How many verdicts of each group are compared.
const COMPARED: [(&str, usize); 23] = [
    ("argreduce", 1350),
    ("broadcast", 1865),
    ("cast", 8400),
    ("compare", 350),
    ("concat", 1125),
    ("control", 1930),
    ("dma", 8320),
    ("dynindex", 4830),
    ("elementwise", 2330),
    ("elementwise_shapes", 1840),
    ("gather", 765),
    ("iota", 160),
    ("limits", 410),
    ("loadstore", 11290),
    ("matmul", 5000),
    ("misc", 615),
    ("reduce", 4195),
    ("reshape", 4530),
    ("roll", 1845),
    ("scalar", 1885),
    ("slice", 1080),
    ("transpose", 2400),
    ("window", 5005),
];

#[derive(Clone, Copy, Default, Debug)]
struct Count {
    /// Verdicts, and those of kernels that the IR can say.
    all: usize,
    compared: usize,
    /// libtpu takes it: native, lowered, refused by us.
    native: usize,
    lowered: usize,
    refused: usize,
    /// libtpu refuses it, and we do not print it.
    avoided: usize,
}

#[test]
fn the_table_agrees_with_what_was_recorded() {
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    let mut faults: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut rest: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows() {
        let count = counts.entry(row.group).or_default();
        let meanings = meanings(&row);
        for (&chip, verdict) in CHIPS.iter().zip(row.verdicts) {
            if verdict == '-' {
                continue;
            }
            count.all += 1;
            if meanings.is_empty() {
                continue;
            }
            count.compared += 1;
            let taken = verdict == 'a';
            let answers = catch_unwind(AssertUnwindSafe(|| answers(&meanings, chip, taken)));
            let Ok(answers) = answers else {
                faults.entry(kind(&row)).or_default().push(format!("{} {verdict}, we panic", chip.name));
                continue;
            };
            let native = answers.contains(&Answer::Native);
            match (taken, native) {
                (true, true) => count.native += 1,
                (false, false) => count.avoided += 1,
                (false, true) => faults.entry(kind(&row)).or_default().push(format!("{} {verdict}", chip.name)),
                (true, false) => {
                    if let Some(Answer::Refused(code)) = answers.iter().find(|a| matches!(a, Answer::Refused(_))) {
                        count.refused += 1;
                        *rest.entry(format!("{} {} {code}", row.group, row.op)).or_default() += 1;
                    } else {
                        count.lowered += 1;
                    }
                }
            }
        }
    }
    let table = table(&counts, &rest);
    let list: Vec<String> = faults.iter().map(|(what, chips)| format!("{what}: {}", chips.join(", "))).collect();
    assert!(faults.is_empty(), "{} kernels are printed that libtpu refuses:\n{}\n{table}", faults.len(), list.join("\n"));
    let compared: Vec<(&str, usize)> = counts.iter().map(|(group, c)| (*group, c.compared)).filter(|(_, n)| *n > 0).collect();
    assert_eq!(compared, COMPARED, "{table}");
    // What libtpu takes is ours to use: a table that denies everything would agree too.
    let sum = |f: fn(&Count) -> usize| counts.values().map(f).sum::<usize>();
    let (native, lowered, refused) = (sum(|c| c.native), sum(|c| c.lowered), sum(|c| c.refused));
    assert!(native * 100 > 80 * (native + lowered + refused), "few of what libtpu takes is native\n{table}");
    assert!(refused * 100 < 3 * (native + lowered + refused), "much of what libtpu takes is refused\n{table}");
    // Past the test harness, which keeps what passing tests print.
    let _ = writeln!(std::io::stderr(), "{table}");
}

/// What is said of each meaning, up to the first that is native.
fn answers(meanings: &[Meaning], chip: &Chip, taken: bool) -> Vec<Answer> {
    let mut answers = vec![];
    for meaning in meanings {
        answers.push(ask(meaning, chip, !taken));
        if answers.ends_with(&[Answer::Native]) {
            break;
        }
    }
    answers
}

fn kind(row: &Row) -> String {
    format!("{} | {} | {} | {} | {}", row.group, row.op, row.ty, row.shape, row.extra)
}

/// A line a group, and what libtpu takes and we refuse, by operation and code.
fn table(counts: &BTreeMap<&str, Count>, rest: &BTreeMap<String, usize>) -> String {
    let mut lines = vec!["group | verdicts | compared | native | lowered | refused by us | refused by both".to_string()];
    let mut sum = Count::default();
    for (group, c) in counts {
        lines.push(format!("{group} | {} | {} | {} | {} | {} | {}", c.all, c.compared, c.native, c.lowered, c.refused, c.avoided));
        sum.all += c.all;
        sum.compared += c.compared;
    }
    lines.extend(rest.iter().map(|(what, count)| format!("refused by us though libtpu takes it: {count} {what}")));
    lines.push(format!("{} of {} verdicts are compared", sum.compared, sum.all));
    lines.join("\n")
}
