//! The knob of the CPUs of running processes.

use super::super::cpus::{self, Cpus};
use super::super::cpuset_facts;
use super::super::draft::Draft;
use super::super::place::Place;
use super::super::process_list::{self, Asked};
use super::super::row::{Act, Knob};
use super::super::task::start_and_state;
use super::super::threads::{self, Masks};
use super::super::tree::Tree;
use crate::source::pid_stat::PidStat;

/// The knob that binds every thread of some processes to CPUs, within those that the process may use.
#[derive(Debug)]
pub struct ProcessCpus;

impl Act for ProcessCpus {
    fn state(&self, tree: &Tree, knob: &Knob) -> Result<String, String> {
        match tree.numbered("/proc", "").is_empty() {
            true => Err(knob.absent.to_owned()),
            false => Ok(String::new()),
        }
    }

    fn resolve(&self, draft: &mut Draft, knob: &'static Knob, value: &str) -> Result<(), String> {
        if !draft.changes.taken.is_empty() {
            return Err("other settings next to it take CPUs away; set it without them".to_owned());
        }
        for asked in process_list::parse(value).unwrap_or_default() {
            let place = place_of(draft.tree, &asked)?;
            within(draft, &asked, &place)?;
            draft.push(knob.name, place, &cpus::list(&asked.cpus));
        }
        Ok(())
    }
}

/// Return the process, or the reason why none can be bound.
fn place_of(tree: &Tree, asked: &Asked) -> Result<Place, String> {
    const PF_KTHREAD: u64 = 0x0020_0000;
    let pid = asked.pid;
    let missing = || format!("there is no process {pid}");
    let text = tree.read(&format!("/proc/{pid}/stat")).map_err(|_| missing())?;
    let stat = PidStat::parse(text.as_bytes()).ok_or_else(missing)?;
    let (start, _) = start_and_state(tree, pid).ok_or_else(missing)?;
    if asked.start.is_some_and(|wanted| wanted != start) {
        return Err(format!(
            "process {pid} is not the one that was meant: that has ended, and its number is used again"
        ));
    }
    // /proc/TID exists for every thread, and only the number of a process has a list of threads that begins
    // with itself.
    let group = tree.read(&format!("/proc/{pid}/status")).unwrap_or_default();
    let leader = group.lines().find_map(|line| line.strip_prefix("Tgid:")).map(str::trim);
    if let Some(leader) = leader.filter(|leader| *leader != pid.to_string()) {
        return Err(format!("{pid} is a thread of process {leader}; name the process"));
    }
    let name = tree.read(&format!("/proc/{pid}/comm")).unwrap_or_default();
    if stat.at(9).is_some_and(|flags: u64| flags & PF_KTHREAD != 0) {
        return Err(format!("process {pid} ({name}) is a thread of the kernel, which binds it by itself"));
    }
    Ok(Place::Threads { pid, start, name })
}

/// Check that all CPUs are online and that the process may use them, by its cpuset if that is known, else by
/// what it had before becalm bound it.
fn within(draft: &Draft, asked: &Asked, place: &Place) -> Result<(), String> {
    let offline: Cpus = asked.cpus.difference(&draft.online).copied().collect();
    if !offline.is_empty() {
        return Err(format!(
            "of the CPUs {}, {} are not online",
            cpus::list(&asked.cpus),
            cpus::list(&offline)
        ));
    }
    let Place::Threads { pid, start, .. } = place else { return Ok(()) };
    let now =
        || threads::masks(draft.tree, *pid, *start).map_err(|error| format!("{}: {error}", place.shown()));
    let had = (draft.original)(place).and_then(|original| Masks::parse(&original)).map_or_else(now, Ok)?;
    let had: Cpus = had.others.values().flatten().chain(&had.main).copied().collect();
    // A mask is an earlier choice of somebody, and a user who names CPUs chooses anew; a cpuset is a limit.
    let cpuset = cpuset_facts::of_process(draft.tree, *pid).map(|(_, has)| has);
    if asked.cpus.is_subset(&had) || cpuset.is_some_and(|has| asked.cpus.is_subset(&has)) {
        return Ok(());
    }
    Err(format!(
        "{} may use only the CPUs {}, because of its affinity and its cpuset, and not {}. {}",
        place.shown().trim_start_matches("CPUs of "),
        cpus::list(&had),
        cpus::list(&asked.cpus.difference(&had).copied().collect()),
        widening(draft, *pid, &asked.cpus)
    ))
}

/// Explain how a user can give a process these CPUs: by its affinity if its cpuset has them, or by its
/// cpuset.
fn widening(draft: &Draft, pid: i32, wanted: &Cpus) -> String {
    let online = cpus::list(&draft.online);
    match cpuset_facts::of_process(draft.tree, pid) {
        Some((path, has)) if !wanted.is_subset(&has) => format!(
            "Its cpuset {path} has {}; widen that first, of a unit of systemd by: systemctl set-property UNIT \
             AllowedCPUs={online}",
            cpus::list(&has)
        ),
        _ => format!("Widen its affinity first: taskset -acp {online} {pid}"),
    }
}
