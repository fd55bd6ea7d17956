//! Prints a kernel.
//!
//! An operand is called by its own name where that is a plain, unique word, and the arguments of an
//! index map by the names of the grid's indices; every other value by a number, counted in the order
//! of the text. A place in
//! the source is printed without its file where that is the kernel's file, and not at all where it is
//! unknown. Operations that do not have their usual form (wrong number of operands, of regions…)
//! print in a form that says so: see `docs/ir.md`.

use super::is_word;
use super::lex::quote;
use crate::ir::{DType, Kernel, Loc, Op, OpKind, Param, ParamKind, Precision, Region, Shape, SizeId, Type, Value, Window};
use std::collections::{HashMap, HashSet};
use std::fmt::{self, Display, Formatter, Write};

/// The `.tpuir` text of the kernel. Takes any kernel, also one that breaks every rule.
impl Display for Kernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Printer::new(self).kernel(f)
    }
}

struct Printer<'a> {
    kernel: &'a Kernel,
    /// Names of the values that do not go by number.
    names: HashMap<Value, &'a str>,
    /// Numbers of the others that are defined somewhere.
    numbers: HashMap<Value, usize>,
    /// The text of each named size.
    sizes: Vec<String>,
}

impl<'a> Printer<'a> {
    fn new(kernel: &'a Kernel) -> Printer<'a> {
        let mut taken = HashSet::new();
        let mut names = HashMap::new();
        for (param, &value) in kernel.params.iter().zip(&kernel.body.args) {
            if is_word(&param.name) && !names.contains_key(&value) && taken.insert(param.name.as_str()) {
                names.insert(value, param.name.as_str());
            }
        }
        for window in kernel.params.iter().filter_map(Param::window) {
            let mut used = HashSet::new();
            for (dim, &arg) in kernel.grid.iter().zip(&window.map.args) {
                let free = is_word(&dim.name) && !taken.contains(dim.name.as_str());
                if free && !names.contains_key(&arg) && used.insert(dim.name.as_str()) {
                    names.insert(arg, dim.name.as_str());
                }
            }
        }
        let mut seen = HashSet::new();
        let text = |(i, name): (usize, &'a String)| match seen.insert(name.as_str()) {
            true if is_word(name) && name != "ceildiv" => name.clone(),
            true => quote(name),
            false => format!("?{i}"),
        };
        let sizes = kernel.sizes.iter().enumerate().map(text).collect();
        let mut printer = Printer { kernel, names, numbers: HashMap::new(), sizes };
        for (i, param) in kernel.params.iter().enumerate() {
            if let Some(window) = param.window() {
                printer.number(&window.map);
            }
            printer.number_values(kernel.body.args.get(i..=i).unwrap_or(&[]));
        }
        printer.number(&kernel.body);
        printer
    }

    fn number(&mut self, region: &Region) {
        self.number_values(&region.args);
        for op in &region.ops {
            self.number_values(&op.results);
            op.regions.iter().for_each(|r| self.number(r));
        }
    }

    fn number_values(&mut self, values: &[Value]) {
        for &value in values {
            if !self.names.contains_key(&value) {
                let next = self.numbers.len();
                self.numbers.entry(value).or_insert(next);
            }
        }
    }

    fn kernel(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let k = self.kernel;
        let size = |(at, name): (usize, &String)| {
            let bound = k.bounds.iter().find(|bound| bound.size.0 as usize == at);
            let bound = bound.map(|bound| format!(" = {} to {}", bound.low, bound.high)).unwrap_or_default();
            format!("{}{bound}", word_or_quoted(name))
        };
        let sizes: Vec<String> = k.sizes.iter().enumerate().map(size).collect();
        let effects = if k.side_effects { " side_effects" } else { "" };
        writeln!(f, "kernel @{}({}){effects}{} {{", word_or_quoted(&k.name), sizes.join(", "), loc(&k.loc, None))?;
        for dim in &k.grid {
            let extent = dim.extent.display(&self.sizes);
            writeln!(f, "  grid {} = {extent} {}{}", word_or_quoted(&dim.name), dim.semantics.name(), self.loc(&dim.loc))?;
        }
        for (i, param) in k.params.iter().enumerate() {
            self.param(f, param, k.body.args.get(i).copied())?;
        }
        f.write_str("  body {\n")?;
        self.region_body(f, &k.body, 2)?;
        f.write_str("  }\n}\n")
    }

    fn param(&self, f: &mut Formatter<'_>, param: &Param, value: Option<Value>) -> fmt::Result {
        let role = match &param.kind {
            ParamKind::In(_) | ParamKind::InArray(_) => "in",
            ParamKind::Out(_) | ParamKind::OutArray(_) => "out",
            ParamKind::Prefetch(_) => "prefetch",
            ParamKind::Scratch => "scratch",
            ParamKind::Scalar => "scalar",
        };
        write!(f, "  {role} {}", value.map_or_else(|| "%?".to_string(), |v| self.value(v)))?;
        if value.and_then(|v| self.names.get(&v)) != Some(&param.name.as_str()) {
            write!(f, " as {}", quote(&param.name))?;
        }
        write!(f, ": {}", param.ty)?;
        if let Some(array) = param.array() {
            write!(f, " = [{}]", join(array, |size| size.display(&self.sizes).to_string()))?;
        }
        if let Some(input) = &param.alias {
            let word = is_word(input);
            write!(f, " alias {}", if word { input.clone() } else { quote(input) })?;
        }
        if let Some(window) = param.window() {
            self.window(f, window)?;
        }
        writeln!(f, "{}", self.loc(&param.loc))
    }

    fn window(&self, f: &mut Formatter<'_>, window: &Window) -> fmt::Result {
        let block = join(&window.block, |b| b.to_string());
        let args = join(&window.map.args, |&arg| self.argument(arg, Some(Type::Scalar(DType::I32))));
        write!(f, " blocks [{block}]{} at ({args})", window.pipelining)?;
        if window.map.ops.is_empty() {
            return write!(f, " -> ({})", self.values(&window.map.yields));
        }
        self.region(f, &window.map, 1)
    }

    /// ` {`, the operations, and `}` at that level of indentation, without a line break after it.
    fn region(&self, f: &mut Formatter<'_>, region: &Region, level: usize) -> fmt::Result {
        f.write_str(" {\n")?;
        self.region_body(f, region, level + 1)?;
        indent(f, level)?;
        f.write_char('}')
    }

    fn region_body(&self, f: &mut Formatter<'_>, region: &Region, level: usize) -> fmt::Result {
        for op in &region.ops {
            indent(f, level)?;
            self.op(f, op, level)?;
            f.write_char('\n')?;
        }
        if !region.yields.is_empty() {
            indent(f, level)?;
            writeln!(f, "yield {}", self.values(&region.yields))?;
        }
        Ok(())
    }

    fn op(&self, f: &mut Formatter<'_>, op: &Op, level: usize) -> fmt::Result {
        if !op.results.is_empty() {
            write!(f, "{} = ", self.values(&op.results))?;
        }
        let results: Vec<Option<Type>> = op.results.iter().map(|&v| self.ty(v)).collect();
        let tail = Tail { printer: self, op };
        match (&op.kind, op.operands.as_slice(), op.regions.as_slice()) {
            (OpKind::If, &[condition], [then, otherwise]) if then.args.is_empty() && otherwise.args.is_empty() => {
                write!(f, "if {}{tail}", self.value(condition))?;
                self.region(f, then, level)?;
                if *otherwise != Region::default() {
                    f.write_str(" else")?;
                    self.region(f, otherwise, level)?;
                }
                Ok(())
            }
            (OpKind::For, &[lo, hi, step, ref inits @ ..], [body]) if body.args.len() == inits.len() + 1 => {
                let index = self.argument(body.args[0], Some(Type::Scalar(DType::I32)));
                write!(f, "for {index} = {} to {} step {}", self.value(lo), self.value(hi), self.value(step))?;
                write!(f, "{}{tail}", self.carry(&body.args[1..], inits, &results))?;
                self.region(f, body, level)
            }
            (OpKind::While, inits, [test, body]) if test.args.len() == inits.len() => {
                write!(f, "while{}{tail}", self.carry(&test.args, inits, &results))?;
                self.region(f, test, level)?;
                f.write_str(" do")?;
                if !body.args.is_empty() {
                    write!(f, " ({})", self.arguments(&body.args, &results))?;
                }
                self.region(f, body, level)
            }
            (OpKind::Scoped, [], [body]) => {
                write!(f, "scoped ({}){tail}", join(&body.args, |&arg| self.argument(arg, None)))?;
                self.region(f, body, level)
            }
            (kind, operands, regions) => {
                match kind {
                    OpKind::If | OpKind::For | OpKind::While | OpKind::Scoped => {
                        write!(f, "generic {}", kind.mnemonic())?;
                        self.operands(f, operands)?;
                    }
                    _ => self.plain(f, op, results.as_slice())?,
                }
                write!(f, "{tail}")?;
                for region in regions {
                    f.write_str(" region")?;
                    if !region.args.is_empty() {
                        write!(f, " ({})", join(&region.args, |&arg| self.argument(arg, None)))?;
                    }
                    self.region(f, region, level)?;
                }
                Ok(())
            }
        }
    }

    /// Mnemonic, attributes and operands.
    fn plain(&self, f: &mut Formatter<'_>, op: &Op, results: &[Option<Type>]) -> fmt::Result {
        let operands = op.operands.as_slice();
        let result = match results {
            [one] => *one,
            _ => None,
        };
        let to_shape = |shape: &Shape| match result {
            Some(ty) if ty.shape() == *shape => String::new(),
            _ => format!(" to [{}]", join(shape.dims(), usize::to_string)),
        };
        f.write_str(op.kind.mnemonic())?;
        match &op.kind {
            OpKind::Const(literal) => {
                if result.map(Type::dtype) != Some(literal.dtype()) {
                    write!(f, " {}", literal.dtype())?;
                }
                write!(f, " {literal}")?;
                self.operands(f, operands)
            }
            OpKind::Iota { shape, axis } => {
                f.write_str(&to_shape(shape))?;
                self.operands(f, operands)?;
                write!(f, " axis {axis}")
            }
            OpKind::Cast(dtype) | OpKind::Bitcast(dtype) | OpKind::StochasticRound(dtype) | OpKind::ViewBitcast(dtype) => {
                if result.map(Type::dtype) != Some(*dtype) {
                    write!(f, " to {dtype}")?;
                }
                self.operands(f, operands)
            }
            OpKind::Broadcast(shape) | OpKind::Reshape(shape) | OpKind::PrngBits(shape) | OpKind::ViewReshaped(shape) => {
                f.write_str(&to_shape(shape))?;
                self.operands(f, operands)
            }
            OpKind::Slice { starts, shape, strides } => {
                f.write_str(&to_shape(shape))?;
                self.operands(f, operands)?;
                write!(f, " starts [{}]", join(starts, usize::to_string))?;
                match strides.len() == starts.len() && strides.iter().all(|&s| s == 1) {
                    true => Ok(()),
                    false => write!(f, " strides [{}]", join(strides, usize::to_string)),
                }
            }
            OpKind::Concat { axis } | OpKind::Gather { axis } => {
                self.operands(f, operands)?;
                write!(f, " axis {axis}")
            }
            OpKind::Rotate { axis, stride } => {
                self.operands(f, operands)?;
                write!(f, " axis {axis}")?;
                stride.map_or(Ok(()), |stride| write!(f, " stride {} along {}", stride.by, stride.axis))
            }
            OpKind::Scan { op, axis, reverse } => {
                write!(f, " {op}")?;
                self.operands(f, operands)?;
                write!(f, " axis {axis}{}", if *reverse { " reverse" } else { "" })
            }
            OpKind::Sort { axis, descending } => {
                self.operands(f, operands)?;
                write!(f, " axis {axis}{}", if *descending { " descending" } else { "" })
            }
            OpKind::Extract(index) => {
                self.operands(f, operands)?;
                write!(f, " [{}]", join(index, usize::to_string))
            }
            OpKind::Print(text) | OpKind::Check(text) | OpKind::Defined(text) => {
                write!(f, " {}", quote(text))?;
                // The comma tells an operand from what the next line defines.
                if operands.is_empty() { Ok(()) } else { write!(f, ", {}", self.values(operands)) }
            }
            OpKind::Transpose(perm) | OpKind::ViewTransposed(perm) => {
                self.operands(f, operands)?;
                write!(f, " perm [{}]", join(perm, usize::to_string))
            }
            OpKind::Reduce { op, axis } => {
                write!(f, " {op}")?;
                self.operands(f, operands)?;
                write!(f, " axis {axis}")
            }
            OpKind::Dot { dims, precision } => {
                self.operands(f, operands)?;
                let shapes: Vec<Shape> = operands.iter().filter_map(|&v| self.ty(v)).map(Type::shape).collect();
                let (lhs, rhs) = dims.contract;
                if dims.batch.is_empty() && lhs < 2 && rhs < 2 && shapes.iter().all(|s| s.rank() == 2) {
                    f.write_str(if lhs == 0 { " lhs_transposed" } else { "" })?;
                    f.write_str(if rhs == 1 { " rhs_transposed" } else { "" })?;
                } else {
                    write!(f, " contract [{lhs}, {rhs}]")?;
                    if !dims.batch.is_empty() {
                        write!(f, " batch [{}]", join(&dims.batch, |(l, r)| format!("[{l}, {r}]")))?;
                    }
                }
                match precision {
                    Precision::Default => Ok(()),
                    other => write!(f, " precision {other}"),
                }
            }
            OpKind::Load(shape) => {
                f.write_str(&to_shape(shape))?;
                match operands {
                    [] => Ok(()),
                    [memory, starts @ ..] => write!(f, " {}{}", self.value(*memory), self.starts(starts)),
                }
            }
            OpKind::LoadMasked(shape) => {
                f.write_str(&to_shape(shape))?;
                match operands {
                    [] => Ok(()),
                    [memory, mask, other, starts @ ..] => {
                        let [memory, mask, other] = [memory, mask, other].map(|&v| self.value(v));
                        write!(f, " {memory}{} where {mask} else {other}", self.starts(starts))
                    }
                    [memory, few @ ..] => write!(f, " {}{}", self.value(*memory), self.starts(few)),
                }
            }
            OpKind::StoreMasked => match operands {
                [memory, tile, mask, starts @ ..] => {
                    let [memory, tile, mask] = [memory, tile, mask].map(|&v| self.value(v));
                    write!(f, " {tile}, {memory}{} where {mask}", self.starts(starts))
                }
                [memory, tile] => write!(f, " {}, {}", self.value(*tile), self.value(*memory)),
                few => self.operands(f, few),
            },
            OpKind::Store => match operands {
                [memory, tile, starts @ ..] => {
                    write!(f, " {}, {}{}", self.value(*tile), self.value(*memory), self.starts(starts))
                }
                few => self.operands(f, few),
            },
            OpKind::View { shape, strides } => {
                f.write_str(&to_shape(shape))?;
                if let [memory, starts @ ..] = operands {
                    write!(f, " {}{}", self.value(*memory), self.starts(starts))?;
                }
                match strides.len() == shape.rank() && strides.iter().all(|&s| s == 1) {
                    true => Ok(()),
                    false => write!(f, " strides [{}]", join(strides, usize::to_string)),
                }
            }
            OpKind::LoadScalar | OpKind::SemaphoreAt => match operands {
                [] => Ok(()),
                [memory, starts @ ..] => write!(f, " {}{}", self.value(*memory), self.starts(starts)),
            },
            OpKind::StoreScalar => match operands {
                [memory, scalar, indices @ ..] => {
                    write!(f, " {}, {}{}", self.value(*scalar), self.value(*memory), self.starts(indices))
                }
                few => self.operands(f, few),
            },
            OpKind::ViewSqueezed(axes) => {
                self.operands(f, operands)?;
                write!(f, " axes [{}]", join(axes, usize::to_string))
            }
            OpKind::DmaStart { priority, add } => {
                self.operands(f, operands)?;
                if *priority != 0 {
                    write!(f, " priority {priority}")?;
                }
                f.write_str(if *add { " add" } else { "" })
            }
            OpKind::RemoteStart { priority } => {
                self.operands(f, operands)?;
                if *priority != 0 { write!(f, " priority {priority}") } else { Ok(()) }
            }
            OpKind::DmaWait
            | OpKind::SemaphoreSignal
            | OpKind::CoreSignal
            | OpKind::SemaphoreWait
            | OpKind::SemaphoreRead
            | OpKind::DeviceId => self.operands(f, operands),
            OpKind::ProgramId(axis) | OpKind::NumPrograms(axis) => {
                write!(f, " {axis}")?;
                self.operands(f, operands)
            }
            OpKind::Size(id) => {
                write!(f, " {}", self.size(*id))?;
                self.operands(f, operands)
            }
            OpKind::Unary(_) | OpKind::Binary(_) | OpKind::Compare(_) | OpKind::Select | OpKind::PrngSeed => {
                self.operands(f, operands)
            }
            OpKind::If | OpKind::For | OpKind::While | OpKind::Scoped => self.operands(f, operands),
        }
    }

    fn size(&self, id: SizeId) -> String {
        self.sizes.get(id.0 as usize).cloned().unwrap_or_else(|| format!("?{}", id.0))
    }

    fn carry(&self, args: &[Value], inits: &[Value], results: &[Option<Type>]) -> String {
        if args.is_empty() {
            return String::new();
        }
        let pairs = args.iter().zip(inits).enumerate().map(|(i, (&arg, &init))| {
            let expected = results.get(i).copied().flatten();
            format!("{} = {}", self.argument(arg, expected), self.value(init))
        });
        format!(" carry ({})", pairs.collect::<Vec<_>>().join(", "))
    }

    fn arguments(&self, args: &[Value], results: &[Option<Type>]) -> String {
        let args = args.iter().enumerate().map(|(i, &arg)| self.argument(arg, results.get(i).copied().flatten()));
        args.collect::<Vec<_>>().join(", ")
    }

    /// The argument of a region, with its type where that is not the expected one.
    fn argument(&self, arg: Value, expected: Option<Type>) -> String {
        match self.ty(arg) {
            Some(ty) if Some(ty) != expected => format!("{}: {ty}", self.value(arg)),
            _ => self.value(arg),
        }
    }

    fn starts(&self, starts: &[Value]) -> String {
        if starts.is_empty() { String::new() } else { format!("[{}]", self.values(starts)) }
    }

    fn operands(&self, f: &mut Formatter<'_>, operands: &[Value]) -> fmt::Result {
        if operands.is_empty() { Ok(()) } else { write!(f, " {}", self.values(operands)) }
    }

    fn values(&self, values: &[Value]) -> String {
        join(values, |&v| self.value(v))
    }

    fn value(&self, value: Value) -> String {
        match (self.names.get(&value), self.numbers.get(&value)) {
            (Some(name), _) => format!("%{name}"),
            (None, Some(number)) => format!("%{number}"),
            (None, None) => format!("%?{}", value.0),
        }
    }

    fn ty(&self, value: Value) -> Option<Type> {
        self.kernel.types.get(value.0 as usize).copied()
    }

    fn loc(&self, at: &Loc) -> String {
        loc(at, Some(&self.kernel.loc))
    }
}

/// Result types and place, which every operation ends its first line with.
struct Tail<'a> {
    printer: &'a Printer<'a>,
    op: &'a Op,
}

impl Display for Tail<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, &result) in self.op.results.iter().enumerate() {
            f.write_str(if i == 0 { " : " } else { ", " })?;
            match self.printer.ty(result) {
                Some(ty) => write!(f, "{ty}")?,
                None => f.write_char('?')?,
            }
        }
        f.write_str(&self.printer.loc(&self.op.loc))
    }
}

fn loc(at: &Loc, kernel: Option<&Loc>) -> String {
    match kernel {
        _ if *at == Loc::UNKNOWN => String::new(),
        Some(kernel) if kernel.file == at.file => format!(" loc({}:{})", at.line, at.column),
        _ => format!(" loc({}:{}:{})", quote(&at.file), at.line, at.column),
    }
}

fn word_or_quoted(name: &str) -> String {
    if is_word(name) { name.to_string() } else { quote(name) }
}

fn join<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn indent(f: &mut Formatter<'_>, level: usize) -> fmt::Result {
    write!(f, "{:width$}", "", width = 2 * level)
}
