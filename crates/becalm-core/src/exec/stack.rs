//! Stacks for processes that are cloned without exec: the spawner, and a child until it becomes the program.

use std::ffi::c_void;
use std::io;
use std::ptr::{self, NonNull};

use super::checked;

const SIZE: usize = 256 << 10;

/// A stack, with an inaccessible page below it.
pub struct Stack(NonNull<c_void>);

impl Stack {
    /// Map a stack.
    pub fn new() -> io::Result<Self> {
        let (protection, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: an anonymous mapping at an address of the kernel's choice.
        let at = unsafe { libc::mmap(ptr::null_mut(), SIZE, protection, kind | libc::MAP_STACK, -1, 0) };
        let Some(stack) = NonNull::new(at).filter(|_| at != libc::MAP_FAILED) else {
            return Err(io::Error::last_os_error());
        };
        // SAFETY: the lowest page of our own mapping.
        checked(unsafe { libc::mprotect(at, 4096, libc::PROT_NONE) })?;
        Ok(Self(stack))
    }

    /// Return where the stack begins: it grows downwards.
    pub fn top(&self) -> *mut c_void {
        // SAFETY: the end of the mapping.
        unsafe { self.0.as_ptr().byte_add(SIZE) }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: our own mapping; the processes that ran on it had copies, and have ended.
        unsafe { libc::munmap(self.0.as_ptr(), SIZE) };
    }
}
