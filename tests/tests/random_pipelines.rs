//! Random pipelines of windows (blocks, edges, buffers, lookahead, revisits, arrays that are shared, index maps that change) against
//! a reference that keeps one block of each window and what arrays held at the start of each step; in every executor, as
//! written, read from their text, and canonicalised.
//!
//! `RANDOM_PIPELINES=N` tries N seeds instead of 600, `RANDOM_PIPELINES_FROM=S` starts at seed S.

use std::fmt::Write;
use tpu_kernel::exec::Printed;
use tpu_kernel::ir::{DType, Kernel, Literal, parse};
use tpu_kernel::launch::Binding;
use tpu_kernel::passes::{canonicalise, verify};
use tpu_tests::executors::{Array, EXECUTORS, run_logged};
use tpu_tests::filetest::round_trip;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// A block's index: along each axis a form of the grid indices, or along the first what the array of indices says.
#[derive(Clone, Debug)]
struct Map {
    forms: [[usize; 3]; 2],
    listed: bool,
}

/// A pipeline.
#[derive(Clone, Debug)]
struct Case {
    grid: [usize; 2],
    array: [usize; 2],
    block: [usize; 2],
    input: Map,
    output: Map,
    buffers: Option<usize>,
    lookahead: bool,
    revisit_any: bool,
    alias: bool,
    /// Whether a step adds to what its block of the output shows.
    adds: bool,
    /// Whether a step stores the first row alone.
    partial: bool,
    ids: Vec<i32>,
    /// The step that writes to the array of indices, where and what.
    writes: Option<(usize, usize, i32)>,
    x: Vec<i32>,
}

impl Case {
    fn new(seed: u64) -> Case {
        let mut random = Random(seed);
        let r = &mut random;
        // The first numbers of neighbouring seeds are alike.
        (0..4).for_each(|_| _ = r.below(2));
        let grid = [1 + r.below(4), 1 + r.below(5)];
        let array = [1 + r.below(7), 1 + r.below(5)];
        let block = [1 + r.below(3), 1 + r.below(3)];
        let steps = grid[0] * grid[1];
        let mut map = |listed: usize| Map { forms: [0; 2].map(|_| [0; 3].map(|_| r.below(3))), listed: r.chance(listed) };
        let (input, output) = (map(50), map(20));
        let rows = array[0].div_ceil(block[0]);
        let writes = r.chance(40).then(|| (r.below(steps), r.below(steps), r.below(rows) as i32));
        Case {
            grid,
            array,
            block,
            input,
            output,
            buffers: r.chance(70).then(|| 1 + r.below(5)),
            lookahead: r.chance(30) && writes.is_none(),
            revisit_any: r.chance(40),
            alias: r.chance(60),
            adds: r.chance(50),
            partial: r.chance(30),
            ids: (0..steps).map(|_| r.below(rows) as i32).collect(),
            writes,
            x: (0..array[0] * array[1]).map(|_| r.below(1000) as i32).collect(),
        }
    }

    fn steps(&self) -> usize {
        self.grid[0] * self.grid[1]
    }

    fn blocks(&self) -> [usize; 2] {
        [0, 1].map(|axis| self.array[axis].div_ceil(self.block[axis]))
    }

    fn map_text(&self, map: &Map, name: &str) -> String {
        let mut text = format!("at (%g0, %g1, %{name}: smem<?xi32>) {{\n");
        let mut line = |what: String| _ = writeln!(text, "    {what}");
        line(format!("%{name}_columns = const {} : i32", self.grid[1]));
        line(format!("%{name}_row = mul %g0, %{name}_columns : i32"));
        line(format!("%{name}_step = add %{name}_row, %g1 : i32"));
        for (axis, [a, b, c]) in map.forms.iter().enumerate() {
            if axis == 0 && map.listed {
                line(format!("%{name}_0 = load_scalar %{name}[%{name}_step] : i32"));
                continue;
            }
            for (part, number) in [("a", *a), ("b", *b), ("c", *c), ("n", self.blocks()[axis])] {
                line(format!("%{name}_{part}{axis} = const {number} : i32"));
            }
            line(format!("%{name}_p{axis} = mul %g0, %{name}_a{axis} : i32"));
            line(format!("%{name}_q{axis} = mul %g1, %{name}_b{axis} : i32"));
            line(format!("%{name}_r{axis} = add %{name}_p{axis}, %{name}_q{axis} : i32"));
            line(format!("%{name}_s{axis} = add %{name}_r{axis}, %{name}_c{axis} : i32"));
            line(format!("%{name}_{axis} = rem %{name}_s{axis}, %{name}_n{axis} : i32"));
        }
        line(format!("yield %{name}_0, %{name}_1"));
        text.push_str("  }\n");
        text
    }

