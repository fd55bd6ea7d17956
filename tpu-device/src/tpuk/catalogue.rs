//! The kernels that a program registers with its command line.
//!
//! Rules: an entry is data that its author wrote; what names something that the kernel lacks is reported when the entry
//! is used, not when it is made. The first configuration and the first element types are those of a command that
//! names none.

use super::reference::{Call, Reference};
use std::fmt::Display;
use std::sync::Arc;
use tpu_kernel::ir::{DType, Precision};
use tpu_kernel::lang::Transform;
use tpu_kernel::launch::{Config, Launchable};

/// The kernels of a program, in the order in which they are shown.
///
/// ```no_run
/// use std::process::ExitCode;
/// use tpu_device::tpuk::{self, Catalogue, Entry};
/// use tpu_kernel::prelude::*;
///
/// #[tpu_kernel(grid(i: n / B), semantics(parallel))]
/// fn double<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
///     o.store(x.load() * 2.0);
/// }
///
/// fn main() -> ExitCode {
///     let entry = Entry::new(double().b(1024))
///         .sizes([("n", 5000)])
///         .reference(|call| Ok(vec![call.array("x")?.values.iter().map(|x| x * 2.0).collect()]))
///         .tolerance(0.0);
///     tpuk::main(Catalogue::new().kernel(entry))
/// }
/// ```
#[derive(Default)]
pub struct Catalogue {
    entries: Vec<Entry>,
}

impl Catalogue {
    /// No kernels.
    pub fn new() -> Catalogue {
        Catalogue::default()
    }

