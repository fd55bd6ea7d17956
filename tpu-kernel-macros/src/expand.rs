//! The code that a kernel becomes: a launch type with its methods, and the staging function.

use crate::check::{self, element_name};
use crate::errors::Errors;
use crate::lower::Lower;
use crate::model::{Cut, Kernel, Param, Role, Semantics, Window};
use crate::scope::{Reference, Scopes, Variable};
use crate::{memory, parse, pipeline, size};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Block, Expr, FnArg, GenericParam, ItemFn, Type, TypeParamBound};

/// Lints that generated code would raise in the user's name.
fn allows() -> TokenStream {
    quote! {
        #[allow(unused_mut, unused_assignments, unreachable_code, unused_braces, unused_parens, clippy::all)]
    }
}

/// Expands `#[tpu_kernel]`.
pub(crate) fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let tokens = item.clone();
    let item: ItemFn = match syn::parse2(item) {
        Ok(item) => item,
        Err(error) => return not_a_function("tpu_kernel", &tokens, &error),
    };
    if matches!(item.sig.inputs.first(), Some(FnArg::Receiver(_))) {
        let mut errors = Errors::default();
        parse::kernel(attribute, item, &mut errors);
        // Inside an `impl`, where the launch type cannot stand.
        return errors.into_tokens();
    }
    let mut errors = Errors::default();
    check::function(&item, &mut errors);
    let mut model = parse::kernel(attribute, item, &mut errors);
    check::kernel(&model, &mut errors);
    if errors.is_empty() {
        lower_body(&mut model, &mut errors);
    }
    if !errors.is_empty() {
        // A stub with the same methods: whoever launches the kernel gets no second error. A name that is taken
        // twice, which may be the error, it has once.
        check::distinct(&mut model);
        model.body = Block { brace_token: Default::default(), stmts: vec![] };
        let stub = launch_type(&model, &quote!(), &quote!(), &quote!({ ::std::unreachable!() }));
        let errors = errors.into_tokens();
        return quote!(#errors #stub);
    }
    let stage = stage(&model);
    launch_type(&model, &block_sizes(&model), &arguments(&model), &stage)
}

/// The answer to what is no function.
fn not_a_function(word: &str, tokens: &TokenStream, error: &syn::Error) -> TokenStream {
    let mut words = tokens.clone().into_iter().skip_while(|tree| !matches!(tree, TokenTree::Ident(word) if word == "fn"));
    let name = words.nth(1);
    match name {
        // rustc reads an item before a macro does, and has reported what is no type or expression of Rust. A stub
        // of the name is what it still misses.
        Some(TokenTree::Ident(name)) => quote! {
            #[allow(dead_code)]
            fn #name() {}
        },
        _ => syn::Error::new(error.span(), format!("`#[{word}]` goes on a function")).into_compile_error(),
    }
}

fn lower_body(model: &mut Kernel, errors: &mut Errors) {
    let grid: Vec<Ident> = model.grid.iter().map(|g| g.name.clone()).collect();
    // Memory carries nothing: an operand is in scope, but not as a variable that changes.
    let mut scopes = Scopes::new();
    for param in &model.params {
        let (mutable, memory) = (param.mutable.is_some(), !matches!(param.role, Role::Scalar));
        scopes.insert(param.name.to_string(), Variable { mutable, reference: Reference::No, memory });
    }
    let mut lower = Lower::new(&model.blocks, &grid, errors, scopes);
    lower.body(&mut model.body);
    for param in &mut model.params {
        let (Role::In(window) | Role::Out(window)) = &mut param.role else { continue };
        for index in &mut window.at {
            syn::visit_mut::VisitMut::visit_expr_mut(&mut lower, &mut index.expr);
        }
    }
}

