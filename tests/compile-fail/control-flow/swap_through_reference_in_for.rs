use tpu_kernel::prelude::*;

#[tpu_kernel(grid(i: n / B))]
fn broken<B: Dim>(#[block([n] at (i))] x: In<f32, (B,)>, #[block([n] at (i))] o: Out<f32, (B,)>) {
    let mut rows = [[x.load(), x.load() * 2.0]];
    for row in rows.iter_mut() {
        for _ in 0..3 {
            row.swap(0, 1);
        }
    }
    o.store(rows[0][0]);
}

fn main() {}
