//! Random pipelines in pipelines, and what a loop over their steps, one block at a time, leaves.
//!
//! Rules: a plan says grids, buffers, blocks and index maps of up to three levels; the kernel is staged from it, and the reference
//! walks it. Levels write arrays of their own; an inner one adds to the window of the output around it, too. All numbers are i32,
//! which wrap, so that nothing depends on an order of rounding.

use crate::generate::Rng;
use std::cell::RefCell;
use tpu_kernel::ahead::Built;
use tpu_kernel::prelude::*;

/// Columns of every array.
const COLUMNS: usize = 128;
/// Indices that lists have.
const LISTED: usize = 24;

/// A pipeline, and perhaps one in each of its steps.
#[derive(Clone, Debug)]
pub struct Level {
    grid: Vec<i32>,
    /// Whether the launch brings the bounds, and from where in its list.
    dynamic: Option<i32>,
    rows: usize,
    kind: Kind,
    /// Of the two inputs and the output.
    buffers: [usize; 3],
    /// Of the two inputs, the output and the update.
    maps: [Map; 4],
    inner: Option<Box<Level>>,
}

/// What kinds of blocks its first input and its output have.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Blocked,
    Sliding,
    Bounded,
    Indirect,
}

/// The place of a block: a factor for each index in scope, and a summand.
#[derive(Clone, Debug)]
struct Map {
    factors: Vec<i32>,
    add: i32,
}

/// A plan with the extents of its arrays.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The outermost pipeline.
    pub level: Level,
    /// Rows of the two inputs, and of the outputs.
    pub rows: [usize; 3],
    /// Bounds that the launch brings.
    pub numbers: Vec<i32>,
    /// Rows of the first input and of the outputs, each once.
    pub list: Vec<i32>,
}

impl Plan {
    /// The plan of that number.
    pub fn random(seed: u64) -> Plan {
        let mut rng = Rng::new(seed);
        // At least as many rows as the largest block.
        let rows = [8 + rng.below(30), 8 + rng.below(30), 24 + rng.below(20)];
        let mut numbers = vec![0];
        let depth = 1 + rng.below(3);
        let level = Level::random(&mut rng, depth, 0, &mut numbers);
        let most = rows[0].min(rows[2]);
        let step = [1, 5, 7].into_iter().rev().find(|step| !most.is_multiple_of(*step)).unwrap_or(1);
        let list = (0..LISTED).map(|at| (at * step % most) as i32).collect();
        Plan { level, rows, numbers, list }
    }

    /// Element `at` of an input.
    fn element(input: usize, at: usize) -> i32 {
        (at as i32).wrapping_mul(2_654_435 + input as i32) >> 3
    }

    /// The elements of the inputs and of the zeros.
    pub fn inputs(&self) -> Vec<(Vec<usize>, Vec<i32>)> {
        let array = |input: usize| (0..self.rows[input] * COLUMNS).map(|at| Plan::element(input, at)).collect();
        let shape = |rows: usize| vec![rows, COLUMNS];
        vec![
            (vec![self.numbers.len()], self.numbers.clone()),
            (vec![LISTED], self.list.clone()),
            (shape(self.rows[0]), array(0)),
            (shape(self.rows[1]), array(1)),
            (shape(self.rows[2]), vec![0; self.rows[2] * COLUMNS]),
        ]
    }

    /// The kernel.
    ///
    /// # Panics
    /// Where it cannot be built.
    pub fn built(&self) -> Built {
        PLAN.set(Some(self.clone()));
        let built = Built::new(&random_pipelines(), &[DType::I32; 5]);
        PLAN.set(None);
        built.unwrap_or_else(|error| panic!("{error:?}\n{self:?}"))
    }

    /// What the six outputs hold in the end.
    pub fn outputs(&self) -> Vec<Vec<i32>> {
        let mut outputs = vec![vec![0; self.rows[2] * COLUMNS]; 6];
        self.walk(&self.level, &mut vec![], &mut outputs, None);
        outputs
    }

    /// The step's block: first row and number of rows. Of a list the first is a place in it.
    fn place(&self, level: &Level, which: usize, index: &[i32]) -> (i32, i32) {
        let map = &level.maps[which];
        let number = map.add + index.iter().zip(&map.factors).map(|(i, f)| i * f).sum::<i32>();
        let (extent, rows) = (self.rows[[0, 1, 2, 2][which]] as i32, level.rows as i32);
        match level.kind {
            _ if which == 1 || which == 3 => blocked(number, extent, rows),
            Kind::Blocked => blocked(number, extent, rows),
            Kind::Sliding => (number % (extent - rows + 1), rows),
            Kind::Bounded => (number % extent, (number % (rows + 1)).min(extent - number % extent)),
            Kind::Indirect => (number % (LISTED as i32 - rows + 1), rows),
        }
    }

