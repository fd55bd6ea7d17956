//! Compiled kernels, in memory.
//!
//! Rules: the key is the kernel's path, its configuration without array sizes and backward kernel (its
//! transformations are part of it), and the element types of the inputs; so another array size, or another scalar, compiles nothing. A key is built and compiled
//! once, also when many threads ask at once. Failures are not kept. Finding an entry allocates nothing.

use crate::DeviceError;
use crate::bound::Bindings;
use crate::once::{Once, making};
use crate::program::{Executor, Program};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tpu_kernel::cranelift::checked::CheckedExecutable;
use tpu_kernel::ir::{DType, Kernel};
use tpu_kernel::launch::{Config, Launchable};
use tpu_kernel::passes;

/// What the cache knows of one compiled kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelStats {
    /// The kernel's name.
    pub name: &'static str,
    /// The kernel's path: module and name.
    pub path: &'static str,
    /// Its configuration; no array sizes.
    pub config: Config,
    /// The element types of its inputs.
    pub inputs: Vec<DType>,
    /// The part of `compile_time` that built, verified and simplified the IR.
    pub stage_time: Duration,
    /// From the kernel's function to code that runs.
    pub compile_time: Duration,
    /// Launches so far.
    pub launches: u64,
}

#[derive(Default)]
pub(crate) struct Cache {
    /// By the hash of the key; keys that collide share a list.
    entries: RwLock<BTreeMap<u64, Vec<Arc<Entry>>>>,
}

/// One kernel for one configuration and one list of input types.
pub(crate) struct Entry {
    name: &'static str,
    path: &'static str,
    identity: usize,
    /// Without sizes and backward kernel.
    config: Config,
    inputs: Vec<DType>,
    staged: Once<Staged>,
    program: Once<Compiled<Program>>,
    checked: Once<Compiled<CheckedExecutable>>,
    pub(crate) bindings: Bindings,
    pub(crate) launches: AtomicU64,
}

struct Staged {
    kernel: Kernel,
    time: Duration,
}

struct Compiled<P> {
    program: P,
    time: Duration,
}

impl Cache {
    /// The entry of a kernel for inputs of these types; made empty if there is none.
    pub(crate) fn entry(&self, kernel: &dyn Launchable, inputs: &[DType]) -> Arc<Entry> {
        let hash = Self::hash(kernel, inputs);
        let find = |list: &Vec<Arc<Entry>>| list.iter().find(|e| e.is_for(kernel, inputs)).cloned();
        let found = self.entries.read().unwrap_or_else(PoisonError::into_inner).get(&hash).and_then(find);
        found.unwrap_or_else(|| {
            let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
            let list = entries.entry(hash).or_default();
            find(list).unwrap_or_else(|| {
                let entry = Arc::new(Entry::new(kernel, inputs));
                list.push(entry.clone());
                entry
            })
        })
    }

    fn hash(kernel: &dyn Launchable, inputs: &[DType]) -> u64 {
        let Config { blocks, elements, sizes: _, precision, allow, transforms, checking: _ } = kernel.config();
        let mut hasher = KeyHasher::default();
        (kernel.path(), kernel.identity(), blocks, elements, precision, allow, transforms, inputs).hash(&mut hasher);
        hasher.finish()
    }

    /// Every compiled kernel, in the order of name and path.
    pub(crate) fn stats(&self) -> Vec<KernelStats> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let mut stats: Vec<KernelStats> = entries.values().flatten().filter_map(|e| e.stats()).collect();
        stats.sort_by(|a, b| {
            let order = |k: &KernelStats| (k.name, k.path, k.config.blocks.clone(), k.config.elements.clone(), k.inputs.clone());
            order(a).cmp(&order(b))
        });
        stats
    }
}

