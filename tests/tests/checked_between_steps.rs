//! Checked launches: copies and signals that cross steps, what parallel steps hand on, arrays that operands share, memory that is
//! seen under another width. Each pair is one kernel with a number that switches the mistake on.

use tpu_device::Tensor;
use tpu_kernel::prelude::*;
use tpu_tests::checked::{always, always_one_of, device, never};
use tpu_tests::devices::{made, tensor};

/// Each block of 1024 elements holds its number.
fn numbered(at: usize) -> f32 {
    (at / 1024) as f32
}

/// What `blocks` hold, each of 1024 elements.
fn blocks(blocks: &[f32]) -> Vec<f32> {
    blocks.iter().flat_map(|&block| [block; 1024]).collect()
}

// ---- windows --------------------------------------------------------------------------------------------------------------

#[tpu_kernel(grid(i: n / 8))]
fn from_a_window(
    #[block([n, 128] at (i, 0))] x: In<f32, (D<8>, D<128>)>,
    #[hbm([n, 128])] o: HbmOut<f32, 2>,
    #[scratch] done: DmaSemaphore,
    late: Scalar<bool>,
) {
    let block = x.view::<(D<8>, D<128>)>((0, 0));
    if late && i > 0 {
        copy(block, o.view::<(D<8>, D<128>)>(((i - 1) * 8, 0))).finish(done);
    }
    copy(block, o.view::<(D<8>, D<128>)>((i * 8, 0))).start(done).leave();
    if !late || i == last(i) {
        copy(block, o.view::<(D<8>, D<128>)>((i * 8, 0))).finish(done);
    }
}

#[tpu_kernel(grid(i: n / 8))]
fn into_a_window(
    #[hbm([n, 128])] x: Hbm<f32, 2>,
    #[block([n, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>,
    #[scratch] done: DmaSemaphore,
    late: Scalar<bool>,
) {
    let block = o.view::<(D<8>, D<128>)>((0, 0));
    if late && i > 0 {
        copy(x.view::<(D<8>, D<128>)>((0, 0)), block).finish(done);
    }
    copy(x.view::<(D<8>, D<128>)>((i * 8, 0)), block).start(done).leave();
    if !late || i == last(i) {
        copy(x.view::<(D<8>, D<128>)>((0, 0)), block).finish(done);
    }
}

#[tpu_kernel(grid(i: 3))]
fn from_a_window_that_stays(
    #[block([8, 128] at (0, 0))] x: In<f32, (D<8>, D<128>)>,
    #[hbm([24, 128])] o: HbmOut<f32, 2>,
    #[scratch] done: DmaSemaphore,
) {
    let block = x.view::<(D<8>, D<128>)>((0, 0));
    copy(block, o.view::<(D<8>, D<128>)>((i * 8, 0))).start(done).leave();
    if i == last(i) {
        for _ in 0..3 {
            copy(block, o.view::<(D<8>, D<128>)>((0, 0))).finish(done);
        }
    }
}

/// A block that a copy still reads or writes may not be fetched over, nor written back; one that stays may be copied for many steps.
#[test]
fn a_window_keeps_its_block_while_a_copy_is_under_way_there() {
    let device = device();
    let x = made(&device, &[24, 128], numbered);
    let want = blocks(&[0.0, 1.0, 2.0]);
    never(&want, |seed| from_a_window().checked(seed).launch(&device, &x, false));
    never(&want, |seed| into_a_window().checked(seed).launch(&device, &x, false));
    let began = "the copy began at tests/tests/checked_between_steps.rs:";
    let words = |words| ["at [0, 0] while a copy", "at grid step [1]", began, words];
    always("R016", &words("operand `x` is replaced by another block"), |seed| {
        from_a_window().checked(seed).launch(&device, &x, true)
    });
    always("R016", &words("operand `o` is replaced by another block"), |seed| {
        into_a_window().checked(seed).launch(&device, &x, true)
    });
    let one = made(&device, &[8, 128], |_| 3.0f32);
    never(&[3.0; 3072], |seed| from_a_window_that_stays().checked(seed).launch(&device, &one));
}

// ---- parallel steps -------------------------------------------------------------------------------------------------------

#[tpu_kernel(grid(i: n / 8, j: 2), semantics(parallel, arbitrary))]
fn signals(
    #[block([n, 128] at (i, 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([n, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>,
    #[scratch] turn: Semaphore,
    hands_on: Scalar<bool>,
) {
    // To the next step along `j`, or along `i`.
    if if hands_on { i > 0 && j == 0 } else { j == 1 } {
        turn.wait(1);
    }
    o.store(x.load());
    if if hands_on { i < last(i) && j == 1 } else { j == 0 } {
        turn.signal(1);
    }
}

