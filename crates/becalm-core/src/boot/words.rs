//! The words that becalm adds to a kernel's command line: those of the catalogue's settings of scope `boot`,
//! and no others. Therefore a request can neither name another root file system nor another first process.

use std::collections::BTreeSet;

use super::BootError;
use crate::cpus;
use crate::knob::catalogue::{Scope, CATALOGUE};
use crate::knob::row::{Group, Knob};
use crate::knob::tree::Tree;

/// Check parameters. `consent`: allow dangerous ones too.
pub fn check(parameters: &[String], tree: &Tree, consent: bool) -> Result<(), BootError> {
    let mut seen = BTreeSet::new();
    for parameter in parameters {
        let (knob, value) = CATALOGUE.iter().find_map(|knob| made_by(knob, parameter)).ok_or_else(|| {
            BootError::Word(format!(
                "No setting makes the kernel parameter {parameter:?}. `becalm knobs` lists those of the next boot."
            ))
        })?;
        if !seen.insert(key(parameter)) {
            return Err(BootError::Word(format!(
                "The kernel parameter {} was requested twice.",
                key(parameter)
            )));
        }
        if let Some(value) = value {
            in_domain(knob, parameter, value, tree)?;
        }
        if knob.group == Group::Dangerous && !consent {
            return Err(BootError::Consent(parameter.clone()));
        }
    }
    Ok(())
}

/// Return the key of a parameter: the text before its value.
pub fn key(parameter: &str) -> &str {
    parameter.split('=').next().unwrap_or(parameter)
}

/// Return the row of this parameter, and the value in it if there is one.
fn made_by<'a>(knob: &'static Knob, parameter: &'a str) -> Option<(&'static Knob, Option<&'a str>)> {
    let boot = knob.act.boot()?;
    debug_assert!(knob.scope == Scope::Boot);
    boot.words.iter().find_map(|word| match word.split_once("{}") {
        Some((before, after)) => {
            let value = parameter.strip_prefix(before)?.strip_suffix(after)?;
            Some((knob, Some(value)))
        }
        None => (*word == parameter).then_some((knob, None)),
    })
}

fn in_domain(knob: &Knob, parameter: &str, value: &str, tree: &Tree) -> Result<(), BootError> {
    let domain = |what: &str| Err(BootError::Domain(format!("The kernel parameter {parameter:?} {what}.")));
    if !knob.domain.is_cpus() {
        return if knob.domain.holds(value) {
            Ok(())
        } else {
            domain(&format!("takes {}", knob.domain.words()))
        };
    }
    let digits = value.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b',' | b'-'));
    let Some(set) = cpus::parse(value).filter(|_| digits) else {
        return domain("takes a list of CPUs such as 1,3-4");
    };
    let (present, _) = tree.cpus();
    if let Some(cpu) = set.iter().find(|cpu| !present.contains(cpu)) {
        return domain(&format!("names CPU {cpu}, which this machine does not have"));
    }
    if set == present {
        return domain("names every CPU: one must be left for everything else");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    fn four(name: &str) -> (PathBuf, Tree) {
        let root = std::env::temp_dir().join(format!("becalm-words-{name}-{}", std::process::id()));
        for cpu in 0..4 {
            fs::create_dir_all(root.join(format!("sys/devices/system/cpu/cpu{cpu}"))).unwrap();
        }
        (root.clone(), Tree::new(&root))
    }

    #[test]
    fn only_words_of_the_catalogue_and_their_domains() {
        let (root, tree) = four("domain");
        let check = |words: &[&str], consent| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            check(&words, &tree, consent)
        };
        assert!(check(&[], false).is_ok());
        assert!(
            check(&["isolcpus=1,3", "nohz_full=1,3", "rcu_nocbs=1-2", "intel_pstate=disable"], false).is_ok()
        );
        assert!(check(&["nowatchdog", "nosoftlockup", "nmi_watchdog=0", "idle=poll"], true).is_ok());
        assert!(matches!(check(&["idle=poll"], false), Err(BootError::Consent(word)) if word == "idle=poll"));
        for bad in
            ["init=/bin/sh", "root=/dev/sdb", "isolcpus", "isolcpus=", "", "quiet", "nowatchdog=1", "panic=0"]
        {
            let error = check(&[bad], true).unwrap_err();
            assert!(matches!(error, BootError::Word(_) | BootError::Domain(_)), "{bad}: {error}");
        }
        for bad in [
            "isolcpus=first-core",
            "isolcpus=1 init=/bin/sh",
            "isolcpus=1;reboot",
            "isolcpus=4",
            "isolcpus=0-3",
        ] {
            assert!(matches!(check(&[bad], true), Err(BootError::Domain(_))), "{bad}");
        }
        for bad in ["idle=fast", "mitigations=auto nosmt", "mitigations=off\ninit=/bin/sh", "idle=poll "] {
            assert!(matches!(check(&[bad], true), Err(BootError::Domain(_))), "{bad}");
        }
        assert!(matches!(check(&["isolcpus=1", "isolcpus=2"], true), Err(BootError::Word(_))), "twice");
        fs::remove_dir_all(root).unwrap();
    }
}
