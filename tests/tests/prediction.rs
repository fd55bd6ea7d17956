//! Predictions: their agreement with what libtpu was recorded to estimate, and what holds of every one.

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{DType, Kernel, parse};
use tpu_kernel::launch::{Allow, Config, Launchable, bind, numbers};
use tpu_kernel::legalise::legalise;
use tpu_kernel::passes::canonicalise;
use tpu_kernel::predict::{Bottleneck, Prediction, TIMELINE_STEPS, Unit, predict};
use tpu_tests::by_hand;
use tpu_tests::generate::generate;
use tpu_tests::one_op;
use tpu_tests::prediction::kernels;
use tpu_tests::prediction::plot::svg;
use tpu_tests::prediction::records::{CHIPS, Pair, pairs};
use tpu_tests::prediction::summary::{CLASSES, Share, by_class, by_point, choices};

const BF16: DType = DType::Bf16;
const F32: DType = DType::F32;

/// Every recorded estimate with its prediction.
fn all() -> &'static [Pair] {
    static ALL: OnceLock<Vec<Pair>> = OnceLock::new();
    ALL.get_or_init(pairs)
}

/// The prediction of a launch, whether or not it may run.
fn predicted(launch: &dyn Launchable, chip: &Chip, inputs: &[(DType, &[usize])]) -> Prediction {
    let types: Vec<DType> = inputs.iter().map(|(dtype, _)| *dtype).collect();
    let mut kernel = launch.stage(&types).expect("a kernel that can be built");
    canonicalise(&mut kernel);
    let inputs: Vec<(DType, Vec<usize>)> = inputs.iter().map(|(dtype, shape)| (*dtype, shape.to_vec())).collect();
    let binding = numbers(&kernel, &inputs, launch.config()).expect("sizes that fit");
    predict(&kernel, &binding, chip)
}

fn product([m, n, k]: [usize; 3], [bm, bn, bk]: [usize; 3], chip: &Chip) -> Prediction {
    predicted(&kernels::matmul().bm(bm).bn(bn).bk(bk), chip, &[(BF16, &[m, k]), (BF16, &[k, n])])
}

fn plane(r: usize, [rows, cols]: [usize; 2], chip: &Chip) -> Prediction {
    predicted(&kernels::softmax().r(r).c(cols), chip, &[(F32, &[rows, cols])])
}

#[test]
fn nine_of_ten_are_within_a_fifth_of_libtpus_estimate() {
    let pairs = all();
    assert!(pairs.len() >= 200, "{} pairs", pairs.len());
    let missed = by_point(pairs.iter().filter(|p| !p.close()));
    let all = Share::of(pairs, |_| true);
    assert!(all.is_nine_tenths(), "{all}:\n{missed}");
    for chip in CHIPS {
        let share = Share::of(pairs, |p| p.chip == chip);
        assert!(share.all >= 50 && share.is_nine_tenths(), "{}: {share}:\n{missed}", chip.name);
    }
    for class in CLASSES {
        let share = Share::of(pairs, |p| p.class == class);
        assert!(share.all >= 50 && share.close * 5 >= share.all * 4, "{class}: {share}:\n{missed}");
    }
    let held_out = Share::of(pairs, |p| p.held_out);
    assert!(held_out.all >= 50 && held_out.is_nine_tenths(), "held out: {held_out}:\n{missed}");
}

#[test]
fn the_tiling_predicted_to_be_best_is_within_a_twentieth_of_the_best() {
    let choices = choices(all());
    assert!(choices.len() >= 40, "{} products", choices.len());
    for n in [256, 512, 1024, 2048, 4096] {
        let cubes = choices.iter().filter(|c| c.problem == format!("matmul bf16 {n}x{n}x{n}"));
        let tilings: usize = cubes.map(|c| c.tilings).sum();
        // A tiling that a chip has no memory for, or that ends its estimate, is missing.
        assert!(tilings >= 21, "{n}: {tilings} tilings on {} chips", CHIPS.len());
    }
    for choice in choices {
        assert!(choice.chosen * 100 <= choice.best * 105, "{choice:?}");
    }
}

