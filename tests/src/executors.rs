//! The executors under test, behind one face, and the arrays that they run on.

use tpu_kernel::cranelift::checked::CheckedExecutable;
use tpu_kernel::exec::print::to_stderr;
use tpu_kernel::exec::{Args, ArrayMut, ArrayRef, Checking, Log, RunError};
use tpu_kernel::ir::{DType, Kernel, Literal};
use tpu_kernel::launch::Binding;

/// A dense array that owns its elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Element type.
    pub dtype: DType,
    /// Shape, outermost dimension first.
    pub shape: Vec<usize>,
    /// The elements, row-major, native byte order.
    pub bytes: Vec<u8>,
}

impl Array {
    /// The array of these elements, in row-major order.
    ///
    /// # Panics
    /// Where an element has another type.
    pub fn new(dtype: DType, shape: &[usize], elements: impl IntoIterator<Item = Literal>) -> Array {
        let mut bytes = vec![];
        for element in elements {
            assert_eq!(element.dtype(), dtype);
            match dtype.bytes() {
                1 => bytes.push(element.memory() as u8),
                2 => bytes.extend((element.memory() as u16).to_ne_bytes()),
                _ => bytes.extend(element.memory().to_ne_bytes()),
            }
        }
        assert_eq!(bytes.len(), shape.iter().product::<usize>() * dtype.bytes());
        Array { dtype, shape: shape.to_vec(), bytes }
    }

    /// An array that is `element` everywhere.
    pub fn filled(shape: &[usize], element: Literal) -> Array {
        let elements = shape.iter().product();
        Array::new(element.dtype(), shape, std::iter::repeat_n(element, elements))
    }

    /// The elements, in row-major order.
    pub fn elements(&self) -> impl Iterator<Item = Literal> {
        self.bytes.chunks_exact(self.dtype.bytes()).map(|bytes| {
            let bits = match *bytes {
                [a] => u32::from(a),
                [a, b] => u32::from(u16::from_ne_bytes([a, b])),
                [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]),
                _ => unreachable!("elements have 1, 2 or 4 bytes"),
            };
            Literal::from_bits(self.dtype, bits)
        })
    }
}

/// A kernel that is ready to run.
pub type Compiled = Box<dyn Fn(&Binding, &mut Args<'_, '_>) -> Result<(), RunError>>;

/// Something that runs kernels.
#[derive(Clone, Copy)]
pub struct Executor {
    /// Its name.
    pub name: &'static str,
    /// Makes a kernel ready.
    pub compile: fn(&Kernel) -> Result<Compiled, String>,
}

/// Every executor; the first is the oracle.
pub const EXECUTORS: &[Executor] = &[INTERPRETER, CRANELIFT];

/// The oracle.
pub const INTERPRETER: Executor = Executor {
    name: "interpreter",
    compile: |kernel| {
        let kernel = kernel.clone();
        Ok(Box::new(move |binding, args| tpu_kernel::interpret::run(&kernel, binding, args)))
    },
};

/// Machine code.
pub const CRANELIFT: Executor = Executor {
    name: "cranelift",
    compile: |kernel| {
        let executable = tpu_kernel::cranelift::Executable::compile(kernel).map_err(|e| e.to_string())?;
        Ok(Box::new(move |binding, args| executable.run(binding, args)))
    },
};

/// Machine code, checked, under some seeds. What is clean gives what the others give.
pub const CHECKED: &[Executor] = &[
    Executor { name: "checked, in the order of the grid", compile: checked::<0> },
    Executor { name: "checked, seed 1", compile: checked::<1> },
    Executor { name: "checked, seed 2", compile: checked::<2> },
    Executor { name: "checked, seed 3", compile: checked::<3> },
];

/// The same, where elements of outputs may stay unwritten.
pub const LENIENT: &[Executor] = &[
    Executor { name: "lenient, in the order of the grid", compile: lenient::<0> },
    Executor { name: "lenient, seed 1", compile: lenient::<1> },
    Executor { name: "lenient, seed 2", compile: lenient::<2> },
];

fn lenient<const SEED: u64>(kernel: &Kernel) -> Result<Compiled, String> {
    let executable = CheckedExecutable::compile(kernel).map_err(|e| e.to_string())?;
    Ok(Box::new(move |binding, args| executable.run(binding, args, Checking { unwritten: true, ..Checking::from(SEED) })))
}

fn checked<const SEED: u64>(kernel: &Kernel) -> Result<Compiled, String> {
    let executable = CheckedExecutable::compile(kernel).map_err(|e| e.to_string())?;
    Ok(Box::new(move |binding, args| executable.run(binding, args, Checking::from(SEED))))
}

/// Bytes beside each output, which nothing may write; so many that outputs are aligned as without.
const GUARD: usize = 64;
const MARK: u8 = 0xa5;

/// Runs a kernel on these inputs; the outputs, which start as zeros. What it prints goes to standard error.
pub fn run(
    kernel: &Kernel,
    compiled: &Compiled,
    binding: &Binding,
    inputs: &[Array],
    scalars: &[Literal],
) -> Result<Vec<Array>, RunError> {
    run_logged(kernel, compiled, binding, inputs, scalars, &mut to_stderr)
}

/// The same, with another place for what it prints.
pub fn run_logged(
    kernel: &Kernel,
    compiled: &Compiled,
    binding: &Binding,
    inputs: &[Array],
    scalars: &[Literal],
    log: Log<'_>,
) -> Result<Vec<Array>, RunError> {
    let zero =
        |(at, param): (usize, &tpu_kernel::ir::Param)| Array::filled(&binding.arrays[at], Literal::from_bits(param.ty.dtype(), 0));
    let mut outputs: Vec<Array> = kernel.outputs().map(zero).collect();
    for output in &mut outputs {
        output.bytes = [&[MARK; GUARD], output.bytes.as_slice(), &[MARK; GUARD]].concat();
    }
    let inputs: Vec<ArrayRef<'_>> = inputs.iter().map(|a| ArrayRef { dtype: a.dtype, shape: &a.shape, bytes: &a.bytes }).collect();
    let inside = |bytes: &[u8]| GUARD..bytes.len() - GUARD;
    let mut views: Vec<ArrayMut<'_>> = vec![];
    for Array { dtype, shape, bytes } in &mut outputs {
        let inside = inside(bytes);
        views.push(ArrayMut { dtype: *dtype, shape, bytes: &mut bytes[inside] });
    }
    let result = compiled(binding, &mut Args { inputs: &inputs, outputs: &mut views, scalars, log });
    for output in &mut outputs {
        let inside = inside(&output.bytes);
        let beside = [&output.bytes[..inside.start], &output.bytes[inside.end..]].concat();
        assert!(beside.iter().all(|&byte| byte == MARK), "something is written beside an output of {}", kernel.name);
        output.bytes = output.bytes[inside].to_vec();
    }
    result.map(|()| outputs)
}

/// Whether two elements are the same bits, or both NaN.
pub fn same(a: Literal, b: Literal) -> bool {
    a == b || (a.dtype() == b.dtype() && is_nan(a) && is_nan(b))
}

fn is_nan(x: Literal) -> bool {
    x.as_f32().is_some_and(f32::is_nan)
}
