//! The macro's own model of a kernel.

use proc_macro2::{Span, TokenStream};
use syn::{Attribute, Block, Expr, Ident, Type, Visibility};

/// A kernel.
pub(crate) struct Kernel {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) name: Ident,
    /// The parentheses of its parameters.
    pub(crate) signature: Span,
    /// Block sizes, in order: `BM: Dim`.
    pub(crate) blocks: Vec<Ident>,
    /// Type parameters that are neither, reported already.
    pub(crate) unclear: Vec<Ident>,
    /// Element types, in order, with their class: `T: Float`.
    pub(crate) elements: Vec<(Ident, Ident)>,
    pub(crate) grid: Vec<GridDim>,
    pub(crate) side_effects: bool,
    pub(crate) bounds: Vec<Bound>,
    pub(crate) params: Vec<Param>,
    pub(crate) body: Block,
}

/// The least and the greatest value of a named size.
pub(crate) struct Bound {
    pub(crate) size: Ident,
    pub(crate) low: i32,
    pub(crate) high: i32,
}

/// What the order of steps along a dimension means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Semantics {
    CoreParallel,
    Parallel,
    Arbitrary,
}

/// A dimension of the grid.
pub(crate) struct GridDim {
    pub(crate) name: Ident,
    pub(crate) extent: Expr,
    pub(crate) semantics: Semantics,
}

/// An operand.
pub(crate) struct Param {
    pub(crate) name: Ident,
    pub(crate) mutable: Option<syn::Token![mut]>,
    pub(crate) ty: Type,
    pub(crate) element: Type,
    pub(crate) role: Role,
    /// The input whose array it shares.
    pub(crate) alias: Option<Ident>,
}

/// The role of an operand.
pub(crate) enum Role {
    In(Window),
    Out(Window),
    /// A whole array: in HBM, or prefetched into scalar memory.
    Array(Array),
    Scratch,
    Scalar,
}

/// `#[hbm([m, k])]`, `#[prefetch([n])]`.
pub(crate) struct Array {
    pub(crate) kind: ArrayKind,
    /// What is in the attribute's parentheses, for errors about all of it.
    pub(crate) tokens: TokenStream,
    pub(crate) sizes: Vec<Expr>,
}

/// What is done with a whole array.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ArrayKind {
    /// Copies read it in HBM.
    Input,
    /// Copies write it in HBM.
    Output,
    /// Index maps and the body read it in scalar memory.
    Prefetched,
}

/// `#[block([m, k] at (i, squeeze h))]`.
pub(crate) struct Window {
    /// What is in the attribute's parentheses, for errors about all of it.
    pub(crate) tokens: TokenStream,
    pub(crate) array: Vec<Expr>,
    /// One for each dimension.
    pub(crate) at: Vec<Index>,
    pub(crate) pipelining: Pipelining,
}

/// `buffered(3), lookahead, revisit(any)`.
#[derive(Default)]
pub(crate) struct Pipelining {
    pub(crate) buffers: Option<Expr>,
    pub(crate) lookahead: Option<Ident>,
    /// The word, and whether it is `any`.
    pub(crate) revisit: Option<(Ident, bool)>,
}

/// `i`, `squeeze h`, `element i * 8 pad (1, 1)`.
pub(crate) struct Index {
    pub(crate) cut: Cut,
    pub(crate) expr: Expr,
}

/// What an index counts.
pub(crate) enum Cut {
    /// Blocks.
    Block,
    /// Elements, of which the block has one, and the operand no such dimension.
    Squeeze,
    /// Elements, of which the block has the first at the index; the padding before and after the array.
    Element(Option<Box<[Expr; 2]>>),
}

impl Param {
    pub(crate) const fn window(&self) -> Option<&Window> {
        match &self.role {
            Role::In(w) | Role::Out(w) => Some(w),
            Role::Array(_) | Role::Scratch | Role::Scalar => None,
        }
    }

    /// The sizes of the array of the launch, where it shows one.
    pub(crate) fn array(&self) -> Option<&[Expr]> {
        match &self.role {
            Role::In(w) | Role::Out(w) => Some(&w.array),
            Role::Array(array) => Some(&array.sizes),
            Role::Scratch | Role::Scalar => None,
        }
    }

    /// An array that a launch passes.
    pub(crate) fn is_input(&self) -> bool {
        match &self.role {
            Role::In(_) => true,
            Role::Array(array) => array.kind != ArrayKind::Output,
            Role::Out(_) | Role::Scratch | Role::Scalar => false,
        }
    }

    /// An array that a launch returns.
    pub(crate) fn is_output(&self) -> bool {
        match &self.role {
            Role::Out(_) => true,
            Role::Array(array) => array.kind == ArrayKind::Output,
            Role::In(_) | Role::Scratch | Role::Scalar => false,
        }
    }

    /// Whether index maps may read it.
    pub(crate) fn is_prefetched(&self) -> bool {
        matches!(&self.role, Role::Array(array) if array.kind == ArrayKind::Prefetched)
    }

    /// An input array or a scalar: what a launch passes.
    pub(crate) fn is_argument(&self) -> bool {
        self.is_input() || matches!(self.role, Role::Scalar)
    }
}

impl Kernel {
    /// Named sizes in order of first mention: arrays first, then the grid.
    pub(crate) fn sizes(&self) -> Vec<Ident> {
        let arrays = self.params.iter().filter_map(Param::array).flatten();
        let mut sizes: Vec<Ident> = vec![];
        for expr in arrays.chain(self.grid.iter().map(|g| &g.extent)) {
            crate::size::names(expr, &self.blocks, &mut |name| {
                if !sizes.contains(name) {
                    sizes.push(name.clone());
                }
            });
        }
        sizes
    }

    /// Whether a size is a scalar of the launch.
    pub(crate) fn is_scalar(&self, size: &Ident) -> bool {
        self.params.iter().any(|p| p.name == *size && matches!(p.role, Role::Scalar))
    }

    /// Named sizes that stand alone as a dimension of some input: a launch reads them off its arrays.
    pub(crate) fn bound_sizes(&self) -> Vec<Ident> {
        let inputs = self.params.iter().filter(|p| p.is_input()).filter_map(Param::array);
        inputs.flatten().filter_map(|e| crate::size::name(e, &self.blocks)).cloned().collect()
    }
}
