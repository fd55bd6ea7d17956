//! Kernels that move memory by hand, as text with an element type in it.

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

/// A vector into scalar memory, from there in reverse into another, and that into an array and a window.
pub fn scalars(dtype: DType) -> String {
    kernel(
        "  in %x: hbm<?xTYPE> = [40]
  out %o: hbm<?xTYPE> = [40]
  out %p: vmem<8x128xTYPE> = [8, 128] blocks [8, 128] at () {
    %c = const 0 : i32
    yield %c, %c
  }
  scratch %a: smem<40xTYPE>
  scratch %b: smem<40xTYPE>
  scratch %sem: semaphore<dma>
",
        "    %last = const 39 : i32
    %end = const 40 : i32
    %from = view %x[%z] : hbm<40xTYPE>
    dma_start %from, %a, %sem
    dma_wait %from, %a, %sem
    for %i = %z to %end step %one {
      %s = load_scalar %a[%i] : TYPE
      %j = sub %last, %i : i32
      store_scalar %s, %b[%j]
    }
    %to = view %o[%z] : hbm<40xTYPE>
    dma_start %b, %to, %sem
    dma_wait %b, %to, %sem
    %t = load_scalar %b[%three] : TYPE
    %u = load_scalar %b[%four] : TYPE
    %same = eq %t, %u : bool
    %v = select %same, %t, %u : TYPE
    %tile = broadcast %v : tile<8x128xTYPE>
    store %tile, %p[%z, %z]
",
        dtype,
    )
}

/// A prefetched table that the body reads through views and writes.
pub fn table(dtype: DType) -> String {
    kernel(
        "  prefetch %x: smem<?x?xTYPE> = [8, 12]
  out %o: vmem<4x128xTYPE> = [4, 128] blocks [4, 128] at (%x0: smem<?x?xTYPE>) {
    %c = const 0 : i32
    yield %c, %c
  }
",
        "    for %i = %z to %four step %one {
      %part = view %x[%two, %i] strides [1, 2] : smem<3x3xTYPE>
      %row = view %part[%one, %z] : smem<1x3xTYPE>
      %line = view_squeezed %row axes [0] : smem<3xTYPE>
      %s = load_scalar %line[%two] : TYPE
      store_scalar %s, %line[%one]
      %t = load_scalar %part[%one, %one] : TYPE
      %tile = broadcast %t : tile<1x128xTYPE>
      %to = view %o[%i, %z] : vmem<1x128xTYPE>
      store %tile, %to[%z, %z]
    }
",
        dtype,
    )
}

/// Blocks by indices of that type.
pub fn prefetch(dtype: DType) -> String {
    let index = if dtype == DType::I32 { "" } else { "    %n = cast %id : i32\n" };
    let block = if dtype == DType::I32 { "%id" } else { "%n" };
    text(
        &format!(
            "kernel @k() {{
  grid i = 4 arbitrary
  prefetch %ids: smem<?xTYPE> = [4]
  in %x: vmem<8x128xf32> = [32, 128] blocks [8, 128] at (%g, %ids0: smem<?xTYPE>) {{
    %id = load_scalar %ids0[%g] : TYPE
{index}    %c = const 0 : i32
    yield {block}, %c
  }}
  out %o: vmem<8x128xf32> = [32, 128] blocks [8, 128] at (%g1, %ids1: smem<?xTYPE>) {{
    %c1 = const 0 : i32
    yield %g1, %c1
  }}
  body {{
    %z = const 0 : i32
    %t = load %x[%z, %z] : tile<8x128xf32>
    store %t, %o[%z, %z]
  }}
}}
"
        ),
        dtype,
    )
}

/// Memory that lives for a turn of a loop, and values that leave it.
pub fn scoped(dtype: DType) -> String {
    kernel(
        "  in %x: hbm<?x?xTYPE> = [16, 128]
  out %o: vmem<16x128xTYPE> = [16, 128] blocks [16, 128] at () {
    %c = const 0 : i32
    yield %c, %c
  }
",
        "    for %i = %z to %two step %one {
      %row = mul %i, %eight : i32
      %t, %n, %hit, %first = scoped (%buf: vmem<8x128xTYPE>, %cell: smem<2xTYPE>, %count: smem<1xi32>, %sem: semaphore<dma>, %pair: semaphore<2xregular>) : tile<8x128xTYPE>, i32, bool, TYPE {
        %from = view %x[%row, %z] : hbm<8x128xTYPE>
        dma_start %from, %buf, %sem
        dma_wait %from, %buf, %sem
        %part = load %buf[%i, %z] : tile<1x128xTYPE>
        %again = load %buf[%z, %z] : tile<8x128xTYPE>
        store %part, %buf[%z, %z]
        %tile = load %buf[%z, %z] : tile<8x128xTYPE>
        %corner = load %buf[%z, %z] : tile<1x1xTYPE>
        %s = extract %corner [0, 0] : TYPE
        store_scalar %s, %cell[%one]
        %held = load_scalar %cell[%one] : TYPE
        store_scalar %row, %count[%z]
        %counted = load_scalar %count[%z] : i32
        %one_of = semaphore_at %pair[%i] : semaphore<regular>
        semaphore_signal %one_of, %one
        semaphore_wait %one_of, %one
        %truth = eq %counted, %row : bool
        yield %tile, %counted, %truth, %held
      }
      if %hit {
        store %t, %o[%n, %z]
        %fill = broadcast %first : tile<1x128xTYPE>
        %last = add %n, %three : i32
        store %fill, %o[%last, %z]
      }
    }
",
        dtype,
    )
}

