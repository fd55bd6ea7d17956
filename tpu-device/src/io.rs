//! Tensors from and to safetensors files.
//!
//! Rules: the header is checked before anything is allocated, and each tensor is read straight into its
//! place on the device; no bytes of a file panic or allocate more than the file is long; element types
//! that a device does not hold, or a file, are refused by name, never converted. F4 lies packed in a file,
//! the first of two elements in the low bits of a byte.

use crate::error::close_names;
use crate::replace::{no_file, replace};
use crate::tensor::Unwritten;
use crate::{Device, DeviceError, Tensor};
use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;
use tpu_kernel::ir::DType;

const _: () = assert!(cfg!(target_endian = "little"), "safetensors files are little-endian, and read without conversion");

/// The longest header that is read, as the reference implementation has it.
const MAX_HEADER: u64 = 100_000_000;

impl Device {
    /// All tensors of a safetensors file, by name.
    ///
    /// # Errors
    /// The file cannot be read, is no regular file, is malformed, or holds element types that no device holds (F64, I64, U64, C64, F6, F8_E8M0 and
    /// the FNUZ ones); or the device is full.
    pub fn load_safetensors(&self, path: impl AsRef<Path>) -> Result<BTreeMap<String, Tensor>, DeviceError> {
        open(path.as_ref())?.load(self, None)
    }

    /// The named tensors of a safetensors file; what else it holds is not looked at.
    ///
    /// # Errors
    /// As [`load_safetensors`](Self::load_safetensors), and where the file lacks one of them.
    pub fn load_safetensors_named(&self, path: impl AsRef<Path>, names: &[&str]) -> Result<BTreeMap<String, Tensor>, DeviceError> {
        open(path.as_ref())?.load(self, Some(names))
    }

    /// All tensors of a safetensors file that is in memory, by name.
    ///
    /// # Errors
    /// As [`load_safetensors`](Self::load_safetensors).
    pub fn read_safetensors(&self, bytes: &[u8]) -> Result<BTreeMap<String, Tensor>, DeviceError> {
        Reader::new(Cursor::new(bytes), None)?.load(self, None)
    }

    /// The named tensors of a safetensors file that is in memory.
    ///
    /// # Errors
    /// As [`load_safetensors_named`](Self::load_safetensors_named).
    pub fn read_safetensors_named(&self, bytes: &[u8], names: &[&str]) -> Result<BTreeMap<String, Tensor>, DeviceError> {
        Reader::new(Cursor::new(bytes), None)?.load(self, Some(names))
    }
}

/// Writes the tensors to a safetensors file, replacing what is there.
///
/// A file that is there is replaced by a finished one, and stays as it was where that fails; so does a symbolic link, whose
/// target is replaced. A fifo or a character device is written into; what else is no regular file is an error.
///
/// ```no_run
/// # use tpu_device::{Device, Tensor, io};
/// let device = Device::new("v5e")?;
/// let x = Tensor::full(&device, 1.0f32, &[2, 3])?;
/// io::save_safetensors("weights.safetensors", [("x", &x)])?;
/// let again = device.load_safetensors("weights.safetensors")?;
/// assert_eq!(again["x"].shape(), [2, 3]);
/// # Ok::<(), tpu_device::DeviceError>(())
/// ```
///
/// # Errors
/// The file cannot be written, a name is given twice or cannot be one, or the format lacks an
/// element type (`f8e4m3b11fnuz`, `i4`, `i2`, `u4`).
pub fn save_safetensors<'a>(
    path: impl AsRef<Path>,
    tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
) -> Result<(), DeviceError> {
    let path = path.as_ref();
    let contents = Contents::of(tensors)?;
    replace(path, |to| contents.write(to)).map_err(|e| file_error(path, &e))
}

/// The bytes of a safetensors file with these tensors.
///
/// # Errors
/// A name is given twice or cannot be one, or the format lacks an element type (`f8e4m3b11fnuz`, `i4`, `i2`, `u4`).
pub fn write_safetensors<'a>(tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>) -> Result<Vec<u8>, DeviceError> {
    let mut bytes = vec![];
    Contents::of(tensors)?.write(&mut bytes).map_err(|e| file_error(Path::new("safetensors data"), &e))?;
    Ok(bytes)
}

fn open(path: &Path) -> Result<Reader<'_, BufReader<File>>, DeviceError> {
    let failed = |e| file_error(path, &e);
    // Asked before it is opened, which waits where a fifo has no writer.
    let kind = std::fs::metadata(path).map_err(failed)?.file_type();
    if !kind.is_file() {
        return Err(failed(no_file(kind)));
    }
    let file = File::open(path).map_err(failed)?;
    Reader::new(BufReader::new(file), Some(path))
}

fn file_error(path: &Path, e: &dyn std::error::Error) -> DeviceError {
    DeviceError::File { path: path.to_path_buf(), reason: e.to_string() }
}

