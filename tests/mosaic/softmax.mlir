module {
  func.func @main(
    %i: i32,
    %x: memref<8x1024xf32, #tpu.memory_space<vmem>>,
    %o: memref<8x1024xf32, #tpu.memory_space<vmem>>
  ) attributes {
    dimension_semantics = [#tpu.dimension_semantics<parallel>],
    iteration_bounds = array<i64: 22>,
    scalar_prefetch = 0 : i64,
    scratch_operands = 0 : i64,
    window_params = [
      {transform_indices = @map_x, window_bounds = array<i64: 8, 1024>},
      {transform_indices = @map_o, window_bounds = array<i64: 8, 1024>}
    ]
  } {
    %c0 = arith.constant 0 : index
    %cst_1 = arith.constant dense<0> : vector<8x1024xi32>
    %cst_2 = arith.constant dense<1000> : vector<8x1024xi32>
    %cst_3 = arith.constant dense<0xFF800000> : vector<8x1024xf32>
    %cst_4 = arith.constant dense<0xFF800000> : vector<8xf32>
    %cst_5 = arith.constant dense<0.0> : vector<8xf32>
    %0 = vector.load %x[%c0, %c0] : memref<8x1024xf32, #tpu.memory_space<vmem>>, vector<8x1024xf32> loc("softmax.rs":6:5)
    %1 = tpu.iota {dimensions = array<i32: 1>} : vector<8x1024xi32> loc("softmax.rs":8:5)
    %2 = arith.addi %1, %cst_1 : vector<8x1024xi32> loc("softmax.rs":10:5)
    %3 = arith.cmpi slt, %2, %cst_2 : vector<8x1024xi32> loc("softmax.rs":13:5)
    %4 = arith.select %3, %0, %cst_3 : vector<8x1024xi1>, vector<8x1024xf32> loc("softmax.rs":16:5)
    %5 = vector.multi_reduction <maximumf>, %4, %cst_4 [1] : vector<8x1024xf32> to vector<8xf32> loc("softmax.rs":17:5)
    %6 = vector.shape_cast %5 : vector<8xf32> to vector<8x1xf32> loc("softmax.rs":17:5)
    %7 = vector.broadcast %6 : vector<8x1xf32> to vector<8x1024xf32> loc("softmax.rs":18:5)
    %8 = arith.subf %4, %7 : vector<8x1024xf32> loc("softmax.rs":19:5)
    %9 = math.exp %8 : vector<8x1024xf32> loc("softmax.rs":20:5)
    %10 = vector.multi_reduction <add>, %9, %cst_5 [1] : vector<8x1024xf32> to vector<8xf32> loc("softmax.rs":21:5)
    %11 = vector.shape_cast %10 : vector<8xf32> to vector<8x1xf32> loc("softmax.rs":21:5)
    %12 = vector.broadcast %11 : vector<8x1xf32> to vector<8x1024xf32> loc("softmax.rs":22:5)
    %13 = arith.divf %9, %12 : vector<8x1024xf32> loc("softmax.rs":23:5)
    vector.store %13, %o[%c0, %c0] : memref<8x1024xf32, #tpu.memory_space<vmem>>, vector<8x1024xf32> loc("softmax.rs":25:5)
    return
  }
  func.func @map_x(%i: i32) -> (i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %i, %cst_0 : i32, i32
  }
  func.func @map_o(%i: i32) -> (i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %i, %cst_0 : i32, i32
  }
}
