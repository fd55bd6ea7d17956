//! What each construct of the language becomes, before any pass.
//!
//! A kernel has the tiles `x` (f32, %8), `n` (i32, %11), `u` (u32, %14) and `m` (bool, %15) of shape (8, 128); what is
//! compared is the text of what its body records after them, without places.

use tpu_kernel::prelude::*;

type S = (D<8>, D<128>);

/// The lines of the body, without the loads at its start and the store at its end.
fn recorded(kernel: &tpu_kernel::ir::Kernel) -> Vec<String> {
    let text = kernel.to_string();
    let lines = text.lines().map(|line| line.trim().split(" loc(").next().unwrap_or_default());
    let lines = lines.skip_while(|line| *line != "%15 = cast %11 : tile<8x128xbool>");
    let lines: Vec<String> = lines.skip(1).map(str::to_string).collect();
    let end = lines.iter().position(|line| line.contains("const -77")).expect("the mark at the end");
    lines[..end].to_vec()
}

macro_rules! kernel {
    ($name:ident |$x:ident, $n:ident, $u:ident, $m:ident| { $($body:tt)* }) => {
        #[tpu_kernel(grid(i: k / 8))]
        #[allow(unused_variables)]
        fn $name(
            #[block([k, 128] at (i, 0))] x: In<f32, S>,
            #[block([k, 128] at (i, 0))] n: In<i32, S>,
            #[block([k, 128] at (i, 0))] u: In<u32, S>,
            #[block([k, 128] at (i, 0))] o: Out<i32, S>,
        ) {
            let ($x, $n, $u) = (x.load(), n.load(), u.load());
            let $m = $n.cast::<bool>();
            $($body)*
            o.fill(-77);
        }
    };
}

const INPUTS: [DType; 3] = [DType::F32, DType::I32, DType::U32];

macro_rules! texts {
    ($($name:ident |$x:ident, $n:ident, $u:ident, $m:ident| { $($body:tt)* } => [$($want:literal),* $(,)?];)+) => { $(
        #[test]
        fn $name() {
            kernel!(kernel |$x, $n, $u, $m| { $($body)* });
            let staged = kernel().stage(&INPUTS).expect("the kernel is right");
            let want: &[&str] = &[$($want),*];
            assert_eq!(recorded(&staged), want, "\n{}", recorded(&staged).iter().map(|l| format!("        {l:?},\n")).collect::<String>());
        }
    )+ };
}

