//! What libtpu 0.0.50.1 says of programs that it refuses.

use super::*;

const LEGALISE: &str = "Mosaic failed to compile TPU kernel with MLIR module name `<no name>` HLO name `name.1`: \
failed to legalize operation 'math.asinh': %9 = \"math.asinh\"(%8) <{fastmath = #arith.fastmath<none>}> : (vector<8x128xf32>) -> vector<8x128xf32>

at location: loc(\"examples/k.rs\":9:7)

The MLIR operation involved:
  %9 = \"math.asinh\"(%8) <{fastmath = #arith.fastmath<none>}> : (vector<8x128xf32>) -> vector<8x128xf32>

Please report a bug at: https://github.com/jax-ml/jax/issues/new/choose
";

const VERIFIER: &str =
    "Failed to parse the Mosaic module: examples/k.rs:17:8: error: 'tpu.matmul' op Not implemented: lhs and rhs \
contracting dims must be of the same size
examples/k.rs:17:8: note: see current operation: %7 = \"tpu.matmul\"(%4, %5, %6) : (vector<128x128xbf16>) -> vector<128x128xf32>
";

const PARSER: &str = "Failed to parse the Mosaic module: -:3:18: error: use of value '%w' expects different type than prior uses: \
'vector<8x128xf32>' vs 'vector<8x127xf32>'
-:2:1: note: prior use here
";

const WINDOW: &str = "Mosaic failed to compile TPU kernel with MLIR module name `<no name>` HLO name `name.1`: Failed to set window \
params for input 0: E2002: CompileTimeMosaicMisalignedBlockAndTiling:
Operand of shape (..., 512, 512) has tiling (8, 128), but its block shape (..., 100, 512) is not divisible by tiling evenly nor matches the full shape
See https://openxla.org/xla/errors/error_2002 for more details.";

const MEMORY: &str = "E1001: CompileTimeScopedVmemOom:
Ran out of memory in memory space vmem while allocating on stack for %name.1 = f32[1024,1024]{1,0:T(8,128)} custom-call(%Arg_0.1), \
custom_call_target=\"tpu_custom_call\", operand_layout_constraints={f32[1024,1024]{1,0}}, metadata={source_file=\"-\" source_line=3}. \
Scoped allocation with size 8.00M and limit 1.00M exceeded scoped vmem limit by 7.00M. It should not be possible to run out of scoped vmem - 
See https://openxla.org/xla/errors/error_1001 for more details.";

const WIDE: &str = "While rewriting computation to not contain X{64|128} element types, XLA encountered an HLO for which this rewriting \
is not implemented: %custom-call.1 = f64[8,128]{1,0} custom-call(%Arg_0.1), custom_call_target=\"tpu_custom_call\", \
metadata={source_file=\"-\" source_line=3}, backend_config={\"custom_call_config\": {\"body\": \"Ly8gaW4=\", \"needs_layout_passes\": true}}
\t

Suspected Python Code Location:
  -:3";

const STABLEHLO: &str = "-:3:7: error: custom op 'stablehlo.nosuch' is unknown
<unknown>:0: error: Failed to parse using StableHLO v1.21.0, this could indicate forward incompatibility
";

/// `module {\n  %v = op loc("src/a.rs":4:9)\n  store %w loc("src/a.rs":6:5)\n  other\n}` in a module.
const BODY: &str = "bW9kdWxlIHsKICAldiA9IG9wIGxvYygic3JjL2EucnMiOjQ6OSkKICBzdG9yZSAldyBsb2MoInNyYy9hLnJzIjo2OjUpCiAgb3RoZXIKfQ==";

fn program() -> String {
    format!(
        "%r = custom_call {{backend_config = \"{{\\22custom_call_config\\22: {{\\22body\\22: \\22{BODY}\\22, \\22x\\22: true}}}}\"}}"
    )
}

#[test]
fn reasons_are_the_first_sentences() {
    let expected = [
        (
            LEGALISE,
            "failed to legalize operation 'math.asinh': %9 = \"math.asinh\"(%8) <{fastmath = #arith.fastmath<none>}> : \
             (vector<8x128xf32>) -> vector<8x128xf32>",
        ),
        (
            VERIFIER,
            "Failed to parse the Mosaic module: 'tpu.matmul' op Not implemented: lhs and rhs contracting dims must be of the same size",
        ),
        (
            PARSER,
            "Failed to parse the Mosaic module: use of value '%w' expects different type than prior uses: 'vector<8x128xf32>' vs \
             'vector<8x127xf32>'",
        ),
        (
            WINDOW,
            "Failed to set window params for input 0: E2002: CompileTimeMosaicMisalignedBlockAndTiling: Operand of shape (..., 512, \
             512) has tiling (8, 128), but its block shape (..., 100, 512) is not divisible by tiling evenly nor matches the full shape",
        ),
        (
            MEMORY,
            "E1001: CompileTimeScopedVmemOom: Ran out of memory in memory space vmem while allocating on stack for %name.1 = \
             f32[1024,1024]{1,0:T(8,128)} custom-call(%Arg_0.1), custom_call_target=\"tpu_custom_call\", \
             operand_layout_constraints={f32[1024,1024]{1,0}}. Scoped allocation with size 8.00M and limit 1.00M exceeded scoped vmem \
             limit by 7.00M. It should not be possible to run out of scoped vmem -",
        ),
        (
            WIDE,
            "While rewriting computation to not contain X{64|128} element types, XLA encountered an HLO for which this rewriting is not \
             implemented: %custom-call.1 = f64[8,128]{1,0} custom-call(%Arg_0.1), custom_call_target=\"tpu_custom_call\"",
        ),
        (STABLEHLO, "custom op 'stablehlo.nosuch' is unknown"),
        ("", "libtpu gives no reason"),
        ("\n\tat last\n", "at last"),
    ];
    for (words, short) in expected {
        assert_eq!(reason(words), short);
    }
}

#[test]
fn places_are_the_users() {
    let file = |line, column| Some(("examples/k.rs".to_string(), line, column));
    assert_eq!(place(LEGALISE, ""), file(9, 7));
    assert_eq!(place(VERIFIER, ""), file(17, 8));
    for nowhere in [WINDOW, MEMORY, WIDE, STABLEHLO, "", "at location: loc(unknown)", "at location:", "at location: loc(\"a\":1"] {
        assert_eq!(place(nowhere, &program()), None, "{nowhere}");
    }
    for (location, line) in [
        ("\"my kernel\"(\"dir with space/a:b.rs\":5:11)", "dir with space/a:b.rs"),
        ("fused[\"src/a.rs\":5:11, \"src/b.rs\":1:2]", "src/a.rs"),
        ("callsite(\"src/a.rs\":5:11 at \"src/b.rs\":1:2)", "src/a.rs"),
    ] {
        let words = LEGALISE.replace("\"examples/k.rs\":9:7", location);
        assert_eq!(place(&words, ""), Some((line.to_string(), 5, 11)));
    }
}

#[test]
fn a_line_of_the_text_leads_to_its_place() {
    let user = |line, column| Some(("src/a.rs".to_string(), line, column));
    assert_eq!(place(PARSER, &program()), user(6, 5));
    assert_eq!(place(&LEGALISE.replace("\"examples/k.rs\":9:7", "\"-\":2:3"), &program()), user(4, 9));
    // A line without a place, one that is not there, no text, two texts, and one that is no base64.
    for (line, program) in [
        (4, program()),
        (9, program()),
        (0, program()),
        (3, String::new()),
        (3, program() + &program()),
        (3, program().replace("bW9k", "b#9k")),
    ] {
        assert_eq!(place(&PARSER.replace("-:3:18: error", &format!("-:{line}:18: error")), &program), None, "{line} {program}");
    }
}

#[test]
fn long_words_are_cut_between_characters() {
    let long = reason(&"é ".repeat(10_000));
    assert!(long.len() <= LONGEST + '…'.len_utf8() && long.ends_with("é…"), "{long}");
    // Nothing that libtpu may print stops the search for a reason and a place.
    for words in [": error: ", "a:b: error: ", ":1:2: error: x", ", metadata={", ", metadata={{}", "`: ", ": note: ", "\n: note: x"]
    {
        for prefix in ["", TEXT, KERNEL] {
            let words = format!("{prefix}{words}");
            assert!(!reason(&words).is_empty());
            assert_eq!(place(&words, &program()), None, "{words}");
        }
    }
}
