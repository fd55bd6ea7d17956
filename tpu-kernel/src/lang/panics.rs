//! Where a kernel's function panicked.
//!
//! Rule: the hook notes the place of a panic on a thread that is building a kernel, and then does what was
//! done before it: a panic is reported as ever, and no other thread's is touched.

use super::session;
use crate::ir::Loc;
use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    static LAST: RefCell<Option<Loc>> = const { RefCell::new(None) };
}

/// Notes places from now on.
pub(super) fn watch() {
    static INSTALLED: Once = Once::new();
    // Hooks cannot be exchanged while a panic unwinds; then the next kernel does it.
    if std::thread::panicking() {
        return;
    }
    INSTALLED.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if session::is_building() {
                let place = info.location();
                let loc = place.map(|at| Loc { file: at.file().to_string().into(), line: at.line(), column: at.column() });
                let _ = LAST.try_with(|last| last.replace(loc));
            }
            before(info);
        }));
    });
}

/// The place of this thread's last panic, once.
pub(super) fn take() -> Option<Loc> {
    LAST.take()
}
