//! How long a launch would take on a chip: a model of what each unit does, step by step, and of what would help.
//!
//! Rules: a prediction is a model, never a measurement, and is presented as such. It needs the kernel, the launch's
//! numbers and the chip's table alone; nothing runs, and its time is linear in the kernel's text, whatever the grid.

mod report;

pub use report::{Bottleneck, Lint, Overheads, Prediction, Roof, Span, TIMELINE_STEPS, Unit, Units};
