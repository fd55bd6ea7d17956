//! StableHLO modules that call kernels, as XLA compiles them for a TPU.
//!
//! Rules: tensors have the user's element types, bool as i1 and f16 as f16; what a kernel stores another way is
//! converted around its call. A scalar of a kernel is a tensor of rank 0. Values are numbered in order, so that the text
//! depends on nothing but the calls that made it.

use super::bounded::program;
use super::call;
use super::extent::{Extent, fits};
use super::print;
use crate::chips::Chip;
use crate::ir::{DType, Kernel, Literal, Param, ParamKind, SizeId};
use crate::launch::{Binding, scoped_limit};
use crate::legalise::memory::windows::low;
use crate::legalise::{Illegal, Rule, stored, word};
use std::fmt::Write;

/// A value of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    name: String,
    dtype: DType,
    shape: Vec<usize>,
}

impl Tensor {
    /// Its element type, as the user has it.
    pub const fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its shape.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// `tensor<8x128xf32>`.
    pub(super) fn ty(&self) -> String {
        tensor(self.dtype, &self.shape)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

/// A module while it is written.
#[derive(Debug)]
pub struct Module {
    name: String,
    chip: Chip,
    inputs: Vec<Tensor>,
    lines: String,
    next: usize,
    placed: bool,
}

impl Module {
    /// An empty module for a chip.
    pub fn new(name: &str, chip: &Chip) -> Module {
        Module { name: identifier(name), chip: *chip, inputs: vec![], lines: String::new(), next: 0, placed: false }
    }

    /// The same module with its arrays placed: `main` takes them row by row, and kernels find theirs in device memory, so
    /// that XLA puts no copies around a call. Left alone it may lay arrays out another way, and keep small ones in vector memory.
    #[must_use]
    pub fn placed(self) -> Module {
        Module { placed: true, ..self }
    }

    /// The next argument of the module's `main`.
    pub fn input(&mut self, dtype: DType, shape: &[usize]) -> Tensor {
        let tensor = Tensor { name: format!("%a{}", self.inputs.len()), dtype, shape: shape.to_vec() };
        self.inputs.push(tensor.clone());
        tensor
    }

    /// A StableHLO operation with one result, `stablehlo.add`; `attributes` as MLIR writes them between braces, or nothing.
    pub fn op(&mut self, operation: &str, operands: &[&Tensor], attributes: &str, dtype: DType, shape: &[usize]) -> Tensor {
        let result = self.fresh(dtype, shape);
        let names = operands.iter().map(|t| t.name.as_str()).collect::<Vec<_>>().join(", ");
        let types = operands.iter().map(|t| t.ty()).collect::<Vec<_>>().join(", ");
        let attributes = if attributes.is_empty() { String::new() } else { format!(" {{{attributes}}}") };
        self.line(&format!("{} = \"{operation}\"({names}){attributes} : ({types}) -> {}", result.name, result.ty()));
        result
    }

    /// A constant in every element.
    pub fn constant(&mut self, literal: Literal, shape: &[usize]) -> Tensor {
        let dtype = literal.dtype();
        // A float by its bits: every number and NaN has one text.
        let digits = dtype.bits().div_ceil(4) as usize;
        let text = if dtype.is_float() { format!("0x{:0digits$X}", literal.bits()) } else { literal.to_string() };
        let ty = tensor(dtype, shape);
        self.op("stablehlo.constant", &[], &format!("value = dense<{text}> : {ty}"), dtype, shape)
    }

    /// Calls a kernel on its scalars and inputs, in the order of its parameters; its outputs.
    ///
    /// # Errors
    /// The kernel has no form on the chip, or the operands are not those of the binding.
    pub fn call(&mut self, kernel: &Kernel, binding: &Binding, operands: &[&Tensor]) -> Result<Vec<Tensor>, Illegal> {
        let (kernel, binding) = program(kernel, binding, &self.chip)?;
        let (kernel, binding) = (&*kernel, &*binding);
        let text = print(kernel, binding, &self.chip)?;
        let chip = self.chip.name;
        let refuse = |reason| {
            let (at, loc) = (kernel.name.clone(), kernel.loc.clone());
            Illegal { chip, at, rule: Rule::Binding(reason), loc }
        };
        let mut given = operands.iter();
        let (mut scalars, mut prefetched, mut arrays) = (vec![], vec![], vec![]);
        for (param, shape) in kernel.params.iter().zip(&binding.arrays) {
            let is_scalar = match &param.kind {
                ParamKind::Scalar => true,
                ParamKind::In(_) | ParamKind::InArray(_) | ParamKind::Prefetch(_) => false,
                ParamKind::Out(_) | ParamKind::OutArray(_) | ParamKind::Scratch => continue,
            };
            let Some(&&operand) = given.next().as_ref() else {
                return Err(refuse("the binding is of another call: it has too few operands"));
            };
            if operand.dtype != param.ty.dtype() || operand.shape != if is_scalar { &[][..] } else { shape } {
                return Err(refuse("the binding is of another call: an operand has another element type or another shape"));
            }
            match param.kind {
                ParamKind::Scalar => scalars.push(operand.clone()),
                ParamKind::Prefetch(_) => prefetched.push(operand.clone()),
                _ => arrays.push((operand.clone(), before(param, shape))),
            }
        }
        if given.next().is_some() {
            return Err(refuse("the binding is of another call: it has too many operands"));
        }

        let mut passed: Vec<Tensor> = vec![];
        let mut placed = vec![];
        let all = kernel.params.iter().enumerate().filter(|(_, p)| p.kind == ParamKind::Scalar).map(|(at, _)| at);
        let all: Vec<(usize, Tensor)> = all.zip(scalars.iter().cloned()).collect();
        for axis in (0..kernel.grid.len()).filter(|&axis| kernel.is_dynamic(axis)) {
            let size = |id| match kernel.given().find(|&(given, _)| given == id) {
                Some((_, scalar)) => all.iter().find(|(at, _)| *at == scalar).map(|(_, tensor)| Extent::Tensor(tensor.clone())),
                None => binding.sizes.get(id.0 as usize).map(|&n| Extent::Number(n)),
            };
            let value = |id: SizeId| binding.sizes.get(id.0 as usize).map(|&n| i64::from(n));
            if !fits(&kernel.grid[axis].extent, &value) {
                return Err(refuse("a part of an extent of the grid does not fit the 32 bits in which the call computes it"));
            }
            let extent = self.extent(&kernel.grid[axis].extent, &size);
            passed.push(extent.ok_or_else(|| refuse("an extent of the grid has no value in this launch"))?);
        }
        for scalar in scalars {
            passed.push(self.scalar(&scalar));
        }
        for array in prefetched {
            passed.push(self.store(&array));
        }
        for (array, low) in arrays {
            let held = self.store(&array);
            let operand = self.padded(held, &low);
            if self.placed {
                placed.push(passed.len());
            }
            passed.push(operand);
        }
        let mut made = vec![];
        let mut outs = vec![];
        let mut shared = vec![];
        for (at, param) in kernel.outputs() {
            let low = before(param, &binding.arrays[at]);
            if let Some((_, input)) = kernel.aliases().find(|&(output, _)| output == at) {
                // The arrays come last among the operands.
                let arrays = kernel.inputs().filter(|(_, p)| !matches!(p.kind, ParamKind::Prefetch(_)));
                let after = arrays.skip_while(|&(other, _)| other != input).count();
                shared.push((made.len(), passed.len() - after));
            }
            let padded: Vec<usize> = binding.arrays[at].iter().zip(&low).map(|(n, low)| n + low).collect();
            made.push(self.fresh(stored(param.ty.dtype()), &padded));
            outs.push((param.ty.dtype(), binding.arrays[at].clone(), low));
        }
        let limit = scoped_limit(kernel, &self.chip, binding);
        let line = call::custom_call(
            (&identifier(&kernel.name), &kernel.loc),
            (limit, &call::Meeting::of(kernel)),
            &text,
            (&passed, &placed),
            (&made, &shared),
        );
        self.lines.push_str(&line);
        let mut results = vec![];
        for (tensor, (dtype, shape, low)) in made.into_iter().zip(outs) {
            let inside = self.inside(tensor, &low, &shape);
            results.push(self.load(inside, dtype));
        }
        Ok(results)
    }

    /// The module's text; `main` returns these.
    pub fn finish(self, outputs: &[&Tensor]) -> String {
        let args: Vec<String> = self.inputs.iter().map(|t| format!("{}: {}{}", t.name, t.ty(), self.place(t))).collect();
        let types = outputs.iter().map(|t| format!("{}{}", t.ty(), self.place(t))).collect::<Vec<_>>().join(", ");
        let plain = outputs.iter().map(|t| t.ty()).collect::<Vec<_>>().join(", ");
        let names = outputs.iter().map(|t| t.name.as_str()).collect::<Vec<_>>().join(", ");
        let returned = if outputs.is_empty() { String::new() } else { format!(" {names} : {plain}") };
        format!(
            "module @{} {{\n  func.func public @main({}) -> ({types}) {{\n{}    return{returned}\n  }}\n}}\n",
            self.name,
            args.join(", "),
            self.lines
        )
    }

    /// How `main` lays an argument or a result out.
    fn place(&self, tensor: &Tensor) -> String {
        if !self.placed || tensor.shape.is_empty() {
            return String::new();
        }
        let order: Vec<String> = (0..tensor.shape.len()).rev().map(|d| d.to_string()).collect();
        format!(" {{mhlo.layout_mode = \"{{{}}}\"}}", order.join(","))
    }

    fn fresh(&mut self, dtype: DType, shape: &[usize]) -> Tensor {
        self.next += 1;
        Tensor { name: format!("%{}", self.next - 1), dtype, shape: shape.to_vec() }
    }

    fn line(&mut self, text: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.lines, "    {text}");
    }

    /// A scalar as its word, one element long.
    fn scalar(&mut self, scalar: &Tensor) -> Tensor {
        let word = match word(scalar.dtype) {
            DType::Bool => DType::I32,
            word => word,
        };
        let wide = match scalar.dtype == word {
            true => scalar.clone(),
            false => self.op("stablehlo.convert", &[scalar], "", word, &[]),
        };
        self.op("stablehlo.reshape", &[&wide], "", word, &[1])
    }

    /// An array as the kernel stores it.
    fn store(&mut self, array: &Tensor) -> Tensor {
        let to = stored(array.dtype);
        match array.dtype {
            DType::F16 => self.op("stablehlo.bitcast_convert", &[array], "", to, &array.shape),
            DType::Bool => self.op("stablehlo.convert", &[array], "", to, &array.shape),
            _ => array.clone(),
        }
    }

    /// A stored array as the user has it.
    fn load(&mut self, held: Tensor, dtype: DType) -> Tensor {
        match dtype {
            DType::F16 => self.op("stablehlo.bitcast_convert", &[&held], "", dtype, &held.shape),
            DType::Bool => {
                let zero = self.constant(Literal::from_int(held.dtype, 0), &held.shape);
                let attributes = "comparison_direction = #stablehlo<comparison_direction NE>";
                self.op("stablehlo.compare", &[&held, &zero], attributes, dtype, &held.shape)
            }
            _ => held,
        }
    }

    /// With poison before it, where a window reaches there.
    fn padded(&mut self, array: Tensor, low: &[usize]) -> Tensor {
        if low.iter().all(|&n| n == 0) {
            return array;
        }
        let poison = self.constant(Literal::poison(array.dtype), &[]);
        let shape: Vec<usize> = array.shape.iter().zip(low).map(|(n, low)| n + low).collect();
        let none = list(&vec![0; low.len()]);
        let attributes = format!(
            "edge_padding_low = array<i64: {}>, edge_padding_high = array<i64: {none}>, interior_padding = array<i64: {none}>",
            list(low)
        );
        self.op("stablehlo.pad", &[&array, &poison], &attributes, array.dtype, &shape)
    }

    /// Without what lies before it.
    fn inside(&mut self, padded: Tensor, low: &[usize], shape: &[usize]) -> Tensor {
        if low.iter().all(|&n| n == 0) {
            return padded;
        }
        let strides = list(&vec![1; low.len()]);
        let attributes = format!(
            "start_indices = array<i64: {}>, limit_indices = array<i64: {}>, strides = array<i64: {strides}>",
            list(low),
            list(&padded.shape)
        );
        self.op("stablehlo.slice", &[&padded], &attributes, padded.dtype, shape)
    }
}

/// What lies before an array along each dimension, where windows reach there.
fn before(param: &Param, shape: &[usize]) -> Vec<usize> {
    param.window().map_or_else(|| vec![0; shape.len()], low)
}

fn list(items: &[usize]) -> String {
    items.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

/// A name that MLIR and XLA read.
fn identifier(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

fn tensor(dtype: DType, shape: &[usize]) -> String {
    let dims: String = shape.iter().map(|d| format!("{d}x")).collect();
    format!("tensor<{dims}{}>", element(dtype))
}

/// The element type in StableHLO.
const fn element(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "f32",
        DType::Bf16 => "bf16",
        DType::F16 => "f16",
        DType::F8E4M3Fn => "f8E4M3FN",
        DType::F8E5M2 => "f8E5M2",
        DType::F8E4M3B11Fnuz => "f8E4M3B11FNUZ",
        DType::F4E2M1Fn => "f4E2M1FN",
        DType::I32 => "i32",
        DType::I16 => "i16",
        DType::I8 => "i8",
        DType::I4 => "i4",
        DType::I2 => "i2",
        DType::U32 => "ui32",
        DType::U16 => "ui16",
        DType::U8 => "ui8",
        DType::U4 => "ui4",
        DType::Bool => "i1",
    }
}
