module {
  func.func @main(
    %step: i32,
    %x: memref<40xi8, #tpu.memory_space<any>> loc("k.tpuir":2:3),
    %o: memref<40xi8, #tpu.memory_space<any>> loc("k.tpuir":3:3),
    %p: memref<8x128xi8, #tpu.memory_space<vmem>> loc("k.tpuir":4:3),
    %a: memref<40xi8, #tpu.memory_space<smem>> loc("k.tpuir":8:3),
    %b: memref<40xi8, #tpu.memory_space<smem>> loc("k.tpuir":9:3),
    %sem: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":10:3)
  ) attributes {
    dimension_semantics = [#tpu.dimension_semantics<arbitrary>],
    iteration_bounds = array<i64: 1>,
    scalar_prefetch = 0 : i64,
    scratch_operands = 3 : i64,
    window_params = [
      {},
      {},
      {transform_indices = @map_p, window_bounds = array<i64: 8, 128>}
    ]
  } {
    %cst_0 = arith.constant 0 : i32
    %cst_1 = arith.constant 40 : i32
    %cst_2 = arith.constant 1 : i32
    %cst_3 = arith.constant 39 : i32
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %cst_6 = arith.constant true
    %cst_7 = arith.constant dense<1> : vector<8x128xi8>
    %cst_8 = arith.constant dense<0> : vector<8x128xi8>
    %c0 = arith.constant 0 : index
    %0 = tpu.memref_slice %x[%cst_0] : memref<40xi8, #tpu.memory_space<any>> -> memref<40xi8, #tpu.memory_space<any>> loc("k.tpuir":22:5)
    tpu.enqueue_dma source(%0 : memref<40xi8, #tpu.memory_space<any>>) target(%a : memref<40xi8, #tpu.memory_space<smem>>) target_semaphore(%sem : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) loc("k.tpuir":22:5)
    %1 = tpu.memref_slice %x[%cst_0] : memref<40xi8, #tpu.memory_space<any>> -> memref<40xi8, #tpu.memory_space<any>> loc("k.tpuir":23:5)
    tpu.wait_dma source(%1 : memref<40xi8, #tpu.memory_space<any>>) target(%a : memref<40xi8, #tpu.memory_space<smem>>) target_semaphore(%sem : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {wait_target = true} loc("k.tpuir":23:5)
    scf.for %2 = %cst_0 to %cst_1 step %cst_2 : i32 {
      %3 = arith.index_cast %2 : i32 to index loc("k.tpuir":25:7)
      %4 = memref.load %a[%3] : memref<40xi8, #tpu.memory_space<smem>> loc("k.tpuir":25:7)
      %5 = arith.extsi %4 : i8 to i32 loc("k.tpuir":25:7)
      %6 = arith.cmpi ne, %5, %cst_0 : i32 loc("k.tpuir":25:7)
      %7 = arith.subi %cst_3, %2 : i32 loc("k.tpuir":26:7)
      %8 = arith.extui %6 : i1 to i32 loc("k.tpuir":27:7)
      %9 = arith.trunci %8 : i32 to i8 loc("k.tpuir":27:7)
      %10 = arith.index_cast %7 : i32 to index loc("k.tpuir":27:7)
      memref.store %9, %b[%10] : memref<40xi8, #tpu.memory_space<smem>> loc("k.tpuir":27:7)
    } loc("k.tpuir":24:5)
    %11 = tpu.memref_slice %o[%cst_0] : memref<40xi8, #tpu.memory_space<any>> -> memref<40xi8, #tpu.memory_space<any>> loc("k.tpuir":30:5)
    tpu.enqueue_dma source(%b : memref<40xi8, #tpu.memory_space<smem>>) target(%11 : memref<40xi8, #tpu.memory_space<any>>) target_semaphore(%sem : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) loc("k.tpuir":30:5)
    %12 = tpu.memref_slice %o[%cst_0] : memref<40xi8, #tpu.memory_space<any>> -> memref<40xi8, #tpu.memory_space<any>> loc("k.tpuir":31:5)
    tpu.wait_dma source(%b : memref<40xi8, #tpu.memory_space<smem>>) target(%12 : memref<40xi8, #tpu.memory_space<any>>) target_semaphore(%sem : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {wait_target = true} loc("k.tpuir":31:5)
    %13 = memref.load %b[%c3] : memref<40xi8, #tpu.memory_space<smem>> loc("k.tpuir":32:5)
    %14 = arith.extsi %13 : i8 to i32 loc("k.tpuir":32:5)
    %15 = arith.cmpi ne, %14, %cst_0 : i32 loc("k.tpuir":32:5)
    %16 = memref.load %b[%c4] : memref<40xi8, #tpu.memory_space<smem>> loc("k.tpuir":33:5)
    %17 = arith.extsi %16 : i8 to i32 loc("k.tpuir":33:5)
    %18 = arith.cmpi ne, %17, %cst_0 : i32 loc("k.tpuir":33:5)
    %19 = arith.xori %15, %18 : i1 loc("k.tpuir":34:5)
    %20 = arith.xori %19, %cst_6 : i1 loc("k.tpuir":34:5)
    %21 = arith.andi %20, %19 : i1 loc("k.tpuir":35:5)
    %22 = arith.xori %18, %21 : i1 loc("k.tpuir":35:5)
    %23 = vector.broadcast %22 : i1 to vector<8x128xi1> loc("k.tpuir":36:5)
    %24 = arith.select %23, %cst_7, %cst_8 : vector<8x128xi1>, vector<8x128xi8> loc("k.tpuir":37:5)
    vector.store %24, %p[%c0, %c0] : memref<8x128xi8, #tpu.memory_space<vmem>>, vector<8x128xi8> loc("k.tpuir":37:5)
    return
  }
  func.func @map_p(%step: i32) -> (i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %cst_0, %cst_0 : i32, i32
  }
}
