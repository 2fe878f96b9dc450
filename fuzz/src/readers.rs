//! Targets for files of kernels, firmware and boot loaders. The first two bytes of an input select the file,
//! and the rest replaces its content.

use becalm_core::boot::loader;
use becalm_core::boot::plan::Request;
use becalm_core::facts::collect;
use becalm_core::knob::catalogue::CATALOGUE;
use becalm_core::knob::tree::Tree;
use becalm_core::source::file::Place;
use becalm_core::source::process::Process;
use becalm_core::source::processes::Processes;
use becalm_core::source::snapshot::{difference, Snapshot};
use becalm_core::source::Reader;
use std::collections::BTreeMap;

use crate::machine::{project, recorded, written, Machine};
use crate::{class, digest};

type Files = BTreeMap<String, Vec<u8>>;

const BOOT: [&str; 3] = ["debian", "fedora", "systemd-boot"];
const LOAD: [&str; 3] = ["desktop-6.1", "guest-6.18", "server-4.18"];
const HOSTS: [&str; 4] = ["container-arm", "guest-kvm", "laptop-intel", "server-amd"];

/// Path prefixes of `written` that only live settings read.
const NOT_FOR_BOOT: [&str; 4] = ["proc/812", "proc/815", "sys/devices", "proc/irq"];

fn of_boot(name: &str) -> Files {
    let mut files = written(name);
    files.retain(|name, _| !NOT_FOR_BOOT.iter().any(|start| name.starts_with(start)));
    files
}

fn of_load(name: &str) -> Files {
    recorded(&project().join("tests/data/load").join(name))
}

fn of_host(name: &str) -> Files {
    recorded(&project().join("tests/data/hosts").join(name))
}

thread_local! {
    static BOOTS: Vec<Machine> = BOOT.iter().map(|name| Machine::new(of_boot(name))).collect();
    static LOADS: Vec<Machine> = LOAD.iter().map(|name| Machine::new(of_load(name))).collect();
    static RECORDED: Vec<Machine> = HOSTS.iter().map(|name| Machine::new(of_host(name))).collect();
}

/// Return the inputs that replace files by their own content.
fn seeds(machines: impl Iterator<Item = Files>) -> Vec<Vec<u8>> {
    let all = machines.flat_map(BTreeMap::into_values).enumerate();
    all.map(|(index, bytes)| [&(index as u16).to_le_bytes()[..], &bytes].concat()).collect()
}

pub fn boot_seeds() -> Vec<Vec<u8>> {
    seeds(BOOT.iter().map(|name| of_boot(name)))
}

pub fn load_seeds() -> Vec<Vec<u8>> {
    seeds(LOAD.iter().map(|name| of_load(name)))
}

pub fn fact_seeds() -> Vec<Vec<u8>> {
    seeds(HOSTS.iter().map(|name| of_host(name)))
}

/// Read a machine while one of its files is replaced.
fn with_another_file(
    machines: &[Machine],
    bytes: &[u8],
    read: impl FnOnce(&Machine, &dyn Fn()) -> u64,
) -> u64 {
    let Some((which, text)) = bytes.split_first_chunk::<2>() else { return 0 };
    let files: usize = machines.iter().map(Machine::len).sum();
    let mut index = usize::from(u16::from_le_bytes(*which)) % files;
    for machine in machines {
        if index < machine.len() {
            let seen = read(machine, &|| machine.put(index, text));
            machine.undo(index);
            return seen.wrapping_add(index as u64);
        }
        index -= machine.len();
    }
    unreachable!()
}

/// Make a plan for one boot, or fail with a reason.
pub fn boot_loader(bytes: &[u8]) -> u64 {
    let request = Request {
        parameters: vec!["nosmt".to_owned(), "a=b c".to_owned()],
        limit_s: 600,
        mark: "0123abcd".to_owned(),
    };
    BOOTS.with(|machines| {
        with_another_file(machines, bytes, |machine, change| {
            change();
            match loader::plan(&Tree::new(machine.root()), &request) {
                Ok(plan) => class(&plan.remarks.concat()).wrapping_add(plan.writes.len() as u64),
                Err(error) => class(&error.to_string()),
            }
        })
    })
}

/// Read load sources before and after a file changes, and compute the differences.
pub fn load_sources(bytes: &[u8]) -> u64 {
    LOADS.with(|machines| {
        with_another_file(machines, bytes, |machine, change| {
            let place = Place::new(machine.root());
            let mut reader = Reader::all(&place);
            let (before, then) = (reader.snapshot(), Processes::read(&place));
            change();
            let after = reader.snapshot();
            drop((difference(&before, &after), difference(&after, &before)));
            let busy = Processes::read(&place).since(&then, 5, &[1]).len();
            let process = Process::new(&machine.root().join("proc/self"), true).read().is_ok();
            shape(&after).wrapping_add(busy as u64).wrapping_add(u64::from(process))
        })
    })
}

fn shape(snapshot: &Snapshot) -> u64 {
    let of = |section: &becalm_core::source::snapshot::Section| {
        let absent = section.absent().map_or(0, |reason| class(&reason));
        absent ^ u64::from((snapshot.named(section).count() as u64).leading_zeros()) ^ class(section.name)
    };
    snapshot.sections.iter().map(of).fold(0, |sum, one| sum.wrapping_mul(31).wrapping_add(one))
}

/// Collect the facts about a machine and the state of each setting.
pub fn facts(bytes: &[u8]) -> u64 {
    RECORDED.with(|machines| {
        with_another_file(machines, bytes, |machine, change| {
            change();
            let tree = Tree::new(machine.root());
            let states = CATALOGUE.iter().map(|knob| match knob.act.state(&tree, knob) {
                Ok(_) => 1,
                Err(reason) => class(&reason),
            });
            let known = digest(collect(machine.root())["abilities"].to_string().as_bytes());
            states.fold(known, |sum, one| sum.wrapping_mul(31).wrapping_add(one))
        })
    })
}
