//! A simulated device: a chip, its memory, the kernels compiled for it, its operations and its counters.

use crate::cache::{Cache, KernelStats};
use crate::memory::Memory;
use crate::registry::Registry;
use crate::spare::Spare;
use crate::{DeviceError, Executor};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tpu_kernel::chips::Chip;
use tpu_kernel::exec::print::to_stderr;
use tpu_kernel::exec::{Checking, Printed};

/// What takes the messages of kernels.
pub(crate) type OnPrint = Arc<dyn Fn(&Printed) + Send + Sync>;

/// A simulated TPU chip that tensors live on and kernels run on. Cheap to clone: clones are the same
/// device. Threads share it freely.
///
/// ```
/// use tpu_device::Device;
/// let device = Device::new("v6e")?;
/// assert_eq!(device.chip().name, "v6e");
/// assert_eq!(device.stats().launches, 0);
///
/// let error = Device::new("v9").unwrap_err();
/// assert_eq!(error.code(), "D001");
/// # Ok::<(), tpu_device::DeviceError>(())
/// ```
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    chip: Chip,
    executor: Executor,
    checking: Option<Checking>,
    memory: Memory,
    spare: Spare,
    cache: Cache,
    registry: Registry,
    on_print: RwLock<OnPrint>,
    launches: AtomicU64,
    compilations: AtomicU64,
    cache_hits: AtomicU64,
    backward_launches: AtomicU64,
}

/// A device to be: [`Device::builder`].
#[derive(Clone, Copy, Debug)]
pub struct DeviceBuilder {
    chip: Chip,
    executor: Executor,
    checking: Option<Checking>,
    hbm_bytes: u64,
}

impl DeviceBuilder {
    /// What runs the kernels; [`Executor::Cranelift`] unless set.
    pub fn executor(mut self, executor: Executor) -> DeviceBuilder {
        self.executor = executor;
        self
    }

    /// Every launch is checked, as a kernel's own `checked` does it for one: `docs/checked.md`.
    ///
    /// ```
    /// use tpu_device::{Chip, Device};
    /// use tpu_kernel::prelude::*;
    ///
    /// #[tpu_kernel(grid(i: n / 256))]
    /// fn total(#[block([n] at (i))] x: In<f32, (D<256>,)>, #[block([1] at (0))] mut o: Out<f32, (One,)>) {
    ///     if i == 0 {
    ///         o.fill(0.0);
    ///     }
    ///     o += x.load().sum(Lanes);
    /// }
    ///
    /// let device = Device::builder(Chip::V5E).checked(7).build();
    /// let x = tpu_device::Tensor::full(&device, 1.0f32, &[300])?;
    /// assert_eq!(total().launch(&device, &x).unwrap_err().code(), "R015");
    /// # Ok::<(), tpu_device::DeviceError>(())
    /// ```
    pub fn checked(mut self, seed: impl Into<Checking>) -> DeviceBuilder {
        self.checking = Some(seed.into());
        self
    }

    /// The bytes that tensors may take; the chip's HBM unless set.
    pub fn hbm_bytes(mut self, bytes: u64) -> DeviceBuilder {
        self.hbm_bytes = bytes;
        self
    }

    /// The device.
    pub fn build(self) -> Device {
        Device(Arc::new(Inner {
            chip: self.chip,
            executor: self.executor,
            checking: self.checking,
            memory: Memory::new(self.hbm_bytes),
            spare: Spare::default(),
            cache: Cache::default(),
            registry: Registry::default(),
            on_print: RwLock::new(Arc::new(to_stderr)),
            launches: AtomicU64::new(0),
            compilations: AtomicU64::new(0),
            cache_hits: AtomicU64::new(0),
            backward_launches: AtomicU64::new(0),
        }))
    }
}

