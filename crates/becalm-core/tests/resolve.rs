//! The resolution of settings on a laptop: the writes in their order. Nothing is written here.

// clippy.toml allows this in tests, but not in what tests share.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use becalm_core::knob::catalogue::find;
use becalm_core::knob::changes::Changes;
use becalm_core::knob::cpuset_facts::remark;
use becalm_core::knob::place::Place;
use becalm_core::knob::settings::{SettingError, Settings};
use becalm_core::knob::table::{self, permits};
use becalm_core::knob::tree::Tree;
use becalm_core::knob::write_requests::{side_effect, write_request};
use serde_json::{json, Value};

/// A directory that is removed with the test.
struct Laptop(PathBuf);

impl Drop for Laptop {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

impl Laptop {
    /// Four cores of two threads, i and i + 4; 0 and 1 are faster than 2 and 3. cpuset on cgroup v2.
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let laptop =
            Self(std::env::temp_dir().join(format!("becalm-laptop-{}-{number}", std::process::id())));
        for cpu in 0..8 {
            let here = format!("sys/devices/system/cpu/cpu{cpu}");
            let highest = if cpu % 4 < 2 { "4700000" } else { "3600000" };
            for (file, text) in [
                ("topology/thread_siblings_list", format!("{},{}", cpu % 4, cpu % 4 + 4)),
                ("cpufreq/scaling_available_governors", "performance powersave".to_owned()),
                ("cpufreq/scaling_governor", "powersave".to_owned()),
                ("cpufreq/energy_performance_preference", "balance_performance".to_owned()),
                ("cpufreq/scaling_min_freq", "400000".to_owned()),
                ("cpufreq/scaling_max_freq", highest.to_owned()),
                ("cpufreq/cpuinfo_max_freq", highest.to_owned()),
            ] {
                laptop.put(&format!("{here}/{file}"), &text);
            }
            if cpu > 0 {
                laptop.put(&format!("{here}/online"), "1");
            }
        }
        for (file, text) in [
            ("sys/devices/system/cpu/smt/control", "on"),
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "0"),
            ("proc/irq/default_smp_affinity", "ff"),
            ("proc/irq/9/smp_affinity", "ff"),
            ("proc/irq/120/smp_affinity", "1"),
            ("sys/devices/virtual/workqueue/cpumask", "ff"),
            ("proc/sys/kernel/watchdog", "1"),
            ("proc/sys/kernel/nmi_watchdog", "1"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
            ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io"),
            ("sys/fs/cgroup/cgroup.subtree_control", "cpu io"),
            ("sys/fs/cgroup/cpuset.mems.effective", "0-1"),
            ("swap file", ""),
            ("dev/dm-1", ""),
            ("dev/zram0", ""),
        ] {
            laptop.put(file, text);
        }
        laptop.put(
            "proc/swaps",
            "Filename Type Size Used Priority\n/swap\\040file file 9 0 -3\n/dev/dm-1 partition 9 0 -2\n/dev/zram0 partition 9 0 100",
        );
        for (pid, name, allowed) in [(1, "systemd", "0-7"), (812, "tuned", "0-7"), (900, "pinned", "0,5")] {
            laptop.process(pid, name, allowed);
        }
        laptop
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    fn process(&self, pid: i32, name: &str, allowed: &str) {
        for here in [format!("proc/{pid}"), format!("proc/{pid}/task/{pid}")] {
            let zeros = "0 ".repeat(17);
            self.put(&format!("{here}/stat"), &format!("{pid} ({name}) S 1 {zeros}{pid}00 0 0"));
            self.put(&format!("{here}/status"), &format!("Name:\t{name}\nCpus_allowed_list:\t{allowed}"));
            self.put(&format!("{here}/comm"), name);
            self.put(&format!("{here}/cmdline"), name);
        }
    }

    fn read(&self, settings: Value) -> Result<Settings, SettingError> {
        Settings::read(settings.as_object().unwrap(), &Tree::new(&self.0), true)
    }

