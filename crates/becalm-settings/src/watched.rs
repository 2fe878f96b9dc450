//! A journal that is watched as it grows, for tests that stop a machine at every byte of it.

use std::cell::Cell;

thread_local! {
    static WATCHER: Cell<Option<fn(u64)>> = const { Cell::new(None) };
}

/// Call a function before each record of this thread's journals, with the number of bytes written so far.
pub fn watch(watcher: Option<fn(u64)>) {
    WATCHER.set(watcher);
}

pub(crate) fn about_to_append(written: u64) {
    if let Some(watcher) = WATCHER.get() {
        watcher(written);
    }
}
