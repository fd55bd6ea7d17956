//! Checked launches of memory that has more than one name: prefetched arrays that parallel steps write, arrays that operands share,
//! memory that is seen under another width. Each pair is one kernel with a number that switches the mistake on.

use tpu_device::Tensor;
use tpu_kernel::prelude::*;
use tpu_tests::checked::{always, device, never};
use tpu_tests::devices::{made, tensor};

/// Each block of 1024 elements holds its number.
fn numbered(at: usize) -> f32 {
    (at / 1024) as f32
}

/// What `blocks` hold, each of 1024 elements.
fn blocks(blocks: &[f32]) -> Vec<f32> {
    blocks.iter().flat_map(|&block| [block; 1024]).collect()
}

// ---- prefetched arrays ----------------------------------------------------------------------------------------------------

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
    let words = ["operand `x` is fetched at [32, 0] while a copy writes it", "#[block([n, 128] at (i, 0))] x"];
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
    as_halves: Scalar<bool>,
) {
    words.fill(0);
    // Two rows of halves are a row of words: the first 8 of these are the target.
    let halves = words.view_bitcast_rows::<i16, (D<32>, D<128>)>();
    let arriving = copy(x.view::<(D<16>, D<128>)>((0, 0)), halves.view::<(D<16>, D<128>)>((0, 0))).start(done);
    if as_halves {
        halves.store_at((row * 2 + 1, 0), Tile::<i16, (D<1>, D<128>)>::full(1));
    } else {
        words.store_at((row, 0), Tile::<i32, (D<1>, D<128>)>::full(1 << 16));
    }
    arriving.wait();
    o.store(words.load().cast::<f32>());
}

#[tpu_kernel]
fn into_words(
    #[hbm([8, 128])] x: Hbm<i32, 2>,
    #[block([16, 128] at (0, 0))] o: Out<f32, (D<16>, D<128>)>,
    #[scratch] words: Vmem<i32, (D<16>, D<128>)>,
    #[scratch] done: DmaSemaphore,
    row: Scalar<i32>,
) {
    words.fill(0);
    let arriving = copy(x.view::<(D<8>, D<128>)>((0, 0)), words.view::<(D<8>, D<128>)>((0, 0))).start(done);
    let halves = words.view_bitcast_rows::<i16, (D<32>, D<128>)>();
    let read = halves.load_at::<(D<16>, D<128>)>((row, 0)).cast::<f32>();
    arriving.wait();
    o.store(read);
}

/// Memory that is seen as elements of another width is watched like any other: by the elements that it has itself.
#[test]
fn views_of_other_widths_race() {
    let device = device();
    let x = made(&device, &[16, 128], |at| i16::from(at % 2 == 0));
    let expected = |row: usize| {
        let word = move |at: usize| match at / 128 {
            r if r < 8 => (1 - at % 2) as f32 * 65537.0,
            r if r == row => 65536.0,
            _ => 0.0,
        };
        (0..16 * 128).map(word).collect::<Vec<_>>()
    };
    let launch = |seed: u64, row: i32, as_halves: bool| other_widths().checked(seed).launch(&device, &x, row, as_halves);
    for as_halves in [false, true] {
        never(&expected(8), |seed| launch(seed, 8, as_halves));
        let words = ["operand `words` is written at [7, 0] while a copy writes it"];
        always("R016", &words, |seed| launch(seed, 7, as_halves));
    }
    let y = made(&device, &[8, 128], |at| at as i32);
    never(&[0.0; 2048], |seed| into_words().checked(seed).launch(&device, &y, 16));
    let words = ["operand `words` is read at [7, 0] while a copy writes it"];
    always("R016", &words, |seed| into_words().checked(seed).launch(&device, &y, 15));
}

// ---- semaphores that are read ---------------------------------------------------------------------------------------------

#[tpu_kernel]
fn asks(#[hbm([8, 128])] x: Hbm<f32, 2>, #[hbm([8, 128])] o: HbmOut<f32, 2>, #[scratch] done: DmaSemaphore, least: Scalar<i32>) {
    let arriving = copy(x.view::<(D<8>, D<128>)>((0, 0)), o.view::<(D<8>, D<128>)>((0, 0))).start(done);
    let mut count = done.read().maximum(least);
    while count == 0 {
        count = done.read();
    }
    arriving.wait();
}

/// Who asks a semaphore again and again sees the copy arrive, under every seed.
#[test]
fn a_loop_until_a_copy_arrives_ends() {
    let device = device();
    let x = made(&device, &[8, 128], |at| at as f32);
    for least in [1, 0] {
        never(&(0..1024).map(|at| at as f32).collect::<Vec<_>>(), |seed| asks().checked(seed).launch(&device, &x, least));
    }
}

// ---- stores of elements that lie apart -------------------------------------------------------------------------------------

/// Even rows by a strided store, odd ones by a copy that is under way meanwhile; `late` rows further down both meet.
#[tpu_kernel]
fn combed(
    #[hbm([8, 128])] x: Hbm<f32, 2>,
    #[hbm([16, 128])] o: HbmOut<f32, 2>,
    #[scratch] mut rows: Vmem<f32, (D<16>, D<128>)>,
    #[scratch] block: Vmem<f32, (D<8>, D<128>)>,
    #[scratch] done: DmaSemaphore,
    first: Scalar<i32>,
) {
    copy(x.view::<(D<8>, D<128>)>((0, 0)), block).start(done).wait();
    let odd = rows.view_strided::<(D<8>, D<128>)>((first, 0), [2, 1]);
    let arriving = copy(block, odd).start(done);
    rows.store_strided((0, 0), [2, 1], block.load() + 0.5);
    arriving.wait();
    copy(rows, o.view::<(D<16>, D<128>)>((0, 0))).start(done).wait();
}

/// Nothing between the elements is written, nor read: not where nothing has written, nor where a copy does.
#[test]
fn a_strided_store_touches_its_elements_only() {
    let device = device();
    let x = made(&device, &[8, 128], |at| (at / 128) as f32);
    let want: Vec<f32> = (0..16 * 128).map(|at| (at / 256) as f32 + if at / 128 % 2 == 0 { 0.5 } else { 0.0 }).collect();
    never(&want, |seed| combed().checked(seed).launch(&device, &x, 1));
    always("R016", &["operand `rows` is written at [0, 0] while a copy writes it"], |seed| {
        combed().checked(seed).launch(&device, &x, 0)
    });
}
