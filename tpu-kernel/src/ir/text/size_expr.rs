//! Reads size expressions.

use super::lex::{Token, quote};
use super::parse::{Parser, Result, error};
use crate::ir::{MAX_DEPTH, SizeExpr, SizeId};

impl Parser<'_> {
    /// A named size, or `?n` for one that the kernel does not name.
    pub(super) fn size(&mut self) -> Result<SizeId> {
        if self.eat("?") {
            return self.number("the number of a size").map(SizeId);
        }
        let at = self.at;
        let name = self.name()?;
        self.size_ids.get(&name).copied().ok_or_else(|| error(at, format!("the kernel has no size named {}", quote(&name))))
    }

    pub(super) fn size_expr(&mut self) -> Result<SizeExpr> {
        self.nested(|p| p.sum()).map(|(expr, _)| expr)
    }

    /// A chain of sums with its depth as a tree: a chain leans to the left, so its length counts too.
    fn sum(&mut self) -> Result<(SizeExpr, usize)> {
        let (mut expr, mut depth) = self.product()?;
        while let Token::Punct(sign @ ("+" | "-")) = self.token {
            self.advance();
            let (right, other) = self.product()?;
            depth = self.deeper(depth.max(other))?;
            expr = if sign == "+" { expr + right } else { expr - right };
        }
        Ok((expr, depth))
    }

    fn product(&mut self) -> Result<(SizeExpr, usize)> {
        let (mut expr, mut depth) = self.nested(|p| p.atom())?;
        while self.eat("*") {
            let (right, other) = self.nested(|p| p.atom())?;
            depth = self.deeper(depth.max(other))?;
            expr = expr * right;
        }
        Ok((expr, depth))
    }

    fn deeper(&self, depth: usize) -> Result<usize> {
        if depth < MAX_DEPTH { Ok(depth + 1) } else { self.fail(format!("a size expression deeper than {MAX_DEPTH} levels")) }
    }

    fn atom(&mut self) -> Result<(SizeExpr, usize)> {
        if self.eat("(") {
            let inner = self.sum()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.eat_word("ceildiv") {
            self.expect("(")?;
            let (a, left) = self.sum()?;
            self.expect(",")?;
            let (b, right) = self.sum()?;
            self.expect(")")?;
            return Ok((a / b, self.deeper(left.max(right))?));
        }
        let negative = self.eat("-");
        if negative || matches!(self.token, Token::Number(_)) {
            let at = self.at;
            let magnitude: i128 = i128::from(self.number::<u64>("a whole number")?);
            let number = i64::try_from(if negative { -magnitude } else { magnitude });
            return number.map(|n| (n.into(), 0)).map_err(|_| error(at, "this number does not fit 64 bits".into()));
        }
        self.size().map(|id| (id.into(), 0))
    }
}
