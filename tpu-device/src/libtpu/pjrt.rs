//! The C interface of PJRT, through which libtpu compiles: the one file here with `unsafe`.
//!
//! Rules: a function takes one struct, whose first field is its size in bytes and whose second is null. The
//! structs are those of version 0.116, each declared once, with its size checked when this is compiled, and
//! against the size that the library expects when it is loaded. Fields and functions are only ever added at
//! the end of a struct, so that later minor versions fit too; before 0.57 the order of the functions differed.

use std::ffi::{c_char, c_int, c_void};
use std::mem::{offset_of, size_of};
use std::path::Path;
use std::ptr::{null, null_mut};

/// The major version spoken here.
const MAJOR: c_int = 0;
/// The first minor version whose table has the functions where they are looked for.
const OLDEST: c_int = 57;

/// Compile options: one replica, one partition (`executable_build_options {num_replicas: 1, num_partitions: 1}`).
const OPTIONS: [u8; 6] = [0x1a, 0x04, 0x20, 0x01, 0x28, 0x01];

/// Compile options of a program whose kernels reach other devices: one replica, four partitions, `use_spmd_partitioning`, and the
/// device assignment that they need: a computation for each partition, on the device of its number.
const TOGETHER: [u8; 34] = [
    0x1a, 0x20, 0x20, 0x01, 0x28, 0x04, 0x30, 0x01, 0x4a, 0x18, 0x08, 0x01, 0x10, 0x04, 0x1a, 0x03, 0x0a, 0x01, 0x00, 0x1a, 0x03,
    0x0a, 0x01, 0x01, 0x1a, 0x03, 0x0a, 0x01, 0x02, 0x1a, 0x03, 0x0a, 0x01, 0x03,
];

/// What a program says that needs a device assignment, as its text has it between quotes.
const COMMUNICATES: &str = r#"\22has_communication\22: true"#;

type Function<Args> = Option<unsafe extern "C" fn(*mut Args) -> *mut c_void>;
type Unused<const N: usize> = [*const c_void; N];

#[repr(C)]
struct Version {
    size: usize,
    extension: *const c_void,
    major: c_int,
    minor: c_int,
}

/// The library's functions, as far as the last that is used.
#[repr(C)]
struct Table {
    size: usize,
    extension: *const c_void,
    version: Version,
    error_destroy: Function<ErrorDestroy>,
    error_message: Function<ErrorMessage>,
    error_code: Unused<1>,
    plugin_initialize: Function<PluginInitialize>,
    attributes_to_memory: Unused<36>,
    executable_destroy: Function<ExecutableDestroy>,
    executable_to_stream: Unused<41>,
    topology_create: Function<TopologyCreate>,
    topology: Unused<6>,
    compile: Function<Compile>,
}

#[repr(C)]
struct ErrorDestroy {
    size: usize,
    extension: *const c_void,
    error: *mut c_void,
}

#[repr(C)]
struct ErrorMessage {
    size: usize,
    extension: *const c_void,
    error: *const c_void,
    message: *const c_char,
    message_size: usize,
}

#[repr(C)]
struct PluginInitialize {
    size: usize,
    extension: *const c_void,
}

#[repr(C)]
struct ExecutableDestroy {
    size: usize,
    extension: *const c_void,
    executable: *mut c_void,
}

#[repr(C)]
struct TopologyCreate {
    size: usize,
    extension: *const c_void,
    name: *const c_char,
    name_size: usize,
    options: *const c_void,
    options_count: usize,
    topology: *mut c_void,
}

/// An option whose value is text.
#[repr(C)]
struct NamedText {
    size: usize,
    extension: *const c_void,
    name: *const c_char,
    name_size: usize,
    /// 0: text.
    kind: u64,
    value: *const c_char,
    value_size: usize,
}

#[repr(C)]
struct Program {
    size: usize,
    extension: *const c_void,
    code: *const c_char,
    code_size: usize,
    format: *const c_char,
    format_size: usize,
}

#[repr(C)]
struct Compile {
    size: usize,
    extension: *const c_void,
    topology: *const c_void,
    program: *const Program,
    options: *const c_char,
    options_size: usize,
    client: *const c_void,
    executable: *mut c_void,
}

