module {
  func.func @main(
    %i: i32,
    %j: i32,
    %kk: i32,
    %x: memref<128x128xbf16, #tpu.memory_space<vmem>>,
    %y: memref<128x128xbf16, #tpu.memory_space<vmem>>,
    %o: memref<128x128xbf16, #tpu.memory_space<vmem>>,
    %acc: memref<128x128xf32, #tpu.memory_space<vmem>>
  ) attributes {
    dimension_semantics = [#tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<arbitrary>],
    iteration_bounds = array<i64: 8, 3, 4>,
    scalar_prefetch = 0 : i64,
    scratch_operands = 1 : i64,
    window_params = [
      {transform_indices = @map_x, window_bounds = array<i64: 128, 128>},
      {transform_indices = @map_y, window_bounds = array<i64: 128, 128>},
      {transform_indices = @map_o, window_bounds = array<i64: 128, 128>}
    ]
  } {
    %cst_0 = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %cst_2 = arith.constant dense<0.0> : vector<128x128xf32>
    %cst_3 = arith.constant 128 : i32
    %cst_4 = arith.constant dense<500> : vector<128x128xi32>
    %cst_5 = arith.constant dense<0.0> : vector<128x128xbf16>
    %cst_6 = arith.constant 4 : i32
    %cst_7 = arith.constant 1 : i32
    %0 = arith.cmpi eq, %kk, %cst_0 : i32 loc("matmul.rs":11:5)
    scf.if %0 {
      vector.store %cst_2, %acc[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32> loc("matmul.rs":15:5)
    } loc("matmul.rs":16:5)
    %1 = arith.muli %kk, %cst_3 : i32 loc("matmul.rs":19:5)
    %2 = vector.load %x[%c0, %c0] : memref<128x128xbf16, #tpu.memory_space<vmem>>, vector<128x128xbf16> loc("matmul.rs":21:5)
    %3 = vector.load %y[%c0, %c0] : memref<128x128xbf16, #tpu.memory_space<vmem>>, vector<128x128xbf16> loc("matmul.rs":23:5)
    %4 = tpu.iota {dimensions = array<i32: 1>} : vector<128x128xi32> loc("matmul.rs":24:5)
    %5 = vector.broadcast %1 : i32 to vector<128x128xi32> loc("matmul.rs":25:5)
    %6 = arith.addi %4, %5 : vector<128x128xi32> loc("matmul.rs":26:5)
    %7 = arith.cmpi slt, %6, %cst_4 : vector<128x128xi32> loc("matmul.rs":29:5)
    %8 = arith.select %7, %2, %cst_5 : vector<128x128xi1>, vector<128x128xbf16> loc("matmul.rs":32:5)
    %9 = tpu.iota {dimensions = array<i32: 0>} : vector<128x128xi32> loc("matmul.rs":33:5)
    %10 = vector.broadcast %1 : i32 to vector<128x128xi32> loc("matmul.rs":34:5)
    %11 = arith.addi %9, %10 : vector<128x128xi32> loc("matmul.rs":35:5)
    %12 = arith.cmpi slt, %11, %cst_4 : vector<128x128xi32> loc("matmul.rs":38:5)
    %13 = arith.select %12, %3, %cst_5 : vector<128x128xi1>, vector<128x128xbf16> loc("matmul.rs":41:5)
    %14 = tpu.matmul %8, %13, %cst_2 {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<128x128xbf16>, vector<128x128xbf16>, vector<128x128xf32> -> vector<128x128xf32> loc("matmul.rs":42:5)
    %15 = vector.load %acc[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32> loc("matmul.rs":44:5)
    %16 = arith.addf %15, %14 : vector<128x128xf32> loc("matmul.rs":45:5)
    vector.store %16, %acc[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32> loc("matmul.rs":47:5)
    %17 = arith.subi %cst_6, %cst_7 : i32 loc("matmul.rs":50:5)
    %18 = arith.cmpi eq, %kk, %17 : i32 loc("matmul.rs":52:5)
    scf.if %18 {
      %19 = vector.load %acc[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32> loc("matmul.rs":54:5)
      %20 = arith.truncf %19 : vector<128x128xf32> to vector<128x128xbf16> loc("matmul.rs":55:5)
      vector.store %20, %o[%c0, %c0] : memref<128x128xbf16, #tpu.memory_space<vmem>>, vector<128x128xbf16> loc("matmul.rs":57:5)
    } loc("matmul.rs":58:5)
    return
  }
  func.func @map_x(%i: i32, %j: i32, %kk: i32) -> (i32, i32) {
    return %i, %kk : i32, i32
  }
  func.func @map_y(%i: i32, %j: i32, %kk: i32) -> (i32, i32) {
    return %kk, %j : i32, i32
  }
  func.func @map_o(%i: i32, %j: i32, %kk: i32) -> (i32, i32) {
    return %i, %j : i32, i32
  }
}
