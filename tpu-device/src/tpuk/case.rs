//! One way to launch a registered kernel: a configuration, element types, sizes and scalars, each by name.
//!
//! Rules: block sizes and element types are shown in lower case, as the methods of a launch have them, unless a size has
//! that name. What a case is called is what `--config` takes. What a scalar is depends on its element type, which may be
//! chosen later or by a file: until it is asked for, it is the text that was given.

use super::catalogue::Entry;
use super::failure::Failure;
use super::names::{Sought, ambiguous, hint, seek};
use super::value;
use std::collections::BTreeMap;
use std::sync::Arc;
use tpu_kernel::exec::Checking;
use tpu_kernel::ir::{DType, Literal, Precision};
use tpu_kernel::launch::{Argument, Config, Launchable, Parameters};

/// `name=value` pairs, as the user gave them.
pub(super) type Settings = Vec<(String, String)>;

/// A launch of a kernel, all but its arrays.
#[derive(Clone)]
pub(super) struct Case<'a> {
    pub(super) entry: &'a Entry,
    /// Block sizes, precision, allowances and transformations.
    config: Config,
    /// The element type of each type parameter.
    elements: Vec<(&'static str, DType)>,
    pub(super) sizes: BTreeMap<String, usize>,
    /// As they were given.
    scalars: Vec<(&'static str, String)>,
    declared: Declared,
}

/// What the kernel declares.
#[derive(Clone, Copy)]
struct Declared {
    parameters: &'static Parameters,
    arguments: &'static [Argument],
}

/// What a name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Block(&'static str),
    Element(&'static str),
    Precision,
    Size,
    Scalar(&'static str),
}

const PRECISION: &str = "precision";

impl Declared {
    fn of(entry: &Entry) -> Result<Declared, Failure> {
        let kernel = (entry.make)(entry.base.clone());
        match (kernel.parameters(), kernel.arguments()) {
            (Some(parameters), Some(arguments)) => Ok(Declared { parameters, arguments }),
            _ => Err(Failure::kernel(format!("kernel `{}` does not say what it takes", entry.name))),
        }
    }

    fn scalars(&self) -> impl Iterator<Item = &'static Argument> {
        self.arguments.iter().filter(|a| a.scalar)
    }

    fn arrays(&self) -> impl Iterator<Item = &'static Argument> {
        self.arguments.iter().filter(|a| !a.scalar)
    }

    /// Every name, with what it means.
    fn names<'e>(&self, entry: &'e Entry) -> Vec<(&'e str, Name)> {
        let Declared { parameters, .. } = *self;
        let blocks = parameters.blocks.iter().map(|&name| (name, Name::Block(name)));
        let elements = parameters.elements.iter().map(|&name| (name, Name::Element(name)));
        let sizes = parameters.sizes.iter().map(|&name| (name, Name::Size));
        let scalars = self.scalars().map(|a| (a.name, Name::Scalar(a.name)));
        // Transformations add sizes that the kernel itself does not declare.
        let added = entry.sizes.iter().map(|(name, _)| (name.as_str(), Name::Size));
        let mut names: Vec<(&str, Name)> =
            blocks.chain(elements).chain([(PRECISION, Name::Precision)]).chain(sizes).chain(scalars).collect();
        for (name, what) in added {
            if !names.iter().any(|(n, _)| *n == name) {
                names.push((name, what));
            }
        }
        names
    }

    /// A name as it is shown: that of a block size or element type in lower case, unless something else has that name.
    fn shown(&self, entry: &Entry, name: &str, what: Name) -> String {
        let lower = name.to_lowercase();
        let own = matches!(what, Name::Block(_) | Name::Element(_)) && self.find(entry, &lower) == Sought::Found((name, what));
        if own { lower } else { name.to_string() }
    }

    fn find<'e>(&self, entry: &'e Entry, name: &str) -> Sought<(&'e str, Name)> {
        seek(name, self.names(entry), |(name, _)| name)
    }
}

/// The sizes that a kernel names, for the options of the command line.
pub(super) fn size_names(entry: &Entry) -> Vec<String> {
    let names = Declared::of(entry).map(|declared| declared.names(entry)).unwrap_or_default();
    names.into_iter().filter(|(_, what)| *what == Name::Size).map(|(name, _)| name.to_string()).collect()
}

