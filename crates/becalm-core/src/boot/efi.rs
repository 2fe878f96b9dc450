//! The variables of the firmware that systemd-boot and Linux share (systemd.io/BOOT_LOADER_INTERFACE),
//! through efivarfs.

use std::io::{self, Write};
use std::os::fd::AsRawFd;

use crate::knob::tree::Tree;

/// The loader interface's own vendor number.
const VENDOR: &str = "4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";

/// The attributes of a variable that is stored without power, and visible both while booting and afterwards
/// (UEFI specification, GetVariable).
const ATTRIBUTES: u32 = 0x7;

/// The flag that protects the files of variables unknown to the kernel against removal by mistake
/// (efivarfs.rst).
const IMMUTABLE: libc::c_long = 0x10;

/// Return the path of a variable.
pub fn path(name: &str) -> String {
    format!("/sys/firmware/efi/efivars/{name}-{VENDOR}")
}

/// Return a variable's bytes without its attributes; None when there is no such variable. An empty file was
/// created by an agent that was killed before it wrote: the firmware does not know of it.
pub fn bytes(tree: &Tree, path: &str) -> io::Result<Option<Vec<u8>>> {
    match tree.bytes(path) {
        Ok(bytes) => Ok(bytes.get(4..).filter(|bytes| !bytes.is_empty()).map(<[u8]>::to_vec)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Return a variable that holds text in UTF-16.
pub fn text(tree: &Tree, path: &str) -> io::Result<Option<String>> {
    let Some(bytes) = bytes(tree, path)? else { return Ok(None) };
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    Ok(Some(String::from_utf16_lossy(&units).trim_end_matches('\0').to_owned()))
}

/// Set a variable to a text. The firmware requires all of it in one write.
pub fn set(tree: &Tree, path: &str, text: &str) -> io::Result<()> {
    let mut bytes = ATTRIBUTES.to_le_bytes().to_vec();
    bytes.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
    if !tree.live {
        return tree.replace(path, &bytes);
    }
    release(tree, path)?;
    let mut file = tree.open(path, libc::O_WRONLY | libc::O_CREAT, 0o644)?;
    match file.write(&bytes)? {
        written if written == bytes.len() => Ok(()),
        _ => Err(io::Error::other("the firmware took only a part")),
    }
}

/// Remove a variable.
pub fn unset(tree: &Tree, path: &str) -> io::Result<()> {
    release(tree, path)?;
    tree.remove_file(path)
}

/// Remove the protection of a variable's file, as bootctl(1) does before it writes.
fn release(tree: &Tree, path: &str) -> io::Result<()> {
    if !tree.live || !tree.exists(path) {
        return Ok(());
    }
    let file = tree.open(path, libc::O_RDONLY, 0)?;
    let mut flags: libc::c_long = 0;
    // SAFETY: a live descriptor and room for the flags, which both requests take (ioctl_iflags(2)).
    unsafe {
        if libc::ioctl(file.as_raw_fd(), libc::FS_IOC_GETFLAGS as _, &mut flags) != 0 {
            return Err(io::Error::last_os_error());
        }
        flags &= !IMMUTABLE;
        if libc::ioctl(file.as_raw_fd(), libc::FS_IOC_SETFLAGS as _, &flags) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
