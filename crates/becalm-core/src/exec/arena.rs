//! Memory that two processes share at one address: the data of a child is laid out here, including its
//! pointers.

use std::ffi::{c_char, CStr};
use std::io;
use std::ptr::{self, NonNull};

/// Shared memory of a fixed size, allocated from its beginning and released as a whole.
pub struct Arena {
    start: NonNull<u8>,
    size: usize,
    used: usize,
    /// Room to collect pointers, reused from one list to the next.
    gathered: Vec<*const c_char>,
}

impl Arena {
    /// Map `size` bytes. Only pages that are used take memory.
    pub fn new(size: usize) -> io::Result<Self> {
        let (protection, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: an anonymous mapping at an address of the kernel's choice.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), size, protection, kind | libc::MAP_NORESERVE, -1, 0) };
        match NonNull::new(start.cast()) {
            Some(at) if start != libc::MAP_FAILED => {
                Ok(Self { start: at, size, used: 0, gathered: Vec::new() })
            }
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Return the number of bytes in use.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Release everything after the first `used` bytes.
    pub fn cut(&mut self, used: usize) {
        self.used = self.used.min(used);
    }

    /// Copy values; None when there is no room for them.
    pub fn put<T: Copy>(&mut self, values: &[T]) -> Option<NonNull<T>> {
        let begin = self.used.checked_next_multiple_of(align_of::<T>())?;
        let end = begin.checked_add(size_of_val(values)).filter(|end| *end <= self.size)?;
        // SAFETY: from `begin` to `end` is inside the mapping, aligned, and nobody else's since the last `cut`.
        let at = unsafe {
            let at = self.start.byte_add(begin).cast::<T>();
            ptr::copy_nonoverlapping(values.as_ptr(), at.as_ptr(), values.len());
            at
        };
        self.used = end;
        Some(at)
    }

    /// Reserve `size` bytes of one value, followed by a zero.
    pub fn fill(&mut self, size: usize, value: u8) -> Option<&mut [u8]> {
        let end = self.used.checked_add(size)?.checked_add(1).filter(|end| *end <= self.size)?;
        // SAFETY: from `used` to `end` is inside the mapping, and nobody else's since the last `cut`.
        let text = unsafe {
            let at = self.start.byte_add(self.used);
            ptr::write_bytes(at.as_ptr(), value, size);
            at.byte_add(size).write(0);
            std::slice::from_raw_parts_mut(at.as_ptr(), size)
        };
        self.used = end;
        Some(text)
    }

    /// Copy a string with its final zero.
    pub fn string(&mut self, text: &CStr) -> Option<*const c_char> {
        self.put(text.to_bytes_with_nul()).map(|at| at.as_ptr().cast_const().cast())
    }

    /// Build a list of pointers that ends with null, as for execve(2): to the strings that are `here`
    /// already, and to copies of the others.
    pub fn list<'a>(
        &mut self,
        here: impl Iterator<Item = *const c_char>,
        texts: impl Iterator<Item = &'a CStr>,
    ) -> Option<*const *const c_char> {
        let mut gathered = std::mem::take(&mut self.gathered);
        gathered.clear();
        gathered.extend(here);
        let whole = texts.into_iter().all(|text| self.string(text).map(|at| gathered.push(at)).is_some());
        gathered.push(ptr::null());
        let list = self.put(&gathered).filter(|_| whole);
        self.gathered = gathered;
        list.map(|at| at.as_ptr().cast_const())
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: our own mapping, of this size.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_laid_out_as_execve_takes_them() {
        let mut arena = Arena::new(4096).unwrap();
        let padding = arena.string(c"x=y").unwrap();
        let list = arena.list([padding].into_iter(), [c"one", c"", c"three"].into_iter()).unwrap();
        let read = |index: usize| unsafe { *list.add(index) };
        let texts: Vec<&CStr> = (0..4).map(|index| unsafe { CStr::from_ptr(read(index)) }).collect();
        assert_eq!(texts, [c"x=y", c"one", c"", c"three"]);
        assert!(read(4).is_null());
    }

    #[test]
    fn an_arena_rejects_values_that_do_not_fit() {
        let mut arena = Arena::new(4096).unwrap();
        assert!(arena.put(&[0_u8; 4097]).is_none());
        assert!(arena.put(&[0_u8; 4090]).is_some());
        assert!(arena.put(&[0_u64; 1]).is_none() && arena.list([].into_iter(), [c"x"].into_iter()).is_none());
        arena.cut(8);
        assert_eq!(arena.used(), 8);
        assert!(arena.put(&[1_u64; 511]).is_some());
    }
}
