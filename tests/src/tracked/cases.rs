//! Cases of one operation: a kernel, and which elements of its output are poison, for random shadows of its inputs.
//!
//! Rule: what is wanted is said element by element, apart from the pass. Both executors must give exactly that, and the data that the
//! kernel gives without.

use super::with_windows;
use crate::executors::{Array, EXECUTORS, run, same};
use crate::filetest::round_trip;
use crate::generate::Rng;
use tpu_kernel::ir::{DType, Kernel, Literal, parse};
use tpu_kernel::launch::Binding;
use tpu_kernel::passes::poison::track;
use tpu_kernel::passes::verify;

/// An input, and what it may hold.
#[derive(Clone, Copy)]
pub struct Input {
    dtype: DType,
    shape: &'static [usize],
    /// Numbers are below.
    below: usize,
    /// Whether it may be poison.
    poison: bool,
}

/// An input that may be poison.
pub const fn of(dtype: DType, shape: &'static [usize]) -> Input {
    Input { dtype, shape, below: if matches!(dtype, DType::Bool) { 2 } else { 4 }, poison: true }
}

/// One of f32.
pub const fn f32(shape: &'static [usize]) -> Input {
    of(DType::F32, shape)
}

/// An input that is never poison, with numbers below that.
pub const fn clean(dtype: DType, shape: &'static [usize], below: usize) -> Input {
    Input { dtype, shape, below, poison: false }
}

/// What the inputs hold.
pub struct Given {
    shapes: Vec<&'static [usize]>,
    values: Vec<Vec<f64>>,
    shadows: Vec<Vec<bool>>,
}

impl Given {
    fn at(&self, input: usize, index: &[usize]) -> usize {
        let shape = self.shapes[input];
        assert_eq!(shape.len(), index.len());
        index.iter().zip(shape).fold(0, |at, (i, n)| {
            assert!(i < n);
            at * n + i
        })
    }

    /// Whether that element is poison.
    pub fn p(&self, input: usize, index: &[usize]) -> bool {
        self.shadows[input][self.at(input, index)]
    }

    /// Its value.
    pub fn v(&self, input: usize, index: &[usize]) -> f64 {
        self.values[input][self.at(input, index)]
    }

    /// Whether it is a bool that is true.
    pub fn t(&self, input: usize, index: &[usize]) -> bool {
        self.v(input, index) != 0.0
    }

    /// Where the element with that index along an axis of a line comes in the sorted line; its place in the line.
    pub fn sorted(&self, keys: usize, row: usize, place: usize, descending: bool) -> usize {
        let mut order: Vec<usize> = (0..self.shapes[keys][1]).collect();
        let key = |&i: &usize| if descending { -self.v(keys, &[row, i]) } else { self.v(keys, &[row, i]) };
        order.sort_by(|a, b| key(a).total_cmp(&key(b)));
        order[place]
    }
}

/// A kernel without a grid, and what is poison of its output.
pub struct Case {
    /// What it does.
    pub name: &'static str,
    /// What it is given.
    pub inputs: Vec<Input>,
    /// The output.
    pub out: (DType, &'static [usize]),
    /// What else it has.
    pub params: &'static str,
    /// Inputs are `%x0`, `%x1` …, loaded `%t0`, `%t1` …; `%z`, `%one` and `%two` are numbers. `%r` is stored, if it is there.
    pub body: &'static str,
    /// Whether the element at that index of the output is poison.
    pub want: fn(&Given, &[usize]) -> bool,
}

fn ty(dtype: DType, shape: &[usize]) -> String {
    let dims: String = shape.iter().map(|n| format!("{n}x")).collect();
    format!("<{dims}{dtype}>")
}

fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

impl Case {
    fn kernel(&self) -> Kernel {
        let mut text = String::from("kernel @k() {\n");
        let mut window = |word: &str, name: &str, dtype: DType, shape: &[usize]| {
            let (dims, zeros) = (list(shape), list(shape.iter().map(|_| format!("%c_{name}"))));
            text += &format!("  {word} %{name}: vmem{} = [{dims}] blocks [{dims}] at () {{\n", ty(dtype, shape));
            text += &format!("    %c_{name} = const 0 : i32\n    yield {zeros}\n  }}\n");
        };
        for (at, input) in self.inputs.iter().enumerate() {
            window("in", &format!("x{at}"), input.dtype, input.shape);
        }
        window("out", "o", self.out.0, self.out.1);
        text += self.params;
        text += "  body {\n    %z = const 0 : i32\n    %one = const 1 : i32\n    %two = const 2 : i32\n";
        let zeros = |shape: &[usize]| list(shape.iter().map(|_| "%z"));
        for (at, input) in self.inputs.iter().enumerate() {
            text += &format!("    %t{at} = load %x{at}[{}] : tile{}\n", zeros(input.shape), ty(input.dtype, input.shape));
        }
        text += self.body;
        if self.body.contains("%r ") || self.body.contains("%r,") {
            text += &format!("\n    store %r, %o[{}]", zeros(self.out.1));
        }
        text += "\n  }\n}\n";
        parse(&text).unwrap_or_else(|e| panic!("{}: {e:?}\n{text}", self.name))
    }
}

/// Every index of a shape, in row-major order.
pub fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![vec![]], |all, &n| {
        all.iter().flat_map(|index: &Vec<usize>| (0..n).map(move |i| [&index[..], &[i]].concat())).collect()
    })
}

