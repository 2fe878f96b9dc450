//! The settings that may be written as root, and their values: the allow-list of requests and journals.
//! Nothing else is trusted for this, so the list repeats the catalogue of settings, and a test compares the
//! two.

mod rows;
mod values;

use serde::{Deserialize, Serialize};

pub use self::rows::{FEATURE, FEATURES, ROWS, SERVICES, SETS, SIDE_EFFECTS};
use self::values::is_list;
pub use self::values::AllowedValues;
use crate::cpuset::{is_cpus_file, Cpuset};
use crate::features;
use crate::interrupt;
use crate::place::{Place, KEEPER};
use crate::swap;
use crate::task::start_and_state;
use crate::tree::Tree;
use crate::weight::Weighted;

/// The target of a request: one of a knob's rows, and the names that replace its `*` or distinguish its
/// places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteRequest {
    pub knob: String,
    #[serde(default)]
    pub row: usize,
    #[serde(default)]
    pub names: Vec<String>,
    pub value: String,
    /// Whether the setting fails when this write does.
    #[serde(default = "yes")]
    pub required: bool,
}

fn yes() -> bool {
    true
}

/// Return the rows of a knob.
pub fn rows(knob: &str) -> impl Iterator<Item = &'static rows::Row> + '_ {
    let of = if feature(knob).is_some() { FEATURE } else { knob };
    ROWS.iter().filter(move |(name, _, _)| *name == of && knob != FEATURE)
}

/// Return the kernel's name of the feature that a knob switches.
fn feature(knob: &str) -> Option<&'static str> {
    let name = knob.strip_prefix(FEATURE)?.to_ascii_uppercase();
    FEATURES.iter().copied().find(|feature| *feature == name)
}

/// Return whether a value stands for another one that only the kernel knows, and which may be the present
/// one.
pub fn asks_for_default(knob: &str, value: &str) -> bool {
    value == "0" && rows(knob).any(|(_, _, values)| matches!(values, AllowedValues::Default(..)))
}

/// Return the place that is requested; None if it is not in the table, or does not exist.
pub fn place(tree: &Tree, write_request: &WriteRequest) -> Option<Place> {
    let (_, at, _) = rows(&write_request.knob)
        .nth(write_request.row)
        .filter(|(_, _, values)| values.holds(&write_request.value))?;
    let names: Vec<&str> = write_request.names.iter().map(String::as_str).collect();
    match (*at, names.as_slice()) {
        (path, []) if feature(&write_request.knob).is_some() => {
            Some(Place::Feature { path: path.to_owned(), name: feature(&write_request.knob)?.to_owned() })
        }
        (path, names) if path.starts_with('/') => file(tree, path, names),
        ("latency", []) => Some(Place::Latency),
        ("swap area", [area]) => {
            let on = swap::areas(tree).ok()?.iter().any(|(name, _)| name == area);
            on.then(|| Place::Swap { area: (*area).to_owned() })
        }
        ("service", [pid, name]) => {
            let pid = pid.parse().ok().filter(|pid| SERVICES.contains(name) && runs(tree, *pid, name))?;
            let (start, _) = start_and_state(tree, pid)?;
            Some(Place::Process { pid, start, name: (*name).to_owned() })
        }
        ("process", [pid, start]) => {
            let (pid, start) = (pid.parse().ok().filter(|pid| *pid > 0)?, start.parse().ok()?);
            let name = tree.read(&format!("/proc/{pid}/comm")).unwrap_or_default();
            Some(Place::Threads { pid, start, name })
        }
        ("cpuset isolated" | "cpuset rest", [version, cpus, mems]) => {
            let [cpus, mems] = [*cpus, *mems].map(str::to_owned);
            let set = Cpuset { version: version.parse().ok()?, cpus, mems, gather: *at == "cpuset rest" };
            Some(Place::Cpuset(set)).filter(permits)
        }
        ("weighted", [version]) => {
            Some(Place::Weighted(Weighted { version: version.parse().ok()? })).filter(permits)
        }
        (at, []) => at.strip_prefix("controller ").map(|name| Place::Controller { name: name.to_owned() }),
        _ => None,
    }
}

