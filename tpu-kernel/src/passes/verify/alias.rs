//! Outputs that share their array with an input.

use super::{At, Verifier};
use crate::ir::{Param, ParamKind, Rule};

/// Each alias names an input array of its output's element type and rank, that no other output shares.
pub(super) fn check(verifier: &mut Verifier<'_>) {
    let kernel = verifier.kernel;
    let mut taken: Vec<&str> = vec![];
    for param in &kernel.params {
        let Some(name) = param.alias.as_deref() else { continue };
        let input = kernel.params.iter().find(|p| p.name == name);
        if let Some(why) = refusal(param, input, taken.contains(&name)) {
            let rule = Rule::Alias { input: name.to_string(), why };
            verifier.fault(rule, At(&param.name, &param.loc));
        }
        taken.push(name);
    }
}

/// Why an operand does not share the array of that one.
fn refusal(output: &Param, input: Option<&Param>, taken: bool) -> Option<String> {
    let Some(input) = input else { return Some("is no operand".to_string()) };
    if !output.is_output() {
        return Some("is for outputs alone".to_string());
    }
    if !matches!(input.kind, ParamKind::In(_) | ParamKind::InArray(_)) {
        return Some("is no input array in device memory".to_string());
    }
    if taken {
        return Some("is shared already".to_string());
    }
    let (from, to) = (input.ty.dtype(), output.ty.dtype());
    if from != to {
        return Some(format!("has elements of {from}, not {to}"));
    }
    let rank = |param: &Param| param.array().map_or(0, <[_]>::len);
    let (from, to) = (rank(input), rank(output));
    (from != to).then(|| format!("has rank {from}, not {to}"))
}
