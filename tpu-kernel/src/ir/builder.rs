//! Builds a kernel operation by operation. A plain value: the typed handles of the language wrap it
//! in a thread-local, generated kernels use it directly.
//!
//! Rules: an operation whose operands break a typing rule is not added; control flow is opened and
//! closed like brackets, and what is still open when the kernel is finished is an error there.

use super::infer::infer;
use super::{
    BlockDim, Bound, DType, Fault, GridDim, Kernel, Literal, Loc, Op, OpKind, Param, ParamKind, Region, Rule, SizeId, Space, Type,
    Value,
};

/// A kernel under construction.
#[derive(Debug)]
pub struct Builder {
    kernel: Kernel,
    /// Open regions, outermost first; the first is the body.
    open: Vec<Region>,
}

impl Builder {
    /// An empty kernel of that name.
    pub fn new(name: &str, loc: Loc) -> Builder {
        let kernel = Kernel {
            name: name.to_string(),
            sizes: vec![],
            grid: vec![],
            params: vec![],
            body: Region::default(),
            types: vec![],
            side_effects: false,
            bounds: vec![],
            loc,
        };
        Builder { kernel, open: vec![Region::default()] }
    }

    /// The named array size, declared on first mention.
    pub fn size(&mut self, name: &str) -> SizeId {
        let at = self.kernel.sizes.iter().position(|s| s == name).unwrap_or_else(|| {
            self.kernel.sizes.push(name.to_string());
            self.kernel.sizes.len() - 1
        });
        SizeId(u32::try_from(at).expect("fewer than 2^32 sizes"))
    }

    /// Bounds a named size.
    pub fn bound(&mut self, name: &str, low: i32, high: i32) {
        let size = self.size(name);
        self.kernel.bounds.push(Bound { size, low, high });
    }

    /// Appends a grid dimension.
    pub fn grid_dim(&mut self, dim: GridDim) {
        self.kernel.grid.push(dim);
    }

    /// Adds an operand and returns its value. For windows, `Builder::map` builds the index map.
    pub fn param(&mut self, name: &str, ty: Type, kind: ParamKind, loc: Loc) -> Value {
        let value = self.kernel.new_value(ty);
        self.kernel.params.push(Param { name: name.to_string(), ty, kind, alias: None, loc });
        self.kernel.body.args.push(value);
        value
    }

    /// Says that a call of the kernel has effects beside its outputs.
    pub fn side_effects(&mut self) {
        self.kernel.side_effects = true;
    }

    /// Lets an output share the array of an input, both declared already.
    pub fn alias(&mut self, output: &str, input: &str) {
        if let Some(param) = self.kernel.params.iter_mut().find(|p| p.name == output) {
            param.alias = Some(input.to_string());
        }
    }

    /// The type of a VMEM window with that block: squeezed dimensions are absent.
    pub fn window_type(dtype: DType, block: &[BlockDim]) -> Option<Type> {
        let kept: Vec<usize> = block.iter().filter_map(|b| b.kept()).collect();
        super::Shape::try_new(&kept).map(|shape| Type::Ref(Space::Vmem, dtype, shape))
    }

    /// Builds an index map: `indices` gets the builder, the grid indices and the prefetched arrays so far, and returns the block
    /// indices.
    pub fn map<E>(&mut self, indices: impl FnOnce(&mut Builder, &[Value]) -> Result<Vec<Value>, E>) -> Result<Region, E> {
        let indices_and_arrays = self.kernel.map_types();
        let args: Vec<Value> = indices_and_arrays.into_iter().map(|ty| self.kernel.new_value(ty)).collect();
        self.open.push(Region { args: args.clone(), ..Region::default() });
        let yields = indices(self, &args);
        let mut region = self.open.pop().expect("the region opened above");
        region.yields = yields?;
        Ok(region)
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.kernel.ty(value)
    }

    /// The kernel so far.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// How many regions are open inside the body.
    pub fn depth(&self) -> usize {
        self.open.len() - 1
    }

    /// Adds an operation with no regions; returns its result, the first of `sort`, or `None` for those without, as `store`.
    pub fn op(&mut self, kind: OpKind, operands: &[Value], loc: Loc) -> Result<Option<Value>, Fault> {
        Ok(self.results(kind, operands, loc)?.first().copied())
    }

    /// Adds an operation with no regions; returns all its results.
    pub fn results(&mut self, kind: OpKind, operands: &[Value], loc: Loc) -> Result<Vec<Value>, Fault> {
        let types: Vec<Type> = operands.iter().map(|&v| self.ty(v)).collect();
        let results = infer(&kind, &types).map_err(|rule| Fault { rule, at: kind.mnemonic().to_string(), loc: loc.clone() })?;
        let results: Vec<Value> = results.into_iter().map(|ty| self.kernel.new_value(ty)).collect();
        self.append(Op { kind, operands: operands.to_vec(), results: results.clone(), regions: vec![], loc });
        Ok(results)
    }

    /// Adds an operation that has a result.
    ///
    /// # Panics
    /// For control flow and operations with effects alone, as `store`, which have none of their own.
    pub fn value(&mut self, kind: OpKind, operands: &[Value], loc: Loc) -> Result<Value, Fault> {
        Ok(self.op(kind, operands, loc)?.expect("an operation with a result"))
    }

    /// A scalar constant.
    pub fn constant(&mut self, literal: impl Into<Literal>, loc: Loc) -> Value {
        self.value(OpKind::Const(literal.into()), &[], loc).expect("a constant breaks no rule")
    }

    /// Opens a region; operations go into it until [`end_region`](Self::end_region). Returns its arguments.
    pub fn begin_region(&mut self, args: &[Type]) -> Vec<Value> {
        let args: Vec<Value> = args.iter().map(|&ty| self.kernel.new_value(ty)).collect();
        self.open.push(Region { args: args.clone(), ..Region::default() });
        args
    }

    /// Closes the innermost region, which yields these values.
    ///
    /// # Panics
    /// Where no region is open.
    pub fn end_region(&mut self, yields: &[Value]) -> Region {
        assert!(self.open.len() > 1, "no region is open");
        let mut region = self.open.pop().expect("checked above");
        region.yields = yields.to_vec();
        region
    }

    /// Adds control flow with its closed regions; returns its results, of these types.
    pub fn control(&mut self, kind: OpKind, operands: &[Value], regions: Vec<Region>, results: &[Type], loc: Loc) -> Vec<Value> {
        let results: Vec<Value> = results.iter().map(|&ty| self.kernel.new_value(ty)).collect();
        self.append(Op { kind, operands: operands.to_vec(), results: results.clone(), regions, loc });
        results
    }

    fn append(&mut self, op: Op) {
        self.open.last_mut().expect("the body is always open").ops.push(op);
    }

    /// The kernel, unverified; an error where a region is still open.
    pub fn finish(mut self) -> Result<Kernel, Fault> {
        if self.open.len() != 1 {
            let rule = Rule::RegionCount { want: 0, got: self.open.len() - 1 };
            return Err(Fault { rule, at: self.kernel.name.clone(), loc: self.kernel.loc.clone() });
        }
        let body = self.open.pop().expect("the body is always open");
        self.kernel.body.ops = body.ops;
        Ok(self.kernel)
    }
}