#[test]
fn more_work_takes_no_fewer_cycles() {
    for chip in Chip::ALL {
        let mut last = [0; 4];
        for times in [1, 2, 3, 4, 8, 16, 64, 1024, 100_000] {
            let now = [
                product([256 * times, 512, 512], [256, 256, 256], chip).cycles,
                product([512, 512, 256 * times], [256, 256, 256], chip).cycles,
                plane(64, [64 * times, 1024], chip).cycles,
                predicted(&kernels::gelu().r(256).c(512), chip, &[(F32, &[256 * times, 1024])]).cycles,
            ];
            for (at, (now, last)) in now.iter().zip(last).enumerate() {
                assert!(*now >= last, "{} {at}: {now} cycles for {times} times the work, {last} for less", chip.name);
            }
            last = now;
        }
    }
}

#[test]
fn a_prediction_depends_on_its_arguments_alone() {
    for chip in Chip::ALL {
        assert_eq!(product([1024; 3], [256; 3], chip), product([1024; 3], [256; 3], chip));
    }
}

/// The time is that of the kernel's text, whatever the grid; counts end at the largest number there is.
#[test]
fn huge_grids_take_no_longer() {
    let start = Instant::now();
    let huge = 1usize << 24;
    for chip in Chip::ALL {
        let large = product([huge, huge, huge], [8, 128, 128], chip);
        assert!(large.cycles > 1 << 56, "{}", large.cycles);
        assert_eq!(large.grid_steps, (huge / 8 * (huge / 128)) as u64 * (huge / 128) as u64);
        assert!(plane(8, [huge, 128], chip).cycles > 1 << 28);
    }
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn a_grid_without_steps_takes_nothing() {
    let nothing = plane(64, [0, 1024], &Chip::V5E);
    assert_eq!((nothing.cycles, nothing.grid_steps, nothing.bottleneck), (0, 0, Bottleneck::Nothing));
    assert!(nothing.steps.is_empty() && nothing.lints.is_empty());
    assert_eq!(nothing.units.iter().map(|(_, cycles)| cycles).sum::<u64>(), 0);
}

/// A step's blocks are there before it computes; no unit works outside the launch.
#[test]
fn the_timeline_is_one_of_the_first_steps() {
    for chip in Chip::ALL {
        let prediction = product([1024; 3], [256; 3], chip);
        let steps = &prediction.steps;
        assert_eq!(steps.iter().map(|s| s.step).max(), Some(TIMELINE_STEPS - 1));
        for span in steps {
            assert!(span.start < span.end, "{span:?}");
            assert_eq!(span.unit == Unit::Dma, span.buffer.is_some(), "{span:?}");
        }
        for step in 0..TIMELINE_STEPS {
            let arrived = steps.iter().filter(|s| s.step == step && ["x", "w"].contains(&s.what.as_str())).map(|s| s.end).max();
            let begun = steps.iter().filter(|s| s.step == step && s.unit == Unit::Mxu).map(|s| s.start).min();
            let begun = begun.expect("each step multiplies");
            assert!(arrived.is_none_or(|arrived| arrived <= begun), "{}: step {step}: {arrived:?} {begun}", chip.name);
        }
        let copies = steps.iter().filter(|s| s.what == "x").map(|s| s.buffer).collect::<Vec<_>>();
        assert!(copies.windows(2).all(|pair| pair[0] != pair[1]), "{copies:?}");
    }
}

#[test]
fn bottlenecks_are_named() {
    assert_eq!(product([4096; 3], [512, 1024, 1024], &Chip::V5E).bottleneck, Bottleneck::Unit(Unit::Mxu));
    assert_eq!(product([1024; 3], [128; 3], &Chip::V5E).bottleneck, Bottleneck::Steps);
    assert_eq!(plane(512, [16384, 1024], &Chip::V5E).bottleneck, Bottleneck::Unit(Unit::Dma));
    assert_eq!(plane(8, [8, 128], &Chip::V5E).bottleneck, Bottleneck::Fill);
}

/// The lint of that rule.
fn gain(prediction: &Prediction, rule: &str) -> Option<u64> {
    let lint = prediction.lints.iter().find(|lint| lint.rule == rule)?;
    assert!(lint.gain < prediction.cycles && lint.loc.is_known(), "{lint:?}");
    assert!(![&lint.what, &lint.why, &lint.help].iter().any(|text| text.is_empty()), "{lint:?}");
    Some(lint.gain)
}

#[test]
fn lints_say_what_would_help_and_how_much() {
    let heads = |d: usize, chip: &Chip| {
        let array: &[usize] = &[4, 2048, d];
        predicted(&kernels::attention().bq(512).bk(1024).hd(d), chip, &[(BF16, array); 3])
    };
    // Half of the matrix units sum zeros.
    assert!(gain(&heads(64, &Chip::V5E), "narrow-contraction").is_some_and(|gain| gain > 0));
    assert_eq!(gain(&heads(128, &Chip::V5E), "narrow-contraction"), None);
    assert!(gain(&heads(128, &Chip::V6E), "narrow-contraction").is_some_and(|gain| gain > 0));
    // Columns of one lane.
    assert_eq!(gain(&heads(128, &Chip::V5E), "padding"), Some(0));
    // Blocks four times as large in each direction: what the lint promises is what the launch does.
    let small = product([2048; 3], [128; 3], &Chip::V6E);
    let promised = gain(&small, "small-steps").expect("128³ is small");
    let larger = product([2048; 3], [256, 256, 128], &Chip::V6E);
    let kept = small.cycles - larger.cycles;
    assert!(kept as f64 > 0.7 * promised as f64, "{promised} promised, {kept} kept");
    assert_eq!(gain(&product([4096; 3], [512, 1024, 1024], &Chip::V6E), "small-steps"), None);
    // The operands of a flat block arrive more slowly than they are multiplied.
    let flat = product([4096; 3], [128, 512, 2048], &Chip::V6E);
    assert!(gain(&flat, "copy-bound").is_some_and(|gain| gain > flat.cycles / 10), "{:#?}", flat.lints);
    assert_eq!(gain(&product([4096; 3], [1024, 1024, 512], &Chip::V6E), "copy-bound"), None);
    // What does not fit twice.
    let wide = product([4096; 3], [2048, 2048, 1024], &Chip::V5E);
    assert!(gain(&wide, "no-double-buffer").is_some_and(|gain| gain > 0), "{:#?}", wide.lints);
    assert_eq!(gain(&small, "no-double-buffer"), None);
}

/// Gains are ordered, and a launch without faults has no lint about time.
#[test]
fn lints_come_by_gain() {
    for pair in all() {
        let gains: Vec<u64> = pair.predicted.lints.iter().map(|lint| lint.gain).collect();
        assert!(gains.is_sorted_by(|a, b| a >= b), "{gains:?}");
    }
    let good = product([4096; 3], [512, 1024, 1024], &Chip::V6E);
    assert!(good.lints.is_empty(), "{:#?}", good.lints);
}

/// What can be launched can be predicted.
#[test]
fn a_launch_that_may_run_is_predicted() {
    let kernel = kernels::softmax().r(8).c(128);
    let mut staged = kernel.stage(&[F32]).expect("a kernel");
    canonicalise(&mut staged);
    for chip in Chip::ALL {
        let binding = bind(&staged, chip, &[(F32, vec![8, 128])], &Config::default()).expect("a launch");
        let prediction = predict(&staged, &binding, chip);
        assert_eq!(prediction.chip, chip.name);
        assert!(prediction.cycles > 0 && prediction.flops > 0 && prediction.bytes == 2 * 8 * 128 * 4);
    }
}

/// Every operation, and random kernels with their branches, loops and grids, on every chip that takes them.
#[test]
fn every_operation_has_a_prediction() {
    let allow = vec![Allow::BlockShape, Allow::DotTypes];
    let mut seen = 0;
    let single = one_op::cases().into_iter().filter_map(|case| {
        let binding = bind(&case.kernel, &Chip::V5E, &case.inputs, &Config { allow: allow.clone(), ..Config::default() }).ok()?;
        Some((case.kernel, binding))
    });
    let random = (0..100).map(generate).map(|case| (case.kernel, case.binding));
    for (kernel, binding) in single.chain(random) {
        for chip in [&Chip::V5E, &Chip::V6E] {
            let Ok(legal) = legalise(&kernel, chip) else { continue };
            let prediction = predict(&legal, &binding, chip);
            let steps = binding.grid.iter().map(|&n| n as u64).product::<u64>();
            assert_eq!(prediction.cycles > 0, steps > 0, "{}", kernel.name);
            assert!(prediction.cycles < 1 << 40, "{}: {} cycles", kernel.name, prediction.cycles);
            let overheads = prediction.overheads;
            let idle = overheads.fill + overheads.drain + overheads.steps + overheads.waits;
            assert!(idle <= prediction.cycles + 4, "{}: {overheads:?} of {}", kernel.name, prediction.cycles);
            seen += 1;
        }
    }
    assert!(seen > 800, "{seen} predictions");
}

/// `docs/prediction.md` has the table of the agreement, and the plot beside it is of these pairs. `BLESS=1` rewrites both.
#[test]
fn the_document_has_what_is_recorded() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let read = |name: &str| std::fs::read_to_string(docs.join(name)).unwrap_or_default();
    let (text, start, end) = (read("prediction.md"), "<!-- generated: agreement -->\n", "<!-- end -->");
    let (before, rest) = text.split_once(start).expect("the start of the table");
    let (_, after) = rest.split_once(end).expect("the end of the table");
    let want = [("prediction.md", format!("{before}{start}{}{end}{after}", by_class(all()))), ("prediction.svg", svg(all()))];
    for (name, want) in want {
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(docs.join(name), &want).expect("the document is written");
        }
        assert!(read(name) == want, "docs/{name} is not of the recorded estimates and these predictions; BLESS=1 rewrites it");
    }
}

