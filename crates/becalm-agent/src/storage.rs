//! A guest's disk and swap (docs/how-to/guest.md): `mount_disk` mounts the disk, and `swap_on` enables swap.
//!
//! The disk is a virtio block device with an ext4 that becalm creates for this boot; swap is compressed
//! memory (zram). `init` calls both.

use std::ffi::{CStr, CString};
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{lchown, symlink, FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

const DISK: &str = "/dev/vda";
/// The directory on which the disk is mounted until files have been moved to it.
const NEW: &str = "/run/becalm-disk";
const SWAP: &str = "/dev/zram0";
const SWAP_SIZE: &str = "/sys/block/zram0/disksize";
const PAGE: u64 = 4096;
/// The longest wait for a device to appear after its driver was loaded.
const DEVICE_LIMIT: Duration = Duration::from_secs(10);

/// Mount the disk at `place`, writable for everybody. Existing files are moved to it.
pub fn mount_disk(place: &str) -> Result<(), String> {
    let failed =
        |what: &'static str| move |error: io::Error| format!("The guest's disk cannot be {what}: {error}.");
    if !appears(DISK) {
        return Err(format!(
            "There is no disk {DISK}: the kernel has no virtio block device built in (CONFIG_VIRTIO_BLK), and no module \
             of it was found."
        ));
    }
    // Initialising inode tables in the background would disturb measurements.
    mount(DISK, NEW, c"ext4", 0, c"noinit_itable").map_err(failed("mounted"))?;
    fs::create_dir_all(place).map_err(failed("mounted"))?;
    moved(Path::new(place), Path::new(NEW)).map_err(failed("given the files that are to be on it"))?;
    mount(NEW, place, c"", libc::MS_MOVE, c"").map_err(failed("mounted"))?;
    drop(fs::remove_dir(NEW));
    fs::set_permissions(place, fs::Permissions::from_mode(0o1777)).map_err(failed("opened to everybody"))
}

fn mount(what: &str, place: &str, kind: &CStr, flags: libc::c_ulong, options: &CStr) -> io::Result<()> {
    fs::create_dir_all(place)?;
    let (what, place) = (text(what), text(place));
    // SAFETY: all four strings end with a zero and live.
    let done =
        unsafe { libc::mount(what.as_ptr(), place.as_ptr(), kind.as_ptr(), flags, options.as_ptr().cast()) };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Move everything in a directory to another one, which may be on another file system: directories, files and
/// links with their modes and owners.
fn moved(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, target, about) = (entry.path(), to.join(entry.file_name()), entry.metadata()?);
        if about.is_dir() {
            fs::create_dir_all(&target)?;
            moved(&path, &target)?;
            fs::remove_dir(&path)?;
        } else if about.is_symlink() {
            symlink(fs::read_link(&path)?, &target)?;
            fs::remove_file(&path)?;
        } else {
            fs::copy(&path, &target)?;
            fs::remove_file(&path)?;
        }
        lchown(&target, Some(about.uid()), Some(about.gid()))?;
        if !about.is_symlink() {
            fs::set_permissions(&target, about.permissions())?;
        }
    }
    Ok(())
}

/// Enable swap of this size in bytes, given as text.
pub fn swap_on(bytes: &str) -> Result<(), String> {
    let failed = |error: io::Error| format!("Swap in compressed memory cannot be switched on: {error}.");
    let size: u64 = bytes.parse().map_err(|_| format!("This is not a size of swap: {bytes}."))?;
    if !appears(SWAP) {
        return Err(format!(
            "There is no device {SWAP} for swap: the kernel has no compressed memory built in (CONFIG_ZRAM), and no module \
             of it was found."
        ));
    }
    fs::write(SWAP_SIZE, size.to_string()).map_err(failed)?;
    let device = OpenOptions::new().write(true).open(SWAP).map_err(failed)?;
    device.write_all_at(&header(size), 0).and_then(|()| device.sync_all()).map_err(failed)?;
    // SAFETY: a live string.
    match unsafe { libc::swapon(text(SWAP).as_ptr(), 0) } {
        0 => Ok(()),
        _ => Err(failed(io::Error::last_os_error())),
    }
}

/// Return the first page of a swap area (union swap_header in include/linux/swap.h): version, last page, no
/// bad pages, magic.
fn header(size: u64) -> Vec<u8> {
    let mut page = vec![0; PAGE as usize];
    page[1024..1028].copy_from_slice(&1_u32.to_ne_bytes());
    page[1028..1032].copy_from_slice(&u32::try_from(size / PAGE - 1).unwrap_or(u32::MAX).to_ne_bytes());
    page[PAGE as usize - 10..].copy_from_slice(b"SWAPSPACE2");
    page
}

fn text(path: &str) -> CString {
    CString::new(path).unwrap_or_default()
}

fn appears(path: &str) -> bool {
    let began = Instant::now();
    loop {
        match Path::new(path).exists() {
            true => return true,
            false if began.elapsed() > DEVICE_LIMIT => return false,
            false => sleep(Duration::from_millis(10)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_area_begins_as_mkswap_makes_it() {
        let page = header(512 << 20);
        assert_eq!(page.len(), 4096);
        assert_eq!(page[1024..1036], [1, 0, 0, 0, 0xff, 0xff, 1, 0, 0, 0, 0, 0]);
        assert_eq!(&page[4086..], b"SWAPSPACE2");
    }

    #[test]
    fn existing_files_are_moved_to_the_disk_with_modes_and_links() {
        let here = std::env::temp_dir().join(format!("becalm-storage-{}", std::process::id()));
        let (from, to) = (here.join("from"), here.join("to"));
        fs::create_dir_all(from.join("closed/empty")).unwrap();
        fs::create_dir_all(&to).unwrap();
        fs::write(from.join("closed/program"), "x").unwrap();
        symlink("closed/program", from.join("link")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        fs::set_permissions(from.join("closed/program"), fs::Permissions::from_mode(0o751)).unwrap();
        fs::set_permissions(from.join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
        moved(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("link")).unwrap(), "x");
        assert_eq!((mode(&to.join("closed/program")), mode(&to.join("closed"))), (0o751, 0o700));
        assert!(to.join("closed/empty").is_dir());
        assert_eq!(fs::read_dir(&from).unwrap().count(), 0);
        fs::remove_dir_all(&here).unwrap();
    }

    #[test]
    fn an_invalid_size_is_rejected_before_anything_changes() {
        assert!(swap_on("much").unwrap_err().contains("much"));
    }
}