/// Runs the case with no poison, some, and nothing but poison.
///
/// # Panics
/// Where other elements are poison than wanted, or the data differs.
pub fn check(case: &Case) {
    let kernel = case.kernel();
    verify(&kernel).unwrap_or_else(|faults| panic!("{}: {faults:?}\n{kernel}", case.name));
    let tracked = track(&kernel);
    verify(&tracked.kernel).unwrap_or_else(|faults| panic!("{}: {faults:?}\n{}", case.name, tracked.kernel));
    round_trip(&tracked.kernel).unwrap_or_else(|e| panic!("{}: {e}", case.name));
    let both = with_windows(&kernel, &tracked);
    let arrays: Vec<Vec<usize>> = case.inputs.iter().map(|i| i.shape.to_vec()).chain([case.out.1.to_vec()]).collect();
    // Scalars and scratch have no array.
    let rest = |n: usize| vec![vec![]; n - arrays.len()];
    let bound = [arrays.clone(), rest(kernel.params.len())].concat();
    let plain = Binding { cores: 1, sizes: vec![], grid: vec![], arrays: bound.clone() };
    let twins = kernel.params.iter().zip(&bound).filter(|(param, _)| param.ty.is_ref()).map(|(_, array)| array.clone());
    let binding = Binding { arrays: bound.iter().cloned().chain(twins).collect(), ..plain.clone() };
    let mut rng = Rng::new(1);
    let mut seen = [false; 2];
    for round in 0..24 {
        let percent = [0, 3, 15, 50, 85, 100][round % 6];
        let element =
            |input: &Input, rng: &mut Rng| (0..input.shape.iter().product()).map(|_| rng.below(input.below) as f64).collect();
        let values: Vec<Vec<f64>> = case.inputs.iter().map(|input| element(input, &mut rng)).collect();
        let shadow =
            |input: &Input, rng: &mut Rng| (0..input.shape.iter().product()).map(|_| input.poison && rng.chance(percent)).collect();
        let shadows: Vec<Vec<bool>> = case.inputs.iter().map(|input| shadow(input, &mut rng)).collect();
        let given = Given { shapes: case.inputs.iter().map(|input| input.shape).collect(), values, shadows };
        let data =
            case.inputs.iter().zip(&given.values).map(|(input, values)| {
                Array::new(input.dtype, input.shape, values.iter().map(|&v| Literal::from_f64(input.dtype, v)))
            });
        let data: Vec<Array> = data.collect();
        let masks = case.inputs.iter().zip(&given.shadows);
        let masks = masks.map(|(input, shadow)| Array::new(DType::Bool, input.shape, shadow.iter().map(|&p| Literal::from(p))));
        let inputs: Vec<Array> = data.iter().cloned().chain(masks).collect();
        for executor in EXECUTORS {
            let about = format!("{}, {}, {percent}% poison", case.name, executor.name);
            let original = (executor.compile)(&kernel).unwrap_or_else(|e| panic!("{about}: {e}"));
            let original = run(&kernel, &original, &plain, &data, &[]).unwrap_or_else(|e| panic!("{about}: {e}"));
            let compiled = (executor.compile)(&both).unwrap_or_else(|e| panic!("{about}: {e}"));
            let got = run(&both, &compiled, &binding, &inputs, &[]).unwrap_or_else(|e| panic!("{about}: {e}"));
            for (w, g) in original[0].elements().zip(got[0].elements()) {
                assert!(same(w, g), "{about}: the data is {g:?}, was {w:?}");
            }
            for (index, poison) in indices(case.out.1).iter().zip(got[1].elements()) {
                let (want, poison) = ((case.want)(&given, index), poison.bits() != 0);
                assert_eq!(poison, want, "{about}: at {index:?}\n{both}");
                seen[usize::from(want)] = true;
            }
        }
    }
    assert_eq!(seen, [true; 2], "{}: poison in some elements, and in some not", case.name);
}

/// A case with one input.
pub fn one(
    name: &'static str,
    input: Input,
    out: (DType, &'static [usize]),
    body: &'static str,
    want: fn(&Given, &[usize]) -> bool,
) -> Case {
    Case { name, inputs: vec![input], out, params: "", body, want }
}

/// A case with two inputs.
pub fn two(
    name: &'static str,
    inputs: [Input; 2],
    out: (DType, &'static [usize]),
    body: &'static str,
    want: fn(&Given, &[usize]) -> bool,
) -> Case {
    Case { name, inputs: inputs.to_vec(), out, params: "", body, want }
}
