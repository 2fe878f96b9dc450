//! Writes that reach the disk: past the page cache if the file system supports that, else followed by
//! fdatasync.
//!
//! The file has no name (O_TMPFILE), or loses it at once: however the process ends, nothing is left.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use super::board::Slot;
use super::demand::Demand;
use super::job::{Job, LoadError};
use super::pace::{piece, Pace};

/// The size of the file, which is written in a circle: a disk's own cache would absorb less.
const SIZE: u64 = 64 << 20;
/// The largest piece to write at once, and the alignment of direct writes (statx(2) may report less, never
/// more in practice).
const PIECE: usize = 1 << 20;
const ALIGNMENT: usize = 4096;

pub fn jobs(demand: &Demand) -> Result<Vec<Job>, LoadError> {
    let Some(directory) = demand.disk_directory.clone() else { return Ok(Vec::new()) };
    let rate = demand.disk_rate;
    let (file, direct) = open(Path::new(&directory))?;
    let work = Box::new(move |slot: &Slot| {
        let error = write(&file, direct, rate, slot);
        LoadError::Machine(format!("Writing in {directory} failed: {error}."))
    });
    Ok(vec![Job { kind: "disk", asked: rate, limit_bytes: None, work }])
}

/// Create a file without a name in a directory on a disk, with its space reserved; return whether writes go
/// past the page cache, too.
fn open(directory: &Path) -> Result<(File, bool), LoadError> {
    let no = |why: String| {
        LoadError::Machine(format!("The disk of {} cannot be loaded: {why}", directory.display()))
    };
    let with = |flags: i32| {
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_TMPFILE | flags).open(directory)
    };
    let (file, direct) = match with(libc::O_DIRECT) {
        Ok(file) => (file, true),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            (with(0).map_err(|error| no(format!("{error}.")))?, false)
        }
        // Some network and overlay file systems do not support files without names.
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
            (named(directory).map_err(|error| no(format!("{error}.")))?, false)
        }
        Err(error) => return Err(no(format!("{error}."))),
    };
    if in_memory(&file) {
        return Err(no("it is in memory (tmpfs). Name a directory on a disk, for example /var/tmp.".into()));
    }
    // SAFETY: our own descriptor.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, SIZE as libc::off_t) } {
        0 => Ok((file, direct)),
        error => Err(no(format!(
            "there is no room for {} MiB: {}.",
            SIZE >> 20,
            io::Error::from_raw_os_error(error)
        ))),
    }
}

fn named(directory: &Path) -> io::Result<File> {
    let path = directory.join(format!(".becalm-load-{}", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Return whether the file's bytes are only in memory (statfs(2); magic numbers of linux/magic.h).
fn in_memory(file: &File) -> bool {
    const TMPFS: libc::c_long = 0x0102_1994;
    const RAMFS: libc::c_long = 0x8584_58f6;
    // SAFETY: an all-zero statfs is valid, the descriptor is ours.
    let (known, about) = unsafe {
        let mut about: libc::statfs = std::mem::zeroed();
        (libc::fstatfs(file.as_raw_fd(), &mut about) == 0, about)
    };
    known && [TMPFS, RAMFS].contains(&about.f_type)
}

/// A buffer that is aligned for direct writes.
#[repr(C, align(4096))]
struct Aligned([u8; PIECE]);

fn write(file: &File, direct: bool, rate: Option<f64>, slot: &Slot) -> io::Error {
    let size = piece(rate, PIECE, ALIGNMENT);
    let mut buffer = Box::new(Aligned([0; PIECE]));
    // The bytes differ, since some disks and file systems store nothing for zeros.
    for (index, byte) in buffer.0.iter_mut().enumerate() {
        *byte = (index.wrapping_mul(2_654_435_761) >> 11) as u8;
    }
    let mut pace = Pace::new(size as f64, rate);
    let mut at = 0_u64;
    slot.ready();
    loop {
        pace.wait();
        let written =
            file.write_all_at(&buffer.0[..size], at)
                .and_then(|()| if direct { Ok(()) } else { file.sync_data() });
        if let Err(error) = written {
            return error;
        }
        slot.add(size as u64);
        at = if at + 2 * size as u64 > SIZE { 0 } else { at + size as u64 };
    }
}
