//! Compiles StableHLO files ahead of time with libtpu, for a TPU that need not be here.
//!
//! `aot LIBTPU TOPOLOGY FILE…` writes a line for each file, in order: `accepted`, or `refused` and why.
//! libtpu can kill the process: whoever runs this takes a missing line for a crash.
//!
//! Rules: this is the one file that speaks the C interface of PJRT. A function is a slot of a table; its
//! only argument is a struct of 8-byte slots, of which the first holds its size and the second is null.

use std::ffi::c_void;
use std::io::Write;

type Function = unsafe extern "C" fn(*mut u64) -> *mut c_void;

// Positions in the table of PJRT 0.116 (earlier entries never move).
const ERROR_DESTROY: usize = 5;
const ERROR_MESSAGE: usize = 6;
const PLUGIN_INITIALIZE: usize = 8;
const EXECUTABLE_DESTROY: usize = 45;
const TOPOLOGY_CREATE: usize = 87;
const COMPILE: usize = 94;

/// The protobuf of compile options with one replica and one partition.
const OPTIONS: [u8; 6] = [0x1a, 0x04, 0x20, 0x01, 0x28, 0x01];

/// The table of functions; the first slot is its size in bytes.
struct Api(*const u64);

impl Api {
    fn load(path: &str) -> Result<Api, String> {
        // SAFETY: loading runs the library's initialisers; the caller named the library to run.
        let library = unsafe { libloading::Library::new(path) }.map_err(|e| e.to_string())?;
        // SAFETY: every PJRT plugin exports this symbol with this type.
        let get = unsafe { library.get::<unsafe extern "C" fn() -> *const u64>(b"GetPjrtApi") }.map_err(|e| e.to_string())?;
        // SAFETY: the function takes nothing and returns a table that lives as long as the library.
        let table = unsafe { get() };
        std::mem::forget(library);
        if table.is_null() { Err("GetPjrtApi returned null".to_string()) } else { Ok(Api(table)) }
    }

    fn function(&self, slot: usize) -> Result<Function, String> {
        // SAFETY: the table is not null and starts with its size.
        let size = unsafe { *self.0 };
        if size < (slot as u64 + 1) * 8 {
            return Err(format!("the library has no function {slot}"));
        }
        // SAFETY: the slot lies inside the table and holds a function of this type, or null.
        let function = unsafe { std::mem::transmute::<u64, Option<Function>>(*self.0.add(slot)) };
        function.ok_or_else(|| format!("the library lacks function {slot}"))
    }

    /// Calls a function on its argument struct; an error becomes its message.
    fn call(&self, slot: usize, args: &mut [u64]) -> Result<(), String> {
        args[0] = args.len() as u64 * 8;
        let function = self.function(slot)?;
        // SAFETY: `args` is the struct of this function, its size said in the first slot.
        let error = unsafe { function(args.as_mut_ptr()) };
        if error.is_null() {
            return Ok(());
        }
        let mut message = [5 * 8, 0, error as u64, 0, 0];
        let function = self.function(ERROR_MESSAGE)?;
        // SAFETY: the struct of this function: size, extension, error, then the text and its length as results.
        unsafe { function(message.as_mut_ptr()) };
        // SAFETY: the error owns that many bytes until it is destroyed below.
        let text = unsafe { std::slice::from_raw_parts(message[3] as *const u8, message[4] as usize) };
        let text = String::from_utf8_lossy(text).into_owned();
        let function = self.function(ERROR_DESTROY)?;
        // SAFETY: the error came from the library and is not used again.
        unsafe { function([3 * 8, 0, error as u64].as_mut_ptr()) };
        Err(text)
    }

    fn topology(&self, name: &str) -> Result<u64, String> {
        let mut args = [0, 0, name.as_ptr() as u64, name.len() as u64, 0, 0, 0];
        self.call(TOPOLOGY_CREATE, &mut args)?;
        Ok(args[6])
    }

    fn compile(&self, topology: u64, program: &str) -> Result<(), String> {
        let format = "mlir";
        let program: [u64; 6] =
            [6 * 8, 0, program.as_ptr() as u64, program.len() as u64, format.as_ptr() as u64, format.len() as u64];
        let mut args = [0, 0, topology, program.as_ptr() as u64, OPTIONS.as_ptr() as u64, OPTIONS.len() as u64, 0, 0];
        self.call(COMPILE, &mut args)?;
        self.call(EXECUTABLE_DESTROY, &mut [0, 0, args[7]])
    }
}

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().collect();
    let [_, library, topology, files @ ..] = args.as_slice() else {
        return Err("usage: aot LIBTPU TOPOLOGY FILE…".to_string());
    };
    let api = Api::load(library)?;
    api.call(PLUGIN_INITIALIZE, &mut [0, 0])?;
    let topology = api.topology(topology)?;
    let mut out = std::io::stdout();
    for file in files {
        let program = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
        let verdict = match api.compile(topology, &program) {
            Ok(()) => "accepted".to_string(),
            Err(reason) => format!("refused {}", reason.split_whitespace().collect::<Vec<_>>().join(" ")),
        };
        // The line may be the last before a crash: it must leave the process.
        writeln!(out, "{verdict}").and_then(|()| out.flush()).map_err(|e| e.to_string())?;
    }
    Ok(())
}
