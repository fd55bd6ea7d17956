//! What can go wrong on a device: one variant a cause, each with a stable code.

use std::path::PathBuf;
use tpu_kernel::ir::DType;

/// An error of the runtime.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// D001
    #[error("no chip is called `{name}`; the chips are {}", .chips.join(", "))]
    UnknownChip {
        /// What was asked for.
        name: String,
        /// The names there are.
        chips: Vec<&'static str>,
    },
    /// D002
    #[error(
        "out of device memory: {bytes} bytes asked for, {live} of {capacity} in use by {tensors} tensors{}",
        listed(.largest)
    )]
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
        /// Bytes in use.
        live: u64,
        /// The HBM of the chip, bytes.
        capacity: u64,
        /// How many tensors are alive.
        tensors: usize,
        /// The largest of them, largest first.
        largest: Vec<LiveTensor>,
    },
    /// D003
    #[error("the host has no {bytes} bytes for a tensor that the device could hold")]
    HostMemory {
        /// Bytes asked for.
        bytes: usize,
    },
    /// D004
    #[error("shape {shape:?} has {want} elements, got {got}")]
    Length {
        /// The shape.
        shape: Vec<usize>,
        /// Its elements.
        want: usize,
        /// Elements given.
        got: usize,
    },
    /// D005
    #[error("a tensor cannot have shape {}: {reason}", dimensions(.shape))]
    Shape {
        /// The shape.
        shape: Vec<usize>,
        /// The limit that it breaks.
        reason: &'static str,
    },
    /// D006
    #[error("the tensor holds {got}, not {want}")]
    ElementType {
        /// What was asked for.
        want: DType,
        /// What the tensor holds.
        got: DType,
    },
    /// D007
    #[error("argument {index} lives on another device; move it with `to_device`")]
    OtherDevice {
        /// Which argument, from 0.
        index: usize,
    },
    /// D008
    #[error("no operation is called `{name}`{}", suggested(.close))]
    UnknownOperation {
        /// What was asked for.
        name: String,
        /// Names that are nearly it.
        close: Vec<String>,
    },
    /// D009
    #[error(
        "an operation called `{name}` is registered already, and it is another one; use `register_as` to give this one a name of its own"
    )]
    DuplicateOperation {
        /// The name.
        name: String,
    },
    /// D010
    #[error("{}: {reason}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// D011
    #[error("{file} is not a valid safetensors file: {reason}")]
    Safetensors {
        /// The file, or `the data` for bytes in memory.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// D012
    #[error(
        "tensor `{tensor}` holds {dtype} elements, which no device holds; it takes F32, BF16, F16, F8_E4M3, F8_E5M2, F4, I32, I16, I8, U32, U16, U8 and BOOL"
    )]
    UnsupportedElements {
        /// The tensor.
        tensor: String,
        /// Its element type, as the file names it.
        dtype: String,
    },
    /// D013
    #[error("{file} has no tensor `{name}`{}", suggested(.close))]
    MissingTensor {
        /// The file, or `the data` for bytes in memory.
        file: String,
        /// What was asked for.
        name: String,
        /// Names that are nearly it.
        close: Vec<String>,
    },
    /// D021
    #[error("tensor `{tensor}` cannot be saved: {reason}")]
    Unsavable {
        /// The tensor.
        tensor: String,
        /// What the format lacks, and what to do.
        reason: String,
    },
    /// D018
    #[error("cannot save a tensor under the name `{name}`: {reason}")]
    TensorName {
        /// The name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// D014
    #[error("{during} panicked: {message}")]
    Panic {
        /// What was being done.
        during: &'static str,
        /// The panic's message.
        message: String,
    },
    /// D015
    #[error("kernel `{kernel}` was launched from inside a kernel that was being built; launch it before or after")]
    Reentrant {
        /// The kernel that was launched.
        kernel: &'static str,
    },
    /// D016
    #[error("operation `{operation}` gives {got} outputs, not {want}")]
    OutputCount {
        /// The operation.
        operation: String,
        /// How many were asked for.
        want: usize,
        /// How many it gives.
        got: usize,
    },
    /// D017: an error of a hand-written [`Operation`](crate::Operation), in its own words.
    #[error("operation `{operation}`: {reason}")]
    Operation {
        /// The operation.
        operation: String,
        /// Its words.
        reason: String,
    },
    /// D019
    #[error("operation `{operation}` has no backward kernel; give it one with `with_backward` before it is registered")]
    NoBackward {
        /// The operation.
        operation: String,
    },
    /// D020
    #[error("the backward kernel of `{operation}` takes the {what} {want}, got {}", if .got.is_empty() { "none" } else { .got })]
    Gradients {
        /// The operation.
        operation: String,
        /// `outputs` or `gradients`.
        what: &'static str,
        /// The element types and shapes of the operation's outputs.
        want: String,
        /// Those given.
        got: String,
    },
    /// D025
    #[error("a mesh: {reason}")]
    Mesh {
        /// What it cannot have, or take.
        reason: String,
    },
    /// D026: a checked launch.
    #[error("collective id {id} is that of kernel `{other}` on this mesh, and `{kernel}` is another kernel")]
    CollectiveId {
        /// The id.
        id: u32,
        /// The kernel that is launched.
        kernel: &'static str,
        /// The one that was launched before.
        other: &'static str,
    },
    /// An error of a kernel; its code is the kernel's.
    #[error("{0}")]
    Kernel(Box<tpu_kernel::Error>),
}

/// A tensor that takes up device memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveTensor {
    /// Its element type.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its bytes.
    pub bytes: u64,
}

/// What [`render`](DeviceError::render) shows: `?` in `main`, and `unwrap`, end with the user's line.
impl std::fmt::Debug for DeviceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render())
    }
}