/// The type with the configuration, its methods, and the function that makes it.
///
/// What the compiler's messages may name stands inside that function: where two kernels have a block size `BM`, each is
/// written `name::BM`.
fn launch_type(model: &Kernel, blocks: &TokenStream, arguments: &TokenStream, stage: &TokenStream) -> TokenStream {
    let Kernel { visibility, name, attributes, .. } = model;
    let text = name.to_string();
    let about = format!("A launch of the kernel [`{name}`]({name}()): choose block sizes, then call `launch`.");
    let setters = setters(model);
    let launch = launch(model);
    // Conditions and lint levels hold for every item that the kernel becomes, the rest for its function.
    let levels = ["cfg", "allow", "expect", "warn", "deny", "forbid"];
    let levels: Vec<_> = attributes.iter().filter(|a| levels.iter().any(|level| a.path().is_ident(level))).collect();
    quote! {
        #(#attributes)*
        #[allow(dead_code, non_local_definitions)]
        #visibility fn #name() -> #name {
            #blocks

            impl ::tpu_kernel::launch::Launchable for #name {
                fn name(&self) -> &'static str {
                    #text
                }

                fn path(&self) -> &'static str {
                    ::std::concat!(::std::module_path!(), "::", #text)
                }

                fn identity(&self) -> usize {
                    // A static has an address of its own.
                    static ANCHOR: u8 = 0;
                    ::std::ptr::from_ref(&ANCHOR).addr()
                }

                fn config(&self) -> &::tpu_kernel::launch::Config {
                    &self.config
                }

                #arguments

                #[allow(unused_variables)]
                fn stage(
                    &self,
                    inputs: &[::tpu_kernel::ir::DType],
                ) -> ::std::result::Result<::tpu_kernel::ir::Kernel, ::tpu_kernel::Error> #stage
            }

            #name { config: ::std::default::Default::default() }
        }

        #[doc = #about]
        #(#levels)*
        #[allow(non_camel_case_types)]
        #[derive(Clone, Debug)]
        #visibility struct #name {
            config: ::tpu_kernel::launch::Config,
        }

        #(#levels)*
        #[allow(dead_code, clippy::too_many_arguments)]
        impl #name {
            #setters
            /// The precision of every `dot` that does not name its own.
            pub fn precision(mut self, precision: ::tpu_kernel::ir::Precision) -> Self {
                self.config.precision = precision;
                self
            }

            /// Lets the launch break a hardware rule.
            pub fn allow(mut self, rule: ::tpu_kernel::launch::Allow) -> Self {
                if !self.config.allow.contains(&rule) {
                    self.config.allow.push(rule);
                }
                self
            }

            #launch
        }

        #(#levels)*
        impl ::tpu_kernel::lang::Transform for #name {
            fn config_mut(&mut self) -> &mut ::tpu_kernel::launch::Config {
                &mut self.config
            }
        }
    }
}

/// `.bm(256)`, `.t(DType::F32)`, `.n(100)`.
fn setters(model: &Kernel) -> TokenStream {
    let setter = |name: &Ident, field: &str, ty: TokenStream, about: String| {
        let method = format_ident!("{}", name.to_string().to_lowercase(), span = name.span());
        let (text, field) = (name.to_string(), format_ident!("{field}"));
        quote! {
            #[doc = #about]
            pub fn #method(mut self, value: #ty) -> Self {
                ::tpu_kernel::lang::expanded::set(&mut self.config.#field, #text, value);
                self
            }
        }
    };
    let blocks = model.blocks.iter().map(|b| setter(b, "blocks", quote!(usize), format!("Sets the block size `{b}`.")));
    let dtype = quote!(::tpu_kernel::ir::DType);
    let elements = model
        .elements
        .iter()
        .map(|(e, _)| setter(e, "elements", dtype.clone(), format!("Sets the element type `{e}`, where no input binds it.")));
    let free = check::free_sizes(model);
    let sizes = free.iter().map(|s| setter(s, "sizes", quote!(usize), format!("Sets the array size `{s}`, which no input binds.")));
    blocks.chain(elements).chain(sizes).collect()
}

