//! Copies of whole memories and of parts. Operands in scalar memory have no counterpart; f16 and bool move as other types.

use super::Row;
use super::meaning::{Meaning, Sign, dims, dtypes};
use tpu_kernel::ir::{DType, parse};
use tpu_kernel::launch::Config;

pub(super) fn meanings(row: &Row) -> Vec<Meaning> {
    let moved = |d: &DType| !matches!(d, DType::F16 | DType::Bool);
    let types = dtypes(row.ty, Sign::Either);
    types.iter().filter(|d| moved(d)).filter_map(|&dtype| meaning(row, dtype)).collect()
}

/// A memory that is copied from or to.
#[derive(Clone)]
struct End {
    /// Whether it is the array where it lies, and not a window on all of it.
    array: bool,
    shape: Vec<usize>,
    /// Where the part begins, of what size it is, and which dimension it lacks.
    part: Option<(Vec<String>, Vec<usize>, Option<usize>)>,
}

fn whole(array: bool, shape: &[usize]) -> End {
    End { array, shape: shape.to_vec(), part: None }
}

fn part(array: bool, shape: &[usize], starts: &[String], size: &[usize]) -> End {
    End { part: Some((starts.to_vec(), size.to_vec(), None)), ..whole(array, shape) }
}

fn squeezed(mut end: End) -> End {
    if let Some((_, _, axis)) = &mut end.part {
        *axis = Some(0);
    }
    end
}

fn meaning(row: &Row, dtype: DType) -> Option<Meaning> {
    let shape = dims(row.shape)?;
    let number = |text: &str| text.parse::<usize>().ok();
    let constants = |list: &[usize]| list.iter().map(usize::to_string).collect::<Vec<_>>();
    let by = |n: usize| format!("*{n}");
    let zero = "0".to_string();
    let large = [64, 512];
    let (source, target, rows) = match (row.op, row.extra) {
        ("any->vmem" | "hbm->vmem", "whole") => (whole(true, &shape), whole(false, &shape), None),
        ("vmem->any", "whole") => (whole(false, &shape), whole(true, &shape), None),
        ("any->any" | "hbm->hbm", "whole") => (whole(true, &shape), whole(true, &shape), None),
        ("vmem->vmem", "whole") => (whole(false, &shape), whole(false, &shape), None),
        ("any slice->vmem", "dynamic leading index, squeezed") => {
            let from = part(true, &[6, 8, 128], &[by(1), zero.clone(), zero], &[1, 8, 128]);
            (squeezed(from), whole(false, &shape), None)
        }
        ("any slice->vmem", "one row squeezed to 1-D") => {
            let from = part(true, &[64, 128], &["3".to_string(), zero], &[1, 128]);
            (squeezed(from), whole(false, &shape), None)
        }
        ("any slice->vmem", extra) => {
            let from = if let Some(multiple) = extra.strip_prefix("dynamic row multiple ") {
                part(true, &large, &[by(number(multiple)?), zero], &shape)
            } else if let Some(multiple) = extra.strip_prefix("dynamic column multiple ") {
                part(true, &large, &[zero, by(number(multiple)?)], &shape)
            } else {
                let (at, of) = extra.strip_prefix("static offset ")?.split_once(" of ")?;
                let at: Vec<usize> = at.split(',').map(number).collect::<Option<_>>()?;
                part(true, &dims(of)?, &constants(&at), &shape)
            };
            (from, whole(false, &shape), None)
        }
        ("vmem->any slice", extra) => {
            let (at, of) = extra.strip_prefix("static offset ")?.split_once(" of ")?;
            let at: Vec<usize> = at.split(',').map(number).collect::<Option<_>>()?;
            (whole(false, &shape), part(true, &dims(of)?, &constants(&at), &shape), None)
        }
        ("any->vmem slice", extra) => {
            let row = number(extra.strip_prefix("static row ")?.strip_suffix(" of 64x128")?)?;
            (whole(true, &shape), part(false, &[64, 128], &constants(&[row, 0]), &shape), None)
        }
        ("dynamic size", extra) => {
            let multiple = number(extra.strip_prefix("rows multiple ")?)?;
            (whole(true, &shape), whole(false, &shape), Some(by(multiple)))
        }
        _ => return None,
    };
    let text = text(dtype, &source, &target, rows.as_deref());
    let kernel = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    Some(Meaning { kernel, inputs: vec![(dtype, source.shape)], spelled: None, config: Config::default() })
}

fn text(dtype: DType, source: &End, target: &End, rows: Option<&str>) -> String {
    let mut body = String::new();
    let mut count = 0;
    // A number, or the launch's times one.
    let mut number = |start: &str, body: &mut String| {
        count += 1;
        let (by, dynamic) = start.strip_prefix('*').map_or((start, false), |by| (by, true));
        *body += &format!("    %c{count} = const {by} : i32\n");
        if dynamic {
            *body += &format!("    %t{count} = mul %n, %c{count} : i32\n");
        }
        format!("%{}{count}", if dynamic { "t" } else { "c" })
    };
    let typed = |shape: &[usize]| format!("{}{dtype}", shape.iter().map(|n| format!("{n}x")).collect::<String>());
    let mut ends = vec![];
    for (name, end) in [("x", source), ("o", target)] {
        let space = if end.array { "hbm" } else { "vmem" };
        // A window has a static shape, and so must what it is copied from or to.
        let whole = (vec!["0".to_string(); end.shape.len()], end.shape.clone(), None);
        let Some((starts, size, axis)) = end.part.clone().or((end.array && source.array != target.array).then_some(whole)) else {
            ends.push(format!("%{name}"));
            continue;
        };
        let starts: Vec<String> = starts.iter().map(|s| number(s, &mut body)).collect();
        body += &format!("    %{name}1 = view %{name}[{}] : {space}<{}>\n", starts.join(", "), typed(&size));
        ends.push(format!("%{name}1"));
        if axis.is_some() {
            body += &format!("    %{name}2 = view_squeezed %{name}1 axes [0] : {space}<{}>\n", typed(&size[1..]));
            ends.pop();
            ends.push(format!("%{name}2"));
        }
    }
    let rows = rows.map_or(String::new(), |rows| format!(", {}", number(rows, &mut body)));
    let operand = |name: &str, role: &str, end: &End| {
        let shape = end.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let rank = end.shape.len();
        match end.array {
            true => format!("  {role} %{name}: hbm<{}{dtype}> = [{shape}]\n", "?x".repeat(rank)),
            false => format!(
                "  {role} %{name}: vmem<{}> = [{shape}] blocks [{shape}] at () {{\n    %z{name} = const 0 : i32\n    yield {}\n  }}\n",
                typed(&end.shape),
                vec![format!("%z{name}"); rank].join(", ")
            ),
        }
    };
    let ends = ends.join(", ");
    format!(
        "kernel @recorded() {{\n  scalar %n: i32\n{}{}  scratch %sem: semaphore<dma>\n  body {{\n{body}    dma_start {ends}, %sem{rows}\n    dma_wait {ends}, %sem{rows}\n  }}\n}}\n",
        operand("x", "in", source),
        operand("o", "out", target),
    )
}
