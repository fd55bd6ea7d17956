//! Launches of kernels that move memory by hand: what binds their arrays, how much memory they may have, and what
//! transformations make of them.

use tpu_kernel::chips::Chip;
use tpu_kernel::ir::{DType, Kernel, Loc, parse};
use tpu_kernel::launch::{Binding, Config, LaunchError, bind, vmem};
use tpu_kernel::legalise::legalise;
use tpu_kernel::passes::verify;
use tpu_kernel::transform::batch;
use tpu_tests::executors::{Array, EXECUTORS, run_logged};

fn kernel(text: &str) -> Kernel {
    let kernel = parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(verify(&kernel), Ok(()), "{text}");
    kernel
}

const GATHER: &str = "kernel @gather(n, m) {
  grid i = n parallel
  prefetch %ids: smem<?xi32> = [n]
  in %x: vmem<8x128xf32> = [m, 128] blocks [8, 128] at (%i, %a: smem<?xi32>) {
    %id = load_scalar %a[%i] : i32
    %c = const 0 : i32
    yield %id, %c
  }
  out %o: vmem<8x128xf32> = [8 * n, 128] blocks [8, 128] at (%i, %b: smem<?xi32>) {
    %d = const 0 : i32
    yield %i, %d
  }
  body {
    %z = const 0 : i32
    %t = load %x[%z, %z] : tile<8x128xf32>
    store %t, %o[%z, %z]
  }
}";

const COPY: &str = "kernel @copy(m) {
  in %x: hbm<?x?xf32> = [m, 128]
  out %o: hbm<?x?xf32> = [m, 128]
  scratch %sem: semaphore<dma>
  body {
    dma_start %x, %o, %sem
    dma_wait %x, %o, %sem
  }
}";

#[test]
fn arrays_bind_sizes_like_windows() {
    let config = Config::default();
    let copy = kernel(COPY);
    let binding = bind(&copy, &Chip::V5E, &[(DType::F32, vec![5, 128])], &config).unwrap();
    assert_eq!((binding.sizes, binding.arrays), (vec![5], vec![vec![5, 128], vec![5, 128], vec![]]));
    let wrong = bind(&copy, &Chip::V5E, &[(DType::F32, vec![5, 64])], &config).unwrap_err();
    assert!(matches!(&wrong, LaunchError::SizeMismatch { .. }), "{wrong}");
    let wrong = bind(&copy, &Chip::V5E, &[(DType::Bf16, vec![5, 128])], &config).unwrap_err();
    assert!(matches!(&wrong, LaunchError::ElementType { .. }), "{wrong}");
    let wrong = bind(&copy, &Chip::V5E, &[(DType::F32, vec![640])], &config).unwrap_err();
    assert!(matches!(&wrong, LaunchError::Rank { .. }), "{wrong}");
    assert!(bind(&copy, &Chip::V5E, &[(DType::F32, vec![0, 128])], &config).is_ok());
}

/// What a map reads is not known at the launch: nothing is refused for it, however large the grid.
#[test]
fn index_maps_of_prefetched_arrays_are_left_to_the_run() {
    let gather = kernel(GATHER);
    for n in [1, 300, 100_000] {
        let inputs = [(DType::I32, vec![n]), (DType::F32, vec![16, 128])];
        let binding = bind(&gather, &Chip::V5E, &inputs, &Config::default()).unwrap();
        assert_eq!(binding.arrays[2], [8 * n, 128]);
    }
    // The window that the array decides about has two buffers.
    let inputs = [(DType::I32, vec![2]), (DType::F32, vec![16, 128])];
    let binding = bind(&gather, &Chip::V5E, &inputs, &Config::default()).unwrap();
    let buffers: Vec<(String, u64)> = vmem(&gather, &binding).into_iter().map(|row| (row.name, row.buffers)).collect();
    assert_eq!(buffers, [("x".to_string(), 2), ("o".to_string(), 2)]);
}

#[test]
fn scalar_memory_has_a_limit() {
    let gather = kernel(GATHER);
    let most = usize::try_from(Chip::V5E.smem_bytes / 4).unwrap();
    let launch = |n: usize| bind(&gather, &Chip::V5E, &[(DType::I32, vec![n]), (DType::F32, vec![16, 128])], &Config::default());
    assert!(launch(most).is_ok());
    let error = launch(most + 1).unwrap_err();
    assert_eq!(error.code(), "L020");
    let text = error.to_string();
    assert!(text.contains("ids: 1048580 bytes") && text.contains("1048576"), "{text}");
}