/// The counters of a device, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Launches that ended well, those with nothing to do included.
    pub launches: u64,
    /// Those of them that ran the backward kernel of an operation; sums over a batch that follow are launches, too.
    pub backward_launches: u64,
    /// Kernels compiled.
    pub compilations: u64,
    /// Launches that found their kernel compiled, or waited while another thread compiled it.
    pub cache_hits: u64,
    /// The time that all compilations took, from the kernels' functions to code that runs.
    pub compile_time: Duration,
    /// Bytes of live tensors.
    pub live_bytes: u64,
    /// The most that `live_bytes` has been.
    pub peak_bytes: u64,
    /// Bytes that tensors may take.
    pub capacity_bytes: u64,
    /// Every compiled kernel, in the order of names, then block sizes and element types.
    pub kernels: Vec<KernelStats>,
}

impl Device {
    /// A simulated chip of that name, in any case: `v5e`.
    ///
    /// # Errors
    /// No chip has the name; the error lists those there are.
    pub fn new(chip: &str) -> Result<Device, DeviceError> {
        match Chip::by_name(chip) {
            Some(chip) => Ok(Device::simulated(*chip)),
            None => {
                let chips = Chip::ALL.iter().map(|chip| chip.name).collect();
                Err(DeviceError::UnknownChip { name: chip.to_string(), chips })
            }
        }
    }

    /// A simulated chip.
    pub fn simulated(chip: Chip) -> Device {
        Device::builder(chip).build()
    }

    /// A simulated chip with choices.
    ///
    /// ```
    /// use tpu_device::{Chip, Device, Executor};
    /// let device = Device::builder(Chip::V5E).executor(Executor::Interpreter).hbm_bytes(1 << 20).build();
    /// assert_eq!(device.stats().capacity_bytes, 1 << 20);
    /// ```
    pub fn builder(chip: Chip) -> DeviceBuilder {
        DeviceBuilder { chip, executor: Executor::default(), checking: None, hbm_bytes: chip.hbm_bytes }
    }

    /// The chip.
    pub fn chip(&self) -> &Chip {
        &self.0.chip
    }

    /// What runs the kernels.
    pub fn executor(&self) -> Executor {
        self.0.executor
    }

    /// How its launches are checked, unless they say so themselves.
    pub fn checking(&self) -> Option<Checking> {
        self.0.checking
    }

    /// The counters.
    pub fn stats(&self) -> Stats {
        let (live_bytes, peak_bytes) = self.0.memory.usage();
        let kernels = self.0.cache.stats();
        Stats {
            launches: self.0.launches.load(Relaxed),
            backward_launches: self.0.backward_launches.load(Relaxed),
            compilations: self.0.compilations.load(Relaxed),
            cache_hits: self.0.cache_hits.load(Relaxed),
            compile_time: kernels.iter().map(|k| k.compile_time).sum(),
            live_bytes,
            peak_bytes,
            capacity_bytes: self.0.memory.capacity(),
            kernels,
        }
    }

    /// What takes the messages that kernels write with `debug_print!`, from now on: standard error unless set.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// let device = tpu_device::Device::new("v5e")?;
    /// let lines = Arc::new(Mutex::new(vec![]));
    /// let log = lines.clone();
    /// device.on_print(move |message| log.lock().unwrap().push(message.text.clone()));
    /// # Ok::<(), tpu_device::DeviceError>(())
    /// ```
    pub fn on_print(&self, take: impl Fn(&Printed) + Send + Sync + 'static) {
        *self.0.on_print.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(take);
    }

    pub(crate) fn print(&self) -> OnPrint {
        self.0.on_print.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.0.memory
    }

    pub(crate) fn spare(&self) -> &Spare {
        &self.0.spare
    }

    pub(crate) fn cache(&self) -> &Cache {
        &self.0.cache
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.0.registry
    }

    pub(crate) fn count_launch(&self) {
        self.0.launches.fetch_add(1, Relaxed);
    }

    pub(crate) fn count_backward(&self) {
        self.0.backward_launches.fetch_add(1, Relaxed);
    }

    /// Counts a kernel's code as compiled or as found.
    pub(crate) fn count_compilation(&self, compiled: bool) {
        let counter = if compiled { &self.0.compilations } else { &self.0.cache_hits };
        counter.fetch_add(1, Relaxed);
    }
}

/// Whether both are one device, not two of a kind.
impl PartialEq for Device {
    fn eq(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
impl Eq for Device {}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("chip", &self.0.chip.name).field("executor", &self.0.executor).finish_non_exhaustive()
    }
}
