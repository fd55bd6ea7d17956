module {
  func.func @main(
    %i: i32,
    %x: memref<128x100xbf16, #tpu.memory_space<any>> loc("k.tpuir":3:3),
    %o: memref<32x100xbf16, #tpu.memory_space<vmem>> loc("k.tpuir":4:3),
    %buf: memref<2x32x100xbf16, #tpu.memory_space<vmem>> loc("k.tpuir":8:3),
    %sems: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":9:3)
  ) attributes {
    dimension_semantics = [#tpu.dimension_semantics<arbitrary>],
    iteration_bounds = array<i64: 4>,
    scalar_prefetch = 0 : i64,
    scratch_operands = 2 : i64,
    window_params = [
      {},
      {transform_indices = @map_o, window_bounds = array<i64: 32, 100>}
    ]
  } {
    %cst_0 = arith.constant 0 : i32
    %cst_1 = arith.constant 1 : i32
    %cst_2 = arith.constant 4 : i32
    %cst_3 = arith.constant 2 : i32
    %cst_4 = arith.constant 32 : i32
    %c0 = arith.constant 0 : index
    %0 = arith.cmpi eq, %i, %cst_0 : i32 loc("k.tpuir":20:5)
    scf.if %0 {
      %1 = tpu.memref_slice %sems[%cst_0] : memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":25:7)
      %2 = tpu.memref_squeeze %1 : memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":25:7)
      %3 = tpu.memref_slice %x[%cst_0, %cst_0] : memref<128x100xbf16, #tpu.memory_space<any>> -> memref<32x100xbf16, #tpu.memory_space<any>> loc("k.tpuir":26:7)
      %4 = tpu.memref_slice %buf[%cst_0, %cst_0, %cst_0] : memref<2x32x100xbf16, #tpu.memory_space<vmem>> -> memref<1x32x100xbf16, #tpu.memory_space<vmem>> loc("k.tpuir":26:7)
      %5 = tpu.memref_squeeze %4 : memref<1x32x100xbf16, #tpu.memory_space<vmem>> -> memref<32x100xbf16, #tpu.memory_space<vmem>> loc("k.tpuir":26:7)
      tpu.enqueue_dma source(%3 : memref<32x100xbf16, #tpu.memory_space<any>>) target(%5 : memref<32x100xbf16, #tpu.memory_space<vmem>>) target_semaphore(%2 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) loc("k.tpuir":26:7)
    } loc("k.tpuir":21:5)
    %6 = arith.addi %i, %cst_1 : i32 loc("k.tpuir":28:5)
    %7 = arith.cmpi slt, %6, %cst_2 : i32 loc("k.tpuir":29:5)
    scf.if %7 {
      %8 = arith.remsi %6, %cst_3 : i32 loc("k.tpuir":31:7)
      %9 = arith.muli %6, %cst_4 : i32 loc("k.tpuir":32:7)
      %10 = tpu.memref_slice %sems[%8] : memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":36:7)
      %11 = tpu.memref_squeeze %10 : memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":36:7)
      %12 = tpu.assume_multiple %9, 32 : i32 loc("k.tpuir":37:7)
      %13 = tpu.memref_slice %x[%12, %cst_0] : memref<128x100xbf16, #tpu.memory_space<any>> -> memref<32x100xbf16, #tpu.memory_space<any>> loc("k.tpuir":37:7)
      %14 = tpu.memref_slice %buf[%8, %cst_0, %cst_0] : memref<2x32x100xbf16, #tpu.memory_space<vmem>> -> memref<1x32x100xbf16, #tpu.memory_space<vmem>> loc("k.tpuir":37:7)
      %15 = tpu.memref_squeeze %14 : memref<1x32x100xbf16, #tpu.memory_space<vmem>> -> memref<32x100xbf16, #tpu.memory_space<vmem>> loc("k.tpuir":37:7)
      tpu.enqueue_dma source(%13 : memref<32x100xbf16, #tpu.memory_space<any>>) target(%15 : memref<32x100xbf16, #tpu.memory_space<vmem>>) target_semaphore(%11 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) loc("k.tpuir":37:7)
    } loc("k.tpuir":30:5)
    %16 = arith.remsi %i, %cst_3 : i32 loc("k.tpuir":39:5)
    %17 = arith.muli %i, %cst_4 : i32 loc("k.tpuir":40:5)
    %18 = tpu.memref_slice %sems[%16] : memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":44:5)
    %19 = tpu.memref_squeeze %18 : memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":44:5)
    %20 = tpu.assume_multiple %17, 32 : i32 loc("k.tpuir":45:5)
    %21 = tpu.memref_slice %x[%20, %cst_0] : memref<128x100xbf16, #tpu.memory_space<any>> -> memref<32x100xbf16, #tpu.memory_space<any>> loc("k.tpuir":45:5)
    %22 = tpu.memref_slice %buf[%16, %cst_0, %cst_0] : memref<2x32x100xbf16, #tpu.memory_space<vmem>> -> memref<1x32x100xbf16, #tpu.memory_space<vmem>> loc("k.tpuir":45:5)
    %23 = tpu.memref_squeeze %22 : memref<1x32x100xbf16, #tpu.memory_space<vmem>> -> memref<32x100xbf16, #tpu.memory_space<vmem>> loc("k.tpuir":45:5)
    tpu.wait_dma source(%21 : memref<32x100xbf16, #tpu.memory_space<any>>) target(%23 : memref<32x100xbf16, #tpu.memory_space<vmem>>) target_semaphore(%19 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {wait_target = true} loc("k.tpuir":45:5)
    %24 = arith.index_cast %16 : i32 to index loc("k.tpuir":46:5)
    %25 = vector.load %buf[%24, %c0, %c0] : memref<2x32x100xbf16, #tpu.memory_space<vmem>>, vector<1x32x100xbf16> loc("k.tpuir":46:5)
    %26 = vector.shape_cast %25 : vector<1x32x100xbf16> to vector<32x100xbf16> loc("k.tpuir":46:5)
    vector.store %26, %o[%c0, %c0] : memref<32x100xbf16, #tpu.memory_space<vmem>>, vector<32x100xbf16> loc("k.tpuir":47:5)
    return
  }
  func.func @map_o(%i: i32) -> (i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %i, %cst_0 : i32, i32
  }
}
