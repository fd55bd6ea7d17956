//! Safetensors files: round trips, and files that are wrong in every way.

use half::{bf16, f16};
use std::path::PathBuf;
use tpu_device::{Chip, DType, Device, DeviceError, Element, Tensor, io};
use tpu_kernel::{F4E2M1, F8E4M3, F8E5M2};

fn device() -> Device {
    Device::new("v5e").unwrap()
}

/// One tensor of each type, an empty one, and one of rank 0.
fn samples(device: &Device) -> Vec<(&'static str, Tensor)> {
    vec![
        ("flags", Tensor::from_slice(device, &[true, false, true], &[3]).unwrap()),
        ("floats", Tensor::from_slice(device, &[1.5f32, f32::NAN, -0.0, f32::MIN_POSITIVE / 2.0], &[2, 2]).unwrap()),
        ("halves", Tensor::from_slice(device, &[bf16::from_f32(0.1), bf16::NEG_INFINITY], &[1, 2, 1]).unwrap()),
        ("ints", Tensor::from_slice(device, &[i32::MIN, -1, i32::MAX], &[1, 1, 3, 1]).unwrap()),
        ("eighths", Tensor::from_slice(device, &[-1i8, 127, -128], &[3]).unwrap()),
        ("none", Tensor::zeros(device, DType::F32, &[0, 7]).unwrap()),
        ("quarters", Tensor::from_slice(device, &[1.5f32, -6.0, 0.5, -0.0].map(F4E2M1::from_f32), &[2, 2]).unwrap()),
        ("scalar", Tensor::from_slice(device, &[7], &[]).unwrap()),
    ]
}

fn sample_bytes(device: &Device) -> Vec<u8> {
    io::write_safetensors(samples(device).iter().map(|(name, tensor)| (*name, tensor))).unwrap()
}

fn assert_same(a: &Tensor, b: &Tensor) {
    assert_eq!((a.dtype(), a.shape(), a.bytes()), (b.dtype(), b.shape(), b.bytes()));
}

/// A file of the test's own, removed at the end.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Temporary {
        Temporary(std::env::temp_dir().join(format!("tpu-device-{}-{name}.safetensors", std::process::id())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A file with that header and these elements.
fn file(header: &str, elements: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), elements].concat()
}

#[test]
fn bytes_and_files_round_trip() {
    let device = device();
    let tensors = samples(&device);
    let path = Temporary::new("round-trip");
    io::save_safetensors(&path.0, tensors.iter().map(|(name, tensor)| (*name, tensor))).unwrap();
    io::save_safetensors(&path.0, tensors.iter().map(|(name, tensor)| (*name, tensor))).unwrap();
    for loaded in [device.load_safetensors(&path.0), device.read_safetensors(&sample_bytes(&device))] {
        let loaded = loaded.unwrap();
        assert_eq!(loaded.len(), tensors.len());
        for (name, tensor) in &tensors {
            assert_same(&loaded[*name], tensor);
        }
    }
    let some = device.load_safetensors_named(&path.0, &["ints", "flags", "ints"]).unwrap();
    assert_eq!(some.keys().collect::<Vec<_>>(), ["flags", "ints"]);
    let ints = tensors.iter().find(|(name, _)| *name == "ints").unwrap();
    assert_same(&some["ints"], &ints.1);
    assert!(device.read_safetensors(&io::write_safetensors([]).unwrap()).unwrap().is_empty());
}

#[test]
fn missing_tensors_and_files_are_named() {
    let device = device();
    let error = device.read_safetensors_named(&sample_bytes(&device), &["floats", "int"]).unwrap_err();
    assert_eq!((error.code(), error.to_string().as_str()), ("D013", "the data has no tensor `int`; did you mean `ints`?"));
    let error = device.load_safetensors("/no/such/file").unwrap_err();
    assert_eq!(error.code(), "D010");
    assert!(error.to_string().starts_with("/no/such/file: "), "{error}");
    assert_eq!(device.load_safetensors(std::env::temp_dir()).unwrap_err().code(), "D010", "a directory");
    assert_eq!(io::save_safetensors("/no/such/directory/file", []).unwrap_err().code(), "D010");
    assert_eq!(device.stats().live_bytes, 0);
}

#[test]
fn names_that_a_file_cannot_have() {
    let device = device();
    let x = Tensor::full(&device, 1, &[1]).unwrap();
    assert_eq!(io::write_safetensors([("x", &x), ("x", &x)]).unwrap_err().code(), "D018");
    assert_eq!(io::write_safetensors([("__metadata__", &x)]).unwrap_err().code(), "D018");
    let odd = io::write_safetensors([("", &x), ("a\"\\\n\u{1F980}", &x)]).unwrap();
    assert_eq!(device.read_safetensors(&odd).unwrap().len(), 2);
}