/// Every case of a kernel: each configuration with each choice of element types, changed by what the user set. The first
/// is the one that stands for the kernel.
pub(super) fn cases<'a>(entry: &'a Entry, settings: &Settings) -> Result<Vec<Case<'a>>, Failure> {
    let declared = Declared::of(entry)?;
    check_ranges(entry, &declared)?;
    let mut all: Vec<Case<'a>> = vec![];
    for config in std::iter::once(&vec![]).chain(&entry.configs) {
        for elements in choices(entry, &declared)? {
            let mut case = Case {
                entry,
                config: entry.base.clone(),
                elements,
                sizes: entry.sizes.iter().cloned().collect(),
                scalars: vec![],
                declared,
            };
            for (name, value) in &entry.scalars {
                case.set(name, value)?;
            }
            for (name, value) in config.iter().chain(settings) {
                case.set(name, value)?;
            }
            for argument in declared.scalars() {
                case.scalar(argument)?;
            }
            // What the user set may have made two of them one.
            if !all.iter().any(|other| other.text() == case.text()) {
                all.push(case);
            }
        }
    }
    Ok(all)
}

/// What an entry says of inputs that the kernel lacks.
fn check_ranges(entry: &Entry, declared: &Declared) -> Result<(), Failure> {
    match entry.ranges.iter().find(|(name, ..)| !declared.arrays().any(|argument| argument.name == name)) {
        Some((name, ..)) => {
            let reason = format!("kernel `{}` is registered with a range of `{name}`, which is none of its inputs", entry.name);
            Err(Failure::kernel(reason))
        }
        None => Ok(()),
    }
}

