//! Reads regions and operations.

use super::lex::{Position, Token};
use super::parse::{Parser, Result, error};
use crate::ir::{
    BinaryOp, CompareOp, DType, DotDims, Literal, Loc, Op, OpKind, Precision, ReduceOp, Region, RotateStride, ScanOp, Shape, Type,
    UnaryOp, Value,
};

/// An operation's kind as far as it is known before its result type.
enum Form {
    Known(OpKind),
    /// The literal, and the element type where it is given.
    Const(Option<DType>, Digits),
    Iota(Option<Shape>, usize),
    /// `cast`, `bitcast` or `stochastic_round`.
    Converted(fn(DType) -> OpKind, Option<DType>),
    /// `broadcast`, `reshape`, `load` or `prng_bits`.
    Shaped(fn(Shape) -> OpKind, Option<Shape>),
    /// Shape, starts and strides.
    Slice(Option<Shape>, Vec<usize>, Vec<usize>),
    /// Shape and strides.
    View(Option<Shape>, Option<Vec<usize>>),
}

/// The text of a literal.
struct Digits(String, Position);

/// An argument of a region, with its type where that is written.
type Argument = (Value, Option<Type>);

/// What stands between an operation's kind and its regions.
struct Header {
    results: Vec<Value>,
    start: Position,
}

