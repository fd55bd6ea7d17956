//! What a region carries, and what may not change where nothing is carried.

use crate::carry::{self, Assigned, How};
use crate::lower::Lower;
use crate::scope::{Reference, Variable};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use std::fmt;
use syn::{Block, Expr};

/// A variable that changes where it may not.
pub(crate) struct Change {
    pub(crate) name: Ident,
    how: How,
}

impl Change {
    /// What to do instead, in words before "before" or "in the body".
    pub(crate) fn advice(&self) -> &'static str {
        match self.how {
            How::Assigned => "assign it",
            How::Called(_) | How::Passed => "call it",
        }
    }

    /// The message where the body of a `scoped` changes it.
    pub(crate) fn in_region(&self) -> String {
        const RETURN: &str = "return the new value from `scoped`";
        match &self.how {
            How::Assigned => format!("a region of its own cannot assign `{}` of the kernel: {RETURN}", self.name),
            How::Called(_) | How::Passed => format!("{self} in a region of its own, out of which nothing is carried: {RETURN}"),
        }
    }

    /// The message where the body of a pipeline changes it.
    pub(crate) fn in_pipeline(&self) -> String {
        const KEEP: &str = "keep it in scratch, which lasts from step to step";
        match &self.how {
            How::Assigned => format!("the body of a pipeline cannot assign `{}` of the kernel: {KEEP}", self.name),
            How::Called(_) | How::Passed => format!("{self} in the body of a pipeline, out of which nothing is carried: {KEEP}"),
        }
    }

    /// The message where a closure changes it.
    pub(crate) fn in_closure(&self) -> String {
        const WRITE: &str = "write a function that returns the new value";
        match &self.how {
            How::Assigned => format!("a closure cannot assign `{}` of the kernel: {WRITE}", self.name),
            How::Called(_) | How::Passed => format!("{self} in a closure, which the kernel does not see: {WRITE}"),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.how {
            How::Assigned => write!(f, "`{name}` is assigned"),
            How::Called(method) => write!(f, "`{name}` may be changed by `.{method}(…)`"),
            How::Passed => write!(f, "what `{name}` points to may be changed"),
        }
    }
}

impl Lower<'_> {
    /// `&mut [carried(when, &mut a), carried(when, &mut *r)]` of the assigned variables that are declared around
    /// the region. Of one that is not `mut`, a part can be assigned where it is a reference: what it points to is
    /// carried, also where the reference goes into a call. Whole, rustc refuses it, which is enough.
    pub(crate) fn carries(&mut self, when: &dyn Fn(Span) -> TokenStream, exprs: &[&Expr], blocks: &[&Block]) -> TokenStream {
        let mut places = vec![];
        let carried = |name: &Ident, place: TokenStream| {
            let when = when(name.span());
            quote_spanned!(name.span()=> ::tpu_kernel::lang::Carry::carried(#when, &mut #place))
        };
        let found = carry::assigned(exprs, blocks);
        let mut whole: Vec<&Ident> = vec![];
        for assigned in &found {
            let Assigned { name, part, how, replaced, field } = assigned;
            let Some(Variable { mutable, reference, memory }) = self.scopes.find(&name.to_string()) else { continue };
            let of = |place: &dyn ToTokens| quote_spanned!(name.span()=> *#place.__tpu_kernel_place());
            let behind = || match (how, field) {
                (How::Passed, Some(field)) => of(field),
                _ => of(name),
            };
            match how {
                // That it is other memory from now on cannot be carried, and rustc says so.
                _ if memory && *replaced => places.push(carried(name, name.to_token_stream())),
                _ if memory => {}
                How::Assigned | How::Called(_) if mutable => {
                    if !whole.contains(&name) {
                        places.push(carried(name, name.to_token_stream()));
                        whole.push(name);
                    }
                }
                // Memory is no variable, and a slice has no size; but memory that is exchanged for other memory is wrong.
                How::Assigned | How::Called(_) if whole.contains(&name) => {}
                How::Assigned if *part && reference == Reference::Yes && !replaced => {
                    places.push(carried(name, behind()));
                    whole.push(name);
                }
                How::Assigned if *part => places.push(carried(name, quote_spanned!(name.span()=> *#name))),
                How::Assigned => {}
                // A method of a field changes the field, or what the field points to: types are not known here.
                How::Called(_) if assigned.hides() || field.is_some() && reference == Reference::Perhaps => {
                    let message = format!(
                        "`{name}` may change here without an assignment that the kernel sees: use a `mut` variable and assign it"
                    );
                    self.errors.at(name.span(), message);
                }
                // A variable that is carried has no fields left to carry.
                How::Passed if field.is_some() && carried_whole(&found, name) => {}
                How::Called(_) | How::Passed if field.is_none() && mutable && carried_whole(&found, name) => {}
                How::Called(_) | How::Passed if reference != Reference::No => {
                    places.push(carried(name, behind()));
                    if *how != How::Passed {
                        whole.push(name);
                    }
                }
                How::Called(_) | How::Passed => {}
            }
        }
        quote!(&mut [#(#places),*])
    }

    /// The first variable around an expression that it changes, where nothing can be carried.
    pub(crate) fn changes(&self, expr: &Expr) -> Option<Change> {
        carry::assigned(&[expr], &[]).into_iter().find_map(|assigned| {
            let known = self.scopes.find(&assigned.name.to_string());
            let changes = match assigned.how {
                // What is stored stays in memory, wherever it is stored.
                How::Assigned => assigned.replaced || !known.is_some_and(|v| v.memory),
                How::Called(_) => {
                    assigned.hides() || known.is_some_and(|v| v.mutable && !v.memory || v.reference == Reference::Yes)
                }
                How::Passed => known.is_some_and(|v| v.reference == Reference::Yes),
            };
            changes.then_some(Change { name: assigned.name, how: assigned.how })
        })
    }
}

/// Whether a change of it, or of what it points to, carries the variable as a whole.
fn carried_whole(found: &[Assigned], name: &Ident) -> bool {
    found.iter().any(|other| other.name == *name && other.how != How::Passed)
}
