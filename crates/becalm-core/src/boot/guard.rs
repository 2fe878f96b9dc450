//! The fall-back of a machine that comes up with becalm's entry and is not found healthy: a timer of systemd,
//! and words on the kernel's command line for failures before the timer.
//!
//! The timer depends only on systemd itself and survives its emergency mode. It acts only in the boot that
//! has the entry's mark (ConditionKernelCommandLine, systemd.unit(5)); in every other boot its files have no
//! effect.

use super::plan::Write;
use super::MARK;
use crate::knob::tree::Tree;

pub const TIMER: &str = "becalm-boot.timer";
const SERVICE: &str = "becalm-boot.service";
const UNITS: &str = "/etc/systemd/system";
const WANTS: &str = "/etc/systemd/system/sysinit.target.wants";

/// The seconds for which a kernel that has panicked can be read before it restarts (kernel-parameters.txt,
/// panic=). initramfs-tools restarts after as many if it does not find the root file system.
const PANIC_S: u32 = 10;

/// The longest silence of systemd that a hardware watchdog, if there is one, allows.
const WATCHDOG_S: u32 = 60;

/// Return why nothing could bring this machine back; None when something can.
pub fn obstacle(tree: &Tree) -> Option<String> {
    // sd_booted(3).
    let booted = tree.exists("/run/systemd/system");
    (!booted).then(|| {
        "systemd does not run here, so nothing would restart the machine if it came up out of reach"
            .to_owned()
    })
}

/// Return the words of the entry in addition to the parameters.
pub fn words(tree: &Tree, mark: &str) -> Vec<String> {
    let mut words =
        vec![format!("{MARK}{mark}"), format!("panic={PANIC_S}"), "systemd.crash_reboot=1".to_owned()];
    if watchdog(tree) {
        // This works from systemd 251 on (systemd(1)); older ones ignore it.
        words.push(format!("systemd.watchdog_sec={WATCHDOG_S}"));
    }
    if tree.exists("/usr/lib/dracut") {
        // This restarts instead of opening a shell when the root file system is not found
        // (dracut.cmdline(7)).
        words.extend(["rd.shell=0".to_owned(), "rd.emergency=reboot".to_owned()]);
    }
    words
}

/// Return the files of the units, none of which may exist yet.
pub fn writes(tree: &Tree, mark: &str, limit_s: u32) -> Vec<Write> {
    let head = |what: &str| {
        format!(
            "# Written by becalm for one boot; `becalm reset` removes it (docs/how-to/reboot.md).\n\
             [Unit]\nDescription={what}\nConditionKernelCommandLine={MARK}{mark}\nDefaultDependencies=no\n"
        )
    };
    let timer = format!(
        "{}IgnoreOnIsolate=yes\n\n[Timer]\nOnBootSec={limit_s}\nAccuracySec=1s\nUnit={SERVICE}\n",
        head("Restart this machine unless becalm finds it healthy")
    );
    // reboot-force ends everything without stopping services one by one, and leaves clean file systems (systemd.unit(5)).
    let service = format!(
        "{}SuccessAction=reboot-force\nFailureAction=reboot-force\n\n[Service]\nType=oneshot\nExecStart=/bin/true\n",
        head("Restart this machine, which becalm did not find healthy in time")
    );
    let mut writes = vec![
        Write::File { path: format!("{UNITS}/{SERVICE}"), text: service },
        Write::File { path: format!("{UNITS}/{TIMER}"), text: timer },
    ];
    if !tree.exists(WANTS) {
        writes.push(Write::Directory { path: WANTS.to_owned() });
    }
    writes.push(Write::Link { path: format!("{WANTS}/{TIMER}"), target: format!("../{TIMER}") });
    writes
}

/// Return the remark on failures that are not covered, for the user.
pub fn remark(tree: &Tree) -> String {
    let watchdog = match watchdog(tree) {
        true => "systemd is watched by the machine's hardware watchdog.",
        false => "The machine has no hardware watchdog that Linux knows.",
    };
    format!(
        "If the machine hangs without a panic before systemd runs, somebody has to switch it off and on; it then starts \
         as before. {watchdog}"
    )
}

fn watchdog(tree: &Tree) -> bool {
    tree.exists("/sys/class/watchdog/watchdog0")
}
