//! Memory moved by hand, as the language records it: arrays in HBM, prefetched arrays, scalar memory, views, copies, semaphores and
//! regions of their own; and what is refused while a kernel is built.

use tpu_kernel::Error;
use tpu_kernel::prelude::*;

/// The text of the kernel that is recorded, without places.
fn text(kernel: &impl Launchable, inputs: &[DType]) -> String {
    let text = kernel.stage(inputs).unwrap_or_else(|error| panic!("{error:?}")).to_string();
    let line = |line: &str| match line.split_once(" loc(") {
        Some((before, after)) => format!("{before}{}\n", if after.ends_with('{') { " {" } else { "" }),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// The lines from the one that begins with `from`, trimmed, as many as are wanted.
#[track_caller]
fn lines(text: &str, from: &str, want: &[&str]) {
    let lines = text.lines().map(str::trim).skip_while(|line| !line.starts_with(from));
    assert_eq!(lines.take(want.len()).collect::<Vec<_>>(), want, "\n{text}");
}

#[tpu_kernel(grid(i: n))]
fn gather_rows<T: Float, B: Dim>(
    #[prefetch([n])] ids: Prefetch<i32, 1>,
    #[block([m, k] at (choose(ids.read(i) < 0, 0, ids.read(i)), 0))] x: In<T, (One, B)>,
    #[block([n, k] at (i, 0))] o: Out<T, (One, B)>,
) {
    o.store(x.load());
}

#[test]
fn an_index_map_reads_its_own_argument() {
    let text = text(&gather_rows().b(8), &[DType::I32, DType::F32]);
    lines(
        &text,
        "prefetch",
        &[
            "prefetch %ids: smem<?xi32> = [n]",
            "in %x: vmem<1x8xf32> = [m, k] blocks [1, 8] at (%i, %0: smem<?xi32>) {",
            "%1 = load_scalar %0[%i] : i32",
            "%2 = const 0 : i32",
            "%3 = lt %1, %2 : bool",
            "%4 = load_scalar %0[%i] : i32",
            "%5 = const 0 : i32",
            "%6 = select %3, %5, %4 : i32",
            "%7 = const 0 : i32",
            "yield %6, %7",
            "}",
            "out %o: vmem<1x8xf32> = [n, k] blocks [1, 8] at (%i, %8: smem<?xi32>) {",
        ],
    );
}

#[test]
fn what_a_launch_takes_and_gives() {
    let kernel = by_hand();
    let names = |list: Option<&'static [tpu_kernel::launch::Argument]>| -> Vec<(&str, usize, bool)> {
        list.unwrap().iter().map(|argument| (argument.name, argument.rank, argument.scalar)).collect()
    };
    assert_eq!(names(kernel.arguments()), [("places", 1, false), ("x", 2, false)]);
    assert_eq!(names(kernel.outputs()), [("o", 2, false)]);
    let parameters = kernel.parameters().unwrap();
    assert_eq!((parameters.blocks, parameters.elements, parameters.sizes), (&["BM", "C"][..], &["T"][..], &["n", "m", "c"][..]));
}

/// A helper takes scratch, a slot of it, and a part of an output alike.
fn double<T: Float, S: Shape>(memory: Vmem<T, S>) {
    memory.store(memory.load() * 2.0);
}

#[tpu_kernel(grid(i: m / BM))]
fn by_hand<T: Float, BM: Dim, C: Dim>(
    #[prefetch([n])] places: Prefetch<i32, 1>,
    #[hbm([m, c])] x: Hbm<T, 2>,
    #[hbm([m, c])] o: HbmOut<T, 2>,
    #[scratch] buf: Vmem<T, (D<2>, BM, C)>,
    #[scratch] counts: Smem<i32, (D<4>, D<2>)>,
    #[scratch] sems: DmaSemaphore<(D<2>,)>,
    #[scratch] turns: Semaphore,
) {
    let slot = buf.slot(i % 2);
    let from = x.view((i * BM, 0));
    let started = copy(from, slot).start(sems.at(i % 2));
    started.wait();
    double(slot);
    copy(slot, o.view((i * BM, 0))).now();
    places.write(0, 7);
    counts.write((0, 1), places.read((0,)));
    counts.slot(3).write(0, counts.read((0, 1)) + 1);
    turns.signal(counts.read((3, 0)));
    turns.wait(2);
    copy(from, slot).rows(3).low_priority().add().start(sems.at(0)).leave();
    copy(from, slot).rows(3).finish(sems.at(0));
    let (sum, n) = scoped(|mut mine: Vmem<T, (BM, C)>, sem: DmaSemaphore, ready: Semaphore<(D<2>, D<2>)>| {
        copy(slot, mine).start(sem).wait();
        for j in 0..2 {
            mine += slot.load();
            counts.slot(j).write(j, ready.at((j, 1)).read());
        }
        (mine.load(), sem.read())
    });
    counts.write((0, 0), n);
    slot.view_strided::<(D<2>, C)>((0, 0), [4, 1]).store(sum.slice::<(D<2>, C)>([0, 0]));
}

#[test]
fn operands_and_their_types() {
    lines(
        &text(&by_hand().bm(8).c(128), &[DType::I32, DType::F32]),
        "kernel",
        &[
            "kernel @by_hand(n, m, c) {",
            "grid i = ceildiv(m, 8) arbitrary",
            "prefetch %places: smem<?xi32> = [n]",
            "in %x: hbm<?x?xf32> = [m, c]",
            "out %o: hbm<?x?xf32> = [m, c]",
            "scratch %buf: vmem<2x8x128xf32>",
            "scratch %counts: smem<4x2xi32>",
            "scratch %sems: semaphore<2xdma>",
            "scratch %turns: semaphore<regular>",
            "body {",
        ],
    );
}

/// The lines with memory in them: all but arithmetic, constants and loads of tiles.
#[test]
fn views_copies_and_semaphores() {
    let text = text(&by_hand().bm(8).c(128), &[DType::I32, DType::F32]);
    let body = text.lines().map(str::trim).skip_while(|line| *line != "body {").skip(1);
    let plain = [" const ", " rem ", " mul ", " add ", " size ", " program_id ", " broadcast ", " slice ", " load "];
    let found: Vec<&str> = body.filter(|line| !plain.iter().any(|word| line.contains(&format!("={word}")))).collect();
    assert_eq!(
        found,
        [
            "%7 = view %buf[%5, %6, %6] : vmem<1x8x128xf32>",
            "%8 = view_squeezed %7 axes [0] : vmem<8x128xf32>",
            "%12 = view %x[%10, %11] : hbm<8x128xf32>",
            "%15 = semaphore_at %sems[%14] : semaphore<dma>",
            "dma_start %12, %8, %15",
            "dma_wait %12, %8, %15",
            "store %21, %8[%22, %23]",
            "%27 = view %o[%25, %26] : hbm<8x128xf32>",
            "scoped (%28: semaphore<dma>) {",
            "dma_start %8, %27, %28",
            "dma_wait %8, %27, %28",
            "}",
            "store_scalar %29, %places[%30]",
            "%32 = load_scalar %places[%31] : i32",
            "store_scalar %32, %counts[%33, %34]",
            "%37 = view %counts[%35, %36] : smem<1x2xi32>",
            "%38 = view_squeezed %37 axes [0] : smem<2xi32>",
            "%41 = load_scalar %counts[%39, %40] : i32",
            "store_scalar %43, %38[%44]",
            "%47 = load_scalar %counts[%45, %46] : i32",
            "semaphore_signal %turns, %47",
            "semaphore_wait %turns, %48",
            "%51 = semaphore_at %sems[%50] : semaphore<dma>",
            "dma_start %12, %8, %51, %49 priority 1 add",
            "%54 = semaphore_at %sems[%53] : semaphore<dma>",
            "dma_wait %12, %8, %54, %52",
            "%55, %56 = scoped (%57: vmem<8x128xf32>, %58: semaphore<dma>, %59: semaphore<2x2xregular>) : tile<8x128xf32>, i32 {",
            "dma_start %8, %57, %58",
            "dma_wait %8, %57, %58",
            "for %63 = %60 to %61 step %62 {",
            "store %70, %57[%71, %72]",
            "%74 = view %counts[%63, %73] : smem<1x2xi32>",
            "%75 = view_squeezed %74 axes [0] : smem<2xi32>",
            "%77 = semaphore_at %59[%63, %76] : semaphore<regular>",
            "%78 = semaphore_read %77 : i32",
            "store_scalar %78, %75[%63]",
            "}",
            "%82 = semaphore_read %58 : i32",
            "yield %81, %82",
            "}",
            "store_scalar %56, %counts[%83, %84]",
            "%87 = view %8[%85, %86] strides [4, 1] : vmem<2x128xf32>",
            "store %88, %87[%89, %90]",
            "}",
            "}",
        ],
        "\n{text}"
    );
}

/// Asserts that a kernel is refused with this code alone, at the line that ends with `// here`.
macro_rules! refused {
    ($($name:ident |$i:ident, $x:ident, $o:ident, $buf:ident, $sems:ident, $counts:ident| { $($body:tt)* } => $code:literal, $message:literal;)+) => { $(
        #[test]
        fn $name() {
            #[tpu_kernel(grid(i: n / 8))]
            #[allow(unused_variables, unused_must_use)]
            fn kernel(
                #[hbm([n, 128])] x: Hbm<f32, 2>,
                #[hbm([n, 128])] o: HbmOut<f32, 2>,
                #[scratch] buf: Vmem<f32, (D<2>, D<8>, D<128>)>,
                #[scratch] sems: DmaSemaphore<(D<2>,)>,
                #[scratch] counts: Smem<i32, (D<4>,)>,
            ) {
                let ($i, $x, $o, $buf, $sems, $counts) = (i, x, o, buf, sems, counts);
                copy(buf.slot(0), o.view((i * 8, 0))).now();
                $($body)*
            }
            let Err(Error::Build { faults, .. }) = kernel().stage(&[DType::F32]) else { panic!("the kernel is wrong") };
            let found: Vec<&str> = faults.iter().map(|fault| fault.code()).collect();
            assert_eq!(found, [$code], "{faults:?}");
            let text = faults[0].to_string();
            assert!(text.contains($message), "{text}");
            let line = include_str!("by_hand.rs").lines().nth(faults[0].loc().line as usize - 1);
            assert!(line.is_some_and(|line| line.ends_with("// here")), "{:?}", faults[0].loc());
        }
    )+ };
}

refused! {
    started_and_dropped |i, x, o, buf, sems, counts| {
        copy(x.view((i * 8, 0)), buf.slot(1)).start(sems.at(0)); // here
    } => "B010", "never waited for";

    started_and_kept_to_the_end |i, x, o, buf, sems, counts| {
        let started = copy(x.view((i * 8, 0)), buf.slot(1)).start(sems.at(0)); // here
        counts.write(0, 1);
    } => "B010", "never waited for";

    described_and_dropped |i, x, o, buf, sems, counts| {
        let copies = copy(x.view((i * 8, 0)), buf.slot(1)).low_priority(); // here
        counts.write(0, 1);
    } => "B011", "never made";

    waited_for_in_a_loop |i, x, o, buf, sems, counts| {
        let started = copy(x.view((i * 8, 0)), buf.slot(1)).start(sems.at(0));
        for j in 0..2 {
            started.wait(); // here
        }
    } => "B012", "another loop or branch";

    waited_for_in_a_branch |i, x, o, buf, sems, counts| {
        let started = copy(x.view((i * 8, 0)), buf.slot(1)).start(sems.at(0));
        if i == 0 {
            started.wait(); // here
        }
    } => "B012", "another loop or branch";

    within_scalar_memory |i, x, o, buf, sems, counts| {
        copy(counts, counts).start(sems.at(0)).wait(); // here
    } => "V039", "scalar memory";

    a_slot_too_many |i, x, o, buf, sems, counts| {
        let slot = buf.slot(2); // here
        copy(x.view((i * 8, 0)), slot).now();
    } => "V012", "buf";

    a_view_too_large |i, x, o, buf, sems, counts| {
        let view = buf.view_strided::<(D<2>, D<4>, D<128>)>((0, 2, 0), [1, 2, 1]); // here
        view.store(view.load());
    } => "V012", "buf";

    an_index_too_large |i, x, o, buf, sems, counts| {
        counts.write(0, counts.read(1 + 3)); // here
    } => "V012", "counts";

    a_semaphore_too_many |i, x, o, buf, sems, counts| {
        copy(x.view((i * 8, 0)), buf.slot(1)).start(sems.at(-1)).wait(); // here
    } => "V012", "sems";

    a_stride_of_nothing |i, x, o, buf, sems, counts| {
        let view = x.view_strided::<(D<8>, D<128>)>((0, 0), [0, 1]); // here
        copy(view, buf.slot(1)).now();
    } => "V033", "stride";
}

#[test]
fn an_output_in_hbm_that_nothing_writes() {
    #[tpu_kernel]
    fn kernel(#[hbm([n, 128])] o: HbmOut<f32, 2>, #[scratch] buf: Vmem<f32, (D<8>, D<128>)>) {
        copy(o.view((0, 0)), buf).now();
    }
    let Err(Error::Build { faults, .. }) = kernel().n(8).stage(&[]) else { panic!("the kernel is wrong") };
    assert_eq!(faults.iter().map(|fault| fault.code()).collect::<Vec<_>>(), ["V028"]);
}

#[test]
fn bounds_of_what_is_written() {
    #[tpu_kernel(grid(i: n))]
    fn kernel(
        #[prefetch([n])] ids: Prefetch<i32, 1>,
        #[block([m] at (ids.read(i)))] x: In<f32, (D<128>,)>,
        #[block([n * 128] at (i))] o: Out<f32, (D<128>,)>,
    ) {
        o.store(x.load_or(0.0));
        ids.write(i, 0);
    }
    let Err(Error::Build { faults, .. }) = kernel().stage(&[DType::I32, DType::F32]) else { panic!("the kernel is wrong") };
    assert_eq!(faults.iter().map(|fault| fault.code()).collect::<Vec<_>>(), ["B013"]);
}

/// What the macro cannot see.
fn keep<T>(cell: &std::cell::Cell<T>, value: T) {
    cell.set(value);
}

/// A region's memory ends with it: a tile that a cell carries out of it is refused where it is used.
#[test]
fn a_tile_that_left_its_region_unseen() {
    #[tpu_kernel]
    fn kernel(#[block([8] at (0))] o: Out<f32, (D<8>,)>) {
        let kept = std::cell::Cell::new(Tile::<f32, (D<8>,)>::full(0.0));
        scoped(|mine: Vmem<f32, (D<8>,)>| {
            mine.fill(1.0);
            keep(&kept, mine.load());
        });
        o.store(kept.get());
    }
    let Err(Error::Build { faults, .. }) = kernel().stage(&[]) else { panic!("the kernel is wrong") };
    assert_eq!(faults.iter().map(|fault| fault.code()).collect::<Vec<_>>(), ["B002"]);
}

#[tpu_kernel]
fn seen_otherwise(
    #[block([8, 4] at (0, 0))] x: In<f32, (D<8>, D<4>)>,
    #[scratch] buffer: Vmem<f32, (D<2>, D<8>, D<4>)>,
    #[scratch] table: Smem<i32, (D<4>, D<2>)>,
    #[block([4, 8] at (0, 0))] o: Out<f32, (D<4>, D<8>)>,
) {
    buffer.slot(1).store(x.load());
    let halves = x.view_bitcast_rows::<bf16, (D<16>, D<4>)>().load();
    table.view_t().view_bitcast::<f32>().write((1, 3), 2.0);
    let turned = buffer.view_transposed::<(D<2>, D<4>, D<8>)>([0, 2, 1]).slot(1);
    o.view_reshaped::<(D<32>,)>()
        .store(turned.view_reshaped::<(D<4>, D<2>, D<4>)>().load().reshape::<(D<32>,)>() + halves.at([0, 0]).cast());
}

#[test]
fn memory_is_seen_otherwise() {
    let text = text(&seen_otherwise(), &[DType::F32]);
    for line in [
        "view_bitcast %x : vmem<16x4xbf16>",
        "view_transposed %table perm [1, 0] : smem<2x4xi32>",
        ": smem<2x4xf32>",
        "view_transposed %buffer perm [0, 2, 1] : vmem<2x4x8xf32>",
        ": vmem<4x2x4xf32>",
        "view_reshaped %o : vmem<32xf32>",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[tpu_kernel]
fn too_far(#[block([8, 4] at (0, 0))] x: In<f32, (D<8>, D<4>)>, #[block([16] at (0))] o: Out<f32, (D<16>,)>) {
    o.store(x.view::<(D<8>, D<2>)>((0, 0)).view_reshaped::<(D<16>,)>().load());
}

#[tpu_kernel]
fn other_shape(#[block([8, 4] at (0, 0))] x: In<f32, (D<8>, D<4>)>, #[block([8, 4] at (0, 0))] o: Out<f32, (D<8>, D<4>)>) {
    o.store(x.view_transposed::<(D<8>, D<4>)>([1, 0]).load());
}

#[test]
fn views_that_cannot_be_are_refused() {
    let code = |kernel: &dyn Launchable| kernel.stage(&[DType::F32]).map(|_| ()).unwrap_err().code();
    assert_eq!(code(&too_far()), "V052");
    assert_eq!(code(&other_shape()), "V019");
}

#[tpu_kernel]
fn masked_both_ways(
    at: Scalar<i32>,
    #[block([8, 128] at (0, 0))] x: In<f32, (D<8>, D<128>)>,
    #[block([8, 128] at (0, 0))] o: Out<f32, (D<8>, D<128>)>,
) {
    let yes = iota::<(D<8>, D<128>)>(Lanes) < 64;
    let some = iota::<(D<2>, D<128>)>(Sublanes) + at < 8;
    o.store(x.load_where(yes, -1.0));
    o.store_at_where(
        (at, 0),
        some,
        x.view::<(D<4>, D<128>)>((0, 0)).load_at_where::<(D<2>, D<128>), _>((at, 0), some, x.load_at::<(D<2>, D<128>)>((0, 0))),
    );
    o.store_where(yes, 2.0);
}

#[test]
fn masks_are_recorded() {
    let text = text(&masked_both_ways(), &[DType::F32]);
    assert_eq!(text.matches("load_masked").count(), 2, "{text}");
    assert_eq!(text.matches("store_masked").count(), 2, "{text}");
    assert!(text.contains("store_masked"), "{text}");
}
