//! `#[alias(x)]`: an output that shares the array of an input.

use crate::errors::Errors;
use crate::model::{ArrayKind, Kernel, Param, Role};
use proc_macro2::Ident;
use syn::Attribute;

/// What the attribute says.
const FORM: &str = "expected the input whose array the output shares: `#[alias(x)]`";

/// The input that the attribute of an operand names.
pub(crate) fn parse(attributes: &[Attribute], errors: &mut Errors) -> Option<Ident> {
    let mut found: Option<Ident> = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("alias")) {
        let name = match &attribute.meta {
            syn::Meta::List(list) => syn::parse2::<Ident>(list.tokens.clone()).map_err(|e| syn::Error::new(e.span(), FORM)),
            meta => Err(syn::Error::new_spanned(meta, FORM)),
        };
        match name {
            Ok(_) if found.is_some() => errors.over(attribute, "an output shares the array of one input"),
            Ok(name) => found = Some(name),
            Err(error) => errors.push(error),
        }
    }
    found
}

/// Outputs share the arrays of inputs, each of another one.
pub(crate) fn check(kernel: &Kernel, errors: &mut Errors) {
    let mut taken: Vec<&Ident> = vec![];
    for param in &kernel.params {
        let Some(name) = &param.alias else { continue };
        let message = match kernel.params.iter().find(|p| p.name == *name) {
            _ if !param.is_output() => format!("an output shares the array of an input; `{}` is no output", param.name),
            Some(input) if shareable(input) && taken.contains(&name) => format!("the array of `{name}` is shared already"),
            Some(input) if shareable(input) => {
                taken.push(name);
                continue;
            }
            Some(_) => format!("`{name}` is no input array in device memory, as `In<T, S>` and `Hbm<T, R>` are"),
            None => format!("no operand is named `{name}`"),
        };
        errors.at(name.span(), message);
    }
}

fn shareable(param: &Param) -> bool {
    match &param.role {
        Role::In(_) => true,
        Role::Array(array) => array.kind == ArrayKind::Input,
        Role::Out(_) | Role::Scratch | Role::Scalar => false,
    }
}
