//! Operands that are moved by hand: whole arrays in HBM, prefetched arrays, scalar memory and semaphores.
//!
//! Rules: `#[hbm([m, k])]` and `#[prefetch([n])]` name the sizes of an array of the launch, as many as its type says; prefetched
//! arrays come before the windows whose index maps read them.

use crate::check::{MAX_RANK, element_name, ungrouped};
use crate::errors::Errors;
use crate::model::{Array, ArrayKind, Kernel, Param, Role};
use crate::size;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, GenericArgument, Lit, PathArguments, Token, Type};

/// Operands with an element type.
pub(crate) const HANDLES: [&str; 4] = ["Hbm", "HbmOut", "Prefetch", "Smem"];

/// Operands without.
const SEMAPHORES: [&str; 3] = ["DmaSemaphore", "Semaphore", "Barrier"];

/// Whether an operand of that type is moved by hand.
pub(crate) fn is_handle(word: &Ident) -> bool {
    HANDLES.iter().chain(&SEMAPHORES).any(|name| word == name)
}

/// Whether a type of that name is memory, which changes without being carried.
pub(crate) fn is_memory(word: &Ident) -> bool {
    is_handle(word) || ["In", "Out", "Vmem", "View"].iter().any(|name| word == name)
}

/// The name of a semaphore's type, and the element type that it counts in.
pub(crate) fn semaphore(ty: &Type) -> Option<(Ident, Type)> {
    let name = element_name(ty).filter(|name| SEMAPHORES.iter().any(|word| name == word))?;
    Some((name.clone(), syn::parse_quote!(i32)))
}

/// Whether the attribute names an array of the launch.
pub(crate) fn is_array(attribute: &Attribute) -> bool {
    attribute.path().is_ident("hbm") || attribute.path().is_ident("prefetch")
}

/// `#[hbm([m, k])]`: of which operand it is an input or an output is not known here.
pub(crate) fn array(attribute: &Attribute) -> syn::Result<Array> {
    let prefetched = attribute.path().is_ident("prefetch");
    let form = match prefetched {
        true => "expected the array's sizes: `#[prefetch([n])]`",
        false => "expected the array's sizes: `#[hbm([m, k])]`",
    };
    let syn::Meta::List(list) = &attribute.meta else { return Err(syn::Error::new_spanned(&attribute.meta, form)) };
    let sizes = |input: ParseStream<'_>| {
        if !input.peek(syn::token::Bracket) {
            let span = if input.is_empty() { syn::spanned::Spanned::span(&list.path) } else { input.span() };
            return Err(syn::Error::new(span, form));
        }
        let inner;
        syn::bracketed!(inner in input);
        let sizes = inner.call(Punctuated::<Expr, Token![,]>::parse_terminated)?;
        if !input.is_empty() {
            return Err(input.error("nothing may follow the sizes: a whole array has no block"));
        }
        Ok(sizes.into_iter().collect())
    };
    let sizes = list.parse_args_with(sizes)?;
    let kind = if prefetched { ArrayKind::Prefetched } else { ArrayKind::Input };
    Ok(Array { kind, tokens: list.tokens.clone(), sizes })
}

/// The attributes of an operand.
pub(crate) struct Marks {
    pub(crate) block: bool,
    pub(crate) scratch: bool,
    pub(crate) array: Option<Array>,
}

/// The role of an operand whose type or attribute is of this module. `operand` is all of it.
pub(crate) fn role(word: &Ident, ty: &Type, operand: TokenStream, marks: Marks, errors: &mut Errors) -> Option<Role> {
    let kind = marks.array.as_ref().map(|array| array.kind);
    let found = (word.to_string(), kind, marks.block, marks.scratch);
    let message = match (found.0.as_str(), found.1, found.2, found.3) {
        ("Hbm", Some(ArrayKind::Input), false, false) => return marks.array.map(Role::Array),
        ("HbmOut", Some(ArrayKind::Input), false, false) => {
            return marks.array.map(|array| Role::Array(Array { kind: ArrayKind::Output, ..array }));
        }
        ("Prefetch", Some(ArrayKind::Prefetched), false, false) => return marks.array.map(Role::Array),
        ("Smem" | "DmaSemaphore" | "Semaphore" | "Barrier", None, false, true) => return Some(Role::Scratch),
        ("Hbm" | "HbmOut", None, false, false) => {
            errors.over(operand, "an array in HBM says its sizes: `#[hbm([m, k])]`");
            return None;
        }
        ("Prefetch", None, false, false) => {
            errors.over(operand, "a prefetched array says its sizes: `#[prefetch([n])]`");
            return None;
        }
        ("Smem" | "DmaSemaphore" | "Semaphore" | "Barrier", None, false, false) => {
            errors.over(operand, "scratch is marked `#[scratch]`");
            return None;
        }
        ("Hbm" | "HbmOut", ..) => "this is a whole array in HBM: it has `#[hbm([m, k])]`, and neither a block nor another mark",
        ("Prefetch", ..) => "this is a prefetched array: it has `#[prefetch([n])]`, and neither a block nor another mark",
        ("Smem" | "DmaSemaphore" | "Semaphore" | "Barrier", ..) => {
            "this is scratch: it is marked `#[scratch]`, and is no array of the launch"
        }
        (_, Some(ArrayKind::Prefetched), ..) => "a prefetched array is `Prefetch<T, R>`, with R dimensions",
        _ => "a whole array in HBM is `Hbm<T, R>`, an output `HbmOut<T, R>`, with R dimensions",
    };
    errors.over(ty, message);
    None
}

