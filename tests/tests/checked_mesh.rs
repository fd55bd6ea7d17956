//! Checked launches over several devices: each check fires on its bug under every seed, and is silent on the kernel that is right.

use tpu_device::{Chip, Device, DeviceError, Mesh, Tensor};
use tpu_kernel::prelude::*;

const SEEDS: u64 = 20;

fn mesh(devices: usize) -> Mesh {
    Mesh::of((0..devices).map(|_| Device::new("v5e").unwrap())).unwrap()
}

fn inputs(mesh: &Mesh) -> Vec<Tensor> {
    mesh.devices().iter().zip(1u8..).map(|(device, n)| Tensor::full(device, f32::from(n), &[8, 128]).unwrap()).collect()
}

/// What a launch of one input says under each seed: the codes and the messages.
fn verdicts(devices: usize, launch: impl Fn(&Mesh, &Vec<Tensor>, u64) -> Result<Vec<Tensor>, DeviceError>) -> Vec<String> {
    let mesh = mesh(devices);
    let x = inputs(&mesh);
    let verdict = |seed| match launch(&mesh, &x, seed) {
        Ok(_) => "clean".to_string(),
        Err(error) => format!("{}: {error}", error.code()),
    };
    (0..SEEDS).map(verdict).collect()
}

fn all_clean(verdicts: &[String]) {
    assert!(verdicts.iter().all(|verdict| verdict == "clean"), "{verdicts:#?}");
}

fn all_say(verdicts: &[String], code: &str, words: &[&str]) {
    let says = |verdict: &String| verdict.starts_with(code) && words.iter().all(|words| verdict.contains(words));
    assert!(verdicts.iter().all(says), "{verdicts:#?}");
}

/// Two devices exchange their arrays through VMEM; each `Scalar` leaves out a line that makes it right.
#[tpu_kernel]
fn exchange(
    #[hbm([8, 128])] x: Hbm<f32, 2>,
    #[hbm([8, 128])] o: HbmOut<f32, 2>,
    #[scratch] mut mine: Vmem<f32, (D<8>, D<128>)>,
    #[scratch] mut theirs: Vmem<f32, (D<8>, D<128>)>,
    #[scratch] local: DmaSemaphore,
    #[scratch] send: DmaSemaphore,
    #[scratch] receive: DmaSemaphore,
    #[scratch] ready: Barrier<0>,
    barrier: Scalar<bool>,
    early_write: Scalar<bool>,
    early_read: Scalar<bool>,
) {
    let other = 1 - device_id();
    copy(x.view::<(D<8>, D<128>)>((0, 0)), mine).start(local).wait();
    if barrier {
        ready.signal_on(other, 1);
        ready.wait(1);
    }
    let arriving = copy_to_device(other, mine, theirs).start(send, receive);
    if early_write {
        mine.fill(0.0);
    }
    let arriving = arriving.wait_send();
    mine.fill(1.0);
    if early_read {
        mine.store(theirs.load());
    }
    arriving.wait();
    theirs += mine.load();
    copy(theirs, o.view::<(D<8>, D<128>)>((0, 0))).start(local).wait();
}

#[test]
fn an_exchange_is_right_only_with_all_its_waits() {
    let run = |barrier, early_write, early_read| {
        verdicts(2, move |mesh, x, seed| exchange().checked(seed).launch(mesh, x, barrier, early_write, early_read))
    };
    all_clean(&run(true, false, false));
    all_say(
        &run(false, false, false),
        "R020",
        &["operand `theirs` is copied to at [0, 0], and nothing says that device", "has begun this launch", "on device"],
    );
    all_say(&run(true, true, false), "R016", &["operand `mine` is written at [0, 0] while a copy reads it"]);
    // Whichever of the two comes first: the read finds the copy, or the copy finds the read.
    let early = run(true, false, true);
    let [read, copied] = [
        "R016: race: operand `theirs` is read at [0, 0] while a copy writes it",
        "R020: race: operand `theirs` is copied to at [0, 0], device",
    ];
    assert!(early.iter().all(|verdict| verdict.starts_with(read) || verdict.starts_with(copied)), "{early:#?}");
    let mesh = mesh(2);
    let o = exchange().checked(3).launch(&mesh, &inputs(&mesh), true, false, false).unwrap();
    let values: Vec<Vec<f32>> = o.iter().map(|o| o.to_vec().unwrap()).collect();
    assert!(values[0].iter().all(|&v| v == 3.0) && values[1].iter().all(|&v| v == 2.0));
}

