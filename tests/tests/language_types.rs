//! Kernels over element types of every width: packed words, open types, scalars of a launch, powers.

use tpu_device::Tensor;
use tpu_kernel::prelude::*;
use tpu_tests::devices::{devices, expect};

/// What is packed comes out again, of every width.
#[tpu_kernel]
fn packed(#[block([8, 128] at (0, 0))] x: In<i32, (D<8>, D<128>)>, #[block([8, 128] at (0, 0))] same: Out<bool, (D<8>, D<128>)>) {
    fn round<T: tpu_kernel::lang::PerWord<N>, const N: usize>(x: Tile<i32, (D<8>, D<128>)>) -> Tile<bool, (D<8>, D<128>)> {
        let parts: [Tile<T, (D<8>, D<128>)>; N] = std::array::from_fn(|at| (x + at as i32).cast::<T>());
        let words = pack(parts);
        parts.iter().enumerate().fold(Tile::full(true), |same, (at, part)| same & part.eq(words.unpack::<T>(at)))
    }
    let x = x.load();
    same.store(
        round::<i32, 1>(x)
            & round::<bf16, 2>(x)
            & round::<i16, 2>(x)
            & round::<u16, 2>(x)
            & round::<F8E4M3, 4>(x.floor_mod(100))
            & round::<i8, 4>(x)
            & round::<I4, 8>(x)
            & round::<U4, 8>(x)
            & round::<F4E2M1, 8>(x.floor_mod(5))
            & round::<I2, 16>(x),
    );
}

#[test]
fn packing_is_undone_by_unpacking() {
    for device in devices() {
        let x = tpu_tests::devices::made(&device, &[8, 128], |at| at as i32 * 37 - 5000);
        expect(&packed().launch(&device, &x).unwrap(), &[8, 128], &[true; 1024]);
    }
}

/// An open integer type, with literals and a scalar of it.
#[tpu_kernel(grid(i: n / 8))]
fn odd<T: Int>(#[block([n] at (i))] x: In<T, (D<8>,)>, #[block([n] at (i))] o: Out<T, (D<8>,)>, top: Scalar<T>) {
    o.store(((x.load() << 1) | 1).minimum(top));
}

/// Scalars of a launch of other types.
#[tpu_kernel]
fn scalars(#[block([4] at (0))] o: Out<f32, (D<4>,)>, a: Scalar<u32>, b: Scalar<f16>, c: Scalar<F8E4M3>, d: Scalar<I4>) {
    let lane = iota::<(D<4>,)>(Lanes);
    let pairs = select(lane == 0, a.cast::<f32>(), select(lane == 1, b.cast::<f32>(), c.cast::<f32>()));
    o.store(select(lane == 3, d.cast::<f32>(), pairs));
}

#[test]
fn every_integer_type_launches() {
    for device in devices() {
        let odd = odd().allow(Allow::BlockShape);
        macro_rules! check {
            ($($ty:ty, $of:expr, [$($value:literal),+], $top:literal, [$($want:literal),+];)+) => { $(
                let x: Vec<$ty> = [$($value),+].into_iter().map($of).collect();
                let x = Tensor::from_slice(&device, &x, &[x.len()]).unwrap();
                let want: Vec<$ty> = [$($want),+].into_iter().map($of).collect();
                expect(&odd.launch(&device, &x, $of($top)).unwrap(), &[want.len()], &want);
            )+ };
        }
        check! {
            i32, |v: i32| v, [0, 3, -1, 100], 99, [1, 7, -1, 99];
            i16, |v: i16| v, [0, 3, -1, 20000], 99, [1, 7, -1, -25535];
            i8, |v: i8| v, [0, 3, -1, 100], 99, [1, 7, -1, -55];
            I4, |v: i8| I4::new(v).unwrap(), [0, 3, -1, 5], 7, [1, 7, -1, -5];
            I2, |v: i8| I2::new(v).unwrap(), [0, 1, -1, -2], 1, [1, -1, -1, 1];
            u32, |v: u32| v, [0, 3, 4294967295, 100], 99, [1, 7, 99, 99];
            u16, |v: u16| v, [0, 3, 65535, 40], 99, [1, 7, 99, 81];
            u8, |v: u8| v, [0, 3, 255, 40], 99, [1, 7, 99, 81];
            U4, |v: u8| U4::new(v).unwrap(), [0, 3, 15, 9], 14, [1, 7, 14, 3];
        }
        let (b, c, d) = (f16::from_f32(0.5), F8E4M3::from_f32(-3.0), I4::new(-8).unwrap());
        expect(&scalars().launch(&device, 7u32, b, c, d).unwrap(), &[4], &[7.0f32, 0.5, -3.0, -8.0]);
    }
}

#[tpu_kernel]
fn powers(
    #[block([3] at (0))] x: In<f32, (D<3>,)>,
    #[block([4, 3] at (0, 0))] o: Out<f32, (D<4>, D<3>)>,
    #[block([3] at (0))] of_integers: Out<i32, (D<3>,)>,
) {
    let x = x.load();
    o.store(concat([x.powi(0), x.powi(5), x.powi(-3), x.powi(1)], Lanes).reshape::<(D<4>, D<3>)>());
    of_integers.store(x.cast::<i8>().powi(3).cast::<i32>());
}

#[test]
fn powers_by_squaring() {
    for device in devices() {
        let x = Tensor::from_slice(&device, &[1.1f32, -7.0, 0.0], &[3]).unwrap();
        let (o, of_integers) = powers().launch(&device, &x).unwrap();
        let fifth = |x: f32| x * ((x * x) * (x * x));
        let want = [1.1f32, -7.0, 0.0].map(|x| [1.0, fifth(x), 1.0 / (x * (x * x)), x]);
        let want: Vec<f32> = (0..12).map(|at| want[at % 3][at / 3]).collect();
        expect(&o, &[4, 3], &want);
        // (-7)³ = -343 wraps to -87.
        expect(&of_integers, &[3], &[1, -87, 0]);
    }
}