/// Return the places of a row of `SIDE_EFFECTS`, which change with others; without names, all that exist.
pub fn side_effects(tree: &Tree, row: usize, names: &[String]) -> Option<Vec<Place>> {
    let pattern = SIDE_EFFECTS.get(row)?;
    if names.is_empty() {
        return Some(places(tree, &[pattern]).collect());
    }
    file(tree, pattern, &names.iter().map(String::as_str).collect::<Vec<_>>()).map(|place| vec![place])
}

/// Return a file of a pattern.
fn file(tree: &Tree, pattern: &str, names: &[&str]) -> Option<Place> {
    let mut names_left = names.iter();
    let mut parts = pattern.split('*');
    let mut path = parts.next()?.to_owned();
    for part in parts {
        path = path + names_left.next()? + part;
    }
    let same = names_in(pattern, &path).is_some_and(|found| found == names);
    same.then(|| of_file(tree, path))
}

/// Return the place of a file: files of CPUs hold masks.
fn of_file(tree: &Tree, path: String) -> Place {
    let arrival =
        path.strip_prefix("/proc/irq/").and_then(|rest| rest.strip_suffix("/effective_affinity_list"));
    match arrival.and_then(|irq| irq.parse().ok()) {
        Some(irq) => Place::Arrival { irq, device: interrupt::device(tree, irq) },
        None if ["/cpumask", "_cpus", "smp_affinity"].iter().any(|end| path.ends_with(end)) => {
            Place::Mask { path }
        }
        None => Place::File { path },
    }
}

/// Return the names that replace each `*` of a pattern in this path; None for a path of another pattern.
pub fn names_in<'a>(pattern: &str, path: &'a str) -> Option<Vec<&'a str>> {
    if pattern == SETS {
        let (begin, end) = SETS.split_once('*')?;
        return is_cpus_file(path)
            .then(|| path.strip_prefix(begin)?.strip_suffix(end))
            .flatten()
            .map(|set| vec![set]);
    }
    let (mut parts, mut names) = (pattern.split('/'), path.split('/'));
    let mut found = Vec::new();
    loop {
        match (parts.next(), names.next()) {
            (None, None) => return Some(found),
            (Some(part), Some(name)) if part == name => {}
            (Some(part), Some(name)) => found.push(star(part, name)?),
            _ => return None,
        }
    }
}

/// Return the name that replaces the `*` in a part of a pattern.
fn star<'a>(part: &str, name: &'a str) -> Option<&'a str> {
    let (begin, end) = part.split_once('*')?;
    let found = name.strip_prefix(begin)?.strip_suffix(end)?;
    (!matches!(name, "" | "." | "..")).then_some(found)
}

/// Return whether some setting writes this place, or it changes with one: a journal that names others is not
/// becalm's.
pub fn permits(place: &Place) -> bool {
    match place {
        Place::File { path } | Place::Mask { path } => {
            let all = ROWS.iter().map(|(_, path, _)| path).chain(SIDE_EFFECTS);
            all.into_iter().any(|pattern| names_in(pattern, path).is_some())
        }
        Place::Feature { path, name } => {
            features::FILES.contains(&path.as_str()) && FEATURES.contains(&name.as_str())
        }
        // Any area that was on: it is only switched on or off.
        Place::Swap { area } => area.starts_with('/') && !area.split('/').any(|name| name == ".."),
        Place::Process { name, .. } => name == KEEPER || SERVICES.contains(&name.as_str()),
        Place::Threads { pid, .. } => *pid > 0,
        Place::Cpuset(set) => matches!(set.version, 1 | 2) && is_list(&set.cpus) && is_list(&set.mems),
        Place::Weighted(group) => matches!(group.version, 1 | 2),
        Place::Controller { name } => matches!(name.as_str(), "cpuset" | "cpu"),
        Place::Affinity { .. } | Place::Arrival { .. } | Place::Member { .. } | Place::Latency => true,
    }
}

