//! The path of a file of regions: expanded from a name, and changed if another process writes there at the
//! same time.

use std::format;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Error, ErrorKind, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::string::String;
use std::time::SystemTime;

use super::bytes::u32_at;
use super::MAGIC;

/// The environment variables in which launchers of parallel programs pass a process its rank: Open MPI, PMIx,
/// MPICH and Intel, MVAPICH, PALS, Slurm.
const RANKS: [&str; 6] =
    ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "PALS_RANKID", "SLURM_PROCID"];
/// The number of paths that are tried.
const MOST: u32 = 100;
/// The length of the beginning of a header that ends with the process id of the writer, in bytes.
const BEGINS: usize = 80;

/// Return the path with `%p` replaced by the process id, `%r` by the rank of the process (0 outside of a
/// parallel program), `%h` by the host name and `%%` by a per cent sign.
pub fn expanded(path: &Path) -> PathBuf {
    let Some(text) = path.to_str() else { return path.to_path_buf() };
    let mut parts = text.split('%');
    let mut made = String::from(parts.next().unwrap_or_default());
    while let Some(part) = parts.next() {
        let mut rest = part.chars();
        match rest.next() {
            Some('p') => made += &format!("{}{}", std::process::id(), rest.as_str()),
            Some('r') => made += &format!("{}{}", rank(), rest.as_str()),
            Some('h') => made += &format!("{}{}", host(), rest.as_str()),
            // `%%`: the next part is plain text.
            None => made += &format!("%{}", parts.next().unwrap_or_default()),
            Some(_) => made += &format!("%{part}"),
        }
    }
    PathBuf::from(made)
}

fn rank() -> String {
    let plain = |text: &String| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    RANKS.iter().filter_map(|name| std::env::var(name).ok()).find(plain).unwrap_or_else(|| "0".into())
}

fn host() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    text.trim().replace('/', "-")
}

/// Create a locked file at a path and return it with its path, which is `a.PROCESS.regions` instead of
/// `a.regions` if a process that runs at the same time writes there.
///
/// `since` is the moment at which this process opened its clock; an older file of regions is replaced.
///
/// # Errors
/// Fails with `AlreadyExists` if the file is not one of regions, with `ResourceBusy` if all paths are in use,
/// and with errors of the file system.
pub fn created(path: &Path, since: SystemTime) -> io::Result<(File, PathBuf)> {
    for turn in 0..MOST {
        let place = sibling_path(path, turn);
        if !free(&place, since)? {
            continue;
        }
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&place) {
            Ok(file) => {
                locked(&file);
                return Ok((file, place));
            }
            // Another process created it in between.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::new(ErrorKind::ResourceBusy, "other processes write this file and all that stand next to it"))
}

/// Return the path itself in turn 0, and later paths with the process id and the turn in the file name.
fn sibling_path(path: &Path, turn: u32) -> PathBuf {
    let own = match turn {
        0 => return path.to_path_buf(),
        1 => format!("{}", std::process::id()),
        _ => format!("{}-{turn}", std::process::id()),
    };
    let extension = path.extension().and_then(|text| text.to_str());
    path.with_extension(extension.map_or_else(|| own.clone(), |text| format!("{own}.{text}")))
}

/// Return whether a file may be created there, after removing an empty file or one of regions that no other
/// process writes.
fn free(path: &Path, since: SystemTime) -> io::Result<bool> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(true) };
    let mut begins = [0; BEGINS];
    let opened = if found.is_file() { File::open(path).ok() } else { None };
    let whole = opened.as_ref().is_some_and(|mut file| file.read_exact(&mut begins).is_ok());
    if !(found.is_file() && found.len() == 0 || whole && begins.starts_with(&MAGIC)) {
        return Err(Error::new(
            ErrorKind::AlreadyExists,
            "the file exists and is none of regions: it was left as it is",
        ));
    }
    let writer = u32_at(&begins, BEGINS - 4).filter(|_| whole);
    let recent = found.modified().is_ok_and(|at| at >= since) && writer != Some(std::process::id());
    if recent || opened.is_some_and(|file| !locked(&file)) {
        return Ok(false);
    }
    fs::remove_file(path).map(|()| true)
}

/// Lock a file for as long as it is open, and return false if another process holds the lock. A file system
/// without locks counts as locked.
fn locked(file: &File) -> bool {
    // SAFETY: an open descriptor.
    let status = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    status == 0 || Error::last_os_error().kind() != ErrorKind::WouldBlock
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_are_expanded() {
        let process = std::process::id();
        assert_eq!(expanded(Path::new("a.%p.regions")), PathBuf::from(format!("a.{process}.regions")));
        assert_eq!(expanded(Path::new("a%%p%x%")), PathBuf::from("a%p%x%"));
        assert_eq!(expanded(Path::new("plain")), PathBuf::from("plain"));
        let rank = expanded(Path::new("%r/%h"));
        assert!(rank.iter().next().unwrap().to_str().unwrap().parse::<u32>().is_ok(), "{rank:?}");
    }

    #[test]
    fn alternative_paths_contain_the_process_id() {
        let process = std::process::id();
        assert_eq!(sibling_path(Path::new("x/a.regions"), 0), PathBuf::from("x/a.regions"));
        assert_eq!(
            sibling_path(Path::new("x/a.regions"), 1),
            PathBuf::from(format!("x/a.{process}.regions"))
        );
        assert_eq!(sibling_path(Path::new("a"), 2), PathBuf::from(format!("a.{process}-2")));
    }
}
