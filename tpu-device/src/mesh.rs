//! Several devices that run one kernel together: each has arrays of its own, and copies and signals go from one to another.
//!
//! Rules: a launch on a mesh is a launch on each device with the same kernel and the same sizes; devices are numbered in the order
//! of the mesh, which is what `device_id()` gives. All run on the thread that asks, in an order that the mesh's seed draws.

use crate::guard::guarded;
use crate::launch::{Ready, prepare};
use crate::tensor::Unwritten;
use crate::{ArgSpec, Device, DeviceError, Executor, Tensor};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use tpu_kernel::exec::{Args, ArrayMut, ArrayRef, Printed};
use tpu_kernel::ir::{Kernel, Literal, SemaphoreKind, Type};
use tpu_kernel::launch::{Arg, Launchable, Target};

/// Devices that run kernels together.
///
/// ```
/// use tpu_device::{Device, Mesh, Tensor};
/// use tpu_kernel::prelude::*;
///
/// /// Each device gives its array to the next one.
/// #[tpu_kernel]
/// fn shift(
///     #[hbm([8, 128])] x: Hbm<f32, 2>,
///     #[hbm([8, 128])] o: HbmOut<f32, 2>,
///     #[scratch] sent: DmaSemaphore,
///     #[scratch] arrived: DmaSemaphore,
///     #[scratch] ready: Barrier<1>,
/// ) {
///     let next = (device_id() + 1) % 2;
///     // Nobody writes before the other is there.
///     ready.signal_on(next, 1);
///     ready.wait(1);
///     copy_to_device(next, x, o).start(sent, arrived).wait();
/// }
///
/// let devices = [Device::new("v5e")?, Device::new("v5e")?];
/// let x = devices.iter().zip([1.0f32, 2.0]).map(|(device, value)| Tensor::full(device, value, &[8, 128]));
/// let x = x.collect::<Result<Vec<_>, _>>()?;
/// let o = shift().launch(&Mesh::of(devices)?, &x)?;
/// assert_eq!(o[0].to_vec::<f32>()?[0], 2.0);
/// assert_eq!(o[1].to_vec::<f32>()?[0], 1.0);
/// # Ok::<(), tpu_device::DeviceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Mesh {
    devices: Vec<Device>,
    seed: u64,
    /// Whose barrier that of a collective id is: the kernel that was launched with it, checked, by its path and its name.
    barriers: Arc<Mutex<BTreeMap<u32, (&'static str, &'static str)>>>,
}

impl Mesh {
    /// These devices, numbered from 0.
    ///
    /// # Errors
    /// D025: there are none, one is there twice, their chips differ, or one interprets its kernels.
    pub fn of(devices: impl IntoIterator<Item = Device>) -> Result<Mesh, DeviceError> {
        let devices: Vec<Device> = devices.into_iter().collect();
        let wrong = |reason: &str| Err(DeviceError::Mesh { reason: reason.to_string() });
        let Some(first) = devices.first() else { return wrong("it has no device") };
        if devices.iter().any(|device| device.chip().name != first.chip().name) {
            return wrong("its devices are of different chips");
        }
        if devices.iter().any(|device| device.executor() != Executor::Cranelift) {
            return wrong("a device interprets its kernels, and the interpreter knows one device");
        }
        if (1..devices.len()).any(|at| devices[..at].contains(&devices[at])) {
            return wrong("a device is in it twice");
        }
        Ok(Mesh { devices, seed: 0, barriers: Arc::default() })
    }

    /// The same devices, in an order of running that this seed draws. With 0 each goes on until it must wait.
    pub fn seed(mut self, seed: u64) -> Mesh {
        self.seed = seed;
        self
    }

    /// The devices, in their order.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }
}

impl Target for Mesh {
    /// A tensor on each device, in their order.
    type Tensor = Vec<Tensor>;
    type Error = DeviceError;

    fn launch(&self, kernel: &dyn Launchable, args: &[Arg<'_, Vec<Tensor>>]) -> Result<Vec<Vec<Tensor>>, DeviceError> {
        guarded("a launch", || self.run(kernel, args))
    }
}

impl Mesh {
    /// That no other kernel has been launched with the collective ids of this one: whoever is ahead in the one would signal those that
    /// are still in the other.
    fn own_barriers(&self, launchable: &dyn Launchable, kernel: &Kernel) -> Result<(), DeviceError> {
        let mut barriers = self.barriers.lock().unwrap_or_else(PoisonError::into_inner);
        for param in &kernel.params {
            let Type::Semaphore(SemaphoreKind::Barrier(id), _) = param.ty else { continue };
            let &mut (path, other) = barriers.entry(id).or_insert((launchable.path(), launchable.name()));
            if path != launchable.path() {
                return Err(DeviceError::CollectiveId { id, kernel: launchable.name(), other });
            }
        }
        Ok(())
    }

