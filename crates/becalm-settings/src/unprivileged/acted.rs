//! The effect of giving a place a value, on a directory that looks like a machine: changes to the files that show it.

use std::io;

use crate::controller::CONTROL;
use crate::cpus::{self, Cpus};
use crate::cpuset::{self, hierarchy, members, others, tasks, Cpuset, ABSENT, V1};
use crate::features::shown;
use crate::member::{of_task, task_file, tasks_of};
use crate::place::{Place, LATENCY};
use crate::swap::{self, unescape, SWAPS};
use crate::task::{allowed, process_state, same_task, GONE, STOPPED};
use crate::tree::Tree;
use crate::weight::Weighted;

/// Act as the kernel does when a place is set to a value; None for those that are only a file.
pub fn act(tree: &Tree, place: &Place, value: &str) -> Option<io::Result<()>> {
    Some(match place {
        Place::Feature { path, name } => feature(tree, path, name, value),
        Place::Swap { area } => swap_area(tree, area, value),
        Place::Process { pid, start, .. } if process_state(tree, *pid, *start) == GONE => Ok(()),
        Place::Process { pid, .. } => play_state(tree, *pid, value),
        Place::Affinity { tid, .. } => play_affinity(tree, *tid, value),
        Place::Member { tid, start } => match same_task(tree, *tid, *start) {
            Ok(()) => played_join(tree, *tid, value),
            Err(_) => Ok(()),
        },
        Place::Cpuset(set) => cpuset_of_ours(tree, set, value),
        Place::Weighted(group) => weighted(tree, group, value),
        Place::Controller { name } => switch(tree, name, value == "on"),
        Place::Latency => match value.parse::<i32>() {
            Ok(number) => tree.replace(LATENCY, &number.to_ne_bytes()),
            Err(_) => Err(io::Error::from_raw_os_error(libc::EINVAL)),
        },
        Place::File { .. } | Place::Mask { .. } | Place::Threads { .. } | Place::Arrival { .. } => {
            return None
        }
    })
}