#[test]
fn other_element_types_are_refused_by_name() {
    let device = device();
    for (name, bytes) in [("F64", 8), ("I64", 8), ("U64", 8), ("C64", 8), ("F8_E4M3FNUZ", 1), ("F8_E5M2FNUZ", 1), ("F8_E8M0", 1)] {
        let header = format!(
            r#"{{"odd":{{"dtype":"{name}","shape":[1],"data_offsets":[0,{bytes}]}},"x":{{"dtype":"I32","shape":[1],"data_offsets":[{bytes},{}]}}}}"#,
            bytes + 4
        );
        let file = file(&header, &[vec![0; bytes], vec![9, 0, 0, 0]].concat());
        let error = device.read_safetensors(&file).unwrap_err();
        assert_eq!(error, DeviceError::UnsupportedElements { tensor: "odd".into(), dtype: name.into() });
        let loaded = device.read_safetensors_named(&file, &["x"]).unwrap();
        assert_eq!(loaded["x"].to_vec::<i32>().unwrap(), [9], "unaligned in the file");
    }
}

/// Bits that memory may hold, written and read back; how the file names the type, and how many bytes it takes for them.
fn kept<T: Element>(elements: &[T], name: &str, bytes: usize) {
    let device = device();
    let tensor = Tensor::from_slice(&device, elements, &[2, elements.len() / 2]).unwrap();
    let file = io::write_safetensors([("x", &tensor)]).unwrap();
    let header = String::from_utf8_lossy(&file[8..]).to_string();
    assert!(header.contains(&format!(r#""dtype":"{name}""#)), "{header}");
    assert!(header.contains(&format!(r#""data_offsets":[0,{bytes}]"#)), "{header}");
    assert_same(&device.read_safetensors(&file).unwrap()["x"], &tensor);
}

#[test]
fn every_element_type_of_the_format_round_trips() {
    let all: Vec<u8> = (0..=255).collect();
    let words: Vec<u16> = (0..=65535).collect();
    kept(&all, "U8", 256);
    kept(&all.iter().map(|&b| b as i8).collect::<Vec<_>>(), "I8", 256);
    kept(&all.iter().map(|&b| F8E4M3::from_bits(b)).collect::<Vec<_>>(), "F8_E4M3", 256);
    kept(&all.iter().map(|&b| F8E5M2::from_bits(b)).collect::<Vec<_>>(), "F8_E5M2", 256);
    kept(&all.iter().map(|&b| F4E2M1::from_bits(b)).collect::<Vec<_>>(), "F4", 128);
    kept(&words, "U16", 131072);
    kept(&words.iter().map(|&b| b as i16).collect::<Vec<_>>(), "I16", 131072);
    kept(&words.iter().map(|&b| f16::from_bits(b)).collect::<Vec<_>>(), "F16", 131072);
    kept(&words.iter().map(|&b| bf16::from_bits(b)).collect::<Vec<_>>(), "BF16", 131072);
    kept(&[0u32, 1 << 31, u32::MAX, 7], "U32", 16);
    kept(&[i32::MIN, i32::MAX], "I32", 8);
    kept(&[f32::NAN, -0.0], "F32", 8);
    kept(&[true, false], "BOOL", 2);
}

#[test]
fn four_bits_lie_packed_low_bits_first() {
    let device = device();
    let file = file(r#"{"x":{"dtype":"F4","shape":[2,2],"data_offsets":[0,2]}}"#, &[0x72, 0x8f]);
    let x = &device.read_safetensors(&file).unwrap()["x"];
    assert_eq!(x.bytes(), [2, 7, 15, 8]);
    assert_eq!(x.to_vec::<F4E2M1>().unwrap().iter().map(|v| v.to_f32()).collect::<Vec<_>>(), [1.0, 6.0, -6.0, -0.0]);

    assert!(io::write_safetensors([("x", x)]).unwrap().ends_with(&[0x72, 0x8f]));
    let odd = Tensor::zeros(&device, DType::F4E2M1Fn, &[3]).unwrap();
    let error = io::write_safetensors([("x", &odd)]).unwrap_err();
    assert_eq!(error.code(), "D021");
    assert!(error.to_string().contains("it has 3"), "{error}");
}

#[test]
fn types_that_the_format_lacks_are_not_saved() {
    let device = device();
    for (dtype, wider) in [(DType::F8E4M3B11Fnuz, "bf16"), (DType::I4, "i8"), (DType::I2, "i8"), (DType::U4, "i8")] {
        let tensor = Tensor::zeros(&device, dtype, &[2]).unwrap();
        let error = io::write_safetensors([("odd", &tensor)]).unwrap_err();
        assert_eq!(error.code(), "D021");
        let want = format!(
            "tensor `odd` cannot be saved: safetensors has no type for {dtype}; save it as {wider}, which holds its values"
        );
        assert_eq!(error.to_string(), want);
        let path = Temporary::new("unsavable");
        assert_eq!(io::save_safetensors(&path.0, [("odd", &tensor)]).unwrap_err().code(), "D021");
        assert!(!path.0.exists(), "nothing is written");
    }
}

/// A map of names keeps the last: the others would be lost without a word.
#[test]
fn names_that_are_there_twice_are_refused() {
    let device = device();
    let x = r#"{"dtype":"F32","shape":[1],"data_offsets":[0,4]}"#;
    for (name, header) in [
        ("x", format!(r#"{{"x":{x},"x":{x}}}"#)),
        ("x", format!(r#"{{"x":{x},"y":{{"dtype":"F32","shape":[1],"data_offsets":[4,8]}},"\u0078":{x}}}"#)),
        ("__metadata__", format!(r#"{{"__metadata__":{{}},"x":{x},"__metadata__":{{}}}}"#)),
    ] {
        for bytes in [file(&header, &[0; 4]), file(&header, &[0; 8])] {
            let error = device.read_safetensors(&bytes).unwrap_err();
            let want = format!("two entries of the header are called `{name}`");
            assert!(error.code() == "D011" && error.to_string().contains(&want), "{header}: {error}");
        }
    }
}

#[test]
fn malformed_headers_are_refused() {
    let device = device();
    let tensor = |shape: &str, offsets: &str| {
        file(&format!(r#"{{"x":{{"dtype":"F32","shape":{shape},"data_offsets":{offsets}}}}}"#), &[0; 8])
    };
    assert_eq!(device.read_safetensors(&tensor("[2]", "[0,8]")).unwrap().len(), 1);
    let deep = "[".repeat(100_000);
    let huge = u64::MAX.to_le_bytes();
    for (what, bytes) in [
        ("nothing", vec![]),
        ("no header", vec![0; 8]),
        ("header beyond the file", huge.to_vec()),
        ("header of text", file("hello", &[])),
        ("header not of UTF-8", [&2u64.to_le_bytes()[..], &[0xff, 0xfe]].concat()),
        ("deep header", file(&deep, &[])),
        ("wrong length", tensor("[3]", "[0,8]")),
        ("end before start", tensor("[2]", "[8,0]")),
        ("hole before", tensor("[1]", "[4,8]")),
        ("missing elements", tensor("[4]", "[0,16]")),
        ("elements left over", tensor("[1]", "[0,4]")),
        ("negative", tensor("[-2]", "[0,8]")),
        ("overflow", tensor("[4294967296,4294967296,4]", "[0,8]")),
        ("offset of 2^64", tensor("[2]", "[0,18446744073709551616]")),
        ("unknown type", file(r#"{"x":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}}"#, &[0; 8])),
        ("bool of 2", file(r#"{"x":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}}"#, &[0, 1, 2])),
        (
            "overlap",
            file(
                r#"{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#,
                &[0; 8],
            ),
        ),
    ] {
        match device.read_safetensors(&bytes) {
            Err(DeviceError::Safetensors { .. }) => {}
            other => panic!("{what}: {other:?}"),
        }
    }
    assert_eq!(device.read_safetensors(&tensor("[1,1,1,1,2]", "[0,8]")).unwrap_err().code(), "D005");
    assert_eq!(device.read_safetensors(&tensor("[0,3000000000]", "[0,0]")[..]).unwrap_err().code(), "D011");
}

#[test]
fn truncations_are_refused() {
    let device = device();
    let bytes = sample_bytes(&device);
    for length in 0..bytes.len() {
        assert_eq!(device.read_safetensors(&bytes[..length]).unwrap_err().code(), "D011", "{length} bytes of {}", bytes.len());
    }
    let path = Temporary::new("truncated");
    std::fs::write(&path.0, &bytes[..bytes.len() - 1]).unwrap();
    let error = device.load_safetensors(&path.0).unwrap_err();
    assert!(error.code() == "D011" && error.to_string().contains("truncated.safetensors"), "{error}");
    assert_eq!(device.stats().live_bytes, 0);
}

#[test]
fn flipped_bits_never_panic_nor_leak() {
    let device = Device::builder(Chip::V5E).hbm_bytes(1 << 20).build();
    let bytes = sample_bytes(&device);
    let (mut read, mut refused) = (0, 0);
    for at in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[at / 8] ^= 1 << (at % 8);
        match device.read_safetensors(&damaged) {
            // The format has no checksum: a flip in a name, or in the elements, is another valid file.
            Ok(tensors) => {
                assert!(tensors.values().all(|t| t.bytes().len() == t.elements() * t.dtype().bytes()));
                read += 1;
            }
            Err(error) => {
                assert!(["D005", "D011", "D012"].contains(&error.code()), "bit {at}: {error}");
                refused += 1;
            }
        }
        assert_eq!(device.stats().live_bytes, 0);
    }
    assert!(read > 0 && refused > bytes.len(), "{read} read, {refused} refused");
}

#[test]
fn files_beyond_the_memory_are_refused() {
    let bytes = sample_bytes(&device());
    let small = Device::builder(Chip::V5E).hbm_bytes(20).build();
    assert_eq!(small.read_safetensors(&bytes).unwrap_err().code(), "D002");
    assert_eq!(small.stats().live_bytes, 0);
    assert_eq!(small.read_safetensors_named(&bytes, &["ints"]).unwrap().len(), 1);
}
