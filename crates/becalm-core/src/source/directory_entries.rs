//! The entries of a directory whose names are numbers, such as `/proc`, read without allocating (getdents64(2)).

use std::fs::File;
use std::os::fd::AsRawFd;

/// Begin the entries of a directory again.
pub fn rewind(directory: &File) {
    // SAFETY: no pointers.
    unsafe { libc::lseek(directory.as_raw_fd(), 0, libc::SEEK_SET) };
}

/// Fill the buffer with entries of a directory; return 0 at its end, or if it cannot be read.
pub fn entries(directory: &File, buffer: &mut [u8]) -> usize {
    // SAFETY: the buffer is live, and its length is its own.
    let length = unsafe {
        libc::syscall(libc::SYS_getdents64, directory.as_raw_fd(), buffer.as_mut_ptr(), buffer.len())
    };
    usize::try_from(length).unwrap_or(0)
}

/// Return the number in the name of the entry at a place, if it has one, and the place of the next
/// (getdents64(2): 8 bytes of inode, 8 of offset, 2 of length, 1 of type, the name and a zero).
pub fn entry(bytes: &[u8], at: usize) -> Option<(Option<u32>, usize)> {
    let length = usize::from(u16::from_ne_bytes(bytes.get(at + 16..at + 18)?.try_into().ok()?));
    let name = bytes.get(at + 19..at + length)?.split(|byte| *byte == 0).next()?;
    let number = std::str::from_utf8(name).ok().and_then(|name| name.parse().ok());
    Some((number, at + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_a_directory_are_numbers_or_not() {
        let entry_of = |name: &[u8]| {
            let length = (19 + name.len() + 1).next_multiple_of(8);
            let mut bytes = vec![0; length];
            bytes[16..18].copy_from_slice(&(length as u16).to_ne_bytes());
            bytes[19..19 + name.len()].copy_from_slice(name);
            bytes
        };
        let bytes = [entry_of(b"self"), entry_of(b"4711"), entry_of(b"12ab")].concat();
        let mut found = Vec::new();
        let mut at = 0;
        while let Some((number, next)) = entry(&bytes, at) {
            found.push(number);
            at = next;
        }
        assert_eq!(found, [None, Some(4711), None]);
        assert_eq!(entry(&bytes[..10], 0), None);
    }

    #[test]
    fn entries_of_a_directory_are_cut_safely() {
        let mut bytes = [0_u8; 24];
        bytes[16..18].copy_from_slice(&24_u16.to_ne_bytes());
        bytes[19..22].copy_from_slice(b"417");
        assert_eq!(entry(&bytes, 0), Some((Some(417), 24)));
        bytes[19] = b'.';
        assert_eq!(entry(&bytes, 0), Some((None, 24)));
        assert_eq!((entry(&bytes, 24), entry(&bytes[..20], 0), entry(&bytes[..3], 0)), (None, None, None));
    }
}
