//! What a checked launch is asked for.

/// How a launch is checked: every order that the semantics leave open is drawn from the seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Checking {
    /// Draws the order of steps along parallel dimensions and the moments at which copies happen. The same seed, the same run; 0 runs
    /// the steps in the order of the grid.
    pub seed: u64,
    /// Whether elements of outputs may stay unwritten.
    pub unwritten: bool,
}

impl From<u64> for Checking {
    fn from(seed: u64) -> Checking {
        Checking { seed, unwritten: false }
    }
}
