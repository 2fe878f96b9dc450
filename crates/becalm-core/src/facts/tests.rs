//! Tests of the facts of the trees in tests/data/hosts against the JSON recorded next to them, and of the
//! same trees damaged.
//!
//! After a wanted change: `BECALM_RECORD=1 cargo test -p becalm-core facts`, then read the difference.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::collect;
use crate::samples::samples;

const HOSTS: &[&str] = &["laptop-intel", "server-amd", "guest-kvm", "container-arm"];

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/hosts")
}

fn ability<'a>(facts: &'a Value, name: &str) -> &'a Value {
    facts["abilities"].as_array().unwrap().iter().find(|each| each["name"] == name).unwrap()
}

#[test]
fn recorded_trees_give_the_recorded_facts() {
    for host in HOSTS {
        let facts = collect(&data().join(host));
        let file = data().join(format!("{host}.facts.json"));
        if std::env::var_os("BECALM_RECORD").is_some() {
            fs::write(&file, serde_json::to_string_pretty(&facts).unwrap() + "\n").unwrap();
        }
        let recorded: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        for (subject, value) in facts.as_object().unwrap() {
            assert_eq!(value, &recorded[subject], "{subject} of {host}");
        }
        assert_eq!(facts.as_object().unwrap().len(), recorded.as_object().unwrap().len());
    }
}

/// Check the rule on which later features rely: an unknown value is null, with a reason under the same name.
fn check_missing(subject: &str, value: &Value) {
    let Some(missing) = value.get("missing").and_then(Value::as_object) else { return };
    for (name, each) in value.as_object().unwrap() {
        if name == "missing" {
            continue;
        }
        if each.is_null() && (subject, name.as_str()) != ("virtualisation", "container") {
            let reason = missing.get(name).and_then(Value::as_str).unwrap_or_default();
            assert!(!reason.is_empty(), "{subject}.{name} is null without a reason");
        } else {
            assert!(!missing.contains_key(name), "{subject}.{name} is known and missing");
        }
        check_missing(name, each);
    }
}

fn check(facts: &Value) {
    for (subject, value) in facts.as_object().unwrap() {
        check_missing(subject, value);
    }
    for each in facts["abilities"].as_array().unwrap() {
        let reason = each["reason"].as_str().unwrap_or_default();
        assert_eq!(each["have"] == true, reason.is_empty(), "{each}");
        assert!(each["have"] != true || each["way_out"].is_null(), "{each}");
    }
}

#[test]
fn nothing_is_null_without_a_reason() {
    for host in HOSTS {
        check(&collect(&data().join(host)));
    }
    check(&collect(Path::new("/")));
    check(&collect(Path::new("/nonexistent")));
}

#[test]
fn ordinary_users_are_advised_to_use_root() {
    let facts = collect(&data().join("laptop-intel"));
    for name in ["frequency_control", "turbo_control", "negative_nice", "drop_caches", "cpu_isolation"] {
        let row = ability(&facts, name);
        assert_eq!(row["have"], false, "{name}");
        assert!(row["way_out"].as_str().unwrap().contains("--sudo"), "{name}");
    }
    assert_eq!(ability(&facts, "run_queue_wait")["have"], true);
}

#[test]
fn containers_are_advised_to_measure_outside() {
    let facts = collect(&data().join("container-arm"));
    assert_eq!(facts["virtualisation"]["container"]["kind"], "Docker");
    for name in ["drop_caches", "cpu_isolation", "own_cgroup"] {
        let row = ability(&facts, name);
        assert_eq!(row["have"], false, "{name}");
        assert!(row["way_out"].as_str().unwrap().contains("container"), "{name}");
    }
}

#[test]
fn an_image_made_from_a_container_is_no_container() {
    let facts = collect(&data().join("guest-kvm"));
    assert!(facts["virtualisation"]["container"].is_null());
    assert_eq!(facts["virtualisation"]["hypervisor"], "KVM");
}

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            files(&entry.path(), found);
        } else {
            found.push(entry.path());
        }
    }
}

