//! From tokens to the model: the attribute's grammar, the parameters, the bounds.

use crate::check::ungrouped;
use crate::errors::Errors;
use crate::memory;
use crate::model::{Bound, Cut, GridDim, Index, Kernel, Param, Role, Semantics, Window};

use crate::pipeline;
use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, ExprRange, FnArg, GenericArgument, GenericParam, Ident, ItemFn, Lit, Pat, PathArguments};
use syn::{RangeLimits, Token, Type, TypeParamBound};

/// The classes of element types, as bounds, and those that each implies.
const CLASSES: [(&str, &[&str]); 5] = [
    ("Element", &[]),
    ("Number", &["Element"]),
    ("Float", &["Element", "Number"]),
    ("Bits", &["Element"]),
    ("Int", &["Element", "Number", "Bits"]),
];

/// The function and its attribute as a model; what cannot be understood is reported and left out.
pub(crate) fn kernel(attribute: TokenStream, item: ItemFn, errors: &mut Errors) -> Kernel {
    let Arguments { grid, semantics, bounds, side_effects } = match syn::parse2(attribute) {
        Ok(arguments) => arguments,
        Err(error) => {
            errors.push(error);
            Arguments { grid: vec![], semantics: None, bounds: vec![], side_effects: false }
        }
    };
    let grid = dimensions(grid, semantics, errors);
    let TypeParams { blocks, elements, unclear } = type_params(&item, errors);
    let params = item.sig.inputs.iter().filter_map(|input| param(input, errors)).collect();
    let body = *item.block;
    let signature = item.sig.paren_token.span.join();
    Kernel {
        attributes: item.attrs,
        visibility: item.vis,
        name: item.sig.ident,
        signature,
        blocks,
        unclear,
        elements,
        grid,
        side_effects,
        bounds,
        params,
        body,
    }
}

/// `grid(i: m / BM, …), semantics(parallel, …), bounds(n: 1..=4096, …), side_effects`.
struct Arguments {
    grid: Vec<(Ident, Expr)>,
    /// The words, and their tokens for errors about all of them.
    semantics: Option<(TokenStream, Vec<Ident>)>,
    bounds: Vec<Bound>,
    side_effects: bool,
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Arguments> {
        let mut arguments = Arguments { grid: vec![], semantics: None, bounds: vec![], side_effects: false };
        let mut seen: Vec<Ident> = vec![];
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            if seen.contains(&key) {
                return Err(syn::Error::new(key.span(), format!("`{key}` is given twice")));
            }
            let inner;
            match key.to_string().as_str() {
                "grid" => {
                    inner = list(input, &key, "the grid's dimensions, as in `grid(i: m / BM, j: n / BN)`")?;
                    let dims = inner.call(Punctuated::<GridItem, Token![,]>::parse_terminated)?;
                    arguments.grid = dims.into_iter().map(|g| (g.name, g.extent)).collect();
                }
                "semantics" => {
                    inner = list(input, &key, "a word for each dimension, as in `semantics(parallel, arbitrary)`")?;
                    let words = inner.call(Punctuated::<Ident, Token![,]>::parse_terminated)?;
                    let tokens = if words.is_empty() { key.to_token_stream() } else { words.to_token_stream() };
                    arguments.semantics = Some((tokens, words.into_iter().collect()));
                }
                "bounds" => {
                    inner = list(input, &key, "the bounds of sizes, as in `bounds(n: 1..=4096)`")?;
                    arguments.bounds = inner.call(Punctuated::<Bound, Token![,]>::parse_terminated)?.into_iter().collect();
                }
                "side_effects" => arguments.side_effects = true,
                _ => {
                    let message = "unknown argument: a kernel takes `grid(i: m / BM, …)`, `semantics(parallel, …)`, `bounds(n: 1..=4096)` and `side_effects`";
                    return Err(syn::Error::new(key.span(), message));
                }
            }
            seen.push(key);
            if !input.is_empty() {
                input
                    .parse::<Token![,]>()
                    .map_err(|e| syn::Error::new(e.span(), "the arguments of a kernel are separated by `,`"))?;
            }
        }
        Ok(arguments)
    }
}

/// What is in the parentheses after the word `key`.
fn list<'s>(input: ParseStream<'s>, key: &Ident, want: &str) -> syn::Result<syn::parse::ParseBuffer<'s>> {
    if !input.peek(syn::token::Paren) {
        let span = if input.is_empty() { key.span() } else { input.span() };
        return Err(syn::Error::new(span, format!("expected {want}")));
    }
    let inner;
    syn::parenthesized!(inner in input);
    Ok(inner)
}

