//! Kernels that move memory by hand, as text with an element type in it.

mod access;

pub use access::{SEMAPHORES, prefetch, scalars, scoped, strided, table, views};

use tpu_kernel::ir::DType;

/// The text with the element type in place of `TYPE`, and the numbers that the bodies use.
fn text(body: &str, dtype: DType) -> String {
    body.replace("TYPE", dtype.name())
}

const NUMBERS: &str = "    %z = const 0 : i32
    %one = const 1 : i32
    %two = const 2 : i32
    %three = const 3 : i32
    %four = const 4 : i32
    %eight = const 8 : i32
    %many = const 32 : i32
";

fn kernel(head: &str, body: &str, dtype: DType) -> String {
    text(&format!("kernel @k() {{\n{head}  body {{\n{NUMBERS}{body}  }}\n}}\n"), dtype)
}

/// A whole array into scratch, and from there into a window.
pub fn whole(dtype: DType) -> String {
    kernel(
        "  in %x: hbm<?x?xTYPE> = [7, 100]
  out %o: vmem<7x100xTYPE> = [7, 100] blocks [7, 100] at () {
    %c = const 0 : i32
    yield %c, %c
  }
  scratch %buf: vmem<7x100xTYPE>
  scratch %sem: semaphore<dma>
",
        "    %from = view %x[%z, %z] : hbm<7x100xTYPE>
    dma_start %from, %buf, %sem
    dma_wait %from, %buf, %sem
    %t = load %buf[%z, %z] : tile<7x100xTYPE>
    store %t, %o[%z, %z]
",
        dtype,
    )
}

/// An array into another, whole.
pub fn between_arrays(dtype: DType) -> String {
    kernel(
        "  in %x: hbm<?x?xTYPE> = [64, 256]
  out %o: hbm<?x?xTYPE> = [64, 256]
  out %p: hbm<?x?xTYPE> = [64, 256]
  scratch %sem: semaphore<2xdma>
",
        "    %a = semaphore_at %sem[%z] : semaphore<dma>
    %b = semaphore_at %sem[%one] : semaphore<dma>
    dma_start %x, %o, %a priority 1
    %low = view %x[%z, %z] : hbm<32x256xTYPE>
    %high = view %x[%many, %z] : hbm<32x256xTYPE>
    %to_low = view %p[%z, %z] : hbm<32x256xTYPE>
    %to_high = view %p[%many, %z] : hbm<32x256xTYPE>
    dma_start %low, %to_high, %b
    dma_wait %low, %to_high, %b
    dma_start %high, %to_low, %b
    dma_wait %high, %to_low, %b
    dma_wait %x, %o, %a
",
        dtype,
    )
}

/// Parts of an array into scratch and out again, one after the other.
pub fn parts(dtype: DType) -> String {
    kernel(
        "  in %x: hbm<?x?xTYPE> = [128, 256]
  out %o: hbm<?x?xTYPE> = [128, 256]
  scratch %buf: vmem<32x128xTYPE>
  scratch %sem: semaphore<dma>
",
        "    %half = const 128 : i32
    for %i = %z to %four step %one {
      %row = mul %i, %many : i32
      for %j = %z to %two step %one {
        %column = mul %j, %half : i32
        %from = view %x[%row, %column] : hbm<32x128xTYPE>
        dma_start %from, %buf, %sem
        dma_wait %from, %buf, %sem
        %t = load %buf[%z, %z] : tile<32x128xTYPE>
        store %t, %buf[%z, %z]
        %to = view %o[%row, %column] : hbm<32x128xTYPE>
        dma_start %buf, %to, %sem priority 1
        dma_wait %buf, %to, %sem
      }
    }
",
        dtype,
    )
}

