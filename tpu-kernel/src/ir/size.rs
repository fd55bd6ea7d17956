//! Expressions over named array sizes: the shapes of operands and the bounds of the grid.
//!
//! They are evaluated on the host at each launch, in checked 64-bit arithmetic, so that one compiled
//! kernel serves every array size. Division rounds up: `m / BM` is the number of blocks that cover `m`.

use std::fmt;

/// A named array size of a kernel: an index into [`Kernel::sizes`](super::Kernel::sizes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SizeId(pub u32);

/// An expression over named array sizes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SizeExpr {
    /// A number known when the kernel is built.
    Const(i64),
    /// A named array size.
    Size(SizeId),
    /// Sum.
    Add(Box<SizeExpr>, Box<SizeExpr>),
    /// Difference.
    Sub(Box<SizeExpr>, Box<SizeExpr>),
    /// Product.
    Mul(Box<SizeExpr>, Box<SizeExpr>),
    /// Quotient, rounded up.
    CeilDiv(Box<SizeExpr>, Box<SizeExpr>),
}

/// Why a size expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeFault {
    /// The result does not fit 64 bits.
    #[error("overflows 64 bits")]
    Overflow,
    /// The divisor is zero or negative.
    #[error("divides by {0}")]
    Divisor(i64),
    /// A named size that nothing bound.
    #[error("uses a size that has no value")]
    Unbound(SizeId),
}

impl SizeExpr {
    /// The value, where `size` gives the value of each named size.
    pub fn eval(&self, size: &dyn Fn(SizeId) -> Option<i64>) -> Result<i64, SizeFault> {
        let both = |a: &SizeExpr, b: &SizeExpr| Ok((a.eval(size)?, b.eval(size)?));
        match self {
            SizeExpr::Const(n) => Ok(*n),
            SizeExpr::Size(id) => size(*id).ok_or(SizeFault::Unbound(*id)),
            SizeExpr::Add(a, b) => both(a, b).and_then(|(a, b)| a.checked_add(b).ok_or(SizeFault::Overflow)),
            SizeExpr::Sub(a, b) => both(a, b).and_then(|(a, b)| a.checked_sub(b).ok_or(SizeFault::Overflow)),
            SizeExpr::Mul(a, b) => both(a, b).and_then(|(a, b)| a.checked_mul(b).ok_or(SizeFault::Overflow)),
            SizeExpr::CeilDiv(a, b) => match both(a, b)? {
                (_, b) if b <= 0 => Err(SizeFault::Divisor(b)),
                (a, b) => Ok(a.div_euclid(b) + i64::from(a.rem_euclid(b) != 0)),
            },
        }
    }

    /// Whether the size is subtracted, or divides: the value may be less where the size is more.
    pub fn falls_with(&self, size: SizeId) -> bool {
        let mentions = |expr: &SizeExpr| {
            let mut found = false;
            expr.sizes(&mut |id| found |= id == size);
            found
        };
        match self {
            SizeExpr::Const(_) | SizeExpr::Size(_) => false,
            SizeExpr::Add(a, b) | SizeExpr::Mul(a, b) => a.falls_with(size) || b.falls_with(size),
            SizeExpr::Sub(a, b) | SizeExpr::CeilDiv(a, b) => a.falls_with(size) || mentions(b),
        }
    }

    /// Calls `visit` with every named size in the expression.
    pub fn sizes(&self, visit: &mut dyn FnMut(SizeId)) {
        match self {
            SizeExpr::Const(_) => {}
            SizeExpr::Size(id) => visit(*id),
            SizeExpr::Add(a, b) | SizeExpr::Sub(a, b) | SizeExpr::Mul(a, b) | SizeExpr::CeilDiv(a, b) => {
                a.sizes(visit);
                b.sizes(visit);
            }
        }
    }

    /// The text of the expression with `names` for the named sizes, as `.tpuir` has it: `ceildiv(m, 128)`.
    pub fn display<'a>(&'a self, names: &'a [String]) -> impl fmt::Display + 'a {
        SizeText { expr: self, names, parent: 0 }
    }
}

impl From<i64> for SizeExpr {
    fn from(n: i64) -> SizeExpr {
        SizeExpr::Const(n)
    }
}
impl From<SizeId> for SizeExpr {
    fn from(id: SizeId) -> SizeExpr {
        SizeExpr::Size(id)
    }
}
impl std::ops::Add for SizeExpr {
    type Output = SizeExpr;
    fn add(self, other: SizeExpr) -> SizeExpr {
        SizeExpr::Add(Box::new(self), Box::new(other))
    }
}
impl std::ops::Sub for SizeExpr {
    type Output = SizeExpr;
    fn sub(self, other: SizeExpr) -> SizeExpr {
        SizeExpr::Sub(Box::new(self), Box::new(other))
    }
}
impl std::ops::Mul for SizeExpr {
    type Output = SizeExpr;
    fn mul(self, other: SizeExpr) -> SizeExpr {
        SizeExpr::Mul(Box::new(self), Box::new(other))
    }
}
/// Rounds up.
impl std::ops::Div for SizeExpr {
    type Output = SizeExpr;
    fn div(self, other: SizeExpr) -> SizeExpr {
        SizeExpr::CeilDiv(Box::new(self), Box::new(other))
    }
}

struct SizeText<'a> {
    expr: &'a SizeExpr,
    names: &'a [String],
    /// Binding strength of the enclosing operator: 0 none, 1 additive, 2 multiplicative or a right operand.
    parent: u8,
}

impl fmt::Display for SizeText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |expr, parent| SizeText { expr, names: self.names, parent };
        let mut infix = |a, op: &str, b, strength: u8| {
            let (open, close) = if self.parent > strength { ("(", ")") } else { ("", "") };
            write!(f, "{open}{} {op} {}{close}", at(a, strength), at(b, strength + 1))
        };
        match self.expr {
            SizeExpr::Const(n) => write!(f, "{n}"),
            SizeExpr::Size(id) => match self.names.get(id.0 as usize) {
                Some(name) => f.write_str(name),
                None => write!(f, "?{}", id.0),
            },
            SizeExpr::Add(a, b) => infix(a, "+", b, 1),
            SizeExpr::Sub(a, b) => infix(a, "-", b, 1),
            SizeExpr::Mul(a, b) => infix(a, "*", b, 2),
            SizeExpr::CeilDiv(a, b) => write!(f, "ceildiv({}, {})", at(a, 0), at(b, 0)),
        }
    }
}
