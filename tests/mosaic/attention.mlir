module {
  func.func @main(
    %head: i32,
    %i: i32,
    %j: i32,
    %q: memref<64x32xf32, #tpu.memory_space<vmem>>,
    %k: memref<64x32xf32, #tpu.memory_space<vmem>>,
    %v: memref<64x32xf32, #tpu.memory_space<vmem>>,
    %o: memref<64x32xf32, #tpu.memory_space<vmem>>,
    %max: memref<64x1xf32, #tpu.memory_space<vmem>>,
    %sum: memref<64x1xf32, #tpu.memory_space<vmem>>,
    %acc: memref<64x32xf32, #tpu.memory_space<vmem>>
  ) attributes {
    dimension_semantics = [#tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<arbitrary>],
    iteration_bounds = array<i64: 12, 3, 3>,
    scalar_prefetch = 0 : i64,
    scratch_operands = 3 : i64,
    window_params = [
      {transform_indices = @map_q, window_bounds = array<i64: 1, 64, 32>},
      {transform_indices = @map_k, window_bounds = array<i64: 1, 64, 32>},
      {transform_indices = @map_v, window_bounds = array<i64: 1, 64, 32>},
      {transform_indices = @map_o, window_bounds = array<i64: 1, 64, 32>}
    ]
  } {
    %cst_0 = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %cst_2 = arith.constant dense<0xFF800000> : vector<64x1xf32>
    %cst_3 = arith.constant dense<0.0> : vector<64x1xf32>
    %cst_4 = arith.constant dense<0.0> : vector<64x32xf32>
    %cst_5 = arith.constant 64 : i32
    %cst_6 = arith.constant dense<0.17677669> : vector<64x32xf32>
    %cst_7 = arith.constant dense<0.0> : vector<64x64xf32>
    %cst_8 = arith.constant dense<175> : vector<64x64xi32>
    %cst_9 = arith.constant dense<0xFF800000> : vector<64x64xf32>
    %cst_10 = arith.constant dense<0xFF800000> : vector<64xf32>
    %cst_11 = arith.constant dense<0.0> : vector<64xf32>
    %cst_12 = arith.constant dense<175> : vector<64x32xi32>
    %cst_13 = arith.constant 3 : i32
    %cst_14 = arith.constant 1 : i32
    %0 = arith.cmpi eq, %j, %cst_0 : i32 loc("attention.rs":14:5)
    scf.if %0 {
      vector.store %cst_2, %max[%c0, %c0] : memref<64x1xf32, #tpu.memory_space<vmem>>, vector<64x1xf32> loc("attention.rs":18:5)
      vector.store %cst_3, %sum[%c0, %c0] : memref<64x1xf32, #tpu.memory_space<vmem>>, vector<64x1xf32> loc("attention.rs":22:5)
      vector.store %cst_4, %acc[%c0, %c0] : memref<64x32xf32, #tpu.memory_space<vmem>>, vector<64x32xf32> loc("attention.rs":26:5)
    } loc("attention.rs":27:5)
    %1 = arith.muli %j, %cst_5 : i32 loc("attention.rs":30:5)
    %2 = vector.load %q[%c0, %c0] : memref<64x32xf32, #tpu.memory_space<vmem>>, vector<64x32xf32> loc("attention.rs":32:5)
    %3 = arith.mulf %2, %cst_6 : vector<64x32xf32> loc("attention.rs":35:5)
    %4 = vector.load %k[%c0, %c0] : memref<64x32xf32, #tpu.memory_space<vmem>>, vector<64x32xf32> loc("attention.rs":37:5)
    %5 = vector.load %v[%c0, %c0] : memref<64x32xf32, #tpu.memory_space<vmem>>, vector<64x32xf32> loc("attention.rs":39:5)
    %6 = vector.load %max[%c0, %c0] : memref<64x1xf32, #tpu.memory_space<vmem>>, vector<64x1xf32> loc("attention.rs":41:5)
    %7 = vector.load %sum[%c0, %c0] : memref<64x1xf32, #tpu.memory_space<vmem>>, vector<64x1xf32> loc("attention.rs":43:5)
    %8 = vector.load %acc[%c0, %c0] : memref<64x32xf32, #tpu.memory_space<vmem>>, vector<64x32xf32> loc("attention.rs":45:5)
    %9 = tpu.matmul %3, %4, %cst_7 {dimension_numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, transpose_lhs_hint = false, precision = #tpu.contract_precision<fp32>} : vector<64x32xf32>, vector<64x32xf32>, vector<64x64xf32> -> vector<64x64xf32> loc("attention.rs":46:5)
    %10 = tpu.iota {dimensions = array<i32: 1>} : vector<64x64xi32> loc("attention.rs":47:5)
    %11 = vector.broadcast %1 : i32 to vector<64x64xi32> loc("attention.rs":48:5)
    %12 = arith.addi %10, %11 : vector<64x64xi32> loc("attention.rs":49:5)
    %13 = arith.cmpi slt, %12, %cst_8 : vector<64x64xi32> loc("attention.rs":52:5)
    %14 = arith.select %13, %9, %cst_9 : vector<64x64xi1>, vector<64x64xf32> loc("attention.rs":55:5)
    %15 = vector.multi_reduction <maximumf>, %14, %cst_10 [1] : vector<64x64xf32> to vector<64xf32> loc("attention.rs":56:5)
    %16 = vector.shape_cast %15 : vector<64xf32> to vector<64x1xf32> loc("attention.rs":56:5)
    %17 = arith.maximumf %6, %16 : vector<64x1xf32> loc("attention.rs":57:5)
    %18 = vector.broadcast %17 : vector<64x1xf32> to vector<64x64xf32> loc("attention.rs":58:5)
    %19 = arith.subf %14, %18 : vector<64x64xf32> loc("attention.rs":59:5)
    %20 = math.exp %19 : vector<64x64xf32> loc("attention.rs":60:5)
    %21 = arith.subf %6, %17 : vector<64x1xf32> loc("attention.rs":61:5)
    %22 = math.exp %21 : vector<64x1xf32> loc("attention.rs":62:5)
    %23 = vector.multi_reduction <add>, %20, %cst_11 [1] : vector<64x64xf32> to vector<64xf32> loc("attention.rs":63:5)
    %24 = vector.shape_cast %23 : vector<64xf32> to vector<64x1xf32> loc("attention.rs":63:5)
    %25 = arith.mulf %7, %22 : vector<64x1xf32> loc("attention.rs":64:5)
    %26 = arith.addf %25, %24 : vector<64x1xf32> loc("attention.rs":65:5)
    %27 = tpu.iota {dimensions = array<i32: 0>} : vector<64x32xi32> loc("attention.rs":66:5)
    %28 = vector.broadcast %1 : i32 to vector<64x32xi32> loc("attention.rs":67:5)
    %29 = arith.addi %27, %28 : vector<64x32xi32> loc("attention.rs":68:5)
    %30 = arith.cmpi slt, %29, %cst_12 : vector<64x32xi32> loc("attention.rs":71:5)
    %31 = arith.select %30, %5, %cst_4 : vector<64x32xi1>, vector<64x32xf32> loc("attention.rs":74:5)
    %32 = tpu.matmul %20, %31, %cst_4 {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false, precision = #tpu.contract_precision<fp32>} : vector<64x64xf32>, vector<64x32xf32>, vector<64x32xf32> -> vector<64x32xf32> loc("attention.rs":75:5)
    %33 = vector.broadcast %22 : vector<64x1xf32> to vector<64x32xf32> loc("attention.rs":76:5)
    %34 = arith.mulf %8, %33 : vector<64x32xf32> loc("attention.rs":77:5)
    %35 = arith.addf %34, %32 : vector<64x32xf32> loc("attention.rs":78:5)
    vector.store %17, %max[%c0, %c0] : memref<64x1xf32, #tpu.memory_space<vmem>>, vector<64x1xf32> loc("attention.rs":80:5)
    vector.store %26, %sum[%c0, %c0] : memref<64x1xf32, #tpu.memory_space<vmem>>, vector<64x1xf32> loc("attention.rs":82:5)
    vector.store %35, %acc[%c0, %c0] : memref<64x32xf32, #tpu.memory_space<vmem>>, vector<64x32xf32> loc("attention.rs":84:5)
    %36 = arith.subi %cst_13, %cst_14 : i32 loc("attention.rs":87:5)
    %37 = arith.cmpi eq, %j, %36 : i32 loc("attention.rs":89:5)
    scf.if %37 {
      %38 = vector.load %acc[%c0, %c0] : memref<64x32xf32, #tpu.memory_space<vmem>>, vector<64x32xf32> loc("attention.rs":91:5)
      %39 = vector.load %sum[%c0, %c0] : memref<64x1xf32, #tpu.memory_space<vmem>>, vector<64x1xf32> loc("attention.rs":93:5)
      %40 = vector.broadcast %39 : vector<64x1xf32> to vector<64x32xf32> loc("attention.rs":94:5)
      %41 = arith.divf %38, %40 : vector<64x32xf32> loc("attention.rs":95:5)
      vector.store %41, %o[%c0, %c0] : memref<64x32xf32, #tpu.memory_space<vmem>>, vector<64x32xf32> loc("attention.rs":97:5)
    } loc("attention.rs":98:5)
    return
  }
  func.func @map_q(%head: i32, %i: i32, %j: i32) -> (i32, i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %head, %i, %cst_0 : i32, i32, i32
  }
  func.func @map_k(%head: i32, %i: i32, %j: i32) -> (i32, i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %head, %j, %cst_0 : i32, i32, i32
  }
  func.func @map_v(%head: i32, %i: i32, %j: i32) -> (i32, i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %head, %j, %cst_0 : i32, i32, i32
  }
  func.func @map_o(%head: i32, %i: i32, %j: i32) -> (i32, i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %head, %i, %cst_0 : i32, i32, i32
  }
}