    /// With one more kernel. Of two of one name the later replaces the earlier.
    pub fn kernel(mut self, entry: Entry) -> Catalogue {
        self.entries.retain(|e| e.name != entry.name);
        self.entries.push(entry);
        self
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

/// Makes the kernel with a configuration.
type Make = Box<dyn Fn(Config) -> Arc<dyn Launchable> + Send + Sync>;

/// A kernel with what a command line has to know of it.
pub struct Entry {
    pub(super) name: String,
    pub(super) make: Make,
    /// The configuration that every other starts from.
    pub(super) base: Config,
    /// What each further configuration sets: names as in `--config`, and values.
    pub(super) configs: Vec<Vec<(String, String)>>,
    /// The element types to choose from, for each type parameter.
    pub(super) dtypes: Vec<(String, Vec<DType>)>,
    pub(super) sizes: Vec<(String, usize)>,
    pub(super) scalars: Vec<(String, String)>,
    pub(super) ranges: Vec<(String, f64, f64)>,
    pub(super) reference: Option<Reference>,
    pub(super) tolerance: f64,
    pub(super) tolerances: Vec<(Precision, f64)>,
    pub(super) tolerances_of: Vec<(DType, f64)>,
    /// Rows of `bench`.
    pub(super) bench: Vec<Row>,
}

/// A row of `bench`.
pub(super) struct Row {
    pub(super) name: String,
    /// What is set: names as in `--config`, and values.
    pub(super) set: Vec<(String, String)>,
    pub(super) checked: bool,
}

impl Entry {
    /// A kernel under the name of its function, with its block sizes: those are its first configuration.
    pub fn new<K: Launchable + Transform + Clone + 'static>(kernel: K) -> Entry {
        let base = kernel.config().clone();
        let name = kernel.name().to_string();
        let make = move |config: Config| -> Arc<dyn Launchable> {
            let mut configured = kernel.clone();
            *configured.config_mut() = config;
            Arc::new(configured)
        };
        Entry {
            name,
            make: Box::new(make),
            base,
            configs: vec![],
            dtypes: vec![],
            sizes: vec![],
            scalars: vec![],
            ranges: vec![],
            reference: None,
            tolerance: 1e-5,
            tolerances: vec![],
            tolerances_of: vec![],
            bench: vec![],
        }
    }

    /// Another name: for two entries of one kernel.
    pub fn named(mut self, name: impl Into<String>) -> Entry {
        self.name = name.into();
        self
    }

    /// One more configuration: block sizes, `precision`, sizes and scalars by name, as `--config` takes them. What it
    /// does not name is as in the first configuration.
    pub fn config<N: Display, V: Display>(mut self, set: impl IntoIterator<Item = (N, V)>) -> Entry {
        self.configs.push(texts(set));
        self
    }

    /// The element types of a type parameter, the first of which is used unless another is asked for.
    pub fn dtypes(mut self, parameter: impl Into<String>, dtypes: impl IntoIterator<Item = DType>) -> Entry {
        let parameter = parameter.into();
        self.dtypes.retain(|(other, _)| *other != parameter);
        self.dtypes.push((parameter, dtypes.into_iter().collect()));
        self
    }

    /// Array sizes by name: a sample that runs in well under a second. Those that transformations add, as `batch`, are known
    /// to the command line from here alone.
    pub fn sizes<N: Into<String>>(mut self, sizes: impl IntoIterator<Item = (N, usize)>) -> Entry {
        self.sizes.extend(sizes.into_iter().map(|(name, size)| (name.into(), size)));
        self
    }

    /// The value of a scalar of the launch.
    pub fn scalar(mut self, name: impl Into<String>, value: impl Display) -> Entry {
        self.scalars.push((name.into(), value.to_string()));
        self
    }

    /// Where the random elements of an input lie: at least `low`, below `high`. From -1 to 1 unless set; integers from -8 to 8.
    pub fn range(mut self, input: impl Into<String>, low: f64, high: f64) -> Entry {
        let input = input.into();
        self.ranges.retain(|(other, ..)| *other != input);
        self.ranges.push((input, low, high));
        self
    }

    /// What the outputs must be: for each output its elements in row-major order, computed by other means.
    ///
    /// Without a reference, a compiled kernel is compared with the interpreter.
    pub fn reference(mut self, compute: impl Fn(&Call) -> Result<Vec<Vec<f64>>, String> + Send + Sync + 'static) -> Entry {
        self.reference = Some(Box::new(compute));
        self
    }

    /// The largest error that a right result may have, as a part of the largest magnitude in the output of the
    /// reference: 1e-5 unless set.
    pub fn tolerance(mut self, tolerance: f64) -> Entry {
        self.tolerance = tolerance;
        self
    }

    /// Another tolerance where the kernel's products have that precision. Of several that apply, by precision or by element
    /// type, the greatest counts.
    pub fn tolerance_at(mut self, precision: Precision, tolerance: f64) -> Entry {
        self.tolerances.retain(|(other, _)| *other != precision);
        self.tolerances.push((precision, tolerance));
        self
    }

    /// Another tolerance where an input or output of the launch has elements of that type. Of several that apply, by
    /// precision or by element type, the greatest counts.
    pub fn tolerance_of(mut self, dtype: DType, tolerance: f64) -> Entry {
        self.tolerances_of.retain(|(other, _)| *other != dtype);
        self.tolerances_of.push((dtype, tolerance));
        self
    }

    /// What bounds the error of a launch at that precision, with inputs and outputs of these types.
    pub(super) fn tolerance_for(&self, precision: Precision, dtypes: &[DType]) -> f64 {
        let at = self.tolerances.iter().filter(|(other, _)| *other == precision).map(|(_, tolerance)| *tolerance);
        let of = self.tolerances_of.iter().filter(|(other, _)| dtypes.contains(other)).map(|(_, tolerance)| *tolerance);
        at.chain(of).reduce(f64::max).unwrap_or(self.tolerance)
    }

    /// A row of `bench`, named by work, type and size (`matmul_f32_1024`): sizes, block sizes and element types by name, as
    /// `--config` takes them.
    pub fn bench<N: Display, V: Display>(mut self, row: impl Into<String>, set: impl IntoIterator<Item = (N, V)>) -> Entry {
        self.bench.push(Row { name: row.into(), set: texts(set), checked: false });
        self
    }

    /// A row of `bench` whose launches are checked.
    pub fn bench_checked<N: Display, V: Display>(mut self, row: impl Into<String>, set: impl IntoIterator<Item = (N, V)>) -> Entry {
        self.bench.push(Row { name: row.into(), set: texts(set), checked: true });
        self
    }
}

fn texts<N: Display, V: Display>(set: impl IntoIterator<Item = (N, V)>) -> Vec<(String, String)> {
    set.into_iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}
