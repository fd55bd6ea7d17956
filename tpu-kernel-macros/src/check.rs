//! The rules of a kernel's signature that rustc cannot know.

use crate::errors::Errors;
use crate::model::{Cut, Kernel, Param, Role, Semantics};
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use std::collections::HashMap;
use syn::visit::Visit;
use syn::{Expr, GenericArgument, ItemFn, PathArguments, ReturnType, Type};

/// The highest rank of an array.
pub(crate) const MAX_RANK: usize = 4;

/// The element types, by the names that the prelude gives them.
const ELEMENTS: [&str; 17] = [
    "f32",
    "bf16",
    "f16",
    "F8E4M3",
    "F8E5M2",
    "F8E4M3B11",
    "F4E2M1",
    "i32",
    "i16",
    "i8",
    "I4",
    "I2",
    "u32",
    "u16",
    "u8",
    "U4",
    "bool",
];

/// Methods that every launch has.
const METHODS: [&str; 18] = [
    "launch",
    "precision",
    "allow",
    "config",
    "name",
    "path",
    "identity",
    "arguments",
    "outputs",
    "parameters",
    "stage",
    "clone",
    "config_mut",
    "batched",
    "map_input",
    "map_output",
    "with_backward",
    "cost",
];

/// What a kernel's function may not be, whatever its body.
pub(crate) fn function(item: &ItemFn, errors: &mut Errors) {
    let sig = &item.sig;
    if let Some(token) = &sig.asyncness {
        errors.over(token, "a kernel is not `async`: it is staged once and then runs on the device");
    }
    if let Some(token) = &sig.constness {
        errors.over(token, "a kernel is not `const`: it is staged when it is launched");
    }
    if let syn::Safety::Unsafe(token) = &sig.safety {
        errors.over(token, "a kernel is not `unsafe`: its memory is checked");
    }
    if let Some(token) = &sig.abi {
        errors.over(token, "a kernel has no ABI: it is called through `.launch(…)`");
    }
    if let Some(token) = &sig.variadic {
        errors.over(token, "a kernel has a fixed list of operands");
    }
    if let ReturnType::Type(_, ty) = &sig.output
        && !matches!(&**ty, Type::Tuple(unit) if unit.elems.is_empty())
    {
        errors.over(ty, "a kernel returns nothing: write results to an operand `o: Out<T, S>`");
    }
}

/// The rules of the model.
pub(crate) fn kernel(kernel: &Kernel, errors: &mut Errors) {
    // What could not be read is reported already; rules over the rest would report it twice.
    let complete = errors.is_empty();
    for dim in &kernel.grid {
        crate::size::check(&dim.extent, errors);
        if dim.name == "squeeze" || dim.name == "element" {
            let message = format!("`{}` marks a dimension in a block's index; name the grid dimension otherwise", dim.name);
            errors.at(dim.name.span(), message);
        }
    }
    if let Some(late) = kernel.grid.iter().skip(1).find(|d| d.semantics == Semantics::CoreParallel) {
        let message = format!("`{}` is `core_parallel` and not the first dimension: cores share the first one", late.name);
        errors.at(late.name.span(), message);
    }
    let parallel = |dim: &&crate::model::GridDim| dim.semantics == Semantics::Parallel;
    let in_order = |dim: &&crate::model::GridDim| dim.semantics != Semantics::Arbitrary;
    if let Some(late) = kernel.grid.iter().skip_while(in_order).find(parallel) {
        let message = format!("`{}` is parallel after an arbitrary dimension: parallel dimensions come first", late.name);
        errors.at(late.name.span(), message);
    }
    kernel.params.iter().for_each(|param| operand(kernel, param, complete, errors));
    crate::memory::order(kernel, errors);
    crate::alias::check(kernel, errors);
    if !complete {
        return;
    }
    names(kernel, errors);
    sizes(kernel, errors);
    if !kernel.params.iter().any(Param::is_output) {
        errors.at(kernel.name.span(), "a kernel writes at least one output: add an operand `#[block(…)] o: Out<T, S>`");
    }
}

