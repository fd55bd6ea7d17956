//! The trace of an inspection, against the format of trace events.

use serde_json::Value;
use std::collections::BTreeMap;
use tpu_device::tpuk::Inspection;
use tpu_device::tpuk::page::trace;
use tpu_kernel::predict::Unit;
use tpu_tests::pictured::{attention, extremes, inspect, matmul, softmax};

fn all() -> Vec<(&'static str, Inspection)> {
    let mut all = vec![("matmul", inspect(&matmul())), ("softmax", inspect(&softmax())), ("attention", inspect(&attention()))];
    all.extend(extremes());
    all.retain(|(_, inspection)| inspection.prediction.is_ok());
    all
}

fn read(inspection: &Inspection) -> Value {
    serde_json::from_str(&trace(inspection).unwrap()).unwrap()
}

fn events(trace: &Value) -> &[Value] {
    trace["traceEvents"].as_array().unwrap()
}

/// What the format asks of each kind of event.
#[test]
fn events_have_the_fields_of_the_format() {
    for (name, inspection) in all() {
        let trace = read(&inspection);
        assert_eq!(trace["displayTimeUnit"], "ns");
        assert_eq!(trace["otherData"]["kernel"], inspection.kernel);
        assert!(trace["otherData"]["note"].as_str().unwrap().contains("not measured"));
        for event in events(&trace) {
            let place = format!("{name}: {event}");
            assert!(event["name"].is_string() && event["pid"].is_u64() && event["tid"].is_u64(), "{place}");
            match event["ph"].as_str().unwrap() {
                "M" => {
                    let kind = event["name"].as_str().unwrap();
                    assert!(["process_name", "process_labels", "thread_name", "thread_sort_index"].contains(&kind), "{place}");
                    assert_eq!(event["args"].as_object().unwrap().len(), 1, "{place}");
                }
                "X" => {
                    assert!(event["ts"].as_f64().unwrap() >= 0.0 && event["dur"].as_f64().unwrap() >= 0.0, "{place}");
                    assert!(event["cat"].is_string() && event["args"]["cycles"].as_u64().unwrap() > 0, "{place}");
                }
                "C" => {
                    assert!(event["ts"].as_f64().unwrap() >= 0.0, "{place}");
                    assert!(event["args"].as_object().unwrap().values().all(Value::is_number), "{place}");
                }
                other => panic!("{other}: {place}"),
            }
        }
    }
}

/// Time runs forward, no two events of a thread overlap, each thread and the process have one name.
#[test]
fn threads_are_in_order() {
    for (name, inspection) in all() {
        let trace = read(&inspection);
        let mut now = 0.0;
        let mut ends: BTreeMap<u64, f64> = BTreeMap::new();
        let mut names: BTreeMap<u64, &str> = BTreeMap::new();
        for event in events(&trace) {
            let thread = event["tid"].as_u64().unwrap();
            if event["name"] == "thread_name" {
                assert!(names.insert(thread, event["args"]["name"].as_str().unwrap()).is_none(), "{name}");
            }
            let Some(ts) = event["ts"].as_f64() else { continue };
            assert!(ts >= now, "{name}: {event}");
            now = ts;
            if event["ph"] == "X" {
                // Three digits are exact enough: times are whole nanoseconds.
                let ns = |us: f64| (us * 1000.0).round();
                let end = ends.entry(thread).or_default();
                assert!(ns(ts) >= *end, "{name}: {event}");
                *end = ns(ts) + ns(event["dur"].as_f64().unwrap());
                assert!(names.contains_key(&thread), "{name}: {event}");
            }
        }
        let distinct: std::collections::BTreeSet<&&str> = names.values().collect();
        assert_eq!(distinct.len(), names.len(), "{name}: {names:?}");
        assert_eq!(events(&trace).iter().filter(|event| event["name"] == "process_name").count(), 1);
    }
}

/// Every span is an event, at its cycles, on a lane of its unit.
#[test]
fn every_span_is_there() {
    for (name, inspection) in all() {
        let prediction = inspection.prediction.as_ref().unwrap();
        let trace = read(&inspection);
        let mut spans: Vec<(u64, u64, u64, &str, &str)> =
            prediction.steps.iter().map(|s| (s.start, s.end - s.start, s.step, s.unit.name(), s.what.as_str())).collect();
        let mut found: Vec<(u64, u64, u64, &str, &str)> = events(&trace)
            .iter()
            .filter(|event| event["ph"] == "X")
            .map(|event| {
                let args = |key: &str| event["args"][key].as_u64().unwrap();
                (args("first cycle"), args("cycles"), args("step"), event["cat"].as_str().unwrap(), event["name"].as_str().unwrap())
            })
            .collect();
        spans.sort_unstable();
        found.sort_unstable();
        assert_eq!(spans, found, "{name}");
        let clock = f64::from(inspection.chip.clock_mhz);
        for event in events(&trace).iter().filter(|event| event["ph"] == "X") {
            let exact = event["args"]["first cycle"].as_f64().unwrap() / clock;
            let ts = event["ts"].as_f64().unwrap();
            assert!(ts <= exact + 1e-9 && ts > exact - 0.001, "{name}: {event}");
        }
    }
}

/// The counter says how many copies are under way, and ends at none.
#[test]
fn copies_are_counted() {
    for (name, inspection) in all() {
        let prediction = inspection.prediction.as_ref().unwrap();
        let trace = read(&inspection);
        let counts: Vec<u64> = events(&trace)
            .iter()
            .filter(|event| event["ph"] == "C")
            .map(|event| event["args"]["copies"].as_u64().unwrap())
            .collect();
        let copies: Vec<_> = prediction.steps.iter().filter(|span| span.unit == Unit::Dma).collect();
        assert_eq!(counts.last().copied().unwrap_or(0), 0, "{name}");
        let most = copies.iter().map(|at| copies.iter().filter(|c| c.start <= at.start && at.start < c.end).count() as u64).max();
        assert_eq!(counts.iter().max().copied(), most, "{name}");
    }
}

#[test]
fn without_a_prediction_there_is_a_reason() {
    let (_, refused) = extremes().into_iter().find(|(name, _)| *name == "refused").unwrap();
    assert_eq!(trace(&refused), Err("L010: the kernel needs 125 MiB of vector memory, v4 has 16 MiB".to_string()));
}
