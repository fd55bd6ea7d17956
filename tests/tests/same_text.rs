//! One text, two meanings: the body of a kernel and a plain Rust function on numbers give the same.
//!
//! Rule: a body uses only what both have. What a kernel carries wrongly, or decides at the wrong time, differs here.

#![expect(clippy::assign_op_pattern, clippy::nonminimal_bool, clippy::manual_swap, reason = "each form is written out to be tried")]

use tpu_device::{Device, Tensor};
use tpu_kernel::prelude::*;

type V = Tile<i32, (D<4>,)>;

macro_rules! same {
    ($($name:ident |$x:ident, $n:ident| $body:block)+) => { $(
        #[test]
        fn $name() {
            #[tpu_kernel]
            fn kernel(#[block([4] at (0))] x: In<i32, (D<4>,)>, #[block([4] at (0))] o: Out<i32, (D<4>,)>, $n: Scalar<i32>) {
                let $x: V = x.load();
                let result: V = $body;
                o.store(result);
            }
            fn model($x: i32, $n: i32) -> i32 $body

            let device = Device::new("v5e").expect("the chip is known");
            let values = [3, -7, 100, 0];
            let x = Tensor::from_slice(&device, &values, &[4]).expect("it fits");
            for n in -1..6 {
                let o = kernel().launch(&device, &x, n).unwrap_or_else(|error| panic!("{}", error.render()));
                assert_eq!(o.to_vec::<i32>().expect("i32"), values.map(|x| model(x, n)), "n = {n}");
            }
        }
    )+ };
}

