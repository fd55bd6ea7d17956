//! The command line of an example.

use std::path::PathBuf;

/// An option that is unknown or lacks its value, or a value that the option cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongOption(pub String);

impl std::fmt::Display for WrongOption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongOption {}

/// Options of the examples; each uses some of them, which its usage names.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `--json`: one JSON object on one line instead of text.
    pub json: bool,
    /// `--help`.
    pub help: bool,
    /// `--causal`: a token sees no later token.
    pub causal: bool,
    /// `--chip NAME`.
    pub chip: Option<String>,
    /// `--input FILE`.
    pub input: Option<PathBuf>,
    /// `--blocks A,B,…`: block sizes in the order of the kernel's type parameters.
    pub blocks: Vec<usize>,
}

impl Options {
    /// Reads the arguments; an option that the usage does not name is an error.
    pub fn parse(mut arguments: impl Iterator<Item = String>, usage: &str) -> Result<Options, WrongOption> {
        let mut options = Options::default();
        while let Some(argument) = arguments.next() {
            if argument != "--help" && !usage.split([' ', '[', ']']).any(|word| word == argument) {
                return Err(WrongOption(format!("unknown option `{argument}`")));
            }
            let mut value = || arguments.next().ok_or_else(|| WrongOption(format!("`{argument}` takes a value")));
            match argument.as_str() {
                "--json" => options.json = true,
                "--help" => options.help = true,
                "--causal" => options.causal = true,
                "--chip" => options.chip = Some(value()?),
                "--input" => options.input = Some(value()?.into()),
                "--blocks" => {
                    let list = value()?;
                    let sizes = list.split(',').map(|n| n.trim().parse::<usize>());
                    options.blocks = sizes
                        .collect::<Result<_, _>>()
                        .map_err(|_| WrongOption(format!("`{list}` is not a list of block sizes")))?;
                }
                _ => return Err(WrongOption(format!("unknown option `{argument}`"))),
            }
        }
        Ok(options)
    }

    /// The chip to simulate: v5e unless told otherwise.
    pub fn chip(&self) -> &str {
        self.chip.as_deref().unwrap_or("v5e")
    }

    /// The block sizes: those given, in order, else the defaults.
    ///
    /// # Errors
    /// Another number of sizes is given.
    pub fn blocks<const N: usize>(&self, defaults: [usize; N]) -> Result<[usize; N], WrongOption> {
        if self.blocks.is_empty() {
            return Ok(defaults);
        }
        let got = self.blocks.len();
        self.blocks.clone().try_into().map_err(|_| WrongOption(format!("`--blocks` takes {N} sizes, got {got}")))
    }
}
