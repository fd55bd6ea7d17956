//! Products: the microkernels over matrices that lie anywhere in their operands, in loops over the batch dimensions.

use super::body::Body;
use super::context::{Context, Helpers};
use super::mem::{Mem, Step, Stride};
use crate::ir::{DType, Op, OpKind, Precision};
use cranelift::codegen::ir::BlockArg;
use cranelift::prelude::{InstBuilder, IntCC, Value as Clif, types};
use std::mem::offset_of;

/// Something for the result, the left and the right operand.
type Three<T> = [T; 3];

/// A batch dimension: its size, and the bytes to the next matrix.
type Batch = (usize, Three<Step>);

impl Body<'_, '_, '_> {
    /// A product, written to that memory or added to what is there.
    pub(super) fn dot(&mut self, op: &Op, result: &Mem, accumulate: bool) -> Result<(), String> {
        let OpKind::Dot { ref dims, precision } = op.kind else { return Ok(()) };
        self.flush();
        let (lhs, rhs) = (self.values.memory[&op.operands[0]].clone(), self.values.memory[&op.operands[1]].clone());
        let helper = match (lhs.dtype, rhs.dtype, precision) {
            (DType::F32, DType::F32, Precision::Default) => offset_of!(Helpers, gemm_f32_default),
            (DType::F32, DType::F32, Precision::High) => offset_of!(Helpers, gemm_f32_high),
            (DType::F32, DType::F32, Precision::Highest) => offset_of!(Helpers, gemm_f32_highest),
            (DType::Bf16, DType::Bf16, _) => offset_of!(Helpers, gemm_bf16),
            (DType::I32, DType::I32, _) => offset_of!(Helpers, gemm_i32),
            (a, b, _) => return Err(format!("there is no product of {a} and {b}")),
        };
        // A side without a free dimension is a matrix of one row or column.
        let free = [dims.lhs_free(lhs.shape.rank()), dims.rhs_free(rhs.shape.rank())];
        let size = |mem: &Mem, d: Option<usize>| d.map_or(1, |d| mem.shape.dim(d));
        let stride = |mem: &Mem, d: Option<usize>| d.map_or(Stride::Fixed(0), |d| mem.strides[d]);
        let (m, n, k) = (size(&lhs, free[0]), size(&rhs, free[1]), lhs.shape.dim(dims.contract.0));
        let row = if free[0].is_some() { result.strides[dims.batch.len()] } else { Stride::Fixed(n as i64) };
        let strides =
            [row, stride(&lhs, free[0]), lhs.strides[dims.contract.0], rhs.strides[dims.contract.1], stride(&rhs, free[1])];
        let addresses = [result, &lhs, &rhs].map(|mem| self.code.address(mem, offset_of!(Context, arena)));
        let batch: Vec<Batch> = dims
            .batch
            .iter()
            .enumerate()
            .filter(|(_, (l, _))| lhs.shape.dim(*l) > 1)
            .map(|(b, &(l, r))| {
                let steps = [(result, b), (&lhs, l), (&rhs, r)].map(|(mem, d)| self.code.stride_bytes(mem.strides[d], mem.dtype));
                (lhs.shape.dim(l), steps)
            })
            .collect();
        let sizes = [m, n, k].map(|size| self.code.b.ins().iconst(types::I64, size as i64));
        let strides = strides.map(|s| self.code.stride_elements(s));
        let accumulate = self.code.b.ins().iconst(types::I64, i64::from(accumulate));
        let rest: Vec<Clif> = sizes.into_iter().chain(strides).chain([accumulate]).collect();
        self.batched(&batch, addresses, &mut |body, addresses| {
            let args: Vec<Clif> = addresses.into_iter().chain(rest.iter().copied()).collect();
            body.code.call(helper, &args, None);
        });
        self.summary.dots += 1;
        Ok(())
    }

    /// Calls `inner` in a loop for each batch dimension, of which there are at most two.
    fn batched(&mut self, batch: &[Batch], addresses: Three<Clif>, inner: &mut dyn FnMut(&mut Self, Three<Clif>)) {
        let Some((&(size, steps), rest)) = batch.split_first() else { return inner(self, addresses) };
        let [header, exit] = [(); 2].map(|()| self.code.b.create_block());
        let count = self.code.b.ins().iconst(types::I64, size as i64);
        let args: Vec<BlockArg> = [count].into_iter().chain(addresses).map(Into::into).collect();
        for _ in &args {
            self.code.b.append_block_param(header, types::I64);
        }
        self.code.b.ins().jump(header, &args);
        self.code.b.switch_to_block(header);
        let [left, addresses @ ..] = [0, 1, 2, 3].map(|i| self.code.b.block_params(header)[i]);
        self.batched(rest, addresses, inner);
        let mut next = vec![self.code.b.ins().iadd_imm_s(left, -1)];
        for (address, step) in addresses.into_iter().zip(steps) {
            next.push(match step {
                Step::Fixed(bytes) => self.code.b.ins().iadd_imm_s(address, bytes),
                Step::Dynamic(bytes) => self.code.b.ins().iadd(address, bytes),
            });
        }
        let zero = self.code.b.ins().iconst(types::I64, 0);
        let more = self.code.b.ins().icmp(IntCC::NotEqual, next[0], zero);
        let args: Vec<BlockArg> = next.into_iter().map(Into::into).collect();
        self.code.b.ins().brif(more, header, &args, exit, &[]);
        self.code.b.switch_to_block(exit);
    }
}
