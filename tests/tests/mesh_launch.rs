//! Launches on a mesh: what it cannot be made of, what it refuses, and that the first error of a device ends the others.

use tpu_device::{Chip, Device, DeviceError, Executor, Mesh, Tensor};
use tpu_kernel::prelude::*;

/// Everyone gives its array to the other; `wrong` is the device that reads outside its memory first, and `alone` one that does not
/// come to the barrier.
#[tpu_kernel]
fn exchange(
    #[hbm([8, 128])] x: Hbm<f32, 2>,
    #[hbm([8, 128])] o: HbmOut<f32, 2>,
    #[scratch] seen: Vmem<f32, (D<8>, D<128>)>,
    #[scratch] done: DmaSemaphore,
    #[scratch] send: DmaSemaphore,
    #[scratch] receive: DmaSemaphore,
    #[scratch] ready: Barrier<0>,
    wrong: Scalar<i32>,
    alone: Scalar<i32>,
) {
    let me = device_id();
    let other = 1 - me;
    if me == wrong {
        copy(x.view::<(D<8>, D<128>)>((me + 1, 0)), seen).finish(done);
    }
    if me != alone {
        ready.signal_on(other, 1);
    }
    ready.wait(1);
    copy_to_device(other, x, o).start(send, receive).wait();
}

fn devices() -> [Device; 2] {
    [Device::new("v5e").unwrap(), Device::new("v5e").unwrap()]
}

fn filled(devices: &[Device], shape: &[usize]) -> Vec<Tensor> {
    devices.iter().zip(1u8..).map(|(device, value)| Tensor::full(device, f32::from(value), shape).unwrap()).collect()
}

fn refused<T: std::fmt::Debug>(result: Result<T, DeviceError>, code: &str, words: &str) {
    let error = result.expect_err(words);
    assert_eq!(error.code(), code, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn a_mesh_has_devices_of_one_chip_each_once() {
    let [first, second] = devices();
    refused(Mesh::of([]), "D025", "it has no device");
    refused(Mesh::of([first.clone(), second.clone(), first.clone()]), "D025", "twice");
    refused(Mesh::of([first.clone(), Device::new("v4").unwrap()]), "D025", "different chips");
    let interprets = Device::builder(Chip::V5E).executor(Executor::Interpreter).build();
    refused(Mesh::of([first.clone(), interprets]), "D025", "interprets");
    assert_eq!(Mesh::of([first.clone(), second.clone()]).unwrap().devices(), [first, second]);
}

#[test]
fn what_a_mesh_is_given_is_one_tensor_per_device_alike() {
    let both = devices();
    let mesh = Mesh::of(both.clone()).unwrap();
    let launch = |x: &Vec<Tensor>| exchange().launch(&mesh, x, -1, -1);
    let mut x = filled(&both, &[8, 128]);
    refused(launch(&x[..1].to_vec()), "D025", "argument 0 has 1 tensors for 2 devices");
    x.swap(0, 1);
    refused(launch(&x), "D007", "argument 0");
    x.swap(0, 1);
    x[1] = Tensor::zeros(&both[1], DType::F32, &[16, 128]).unwrap();
    refused(launch(&x), "D025", "differ in shape or element type");
    x[1] = Tensor::zeros(&both[1], DType::I32, &[8, 128]).unwrap();
    refused(launch(&x), "D025", "differ in shape or element type");
    let x = filled(&both, &[8, 128]);
    assert!(exchange().checked(1).launch(&mesh, &x, -1, -1).is_ok());
    refused(exchange().checked(1).launch(&mesh, &x, 1, -1), "R001", "on device 1");
}

#[test]
fn results_hang_on_no_order() {
    let both = devices();
    let x = filled(&both, &[8, 128]);
    for seed in 0..20 {
        let o = exchange().launch(&Mesh::of(both.clone()).unwrap().seed(seed), &x, -1, -1).unwrap();
        assert_eq!(o[0].to_vec::<f32>().unwrap(), [2.0; 1024]);
        assert_eq!(o[1].to_vec::<f32>().unwrap(), [1.0; 1024]);
    }
    assert_eq!(both[0].stats().compilations + both[1].stats().compilations, 1);
}

#[test]
fn the_first_error_ends_all() {
    let both = devices();
    let x = filled(&both, &[8, 128]);
    for seed in 0..20 {
        let mesh = Mesh::of(both.clone()).unwrap().seed(seed);
        for one in 0..2 {
            refused(exchange().launch(&mesh, &x, one, -1), "R001", "`x`");
            refused(exchange().launch(&mesh, &x, -1, one), "R024", "`ready`");
        }
        // Nothing of a launch that failed is left behind.
        assert_eq!(exchange().launch(&mesh, &x, -1, -1).unwrap()[0].to_vec::<f32>().unwrap(), [2.0; 1024]);
    }
}