impl DeviceError {
    tpu_kernel::codes! {
        /// The stable code: `D001` and on, or the kernel's own (`L001`, `R001`, …).
        [] {
            DeviceError::UnknownChip { .. } => "D001",
            DeviceError::OutOfMemory { .. } => "D002",
            DeviceError::HostMemory { .. } => "D003",
            DeviceError::Length { .. } => "D004",
            DeviceError::Shape { .. } => "D005",
            DeviceError::ElementType { .. } => "D006",
            DeviceError::OtherDevice { .. } => "D007",
            DeviceError::UnknownOperation { .. } => "D008",
            DeviceError::DuplicateOperation { .. } => "D009",
            DeviceError::File { .. } => "D010",
            DeviceError::Safetensors { .. } => "D011",
            DeviceError::UnsupportedElements { .. } => "D012",
            DeviceError::MissingTensor { .. } => "D013",
            DeviceError::Panic { .. } => "D014",
            DeviceError::Reentrant { .. } => "D015",
            DeviceError::OutputCount { .. } => "D016",
            DeviceError::Operation { .. } => "D017",
            DeviceError::TensorName { .. } => "D018",
            DeviceError::NoBackward { .. } => "D019",
            DeviceError::Gradients { .. } => "D020",
            DeviceError::Unsavable { .. } => "D021",
            DeviceError::Mesh { .. } => "D025",
            DeviceError::CollectiveId { .. } => "D026",
        } else {
            DeviceError::Kernel(e) => e.code(),
        }
    }

    /// The error as rustc would show it: with its code, and for a kernel's error the user's line and advice.
    ///
    /// ```
    /// let error = tpu_device::Device::new("v3").unwrap_err();
    /// assert!(error.render().starts_with(&format!("error[D001]: {error}")));
    /// ```
    pub fn render(&self) -> String {
        match self {
            DeviceError::Kernel(e) => tpu_kernel::diagnose::render(e),
            other => tpu_kernel::diagnose::render_plain(other.code(), &other.to_string()),
        }
    }

    /// The kernel's error, where it is one: its source line is found there.
    pub fn kernel(&self) -> Option<&tpu_kernel::Error> {
        match self {
            DeviceError::Kernel(e) => Some(e),
            _ => None,
        }
    }
}

impl From<tpu_kernel::Error> for DeviceError {
    fn from(e: tpu_kernel::Error) -> DeviceError {
        DeviceError::Kernel(Box::new(e))
    }
}
impl From<tpu_kernel::launch::LaunchError> for DeviceError {
    fn from(e: tpu_kernel::launch::LaunchError) -> DeviceError {
        tpu_kernel::Error::from(e).into()
    }
}
impl From<tpu_kernel::exec::RunError> for DeviceError {
    fn from(e: tpu_kernel::exec::RunError) -> DeviceError {
        tpu_kernel::Error::from(e).into()
    }
}

fn listed(tensors: &[LiveTensor]) -> String {
    if tensors.is_empty() {
        return String::new();
    }
    let lines = tensors.iter().map(|t| format!("\n  {} bytes: {}{:?}", t.bytes, t.dtype, t.shape));
    format!("; the largest:{}", lines.collect::<String>())
}

/// A shape, of a malformed file say: no more of it than one looks at.
fn dimensions(shape: &[usize]) -> String {
    match shape.get(..8) {
        Some(first) if shape.len() > 8 => {
            let first: Vec<String> = first.iter().map(usize::to_string).collect();
            format!("[{}, …] of {} dimensions", first.join(", "), shape.len())
        }
        _ => format!("{shape:?}"),
    }
}

fn suggested(close: &[String]) -> String {
    if close.is_empty() {
        return String::new();
    }
    let quoted: Vec<String> = close.iter().map(|name| format!("`{name}`")).collect();
    format!("; did you mean {}?", quoted.join(" or "))
}

/// The names nearest to `name`, at most three: few edits away, or beginning with it.
pub(crate) fn close_names<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let limit = (name.chars().count() / 3).max(1);
    let mut close: Vec<(usize, &str)> = names
        .filter_map(|other| match edits(name, other) {
            n if n <= limit => Some((n, other)),
            _ if !name.is_empty() && other.starts_with(name) => Some((limit + 1, other)),
            _ => None,
        })
        .collect();
    close.sort_unstable();
    close.truncate(3);
    close.into_iter().map(|(_, name)| name.to_string()).collect()
}

/// Levenshtein distance, letter case ignored.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distances() {
        for (a, b, n) in [("", "", 0), ("abc", "", 3), ("", "abc", 3), ("kitten", "sitting", 3), ("Add", "add", 0), ("ab", "ba", 2)]
        {
            assert_eq!(edits(a, b), n, "{a} {b}");
        }
    }

    #[test]
    fn long_shapes_are_cut() {
        assert_eq!(dimensions(&[]), "[]");
        assert_eq!(dimensions(&[1; 8]), "[1, 1, 1, 1, 1, 1, 1, 1]");
        assert_eq!(dimensions(&[2; 9]), "[2, 2, 2, 2, 2, 2, 2, 2, …] of 9 dimensions");
    }

    #[test]
    fn close_names_are_few_and_nearest_first() {
        let names = ["matmul", "matmul_bias", "softmax", "add", "mat", "matmuls", "natmul"];
        assert_eq!(close_names("matmull", names.into_iter()), ["matmul", "matmuls", "natmul"]);
        assert_eq!(close_names("soft", names.into_iter()), ["softmax"]);
        assert!(close_names("transpose", names.into_iter()).is_empty());
        assert!(close_names("", names.into_iter()).is_empty());
    }
}