    fn changes(&self, settings: Value) -> Changes {
        let changes = self.read(settings).unwrap_or_else(|error| panic!("{error}")).changes;
        let tree = Tree::new(&self.0);
        for place in changes.places() {
            assert!(permits(place), "a journal with {place:?} would be refused");
        }
        for change in &changes.writes {
            let write_request = write_request(change).unwrap_or_else(|| panic!("{change:?}"));
            assert_eq!(
                table::place(&tree, &write_request).as_ref(),
                Some(&change.place),
                "{write_request:?}"
            );
        }
        for place in &changes.watched {
            let (row, names) = side_effect(place).unwrap_or_else(|| panic!("{place:?}"));
            assert_eq!(table::side_effects(&tree, row, &names), Some(vec![place.clone()]));
        }
        changes
    }
}

/// The writes as "knob place=value", with CPUs and long directories left out.
fn spelled(changes: &Changes) -> Vec<String> {
    let line = |change: &becalm_core::knob::changes::Change| {
        let place = change.place.shown();
        let name = place.replace("/sys/devices/system/cpu/", "").replace("/sys/fs/cgroup/", "");
        format!("{} {name}={}", change.knob, change.value)
    };
    changes.writes.iter().map(line).collect()
}

fn first(changes: &Changes, knob: &str) -> usize {
    changes.writes.iter().position(|change| change.knob == knob).unwrap_or_else(|| panic!("{knob}"))
}

fn last(changes: &Changes, knob: &str) -> usize {
    changes.writes.iter().rposition(|change| change.knob == knob).unwrap_or_else(|| panic!("{knob}"))
}

fn watches(changes: &Changes, part: &str) -> bool {
    changes.watched.iter().any(|place| place.shown().contains(part))
}

#[test]
fn settings_that_disturb_others_are_written_first() {
    let laptop = Laptop::new();
    // In the reverse of the order that is right.
    let changes = laptop.changes(json!({
        "isolation": "2", "irq_affinity": "away", "workqueue_cpus": "away", "frequency_floor": "max",
        "turbo": "off", "governor": "performance", "online_cpus": "0-3", "smt": "off", "services": "pause",
    }));
    let order = [
        "services",
        "smt",
        "online_cpus",
        "governor",
        "turbo",
        "frequency_floor",
        "irq_affinity",
        "workqueue_cpus",
        "isolation",
    ];
    for pair in order.windows(2) {
        assert!(last(&changes, pair[0]) < first(&changes, pair[1]), "{pair:?}");
    }
}

#[test]
fn nothing_is_set_on_cpus_that_go() {
    let laptop = Laptop::new();
    let off = laptop.changes(json!({"smt": "off", "governor": "performance"}));
    let governors: Vec<String> =
        spelled(&off).into_iter().filter(|line| line.starts_with("governor")).collect();
    assert_eq!(governors.len(), 4);
    assert!(governors[3].contains("cpu3/"), "the first threads stay");
    for part in ["cpu5/cpufreq/scaling_governor", "cpu5/online", "irq/120"] {
        assert!(watches(&off, part), "{part} comes back otherwise than it was");
    }
    assert_eq!(off.taken, (4..8).collect(), "tasks that are bound to these are looked up when they go");
    let first = laptop.changes(json!({"online_cpus": "first", "frequency_floor": "max"}));
    assert_eq!(last(&first, "online_cpus"), 6, "all but CPU 0, which has no switch");
    assert_eq!(spelled(&first).last().unwrap(), "frequency_floor cpu0/cpufreq/scaling_min_freq=4700000");
}

#[test]
fn siblings_are_not_asked_to_come_online_without_smt() {
    let laptop = Laptop::new();
    let both = laptop.changes(json!({"smt": "off", "online_cpus": "all"}));
    let online: Vec<String> = spelled(&both).into_iter().filter(|line| line.starts_with("online")).collect();
    assert_eq!(
        online,
        ["online_cpus cpu1/online=1", "online_cpus cpu2/online=1", "online_cpus cpu3/online=1"]
    );
    laptop.put("sys/devices/system/cpu/smt/control", "off");
    laptop.put("sys/devices/system/cpu/cpu6/online", "0");
    let all = laptop.changes(json!({"online_cpus": "all"}));
    let sixth = all.writes.iter().find(|change| change.place.shown().contains("cpu6/")).unwrap();
    assert!(!sixth.required, "it may be a sibling, and that cannot be seen");
}

#[test]
fn the_governor_takes_the_preference_with_it() {
    let changes = Laptop::new().changes(json!({"governor": "performance"}));
    assert_eq!(changes.writes.len(), 8);
    let watched =
        changes.watched.iter().filter(|place| place.shown().ends_with("energy_performance_preference"));
    assert_eq!(watched.count(), 8);
}

#[test]
fn every_cpu_has_its_own_highest_frequency() {
    let lines = spelled(&Laptop::new().changes(json!({"frequency_floor": "max"})));
    assert_eq!(lines[1], "frequency_floor cpu1/cpufreq/scaling_min_freq=4700000");
    assert_eq!(lines[2], "frequency_floor cpu2/cpufreq/scaling_min_freq=3600000");
    let number = Laptop::new().changes(json!({"frequency_floor": 1_200_000}));
    assert!(number.writes.iter().all(|change| change.value == "1200000"));
}

#[test]
fn automatic_swap_areas_go_from_the_last_to_the_first() {
    let laptop = Laptop::new();
    let lines = spelled(&laptop.changes(json!({"swap": "off"})));
    assert_eq!(
        lines,
        ["swap swap area /dev/zram0=off", "swap swap area /swap file=off", "swap swap area /dev/dm-1=off"]
    );
    fs::remove_file(laptop.0.join("swap file")).unwrap();
    let error = laptop.read(json!({"swap": "off"})).err().unwrap().to_string();
    assert!(error.contains("/swap file") && error.contains("switched on again"), "{error}");
    assert!(laptop.changes(json!({"swap": "on"})).writes.is_empty());
}

#[test]
fn isolation_on_version_2_is_a_partition() {
    let changes = Laptop::new().changes(json!({"isolation": "first-core"}));
    assert_eq!(
        spelled(&changes),
        ["isolation cgroup.subtree_control=on", "isolation becalm-isolated=present"]
    );
    let Some(Place::Cpuset(set)) = changes.writes.get(1).map(|change| change.place.clone()) else { panic!() };
    assert_eq!(changes.join(), Some(set.tasks()));
    assert_eq!(
        (set.version, set.cpus.as_str(), set.mems.as_str()),
        (2, "0,4", "0-1"),
        "a core with its sibling"
    );
    assert_eq!(changes.taken, [0, 4].into());
}

#[test]
fn the_first_core_is_tried_where_interrupts_stay_at_the_last() {
    let laptop = Laptop::new();
    let knob = find("isolation").unwrap();
    let tried = || knob.act.tuned(&Tree::new(&laptop.0), knob);
    assert_eq!(tried(), Some("last-core"), "nothing is known");
    let mask = laptop.0.join("proc/irq/120/smp_affinity");
    // CPUs 3 and 7 are the last core, 0 and 4 the first; 9 can be moved.
    let arrived = |first: u32, last: u32| {
        let lines = format!("120: {last} chip disk\n  8: {first} chip net\n  9: 9999 chip acpi");
        laptop.put("proc/interrupts", &format!("CPU0\n{lines}"));
    };
    for (irq, at) in [(120, "7"), (8, "0"), (9, "3")] {
        laptop.put(&format!("proc/irq/{irq}/effective_affinity_list"), at);
    }
    laptop.put("proc/irq/8/smp_affinity", "ff");
    let stays = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o444)).unwrap();
    stays(&laptop.0.join("proc/irq/8/smp_affinity"));
    arrived(10, 1_000);
    assert_eq!(tried(), Some("last-core"), "it can be moved");
    stays(&mask);
    assert_eq!(tried(), Some("first-core"));
    for (first, last) in [(0, 999), (101, 1_000), (5_000, 5_000)] {
        arrived(first, last);
        assert_eq!(tried(), Some("last-core"), "{first} {last}");
    }
    arrived(0, 1_000);
    laptop.put("proc/irq/120/effective_affinity_list", "2");
    assert_eq!(tried(), Some("last-core"), "it is at neither");
}

