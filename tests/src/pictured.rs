//! Inspections made by hand, for the page and the trace: the kernels are sketches, and the pipeline is a simple one of two
//! buffers, so that every form of a picture can be had whatever the model predicts.

use tpu_device::tpuk::Inspection;
use tpu_device::tpuk::inspection::{GridRow, Legality, Refusal, Stage, WindowRow};
use tpu_kernel::chips::{Chip, LANES, SUBLANES};
use tpu_kernel::ir::{DType, Loc};
use tpu_kernel::launch::{Cost, VmemRow};
use tpu_kernel::predict::{Bottleneck, Lint, Overheads, Prediction, Roof, Span, TIMELINE_STEPS, Unit, Units};

/// A window: name, whether it leaves, element type, block, and the grid dimensions that its block follows.
pub type Window<'a> = (&'a str, bool, DType, &'a [usize], &'a [usize]);

/// A kernel in a few words.
#[derive(Clone)]
pub struct Sketch<'a> {
    /// Its name.
    pub kernel: &'a str,
    /// The chip.
    pub chip: Chip,
    /// Block sizes and types.
    pub config: &'a [(&'a str, &'a str)],
    /// Array sizes.
    pub sizes: &'a [(&'a str, i64)],
    /// Grid indices and their extents.
    pub grid: &'a [(&'a str, i64)],
    /// Windows.
    pub windows: Vec<Window<'a>>,
    /// Scratch: name, element type, shape.
    pub scratch: &'a [(&'a str, DType, &'a [usize])],
    /// What each step does: unit, on what, cycles.
    pub work: &'a [(Unit, &'a str, u64)],
    /// Arithmetic of the whole launch.
    pub flops: u64,
    /// Operations of the matrix or vector units a cycle.
    pub peak: f64,
    /// What sets the pace.
    pub bottleneck: Bottleneck,
    /// Rule, what, why, help, gain.
    pub lints: &'a [(&'static str, &'a str, &'a str, &'a str, u64)],
    /// Steps on the timeline.
    pub shown: u64,
    /// Whether all copies of a step begin together.
    pub at_once: bool,
}

/// A product of 4096³ in blocks of 512.
pub fn matmul() -> Sketch<'static> {
    Sketch {
        kernel: "matmul",
        chip: Chip::V5E,
        config: &[("bm", "512"), ("bn", "512"), ("bk", "512"), ("t", "bf16"), ("precision", "default")],
        sizes: &[("m", 4096), ("k", 4096), ("n", 4096)],
        grid: &[("i", 8), ("j", 8), ("kk", 8)],
        windows: vec![
            ("x", false, DType::Bf16, &[512, 512], &[0, 2]),
            ("w", false, DType::Bf16, &[512, 512], &[2, 1]),
            ("o", true, DType::Bf16, &[512, 512], &[0, 1]),
        ],
        scratch: &[("acc", DType::F32, &[512, 512])],
        work: &[
            (Unit::Load, "x, w, acc", 1024),
            (Unit::Mxu, "dot", 2048),
            (Unit::Vpu, "acc + dot", 512),
            (Unit::Store, "acc", 512),
            (Unit::Scalar, "kk == 0", 40),
        ],
        flops: 2 * 4096 * 4096 * 4096,
        peak: 131_072.0,
        bottleneck: Bottleneck::Unit(Unit::Mxu),
        lints: &[(
            "small-block",
            "the block of 512 along k is read 8 times",
            "each step enters the pipeline anew: 400 cycles that no unit works",
            "take bk=1024: the windows then need 4 MiB of 16 MiB",
            101_000,
        )],
        shown: TIMELINE_STEPS,
        at_once: false,
    }
}