fn operand(kernel: &Kernel, param: &Param, complete: bool, errors: &mut Errors) {
    element(kernel, &param.element, errors);
    if let Role::Array(array) = &param.role {
        return crate::memory::check(param, array, errors);
    }
    crate::memory::semaphores(param, errors);
    if let Some(shape) = written_shape(&param.ty)
        && let Some(name) = element_name(shape)
        && (kernel.blocks.contains(name) || name == "D" || name == "One")
        && !name_is(&param.element, &kernel.blocks)
    {
        errors.over(shape, format!("a shape is a tuple, also of one dimension: `({},)`", shape.to_token_stream()));
        return;
    }
    dimensions(param, errors);
    let Some(window) = param.window() else { return };
    for expr in &window.array {
        crate::size::check(expr, errors);
    }
    if window.array.len() != window.at.len() {
        let message = format!(
            "the array has {} dimension(s), the block's index {}: one index for each dimension",
            window.array.len(),
            window.at.len()
        );
        errors.over(&window.tokens, message);
        return;
    }
    if window.array.is_empty() || window.array.len() > MAX_RANK {
        errors.over(&window.tokens, format!("an array has 1 to {MAX_RANK} dimensions, this one {}", window.array.len()));
        return;
    }
    if let Some(word) = window.at.iter().find_map(|index| lone_mark(kernel, &index.expr)) {
        errors.at(word.span(), format!("`{word}` goes before an index, as in `{word} i`"));
        return;
    }
    let kept = window.at.iter().filter(|index| !matches!(index.cut, Cut::Squeeze)).count();
    if let Some(rank) = written_rank(&param.ty)
        && rank != kept
    {
        let message = format!(
            "the block of `{}` has {rank} dimension(s), its array {kept} that are not squeezed: one block size for each",
            param.name
        );
        errors.over(&param.ty, message);
    }
    crate::pipeline::check(window, param.is_output(), &kernel.blocks, errors);
    for index in &window.at {
        let mut names = Names { kernel, complete, errors };
        names.visit_expr(&index.expr);
        let Cut::Element(Some(pad)) = &index.cut else { continue };
        for size in pad.iter().filter(|size| padding(size, &kernel.blocks).is_none()) {
            errors.over(size, "padding is a number of elements or a block size: `pad (1, 1)`, `pad (B, 0)`");
        }
    }
}

/// `squeeze` or `element` where an index should be, and no dimension of the grid has the name.
fn lone_mark<'e>(kernel: &Kernel, index: &'e Expr) -> Option<&'e Ident> {
    let Expr::Path(path) = index else { return None };
    let word = path.path.get_ident().filter(|word| *word == "squeeze" || *word == "element")?;
    (!kernel.grid.iter().any(|g| g.name == *word)).then_some(word)
}

