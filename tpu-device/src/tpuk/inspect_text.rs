//! An inspection as text for a terminal.

use super::Inspection;
use super::output::table;
use std::fmt::Write as _;
use tpu_kernel::predict::Prediction;

/// All that an inspection holds; of the stages, the IR that executors take and the one for the chip.
pub(super) fn text(inspection: &Inspection) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut out, inspection);
    out.trim_end().to_string()
}

fn write(out: &mut String, inspection: &Inspection) -> std::fmt::Result {
    let (chip, cost) = (&inspection.chip, inspection.cost);
    writeln!(out, "{} on {}  ({}, {})", inspection.kernel, chip.name, inspection.path, inspection.loc)?;
    let named = |list: Vec<String>| if list.is_empty() { "-".to_string() } else { list.join(", ") };
    writeln!(out, "  config   {}", named(inspection.config.iter().map(|(name, value)| format!("{name}={value}")).collect()))?;
    writeln!(out, "  sizes    {}", named(inspection.sizes.iter().map(|(name, value)| format!("{name}={value}")).collect()))?;
    if !inspection.scalars.is_empty() {
        writeln!(out, "  scalars  {}", named(inspection.scalars.iter().map(|(name, value)| format!("{name}={value}")).collect()))?;
    }
    writeln!(out, "\ngrid: {} step(s)", inspection.steps())?;
    let rows = inspection.grid.iter().map(|dim| {
        vec![format!("  {}", dim.name), dim.extent.to_string(), dim.semantics.to_string(), format!("= {}", dim.expression)]
    });
    section(out, rows.collect())?;
    writeln!(out, "\nwindows")?;
    let head = ["  operand", "", "array", "block", "at"].map(String::from).to_vec();
    let rows = inspection.windows.iter().map(|w| {
        let shape: Vec<String> = w.array_expression.iter().zip(&w.array).map(|(name, n)| expression(name, *n)).collect();
        vec![
            format!("  {}", w.name),
            w.role.to_string(),
            format!("{}[{}]", w.dtype, shape.join(", ")),
            format!("[{}]", w.block.join(", ")),
            format!("({})", w.index_map.join(", ")),
        ]
    });
    section(out, std::iter::once(head).chain(rows).collect())?;
    vmem(out, inspection)?;
    writeln!(
        out,
        "\narithmetic on whole blocks: {} operations ({} of matrix products, {} on integers and masks), {} functions; {} bytes moved",
        cost.flops, cost.product_flops, cost.integer_flops, cost.transcendentals, cost.bytes
    )?;
    writeln!(out, "\nlegality")?;
    let rows = inspection.legality.iter().map(|l| {
        let verdict =
            l.refused.as_ref().map_or("legal".to_string(), |r| format!("refused [{}]: {}", r.code, first_line(&r.reason)));
        vec![format!("  {}", l.chip), verdict]
    });
    section(out, rows.collect())?;
    match &inspection.prediction {
        Ok(prediction) => predicted(out, prediction)?,
        Err(reason) => writeln!(out, "\nprediction: none: {}", first_line(reason))?,
    }
    for stage in &inspection.stages {
        match &stage.text {
            Ok(text) => writeln!(out, "\n{}:\n{}", stage.name, text.trim_end())?,
            Err(reason) => writeln!(out, "\n{}: none: {}", stage.name, first_line(reason))?,
        }
    }
    Ok(())
}

fn vmem(out: &mut String, inspection: &Inspection) -> std::fmt::Result {
    let chip = &inspection.chip;
    writeln!(out, "\nvector memory, bytes")?;
    let mut rows = vec![["  operand", "", "block", "elements", "padded", "buffers", "in all"].map(String::from).to_vec()];
    rows.extend(inspection.vmem.iter().map(|row| {
        let shape: String = row.shape.iter().map(|d| format!("{d}x")).collect();
        vec![
            format!("  {}", row.name),
            row.role.to_string(),
            format!("{shape}{}", row.dtype),
            row.packed.to_string(),
            row.padded.to_string(),
            row.buffers.to_string(),
            row.bytes().to_string(),
        ]
    }));
    section(out, rows)?;
    let (windows, all) = (inspection.window_bytes(), inspection.vmem_bytes());
    writeln!(
        out,
        "  windows {windows} of {} ({}), all {all} of {} ({})",
        chip.scoped_vmem_bytes,
        share(windows, chip.scoped_vmem_bytes),
        chip.vmem_bytes,
        share(all, chip.vmem_bytes)
    )
}

fn predicted(out: &mut String, prediction: &Prediction) -> std::fmt::Result {
    let cycles = prediction.cycles;
    let (bottleneck, most) = (prediction.bottleneck, share(prediction.bottleneck_cycles(), cycles));
    writeln!(out, "\nprediction (a model, not a measurement): {cycles} cycles, bottleneck {bottleneck} ({most})")?;
    let rows = prediction.units.iter().filter(|(_, busy)| *busy > 0);
    section(out, rows.map(|(unit, busy)| vec![format!("  {unit}"), format!("{busy} cycles"), share(busy, cycles)]).collect())?;
    let overheads = prediction.overheads;
    writeln!(
        out,
        "  overheads: fill {}, drain {}, steps {}, waits for copies {}, waits for results {}",
        overheads.fill, overheads.drain, overheads.steps, overheads.waits, overheads.latency
    )?;
    for lint in &prediction.lints {
        let gain = if lint.gain > 0 { format!(" (predicted gain: up to {} cycles)", lint.gain) } else { String::new() };
        writeln!(out, "  {}: {}{gain}\n    {}\n    help: {}\n    {}", lint.rule, lint.what, lint.why, lint.help, lint.loc)?;
    }
    Ok(())
}

fn section(out: &mut String, rows: Vec<Vec<String>>) -> std::fmt::Result {
    if rows.is_empty() { Ok(()) } else { writeln!(out, "{}", table(&rows)) }
}

/// `m = 512`; a number is itself.
fn expression(text: &str, value: usize) -> String {
    if text == value.to_string() { text.to_string() } else { format!("{text} = {value}") }
}

fn share(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_string() } else { format!("{:.0}%", 100.0 * part as f64 / whole as f64) }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
