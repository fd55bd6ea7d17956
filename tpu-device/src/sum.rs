//! The sum of the slices of a tensor along its first dimension, as a kernel of the device: what the gradient of an
//! operand is that all slices of a batch share.
//!
//! Rules: slices are added in order, in f32 for floats and wrapping for integers, and rounded once.

use crate::{Device, DeviceError, Tensor};
use tpu_kernel::ir::{
    BinaryOp, BlockDim, Builder, CompareOp, DType, Fault, GridDim, Kernel, Loc, OpKind, ParamKind, Pipelining, Semantics, SizeExpr,
    Space, Type, Value, Window,
};
use tpu_kernel::launch::{Allow, Arg, Config, Launchable, Target};
use tpu_kernel::{BuildFault, Error};

/// Blocks of a slice: the last dimension, the one before, and all others.
const BLOCK: [usize; 3] = [512, 32, 1];

const PLACE: Loc = Loc::UNKNOWN;

/// The sum along the first dimension, which goes.
pub(crate) fn slices(device: &Device, x: &Tensor) -> Result<Tensor, DeviceError> {
    if let [0, slice @ ..] = x.shape() {
        // No step of a grid would write it.
        return Tensor::zeros(device, x.dtype(), slice);
    }
    let rank = x.shape().len().saturating_sub(1);
    let mut outputs = device.launch(&SumSlices::of_rank(rank), &[Arg::Array(x)])?;
    outputs.pop().ok_or(DeviceError::OutputCount { operation: NAME.to_string(), want: 1, got: 0 })
}

const NAME: &str = "sum_slices";

/// The kernel for slices of one rank.
struct SumSlices {
    rank: usize,
    config: Config,
}

impl SumSlices {
    fn of_rank(rank: usize) -> SumSlices {
        // A slice of a vector is a row of a block, which the hardware does not take as it is.
        let config = Config { blocks: vec![("RANK", rank)], allow: vec![Allow::BlockShape], ..Config::default() };
        SumSlices { rank, config }
    }

    fn build(&self, dtype: DType) -> Result<Kernel, Fault> {
        let mut b = Builder::new(NAME, PLACE);
        let count = SizeExpr::Size(b.size("count"));
        let sizes: Vec<SizeExpr> = (0..self.rank).map(|d| SizeExpr::Size(b.size(&format!("n{d}")))).collect();
        let block: Vec<usize> = (0..self.rank).map(|d| BLOCK[(self.rank - 1 - d).min(2)]).collect();
        for (d, (size, block)) in sizes.iter().zip(&block).enumerate() {
            let extent = size.clone() / SizeExpr::Const(*block as i64);
            b.grid_dim(GridDim { name: format!("i{d}"), extent, semantics: Semantics::Parallel, loc: PLACE });
        }
        let last = self.rank;
        b.grid_dim(GridDim { name: "slice".into(), extent: count.clone(), semantics: Semantics::Arbitrary, loc: PLACE });

        let blocked: Vec<BlockDim> = block.iter().map(|&n| BlockDim::Blocked(n)).collect();
        let Ok(map) = b.map::<std::convert::Infallible>(|_, i| Ok([&i[last..], &i[..last]].concat()));
        let window = Window {
            array: [vec![count], sizes.clone()].concat(),
            block: [vec![BlockDim::Squeezed], blocked.clone()].concat(),
            map,
            pipelining: Pipelining::default(),
        };
        let ty = Builder::window_type(dtype, &blocked).unwrap_or(Type::Scalar(dtype));
        let x = b.param("x", ty, ParamKind::In(window), PLACE);
        let Ok(map) = b.map::<std::convert::Infallible>(|_, i| Ok(i[..last].to_vec()));
        let o = b.param(
            "o",
            ty,
            ParamKind::Out(Window { array: sizes, block: blocked, map, pipelining: Pipelining::default() }),
            PLACE,
        );
        let wide = if dtype.is_float() { DType::F32 } else { dtype };
        let acc = b.param("acc", Type::Ref(Space::Vmem, wide, ty.shape()), ParamKind::Scratch, PLACE);

        let at = |kind, operands: &[Value], b: &mut Builder| b.value(kind, operands, PLACE);
        let zero = b.constant(0, PLACE);
        let starts = vec![zero; self.rank];
        let all = |memory: Value| [vec![memory], starts.clone()].concat();
        let slice = at(OpKind::ProgramId(last), &[], &mut b)?;
        let is_first = at(OpKind::Compare(CompareOp::Eq), &[slice, zero], &mut b)?;
        let tile = at(OpKind::Load(ty.shape()), &all(x), &mut b)?;
        let tile = at(OpKind::Cast(wide), &[tile], &mut b)?;

        b.begin_region(&[]);
        let then = b.end_region(&[tile]);
        b.begin_region(&[]);
        let before = at(OpKind::Load(ty.shape()), &all(acc), &mut b)?;
        let sum = at(OpKind::Binary(BinaryOp::Add), &[before, tile], &mut b)?;
        let otherwise = b.end_region(&[sum]);
        let sum = b.control(OpKind::If, &[is_first], vec![then, otherwise], &[Type::Tile(wide, ty.shape())], PLACE)[0];
        b.op(OpKind::Store, &[vec![acc, sum], starts.clone()].concat(), PLACE)?;
        // Each step stores what it has: the last one's is written back.
        let rounded = at(OpKind::Cast(dtype), &[sum], &mut b)?;
        b.op(OpKind::Store, &[vec![o, rounded], starts.clone()].concat(), PLACE)?;
        b.finish()
    }
}

impl Launchable for SumSlices {
    fn name(&self) -> &'static str {
        NAME
    }

    fn path(&self) -> &'static str {
        "tpu_device::sum_slices"
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn stage(&self, inputs: &[DType]) -> Result<Kernel, Error> {
        let dtype = inputs.first().copied().unwrap_or(DType::F32);
        self.build(dtype).map_err(|fault| Error::Build { kernel: NAME.to_string(), faults: vec![BuildFault::Rule(fault)] })
    }
}