/// Regular semaphores: signals, waits, counts.
pub const SEMAPHORES: &str = "kernel @k() {
  in %x: vmem<8x128xi32> = [8, 128] blocks [8, 128] at () {
    %c = const 0 : i32
    yield %c, %c
  }
  out %o: vmem<8x128xi32> = [8, 128] blocks [8, 128] at () {
    %c1 = const 0 : i32
    yield %c1, %c1
  }
  scratch %sems: semaphore<2x3xregular>
  scratch %sem: semaphore<regular>
  body {
    %z = const 0 : i32
    %one = const 1 : i32
    %two = const 2 : i32
    %a = semaphore_at %sems[%one, %two] : semaphore<regular>
    semaphore_signal %a, %two
    semaphore_signal %sem, %one
    %n = semaphore_read %a : i32
    semaphore_wait %a, %one
    %m = semaphore_read %a : i32
    semaphore_wait %a, %one
    semaphore_wait %sem, %one
    %sum = add %n, %m : i32
    %t = load %x[%z, %z] : tile<8x128xi32>
    %s = broadcast %sum : tile<8x128xi32>
    %u = add %t, %s : tile<8x128xi32>
    store %u, %o[%z, %z]
  }
}
";

/// Loads and stores through views of views, from starts that are not known.
pub fn views(dtype: DType) -> String {
    kernel(
        "  scalar %m: i32
  scalar %n: i32
  in %x: vmem<3x32x128xTYPE> = [3, 32, 128] blocks [3, 32, 128] at () {
    %c = const 0 : i32
    yield %c, %c, %c
  }
  out %o: vmem<3x32x128xTYPE> = [3, 32, 128] blocks [3, 32, 128] at () {
    %c1 = const 0 : i32
    yield %c1, %c1, %c1
  }
",
        "    %all = load %x[%z, %z, %z] : tile<3x32x128xTYPE>
    store %all, %o[%z, %z, %z]
    %x1 = view %x[%m, %n, %z] : vmem<1x20x128xTYPE>
    %x2 = view_squeezed %x1 axes [0] : vmem<20x128xTYPE>
    %x3 = view %x2[%three, %z] : vmem<12x128xTYPE>
    %t = load %x3[%m, %z] : tile<8x128xTYPE>
    %o1 = view %o[%two, %z, %z] : vmem<1x32x128xTYPE>
    %o2 = view_squeezed %o1 axes [0] : vmem<32x128xTYPE>
    %o3 = view %o2[%eight, %z] : vmem<16x128xTYPE>
    store %t, %o3[%m, %z]
    %o4 = view %o[%z, %n, %z] : vmem<2x1x128xTYPE>
    %o5 = view_squeezed %o4 axes [1] : vmem<2x128xTYPE>
    %row = load %o5[%z, %z] : tile<1x128xTYPE>
    store %row, %o5[%one, %z]
",
        dtype,
    )
}

/// Every third row, of every second of a view.
pub fn strided(dtype: DType) -> String {
    kernel(
        "  scalar %n: i32
  in %x: vmem<32x128xTYPE> = [32, 128] blocks [32, 128] at () {
    %c = const 0 : i32
    yield %c, %c
  }
  out %o: vmem<32x128xTYPE> = [32, 128] blocks [32, 128] at () {
    %c1 = const 0 : i32
    yield %c1, %c1
  }
",
        "    %all = load %x[%z, %z] : tile<32x128xTYPE>
    store %all, %o[%z, %z]
    %x1 = view %x[%n, %z] strides [2, 1] : vmem<14x128xTYPE>
    %x2 = view %x1[%one, %z] strides [3, 1] : vmem<4x128xTYPE>
    %t = load %x2[%z, %z] : tile<4x128xTYPE>
    %o1 = view %o[%one, %z] strides [2, 1] : vmem<15x128xTYPE>
    store %t, %o1[%two, %z]
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
