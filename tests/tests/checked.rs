//! Checked launches: each check fires on its mistake, under every seed, and is silent on the kernel without it.
//!
//! `case_NN`, `fault_x` are rows of `docs/conformance.md`. Each pair is one kernel with a scalar that switches the mistake on.

use tpu_kernel::exec::RunError;
use tpu_kernel::prelude::*;
use tpu_tests::checked::{SEEDS, always, device, found, never};
use tpu_tests::devices::{made, tensor};

// ---- poison ---------------------------------------------------------------------------------------------------------------

#[tpu_kernel(grid(i: m / 8, j: n / 128, kk: k / 128), semantics(parallel, parallel, arbitrary))]
fn product(
    #[block([m, k] at (i, kk))] x: In<f32, (D<8>, D<128>)>,
    #[block([k, n] at (kk, j))] w: In<f32, (D<128>, D<128>)>,
    #[block([m, n] at (i, j))] o: Out<f32, (D<8>, D<128>)>,
    #[scratch] acc: Vmem<f32, (D<8>, D<128>)>,
    masked: Scalar<bool>,
    started: Scalar<bool>,
) {
    if kk == 0 && started {
        acc.fill(0.0);
    }
    let inside = (iota::<(D<8>, D<128>)>(Lanes) + kk * 128).lt(k) | !masked;
    let below = (iota::<(D<128>, D<128>)>(Sublanes) + kk * 128).lt(k) | !masked;
    acc.store(acc.load() + dot(select(inside, x.load(), 0.0), select(below, w.load(), 0.0)));
    if kk == last(kk) {
        o.store(acc.load());
    }
}

/// Rows and columns behind the arrays are dropped with what is stored there; a sum over the padding is not.
#[test]
fn case_04_checked_padding_of_the_sum_is_poison_that_of_the_result_is_dropped() {
    let device = device();
    let (m, n, k) = (13, 150, 200);
    let (x, w) = (made(&device, &[m, k], |at| (at % 7) as f32 - 3.0), made(&device, &[k, n], |at| (at % 5) as f32 - 2.0));
    let launch = |seed: u64, masked: bool, started: bool| {
        product().precision(Precision::Highest).checked(seed).launch(&device, &x, &w, masked, started)
    };
    let (xs, ws) = (x.to_vec::<f32>().unwrap(), w.to_vec::<f32>().unwrap());
    let element = |at: usize| (0..k).fold(0.0, |sum, i| sum + xs[at / n * k + i] * ws[i * n + at % n]);
    let want: Vec<f32> = (0..m * n).map(element).collect();
    never(&want, |seed| launch(seed, true, true));
    always("R015", &["a store to operand `o`", "o.store(acc.load())"], |seed| launch(seed, false, true));
    always("R015", &["a store to operand `o`"], |seed| launch(seed, true, false));
    // Without a ragged sum there is nothing to mask.
    let (x, w) = (made(&device, &[m, 128], |at| at as f32), made(&device, &[128, n], |_| 1.0f32));
    let o = product().precision(Precision::Highest).checked(3).launch(&device, &x, &w, false, true);
    assert!(o.is_ok(), "{o:?}");
}

#[tpu_kernel(grid(i: n / 128))]
fn conditions(
    #[block([n] at (i))] x: In<f32, (D<128>,)>,
    #[block([n] at (i))] o: Out<f32, (D<128>,)>,
    #[scratch] flag: Smem<i32, (D<1>,)>,
    what: Scalar<i32>,
) {
    if what == 0 {
        flag.write(0, 1);
    }
    let last = x.load().at([127]);
    if what == 1 {
        if last.gt(0.0) {
            debug_print!("positive");
        }
    }
    if what == 2 {
        flag.write(0, 0);
        let start = last.cast::<i32>().minimum(0);
        let _ = o.load_at::<(D<1>,)>((start,));
    }
    if what == 3 {
        if flag.read(0) == 7 {
            debug_print!("seven");
        }
    }
    o.store(x.load() * 2.0);
}

/// A condition, an index, what lies in scalar memory: each an error, none where the padding is not touched.
#[test]
fn poison_reaches_no_condition_and_no_index() {
    let device = device();
    let x = made(&device, &[200], |at| at as f32);
    let launch = |seed: u64, what: i32| conditions().checked(seed).launch(&device, &x, what);
    never(&(0..200).map(|n| 2.0 * n as f32).collect::<Vec<_>>(), |seed| launch(seed, 0));
    always("R015", &["reaches a condition", "if last.gt(0.0)", "at grid step [1]"], |seed| launch(seed, 1));
    always("R015", &["the start along axis 0 of operand `o`"], |seed| launch(seed, 2));
    always("R015", &["reaches a condition", "flag.read(0) == 7", "at grid step [0]"], |seed| launch(seed, 3));
}