/// A softmax of rows.
pub fn softmax() -> Sketch<'static> {
    Sketch {
        kernel: "softmax",
        chip: Chip::V6E,
        config: &[("bm", "256"), ("t", "f32")],
        sizes: &[("m", 2048), ("n", 1000)],
        grid: &[("i", 8)],
        windows: vec![("x", false, DType::F32, &[256, 1000], &[0]), ("o", true, DType::F32, &[256, 1000], &[0])],
        scratch: &[],
        work: &[
            (Unit::Load, "x", 256),
            (Unit::Vpu, "x − max", 900),
            (Unit::Xlu, "reduce max along lanes", 640),
            (Unit::Eup, "exp", 512),
            (Unit::Store, "o", 256),
            (Unit::Scalar, "index", 12),
        ],
        flops: 2048 * 1000 * 4,
        peak: 4096.0,
        bottleneck: Bottleneck::Unit(Unit::Dma),
        lints: &[(
            "padding",
            "1000 lanes take 1024",
            "2.3% of the vector memory holds nothing",
            "make the row a multiple of 128",
            0,
        )],
        shown: TIMELINE_STEPS,
        at_once: false,
    }
}

/// Causal attention with a running maximum.
pub fn attention() -> Sketch<'static> {
    Sketch {
        kernel: "flash_attention",
        chip: Chip::TPU7X,
        config: &[("bq", "128"), ("bk", "128"), ("d", "64"), ("t", "bf16")],
        sizes: &[("heads", 8), ("q", 1024), ("k", 1024)],
        grid: &[("h", 8), ("i", 8), ("j", 8)],
        windows: vec![
            ("q", false, DType::Bf16, &[128, 64], &[0, 1]),
            ("k", false, DType::Bf16, &[128, 64], &[0, 2]),
            ("v", false, DType::Bf16, &[128, 64], &[0, 2]),
            ("o", true, DType::Bf16, &[128, 64], &[0, 1]),
        ],
        scratch: &[("top", DType::F32, &[128, 1]), ("sum", DType::F32, &[128, 1]), ("acc", DType::F32, &[128, 64])],
        work: &[
            (Unit::Load, "q, k, v", 48),
            (Unit::Mxu, "q · kᵀ", 160),
            (Unit::Vpu, "scores − top", 420),
            (Unit::Xlu, "reduce max", 280),
            (Unit::Eup, "exp", 140),
            (Unit::Store, "acc", 60),
            (Unit::Scalar, "j > i", 9),
        ],
        flops: 8 * 1024 * 1024 * 64 * 4,
        peak: 524_288.0,
        bottleneck: Bottleneck::Unit(Unit::Vpu),
        lints: &[
            (
                "narrow-contraction",
                "q · kᵀ contracts 64 elements",
                "the matrix unit has 256 rows, of which 192 idle",
                "join two heads",
                30_000,
            ),
            (
                "narrow-scratch",
                "top and sum have one lane",
                "127 of 128 lanes are padding",
                "keep both in one tile of 128 lanes",
                0,
            ),
        ],
        shown: TIMELINE_STEPS,
        at_once: false,
    }
}

/// What becomes of a sketch.
pub fn inspect(sketch: &Sketch<'_>) -> Inspection {
    let loc = |line| Loc { file: "examples/matmul.rs".into(), line, column: 5 };
    let steps = sketch.grid.iter().fold(1u64, |n, (_, extent)| n.saturating_mul(*extent as u64));
    let vmem: Vec<VmemRow> = sketch
        .windows
        .iter()
        .map(|&(name, out, dtype, block, follows)| {
            let moves = follows.iter().any(|&dim| sketch.grid[dim].1 > 1);
            row(name, if out { "out" } else { "in" }, dtype, block, if moves { 2 } else { 1 })
        })
        .chain(sketch.scratch.iter().map(|&(name, dtype, shape)| row(name, "scratch", dtype, shape, 1)))
        .collect();
    let windows = sketch.windows.iter().zip(7..).map(|(&(name, out, dtype, block, follows), line)| WindowRow {
        name: name.to_string(),
        role: if out { "out" } else { "in" },
        dtype: dtype.to_string(),
        array_expression: (0..block.len()).map(|at| ["m", "k", "n"][at % 3].to_string()).collect(),
        array: block.iter().map(|n| n * 8).collect(),
        block: block.iter().map(ToString::to_string).collect(),
        index_map: follows.iter().map(|&dim| sketch.grid[dim].0.to_string()).collect(),
        loc: loc(line),
    });
    let (prediction, moved) = predict(sketch, steps, &vmem, loc(14));
    let mosaic = include_str!("../mosaic/attention.mlir");
    Inspection {
        kernel: sketch.kernel.to_string(),
        path: format!("examples::{}", sketch.kernel),
        loc: loc(5),
        config: sketch.config.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        sizes: sketch.sizes.iter().map(|(name, n)| (name.to_string(), *n)).collect(),
        chip: sketch.chip,
        grid: sketch
            .grid
            .iter()
            .map(|(name, extent)| GridRow {
                name: name.to_string(),
                expression: format!("ceildiv({name}_size, 128)"),
                extent: *extent,
                semantics: "parallel",
            })
            .collect(),
        windows: windows.collect(),
        scalars: vec![],
        cost: Cost {
            flops: sketch.flops,
            product_flops: if multiplies(sketch) { sketch.flops } else { 0 },
            integer_flops: sketch.flops / 64,
            bytes: moved,
            transcendentals: 0,
            exact: true,
        },
        vmem,
        stages: vec![
            Stage { name: "canonical", text: Ok("kernel @k() loc(\"examples/matmul.rs\":5:5) {\n  body {\n    %0 = const 0 : i32 loc(14:5)\n  }\n}\n".into()) },
            Stage { name: "mosaic", text: Ok(mosaic.to_string()) },
        ],
        legality: Chip::ALL
            .iter()
            .map(|chip| Legality {
                chip: chip.name,
                refused: (chip.name == "v4").then(|| Refusal {
                    code: "M004",
                    reason: "v4 multiplies no matrices of f8e4m3fn".to_string(),
                    rendered: "error[M004]: v4 multiplies no matrices of f8e4m3fn\n --> examples/matmul.rs:14:5\n   |\n14 |     dot(x, w)\n   |     ^^^".into(),
                }),
            })
            .collect(),
        prediction: Ok(prediction),
    }
}

