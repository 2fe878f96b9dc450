//! Pinning of this thread to one processor.

use std::io;

/// The largest number of processors that are considered.
const MOST: usize = libc::CPU_SETSIZE as usize;

/// Return the processors that this thread may use, in rising order.
pub fn allowed() -> Vec<u32> {
    // SAFETY: the call fills the set, whose size it is given; all zeros are a value of it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) != 0 {
            return Vec::new();
        }
        (0..MOST).filter(|cpu| libc::CPU_ISSET(*cpu, &set)).map(|cpu| cpu as u32).collect()
    }
}

/// Return the last of them: most interrupts go to the first.
pub fn last() -> Option<u32> {
    allowed().last().copied()
}

/// Pin this thread to a processor.
pub fn to(cpu: u32) -> io::Result<()> {
    if cpu as usize >= MOST {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: as above; the number is within the set.
    let status = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu as usize, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_thread_stays_where_it_is_put() {
        std::thread::spawn(|| {
            let last = super::last().unwrap();
            super::to(last).unwrap();
            assert_eq!(super::last(), Some(last));
            assert!(super::to(60_000).is_err());
        })
        .join()
        .unwrap();
    }
}
