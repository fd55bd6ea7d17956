//! Tensors and their memory: round trips, limits, counters.

use half::{bf16, f16};
use tpu_device::{Chip, DType, Device, DeviceError, Element, LiveTensor, Tensor};
use tpu_kernel::{F4E2M1, F8E4M3, F8E4M3B11, F8E5M2, I2, I4, U4};

fn device() -> Device {
    Device::new("v5e").unwrap()
}

fn round_trip<T: Element + PartialEq + std::fmt::Debug>(elements: &[T]) {
    let device = device();
    let n = elements.len();
    for dims in [vec![n], vec![1, n], vec![n, 1, 1], vec![1, 1, n, 1]] {
        let tensor = Tensor::from_slice(&device, elements, &dims).unwrap();
        assert_eq!((tensor.dtype(), tensor.shape(), tensor.elements()), (T::DTYPE, dims.as_slice(), n));
        assert_eq!(tensor.to_vec::<T>().unwrap(), elements);
        assert_eq!(tensor.bytes().len(), n * T::DTYPE.bytes());
        assert!(n == 0 || (tensor.bytes().as_ptr() as usize).is_multiple_of(64));
        // The chip packs what is narrower than a byte.
        assert_eq!(device.stats().live_bytes, (n as u64 * u64::from(T::DTYPE.bits())).div_ceil(8), "{n} of {}", T::DTYPE);
    }
    assert_eq!(device.stats().live_bytes, 0);
}

#[test]
fn slices_round_trip() {
    for n in [0, 1, 3, 64, 1000] {
        round_trip(&(0..n).map(|i| i as f32 * 0.37 - 5.0).collect::<Vec<_>>());
        round_trip(&(0..n).map(|i| bf16::from_f32(i as f32)).collect::<Vec<_>>());
        round_trip(&(0..n).map(|i| i * 1_000_003).collect::<Vec<i32>>());
        round_trip(&(0..n).map(|i| i % 3 == 1).collect::<Vec<_>>());
        round_trip(&(0..n).map(|i| f16::from_f32(i as f32)).collect::<Vec<_>>());
        round_trip(&(0..n).map(|i| F8E4M3::from_f32(i as f32)).filter(|x| x == x).collect::<Vec<_>>());
        round_trip(&(0..n).map(|i| F8E5M2::from_f32(i as f32)).collect::<Vec<_>>());
        round_trip(&(0..n).map(|i| F8E4M3B11::from_f32(i as f32)).filter(|x| x == x).collect::<Vec<_>>());
        round_trip(&(0..n).map(|i| F4E2M1::from_f32(i as f32 * 0.5 - 3.0)).collect::<Vec<_>>());
        round_trip(&(0..n).map(|i| i as i16).collect::<Vec<_>>());
        round_trip(&(0..n).map(|i| i as i8).collect::<Vec<_>>());
        round_trip(&(0..n).map(|i| I4::wrapping(i as i8)).collect::<Vec<_>>());
        round_trip(&(0..n).map(|i| I2::wrapping(i as i8)).collect::<Vec<_>>());
        round_trip(&(0..n).map(|i| (i as u32).wrapping_mul(0x9e37_79b9)).collect::<Vec<_>>());
        round_trip(&(0..n).map(|i| (i * 99) as u16).collect::<Vec<_>>());
        round_trip(&(0..n).map(|i| i as u8).collect::<Vec<_>>());
        round_trip(&(0..n).map(|i| U4::wrapping(i as u8)).collect::<Vec<_>>());
    }
}

#[test]
fn bits_survive() {
    let bits = [0x7fc0_0001u32, 0xff80_0000, 0x8000_0000, 1, 0x7f80_0001];
    let tensor = Tensor::from_slice(&device(), &bits.map(f32::from_bits), &[5]).unwrap();
    assert_eq!(tensor.to_vec::<f32>().unwrap().iter().map(|v| v.to_bits()).collect::<Vec<_>>(), bits);
}

