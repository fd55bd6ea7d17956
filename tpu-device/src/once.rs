//! A value that is made once, however many threads ask for it at the same time.
//!
//! Rules: one thread makes it while the others wait; a failure goes to the threads that waited for it
//! and is then forgotten, so that a later caller tries again; a panic is a failure; nothing is poisoned.
//! A thread that makes one value may not ask for another: two threads that did so crosswise would wait for
//! each other for ever.

use crate::DeviceError;
use crate::guard::guarded;
use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

thread_local! {
    static MAKING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread makes a value now, of whichever [`Once`].
pub(crate) fn making() -> bool {
    MAKING.get()
}

#[derive(Debug)]
pub(crate) struct Once<T> {
    value: OnceLock<T>,
    flight: Mutex<Flight>,
    landed: Condvar,
}

#[derive(Debug, Default)]
struct Flight {
    /// Whether a thread makes the value now.
    taken: bool,
    /// Attempts that have ended.
    attempts: u64,
    /// How the last attempt ended, where it failed.
    failure: Option<DeviceError>,
}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Once { value: OnceLock::new(), flight: Mutex::default(), landed: Condvar::new() }
    }
}

impl<T> Once<T> {
    /// The value, if it is made.
    pub(crate) fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// The value, made by `make` if nobody has; `make` runs without a lock held. `kernel` names it in errors.
    pub(crate) fn get_or_make(
        &self,
        kernel: &'static str,
        make: impl FnOnce() -> Result<T, DeviceError>,
    ) -> Result<&T, DeviceError> {
        if making() {
            return Err(DeviceError::Reentrant { kernel });
        }
        let mut flight = self.flight();
        loop {
            if let Some(value) = self.value.get() {
                return Ok(value);
            }
            if !flight.taken {
                break;
            }
            let awaited = flight.attempts;
            while flight.attempts == awaited {
                flight = self.landed.wait(flight).unwrap_or_else(PoisonError::into_inner);
            }
            if let Some(failure) = flight.failure.as_ref().filter(|_| flight.attempts == awaited + 1) {
                return Err(failure.clone());
            }
        }
        flight.taken = true;
        drop(flight);
        MAKING.set(true);
        let made = guarded("building a kernel", make);
        MAKING.set(false);

        let mut flight = self.flight();
        flight.taken = false;
        flight.attempts += 1;
        flight.failure = made.as_ref().err().cloned();
        let result = made.map(|value| self.value.get_or_init(|| value));
        self.landed.notify_all();
        result
    }

    /// Every update is complete before anything can panic, so a poisoned lock is still sound.
    fn flight(&self) -> MutexGuard<'_, Flight> {
        self.flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::time::Duration;

    const THREADS: usize = 8;

    fn failure() -> DeviceError {
        DeviceError::Operation { operation: "test".into(), reason: "failed".into() }
    }

    /// All threads ask at once; the result of each.
    fn race(once: &Once<u32>, make: impl Fn() -> Result<u32, DeviceError> + Sync) -> Vec<Result<u32, DeviceError>> {
        let barrier = Barrier::new(THREADS);
        std::thread::scope(|scope| {
            let ask = || {
                barrier.wait();
                once.get_or_make("k", &make).copied()
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        })
    }

    #[test]
    fn it_is_made_once() {
        let (once, made) = (Once::default(), AtomicUsize::new(0));
        let results = race(&once, || {
            std::thread::sleep(Duration::from_millis(20));
            Ok(made.fetch_add(1, SeqCst) as u32 + 7)
        });
        assert_eq!(results, vec![Ok(7); THREADS]);
        assert_eq!(made.load(SeqCst), 1);
    }

    #[test]
    fn a_failure_reaches_those_who_waited_and_is_not_kept() {
        let (once, made) = (Once::default(), AtomicUsize::new(0));
        let results = race(&once, || {
            made.fetch_add(1, SeqCst);
            std::thread::sleep(Duration::from_millis(100));
            Err(failure())
        });
        assert_eq!(results, vec![Err(failure()); THREADS]);
        assert!(made.load(SeqCst) < THREADS, "nobody waited");
        assert_eq!(once.get_or_make("k", || Ok(3)), Ok(&3));
        assert_eq!(once.get_or_make("k", || Err(failure())), Ok(&3));
    }

    #[test]
    fn a_panic_is_a_failure_and_hangs_nobody() {
        let once = Once::default();
        for result in race(&once, || panic!("a panic of the test, number {}", 1)) {
            match result {
                Err(DeviceError::Panic { message, .. }) => assert_eq!(message, "a panic of the test, number 1"),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(once.get_or_make("k", || Ok(3)), Ok(&3));
    }

    #[test]
    fn asking_for_it_while_making_it_is_an_error() {
        let once: Once<u32> = Once::default();
        let inner = once.get_or_make("k", || once.get_or_make("k", || Ok(1)).copied());
        assert_eq!(inner, Err(DeviceError::Reentrant { kernel: "k" }));
        assert_eq!(once.get_or_make("k", || Ok(3)), Ok(&3));
    }

    #[test]
    fn asking_for_another_while_making_one_is_an_error() {
        let (one, other): (Once<u32>, Once<u32>) = (Once::default(), Once::default());
        let both = Barrier::new(2);
        let make = |own: &Once<u32>, foreign: &Once<u32>| {
            own.get_or_make("own", || {
                both.wait();
                foreign.get_or_make("foreign", || Ok(1)).copied()
            })
            .copied()
        };
        std::thread::scope(|scope| {
            let threads = [scope.spawn(|| make(&one, &other)), scope.spawn(|| make(&other, &one))];
            for thread in threads {
                assert_eq!(thread.join().unwrap(), Err(DeviceError::Reentrant { kernel: "foreign" }));
            }
        });
        assert!(!making());
    }
}