    /// The row of the array that is the window's row of that number.
    fn row(&self, level: &Level, which: usize, first: i32, row: usize) -> usize {
        match level.kind {
            Kind::Indirect if which == 0 || which == 2 => self.list[first as usize + row] as usize,
            _ => first as usize + row,
        }
    }

    fn walk(&self, level: &Level, outer: &mut Vec<i32>, outputs: &mut [Vec<i32>], around: Option<&mut Vec<i32>>) {
        let (depth, rows) = (outputs.len(), level.rows);
        let (own, inner) = outputs.split_at_mut(2);
        debug_assert!(depth >= 2);
        let mut around = around;
        let (mut before, mut window) = (None, vec![]);
        let steps = level.grid.iter().map(|&n| n.max(0) as usize).product::<usize>();
        for step in 0..steps {
            let mut index = vec![0; level.grid.len()];
            let mut rest = step;
            for d in (0..index.len()).rev() {
                index[d] = (rest % level.grid[d] as usize) as i32;
                rest /= level.grid[d] as usize;
            }
            let at = [outer.as_slice(), &index].concat();
            let [a, b, o, u] = [0, 1, 2, 3].map(|which| self.place(level, which, &at));
            let read = |which: usize, (first, count): (i32, i32), row: usize, col: usize| match row < count as usize {
                true => Plan::element(which, self.row(level, which, first, row) * COLUMNS + col),
                false => 0,
            };
            let mix = at.iter().fold(7i32, |mix, &i| mix.wrapping_mul(31).wrapping_add(i));
            let value = |k: usize| {
                let (row, col) = (k / COLUMNS, k % COLUMNS);
                read(0, a, row, col).wrapping_add(read(1, b, row, col).wrapping_mul(2)).wrapping_add(mix)
            };
            let value: Vec<i32> = (0..rows * COLUMNS).map(value).collect();
            window = match before == Some(o.0) {
                true => value.iter().zip(&window).map(|(&v, &w): (&i32, &i32)| w.wrapping_mul(3).wrapping_add(v)).collect(),
                false => value.clone(),
            };
            before = Some(o.0);
            if let Some(level) = &level.inner {
                let mut at = at.clone();
                self.walk(level, &mut at, inner, Some(&mut window));
            }
            for row in 0..o.1 as usize {
                let to = self.row(level, 2, o.0, row) * COLUMNS;
                own[0][to..to + COLUMNS].copy_from_slice(&window[row * COLUMNS..(row + 1) * COLUMNS]);
            }
            for row in 0..u.1 as usize {
                let to = self.row(level, 3, u.0, row) * COLUMNS;
                (0..COLUMNS).for_each(|c| own[1][to + c] = own[1][to + c].wrapping_add(value[row * COLUMNS + c]));
            }
            if let Some(around) = &mut around {
                let sum = |c: usize| (0..rows).fold(0i32, |sum, row| sum.wrapping_add(value[row * COLUMNS + c]));
                around.iter_mut().enumerate().for_each(|(k, w)| *w = w.wrapping_add(sum(k % COLUMNS)));
            }
        }
    }
}

fn blocked(number: i32, extent: i32, rows: i32) -> (i32, i32) {
    let first = number % ((extent + rows - 1) / rows) * rows;
    (first, rows.min(extent - first))
}

impl Level {
    fn random(rng: &mut Rng, levels: usize, outer: usize, numbers: &mut Vec<i32>) -> Level {
        let dimensions = 1 + rng.below(3);
        let most = if levels == 1 && outer == 0 { 5 } else { 3 };
        let grid: Vec<i32> = (0..dimensions).map(|_| if rng.chance(5) { 0 } else { 1 + rng.below(most) as i32 }).collect();
        let dynamic = rng.chance(50).then_some(numbers.len() as i32);
        numbers.extend(dynamic.iter().flat_map(|_| grid.clone()));
        let indices = outer + dimensions;
        let mut map = || {
            let factors = (0..indices).map(|_| rng.pick(&[0, 0, 1, 1, 2, 3])).collect();
            Map { factors, add: rng.below(4) as i32 }
        };
        let maps = [map(), map(), map(), map()];
        let buffers = [1 + rng.below(4), 1 + rng.below(3), 1 + rng.below(3)];
        let rows = rng.pick(&[1, 2, 4, 8]);
        let kind = rng.pick(&[Kind::Blocked, Kind::Blocked, Kind::Sliding, Kind::Bounded, Kind::Indirect]);
        let inner = (levels > 1).then(|| Box::new(Level::random(rng, levels - 1, indices, numbers)));
        Level { grid, dynamic, rows, kind, buffers, maps, inner }
    }
}

