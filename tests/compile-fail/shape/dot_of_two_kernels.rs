use tpu_kernel::prelude::*;

#[tpu_kernel]
fn square<K: Dim>(#[block([n, n] at (0, 0))] x: In<f32, (K, K)>, #[block([n, n] at (0, 0))] o: Out<f32, (K, K)>) {
    o.store(dot(x.load(), x.load()));
}

#[tpu_kernel]
fn broken<N: Dim, K: Dim>(
    #[block([n, k] at (0, 0))] x: In<bf16, (N, K)>,
    #[block([n, n] at (0, 0))] w: In<bf16, (N, N)>,
    #[block([n, n] at (0, 0))] o: Out<f32, (N, N)>,
) {
    o.store(dot(x.load(), w.load()));
}

fn main() {
    let _ = (square(), broken());
}