#[test]
fn isolation_on_version_1_moves_all_others_away() {
    let laptop = Laptop::new();
    laptop.put("sys/fs/cgroup/cgroup.controllers", "cpu io");
    for (path, text) in [
        ("cpuset.cpus", "0-7"),
        ("cpuset.mems", "0"),
        ("cpuset.sched_load_balance", "1"),
        ("docker/cpuset.cpus", "0-7"),
        ("docker/one/cpuset.cpus", "0-3"),
        ("other/cpuset.cpus", "5"),
        ("within/cpuset.cpus", "0"),
    ] {
        laptop.put(&format!("sys/fs/cgroup/cpuset/{path}"), text);
    }
    let changes = laptop.changes(json!({"isolation": "0"}));
    assert_eq!(
        spelled(&changes),
        [
            "isolation cpuset/docker/one/cpuset.cpus=1-3",
            "isolation cpuset/docker/cpuset.cpus=1-7",
            "isolation cpuset/becalm-rest=present",
            "isolation cpuset/becalm-isolated=present",
            "isolation cpuset/cpuset.sched_load_balance=0",
        ],
        "children before parents; a set without other CPUs stays as it is"
    );
    let Some(Place::Cpuset(rest)) = changes.writes.get(2).map(|change| change.place.clone()) else {
        panic!()
    };
    assert!(
        rest.gather
            && rest.cpus == "1-7"
            && changes.join().unwrap().ends_with("cpuset/becalm-isolated/tasks")
    );
    assert_eq!(changes.taken, (0..8).collect(), "every task is moved, and forgets its own CPUs");
}