/// Regions that follow one another share memory; those inside one another do not.
#[test]
fn the_memory_of_regions_counts() {
    let nested = kernel(
        "kernel @k() {
  out %o: vmem<8x128xf32> = [8, 128] blocks [8, 128] at () {
    %c = const 0 : i32
    yield %c, %c
  }
  body {
    %z = const 0 : i32
    %x = const 1.0 : f32
    %t = broadcast %x : tile<8x128xf32>
    store %t, %o[%z, %z]
    scoped (%a: vmem<16x128xf32>) loc(\"k\":10:1) {
    }
    scoped (%b: vmem<8x128xf32>) loc(\"k\":20:1) {
      scoped (%d: vmem<32x128xf32>, %s: semaphore<dma>) loc(\"k\":30:1) {
      }
    }
  }
}",
    );
    let binding = bind(&nested, &Chip::V5E, &[], &Config::default()).unwrap();
    let rows: Vec<(String, &str, u64)> = vmem(&nested, &binding).into_iter().map(|r| (r.name.clone(), r.role, r.bytes())).collect();
    let want = [("o", "out", 4096), ("line 30", "region", 16384), ("line 20", "region", 4096)];
    assert_eq!(rows, want.map(|(name, role, bytes)| (name.to_string(), role, bytes)));

    let large = nested.to_string().replace("32x128xf32", "65536x1024xf32");
    let error = bind(&kernel(&large), &Chip::V5E, &[], &Config::default()).unwrap_err();
    assert_eq!(error.code(), "L011");
    assert!(error.to_string().contains("line 30"), "{error}");
}

/// A batch shares its prefetched arrays; whole arrays are no slices.
#[test]
fn batches() {
    let gather = kernel(GATHER);
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let batched = batch(gather.clone(), &names(&["x", "o"]), &Loc::UNKNOWN).unwrap();
    assert_eq!(verify(&batched), Ok(()));
    assert_eq!(batched.params[1].window().unwrap().map.args.len(), 3);
    assert_eq!(batch(gather, &names(&["ids", "x", "o"]), &Loc::UNKNOWN).unwrap_err().code(), "T002");
    let writes = GATHER.replace("    %z = const 0 : i32\n    %t", "    %z = const 0 : i32\n    store_scalar %z, %ids[%z]\n    %t");
    assert_eq!(batch(kernel(&writes), &names(&["x", "o"]), &Loc::UNKNOWN).unwrap_err().code(), "T019");
    assert_eq!(batch(kernel(COPY), &names(&["x", "o"]), &Loc::UNKNOWN).unwrap_err().code(), "T002");
}

/// Arrays of nothing whose other extents multiply to more than there is: both executors end at once.
#[test]
fn arrays_of_nothing() {
    let copy = kernel(
        "kernel @copy(a, b, c) {
  in %x: hbm<?x?x?xi8> = [a, b, c]
  out %o: hbm<?x?x?xi8> = [a, b, c]
  scratch %sem: semaphore<dma>
  body {
    dma_start %x, %o, %sem
    dma_wait %x, %o, %sem
  }
}",
    );
    const MOST: usize = i32::MAX as usize;
    for shape in [[MOST, MOST, 0], [0, MOST, MOST], [MOST, 0, MOST]] {
        let array = Array { dtype: DType::I8, shape: shape.to_vec(), bytes: vec![] };
        let sizes = shape.iter().map(|&n| n as i32).collect();
        let binding = Binding { cores: 1, sizes, grid: vec![], arrays: vec![shape.to_vec(), shape.to_vec(), vec![]] };
        for executor in EXECUTORS {
            let compiled = (executor.compile)(&copy).unwrap();
            let outputs = run_logged(&copy, &compiled, &binding, std::slice::from_ref(&array), &[], &mut |_| {}).unwrap();
            assert!(outputs[0].bytes.is_empty(), "{}", executor.name);
        }
    }
}

/// A kernel whose regions lie inside one another, each after a store of what was loaded: its legal form costs no more for each level
/// than for the one before.
#[test]
fn deep_kernels_are_legalised() {
    let depth = 60;
    let mut body = String::from("store %q, %m[%z, %z]\n");
    for level in 0..depth {
        body = format!(
            "%l{level} = load %m[%z, %z] : tile<8x128xf32>\nstore %l{level}, %o[%z, %z]\nscoped (%s{level}: semaphore<dma>) {{\n{body}}}\n"
        );
    }
    let text = format!(
        "kernel @deep() {{
  out %o: vmem<8x128xf32> = [8, 128] blocks [8, 128] at () {{
    %c = const 0 : i32
    yield %c, %c
  }}
  scratch %m: vmem<8x128xf32>
  body {{
    %z = const 0 : i32
    %one = const 1.0 : f32
    %q = broadcast %one : tile<8x128xf32>
{body}  }}
}}"
    );
    assert!(legalise(&kernel(&text), &Chip::V5E).is_ok());
}
