//! The custom call of one kernel in a StableHLO module.

use super::function::location;
use super::module::Tensor;
use crate::ir::{Kernel, Loc, Op, OpKind, Param, SemaphoreKind, Type};

/// What a call says of the devices that its kernel reaches.
pub(super) struct Meeting {
    /// Whether it copies or signals to another device.
    communicates: bool,
    /// The id of its barrier semaphore.
    collective: Option<u32>,
    /// Whether the call counts where nothing uses its results.
    effects: bool,
}

impl Meeting {
    pub(super) fn of(kernel: &Kernel) -> Meeting {
        fn elsewhere(ops: &[Op]) -> bool {
            let reaches = |op: &Op| match op.kind {
                OpKind::RemoteStart { .. } => true,
                OpKind::SemaphoreSignal => op.operands.len() == 3,
                _ => op.regions.iter().any(|region| elsewhere(&region.ops)),
            };
            ops.iter().any(reaches)
        }
        let barrier = |param: &Param| match param.ty {
            Type::Semaphore(SemaphoreKind::Barrier(id), _) => Some(id),
            _ => None,
        };
        Meeting {
            communicates: elsewhere(&kernel.body.ops),
            collective: kernel.params.iter().find_map(barrier),
            effects: kernel.side_effects,
        }
    }

    fn text(&self) -> String {
        let communicates = if self.communicates { ", \"has_communication\": true" } else { "" };
        let collective = self.collective.map_or(String::new(), |id| format!(", \"collective_id\": {id}"));
        format!("{communicates}{collective}")
    }
}

/// The line that calls a kernel by its text, with that much vector memory. It carries the place of the kernel, which XLA repeats in errors about all of it.
/// `shared` are the results that share the array of an operand: their numbers. The placed operands are in device memory when it is called; about the others XLA decides.
pub(super) fn custom_call(
    (name, loc): (&str, &Loc),
    (limit, meeting): (u64, &Meeting),
    text: &str,
    (operands, placed): (&[Tensor], &[usize]),
    (results, shared): (&[Tensor], &[(usize, usize)]),
) -> String {
    // Colour 0 is device memory.
    let colours: Vec<String> = placed.iter().map(|at| format!("{{\"operand_index\": {at}, \"color\": 0}}")).collect();
    let colours = match colours.is_empty() {
        true => String::new(),
        false => format!(", \"input_memory_space_colors\": [{}]", colours.join(", ")),
    };
    let meets = meeting.text();
    let config = format!(
        "{{\"custom_call_config\": {{\"body\": \"{}\", \"needs_layout_passes\": true{meets}{colours}}}, \"scoped_memory_configs\": [{{\"memory_space\": 1, \"offset\": 0, \"size\": {limit}}}]}}",
        base64(text.as_bytes()),
    );
    let config = config.replace('"', "\\22");
    let types = |list: &[Tensor]| list.iter().map(Tensor::ty).collect::<Vec<_>>().join(", ");
    let names = |list: &[Tensor]| list.iter().map(Tensor::name).collect::<Vec<_>>().join(", ");
    let layouts = |list: &[Tensor]| list.iter().map(|t| layout(t.shape().len())).collect::<Vec<_>>().join(", ");
    let shared: Vec<String> = shared.iter().map(|&(result, operand)| alias(result, operand, results.len())).collect();
    let shared = match shared.is_empty() {
        true => String::new(),
        false => format!(", output_operand_aliases = [{}]", shared.join(", ")),
    };
    let defined = if results.is_empty() { String::new() } else { format!("{} = ", names(results)) };
    format!(
        "    {defined}\"stablehlo.custom_call\"({}) {{call_target_name = \"tpu_custom_call\", has_side_effect = {}, backend_config = \"{config}\", kernel_name = \"{name}\", operand_layouts = [{}], result_layouts = [{}]{shared}}} : ({}) -> ({}){}\n",
        names(operands),
        meeting.effects,
        layouts(operands),
        layouts(results),
        types(operands),
        types(results),
        location(loc),
    )
}

/// That a result is an operand's array; a single result is no tuple.
fn alias(result: usize, operand: usize, results: usize) -> String {
    let index = if results > 1 { result.to_string() } else { String::new() };
    format!(
        "#stablehlo.output_operand_alias<output_tuple_indices = [{index}], operand_index = {operand}, operand_tuple_indices = []>"
    )
}

/// Row-major, minor dimension first.
fn layout(rank: usize) -> String {
    match rank {
        0 => "dense<> : tensor<0xindex>".to_string(),
        _ => format!("dense<{:?}> : tensor<{rank}xindex>", (0..rank).rev().collect::<Vec<_>>()),
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| chunk.get(at).map_or(0, |&b| u32::from(b));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = (word >> (18 - 6 * digit)) & 63;
            text.push(if digit > chunk.len() { '=' } else { char::from(DIGITS[value as usize]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 4648.
    #[test]
    fn base64_pads() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
