//! A tensor: an element type and a shape known at run time, over shared storage on a device.
//!
//! Rules: dense and row-major; the elements never change once the tensor is made, so clones share them
//! freely; the device counts the bytes until the last clone is gone.

use crate::buffer::Buffer;
use crate::memory::Slot;
use crate::{Device, DeviceError, Element};
use std::fmt;
use std::sync::Arc;
use tpu_kernel::ir::{DType, Literal, MAX_RANK, Shape};

/// How many elements `Debug` prints.
const SHOWN: usize = 8;

/// An array on a device. Cheap to clone: clones share the elements, which never change.
///
/// ```
/// use tpu_device::{Device, Tensor};
/// let device = Device::new("v5e")?;
/// let x = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
/// assert_eq!(x.shape(), [2, 3]);
/// assert_eq!(x.to_vec::<f32>()?[4], 5.0);
/// assert!(x.to_vec::<i32>().is_err());
/// # Ok::<(), tpu_device::DeviceError>(())
/// ```
#[derive(Clone)]
pub struct Tensor {
    dtype: DType,
    shape: Shape,
    storage: Arc<Storage>,
}

/// Bytes on a device, given back when dropped.
struct Storage {
    /// There until the storage is dropped.
    buffer: Option<Buffer>,
    slot: Slot,
    device: Device,
}

impl Drop for Storage {
    fn drop(&mut self) {
        self.device.memory().release(&self.slot);
        if let Some(buffer) = self.buffer.take() {
            self.device.spare().give(buffer);
        }
    }
}

impl Storage {
    fn bytes(&self) -> &[u8] {
        self.buffer.as_ref().map_or(&[], Buffer::bytes)
    }
}

/// A tensor that is still being written.
pub(crate) struct Unwritten {
    dtype: DType,
    shape: Shape,
    storage: Storage,
}

impl Unwritten {
    /// A tensor of zeros, to be written.
    pub(crate) fn new(device: &Device, dtype: DType, dims: &[usize]) -> Result<Unwritten, DeviceError> {
        Unwritten::of(device, dtype, dims, Buffer::zeroed)
    }

    /// A tensor of which every element will be written: what it holds is anything.
    pub(crate) fn of_anything(device: &Device, dtype: DType, dims: &[usize]) -> Result<Unwritten, DeviceError> {
        Unwritten::of(device, dtype, dims, |bytes| device.spare().take(bytes).or_else(|| Buffer::zeroed(bytes)))
    }

    fn of(
        device: &Device,
        dtype: DType,
        dims: &[usize],
        make: impl FnOnce(usize) -> Option<Buffer>,
    ) -> Result<Unwritten, DeviceError> {
        let (shape, elements) = check_shape(dims)?;
        let bytes = elements.checked_mul(dtype.bytes()).ok_or_else(|| too_large(dims))?;
        let slot = device.memory().reserve(dtype, shape, elements)?;
        match make(bytes) {
            Some(buffer) => Ok(Unwritten { dtype, shape, storage: Storage { buffer: Some(buffer), slot, device: device.clone() } }),
            None => {
                device.memory().release(&slot);
                Err(DeviceError::HostMemory { bytes })
            }
        }
    }

    /// Every element becomes that value, which has the tensor's element type.
    pub(crate) fn fill(&mut self, value: Literal) {
        let bytes = self.bytes();
        let bits = value.memory();
        match value.dtype().bytes() {
            1 => bytes.fill(bits as u8),
            2 => bytes.as_chunks_mut().0.fill((bits as u16).to_ne_bytes()),
            _ => bytes.as_chunks_mut().0.fill(bits.to_ne_bytes()),
        }
    }

    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        self.storage.buffer.as_mut().map_or(&mut [], Buffer::bytes_mut)
    }

    pub(crate) fn finish(self) -> Tensor {
        Tensor { dtype: self.dtype, shape: self.shape, storage: Arc::new(self.storage) }
    }
}

impl Tensor {
    /// A tensor of these elements, in row-major order. [`Element`] lists the types.
    ///
    /// # Errors
    /// The slice and the shape disagree, the shape is beyond the limits, or the device is full.
    pub fn from_slice<T: Element>(device: &Device, elements: &[T], dims: &[usize]) -> Result<Tensor, DeviceError> {
        let (_, want) = check_shape(dims)?;
        if want != elements.len() {
            return Err(DeviceError::Length { shape: dims.to_vec(), want, got: elements.len() });
        }
        let mut tensor = Unwritten::of_anything(device, T::DTYPE, dims)?;
        T::write(elements, tensor.bytes());
        Ok(tensor.finish())
    }

