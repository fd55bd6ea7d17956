//! Elements in memory: as words that hold their bits, and as lanes.

use crate::cranelift::code::{Code, Pack, flags};
use crate::cranelift::math::Math;
use crate::formats::Format;
use crate::ir::DType;
use crate::math;
use cranelift::prelude::*;

impl Code<'_> {
    /// Lanes of elements from words with their bits; bits above the width do not matter where memory leaves them open.
    pub(in crate::cranelift) fn of_bits(&mut self, dtype: DType, x: Pack) -> Pack {
        match dtype {
            DType::F32 => {
                let ty = Self::float_type(self.is_vector(x.values()[0]));
                x.map(|v| self.bitcast(v, ty))
            }
            DType::Bool => self.not_zero(DType::I32, x),
            DType::I4 | DType::I2 | DType::U4 => self.wrapped(dtype, x),
            _ => match Format::of(dtype) {
                Some(format) => math::decode(&mut Math::new(self, x), format, x),
                None => x,
            },
        }
    }

    /// Words with the bits of elements as they lie in memory.
    fn bits_of(&mut self, dtype: DType, x: Pack) -> Pack {
        match dtype {
            DType::Bool => x.map(|v| {
                if self.is_vector(v) {
                    let one = self.bits(1, types::I32X4);
                    self.b.ins().band(v, one)
                } else {
                    self.b.ins().uextend(types::I32, v)
                }
            }),
            _ => match Format::of(dtype) {
                Some(format) => math::pack(&mut Math::new(self, x), format, x),
                None => x,
            },
        }
    }

    /// The type in which elements come from memory: f32 as themselves, all others as words.
    fn raw_type(dtype: DType, vector: bool) -> Type {
        if dtype == DType::F32 { Self::float_type(vector) } else { Self::word_type(vector) }
    }

    fn load_raw(&mut self, dtype: DType, address: Value, offset: i32) -> Value {
        match (dtype.bytes(), dtype.is_signed()) {
            (1, true) => self.b.ins().sload8(types::I32, flags(), address, offset),
            (1, false) => self.b.ins().uload8(types::I32, flags(), address, offset),
            (2, true) => self.b.ins().sload16(types::I32, flags(), address, offset),
            (2, false) => self.b.ins().uload16(types::I32, flags(), address, offset),
            _ => self.b.ins().load(Self::raw_type(dtype, false), flags(), address, offset),
        }
    }

    fn store_raw(&mut self, dtype: DType, v: Value, address: Value, offset: i32) {
        match dtype.bytes() {
            1 => self.b.ins().istore8(flags(), v, address, offset),
            2 => self.b.ins().istore16(flags(), v, address, offset),
            _ => self.b.ins().store(flags(), v, address, offset),
        };
    }

    /// Reads a scalar element.
    pub(in crate::cranelift) fn load_scalar(&mut self, dtype: DType, address: Value, offset: i32) -> Value {
        let raw = self.load_raw(dtype, address, offset);
        self.of_bits(dtype, Pack::one(raw)).values()[0]
    }

    /// Writes a scalar element.
    pub(in crate::cranelift) fn store_scalar(&mut self, dtype: DType, v: Value, address: Value, offset: i32) {
        let raw = self.bits_of(dtype, Pack::one(v)).values()[0];
        self.store_raw(dtype, raw, address, offset);
    }

    /// Reads elements from these addresses, four to a vector.
    pub(in crate::cranelift) fn gather(&mut self, dtype: DType, places: &[(Value, i32)]) -> Pack {
        let mut all = vec![];
        for four in places.chunks(4) {
            let first = self.load_raw(dtype, four[0].0, four[0].1);
            let mut v = self.b.ins().splat(Self::raw_type(dtype, true), first);
            for (lane, &(address, offset)) in four.iter().enumerate().skip(1) {
                let x = self.load_raw(dtype, address, offset);
                v = self.b.ins().insertlane(v, x, lane as u8);
            }
            all.push(v);
        }
        self.of_bits(dtype, Pack::from_slice(&all))
    }

    /// Writes elements to these addresses.
    pub(in crate::cranelift) fn scatter(&mut self, dtype: DType, pack: Pack, places: &[(Value, i32)]) {
        let raw = self.bits_of(dtype, pack);
        for (&v, four) in raw.values().iter().zip(places.chunks(4)) {
            for (lane, &(address, offset)) in four.iter().enumerate() {
                let x = self.b.ins().extractlane(v, lane as u8);
                self.store_raw(dtype, x, address, offset);
            }
        }
    }

    /// Reads one or four vectors of consecutive elements.
    pub(in crate::cranelift) fn load_vectors(&mut self, dtype: DType, address: Value, vectors: usize) -> Pack {
        let raw: Vec<Value> = match (dtype.bytes(), vectors) {
            (1, 1) => {
                let four = self.b.ins().load(types::I32, flags(), address, 0);
                let bytes = self.b.ins().scalar_to_vector(types::I32X4, four);
                let bytes = self.bitcast(bytes, types::I8X16);
                let halves = self.widen(dtype, bytes, false);
                vec![self.widen(dtype, halves, false)]
            }
            (1, _) => {
                let bytes = self.b.ins().load(types::I8X16, flags(), address, 0);
                let halves = [false, true].map(|high| self.widen(dtype, bytes, high));
                halves.into_iter().flat_map(|h| [(h, false), (h, true)]).map(|(h, high)| self.widen(dtype, h, high)).collect()
            }
            (2, _) => {
                let signed = dtype.is_signed();
                let mut load = |offset| match signed {
                    true => self.b.ins().sload16x4(flags(), address, offset),
                    false => self.b.ins().uload16x4(flags(), address, offset),
                };
                (0..vectors).map(|at| load(8 * at as i32)).collect()
            }
            _ => {
                let ty = Self::raw_type(dtype, true);
                (0..vectors).map(|at| self.b.ins().load(ty, flags(), address, 16 * at as i32)).collect()
            }
        };
        self.of_bits(dtype, Pack::from_slice(&raw))
    }

    /// Half the lanes at twice the width.
    fn widen(&mut self, dtype: DType, v: Value, high: bool) -> Value {
        match (dtype.is_signed(), high) {
            (true, false) => self.b.ins().swiden_low(v),
            (true, true) => self.b.ins().swiden_high(v),
            (false, false) => self.b.ins().uwiden_low(v),
            (false, true) => self.b.ins().uwiden_high(v),
        }
    }

    /// Twice the lanes at half the width, which holds each.
    fn narrow(&mut self, dtype: DType, low: Value, high: Value) -> Value {
        // To bytes goes by 16 bits, signed, which hold unsigned bytes too.
        let to_bytes = self.b.func.dfg.value_type(low) == types::I16X8;
        if dtype.is_signed() || (dtype.bytes() == 1 && !to_bytes) {
            self.b.ins().snarrow(low, high)
        } else {
            self.b.ins().unarrow(low, high)
        }
    }

    /// Writes one or four vectors as consecutive elements.
    pub(in crate::cranelift) fn store_vectors(&mut self, dtype: DType, pack: Pack, address: Value) {
        let raw = self.bits_of(dtype, pack);
        let raw = raw.values();
        let (bytes, pairs) = (dtype.bytes(), raw.len() / 2);
        if bytes == 4 {
            for (at, &v) in raw.iter().enumerate() {
                self.b.ins().store(flags(), v, address, 16 * at as i32);
            }
            return;
        }
        let halves: Vec<Value> = match pairs {
            0 => vec![self.narrow(dtype, raw[0], raw[0])],
            _ => raw.chunks(2).map(|pair| self.narrow(dtype, pair[0], pair[1])).collect(),
        };
        let last = halves.len() - 1;
        let narrow = if bytes == 2 { halves } else { vec![self.narrow(dtype, halves[0], halves[last])] };
        if pairs == 0 {
            let (ty, whole) = if bytes == 2 { (types::I64X2, narrow[0]) } else { (types::I32X4, narrow[0]) };
            let whole = self.bitcast(whole, ty);
            let low = self.b.ins().extractlane(whole, 0);
            self.b.ins().store(flags(), low, address, 0);
            return;
        }
        for (at, &v) in narrow.iter().enumerate() {
            self.b.ins().store(flags(), v, address, 16 * at as i32);
        }
    }
}