#[tpu_kernel(grid(i: n / 128))]
fn masks(
    #[block([n] at (i))] x: In<f32, (D<128>,)>,
    #[block([(n / 128) * 128] at (i))] o: Out<f32, (D<128>,)>,
    selects: Scalar<bool>,
) {
    let inside = (iota::<(D<128>,)>(Lanes) + i * 128).lt(n);
    let kept = select(inside, x.load(), 0.0);
    let scaled = x.load() * select(inside, 1.0, Tile::<f32, (D<128>,)>::full(0.0));
    o.store(if selects { kept } else { scaled });
}

/// A product with 0 keeps poison; a selection does not.
#[test]
fn fault_j_zero_times_poison_is_poison() {
    let device = device();
    let x = made(&device, &[200], |_| 1.0f32);
    let launch = |seed: u64, selects: bool| masks().checked(seed).launch(&device, &x, selects);
    let want: Vec<f32> = (0..256).map(|n| if n < 200 { 1.0 } else { 0.0 }).collect();
    never(&want, |seed| launch(seed, true));
    always("R015", &["a store to operand `o` at [200]"], |seed| launch(seed, false));
}

// ---- copies ---------------------------------------------------------------------------------------------------------------

#[tpu_kernel]
fn early(
    #[hbm([16, 128])] x: Hbm<f32, 2>,
    #[block([8, 128] at (0, 0))] o: Out<f32, (D<8>, D<128>)>,
    #[scratch] buffer: Vmem<f32, (D<16>, D<128>)>,
    #[scratch] done: DmaSemaphore,
    what: Scalar<i32>,
) {
    let arriving = copy(x.view::<(D<16>, D<128>)>((0, 0)), buffer).start(done);
    if what == 1 {
        o.store(buffer.load_at::<(D<8>, D<128>)>((8, 0)));
    }
    if what == 2 {
        buffer.store_at((3, 0), Tile::<f32, (D<1>, D<128>)>::full(0.0));
    }
    arriving.wait();
    o.store(buffer.load_at::<(D<8>, D<128>)>((8, 0)));
}

/// A read of a copy's target before the wait, a write to it; after the wait neither is a race, whenever the bytes move.
#[test]
fn case_37_race_detection() {
    let device = device();
    let x = made(&device, &[16, 128], |at| at as f32);
    let launch = |seed: u64, what: i32| early().checked(seed).launch(&device, &x, what);
    never(&(1024..2048).map(|n| n as f32).collect::<Vec<_>>(), |seed| launch(seed, 0));
    let began = "the copy began at tests/tests/checked.rs:";
    always("R016", &["operand `buffer` is read at [8, 0] while a copy writes it", began], |seed| launch(seed, 1));
    always("R016", &["operand `buffer` is written at [3, 0] while a copy writes it", began], |seed| launch(seed, 2));
}

#[tpu_kernel]
fn beside(
    #[hbm([8, 128])] x: Hbm<f32, 2>,
    #[block([8, 128] at (0, 0))] o: Out<f32, (D<8>, D<128>)>,
    #[scratch] buffer: Vmem<f32, (D<16>, D<128>)>,
    #[scratch] done: DmaSemaphore,
    first: Scalar<i32>,
) {
    buffer.fill(1.0);
    // The even rows.
    let target = buffer.view_strided::<(D<8>, D<128>)>((0, 0), [2, 1]);
    let arriving = copy(x.view::<(D<8>, D<128>)>((0, 0)), target).start(done);
    o.store(buffer.load_strided::<(D<8>, D<128>)>((first, 0), [2, 1]));
    arriving.wait();
}

/// Strided parts of one memory that pass each other by are no race; those that meet are.
#[test]
fn fault_b_disjoint_strided_parts_do_not_race() {
    let device = device();
    let x = made(&device, &[8, 128], |at| at as f32);
    let launch = |seed: u64, first: i32| beside().checked(seed).launch(&device, &x, first);
    never(&[1.0; 1024], |seed| launch(seed, 1));
    always("R016", &["is read at [0, 0] while a copy writes it"], |seed| launch(seed, 0));
}