impl Entry {
    fn new(kernel: &dyn Launchable, inputs: &[DType]) -> Entry {
        Entry {
            name: kernel.name(),
            path: kernel.path(),
            identity: kernel.identity(),
            config: Config {
                sizes: vec![],
                checking: None,
                transforms: kernel.config().transforms.forward(),
                ..kernel.config().clone()
            },
            inputs: inputs.to_vec(),
            staged: Once::default(),
            program: Once::default(),
            checked: Once::default(),
            bindings: Bindings::default(),
            launches: AtomicU64::new(0),
        }
    }

    fn is_for(&self, kernel: &dyn Launchable, inputs: &[DType]) -> bool {
        let Config { blocks, elements, sizes: _, precision, allow, transforms, checking: _ } = kernel.config();
        let own = &self.config;
        self.path == kernel.path()
            && self.identity == kernel.identity()
            && self.inputs == inputs
            && own.blocks == *blocks
            && own.elements == *elements
            && own.precision == *precision
            && own.allow == *allow
            && own.transforms.same_kernel(transforms)
    }

    /// The kernel's IR: verified and simplified. Refused while this thread builds a kernel, whether this one
    /// is known already or not.
    pub(crate) fn kernel(&self, launchable: &dyn Launchable) -> Result<&Kernel, DeviceError> {
        if making() {
            return Err(DeviceError::Reentrant { kernel: self.name });
        }
        if let Some(staged) = self.staged.get() {
            return Ok(&staged.kernel);
        }
        let stage = || {
            let start = Instant::now();
            let mut kernel = launchable.stage(&self.inputs)?;
            passes::verify(&kernel).map_err(|faults| tpu_kernel::Error::rules(&kernel, faults))?;
            passes::canonicalise(&mut kernel);
            Ok(Staged { kernel, time: start.elapsed() })
        };
        self.staged.get_or_make(self.name, stage).map(|staged| &staged.kernel)
    }

    /// The kernel's code, and whether this call compiled it. `kernel` is what [`Entry::kernel`] gave.
    pub(crate) fn program(&self, kernel: &Kernel, executor: Executor) -> Result<(&Program, bool), DeviceError> {
        if let Some(compiled) = self.program.get() {
            return Ok((&compiled.program, false));
        }
        let mut own = false;
        let compile = || {
            own = true;
            let start = Instant::now();
            let program = Program::compile(kernel, executor)?;
            Ok(Compiled { program, time: start.elapsed() })
        };
        let compiled = self.program.get_or_make(self.name, compile)?;
        Ok((&compiled.program, own))
    }

    /// The kernel's code for checked launches, and whether this call compiled it.
    pub(crate) fn checked(&self, kernel: &Kernel) -> Result<(&CheckedExecutable, bool), DeviceError> {
        let mut own = false;
        let compile = || {
            own = true;
            let start = Instant::now();
            let program = CheckedExecutable::compile(kernel)?;
            Ok(Compiled { program, time: start.elapsed() })
        };
        let compiled = self.checked.get_or_make(self.name, compile)?;
        Ok((&compiled.program, own))
    }

    fn stats(&self) -> Option<KernelStats> {
        let staged = self.staged.get()?;
        let times = [self.program.get().map(|p| p.time), self.checked.get().map(|p| p.time)];
        let compiling = times.into_iter().flatten().reduce(|a, b| a + b)?;
        Some(KernelStats {
            name: self.name,
            path: self.path,
            config: self.config.clone(),
            inputs: self.inputs.clone(),
            stage_time: staged.time,
            compile_time: staged.time + compiling,
            launches: self.launches.load(Relaxed),
        })
    }
}

/// A fast hash of keys that the program itself makes: no defence against chosen collisions is needed,
/// and a collision costs a comparison.
#[derive(Default)]
struct KeyHasher(u64);

impl KeyHasher {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(26) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.mix(u64::from_le_bytes(word));
        }
    }
    fn write_u8(&mut self, n: u8) {
        self.mix(u64::from(n));
    }
    fn write_usize(&mut self, n: usize) {
        self.mix(n as u64);
    }
    fn write_isize(&mut self, n: isize) {
        self.mix(n as u64);
    }
    fn finish(&self) -> u64 {
        self.0
    }
}