/// Device 0 sends twice into one buffer of device 1, which says in between that it has read it: itself, or through device 2.
#[tpu_kernel]
fn twice(
    #[hbm([8, 128])] x: Hbm<f32, 2>,
    #[hbm([8, 128])] o: HbmOut<f32, 2>,
    #[scratch] mut sum: Vmem<f32, (D<8>, D<128>)>,
    #[scratch] buffer: Vmem<f32, (D<8>, D<128>)>,
    #[scratch] mine: Vmem<f32, (D<8>, D<128>)>,
    #[scratch] local: DmaSemaphore,
    #[scratch] send: DmaSemaphore,
    #[scratch] receive: DmaSemaphore,
    #[scratch] free: Semaphore,
    #[scratch] ready: Barrier<0>,
    says: Scalar<i32>,
) {
    let me = device_id();
    copy(x.view::<(D<8>, D<128>)>((0, 0)), mine).start(local).wait();
    sum.fill(0.0);
    // Each knows that the one is there whom it signals or copies to.
    if me == 1 {
        ready.signal_on(0, 1);
    }
    if me == 2 {
        ready.signal_on(1, 1);
    }
    if me < 2 {
        ready.wait(1);
    }
    if me == 0 {
        ready.signal_on(2, 1);
    }
    if me == 2 {
        ready.wait(1);
    }
    for turn in 0..2 {
        if me == 0 {
            if turn == 1 && says > 0 {
                free.wait(1);
            }
            copy_to_device(1, mine, buffer).start(send, receive).wait_send().leave();
        }
        if me == 1 {
            copy(mine, buffer).finish(receive);
            if turn == 0 && says == 3 {
                free.signal_on(0, 1);
            }
            sum += buffer.load();
            if turn == 0 && says == 1 {
                free.signal_on(0, 1);
            }
            if turn == 0 && says == 2 {
                free.signal_on(2, 1);
            }
        }
        if me == 2 && turn == 0 && says == 2 {
            free.wait(1);
            free.signal_on(0, 1);
        }
    }
    copy(sum, o.view::<(D<8>, D<128>)>((0, 0))).start(local).wait();
}

#[test]
fn a_buffer_is_used_again_once_its_reader_has_said_so() {
    let run = |says| verdicts(3, move |mesh, x, seed| twice().checked(seed).launch(mesh, x, says));
    all_clean(&run(1));
    // What device 1 has done device 0 knows through device 2.
    all_clean(&run(2));
    // The first copy is under way, or device 1 has waited for it: then it counts as written there.
    let silent = run(0);
    let [flying, there] = [
        "R016: race: operand `buffer` is copied to at [0, 0] while a copy writes it",
        "R020: race: operand `buffer` is copied to at [0, 0], device 1 has",
    ];
    assert!(silent.iter().all(|verdict| verdict.starts_with(flying) || verdict.starts_with(there)), "{silent:#?}");
    // It says so before it has read.
    let early = run(3);
    let [read, copied] = [
        "R016: race: operand `buffer` is read at [0, 0]",
        "R020: race: operand `buffer` is copied to at [0, 0], device 1 has read it",
    ];
    assert!(early.iter().all(|verdict| verdict.starts_with(read) || verdict.starts_with(copied)), "{early:#?}");
    assert!(early.iter().any(|verdict| verdict.starts_with(copied)), "{early:#?}");
}