#[tpu_kernel]
fn shared_semaphore(
    #[hbm([16, 128])] x: Hbm<f32, 2>,
    #[block([8, 128] at (0, 0))] o: Out<f32, (D<8>, D<128>)>,
    #[scratch] buffer: Vmem<f32, (D<16>, D<128>)>,
    #[scratch] done: DmaSemaphore,
    both: Scalar<bool>,
) {
    let one = copy(x.view::<(D<8>, D<128>)>((0, 0)), buffer.view::<(D<8>, D<128>)>((0, 0))).start(done);
    let other = copy(x.view::<(D<8>, D<128>)>((8, 0)), buffer.view::<(D<8>, D<128>)>((8, 0))).start(done);
    one.wait();
    if !both {
        o.store(buffer.load_at::<(D<8>, D<128>)>((0, 0)));
    }
    other.wait();
    o.store(buffer.load_at::<(D<8>, D<128>)>((0, 0)));
}

/// Of two copies on one semaphore, a wait for as many bytes as one has says nothing of either.
#[test]
fn a_wait_for_one_of_two_copies_proves_nothing() {
    let device = device();
    let x = made(&device, &[16, 128], |at| at as f32);
    let launch = |seed: u64, both: bool| shared_semaphore().checked(seed).launch(&device, &x, both);
    never(&(0..1024).map(|n| n as f32).collect::<Vec<_>>(), |seed| launch(seed, true));
    always("R016", &["operand `buffer` is read at [0, 0] while a copy writes it"], |seed| launch(seed, false));
}

#[tpu_kernel]
fn unfinished(
    #[hbm([8, 128])] x: Hbm<f32, 2>,
    #[hbm([8, 128])] o: HbmOut<f32, 2>,
    #[scratch] buffer: Vmem<f32, (D<8>, D<128>)>,
    #[scratch] done: DmaSemaphore,
    #[scratch] signalled: Semaphore,
    what: Scalar<i32>,
) {
    copy(x.view::<(D<8>, D<128>)>((0, 0)), buffer).start(done).wait();
    copy(buffer, o.view::<(D<8>, D<128>)>((0, 0))).start(done).wait();
    if what == 1 {
        copy(x.view::<(D<8>, D<128>)>((0, 0)), buffer).start(done).leave();
    }
    if what == 2 {
        signalled.wait(1);
    }
    if what == 3 {
        signalled.signal(2);
    }
}

/// A copy that nobody waits for, a wait for what never comes, a count that is left.
#[test]
fn fault_c_d_waits_and_copies_that_are_left() {
    let device = device();
    let x = made(&device, &[8, 128], |at| at as f32);
    let launch = |seed: u64, what: i32| unfinished().checked(seed).launch(&device, &x, what);
    never(&(0..1024).map(|n| n as f32).collect::<Vec<_>>(), |seed| launch(seed, 0));
    always("R012", &["`done`", "a copy was started and not waited for"], |seed| launch(seed, 1));
    always("R011", &["`signalled`", "signalled.wait(1)"], |seed| launch(seed, 2));
    always("R012", &["`signalled`"], |seed| launch(seed, 3));
}

#[tpu_kernel]
fn copied_poison(
    #[hbm([16, 128])] o: HbmOut<f32, 2>,
    #[scratch] buffer: Vmem<f32, (D<8>, D<128>)>,
    #[scratch] done: DmaSemaphore,
    what: Scalar<i32>,
) {
    if what != 1 {
        buffer.fill(2.0);
    }
    copy(buffer, o.view::<(D<8>, D<128>)>((0, 0))).start(done).wait();
    if what != 2 {
        copy(buffer, o.view::<(D<8>, D<128>)>((8, 0))).start(done).wait();
    }
}

/// What nothing wrote is not copied, and an array that copies do not fill is found.
#[test]
fn copies_carry_no_poison_and_fill_their_arrays() {
    let device = device();
    let launch = |seed: u64, what: i32| copied_poison().checked(seed).launch(&device, what);
    never(&[2.0; 2048], |seed| launch(seed, 0));
    always("R015", &["a copy, which reads element [0, 0] of operand `buffer`"], |seed| launch(seed, 1));
    always("R017", &["element [8, 0] of operand `o`"], |seed| launch(seed, 2));
    let o = copied_poison().checked(1).allow(Allow::Unwritten).launch(&device, 2).unwrap();
    assert!(o.to_vec::<f32>().unwrap()[1024..].iter().all(|v| v.is_nan()));
}