#[test]
fn damaged_files_are_reasons_and_no_panic() {
    let huge = vec![0xff; 100_000];
    let digits = "9".repeat(400);
    let damages: &[&[u8]] = &[
        b"",
        b"\0\0\0",
        b"-1\n",
        b"18446744073709551616\n",
        b"0-18446744073709551615,5-1\n",
        b": : :\ncpu\ncpu  \nsome avg10= total=\n[\n]\n",
        b"a b c d e f g h i j\n\n\n0::/../..\n",
        &huge,
        digits.as_bytes(),
    ];
    let root = std::env::temp_dir().join(format!("becalm-facts-{}", std::process::id()));
    for (place, host) in HOSTS.iter().enumerate() {
        let source = data().join(host);
        let mut originals = Vec::new();
        files(&source, &mut originals);
        // By default a third of them is damaged on each host, and all of them on three.
        let step = samples(3, 1);
        for (number, damage) in damages.iter().enumerate().skip(place % step).step_by(step) {
            for (index, original) in originals.iter().enumerate() {
                let copy = root.join(original.strip_prefix(&source).unwrap());
                fs::create_dir_all(copy.parent().unwrap()).unwrap();
                // Each damage hits a different two thirds of the files, so that later parsers are reached as well.
                let whole = fs::read(original).unwrap_or_default();
                let content = match (index + number) % 3 {
                    0 => &whole[..whole.len() / 2],
                    1 => &whole,
                    _ => damage,
                };
                fs::write(copy, content).unwrap();
            }
            check(&collect(&root));
        }
        fs::remove_dir_all(&root).unwrap();
    }
}

#[test]
fn the_tightest_quota_of_both_versions_and_of_all_groups_above_is_ours() {
    let root = std::env::temp_dir().join(format!("becalm-quota-{}", std::process::id()));
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    };
    let limit = || {
        let facts = collect(&root);
        let groups = &facts["cgroups"];
        [&groups["cpu_limit"], &groups["cpu_limit_file"], &groups["cpus"]]
            .map(|fact| fact.as_str().map(str::to_owned))
    };
    let quota = |words: &str, file: &str, cpus: Option<&str>| {
        [Some(words.to_owned()), Some(format!("/sys/fs/cgroup/{file}")), cpus.map(str::to_owned)]
    };
    write("proc/self/cgroup", "3:cpuset:/box\n2:cpu,cpuacct:/pod/box\n0::/");
    write(
        "proc/self/mountinfo",
        "35 31 0:32 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
         36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct",
    );
    for (group, us) in [("", "-1"), ("pod/", "50000"), ("pod/box/", "100000")] {
        write(&format!("sys/fs/cgroup/cpu,cpuacct/{group}cpu.cfs_quota_us"), us);
        write(&format!("sys/fs/cgroup/cpu,cpuacct/{group}cpu.cfs_period_us"), "100000");
    }
    write("sys/fs/cgroup/cpuset/box/cpuset.cpus", "1");
    assert_eq!(limit(), quota("50000 100000", "cpu,cpuacct/pod/cpu.cfs_quota_us", Some("1")));
    write("sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_quota_us", "-1");
    write("sys/fs/cgroup/cpu,cpuacct/pod/box/cpu.cfs_quota_us", "-1");
    assert_eq!(limit(), quota("max 100000", "cpu,cpuacct/pod/box/cpu.cfs_quota_us", Some("1")));

    write("proc/self/cgroup", "0::/pod/box");
    write("proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
    write("sys/fs/cgroup/pod/box/cpu.max", "max 100000");
    write("sys/fs/cgroup/pod/cpu.max", "25000 50000");
    assert_eq!(limit(), quota("25000 50000", "pod/cpu.max", None));
    fs::remove_dir_all(root).unwrap();
}
