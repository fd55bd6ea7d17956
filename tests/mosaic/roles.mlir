module {
  func.func @main(
    %i: i32,
    %n: memref<1xi32, #tpu.memory_space<smem>> loc("k.tpuir":11:3),
    %ids: memref<4xi32, #tpu.memory_space<smem>> loc("k.tpuir":5:3),
    %x: memref<8x128xi32, #tpu.memory_space<vmem>> loc("k.tpuir":6:3),
    %y: memref<40x256xi32, #tpu.memory_space<any>> loc("k.tpuir":12:3),
    %p: memref<32x256xi32, #tpu.memory_space<any>> loc("k.tpuir":4:3),
    %o: memref<8x128xi32, #tpu.memory_space<vmem>> loc("k.tpuir":13:3),
    %sem: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> loc("k.tpuir":3:3),
    %cells: memref<4xi32, #tpu.memory_space<smem>> loc("k.tpuir":17:3)
  ) attributes {
    dimension_semantics = [#tpu.dimension_semantics<arbitrary>],
    iteration_bounds = array<i64: 4>,
    scalar_prefetch = 2 : i64,
    scratch_operands = 2 : i64,
    window_params = [
      {transform_indices = @map_x, window_bounds = array<i64: 8, 128>},
      {},
      {},
      {transform_indices = @map_o, window_bounds = array<i64: 8, 128>}
    ]
  } {
    %c0 = arith.constant 0 : index
    %cst_1 = arith.constant 4 : i32
    %cst_2 = arith.constant 8 : i32
    %cst_3 = arith.constant 0 : i32
    %0 = memref.load %n[%c0] : memref<1xi32, #tpu.memory_space<smem>> loc("k.tpuir":11:3)
    %1 = arith.index_cast %i : i32 to index loc("k.tpuir":27:5)
    %2 = memref.load %ids[%1] : memref<4xi32, #tpu.memory_space<smem>> loc("k.tpuir":27:5)
    %3 = arith.addi %2, %0 : i32 loc("k.tpuir":28:5)
    %4 = arith.minsi %3, %cst_1 : i32 loc("k.tpuir":29:5)
    %5 = arith.index_cast %i : i32 to index loc("k.tpuir":30:5)
    memref.store %4, %cells[%5] : memref<4xi32, #tpu.memory_space<smem>> loc("k.tpuir":30:5)
    %6 = arith.index_cast %i : i32 to index loc("k.tpuir":31:5)
    %7 = memref.load %cells[%6] : memref<4xi32, #tpu.memory_space<smem>> loc("k.tpuir":31:5)
    %8 = arith.muli %7, %cst_2 : i32 loc("k.tpuir":32:5)
    %9 = arith.muli %i, %cst_2 : i32 loc("k.tpuir":33:5)
    %10 = tpu.assume_multiple %8, 8 : i32 loc("k.tpuir":36:5)
    %11 = tpu.memref_slice %y[%10, %cst_3] : memref<40x256xi32, #tpu.memory_space<any>> -> memref<8x256xi32, #tpu.memory_space<any>> loc("k.tpuir":36:5)
    %12 = tpu.assume_multiple %9, 8 : i32 loc("k.tpuir":36:5)
    %13 = tpu.memref_slice %p[%12, %cst_3] : memref<32x256xi32, #tpu.memory_space<any>> -> memref<8x256xi32, #tpu.memory_space<any>> loc("k.tpuir":36:5)
    tpu.enqueue_dma source(%11 : memref<8x256xi32, #tpu.memory_space<any>>) target(%13 : memref<8x256xi32, #tpu.memory_space<any>>) target_semaphore(%sem : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) loc("k.tpuir":36:5)
    %14 = vector.load %x[%c0, %c0] : memref<8x128xi32, #tpu.memory_space<vmem>>, vector<8x128xi32> loc("k.tpuir":37:5)
    vector.store %14, %o[%c0, %c0] : memref<8x128xi32, #tpu.memory_space<vmem>>, vector<8x128xi32> loc("k.tpuir":38:5)
    %15 = tpu.assume_multiple %8, 8 : i32 loc("k.tpuir":39:5)
    %16 = tpu.memref_slice %y[%15, %cst_3] : memref<40x256xi32, #tpu.memory_space<any>> -> memref<8x256xi32, #tpu.memory_space<any>> loc("k.tpuir":39:5)
    %17 = tpu.assume_multiple %9, 8 : i32 loc("k.tpuir":39:5)
    %18 = tpu.memref_slice %p[%17, %cst_3] : memref<32x256xi32, #tpu.memory_space<any>> -> memref<8x256xi32, #tpu.memory_space<any>> loc("k.tpuir":39:5)
    tpu.wait_dma source(%16 : memref<8x256xi32, #tpu.memory_space<any>>) target(%18 : memref<8x256xi32, #tpu.memory_space<any>>) target_semaphore(%sem : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {wait_target = true} loc("k.tpuir":39:5)
    return
  }
  func.func @map_x(%i: i32, %n: memref<1xi32, #tpu.memory_space<smem>>, %ids: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %cst_0 = arith.constant 0 : i32
    %0 = arith.index_cast %i : i32 to index loc("k.tpuir":7:5)
    %1 = memref.load %ids[%0] : memref<4xi32, #tpu.memory_space<smem>> loc("k.tpuir":7:5)
    return %1, %cst_0 : i32, i32
  }
  func.func @map_o(%i: i32, %n: memref<1xi32, #tpu.memory_space<smem>>, %ids: memref<4xi32, #tpu.memory_space<smem>>) -> (i32, i32) {
    %cst_0 = arith.constant 0 : i32
    return %i, %cst_0 : i32, i32
  }
}
