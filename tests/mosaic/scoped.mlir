module {
  func.func @main(
    %step: i32,
    %x: memref<16x128xi16, #tpu.memory_space<any>> loc("k.tpuir":2:3),
    %o: memref<16x128xi16, #tpu.memory_space<vmem>> loc("k.tpuir":3:3)
  ) attributes {
    dimension_semantics = [#tpu.dimension_semantics<arbitrary>],
    iteration_bounds = array<i64: 1>,
    scalar_prefetch = 0 : i64,
    scratch_operands = 0 : i64,
    window_params = [
      {},
      {transform_indices = @map_o, window_bounds = array<i64: 16, 128>}
    ]
  } {
    %cst_0 = arith.constant 0 : i32
    %cst_1 = arith.constant 2 : i32
    %cst_2 = arith.constant 1 : i32
    %cst_3 = arith.constant 8 : i32
    %c0 = arith.constant 0 : index
    %cst_5 = arith.constant dense<32767> : vector<1x128xi32>
    %cst_6 = arith.constant dense<32768> : vector<1x128xi32>
    %cst_7 = arith.constant dense<13> : vector<1x128xi32>
    %cst_8 = arith.constant dense<939524096> : vector<1x128xi32>
    %cst_9 = arith.constant dense<6.1035156e-5> : vector<1x128xf32>
    %cst_10 = arith.constant dense<65504.0> : vector<1x128xf32>
    %cst_11 = arith.constant dense<2139095040> : vector<1x128xi32>
    %cst_12 = arith.constant dense<0> : vector<1x128xi32>
    %cst_13 = arith.constant dense<16> : vector<1x128xi32>
    %cst_14 = arith.constant dense<2147483647> : vector<1x128xi32>
    %cst_15 = arith.constant dense<947912704> : vector<1x128xi32>
    %cst_16 = arith.constant dense<2139095039> : vector<1x128xi32>
    %cst_17 = arith.constant dense<32767> : vector<8x128xi32>
    %cst_18 = arith.constant dense<32768> : vector<8x128xi32>
    %cst_19 = arith.constant dense<13> : vector<8x128xi32>
    %cst_20 = arith.constant dense<939524096> : vector<8x128xi32>
    %cst_21 = arith.constant dense<6.1035156e-5> : vector<8x128xf32>
    %cst_22 = arith.constant dense<65504.0> : vector<8x128xf32>
    %cst_23 = arith.constant dense<2139095040> : vector<8x128xi32>
    %cst_24 = arith.constant dense<0> : vector<8x128xi32>
    %cst_25 = arith.constant dense<16> : vector<8x128xi32>
    %cst_26 = arith.constant dense<32767> : vector<1x1xi32>
    %cst_27 = arith.constant dense<32768> : vector<1x1xi32>
    %cst_28 = arith.constant dense<13> : vector<1x1xi32>
    %cst_29 = arith.constant dense<939524096> : vector<1x1xi32>
    %cst_30 = arith.constant dense<6.1035156e-5> : vector<1x1xf32>
    %cst_31 = arith.constant dense<65504.0> : vector<1x1xf32>
    %cst_32 = arith.constant dense<2139095040> : vector<1x1xi32>
    %cst_33 = arith.constant dense<0> : vector<1x1xi32>
    %cst_34 = arith.constant dense<16> : vector<1x1xi32>
    %cst_35 = arith.constant 16 : i32
    %cst_36 = arith.constant 32768 : i32
    %cst_37 = arith.constant 2147483647 : i32
    %cst_38 = arith.constant 939524096 : i32
    %cst_39 = arith.constant 6.1035156e-5 : f32
    %cst_40 = arith.constant 947912704 : i32
    %cst_41 = arith.constant 2139095039 : i32
    %cst_42 = arith.constant 13 : i32
    %cst_43 = arith.constant 32767 : i32
    %cst_44 = arith.constant 65535 : i32
    %c1 = arith.constant 1 : index
    %cst_46 = arith.constant 65504.0 : f32
    %cst_47 = arith.constant 2139095040 : i32
    %cst_48 = arith.constant dense<2147483647> : vector<8x128xi32>
    %cst_49 = arith.constant dense<947912704> : vector<8x128xi32>
    %cst_50 = arith.constant dense<2139095039> : vector<8x128xi32>
    %cst_51 = arith.constant dense<0> : vector<8x128xi16>
    %cst_52 = arith.constant 3 : i32
    %cst_53 = arith.constant dense<0> : vector<15x128xi16>
    scf.for %0 = %cst_0 to %cst_1 step %cst_2 : i32 {
      %1 = arith.muli %0, %cst_3 : i32 loc("k.tpuir":16:7)
      %2, %3, %4, %5 = "tpu.region"() ({
        %6 = memref.alloca() : memref<8x128xi16, #tpu.memory_space<vmem>> loc("k.tpuir":17:7)
        %7 = memref.alloca() : memref<2xi16, #tpu.memory_space<smem>> loc("k.tpuir":17:7)
        %8 = memref.alloca() : memref<1xi32, #tpu.memory_space<smem>> loc("k.tpuir":17:7)
        %9 = "tpu.sem_alloc"() : () -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":17:7)
        %10 = "tpu.sem_alloc"() : () -> memref<2x!tpu.semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":17:7)
        %11 = tpu.assume_multiple %1, 8 : i32 loc("k.tpuir":19:9)
        %12 = tpu.memref_slice %x[%11, %cst_0] : memref<16x128xi16, #tpu.memory_space<any>> -> memref<8x128xi16, #tpu.memory_space<any>> loc("k.tpuir":19:9)
        tpu.enqueue_dma source(%12 : memref<8x128xi16, #tpu.memory_space<any>>) target(%6 : memref<8x128xi16, #tpu.memory_space<vmem>>) target_semaphore(%9 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) loc("k.tpuir":19:9)
        %13 = tpu.assume_multiple %1, 8 : i32 loc("k.tpuir":20:9)
        %14 = tpu.memref_slice %x[%13, %cst_0] : memref<16x128xi16, #tpu.memory_space<any>> -> memref<8x128xi16, #tpu.memory_space<any>> loc("k.tpuir":20:9)
        tpu.wait_dma source(%14 : memref<8x128xi16, #tpu.memory_space<any>>) target(%6 : memref<8x128xi16, #tpu.memory_space<vmem>>) target_semaphore(%9 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {wait_target = true} loc("k.tpuir":20:9)
        %15 = vector.load %6[%c0, %c0] : memref<8x128xi16, #tpu.memory_space<vmem>>, vector<8x128xi16> loc("k.tpuir":21:9)
        %16 = arith.subi %cst_3, %0 : i32 loc("k.tpuir":21:9)
        %17 = arith.remsi %16, %cst_3 : i32 loc("k.tpuir":21:9)
        %18 = arith.cmpi slt, %17, %cst_0 : i32 loc("k.tpuir":21:9)
        %19 = arith.addi %17, %cst_3 : i32 loc("k.tpuir":21:9)
        %20 = arith.select %18, %19, %17 : i32 loc("k.tpuir":21:9)
        %21 = tpu.dynamic_rotate %15 by %20 dim 0 : vector<8x128xi16>, i32 -> vector<8x128xi16> loc("k.tpuir":21:9)
        %22 = vector.extract_strided_slice %21 offsets = [0, 0], sizes = [1, 128], strides = [1, 1] : vector<8x128xi16> to vector<1x128xi16> loc("k.tpuir":21:9)
        %23 = arith.extui %22 : vector<1x128xi16> to vector<1x128xi32> loc("k.tpuir":21:9)
        %24 = arith.andi %23, %cst_5 : vector<1x128xi32> loc("k.tpuir":21:9)
        %25 = arith.andi %23, %cst_6 : vector<1x128xi32> loc("k.tpuir":21:9)
        %26 = arith.shli %24, %cst_7 : vector<1x128xi32> loc("k.tpuir":21:9)
        %27 = arith.addi %26, %cst_8 : vector<1x128xi32> loc("k.tpuir":21:9)
        %28 = arith.bitcast %27 : vector<1x128xi32> to vector<1x128xf32> loc("k.tpuir":21:9)
        %29 = arith.addf %28, %28 : vector<1x128xf32> loc("k.tpuir":21:9)
        %30 = arith.subf %29, %cst_9 : vector<1x128xf32> loc("k.tpuir":21:9)
        %31 = arith.cmpf olt, %28, %30 : vector<1x128xf32> loc("k.tpuir":21:9)
        %32 = arith.select %31, %28, %30 : vector<1x128xi1>, vector<1x128xf32> loc("k.tpuir":21:9)
        %33 = arith.cmpf olt, %cst_10, %32 : vector<1x128xf32> loc("k.tpuir":21:9)
        %34 = arith.select %33, %cst_11, %cst_12 : vector<1x128xi1>, vector<1x128xi32> loc("k.tpuir":21:9)
        %35 = arith.bitcast %32 : vector<1x128xf32> to vector<1x128xi32> loc("k.tpuir":21:9)
        %36 = arith.ori %35, %34 : vector<1x128xi32> loc("k.tpuir":21:9)
        %37 = arith.shli %25, %cst_13 : vector<1x128xi32> loc("k.tpuir":21:9)
        %38 = arith.ori %36, %37 : vector<1x128xi32> loc("k.tpuir":21:9)
        %39 = arith.bitcast %38 : vector<1x128xi32> to vector<1x128xf32> loc("k.tpuir":21:9)
        %40 = arith.bitcast %39 : vector<1x128xf32> to vector<1x128xi32> loc("k.tpuir":23:9)
        %41 = arith.shrui %40, %cst_13 : vector<1x128xi32> loc("k.tpuir":23:9)
        %42 = arith.andi %41, %cst_6 : vector<1x128xi32> loc("k.tpuir":23:9)
        %43 = arith.andi %40, %cst_14 : vector<1x128xi32> loc("k.tpuir":23:9)
        %44 = arith.subi %43, %cst_8 : vector<1x128xi32> loc("k.tpuir":23:9)
        %45 = arith.bitcast %43 : vector<1x128xi32> to vector<1x128xf32> loc("k.tpuir":23:9)
        %46 = arith.addf %45, %cst_9 : vector<1x128xf32> loc("k.tpuir":23:9)
        %47 = arith.bitcast %46 : vector<1x128xf32> to vector<1x128xi32> loc("k.tpuir":23:9)
        %48 = arith.subi %47, %cst_15 : vector<1x128xi32> loc("k.tpuir":23:9)
        %49 = arith.maxsi %44, %48 : vector<1x128xi32> loc("k.tpuir":23:9)
        %50 = arith.cmpi ult, %cst_16, %43 : vector<1x128xi32> loc("k.tpuir":23:9)
        %51 = arith.select %50, %43, %49 : vector<1x128xi1>, vector<1x128xi32> loc("k.tpuir":23:9)
        %52 = arith.shrui %51, %cst_7 : vector<1x128xi32> loc("k.tpuir":23:9)
        %53 = arith.andi %52, %cst_5 : vector<1x128xi32> loc("k.tpuir":23:9)
        %54 = arith.ori %53, %42 : vector<1x128xi32> loc("k.tpuir":23:9)
        %55 = arith.trunci %54 : vector<1x128xi32> to vector<1x128xi16> loc("k.tpuir":23:9)
        vector.store %55, %6[%c0, %c0] : memref<8x128xi16, #tpu.memory_space<vmem>>, vector<1x128xi16> loc("k.tpuir":23:9)
        %56 = vector.load %6[%c0, %c0] : memref<8x128xi16, #tpu.memory_space<vmem>>, vector<8x128xi16> loc("k.tpuir":24:9)
        %57 = arith.extui %56 : vector<8x128xi16> to vector<8x128xi32> loc("k.tpuir":24:9)
        %58 = arith.andi %57, %cst_17 : vector<8x128xi32> loc("k.tpuir":24:9)
        %59 = arith.andi %57, %cst_18 : vector<8x128xi32> loc("k.tpuir":24:9)
        %60 = arith.shli %58, %cst_19 : vector<8x128xi32> loc("k.tpuir":24:9)
        %61 = arith.addi %60, %cst_20 : vector<8x128xi32> loc("k.tpuir":24:9)
        %62 = arith.bitcast %61 : vector<8x128xi32> to vector<8x128xf32> loc("k.tpuir":24:9)
        %63 = arith.addf %62, %62 : vector<8x128xf32> loc("k.tpuir":24:9)
        %64 = arith.subf %63, %cst_21 : vector<8x128xf32> loc("k.tpuir":24:9)
        %65 = arith.cmpf olt, %62, %64 : vector<8x128xf32> loc("k.tpuir":24:9)
        %66 = arith.select %65, %62, %64 : vector<8x128xi1>, vector<8x128xf32> loc("k.tpuir":24:9)
        %67 = arith.cmpf olt, %cst_22, %66 : vector<8x128xf32> loc("k.tpuir":24:9)
        %68 = arith.select %67, %cst_23, %cst_24 : vector<8x128xi1>, vector<8x128xi32> loc("k.tpuir":24:9)
        %69 = arith.bitcast %66 : vector<8x128xf32> to vector<8x128xi32> loc("k.tpuir":24:9)
        %70 = arith.ori %69, %68 : vector<8x128xi32> loc("k.tpuir":24:9)
        %71 = arith.shli %59, %cst_25 : vector<8x128xi32> loc("k.tpuir":24:9)
        %72 = arith.ori %70, %71 : vector<8x128xi32> loc("k.tpuir":24:9)
        %73 = arith.bitcast %72 : vector<8x128xi32> to vector<8x128xf32> loc("k.tpuir":24:9)
        %74 = vector.load %6[%c0, %c0] : memref<8x128xi16, #tpu.memory_space<vmem>>, vector<1x1xi16> loc("k.tpuir":25:9)
        %75 = arith.extui %74 : vector<1x1xi16> to vector<1x1xi32> loc("k.tpuir":25:9)
        %76 = arith.andi %75, %cst_26 : vector<1x1xi32> loc("k.tpuir":25:9)
        %77 = arith.andi %75, %cst_27 : vector<1x1xi32> loc("k.tpuir":25:9)
        %78 = arith.shli %76, %cst_28 : vector<1x1xi32> loc("k.tpuir":25:9)
        %79 = arith.addi %78, %cst_29 : vector<1x1xi32> loc("k.tpuir":25:9)
        %80 = arith.bitcast %79 : vector<1x1xi32> to vector<1x1xf32> loc("k.tpuir":25:9)
        %81 = arith.addf %80, %80 : vector<1x1xf32> loc("k.tpuir":25:9)
        %82 = arith.subf %81, %cst_30 : vector<1x1xf32> loc("k.tpuir":25:9)
        %83 = arith.cmpf olt, %80, %82 : vector<1x1xf32> loc("k.tpuir":25:9)
        %84 = arith.select %83, %80, %82 : vector<1x1xi1>, vector<1x1xf32> loc("k.tpuir":25:9)
        %85 = arith.cmpf olt, %cst_31, %84 : vector<1x1xf32> loc("k.tpuir":25:9)
        %86 = arith.select %85, %cst_32, %cst_33 : vector<1x1xi1>, vector<1x1xi32> loc("k.tpuir":25:9)
        %87 = arith.bitcast %84 : vector<1x1xf32> to vector<1x1xi32> loc("k.tpuir":25:9)
        %88 = arith.ori %87, %86 : vector<1x1xi32> loc("k.tpuir":25:9)
        %89 = arith.shli %77, %cst_34 : vector<1x1xi32> loc("k.tpuir":25:9)
        %90 = arith.ori %88, %89 : vector<1x1xi32> loc("k.tpuir":25:9)
        %91 = arith.bitcast %90 : vector<1x1xi32> to vector<1x1xf32> loc("k.tpuir":25:9)
        %92 = vector.extract %91[0, 0] : f32 from vector<1x1xf32> loc("k.tpuir":26:9)
        %93 = arith.bitcast %92 : f32 to i32 loc("k.tpuir":27:9)
        %94 = arith.shrui %93, %cst_35 : i32 loc("k.tpuir":27:9)
        %95 = arith.andi %94, %cst_36 : i32 loc("k.tpuir":27:9)
        %96 = arith.andi %93, %cst_37 : i32 loc("k.tpuir":27:9)
        %97 = arith.subi %96, %cst_38 : i32 loc("k.tpuir":27:9)
        %98 = arith.bitcast %96 : i32 to f32 loc("k.tpuir":27:9)
        %99 = arith.addf %98, %cst_39 : f32 loc("k.tpuir":27:9)
        %100 = arith.bitcast %99 : f32 to i32 loc("k.tpuir":27:9)
        %101 = arith.subi %100, %cst_40 : i32 loc("k.tpuir":27:9)
        %102 = arith.maxsi %97, %101 : i32 loc("k.tpuir":27:9)
        %103 = arith.cmpi ult, %cst_41, %96 : i32 loc("k.tpuir":27:9)
        %104 = arith.select %103, %96, %102 : i32 loc("k.tpuir":27:9)
        %105 = arith.shrui %104, %cst_42 : i32 loc("k.tpuir":27:9)
        %106 = arith.andi %105, %cst_43 : i32 loc("k.tpuir":27:9)
        %107 = arith.ori %106, %95 : i32 loc("k.tpuir":27:9)
        %108 = arith.andi %107, %cst_44 : i32 loc("k.tpuir":27:9)
        %109 = arith.trunci %108 : i32 to i16 loc("k.tpuir":27:9)
        memref.store %109, %7[%c1] : memref<2xi16, #tpu.memory_space<smem>> loc("k.tpuir":27:9)
        %110 = memref.load %7[%c1] : memref<2xi16, #tpu.memory_space<smem>> loc("k.tpuir":28:9)
        %111 = arith.extui %110 : i16 to i32 loc("k.tpuir":28:9)
        %112 = arith.andi %111, %cst_43 : i32 loc("k.tpuir":28:9)
        %113 = arith.andi %111, %cst_36 : i32 loc("k.tpuir":28:9)
        %114 = arith.shli %112, %cst_42 : i32 loc("k.tpuir":28:9)
        %115 = arith.addi %114, %cst_38 : i32 loc("k.tpuir":28:9)
        %116 = arith.bitcast %115 : i32 to f32 loc("k.tpuir":28:9)
        %117 = arith.addf %116, %116 : f32 loc("k.tpuir":28:9)
        %118 = arith.subf %117, %cst_39 : f32 loc("k.tpuir":28:9)
        %119 = arith.cmpf olt, %116, %118 : f32 loc("k.tpuir":28:9)
        %120 = arith.select %119, %116, %118 : f32 loc("k.tpuir":28:9)
        %121 = arith.cmpf olt, %cst_46, %120 : f32 loc("k.tpuir":28:9)
        %122 = arith.select %121, %cst_47, %cst_0 : i32 loc("k.tpuir":28:9)
        %123 = arith.bitcast %120 : f32 to i32 loc("k.tpuir":28:9)
        %124 = arith.ori %123, %122 : i32 loc("k.tpuir":28:9)
        %125 = arith.shli %113, %cst_35 : i32 loc("k.tpuir":28:9)
        %126 = arith.ori %124, %125 : i32 loc("k.tpuir":28:9)
        %127 = arith.bitcast %126 : i32 to f32 loc("k.tpuir":28:9)
        memref.store %1, %8[%c0] : memref<1xi32, #tpu.memory_space<smem>> loc("k.tpuir":29:9)
        %128 = memref.load %8[%c0] : memref<1xi32, #tpu.memory_space<smem>> loc("k.tpuir":30:9)
        %129 = tpu.memref_slice %10[%0] : memref<2x!tpu.semaphore, #tpu.memory_space<semaphore_mem>> -> memref<1x!tpu.semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":31:9)
        %130 = tpu.memref_squeeze %129 : memref<1x!tpu.semaphore, #tpu.memory_space<semaphore_mem>> -> memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":31:9)
        tpu.sem_signal %130, %cst_2 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":32:9)
        tpu.sem_wait %130, %cst_2 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":33:9)
        %131 = arith.cmpi eq, %128, %1 : i32 loc("k.tpuir":34:9)
        "tpu.yield"(%73, %128, %131, %127) : (vector<8x128xf32>, i32, i1, f32) -> () loc("k.tpuir":17:7)
      }) : () -> (vector<8x128xf32>, i32, i1, f32) loc("k.tpuir":17:7)
      scf.if %4 {
        %132 = arith.bitcast %2 : vector<8x128xf32> to vector<8x128xi32> loc("k.tpuir":38:9)
        %133 = arith.shrui %132, %cst_25 : vector<8x128xi32> loc("k.tpuir":38:9)
        %134 = arith.andi %133, %cst_18 : vector<8x128xi32> loc("k.tpuir":38:9)
        %135 = arith.andi %132, %cst_48 : vector<8x128xi32> loc("k.tpuir":38:9)
        %136 = arith.subi %135, %cst_20 : vector<8x128xi32> loc("k.tpuir":38:9)
        %137 = arith.bitcast %135 : vector<8x128xi32> to vector<8x128xf32> loc("k.tpuir":38:9)
        %138 = arith.addf %137, %cst_21 : vector<8x128xf32> loc("k.tpuir":38:9)
        %139 = arith.bitcast %138 : vector<8x128xf32> to vector<8x128xi32> loc("k.tpuir":38:9)
        %140 = arith.subi %139, %cst_49 : vector<8x128xi32> loc("k.tpuir":38:9)
        %141 = arith.maxsi %136, %140 : vector<8x128xi32> loc("k.tpuir":38:9)
        %142 = arith.cmpi ult, %cst_50, %135 : vector<8x128xi32> loc("k.tpuir":38:9)
        %143 = arith.select %142, %135, %141 : vector<8x128xi1>, vector<8x128xi32> loc("k.tpuir":38:9)
        %144 = arith.shrui %143, %cst_19 : vector<8x128xi32> loc("k.tpuir":38:9)
        %145 = arith.andi %144, %cst_17 : vector<8x128xi32> loc("k.tpuir":38:9)
        %146 = arith.ori %145, %134 : vector<8x128xi32> loc("k.tpuir":38:9)
        %147 = arith.trunci %146 : vector<8x128xi32> to vector<8x128xi16> loc("k.tpuir":38:9)
        %148 = vector.load %o[%c0, %c0] : memref<16x128xi16, #tpu.memory_space<vmem>>, vector<16x128xi16> loc("k.tpuir":38:9)
        %149 = tpu.concatenate %147, %cst_51 in 0 : vector<8x128xi16>, vector<8x128xi16> -> vector<16x128xi16> loc("k.tpuir":38:9)
        %150 = arith.remsi %3, %cst_35 : i32 loc("k.tpuir":38:9)
        %151 = arith.cmpi slt, %150, %cst_0 : i32 loc("k.tpuir":38:9)
        %152 = arith.addi %150, %cst_35 : i32 loc("k.tpuir":38:9)
        %153 = arith.select %151, %152, %150 : i32 loc("k.tpuir":38:9)
        %154 = tpu.dynamic_rotate %149 by %153 dim 0 : vector<16x128xi16>, i32 -> vector<16x128xi16> loc("k.tpuir":38:9)
        %155 = arith.addi %3, %cst_3 : i32 loc("k.tpuir":38:9)
        %156 = tpu.iota {dimensions = array<i32: 0>} : vector<16x128xi32> loc("k.tpuir":38:9)
        %157 = vector.broadcast %3 : i32 to vector<16x128xi32> loc("k.tpuir":38:9)
        %158 = vector.broadcast %155 : i32 to vector<16x128xi32> loc("k.tpuir":38:9)
        %159 = arith.cmpi sge, %156, %157 : vector<16x128xi32> loc("k.tpuir":38:9)
        %160 = arith.cmpi slt, %156, %158 : vector<16x128xi32> loc("k.tpuir":38:9)
        %161 = arith.andi %159, %160 : vector<16x128xi1> loc("k.tpuir":38:9)
        %162 = arith.select %161, %154, %148 : vector<16x128xi1>, vector<16x128xi16> loc("k.tpuir":38:9)
        vector.store %162, %o[%c0, %c0] : memref<16x128xi16, #tpu.memory_space<vmem>>, vector<16x128xi16> loc("k.tpuir":38:9)
        %163 = vector.broadcast %5 : f32 to vector<1x128xf32> loc("k.tpuir":39:9)
        %164 = arith.addi %3, %cst_52 : i32 loc("k.tpuir":40:9)
        %165 = arith.bitcast %163 : vector<1x128xf32> to vector<1x128xi32> loc("k.tpuir":41:9)
        %166 = arith.shrui %165, %cst_13 : vector<1x128xi32> loc("k.tpuir":41:9)
        %167 = arith.andi %166, %cst_6 : vector<1x128xi32> loc("k.tpuir":41:9)
        %168 = arith.andi %165, %cst_14 : vector<1x128xi32> loc("k.tpuir":41:9)
        %169 = arith.subi %168, %cst_8 : vector<1x128xi32> loc("k.tpuir":41:9)
        %170 = arith.bitcast %168 : vector<1x128xi32> to vector<1x128xf32> loc("k.tpuir":41:9)
        %171 = arith.addf %170, %cst_9 : vector<1x128xf32> loc("k.tpuir":41:9)
        %172 = arith.bitcast %171 : vector<1x128xf32> to vector<1x128xi32> loc("k.tpuir":41:9)
        %173 = arith.subi %172, %cst_15 : vector<1x128xi32> loc("k.tpuir":41:9)
        %174 = arith.maxsi %169, %173 : vector<1x128xi32> loc("k.tpuir":41:9)
        %175 = arith.cmpi ult, %cst_16, %168 : vector<1x128xi32> loc("k.tpuir":41:9)
        %176 = arith.select %175, %168, %174 : vector<1x128xi1>, vector<1x128xi32> loc("k.tpuir":41:9)
        %177 = arith.shrui %176, %cst_7 : vector<1x128xi32> loc("k.tpuir":41:9)
        %178 = arith.andi %177, %cst_5 : vector<1x128xi32> loc("k.tpuir":41:9)
        %179 = arith.ori %178, %167 : vector<1x128xi32> loc("k.tpuir":41:9)
        %180 = arith.trunci %179 : vector<1x128xi32> to vector<1x128xi16> loc("k.tpuir":41:9)
        %181 = vector.load %o[%c0, %c0] : memref<16x128xi16, #tpu.memory_space<vmem>>, vector<16x128xi16> loc("k.tpuir":41:9)
        %182 = tpu.concatenate %180, %cst_53 in 0 : vector<1x128xi16>, vector<15x128xi16> -> vector<16x128xi16> loc("k.tpuir":41:9)
        %183 = arith.remsi %164, %cst_35 : i32 loc("k.tpuir":41:9)
        %184 = arith.cmpi slt, %183, %cst_0 : i32 loc("k.tpuir":41:9)
        %185 = arith.addi %183, %cst_35 : i32 loc("k.tpuir":41:9)
        %186 = arith.select %184, %185, %183 : i32 loc("k.tpuir":41:9)
        %187 = tpu.dynamic_rotate %182 by %186 dim 0 : vector<16x128xi16>, i32 -> vector<16x128xi16> loc("k.tpuir":41:9)
        %188 = arith.addi %164, %cst_2 : i32 loc("k.tpuir":41:9)
        %189 = vector.broadcast %164 : i32 to vector<16x128xi32> loc("k.tpuir":41:9)
        %190 = vector.broadcast %188 : i32 to vector<16x128xi32> loc("k.tpuir":41:9)
        %191 = arith.cmpi sge, %156, %189 : vector<16x128xi32> loc("k.tpuir":41:9)
        %192 = arith.cmpi slt, %156, %190 : vector<16x128xi32> loc("k.tpuir":41:9)
        %193 = arith.andi %191, %192 : vector<16x128xi1> loc("k.tpuir":41:9)
        %194 = arith.select %193, %187, %181 : vector<16x128xi1>, vector<16x128xi16> loc("k.tpuir":41:9)
        vector.store %194, %o[%c0, %c0] : memref<16x128xi16, #tpu.memory_space<vmem>>, vector<16x128xi16> loc("k.tpuir":41:9)
      } loc("k.tpuir":37:7)
    } loc("k.tpuir":15:5)
    return
  }
  func.func @map_o(%step: i32) -> (i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %cst_0, %cst_0 : i32, i32
  }
}
