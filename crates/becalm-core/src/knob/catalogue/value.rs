//! Functions that several kinds of knobs share: the value in a file, and the same file of every CPU.

use std::io;

use super::super::choice::chosen;
use super::super::row::{Form, Knob, Version};
use super::super::tree::{Tree, CPU};

/// The place of the kernel's files that are not for programs. Ordinary users cannot read it.
pub const DEBUGFS: &str = "/sys/kernel/debug";

/// Return the value in a file, in the knob's spelling.
pub fn read(tree: &Tree, path: &str, form: Form) -> Result<String, String> {
    match tree.read(path) {
        Ok(text) => Ok(form.read(chosen(&text))),
        // Root may read all files, so EPERM is the kernel's own refusal (Documentation: lockdown,
        // LOCKDOWN_DEBUGFS).
        Err(error) if error.raw_os_error() == Some(libc::EPERM) && path.starts_with(DEBUGFS) => Err(format!(
            "the kernel's lockdown refuses {path}: boot without it (lockdown=none, or secure boot off)"
        )),
        Err(error) => Err(format!("{path} cannot be read: {error}")),
    }
}

/// Return why a file of debugfs does not exist: this kernel has none, whether debugfs can be read or not.
pub fn lacking(tree: &Tree, knob: &Knob) -> String {
    if never_here(tree, knob) {
        return knob.absent.to_owned();
    }
    match tree.open(DEBUGFS, libc::O_RDONLY | libc::O_DIRECTORY, 0) {
        Ok(_) if !tree.names(DEBUGFS).is_empty() => knob.absent.to_owned(),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            format!("{DEBUGFS} is closed to this user: --sudo")
        }
        _ => format!("debugfs is not mounted on {DEBUGFS} (as root: mount -t debugfs none {DEBUGFS})"),
    }
}

/// Return whether the version of the kernel rules a knob out.
fn never_here(tree: &Tree, knob: &Knob) -> bool {
    let Some(here) = tree.read("/proc/sys/kernel/osrelease").ok().and_then(|text| version(&text)) else {
        return false;
    };
    let (since, before) = knob.kernels;
    since.is_some_and(|since| here < since) || before.is_some_and(|before| here >= before)
}

/// Return the major and minor number of "6.18.5-cloud-amd64".
fn version(release: &str) -> Option<Version> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Return one value, or all of them if they differ; None if there are none.
pub fn same(mut values: Vec<String>) -> Option<String> {
    values.dedup();
    (!values.is_empty()).then(|| values.join(", "))
}

/// Return this file of every CPU that has it.
pub fn each_cpu(tree: &Tree, file: &str) -> Vec<String> {
    let paths = tree.numbered(CPU, "cpu").into_iter().map(|cpu| format!("{CPU}/cpu{cpu}/{file}"));
    paths.filter(|path| tree.exists(path)).collect()
}