/// Every choice of one registered type for each type parameter.
fn choices(entry: &Entry, declared: &Declared) -> Result<Vec<Vec<(&'static str, DType)>>, Failure> {
    let mut all: Vec<Vec<(&'static str, DType)>> = vec![vec![]];
    for (name, dtypes) in &entry.dtypes {
        let Sought::Found((_, Name::Element(name))) = declared.find(entry, name) else {
            return Err(Failure::kernel(format!(
                "kernel `{}` is registered with element types of `{name}`, which it lacks",
                entry.name
            )));
        };
        if dtypes.is_empty() {
            return Err(Failure::kernel(format!("kernel `{}` is registered with no element type of `{name}`", entry.name)));
        }
        all =
            dtypes.iter().flat_map(|&dtype| all.iter().map(move |chosen| [chosen.as_slice(), &[(name, dtype)]].concat())).collect();
    }
    Ok(all)
}

/// Whether the kernel has that name.
pub(super) fn knows(entry: &Entry, name: &str) -> bool {
    Declared::of(entry).is_ok_and(|declared| declared.find(entry, name) != Sought::Unknown)
}

/// Whether two names are one to the kernel.
pub(super) fn same(entry: &Entry, one: &str, other: &str) -> bool {
    let both = |declared: Declared| match (declared.find(entry, one), declared.find(entry, other)) {
        (Sought::Found(one), Sought::Found(other)) => one == other,
        _ => false,
    };
    Declared::of(entry).is_ok_and(both)
}

/// The refusal of a name that none of these kernels has.
pub(super) fn unknown(entries: &[&Entry], name: &str) -> Failure {
    let mut known: Vec<String> = vec![];
    for entry in entries {
        let names = |declared: Declared| {
            let names = declared.names(entry).into_iter();
            names.map(|(name, what)| declared.shown(entry, name, what)).collect::<Vec<_>>()
        };
        known.extend(Declared::of(entry).map(names).unwrap_or_default());
    }
    let mut distinct: Vec<String> = vec![];
    known.into_iter().for_each(|name| {
        if !distinct.contains(&name) {
            distinct.push(name)
        }
    });
    // Every name of one letter is near every other.
    let hint = if name.chars().count() > 1 { hint(name, distinct.iter().map(String::as_str)) } else { String::new() };
    let who = match entries {
        [entry] => format!("kernel `{}` has", entry.name),
        _ => "these kernels have".to_string(),
    };
    Failure::usage(format!("{who} no `{name}`{hint}\n  known names: {}", distinct.join(", ")))
}

impl Case<'_> {
    /// Sets one name.
    fn set(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        let entry = self.entry;
        let (found, what) = match self.declared.find(entry, name) {
            Sought::Found(found) => found,
            Sought::Several(several) => return Err(ambiguous(name, several.iter().map(|(name, _)| *name))),
            Sought::Unknown => return Err(unknown(&[entry], name)),
        };
        let wrong = |want: String| Failure::usage(format!("`{name}={value}`: {want}"));
        match what {
            Name::Block(block) => {
                let value = value::block(value).map_err(wrong)?;
                put(&mut self.config.blocks, block, value);
                self.config.blocks.sort_unstable();
            }
            Name::Element(element) => {
                let names = || DType::ALL.map(DType::name).join(", ");
                let dtype = DType::from_name(&value.to_lowercase());
                put(&mut self.elements, element, dtype.ok_or_else(|| wrong(format!("the element types are {}", names())))?);
            }
            Name::Precision => {
                let names = || Precision::ALL.iter().map(|p| p.name()).collect::<Vec<_>>().join(", ");
                let precision = Precision::from_name(&value.to_lowercase());
                self.config.precision = precision.ok_or_else(|| wrong(format!("the precisions are {}", names())))?;
            }
            Name::Size => {
                let value = value::size(value).map_err(wrong)?;
                self.sizes.insert(found.to_string(), value);
            }
            Name::Scalar(scalar) => put(&mut self.scalars, scalar, value.to_string()),
        }
        Ok(())
    }

    /// A scalar, where it was given and its element type is known.
    fn scalar(&self, argument: &Argument) -> Result<Option<Literal>, Failure> {
        let text = self.scalars.iter().find(|(name, _)| *name == argument.name).map(|(_, text)| text);
        let (Some(text), Some(dtype)) = (text, self.dtype(argument)) else { return Ok(None) };
        let literal = value::scalar(dtype, text);
        literal.map(Some).map_err(|want| Failure::usage(format!("`{}={text}`: {want}", argument.name)))
    }

    /// The element type of an argument.
    fn dtype(&self, argument: &Argument) -> Option<DType> {
        let chosen = || {
            let name = argument.parameter?;
            self.elements.iter().find(|(n, _)| *n == name).map(|(_, dtype)| *dtype)
        };
        self.config.transforms.element_type(argument).or_else(chosen)
    }

    /// The element types of the inputs, in their order.
    pub(super) fn inputs(&self) -> Result<Vec<DType>, Failure> {
        let types = self.declared.arrays().map(|argument| {
            self.dtype(argument).ok_or_else(|| {
                let (name, parameter) = (argument.name, argument.parameter.unwrap_or_default());
                let shown = argument.parameter.map(|p| self.declared.shown(self.entry, p, Name::Element(p)));
                let example = format!("--config {}=f32", shown.unwrap_or_default());
                Failure::usage(format!(
                    "the element type `{parameter}` of operand `{name}` is not chosen: give it with `{example}`"
                ))
            })
        });
        types.collect()
    }

    /// The names of the inputs, in their order.
    pub(super) fn input_names(&self) -> Vec<&'static str> {
        self.declared.arrays().map(|argument| argument.name).collect()
    }

    /// The scalars, in their order.
    pub(super) fn scalars(&self) -> Result<Vec<(String, Literal)>, Failure> {
        let value = |argument: &Argument| {
            let example = || format!("give it with `--config {}=…`", argument.name);
            let missing = || Failure::usage(format!("scalar `{}` has no value: {}", argument.name, example()));
            Ok((argument.name.to_string(), self.scalar(argument)?.ok_or_else(missing)?))
        };
        self.declared.scalars().map(value).collect()
    }

    /// The arguments of a launch in their order: whether each is a scalar.
    pub(super) fn order(&self) -> impl Iterator<Item = bool> {
        self.declared.arguments.iter().map(|a| a.scalar)
    }

    pub(super) fn precision(&self) -> Precision {
        self.config.precision
    }

    /// The kernel, with the element types that no input binds and the sizes that it declares.
    pub(super) fn kernel(&self) -> Arc<dyn Launchable> {
        let bound = |name: &str| self.declared.arrays().any(|a| a.parameter == Some(name));
        let mut config = self.config.clone();
        for &(name, dtype) in self.elements.iter().filter(|(name, _)| !bound(name)) {
            put(&mut config.elements, name, dtype);
        }
        config.elements.sort_unstable_by_key(|(name, _)| *name);
        let declared = self.declared.parameters.sizes.iter();
        config.sizes = declared.filter_map(|&name| Some((name, *self.sizes.get(name)?))).collect();
        config.sizes.sort_unstable();
        (self.entry.make)(config)
    }

    /// The same, launched checked.
    pub(super) fn checked(&self, checking: Checking) -> Self {
        let mut case = self.clone();
        case.config.checking = Some(checking);
        case
    }

    /// Whether a user can set that name.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.declared.find(self.entry, name) != Sought::Unknown
    }

    /// The kernel and what is chosen, for a message.
    pub(super) fn title(&self) -> String {
        format!("kernel `{}` with {}", self.entry.name, self.text())
    }

    /// The registered sizes that the kernel itself does not declare.
    pub(super) fn added_sizes(&self) -> impl Iterator<Item = &str> {
        let declared = self.declared.parameters.sizes;
        self.entry.sizes.iter().map(|(name, _)| name.as_str()).filter(move |name| !declared.contains(name))
    }

    /// Without any size: those of the arrays of a file decide.
    pub(super) fn without_sizes(&self, kept: &Settings) -> Self {
        let mut case = self.clone();
        let means = |given: &str, size: &str| self.declared.find(self.entry, given) == Sought::Found((size, Name::Size));
        case.sizes.retain(|name, _| kept.iter().any(|(given, _)| means(given, name)));
        case
    }

    /// With these sizes.
    pub(super) fn with_sizes(&self, sizes: &[(String, usize)]) -> Self {
        Case { sizes: sizes.iter().cloned().collect(), ..self.clone() }
    }

    /// With other element types of the inputs: those of a file.
    pub(super) fn with_types(mut self, inputs: &[DType]) -> Self {
        for (argument, &dtype) in self.declared.arrays().zip(inputs) {
            if let Some(name) = argument.parameter.filter(|_| self.config.transforms.element_type(argument).is_none()) {
                put(&mut self.elements, name, dtype);
            }
        }
        self
    }

    /// Block sizes, element types and precision: names and values.
    pub(super) fn chosen(&self) -> Vec<(String, String)> {
        let Parameters { blocks, elements, .. } = *self.declared.parameters;
        let block = |name: &&'static str| {
            let value = self.config.blocks.iter().find(|(n, _)| n == name)?.1;
            Some((self.declared.shown(self.entry, name, Name::Block(name)), value.to_string()))
        };
        let element = |name: &&'static str| {
            let value = self.elements.iter().find(|(n, _)| n == name)?.1;
            Some((self.declared.shown(self.entry, name, Name::Element(name)), value.to_string()))
        };
        let mut chosen: Vec<(String, String)> =
            blocks.iter().filter_map(block).chain(elements.iter().filter_map(element)).collect();
        if self.config.precision != Precision::default() {
            chosen.push((PRECISION.to_string(), self.config.precision.to_string()));
        }
        chosen
    }

    /// All that is chosen, as `--config` takes it: `bm=128,t=f32,m=512`.
    pub(super) fn text(&self) -> String {
        let declared = self.declared.parameters.sizes.iter().map(|name| name.to_string());
        let others = self.sizes.keys().filter(|name| !self.declared.parameters.sizes.contains(&name.as_str())).cloned();
        let sizes = declared.chain(others).filter_map(|name| Some((name.clone(), self.sizes.get(&name)?.to_string())));
        let scalar = |argument: &Argument| {
            let given = self.scalars.iter().find(|(name, _)| *name == argument.name)?;
            let read = self.scalar(argument).ok().flatten().map(|literal| literal.to_string());
            Some((argument.name.to_string(), read.unwrap_or_else(|| given.1.clone())))
        };
        let scalars = self.declared.scalars().filter_map(scalar);
        let all = self.chosen().into_iter().chain(sizes).chain(scalars);
        all.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
    }
}

fn put<V>(list: &mut Vec<(&'static str, V)>, name: &'static str, value: V) {
    match list.iter_mut().find(|(n, _)| *n == name) {
        Some(slot) => slot.1 = value,
        None => list.push((name, value)),
    }
}
