//! Size expressions: array shapes and grid extents over named sizes, block sizes and constants.
//!
//! Rule: a lower-case name is a named array size, an upper-case one a block size or a Rust constant.

use crate::errors::Errors;
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{BinOp, Expr, Ident, Lit};

/// The named size, where the expression is one.
pub(crate) fn name<'e>(expr: &'e Expr, blocks: &[Ident]) -> Option<&'e Ident> {
    match expr {
        Expr::Path(path) => path.path.get_ident().filter(|name| !blocks.contains(name) && !is_constant(name)),
        Expr::Paren(inner) => self::name(&inner.expr, blocks),
        Expr::Group(inner) => self::name(&inner.expr, blocks),
        _ => None,
    }
}

/// Calls `visit` with each named size.
pub(crate) fn names(expr: &Expr, blocks: &[Ident], visit: &mut dyn FnMut(&Ident)) {
    match expr {
        Expr::Binary(binary) => {
            names(&binary.left, blocks, visit);
            names(&binary.right, blocks, visit);
        }
        Expr::Paren(inner) => names(&inner.expr, blocks, visit),
        Expr::Group(inner) => names(&inner.expr, blocks, visit),
        _ => {
            if let Some(name) = name(expr, blocks) {
                visit(name);
            }
        }
    }
}

/// Reports whatever is not a size expression.
pub(crate) fn check(expr: &Expr, errors: &mut Errors) {
    match expr {
        Expr::Binary(binary) if matches!(binary.op, BinOp::Div(_)) && crate::zero::is_zero(&binary.right) => {
            errors.over(expr, "a size is divided by zero here");
        }
        Expr::Binary(binary) if operator(&binary.op).is_some() => {
            check(&binary.left, errors);
            check(&binary.right, errors);
        }
        Expr::Paren(inner) => check(&inner.expr, errors),
        Expr::Group(inner) => check(&inner.expr, errors),
        Expr::Path(path) if path.path.get_ident().is_some() || path.path.segments.iter().all(|s| s.arguments.is_none()) => {}
        Expr::Lit(lit) if matches!(lit.lit, Lit::Int(_)) => {
            if let Lit::Int(int) = &lit.lit
                && int.base10_parse::<i64>().is_err()
            {
                errors.over(expr, "this size does not fit 64 bits");
            } else if let Lit::Int(int) = &lit.lit
                && !int.suffix().is_empty()
            {
                errors.over(expr, "sizes have no suffix: write the number alone");
            }
        }
        _ => errors.over(expr, "a size is made of named sizes, block sizes, constants, `+`, `-`, `*` and `/` (which rounds up)"),
    }
}

/// The expression as code that makes a `SizeExpr`.
pub(crate) fn expand(expr: &Expr, blocks: &[Ident]) -> TokenStream {
    match expr {
        Expr::Binary(binary) => {
            let (left, right) = (expand(&binary.left, blocks), expand(&binary.right, blocks));
            let op = operator(&binary.op).unwrap_or_else(|| quote!(+));
            quote!((#left) #op (#right))
        }
        Expr::Paren(inner) => expand(&inner.expr, blocks),
        Expr::Group(inner) => expand(&inner.expr, blocks),
        Expr::Lit(lit) => match &lit.lit {
            Lit::Int(int) => {
                let value = int.base10_parse::<i64>().unwrap_or(0);
                quote!(::tpu_kernel::lang::expanded::number(#value))
            }
            _ => quote!(::tpu_kernel::lang::expanded::number(0)),
        },
        Expr::Path(path) => match path.path.get_ident() {
            Some(block) if blocks.contains(block) => {
                quote_spanned!(block.span()=> ::tpu_kernel::lang::expanded::number(::tpu_kernel::lang::expanded::block::<#block>()))
            }
            Some(size) if !is_constant(size) => {
                let text = size.to_string();
                quote!(::tpu_kernel::lang::expanded::size_expr(#text))
            }
            _ => quote_spanned!(path.span()=> ::tpu_kernel::lang::expanded::number(#path as i64)),
        },
        _ => quote!(::tpu_kernel::lang::expanded::number(0)),
    }
}

/// Whether the name is a block size or a Rust constant, by its first letter.
pub(crate) fn is_constant(name: &Ident) -> bool {
    name.to_string().trim_start_matches("r#").starts_with(char::is_uppercase)
}

fn operator(op: &BinOp) -> Option<TokenStream> {
    match op {
        BinOp::Add(_) => Some(quote!(+)),
        BinOp::Sub(_) => Some(quote!(-)),
        BinOp::Mul(_) => Some(quote!(*)),
        BinOp::Div(_) => Some(quote!(/)),
        _ => None,
    }
}
