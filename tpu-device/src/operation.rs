//! Operations on tensors: those made from kernels, and those written by hand.

use crate::{ArgSpec, Device, DeviceError, Tensor, backward, launch};
use tpu_kernel::ir::DType;
use tpu_kernel::launch::{Arg, Cost, Launchable, Target};

/// Something that a device can do with tensors. [`Device::register`] makes one from a kernel; implement
/// it for what is more than one kernel.
///
/// ```
/// use tpu_device::{Arg, ArgSpec, DType, Device, DeviceError, Operation, Tensor};
///
/// /// The elements of a tensor, in one dimension.
/// struct Flatten;
///
/// impl Operation for Flatten {
///     fn name(&self) -> &str {
///         "flatten"
///     }
///     fn infer(&self, _: &Device, args: &[ArgSpec<'_>]) -> Result<Vec<(DType, Vec<usize>)>, DeviceError> {
///         match args {
///             [ArgSpec::Array { dtype, shape }] => Ok(vec![(*dtype, vec![shape.iter().product()])]),
///             _ => Err(DeviceError::Operation { operation: "flatten".into(), reason: "takes one tensor".into() }),
///         }
///     }
///     fn call(&self, device: &Device, args: &[Arg<'_, Tensor>]) -> Result<Vec<Tensor>, DeviceError> {
///         match args {
///             [Arg::Array(x)] => Ok(vec![Tensor::from_slice(device, &x.to_vec::<f32>()?, &[x.elements()])?]),
///             _ => Err(DeviceError::Operation { operation: "flatten".into(), reason: "takes one tensor".into() }),
///         }
///     }
/// }
///
/// let device = Device::new("v5e")?;
/// device.register_operation(Flatten)?;
/// let x = Tensor::full(&device, 1.5f32, &[2, 3])?;
/// assert_eq!(device.infer("flatten", &[(&x).into()])?, [(DType::F32, vec![6])]);
/// assert_eq!(device.call_one("flatten", [&x])?.shape(), [6]);
/// # Ok::<(), DeviceError>(())
/// ```
pub trait Operation: Send + Sync {
    /// The name by which it is called.
    fn name(&self) -> &str;

    /// The element types and shapes of its outputs, without running it.
    ///
    /// # Errors
    /// Where [`call`](Self::call) would refuse the same arguments.
    fn infer(&self, device: &Device, args: &[ArgSpec<'_>]) -> Result<Vec<(DType, Vec<usize>)>, DeviceError>;

    /// Runs it. The tensors live on the device.
    ///
    /// # Errors
    /// Wrong arguments, no memory, or a failure while it runs.
    fn call(&self, device: &Device, args: &[Arg<'_, Tensor>]) -> Result<Vec<Tensor>, DeviceError>;

    /// What a call with such arguments costs; `None` where that is not known.
    ///
    /// # Errors
    /// Where [`call`](Self::call) would refuse the same arguments.
    fn cost(&self, device: &Device, args: &[ArgSpec<'_>]) -> Result<Option<Cost>, DeviceError> {
        let _ = (device, args);
        Ok(None)
    }

    /// The gradients of its arguments, of a call with these arguments that gave these outputs, whose gradients are
    /// given: one for each argument, `None` where there is none. An operation has none unless it says so.
    ///
    /// # Errors
    /// No gradients are known, wrong tensors, no memory, or a failure while it runs.
    fn backward(
        &self,
        device: &Device,
        args: &[Arg<'_, Tensor>],
        outputs: &[&Tensor],
        gradients: &[&Tensor],
    ) -> Result<Vec<Option<Tensor>>, DeviceError> {
        let _ = (device, args, outputs, gradients);
        Err(DeviceError::NoBackward { operation: self.name().to_string() })
    }
}

/// A kernel as an operation; shape inference comes from the kernel's operands.
pub(crate) struct KernelOperation<K> {
    name: String,
    kernel: K,
}

impl<K: Launchable> KernelOperation<K> {
    pub(crate) fn new(name: String, kernel: K) -> Self {
        KernelOperation { name, kernel }
    }
}

impl<K: Launchable> Operation for KernelOperation<K> {
    fn name(&self) -> &str {
        &self.name
    }

    fn infer(&self, device: &Device, args: &[ArgSpec<'_>]) -> Result<Vec<(DType, Vec<usize>)>, DeviceError> {
        launch::infer(device, &self.kernel, args)
    }

    fn call(&self, device: &Device, args: &[Arg<'_, Tensor>]) -> Result<Vec<Tensor>, DeviceError> {
        device.launch(&self.kernel, args)
    }

    fn cost(&self, device: &Device, args: &[ArgSpec<'_>]) -> Result<Option<Cost>, DeviceError> {
        launch::cost(device, &self.kernel, args).map(Some)
    }

    fn backward(
        &self,
        device: &Device,
        args: &[Arg<'_, Tensor>],
        outputs: &[&Tensor],
        gradients: &[&Tensor],
    ) -> Result<Vec<Option<Tensor>>, DeviceError> {
        backward::backward(device, &self.kernel, args, outputs, gradients)
    }
}