impl Parse for Bound {
    fn parse(input: ParseStream<'_>) -> syn::Result<Bound> {
        const WANT: &str = "the bounds of a size are two numbers, both included: `n: 1..=4096`";
        let size: Ident = input.parse()?;
        input.parse::<Token![:]>().map_err(|error| syn::Error::new(error.span(), WANT))?;
        let range: Expr = input.parse()?;
        let number = |end: &Option<Box<Expr>>| match end.as_deref() {
            Some(Expr::Lit(ExprLit { lit: Lit::Int(n), .. })) => n.base10_parse::<i32>().ok(),
            _ => None,
        };
        let Expr::Range(ExprRange { start, limits: RangeLimits::Closed(_), end, .. }) = &range else {
            return Err(syn::Error::new_spanned(range, WANT));
        };
        match (number(start), number(end)) {
            (Some(low), Some(high)) if low <= high => Ok(Bound { size, low, high }),
            (Some(_), Some(_)) => Err(syn::Error::new_spanned(range, "no size is within these bounds: the least comes first")),
            _ => Err(syn::Error::new_spanned(range, format!("{WANT}, from 0 to 2147483647"))),
        }
    }
}

struct GridItem {
    name: Ident,
    extent: Expr,
}

impl Parse for GridItem {
    fn parse(input: ParseStream<'_>) -> syn::Result<GridItem> {
        if !(input.peek(Ident) && input.peek2(Token![:]) && !input.peek2(Token![::])) {
            let whole: Expr = input.parse()?;
            return Err(syn::Error::new_spanned(whole, "a grid dimension has a name and an extent: `i: m / BM`"));
        }
        let name: Ident = input.parse()?;
        input.parse::<Token![:]>()?;
        Ok(GridItem { name, extent: input.parse()? })
    }
}

fn dimensions(grid: Vec<(Ident, Expr)>, semantics: Option<(TokenStream, Vec<Ident>)>, errors: &mut Errors) -> Vec<GridDim> {
    let mut words = vec![];
    if let Some((tokens, list)) = semantics {
        if list.len() != grid.len() {
            errors.over(
                tokens,
                format!("the grid has {} dimension(s), `semantics` names {}: one word for each", grid.len(), list.len()),
            );
        }
        for word in list {
            match word.to_string().as_str() {
                "core_parallel" => words.push(Semantics::CoreParallel),
                "parallel" => words.push(Semantics::Parallel),
                "arbitrary" => words.push(Semantics::Arbitrary),
                _ => errors.at(
                    word.span(),
                    "a dimension is `parallel` (any order), `arbitrary` (in order) or `core_parallel` (one part a core)",
                ),
            }
        }
    }
    let with_words = grid.into_iter().enumerate();
    with_words
        .map(|(i, (name, extent))| GridDim { name, extent, semantics: words.get(i).copied().unwrap_or(Semantics::Arbitrary) })
        .collect()
}

#[derive(Default)]
struct TypeParams {
    blocks: Vec<Ident>,
    elements: Vec<(Ident, Ident)>,
    unclear: Vec<Ident>,
}

fn type_params(item: &ItemFn, errors: &mut Errors) -> TypeParams {
    const WANT: &str = "a kernel's type parameter is a block size, `BM: Dim`, or an element type, `T: Float` (or `Int`, `Number`, `Bits`, `Element`)";
    let mut found = TypeParams::default();
    if let Some(clause) = &item.sig.generics.where_clause {
        errors.over(clause, "write each bound in the parameter list: `fn k<T: Float, BM: Dim>`");
    }
    for param in &item.sig.generics.params {
        match param {
            GenericParam::Type(ty) => {
                let bounds = ty.bounds.iter().map(|bound| match bound {
                    TypeParamBound::Trait(bound) => bound.path.segments.last().map(|s| &s.ident),
                    _ => None,
                });
                let bounds = bounds.collect::<Option<Vec<&Ident>>>().unwrap_or_default();
                match &bounds[..] {
                    [bound] if *bound == "Dim" => found.blocks.push(ty.ident.clone()),
                    [_, ..] if strongest(&bounds).is_some() => {
                        found.elements.extend(strongest(&bounds).map(|class| (ty.ident.clone(), class.clone())));
                    }
                    _ => {
                        // Its bound may be in the `where` clause, which is refused as a whole.
                        if item.sig.generics.where_clause.is_none() {
                            errors.over(ty, WANT);
                        }
                        // As a block size it does the least harm to what follows.
                        found.blocks.push(ty.ident.clone());
                        found.unclear.push(ty.ident.clone());
                    }
                }
                if let Some((_, default)) = &ty.default {
                    errors.over(default, format!("`{}` is chosen at launch: it has no default", ty.ident));
                }
            }
            GenericParam::Const(param) => {
                let message = format!("a block size is a type: write `{}: Dim` and choose its value at launch", param.ident);
                errors.over(param, message);
            }
            GenericParam::Lifetime(param) => errors.over(param, "a kernel has no lifetimes: its operands are handles"),
        }
    }
    found
}