const _: () = {
    assert!(size_of::<Version>() == 24);
    assert!(offset_of!(Table, error_destroy) == 5 * 8);
    assert!(offset_of!(Table, plugin_initialize) == 8 * 8);
    assert!(offset_of!(Table, executable_destroy) == 45 * 8);
    assert!(offset_of!(Table, topology_create) == 87 * 8);
    assert!(offset_of!(Table, compile) == 94 * 8);
    assert!(size_of::<NamedText>() == 56);
    assert!(size_of::<ErrorDestroy>() == 24);
    assert!(size_of::<ErrorMessage>() == 40);
    assert!(size_of::<PluginInitialize>() == 16);
    assert!(size_of::<ExecutableDestroy>() == 24);
    assert!(size_of::<TopologyCreate>() == 56);
    assert!(size_of::<Program>() == 48);
    assert!(size_of::<Compile>() == 64);
};

/// An argument struct, which can be made with nothing but its size.
///
/// # Safety
///
/// It starts with its size as a `usize`, and all-zero bytes are a value of it.
unsafe trait Args: Sized {
    fn empty() -> Self {
        // SAFETY: zeros are a value, by the rule of the trait.
        unsafe { std::mem::zeroed() }
    }
}

// SAFETY: a size, then sizes and pointers alone, which may be null.
unsafe impl Args for PluginInitialize {}
// SAFETY: as above.
unsafe impl Args for ExecutableDestroy {}
// SAFETY: as above.
unsafe impl Args for TopologyCreate {}
// SAFETY: as above.
unsafe impl Args for Compile {}

