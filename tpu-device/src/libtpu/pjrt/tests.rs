//! Tables of functions as libraries may have them, and files that are no such library.

use super::*;
use std::cell::RefCell;

thread_local! {
    /// What the functions below were called with.
    static CALLS: RefCell<Vec<String>> = const { RefCell::new(vec![]) };
}

fn note(text: String) {
    CALLS.with_borrow_mut(|calls| calls.push(text));
}

/// An error of the library below: its message.
fn error(text: String) -> *mut c_void {
    Box::into_raw(Box::new(text)).cast()
}

unsafe extern "C" fn error_destroy(args: *mut ErrorDestroy) -> *mut c_void {
    // SAFETY: the error was made by `error`.
    drop(unsafe { Box::from_raw((*args).error.cast::<String>()) });
    null_mut()
}

unsafe extern "C" fn error_message(args: *mut ErrorMessage) -> *mut c_void {
    // SAFETY: the error was made by `error`, and is not destroyed yet.
    unsafe {
        let text = &*(*args).error.cast::<String>();
        (*args).message = text.as_ptr().cast();
        (*args).message_size = text.len();
    }
    null_mut()
}

fn sized(size: usize, expected: usize) -> Option<*mut c_void> {
    (size < expected).then(|| error(format!("Unexpected X_Args size: expected {expected}, got {size}. Check versions.")))
}

unsafe extern "C" fn initialize(args: *mut PluginInitialize) -> *mut c_void {
    // SAFETY: the caller's struct.
    sized(unsafe { (*args).size }, 16).unwrap_or(null_mut())
}

unsafe extern "C" fn executable_destroy(args: *mut ExecutableDestroy) -> *mut c_void {
    // SAFETY: the caller's struct.
    let (size, executable) = unsafe { ((*args).size, (*args).executable as usize) };
    sized(size, 24).unwrap_or_else(|| {
        note(format!("destroy {executable}"));
        null_mut()
    })
}

unsafe extern "C" fn topology_create(args: *mut TopologyCreate) -> *mut c_void {
    // SAFETY: the caller's struct, and the name that it points to.
    unsafe {
        sized((*args).size, 56).unwrap_or_else(|| {
            let name = std::slice::from_raw_parts((*args).name.cast::<u8>(), (*args).name_size);
            match name {
                b"v1" => error("no such topology".to_string()),
                b"v2" => null_mut(),
                _ => {
                    (*args).topology = 77 as *mut c_void;
                    null_mut()
                }
            }
        })
    }
}

unsafe extern "C" fn compile(args: *mut Compile) -> *mut c_void {
    // SAFETY: the caller's struct, and what it points to.
    unsafe {
        sized((*args).size, 64).unwrap_or_else(|| {
            let program = &*(*args).program;
            let text = |start: *const c_char, size| String::from_utf8_lossy(std::slice::from_raw_parts(start.cast(), size));
            let (code, format) = (text(program.code, program.code_size), text(program.format, program.format_size));
            let options = std::slice::from_raw_parts((*args).options.cast::<u8>(), (*args).options_size);
            note(format!("compile {code} {format} {} {options:x?}", (*args).topology as usize));
            if code == "bad" {
                return error("a reason".to_string());
            }
            (*args).executable = 88 as *mut c_void;
            null_mut()
        })
    }
}

/// A table that lives as long as the tests.
fn table() -> &'static mut Table {
    Box::leak(Box::new(Table {
        size: 1144,
        extension: null(),
        version: Version { size: 24, extension: null(), major: 0, minor: 116 },
        error_destroy: Some(error_destroy),
        error_message: Some(error_message),
        error_code: [null()],
        plugin_initialize: Some(initialize),
        attributes_to_memory: [null(); 36],
        executable_destroy: Some(executable_destroy),
        executable_to_stream: [null(); 41],
        topology_create: Some(topology_create),
        topology: [null(); 6],
        compile: Some(compile),
    }))
}

fn of(table: &'static Table) -> Result<Plugin, String> {
    // SAFETY: the table is as long as its type, and leaked.
    let plugin = unsafe { Plugin::of((&raw const *table).cast()) }?;
    plugin.check_sizes()?;
    Ok(plugin)
}

fn fault(change: impl FnOnce(&mut Table)) -> String {
    let table = table();
    change(table);
    of(table).err().expect("a refusal")
}

#[test]
fn a_library_that_fits_is_asked() {
    let plugin = of(table()).expect("a plugin");
    CALLS.take();
    let topology = plugin.topology("v5e:1x1").expect("a topology");
    assert_eq!(plugin.compile(&topology, "good"), Ok(()));
    assert_eq!(plugin.compile(&topology, "bad"), Err("a reason".to_string()));
    assert_eq!(
        CALLS.take(),
        ["compile good mlir 77 [1a, 4, 20, 1, 28, 1]", "destroy 88", "compile bad mlir 77 [1a, 4, 20, 1, 28, 1]"]
    );
    assert_eq!(plugin.topology("v1").err(), Some("no such topology".to_string()));
    assert_eq!(plugin.topology("v2").err(), Some("no topology was made".to_string()));
}

#[test]
fn versions_are_checked() {
    assert_eq!(fault(|t| t.version.major = 1), "it speaks version 1.116 of PJRT, not 0.57 or a later 0.x");
    assert_eq!(fault(|t| t.version.minor = 56), "it speaks version 0.56 of PJRT, not 0.57 or a later 0.x");
    let later = table();
    later.version.minor = 200;
    assert!(of(later).is_ok());
}

#[test]
fn short_tables_are_refused() {
    assert_eq!(fault(|t| t.size = 39), "its table of functions has 39 bytes, too few to tell its version");
    assert_eq!(fault(|t| t.size = 759), "its table of functions has 759 bytes, 760 are needed (PJRT 0.116)");
    // SAFETY: null is one of the pointers that may be given.
    assert_eq!(unsafe { Plugin::of(null()) }.err().as_deref(), Some("it gives no table of functions"));
}

#[test]
fn missing_functions_are_refused() {
    assert_eq!(fault(|t| t.compile = None), "it lacks the function PJRT_Compile");
    assert_eq!(fault(|t| t.topology_create = None), "it lacks the function PJRT_TopologyDescription_Create");
    assert_eq!(fault(|t| t.error_message = None), "it lacks the functions for its errors");
}

#[test]
fn structs_of_other_sizes_are_refused() {
    unsafe extern "C" fn longer(args: *mut Compile) -> *mut c_void {
        // SAFETY: the caller's struct.
        sized(unsafe { (*args).size }, 72).unwrap_or(null_mut())
    }
    unsafe extern "C" fn careless(_: *mut Compile) -> *mut c_void {
        null_mut()
    }
    assert_eq!(fault(|t| t.compile = Some(longer)), "its arguments of PJRT_Compile have 72 bytes, not 64");
    assert_eq!(fault(|t| t.compile = Some(careless)), "it does not tell the size of the arguments of PJRT_Compile");
}

#[test]
fn files_that_are_no_plugin_are_refused() {
    let text = Plugin::load(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))).err().expect("a refusal");
    assert!(text.contains("Cargo.toml"), "{text}");
    let missing = Plugin::load(Path::new("/no/libtpu.so")).err().expect("a refusal");
    assert!(missing.contains("/no/libtpu.so"), "{missing}");
    #[cfg(target_os = "linux")]
    assert_eq!(Plugin::load(Path::new("libc.so.6")).err().as_deref(), Some("it has no function `GetPjrtApi`"));
}
