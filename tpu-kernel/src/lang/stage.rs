//! Staging: what an expanded kernel calls to declare itself, and the run that builds its IR.
//!
//! Rules: building depends on the configuration and the element types alone; every fault is
//! collected; a panic of the user's code is a fault, not a panic of the caller.

use super::element::Element;
use super::hbm::{Hbm, HbmOut};
use super::memory::{In, Out, Vmem};
use super::panics;
use super::scoped::Allocated;
use super::session::{self, Session};
use super::shape::Shape;
use super::smem::Prefetch;
use super::value::{Handle, Scalar};
use crate::ir::{
    BlockDim, Builder, DType, Fault, GridDim, Kernel, Loc, OpKind, ParamKind, Pipelining, Revisit, Roots, Rule, Semantics,
    SizeExpr, Space, Type, Window,
};
use crate::launch::{Config, LaunchError};
use crate::{BuildFault, Error, passes};

/// What the macro knows of a kernel's parameters.
#[derive(Debug)]
pub struct Signature {
    /// The name of the function.
    pub name: &'static str,
    /// Names of the block sizes, in order.
    pub blocks: &'static [&'static str],
    /// Element type parameters and their class.
    pub elements: &'static [(&'static str, Class)],
    /// Input arrays in order: name, element type and the place of the declaration.
    pub inputs: &'static [(&'static str, Elem, Loc)],
    /// Named sizes in order of first mention.
    pub sizes: &'static [&'static str],
}

/// The element type of an operand.
#[derive(Clone, Copy, Debug)]
pub enum Elem {
    /// Written in the source.
    Fixed(DType),
    /// The type parameter of that number.
    Param(usize),
}

/// The bound of an element type parameter.
#[derive(Clone, Copy, Debug)]
pub enum Class {
    /// `Element`: any.
    Element,
    /// `Number`.
    Number,
    /// `Float`.
    Float,
    /// `Int`.
    Int,
    /// `Bits`.
    Bits,
}

impl Class {
    const fn takes(self, dtype: DType) -> bool {
        match self {
            Class::Element => true,
            Class::Number => dtype.is_number(),
            Class::Float => dtype.is_float(),
            Class::Int => dtype.is_integer(),
            Class::Bits => !dtype.is_float(),
        }
    }

