module {
  func.func @main(
    %head: i32,
    %i: i32,
    %q: memref<64x32xf32, #tpu.memory_space<vmem>> loc("attention_loop.rs":4:5),
    %k: memref<192x32xf32, #tpu.memory_space<vmem>> loc("attention_loop.rs":5:5),
    %v: memref<192x32xf32, #tpu.memory_space<vmem>> loc("attention_loop.rs":6:5),
    %o: memref<64x32xf32, #tpu.memory_space<vmem>> loc("attention_loop.rs":7:5)
  ) attributes {
    dimension_semantics = [#tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<parallel>],
    iteration_bounds = array<i64: 12, 3>,
    scalar_prefetch = 0 : i64,
    scratch_operands = 0 : i64,
    window_params = [
      {transform_indices = @map_q, window_bounds = array<i64: 1, 64, 32>},
      {transform_indices = @map_k, window_bounds = array<i64: 1, 192, 32>},
      {transform_indices = @map_v, window_bounds = array<i64: 1, 192, 32>},
      {transform_indices = @map_o, window_bounds = array<i64: 1, 64, 32>}
    ]
  } {
    %c0 = arith.constant 0 : index
    %cst_1 = arith.constant dense<0.17677669> : vector<64x32xf32>
    %cst_2 = arith.constant 175 : i32
    %cst_3 = arith.constant 63 : i32
    %cst_4 = arith.constant 64 : i32
    %cst_5 = arith.constant dense<0xFF800000> : vector<64x1xf32>
    %cst_6 = arith.constant dense<0.0> : vector<64x1xf32>
    %cst_7 = arith.constant dense<0.0> : vector<64x32xf32>
    %cst_8 = arith.constant 0 : i32
    %cst_9 = arith.constant 1 : i32
    %cst_10 = arith.constant dense<0.0> : vector<64x64xf32>
    %cst_11 = arith.constant dense<175> : vector<64x64xi32>
    %cst_12 = arith.constant dense<0xFF800000> : vector<64x64xf32>
    %cst_13 = arith.constant dense<0xFF800000> : vector<64xf32>
    %cst_14 = arith.constant dense<0.0> : vector<64xf32>
    %cst_15 = arith.constant dense<175> : vector<64x32xi32>
    %0 = vector.load %q[%c0, %c0] : memref<64x32xf32, #tpu.memory_space<vmem>>, vector<64x32xf32> loc("attention_loop.rs":9:5)
    %1 = arith.mulf %0, %cst_1 : vector<64x32xf32> loc("attention_loop.rs":12:5)
    %2 = arith.addi %cst_2, %cst_3 : i32 loc("attention_loop.rs":24:5)
    %3 = arith.divsi %2, %cst_4 : i32 loc("attention_loop.rs":25:5)
    %4, %5, %6 = scf.for %7 = %cst_8 to %3 step %cst_9 iter_args(%8 = %cst_5, %9 = %cst_6, %10 = %cst_7) -> (vector<64x1xf32>, vector<64x1xf32>, vector<64x32xf32>) : i32 {
      %11 = arith.muli %7, %cst_4 : i32 loc("attention_loop.rs":26:5)
      %12 = tpu.assume_multiple %11, 64 : i32 loc("attention_loop.rs":27:5)
      %13 = arith.index_cast %12 : i32 to index loc("attention_loop.rs":27:5)
      %14 = vector.load %k[%13, %c0] : memref<192x32xf32, #tpu.memory_space<vmem>>, vector<64x32xf32> loc("attention_loop.rs":27:5)
      %15 = tpu.assume_multiple %11, 64 : i32 loc("attention_loop.rs":28:5)
      %16 = arith.index_cast %15 : i32 to index loc("attention_loop.rs":28:5)
      %17 = vector.load %v[%16, %c0] : memref<192x32xf32, #tpu.memory_space<vmem>>, vector<64x32xf32> loc("attention_loop.rs":28:5)
      %18 = tpu.matmul %1, %14, %cst_10 {dimension_numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, transpose_lhs_hint = false, precision = #tpu.contract_precision<fp32>} : vector<64x32xf32>, vector<64x32xf32>, vector<64x64xf32> -> vector<64x64xf32> loc("attention_loop.rs":29:5)
      %19 = tpu.iota {dimensions = array<i32: 1>} : vector<64x64xi32> loc("attention_loop.rs":30:5)
      %20 = vector.broadcast %11 : i32 to vector<64x64xi32> loc("attention_loop.rs":31:5)
      %21 = arith.addi %19, %20 : vector<64x64xi32> loc("attention_loop.rs":32:5)
      %22 = arith.cmpi slt, %21, %cst_11 : vector<64x64xi32> loc("attention_loop.rs":35:5)
      %23 = arith.select %22, %18, %cst_12 : vector<64x64xi1>, vector<64x64xf32> loc("attention_loop.rs":38:5)
      %24 = vector.multi_reduction <maximumf>, %23, %cst_13 [1] : vector<64x64xf32> to vector<64xf32> loc("attention_loop.rs":39:5)
      %25 = vector.shape_cast %24 : vector<64xf32> to vector<64x1xf32> loc("attention_loop.rs":39:5)
      %26 = arith.maximumf %8, %25 : vector<64x1xf32> loc("attention_loop.rs":40:5)
      %27 = vector.broadcast %26 : vector<64x1xf32> to vector<64x64xf32> loc("attention_loop.rs":41:5)
      %28 = arith.subf %23, %27 : vector<64x64xf32> loc("attention_loop.rs":42:5)
      %29 = math.exp %28 : vector<64x64xf32> loc("attention_loop.rs":43:5)
      %30 = arith.subf %8, %26 : vector<64x1xf32> loc("attention_loop.rs":44:5)
      %31 = math.exp %30 : vector<64x1xf32> loc("attention_loop.rs":45:5)
      %32 = vector.multi_reduction <add>, %29, %cst_14 [1] : vector<64x64xf32> to vector<64xf32> loc("attention_loop.rs":46:5)
      %33 = vector.shape_cast %32 : vector<64xf32> to vector<64x1xf32> loc("attention_loop.rs":46:5)
      %34 = arith.mulf %9, %31 : vector<64x1xf32> loc("attention_loop.rs":47:5)
      %35 = arith.addf %34, %33 : vector<64x1xf32> loc("attention_loop.rs":48:5)
      %36 = tpu.iota {dimensions = array<i32: 0>} : vector<64x32xi32> loc("attention_loop.rs":49:5)
      %37 = vector.broadcast %11 : i32 to vector<64x32xi32> loc("attention_loop.rs":50:5)
      %38 = arith.addi %36, %37 : vector<64x32xi32> loc("attention_loop.rs":51:5)
      %39 = arith.cmpi slt, %38, %cst_15 : vector<64x32xi32> loc("attention_loop.rs":54:5)
      %40 = arith.select %39, %17, %cst_7 : vector<64x32xi1>, vector<64x32xf32> loc("attention_loop.rs":57:5)
      %41 = tpu.matmul %29, %40, %cst_7 {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false, precision = #tpu.contract_precision<fp32>} : vector<64x64xf32>, vector<64x32xf32>, vector<64x32xf32> -> vector<64x32xf32> loc("attention_loop.rs":58:5)
      %42 = vector.broadcast %31 : vector<64x1xf32> to vector<64x32xf32> loc("attention_loop.rs":59:5)
      %43 = arith.mulf %10, %42 : vector<64x32xf32> loc("attention_loop.rs":60:5)
      %44 = arith.addf %43, %41 : vector<64x32xf32> loc("attention_loop.rs":61:5)
      scf.yield %26, %35, %44 : vector<64x1xf32>, vector<64x1xf32>, vector<64x32xf32> loc("attention_loop.rs":61:5)
    } loc("attention_loop.rs":62:5)
    %45 = vector.broadcast %5 : vector<64x1xf32> to vector<64x32xf32> loc("attention_loop.rs":63:5)
    %46 = arith.divf %6, %45 : vector<64x32xf32> loc("attention_loop.rs":64:5)
    vector.store %46, %o[%c0, %c0] : memref<64x32xf32, #tpu.memory_space<vmem>>, vector<64x32xf32> loc("attention_loop.rs":66:5)
    return
  }
  func.func @map_q(%head: i32, %i: i32) -> (i32, i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %head, %i, %cst_0 : i32, i32, i32
  }
  func.func @map_k(%head: i32, %i: i32) -> (i32, i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %head, %cst_0, %cst_0 : i32, i32, i32
  }
  func.func @map_v(%head: i32, %i: i32) -> (i32, i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %head, %cst_0, %cst_0 : i32, i32, i32
  }
  func.func @map_o(%head: i32, %i: i32) -> (i32, i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %head, %i, %cst_0 : i32, i32, i32
  }
}