    fn text(&self) -> String {
        let ([m, n], [bm, bn], steps) = (self.array, self.block, self.steps());
        let mut text = String::from("kernel @k() {\n");
        for (axis, extent) in self.grid.iter().enumerate() {
            let _ = writeln!(text, "  grid g{axis} = {extent} arbitrary");
        }
        let buffers = self.buffers.map_or(String::new(), |n| format!(" buffers {n}"));
        let lookahead = if self.lookahead { " lookahead" } else { "" };
        let (alias, revisit) = (if self.alias { " alias x" } else { "" }, if self.revisit_any { " revisit any" } else { "" });
        let _ = write!(
            text,
            "  prefetch %ids: smem<?xi32> = [{steps}]
  in %x: vmem<{bm}x{bn}xi32> = [{m}, {n}] blocks [{bm}, {bn}]{buffers}{lookahead} {}  out %o: vmem<{bm}x{bn}xi32> = [{m}, {n}]{alias} blocks [{bm}, {bn}]{revisit} {}  out %seen: vmem<{bm}x{bn}xi32> = [{}, {bn}] blocks [{bm}, {bn}] at (%g0, %g1, %l: smem<?xi32>) {{
    %l_columns = const {} : i32
    %l_row = mul %g0, %l_columns : i32
    %l_step = add %l_row, %g1 : i32
    %l_zero = const 0 : i32
    yield %l_step, %l_zero
  }}
  body {{
    %z = const 0 : i32
    %g0_ = program_id 0 : i32
    %g1_ = program_id 1 : i32
    %columns = const {} : i32
    %row = mul %g0_, %columns : i32
    %step = add %row, %g1_ : i32
    %t = load %x[%z, %z] : tile<{bm}x{bn}xi32>
    store %t, %seen[%z, %z]
",
            self.map_text(&self.input, "a"),
            self.map_text(&self.output, "b"),
            steps * bm,
            self.grid[1],
            self.grid[1],
        );
        if let Some((at, place, value)) = self.writes {
            let _ = write!(
                text,
                "    %at = const {at} : i32\n    %place = const {place} : i32\n    %value = const {value} : i32\n    %now = eq %step, %at : bool\n    if %now {{\n      store_scalar %value, %ids[%place]\n    }}\n"
            );
        }
        let rows = if self.partial { 1 } else { bm };
        let _ = write!(
            text,
            "    %part = load %x[%z, %z] : tile<{rows}x{bn}xi32>\n    %count = broadcast %step : tile<{rows}x{bn}xi32>\n    %sum = add %part, %count : tile<{rows}x{bn}xi32>\n"
        );
        match self.adds {
            true => {
                let _ = write!(
                    text,
                    "    %before = load %o[%z, %z] : tile<{rows}x{bn}xi32>\n    %new = add %sum, %before : tile<{rows}x{bn}xi32>\n    store %new, %o[%z, %z]\n"
                );
            }
            false => text.push_str("    store %sum, %o[%z, %z]\n"),
        }
        text.push_str("  }\n}\n");
        text
    }

    fn index(&self, map: &Map, step: usize, ids: &[i32]) -> [usize; 2] {
        let g = [step / self.grid[1], step % self.grid[1]];
        let mut index = [0, 1].map(|axis| {
            let [a, b, c] = map.forms[axis];
            (a * g[0] + b * g[1] + c) % self.blocks()[axis]
        });
        if map.listed {
            index[0] = ids[step] as usize;
        }
        index
    }

    /// A block of an array; poison outside.
    fn read(&self, array: &[i32], index: [usize; 2]) -> Vec<i32> {
        let [bm, bn] = self.block;
        let element = |at: usize| self.place(index, at).map_or(i32::MIN, |place| array[place]);
        (0..bm * bn).map(element).collect()
    }

    fn place(&self, index: [usize; 2], at: usize) -> Option<usize> {
        let [bm, bn] = self.block;
        let (row, column) = (index[0] * bm + at / bn, index[1] * bn + at % bn);
        (row < self.array[0] && column < self.array[1]).then(|| row * self.array[1] + column)
    }

    fn write(&self, array: &mut [i32], index: [usize; 2], block: &[i32]) {
        for (at, &element) in block.iter().enumerate() {
            if let Some(place) = self.place(index, at) {
                array[place] = element;
            }
        }
    }

    /// What `o` and `seen` hold at the end.
    fn reference(&self) -> [Vec<i32>; 2] {
        let ([_, bn], steps) = (self.block, self.steps());
        let depth = self.buffers.unwrap_or(2);
        // What no step visits stays as the run finds it, 0, unless blocks are read back.
        let mut o = match (self.alias, self.revisit_any) {
            (true, _) => self.x.clone(),
            (false, true) => vec![i32::MIN; self.x.len()],
            (false, false) => vec![0; self.x.len()],
        };
        let mut seen = vec![];
        let mut ids = self.ids.clone();
        // At the start of each step, what its outputs left behind is in its array.
        let (mut arrays, mut lists): (Vec<Vec<i32>>, Vec<Vec<i32>>) = (vec![], vec![]);
        let mut indices: Vec<[usize; 2]> = vec![];
        let mut open: Option<([usize; 2], Vec<i32>)> = None;
        for step in 0..steps {
            let block = self.index(&self.output, step, &ids);
            if open.as_ref().is_none_or(|(index, _)| *index != block) {
                if let Some((index, elements)) = &open {
                    self.write(&mut o, *index, elements);
                }
                let fresh = vec![i32::MIN; self.block.iter().product()];
                open = Some((block, if self.revisit_any { self.read(&o, block) } else { fresh }));
            }
            arrays.push(if self.alias { o.clone() } else { self.x.clone() });
            lists.push(ids.clone());
            // Its own map is evaluated as many steps before as there are other buffers.
            let early = (step + 1).saturating_sub(depth);
            indices.push(self.index(&self.input, step, &lists[early]));
            let t = self.fetched(&indices, depth, &arrays);
            seen.extend(&t);
            if let Some((_, place, value)) = self.writes.filter(|&(at, ..)| at == step) {
                ids[place] = value;
            }
            let Some((_, elements)) = &mut open else { continue };
            let rows = if self.partial { bn } else { elements.len() };
            for (element, new) in elements.iter_mut().zip(&t).take(rows) {
                let sum = new.wrapping_add(step as i32);
                *element = if self.adds { element.wrapping_add(sum) } else { sum };
            }
        }
        if let Some((index, elements)) = &open {
            self.write(&mut o, *index, elements);
        }
        [o, seen]
    }

    /// The block of the last of these steps, as it was when it was fetched.
    fn fetched(&self, indices: &[[usize; 2]], depth: usize, arrays: &[Vec<i32>]) -> Vec<i32> {
        // The first steps of the blocks so far, each of which stays for a while.
        let begins: Vec<usize> = (0..indices.len()).filter(|&at| at == 0 || indices[at] != indices[at - 1]).collect();
        let last = begins.len() - 1;
        let when = match self.lookahead {
            // When the block that had its buffer has gone.
            true => (last + 1).checked_sub(depth).map_or(0, |at| begins[at]),
            false => (begins[last] + 1).saturating_sub(depth),
        };
        self.read(&arrays[when], indices[indices.len() - 1])
    }

    fn array(&self, shape: &[usize], elements: &[i32]) -> Array {
        Array::new(DType::I32, shape, elements.iter().map(|&n| Literal::from(n)))
    }
}

fn check(case: &Case, kernel: &Kernel) -> Result<(), String> {
    verify(kernel).map_err(|faults| format!("{faults:?}"))?;
    round_trip(kernel)?;
    let mut canonical = kernel.clone();
    canonicalise(&mut canonical);
    let ([bm, bn], steps) = (case.block, case.steps());
    let binding = Binding {
        cores: 1,
        sizes: vec![],
        grid: case.grid.map(|n| n as i32).to_vec(),
        arrays: vec![vec![steps], case.array.to_vec(), case.array.to_vec(), vec![steps * bm, bn]],
    };
    let inputs = [case.array(&[steps], &case.ids), case.array(&case.array, &case.x)];
    let [o, seen] = case.reference();
    let want = [case.array(&case.array, &o), case.array(&[steps * bm, bn], &seen)];
    for executor in EXECUTORS {
        for (form, kernel) in [("as written", kernel), ("canonical", &canonical)] {
            let compiled = (executor.compile)(kernel)?;
            let mut log = |_: &Printed| {};
            let got = run_logged(kernel, &compiled, &binding, &inputs, &[], &mut log);
            let got = got.map_err(|e| format!("{}, {form}: {e}", executor.name))?;
            for (name, got, want) in [("o", &got[0], &want[0]), ("seen", &got[1], &want[1])] {
                if got != want {
                    let list = |array: &Array| array.elements().map(|e| e.to_string()).collect::<Vec<_>>().join(" ");
                    return Err(format!("{}, {form}: {name}\n got {}\nwant {}", executor.name, list(got), list(want)));
                }
            }
        }
    }
    Ok(())
}

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |n| n.parse().expect("a number"))
}