/// Two devices say that they are there, and device 2 waits for so many of them before it writes to device 0. Nobody is ahead: all wait
/// for device 2 in the end.
#[tpu_kernel]
fn two_signals(
    #[hbm([8, 128])] x: Hbm<f32, 2>,
    #[hbm([8, 128])] o: HbmOut<f32, 2>,
    #[scratch] local: DmaSemaphore,
    #[scratch] send: DmaSemaphore,
    #[scratch] receive: DmaSemaphore,
    #[scratch] there: Barrier<0>,
    #[scratch] over: Semaphore,
    first: Scalar<i32>,
) {
    let me = device_id();
    if me == 2 {
        there.wait(first);
        copy_to_device(0, x, o).start(send, receive).wait_send().leave();
        there.wait(2 - first);
        over.signal_on(0, 1);
        over.signal_on(1, 1);
    } else {
        there.signal_on(2, 1);
        over.wait(1);
    }
    if me == 0 {
        copy(x, o).finish(receive);
    } else {
        copy(x, o).start(local).wait();
    }
}

#[test]
fn a_wait_for_one_of_two_signals_tells_of_neither() {
    all_clean(&verdicts(3, |mesh, x, seed| two_signals().checked(seed).launch(mesh, x, 2)));
    let one = verdicts(3, |mesh, x, seed| two_signals().checked(seed).launch(mesh, x, 1));
    // Where only the signal of device 0 has been sent yet it was that one.
    let found = one.iter().filter(|verdict| verdict.starts_with("R020") && verdict.contains("device 0 has begun")).count();
    assert!(found > 5, "{one:#?}");
    assert!(one.iter().all(|verdict| verdict == "clean" || verdict.starts_with("R020")), "{one:#?}");
}

/// Halves of one buffer: what is copied to one half is no race with reads of the other, strided or not.
#[tpu_kernel]
fn halves<AT: Dim>(
    #[hbm([8, 128])] x: Hbm<f32, 2>,
    #[hbm([8, 128])] o: HbmOut<f32, 2>,
    #[scratch] mut buffer: Vmem<f32, (D<8>, D<128>)>,
    #[scratch] local: DmaSemaphore,
    #[scratch] send: DmaSemaphore,
    #[scratch] receive: DmaSemaphore,
    #[scratch] ready: Barrier<0>,
) {
    let other = 1 - device_id();
    buffer.fill(1.0);
    ready.signal_on(other, 1);
    ready.wait(1);
    let part = buffer.view::<(D<4>, D<128>)>((0, 0));
    let arriving = copy_to_device(other, x.view::<(D<4>, D<128>)>((0, 0)), part).start(send, receive).wait_send();
    let seen = buffer.load_at::<(D<4>, D<128>)>((AT::size() as i32, 0));
    buffer.store_at((4, 0), seen + 1.0);
    arriving.wait();
    copy(buffer, o.view::<(D<8>, D<128>)>((0, 0))).start(local).wait();
}

#[test]
fn parts_that_do_not_meet_are_told_apart_also_across_devices() {
    all_clean(&verdicts(2, |mesh, x, seed| halves().at(4).checked(seed).launch(mesh, x)));
    let meet = verdicts(2, |mesh, x, seed| halves().at(3).checked(seed).launch(mesh, x));
    let [read, copied] = ["R016: race: operand `buffer` is read at [3, 0]", "R020: race: operand `buffer` is copied to at [3, 0]"];
    assert!(meet.iter().all(|verdict| verdict.starts_with(read) || verdict.starts_with(copied)), "{meet:#?}");
}

