//! Predictions against libtpu's estimates.

use std::path::Path;
use tpu_kernel::chips::Chip;
use tpu_kernel::launch::{Config, bind};
use tpu_kernel::mosaic;
use tpu_tests::prediction::points::points;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|a| a == "--table") {
        let mut out = String::new();
        for p in tpu_tests::prediction::records::pairs() {
            let u: Vec<String> = p.predicted.units.iter().map(|(u, c)| format!("{u}={c}")).collect();
            let o = p.predicted.overheads;
            out.push_str(&format!(
                "{}\t{}\t{} {}\t{}\t{}\t{:.3}\t{}\t{} fill={} drain={} steps={} waits={} n={}\n",
                p.chip.name,
                p.class,
                p.problem,
                p.tiling,
                p.estimated,
                p.predicted.cycles,
                p.ratio(),
                p.predicted.bottleneck,
                u.join(" "),
                o.fill,
                o.drain,
                o.steps,
                o.waits,
                p.predicted.grid_steps
            ));
        }
        std::fs::write(&args[1], out)?;
        return Ok(());
    }
    let [_, folder] = &args[..] else { return Err("usage: calibration --emit FOLDER".into()) };
    for chip in Chip::ALL.iter().filter(|c| c.name != "v4") {
        let folder = Path::new(folder).join(chip.name);
        std::fs::create_dir_all(&folder)?;
        let mut list = String::new();
        for (at, point) in points().iter().enumerate() {
            let binding = match bind(&point.kernel, chip, &point.inputs, &Config::default()) {
                Ok(b) => b,
                Err(e) => {
                    list.push_str(&format!("{at:04}\t{}\tUNBOUND {}\n", point.name(), e.to_string().lines().next().unwrap()));
                    continue;
                }
            };
            match mosaic::stablehlo(&point.kernel, &binding, chip) {
                Ok(text) => {
                    std::fs::write(folder.join(format!("{at:04}.mlir")), text)?;
                    list.push_str(&format!("{at:04}\t{}\t{}\n", point.name(), point.class));
                }
                Err(e) => list.push_str(&format!("{at:04}\t{}\tUNSPOKEN {e}\n", point.name())),
            }
        }
        std::fs::write(folder.join("list.tsv"), list)?;
    }
    Ok(())
}
