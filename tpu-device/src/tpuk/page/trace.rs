//! The predicted timeline as a trace that Chrome's `about:tracing` and Perfetto open.
//!
//! Rules: the trace-event format, as JSON: a process for the core, a thread for each row of a lane, a complete event for
//! each span, a counter of copies under way. Times are whole nanoseconds at the chip's clock, given in microseconds as the
//! format has them, rounded down at both ends, so that spans which do not overlap in cycles do not overlap here; the exact
//! cycles are arguments of the event. Events are in the order of time.

use super::super::inspection::Inspection;
use super::lanes::{Lane, indices, lanes};
use serde_json::{Map, Value, json};
use tpu_kernel::predict::{Prediction, Span, Unit};

/// The only process: a prediction is of one core.
const CORE: u32 = 1;

/// The trace, or why there is none: the kernel has no prediction.
///
/// # Errors
/// The reason that [`Inspection::prediction`] gives.
pub fn trace(inspection: &Inspection) -> Result<String, String> {
    let prediction = inspection.prediction.as_ref().map_err(Clone::clone)?;
    let mut events = vec![
        named("process_name", 0, json!({ "name": format!("{} core 0 (predicted)", inspection.chip.name) })),
        named("process_labels", 0, json!({ "labels": format!("{}, predicted, not measured", inspection.kernel) })),
    ];
    let mut timed: Vec<(u64, u32, Value)> = vec![];
    let mut thread = 0;
    for rows in lanes(inspection, prediction, u64::MAX) {
        for (at, row) in rows.rows.iter().enumerate() {
            thread += 1;
            let name = rows.lane.name();
            let name = if at == 0 { name.to_string() } else { format!("{name} {}", at + 1) };
            events.push(named("thread_name", thread, json!({ "name": name })));
            events.push(named("thread_sort_index", thread, json!({ "sort_index": thread })));
            for span in row {
                let (from, event) = complete(inspection, rows.lane, span, thread);
                timed.push((from, thread, event));
            }
        }
    }
    timed.extend(counters(inspection, prediction).into_iter().map(|(at, event)| (at, u32::MAX, event)));
    timed.sort_by_key(|&(at, thread, _)| (at, thread));
    events.extend(timed.into_iter().map(|(_, _, event)| event));
    let trace = json!({
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": about(inspection, prediction),
    });
    Ok(format!("{trace}\n"))
}

/// Nanoseconds from the launch to a cycle.
fn nanoseconds(inspection: &Inspection, cycle: u64) -> u64 {
    let ns = u128::from(cycle) * 1000 / u128::from(inspection.chip.clock_mhz.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX)
}

fn microseconds(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

fn named(kind: &str, thread: u32, args: Value) -> Value {
    json!({ "ph": "M", "name": kind, "pid": CORE, "tid": thread, "args": args })
}

fn complete(inspection: &Inspection, lane: Lane, span: &Span, thread: u32) -> (u64, Value) {
    let (from, to) = (nanoseconds(inspection, span.start), nanoseconds(inspection, span.end));
    let mut args = Map::new();
    args.insert("step".into(), span.step.into());
    for (name, index) in indices(inspection, span.step) {
        args.insert(format!("grid {name}"), index.into());
    }
    if let Some(buffer) = span.buffer {
        args.insert("buffer".into(), buffer.into());
    }
    args.insert("first cycle".into(), span.start.into());
    args.insert("cycles".into(), (span.end - span.start).into());
    let event = json!({
        "ph": "X",
        "name": span.what,
        "cat": lane.unit().name(),
        "pid": CORE,
        "tid": thread,
        "ts": microseconds(from),
        "dur": microseconds(to - from),
        "args": args,
    });
    (from, event)
}

/// How many copies are under way, each time that the number changes.
fn counters(inspection: &Inspection, prediction: &Prediction) -> Vec<(u64, Value)> {
    let copies = prediction.steps.iter().filter(|span| span.unit == Unit::Dma && span.start < span.end);
    let mut changes: Vec<(u64, i64)> = copies.flat_map(|span| [(span.start, 1), (span.end, -1)]).collect();
    changes.sort_unstable();
    let mut now = 0;
    let mut events: Vec<(u64, Value)> = vec![];
    for (at, group) in changes.chunk_by(|a, b| a.0 == b.0).filter_map(|group| Some((group.first()?.0, group))) {
        let change: i64 = group.iter().map(|&(_, change)| change).sum();
        if change != 0 {
            now += change;
            let ns = nanoseconds(inspection, at);
            let event = json!({
                "ph": "C", "name": "copies under way", "pid": CORE, "tid": 0, "ts": microseconds(ns), "args": { "copies": now },
            });
            events.push((ns, event));
        }
    }
    events
}

fn about(inspection: &Inspection, prediction: &Prediction) -> Value {
    let pairs =
        |all: &[(String, String)]| Value::from_iter(all.iter().map(|(name, value)| (name.clone(), Value::from(value.clone()))));
    let sizes = Value::from_iter(inspection.sizes.iter().map(|(name, n)| (name.clone(), Value::from(*n))));
    json!({
        "kernel": inspection.kernel,
        "path": inspection.path,
        "chip": inspection.chip.name,
        "config": pairs(&inspection.config),
        "sizes": sizes,
        "predicted_cycles": prediction.cycles,
        "clock_mhz": inspection.chip.clock_mhz,
        "grid_steps": prediction.grid_steps,
        "note": "predicted by a model, not measured",
    })
}