/// The class of elements that implies all of these bounds.
fn strongest<'b>(bounds: &[&'b Ident]) -> Option<&'b Ident> {
    let implies = |class: &Ident, bound: &Ident| {
        let implied = CLASSES.iter().find(|(name, _)| class == name).map(|(_, implied)| *implied);
        implied.is_some_and(|implied| class == bound || implied.iter().any(|name| bound == name))
    };
    bounds.iter().find(|class| bounds.iter().all(|bound| implies(class, bound))).copied()
}

fn param(input: &FnArg, errors: &mut Errors) -> Option<Param> {
    let FnArg::Typed(input) = input else {
        errors.over(input, "a kernel is a free function: it has no `self` and stands outside `impl` blocks");
        return None;
    };
    let Pat::Ident(pattern) = &*input.pat else {
        errors.over(&input.pat, "an operand is a plain name");
        return None;
    };
    let ty = (*input.ty).clone();
    let Some((word, element)) = handle(&ty).or_else(|| memory::semaphore(&ty)) else {
        let message = "an operand is `In<T, S>`, `Out<T, S>`, `Vmem<T, S>` or `Scalar<T>`; where memory is moved by hand also `Hbm<T, R>`, `HbmOut<T, R>`, `Prefetch<T, R>`, `Smem<T, S>`, `DmaSemaphore` or `Semaphore`";
        errors.over(&ty, message);
        return None;
    };
    let role = role(&word, &ty, &input.attrs, &pattern.ident, errors)?;
    let alias = crate::alias::parse(&input.attrs, errors);
    Some(Param { name: pattern.ident.clone(), mutable: pattern.mutability, ty, element, role, alias })
}

/// The name of an operand's type and its element type.
fn handle(ty: &Type) -> Option<(Ident, Type)> {
    let Type::Path(path) = ungrouped(ty) else { return None };
    let segment = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    let known = ["In", "Out", "Vmem", "Scalar"].iter().chain(&memory::HANDLES).any(|word| segment.ident == word);
    match arguments.args.first()? {
        GenericArgument::Type(element) if known => Some((segment.ident.clone(), element.clone())),
        _ => None,
    }
}

