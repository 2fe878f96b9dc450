//! Targets for files on disk that becalm acts on: whatever they contain, only the machine's directory may
//! change.

use becalm_core::boot::{arm, record};
use becalm_core::knob::tree::Tree;
use becalm_core::knob::{checksum, recover};
use serde_json::{json, Value};
use std::fs;
use std::path::Path;

use crate::class;
use crate::machine::{written, Machine};
use crate::watch::{Changes, Watch};

const SECRET: &[u8] = b"not becalm's";

thread_local! {
    static LAPTOP: Guarded = Guarded::new();
}

/// A machine next to a file of another owner, which is watched.
struct Guarded {
    machine: Machine,
    around: Watch,
}

impl Guarded {
    fn new() -> Self {
        let machine = Machine::new(written("debian"));
        let victim = machine.root().with_file_name("victim");
        fs::write(&victim, SECRET).unwrap_or_else(|error| panic!("{error}"));
        let around = Watch::of_directory(victim.parent().unwrap_or(Path::new("/")));
        fs::write(&victim, SECRET).unwrap_or_else(|error| panic!("{error}"));
        let seen = matches!(around.changes(), Changes::Files(paths) if paths.contains(&victim));
        assert!(seen, "a file outside of the machine is changed, and nobody notices");
        Self { machine, around }
    }

    /// Restore the machine, and discard the changes around it so far.
    fn renewed(&self) -> &Machine {
        self.machine.renew();
        // Recreating the machine causes events, too.
        self.around.changes();
        &self.machine
    }

    /// Panic if something next to the machine was created or changed.
    fn check(&self) {
        match self.around.changes() {
            Changes::Files(paths) => {
                assert!(paths.is_empty(), "files outside of the machine were changed: {paths:?}")
            }
            Changes::More => panic!("a directory was made outside of the machine"),
        }
    }
}

/// Read the journal and restore all of it, including values that others have changed since.
pub fn journal(bytes: &[u8]) -> u64 {
    acted("var/lib/becalm/journal", bytes, |tree| match recover::clear(tree, 1_700_000_000, true) {
        Ok(recovered) => class(&recovered.sentence) ^ recovered.places.len().min(4) as u64,
        Err(error) => class(&error.to_string()),
    })
}

/// Read the record of a boot entry and remove everything it lists.
pub fn boot_record(bytes: &[u8]) -> u64 {
    acted("var/lib/becalm/boot", bytes, |tree| {
        let read = match record::load(tree) {
            Ok(found) => u64::from(found.is_some()),
            Err(error) => class(&error.to_string()),
        };
        let told = arm::status(tree).map_or(0, |status| u64::from(status.is_some()));
        let done = match arm::disarm(tree, true) {
            Ok(places) => places.iter().map(|place| class(&place.error)).fold(0, u64::wrapping_add),
            Err(error) => class(&error.to_string()),
        };
        read ^ told ^ done
    })
}

fn acted(path: &str, bytes: &[u8], act: impl Fn(&Tree) -> u64) -> u64 {
    LAPTOP.with(|laptop| {
        let root = laptop.renewed().root();
        fs::write(root.join(path), signed(bytes)).unwrap_or_else(|error| panic!("{error}"));
        let seen = act(&Tree::new(root));
        laptop.check();
        seen
    })
}

/// Add checksums to lines of JSON, without which all would be rejected; bytes after a leading `#` stay as
/// they are.
fn signed(bytes: &[u8]) -> Vec<u8> {
    if let Some(raw) = bytes.strip_prefix(b"#") {
        return raw.to_vec();
    }
    let line = |line: &[u8]| match serde_json::from_slice::<Value>(line).map(|value| checksum::line(&value)) {
        Ok(Ok(text)) => text.into_bytes(),
        _ => [line, b"\n"].concat(),
    };
    let lines = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    lines.split(|byte| *byte == b'\n').flat_map(line).collect()
}

fn begin() -> Value {
    let boot =
        String::from_utf8_lossy(&written("debian")["proc/sys/kernel/random/boot_id"]).trim().to_owned();
    json!({"boot": boot, "becalm": "0.1.0", "user": "ada", "pid": 812, "title": "tune", "at": 1_699_999_000})
}

fn text(records: &[Value]) -> Vec<u8> {
    records.iter().map(|record| format!("{record}\n")).collect::<String>().into_bytes()
}

/// Return journals with a place of each kind, and some whose paths lead out of the machine.
pub fn journals() -> Vec<Vec<u8>> {
    let places = [
        json!({"kind": "file", "path": "/proc/sys/vm/swappiness"}),
        json!({"kind": "mask", "path": "/proc/irq/16/smp_affinity"}),
        json!({"kind": "swap", "area": "/swap file"}),
        json!({"kind": "process", "pid": 812, "start": 900, "name": "sshd"}),
        json!({"kind": "affinity", "tid": 812, "start": 900}),
        json!({"kind": "cpuset", "path": "/sys/fs/cgroup/becalm", "version": 2, "cpus": [1]}),
        json!({"kind": "controller", "path": "/sys/fs/cgroup/cgroup.subtree_control"}),
        json!({"kind": "file", "path": "/../victim"}),
        json!({"kind": "cpuset", "path": "/../victim"}),
        json!({"kind": "latency"}),
    ];
    let mut first = begin();
    first["record"] = "begin".into();
    let of = |(index, place): (usize, &Value)| {
        text(&[
            first.clone(),
            json!({"record": "place", "index": index, "knob": "swappiness", "place": place, "original": "60", "side_effect": false}),
            json!({"record": "ours", "index": index, "value": "10"}),
            json!({"record": "settled"}),
            json!({"record": "kept", "settings": {"swappiness": "10"}}),
        ])
    };
    places.iter().enumerate().map(of).collect()
}

/// Return records of a boot entry with a write of each kind.
pub fn boot_records() -> Vec<Vec<u8>> {
    let writes = [
        json!({"kind": "directory", "path": "/run/becalm/boot"}),
        json!({"kind": "file", "path": "/etc/systemd/system/becalm.service", "text": "[Unit]\n"}),
        json!({"kind": "link", "path": "/etc/systemd/system/sysinit.target.wants/becalm.service", "target": "../becalm.service"}),
        json!({"kind": "part", "path": "/boot/grub/custom.cfg", "text": "a\nb\n", "first": "a", "last": "b", "created": true}),
        json!({"kind": "variable", "path": "/boot/grub/grubenv", "name": "next_entry", "value": "becalm", "before": null}),
        json!({"kind": "firmware", "path": "/sys/firmware/efi/efivars/LoaderEntryOneShot-x", "value": "becalm"}),
        json!({"kind": "file", "path": "/../victim", "text": "x"}),
    ];
    let plan = |writes: Vec<Value>| {
        json!({"begin": begin(), "plan": {"loader": "GRUB", "entry": "becalm-1", "mark": "0123abcd", "default": "Debian",
            "parameters": ["quiet"], "limit_s": 600, "writes": writes, "remarks": []}})
    };
    let mut plans: Vec<Value> = writes.iter().map(|write| plan(vec![write.clone()])).collect();
    plans.push(plan(writes.to_vec()));
    plans.iter().map(|plan| text(std::slice::from_ref(plan))).collect()
}