    /// A tensor of zeros (of bool: false).
    ///
    /// # Errors
    /// The shape is beyond the limits, or the device is full.
    pub fn zeros(device: &Device, dtype: DType, dims: &[usize]) -> Result<Tensor, DeviceError> {
        Ok(Unwritten::new(device, dtype, dims)?.finish())
    }

    /// A tensor that holds one value everywhere; its element type is the value's.
    ///
    /// ```
    /// # use tpu_device::{Device, Tensor};
    /// # let device = Device::new("v5e")?;
    /// let x = Tensor::full(&device, 7, &[3])?;
    /// assert_eq!(x.to_vec::<i32>()?, [7, 7, 7]);
    /// # Ok::<(), tpu_device::DeviceError>(())
    /// ```
    ///
    /// # Errors
    /// The shape is beyond the limits, or the device is full.
    pub fn full(device: &Device, value: impl Into<Literal>, dims: &[usize]) -> Result<Tensor, DeviceError> {
        let value = value.into();
        let mut tensor = Unwritten::of_anything(device, value.dtype(), dims)?;
        tensor.fill(value);
        Ok(tensor.finish())
    }

    /// The elements, in row-major order.
    ///
    /// # Errors
    /// `T` is not the type of the elements.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, DeviceError> {
        match self.dtype {
            got if got == T::DTYPE => Ok(T::read(self.bytes())),
            got => Err(DeviceError::ElementType { want: T::DTYPE, got }),
        }
    }

    /// A copy on another device; the tensor itself where it lives there already.
    ///
    /// # Errors
    /// The device is full.
    pub fn to_device(&self, device: &Device) -> Result<Tensor, DeviceError> {
        if device == self.device() {
            return Ok(self.clone());
        }
        let mut copy = Unwritten::of_anything(device, self.dtype, self.shape())?;
        copy.bytes().copy_from_slice(self.bytes());
        Ok(copy.finish())
    }

    /// The same elements with that rank, where only leading dimensions of 1 are more.
    pub(crate) fn without_leading_ones(&self, rank: usize) -> Option<Tensor> {
        let (ones, rest) = self.shape().split_at_checked(self.shape().len().checked_sub(rank)?)?;
        let shape = Shape::try_new(rest).filter(|_| ones.iter().all(|&d| d == 1))?;
        Some(Tensor { shape, ..self.clone() })
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape, outermost dimension first; empty for a tensor of rank 0, which has one element.
    pub fn shape(&self) -> &[usize] {
        self.shape.dims()
    }

    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.bytes().len() / self.dtype.bytes()
    }

    /// The device that it lives on.
    pub fn device(&self) -> &Device {
        &self.storage.device
    }

    /// The elements as bytes, in native order, aligned to 64 bytes. A bool is a byte of 0 or 1. What is narrower than a byte
    /// takes one: signed integers are sign-extended, the others zero-extended.
    pub fn bytes(&self) -> &[u8] {
        self.storage.bytes()
    }

    /// The element at that position of the row-major order, which exists.
    fn literal(&self, at: usize) -> Literal {
        let size = self.dtype.bytes();
        let bits = match self.bytes()[at * size..(at + 1) * size] {
            [a] => u32::from(a),
            [a, b] => u32::from(u16::from_ne_bytes([a, b])),
            [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]),
            _ => unreachable!("elements have 1, 2 or 4 bytes"),
        };
        Literal::from_bits(self.dtype, bits)
    }
}

/// `f32[2, 3] 1.0, 2.0, 3.0, 4.0, 5.0, 6.0`; of many elements, the first eight and `…`.
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.dtype, self.shape())?;
        for at in 0..self.elements().min(SHOWN) {
            write!(f, "{}{}", if at == 0 { " " } else { ", " }, self.literal(at))?;
        }
        if self.elements() > SHOWN {
            f.write_str(", …")?;
        }
        Ok(())
    }
}

/// The shape and its number of elements, within the limits of rank and size.
fn check_shape(dims: &[usize]) -> Result<(Shape, usize), DeviceError> {
    let refused = |reason| DeviceError::Shape { shape: dims.to_vec(), reason };
    if dims.len() > MAX_RANK {
        return Err(refused("the highest rank is 4"));
    }
    let shape = Shape::try_new(dims).ok_or_else(|| refused("a dimension must be below 2147483648"))?;
    let elements = shape.checked_elements().ok_or_else(|| too_large(dims))?;
    Ok((shape, elements))
}

fn too_large(dims: &[usize]) -> DeviceError {
    DeviceError::Shape { shape: dims.to_vec(), reason: "its size in bytes exceeds 64 bits" }
}