#[test]
fn random_pipelines_are_those_of_one_block() {
    let (first, count) = (from_environment("RANDOM_PIPELINES_FROM", 0), from_environment("RANDOM_PIPELINES", 600));
    for seed in first..first + count {
        let case = Case::new(seed);
        let text = case.text();
        let kernel = parse(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        if let Err(wrong) = check(&case, &kernel) {
            panic!("seed {seed}: {wrong}\n{case:?}\n{text}");
        }
    }
}

/// The cases are not all alike: what each can say is said, and fetching later or earlier would show.
#[test]
fn random_pipelines_differ() {
    let cases: Vec<Case> = (0..600).map(Case::new).collect();
    let count = |test: &dyn Fn(&Case) -> bool| cases.iter().filter(|case| test(case)).count();
    assert!(count(&|case| case.lookahead) > 60);
    assert!(count(&|case| case.alias && case.revisit_any) > 60);
    assert!(count(&|case| case.writes.is_some() && case.input.listed) > 60);
    assert!(count(&|case| (0..2).any(|axis| !case.array[axis].is_multiple_of(case.block[axis]))) > 200);
    let other = |case: &Case, buffers: usize| Case { buffers: Some(buffers), ..case.clone() }.reference() != case.reference();
    assert!(count(&|case| other(case, 1) || other(case, 5)) > 60);
}
