//! An inspection as one JSON object.

use super::Inspection;
use serde_json::{Map, Value, json};
use tpu_kernel::predict::Prediction;

/// All that an inspection holds.
pub(super) fn object(inspection: &Inspection) -> Value {
    let Inspection { kernel, path, loc, config, sizes, chip, grid, windows, scalars, vmem, stages, legality, cost, prediction } =
        inspection;
    let pairs = |list: &[(String, String)]| Value::Object(list.iter().map(|(k, v)| (k.clone(), json!(v))).collect());
    json!({
        "kernel": kernel,
        "path": path,
        "line": loc.to_string(),
        "chip": chip.name,
        "config": pairs(config),
        "sizes": Value::Object(sizes.iter().map(|(k, v)| (k.clone(), json!(v))).collect::<Map<_, _>>()),
        "scalars": Value::Object(scalars.iter().map(|(k, v)| (k.clone(), json!(v.to_string()))).collect::<Map<_, _>>()),
        "grid": grid.iter().map(|dim| json!({
            "name": dim.name, "steps": dim.extent, "expression": dim.expression, "semantics": dim.semantics,
        })).collect::<Vec<_>>(),
        "windows": windows.iter().map(|w| json!({
            "name": w.name, "role": w.role, "dtype": w.dtype, "array": w.array, "array_expression": w.array_expression,
            "block": w.block, "index_map": w.index_map, "line": w.loc.to_string(),
        })).collect::<Vec<_>>(),
        "vmem": {
            "rows": vmem.iter().map(|row| json!({
                "name": row.name, "role": row.role, "dtype": row.dtype.name(), "shape": row.shape, "packed_bytes": row.packed,
                "padded_bytes": row.padded, "buffers": row.buffers, "bytes": row.bytes(),
            })).collect::<Vec<_>>(),
            "window_bytes": inspection.window_bytes(),
            "window_limit": chip.scoped_vmem_bytes,
            "bytes": inspection.vmem_bytes(),
            "limit": chip.vmem_bytes,
        },
        "stages": Value::Object(stages.iter().map(|stage| {
            let text = match &stage.text {
                Ok(text) => json!(text),
                Err(reason) => json!({"refused": reason}),
            };
            (stage.name.to_string(), text)
        }).collect::<Map<_, _>>()),
        "legality": legality.iter().map(|l| json!({
            "chip": l.chip,
            "legal": l.refused.is_none(),
            "code": l.refused.as_ref().map(|r| r.code),
            "reason": l.refused.as_ref().map(|r| r.reason.as_str()),
        })).collect::<Vec<_>>(),
        "cost": {"flops": cost.flops, "product_flops": cost.product_flops, "integer_flops": cost.integer_flops, "bytes": cost.bytes, "transcendentals": cost.transcendentals, "exact": cost.exact},
        "predicted_cycles": prediction.as_ref().ok().map(|p| p.cycles),
        "bottleneck": prediction.as_ref().ok().map(|p| p.bottleneck.to_string()),
        "prediction": prediction.as_ref().map_or_else(|reason| json!({"refused": reason}), predicted),
    })
}

fn predicted(prediction: &Prediction) -> Value {
    json!({
        "cycles": prediction.cycles,
        "bottleneck": prediction.bottleneck.to_string(),
        "bottleneck_cycles": prediction.bottleneck_cycles(),
        "units": Value::Object(prediction.units.iter().map(|(unit, busy)| (unit.to_string(), json!(busy))).collect::<Map<_, _>>()),
        "overheads": {
            "fill": prediction.overheads.fill, "drain": prediction.overheads.drain,
            "steps": prediction.overheads.steps, "waits": prediction.overheads.waits, "latency": prediction.overheads.latency,
        },
        "grid_steps": prediction.grid_steps,
        "roof": {
            "flops_per_cycle": prediction.roof.flops_per_cycle, "bytes_per_cycle": prediction.roof.bytes_per_cycle,
            "products": prediction.roof.products,
        },
        "timeline": prediction.steps.iter().map(|span| json!({
            "unit": span.unit.name(), "what": span.what, "start": span.start, "end": span.end, "step": span.step, "buffer": span.buffer,
        })).collect::<Vec<_>>(),
        "lints": prediction.lints.iter().map(|lint| json!({
            "rule": lint.rule, "what": lint.what, "why": lint.why, "help": lint.help, "gain_cycles": lint.gain, "line": lint.loc.to_string(),
        })).collect::<Vec<_>>(),
    })
}
