//! The executor against the interpreter: same kernel, same arrays, same bits (NaN compares as NaN).

mod control;
mod effects;
mod elementwise;
mod movement;
mod ops;
mod order;
mod products;
mod ragged;
mod reductions;
mod safety;

use super::Executable;
use crate::exec::print::to_stderr;
use crate::exec::{Args, ArrayMut, ArrayRef, RunError};
use crate::interpret;
use crate::ir::{DType, Kernel, Literal, SizeId, parse};
use crate::launch::Binding;

/// An array of a test.
#[derive(Clone, Debug, PartialEq)]
struct Array {
    dtype: DType,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Array {
    fn new(dtype: DType, shape: &[usize], mut bits: impl FnMut(usize) -> u32) -> Array {
        let n: usize = shape.iter().product();
        let bytes = (0..n).flat_map(|i| bits(i).to_le_bytes()[..dtype.bytes()].to_vec()).collect();
        Array { dtype, shape: shape.to_vec(), bytes }
    }

    /// Small numbers, none special.
    fn small(dtype: DType, shape: &[usize], seed: u32) -> Array {
        let mut random = Random(seed);
        Array::new(dtype, shape, |_| {
            let x = (random.next() % 2001) as f64 / 500.0 - 2.0;
            Literal::from_f64(dtype, if dtype == DType::I32 { x * 50.0 } else { x }).bits()
        })
    }

    /// Every kind of number: special values among ordinary ones, bits beyond the width too.
    fn wild(dtype: DType, shape: &[usize], seed: u32) -> Array {
        let mut random = Random(seed);
        Array::new(dtype, shape, |_| wild(dtype, &mut random))
    }

    fn zeros(dtype: DType, shape: &[usize]) -> Array {
        Array::new(dtype, shape, |_| 0)
    }

    fn literals(&self) -> Vec<Literal> {
        self.words().into_iter().map(|word| Literal::from_bits(self.dtype, word)).collect()
    }

    /// The words in memory.
    fn words(&self) -> Vec<u32> {
        let word = |b: &[u8]| b.iter().rev().fold(0u32, |n, &x| n << 8 | u32::from(x));
        self.bytes.chunks(self.dtype.bytes()).map(word).collect()
    }

    fn f32s(&self) -> Vec<f32> {
        self.literals().iter().map(|l| l.as_f32().unwrap()).collect()
    }
}

/// One number of any kind.
fn wild(dtype: DType, random: &mut Random) -> u32 {
    const SPECIAL: [f32; 20] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MAX,
        f32::MIN_POSITIVE,
        1e-40,
        -1e-45,
        2147483648.0,
        -2147483648.0,
        0.5,
        -0.5,
        2.5,
        0.49999997,
        448.0,
        65504.0,
        -8388607.5,
    ];
    let (kind, r) = (random.next() % 3, random.next());
    let (low, high) = dtype.range();
    match kind {
        _ if dtype == DType::Bool => r & 1,
        0 if dtype.is_float() => Literal::from_f64(dtype, f64::from(SPECIAL[r as usize % SPECIAL.len()])).bits(),
        0 => {
            let special = [0, 1, -1, low, high, low + 1, high - 1, 7, 31, 32];
            Literal::from_int(dtype, special[r as usize % special.len()]).bits()
        }
        1 if dtype.is_float() => Literal::from_f64(dtype, f64::from(r) / f64::from(u32::MAX) * 8.0 - 4.0).bits(),
        1 => Literal::from_int(dtype, i64::from(r % 67) - 33).bits(),
        _ => r,
    }
}

struct Random(u32);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let mut x = self.0;
        x ^= x >> 16;
        x = x.wrapping_mul(0x7feb_352d);
        x ^= x >> 15;
        x
    }
}

/// A kernel with the numbers of a launch.
struct Case {
    kernel: Kernel,
    binding: Binding,
}

type Runner<'e> = &'e dyn Fn(&Binding, &mut Args<'_, '_>) -> Result<(), RunError>;

impl Case {
    fn new(text: &str, sizes: &[i32]) -> Case {
        let kernel = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let size = |id: SizeId| sizes.get(id.0 as usize).map(|&n| i64::from(n));
        let grid = kernel.grid.iter().map(|d| d.extent.eval(&size).unwrap() as i32).collect();
        let arrays = kernel
            .params
            .iter()
            .map(|p| p.window().map_or(vec![], |w| w.array.iter().map(|e| e.eval(&size).unwrap() as usize).collect()));
        let binding = Binding { cores: 1, sizes: sizes.to_vec(), grid, arrays: arrays.collect() };
        Case { kernel, binding }
    }

    fn run(&self, runner: Runner<'_>, inputs: &[Array], scalars: &[Literal]) -> Result<Vec<Array>, RunError> {
        let inputs: Vec<ArrayRef<'_>> =
            inputs.iter().map(|a| ArrayRef { dtype: a.dtype, shape: &a.shape, bytes: &a.bytes }).collect();
        let mut outputs: Vec<Array> =
            self.kernel.outputs().map(|(i, p)| Array::zeros(p.ty.dtype(), &self.binding.arrays[i])).collect();
        let mut views: Vec<ArrayMut<'_>> =
            outputs.iter_mut().map(|a| ArrayMut { dtype: a.dtype, shape: &a.shape, bytes: &mut a.bytes }).collect();
        runner(&self.binding, &mut Args { inputs: &inputs, outputs: &mut views, scalars, log: &mut to_stderr })?;
        Ok(outputs)
    }

    fn compile(&self) -> Executable {
        Executable::compile(&self.kernel).unwrap_or_else(|e| panic!("{e}\n{}", self.kernel))
    }

    fn compiled(&self, inputs: &[Array], scalars: &[Literal]) -> Result<Vec<Array>, RunError> {
        let exe = self.compile();
        self.run(&|binding, args| exe.run(binding, args), inputs, scalars)
    }

    fn interpreted(&self, inputs: &[Array], scalars: &[Literal]) -> Result<Vec<Array>, RunError> {
        self.run(&|binding, args| interpret::run(&self.kernel, binding, args), inputs, scalars)
    }

    /// Runs both ways; the results must be equal. Returns them.
    fn agree(&self, inputs: &[Array], scalars: &[Literal]) -> Result<Vec<Array>, RunError> {
        let (want, got) = (self.interpreted(inputs, scalars), self.compiled(inputs, scalars));
        match (&want, &got) {
            (Ok(want), Ok(got)) => want.iter().zip(got).for_each(|(want, got)| self.same(want, got)),
            _ => assert_eq!(want, got, "{}", self.kernel),
        }
        got
    }

    fn same(&self, want: &Array, got: &Array) {
        let unused = u32::MAX << (8 * got.dtype.bytes() - 1) << 1;
        for (word, literal) in got.words().into_iter().zip(got.literals()) {
            assert_eq!(word, literal.memory() & !unused, "{literal:?} does not fill its memory\n{}", self.kernel);
        }
        for (at, (w, g)) in want.literals().into_iter().zip(got.literals()).enumerate() {
            let nan = |l: Literal| l.as_f32().is_some_and(f32::is_nan);
            assert!(w == g || (nan(w) && nan(g)), "element {at}: interpreted {w:?}, compiled {g:?}\n{}", self.kernel);
        }
    }
}