/// The next part arrives while one is read; its rows are the grid's.
pub fn buffered(dtype: DType) -> String {
    text(
        &format!(
            "kernel @k() {{
  grid i = 4 arbitrary
  in %x: hbm<?x?xTYPE> = [128, 100]
  out %o: vmem<32x100xTYPE> = [128, 100] blocks [32, 100] at (%g) {{
    %c = const 0 : i32
    yield %g, %c
  }}
  scratch %buf: vmem<2x32x100xTYPE>
  scratch %sems: semaphore<2xdma>
  body {{
{NUMBERS}    %i = program_id 0 : i32
    %n = num_programs 0 : i32
    %first = eq %i, %z : bool
    if %first {{
      %from0 = view %x[%z, %z] : hbm<32x100xTYPE>
      %room0 = view %buf[%z, %z, %z] : vmem<1x32x100xTYPE>
      %to0 = view_squeezed %room0 axes [0] : vmem<32x100xTYPE>
      %sem0 = semaphore_at %sems[%z] : semaphore<dma>
      dma_start %from0, %to0, %sem0
    }}
    %next = add %i, %one : i32
    %more = lt %next, %n : bool
    if %more {{
      %slot1 = rem %next, %two : i32
      %row1 = mul %next, %many : i32
      %from1 = view %x[%row1, %z] : hbm<32x100xTYPE>
      %room1 = view %buf[%slot1, %z, %z] : vmem<1x32x100xTYPE>
      %to1 = view_squeezed %room1 axes [0] : vmem<32x100xTYPE>
      %sem1 = semaphore_at %sems[%slot1] : semaphore<dma>
      dma_start %from1, %to1, %sem1
    }}
    %slot = rem %i, %two : i32
    %row = mul %i, %many : i32
    %from = view %x[%row, %z] : hbm<32x100xTYPE>
    %room = view %buf[%slot, %z, %z] : vmem<1x32x100xTYPE>
    %to = view_squeezed %room axes [0] : vmem<32x100xTYPE>
    %sem = semaphore_at %sems[%slot] : semaphore<dma>
    dma_wait %from, %to, %sem
    %t = load %to[%z, %z] : tile<32x100xTYPE>
    store %t, %o[%z, %z]
  }}
}}
"
        ),
        dtype,
    )
}

/// Matrices of a stack in another order.
pub fn leading(dtype: DType) -> String {
    kernel(
        "  in %x: hbm<?x?x?xTYPE> = [5, 16, 100]
  out %o: hbm<?x?x?xTYPE> = [5, 16, 100]
  scratch %buf: vmem<16x100xTYPE>
  scratch %sem: semaphore<dma>
",
        "    for %i = %z to %four step %one {
      %x1 = view %x[%i, %z, %z] : hbm<1x16x100xTYPE>
      %from = view_squeezed %x1 axes [0] : hbm<16x100xTYPE>
      dma_start %from, %buf, %sem
      dma_wait %from, %buf, %sem
      %j = sub %four, %i : i32
      %o1 = view %o[%j, %z, %z] : hbm<1x16x100xTYPE>
      %to = view_squeezed %o1 axes [0] : hbm<16x100xTYPE>
      dma_start %buf, %to, %sem
      dma_wait %buf, %to, %sem
    }
",
        dtype,
    )
}

/// Eight times as many rows as the launch says.
pub fn rows(dtype: DType) -> String {
    kernel(
        "  scalar %n: i32
  in %x: hbm<?x?xTYPE> = [32, 128]
  out %o: hbm<?x?xTYPE> = [32, 128]
  out %p: vmem<32x128xTYPE> = [32, 128] blocks [32, 128] at () {
    %c = const 0 : i32
    yield %c, %c
  }
  scratch %buf: vmem<2x32x128xTYPE>
  scratch %sem: semaphore<dma>
",
        "    %rows = mul %n, %eight : i32
    %k1 = view %buf[%one, %z, %z] : vmem<1x32x128xTYPE>
    %k = view_squeezed %k1 axes [0] : vmem<32x128xTYPE>
    dma_start %x, %o, %sem
    dma_wait %x, %o, %sem
    %all = view %x[%z, %z] : hbm<32x128xTYPE>
    dma_start %all, %k, %sem
    dma_wait %all, %k, %sem
    %room = view %x[%z, %z] : hbm<32x128xTYPE>
    dma_start %room, %k, %sem, %rows
    dma_wait %room, %k, %sem, %rows
    %back = view %o[%z, %z] : hbm<32x128xTYPE>
    dma_start %k, %back, %sem, %rows
    dma_wait %k, %back, %sem, %rows
    %t = load %k[%z, %z] : tile<32x128xTYPE>
    store %t, %p[%z, %z]
",
        dtype,
    )
}

