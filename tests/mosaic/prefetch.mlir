module {
  func.func @main(
    %i: i32,
    %ids: memref<4xf32, #tpu.memory_space<smem>> loc("k.tpuir":3:3),
    %x: memref<8x128xf32, #tpu.memory_space<vmem>> loc("k.tpuir":4:3),
    %o: memref<8x128xf32, #tpu.memory_space<vmem>> loc("k.tpuir":10:3)
  ) attributes {
    dimension_semantics = [#tpu.dimension_semantics<arbitrary>],
    iteration_bounds = array<i64: 4>,
    scalar_prefetch = 1 : i64,
    scratch_operands = 0 : i64,
    window_params = [
      {transform_indices = @map_x, window_bounds = array<i64: 8, 128>},
      {transform_indices = @map_o, window_bounds = array<i64: 8, 128>}
    ]
  } {
    %c0 = arith.constant 0 : index
    %0 = vector.load %x[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32> loc("k.tpuir":16:5)
    vector.store %0, %o[%c0, %c0] : memref<8x128xf32, #tpu.memory_space<vmem>>, vector<8x128xf32> loc("k.tpuir":17:5)
    return
  }
  func.func @map_x(%i: i32, %ids: memref<4xf32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %cst_0 = arith.constant 2147483600.0 : f32
    %cst_1 = arith.constant 0.0 : f32
    %cst_2 = arith.constant 2147483647 : i32
    %cst_3 = arith.constant -2147483600.0 : f32
    %cst_4 = arith.constant -2147483648 : i32
    %cst_5 = arith.constant 0 : i32
    %0 = arith.index_cast %i : i32 to index loc("k.tpuir":5:5)
    %1 = memref.load %ids[%0] : memref<4xf32, #tpu.memory_space<smem>> loc("k.tpuir":5:5)
    %2 = math.absf %1 : f32 loc("k.tpuir":6:5)
    %3 = arith.cmpf olt, %2, %cst_0 : f32 loc("k.tpuir":6:5)
    %4 = arith.select %3, %1, %cst_1 : f32 loc("k.tpuir":6:5)
    %5 = arith.fptosi %4 : f32 to i32 loc("k.tpuir":6:5)
    %6 = arith.cmpf oge, %1, %cst_0 : f32 loc("k.tpuir":6:5)
    %7 = arith.select %6, %cst_2, %5 : i32 loc("k.tpuir":6:5)
    %8 = arith.cmpf ole, %1, %cst_3 : f32 loc("k.tpuir":6:5)
    %9 = arith.select %8, %cst_4, %7 : i32 loc("k.tpuir":6:5)
    return %9, %cst_5 : i32, i32
  }
  func.func @map_o(%i: i32, %ids: memref<4xf32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %i, %cst_0 : i32, i32
  }
}
