//! Settings of the boot: their words for the kernel's command line on this machine, and whether the running
//! kernel uses them (`proof`).

use serde::Serialize;

use super::cpus::{self, Cpus};
use super::proof::{Evidence, Finding, Log};
use super::row::{Boot, Knob};
use super::tree::Tree;

/// A setting of the boot on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Effect {
    pub knob: &'static str,
    pub value: String,
    /// The words for the kernel's command line.
    pub parameters: Vec<String>,
    /// The CPUs of the value, if it has any.
    pub cpus: Option<String>,
    /// Whether this boot has it; None: the kernel does not show that.
    pub taken: Option<bool>,
    /// The evidence for it, or what was found instead.
    pub how: String,
}

/// Check that a setting of the boot is possible here; an error is the reason why not.
pub fn supported(tree: &Tree, knob: &Knob) -> Result<(), String> {
    if knob.domain.is_cpus() && tree.first_core() == tree.cpus().1 {
        return Err("this machine has one core: nobody else would have a CPU".to_owned());
    }
    knob.act.boot().map_or(Ok(()), |boot| (boot.possible)(tree))
}

/// Return the effect of a value here, and whether this boot has it; None: the knob is not set at boot.
pub fn effect(tree: &Tree, knob: &'static Knob, value: &str) -> Option<Effect> {
    let boot = knob.act.boot()?;
    let set = knob.domain.is_cpus().then(|| tree.core(value));
    let spelled = set.as_ref().map_or(value.to_owned(), cpus::list);
    // Fixed words switch off a feature that is on without them.
    let words = if value == "on" { &[] } else { boot.words };
    let parameters: Vec<String> = words.iter().map(|word| word.replace("{}", &spelled)).collect();
    let (taken, how) = examine(tree, boot, value, &parameters, &set.clone().unwrap_or_default());
    let value = value.to_owned();
    Some(Effect { knob: knob.name, value, parameters, cpus: set.map(|_| spelled), taken, how })
}

fn examine(tree: &Tree, boot: &Boot, value: &str, parameters: &[String], cpus: &Cpus) -> Finding {
    let line = tree.read("/proc/cmdline").unwrap_or_default();
    if !parameters.iter().all(|wanted| line.split_ascii_whitespace().any(|word| word == wanted)) {
        return (Some(false), format!("the kernel's command line is {line:?}"));
    }
    let log = &Log::read(tree);
    if let Some(unknown) = parameters.iter().find(|word| log.ignored(word)) {
        return (Some(false), format!("the kernel says that it does not know {unknown}"));
    }
    (boot.proof)(&Evidence { tree, log, value, cpus })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::super::catalogue::find;
    use super::super::tree::CPU;
    use super::*;

    struct Played(PathBuf);

    impl Played {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("becalm-effect-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&root);
            let cpus = ["0", "1"].map(|cpu| (format!("{CPU}/cpu{cpu}/topology/core_cpus_list"), cpu));
            let all = cpus.iter().map(|(path, text)| (path.as_str(), *text)).chain(files.iter().copied());
            for (path, text) in all {
                let path = root.join(path.trim_start_matches('/'));
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(root)
        }

        fn effect(&self, name: &str, value: &str) -> Effect {
            effect(&Tree::new(&self.0), find(name).unwrap(), value).unwrap()
        }
    }

    impl Drop for Played {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn words_of_the_command_line_have_this_machines_cpus() {
        let here = Played::new("words", &[("/proc/cmdline", "quiet")]);
        let found = here.effect("isolcpus", "last-core");
        assert_eq!(found.parameters, ["isolcpus=1"]);
        assert_eq!(found.cpus.as_deref(), Some("1"));
        assert_eq!(found.taken, Some(false), "{}", found.how);
        assert_eq!(here.effect("isolcpus", "first-core").parameters, ["isolcpus=0"]);
        assert_eq!(here.effect("watchdogs_boot", "off").parameters.len(), 3);
        assert!(here.effect("watchdogs_boot", "on").parameters.is_empty());
    }

    #[test]
    fn parameters_that_the_kernel_ignores_are_reported() {
        let here = Played::new(
            "ignored",
            &[
                ("/proc/cmdline", "isolcpus=1 nohz_full=1 rcu_nocbs=1 idle=poll mitigations=off nosoftlockup nowatchdog nmi_watchdog=0"),
                ("/sys/devices/system/cpu/isolated", ""),
                ("/proc/sys/kernel/watchdog", "1"),
                ("/sys/devices/system/cpu/cpuidle/current_driver", "intel_idle"),
                ("/sys/devices/system/cpu/vulnerabilities/spectre_v1", "Mitigation: barriers"),
                ("/dev/kmsg", "5,1,0,-;Unknown kernel command line parameters \"foo rcu_nocbs=1\", will be passed\n"),
            ],
        );
        for (knob, value) in [
            ("isolcpus", "1"),
            ("nohz_full", "1"),
            ("rcu_nocbs", "1"),
            ("idle", "poll"),
            ("mitigations", "off"),
            ("watchdogs_boot", "off"),
        ] {
            let found = here.effect(knob, value);
            assert_eq!(found.taken, Some(false), "{knob}: {}", found.how);
        }
        assert_eq!(here.effect("nohz_full", "1").how, "this kernel has no NO_HZ_FULL");
    }

    #[test]
    fn parameters_in_effect_are_found_in_the_kernels_files() {
        let here = Played::new(
            "taken",
            &[
                ("/proc/cmdline", "isolcpus=1 nohz_full=1 rcu_nocbs=1 idle=poll mitigations=off nosoftlockup nowatchdog nmi_watchdog=0"),
                ("/sys/devices/system/cpu/isolated", "1"),
                ("/sys/devices/system/cpu/nohz_full", "1"),
                ("/proc/sys/kernel/watchdog", "0"),
                ("/proc/sys/kernel/soft_watchdog", "0"),
                ("/sys/devices/system/cpu/vulnerabilities/spectre_v1", "Vulnerable: none"),
                ("/dev/kmsg", "6,1,0,-;rcu: \tOffload RCU callbacks from CPUs: 1.\n6,2,0,-;process: using polling idle threads\n"),
            ],
        );
        for (knob, value) in [
            ("isolcpus", "last-core"),
            ("nohz_full", "1"),
            ("rcu_nocbs", "1"),
            ("idle", "poll"),
            ("mitigations", "off"),
            ("watchdogs_boot", "off"),
        ] {
            let found = here.effect(knob, value);
            assert_eq!(found.taken, Some(true), "{knob}: {}", found.how);
        }
        assert_eq!(here.effect("rcu_nocbs", "0-1").taken, Some(false));
    }
}
