module {
  func.func @main(
    %batch: i32,
    %i: i32,
    %j: i32,
    %kk: i32,
    %x: memref<128x128xbf16, #tpu.memory_space<vmem>> loc("tests/tests/../../examples/matmul.rs":17:33),
    %w: memref<128x128xbf16, #tpu.memory_space<vmem>> loc("tests/tests/../../examples/matmul.rs":18:33),
    %o: memref<128x128xbf16, #tpu.memory_space<vmem>> loc("tests/tests/../../examples/matmul.rs":19:32),
    %acc: memref<128x128xf32, #tpu.memory_space<vmem>> loc("tests/tests/../../examples/matmul.rs":20:20)
  ) attributes {
    dimension_semantics = [#tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<arbitrary>],
    iteration_bounds = array<i64: 10, 8, 3, 4>,
    scalar_prefetch = 0 : i64,
    scratch_operands = 1 : i64,
    window_params = [
      {transform_indices = @map_x, window_bounds = array<i64: 1, 128, 128>},
      {transform_indices = @map_w, window_bounds = array<i64: 128, 128>},
      {transform_indices = @map_o, window_bounds = array<i64: 1, 128, 128>}
    ]
  } {
    %cst_0 = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %cst_2 = arith.constant dense<0.0> : vector<128x128xf32>
    %cst_3 = arith.constant 128 : i32
    %cst_4 = arith.constant 1000 : i32
    %cst_5 = arith.constant 500 : i32
    %cst_6 = arith.constant 300 : i32
    %cst_7 = arith.constant dense<0.5> : vector<128x128xf32>
    %cst_8 = arith.constant 4 : i32
    %cst_9 = arith.constant 1 : i32
    %cst_10 = arith.constant dense<1.0> : vector<128x128xf32>
    %0 = arith.cmpi eq, %kk, %cst_0 : i32 loc("tests/tests/../../examples/matmul.rs":22:11)
    scf.if %0 {
      vector.store %cst_2, %acc[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32> loc("tests/tests/../../examples/matmul.rs":23:13)
    } loc("tests/tests/../../examples/matmul.rs":22:5)
    %1 = arith.muli %i, %cst_3 : i32 loc("tests/tests/../../examples/matmul.rs":25:18)
    %2 = arith.subi %cst_4, %1 : i32 loc("tests/tests/../../examples/matmul.rs":25:18)
    %3 = vector.broadcast %2 : i32 to vector<128x128xi32> loc("tests/tests/../../examples/matmul.rs":25:18)
    %4 = tpu.iota {dimensions = array<i32: 0>} : vector<128x128xi32> loc("tests/tests/../../examples/matmul.rs":25:18)
    %5 = arith.cmpi slt, %4, %3 : vector<128x128xi32> loc("tests/tests/../../examples/matmul.rs":25:18)
    %6 = arith.muli %kk, %cst_3 : i32 loc("tests/tests/../../examples/matmul.rs":25:18)
    %7 = arith.subi %cst_5, %6 : i32 loc("tests/tests/../../examples/matmul.rs":25:18)
    %8 = vector.broadcast %7 : i32 to vector<128x128xi32> loc("tests/tests/../../examples/matmul.rs":25:18)
    %9 = tpu.iota {dimensions = array<i32: 1>} : vector<128x128xi32> loc("tests/tests/../../examples/matmul.rs":25:18)
    %10 = arith.cmpi slt, %9, %8 : vector<128x128xi32> loc("tests/tests/../../examples/matmul.rs":25:18)
    %11 = arith.andi %5, %10 : vector<128x128xi1> loc("tests/tests/../../examples/matmul.rs":25:18)
    %12 = vector.load %x[%c0, %c0] : memref<128x128xbf16, #tpu.memory_space<vmem>>, vector<128x128xbf16> loc("tests/tests/../../examples/matmul.rs":25:18)
    %13 = arith.extf %12 : vector<128x128xbf16> to vector<128x128xf32> loc("tests/tests/mosaic.rs":47:43)
    %14 = arith.select %11, %13, %cst_2 : vector<128x128xi1>, vector<128x128xf32> loc("tests/tests/../../examples/matmul.rs":25:18)
    %15 = arith.cmpi slt, %4, %8 : vector<128x128xi32> loc("tests/tests/../../examples/matmul.rs":25:34)
    %16 = arith.muli %j, %cst_3 : i32 loc("tests/tests/../../examples/matmul.rs":25:34)
    %17 = arith.subi %cst_6, %16 : i32 loc("tests/tests/../../examples/matmul.rs":25:34)
    %18 = vector.broadcast %17 : i32 to vector<128x128xi32> loc("tests/tests/../../examples/matmul.rs":25:34)
    %19 = arith.cmpi slt, %9, %18 : vector<128x128xi32> loc("tests/tests/../../examples/matmul.rs":25:34)
    %20 = arith.andi %15, %19 : vector<128x128xi1> loc("tests/tests/../../examples/matmul.rs":25:34)
    %21 = vector.load %w[%c0, %c0] : memref<128x128xbf16, #tpu.memory_space<vmem>>, vector<128x128xbf16> loc("tests/tests/../../examples/matmul.rs":25:34)
    %22 = arith.extf %21 : vector<128x128xbf16> to vector<128x128xf32> loc("tests/tests/mosaic.rs":46:43)
    %23 = arith.mulf %22, %cst_7 : vector<128x128xf32> loc("tests/tests/mosaic.rs":46:41)
    %24 = arith.select %20, %23, %cst_2 : vector<128x128xi1>, vector<128x128xf32> loc("tests/tests/../../examples/matmul.rs":25:34)
    %25 = tpu.matmul %14, %24, %cst_2 {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<128x128xf32>, vector<128x128xf32>, vector<128x128xf32> -> vector<128x128xf32> loc("tests/tests/../../examples/matmul.rs":25:12)
    %26 = vector.load %acc[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32> loc("tests/tests/../../examples/matmul.rs":25:5)
    %27 = arith.addf %26, %25 : vector<128x128xf32> loc("tests/tests/../../examples/matmul.rs":25:5)
    vector.store %27, %acc[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32> loc("tests/tests/../../examples/matmul.rs":25:5)
    %28 = arith.subi %cst_8, %cst_9 : i32 loc("tests/tests/../../examples/matmul.rs":26:14)
    %29 = arith.cmpi eq, %kk, %28 : i32 loc("tests/tests/../../examples/matmul.rs":26:11)
    scf.if %29 {
      %30 = vector.load %acc[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32> loc("tests/tests/../../examples/matmul.rs":27:21)
      %31 = math.tanh %30 : vector<128x128xf32> loc("tests/tests/mosaic.rs":48:44)
      %32 = arith.addf %31, %cst_10 : vector<128x128xf32> loc("tests/tests/mosaic.rs":48:41)
      %33 = arith.truncf %32 : vector<128x128xf32> to vector<128x128xbf16> loc("tests/tests/mosaic.rs":48:58)
      vector.store %33, %o[%c0, %c0] : memref<128x128xbf16, #tpu.memory_space<vmem>>, vector<128x128xbf16> loc("tests/tests/../../examples/matmul.rs":27:11)
    } loc("tests/tests/../../examples/matmul.rs":26:5)
    return
  }
  func.func @map_x(%batch: i32, %i: i32, %j: i32, %kk: i32) -> (i32, i32, i32) {
    return %batch, %i, %kk : i32, i32, i32
  }
  func.func @map_w(%batch: i32, %i: i32, %j: i32, %kk: i32) -> (i32, i32) {
    return %kk, %j : i32, i32
  }
  func.func @map_o(%batch: i32, %i: i32, %j: i32, %kk: i32) -> (i32, i32, i32) {
    return %batch, %i, %j : i32, i32, i32
  }
}