/// Padding as an expression of a `usize`: a number or a block size.
pub(crate) fn padding(size: &Expr, blocks: &[Ident]) -> Option<TokenStream> {
    match size {
        Expr::Lit(lit) => match &lit.lit {
            syn::Lit::Int(n) if n.suffix().is_empty() && n.base10_parse::<i32>().is_ok() => {
                Some(syn::LitInt::new(&format!("{n}usize"), n.span()).into_token_stream())
            }
            _ => None,
        },
        Expr::Path(path) => {
            let name = path.path.get_ident().filter(|name| blocks.contains(name))?;
            Some(quote!(<#name as ::tpu_kernel::lang::Dim>::size()))
        }
        _ => None,
    }
}

/// The dimensions in an operand's type: as many as there may be, and none that is an element type. Those of a
/// window are counted against its array.
fn dimensions(param: &Param, errors: &mut Errors) {
    let Some(Type::Tuple(shape)) = written_shape(&param.ty).map(ungrouped) else { return };
    if param.window().is_none() && (shape.elems.is_empty() || shape.elems.len() > MAX_RANK) {
        errors.over(shape, format!("a shape has 1 to {MAX_RANK} dimensions, this one {}", shape.elems.len()));
    }
    for dim in &shape.elems {
        if name_is_any(dim, &ELEMENTS) {
            errors.over(dim, "a dimension is a block size `BM`, a number `D<128>` or `One`; the element type comes first");
        }
    }
}

/// The shape in an operand's type.
fn written_shape(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ungrouped(ty) else { return None };
    let PathArguments::AngleBracketed(arguments) = &path.path.segments.last()?.arguments else { return None };
    match arguments.args.iter().nth(1)? {
        GenericArgument::Type(shape) => Some(shape),
        _ => None,
    }
}

/// The number of dimensions in the type, where it is written as a tuple.
fn written_rank(ty: &Type) -> Option<usize> {
    match ungrouped(written_shape(ty)?) {
        Type::Tuple(tuple) => Some(tuple.elems.len()),
        _ => None,
    }
}

fn name_is(ty: &Type, names: &[Ident]) -> bool {
    element_name(ty).is_some_and(|name| names.contains(name))
}

fn name_is_any(ty: &Type, names: &[&str]) -> bool {
    element_name(ty).is_some_and(|name| names.iter().any(|n| name == n))
}

/// A type as it is written, also where it is the `$t:ty` of a `macro_rules!`.
pub(crate) fn ungrouped(ty: &Type) -> &Type {
    match ty {
        Type::Group(inner) => ungrouped(&inner.elem),
        _ => ty,
    }
}

/// The last name of a type, which is all of an element type.
pub(crate) fn element_name(ty: &Type) -> Option<&Ident> {
    match ungrouped(ty) {
        Type::Path(path) => path.path.segments.last().map(|s| &s.ident),
        _ => None,
    }
}

fn element(kernel: &Kernel, ty: &Type, errors: &mut Errors) {
    let name = element_name(ty);
    let param = name.is_some_and(|n| kernel.elements.iter().any(|(e, _)| e == n));
    let fixed = name_is_any(ty, &ELEMENTS);
    if name.is_some_and(|n| kernel.unclear.contains(n)) {
        // The parameter is reported.
    } else if name.is_some_and(|n| kernel.blocks.contains(n)) {
        errors.over(ty, "this is a block size; the element type comes first: `In<f32, (BM, BN)>`");
    } else if !param && !fixed {
        errors.over(ty, "an element type is a float (`f32`, `bf16`, `f16`, `F8E4M3`…), an integer (`i32` to `I2`, `u32` to `U4`), `bool` or a type parameter `T: Float`");
    }
}

/// Finds what an index map does not compute with.
struct Names<'a> {
    kernel: &'a Kernel,
    /// Whether all of the kernel could be read, so that a name that is not there is nowhere.
    complete: bool,
    errors: &'a mut Errors,
}

impl<'e> Visit<'e> for Names<'_> {
    fn visit_expr_path(&mut self, path: &'e syn::ExprPath) {
        if path.path.get_ident().is_some_and(|name| self.kernel.params.iter().any(|p| p.name == *name && p.is_prefetched())) {
            // Its type says what an index map does with it.
        } else if let Some(name) = path.path.get_ident()
            && self.kernel.params.iter().any(|p| p.name == *name)
            && !self.kernel.grid.iter().any(|g| g.name == *name)
        {
            let message = format!("an index map computes with grid indices and sizes; `{name}` is an operand");
            self.errors.at(name.span(), message);
        } else if let Some(name) = path.path.get_ident()
            && self.complete
            && !crate::size::is_constant(name)
            && !self.kernel.grid.iter().any(|g| g.name == *name)
            && !self.kernel.sizes().contains(name)
        {
            let grid: Vec<&Ident> = self.kernel.grid.iter().map(|g| &g.name).collect();
            let grid = if grid.is_empty() { "there is no grid".to_string() } else { format!("the grid has {}", quoted(grid)) };
            let sizes = self.kernel.sizes();
            let message = format!("`{name}` is neither a grid index nor a size: {grid}, the arrays {}", sizes_of(&sizes));
            self.errors.at(name.span(), message);
        }
    }

    fn visit_expr_call(&mut self, call: &'e syn::ExprCall) {
        // What is called is a function of Rust, where it is a name.
        if !matches!(&*call.func, Expr::Path(_)) {
            self.visit_expr(&call.func);
        }
        call.args.iter().for_each(|argument| self.visit_expr(argument));
    }

    fn visit_expr(&mut self, expr: &'e Expr) {
        let plain = match expr {
            Expr::Lit(lit) => matches!(lit.lit, syn::Lit::Int(_)),
            Expr::Path(_) | Expr::Binary(_) | Expr::Unary(_) | Expr::Paren(_) | Expr::Group(_) => true,
            Expr::Call(_) | Expr::MethodCall(_) => true,
            _ => false,
        };
        if plain {
            syn::visit::visit_expr(self, expr);
        } else {
            const WANT: &str =
                "an index map computes block indices from grid indices, sizes and integers; `choose(c, a, b)` decides";
            self.errors.over(expr, WANT);
        }
    }
}

