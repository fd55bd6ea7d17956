//! What the examples share: options, data, errors, the report.
//!
//! Exit codes: 0 done, 1 an error of the kernel, the device or the data, 2 a wrong option.

mod options;
mod report;

pub use options::Options;
pub use report::{Report, largest_error};

use std::collections::BTreeMap;
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
    device.load_safetensors_named(file, names).map_err(|e| format!("{}: {e}", file.display()).into())
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
    let options = match Options::parse(std::env::args().skip(1), usage) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}\n{usage}");
            return ExitCode::from(2);
        }
    };
    if options.help {
        println!("{usage}");
        return ExitCode::SUCCESS;
    }
    match example(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            match failure.downcast_ref::<DeviceError>().and_then(DeviceError::kernel) {
                // With the user's line, as rustc shows it.
                Some(error) => eprintln!("{}", tpu_kernel::diagnose::render(error)),
                None => eprintln!("error: {failure}"),
            }
            ExitCode::FAILURE
        }
    }
}