/// Parts of a vector.
pub fn vectors(dtype: DType) -> String {
    kernel(
        "  in %x: hbm<?xTYPE> = [4096]
  out %o: hbm<?xTYPE> = [4096]
  scratch %buf: vmem<2x1024xTYPE>
  scratch %row: vmem<1024xTYPE>
  scratch %sem: semaphore<dma>
",
        "    %part = const 1024 : i32
    for %i = %z to %four step %one {
      %j = sub %three, %i : i32
      %at = mul %i, %part : i32
      %there = mul %j, %part : i32
      %from = view %x[%at] : hbm<1024xTYPE>
      %to = view %o[%there] : hbm<1024xTYPE>
      dma_start %from, %row, %sem
      dma_wait %from, %row, %sem
      dma_start %row, %to, %sem
      dma_wait %row, %to, %sem
    }
",
        dtype,
    )
}

/// Windows with a squeezed dimension as source and target.
pub fn windows(dtype: DType) -> String {
    text(
        &format!(
            "kernel @k() {{
  grid i = 3 arbitrary
  in %x: vmem<16x128xTYPE> = [3, 16, 128] blocks [squeezed, 16, 128] at (%g) {{
    %c = const 0 : i32
    yield %g, %c, %c
  }}
  out %o: vmem<16x128xTYPE> = [3, 16, 128] blocks [squeezed, 16, 128] at (%g1) {{
    %c1 = const 0 : i32
    yield %g1, %c1, %c1
  }}
  out %p: hbm<?x?x?xTYPE> = [3, 16, 128]
  scratch %sem: semaphore<dma>
  body {{
{NUMBERS}    %i = program_id 0 : i32
    dma_start %x, %o, %sem
    dma_wait %x, %o, %sem
    %p1 = view %p[%i, %z, %z] : hbm<1x16x128xTYPE>
    %to = view_squeezed %p1 axes [0] : hbm<16x128xTYPE>
    dma_start %x, %to, %sem
    dma_wait %x, %to, %sem
  }}
}}
"
        ),
        dtype,
    )
}

/// Windows whose squeezed dimension is the second to last.
pub fn kept(dtype: DType) -> String {
    text(
        &format!(
            "kernel @k() {{
  grid i = 1 arbitrary
  in %x: vmem<16x128xTYPE> = [16, 1, 128] blocks [16, squeezed, 128] at (%g) {{
    %c = const 0 : i32
    yield %c, %g, %c
  }}
  out %o: vmem<16x128xTYPE> = [16, 1, 128] blocks [16, squeezed, 128] at (%g1) {{
    %c1 = const 0 : i32
    yield %c1, %g1, %c1
  }}
  scratch %buf: vmem<16x128xTYPE>
  scratch %sem: semaphore<dma>
  body {{
{NUMBERS}    dma_start %x, %buf, %sem
    dma_wait %x, %buf, %sem
    dma_start %buf, %o, %sem
    dma_wait %buf, %o, %sem
    %high = view %buf[%eight, %z] : vmem<8x128xTYPE>
    %low = view %o[%z, %z] : vmem<8x128xTYPE>
    dma_start %high, %low, %sem
    dma_wait %high, %low, %sem
  }}
}}
"
        ),
        dtype,
    )
}

