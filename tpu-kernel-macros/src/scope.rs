//! The variables in scope, and through which of them another variable can change.
//!
//! Rule: a mutable reference changes what it points to wherever it goes, also as `f(r)` or `r.grow()`; memory and its parts keep what
//! is stored, and are never carried. Types are not
//! known here: a variable is one where its own type or value says so, may be one where its value mentions one.

use crate::carry::{declared, says_mut};
use crate::check::element_name;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::HashMap;
use syn::{Expr, FnArg, Pat, ReceiverKind, Type};

/// Whether a value is a mutable reference, or memory.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Reference {
    No,
    Perhaps,
    Yes,
    /// A handle of memory, which keeps what is stored.
    Memory,
}

/// Methods that give parts of memory.
const PARTS: [&str; 4] = ["view", "view_strided", "slot", "at"];

impl Reference {
    /// Of a part of such a value.
    pub(crate) fn of_part(self) -> Reference {
        match self {
            Reference::Yes => Reference::Perhaps,
            Reference::Memory => Reference::No,
            other => other,
        }
    }
}

/// What is known of a variable.
#[derive(Clone, Copy)]
pub(crate) struct Variable {
    pub(crate) mutable: bool,
    pub(crate) reference: Reference,
    /// Memory keeps what is stored: it changes without being carried.
    pub(crate) memory: bool,
}

/// The variables in scope, innermost scope last.
pub(crate) struct Scopes(Vec<HashMap<String, Variable>>);

impl Scopes {
    pub(crate) fn new() -> Scopes {
        Scopes(vec![HashMap::new()])
    }

    pub(crate) fn open(&mut self) {
        self.0.push(HashMap::new());
    }

    pub(crate) fn close(&mut self) {
        self.0.pop();
    }

    pub(crate) fn find(&self, name: &str) -> Option<Variable> {
        self.0.iter().rev().find_map(|scope| scope.get(name)).copied()
    }

    pub(crate) fn insert(&mut self, name: String, variable: Variable) {
        self.0.last_mut().expect("one scope is always open").insert(name, variable);
    }

    /// Declares the variables of a pattern. `reference` is what is known of the value that it takes apart.
    pub(crate) fn declare(&mut self, pat: &Pat, reference: Reference) {
        let (whole, reference) = match pat {
            Pat::Type(typed) => (matches!(*typed.pat, Pat::Ident(_)), of_type(&typed.ty, reference)),
            _ => (matches!(pat, Pat::Ident(_)), reference),
        };
        let reference = if whole { reference } else { reference.of_part() };
        let reference = if mentions(pat.to_token_stream(), &mut |word| word == "ref") { Reference::Perhaps } else { reference };
        let memory = reference == Reference::Memory;
        let reference = if memory { Reference::No } else { reference };
        for (name, mutable) in declared(pat) {
            self.insert(name.to_string(), Variable { mutable, reference, memory });
        }
    }

    /// Declares the windows of a pipeline.
    pub(crate) fn declare_memory(&mut self, pat: &Pat) {
        for (name, mutable) in declared(pat) {
            self.insert(name.to_string(), Variable { mutable, reference: Reference::No, memory: true });
        }
    }

    /// Declares the parameters of a helper.
    pub(crate) fn parameter(&mut self, input: &FnArg) {
        match input {
            FnArg::Receiver(receiver) => {
                let (mutable, reference) = match &receiver.kind {
                    ReceiverKind::Value => (receiver.mutability.is_some(), Reference::No),
                    ReceiverKind::Reference(_, _, Some(_)) => (false, Reference::Yes),
                    ReceiverKind::Typed(_, ty) => (receiver.mutability.is_some(), of_type(ty, Reference::No)),
                    _ => (false, Reference::No),
                };
                let variable = Variable { mutable, reference, memory: false };
                self.insert("self".to_string(), variable);
            }
            FnArg::Typed(typed) => {
                let of_type = of_type(&typed.ty, Reference::No);
                self.declare(&typed.pat, if matches!(*typed.pat, Pat::Ident(_)) { of_type } else { of_type.of_part() });
            }
        }
    }

    /// What a value is, as far as its expression shows, before it is rewritten.
    pub(crate) fn value(&self, expr: &Expr) -> Reference {
        match expr {
            Expr::Reference(borrow) if borrow.mutability.is_some() => Reference::Yes,
            Expr::Paren(inner) => self.value(&inner.expr),
            Expr::Group(inner) => self.value(&inner.expr),
            Expr::Path(path) => {
                let known = path.path.get_ident().and_then(|name| self.find(&name.to_string()));
                known.map_or(Reference::No, |known| if known.memory { Reference::Memory } else { known.reference })
            }
            Expr::MethodCall(call)
                if PARTS.iter().any(|part| call.method == part) && self.value(&call.receiver) == Reference::Memory =>
            {
                Reference::Memory
            }
            _ => {
                let mut of = |word: &str| says_mut(word) || self.find(word).is_some_and(|v| v.reference != Reference::No);
                if mentions(expr.to_token_stream(), &mut of) { Reference::Perhaps } else { Reference::No }
            }
        }
    }
}

/// What a written type says; `inferred` where it says nothing.
fn of_type(ty: &Type, inferred: Reference) -> Reference {
    match ty {
        Type::Reference(ty) if ty.mutability.is_some() => Reference::Yes,
        Type::Infer(_) => inferred,
        _ if element_name(ty).is_some_and(crate::memory::is_memory) => Reference::Memory,
        _ if mentions(ty.to_token_stream(), &mut |word| word == "mut") => Reference::Perhaps,
        _ => Reference::No,
    }
}

/// Whether a name for which `of` holds is among the tokens.
fn mentions(tokens: TokenStream, of: &mut dyn FnMut(&str) -> bool) -> bool {
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Ident(word) => of(&word.to_string()),
        TokenTree::Group(group) => mentions(group.stream(), of),
        _ => false,
    })
}