#[tpu_kernel(grid(i: n / 8))]
fn left_over_a_step(
    #[block([n, 128] at (i, 0))] x: In<f32, (D<8>, D<128>)>,
    #[hbm([n, 128])] y: Hbm<f32, 2>,
    #[block([n, 128] at (i, 0))] p: Out<f32, (D<8>, D<128>)>,
    #[hbm([n, 128])] o: HbmOut<f32, 2>,
    #[scratch] buffer: Vmem<f32, (D<8>, D<128>)>,
    #[scratch] done: DmaSemaphore,
    what: Scalar<i32>,
) {
    p.store(x.load());
    buffer.store(x.load());
    let here = || o.view::<(D<8>, D<128>)>((i * 8, 0));
    if what == 0 {
        copy(x, here()).now();
    }
    if what == 1 {
        copy(x, here()).start(done).leave();
    }
    if what == 2 {
        copy(p, here()).start(done).leave();
    }
    if what == 3 {
        copy(x, here()).now();
        copy(y.view::<(D<8>, D<128>)>((i * 8, 0)), p).start(done).leave();
    }
}

/// A copy from or to the block of a window is waited for before the window turns to another one.
#[test]
fn a_window_does_not_turn_under_a_copy() {
    let device = device();
    let x = made(&device, &[16, 128], |at| at as f32);
    let launch = |seed: u64, what: i32| left_over_a_step().checked(seed).launch(&device, &x, &x, what).map(|(_, o)| o);
    never(&(0..2048).map(|n| n as f32).collect::<Vec<_>>(), |seed| launch(seed, 0));
    let turned = |operand, does| format!("operand `{operand}` is turned to another block at [0, 0] while a copy {does} it");
    always("R016", &[&turned("x", "reads"), "at grid step [1]"], |seed| launch(seed, 1));
    always("R016", &[&turned("p", "reads"), "at grid step [1]"], |seed| launch(seed, 2));
    always("R016", &[&turned("p", "writes"), "at grid step [1]"], |seed| launch(seed, 3));
}

// ---- outputs --------------------------------------------------------------------------------------------------------------

#[tpu_kernel(grid(i: 2, j: 2))]
fn revisits(
    #[block([2, 8, 128] at (squeeze i, 0, 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([2, 8, 128] at (squeeze j, 0, 0))] o: Out<f32, (D<8>, D<128>)>,
) {
    o.store(x.load());
}

#[tpu_kernel(grid(i: 2, j: 2))]
fn stays(
    #[block([2, 8, 128] at (squeeze j, 0, 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([2, 8, 128] at (squeeze i, 0, 0))] o: Out<f32, (D<8>, D<128>)>,
) {
    o.store(x.load());
}

/// A block that is left and visited again has lost what was written there; one that stays has not.
#[test]
fn case_12_a_revisited_block_is_named() {
    let device = device();
    let x = made(&device, &[2, 8, 128], |at| (at / 1024) as f32);
    always("R018", &["block [0, 0, 0] of operand `o`", "at grid step [1, 0]"], |seed| revisits().checked(seed).launch(&device, &x));
    never(&[1.0; 2048], |seed| stays().checked(seed).launch(&device, &x));
}

#[tpu_kernel(grid(i: n / 8), semantics(parallel))]
fn sum_in_parallel(
    #[block([n, 128] at (i, 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([8, 128] at (0, 0))] o: Out<f32, (D<8>, D<128>)>,
) {
    if i == 0 {
        o.fill(0.0);
    }
    o.store(o.load() + x.load());
}

#[tpu_kernel(grid(i: n / 8), semantics(parallel))]
fn sum_in_scratch(
    #[block([n, 128] at (i, 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([n, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>,
    #[scratch] acc: Vmem<f32, (D<8>, D<128>)>,
    carries: Scalar<bool>,
) {
    if i == 0 || !carries {
        acc.fill(0.0);
    }
    acc.store(acc.load() + x.load());
    o.store(acc.load());
}

/// An accumulation over a dimension marked parallel is found under every seed, in an output and in scratch.
#[test]
fn fault_h_accumulation_over_a_parallel_dimension() {
    let device = device();
    let x = made(&device, &[32, 128], |_| 1.0f32);
    // Where another step comes first, it reads what none has written.
    for seed in 0..SEEDS {
        let (error, text) = found(sum_in_parallel().checked(seed).launch(&device, &x));
        match error {
            RunError::Parallel { .. } => {
                assert!(text.contains("block [0, 0] of operand `o`") && text.contains("parallel dimension `i`"), "{text}");
            }
            other => assert_eq!((other.code(), seed == 0), ("R015", false), "{text}"),
        }
    }
    always("R015", &["a store to operand `o`"], |seed| sum_in_scratch().checked(seed).launch(&device, &x, true));
    never(&[1.0; 4096], |seed| sum_in_scratch().checked(seed).launch(&device, &x, false));
    // One step alone shares nothing.
    let one = made(&device, &[8, 128], |_| 1.0f32);
    never(&[1.0; 1024], |seed| sum_in_parallel().checked(seed).launch(&device, &one));
}

