use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>(#[block([n] at (i))] o: Out<i32, (B,)>, steps: Scalar<i32>) {
    let mut k = steps;
    let mut hits = Scalar::from(0);
    while {
        hits += 1;
        k > 0
    } {
        k -= 1;
    }
    o.store(hits);
}

fn main() {}