/// Every pattern of a type of a byte, NaNs and zeros among them, and how it lies in memory.
#[test]
fn every_pattern_survives() {
    let device = device();
    macro_rules! floats {
        ($($ty:ty),+) => { $(
            let patterns: Vec<u8> = (0..=<$ty as tpu_kernel::lang::Element>::DTYPE.mask() as u8).collect();
            let elements: Vec<$ty> = patterns.iter().map(|&b| <$ty>::from_bits(b)).collect();
            let tensor = Tensor::from_slice(&device, &elements, &[patterns.len()]).unwrap();
            assert_eq!(tensor.bytes(), patterns, "zero-extended");
            assert_eq!(tensor.to_vec::<$ty>().unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>(), patterns);
        )+ };
    }
    floats!(F8E4M3, F8E5M2, F8E4M3B11, F4E2M1);
    let fours: Vec<I4> = (-8..8).filter_map(I4::new).collect();
    let tensor = Tensor::from_slice(&device, &fours, &[4, 4]).unwrap();
    assert_eq!(tensor.bytes(), (-8..8i8).map(|i| i as u8).collect::<Vec<_>>(), "sign-extended");
    assert_eq!(tensor.to_vec::<I4>().unwrap(), fours);
    let twos: Vec<I2> = (-2..2).filter_map(I2::new).collect();
    assert_eq!(Tensor::from_slice(&device, &twos, &[4]).unwrap().bytes(), [0xfe, 0xff, 0, 1]);
    let unsigned: Vec<U4> = (0..16).filter_map(U4::new).collect();
    assert_eq!(Tensor::from_slice(&device, &unsigned, &[16]).unwrap().bytes(), (0..16).collect::<Vec<u8>>());
    assert_eq!(Tensor::full(&device, I4::MIN, &[2]).unwrap().bytes(), [0xf8; 2]);
}

#[test]
fn rank_zero_is_one_element() {
    let tensor = Tensor::from_slice(&device(), &[2.5f32], &[]).unwrap();
    assert_eq!((tensor.shape(), tensor.elements(), tensor.to_vec::<f32>().unwrap()), ([].as_slice(), 1, vec![2.5]));
}

#[test]
fn zeros_and_full() {
    let device = device();
    for dtype in DType::ALL {
        assert!(Tensor::zeros(&device, dtype, &[3, 5]).unwrap().bytes().iter().all(|&b| b == 0));
    }
    assert_eq!(Tensor::full(&device, -1.5f32, &[2, 2]).unwrap().to_vec::<f32>().unwrap(), [-1.5; 4]);
    assert_eq!(Tensor::full(&device, bf16::ONE, &[3]).unwrap().to_vec::<bf16>().unwrap(), [bf16::ONE; 3]);
    assert_eq!(Tensor::full(&device, i32::MIN, &[3]).unwrap().to_vec::<i32>().unwrap(), [i32::MIN; 3]);
    assert_eq!(Tensor::full(&device, true, &[3]).unwrap().to_vec::<bool>().unwrap(), [true; 3]);
}

#[test]
fn misuse_is_an_error() {
    let device = device();
    let error = Tensor::from_slice(&device, &[1.0f32; 5], &[2, 3]).unwrap_err();
    assert_eq!((error.code(), error.to_string().as_str()), ("D004", "shape [2, 3] has 6 elements, got 5"));
    let code = |dims: &[usize]| Tensor::zeros(&device, DType::F32, dims).unwrap_err().code();
    assert_eq!(code(&[1; 5]), "D005");
    assert_eq!(code(&[1 << 31]), "D005");
    assert_eq!(code(&[usize::MAX, 2]), "D005");
    assert_eq!(code(&[i32::MAX as usize; 4]), "D005");
    assert_eq!(code(&[i32::MAX as usize, i32::MAX as usize, 4]), "D005", "elements fit 64 bits, bytes do not");
    assert_eq!(code(&[i32::MAX as usize, i32::MAX as usize]), "D002");
    let x = Tensor::full(&device, 1, &[2]).unwrap();
    assert_eq!(x.to_vec::<f32>().unwrap_err(), DeviceError::ElementType { want: DType::F32, got: DType::I32 });
    assert_eq!(x.to_vec::<bool>().unwrap_err().to_string(), "the tensor holds i32, not bool");
}