texts! {
    functions |x, n, u, m| {
        let _ = (x.log1p(), x.pow(2.0), n.floor_div(3), u.popcount(), x.is_nan());
    } => [
        "%16 = log1p %8 : tile<8x128xf32>",
        "%17 = const 2.0 : f32",
        "%18 = broadcast %17 : tile<8x128xf32>",
        "%19 = pow %8, %18 : tile<8x128xf32>",
        "%20 = const 3 : i32",
        "%21 = broadcast %20 : tile<8x128xi32>",
        "%22 = floor_div %11, %21 : tile<8x128xi32>",
        "%23 = popcount %14 : tile<8x128xu32>",
        "%24 = is_nan %8 : tile<8x128xbool>",
    ];

    shifts |x, n, u, m| {
        let _ = (n << 3, 1 << n, u >> 4, n.shr_logical(n));
    } => [
        "%16 = const 3 : i32",
        "%17 = broadcast %16 : tile<8x128xi32>",
        "%18 = shl %11, %17 : tile<8x128xi32>",
        "%19 = const 1 : i32",
        "%20 = broadcast %19 : tile<8x128xi32>",
        "%21 = shl %20, %11 : tile<8x128xi32>",
        "%22 = const 4 : u32",
        "%23 = broadcast %22 : tile<8x128xu32>",
        "%24 = shr %14, %23 : tile<8x128xu32>",
        "%25 = shr_logical %11, %11 : tile<8x128xi32>",
    ];

    literals_of_other_types |x, n, u, m| {
        let _ = (n.cast::<i8>() + 100, u * 7, x.cast::<f16>() * 0.1);
    } => [
        "%16 = cast %11 : tile<8x128xi8>",
        "%17 = const 100 : i8",
        "%18 = broadcast %17 : tile<8x128xi8>",
        "%19 = add %16, %18 : tile<8x128xi8>",
        "%20 = const 7 : u32",
        "%21 = broadcast %20 : tile<8x128xu32>",
        "%22 = mul %14, %21 : tile<8x128xu32>",
        "%23 = cast %8 : tile<8x128xf16>",
        "%24 = const 0.099975586 : f16",
        "%25 = broadcast %24 : tile<8x128xf16>",
        "%26 = mul %23, %25 : tile<8x128xf16>",
    ];

    powi |x, n, u, m| {
        let _ = x.powi(5);
        let _ = x.powi(-2);
        let _ = n.powi(0);
    } => [
        "%16 = mul %8, %8 : tile<8x128xf32>",
        "%17 = mul %16, %16 : tile<8x128xf32>",
        "%18 = mul %8, %17 : tile<8x128xf32>",
        "%19 = mul %8, %8 : tile<8x128xf32>",
        "%20 = const 1.0 : f32",
        "%21 = broadcast %20 : tile<8x128xf32>",
        "%22 = div %21, %19 : tile<8x128xf32>",
        "%23 = const 1 : i32",
        "%24 = broadcast %23 : tile<8x128xi32>",
    ];

    clamp_and_square |x, n, u, m| {
        let _ = x.clamp(0.0, x.max(Lanes));
        let _ = n.square();
    } => [
        "%16 = reduce max %8 axis 1 : tile<8x1xf32>",
        "%17 = const 0.0 : f32",
        "%18 = broadcast %17 : tile<8x128xf32>",
        "%19 = max %8, %18 : tile<8x128xf32>",
        "%20 = broadcast %16 : tile<8x128xf32>",
        "%21 = min %19, %20 : tile<8x128xf32>",
        "%22 = mul %11, %11 : tile<8x128xi32>",
    ];

    silu_of_bf16 |x, n, u, m| {
        let _ = x.cast::<bf16>().silu();
    } => [
        "%16 = cast %8 : tile<8x128xbf16>",
        "%17 = cast %16 : tile<8x128xf32>",
        "%18 = const -3.4028235e38 : f32",
        "%19 = broadcast %18 : tile<8x128xf32>",
        "%20 = max %17, %19 : tile<8x128xf32>",
        "%21 = logistic %17 : tile<8x128xf32>",
        "%22 = mul %20, %21 : tile<8x128xf32>",
        "%23 = cast %22 : tile<8x128xbf16>",
    ];

    concat_and_split |x, n, u, m| {
        let [a, b] = x.split(Lanes);
        let _ = b.concat(a, Lanes);
        let _ = concat([a, b], Sublanes);
    } => [
        "%16 = slice %8 starts [0, 0] : tile<8x64xf32>",
        "%17 = slice %8 starts [0, 64] : tile<8x64xf32>",
        "%18 = concat %17, %16 axis 1 : tile<8x128xf32>",
        "%19 = concat %16, %17 axis 0 : tile<16x64xf32>",
    ];

    slices |x, n, u, m| {
        let _ = x.slice::<(D<4>, D<64>)>([4, 8]);
        let _ = x.slice_strided::<(D<4>, D<64>)>([1, 0], [2, 1]);
        let _ = x.at([7, 0]);
        let _ = x.sum(AllAxes).scalar();
    } => [
        "%16 = slice %8 starts [4, 8] : tile<4x64xf32>",
        "%17 = slice %8 starts [1, 0] strides [2, 1] : tile<4x64xf32>",
        "%18 = extract %8 [7, 0] : f32",
        "%19 = reduce sum %8 axis 1 : tile<8x1xf32>",
        "%20 = reduce sum %19 axis 0 : tile<1x1xf32>",
        "%21 = extract %20 [0, 0] : f32",
    ];

    padding |x, n, u, m| {
        let _ = x.pad::<(D<16>, D<128>)>([2, 0], 1.0);
    } => [
        "%16 = const 1.0 : f32",
        "%17 = broadcast %16 : tile<2x128xf32>",
        "%18 = broadcast %16 : tile<6x128xf32>",
        "%19 = concat %17, %8, %18 axis 0 : tile<16x128xf32>",
    ];

    tile_and_repeat |x, n, u, m| {
        let _ = x.tile::<D<3>, _>(Sublanes);
        let _ = x.repeat::<D<2>, _>(Sublanes);
    } => [
        "%16 = reshape %8 : tile<1x1x1024xf32>",
        "%17 = broadcast %16 : tile<1x3x1024xf32>",
        "%18 = reshape %17 : tile<24x128xf32>",
        "%19 = reshape %8 : tile<8x1x128xf32>",
        "%20 = broadcast %19 : tile<8x2x128xf32>",
        "%21 = reshape %20 : tile<16x128xf32>",
    ];

    changes_of_rank |x, n, u, m| {
        let _ = x.expand(Axis::<1>).squeeze(Axis::<1>);
        let _ = x.unfold_axis::<D<2>, D<4>, _>(Sublanes).fold_axes(Axis::<0>);
    } => [
        "%16 = reshape %8 : tile<8x1x128xf32>",
        "%17 = reshape %16 : tile<8x128xf32>",
        "%18 = reshape %8 : tile<2x4x128xf32>",
        "%19 = reshape %18 : tile<8x128xf32>",
    ];

    rolls |x, n, u, m| {
        let _ = x.roll(program_id(0), Lanes);
        let _ = x.roll_strided(1, Lanes, -2, Sublanes);
    } => [
        "%16 = program_id 0 : i32",
        "%17 = rotate %8, %16 axis 1 : tile<8x128xf32>",
        "%18 = const 1 : i32",
        "%19 = rotate %8, %18 axis 1 stride -2 along 0 : tile<8x128xf32>",
    ];

    bits |x, n, u, m| {
        let _ = x.bitcast::<u32>();
        let _ = x.bitcast_rows::<i8, (D<32>, D<128>)>();
        let _ = x.stochastic_round::<bf16>(u);
    } => [
        "%16 = bitcast %8 : tile<8x128xu32>",
        "%17 = bitcast %8 : tile<32x128xi8>",
        "%18 = stochastic_round %8, %14 : tile<8x128xbf16>",
    ];

    packing |x, n, u, m| {
        let words = pack([x.cast::<bf16>(), x.cast::<bf16>()]);
        let _ = words.unpack::<bf16>(1);
        let _ = u.unpack::<I4>(2);
    } => [
        "%16 = cast %8 : tile<8x128xbf16>",
        "%17 = cast %8 : tile<8x128xbf16>",
        "%18 = bitcast %16 : tile<8x128xu16>",
        "%19 = cast %18 : tile<8x128xu32>",
        "%20 = bitcast %17 : tile<8x128xu16>",
        "%21 = cast %20 : tile<8x128xu32>",
        "%22 = const 16 : u32",
        "%23 = broadcast %22 : tile<8x128xu32>",
        "%24 = shl %21, %23 : tile<8x128xu32>",
        "%25 = or %19, %24 : tile<8x128xu32>",
        "%26 = const 16 : u32",
        "%27 = broadcast %26 : tile<8x128xu32>",
        "%28 = shr_logical %25, %27 : tile<8x128xu32>",
        "%29 = cast %28 : tile<8x128xu16>",
        "%30 = bitcast %29 : tile<8x128xbf16>",
        "%31 = const 8 : u32",
        "%32 = broadcast %31 : tile<8x128xu32>",
        "%33 = shr_logical %14, %32 : tile<8x128xu32>",
        "%34 = cast %33 : tile<8x128xi4>",
    ];

    picking |x, n, u, m| {
        let _ = x.take_along_axis(n.slice::<(D<8>, D<4>)>([0, 0]), Lanes);
        let _ = n.max(Lanes).one_hot::<bf16, D<16>, _>(Lanes);
        let _ = iota_of::<u8, S>(Sublanes);
    } => [
        "%16 = slice %11 starts [0, 0] : tile<8x4xi32>",
        "%17 = gather %8, %16 axis 1 : tile<8x4xf32>",
        "%18 = reduce max %11 axis 1 : tile<8x1xi32>",
        "%19 = iota axis 1 : tile<8x16xi32>",
        "%20 = broadcast %18 : tile<8x16xi32>",
        "%21 = eq %19, %20 : tile<8x16xbool>",
        "%22 = cast %21 : tile<8x16xbf16>",
        "%23 = iota axis 0 : tile<8x128xi32>",
        "%24 = cast %23 : tile<8x128xu8>",
    ];

    scans |x, n, u, m| {
        let _ = (x.cumsum(Lanes), n.cumprod_reverse(Sublanes), x.cummax(Axis::<0>));
    } => [
        "%16 = scan sum %8 axis 1 : tile<8x128xf32>",
        "%17 = scan prod %11 axis 0 reverse : tile<8x128xi32>",
        "%18 = scan max %8 axis 0 : tile<8x128xf32>",
    ];

    sorting |x, n, u, m| {
        let _ = x.sorted_with((n, u), Lanes);
        let _ = x.argsort_descending(Sublanes);
        let _ = x.top_k::<D<4>, _>(Lanes);
    } => [
        "%16, %17, %18 = sort %8, %11, %14 axis 1 : tile<8x128xf32>, tile<8x128xi32>, tile<8x128xu32>",
        "%19 = iota axis 0 : tile<8x128xi32>",
        "%20, %21 = sort %8, %19 axis 0 descending : tile<8x128xf32>, tile<8x128xi32>",
        "%22 = iota axis 1 : tile<8x128xi32>",
        "%23, %24 = sort %8, %22 axis 1 descending : tile<8x128xf32>, tile<8x128xi32>",
        "%25 = slice %23 starts [0, 0] : tile<8x4xf32>",
        "%26 = slice %24 starts [0, 0] : tile<8x4xi32>",
    ];

    reductions |x, n, u, m| {
        let _ = x.prod(Lanes);
        let _ = x.cast::<bf16>().sum((Sublanes, Lanes));
        let _ = x.argmax(AllAxes);
        let _ = m.any(Sublanes);
    } => [
        "%16 = reduce prod %8 axis 1 : tile<8x1xf32>",
        "%17 = cast %8 : tile<8x128xbf16>",
        "%18 = cast %17 : tile<8x128xf32>",
        "%19 = reduce sum %18 axis 1 : tile<8x1xf32>",
        "%20 = reduce sum %19 axis 0 : tile<1x1xf32>",
        "%21 = cast %20 : tile<1x1xbf16>",
        "%22 = reshape %8 : tile<1024xf32>",
        "%23 = reduce argmax %22 axis 0 : tile<1xi32>",
        "%24 = reshape %23 : tile<1x1xi32>",
        "%25 = reduce any %15 axis 0 : tile<1x128xbool>",
    ];

    mean_and_softmax |x, n, u, m| {
        let _ = x.mean(Lanes);
        let _ = x.cast::<bf16>().softmax(Lanes);
    } => [
        "%16 = reduce sum %8 axis 1 : tile<8x1xf32>",
        "%17 = const 128.0 : f32",
        "%18 = broadcast %17 : tile<8x1xf32>",
        "%19 = div %16, %18 : tile<8x1xf32>",
        "%20 = cast %8 : tile<8x128xbf16>",
        "%21 = cast %20 : tile<8x128xf32>",
        "%22 = reduce max %21 axis 1 : tile<8x1xf32>",
        "%23 = broadcast %22 : tile<8x128xf32>",
        "%24 = sub %21, %23 : tile<8x128xf32>",
        "%25 = exp %24 : tile<8x128xf32>",
        "%26 = reduce sum %25 axis 1 : tile<8x1xf32>",
        "%27 = broadcast %26 : tile<8x128xf32>",
        "%28 = div %25, %27 : tile<8x128xf32>",
        "%29 = cast %28 : tile<8x128xbf16>",
    ];

    products |x, n, u, m| {
        let _ = dot_over(x, Sublanes, n.cast::<i8>(), Sublanes);
        let a = x.expand(Axis::<0>);
        let _ = batch_dot(a, a.transpose::<(One, D<128>, D<8>)>([0, 2, 1]));
        let _ = batch_dot_over(x, Lanes, x, Lanes, Axis::<0>);
    } => [
        "%16 = cast %11 : tile<8x128xi8>",
        "%17 = dot %8, %16 lhs_transposed : tile<128x128xf32>",
        "%18 = reshape %8 : tile<1x8x128xf32>",
        "%19 = transpose %18 perm [0, 2, 1] : tile<1x128x8xf32>",
        "%20 = dot %18, %19 contract [2, 1] batch [[0, 0]] : tile<1x8x8xf32>",
        "%21 = dot %8, %8 contract [1, 1] batch [[0, 0]] : tile<8xf32>",
    ];

    generator |x, n, u, m| {
        prng_seed((3, program_id(0)));
        let _ = prng_bits::<(D<8>,)>();
        let _ = stateful_bernoulli::<(D<8>,)>(0.25);
    } => [
        "%16 = program_id 0 : i32",
        "%17 = const 3 : u32",
        "%18 = cast %16 : u32",
        "prng_seed %17, %18",
        "%19 = prng_bits : tile<8xu32>",
        "%20 = const 0.25 : f32",
        "%21 = prng_bits : tile<8xu32>",
        "%22 = const 9 : u32",
        "%23 = broadcast %22 : tile<8xu32>",
        "%24 = shr_logical %21, %23 : tile<8xu32>",
        "%25 = const 1065353216 : u32",
        "%26 = broadcast %25 : tile<8xu32>",
        "%27 = or %24, %26 : tile<8xu32>",
        "%28 = bitcast %27 : tile<8xf32>",
        "%29 = const 1.0 : f32",
        "%30 = broadcast %29 : tile<8xf32>",
        "%31 = sub %28, %30 : tile<8xf32>",
        "%32 = broadcast %20 : tile<8xf32>",
        "%33 = lt %31, %32 : tile<8xbool>",
    ];

    messages |x, n, u, m| {
        debug_print!("step {} of {}: {}", program_id(0), 4, x);
        debug_check!(program_id(0) < 9, "too many steps");
        debug_check!(x > 0.0, "not positive");
    } => [
        "%16 = program_id 0 : i32",
        "%17 = const 4 : i32",
        "print \"step {} of {}: {}\", %16, %17, %8",
        "%18 = program_id 0 : i32",
        "%19 = const 9 : i32",
        "%20 = lt %18, %19 : bool",
        "check \"too many steps\", %20",
        "%21 = const 0.0 : f32",
        "%22 = broadcast %21 : tile<8x128xf32>",
        "%23 = gt %8, %22 : tile<8x128xbool>",
        "%24 = reduce all %23 axis 1 : tile<8x1xbool>",
        "%25 = reduce all %24 axis 0 : tile<1x1xbool>",
        "%26 = extract %25 [0, 0] : bool",
        "check \"not positive\", %26",
    ];

    messages_in_helpers |x, n, u, m| {
        fn watched(x: Tile<f32, S>) {
            debug_print!("x = {}", x);
            debug_check!(x.gt(0.0), "not positive");
        }
        watched(x);
    } => [
        "print \"x = {}\", %8",
        "%16 = const 0.0 : f32",
        "%17 = broadcast %16 : tile<8x128xf32>",
        "%18 = gt %8, %17 : tile<8x128xbool>",
        "%19 = reduce all %18 axis 1 : tile<8x1xbool>",
        "%20 = reduce all %19 axis 0 : tile<1x1xbool>",
        "%21 = extract %20 [0, 0] : bool",
        "check \"not positive\", %21",
    ];

    keys_are_carried |x, n, u, m| {
        let mut key = Key::of_words(1u32, 2u32);
        let mut sum = n.cast::<u32>();
        for _ in 0..2 {
            sum += key.words()[0];
            let [first, _] = [key, key];
            key = first;
        }
    } => [
        "%16 = const 1 : u32",
        "%17 = const 2 : u32",
        "%18 = cast %11 : tile<8x128xu32>",
        "%19 = const 0 : i32",
        "%20 = const 2 : i32",
        "%21 = const 1 : i32",
        "%22, %23, %24 = for %25 = %19 to %20 step %21 carry (%26 = %18, %27 = %16, %28 = %17) : tile<8x128xu32>, u32, u32",
        "%29 = broadcast %27 : tile<8x128xu32>",
        "%30 = add %26, %29 : tile<8x128xu32>",
        "yield %30, %27, %28",
        "}",
    ];

    // A method that reads does not make a loop carry its variable.
    methods_that_read |x, n, u, m| {
        let mut a = x;
        a += 1.0;
        let mut q = m;
        q |= m;
        for _ in 0..2 {
            let _ = (a.gelu(), a.top_k::<D<4>, _>(Lanes), a.softmax(Lanes), q.any(Lanes), q.all((Sublanes, Lanes)));
            debug_print!("{}", a);
        }
    } => [
        "%16 = const 1.0 : f32",
        "%17 = broadcast %16 : tile<8x128xf32>",
        "%18 = add %8, %17 : tile<8x128xf32>",
        "%19 = or %15, %15 : tile<8x128xbool>",
        "%20 = const 0 : i32",
        "%21 = const 2 : i32",
        "%22 = const 1 : i32",
        "for %23 = %20 to %21 step %22",
        "%24 = const -3.4028235e38 : f32",
        "%25 = broadcast %24 : tile<8x128xf32>",
        "%26 = max %18, %25 : tile<8x128xf32>",
        "%27 = const 0.5 : f32",
        "%28 = broadcast %27 : tile<8x128xf32>",
        "%29 = mul %26, %28 : tile<8x128xf32>",
        "%30 = const -0.70710677 : f32",
        "%31 = broadcast %30 : tile<8x128xf32>",
        "%32 = mul %18, %31 : tile<8x128xf32>",
        "%33 = erfc %32 : tile<8x128xf32>",
        "%34 = mul %29, %33 : tile<8x128xf32>",
        "%35 = iota axis 1 : tile<8x128xi32>",
        "%36, %37 = sort %18, %35 axis 1 descending : tile<8x128xf32>, tile<8x128xi32>",
        "%38 = slice %36 starts [0, 0] : tile<8x4xf32>",
        "%39 = slice %37 starts [0, 0] : tile<8x4xi32>",
        "%40 = reduce max %18 axis 1 : tile<8x1xf32>",
        "%41 = broadcast %40 : tile<8x128xf32>",
        "%42 = sub %18, %41 : tile<8x128xf32>",
        "%43 = exp %42 : tile<8x128xf32>",
        "%44 = reduce sum %43 axis 1 : tile<8x1xf32>",
        "%45 = broadcast %44 : tile<8x128xf32>",
        "%46 = div %43, %45 : tile<8x128xf32>",
        "%47 = reduce any %19 axis 1 : tile<8x1xbool>",
        "%48 = reduce all %19 axis 1 : tile<8x1xbool>",
        "%49 = reduce all %48 axis 0 : tile<1x1xbool>",
        "print \"{}\", %18",
        "}",
    ];
}