/// The rules of a whole array.
pub(crate) fn check(param: &Param, array: &Array, errors: &mut Errors) {
    array.sizes.iter().for_each(|size| size::check(size, errors));
    let (sizes, name) = (array.sizes.len(), element_name(&param.ty).map(Ident::to_string).unwrap_or_default());
    if sizes == 0 || sizes > MAX_RANK {
        errors.over(&array.tokens, format!("an array has 1 to {MAX_RANK} dimensions, this one {sizes}"));
        return;
    }
    match rank(&param.ty) {
        Rank::Number(rank) if rank != sizes => {
            let message = format!("the array has {sizes} size(s), its type {rank} dimension(s): one size for each");
            errors.over(&array.tokens, message);
        }
        Rank::Shape(shape) => {
            let message = format!(
                "a whole array has a number of dimensions, not a shape: `{name}<{}, {sizes}>`; its parts have shapes",
                param.element.to_token_stream()
            );
            errors.over(shape, message);
        }
        Rank::Missing => {
            let message = format!("the number of dimensions is missing: `{name}<{}, {sizes}>`", param.element.to_token_stream());
            errors.over(&param.ty, message);
        }
        Rank::Number(_) | Rank::Constant => {}
    }
}

/// The shape of semaphores, where one is written.
pub(crate) fn semaphores(param: &Param, errors: &mut Errors) {
    let Type::Path(path) = ungrouped(&param.ty) else { return };
    let Some(segment) = path.path.segments.last().filter(|segment| SEMAPHORES.iter().any(|word| segment.ident == word)) else {
        return;
    };
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return };
    match arguments.args.first() {
        Some(GenericArgument::Type(shape)) if !matches!(ungrouped(shape), Type::Tuple(_)) => {
            let written = shape.to_token_stream().to_string().replace(' ', "");
            errors.over(shape, format!("a shape is a tuple, also of one dimension: `({written},)`"));
        }
        _ => {}
    }
}

/// What an array's type says of its dimensions.
enum Rank<'t> {
    Number(usize),
    /// A constant of Rust's.
    Constant,
    Shape(&'t Type),
    Missing,
}

fn rank(ty: &Type) -> Rank<'_> {
    let Type::Path(path) = ungrouped(ty) else { return Rank::Missing };
    let Some(segment) = path.path.segments.last() else { return Rank::Missing };
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return Rank::Missing };
    match arguments.args.iter().nth(1) {
        Some(GenericArgument::Const(Expr::Lit(lit))) => match &lit.lit {
            Lit::Int(n) => n.base10_parse().map_or(Rank::Constant, Rank::Number),
            _ => Rank::Constant,
        },
        Some(GenericArgument::Type(shape @ Type::Tuple(_))) => Rank::Shape(shape),
        Some(_) => Rank::Constant,
        None => Rank::Missing,
    }
}

/// Index maps read what is declared before them.
pub(crate) fn order(kernel: &Kernel, errors: &mut Errors) {
    for late in kernel.params.iter().skip_while(|p| p.window().is_none()).filter(|p| p.is_prefetched()) {
        let message = format!("prefetched arrays come before all windows, whose index maps read them: move `{}` up", late.name);
        errors.at(late.name.span(), message);
    }
}

/// The code that declares a whole array.
pub(crate) fn declare(model: &Kernel, param: &Param, array: &Array) -> TokenStream {
    let (text, span) = (param.name.to_string(), param.name.span());
    let sizes = array.sizes.iter().map(|size| size::expand(size, &model.blocks));
    let word = match array.kind {
        ArrayKind::Input => "hbm",
        ArrayKind::Output => "hbm_out",
        ArrayKind::Prefetched => "prefetch",
    };
    let function = format_ident!("{word}", span = span);
    quote_spanned!(span=> ::tpu_kernel::lang::expanded::#function(#text, ::std::vec![#(#sizes),*]))
}