fn row(name: &str, role: &'static str, dtype: DType, shape: &[usize], buffers: u64) -> VmemRow {
    let (rows, columns) = (shape[shape.len() - 2], shape[shape.len() - 1]);
    let bytes = u64::from(dtype.bits()) / 8;
    let padded = (rows.next_multiple_of(SUBLANES) * columns.next_multiple_of(LANES)) as u64 * bytes;
    VmemRow { name: name.to_string(), role, dtype, shape: shape.to_vec(), packed: (rows * columns) as u64 * bytes, padded, buffers }
}

const BYTES_PER_CYCLE: f64 = 546.0;
const STEP: u64 = 120;
const LATENCY: u64 = 300;

fn multiplies(sketch: &Sketch<'_>) -> bool {
    sketch.work.iter().any(|&(unit, ..)| unit == Unit::Mxu)
}

/// Two buffers: the blocks of the next step arrive while this one computes. With the bytes that move.
fn predict(sketch: &Sketch<'_>, steps: u64, vmem: &[VmemRow], loc: Loc) -> (Prediction, u64) {
    let indices = |step: u64| {
        let mut rest = step;
        let mut all: Vec<u64> = sketch
            .grid
            .iter()
            .rev()
            .map(|(_, n)| {
                let at = rest % *n as u64;
                rest /= *n as u64;
                at
            })
            .collect();
        all.reverse();
        all
    };
    let block = |window: usize, step: u64| -> Vec<u64> { sketch.windows[window].4.iter().map(|&dim| indices(step)[dim]).collect() };
    let copy = |window: usize| LATENCY + (vmem[window].packed as f64 / BYTES_PER_CYCLE) as u64;
    let shown = steps.min(sketch.shown);
    let mut spans: Vec<Span> = vec![];
    let mut buffers = vec![1u8; sketch.windows.len()];
    let (mut engine, mut now, mut fill, mut waits) = (0u64, 0u64, 0, 0);
    let mut busy: Vec<(Unit, u64)> = vec![];
    let mut arrived = 0u64;
    // The blocks of `step` arrive, from `at` on, one after the other.
    let fetch = |step: u64, at: u64, engine: &mut u64, spans: &mut Vec<Span>, buffers: &mut Vec<u8>| {
        let mut done = at;
        for window in 0..sketch.windows.len() {
            let (name, out, ..) = sketch.windows[window];
            if !out && (step == 0 || block(window, step) != block(window, step - 1)) {
                buffers[window] ^= 1;
                let start = if sketch.at_once { at } else { (*engine).max(at) };
                let buffer = (vmem[window].buffers > 1).then_some(buffers[window]);
                done = start + copy(window);
                *engine = done;
                spans.push(Span { unit: Unit::Dma, what: name.to_string(), start, end: done, step, buffer });
            }
        }
        done
    };
    for step in 0..shown {
        if step == 0 {
            arrived = fetch(0, 0, &mut engine, &mut spans, &mut buffers);
            fill = arrived;
        }
        let ready = if step == 0 { arrived } else { now + STEP };
        waits += arrived.saturating_sub(ready);
        let start = ready.max(arrived);
        if step + 1 < steps.min(shown + 1) {
            arrived = fetch(step + 1, start, &mut engine, &mut spans, &mut buffers);
        }
        let mut at = start;
        for &(unit, what, cycles) in sketch.work {
            spans.push(Span { unit, what: what.to_string(), start: at, end: at + cycles, step, buffer: None });
            busy.push((unit, cycles * steps / shown));
            now = now.max(at + cycles);
            // Units work beside each other, each a little behind the one before.
            at += cycles / 8;
        }
        for window in 0..sketch.windows.len() {
            let (name, out, ..) = sketch.windows[window];
            if out && (step + 1 == steps || block(window, step) != block(window, step + 1)) {
                let start = engine.max(now);
                engine = start + copy(window);
                spans.push(Span {
                    unit: Unit::Dma,
                    what: name.to_string(),
                    start,
                    end: engine,
                    step,
                    buffer: Some((step % 2) as u8),
                });
            }
        }
    }
    spans.retain(|span| span.step < shown);
    let drain = engine.saturating_sub(now);
    let all = if shown == 0 { 0 } else { now.max(engine) };
    let cycles = if steps == shown { all } else { fill + drain + (all - fill - drain) * steps / shown.max(1) };
    // Copies at the same time share the engine.
    let copies: u64 = spans.iter().filter(|span| span.unit == Unit::Dma).map(|span| span.end - span.start).sum();
    busy.push((Unit::Dma, (copies * steps / shown.max(1)).min(cycles)));
    let moved: u64 = spans
        .iter()
        .filter(|s| s.unit == Unit::Dma)
        .filter_map(|s| vmem.iter().find(|row| row.name == s.what))
        .map(|row| row.packed)
        .sum();
    let prediction = Prediction {
        chip: sketch.chip.name,
        cycles,
        bottleneck: sketch.bottleneck,
        units: busy.into_iter().collect::<Units>(),
        overheads: Overheads {
            fill,
            drain,
            steps: STEP * steps.saturating_sub(1),
            waits: waits * steps / shown.max(1),
            latency: 0,
        },
        grid_steps: steps,
        steps: spans,
        lints: sketch
            .lints
            .iter()
            .map(|&(rule, what, why, help, gain)| Lint {
                rule,
                what: what.into(),
                why: why.into(),
                help: help.into(),
                gain,
                loc: loc.clone(),
            })
            .collect(),
        roof: Roof { flops_per_cycle: sketch.peak, bytes_per_cycle: BYTES_PER_CYCLE, products: multiplies(sketch) },
    };
    (prediction, moved * steps / shown.max(1))
}

