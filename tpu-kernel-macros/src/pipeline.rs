//! What a block says of its pipeline: `buffered(3)`, `lookahead`, `revisit(any)`.
//!
//! Rules: the words follow the block's index, each once, in any order. How many buffers there are is a number or a block size,
//! as padding is.

use crate::check::padding;
use crate::errors::Errors;
use crate::model::{Pipelining, Window};
use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::ParseStream;
use syn::{Expr, Ident, Token};

/// What may follow the block's index.
const WORDS: &str = "after the block's index go `buffered(3)`, `lookahead` and `revisit(any)`, each after a `,`";

/// `, buffered(3), lookahead`, to the end.
pub(crate) fn parse(input: ParseStream<'_>) -> syn::Result<Pipelining> {
    let mut pipelining = Pipelining::default();
    let mut seen: Vec<Ident> = vec![];
    while !input.is_empty() {
        input.parse::<Token![,]>().map_err(|e| syn::Error::new(e.span(), WORDS))?;
        if input.is_empty() && !seen.is_empty() {
            break;
        }
        let word: Ident = input.parse().map_err(|e| syn::Error::new(e.span(), WORDS))?;
        if seen.contains(&word) {
            return Err(syn::Error::new(word.span(), format!("`{word}` is said twice")));
        }
        match word.to_string().as_str() {
            "buffered" => pipelining.buffers = Some(argument(input, &word, "how many buffers: `buffered(3)`")?),
            "lookahead" => pipelining.lookahead = Some(word.clone()),
            "revisit" => pipelining.revisit = Some((word.clone(), revisit(input, &word)?)),
            _ => return Err(syn::Error::new(word.span(), WORDS)),
        }
        seen.push(word);
    }
    Ok(pipelining)
}

/// The one expression in the parentheses after a word.
fn argument(input: ParseStream<'_>, word: &Ident, want: &str) -> syn::Result<Expr> {
    if !input.peek(syn::token::Paren) {
        return Err(syn::Error::new(word.span(), format!("expected {want}")));
    }
    let inner;
    syn::parenthesized!(inner in input);
    let argument = inner.parse().map_err(|_| syn::Error::new(word.span(), format!("expected {want}")))?;
    if inner.is_empty() { Ok(argument) } else { Err(inner.error(format!("expected {want}"))) }
}

fn revisit(input: ParseStream<'_>, word: &Ident) -> syn::Result<bool> {
    const WANT: &str = "`revisit(immediate)`, in consecutive steps, or `revisit(any)`, in any step";
    let mode = argument(input, word, WANT)?;
    match &mode {
        Expr::Path(path) if path.path.is_ident("any") => Ok(true),
        Expr::Path(path) if path.path.is_ident("immediate") => Ok(false),
        _ => Err(syn::Error::new_spanned(mode, format!("expected {WANT}"))),
    }
}

/// What the words mean for an input, or for an output.
pub(crate) fn check(window: &Window, output: bool, blocks: &[Ident], errors: &mut Errors) {
    let Pipelining { buffers, lookahead, revisit } = &window.pipelining;
    if let Some(buffers) = buffers.as_ref().filter(|buffers| padding(buffers, blocks).is_none()) {
        errors.over(buffers, "the number of buffers is a number or a block size: `buffered(3)`, `buffered(NB)`");
    }
    if let Some(word) = lookahead.as_ref().filter(|_| output) {
        errors.at(word.span(), "`lookahead` is for inputs: a block of an output is not fetched");
    }
    if let Some((word, _)) = revisit.as_ref().filter(|_| !output) {
        errors.at(word.span(), "`revisit` is for outputs: a block of an input is fetched whenever it is entered");
    }
}

/// The value that a window is declared with.
pub(crate) fn expand(pipelining: &Pipelining, blocks: &[Ident]) -> TokenStream {
    let Pipelining { buffers, lookahead, revisit } = pipelining;
    let (lookahead, revisit_any) = (lookahead.is_some(), revisit.as_ref().is_some_and(|(_, any)| *any));
    // What is no size has been reported.
    let buffers = match buffers.as_ref().and_then(|buffers| padding(buffers, blocks)) {
        Some(buffers) => quote!(::tpu_kernel::lang::expanded::Option::Some(#buffers)),
        None => quote!(::tpu_kernel::lang::expanded::Option::None),
    };
    quote!(::tpu_kernel::lang::expanded::pipelining(#buffers, #lookahead, #revisit_any))
}