same! {
    early |x, n| {
        let mut a = x;
        for j in 0..n {
            if j == 1 {
                continue;
            }
            a += j;
            if j > 3 {
                a -= 1;
                continue;
            }
            a ^= 5;
        }
        a
    }
    shadow |x, n| {
        let mut a = x;
        for j in 0..n {
            let a2 = a + j;
            {
                let mut a = a2;
                a += 1;
                let b = a;
                let _ = b;
            }
            a = a2 * 2;
        }
        a
    }
    shadow_mut |x, n| {
        let mut a = x;
        let mut k = n;
        while k > 0 {
            let mut a = a * 2;
            a += 1;
            let _ = a;
            k -= 1;
        }
        a += k;
        a
    }
    index_shadow |x, n| {
        let mut a = x;
        for j in 0..n {
            let j = j + 1;
            for j in 0..j {
                a += j;
            }
            a += j;
        }
        a
    }
    key_loop |x, n| {
        let mut key = n;
        let mut a = x;
        for mut j in 0..n {
            j += key;
            key = key * 3 + j;
            a += key;
        }
        a + key
    }
    tuple_swap |x, n| {
        let (mut a, mut b) = (x, x * 2);
        for _ in 0..n {
            (a, b) = (b, a + b);
        }
        a - b
    }
    nested_if |x, n| {
        let mut a = x;
        let mut b = n;
        if n > 2 {
            if n > 3 {
                b += 7;
            } else {
                a += b;
            }
        } else if n == 0 {
            a = a * 3;
            b += 1;
        } else {
            b -= n;
        }
        a + b
    }
    if_value |x, n| {
        let mut c = n;
        let a = if n > 2 {
            c += 10;
            x + c
        } else {
            c -= 1;
            x - c
        };
        a + c
    }
    block_value |x, n| {
        let mut c = n;
        let a = {
            c += 1;
            if c > 3 {
                c += 1;
                x
            } else {
                x + 1
            }
        };
        a + c
    }
    and_or |x, n| {
        let mut a = x;
        if n > 1 && n < 4 || n == 5 {
            a += 1;
        }
        if !(n > 2) && (n != 0) {
            a += 10;
        }
        a
    }
    while_two |x, n| {
        let mut a = x;
        let mut i = n;
        let mut s = n;
        while i > 0 && s < 20 {
            s += i;
            i -= 1;
            a += s;
        }
        a + i * 100 + s
    }
    loop_in_if |x, n| {
        let mut a = x;
        let mut t = n;
        if n > 1 {
            for j in 0..n {
                t += j;
                if t > 4 {
                    a += t;
                }
            }
            t -= t;
        }
        a + t
    }
    unrolled |x, n| {
        let mut a = x;
        let mut list = [x; 3];
        for j in unroll(0..3usize) {
            list[j] = a + j as i32;
            if n > j as i32 {
                list[(j + 1) % 3] += 1;
                a += list[j];
            }
        }
        a + list[0] + list[1] * 2 + list[2] * 3
    }
    step_by |x, n| {
        let mut a = x;
        for j in (0..n + 3).step_by(2) {
            a = a * 2 + j;
        }
        a
    }
    closure_helper |x, n| {
        let f = |t, k| {
            let u = t + k;
            if n > 2 {
                u + 1
            } else {
                u
            }
        };
        let mut a = x;
        for j in 0..n {
            a = f(a, j);
        }
        a
    }
    let_else |x, n| {
        let o = Some(1);
        let Some(k) = o else {
            panic!()
        };
        let mut a = x;
        for _ in 0..n {
            if let Some(q) = o {
                a += q + k;
            }
        }
        a
    }
    match_known |x, n| {
        let mode = 2;
        let mut a = x;
        for j in 0..n {
            match mode {
                1 => a += 1, 2 if mode > 1 => {
                    a += j;
                    a *= 2
                }
                _ => a -= 1
            }
        }
        a
    }
    destructure |x, n| {
        let mut p = (x, [x, x + 1]);
        for j in 0..n {
            p.0 += j;
            p.1[1] -= p.0;
            let (ref mut q, [r, _]) = p;
            *q += 1;
            let _ = r;
        }
        p.0 + p.1[0] + p.1[1]
    }
    labelled |x, n| {
        let mut a = x;
        'outer: for k in unroll(0..3) {
            for m in unroll(0..3) {
                if m == 2 {
                    continue 'outer;
                }
                if k == 2 {
                    break 'outer;
                }
                a += n + k + m;
            }
        }
        a
    }
    compound |x, n| {
        let mut a = x;
        let mut m = 5;
        for j in unroll(0..3) {
            m <<= 1;
            m ^= j;
            m |= 1;
            m >>= 1;
        }
        for j in 0..n {
            a <<= 1;
            a >>= 1;
            a ^= j;
            a |= 1;
            a &= 127;
            a %= 50;
            a -= 3;
        }
        a + m
    }
    chain |x, n| {
        let mut a = x;
        let mut b = x;
        let mut c = n;
        for j in 0..n {
            if j % 2 == 0 {
                b = a;
            } else {
                a = b + j;
            }
            if c > 2 {
                c -= 1;
                let t = a;
                a = b;
                b = t;
            }
        }
        a + b * 2 + c
    }
    return_unit |x, n| {
        let mut a = x;
        let mut seen = n == 100;
        for j in 0..n {
            if seen {
                a += 1;
            }
            seen = j > 1 || seen;
        }
        a
    }
    vec_known |x, n| {
        let mut v = vec![x];
        for j in unroll(0..3) {
            v.push(v[j] + n);
        }
        let mut a = x;
        for j in 0..n {
            a += v[3] - v[1] + j;
        }
        a
    }
    mixed_kinds |x, n| {
        let mut a = x;
        let mut count = 0;
        for k in unroll(0..4) {
            if k % 2 == 0 {
                count += 1;
            }
            if n > k {
                a += count;
            }
        }
        a
    }
    else_if_chain |x, n| {
        let mut a = x;
        for j in 0..n {
            a += if j == 0 {
                j + 1
            } else if j == 1 {
                j + 2
            } else if n > 4 {
                n
            } else {
                j
            };
        }
        a
    }
}
