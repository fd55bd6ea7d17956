//! The operations of a device, by name.
//!
//! Rules: a name means one operation for the life of the device; registering the same kernel with the
//! same configuration under its name again is no error and changes nothing, anything else is.

use crate::error::close_names;
use crate::guard::guarded;
use crate::launch::check_devices;
use crate::operation::KernelOperation;
use crate::{ArgSpec, Arguments, Device, DeviceError, Operation, Tensor};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, PoisonError, RwLock};
use tpu_kernel::ir::DType;
use tpu_kernel::launch::{Arg, Config, Cost, Launchable};

#[derive(Default)]
pub(crate) struct Registry(RwLock<BTreeMap<String, Registered>>);

struct Registered {
    operation: Arc<dyn Operation>,
    /// Of a kernel's operation: the kernel's path and configuration.
    source: Option<(&'static str, usize, Config)>,
}

impl Registry {
    fn add(
        &self,
        name: String,
        operation: Arc<dyn Operation>,
        source: Option<(&'static str, usize, Config)>,
    ) -> Result<(), DeviceError> {
        match self.0.write().unwrap_or_else(PoisonError::into_inner).entry(name) {
            Entry::Vacant(place) => {
                place.insert(Registered { operation, source });
                Ok(())
            }
            Entry::Occupied(place) if source.is_some() && place.get().source == source => Ok(()),
            Entry::Occupied(place) => Err(DeviceError::DuplicateOperation { name: place.key().clone() }),
        }
    }

    fn get(&self, name: &str) -> Result<Arc<dyn Operation>, DeviceError> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        match all.get(name) {
            Some(found) => Ok(found.operation.clone()),
            None => {
                let close = close_names(name, all.keys().map(String::as_str));
                Err(DeviceError::UnknownOperation { name: name.to_string(), close })
            }
        }
    }

    fn names(&self) -> Vec<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }
}

impl Device {
    /// Makes the kernel an operation of this device, called by the kernel's name. The same kernel with the
    /// same configuration may be registered again.
    ///
    /// # Errors
    /// Another operation has the name, or a transformation of the kernel cannot be.
    pub fn register(&self, kernel: impl Launchable + 'static) -> Result<(), DeviceError> {
        let name = kernel.name();
        self.register_as(name, kernel)
    }

    /// Makes the kernel an operation of this device, called by that name: one kernel may be several
    /// operations, with other configurations.
    ///
    /// # Errors
    /// Another operation has the name, or a transformation of the kernel cannot be.
    pub fn register_as(&self, name: &str, kernel: impl Launchable + 'static) -> Result<(), DeviceError> {
        if let Some(fault) = kernel.config().transforms.fault() {
            return Err(fault.clone().into());
        }
        let source = (kernel.path(), kernel.identity(), kernel.config().clone());
        self.registry().add(name.to_string(), Arc::new(KernelOperation::new(name.to_string(), kernel)), Some(source))
    }

    /// Adds a hand-written operation, called by its own name. It must not keep tensors of this device:
    /// the device would keep them, and they the device.
    ///
    /// # Errors
    /// An operation has the name.
    pub fn register_operation(&self, operation: impl Operation + 'static) -> Result<(), DeviceError> {
        self.registry().add(operation.name().to_string(), Arc::new(operation), None)
    }

    /// The names of all operations, sorted.
    pub fn operations(&self) -> Vec<String> {
        self.registry().names()
    }

    /// Runs the operation of that name: `device.call("axpy", (2.0f32, &x, &y))`.
    ///
    /// # Errors
    /// No such operation, tensors of another device, or an error of the operation.
    pub fn call<'a>(&self, name: &str, args: impl Arguments<'a>) -> Result<Vec<Tensor>, DeviceError> {
        let operation = self.registry().get(name)?;
        let args = args.into_args();
        check_devices(self, &args)?;
        guarded("an operation", || operation.call(self, &args))
    }

    /// Runs the operation of that name, which gives one tensor.
    ///
    /// # Errors
    /// As [`call`](Self::call), and where the operation gives none or several.
    pub fn call_one<'a>(&self, name: &str, args: impl Arguments<'a>) -> Result<Tensor, DeviceError> {
        let [output] = <[Tensor; 1]>::try_from(self.call(name, args)?).map_err(|outputs| DeviceError::OutputCount {
            operation: name.to_string(),
            want: 1,
            got: outputs.len(),
        })?;
        Ok(output)
    }

    /// What a call of that operation with such arguments would cost; `None` where a hand-written operation does not
    /// say. Nothing runs.
    ///
    /// # Errors
    /// No such operation, or arguments that it would refuse.
    pub fn cost(&self, name: &str, args: &[ArgSpec<'_>]) -> Result<Option<Cost>, DeviceError> {
        let operation = self.registry().get(name)?;
        guarded("a cost", || operation.cost(self, args))
    }

    /// The gradients of the arguments of a call: what the backward kernel gives that the operation's kernel carries.
    /// `args` and `outputs` are those of the call, `gradients` has the gradient of each output. One for each
    /// argument; `None` for scalars, and for inputs that the backward kernel gives none of.
    ///
    /// # Errors
    /// No such operation, one without a backward kernel, tensors that do not fit, or an error of the backward kernel.
    pub fn backward<'a>(
        &self,
        name: &str,
        args: impl Arguments<'a>,
        outputs: impl IntoIterator<Item = &'a Tensor>,
        gradients: impl IntoIterator<Item = &'a Tensor>,
    ) -> Result<Vec<Option<Tensor>>, DeviceError> {
        let operation = self.registry().get(name)?;
        let args = args.into_args();
        check_devices(self, &args)?;
        let (outputs, gradients): (Vec<_>, Vec<_>) = (outputs.into_iter().collect(), gradients.into_iter().collect());
        let given: Vec<Arg<'_, Tensor>> = outputs.iter().chain(&gradients).map(|x| Arg::Array(*x)).collect();
        check_devices(self, &given)?;
        guarded("an operation", || operation.backward(self, &args, &outputs, &gradients))
    }

    /// The element types and shapes that the outputs of that operation would have. Nothing runs, and no
    /// memory of the device is used.
    ///
    /// # Errors
    /// No such operation, or arguments that it would refuse.
    pub fn infer(&self, name: &str, args: &[ArgSpec<'_>]) -> Result<Vec<(DType, Vec<usize>)>, DeviceError> {
        let operation = self.registry().get(name)?;
        guarded("shape inference", || operation.infer(self, args))
    }
}
