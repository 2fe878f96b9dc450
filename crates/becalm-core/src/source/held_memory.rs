//! The memory that a process holds: its anonymous and shared pages, resident or swapped out (`/proc/PID/status`,
//! proc_pid_status(5)). Pages of files are left out, since the kernel drops them without writing.

use std::fs;
use std::io;
use std::path::Path;

use super::bytes::{lines, Words};

/// The parts, each in kB. A kernel thread has none.
const PARTS: [&[u8]; 3] = [b"RssAnon:", b"RssShmem:", b"VmSwap:"];

/// Return the memory that a process below a root holds, bytes.
///
/// # Errors
/// Returns the error of reading: the process has ended, or is hidden.
pub fn held_bytes(root: &Path, pid: u32) -> io::Result<u64> {
    Ok(parse(&fs::read(root.join(format!("proc/{pid}/status")))?))
}

fn parse(text: &[u8]) -> u64 {
    let part = |line| {
        let mut words = Words(line);
        words.next().filter(|name| PARTS.contains(name)).and_then(|_| words.number())
    };
    lines(text).filter_map(part).sum::<u64>() * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_memory_is_anonymous_shared_and_swapped_out() {
        let status = b"Name:\tRssAnon: 9\nVmRSS:\t 900 kB\nRssAnon:\t  10 kB\nRssFile:\t 800 kB\n\
            RssShmem:\t 2 kB\nVmSwap:\t 5 kB\nThreads:\t1\n";
        assert_eq!(parse(status), 17 * 1024);
        assert_eq!(parse(b"Name:\tkswapd0\nThreads:\t1\n"), 0);
        assert!(held_bytes(Path::new("/"), std::process::id()).unwrap() > 0);
        assert!(held_bytes(Path::new("/"), 1 << 23).is_err());
    }
}
