//! Emits CLIF for packs of lanes: the vectors of one step of a loop, or one scalar.
//!
//! Rules: a float lane is an f32 that is a number of its type, an integer lane an i32 with its value, extended by its sign or
//! by zeros; bool lanes are masks in vectors and 0 or 1 in scalars; each operation is emitted for all vectors of a pack in turn, so that
//! independent work lies side by side; constants go to the anchor before the loop nest.

use super::context::{Context, Helpers, RefSlot};
use crate::ir::{DType, Literal, MAX_RANK};
use cranelift::codegen::cursor::{Cursor, FuncCursor};
use cranelift::codegen::ir::{ConstantData, Endianness, Inst, SigRef, StackSlot};
use cranelift::prelude::*;
use std::collections::HashMap;
use std::mem::offset_of;

/// Up to four CLIF values of one type that stand for consecutive lanes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pack {
    values: [Value; 4],
    len: u8,
}

impl Pack {
    /// One value.
    pub(super) fn one(v: Value) -> Pack {
        Pack { values: [v; 4], len: 1 }
    }

    /// Some values, 1 to 4.
    pub(super) fn from_slice(all: &[Value]) -> Pack {
        let mut values = [all[0]; 4];
        values[..all.len()].copy_from_slice(all);
        Pack { values, len: all.len() as u8 }
    }

    /// The values.
    pub(super) fn values(&self) -> &[Value] {
        &self.values[..self.len as usize]
    }

    /// The same value `len` times.
    pub(super) fn repeated(v: Value, len: usize) -> Pack {
        Pack { values: [v; 4], len: len as u8 }
    }

    pub(super) fn map(self, mut f: impl FnMut(Value) -> Value) -> Pack {
        let mut out = self;
        for v in &mut out.values[..self.len as usize] {
            *v = f(*v);
        }
        out
    }

    pub(super) fn zip(self, other: Pack, mut f: impl FnMut(Value, Value) -> Value) -> Pack {
        let mut out = self;
        for (v, &w) in out.values[..self.len as usize].iter_mut().zip(&other.values) {
            *v = f(*v, w);
        }
        out
    }
}

/// Instructions for which there is other code where the processor lacks them; without it Cranelift would call the C library.
#[derive(Clone, Copy, Debug)]
pub(super) struct Features {
    /// Multiplies and adds with one rounding.
    pub fused: bool,
    /// Rounds to an integer.
    pub rounds: bool,
}

/// The function under construction.
pub(super) struct Code<'f> {
    /// The builder, at the current position.
    pub(super) b: FunctionBuilder<'f>,
    /// The pointer to the context.
    pub(super) ctx: Value,
    /// An instruction before the current loop nest: constants are put before it.
    anchor: Option<Inst>,
    constants: HashMap<(u32, Type), Value>,
    /// What the processor does in one instruction.
    pub(super) features: Features,
    /// Where operands of functions called by address lie.
    pub(super) strips: Option<[StackSlot; 2]>,
}

/// Memory accesses neither trap nor promise alignment.
pub(super) fn flags() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

fn cast_flags() -> MemFlagsData {
    MemFlagsData::new().with_endianness(Endianness::Little)
}

