//! Errors, collected so that all of them are reported.

use proc_macro2::{Span, TokenStream};

/// Collects errors, so that all of them are reported.
#[derive(Default)]
pub(crate) struct Errors(Vec<syn::Error>);

impl Errors {
    /// An error at one span, where there is none: what two rules refuse is one mistake.
    pub(crate) fn at(&mut self, span: Span, message: impl std::fmt::Display) {
        // Spans are compared by what they show, which is all that there is.
        let place = |span: Span| format!("{span:?}");
        if self.0.iter().any(|error| place(error.span()) == place(span)) {
            return;
        }
        self.0.push(syn::Error::new(span, message));
    }

    /// An error from the first to the last of these tokens.
    pub(crate) fn over(&mut self, tokens: impl quote::ToTokens, message: impl std::fmt::Display) {
        self.0.push(syn::Error::new_spanned(tokens, message));
    }

    pub(crate) fn push(&mut self, error: syn::Error) {
        self.0.push(error);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A `compile_error!` for each.
    pub(crate) fn into_tokens(self) -> TokenStream {
        self.0.into_iter().map(|e| e.into_compile_error()).collect()
    }
}
