//! An entry for every start: each start that went well chooses the entry for the next one.
//!
//! The default is not changed here either. A unit of systemd that runs when the system is up makes the
//! loader's choice for one start again, which that start had used up. So a start that panics, hangs, or does
//! not find its kernel on the disk is followed by the usual one, and nothing chooses the entry any more.

use super::plan::{Plan, Write};
use super::{BootError, MARK};
use crate::knob::tree::Tree;

const SERVICE: &str = "becalm-kept.service";
const UNITS: &str = "/etc/systemd/system";
const WANTS: &str = "/etc/systemd/system/multi-user.target.wants";

/// The directories of the programs that a unit may name.
const PROGRAMS: &[&str] = &["/usr/bin", "/usr/sbin", "/bin", "/sbin"];

/// Return the plan with which the entry stays: without the fall-back for one boot, with the unit, the choice
/// last.
pub fn plan(tree: &Tree, once: &Plan) -> Result<Plan, BootError> {
    let choice = once.writes.iter().find(|write| write.arms());
    let choice =
        choice.ok_or_else(|| BootError::Keep("nothing is recorded that would choose it".to_owned()))?;
    let mut writes: Vec<Write> = Vec::new();
    for write in once.writes.iter().filter(|write| is_entry(write)) {
        // A write is listed twice if an agent was killed while it made the entry stay.
        if !writes.contains(write) {
            writes.push(write.clone());
        }
    }
    writes.extend(units(tree, once, &command(tree, choice)?));
    writes.push(choice.clone());
    Ok(Plan { kept: true, writes, ..once.clone() })
}

/// Return whether a write is the entry itself.
pub fn is_entry(write: &Write) -> bool {
    match write {
        Write::Part { .. } => true,
        Write::File { path, .. } => !path.starts_with(UNITS),
        _ => false,
    }
}

/// Return the command that makes the choice again: the loader's own tool.
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
    // The list is gone if the entry was removed while the system was still coming up.
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    fn machine(name: &str, tool: &str) -> (PathBuf, Tree) {
        let root = std::env::temp_dir().join(format!("becalm-kept-{name}-{}", std::process::id()));
        fs::create_dir_all(root.join("usr/bin")).unwrap();
        fs::create_dir_all(root.join("etc/systemd/system/multi-user.target.wants")).unwrap();
        if !tool.is_empty() {
            fs::write(root.join("usr/bin").join(tool), "a program").unwrap();
        }
        (root.clone(), Tree::new(&root))
    }

    fn once(choice: Write) -> Plan {
        let entry = Write::Part {
            path: "/boot/grub/custom.cfg".to_owned(),
            text: "### BEGIN\n### END\n".to_owned(),
            first: "### BEGIN".to_owned(),
            last: "### END".to_owned(),
            created: true,
        };
        let timer = Write::File { path: format!("{UNITS}/becalm-boot.timer"), text: "[Timer]\n".to_owned() };
        Plan {
            loader: "GRUB".to_owned(),
            entry: "becalm-12345678".to_owned(),
            mark: "12345678".to_owned(),
            default: "Debian".to_owned(),
            parameters: vec!["isolcpus=1".to_owned()],
            limit_s: 600,
            writes: vec![timer, entry, choice],
            remarks: Vec::new(),
            kernel: "vmlinuz".to_owned(),
            kept: false,
        }
    }

    fn variable() -> Write {
        Write::Variable {
            path: "/boot/grub2/grubenv".to_owned(),
            name: "next_entry".to_owned(),
            value: "becalm-12345678".to_owned(),
            before: None,
        }
    }

    #[test]
    fn the_entry_and_the_choice_stay_and_the_fall_back_goes() {
        let (root, tree) = machine("plan", "grub2-editenv");
        let once = once(variable());
        let kept = plan(&tree, &once).unwrap();
        assert!(kept.kept && kept.parameters == once.parameters);
        let paths: Vec<&str> = kept.writes.iter().map(Write::path).collect();
        assert!(!paths.iter().any(|path| path.ends_with("becalm-boot.timer")), "{paths:?}");
        assert_eq!(paths.first(), Some(&"/boot/grub/custom.cfg"));
        assert_eq!(kept.writes.last(), Some(&variable()), "what chooses it is the last write");
        let Some(Write::File { text, .. }) = kept.writes.iter().find(|write| write.path().ends_with(SERVICE))
        else {
            panic!("{paths:?}")
        };
        assert!(text.contains("/usr/bin/grub2-editenv /boot/grub2/grubenv set next_entry=becalm-12345678\n"));
        assert!(text.contains("ConditionKernelCommandLine=becalm.boot=12345678\n"));
        // Planning again from a list that has both, as after a kill in the middle, lists nothing twice.
        let both = Plan { writes: [&once.writes[..], &kept.writes[..]].concat(), ..once.clone() };
        assert_eq!(plan(&tree, &both).unwrap().writes, kept.writes);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn without_the_loaders_tool_nothing_is_kept() {
        let shot = Write::Firmware { path: "/x".to_owned(), value: "becalm-12345678.conf".to_owned() };
        for (name, choice, tool) in [
            ("no-grub", variable(), "bootctl"),
            ("no-tool", variable(), ""),
            ("no-bootctl", shot, "grub-editenv"),
        ] {
            let (root, tree) = machine(name, tool);
            assert!(
                matches!(plan(&tree, &once(choice)), Err(BootError::Keep(why)) if why.contains("not installed"))
            );
            fs::remove_dir_all(root).unwrap();
        }
    }
}
