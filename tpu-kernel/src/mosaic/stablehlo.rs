//! The StableHLO module that calls a kernel, as XLA compiles it for a TPU.
//!
//! Rules: operands are the scalars (one element each), then the inputs, in the order of the kernel's
//! parameters of that kind; results are the outputs. A bool array is i8, zeros and ones.

use super::function::stored;
use super::main::scalar_element;
use super::print;
use crate::chips::Chip;
use crate::ir::{DType, Kernel};
use crate::launch::Binding;
use crate::legalise::Illegal;

/// The kernel's text wrapped in a module whose `main` takes its operands and returns its outputs.
pub fn stablehlo(kernel: &Kernel, binding: &Binding, chip: &Chip) -> Result<String, Illegal> {
    let text = print(kernel, binding, chip)?;
    let array = |at: usize, dtype: DType| {
        let shape: String = binding.arrays[at].iter().map(|d| format!("{d}x")).collect();
        (format!("tensor<{shape}{}>", stored(dtype)), binding.arrays[at].len())
    };
    let scalars = kernel.params.iter().filter(|p| p.ty.is_scalar());
    let scalars = scalars.map(|p| (format!("tensor<1x{}>", scalar_element(p.ty.dtype())), 1));
    let ins: Vec<(String, usize)> = scalars.chain(kernel.inputs().map(|(at, p)| array(at, p.ty.dtype()))).collect();
    let outs: Vec<(String, usize)> = kernel.outputs().map(|(at, p)| array(at, p.ty.dtype())).collect();

    let config = format!(
        "{{\"custom_call_config\": {{\"body\": \"{}\", \"needs_layout_passes\": true}}, \"scoped_memory_configs\": [{{\"memory_space\": 1, \"offset\": 0, \"size\": {}}}]}}",
        base64(text.as_bytes()),
        chip.scoped_vmem_bytes
    );
    let config = config.replace('"', "\\22");
    let types = |list: &[(String, usize)]| list.iter().map(|(ty, _)| ty.as_str()).collect::<Vec<_>>().join(", ");
    let layouts = |list: &[(String, usize)]| list.iter().map(|(_, rank)| layout(*rank)).collect::<Vec<_>>().join(", ");
    let args: Vec<String> = ins.iter().enumerate().map(|(at, (ty, _))| format!("%a{at}: {ty}")).collect();
    let names: Vec<String> = (0..ins.len()).map(|at| format!("%a{at}")).collect();
    let (defined, returned) = match outs.len() {
        1 => ("%r".to_string(), "%r".to_string()),
        n => (format!("%r:{n}"), (0..n).map(|at| format!("%r#{at}")).collect::<Vec<_>>().join(", ")),
    };
    let result = if outs.len() == 1 { types(&outs) } else { format!("({})", types(&outs)) };
    let name: String = kernel.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    Ok(format!(
        "module @{name} {{
  func.func public @main({}) -> {result} {{
    {defined} = stablehlo.custom_call @tpu_custom_call({}) {{backend_config = \"{config}\", kernel_name = \"{name}\", operand_layouts = [{}], result_layouts = [{}]}} : ({}) -> {result}
    return {returned} : {}
  }}
}}
",
        args.join(", "),
        names.join(", "),
        layouts(&ins),
        layouts(&outs),
        types(&ins),
        types(&outs),
    ))
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
