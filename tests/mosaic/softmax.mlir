module {
  func.func @main(
    %i: i32,
    %x: memref<8x1024xf32, #tpu.memory_space<vmem>> loc("tests/tests/../../examples/softmax.rs":22:38),
    %o: memref<8x1024xf32, #tpu.memory_space<vmem>> loc("tests/tests/../../examples/softmax.rs":23:38)
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
    %cst_0 = arith.constant 8 : i32
    %cst_1 = arith.constant 175 : i32
    %cst_2 = arith.constant dense<1000> : vector<8x1024xi32>
    %c0 = arith.constant 0 : index
    %cst_4 = arith.constant dense<0xFF800000> : vector<8x1024xf32>
    %cst_5 = arith.constant dense<0xFF800000> : vector<8xf32>
    %cst_6 = arith.constant dense<0.0> : vector<8xf32>
    %0 = arith.muli %i, %cst_0 : i32 loc("tests/tests/../../examples/softmax.rs":25:28)
    %1 = arith.subi %cst_1, %0 : i32 loc("tests/tests/../../examples/softmax.rs":25:28)
    %2 = vector.broadcast %1 : i32 to vector<8x1024xi32> loc("tests/tests/../../examples/softmax.rs":25:28)
    %3 = tpu.iota {dimensions = array<i32: 0>} : vector<8x1024xi32> loc("tests/tests/../../examples/softmax.rs":25:28)
    %4 = arith.cmpi slt, %3, %2 : vector<8x1024xi32> loc("tests/tests/../../examples/softmax.rs":25:28)
    %5 = tpu.iota {dimensions = array<i32: 1>} : vector<8x1024xi32> loc("tests/tests/../../examples/softmax.rs":25:28)
    %6 = arith.cmpi slt, %5, %cst_2 : vector<8x1024xi32> loc("tests/tests/../../examples/softmax.rs":25:28)
    %7 = arith.andi %4, %6 : vector<8x1024xi1> loc("tests/tests/../../examples/softmax.rs":25:28)
    %8 = vector.load %x[%c0, %c0] : memref<8x1024xf32, #tpu.memory_space<vmem>>, vector<8x1024xf32> loc("tests/tests/../../examples/softmax.rs":25:28)
    %9 = arith.select %7, %8, %cst_4 : vector<8x1024xi1>, vector<8x1024xf32> loc("tests/tests/../../examples/softmax.rs":25:28)
    %10 = vector.multi_reduction <maximumf>, %9, %cst_5 [1] : vector<8x1024xf32> to vector<8xf32> loc("tests/tests/../../examples/softmax.rs":13:20)
    %11 = vector.shape_cast %10 : vector<8xf32> to vector<8x1xf32> loc("tests/tests/../../examples/softmax.rs":13:20)
    %12 = vector.broadcast %11 : vector<8x1xf32> to vector<8x1024xf32> loc("tests/tests/../../examples/softmax.rs":13:13)
    %13 = arith.subf %9, %12 : vector<8x1024xf32> loc("tests/tests/../../examples/softmax.rs":13:13)
    %14 = math.exp %13 : vector<8x1024xf32> loc("tests/tests/../../examples/softmax.rs":13:32)
    %15 = vector.multi_reduction <add>, %14, %cst_6 [1] : vector<8x1024xf32> to vector<8xf32> loc("tests/tests/../../examples/softmax.rs":14:11)
    %16 = vector.shape_cast %15 : vector<8xf32> to vector<8x1xf32> loc("tests/tests/../../examples/softmax.rs":14:11)
    %17 = vector.broadcast %16 : vector<8x1xf32> to vector<8x1024xf32> loc("tests/tests/../../examples/softmax.rs":14:5)
    %18 = arith.divf %14, %17 : vector<8x1024xf32> loc("tests/tests/../../examples/softmax.rs":14:5)
    vector.store %18, %o[%c0, %c0] : memref<8x1024xf32, #tpu.memory_space<vmem>>, vector<8x1024xf32> loc("tests/tests/../../examples/softmax.rs":25:7)
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