#[tpu_kernel(grid(i: n), semantics(parallel))]
fn copies_in_parallel(
    #[hbm([n, 8, 128])] x: Hbm<f32, 3>,
    #[hbm([n, 8, 128])] o: HbmOut<f32, 3>,
    #[scratch] buffer: Vmem<f32, (D<8>, D<128>)>,
    #[scratch] done: DmaSemaphore,
    to: Scalar<i32>,
) {
    copy(x.view::<(One, D<8>, D<128>)>((i, 0, 0)).slot(0), buffer).start(done).wait();
    copy(buffer, o.view::<(One, D<8>, D<128>)>((i * to, 0, 0)).slot(0)).start(done).wait();
}

/// Copies of parallel steps into one place.
#[test]
fn copies_of_parallel_steps_meet() {
    let device = device();
    let x = made(&device, &[3, 8, 128], |at| (at / 1024) as f32);
    let launch = |seed: u64, to: i32| copies_in_parallel().checked(seed).launch(&device, &x, to);
    never(&(0..3072).map(|n| (n / 1024) as f32).collect::<Vec<_>>(), |seed| launch(seed, 1));
    always("R019", &["element [0, 0, 0] of operand `o`", "parallel dimension `i`"], |seed| launch(seed, 0));
}

#[tpu_kernel(grid(i: n), semantics(parallel))]
fn counts_in_parallel(
    #[block([n, 8, 128] at (squeeze i, 0, 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([n, 8, 128] at (squeeze i, 0, 0))] o: Out<f32, (D<8>, D<128>)>,
    #[scratch] turns: Semaphore,
    within: Scalar<bool>,
) {
    turns.signal(1);
    o.store(x.load() + turns.read().cast::<f32>());
    if within {
        turns.wait(1);
    }
    if i == last(i) && !within {
        turns.wait(3);
    }
}

/// What a semaphore counts does not go over from one parallel step to another.
#[test]
fn a_semaphore_is_at_0_between_parallel_steps() {
    let device = device();
    let x = made(&device, &[3, 8, 128], |_| 1.0f32);
    let launch = |seed: u64, within: bool| counts_in_parallel().checked(seed).launch(&device, &x, within);
    never(&[2.0; 3072], |seed| launch(seed, true));
    for seed in 0..SEEDS {
        let (error, text) = found(launch(seed, false));
        // Where the step that waits comes first, it waits for what never comes.
        assert!(error.code() == "R012" || seed != 0 && error.code() == "R011", "seed {seed}: {text}");
        assert!(text.contains("`turns`"), "{text}");
    }
}

#[tpu_kernel(grid(i: 3))]
fn adds_to_elements(
    #[block([n] at (0))] x: In<f32, (D<128>,)>,
    #[block([n] at (element (i % 2) * 64), revisit(any))] o: Out<f32, (D<128>,)>,
    early: Scalar<bool>,
) {
    if i < 2 && !early {
        o.store(x.load());
    } else {
        o.store(o.load() + 1.0);
    }
}

/// What an earlier step wrote of a window by elements is read back; what none wrote is poison.
#[test]
fn a_window_by_elements_is_read_back() {
    let device = device();
    let x = made(&device, &[192], |at| at as f32);
    let launch = |seed: u64, early: bool| adds_to_elements().checked(seed).launch(&device, &x, early);
    let want = |at: usize| if at < 64 { at as f32 + 1.0 } else { (at - 64) as f32 + if at < 128 { 1.0 } else { 0.0 } };
    never(&(0..192).map(want).collect::<Vec<_>>(), |seed| launch(seed, false));
    always("R015", &["a store to operand `o` at [0]"], |seed| launch(seed, true));
}

