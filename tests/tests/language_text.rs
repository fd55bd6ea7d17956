//! What each construct of the language becomes, before any pass; and what is refused when a kernel is built.
//!
//! A kernel has the tiles `x` (f32), `n` (i32), `u` (u32) and `m` (bool) of shape (8, 128); what is compared is the text
//! of what its body records after them.

use tpu_kernel::prelude::*;

type S = (D<8>, D<128>);

/// The lines of the body, without the loads at its start and the store at its end.
fn recorded(kernel: &tpu_kernel::ir::Kernel) -> Vec<String> {
    let text = kernel.to_string();
    let lines = text.lines().map(str::trim).skip_while(|line| !line.contains("cast bool"));
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
    } => [];

    shifts |x, n, u, m| {
        let _ = (n << 3, 1 << n, u >> 4, n.shr_logical(n));
    } => [];

    literals_of_other_types |x, n, u, m| {
        let _ = (n.cast::<i8>() + 100, u * 7, x.cast::<f16>() * 0.1);
    } => [];

    powi |x, n, u, m| {
        let _ = x.powi(5);
        let _ = x.powi(-2);
        let _ = n.powi(0);
    } => [];

    clamp_and_square |x, n, u, m| {
        let _ = x.clamp(0.0, x.max(Lanes));
        let _ = n.square();
    } => [];

    silu_of_bf16 |x, n, u, m| {
        let _ = x.cast::<bf16>().silu();
    } => [];

    concat_and_split |x, n, u, m| {
        let [a, b] = x.split(Lanes);
        let _ = b.concat(a, Lanes);
        let _ = concat([a, b], Sublanes);
    } => [];

    slices |x, n, u, m| {
        let _ = x.slice::<(D<4>, D<64>)>([4, 8]);
        let _ = x.slice_strided::<(D<4>, D<64>)>([1, 0], [2, 1]);
        let _ = x.at([7, 0]);
        let _ = x.sum(AllAxes).scalar();
    } => [];

    padding |x, n, u, m| {
        let _ = x.pad::<(D<16>, D<128>)>([2, 0], 1.0);
    } => [];

    tile_and_repeat |x, n, u, m| {
        let _ = x.tile::<D<3>, _>(Sublanes);
        let _ = x.repeat::<D<2>, _>(Sublanes);
    } => [];

    changes_of_rank |x, n, u, m| {
        let _ = x.expand(Axis::<1>).squeeze(Axis::<1>);
        let _ = x.unfold_axis::<D<2>, D<4>, _>(Sublanes).fold_axes(Axis::<0>);
    } => [];

    rolls |x, n, u, m| {
        let _ = x.roll(program_id(0), Lanes);
        let _ = x.roll_strided(1, Lanes, -2, Sublanes);
    } => [];

    bits |x, n, u, m| {
        let _ = x.bitcast::<u32>();
        let _ = x.bitcast_rows::<i8, (D<32>, D<128>)>();
        let _ = x.stochastic_round::<bf16>(u);
    } => [];

    packing |x, n, u, m| {
        let words = pack([x.cast::<bf16>(), x.cast::<bf16>()]);
        let _ = words.unpack::<bf16>(1);
        let _ = u.unpack::<I4>(2);
    } => [];

    picking |x, n, u, m| {
        let _ = x.take_along_axis(n.slice::<(D<8>, D<4>)>([0, 0]), Lanes);
        let _ = n.max(Lanes).one_hot::<bf16, D<16>, _>(Lanes);
        let _ = iota_of::<u8, S>(Sublanes);
    } => [];

    scans |x, n, u, m| {
        let _ = (x.cumsum(Lanes), n.cumprod_reverse(Sublanes), x.cummax(Axis::<0>));
    } => [];

    sorting |x, n, u, m| {
        let _ = x.sorted_with((n, u), Lanes);
        let _ = x.argsort_descending(Sublanes);
        let _ = x.top_k::<D<4>, _>(Lanes);
    } => [];

    reductions |x, n, u, m| {
        let _ = x.prod(Lanes);
        let _ = x.cast::<bf16>().sum((Sublanes, Lanes));
        let _ = x.argmax(AllAxes);
        let _ = m.any(Sublanes);
    } => [];

    mean_and_softmax |x, n, u, m| {
        let _ = x.mean(Lanes);
        let _ = x.cast::<bf16>().softmax(Lanes);
    } => [];

    products |x, n, u, m| {
        let _ = dot_over(x, Sublanes, n.cast::<i8>(), Sublanes);
        let a = x.expand(Axis::<0>);
        let _ = batch_dot(a, a.transpose::<(One, D<128>, D<8>)>([0, 2, 1]));
        let _ = batch_dot_over(x, Lanes, x, Lanes, Axis::<0>);
    } => [];

    generator |x, n, u, m| {
        prng_seed((3, program_id(0)));
        let _ = prng_bits::<(D<8>,)>();
        let _ = stateful_bernoulli::<(D<8>,)>(0.25);
    } => [];

    messages |x, n, u, m| {
        debug_print!("step {} of {}: {}", program_id(0), 4, x);
        debug_check!(program_id(0) < 9, "too many steps");
        debug_check!(x > 0.0, "not positive");
    } => [];

    messages_in_helpers |x, n, u, m| {
        fn watched(x: Tile<f32, S>) {
            debug_print!("x = {}", x);
            debug_check!(x.gt(0.0), "not positive");
        }
        watched(x);
    } => [];

    keys_are_carried |x, n, u, m| {
        let mut key = Key::of_words(1u32, 2u32);
        let mut sum = n.cast::<u32>();
        for _ in 0..2 {
            sum += key.words()[0];
            let [first, _] = [key, key];
            key = first;
        }
    } => [];

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
    } => [];
}