    fn run(&self, launchable: &dyn Launchable, args: &[Arg<'_, Vec<Tensor>>]) -> Result<Vec<Vec<Tensor>>, DeviceError> {
        let wrong = |reason: String| DeviceError::Mesh { reason };
        for (index, arg) in args.iter().enumerate() {
            let Arg::Array(tensors) = arg else { continue };
            if tensors.len() != self.devices.len() {
                return Err(wrong(format!("argument {index} has {} tensors for {} devices", tensors.len(), self.devices.len())));
            }
            for (device, tensor) in self.devices.iter().zip(tensors.iter()) {
                if tensor.device() != device {
                    return Err(DeviceError::OtherDevice { index });
                }
                if (tensor.dtype(), tensor.shape()) != (tensors[0].dtype(), tensors[0].shape()) {
                    return Err(wrong(format!("the tensors of argument {index} differ in shape or element type")));
                }
            }
        }
        let first = &self.devices[0];
        let of = |at: usize| {
            args.iter().map(move |&arg| match arg {
                Arg::Array(tensors) => Arg::Array(&tensors[at]),
                Arg::Scalar(scalar) => Arg::Scalar(scalar),
            })
        };
        let values: Vec<Arg<'_, Tensor>> = of(0).collect();
        let specs: Vec<ArgSpec<'_>> = values.iter().map(|&arg| arg.into()).collect();
        let prepared = prepare(first, launchable, &specs, &values)?;
        let (entry, binding) = (&prepared.entry, &prepared.bound.binding);
        let kernel = entry.kernel(launchable)?;
        let config = launchable.config();
        let ready = match config.checking.or_else(|| self.devices.iter().find_map(Device::checking)) {
            None => Ready::plain(first, entry, kernel, Executor::Cranelift)?,
            Some(checking) => {
                self.own_barriers(launchable, kernel)?;
                Ready::checked(first, entry, kernel, checking, config)?
            }
        };
        let scalars: Vec<Literal> =
            args.iter().filter_map(|arg| if let Arg::Scalar(scalar) = arg { Some(*scalar) } else { None }).collect();
        let mut outputs: Vec<Vec<Unwritten>> = vec![];
        for device in &self.devices {
            let mut own = vec![];
            for ((at, param), &covered) in kernel.outputs().zip(&prepared.bound.covered) {
                let mut output = Unwritten::of_anything(device, param.ty.dtype(), &binding.arrays[at])?;
                if !covered {
                    output.fill(Literal::poison(param.ty.dtype()));
                }
                own.push(output);
            }
            outputs.push(own);
        }
        let inputs: Vec<Vec<ArrayRef<'_>>> = (0..self.devices.len())
            .map(|at| {
                let arrays = of(at).filter_map(|arg| if let Arg::Array(x) = arg { Some(x) } else { None });
                arrays.map(|x| ArrayRef { dtype: x.dtype(), shape: x.shape(), bytes: x.bytes() }).collect()
            })
            .collect();
        let shapes: Vec<&[usize]> = kernel.outputs().map(|(at, _)| binding.arrays[at].as_slice()).collect();
        let mut arrays: Vec<Vec<ArrayMut<'_>>> = outputs
            .iter_mut()
            .map(|own| {
                let arrays = own.iter_mut().zip(&shapes);
                arrays.map(|(output, shape)| ArrayMut { dtype: output.dtype(), shape, bytes: output.bytes() }).collect()
            })
            .collect();
        let mut logs: Vec<_> = self.devices.iter().map(|device| move |message: &Printed| device.print()(message)).collect();
        let mut each: Vec<Args<'_, '_>> = inputs
            .iter()
            .zip(&mut arrays)
            .zip(&mut logs)
            .map(|((inputs, outputs), log)| Args { inputs, outputs, scalars: &scalars, log })
            .collect();
        ready.run_mesh(binding, &mut each, self.seed)?;
        entry.launches.fetch_add(1, Relaxed);
        self.devices.iter().for_each(Device::count_launch);
        // By output, then by device.
        let mut results: Vec<Vec<Tensor>> = shapes.iter().map(|_| vec![]).collect();
        for own in outputs {
            for (result, output) in results.iter_mut().zip(own) {
                result.push(output.finish());
            }
        }
        Ok(results)
    }
}