impl<'f> Code<'f> {
    /// Code at the entry of a function that takes the context.
    pub(super) fn new(mut b: FunctionBuilder<'f>, features: Features) -> Code<'f> {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let ctx = b.block_params(entry)[0];
        Code { b, ctx, anchor: None, constants: HashMap::new(), features, strips: None }
    }

    /// Ends the function.
    pub(super) fn finish(mut self, isa: &dyn isa::TargetIsa) {
        self.b.seal_all_blocks();
        self.b.finalize(isa.frontend_config());
    }

    /// From here on constants are put here, until the end of the nest.
    pub(super) fn begin_nest(&mut self) {
        self.constants.clear();
        self.anchor = Some(self.b.ins().nop());
    }

    /// Ends the nest.
    pub(super) fn end_nest(&mut self) {
        self.constants.clear();
        self.anchor = None;
    }

    /// The CLIF type of a lane or of a vector of lanes.
    pub(super) fn clif_type(dtype: DType, vector: bool) -> Type {
        match (dtype, vector) {
            (DType::Bool, false) => types::I8,
            _ if dtype.is_float() => Self::float_type(vector),
            _ => Self::word_type(vector),
        }
    }

    /// An f32, or four.
    pub(super) fn float_type(vector: bool) -> Type {
        if vector { types::F32X4 } else { types::F32 }
    }

    /// An i32, or four.
    pub(super) fn word_type(vector: bool) -> Type {
        if vector { types::I32X4 } else { types::I32 }
    }

    /// These bits in every lane of that type: of 32-bit lanes, or a scalar I8 of 0 or 1.
    pub(super) fn bits(&mut self, bits: u32, ty: Type) -> Value {
        if let Some(&v) = self.constants.get(&(bits, ty)) {
            return v;
        }
        if ty == types::I8 {
            return self.b.ins().iconst(types::I8, i64::from(bits & 1));
        }
        let data: Vec<u8> = [bits; 4].iter().flat_map(|b| b.to_le_bytes()).collect();
        let emit = |mut cursor: FuncCursor<'_>| match ty {
            types::F32 => cursor.ins().f32const(Ieee32::with_bits(bits)),
            types::I32 => cursor.ins().iconst(types::I32, i64::from(bits)),
            _ => {
                let constant = cursor.func.dfg.constants.insert(ConstantData::from(data.as_slice()));
                cursor.ins().vconst(ty, constant)
            }
        };
        match self.anchor {
            Some(anchor) => {
                let v = emit(FuncCursor::new(self.b.func).at_inst(anchor));
                self.constants.insert((bits, ty), v);
                v
            }
            None => match ty {
                types::F32 => self.b.ins().f32const(Ieee32::with_bits(bits)),
                types::I32 => self.b.ins().iconst(types::I32, i64::from(bits)),
                _ => {
                    let constant = self.b.func.dfg.constants.insert(ConstantData::from(data.as_slice()));
                    self.b.ins().vconst(ty, constant)
                }
            },
        }
    }

    /// The numbers 0, 1, 2, 3 as a vector, before the nest.
    pub(super) fn lane_numbers(&mut self) -> Value {
        let data: Vec<u8> = (0..4u32).flat_map(|b| b.to_le_bytes()).collect();
        let constant = self.b.func.dfg.constants.insert(ConstantData::from(data.as_slice()));
        self.b.ins().vconst(types::I32X4, constant)
    }

    /// A literal as a scalar.
    pub(super) fn literal(&mut self, literal: Literal) -> Value {
        let dtype = literal.dtype();
        let bits = literal.as_f32().map_or(literal.memory(), f32::to_bits);
        self.bits(bits, Self::clif_type(dtype, false))
    }

    /// A scalar in every lane of a vector.
    pub(super) fn splat(&mut self, dtype: DType, v: Value) -> Value {
        match dtype {
            DType::Bool => {
                let mask = self.mask(v);
                self.b.ins().splat(types::I32X4, mask)
            }
            _ => self.b.ins().splat(Self::clif_type(dtype, true), v),
        }
    }

    /// A bool scalar as a lane of a vector has it: no bits, or all.
    pub(super) fn mask(&mut self, v: Value) -> Value {
        let wide = self.b.ins().uextend(types::I32, v);
        self.b.ins().ineg(wide)
    }

    /// The same bits as another type of the same size.
    pub(super) fn bitcast(&mut self, v: Value, to: Type) -> Value {
        if self.b.func.dfg.value_type(v) == to { v } else { self.b.ins().bitcast(to, cast_flags(), v) }
    }