/// A prefetched array, windows, scalars, whole arrays, scratch.
pub fn roles(dtype: DType) -> String {
    text(
        &format!(
            "kernel @k() {{
  grid i = 4 arbitrary
  scratch %sem: semaphore<dma>
  out %p: hbm<?x?xTYPE> = [32, 256]
  prefetch %ids: smem<?xi32> = [4]
  in %x: vmem<8x128xTYPE> = [32, 128] blocks [8, 128] at (%g, %ids0: smem<?xi32>) {{
    %id = load_scalar %ids0[%g] : i32
    %c = const 0 : i32
    yield %id, %c
  }}
  scalar %n: i32
  in %y: hbm<?x?xTYPE> = [40, 256]
  out %o: vmem<8x128xTYPE> = [32, 128] blocks [8, 128] at (%g1, %ids1: smem<?xi32>) {{
    %c1 = const 0 : i32
    yield %g1, %c1
  }}
  scratch %cells: smem<4xi32>
  body {{
{NUMBERS}    %i = program_id 0 : i32
    %at = load_scalar %ids[%i] : i32
    %sum = add %at, %n : i32
    %most = min %sum, %four : i32
    store_scalar %most, %cells[%i]
    %cell = load_scalar %cells[%i] : i32
    %row = mul %cell, %eight : i32
    %to_row = mul %i, %eight : i32
    %from = view %y[%row, %z] : hbm<8x256xTYPE>
    %to = view %p[%to_row, %z] : hbm<8x256xTYPE>
    dma_start %from, %to, %sem
    %t = load %x[%z, %z] : tile<8x128xTYPE>
    store %t, %o[%z, %z]
    dma_wait %from, %to, %sem
  }}
}}
"
        ),
        dtype,
    )
}

/// Rows by their indices, of words.
pub fn single_rows(dtype: DType) -> String {
    kernel(
        "  prefetch %ids: smem<?xi32> = [4]
  in %x: hbm<?x?xTYPE> = [7, 100]
  out %o: vmem<4x100xTYPE> = [4, 100] blocks [4, 100] at (%ids0: smem<?xi32>) {
    %c = const 0 : i32
    yield %c, %c
  }
  scratch %sems: semaphore<4xdma>
",
        "    for %i = %z to %four step %one {
      %id = load_scalar %ids[%i] : i32
      %from = view %x[%id, %z] : hbm<1x100xTYPE>
      %to = view %o[%i, %z] : vmem<1x100xTYPE>
      %sem = semaphore_at %sems[%i] : semaphore<dma>
      dma_start %from, %to, %sem
    }
    for %k = %z to %four step %one {
      %ik = load_scalar %ids[%k] : i32
      %again = view %x[%ik, %z] : hbm<1x100xTYPE>
      %there = view %o[%k, %z] : vmem<1x100xTYPE>
      %semk = semaphore_at %sems[%k] : semaphore<dma>
      dma_wait %again, %there, %semk
    }
",
        dtype,
    )
}

/// A part of an array into scratch, of that shape, from there, and of so many rows; `%n` is the launch's, `%n8` a multiple of 8.
pub fn part(dtype: DType, [rows, columns]: [usize; 2], at: &str, limit: &str) -> String {
    let shape = format!("{rows}x{columns}xTYPE");
    text(
        &format!(
            "kernel @k(r, c) {{
  scalar %n: i32
  in %x: hbm<?x?xTYPE> = [r, c]
  out %o: vmem<{shape}> = [{rows}, {columns}] blocks [{rows}, {columns}] at () {{
    %c = const 0 : i32
    yield %c, %c
  }}
  scratch %sem: semaphore<dma>
  body {{
    %z = const 0 : i32
    %eight = const 8 : i32
    %n8 = mul %n, %eight : i32
    %from = view %x[{at}] : hbm<{shape}>
    dma_start %from, %o, %sem{limit}
    dma_wait %from, %o, %sem{limit}
  }}
}}
"
        ),
        dtype,
    )
}

/// Every second row, which no copy moves.
pub fn part_strided(dtype: DType) -> String {
    part(dtype, [8, 128], "%z, %z", "").replace("%from = view %x[%z, %z]", "%from = view %x[%z, %z] strides [2, 1]")
}