/// Sketches at the ends of what a page has to show, each with a name.
pub fn extremes() -> Vec<(&'static str, Inspection)> {
    let single = Sketch {
        grid: &[],
        windows: vec![("x", false, DType::F32, &[256, 128], &[]), ("o", true, DType::F32, &[256, 128], &[])],
        ..softmax()
    };
    let single = Sketch { kernel: "add", bottleneck: Bottleneck::Fill, lints: &[], ..single };
    let thousands = Sketch { shown: 1000, grid: &[("i", 16), ("j", 16), ("kk", 16)], ..matmul() };
    let nothing = Sketch {
        grid: &[("i", 0)],
        windows: vec![("x", false, DType::F32, &[8, 128], &[0])],
        bottleneck: Bottleneck::Nothing,
        ..softmax()
    };
    const NAMES: [&str; 30] = [
        "x00", "x01", "x02", "x03", "x04", "x05", "x06", "x07", "x08", "x09", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
        "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29",
    ];
    let windows =
        NAMES.iter().enumerate().map(|(at, &name)| (name, at >= 26, DType::F32, &[256, 384][..], &[0usize][..])).collect();
    let many = Sketch { kernel: "many_windows", chip: Chip::V5P, windows, ..softmax() };
    let together = Sketch { kernel: "copies_at_once", at_once: true, ..many.clone() };
    let few = Sketch { kernel: "few_copies_at_once", at_once: true, ..attention() };
    let long = Sketch {
        kernel: "a_kernel_with_a_name_that_somebody_thought_about_for_a_very_long_time_and_then_some_more_until_it_was_longer_than_any_line",
        windows: vec![
            ("activations_of_the_previous_layer_transposed_and_quantised", false, DType::Bf16, &[512, 512], &[0, 2]),
            ("weights_of_the_gate_projection_by_expert_in_groups", false, DType::Bf16, &[512, 512], &[2, 1]),
            ("the_output", true, DType::Bf16, &[512, 512], &[0, 1]),
        ],
        grid: &[("the_row_of_the_output", 8), ("the_column_of_the_output", 8), ("contraction", 8)],
        config: &[("the_block_along_the_rows_of_the_output", "512"), ("the_element_type_of_the_activations", "bf16")],
        sizes: &[("number_of_tokens_in_all_sequences_of_the_batch", 4_194_304)],
        ..matmul()
    };
    let copy = Sketch { kernel: "copy", work: &[(Unit::Load, "x", 64), (Unit::Store, "o", 64)], flops: 0, ..softmax() };
    let full = Sketch {
        kernel: "full",
        chip: Chip::V4,
        windows: vec![("x", false, DType::F32, &[1024, 1000], &[0]), ("o", true, DType::F32, &[1024, 1000], &[0])],
        ..softmax()
    };
    let refused = Sketch { kernel: "refused", windows: vec![("x", false, DType::F32, &[4096, 4000], &[0])], ..full.clone() };
    let mut refused = inspect(&refused);
    refused.prediction = Err("L010: the kernel needs 125 MiB of vector memory, v4 has 16 MiB".to_string());
    refused.stages[1].text = Err("v4 takes no block of that size".to_string());
    let mut all: Vec<(&str, Inspection)> = [
        ("one-step", single),
        ("thousands", thousands),
        ("nothing", nothing),
        ("many-windows", many),
        ("copies-at-once", together),
        ("few-at-once", few),
        ("long-names", long),
        ("copy", copy),
        ("full", full),
    ]
    .iter()
    .map(|(name, sketch)| (*name, inspect(sketch)))
    .collect();
    all.push(("refused", refused));
    all.push(("hostile", hostile()));
    all
}

