//! What the legaliser calls native against what libtpu took, wherever both speak.
//!
//! Rules: what is native and is printed as a recorded kernel that libtpu refused, or died of, is a fault. What libtpu takes and
//! we lower or refuse is allowed and counted. How many verdicts are compared is fixed by group, so that none is lost unseen.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tpu_tests::legality::{Answer, CHIPS, Row, ask, meanings, rows};

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
            let answers = catch_unwind(AssertUnwindSafe(|| meanings.iter().map(|m| ask(m, chip, !taken)).collect::<Vec<Answer>>()));
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
    let table = table(&counts);
    println!("{table}");
    for (what, count) in &rest {
        println!("taken by libtpu, refused by us: {count} {what}");
    }
    let list: Vec<String> = faults.iter().map(|(what, chips)| format!("{what}: {}", chips.join(", "))).collect();
    assert!(faults.is_empty(), "{} kernels are printed that libtpu refuses:\n{}\n{table}", faults.len(), list.join("\n"));
}

fn kind(row: &Row) -> String {
    format!("{} | {} | {} | {} | {}", row.group, row.op, row.ty, row.shape, row.extra)
}

fn table(counts: &BTreeMap<&str, Count>) -> String {
    let mut lines = vec!["group | verdicts | compared | native | lowered | refused by us | refused by both".to_string()];
    let mut sum = Count::default();
    for (group, c) in counts {
        lines.push(format!("{group} | {} | {} | {} | {} | {} | {}", c.all, c.compared, c.native, c.lowered, c.refused, c.avoided));
        sum.all += c.all;
        sum.compared += c.compared;
    }
    lines.push(format!("{} of {} verdicts are compared", sum.compared, sum.all));
    lines.join("\n")
}