#[test]
fn memory_is_a_limit() {
    let device = Device::builder(Chip::V5E).hbm_bytes(100).build();
    let a = Tensor::full(&device, 1.0f32, &[10]).unwrap();
    let b = Tensor::full(&device, true, &[3, 10]).unwrap();
    let error = Tensor::zeros(&device, DType::F32, &[8]).unwrap_err();
    let largest = vec![
        LiveTensor { dtype: DType::F32, shape: vec![10], bytes: 40 },
        LiveTensor { dtype: DType::Bool, shape: vec![3, 10], bytes: 30 },
    ];
    assert_eq!(error, DeviceError::OutOfMemory { bytes: 32, live: 70, capacity: 100, tensors: 2, largest });
    assert_eq!(
        error.to_string(),
        "out of device memory: 32 bytes asked for, 70 of 100 in use by 2 tensors; the largest:\n  40 bytes: f32[10]\n  30 bytes: bool[3, 10]"
    );
    let shared = b.clone();
    drop(b);
    assert_eq!(device.stats().live_bytes, 70, "a clone keeps the elements");
    drop(shared);
    let c = Tensor::zeros(&device, DType::F32, &[15]).unwrap();
    let stats = device.stats();
    assert_eq!((stats.live_bytes, stats.peak_bytes, stats.capacity_bytes), (100, 100, 100));
    drop((a, c));
    assert_eq!(device.stats().live_bytes, 0);
}

#[test]
fn the_chip_sets_the_limit() {
    for chip in Chip::ALL {
        let device = Device::new(chip.name).unwrap();
        assert_eq!(device.stats().capacity_bytes, chip.hbm_bytes);
        let rows = usize::try_from(chip.hbm_bytes >> 20).unwrap() + 1;
        assert_eq!(Tensor::zeros(&device, DType::Bool, &[rows, 1 << 20]).unwrap_err().code(), "D002");
    }
}

#[test]
fn a_tensor_outlives_the_callers_device() {
    let tensor = Tensor::full(&device(), 3, &[2]).unwrap();
    assert_eq!(tensor.device().stats().live_bytes, 8);
    assert_eq!(tensor.to_device(tensor.device()).unwrap().bytes().as_ptr(), tensor.bytes().as_ptr(), "no copy at home");
    let moved = tensor.to_device(&Device::new("v4").unwrap()).unwrap();
    assert_eq!((moved.device().chip().name, moved.to_vec::<i32>().unwrap()), ("v4", vec![3, 3]));
}

#[test]
fn unknown_chips_are_listed() {
    let error = Device::new("v3").unwrap_err();
    assert_eq!(error.code(), "D001");
    for chip in Chip::ALL {
        assert!(error.to_string().contains(chip.name), "{error}");
    }
}

#[test]
fn debug_shows_type_shape_and_a_few_elements() {
    let device = device();
    let show = |tensor: Result<Tensor, DeviceError>| format!("{:?}", tensor.unwrap());
    assert_eq!(show(Tensor::from_slice(&device, &[1.0f32, f32::NAN, -0.0], &[3])), "f32[3] 1.0, nan, -0.0");
    assert_eq!(show(Tensor::from_slice(&device, &[bf16::from_f32(0.5)], &[])), "bf16[] 0.5");
    assert_eq!(show(Tensor::from_slice(&device, &[true, false], &[1, 2])), "bool[1, 2] true, false");
    assert_eq!(show(Tensor::from_slice(&device, &(0..9).collect::<Vec<_>>(), &[9])), "i32[9] 0, 1, 2, 3, 4, 5, 6, 7, …");
    assert_eq!(show(Tensor::zeros(&device, DType::I32, &[0, 4])), "i32[0, 4]");
}