#[test]
fn cpus_that_others_claim_are_not_isolated_and_those_that_keep_them_are_named() {
    let laptop = Laptop::new();
    let refused = |value: &str| laptop.read(json!({"isolation": value})).err().map(|error| error.to_string());
    for (path, text) in [
        ("mine/cpuset.cpus", "1-2"),
        ("mine/cpuset.cpus.partition", "root"),
        ("plain/cpuset.cpus", "3"),
        ("plain/cpuset.cpus.partition", "member"),
    ] {
        laptop.put(&format!("sys/fs/cgroup/{path}"), text);
    }
    assert!(refused("1")
        .unwrap()
        .contains("the control group /sys/fs/cgroup/mine has the CPUs 1 for itself"));
    assert_eq!(refused("3"), None, "a group without a partition gives its CPUs up");
    assert!(refused("2,9").unwrap().contains("of the CPUs 2,9, 9 are not online; there are 0-7"));

    laptop.put("sys/fs/cgroup/cgroup.controllers", "cpu io");
    for (path, text) in [
        ("cpuset.cpus", "0-7"),
        ("cpuset.mems", "0"),
        ("cpuset.sched_load_balance", "1"),
        ("busy/cpuset.cpus", "5"),
        ("busy/tasks", "900"),
        ("empty/cpuset.cpus", "5"),
        ("empty/tasks", ""),
        ("claim/cpuset.cpus", "6"),
        ("claim/cpuset.cpu_exclusive", "1"),
    ] {
        laptop.put(&format!("sys/fs/cgroup/cpuset/{path}"), text);
    }
    assert!(refused("6").unwrap().contains("/sys/fs/cgroup/cpuset/claim has the CPUs 6 for itself"));
    let changes = laptop.changes(json!({"isolation": "5"}));
    let own = changes.writes.iter().find_map(|change| match &change.place {
        Place::Cpuset(set) if !set.gather => Some(set.clone()),
        _ => None,
    });
    let remark = remark(&Tree::new(&laptop.0), &own.unwrap()).unwrap();
    assert!(remark.starts_with("/sys/fs/cgroup/cpuset/busy has no other CPUs than 5"), "{remark}");
}

