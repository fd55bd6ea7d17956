module {
  func.func @main(
    %h: i32,
    %i: i32,
    %j: i32,
    %causal: memref<1xi32, #tpu.memory_space<smem>> loc("tests/tests/../../examples/attention.rs":25:5),
    %q: memref<128x128xf32, #tpu.memory_space<vmem>> loc("tests/tests/../../examples/attention.rs":18:51),
    %k: memref<128x128xf32, #tpu.memory_space<vmem>> loc("tests/tests/../../examples/attention.rs":19:51),
    %v: memref<128x128xf32, #tpu.memory_space<vmem>> loc("tests/tests/../../examples/attention.rs":20:51),
    %o: memref<128x128xf32, #tpu.memory_space<vmem>> loc("tests/tests/../../examples/attention.rs":21:51),
    %top: memref<128x1xf32, #tpu.memory_space<vmem>> loc("tests/tests/../../examples/attention.rs":22:16),
    %sum: memref<128x1xf32, #tpu.memory_space<vmem>> loc("tests/tests/../../examples/attention.rs":23:16),
    %acc: memref<128x128xf32, #tpu.memory_space<vmem>> loc("tests/tests/../../examples/attention.rs":24:16)
  ) attributes {
    dimension_semantics = [#tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<arbitrary>],
    iteration_bounds = array<i64: 12, 2, 2>,
    scalar_prefetch = 1 : i64,
    scratch_operands = 3 : i64,
    window_params = [
      {transform_indices = @map_q, window_bounds = array<i64: 1, 128, 128>},
      {transform_indices = @map_k, window_bounds = array<i64: 1, 128, 128>},
      {transform_indices = @map_v, window_bounds = array<i64: 1, 128, 128>},
      {transform_indices = @map_o, window_bounds = array<i64: 1, 128, 128>}
    ]
  } {
    %c0 = arith.constant 0 : index
    %cst_1 = arith.constant 0 : i32
    %cst_2 = arith.constant dense<0xFF800000> : vector<128x1xf32>
    %cst_3 = arith.constant dense<0.0> : vector<128x1xf32>
    %cst_4 = arith.constant dense<0.0> : vector<128x128xf32>
    %cst_5 = arith.constant true
    %cst_6 = arith.constant 128 : i32
    %cst_7 = arith.constant 1 : i32
    %cst_8 = arith.constant 175 : i32
    %cst_9 = arith.constant dense<32> : vector<128x128xi32>
    %cst_10 = arith.constant 32 : i32
    %cst_11 = arith.constant dense<175> : vector<128x128xi32>
    %cst_12 = arith.constant dense<0> : vector<128x128xi32>
    %cst_13 = arith.constant dense<0xFF800000> : vector<128x128xf32>
    %cst_14 = arith.constant dense<0xFF800000> : vector<128xf32>
    %cst_15 = arith.constant dense<0.0> : vector<128xf32>
    %cst_16 = arith.constant 2 : i32
    %0 = memref.load %causal[%c0] : memref<1xi32, #tpu.memory_space<smem>> loc("tests/tests/../../examples/attention.rs":25:5)
    %1 = arith.cmpi ne, %0, %cst_1 : i32 loc("tests/tests/../../examples/attention.rs":25:5)
    %2 = arith.cmpi eq, %j, %cst_1 : i32 loc("tests/tests/../../examples/attention.rs":27:10)
    scf.if %2 {
      vector.store %cst_2, %top[%c0, %c0] : memref<128x1xf32, #tpu.memory_space<vmem>>, vector<128x1xf32> loc("tests/tests/../../examples/attention.rs":28:13)
      vector.store %cst_3, %sum[%c0, %c0] : memref<128x1xf32, #tpu.memory_space<vmem>>, vector<128x1xf32> loc("tests/tests/../../examples/attention.rs":29:13)
      vector.store %cst_4, %acc[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":30:13)
    } loc("tests/tests/../../examples/attention.rs":27:5)
    %3 = arith.xori %1, %cst_5 : i1 loc("tests/tests/../../examples/attention.rs":33:8)
    %4 = arith.muli %j, %cst_6 : i32 loc("tests/tests/../../examples/attention.rs":33:19)
    %5 = arith.addi %i, %cst_7 : i32 loc("tests/tests/../../examples/attention.rs":33:28)
    %6 = arith.muli %5, %cst_6 : i32 loc("tests/tests/../../examples/attention.rs":33:28)
    %7 = arith.cmpi slt, %4, %6 : i32 loc("tests/tests/../../examples/attention.rs":33:26)
    %8 = arith.ori %3, %7 : i1 loc("tests/tests/../../examples/attention.rs":33:16)
    scf.if %8 {
      %9 = arith.muli %i, %cst_6 : i32 loc("tests/tests/../../examples/attention.rs":34:28)
      %10 = arith.subi %cst_8, %9 : i32 loc("tests/tests/../../examples/attention.rs":34:28)
      %11 = vector.broadcast %10 : i32 to vector<128x128xi32> loc("tests/tests/../../examples/attention.rs":34:28)
      %12 = tpu.iota {dimensions = array<i32: 0>} : vector<128x128xi32> loc("tests/tests/../../examples/attention.rs":34:28)
      %13 = arith.cmpi slt, %12, %11 : vector<128x128xi32> loc("tests/tests/../../examples/attention.rs":34:28)
      %14 = tpu.iota {dimensions = array<i32: 1>} : vector<128x128xi32> loc("tests/tests/../../examples/attention.rs":34:28)
      %15 = arith.cmpi slt, %14, %cst_9 : vector<128x128xi32> loc("tests/tests/../../examples/attention.rs":34:28)
      %16 = arith.andi %13, %15 : vector<128x128xi1> loc("tests/tests/../../examples/attention.rs":34:28)
      %17 = vector.load %q[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":34:28)
      %18 = arith.select %16, %17, %cst_4 : vector<128x128xi1>, vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":34:28)
      %19 = arith.subi %cst_8, %4 : i32 loc("tests/tests/../../examples/attention.rs":34:44)
      %20 = vector.broadcast %19 : i32 to vector<128x128xi32> loc("tests/tests/../../examples/attention.rs":34:44)
      %21 = arith.cmpi slt, %12, %20 : vector<128x128xi32> loc("tests/tests/../../examples/attention.rs":34:44)
      %22 = arith.andi %21, %15 : vector<128x128xi1> loc("tests/tests/../../examples/attention.rs":34:44)
      %23 = vector.load %k[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":34:44)
      %24 = arith.select %22, %23, %cst_4 : vector<128x128xi1>, vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":34:44)
      %25 = tpu.matmul %18, %24, %cst_4 {dimension_numbers = #tpu.dot_dimension_numbers<[1], [1], [0], [0], [0, 0, 1, 0], [], []>, transpose_lhs_hint = false, precision = #tpu.contract_precision<fp32>} : vector<128x128xf32>, vector<128x128xf32>, vector<128x128xf32> -> vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":34:22)
      %26 = arith.sitofp %cst_10 : i32 to f32 loc("tests/tests/../../examples/attention.rs":34:66)
      %27 = math.sqrt %26 : f32 loc("tests/tests/../../examples/attention.rs":34:80)
      %28 = vector.broadcast %27 : f32 to vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":34:22)
      %29 = arith.divf %25, %28 : vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":34:22)
      %30 = vector.broadcast %9 : i32 to vector<128x128xi32> loc("tests/tests/../../examples/attention.rs":35:21)
      %31 = arith.addi %12, %30 : vector<128x128xi32> loc("tests/tests/../../examples/attention.rs":35:21)
      %32 = vector.broadcast %4 : i32 to vector<128x128xi32> loc("tests/tests/../../examples/attention.rs":36:19)
      %33 = arith.addi %14, %32 : vector<128x128xi32> loc("tests/tests/../../examples/attention.rs":36:19)
      %34 = arith.cmpi slt, %33, %cst_11 : vector<128x128xi32> loc("tests/tests/../../examples/attention.rs":37:31)
      %35 = scf.if %1 -> (vector<128x128xi32>) {
        %36 = arith.cmpi sle, %33, %31 : vector<128x128xi32> loc("tests/tests/../../examples/attention.rs":39:33)
        %37 = arith.andi %34, %36 : vector<128x128xi1> loc("tests/tests/../../examples/attention.rs":39:23)
        %38 = arith.extui %37 : vector<128x128xi1> to vector<128x128xi32> loc("tests/tests/../../examples/attention.rs":38:9)
        scf.yield %38 : vector<128x128xi32> loc("tests/tests/../../examples/attention.rs":38:9)
      } else {
        %39 = arith.extui %34 : vector<128x128xi1> to vector<128x128xi32> loc("tests/tests/../../examples/attention.rs":38:9)
        scf.yield %39 : vector<128x128xi32> loc("tests/tests/../../examples/attention.rs":38:9)
      } loc("tests/tests/../../examples/attention.rs":38:9)
      %40 = arith.cmpi ne, %35, %cst_12 : vector<128x128xi32> loc("tests/tests/../../examples/attention.rs":38:9)
      %41 = arith.select %40, %29, %cst_13 : vector<128x128xi1>, vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":41:22)
      %42 = vector.load %top[%c0, %c0] : memref<128x1xf32, #tpu.memory_space<vmem>>, vector<128x1xf32> loc("tests/tests/../../examples/attention.rs":43:27)
      %43 = vector.multi_reduction <maximumf>, %41, %cst_14 [1] : vector<128x128xf32> to vector<128xf32> loc("tests/tests/../../examples/attention.rs":43:49)
      %44 = vector.shape_cast %43 : vector<128xf32> to vector<128x1xf32> loc("tests/tests/../../examples/attention.rs":43:49)
      %45 = arith.maximumf %42, %44 : vector<128x1xf32> loc("tests/tests/../../examples/attention.rs":43:34)
      %46 = vector.load %top[%c0, %c0] : memref<128x1xf32, #tpu.memory_space<vmem>>, vector<128x1xf32> loc("tests/tests/../../examples/attention.rs":44:26)
      %47 = arith.subf %46, %45 : vector<128x1xf32> loc("tests/tests/../../examples/attention.rs":44:21)
      %48 = math.exp %47 : vector<128x1xf32> loc("tests/tests/../../examples/attention.rs":44:44)
      %49 = vector.broadcast %45 : vector<128x1xf32> to vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":45:23)
      %50 = arith.subf %41, %49 : vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":45:23)
      %51 = math.exp %50 : vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":45:42)
      %52 = vector.load %sum[%c0, %c0] : memref<128x1xf32, #tpu.memory_space<vmem>>, vector<128x1xf32> loc("tests/tests/../../examples/attention.rs":46:23)
      %53 = arith.mulf %52, %48 : vector<128x1xf32> loc("tests/tests/../../examples/attention.rs":46:19)
      %54 = vector.multi_reduction <add>, %51, %cst_15 [1] : vector<128x128xf32> to vector<128xf32> loc("tests/tests/../../examples/attention.rs":46:48)
      %55 = vector.shape_cast %54 : vector<128xf32> to vector<128x1xf32> loc("tests/tests/../../examples/attention.rs":46:48)
      %56 = arith.addf %53, %55 : vector<128x1xf32> loc("tests/tests/../../examples/attention.rs":46:19)
      vector.store %56, %sum[%c0, %c0] : memref<128x1xf32, #tpu.memory_space<vmem>>, vector<128x1xf32> loc("tests/tests/../../examples/attention.rs":46:13)
      %57 = vector.load %acc[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":47:23)
      %58 = vector.broadcast %48 : vector<128x1xf32> to vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":47:19)
      %59 = arith.mulf %57, %58 : vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":47:19)
      %60 = vector.load %v[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":47:55)
      %61 = arith.select %22, %60, %cst_4 : vector<128x128xi1>, vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":47:55)
      %62 = tpu.matmul %51, %61, %cst_4 {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false, precision = #tpu.contract_precision<fp32>} : vector<128x128xf32>, vector<128x128xf32>, vector<128x128xf32> -> vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":47:40)
      %63 = arith.addf %59, %62 : vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":47:19)
      vector.store %63, %acc[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":47:13)
      vector.store %45, %top[%c0, %c0] : memref<128x1xf32, #tpu.memory_space<vmem>>, vector<128x1xf32> loc("tests/tests/../../examples/attention.rs":48:13)
    } loc("tests/tests/../../examples/attention.rs":33:5)
    %64 = arith.subi %cst_16, %cst_7 : i32 loc("tests/tests/../../examples/attention.rs":50:13)
    %65 = arith.cmpi eq, %j, %64 : i32 loc("tests/tests/../../examples/attention.rs":50:10)
    scf.if %65 {
      %66 = vector.load %acc[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":51:21)
      %67 = vector.load %sum[%c0, %c0] : memref<128x1xf32, #tpu.memory_space<vmem>>, vector<128x1xf32> loc("tests/tests/../../examples/attention.rs":51:34)
      %68 = vector.broadcast %67 : vector<128x1xf32> to vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":51:17)
      %69 = arith.divf %66, %68 : vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":51:17)
      vector.store %69, %o[%c0, %c0] : memref<128x128xf32, #tpu.memory_space<vmem>>, vector<128x128xf32> loc("tests/tests/../../examples/attention.rs":51:11)
    } loc("tests/tests/../../examples/attention.rs":50:5)
    return
  }
  func.func @map_q(%h: i32, %i: i32, %j: i32, %causal: memref<1xi32, #tpu.memory_space<smem>>) -> (i32, i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %h, %i, %cst_0 : i32, i32, i32
  }
  func.func @map_k(%h: i32, %i: i32, %j: i32, %causal: memref<1xi32, #tpu.memory_space<smem>>) -> (i32, i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %h, %j, %cst_0 : i32, i32, i32
  }
  func.func @map_v(%h: i32, %i: i32, %j: i32, %causal: memref<1xi32, #tpu.memory_space<smem>>) -> (i32, i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %h, %j, %cst_0 : i32, i32, i32
  }
  func.func @map_o(%h: i32, %i: i32, %j: i32, %causal: memref<1xi32, #tpu.memory_space<smem>>) -> (i32, i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %h, %i, %cst_0 : i32, i32, i32
  }
}