/// Return the places of a machine that match one of these patterns.
pub fn places<'a>(tree: &'a Tree, patterns: &[&str]) -> impl Iterator<Item = Place> + 'a {
    let mut all = Vec::new();
    for pattern in patterns {
        let mut paths = vec![String::new()];
        for part in pattern.trim_start_matches('/').split('/') {
            paths = paths.iter().flat_map(|path| below(tree, path, part)).collect();
        }
        let writable = |path: &String| tree.mode(path).is_ok_and(|mode| mode & 0o200 != 0);
        all.extend(paths.into_iter().filter(writable));
    }
    all.into_iter().map(|path| of_file(tree, path))
}

fn below(tree: &Tree, directory: &str, part: &str) -> Vec<String> {
    if !part.contains('*') {
        return vec![format!("{directory}/{part}")];
    }
    let mut names = tree.names(directory);
    names.retain(|name| star(part, name).is_some());
    names.into_iter().map(|name| format!("{directory}/{name}")).collect()
}

/// Return whether a process is a program of this name; the kernel stores 15 bytes of it (proc_pid_comm(5)),
/// and a script has the name of its interpreter.
pub fn runs(tree: &Tree, pid: i32, name: &str) -> bool {
    let comm = tree.read(&format!("/proc/{pid}/comm")).unwrap_or_default();
    if comm == name.get(..15).unwrap_or(name) {
        return true;
    }
    let line = tree.bytes(&format!("/proc/{pid}/cmdline")).unwrap_or_default();
    comm.starts_with("python") && is_script(&line, name)
}

/// Return whether an interpreter's command line (arguments that end with zero) runs a script or module of
/// this name.
pub fn is_script(command_line: &[u8], name: &str) -> bool {
    let mut words = command_line.split(|byte| *byte == 0).map(String::from_utf8_lossy).skip(1);
    match words.find(|word| *word == "-m" || !word.starts_with('-')) {
        Some(word) if word == "-m" => {
            words.next().is_some_and(|module| module.split('.').next() == Some(name))
        }
        Some(script) => script.rsplit('/').next().map(|file| file.trim_end_matches(".py")) == Some(name),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn matches(patterns: &[&str], path: &str) -> bool {
        patterns.iter().any(|pattern| names_in(pattern, path).is_some())
    }

    #[test]
    fn a_pattern_stands_for_names_not_for_directories() {
        let patterns = &["/sys/cpu/cpu*/cpufreq/boost", "/a/*"];
        assert!(matches(patterns, "/sys/cpu/cpu12/cpufreq/boost"));
        assert!(matches(patterns, "/a/b"));
        for path in
            ["/sys/cpu/cpu1/x/cpufreq/boost", "/sys/cpu/cpu1/cpufreq/boost/x", "/a", "/a/", "/a/..", "/a/b/c"]
        {
            assert!(!matches(patterns, path), "{path}");
        }
    }

    #[test]
    fn files_are_those_that_are_there_and_can_be_written() {
        let root = std::env::temp_dir().join(format!("becalm-moved-{}", std::process::id()));
        for (path, mode) in [
            ("cpu0/x/boost", 0o644),
            ("cpu10/x/boost", 0o644),
            ("cpu2/x/boost", 0o444),
            ("id/x/boost", 0o644),
        ] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "1\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let tree = Tree::new(&root);
        let found: Vec<String> =
            places(&tree, &["/cpu*/x/boost", "/no/*"]).map(|place| place.shown()).collect();
        assert_eq!(found, ["/cpu0/x/boost", "/cpu10/x/boost"]);
        fs::remove_dir_all(root).unwrap();
    }
}