    fn list(self) -> String {
        let takes: Vec<&str> = DType::ALL.into_iter().filter(|&dtype| self.takes(dtype)).map(DType::name).collect();
        match &takes[..] {
            [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            _ => takes.concat(),
        }
    }
}

/// Builds the kernel: `build` gets the element types of the type parameters and declares and runs the body.
pub fn stage(
    signature: &Signature,
    config: &Config,
    inputs: &[DType],
    loc: Loc,
    build: impl FnOnce(&[DType]),
) -> Result<Kernel, Error> {
    let blocks = blocks(signature, config, &loc)?;
    if let Some(fault) = config.transforms.fault() {
        return Err(fault.clone());
    }
    let names: Vec<(&str, &Loc)> = signature.inputs.iter().map(|(name, _, loc)| (*name, loc)).collect();
    let inputs = config.transforms.inner_types(&names, inputs)?;
    let elements = elements(signature, config, &inputs, &loc).map_err(|error| of_function(error, config))?;
    let mut builder = Builder::new(signature.name, loc.clone());
    for name in signature.sizes {
        builder.size(name);
    }
    panics::watch();
    let session = Session::new(builder, blocks.clone(), config.precision);
    let (session, outcome) = session::scope(session, || build(&elements));
    let mut faults = distinct(session.faults);
    if let Err(panic) = outcome {
        faults.push(BuildFault::panic(panic.as_ref(), panics::take().unwrap_or(loc)));
    }
    let mut finished = None;
    if faults.is_empty() {
        match session.builder.finish() {
            Ok(kernel) => match passes::verify(&kernel) {
                // What is written by now is not what the index map read when the block was fetched.
                Ok(()) if !session.bounds.is_empty() && Roots::of(&kernel).writes_prefetched(&kernel) => {
                    faults.extend(session.bounds.into_iter().map(BuildFault::BoundsOfWritten));
                }
                Ok(()) => finished = Some(kernel),
                Err(found) => faults.extend(found.into_iter().map(BuildFault::Rule)),
            },
            Err(fault) => faults.push(BuildFault::Rule(fault)),
        }
    }
    match finished {
        Some(kernel) => config.transforms.apply(kernel),
        None => Err(Error::Build { kernel: signature.name.to_string(), faults: first_too_large(faults, signature, &blocks) }),
    }
}

/// An input of the wrong type is an error of the function that gives it, where there is one.
fn of_function(error: LaunchError, config: &Config) -> Error {
    let found = match &error {
        LaunchError::ElementType { operand, want, .. } => config.transforms.gives(operand, want),
        _ => None,
    };
    found.map_or_else(|| error.into(), Error::from)
}

/// A line that is recorded more than once, in a helper or an unrolled loop, is wrong once.
fn distinct(faults: Vec<BuildFault>) -> Vec<BuildFault> {
    let mut seen: Vec<BuildFault> = vec![];
    for fault in faults {
        if !seen.iter().any(|known| known.code() == fault.code() && known.loc() == fault.loc()) {
            seen.push(fault);
        }
    }
    seen
}

/// One block size that is too large makes many values too large: keeps the first, with the name of the block size.
fn first_too_large(faults: Vec<BuildFault>, signature: &Signature, blocks: &[usize]) -> Vec<BuildFault> {
    let mut first = true;
    let named = faults.into_iter().filter_map(|fault| match fault {
        BuildFault::Rule(fault @ Fault { rule: Rule::TooLarge { shape, .. }, .. }) => {
            let along = signature.blocks.iter().zip(blocks).filter(|(_, size)| shape.dims().contains(size));
            let block = along.max_by_key(|(_, size)| **size).map(|(name, &size)| (name.to_string(), size));
            std::mem::take(&mut first).then_some(match block {
                Some(block) => BuildFault::TooLarge { fault, block },
                None => BuildFault::Rule(fault),
            })
        }
        fault => Some(fault),
    });
    named.collect()
}

fn blocks(signature: &Signature, config: &Config, loc: &Loc) -> Result<Vec<usize>, LaunchError> {
    let find = |name: &str| config.blocks.iter().find(|(n, _)| *n == name).map(|(_, size)| *size);
    let missing: Vec<String> = signature.blocks.iter().filter(|n| find(n).is_none()).map(|n| n.to_string()).collect();
    if !missing.is_empty() {
        return Err(LaunchError::BlocksMissing { blocks: missing, loc: loc.clone() });
    }
    let mut sizes = vec![];
    for name in signature.blocks {
        let value = find(name).unwrap_or(0);
        if value == 0 || i32::try_from(value).is_err() {
            return Err(LaunchError::BlockRange { name: name.to_string(), value, loc: loc.clone() });
        }
        sizes.push(value);
    }
    Ok(sizes)
}

/// The element type of each type parameter: from the first input that has it, else from the configuration.
fn elements(signature: &Signature, config: &Config, inputs: &[DType], loc: &Loc) -> Result<Vec<DType>, LaunchError> {
    if inputs.len() != signature.inputs.len() {
        let kernel = signature.name.to_string();
        return Err(LaunchError::ArgumentCount { kernel, want: signature.inputs.len(), got: inputs.len(), loc: loc.clone() });
    }
    let mut bound: Vec<Option<(&str, DType, &Loc)>> = vec![None; signature.elements.len()];
    for ((operand, elem, loc), &got) in signature.inputs.iter().zip(inputs) {
        let refuse = |want: String| LaunchError::ElementType { operand: operand.to_string(), want, got, loc: loc.clone() };
        match *elem {
            Elem::Fixed(want) if want == got => {}
            Elem::Fixed(want) => return Err(refuse(want.to_string())),
            Elem::Param(index) => match bound[index] {
                None if !signature.elements[index].1.takes(got) => {
                    return Err(refuse(signature.elements[index].1.list()));
                }
                None => bound[index] = Some((operand, got, loc)),
                Some((_, first, _)) if first == got => {}
                Some((by, first, _)) => return Err(refuse(format!("{first}, as operand `{by}` does"))),
            },
        }
    }
    let mut elements = vec![];
    for (&(name, class), bound) in signature.elements.iter().zip(bound) {
        let chosen = config.elements.iter().find(|(n, _)| *n == name).map(|(_, dtype)| *dtype);
        let dtype = match (bound, chosen) {
            (Some((operand, got, loc)), Some(chosen)) if got != chosen => {
                let want = format!("{chosen}, which the launch chose for `{name}`");
                return Err(LaunchError::ElementType { operand: operand.to_string(), want, got, loc: loc.clone() });
            }
            (Some((_, dtype, _)), _) | (None, Some(dtype)) => dtype,
            (None, None) => {
                let (name, loc) = (name.to_string(), loc.clone());
                return Err(LaunchError::Unbound { what: "element type", name, example: "DType::F32", loc });
            }
        };
        if !class.takes(dtype) {
            let want = class.list();
            return Err(LaunchError::ElementType { operand: name.to_string(), want, got: dtype, loc: loc.clone() });
        }
        elements.push(dtype);
    }
    Ok(elements)
}

/// Sets `name` in a list that stays sorted, so that equal configurations are equal.
pub fn set<V>(list: &mut Vec<(&'static str, V)>, name: &'static str, value: V) {
    match list.binary_search_by_key(&name, |(n, _)| n) {
        Ok(at) => list[at].1 = value,
        Err(at) => list.insert(at, (name, value)),
    }
}

/// A named size in a size expression.
pub fn size_expr(name: &str) -> SizeExpr {
    session::with(|s| SizeExpr::Size(s.builder.size(name))).unwrap_or(SizeExpr::Const(0))
}

/// A number in a size expression.
pub fn number(n: impl Into<i64>) -> SizeExpr {
    SizeExpr::Const(n.into())
}

/// Declares a grid dimension.
#[track_caller]
pub fn grid(name: &str, extent: SizeExpr, semantics: Semantics) {
    let dim = GridDim { name: name.to_string(), extent, semantics, loc: Loc::caller() };
    session::with(|s| s.builder.grid_dim(dim));
}

/// The block size of that number: what a kernel's dimension types answer.
pub fn block_size(index: usize) -> usize {
    session::block_size(index)
}

/// A block size in value position.
pub fn block<B: super::Dim>() -> i32 {
    i32::try_from(B::size()).unwrap_or(i32::MAX)
}

/// The index of the running step along a grid dimension, outermost 0.
#[track_caller]
pub fn program_id(axis: usize) -> Scalar<i32> {
    Scalar::wrap(session::emit(OpKind::ProgramId(axis), &[], Loc::caller()))
}

/// The number of steps along a grid dimension, outermost 0.
#[track_caller]
pub fn num_programs(axis: usize) -> Scalar<i32> {
    Scalar::wrap(session::emit(OpKind::NumPrograms(axis), &[], Loc::caller()))
}

/// The value of a named array size.
#[track_caller]
pub fn size(name: &str) -> Scalar<i32> {
    // Outside the closure, which is no caller of the user's.
    let loc = Loc::caller();
    let id = session::with(|s| s.builder.size(name));
    Scalar::wrap(id.map_or(session::dead(), |id| session::emit(OpKind::Size(id), &[], loc)))
}

/// How a dimension of an array is cut into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Into blocks of the dimension's size in the operand's type.
    Block,
    /// Into single elements; the operand's type has no such dimension.
    Squeeze,
    /// A block starts at any element, and may reach so many elements before the array and after it.
    Element(usize, usize),
}

/// How an array is cut, and how its blocks come and go.
type Cuts<'a> = (&'a [Cut], Pipelining);

