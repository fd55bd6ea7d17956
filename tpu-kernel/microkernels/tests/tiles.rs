//! The border of the tile operations: what is described wrongly is refused, what is right is done.

use tpu_microkernels::tile::{self, DONE, F32, Helper, INDEX, INVALID, MAX, Rng, SUM, Slot, Task, U32, UNSEEDED, code};

/// A tile of 2 × 3.
const SHAPE: Task = Task {
    dims: [1, 1, 2, 3],
    axis: 3,
    extent: 3,
    bytes: 4,
    number: F32,
    op: MAX,
    reverse: 0,
    payloads: 1,
    step_axis: u32::MAX,
    step: 0,
    bits: [32, 32],
    signed: 0,
};

/// Memory that a task reads and writes: 6 words a slot.
struct Memory {
    words: [[u32; 6]; 3],
    scratch: [u64; 3],
    strides: [i64; 4],
}

impl Memory {
    fn new() -> Memory {
        Memory { words: [[1, 2, 0, 4, 5, 6], [0, 1, 2, 2, 1, 0], [0; 6]], scratch: [0; 3], strides: [0, 0, 3, 1] }
    }

    fn call(&mut self, helper: Helper, tasks: &[Task]) -> i64 {
        let strides = self.strides;
        let slots = self.words.each_mut().map(|words| Slot { ptr: words.as_mut_ptr().cast(), strides });
        // SAFETY: each slot has the 6 words that the tasks of these tests reach, or is refused; the scratch has 3.
        unsafe { helper(tasks.as_ptr(), slots.as_ptr(), 1, self.scratch.as_mut_ptr().cast()) }
    }
}

const ALL: [(&str, Helper); 6] = [
    ("rotate", tile::rotate),
    ("gather", tile::gather),
    ("scan", tile::scan),
    ("sort", tile::sort),
    ("bitcast", tile::bitcast),
    ("argument", tile::argument),
];

#[test]
fn a_right_task_is_done() {
    for (name, helper) in ALL {
        let task = if name == "bitcast" { Task { extent: 2, ..SHAPE } } else { SHAPE };
        assert_eq!(Memory::new().call(helper, &[task, task]), DONE, "{name}");
    }
}

#[test]
fn wrong_tasks_are_refused() {
    type Change = fn(&mut Task);
    let changes: [(&[&str], Change); 9] = [
        (&["rotate", "gather", "scan", "sort", "argument"], |t| t.axis = 4),
        (&["rotate", "gather", "scan", "sort", "bitcast", "argument"], |t| t.dims[2] = 0),
        (&["rotate", "gather", "sort", "bitcast"], |t| t.bytes = 3),
        (&["scan", "sort", "argument"], |t| t.number = 3),
        (&["scan", "argument"], |t| t.op = 9),
        (&["rotate"], |t| t.step_axis = 3),
        (&["bitcast"], |t| t.bits = [32, 3]),
        (&["bitcast"], |t| t.bits = [32, 16]),
        (&["rotate", "gather", "scan", "argument"], |t| t.dims = [u32::MAX; 4]),
    ];
    for (name, helper) in ALL {
        for (at, (names, change)) in changes.iter().enumerate() {
            let mut task = SHAPE;
            task.extent = if name == "bitcast" { 2 } else { 3 };
            change(&mut task);
            if names.contains(&name) {
                assert_eq!(code(Memory::new().call(helper, &[task, task])).0, INVALID, "{name}, change {at}");
            }
        }
        let mut memory = Memory::new();
        memory.strides[2] = -3;
        assert_eq!(code(memory.call(helper, &[SHAPE, SHAPE])).0, INVALID, "{name} with negative strides");
        let slots = [Slot { ptr: std::ptr::null_mut(), strides: [0; 4] }; 3];
        // SAFETY: the addresses are refused before anything is read.
        let outcome = unsafe { helper(&SHAPE, slots.as_ptr(), 0, std::ptr::null_mut()) };
        assert_eq!(code(outcome).0, INVALID, "{name} without memory");
    }
}

#[test]
fn values() {
    let mut memory = Memory::new();
    assert_eq!(memory.call(tile::rotate, &[SHAPE]), DONE);
    assert_eq!(memory.words[1], [0, 1, 2, 6, 4, 5]);
    let mut memory = Memory::new();
    assert_eq!(memory.call(tile::scan, &[Task { number: U32, op: SUM, reverse: 1, ..SHAPE }]), DONE);
    assert_eq!(memory.words[1], [3, 2, 0, 15, 11, 6]);
    let mut memory = Memory::new();
    memory.words[0] = memory.words[1];
    memory.words[1] = [10, 11, 12, 13, 14, 15];
    assert_eq!(memory.call(tile::sort, &[Task { number: U32, reverse: 1, ..SHAPE }, SHAPE]), DONE);
    assert_eq!(memory.words[2], [12, 11, 10, 13, 14, 15]);
}

#[test]
fn the_first_index_outside() {
    let mut memory = Memory::new();
    memory.words[1] = [0, -3i32 as u32, 2, -4i32 as u32, 9, 0];
    assert_eq!(code(memory.call(tile::gather, &[SHAPE])), (INDEX, -4));
}

#[test]
fn random_bits_need_a_seed() {
    let (mut words, mut rng) = ([0u32; 6], Rng::default());
    let slot = Slot { ptr: words.as_mut_ptr().cast(), strides: [0; 4] };
    let draw = |rng: &mut Rng| {
        // SAFETY: the slot has room for the 6 words of the shape.
        unsafe { tile::random_bits(&SHAPE, &slot, 0, std::ptr::from_mut(rng).cast()) }
    };
    assert_eq!(code(draw(&mut rng)).0, UNSEEDED);
    rng.seeded = 1;
    assert_eq!(draw(&mut rng), DONE);
    assert_eq!(rng.counter, 6);
    assert_eq!(words[0], 0x6b20_0159 ^ 0x99ba_4efe);
}