/// A file whose header is read and checked.
struct Reader<'a, R> {
    from: R,
    /// `None`: bytes in memory.
    path: Option<&'a Path>,
    header: Metadata,
    /// Where the elements begin.
    start: u64,
}

impl<'a, R: Read + Seek> Reader<'a, R> {
    fn new(mut from: R, path: Option<&'a Path>) -> Result<Self, DeviceError> {
        let malformed = |reason: String| DeviceError::Safetensors { file: file_name(path), reason };
        let failed = |e| read_error(path, &e);
        let length = from.seek(SeekFrom::End(0)).map_err(failed)?;
        if length < 8 {
            return Err(malformed(format!("it has {length} bytes, less than the length of a header takes")));
        }
        from.rewind().map_err(failed)?;
        let mut header_length = [0; 8];
        from.read_exact(&mut header_length).map_err(failed)?;
        let header_length = u64::from_le_bytes(header_length);
        if header_length > MAX_HEADER || header_length > length - 8 {
            return Err(malformed(format!("its header would have {header_length} bytes, the file has {length}")));
        }
        let mut header = Vec::new();
        from.by_ref().take(header_length).read_to_end(&mut header).map_err(failed)?;
        let _: Distinct = serde_json::from_slice(&header).map_err(|e| malformed(e.to_string()))?;
        let header: Metadata = serde_json::from_slice(&header).map_err(|e| malformed(e.to_string()))?;
        let start = 8 + header_length;
        let (want, got) = (header.data_len() as u64, length - start);
        if want != got {
            return Err(malformed(format!("its header speaks of {want} bytes of elements, it has {got}")));
        }
        Ok(Reader { from, path, header, start })
    }

    fn load(mut self, device: &Device, names: Option<&[&str]>) -> Result<BTreeMap<String, Tensor>, DeviceError> {
        let all: BTreeMap<String, TensorInfo> =
            self.header.tensors().into_iter().map(|(name, info)| (name, info.clone())).collect();
        let mut wanted: Vec<(&str, &TensorInfo)> = match names {
            None => all.iter().map(|(name, info)| (name.as_str(), info)).collect(),
            Some(names) => {
                let find = |&name: &&str| match all.get_key_value(name) {
                    Some((name, info)) => Ok((name.as_str(), info)),
                    None => Err(DeviceError::MissingTensor {
                        file: file_name(self.path),
                        name: name.to_string(),
                        close: close_names(name, all.keys().map(String::as_str)),
                    }),
                };
                names.iter().map(find).collect::<Result<_, _>>()?
            }
        };
        wanted.sort_by_key(|(_, info)| info.data_offsets);
        wanted.dedup_by_key(|(name, _)| *name);
        for (name, info) in &wanted {
            dtype(name, info.dtype)?;
        }
        wanted.into_iter().map(|(name, info)| Ok((name.to_string(), self.tensor(device, name, info)?))).collect()
    }

    fn tensor(&mut self, device: &Device, name: &str, info: &TensorInfo) -> Result<Tensor, DeviceError> {
        let dtype = dtype(name, info.dtype)?;
        let mut tensor = Unwritten::new(device, dtype, &info.shape)?;
        let bytes = tensor.bytes();
        self.from.seek(SeekFrom::Start(self.start + info.data_offsets.0 as u64)).map_err(|e| read_error(self.path, &e))?;
        let length = if info.dtype == Dtype::F4 { bytes.len().div_ceil(2) } else { bytes.len() };
        self.from.read_exact(&mut bytes[..length]).map_err(|e| read_error(self.path, &e))?;
        if info.dtype == Dtype::F4 {
            unpack(bytes);
        }
        if let (DType::Bool, Some(at)) = (dtype, bytes.iter().position(|&b| b > 1)) {
            let reason = format!("element {at} of the bool tensor `{name}` is {}, neither 0 nor 1", bytes[at]);
            return Err(DeviceError::Safetensors { file: file_name(self.path), reason });
        }
        Ok(tensor.finish())
    }
}

/// A header each name of which is there once: a map keeps the last of several.
struct Distinct;

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Distinct, D::Error> {
        from.deserialize_map(Distinct)
    }
}

impl<'de> Visitor<'de> for Distinct {
    type Value = Distinct;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the tensors by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut header: A) -> Result<Distinct, A::Error> {
        let mut names: BTreeSet<String> = BTreeSet::new();
        while let Some(name) = header.next_key::<String>()? {
            header.next_value::<IgnoredAny>()?;
            if names.contains(&name) {
                return Err(A::Error::custom(format!("two entries of the header are called `{name}`")));
            }
            names.insert(name);
        }
        Ok(Distinct)
    }
}

fn file_name(path: Option<&Path>) -> String {
    path.map_or_else(|| "the data".to_string(), |path| path.display().to_string())
}

