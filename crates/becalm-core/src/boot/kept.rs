//! Having every start be the entry's: each start that went well chooses it for the next one.
//!
//! The default is not touched here either. A unit of systemd that runs when the system is up makes the loader's choice
//! for one start again, which that start had used up. So a start that panics, hangs, or whose kernel is gone from the
//! disk is followed by the usual one, and nothing chooses the entry any more.

use super::plan::{Plan, Write};
use super::{BootError, MARK};
use crate::knob::tree::Tree;

const SERVICE: &str = "becalm-kept.service";
const UNITS: &str = "/etc/systemd/system";
const WANTS: &str = "/etc/systemd/system/multi-user.target.wants";

/// Where distributions have programs that a unit may name.
const PROGRAMS: &[&str] = &["/usr/bin", "/usr/sbin", "/bin", "/sbin"];

/// The plan with which the entry stays: without the fall-back for one boot, with the unit, the choice last.
pub fn plan(tree: &Tree, once: &Plan) -> Result<Plan, BootError> {
    let choice = once.writes.iter().find(|write| write.arms());
    let choice =
        choice.ok_or_else(|| BootError::Keep("nothing is recorded that would choose it".to_owned()))?;
    let mut writes: Vec<Write> = Vec::new();
    for write in once.writes.iter().filter(|write| is_entry(write)) {
        // Listed twice when an agent was killed in the middle of keeping it.
        if !writes.contains(write) {
            writes.push(write.clone());
        }
    }
    writes.extend(units(tree, once, &command(tree, choice)?));
    writes.push(choice.clone());
    Ok(Plan { kept: true, writes, ..once.clone() })
}

/// Whether a write is the entry itself.
pub fn is_entry(write: &Write) -> bool {
    match write {
        Write::Part { .. } => true,
        Write::File { path, .. } => !path.starts_with(UNITS),
        _ => false,
    }
}

/// The command that makes the choice once more: the loader's own tool.
fn command(tree: &Tree, choice: &Write) -> Result<String, BootError> {
    let (tools, rest) = match choice {
        Write::Variable { path, name, value, .. } => {
            (&["grub-editenv", "grub2-editenv"][..], format!("{path} set {name}={value}"))
        }
        Write::Firmware { value, .. } => (&["bootctl"][..], format!("set-oneshot {value}")),
        _ => (&[][..], String::new()),
    };
    let paths = tools.iter().flat_map(|tool| PROGRAMS.iter().map(move |place| format!("{place}/{tool}")));
    let found = paths.into_iter().find(|path| tree.exists(path)).ok_or_else(|| {
        BootError::Keep(format!(
            "{} is not installed, with which a start that went well chooses the next one",
            tools.first().unwrap_or(&"the loader's tool")
        ))
    })?;
    Ok(format!("{found} {rest}"))
}

fn units(tree: &Tree, once: &Plan, command: &str) -> Vec<Write> {
    let mark = &once.mark;
    // The list is gone when the entry was taken off while the system was still coming up.
    let service = format!(
        "# Written by becalm for an entry that stays; `becalm reset` removes it (docs/how-to/reboot.md).\n\
         [Unit]\nDescription=Choose becalm's boot entry for the next start, since this one went well\n\
         ConditionKernelCommandLine={MARK}{mark}\nConditionPathExists=/var/lib/becalm/boot\n\
         After=multi-user.target\nRequiresMountsFor=/boot\n\n[Service]\nType=oneshot\nExecStart={command}\n"
    );
    let mut writes = vec![Write::File { path: format!("{UNITS}/{SERVICE}"), text: service }];
    let directory = Write::Directory { path: WANTS.to_owned() };
    if !tree.exists(WANTS) || once.writes.contains(&directory) {
        writes.push(directory);
    }
    writes.push(Write::Link { path: format!("{WANTS}/{SERVICE}"), target: format!("../{SERVICE}") });
    writes
}