impl Parser<'_> {
    /// `{ operations… yield values }`, with these arguments.
    pub(super) fn region(&mut self, args: Vec<Value>) -> Result<Region> {
        self.expect("{")?;
        self.nested(|p| {
            let mut region = Region { args, ..Region::default() };
            while !p.is("}") {
                if p.eat_word("yield") {
                    region.yields = p.values()?;
                    break;
                }
                region.ops.push(p.operation()?);
            }
            p.expect("}")?;
            Ok(region)
        })
    }

    fn operation(&mut self) -> Result<Op> {
        let start = self.at;
        let results = self.values()?;
        if !results.is_empty() {
            self.expect("=")?;
        }
        let header = Header { results, start };
        let at = self.at;
        match self.word("an operation, `yield` or `}`")? {
            "if" => self.if_op(header),
            "for" => self.for_op(header),
            "while" => self.while_op(header),
            "scoped" => self.scoped_op(header),
            "generic" => {
                let at = self.at;
                let kind = match self.word("`if`, `for`, `while` or `scoped`")? {
                    "if" => OpKind::If,
                    "for" => OpKind::For,
                    "while" => OpKind::While,
                    "scoped" => OpKind::Scoped,
                    other => return Err(error(at, format!("`{other}` has no generic form"))),
                };
                let operands = self.values()?;
                self.plain(header, Form::Known(kind), operands)
            }
            mnemonic => {
                let (form, operands) = self.form(mnemonic, at)?;
                self.plain(header, form, operands)
            }
        }
    }

    /// Result types, place and extra regions of an operation in the plain form.
    fn plain(&mut self, header: Header, form: Form, operands: Vec<Value>) -> Result<Op> {
        let types = self.types()?;
        let loc = self.loc(header.start)?;
        let kind = complete(form, &types, header.start)?;
        let mut regions = vec![];
        while self.eat_word("region") {
            let args = if self.eat("(") { self.list(")", |p| p.typed_value())? } else { vec![] };
            regions.push(self.region(args)?);
        }
        self.finish(header, kind, operands, types, regions, loc)
    }

    fn finish(
        &mut self,
        header: Header,
        kind: OpKind,
        operands: Vec<Value>,
        types: Vec<Type>,
        regions: Vec<Region>,
        loc: Loc,
    ) -> Result<Op> {
        check_types(&header, &types)?;
        for (&result, &ty) in header.results.iter().zip(&types) {
            self.define(result, ty);
        }
        Ok(Op { kind, operands, results: header.results, regions, loc })
    }

    /// `%x: type`.
    fn typed_value(&mut self) -> Result<Value> {
        let value = self.value()?;
        self.expect(":")?;
        let ty = self.ty()?;
        self.define(value, ty);
        Ok(value)
    }

    /// `%x`, or `%x: type` where the type is not the one to expect.
    fn argument(&mut self) -> Result<Argument> {
        let value = self.value()?;
        let ty = if self.eat(":") { Some(self.ty()?) } else { None };
        Ok((value, ty))
    }

    /// Types of region arguments: the given one, or the one expected at that position.
    fn define_arguments(&mut self, args: &[Argument], expected: &[Type], at: Position) -> Result<Vec<Value>> {
        args.iter()
            .enumerate()
            .map(|(i, &(value, ty))| {
                let ty = ty.or_else(|| expected.get(i).copied());
                self.define(
                    value,
                    ty.ok_or_else(|| error(at, "an argument without a type, and no result to take it from".into()))?,
                );
                Ok(value)
            })
            .collect()
    }

    fn if_op(&mut self, header: Header) -> Result<Op> {
        let condition = self.value()?;
        let types = self.types()?;
        let loc = self.loc(header.start)?;
        let then = self.region(vec![])?;
        let otherwise = if self.eat_word("else") { self.region(vec![])? } else { Region::default() };
        self.finish(header, OpKind::If, vec![condition], types, vec![then, otherwise], loc)
    }

    /// `carry (%p = %init, …)`, or nothing.
    fn carry(&mut self) -> Result<(Vec<Argument>, Vec<Value>)> {
        if !self.eat_word("carry") {
            return Ok((vec![], vec![]));
        }
        self.expect("(")?;
        let pairs = self.list(")", |p| {
            let arg = p.argument()?;
            p.expect("=")?;
            Ok((arg, p.value()?))
        })?;
        Ok(pairs.into_iter().unzip())
    }

    fn for_op(&mut self, header: Header) -> Result<Op> {
        let index = self.argument()?;
        self.expect("=")?;
        let mut operands = vec![self.value()?];
        self.expect_word("to")?;
        operands.push(self.value()?);
        self.expect_word("step")?;
        operands.push(self.value()?);
        let (carried, inits) = self.carry()?;
        operands.extend(inits);
        let types = self.types()?;
        let loc = self.loc(header.start)?;
        let mut args = self.define_arguments(&[index], &[Type::Scalar(DType::I32)], header.start)?;
        args.extend(self.define_arguments(&carried, &types, header.start)?);
        let body = self.region(args)?;
        self.finish(header, OpKind::For, operands, types, vec![body], loc)
    }

    fn while_op(&mut self, header: Header) -> Result<Op> {
        let (carried, inits) = self.carry()?;
        let types = self.types()?;
        let loc = self.loc(header.start)?;
        let args = self.define_arguments(&carried, &types, header.start)?;
        let test = self.region(args)?;
        self.expect_word("do")?;
        let at = self.at;
        let carried = if self.eat("(") { self.list(")", |p| p.argument())? } else { vec![] };
        let args = self.define_arguments(&carried, &types, at)?;
        let body = self.region(args)?;
        self.finish(header, OpKind::While, inits, types, vec![test, body], loc)
    }

    fn scoped_op(&mut self, header: Header) -> Result<Op> {
        self.expect("(")?;
        let args = self.list(")", |p| p.typed_value())?;
        let types = self.types()?;
        let loc = self.loc(header.start)?;
        let body = self.region(args)?;
        self.finish(header, OpKind::Scoped, vec![], types, vec![body], loc)
    }

    /// Attributes and operands of an operation without regions.
    fn form(&mut self, mnemonic: &str, at: Position) -> Result<(Form, Vec<Value>)> {
        if let Some(kind) = elementwise(mnemonic) {
            return Ok((Form::Known(kind), self.values()?));
        }
        let form = match mnemonic {
            "const" => {
                let dtype = match self.token {
                    Token::Word(word) => DType::from_name(word),
                    _ => None,
                };
                if dtype.is_some() {
                    self.advance();
                }
                Form::Const(dtype, self.digits()?)
            }
            "iota" => {
                let shape = self.to(Self::shape)?;
                let operands = self.values()?;
                return Ok((Form::Iota(shape, self.axis()?), operands));
            }
            "cast" => Form::Converted(OpKind::Cast, self.to(Self::dtype)?),
            "bitcast" => Form::Converted(OpKind::Bitcast, self.to(Self::dtype)?),
            "stochastic_round" => Form::Converted(OpKind::StochasticRound, self.to(Self::dtype)?),
            "broadcast" => Form::Shaped(OpKind::Broadcast, self.to(Self::shape)?),
            "reshape" => Form::Shaped(OpKind::Reshape, self.to(Self::shape)?),
            "view_reshaped" => Form::Shaped(OpKind::ViewReshaped, self.to(Self::shape)?),
            "view_bitcast" => Form::Converted(OpKind::ViewBitcast, self.to(Self::dtype)?),
            "prng_bits" => Form::Shaped(OpKind::PrngBits, self.to(Self::shape)?),
            "prng_seed" => Form::Known(OpKind::PrngSeed),
            "print" | "check" | "defined" => {
                let text = self.text("a text")?;
                let operands = if self.eat(",") { self.values()? } else { vec![] };
                let kind = match mnemonic {
                    "print" => OpKind::Print(text),
                    "check" => OpKind::Check(text),
                    _ => OpKind::Defined(text),
                };
                return Ok((Form::Known(kind), operands));
            }
            "slice" => {
                let shape = self.to(Self::shape)?;
                let operands = self.values()?;
                self.expect_word("starts")?;
                let starts = self.numbers("the first element")?;
                let strides = if self.eat_word("strides") { self.numbers("a stride")? } else { vec![1; starts.len()] };
                return Ok((Form::Slice(shape, starts, strides), operands));
            }
            "extract" => {
                let operands = self.values()?;
                return Ok((Form::Known(OpKind::Extract(self.numbers("an index")?)), operands));
            }
            "concat" | "gather" | "rotate" | "sort" => {
                let operands = self.values()?;
                let axis = self.axis()?;
                let kind = match mnemonic {
                    "concat" => OpKind::Concat { axis },
                    "gather" => OpKind::Gather { axis },
                    "rotate" => OpKind::Rotate { axis, stride: self.rotate_stride()? },
                    _ => OpKind::Sort { axis, descending: self.eat_word("descending") },
                };
                return Ok((Form::Known(kind), operands));
            }
            "scan" => {
                let at = self.at;
                let name = self.word("`sum`, `prod`, `max` or `min`")?;
                let op = ScanOp::from_name(name).ok_or_else(|| error(at, format!("`{name}` is not a running reduction")))?;
                let operands = self.values()?;
                let axis = self.axis()?;
                return Ok((Form::Known(OpKind::Scan { op, axis, reverse: self.eat_word("reverse") }), operands));
            }
            "transpose" | "view_transposed" => {
                let kind = if mnemonic == "transpose" { OpKind::Transpose } else { OpKind::ViewTransposed };
                let operands = self.values()?;
                self.expect_word("perm")?;
                return Ok((Form::Known(kind(self.numbers("a dimension")?)), operands));
            }
            "reduce" => {
                let at = self.at;
                let name = self.word("a reduction, as `sum`")?;
                let op = ReduceOp::from_name(name).ok_or_else(|| error(at, format!("`{name}` is not a reduction")))?;
                let operands = self.values()?;
                return Ok((Form::Known(OpKind::Reduce { op, axis: self.axis()? }), operands));
            }
            "dot" => {
                let operands = self.values()?;
                return Ok((Form::Known(self.dot()?), operands));
            }
            "load" => {
                let shape = self.to(Self::shape)?;
                return Ok((Form::Shaped(OpKind::Load, shape), self.place()?));
            }
            "store" | "store_scalar" | "store_masked" => {
                let mut operands = vec![];
                if matches!(self.token, Token::Value(_)) {
                    operands.push(self.value()?);
                    if self.eat(",") {
                        operands.insert(0, self.value()?);
                    }
                    self.starts(&mut operands)?;
                }
                let kind = match mnemonic {
                    "store" => OpKind::Store,
                    "store_scalar" => OpKind::StoreScalar,
                    _ if self.eat_word("where") => {
                        let mask = self.value()?;
                        operands.insert(2.min(operands.len()), mask);
                        OpKind::StoreMasked
                    }
                    _ => OpKind::StoreMasked,
                };
                return Ok((Form::Known(kind), operands));
            }
            "load_scalar" | "semaphore_at" => {
                let kind = if mnemonic == "load_scalar" { OpKind::LoadScalar } else { OpKind::SemaphoreAt };
                return Ok((Form::Known(kind), self.place()?));
            }
            "view" => {
                let shape = self.to(Self::shape)?;
                let operands = self.place()?;
                let strides = if self.eat_word("strides") { Some(self.numbers("a stride")?) } else { None };
                return Ok((Form::View(shape, strides), operands));
            }
            "load_masked" => {
                let form = Form::Shaped(OpKind::LoadMasked, self.to(Self::shape)?);
                let mut operands = self.place()?;
                if self.eat_word("where") {
                    let mask = self.value()?;
                    self.expect_word("else")?;
                    let other = self.value()?;
                    operands.splice(1..1, [mask, other]);
                }
                return Ok((form, operands));
            }
            "view_squeezed" => {
                let operands = self.values()?;
                self.expect_word("axes")?;
                return Ok((Form::Known(OpKind::ViewSqueezed(self.numbers("an axis")?)), operands));
            }
            "dma_start" => {
                let operands = self.values()?;
                let priority = if self.eat_word("priority") { self.number("a priority")? } else { 0 };
                return Ok((Form::Known(OpKind::DmaStart { priority, add: self.eat_word("add") }), operands));
            }
            "remote_dma_start" => {
                let operands = self.values()?;
                let priority = if self.eat_word("priority") { self.number("a priority")? } else { 0 };
                return Ok((Form::Known(OpKind::RemoteStart { priority }), operands));
            }
            "dma_wait" => Form::Known(OpKind::DmaWait),
            "semaphore_signal" => Form::Known(OpKind::SemaphoreSignal),
            "core_signal" => Form::Known(OpKind::CoreSignal),
            "semaphore_wait" => Form::Known(OpKind::SemaphoreWait),
            "semaphore_read" => Form::Known(OpKind::SemaphoreRead),
            "device_id" => Form::Known(OpKind::DeviceId),
            "program_id" => Form::Known(OpKind::ProgramId(self.number("a grid dimension")?)),
            "num_programs" => Form::Known(OpKind::NumPrograms(self.number("a grid dimension")?)),
            "size" => Form::Known(OpKind::Size(self.size()?)),
            other => return Err(error(at, format!("`{other}` is not an operation"))),
        };
        Ok((form, self.values()?))
    }

    /// `to x`, or nothing.
    fn to<T>(&mut self, item: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        if self.eat_word("to") { item(self).map(Some) } else { Ok(None) }
    }

    /// `%x[%i, %j]`, or nothing.
    fn place(&mut self) -> Result<Vec<Value>> {
        let mut operands = vec![];
        if matches!(self.token, Token::Value(_)) {
            operands.push(self.value()?);
            self.starts(&mut operands)?;
        }
        Ok(operands)
    }

    /// `[%a, %b]`, or nothing.
    fn starts(&mut self, operands: &mut Vec<Value>) -> Result<()> {
        if self.eat("[") {
            operands.extend(self.list("]", |p| p.value())?);
        }
        Ok(())
    }

    fn dtype(&mut self) -> Result<DType> {
        let at = self.at;
        let word = self.word("an element type")?;
        DType::from_name(word).ok_or_else(|| error(at, format!("`{word}` is not an element type")))
    }

    /// `axis 1`.
    fn axis(&mut self) -> Result<usize> {
        self.expect_word("axis")?;
        self.number("an axis")
    }

    /// `[1, 2]`.
    fn numbers(&mut self, each: &str) -> Result<Vec<usize>> {
        self.expect("[")?;
        self.list("]", |p| p.number(each))
    }

    /// `stride -2 along 0`, or nothing.
    fn rotate_stride(&mut self) -> Result<Option<RotateStride>> {
        if !self.eat_word("stride") {
            return Ok(None);
        }
        let at = self.at;
        let negative = self.eat("-");
        let size: i64 = self.number("a stride")?;
        let by = i32::try_from(if negative { -size } else { size });
        let by = by.map_err(|_| error(at, "this stride does not fit 32 bits".into()))?;
        self.expect_word("along")?;
        Ok(Some(RotateStride { by, axis: self.number("an axis")? }))
    }

    /// `[1, 2]`, of exactly two.
    fn pair(&mut self) -> Result<(usize, usize)> {
        self.expect("[")?;
        let left = self.number("a dimension")?;
        self.expect(",")?;
        let right = self.number("a dimension")?;
        self.expect("]")?;
        Ok((left, right))
    }

    fn dot(&mut self) -> Result<OpKind> {
        let dims = if self.eat_word("contract") {
            let contract = self.pair()?;
            let batch = if self.eat_word("batch") {
                self.expect("[")?;
                self.list("]", Self::pair)?
            } else {
                vec![]
            };
            DotDims { contract, batch }
        } else {
            let lhs_transposed = self.eat_word("lhs_transposed");
            DotDims::matrices(lhs_transposed, self.eat_word("rhs_transposed"))
        };
        let precision = if self.eat_word("precision") {
            let at = self.at;
            let name = self.word("`default`, `high` or `highest`")?;
            Precision::from_name(name).ok_or_else(|| error(at, format!("`{name}` is not a precision")))?
        } else {
            Precision::Default
        };
        Ok(OpKind::Dot { dims, precision })
    }

    fn digits(&mut self) -> Result<Digits> {
        let at = self.at;
        let negative = self.eat("-");
        let (Token::Word(text) | Token::Number(text)) = self.token else {
            return self.fail("expected a literal");
        };
        let text = format!("{}{text}", if negative { "-" } else { "" });
        self.advance();
        Ok(Digits(text, at))
    }
}