/// The prediction of a kernel's text, legalised, for arrays of one element type.
fn of_text(text: &str, inputs: &[&[usize]], chip: &Chip) -> Prediction {
    let kernel: Kernel = parse(text).expect("a kernel");
    let mut kernel = legalise(&kernel, chip).expect("a form");
    canonicalise(&mut kernel);
    let inputs: Vec<(DType, Vec<usize>)> = inputs.iter().map(|shape| (F32, shape.to_vec())).collect();
    let binding = numbers(&kernel, &inputs, &Config::default()).expect("sizes that fit");
    predict(&kernel, &binding, chip)
}

/// A copy by hand costs what a window's does, and who waits for it stalls; what arrives early does not.
#[test]
fn copies_by_hand_take_time() {
    for chip in Chip::ALL {
        let one = of_text(&by_hand::whole(F32), &[&[7, 100]], chip);
        assert!(one.overheads.waits > 400, "{one:?}");
        // Eight parts in, eight parts out, one after the other.
        let parts = of_text(&by_hand::parts(F32), &[&[128, 256]], chip);
        assert!(parts.overheads.waits > 10 * one.overheads.waits && parts.cycles > parts.overheads.waits, "{parts:?}");
        assert!(parts.units.of(Unit::Dma) * 2 > 256 * 128 * 4 * 2 / 2000, "{parts:?}");
        // The same bytes, with the next part on its way while one is computed: fewer waits than parts.
        let apart = by_hand::parts(F32).replace(
            "%t = load %buf[%z, %z] : tile<32x128xf32>",
            "%t0 = load %buf[%z, %z] : tile<32x128xf32>\n        %t1 = sin %t0 : tile<32x128xf32>\n        %t2 = sin %t1 : tile<32x128xf32>\n        %t = sin %t2 : tile<32x128xf32>",
        );
        let busy = of_text(&apart, &[&[128, 256]], chip);
        assert!(busy.overheads.waits == parts.overheads.waits && busy.cycles > parts.cycles, "{busy:?}\n{parts:?}");
    }
}
