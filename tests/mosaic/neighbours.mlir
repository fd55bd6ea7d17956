module {
  func.func @main(
    %i: i32,
    %x: memref<16x128xf32, #tpu.memory_space<vmem>> loc("tests/tests/mosaic.rs":54:57),
    %o: memref<8x128xf32, #tpu.memory_space<vmem>> loc("tests/tests/mosaic.rs":55:54)
  ) attributes {
    dimension_semantics = [#tpu.dimension_semantics<arbitrary>],
    iteration_bounds = array<i64: 8>,
    scalar_prefetch = 0 : i64,
    scratch_operands = 0 : i64,
    window_params = [
      {transform_indices = @map_x, window_bounds = array<i64: 16, 128>, window_kind = #tpu.element_window<[0, 0], [8, 0]>},
      {transform_indices = @map_o, window_bounds = array<i64: 8, 128>, window_kind = #tpu.element_window<[0, 0], [0, 0]>}
    ]
  } {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %0 = vector.load %x[%c0, %c0] : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32> loc("tests/tests/mosaic.rs":57:15)
    %1 = vector.load %x[%c8, %c0] : memref<16x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32> loc("tests/tests/mosaic.rs":57:53)
    %2 = arith.addf %0, %1 : vector<8x128xf32> loc("tests/tests/mosaic.rs":57:13)
    vector.store %2, %o[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32> loc("tests/tests/mosaic.rs":57:7)
    return
  }
  func.func @map_x(%i: i32) -> (i32, i32) {
    %cst_0 = arith.constant 8 : i32
    %cst_1 = arith.constant 1 : i32
    %cst_2 = arith.constant 128 : i32
    %0 = arith.muli %i, %cst_0 : i32 loc("tests/tests/mosaic.rs":54:34)
    %1 = arith.muli %cst_1, %cst_2 : i32 loc("tests/tests/mosaic.rs":54:52)
    return %0, %1 : i32, i32
  }
  func.func @map_o(%i: i32) -> (i32, i32) {
    %cst_0 = arith.constant 8 : i32
    %cst_1 = arith.constant 0 : i32
    %0 = arith.muli %i, %cst_0 : i32 loc("tests/tests/mosaic.rs":55:34)
    return %0, %cst_1 : i32, i32
  }
}