fn elementwise(mnemonic: &str) -> Option<OpKind> {
    None.or_else(|| UnaryOp::from_name(mnemonic).map(OpKind::Unary))
        .or_else(|| BinaryOp::from_name(mnemonic).map(OpKind::Binary))
        .or_else(|| CompareOp::from_name(mnemonic).map(OpKind::Compare))
        .or_else(|| (mnemonic == OpKind::Select.mnemonic()).then_some(OpKind::Select))
}

fn check_types(header: &Header, types: &[Type]) -> Result<()> {
    match (header.results.len(), types.len()) {
        (want, got) if want == got => Ok(()),
        (want, got) => Err(error(header.start, format!("{want} results with {got} types"))),
    }
}

/// The kind, with what it takes from the type of the one result.
fn complete(form: Form, types: &[Type], at: Position) -> Result<OpKind> {
    let result = || match types {
        [one] => Ok(*one),
        _ => Err(error(at, "an operation that takes its shape or element type from its result needs exactly one".into())),
    };
    let shape = |given: Option<Shape>| given.map_or_else(|| result().map(Type::shape), Ok);
    let dtype = |given: Option<DType>| given.map_or_else(|| result().map(Type::dtype), Ok);
    Ok(match form {
        Form::Known(kind) => kind,
        Form::Const(given, Digits(text, at)) => {
            let dtype = dtype(given)?;
            let literal = Literal::parse(dtype, &text);
            OpKind::Const(literal.ok_or_else(|| error(at, format!("`{text}` is not a literal of {dtype}")))?)
        }
        Form::Iota(given, axis) => OpKind::Iota { shape: shape(given)?, axis },
        Form::Converted(kind, given) => kind(dtype(given)?),
        Form::Shaped(kind, given) => kind(shape(given)?),
        Form::View(given, strides) => {
            let shape = shape(given)?;
            OpKind::View { shape, strides: strides.unwrap_or_else(|| vec![1; shape.rank()]) }
        }
        Form::Slice(given, starts, strides) => OpKind::Slice { starts, shape: shape(given)?, strides },
    })
}
