module {
  func.func @main(
    %step: i32,
    %ids: memref<4xi32, #tpu.memory_space<smem>> loc("k.tpuir":2:3),
    %x: memref<7x100xi32, #tpu.memory_space<any>> loc("k.tpuir":3:3),
    %o: memref<4x100xi32, #tpu.memory_space<vmem>> loc("k.tpuir":4:3),
    %sems: memref<4x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":8:3)
  ) attributes {
    dimension_semantics = [#tpu.dimension_semantics<arbitrary>],
    iteration_bounds = array<i64: 1>,
    scalar_prefetch = 1 : i64,
    scratch_operands = 1 : i64,
    window_params = [
      {},
      {transform_indices = @map_o, window_bounds = array<i64: 4, 100>}
    ]
  } {
    %cst_0 = arith.constant 0 : i32
    %cst_1 = arith.constant 4 : i32
    %cst_2 = arith.constant 1 : i32
    scf.for %0 = %cst_0 to %cst_1 step %cst_2 : i32 {
      %1 = arith.index_cast %0 : i32 to index loc("k.tpuir":18:7)
      %2 = memref.load %ids[%1] : memref<4xi32, #tpu.memory_space<smem>> loc("k.tpuir":18:7)
      %3 = tpu.memref_slice %sems[%0] : memref<4x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":21:7)
      %4 = tpu.memref_squeeze %3 : memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":21:7)
      %5 = tpu.memref_slice %x[%2, %cst_0] : memref<7x100xi32, #tpu.memory_space<any>> -> memref<1x100xi32, #tpu.memory_space<any>> loc("k.tpuir":22:7)
      %6 = tpu.memref_slice %o[%0, %cst_0] : memref<4x100xi32, #tpu.memory_space<vmem>> -> memref<1x100xi32, #tpu.memory_space<vmem>> loc("k.tpuir":22:7)
      tpu.enqueue_dma source(%5 : memref<1x100xi32, #tpu.memory_space<any>>) target(%6 : memref<1x100xi32, #tpu.memory_space<vmem>>) target_semaphore(%4 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) loc("k.tpuir":22:7)
    } loc("k.tpuir":17:5)
    scf.for %7 = %cst_0 to %cst_1 step %cst_2 : i32 {
      %8 = arith.index_cast %7 : i32 to index loc("k.tpuir":25:7)
      %9 = memref.load %ids[%8] : memref<4xi32, #tpu.memory_space<smem>> loc("k.tpuir":25:7)
      %10 = tpu.memref_slice %sems[%7] : memref<4x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> -> memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":28:7)
      %11 = tpu.memref_squeeze %10 : memref<1x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> -> memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":28:7)
      %12 = tpu.memref_slice %x[%9, %cst_0] : memref<7x100xi32, #tpu.memory_space<any>> -> memref<1x100xi32, #tpu.memory_space<any>> loc("k.tpuir":29:7)
      %13 = tpu.memref_slice %o[%7, %cst_0] : memref<4x100xi32, #tpu.memory_space<vmem>> -> memref<1x100xi32, #tpu.memory_space<vmem>> loc("k.tpuir":29:7)
      tpu.wait_dma source(%12 : memref<1x100xi32, #tpu.memory_space<any>>) target(%13 : memref<1x100xi32, #tpu.memory_space<vmem>>) target_semaphore(%11 : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {wait_target = true} loc("k.tpuir":29:7)
    } loc("k.tpuir":24:5)
    return
  }
  func.func @map_o(%step: i32, %ids: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %cst_0, %cst_0 : i32, i32
  }
}
