//! Which memory a view shows: memory and semaphores are neither carried nor chosen, so each view has one root, an operand of the
//! kernel or an argument of a `scoped` region.

use super::{Kernel, Op, OpKind, Value};

/// By value: the memory that it is a view of.
#[derive(Clone, Debug)]
pub struct Roots(Vec<Value>);

impl Roots {
    /// Of a kernel that verifies.
    pub fn of(kernel: &Kernel) -> Roots {
        let mut roots = Roots((0..).map(Value).take(kernel.types.len()).collect());
        roots.visit(&kernel.body.ops);
        roots
    }

    fn visit(&mut self, ops: &[Op]) {
        for op in ops {
            if let &[view] = op.results.as_slice()
                && (op.kind.is_view() || op.kind == OpKind::SemaphoreAt)
            {
                self.0[view.0 as usize] = self.root(op.operands[0]);
            }
            op.regions.iter().for_each(|r| self.visit(&r.ops));
        }
    }

    /// Whether the body writes to a prefetched array, or to a view of one: index maps then depend on what has run.
    pub fn writes_prefetched(&self, kernel: &Kernel) -> bool {
        fn writes(ops: &[Op], roots: &Roots, arrays: &[Value]) -> bool {
            ops.iter().any(|op| {
                let written = op.kind.writes().is_some_and(|at| arrays.contains(&roots.root(op.operands[at])));
                written || op.regions.iter().any(|r| writes(&r.ops, roots, arrays))
            })
        }
        let arrays: Vec<Value> = kernel.prefetched().map(|(at, _)| kernel.body.args[at]).collect();
        !arrays.is_empty() && writes(&kernel.body.ops, self, &arrays)
    }

    /// Whether it shows when the blocks of inputs are fetched: what index maps read changes, or the array of an input does.
    pub fn changes_inputs(&self, kernel: &Kernel) -> bool {
        self.writes_prefetched(kernel) || kernel.aliases().any(|(_, input)| kernel.params[input].window().is_some())
    }

    /// The memory that a value is a view of; any other value is its own.
    pub fn root(&self, value: Value) -> Value {
        self.0[value.0 as usize]
    }
}