/// Change the word in the file of all features; its white space stays.
fn feature(tree: &Tree, path: &str, name: &str, value: &str) -> io::Result<()> {
    let word = if value == "on" { name.to_owned() } else { format!("NO_{name}") };
    let text = String::from_utf8_lossy(&tree.bytes(path)?).into_owned();
    if shown(&text, name).is_none() {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let spelled = |part: &str| match shown(part, name) {
        Some(_) => part.replace(part.trim(), &word),
        None => part.to_owned(),
    };
    tree.replace(path, text.split_inclusive(' ').map(spelled).collect::<String>().as_bytes())
}

/// Change the list of controllers that are passed on.
fn switch(tree: &Tree, name: &str, on: bool) -> io::Result<()> {
    let text = tree.read(CONTROL)?;
    let others = text.split_ascii_whitespace().filter(|other| *other != name);
    let names: Vec<&str> = others.chain(on.then_some(name)).collect();
    tree.write(CONTROL, &names.join(" "))
}

/// Make or remove a cpuset's directory with its files, which the kernel creates and removes with it.
fn cpuset_of_ours(tree: &Tree, set: &Cpuset, value: &str) -> io::Result<()> {
    let (path, above) = (set.path(), hierarchy(set.version));
    if value == ABSENT {
        return match set.read(tree) {
            ABSENT => Ok(()),
            _ => dissolve(tree, &path, above, set.version, cpuset::FILES),
        };
    }
    make_directory(tree, &path)?;
    let kind = (set.version == 2).then_some(("cpuset.cpus.partition", "isolated"));
    for (file, text) in
        [("cpuset.cpus", set.cpus.as_str()), ("cpuset.mems", &set.mems)].into_iter().chain(kind)
    {
        tree.replace(&format!("{path}/{file}"), format!("{text}\n").as_bytes())?;
    }
    match set.gather {
        true => move_tasks(tree, above, &path, set.version),
        false => Ok(()),
    }
}

/// Make or remove a group with a weight, likewise.
fn weighted(tree: &Tree, group: &Weighted, value: &str) -> io::Result<()> {
    let (path, above) = (group.path(), group.above());
    if value == ABSENT {
        return match tree.is_directory(&path) {
            true => dissolve(tree, &path, above, group.version, &[group.name()]),
            false => Ok(()),
        };
    }
    let number = group.spelled(value)?;
    make_directory(tree, &path)?;
    tree.replace(&format!("{path}/{}", group.name()), format!("{number}\n").as_bytes())
}

fn make_directory(tree: &Tree, path: &str) -> io::Result<()> {
    match tree.make_directory(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Move the tasks of a group to another one and remove it with its files.
fn dissolve(tree: &Tree, group: &str, into: &str, version: u8, files: &[&str]) -> io::Result<()> {
    move_tasks(tree, group, into, version)?;
    for file in files.iter().chain(&[members(version)]) {
        drop(tree.remove_file(&format!("{group}/{file}")));
    }
    tree.remove_directory(group)
}

/// Move tasks in this order: a move that another restorer has just made must not be undone.
fn move_tasks(tree: &Tree, from: &str, to: &str, version: u8) -> io::Result<()> {
    let come = tasks(tree, from, version);
    if come.is_empty() {
        return Ok(());
    }
    let mut all = tasks(tree, to, version);
    all.extend(come.into_iter().filter(|task| !all.contains(task)).collect::<Vec<_>>());
    let lines: String = all.iter().map(|task| format!("{task}\n")).collect();
    tree.replace(&format!("{to}/{}", members(version)), lines.as_bytes())?;
    tree.replace(&format!("{from}/{}", members(version)), b"")
}

/// Change the lines of `/proc/swaps`.
fn swap_area(tree: &Tree, area: &str, value: &str) -> io::Result<()> {
    if swap::read(tree, area)? == value {
        return Ok(());
    }
    let text = tree.read(SWAPS)?;
    let first = |line: &str| line.split_ascii_whitespace().next().map(unescape);
    let mut lines: Vec<String> =
        text.lines().filter(|line| first(line).as_deref() != Some(area)).map(str::to_owned).collect();
    if value != swap::OFF {
        lines.push(format!("{}\tpartition\t1048572\t0\t{value}", escape(area)));
    }
    tree.write(SWAPS, &lines.join("\n"))
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\134").replace(' ', "\\040").replace('\t', "\\011").replace('\n', "\\012")
}

/// Change the state letter in the recorded stat file.
fn play_state(tree: &Tree, pid: i32, wanted: &str) -> io::Result<()> {
    let path = format!("/proc/{pid}/stat");
    let text = tree.read(&path)?;
    let Some((head, rest)) = text.rsplit_once(") ") else { return Ok(()) };
    let letter = match wanted {
        STOPPED => "T",
        GONE => "X",
        _ => "S",
    };
    // Not as a value: its brackets are not a choice.
    tree.replace(&path, format!("{head}) {letter}{}\n", rest.get(1..).unwrap_or_default()).as_bytes())
}

/// Change the list in the recorded status file.
pub fn play_affinity(tree: &Tree, tid: i32, value: &str) -> io::Result<()> {
    let path = format!("/proc/{tid}/status");
    let text = tree.read(&path)?;
    let line = |line: &str| match line.starts_with("Cpus_allowed_list:") {
        true => format!("Cpus_allowed_list:\t{value}\n"),
        false => format!("{line}\n"),
    };
    tree.replace(&path, text.lines().map(line).collect::<String>().as_bytes())
}

/// Move a task from one list to another and change its own files. The kernel does that at once; we do it file
/// by file and may be killed between two of them. Until all is done the task's own file, by which restorers
/// decide, shows that the move is still to come.
fn played_join(tree: &Tree, tid: i32, set: &str) -> io::Result<()> {
    let from = of_task(tree, tid)?;
    listed(tree, tid, &from, set)?;
    belongs(tree, tid, set)
}

/// Let a task fall out of its set. Its own file shows that first, so that a restorer brings it back wherever
/// this is cut off.
fn played_fall(tree: &Tree, tid: i32, set: &str) -> io::Result<()> {
    let from = of_task(tree, tid)?;
    belongs(tree, tid, set)?;
    listed(tree, tid, &from, set)
}

/// Write into the task's own file which set it is in.
fn belongs(tree: &Tree, tid: i32, set: &str) -> io::Result<()> {
    lines(tree, &format!("/proc/{tid}/cgroup"), |line| !line.contains(":cpuset:"), &format!("1:cpuset:{set}"))
}

/// Move a task from the list of one set to that of another. Then it may use the CPUs of the set, and in the
/// root set all possible CPUs (cpuset_attach in kernel/cgroup/cpuset.c).
fn listed(tree: &Tree, tid: i32, from: &str, set: &str) -> io::Result<()> {
    let cpus = match set {
        "/" => cpus::list(&tree.cpus().0),
        set => tree.read(&format!("{V1}{set}/cpuset.cpus"))?,
    };
    if cpus.is_empty() {
        return Err(io::Error::from_raw_os_error(libc::ENOSPC));
    }
    let word = tid.to_string();
    lines(tree, &task_file(from), |line| line != word, "")?;
    lines(tree, &task_file(set), |line| line != word, &word)?;
    play_affinity(tree, tid, &cpus)
}

/// Filter the lines of a file and add one, unless it is empty, as the kernel lists tasks.
fn lines(tree: &Tree, file: &str, keep: impl Fn(&str) -> bool, more: &str) -> io::Result<()> {
    let text = tree.read(file)?;
    let mut kept: Vec<&str> =
        text.lines().filter(|line| keep(line)).chain((!more.is_empty()).then_some(more)).collect();
    kept.sort_by_key(|line| line.parse::<i32>().unwrap_or_default());
    tree.replace(file, kept.iter().map(|line| format!("{line}\n")).collect::<String>().as_bytes())
}

/// Change sets and tasks as the kernel does when only these CPUs are left.
pub fn played_offline(tree: &Tree, online: &Cpus) -> io::Result<()> {
    for pid in tree.numbered("/proc", "") {
        let status = tree.read(&format!("/proc/{pid}/status")).unwrap_or_default();
        let bound = allowed(&status).and_then(cpus::parse).unwrap_or_default();
        if !bound.is_empty() && bound.is_disjoint(online) {
            // select_fallback_rq in kernel/sched/core.c.
            play_affinity(tree, pid as i32, &cpus::list(&tree.cpus().0))?;
        }
    }
    for (file, held) in others(tree).into_iter().rev() {
        let left: Cpus = held.intersection(online).copied().collect();
        if left == held {
            continue;
        }
        tree.replace(&file, format!("{}\n", cpus::list(&left)).as_bytes())?;
        if left.is_empty() {
            let set = file.trim_start_matches(V1).trim_end_matches("/cpuset.cpus").to_owned();
            let above = set.rsplit_once('/').map_or("", |(above, _)| above);
            let above = if above.is_empty() { "/" } else { above };
            for tid in tasks_of(tree, &file) {
                played_fall(tree, tid, above)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_spaces_survive() {
        for name in ["/swap file", "/a\\b", "/plain"] {
            assert_eq!(unescape(&escape(name)), name);
        }
        assert_eq!(unescape("/x\\"), "/x\\");
    }
}