#[tpu_kernel(grid(i: m / 8), semantics(parallel))]
fn copies_ahead(
    #[hbm([m, 128])] x: Hbm<f32, 2>,
    #[block([m, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>,
    #[scratch] buffer: Vmem<f32, (D<2>, D<8>, D<128>)>,
    #[scratch] arrived: DmaSemaphore<(D<2>,)>,
    hands_on: Scalar<bool>,
) {
    let slot = buffer.slot(i % 2);
    if i == 0 || !hands_on {
        copy(x.view((i * 8, 0)), slot).start(arrived.at(i % 2)).leave();
    }
    if hands_on && i < last(i) {
        copy(x.view(((i + 1) * 8, 0)), buffer.slot((i + 1) % 2)).start(arrived.at((i + 1) % 2)).leave();
    }
    copy(x.view((i * 8, 0)), slot).finish(arrived.at(i % 2));
    o.store(slot.load());
}

/// What a step leaves on a semaphore no step with other indices along parallel dimensions may count on.
#[test]
fn parallel_steps_hand_on_no_signal_and_no_copy() {
    let device = device();
    let x = made(&device, &[32, 128], numbered);
    let want = blocks(&[0.0, 1.0, 2.0, 3.0]);
    never(&want, |seed| signals().checked(seed).launch(&device, &x, false));
    never(&want, |seed| copies_ahead().checked(seed).launch(&device, &x, false));
    // The step that leaves it is found, or one that waits for it and comes first.
    always_one_of(&["R011", "R012"], &["`turn`"], |seed| signals().checked(seed).launch(&device, &x, true));
    always_one_of(&["R011", "R012"], &["`arrived`"], |seed| copies_ahead().checked(seed).launch(&device, &x, true));
    let text = always_text(signals().checked(0).launch(&device, &x, true));
    assert!(
        text.contains("R012") && text.contains("nothing is left to steps with other indices along parallel dimensions"),
        "{text}"
    );
}

fn always_text<T: std::fmt::Debug>(result: Result<T, tpu_device::DeviceError>) -> String {
    tpu_tests::checked::found(result).1
}

#[tpu_kernel(grid(i: n), semantics(parallel))]
fn lists(#[prefetch([n])] ids: Prefetch<i32, 1>, #[block([8 * n, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>, to: Scalar<i32>) {
    let id = ids.read(i);
    if to >= 0 && i + to < num_programs(0) {
        ids.write(i + to, id + 1);
    }
    o.store(Tile::<f32, (D<8>, D<128>)>::full(ids.read(i).cast::<f32>()));
}

#[tpu_kernel(grid(i: n), semantics(parallel))]
fn maps(
    #[prefetch([n])] ids: Prefetch<i32, 1>,
    #[block([8 * n, 128] at (ids.read(i), 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([8 * n, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>,
    to: Scalar<i32>,
) {
    if to >= 0 && i + to < num_programs(0) {
        ids.write(i + to, 0);
    }
    o.store(x.load());
}

/// Each core has prefetched arrays of its own: what a parallel step writes there no other one may read, nor an index map.
#[test]
fn parallel_steps_read_no_prefetched_element_that_another_wrote() {
    let device = device();
    let ids = tensor(&device, &[3, 2, 1, 0], &[4]);
    let x = made(&device, &[32, 128], numbered);
    let words = ["of operand `ids` is shared by steps along the parallel dimension `i`"];
    for (to, want) in [(-1, [3.0, 2.0, 1.0, 0.0]), (0, [4.0, 3.0, 2.0, 1.0])] {
        never(&blocks(&want), |seed| lists().checked(seed).launch(&device, &ids, to));
        never(&blocks(&[3.0, 2.0, 1.0, 0.0]), |seed| maps().checked(seed).launch(&device, &ids, &x, to));
    }
    always("R019", &words, |seed| lists().checked(seed).launch(&device, &ids, 1));
    always("R019", &words, |seed| maps().checked(seed).launch(&device, &ids, &x, 1));
}

// ---- arrays that operands share -------------------------------------------------------------------------------------------

#[tpu_kernel]
fn whole_arrays(
    #[hbm([16, 128])] x: Hbm<f32, 2>,
    #[hbm([16, 128])]
    #[alias(x)]
    o: HbmOut<f32, 2>,
    #[scratch] fives: Vmem<f32, (D<8>, D<128>)>,
    #[scratch] kept: Vmem<f32, (D<8>, D<128>)>,
    #[scratch] done: DmaSemaphore<(D<2>,)>,
    row: Scalar<i32>,
) {
    fives.fill(5.0);
    let first = copy(x.view::<(D<8>, D<128>)>((0, 0)), kept).start(done.at(0));
    let second = copy(fives, o.view::<(D<8>, D<128>)>((row, 0))).start(done.at(1));
    first.wait();
    second.wait();
    copy(kept, o.view::<(D<8>, D<128>)>((0, 0))).now();
}

