//! What the examples share: options, data, errors, the report.
//!
//! Exit codes: 0 done, also where the reader of the output has left before its end; 1 an error of the kernel,
//! the device or the data, or output that cannot be written; 2 an option that is unknown or lacks its value,
//! or a value that is none: no chip has that name, the blocks are not as many numbers as the kernel has.
//! Block sizes that the kernel cannot have on that chip are errors of the kernel: 1.

mod options;
mod report;

pub use options::{Options, WrongOption};
pub use report::{Report, largest_error};

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tpu_device::{Device, DeviceError, Tensor};

/// What an example can fail with: a message that is ready to print.
pub type Failure = Box<dyn std::error::Error>;

/// The file with the data that ships with the examples.
pub fn data_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/attention.safetensors")
}

/// Tensors of a safetensors file.
///
/// # Errors
/// The file cannot be read, or lacks one of the names.
pub fn load(device: &Device, file: &Path, names: &[&str]) -> Result<BTreeMap<String, Tensor>, Failure> {
    device.load_safetensors_named(file, names).map_err(|e| match e {
        // These name the file themselves.
        DeviceError::File { .. } | DeviceError::Safetensors { .. } | DeviceError::MissingTensor { .. } => e.into(),
        e => format!("{}: {e}", file.display()).into(),
    })
}

/// The elements of an f32 or bf16 tensor as f32.
///
/// # Errors
/// The tensor has other elements.
pub fn floats(tensor: &Tensor) -> Result<Vec<f32>, Failure> {
    match tensor.dtype() {
        tpu_device::DType::Bf16 => Ok(tensor.to_vec::<half::bf16>()?.into_iter().map(f32::from).collect()),
        _ => Ok(tensor.to_vec::<f32>()?),
    }
}

/// Runs an example and turns what it fails with into a message and an exit code.
pub fn run(usage: &str, example: impl FnOnce(&Options) -> Result<(), Failure>) -> ExitCode {
    let outcome = match arguments().and_then(|arguments| Options::parse(arguments.into_iter(), usage)) {
        Ok(options) if options.help => print(&format!("{usage}\n")).map_err(Failure::from),
        Ok(options) => example(&options),
        Err(wrong) => Err(wrong.into()),
    };
    let Err(failure) = outcome else { return ExitCode::SUCCESS };
    let device = failure.downcast_ref::<DeviceError>();
    let wrong = failure.is::<WrongOption>() || matches!(device, Some(DeviceError::UnknownChip { .. }));
    let message = match (device.and_then(DeviceError::kernel), failure.downcast_ref::<io::Error>()) {
        (_, Some(e)) if e.kind() == io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
        (_, Some(e)) => format!("error: the output cannot be written: {e}"),
        // With the user's line, as rustc shows it.
        (Some(error), None) => tpu_kernel::diagnose::render(error),
        (None, None) if wrong => format!("error: {failure}\n{usage}"),
        (None, None) => format!("error: {failure}"),
    };
    // Where not even this can be written, the exit code is all that is left to say.
    let _ = writeln!(io::stderr(), "{message}");
    ExitCode::from(if wrong { 2 } else { 1 })
}

fn arguments() -> Result<Vec<String>, WrongOption> {
    let text = |argument: OsString| argument.into_string().map_err(|a| WrongOption(format!("{a:?} is not UTF-8")));
    std::env::args_os().skip(1).map(text).collect()
}

/// Writes to standard output; no error panics.
fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