fn role(word: &Ident, ty: &Type, attributes: &[Attribute], name: &Ident, errors: &mut Errors) -> Option<Role> {
    // From the first to the last token of the operand, without its attributes.
    let operand = quote::quote!(#name #ty);
    let mut window = None;
    let mut scratch = false;
    let mut array = None;
    for attribute in attributes {
        if attribute.path().is_ident("block") {
            let parsed = match &attribute.meta {
                syn::Meta::List(list) => {
                    let window = |input: ParseStream<'_>| block(input, attribute.path().span(), list.tokens.clone());
                    list.parse_args_with(window)
                }
                meta => Err(syn::Error::new(meta.span(), FORM)),
            };
            match parsed {
                Ok(_) if window.is_some() => {
                    errors.over(attribute, "an operand has one window: it has a `#[block(…)]` already");
                    return None;
                }
                Ok(parsed) => window = Some(parsed),
                Err(error) => {
                    errors.push(error);
                    return None;
                }
            }
        } else if attribute.path().is_ident("scratch") {
            if !matches!(attribute.meta, syn::Meta::Path(_)) {
                errors.over(&attribute.meta, "`#[scratch]` takes no arguments: the type says its shape");
            }
            scratch = true;
        } else if memory::is_array(attribute) {
            match memory::array(attribute) {
                Ok(_) if array.is_some() => {
                    errors.over(attribute, "an operand is one array: its sizes are given already");
                    return None;
                }
                Ok(parsed) => array = Some(parsed),
                Err(error) => {
                    errors.push(error);
                    return None;
                }
            }
        } else if !["doc", "allow", "alias"].iter().any(|word| attribute.path().is_ident(word)) {
            errors.over(attribute, "unknown attribute: an operand takes `#[block([m, k] at (i, kk))]`, `#[scratch]`, `#[hbm([m, k])]`, `#[prefetch([n])]` or `#[alias(x)]`");
        }
    }
    if array.is_some() || memory::is_handle(word) {
        let marks = memory::Marks { block: window.is_some(), scratch, array };
        return memory::role(word, ty, operand, marks, errors);
    }
    match (word.to_string().as_str(), window, scratch) {
        ("In", Some(window), false) => Some(Role::In(window)),
        ("Out", Some(window), false) => Some(Role::Out(window)),
        ("Vmem", None, true) => Some(Role::Scratch),
        ("Scalar", None, false) => Some(Role::Scalar),
        ("In" | "Out", _, true) => {
            errors.over(ty, "scratch is `Vmem<T, S>`");
            None
        }
        ("In" | "Out", None, false) => {
            errors.over(operand, "a window says which array it is on and which block it sees: `#[block([m, k] at (i, kk))]`");
            None
        }
        ("Vmem", Some(_), _) => {
            errors.over(ty, "a window on an array is `In<T, S>` or `Out<T, S>`; `Vmem<T, S>` is scratch");
            None
        }
        ("Vmem", None, false) => {
            errors.over(operand, "scratch is marked `#[scratch]`");
            None
        }
        _ => {
            errors.over(operand, "a scalar has no block: it is passed at the launch");
            None
        }
    }
}

/// What a block says.
const FORM: &str = "expected the array's shape and the block's index: `#[block([m, k] at (i, kk))]`";

/// `[m, k] at (squeeze i, element kk), buffered(3)`.
fn block(input: ParseStream<'_>, span: Span, tokens: TokenStream) -> syn::Result<Window> {
    if !input.peek(syn::token::Bracket) {
        return Err(syn::Error::new(if input.is_empty() { span } else { input.span() }, FORM));
    }
    let dims;
    syn::bracketed!(dims in input);
    let array = dims.call(Punctuated::<Expr, Token![,]>::parse_terminated)?.into_iter().collect();
    let at: Ident = input.parse().map_err(|e| syn::Error::new(e.span(), FORM))?;
    if at != "at" || !input.peek(syn::token::Paren) {
        return Err(syn::Error::new(at.span(), FORM));
    }
    let indices;
    syn::parenthesized!(indices in input);
    let at = indices.call(Punctuated::<Index, Token![,]>::parse_terminated)?;
    let pipelining = pipeline::parse(input)?;
    Ok(Window { tokens, array, at: at.into_iter().collect(), pipelining })
}

impl Parse for Index {
    fn parse(input: ParseStream<'_>) -> syn::Result<Index> {
        let marked = |word: &str| {
            let ahead = input.fork();
            ahead.parse::<Ident>().is_ok_and(|found| found == word) && !ahead.is_empty() && !ahead.peek(Token![,])
        };
        let (squeezed, element) = (marked("squeeze"), marked("element"));
        if squeezed || element {
            input.parse::<Ident>()?;
        }
        let expr = input.parse()?;
        let cut = match (squeezed, element) {
            (true, _) => Cut::Squeeze,
            (_, true) => Cut::Element(padding(input)?),
            _ => Cut::Block,
        };
        if !input.is_empty() && !input.peek(Token![,]) {
            const WANT: &str =
                "block indices are separated by `,`; `squeeze` or `element` goes before an index, `pad (1, 1)` after an element";
            return Err(syn::Error::new(input.span(), WANT));
        }
        Ok(Index { cut, expr })
    }
}

/// `pad (1, 1)`, where it is there.
fn padding(input: ParseStream<'_>) -> syn::Result<Option<Box<[Expr; 2]>>> {
    if !input.peek(Ident) || input.fork().parse::<Ident>()? != "pad" {
        return Ok(None);
    }
    let word: Ident = input.parse()?;
    let inner = list(input, &word, "the elements before and after the array, as in `pad (1, 1)`")?;
    let sizes: Vec<Expr> = inner.call(Punctuated::<Expr, Token![,]>::parse_terminated)?.into_iter().collect();
    match <[Expr; 2]>::try_from(sizes) {
        Ok(both) => Ok(Some(Box::new(both))),
        Err(_) => {
            Err(syn::Error::new(word.span(), "padding is two numbers, the elements before and after the array: `pad (1, 1)`"))
        }
    }
}