#[test]
fn places_that_the_kernel_moves_with_a_setting_are_watched() {
    let laptop = Laptop::new();
    for (path, text) in [
        ("proc/sys/vm/min_free_kbytes", "50000"),
        ("sys/devices/system/cpu/cpu1/cpufreq/ondemand/up_threshold", "80"),
        ("sys/devices/system/cpu/cpufreq/schedutil/rate_limit_us", "500"),
        ("sys/devices/system/cpu/cpu3/cpufreq/boost", "1"),
        ("sys/devices/system/cpu/intel_pstate/min_perf_pct", "30"),
        ("sys/class/net/eth0/queues/tx-0/xps_cpus", "01"),
    ] {
        laptop.put(path, text);
    }
    for (settings, moved) in [
        (json!({"transparent_hugepages": "never"}), &["min_free_kbytes"][..]),
        (
            json!({"governor": "performance"}),
            &["cpu1/cpufreq/ondemand/up_threshold", "schedutil/rate_limit_us"],
        ),
        (json!({"turbo": "off"}), &["cpu3/cpufreq/boost", "min_perf_pct", "cpu7/cpufreq/scaling_max_freq"]),
        (json!({"online_cpus": "first"}), &["xps_cpus", "ondemand/up_threshold"]),
        (json!({"isolation": "2"}), &["workqueue/cpumask"]),
    ] {
        let changes = laptop.changes(settings.clone());
        for part in moved {
            assert!(watches(&changes, part), "{settings}: {part}");
        }
    }
    let gone = laptop.changes(json!({"turbo": "off", "online_cpus": "0-3"}));
    let knob = find("turbo").unwrap();
    let of_turbo =
        gone.watched.iter().filter(|place| place.shown().ends_with("cpu7/cpufreq/scaling_max_freq"));
    assert!(!knob.moves.is_empty() && of_turbo.count() == 1, "once, as that of a CPU that goes");
}

#[test]
fn a_missing_kernel_feature_is_reported_before_missing_debugfs() {
    let laptop = Laptop::new();
    let reason = |name: &str| find(name).unwrap().state(&Tree::new(&laptop.0)).unwrap_err();
    laptop.put("proc/sys/kernel/osrelease", "6.18.5-cloud-amd64");
    for name in ["sched_latency_ns", "sched_min_granularity_ns", "sched_wakeup_granularity_ns"] {
        assert!(
            reason(name).starts_with("kernels since 6.6 have sched_base_slice_ns instead"),
            "{}",
            reason(name)
        );
    }
    assert!(reason("sched_feature_last_buddy").starts_with("kernels up to 6.5 have it"));
    assert!(reason("sched_base_slice_ns").starts_with("debugfs is not mounted"));
    laptop.put("proc/sys/kernel/osrelease", "6.1.0-18-amd64");
    assert!(
        reason("sched_base_slice_ns").starts_with("kernels before 6.6 have sched_min_granularity_ns instead")
    );
    assert!(reason("sched_latency_ns").starts_with("debugfs is not mounted"));
}

