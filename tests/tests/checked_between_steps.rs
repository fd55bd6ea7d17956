//! probe
use tpu_device::{Device, DeviceError, Tensor};
use tpu_kernel::prelude::*;
use tpu_tests::devices::{made, tensor};

fn say(name: &str, launch: impl Fn(u64) -> Result<Vec<f32>, DeviceError>) {
    for seed in 0..6 {
        match launch(seed) {
            Ok(v) => println!("{name} seed {seed}: ok {:?}", v.iter().step_by(256).collect::<Vec<_>>()),
            Err(e) => println!("{name} seed {seed}: {} {}", e.code(), e.to_string().lines().next().unwrap()),
        }
    }
}

#[tpu_kernel(grid(i: n / 8))]
fn left_input(
    #[block([n, 128] at (i, 0))] x: In<f32, (D<8>, D<128>)>,
    #[hbm([n, 128])] o: HbmOut<f32, 2>,
    #[scratch] done: DmaSemaphore,
) {
    if i > 0 {
        copy(x.view::<(D<8>, D<128>)>((0, 0)), o.view::<(D<8>, D<128>)>(((i - 1) * 8, 0))).finish(done);
    }
    copy(x.view::<(D<8>, D<128>)>((0, 0)), o.view::<(D<8>, D<128>)>((i * 8, 0))).start(done).leave();
    if i == last(i) {
        copy(x.view::<(D<8>, D<128>)>((0, 0)), o.view::<(D<8>, D<128>)>((i * 8, 0))).finish(done);
    }
}

#[tpu_kernel(grid(i: n / 8))]
fn left_output(
    #[hbm([n, 128])] x: Hbm<f32, 2>,
    #[block([n, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>,
    #[scratch] done: DmaSemaphore,
) {
    if i > 0 {
        copy(x.view::<(D<8>, D<128>)>((0, 0)), o.view::<(D<8>, D<128>)>((0, 0))).finish(done);
    }
    o.fill(7.0);
    copy(x.view::<(D<8>, D<128>)>((i * 8, 0)), o.view::<(D<8>, D<128>)>((0, 0))).start(done).leave();
    if i == last(i) {
        copy(x.view::<(D<8>, D<128>)>((0, 0)), o.view::<(D<8>, D<128>)>((0, 0))).finish(done);
    }
}

#[tpu_kernel(grid(i: n / 8), semantics(parallel))]
fn carried_signal(
    #[block([n, 128] at (i, 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([n, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>,
    #[scratch] turn: Semaphore,
) {
    if i > 0 {
        turn.wait(1);
    }
    o.store(x.load());
    if i < last(i) {
        turn.signal(1);
    }
}

#[tpu_kernel(grid(i: m / 8), semantics(parallel))]
fn carried_copy(
    #[hbm([m, 128])] x: Hbm<f32, 2>,
    #[block([m, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>,
    #[scratch] buf: Vmem<f32, (D<2>, D<8>, D<128>)>,
    #[scratch] sems: DmaSemaphore<(D<2>,)>,
) {
    if i == 0 {
        copy(x.view((0, 0)), buf.slot(0)).start(sems.at(0)).leave();
    }
    if i + 1 < num_programs(0) {
        copy(x.view(((i + 1) * 8, 0)), buf.slot((i + 1) % 2)).start(sems.at((i + 1) % 2)).leave();
    }
    let slot = buf.slot(i % 2);
    copy(x.view((i * 8, 0)), slot).finish(sems.at(i % 2));
    o.store(slot.load());
}

#[tpu_kernel(grid(i: n), semantics(parallel))]
fn carried_prefetch(#[prefetch([n])] ids: Prefetch<i32, 1>, #[block([8 * n, 128] at (i, 0))] o: Out<f32, (D<8>, D<128>)>) {
    let v = ids.read(i);
    if i < last(i) {
        ids.write(i + 1, v + 1);
    }
    o.store(Tile::<f32, (D<8>, D<128>)>::full(v.cast::<f32>()));
}

#[tpu_kernel]
fn alias_race(
    #[hbm([16, 128])] x: Hbm<f32, 2>,
    #[hbm([16, 128])]
    #[alias(x)]
    o: HbmOut<f32, 2>,
    #[scratch] a: Vmem<f32, (D<8>, D<128>)>,
    #[scratch] b: Vmem<f32, (D<8>, D<128>)>,
    #[scratch] s: DmaSemaphore<(D<2>,)>,
) {
    a.fill(5.0);
    let one = copy(x.view::<(D<8>, D<128>)>((0, 0)), b).start(s.at(0));
    let two = copy(a, o.view::<(D<8>, D<128>)>((0, 0))).start(s.at(1));
    one.wait();
    two.wait();
    copy(b, o.view::<(D<8>, D<128>)>((8, 0))).now();
}

#[tpu_kernel(grid(i: n / 8), semantics(parallel))]
fn alias_parallel(
    #[block([n, 128] at (last(i) - i, 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([n, 128] at (i, 0))]
    #[alias(x)]
    o: Out<f32, (D<8>, D<128>)>,
) {
    o.store(x.load() + 1.0);
}

#[tpu_kernel]
fn cast_race(
    #[hbm([8, 128])] x: Hbm<f32, 2>,
    #[block([8, 128] at (0, 0))] o: Out<f32, (D<8>, D<128>)>,
    #[scratch] buffer: Vmem<f32, (D<8>, D<128>)>,
    #[scratch] done: DmaSemaphore,
) {
    let seen = buffer.view_bitcast_rows::<i16, (D<16>, D<128>)>();
    buffer.fill(0.0);
    let arriving = copy(x.view::<(D<8>, D<128>)>((0, 0)), buffer).start(done);
    o.store(buffer.load() + seen.load_at::<(D<8>, D<128>)>((0, 0)).cast::<f32>() * 0.0);
    arriving.wait();
}

#[test]
fn probe() {
    let d = Device::new("v5e").unwrap();
    let x = made(&d, &[32, 128], |at| (at / 1024) as f32);
    let v = |t: Tensor| t.to_vec::<f32>().unwrap();
    say("left_input", |s| left_input().checked(s).launch(&d, &x).map(v));
    say("left_output", |s| left_output().checked(s).launch(&d, &x).map(v));
    say("carried_copy", |s| carried_copy().checked(s).launch(&d, &x).map(v));
    let ids = tensor(&d, &[1i32, 10, 20, 30], &[4]);
    say("carried_prefetch", |s| carried_prefetch().checked(s).launch(&d, &ids).map(v));
    let y = made(&d, &[16, 128], |at| (at / 1024) as f32);
    say("alias_race", |s| alias_race().checked(s).launch(&d, &y).map(v));
    let z = made(&d, &[8, 128], |at| at as f32);
    say("cast_race", |s| cast_race().checked(s).launch(&d, &z).map(v));
    say("carried_signal", |s| carried_signal().checked(s).launch(&d, &x).map(v));
    say("alias_parallel", |s| alias_parallel().checked(s).launch(&d, &x).map(v));
}
