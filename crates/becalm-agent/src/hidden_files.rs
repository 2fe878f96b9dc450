//! The running machine for a process that is not root: files that only root may read come from
//! `becalm-helper`.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, Seek, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use becalm_core::knob::interrupt::mask_file;
use becalm_core::knob::place::{Place, LATENCY};
use becalm_core::knob::tree::{checked, open, Files, Tree};
use serde_json::Value;

/// The directory whose files only root may read.
const HIDDEN: &str = "/sys/kernel/debug";

/// The bytes and permissions of a file; or the error number of reading it.
type Content = Result<(Vec<u8>, u32), i32>;

/// The content of files by path.
#[derive(Debug)]
struct HiddenFiles {
    files: BTreeMap<String, Content>,
    mounted: bool,
}

/// Return the machine with the files in the helper's answer to `view`.
pub fn seen(view: &Value) -> Tree {
    let texts = view["files"].as_object().into_iter().flatten();
    let mut files: BTreeMap<String, Content> =
        texts.map(|(path, text)| (path.clone(), content(path, text))).collect();
    for irq in view["fixed_interrupts"].as_array().into_iter().flatten().filter_map(Value::as_u64) {
        let path = mask_file(irq as u32);
        if let Ok(mask) = fs::read(&path) {
            files.insert(path, Ok((mask, 0o444)));
        }
    }
    Tree::seen_by(Arc::new(HiddenFiles { files, mounted: view["debugfs"] == true }))
}

fn content(path: &str, text: &Value) -> Content {
    match text.as_str() {
        Some(number) if path == LATENCY => {
            let number: i32 = number.parse().map_err(|_| libc::ENODATA)?;
            Ok((number.to_ne_bytes().to_vec(), 0o600))
        }
        Some(text) => Ok((text.as_bytes().to_vec(), 0o644)),
        None => Err(text.as_i64().and_then(|number| i32::try_from(number).ok()).unwrap_or(libc::EIO)),
    }
}

impl Files for HiddenFiles {
    fn open(&self, path: &str, flags: i32, mode: u32) -> io::Result<File> {
        let missing = || io::Error::from_raw_os_error(libc::ENOENT);
        match self.files.get(path) {
            Some(Ok((bytes, mode))) => in_memory(bytes, *mode),
            Some(Err(number)) => Err(io::Error::from_raw_os_error(*number)),
            // A directory that is not empty.
            None if path == HIDDEN && self.mounted => open("/", flags, mode),
            None if path.starts_with(HIDDEN) => Err(missing()),
            None => open(path, flags, mode),
        }
    }

    fn named(&self, path: &str) -> io::Result<(Option<OwnedFd>, PathBuf)> {
        Ok((None, PathBuf::from(path)))
    }

    fn write(&self, _tree: &Tree, _path: &str, _value: &str) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(libc::EPERM))
    }

    fn act(&self, _tree: &Tree, _place: &Place, _value: &str) -> Option<io::Result<()>> {
        Some(Err(io::Error::from_raw_os_error(libc::EPERM)))
    }
}

/// Create a file that exists only in memory (memfd_create(2)).
fn in_memory(bytes: &[u8], mode: u32) -> io::Result<File> {
    // SAFETY: a live string; the descriptor is new and ours.
    let mut file = unsafe {
        let descriptor = checked(libc::memfd_create(c"becalm-hidden".as_ptr(), libc::MFD_CLOEXEC))?;
        File::from_raw_fd(descriptor)
    };
    file.write_all(bytes)?;
    file.rewind()?;
    file.set_permissions(Permissions::from_mode(mode))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn files_that_only_root_reads_are_as_the_helper_tells() {
        let features = "/sys/kernel/debug/sched/features";
        let locked = "/sys/kernel/debug/sched/preempt";
        let tree = seen(&json!({
            "files": {features: "HRTICK NO_NEXT_BUDDY", locked: libc::EPERM, LATENCY: "2000"},
            "debugfs": true,
            "fixed_interrupts": [],
        }));
        assert_eq!(tree.read(features).unwrap(), "HRTICK NO_NEXT_BUDDY");
        assert_eq!(tree.read(locked).unwrap_err().raw_os_error(), Some(libc::EPERM));
        assert!(tree.exists(features) && !tree.exists("/sys/kernel/debug/sched/latency_ns"));
        assert!(!tree.names(HIDDEN).is_empty());
        assert_eq!(Place::Latency.read(&tree).unwrap(), "2000");
        assert!(tree.write(features, "NO_HRTICK").is_err());
        assert!(seen(&json!({})).names(HIDDEN).is_empty());
    }
}