/// Everyone tells both neighbours that it is there, waits for both, and gives its array to the left one. A neighbour that is ahead tells
/// it twice, so that the other one may not be there; a second round, on a semaphore of the launch, holds it back.
#[tpu_kernel]
fn neighbours<N: Dim, KR: Dim>(
    #[hbm([8, 128])] x: Hbm<f32, 2>,
    #[hbm([8, 128])] o: HbmOut<f32, 2>,
    #[scratch] send: DmaSemaphore,
    #[scratch] receive: DmaSemaphore,
    #[scratch] second: Semaphore,
    #[scratch] ready: Barrier<5>,
) {
    let (devices, me) = (N::size() as i32, device_id());
    let (left, right) = ((me + (devices - 1)) % devices, (me + 1) % devices);
    ready.signal_on(left, 1);
    ready.signal_on(right, 1);
    ready.wait(2);
    if KR::size() > 1 {
        second.signal_on(left, 1);
        second.signal_on(right, 1);
        second.wait(2);
    }
    copy_to_device(left, x, o).start(send, receive).wait();
}

#[test]
fn report_37_a_barrier_of_neighbours_is_passed_by_one_that_is_ahead() {
    let run = |devices, rounds: usize| {
        verdicts(devices, move |mesh, x, seed| neighbours().n(devices).kr(rounds).checked(seed).launch(mesh, x))
    };
    all_clean(&run(6, 2));
    let single = run(6, 1);
    assert!(single.iter().all(|verdict| verdict == "clean" || verdict.starts_with("R020")), "{single:#?}");
    assert!(single.iter().any(|verdict| verdict != "clean"), "{single:#?}");
}

/// Device 0 asks again and again whether device 1 has signalled.
#[tpu_kernel]
fn asks(
    #[scratch] told: Semaphore,
    #[scratch] ready: Barrier<1>,
    #[block([8, 128] at (0, 0))] o: Out<f32, (D<8>, D<128>)>,
    #[block([8, 128] at (0, 0))] x: In<f32, (D<8>, D<128>)>,
) {
    let other = 1 - device_id();
    ready.signal_on(other, 1);
    ready.wait(1);
    if other == 0 {
        told.signal_on(other, 1);
    } else {
        let mut count = told.read();
        while count == 0 {
            count = told.read();
        }
        told.wait(1);
    }
    o.store(x.load());
}

/// However long a signal is on its way, it arrives.
#[test]
fn who_asks_again_and_again_is_told_in_the_end() {
    all_clean(&verdicts(2, |mesh, x, seed| asks().checked(seed).launch(mesh, x)));
    let mesh = mesh(2);
    assert!((0..SEEDS).all(|seed| asks().launch(&mesh.clone().seed(seed), &inputs(&mesh)).is_ok()));
}

/// An array without elements, whose other extents are large.
#[tpu_kernel]
fn nothing(
    #[hbm([n, n, n, 0])] x: Hbm<f32, 4>,
    #[hbm([n, n, n, 0])] o: HbmOut<f32, 4>,
    #[scratch] done: DmaSemaphore,
    #[scratch] ready: Barrier<2>,
) {
    ready.signal_on(1 - device_id(), 1);
    ready.wait(1);
    copy(x, o).start(done).wait();
}

#[test]
fn arrays_of_nothing_are_no_trouble() {
    let mesh = mesh(2);
    let n = i32::MAX as usize;
    let x = mesh.devices().iter().map(|device| Tensor::zeros(device, DType::F32, &[n, n, n, 0])).collect::<Result<Vec<_>, _>>();
    // Such a shape is refused, or its launch is clean.
    if let Ok(x) = x {
        for seed in 0..SEEDS {
            let o = nothing().checked(seed).launch(&mesh, &x);
            assert!(o.as_ref().map_or_else(|error| error.code() == "L016", |o| o[0].elements() == 0), "{o:?}");
        }
    }
}

#[test]
fn a_device_that_checks_checks_its_mesh() {
    let devices = [0, 1].map(|_| Device::builder(Chip::V5E).checked(4).build());
    let mesh = Mesh::of(devices).unwrap();
    let error = exchange().launch(&mesh, &inputs(&mesh), false, false, false).unwrap_err();
    assert_eq!(error.code(), "R020");
    assert!(error.render().contains("`.checked(4)` replays it"), "{}", error.render());
}