/// What a window says of its pipeline.
pub fn pipelining(buffers: Option<usize>, lookahead: bool, revisit_any: bool) -> Pipelining {
    Pipelining { buffers, lookahead, revisit: if revisit_any { Revisit::Any } else { Revisit::Immediate } }
}

type Map<'a> = &'a dyn Fn(&[Scalar<i32>]) -> Vec<Scalar<i32>>;

/// Declares an input window.
#[track_caller]
pub fn input<T: Element, S: Shape>(name: &str, array: Vec<SizeExpr>, cuts: &Cuts<'_>, map: Map<'_>) -> In<T, S> {
    In::wrap(window::<T, S>(name, array, cuts, map, ParamKind::In, Loc::caller()))
}

/// Declares an output window.
#[track_caller]
pub fn output<T: Element, S: Shape>(name: &str, array: Vec<SizeExpr>, cuts: &Cuts<'_>, map: Map<'_>) -> Out<T, S> {
    Out::wrap(window::<T, S>(name, array, cuts, map, ParamKind::Out, Loc::caller()))
}

fn window<T: Element, S: Shape>(
    name: &str,
    array: Vec<SizeExpr>,
    &(cuts, pipelining): &Cuts<'_>,
    map: Map<'_>,
    kind: fn(Window) -> ParamKind,
    loc: Loc,
) -> session::Raw {
    let shape = S::shape();
    let kept = cuts.iter().filter(|&&cut| cut != Cut::Squeeze).count();
    if kept != shape.rank() {
        let plural = if kept == 1 { "" } else { "s" };
        let rule = Rule::BlockShape { block: format!("{kept} dimension{plural}"), operand: shape };
        session::fault(BuildFault::Rule(Fault { rule, at: name.to_string(), loc }));
        return session::dead();
    }
    let mut sizes = shape.dims().iter();
    let mut size = || *sizes.next().unwrap_or(&1);
    let block = cuts.iter().map(|&cut| match cut {
        Cut::Block => BlockDim::Blocked(size()),
        Cut::Squeeze => BlockDim::Squeezed,
        Cut::Element(low, high) => BlockDim::Element { size: size(), low, high },
    });
    let block = block.collect();
    let indices: Vec<Scalar<i32>> = session::begin_map().into_iter().map(Scalar::wrap).collect();
    let yields: Vec<_> = map(&indices).into_iter().map(Handle::raw).collect();
    let Some(map) = session::end_map(&yields, &loc) else { return session::dead() };
    let window = Window { array, block, map, pipelining };
    declare(name, Type::Ref(Space::Vmem, T::DTYPE, shape), kind(window), loc)
}