/// `launch(&target, &x, &w)` with a parameter for each input and scalar.
fn launch(model: &Kernel) -> TokenStream {
    let tensors = Ident::new("R", Span::mixed_site());
    let target = Ident::new("target", Span::mixed_site());
    let arguments: Vec<&Param> = model.params.iter().filter(|p| p.is_argument()).collect();
    let params = arguments.iter().map(|p| {
        let name = &p.name;
        let ty = match &p.role {
            Role::Scalar => match element_name(&p.element).filter(|e| !model.elements.iter().any(|(t, _)| t == *e)) {
                Some(element) if element == "bf16" || element == "f16" => quote!(::tpu_kernel::#element),
                Some(element) => element.to_token_stream(),
                None => quote!(impl ::std::convert::Into<::tpu_kernel::ir::Literal>),
            },
            _ => quote!(&#tensors::Tensor),
        };
        quote!(#name: #ty)
    });
    let values = arguments.iter().map(|p| {
        let name = &p.name;
        match &p.role {
            Role::Scalar => quote!(::tpu_kernel::launch::Arg::Scalar(::std::convert::Into::into(#name))),
            _ => quote!(::tpu_kernel::launch::Arg::Array(#name)),
        }
    });
    let outputs = model.params.iter().filter(|p| p.is_output()).count().max(1);
    let output = quote!(#tensors::Tensor);
    let (result, take) = if outputs == 1 {
        (output, quote!(next()))
    } else {
        let (types, takes) = (vec![output; outputs], vec![quote!(next()); outputs]);
        (quote!((#(#types),*)), quote!((#(#takes),*)))
    };
    quote! {
        /// Runs the kernel on `target` and returns its outputs, in the order of the parameters.
        ///
        /// # Errors
        /// Whatever the target reports: a launch that may not run, a kernel that cannot be built, a fault while it runs.
        pub fn launch<#tensors: ::tpu_kernel::launch::Target>(
            &self,
            #target: &#tensors,
            #(#params),*
        ) -> ::std::result::Result<#result, #tensors::Error> {
            let outputs = ::tpu_kernel::launch::Target::launch(#target, self, &[#(#values),*])?;
            let mut outputs = ::std::iter::IntoIterator::into_iter(outputs);
            let mut next = || ::std::iter::Iterator::next(&mut outputs).expect("a target returns a tensor for each output");
            ::std::result::Result::Ok(#take)
        }
    }
}

/// A place in the source as a constant.
fn place(span: Span) -> TokenStream {
    quote_spanned! {span=> ::tpu_kernel::ir::Loc {
        file: ::tpu_kernel::lang::expanded::Cow::Borrowed(::core::file!()),
        line: ::core::line!(),
        column: ::core::column!(),
    }}
}

/// `Launchable::parameters`, `arguments` and `outputs`: what a launch chooses, takes and gives, with the place of each declaration.
fn arguments(model: &Kernel) -> TokenStream {
    let row = |p: &Param| {
        let (text, element) = (p.name.to_string(), &p.element);
        let scalar = matches!(p.role, Role::Scalar);
        let rank = p.array().map_or(0, <[Expr]>::len);
        let (none, some) = (quote!(::tpu_kernel::lang::expanded::Option::None), quote!(::tpu_kernel::lang::expanded::Option::Some));
        let generic = element_name(element).filter(|name| model.elements.iter().any(|(e, _)| e == *name)).map(Ident::to_string);
        let (dtype, parameter) = match generic {
            Some(name) => (none, quote!(#some(#name))),
            None => (quote!(#some(<#element as ::tpu_kernel::lang::Element>::DTYPE)), none),
        };
        let loc = place(p.name.span());
        quote!(::tpu_kernel::launch::Argument {
            name: #text, scalar: #scalar, dtype: #dtype, parameter: #parameter, rank: #rank, loc: #loc
        })
    };
    let rows = model.params.iter().filter(|p| p.is_argument()).map(row);
    let outputs = model.params.iter().filter(|p| p.is_output()).map(row);
    let blocks = model.blocks.iter().map(Ident::to_string);
    let elements = model.elements.iter().map(|(e, _)| e.to_string());
    let sizes = model.sizes();
    let sizes = sizes.iter().map(Ident::to_string);
    quote! {
        fn parameters(&self) -> ::tpu_kernel::lang::expanded::Option<&'static ::tpu_kernel::launch::Parameters> {
            const PARAMETERS: &::tpu_kernel::launch::Parameters = &::tpu_kernel::launch::Parameters {
                blocks: &[#(#blocks),*],
                elements: &[#(#elements),*],
                sizes: &[#(#sizes),*],
            };
            ::tpu_kernel::lang::expanded::Option::Some(PARAMETERS)
        }

        fn arguments(&self) -> ::tpu_kernel::lang::expanded::Option<&'static [::tpu_kernel::launch::Argument]> {
            const ARGUMENTS: &[::tpu_kernel::launch::Argument] = &[#(#rows),*];
            ::tpu_kernel::lang::expanded::Option::Some(ARGUMENTS)
        }

        fn outputs(&self) -> ::tpu_kernel::lang::expanded::Option<&'static [::tpu_kernel::launch::Argument]> {
            const OUTPUTS: &[::tpu_kernel::launch::Argument] = &[#(#outputs),*];
            ::tpu_kernel::lang::expanded::Option::Some(OUTPUTS)
        }
    }
}

/// A type of its own for each block size, in the user's words, and no parameter of a function: the compiler would advise to
/// add bounds to those.
fn block_sizes(model: &Kernel) -> TokenStream {
    let dims = model.blocks.iter().enumerate().map(|(i, block)| {
        let named = quote_spanned!(block.span()=> struct #block {});
        quote! {
            #[allow(dead_code, non_camel_case_types, non_snake_case)]
            #[derive(Clone, Copy)]
            #named
            impl ::tpu_kernel::lang::Dim for #block {
                fn size() -> usize {
                    ::tpu_kernel::lang::expanded::block_size(#i)
                }
            }
            impl ::tpu_kernel::lang::Bcast<#block> for #block {
                type Out = #block;
            }
            impl ::tpu_kernel::lang::Bcast<::tpu_kernel::lang::One> for #block {
                type Out = #block;
            }
        }
    });
    dims.collect()
}

/// The body of `Launchable::stage`: the signature, and the generic function that declares and records.
fn stage(model: &Kernel) -> TokenStream {
    let Kernel { name, blocks, elements, params, body, .. } = model;
    let text = name.to_string();
    let block_names = blocks.iter().map(Ident::to_string);
    let element_rows = elements.iter().map(|(e, class)| {
        let e = e.to_string();
        quote!((#e, ::tpu_kernel::lang::expanded::Class::#class))
    });
    let inputs = params.iter().filter(|p| p.is_input()).map(|p| {
        let (name, elem, place) = (p.name.to_string(), elem(model, &p.element), place(p.name.span()));
        quote!((#name, #elem, #place))
    });
    let sizes = model.sizes();
    let size_names = sizes.iter().map(Ident::to_string);
    let bounds = elements.iter().map(|(e, class)| quote_spanned!(class.span()=> #e: ::tpu_kernel::lang::#class));
    let grid = model.grid.iter().map(|g| {
        let (text, extent) = (g.name.to_string(), size::expand(&g.extent, blocks));
        let semantics = match g.semantics {
            Semantics::CoreParallel => quote!(CoreParallel),
            Semantics::Parallel => quote!(Parallel),
            Semantics::Arbitrary => quote!(Arbitrary),
        };
        quote_spanned!(g.name.span()=> ::tpu_kernel::lang::expanded::grid(#text, #extent, ::tpu_kernel::ir::Semantics::#semantics);)
    });
    let limits = model.bounds.iter().map(|bound| {
        let (text, low, high) = (bound.size.to_string(), bound.low, bound.high);
        quote!(::tpu_kernel::lang::expanded::bound(#text, #low, #high);)
    });
    let effects = model.side_effects.then(|| quote!(::tpu_kernel::lang::expanded::side_effects();));
    let operands = params.iter().map(|p| operand(model, p));
    let aliases = params.iter().filter_map(|p| {
        let (output, input) = (p.name.to_string(), p.alias.as_ref()?.to_string());
        Some(quote!(::tpu_kernel::lang::expanded::alias(#output, #input);))
    });
    // Every size and index is there for the body to name; most bodies name few.
    let size_lets = sizes.iter().filter(|s| !model.is_scalar(s)).map(|s| {
        let text = s.to_string();
        quote!(#[allow(unused_variables)] let #s = ::tpu_kernel::lang::expanded::size(#text);)
    });
    let index_lets = model.grid.iter().enumerate().map(|(axis, g)| {
        let name = &g.name;
        quote!(#[allow(unused_variables)] let #name = ::tpu_kernel::lang::program_id(#axis);)
    });
    let types: Vec<&Ident> = elements.iter().map(|(e, _)| e).collect();
    let call = if types.is_empty() { quote!(__tpu_kernel_record()) } else { quote!(__tpu_kernel_record::<#(#types),*>()) };
    let dispatch =
        elements.iter().enumerate().rev().fold(call, |inner, (i, (e, class))| {
            quote!(::tpu_kernel::lang::expanded::with_element!(#class, elements[#i], #e, #inner))
        });
    // Where the compiler would put a `where` clause: after the user's parameters.
    let mut no_arguments = Group::new(Delimiter::Parenthesis, TokenStream::new());
    no_arguments.set_span(model.signature);
    let allows = allows();
    let here = name.span();
    let place = quote_spanned!(here=> ::tpu_kernel::ir::Loc::caller());
    quote! {{
        const __TPU_KERNEL_SIGNATURE: ::tpu_kernel::lang::expanded::Signature = ::tpu_kernel::lang::expanded::Signature {
            name: #text,
            blocks: &[#(#block_names),*],
            elements: &[#(#element_rows),*],
            inputs: &[#(#inputs),*],
            sizes: &[#(#size_names),*],
        };
        #allows
        fn __tpu_kernel_record<#(#bounds),*> #no_arguments {
            #effects
            #(#grid)*
            #(#operands)*
            #(#aliases)*
            #(#limits)*
            #(#size_lets)*
            #(#index_lets)*
            #body
        }
        ::tpu_kernel::lang::expanded::stage(&__TPU_KERNEL_SIGNATURE, &self.config, inputs, #place, |elements| #dispatch)
    }}
}

fn elem(model: &Kernel, ty: &Type) -> TokenStream {
    let name = element_name(ty);
    if let Some(at) = model.elements.iter().position(|(e, _)| Some(e) == name) {
        return quote!(::tpu_kernel::lang::expanded::Elem::Param(#at));
    }
    quote!(::tpu_kernel::lang::expanded::Elem::Fixed(<#ty as ::tpu_kernel::lang::Element>::DTYPE))
}

/// `let x: In<T, S> = input("x", …);`
fn operand(model: &Kernel, param: &Param) -> TokenStream {
    let Param { name, mutable, ty, .. } = param;
    let text = name.to_string();
    let span = name.span();
    let value = match &param.role {
        Role::In(w) => window(model, param, w, &Ident::new("input", span)),
        Role::Out(w) => window(model, param, w, &Ident::new("output", span)),
        Role::Array(array) => memory::declare(model, param, array),
        Role::Scratch if element_name(ty).is_some_and(memory::is_handle) => {
            quote_spanned!(span=> ::tpu_kernel::lang::expanded::allocated(#text))
        }
        Role::Scratch => quote_spanned!(span=> ::tpu_kernel::lang::expanded::scratch(#text)),
        Role::Scalar => quote_spanned!(span=> ::tpu_kernel::lang::expanded::scalar(#text)),
    };
    quote!(let #mutable #name: #ty = #value;)
}

fn window(model: &Kernel, param: &Param, window: &Window, declare: &Ident) -> TokenStream {
    let text = param.name.to_string();
    let array = window.array.iter().map(|e| size::expand(e, &model.blocks));
    let cuts = window.at.iter().map(|index| match &index.cut {
        Cut::Block => quote!(::tpu_kernel::lang::expanded::Cut::Block),
        Cut::Squeeze => quote!(::tpu_kernel::lang::expanded::Cut::Squeeze),
        Cut::Element(pad) => {
            let size = |at: usize| pad.as_ref().and_then(|pad| check::padding(&pad[at], &model.blocks)).unwrap_or(quote!(0));
            let (low, high) = (size(0), size(1));
            quote!(::tpu_kernel::lang::expanded::Cut::Element(#low, #high))
        }
    });
    let indices = window.at.iter().map(|i| &i.expr);
    let indices = indices.map(|e| quote_spanned!(e.span()=> ::tpu_kernel::lang::IntoScalar::<i32>::into_scalar(#e)));
    let args: Vec<Ident> = model.grid.iter().map(|g| g.name.clone()).collect();
    let axes = 0..args.len();
    let sizes = model.sizes().into_iter().filter(|s| window.at.iter().any(|index| mentions(&index.expr, s)));
    let sizes = sizes.map(|s| {
        let text = s.to_string();
        quote!(let #s = ::tpu_kernel::lang::expanded::size(#text);)
    });
    let steps = Ident::new("steps", Span::mixed_site());
    let map = quote! {
        &|#steps| {
            #(#[allow(unused_variables)] let #args = #steps[#axes];)*
            #(#sizes)*
            ::std::vec![#(#indices),*]
        }
    };
    let pipelining = pipeline::expand(&window.pipelining, &model.blocks);
    // Every token of the call at the operand: its place is the call's.
    quote_spanned!(declare.span()=> ::tpu_kernel::lang::expanded::#declare(#text, ::std::vec![#(#array),*], &(&[#(#cuts),*], #pipelining), #map))
}

fn mentions(expr: &Expr, name: &Ident) -> bool {
    fn inside(tokens: TokenStream, name: &Ident) -> bool {
        tokens.into_iter().any(|tree| match tree {
            TokenTree::Ident(ident) => ident == *name,
            TokenTree::Group(group) => inside(group.stream(), name),
            _ => false,
        })
    }
    inside(expr.to_token_stream(), name)
}

/// Expands `#[tile_fn]`.
pub(crate) fn helper(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let tokens = item.clone();
    let mut item: ItemFn = match syn::parse2(item) {
        Ok(item) => item,
        Err(error) => return not_a_function("tile_fn", &tokens, &error),
    };
    let mut errors = Errors::default();
    if !attribute.is_empty() {
        errors.over(&attribute, "`#[tile_fn]` takes no arguments");
    }
    let is_dim = |bound: &TypeParamBound| matches!(bound, TypeParamBound::Trait(t) if t.path.segments.last().is_some_and(|s| s.ident == "Dim"));
    let blocks: Vec<Ident> = item
        .sig
        .generics
        .params
        .iter()
        .filter_map(|param| match param {
            GenericParam::Type(ty) if ty.bounds.iter().any(is_dim) => Some(ty.ident.clone()),
            _ => None,
        })
        .collect();
    let mut scopes = Scopes::new();
    item.sig.inputs.iter().for_each(|input| scopes.parameter(input));
    let mut body = (*item.block).clone();
    let mut lower = Lower { returns: true, ..Lower::new(&blocks, &[], &mut errors, scopes) };
    lower.body(&mut body);
    if !errors.is_empty() {
        // The signature stays, so that callers get no second error.
        *item.block = syn::parse_quote!({ ::std::unreachable!() });
        let errors = errors.into_tokens();
        return quote!(#errors #[allow(unused_variables)] #item);
    }
    *item.block = body;
    let allows = allows();
    quote!(#allows #item)
}
