//! The rights of an agent that a user started as root, by sudo or pkexec: it is root only for the settings of
//! this machine.
//!
//! Code that runs a program, or reads or writes a file named by the caller, does so with the caller's rights:
//! the right to start the agent does not include root's other rights.

use becalm_core::exec::user::{become_user, caller, choose};
use becalm_core::stress::demand::Demand;

use crate::options::{Command, Options, Restore};

/// Give up root's rights for good unless the command needs them.
///
/// # Errors
/// Returns a sentence if they cannot be given up.
pub fn keep_for(command: &Command) -> Result<(), String> {
    if needs_root(command) {
        Ok(())
    } else {
        give_up()
    }
}

/// Give up root's rights for good unless a load next to programs needs them.
///
/// # Errors
/// Returns a sentence if they cannot be given up.
pub fn keep_for_load(demand: &Demand) -> Result<(), String> {
    if is_plain(demand) {
        Ok(())
    } else {
        give_up()
    }
}

/// Return whether a user other than root started this agent.
pub fn is_lent() -> bool {
    caller().is_some()
}

fn give_up() -> Result<(), String> {
    if !is_lent() {
        return Ok(());
    }
    let user = choose(None).map_err(|error| error.to_string())?;
    user.as_ref().map_or(Ok(()), become_user).map_err(|error| error.to_string())
}

fn needs_root(command: &Command) -> bool {
    match command {
        Command::Serve(Options { root, script, spool_memory, .. }) => {
            root.is_none() && script.is_none() && spool_memory.is_none()
        }
        Command::Restore(Restore { root, .. }) => root.as_os_str() == "/",
        Command::Load(options) => options.command.is_empty() && is_plain(&options.demand),
        _ => false,
    }
}

/// Return whether a load needs root and writes no file.
fn is_plain(demand: &Demand) -> bool {
    demand.memory_bytes.is_some() && demand.disk_directory.is_none()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::options::parse;

    #[test]
    fn only_settings_of_this_machine_and_memory_load_need_root() {
        let kept = |words: &[&str]| needs_root(&parse(words.iter().map(OsString::from)).unwrap());
        let memory = r#"{"memory_bytes":2000000,"limit_bytes":2000000}"#;
        for words in [&["serve", "--user", "x"][..], &["restore", "--force"], &["load", memory]] {
            assert!(kept(words), "{words:?}");
        }
        let both = r#"{"memory_bytes":2000000,"limit_bytes":2000000,"disk_directory":"/"}"#;
        for words in [
            &["copies", "1", "/usr/bin/id", "id"][..],
            &["load", r#"{"cpu":0.1}"#, "--", "id"],
            &["load", memory, "--", "id"],
            &["load", both],
            &["load", r#"{"disk_directory":"/"}"#],
            &["serve", "--root", "/"],
            &["serve", "--script", "/etc/shadow"],
            &["serve", "--spool-memory", "/etc/shadow"],
            &["restore", "--root", "/tmp"],
            &["kernel", "chase"],
            &["wakeups"],
            &["tables"],
        ] {
            assert!(!kept(words), "{words:?}");
        }
    }
}