#[test]
fn a_share_of_the_cpus_is_a_group_and_its_weight() {
    let laptop = Laptop::new();
    let changes = laptop.changes(json!({"cpu_weight": 500}));
    assert_eq!(spelled(&changes), ["cpu_weight becalm-weighted=500"], "the controller is on");
    assert_eq!(changes.join().as_deref(), Some("/sys/fs/cgroup/becalm-weighted/cgroup.procs"));
    laptop.put("sys/fs/cgroup/cgroup.subtree_control", "io");
    let lines = spelled(&laptop.changes(json!({"cpu_weight": 500})));
    assert_eq!(lines, ["cpu_weight cgroup.subtree_control=on", "cpu_weight becalm-weighted=500"]);
    let error = laptop.read(json!({"cpu_weight": 500, "isolation": "2"})).err().unwrap().to_string();
    assert!(error.contains("with isolation the program has its own CPUs"), "{error}");
    laptop.put("sys/fs/cgroup/cgroup.controllers", "io");
    let error = laptop.read(json!({"cpu_weight": 500})).err().unwrap().to_string();
    assert!(error.contains("the cpu controller is in no cgroup hierarchy"), "{error}");
    laptop.put("sys/fs/cgroup/cpu/cpu.shares", "1024");
    let changes = laptop.changes(json!({"cpu_weight": 500}));
    assert_eq!(changes.join().as_deref(), Some("/sys/fs/cgroup/cpu/becalm-weighted/tasks"));
}

#[test]
fn isolation_leaves_somebody_a_cpu() {
    let laptop = Laptop::new();
    for settings in [json!({"isolation": "0-7"}), json!({"isolation": "2", "online_cpus": "2"})] {
        // CPU 0 cannot be taken offline: two stay.
        let result = laptop.read(settings.clone());
        assert_eq!(result.is_err(), settings.get("online_cpus").is_none(), "{settings}");
    }
    let error = laptop.read(json!({"isolation": "0", "online_cpus": "first"})).err().unwrap().to_string();
    assert!(error.contains("none would be left"), "{error}");
    let error =
        laptop.read(json!({"isolation": "last-core", "online_cpus": "first"})).err().unwrap().to_string();
    assert!(error.contains("the CPUs 3,7 go offline by the other settings"), "{error}");
}

#[test]
fn interrupts_keep_away_from_the_isolated_core_or_the_first() {
    let laptop = Laptop::new();
    let alone = spelled(&laptop.changes(json!({"irq_affinity": "away"})));
    assert_eq!(
        alone,
        [
            "irq_affinity /proc/irq/default_smp_affinity=ee",
            "irq_affinity /proc/irq/9/smp_affinity=ee",
            "irq_affinity /proc/irq/120/smp_affinity=ee"
        ]
    );
    let with = laptop.changes(json!({"irq_affinity": "away", "isolation": "2"}));
    assert_eq!(with.writes[0].value, "fb");
    assert!(with.writes[0].required && !with.writes[1].required, "a single interrupt may refuse");
    let kernel = spelled(&laptop.changes(json!({"workqueue_cpus": "1-2"})));
    assert_eq!(kernel, ["workqueue_cpus /sys/devices/virtual/workqueue/cpumask=6"]);
    assert!(laptop.read(json!({"irq_affinity": "9"})).is_err());
}

#[test]
fn services_are_paused_by_number_and_start() {
    let changes = Laptop::new().changes(json!({"services": "pause"}));
    let wanted = Place::Process { pid: 812, start: 81_200, name: "tuned".to_owned() };
    assert_eq!(changes.writes.len(), 1);
    assert_eq!((&changes.writes[0].place, changes.writes[0].value.as_str()), (&wanted, "stopped"));
}

#[test]
fn values_that_the_machine_does_not_list_are_refused() {
    let laptop = Laptop::new();
    for (settings, word) in [
        (json!({"governor": "ondemand"}), "performance, powersave"),
        (json!({"transparent_hugepages": "always"}), ""),
        (json!({"ksm": "off"}), "does not have it"),
        (json!({"online_cpus": "12"}), "0-7"),
    ] {
        let message = laptop.read(settings.clone()).err().map_or(String::new(), |error| error.to_string());
        assert!(message.contains(word) && message.is_empty() == word.is_empty(), "{settings}: {message}");
    }
    assert!(Path::new(&laptop.0).join("sys/devices/system/cpu/cpu1/online").exists());
}