/// One name, one meaning: operands, sizes, grid indices, type parameters, methods of a launch.
fn names(kernel: &Kernel, errors: &mut Errors) {
    let mut seen: HashMap<String, &str> = HashMap::new();
    let operands = kernel.params.iter().map(|p| (&p.name, "an operand"));
    let grid = kernel.grid.iter().map(|g| (&g.name, "a grid index"));
    for (name, what) in operands.chain(grid) {
        if let Some(other) = seen.insert(name.to_string(), what) {
            errors.at(name.span(), format!("`{name}` is {other} already; give each its own name"));
        }
    }
    for size in kernel.sizes() {
        if kernel.is_scalar(&size) {
            continue;
        }
        if let Some(other) = seen.get(&size.to_string()) {
            errors.at(size.span(), format!("the size `{size}` has the name of {other}; give each its own name"));
        }
    }
    let mut methods: HashMap<String, String> =
        METHODS.iter().map(|m| (m.to_string(), format!("the method `{m}` of every launch"))).collect();
    let params = kernel.blocks.iter().chain(kernel.elements.iter().map(|(e, _)| e));
    for param in params {
        let method = param.to_string().to_lowercase();
        if let Some(other) = methods.insert(method.clone(), format!("`{param}`")) {
            if other == format!("`{param}`") {
                errors.at(param.span(), format!("`{param}` is a type parameter already; give each its own name"));
                continue;
            }
            errors.at(param.span(), format!("`{param}` would be set by `.{method}(…)`, which is taken by {other}"));
        }
    }
    for size in free_sizes(kernel) {
        if let Some(other) = methods.insert(size.to_string(), format!("`{size}`")) {
            errors.at(size.span(), format!("the size `{size}` would be set by `.{size}(…)`, which is taken by {other}"));
        }
    }
}

/// Sizes that no input binds: set on the launch.
pub(crate) fn free_sizes(kernel: &Kernel) -> Vec<Ident> {
    let bound = kernel.bound_sizes();
    kernel.sizes().into_iter().filter(|s| !bound.contains(s)).collect()
}

/// A size that only the grid names is a mistake more often than a wish.
fn sizes(kernel: &Kernel, errors: &mut Errors) {
    let mut in_arrays: Vec<Ident> = vec![];
    for expr in kernel.params.iter().filter_map(Param::array).flatten() {
        crate::size::names(expr, &kernel.blocks, &mut |name| in_arrays.push(name.clone()));
    }
    for name in in_arrays.iter().filter(|name| kernel.is_scalar(name)) {
        let message = format!(
            "`{name}` is a scalar of the launch: it may count steps of the grid, but no array has a size that a scalar gives"
        );
        errors.at(name.span(), message);
    }
    for (at, bound) in kernel.bounds.iter().enumerate() {
        let name = &bound.size;
        if kernel.is_scalar(name) {
            errors.at(name.span(), format!("`{name}` is a scalar of the launch: bounds are of sizes that arrays have"));
        } else if !in_arrays.contains(name) {
            errors.at(name.span(), format!("no operand's array has a size `{name}`: they {}", sizes_of(&in_arrays)));
        } else if kernel.bounds[..at].iter().any(|other| other.size == *name) {
            errors.at(name.span(), format!("`{name}` is bounded twice"));
        }
    }
    for dim in &kernel.grid {
        crate::size::names(&dim.extent, &kernel.blocks, &mut |name| {
            if kernel.is_scalar(name) {
                let scalar = kernel.params.iter().find(|p| p.name == *name);
                if let Some(scalar) = scalar.filter(|p| element_name(&p.element).is_none_or(|element| element != "i32")) {
                    errors.over(&scalar.ty, "a scalar that counts steps of the grid is a `Scalar<i32>`");
                }
            } else if !in_arrays.contains(name) {
                errors.at(name.span(), format!("no operand's array has a size `{name}`: they {}", sizes_of(&in_arrays)));
            }
        });
    }
}

/// What arrays are said to have of these sizes, each once.
fn sizes_of(sizes: &[Ident]) -> String {
    let mut distinct: Vec<&Ident> = vec![];
    sizes.iter().for_each(|size| {
        if !distinct.contains(&size) {
            distinct.push(size);
        }
    });
    if distinct.is_empty() { "name none".to_string() } else { format!("name {}", quoted(distinct)) }
}

/// Names as a message lists them.
fn quoted(names: Vec<&Ident>) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Leaves out what would define a name twice.
pub(crate) fn distinct(kernel: &mut Kernel) {
    let mut methods: Vec<String> = METHODS.iter().map(|m| m.to_string()).collect();
    let mut new = |name: &Ident| {
        let method = name.to_string().to_lowercase();
        let new = !methods.contains(&method);
        methods.push(method);
        new
    };
    kernel.blocks.retain(&mut new);
    kernel.elements.retain(|(name, _)| new(name));
    let mut operands: Vec<Ident> = vec![];
    kernel.params.retain(|param| {
        let new = !operands.contains(&param.name);
        operands.push(param.name.clone());
        new
    });
}