#[tpu_kernel(grid(i: n / 8))]
fn array_and_window(
    #[block([n, 128] at (i, 0))] x: In<f32, (D<8>, D<128>)>,
    #[hbm([n, 128])]
    #[alias(x)]
    o: HbmOut<f32, 2>,
    #[scratch] result: Vmem<f32, (D<2>, D<8>, D<128>)>,
    #[scratch] done: DmaSemaphore<(D<2>,)>,
    ahead: Scalar<i32>,
) {
    if i > 0 {
        let before = (i - 1 + ahead).minimum(last(i));
        copy(result.slot((i - 1) % 2), o.view((before * 8, 0))).finish(done.at((i - 1) % 2));
    }
    let slot = result.slot(i % 2);
    slot.store(x.load() + 1.0);
    let to = (i + ahead).minimum(last(i));
    copy(slot, o.view((to * 8, 0))).start(done.at(i % 2)).leave();
    if i == last(i) {
        copy(slot, o.view((to * 8, 0))).finish(done.at(i % 2));
    }
}

/// Copies from an input and into the output that is the same array; blocks that are fetched where a copy writes.
#[test]
fn operands_of_one_array_race_as_one() {
    let device = device();
    let x = made(&device, &[16, 128], |at| at as f32);
    let want: Vec<f32> = (0..2048).map(|at| if at < 1024 { at as f32 } else { 5.0 }).collect();
    never(&want, |seed| whole_arrays().checked(seed).launch(&device, &x, 8));
    let words = ["operand `o` is copied to at [7, 0] while a copy reads it"];
    always("R016", &words, |seed| whole_arrays().checked(seed).launch(&device, &x, 7));
    let x = made(&device, &[40, 128], numbered);
    never(&blocks(&[1.0, 2.0, 3.0, 4.0, 5.0]), |seed| array_and_window().checked(seed).launch(&device, &x, 0));
    let words = ["operand `o` is fetched at [32, 0] while a copy writes it", "#[block([n, 128] at (i, 0))] x"];
    always("R016", &words, |seed| array_and_window().checked(seed).launch(&device, &x, 3));
}

#[tpu_kernel(grid(i: n), semantics(parallel))]
fn windows_of_one_array(
    #[prefetch([n])] ids: Prefetch<i32, 1>,
    #[block([8 * n, 128] at (ids.read(i), 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([8 * n, 128] at (i, 0))]
    #[alias(x)]
    o: Out<f32, (D<8>, D<128>)>,
) {
    o.store(x.load() + 1.0);
}

/// A parallel step reads through one window what another writes through the other.
#[test]
fn parallel_steps_share_no_element_of_a_shared_array() {
    let device = device();
    let x = made(&device, &[32, 128], numbered);
    let launch = |seed: u64, ids: &Tensor| windows_of_one_array().checked(seed).launch(&device, ids, &x);
    let [same, other] = [[0, 1, 2, 3], [3, 2, 1, 0]].map(|ids| tensor(&device, &ids, &[4]));
    never(&blocks(&[1.0, 2.0, 3.0, 4.0]), |seed| launch(seed, &same));
    always("R019", &["of operand `o` is shared by steps along the parallel dimension `i`"], |seed| launch(seed, &other));
}

// ---- other widths ---------------------------------------------------------------------------------------------------------

#[tpu_kernel]
fn other_widths(
    #[hbm([16, 128])] x: Hbm<i16, 2>,
    #[block([16, 128] at (0, 0))] o: Out<f32, (D<16>, D<128>)>,
    #[scratch] words: Vmem<i32, (D<16>, D<128>)>,
    #[scratch] done: DmaSemaphore,
    row: Scalar<i32>,
    whole: Scalar<bool>,
) {
    words.fill(0);
    // Two rows of halves are a row of words: the first 8 rows of these are the target.
    let halves = words.view_bitcast_rows::<i16, (D<32>, D<128>)>();
    let arriving = copy(x.view::<(D<16>, D<128>)>((0, 0)), halves.view::<(D<16>, D<128>)>((0, 0))).start(done);
    if whole {
        words.store_at((row, 0), Tile::<i32, (D<1>, D<128>)>::full(1));
    } else {
        halves.store_at((row * 2, 0), Tile::<i16, (D<2>, D<128>)>::full(1));
    }
    arriving.wait();
    o.store(words.load().cast::<f32>());
}

/// Memory that is seen as elements of another width is watched like any other, word by word.
#[test]
fn views_of_other_widths_race() {
    let device = device();
    let x = made(&device, &[16, 128], |_| 1i16);
    let launch = |row: i32, whole: bool, seed: u64| other_widths().checked(seed).launch(&device, &x, row, whole);
    for (whole, stored) in [(true, 1.0), (false, 65537.0)] {
        let row = |at: usize| {
            if at < 8 {
                65537.0
            } else if at == 11 {
                stored
            } else {
                0.0
            }
        };
        let want: Vec<f32> = (0..16 * 128).map(|at| row(at / 128)).collect();
        never(&want, |seed| launch(11, whole, seed));
        always("R016", &["`words`"], |seed| launch(3, whole, seed));
    }
}