#[tpu_kernel(grid(i: 4))]
fn adds_to_blocks(
    #[block([n] at (0))] x: In<f32, (D<128>,)>,
    #[block([n] at (i % 2), revisit(any))] o: Out<f32, (D<128>,)>,
    first: Scalar<i32>,
    halves: Scalar<i32>,
) {
    if i >= halves && halves > 0 {
        o.store_at((0,), x.load_at::<(D<64>,)>((0,)));
    } else if i < 2 {
        o.store_at((64,), x.load_at::<(D<64>,)>((64,)));
        if i < first {
            o.store_at((0,), x.load_at::<(D<64>,)>((0,)));
        }
    } else if halves > 0 {
        o.store(o.load() + x.load());
    }
}

/// What a visit left unwritten of a block is poison in the next one, which may write it.
#[test]
fn a_block_is_read_back_with_its_poison() {
    let device = device();
    let x = made(&device, &[200], |at| at as f32);
    let kernel = |seed: u64| adds_to_blocks().checked(seed);
    never(&(0..200).map(|at| 2.0 * (at % 128) as f32).collect::<Vec<_>>(), |seed| kernel(seed).launch(&device, &x, 2, 4));
    never(&(0..200).map(|at| (at % 128) as f32).collect::<Vec<_>>(), |seed| kernel(seed).launch(&device, &x, 0, 2));
    always("R017", &["element [0] of operand `o`"], |seed| kernel(seed).launch(&device, &x, 0, 0));
    for allowed in [false, true] {
        let launch = |seed: u64, first: i32| match allowed {
            true => kernel(seed).allow(Allow::Unwritten).launch(&device, &x, first, 4),
            false => kernel(seed).launch(&device, &x, first, 4),
        };
        always("R015", &["a store to operand `o` at [128]", "at grid step [3]"], |seed| launch(seed, 1));
        always("R015", &["a store to operand `o` at [0]", "at grid step [2]"], |seed| launch(seed, 0));
    }
}

#[tpu_kernel(grid(i: n / 128))]
fn half_written(#[block([n] at (i))] x: In<f32, (D<128>,)>, #[block([n] at (i))] o: Out<f32, (D<128>,)>, whole: Scalar<bool>) {
    if whole || i != 1 {
        o.store(x.load());
    }
}

/// An element that its step does not write is named.
#[test]
fn an_output_that_a_step_leaves_alone_is_named() {
    let device = device();
    let x = made(&device, &[300], |at| at as f32);
    let launch = |seed: u64, whole: bool| half_written().checked(seed).launch(&device, &x, whole);
    never(&(0..300).map(|n| n as f32).collect::<Vec<_>>(), |seed| launch(seed, true));
    always("R017", &["element [128] of operand `o`"], |seed| launch(seed, false));
    assert!(half_written().checked(1).allow(Allow::Unwritten).launch(&device, &x, false).is_ok());
}

/// Parallel steps run in an order of the seed's, arbitrary ones inside them in order.
#[test]
fn case_18_parallel_steps_are_shuffled() {
    #[tpu_kernel(grid(i: 4, j: 4), semantics(parallel, arbitrary))]
    fn tells(#[block([32, 512] at (i, j))] o: Out<f32, (D<8>, D<128>)>) {
        debug_print!("{} {}", i, j);
        o.fill(0.0);
    }
    use std::sync::{Arc, Mutex};
    let mut orders = std::collections::HashSet::new();
    for seed in 0..SEEDS {
        let device = device();
        let lines = Arc::new(Mutex::new(vec![]));
        let log = lines.clone();
        device.on_print(move |message| log.lock().unwrap().push(message.step.clone()));
        tells().checked(seed).launch(&device).unwrap();
        let steps = lines.lock().unwrap().clone();
        let rows: Vec<i32> = steps.iter().step_by(4).map(|step| step[0]).collect();
        for (at, step) in steps.iter().enumerate() {
            assert_eq!(step, &[rows[at / 4], at as i32 % 4], "seed {seed}: {steps:?}");
        }
        let mut sorted = rows.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3], "seed {seed}");
        assert!(seed != 0 || rows == [0, 1, 2, 3], "seed 0 is the order of the grid");
        orders.insert(rows);
    }
    assert!(orders.len() >= 4, "{orders:?}");
}

/// The values of a checked launch are those of any other.
#[test]
fn a_checked_launch_gives_the_same() {
    let device = device();
    let x = tensor(&device, &(0..300).map(|n| n as f32 - 7.5).collect::<Vec<_>>(), &[300]);
    let plain = half_written().launch(&device, &x, true).unwrap().to_vec::<f32>().unwrap();
    never(&plain, |seed| half_written().checked(seed).launch(&device, &x, true));
    assert_eq!(device.stats().compilations, 2, "once plain, once checked");
}
