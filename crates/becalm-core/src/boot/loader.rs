//! The table of boot loaders. A new one needs one file and one row.

use super::entry::Entry;
use super::plan::{Plan, Request};
use super::{grub, guard, systemd_boot, BootError};
use crate::facts::read::Machine;
use crate::facts::virtualisation;
use crate::knob::tree::Tree;

/// One boot loader.
pub struct Loader {
    pub name: &'static str,
    /// Return whether it has started this machine.
    pub here: fn(&Tree) -> bool,
    /// Return an entry with these words, and what chooses it for one start. The error is a reason in words.
    pub entry: fn(&Tree, &Request, &[String]) -> Result<Entry, String>,
    /// Return the kernel that starts by default, by the name of its file. The error is a reason in words.
    pub kernel: fn(&Tree) -> Result<String, String>,
}

/// The boot loaders, in the order in which they are looked for: systemd-boot itself records that it was
/// there.
pub const LOADERS: &[Loader] = &[
    Loader {
        name: "systemd-boot",
        here: systemd_boot::here,
        entry: systemd_boot::entry,
        kernel: systemd_boot::kernel,
    },
    Loader { name: "GRUB", here: grub::here, entry: grub::entry, kernel: grub::kernel },
];

/// Return all that will be written for one boot. This only reads.
pub fn plan(tree: &Tree, request: &Request) -> Result<Plan, BootError> {
    let unsupported = BootError::Unsupported;
    let about = virtualisation::collect(&Machine::new(&tree.path("/")));
    if about["container"].is_object() {
        return Err(unsupported("this is a container, which starts with its host".to_owned()));
    }
    let loader = LOADERS.iter().find(|loader| (loader.here)(tree)).ok_or_else(|| {
        unsupported(
            "neither GRUB nor systemd-boot has started it, as far as can be seen. Boot settings can be tried in a guest"
                .to_owned(),
        )
    })?;
    if let Some(reason) = guard::obstacle(tree) {
        return Err(unsupported(reason));
    }
    let mut words = request.parameters.clone();
    words.extend(guard::words(tree, &request.mark));
    let entry = (loader.entry)(tree, request, &words).map_err(unsupported)?;
    let mut writes = guard::writes(tree, &request.mark, request.limit_s);
    writes.extend(entry.writes);
    let mut remarks = entry.remarks;
    remarks.push(guard::remark(tree));
    Ok(Plan {
        loader: loader.name.to_owned(),
        entry: entry.name,
        mark: request.mark.clone(),
        default: entry.default,
        kernel: entry.kernel,
        kept: false,
        parameters: request.parameters.clone(),
        limit_s: request.limit_s,
        writes,
        remarks,
    })
}