/// Declares scratch.
#[track_caller]
pub fn scratch<T: Element, S: Shape>(name: &str) -> Vmem<T, S> {
    Vmem::wrap(declare(name, Type::Ref(Space::Vmem, T::DTYPE, S::shape()), ParamKind::Scratch, Loc::caller()))
}

/// Declares scratch that is not simply VMEM: scalar memory, or semaphores.
#[track_caller]
pub fn allocated<M: Allocated>(name: &str) -> M {
    M::of(declare(name, M::ty(), ParamKind::Scratch, Loc::caller()))
}

/// Declares an input array in HBM.
#[track_caller]
pub fn hbm<T: Element, const R: usize>(name: &str, array: Vec<SizeExpr>) -> Hbm<T, R> {
    Hbm::wrap(declare(name, Type::Array(Space::Hbm, T::DTYPE, R), ParamKind::InArray(array), Loc::caller()))
}

/// Declares an output array in HBM.
#[track_caller]
pub fn hbm_out<T: Element, const R: usize>(name: &str, array: Vec<SizeExpr>) -> HbmOut<T, R> {
    HbmOut::wrap(declare(name, Type::Array(Space::Hbm, T::DTYPE, R), ParamKind::OutArray(array), Loc::caller()))
}

/// Declares an input array in scalar memory.
#[track_caller]
pub fn prefetch<T: Element, const R: usize>(name: &str, array: Vec<SizeExpr>) -> Prefetch<T, R> {
    Prefetch::wrap(declare(name, Type::Array(Space::Smem, T::DTYPE, R), ParamKind::Prefetch(array), Loc::caller()))
}

/// Bounds a named size.
pub fn bound(name: &str, low: i32, high: i32) {
    session::with(|s| s.builder.bound(name, low, high));
}

/// Says that a call of the kernel has effects beside its outputs.
pub fn side_effects() {
    session::with(|s| s.builder.side_effects());
}

/// Lets an output share the array of an input, both declared before.
pub fn alias(output: &str, input: &str) {
    session::with(|s| s.builder.alias(output, input));
}

/// Declares a scalar parameter.
#[track_caller]
pub fn scalar<T: Element>(name: &str) -> Scalar<T> {
    Scalar::wrap(declare(name, Type::Scalar(T::DTYPE), ParamKind::Scalar, Loc::caller()))
}

fn declare(name: &str, ty: Type, kind: ParamKind, loc: Loc) -> session::Raw {
    session::with(|s| {
        let value = s.builder.param(name, ty, kind, loc);
        s.adopt(value)
    })
    .unwrap_or(session::dead())
}