// ---- the kernel ------------------------------------------------------------------------------------------------------------

thread_local! {
    /// What is staged: the function of a kernel has no other way to be told.
    static PLAN: RefCell<Option<Plan>> = const { RefCell::new(None) };
}

#[tpu_kernel]
fn random_pipelines(
    #[prefetch([k])] numbers: Prefetch<i32, 1>,
    #[prefetch([l])] list: Prefetch<i32, 1>,
    #[hbm([m0, 128])] x: Hbm<i32, 2>,
    #[hbm([m1, 128])] y: Hbm<i32, 2>,
    #[hbm([m, 128])] zeros: Hbm<i32, 2>,
    #[hbm([m, 128])] o0: HbmOut<i32, 2>,
    #[hbm([m, 128])] u0: HbmOut<i32, 2>,
    #[hbm([m, 128])] o1: HbmOut<i32, 2>,
    #[hbm([m, 128])] u1: HbmOut<i32, 2>,
    #[hbm([m, 128])] o2: HbmOut<i32, 2>,
    #[hbm([m, 128])] u2: HbmOut<i32, 2>,
) {
    let outputs = [o0, u0, o1, u1, o2, u2];
    for &output in &outputs {
        copy(zeros, output).now();
    }
    let plan = PLAN.with_borrow(|plan| plan.clone()).expect("a plan is staged");
    let arrays = Arrays { numbers, list, x, y, outputs: outputs.to_vec(), extents: [m0, m1, m] };
    arrays.level(&plan.level, &[], &|_| ());
}

struct Arrays {
    numbers: Prefetch<i32, 1>,
    list: Prefetch<i32, 1>,
    x: Hbm<i32, 2>,
    y: Hbm<i32, 2>,
    /// Those of this level, then those of the inner ones.
    outputs: Vec<HbmOut<i32, 2>>,
    extents: [Scalar<i32>; 3],
}

/// What a level's value adds to around it.
type Around<'a> = &'a dyn Fn(Tile<i32, (One, D<128>)>);

impl Arrays {
    fn level(&self, level: &Level, outer: &[Scalar<i32>], around: Around<'_>) {
        match level.rows {
            1 => self.dimensions::<D<1>>(level, outer, around),
            2 => self.dimensions::<D<2>>(level, outer, around),
            4 => self.dimensions::<D<4>>(level, outer, around),
            _ => self.dimensions::<D<8>>(level, outer, around),
        }
    }

    fn dimensions<R: Dim>(&self, level: &Level, outer: &[Scalar<i32>], around: Around<'_>) {
        let bound = |d: usize| match level.dynamic {
            Some(at) => self.numbers.read(at + d as i32),
            None => Scalar::from(level.grid[d]),
        };
        match level.grid.len() {
            1 => self.kind::<1, R>(pipeline([bound(0)]), level, outer, around),
            2 => self.kind::<2, R>(pipeline([bound(0), bound(1)]), level, outer, around),
            _ => self.kind::<3, R>(pipeline([bound(0), bound(1), bound(2)]), level, outer, around),
        }
    }

    /// The number that a map gives, before it is brought into the array.
    fn number<const N: usize>(map: &Map, outer: &[Scalar<i32>], index: [Scalar<i32>; N]) -> Scalar<i32> {
        let indices = outer.iter().chain(&index).zip(&map.factors);
        indices.fold(Scalar::from(map.add), |sum, (&i, &factor)| sum + i * factor)
    }

