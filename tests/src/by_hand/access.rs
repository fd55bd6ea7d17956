//! Scalar memory, prefetched arrays, memory of regions, semaphores, and accesses through views.

use super::{kernel, text};
use tpu_kernel::ir::DType;

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
