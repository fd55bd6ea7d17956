//! Macros in the body; of `debug_print!` and `debug_check!` the messages: texts that stand for themselves but for `{}`.

use crate::carry;
use crate::errors::Errors;
use crate::lower::Lower;
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::visit_mut::VisitMut;
use syn::{Expr, Lit, Token};

impl Lower<'_> {
    /// The arguments of a macro that the language knows.
    pub(crate) fn lower_macro(&mut self, call: &mut syn::Macro) {
        match carry::macro_arguments(call) {
            Some(mut arguments) => {
                check(call, &arguments, self.errors);
                for argument in &mut arguments {
                    if !matches!(argument, Expr::Lit(_)) {
                        self.visit_expr_mut(argument);
                    }
                }
                call.tokens = arguments.to_token_stream();
            }
            None => {
                let known: Vec<String> = carry::MACROS.iter().map(|m| format!("`{m}!`")).collect();
                let message = format!(
                    "this macro may hide assignments from the kernel: write a function; known here are {}",
                    known.join(", ")
                );
                self.errors.over(&call.path, message);
            }
        }
    }
}

/// Reports what such a macro does not take. Of other macros nothing.
fn check(call: &syn::Macro, arguments: &Punctuated<Expr, Token![,]>, errors: &mut Errors) {
    let is = |name: &str| call.path.segments.last().is_some_and(|segment| segment.ident == name);
    if is("debug_print") {
        match arguments.first().and_then(text) {
            Some(text) if places(&text) != Some(arguments.len() - 1) => {
                let message = "each `{}` of the text takes one value, and braces stand for nothing else";
                errors.over(&arguments[0], message);
            }
            Some(_) => {}
            None => errors.over(&call.path, "a text comes first: `debug_print!(\"x = {}\", x)`"),
        }
    }
    if is("debug_check") && (arguments.len() != 2 || arguments.get(1).and_then(text).is_none()) {
        errors.over(&call.path, "this takes a condition and a text: `debug_check!(n > 0, \"no rows\")`");
    }
}

fn text(argument: &Expr) -> Option<String> {
    match argument {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// How many `{}` there are; `None` where there is another brace.
fn places(text: &str) -> Option<usize> {
    let others = text.replace("{}", "");
    (!others.contains(['{', '}'])).then(|| text.matches("{}").count())
}