    /// Whether a value is a vector.
    pub(super) fn is_vector(&self, v: Value) -> bool {
        self.b.func.dfg.value_type(v).is_vector()
    }

    /// A field of the context.
    pub(super) fn field(&mut self, ty: Type, offset: usize) -> Value {
        let ctx = self.ctx;
        self.b.ins().load(ty, flags(), ctx, offset as i32)
    }

    /// An i32 of one of the context's lists.
    pub(super) fn listed(&mut self, list: usize, index: usize) -> Value {
        let list = self.field(types::I64, list);
        self.b.ins().load(types::I32, flags(), list, (index * 4) as i32)
    }

    /// The address behind an operand.
    pub(super) fn ref_pointer(&mut self, param: usize) -> Value {
        let refs = self.field(types::I64, offset_of!(Context, refs));
        self.b.ins().load(types::I64, flags(), refs, (param * size_of::<RefSlot>() + offset_of!(RefSlot, ptr)) as i32)
    }

    /// A stride of an operand, in elements.
    pub(super) fn ref_stride(&mut self, param: usize, axis: usize) -> Value {
        let refs = self.field(types::I64, offset_of!(Context, refs));
        let at = param * size_of::<RefSlot>() + offset_of!(RefSlot, strides) + axis * 8;
        self.b.ins().load(types::I64, flags(), refs, at as i32)
    }

    /// The extent of an operand's array along a dimension, in 64 bits.
    pub(super) fn array_extent(&mut self, param: usize, axis: usize) -> Value {
        let arrays = self.field(types::I64, offset_of!(Context, arrays));
        self.b.ins().load(types::I64, flags(), arrays, ((param * MAX_RANK + axis) * 8) as i32)
    }

    fn signature(&mut self, params: &[Type], returns: &[Type]) -> SigRef {
        let mut signature = Signature::new(self.b.func.signature.call_conv);
        signature.params.extend(params.iter().map(|&t| AbiParam::new(t)));
        signature.returns.extend(returns.iter().map(|&t| AbiParam::new(t)));
        self.b.import_signature(signature)
    }

    /// Calls the helper at that offset of [`Helpers`].
    pub(super) fn call(&mut self, helper: usize, args: &[Value], result: Option<Type>) -> Option<Value> {
        let types: Vec<Type> = args.iter().map(|&v| self.b.func.dfg.value_type(v)).collect();
        let signature = self.signature(&types, result.as_slice());
        let callee = self.field(types::I64, offset_of!(Context, helpers) + helper);
        let call = self.b.ins().call_indirect(signature, callee, args);
        self.b.inst_results(call).first().copied()
    }

    /// Applies a function of scalars to each lane.
    pub(super) fn by_lane(&mut self, args: &[Value], mut f: impl FnMut(&mut Self, &[Value]) -> Value) -> Value {
        if !self.is_vector(args[0]) {
            return f(self, args);
        }
        let mut out = args[0];
        for lane in 0..4u8 {
            let scalars: Vec<Value> = args.iter().map(|&v| self.b.ins().extractlane(v, lane)).collect();
            let v = f(self, &scalars);
            out = self.b.ins().insertlane(out, v, lane);
        }
        out
    }

    /// a · b + c, rounded once.
    pub(super) fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        if self.features.fused {
            return self.b.ins().fma(a, b, c);
        }
        self.by_lane(&[a, b, c], |code, args| {
            code.call(offset_of!(Helpers, fma), args, Some(types::F32)).expect("fma has a result")
        })
    }

    /// `a` where the mask (or bool) holds, else `b`.
    pub(super) fn choose(&mut self, mask: Value, a: Value, b: Value) -> Value {
        let ty = self.b.func.dfg.value_type(a);
        if ty.is_vector() {
            let mask = self.bitcast(mask, ty);
            self.b.ins().bitselect(mask, a, b)
        } else {
            self.b.ins().select(mask, a, b)
        }
    }
}