/// A loaded library, which stays loaded for the life of the process.
pub(super) struct Plugin(&'static Table);

/// A set of chips that programs are compiled for; it lives as long as the library.
pub(super) struct Topology(*const c_void);

impl Plugin {
    /// Loads the library and makes it ready, or says what does not fit.
    pub(super) fn load(path: &Path) -> Result<Plugin, String> {
        type Get = unsafe extern "C" fn() -> *const c_void;
        // SAFETY: loading runs the library's initialisers; the user named it to be run, and this process is for nothing else.
        let library = unsafe { libloading::Library::new(path) }.map_err(|e| e.to_string())?;
        // SAFETY: every PJRT library exports this symbol with this type; it is called below and not kept.
        let get = unsafe { library.get::<Get>(b"GetPjrtApi") }.map_err(|_| "it has no function `GetPjrtApi`".to_string())?;
        // SAFETY: the function takes nothing and returns a table that lives as long as the library.
        let table = unsafe { get() };
        // Unloading would run finalisers that libtpu does not survive.
        std::mem::forget(library);
        // SAFETY: the pointer is null or a PJRT table that lives for the rest of the process, because the library does.
        let plugin = unsafe { Plugin::of(table) }?;
        plugin.check_sizes()?;
        plugin.call("PJRT_Plugin_Initialize", plugin.0.plugin_initialize, &mut Args::empty())?;
        Ok(plugin)
    }

    /// Checks a table's version and size.
    ///
    /// # Safety
    ///
    /// The pointer is null or points to a table of PJRT, of any version, that lives for the rest of the process.
    unsafe fn of(table: *const c_void) -> Result<Plugin, String> {
        if table.is_null() {
            return Err("it gives no table of functions".to_string());
        }
        // SAFETY: not null; every version of the table begins with its size.
        let size = unsafe { table.cast::<usize>().read() };
        let (version_end, end) = (offset_of!(Table, error_destroy), size_of::<Table>());
        if size < version_end {
            return Err(format!("its table of functions has {size} bytes, too few to tell its version"));
        }
        // SAFETY: the table is long enough to hold its version.
        let (major, minor) = unsafe {
            let version = table.byte_add(offset_of!(Table, version)).cast::<Version>();
            ((*version).major, (*version).minor)
        };
        if major != MAJOR || minor < OLDEST {
            return Err(format!("it speaks version {major}.{minor} of PJRT, not {MAJOR}.{OLDEST} or a later {MAJOR}.x"));
        }
        if size < end {
            return Err(format!("its table of functions has {size} bytes, {end} are needed (PJRT {major}.{minor})"));
        }
        // SAFETY: the table is as long as the type, lives long enough, is never written to, and its fields are numbers and pointers.
        Ok(Plugin(unsafe { &*table.cast::<Table>() }))
    }

    /// Asks for the library's size of each struct: one that says to have no bytes is refused with the size that was expected.
    fn check_sizes(&self) -> Result<(), String> {
        self.check_size("PJRT_Plugin_Initialize", self.0.plugin_initialize)?;
        self.check_size("PJRT_TopologyDescription_Create", self.0.topology_create)?;
        self.check_size("PJRT_Compile", self.0.compile)?;
        self.check_size("PJRT_Executable_Destroy", self.0.executable_destroy)
    }

    fn check_size<A: Args>(&self, name: &str, function: Function<A>) -> Result<(), String> {
        let function = function.ok_or_else(|| format!("it lacks the function {name}"))?;
        // SAFETY: the struct is zeroed and of this function; the function reads its size first and refuses it.
        let error = unsafe { function(&mut A::empty()) };
        let said = self.message(error)?.unwrap_or_default();
        let expected =
            said.split_once(" expected ").map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
        match expected.and_then(|digits| digits.parse::<usize>().ok()) {
            Some(size) if size == size_of::<A>() => Ok(()),
            Some(size) => Err(format!("its arguments of {name} have {size} bytes, not {}", size_of::<A>())),
            None => Err(format!("it does not tell the size of the arguments of {name}")),
        }
    }

    /// Calls a function on its struct, whose size is filled in; an error becomes its message.
    fn call<A: Args>(&self, name: &str, function: Function<A>, args: &mut A) -> Result<(), String> {
        let function = function.ok_or_else(|| format!("it lacks the function {name}"))?;
        // SAFETY: the struct begins with its size, by the rule of `Args`.
        unsafe { (&raw mut *args).cast::<usize>().write(size_of::<A>()) };
        // SAFETY: the struct is this function's, and what it points to outlives the call.
        let error = unsafe { function(args) };
        self.message(error)?.map_or(Ok(()), Err)
    }

    /// The message of an error, which is destroyed; none where there was no error.
    fn message(&self, error: *mut c_void) -> Result<Option<String>, String> {
        if error.is_null() {
            return Ok(None);
        }
        let (Some(message), Some(destroy)) = (self.0.error_message, self.0.error_destroy) else {
            return Err("it lacks the functions for its errors".to_string());
        };
        let mut args = ErrorMessage { size: size_of::<ErrorMessage>(), extension: null(), error, message: null(), message_size: 0 };
        // SAFETY: the struct is this function's, and the error is alive.
        unsafe { message(&mut args) };
        let text = match args.message.is_null() {
            true => String::new(),
            false => {
                // SAFETY: the error owns that many bytes until it is destroyed below.
                let bytes = unsafe { std::slice::from_raw_parts(args.message.cast::<u8>(), args.message_size) };
                String::from_utf8_lossy(bytes).into_owned()
            }
        };
        let mut args = ErrorDestroy { size: size_of::<ErrorDestroy>(), extension: null(), error };
        // SAFETY: the error came from the library and is not used again.
        unsafe { destroy(&mut args) };
        Ok(Some(text))
    }

    /// The chips of that name, such as `v5e:1x1`, or `v4:2x2x1 megacore` with how their cores are configured; or the library's words.
    pub(super) fn topology(&self, name: &str) -> Result<Topology, String> {
        let (name, cores) = name.split_once(' ').unwrap_or((name, ""));
        let option = "chip_config_name";
        let options = [NamedText {
            size: size_of::<NamedText>(),
            extension: null(),
            name: option.as_ptr().cast(),
            name_size: option.len(),
            kind: 0,
            value: cores.as_ptr().cast(),
            value_size: cores.len(),
        }];
        let mut args = TopologyCreate {
            name: name.as_ptr().cast(),
            name_size: name.len(),
            options: options.as_ptr().cast(),
            options_count: usize::from(!cores.is_empty()),
            ..TopologyCreate::empty()
        };
        self.call("PJRT_TopologyDescription_Create", self.0.topology_create, &mut args)?;
        if args.topology.is_null() { Err("no topology was made".to_string()) } else { Ok(Topology(args.topology)) }
    }

    /// Compiles a StableHLO program, and lets go of what comes out; or the library's words.
    pub(super) fn compile(&self, topology: &Topology, program: &str) -> Result<(), String> {
        let options: &[u8] = if program.contains(COMMUNICATES) { &TOGETHER } else { &OPTIONS };
        let format = "mlir";
        let program = Program {
            size: size_of::<Program>(),
            extension: null(),
            code: program.as_ptr().cast(),
            code_size: program.len(),
            format: format.as_ptr().cast(),
            format_size: format.len(),
        };
        let mut args = Compile {
            topology: topology.0,
            program: &program,
            options: options.as_ptr().cast(),
            options_size: options.len(),
            executable: null_mut(),
            ..Compile::empty()
        };
        self.call("PJRT_Compile", self.0.compile, &mut args)?;
        let mut args = ExecutableDestroy { executable: args.executable, ..ExecutableDestroy::empty() };
        self.call("PJRT_Executable_Destroy", self.0.executable_destroy, &mut args)
    }
}

unsafe extern "C" {
    safe fn _exit(code: c_int) -> !;
}

/// Ends the process at once: libtpu's threads may be running, and do not survive its finalisers.
pub(super) fn leave(code: i32) -> ! {
    _exit(code)
}

#[cfg(test)]
mod tests;