    fn kind<'a, const N: usize, R: Dim>(
        &'a self,
        grid: tpu_kernel::lang::Pipeline<'a, N, ()>,
        level: &'a Level,
        outer: &'a [Scalar<i32>],
        around: Around<'_>,
    ) {
        let [m0, m1, m] = self.extents;
        let rows = R::size() as i32;
        let number = move |which: usize, index| Arrays::number(&level.maps[which], outer, index);
        let block = move |which: usize, extent: Scalar<i32>, index| number(which, index) % ((extent + (rows - 1)) / rows);
        let all = Scalar::from(rows);
        // Start and size of a part that two numbers give.
        let part = move |which: usize, extent: Scalar<i32>, index| {
            let first = number(which, index) % extent;
            (first, (number(which, index) % (rows + 1)).minimum(extent - first))
        };
        let slide = move |which: usize, extent: Scalar<i32>, index| number(which, index) % (extent - (rows - 1));
        let listed = move |which: usize, index| number(which, index) % (LISTED as i32 - rows + 1);
        let count = move |which: usize, extent: Scalar<i32>, index| (extent - block(which, extent, index) * rows).minimum(rows);
        let [first, second, third] = level.buffers;
        let y = self.y.blocks::<(R, D<128>)>();
        let update = self.outputs[1].blocks::<(R, D<128>)>();
        let body = |index: [Scalar<i32>; N], a, b, o, u, rows: Scalar<i32>, at: Scalar<i32>, before| {
            let step = Step { index: &[outer, &index].concat(), rows: [rows, count(1, m1, index)], at, before };
            self.body::<R>(level, step, (a, b, o, u), around);
        };
        tpu_kernel::prelude::scoped(|before: Smem<i32, (D<1>,)>| {
            before.write(0, -1);
            match level.kind {
                Kind::Blocked => grid
                    .input(self.x.blocks::<(R, D<128>)>(), move |i| (block(0, m0, i), 0))
                    .buffers(first)
                    .input(y, move |i| (block(1, m1, i), 0))
                    .buffers(second)
                    .output(self.outputs[0].blocks::<(R, D<128>)>(), move |i| (block(2, m, i), 0))
                    .buffers(third)
                    .update(update, move |i| (block(3, m, i), 0))
                    .run(|i, (a, b, o, u)| body(i, a, b, o, u, count(0, m0, i), block(2, m, i), before)),
                Kind::Sliding => grid
                    .input(self.x.blocks::<(Sliding<R>, D<128>)>(), move |i| (slide(0, m0, i), 0))
                    .buffers(first)
                    .input(y, move |i| (block(1, m1, i), 0))
                    .buffers(second)
                    .output(self.outputs[0].blocks::<(Sliding<R>, D<128>)>(), move |i| (slide(2, m, i), 0))
                    .buffers(third)
                    .update(update, move |i| (block(3, m, i), 0))
                    .run(|i, (a, b, o, u)| body(i, a, b, o, u, all, slide(2, m, i), before)),
                Kind::Bounded => grid
                    .input(self.x.blocks::<(Bounded<R>, D<128>)>(), move |i| (part(0, m0, i), 0))
                    .buffers(first)
                    .input(y, move |i| (block(1, m1, i), 0))
                    .buffers(second)
                    .output(self.outputs[0].blocks::<(Bounded<R>, D<128>)>(), move |i| (part(2, m, i), 0))
                    .buffers(third)
                    .update(update, move |i| (block(3, m, i), 0))
                    .run(|i, ((a, n), b, (o, _), u)| body(i, a, b, o, u, n, part(2, m, i).0, before)),
                Kind::Indirect => grid
                    .input(self.x.blocks::<(Indirect<R>, D<128>)>(), move |i| ((self.list, listed(0, i)), 0))
                    .buffers(first)
                    .input(y, move |i| (block(1, m1, i), 0))
                    .buffers(second)
                    .output(self.outputs[0].blocks::<(Indirect<R>, D<128>)>(), move |i| ((self.list, listed(2, i)), 0))
                    .buffers(third)
                    .update(update, move |i| (block(3, m, i), 0))
                    .run(|i, (a, b, o, u)| body(i, a, b, o, u, all, listed(2, i), before)),
            }
        });
    }

    #[tile_fn]
    fn body<R: Dim>(&self, level: &Level, step: Step<'_>, windows: Windows<R>, around: Around<'_>) {
        let (a, b, o, u) = windows;
        let row = iota::<(R, D<128>)>(Sublanes);
        let [a, b] = [select(row < step.rows[0], a.load(), 0), select(row < step.rows[1], b.load(), 0)];
        let mix = step.index.iter().fold(Scalar::from(7), |mix, &i| mix * 31 + i);
        let value = a + b * 2 + mix;
        if step.before.read(0) == step.at {
            o.store(o.load() * 3 + value);
        } else {
            o.store(value);
        }
        step.before.write(0, step.at);
        if let Some(inner) = &level.inner {
            let arrays = Arrays { outputs: self.outputs[2..].to_vec(), ..*self };
            arrays.level(inner, step.index, &|sum| o.store(o.load() + sum));
        }
        u.store(u.load() + value);
        around(value.sum(Sublanes));
    }
}

/// The windows of both inputs, the output and the update.
type Windows<R> =
    (View<InputWindow, i32, (R, D<128>)>, View<InputWindow, i32, (R, D<128>)>, Vmem<i32, (R, D<128>)>, Vmem<i32, (R, D<128>)>);

/// A step: all indices, how many rows the inputs have, where the output lies, and where that of the step before.
struct Step<'a> {
    index: &'a [Scalar<i32>],
    rows: [Scalar<i32>; 2],
    at: Scalar<i32>,
    before: Smem<i32, (D<1>,)>,
}
