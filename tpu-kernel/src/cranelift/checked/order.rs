//! Orders drawn from a seed.

/// A sequence of numbers that a seed decides (splitmix64, Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub(in crate::cranelift) struct Random(u64);

impl Random {
    pub(in crate::cranelift) fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is at least 1.
    pub(in crate::cranelift) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}

/// An order of the numbers below a count, without a list of them: i comes as (a · i + b) mod n, with a and n without a common divisor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Permutation {
    count: u64,
    times: u64,
    plus: u64,
}

impl Permutation {
    /// In their own order.
    pub(super) fn identity(count: u64) -> Permutation {
        Permutation { count: count.max(1), times: 1, plus: 0 }
    }

    /// In an order that is drawn.
    pub(super) fn drawn(count: u64, random: &mut Random) -> Permutation {
        let count = count.max(1);
        let mut times = random.below(count);
        while divisor(times, count) != 1 {
            times = (times + 1) % count;
        }
        Permutation { count, times, plus: random.below(count) }
    }

    /// The number that comes at that place.
    pub(super) fn at(&self, place: u64) -> u64 {
        ((u128::from(self.times) * u128::from(place) + u128::from(self.plus)) % u128::from(self.count)) as u64
    }
}

fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once() {
        for count in [1, 2, 3, 4, 7, 12, 100, 1009] {
            let mut orders = std::collections::HashSet::new();
            for seed in 1..20 {
                let order = Permutation::drawn(count, &mut Random::new(seed));
                let all: Vec<u64> = (0..count).map(|place| order.at(place)).collect();
                let mut sorted = all.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..count).collect::<Vec<_>>(), "{count} {seed}");
                orders.insert(all);
            }
            assert!(count < 4 || orders.len() > 3, "{count}: {} orders", orders.len());
            assert!((0..count).all(|place| Permutation::identity(count).at(place) == place));
        }
    }
}