fn read_error(path: Option<&Path>, e: &std::io::Error) -> DeviceError {
    match path {
        Some(path) => file_error(path, e),
        None => DeviceError::Safetensors { file: file_name(None), reason: e.to_string() },
    }
}

/// The element type of a tensor of a file.
fn dtype(tensor: &str, dtype: Dtype) -> Result<DType, DeviceError> {
    let refused = || DeviceError::UnsupportedElements { tensor: tensor.to_string(), dtype: format!("{dtype:?}") };
    DType::ALL.into_iter().find(|&d| stored(d) == Some(dtype)).ok_or_else(refused)
}

/// How a file names an element type; `None` of a type that the format lacks.
fn stored(dtype: DType) -> Option<Dtype> {
    Some(match dtype {
        DType::F32 => Dtype::F32,
        DType::Bf16 => Dtype::BF16,
        DType::F16 => Dtype::F16,
        DType::F8E4M3Fn => Dtype::F8_E4M3,
        DType::F8E5M2 => Dtype::F8_E5M2,
        DType::F4E2M1Fn => Dtype::F4,
        DType::I32 => Dtype::I32,
        DType::I16 => Dtype::I16,
        DType::I8 => Dtype::I8,
        DType::U32 => Dtype::U32,
        DType::U16 => Dtype::U16,
        DType::U8 => Dtype::U8,
        DType::Bool => Dtype::BOOL,
        // The format's `F8_E4M3FNUZ` has bias 8.
        DType::F8E4M3B11Fnuz | DType::I4 | DType::I2 | DType::U4 => return None,
    })
}

/// From two elements of 4 bits a byte, the first in the low bits, to one. The file's bytes fill the first half, rounded up.
fn unpack(bytes: &mut [u8]) {
    for at in (0..bytes.len()).rev() {
        bytes[at] = bytes[at / 2] >> (4 * (at % 2)) & 0xf;
    }
}

fn pack(elements: &[u8]) -> Vec<u8> {
    elements.chunks(2).map(|pair| pair.iter().rev().fold(0, |byte, &element| byte << 4 | element & 0xf)).collect()
}

/// The tensors of a file in their order: the widest elements first, so that each lies aligned, then by name.
struct Contents<'a>(Vec<Elements<'a>>);

/// A tensor under a name that a file can have, of a type that it can have.
struct Elements<'a> {
    name: &'a str,
    tensor: &'a Tensor,
    stored: Dtype,
}

impl<'a> Contents<'a> {
    fn of(tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>) -> Result<Contents<'a>, DeviceError> {
        let mut all = BTreeMap::new();
        for (name, tensor) in tensors {
            let refused = |reason| Err(DeviceError::TensorName { name: name.to_string(), reason });
            let unsavable = |reason| Err(DeviceError::Unsavable { tensor: name.to_string(), reason });
            if name == "__metadata__" {
                return refused("the format keeps it for itself");
            }
            let dtype = tensor.dtype();
            let Some(stored) = stored(dtype) else {
                let wider = if dtype.is_float() { "bf16" } else { "i8" };
                return unsavable(format!("safetensors has no type for {dtype}; save it as {wider}, which holds its values"));
            };
            if stored == Dtype::F4 && !tensor.elements().is_multiple_of(2) {
                let elements = tensor.elements();
                return unsavable(format!("safetensors packs two elements of {dtype} into a byte, and it has {elements}"));
            }
            if all.insert(name, Elements { name, tensor, stored }).is_some() {
                return refused("another tensor has it");
            }
        }
        let mut all: Vec<Elements<'a>> = all.into_values().collect();
        all.sort_by_key(|elements| std::cmp::Reverse(elements.stored));
        Ok(Contents(all))
    }

    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let mut end = 0;
        let infos = self.0.iter().map(|elements| {
            let start = end;
            end += elements.length();
            let info = TensorInfo { dtype: elements.stored, shape: elements.tensor.shape().to_vec(), data_offsets: (start, end) };
            (elements.name.to_string(), info)
        });
        let header = Metadata::new(None, infos.collect()).map_err(io::Error::other)?;
        let mut header = serde_json::to_vec(&header)?;
        header.resize(header.len().next_multiple_of(8), b' ');
        let length = header.len() as u64;
        if length > MAX_HEADER {
            return Err(io::Error::other(format!("its header would have {length} bytes, the format allows {MAX_HEADER}")));
        }
        to.write_all(&length.to_le_bytes())?;
        to.write_all(&header)?;
        self.0.iter().try_for_each(|elements| to.write_all(&elements.bytes()))
    }
}

impl Elements<'_> {
    /// As they lie in the file.
    fn bytes(&self) -> Cow<'_, [u8]> {
        match self.stored {
            Dtype::F4 => pack(self.tensor.bytes()).into(),
            _ => self.tensor.bytes().into(),
        }
    }

    fn length(&self) -> usize {
        match self.stored {
            Dtype::F4 => self.tensor.elements() / 2,
            _ => self.tensor.bytes().len(),
        }
    }
}
