//! The ability of GRUB to write a file: it overwrites the disk blocks of the file, so it must find them
//! without a layer in between.

use crate::knob::tree::Tree;

/// The file systems on which GRUB writes its environment block (GRUB, util/grub-mkconfig: not on btrfs, zfs,
/// squashfs …).
const WRITABLE: &[&str] = &["ext2", "ext3", "ext4", "xfs", "vfat"];

/// The mount of a file.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    /// Major and minor number of the device.
    device: String,
    kind: String,
}

/// Return why GRUB cannot write this file; None when it can.
pub fn obstacle(tree: &Tree, path: &str) -> Option<String> {
    let Some(mount) = mounted(tree, path) else {
        return Some(format!("it cannot be found out on which file system {path} is"));
    };
    let cannot = |what: &str| {
        Some(format!(
            "{path} is on {what}, where GRUB cannot write, so it would start the same entry again and again"
        ))
    };
    if !WRITABLE.contains(&mount.kind.as_str()) {
        return cannot(&mount.kind);
    }
    let about = format!("/sys/dev/block/{}", mount.device);
    if tree.exists(&format!("{about}/md")) {
        return cannot("a software RAID");
    }
    match tree.read(&format!("{about}/dm/uuid")) {
        Ok(uuid) if uuid.starts_with("LVM-") => cannot("a logical volume (LVM)"),
        Ok(uuid) if uuid.starts_with("CRYPT-") => cannot("an encrypted disk"),
        Ok(uuid) if !(uuid.starts_with("mpath-") || uuid.starts_with("part")) => cannot("a mapped device"),
        _ => None,
    }
}

/// Return the mount of a path, by the longest mount point that leads to it (proc_pid_mountinfo(5)).
fn mounted(tree: &Tree, path: &str) -> Option<Mount> {
    let text = tree.read("/proc/self/mountinfo").ok()?;
    let mut found: Option<(usize, Mount)> = None;
    for line in text.lines() {
        let mut fields = line.split(' ');
        let (Some(device), Some(point)) = (fields.nth(2), fields.nth(1)) else { continue };
        let point = point.replace("\\040", " ");
        let Some(kind) = line.split_once(" - ").and_then(|(_, rest)| rest.split(' ').next()) else {
            continue;
        };
        let leads = path
            .strip_prefix(point.trim_end_matches('/'))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        // Of several mounts on one point the last is visible; an automount's own line comes before what it
        // has mounted.
        if leads && found.as_ref().is_none_or(|(length, _)| point.len() >= *length) {
            found = Some((point.len(), Mount { device: device.to_owned(), kind: kind.to_owned() }));
        }
    }
    found.map(|(_, mount)| mount)
}