/// Text that would be markup, a script, a name of the template or an invisible trick if it were not escaped.
pub const HOSTILE: &str =
    "</title></style><script>window.evil=1</script><img src=x onerror=\"window.evil=1\"> '\"`{{script}}\u{202e}\u{0}&lt;";

/// An inspection in which every text is hostile.
fn hostile() -> Inspection {
    let mut all = inspect(&Sketch { lints: &[("rule", HOSTILE, HOSTILE, HOSTILE, 5)], ..attention() });
    let text = HOSTILE.to_string();
    all.kernel.clone_from(&text);
    all.path.clone_from(&text);
    all.loc.file = text.clone().into();
    all.config = vec![(text.clone(), text.clone())];
    all.sizes = vec![(text.clone(), -7)];
    for dim in &mut all.grid {
        dim.name.clone_from(&text);
        dim.expression.clone_from(&text);
    }
    for window in &mut all.windows {
        window.name.clone_from(&text);
        window.dtype.clone_from(&text);
        window.block = vec![text.clone()];
        window.index_map = vec![text.clone()];
        window.array_expression = vec![text.clone()];
    }
    for row in &mut all.vmem {
        row.name.clone_from(&text);
    }
    for stage in &mut all.stages {
        stage.text = Ok(format!("{text} loc(\"{text}\":1:2)\n").repeat(3));
    }
    for row in &mut all.legality {
        row.refused = Some(Refusal { code: "L001", reason: text.clone(), rendered: text.clone() });
    }
    if let Ok(prediction) = &mut all.prediction {
        for span in &mut prediction.steps {
            span.what.clone_from(&text);
        }
        for lint in &mut prediction.lints {
            lint.loc.file = text.clone().into();
        }
    }
    all
}
