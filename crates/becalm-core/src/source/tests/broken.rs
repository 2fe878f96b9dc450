//! Tests with files that are cut off or hold garbage: never a panic, never a wrong number.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::super::snapshot::difference;
use super::changing::Changing;
use super::data;
use crate::samples::samples;

/// The files that each source reads on the hand-written machines, for breaking them.
const FILES: [(&str, &str, &str); 20] = [
    ("loadavg", "server-4.18", "proc/loadavg"),
    ("stat", "server-4.18", "proc/stat"),
    ("schedstat", "server-4.18", "proc/schedstat"),
    ("schedstat", "server-4.18", "proc/self/schedstat"),
    ("psi", "desktop-6.1", "proc/pressure/io"),
    ("vmstat", "server-4.18", "proc/vmstat"),
    ("meminfo", "server-4.18", "proc/meminfo"),
    ("diskstats", "desktop-6.1", "proc/diskstats"),
    ("netdev", "server-4.18", "proc/self/net/dev"),
    ("interrupts", "server-4.18", "proc/interrupts"),
    ("softirqs", "server-4.18", "proc/softirqs"),
    ("nfs", "server-4.18", "proc/self/net/rpc/nfs"),
    ("nfs", "server-4.18", "proc/self/mountstats"),
    ("frequency", "server-4.18", "sys/devices/system/cpu/online"),
    ("frequency", "server-4.18", "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"),
    ("cgroup", "server-4.18", "proc/self/cgroup"),
    ("cgroup", "server-4.18", "proc/self/mountinfo"),
    ("cgroup", "desktop-6.1", "sys/fs/cgroup/user.slice/session-2.scope/cpu.stat"),
    ("cgroup", "desktop-6.1", "sys/fs/cgroup/user.slice/session-2.scope/io.stat"),
    ("psi", "desktop-6.1", "proc/self/mountinfo"),
];

/// Copy a recorded machine, so that one file can be overwritten.
fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copied(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(samples(6, 240)))]

    /// Check that a file that is cut off anywhere gives right numbers or none: every known value is that of
    /// the whole file.
    #[test]
    fn a_file_cut_off_says_nothing_wrong(which in 0..FILES.len(), cuts in proptest::collection::vec(any::<prop::sample::Index>(), 12)) {
        let (source, recorded, file) = FILES[which];
        let machine = Changing::new(&format!("cut{which}"));
        copied(&data(recorded), &machine.0);
        let whole = fs::read(data(recorded).join(file)).unwrap();
        let full = machine.reader(source).snapshot();
        let right: BTreeMap<_, _> = full.named(&full.sections[0]).map(|(name, _, value)| (name, value)).collect();
        let mut reader = machine.reader(source);
        for cut in cuts {
            machine.write(file, &whole[..cut.index(whole.len() + 1)]);
            let taken = reader.snapshot();
            for (name, _, value) in taken.named(&taken.sections[0]) {
                prop_assert!(value.is_none() || right.get(&name) == Some(&value), "{}: {} {:?}", file, name, value);
            }
        }
    }

    /// Check that any content of a file causes no panic, as many values as names, and differences that are
    /// known or not.
    #[test]
    fn garbage_is_survived(which in 0..FILES.len(), places in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40), random in proptest::collection::vec(any::<u8>(), 0..400)) {
        let (source, recorded, file) = FILES[which];
        let machine = Changing::new(&format!("garbage{which}"));
        copied(&data(recorded), &machine.0);
        let mut reader = machine.reader(source);
        let before = reader.snapshot();
        let mut bytes = fs::read(data(recorded).join(file)).unwrap();
        for (place, byte) in places {
            let at = place.index(bytes.len());
            bytes[at] = byte;
        }
        for broken in [bytes, random] {
            machine.write(file, &broken);
            let after = reader.snapshot();
            let section = &after.sections[0];
            prop_assert_eq!(after.named(section).count(), section.len);
            prop_assert_eq!(section.layout.len(), section.len);
            drop(difference(&before, &after));
        }
    }
}
