module {
  func.func @main(
    %step: i32,
    %x: memref<8x128xi32, #tpu.memory_space<vmem>> loc("k.tpuir":2:3),
    %o: memref<8x128xi32, #tpu.memory_space<vmem>> loc("k.tpuir":6:3),
    %sems: memref<2x3x!tpu.semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":10:3),
    %sem: memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":11:3)
  ) attributes {
    dimension_semantics = [#tpu.dimension_semantics<arbitrary>],
    iteration_bounds = array<i64: 1>,
    scalar_prefetch = 0 : i64,
    scratch_operands = 2 : i64,
    window_params = [
      {transform_indices = @map_x, window_bounds = array<i64: 8, 128>},
      {transform_indices = @map_o, window_bounds = array<i64: 8, 128>}
    ]
  } {
    %cst_0 = arith.constant 1 : i32
    %cst_1 = arith.constant 2 : i32
    %c0 = arith.constant 0 : index
    %0 = tpu.memref_slice %sems[%cst_0, %cst_1] : memref<2x3x!tpu.semaphore, #tpu.memory_space<semaphore_mem>> -> memref<1x1x!tpu.semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":16:5)
    %1 = tpu.memref_squeeze %0 : memref<1x1x!tpu.semaphore, #tpu.memory_space<semaphore_mem>> -> memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":16:5)
    tpu.sem_signal %1, %cst_1 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":17:5)
    tpu.sem_signal %sem, %cst_0 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":18:5)
    %2 = tpu.sem_read %1 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>> -> i32 loc("k.tpuir":19:5)
    tpu.sem_wait %1, %cst_0 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":20:5)
    %3 = tpu.sem_read %1 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>> -> i32 loc("k.tpuir":21:5)
    tpu.sem_wait %1, %cst_0 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":22:5)
    tpu.sem_wait %sem, %cst_0 : memref<!tpu.semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":23:5)
    %4 = arith.addi %2, %3 : i32 loc("k.tpuir":24:5)
    %5 = vector.load %x[%c0, %c0] : memref<8x128xi32, #tpu.memory_space<vmem>>, vector<8x128xi32> loc("k.tpuir":25:5)
    %6 = vector.broadcast %4 : i32 to vector<8x128xi32> loc("k.tpuir":26:5)
    %7 = arith.addi %5, %6 : vector<8x128xi32> loc("k.tpuir":27:5)
    vector.store %7, %o[%c0, %c0] : memref<8x128xi32, #tpu.memory_space<vmem>>, vector<8x128xi32> loc("k.tpuir":28:5)
    return
  }
  func.func @map_x(%step: i32) -> (i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %cst_0, %cst_0 : i32, i32
  }
  func.func @map_o(%step: i32) -> (i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %cst_0, %cst_0 : i32, i32
  }
}
