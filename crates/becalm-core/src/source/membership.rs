//! The place of a process's control groups in the file system: `/proc/PID/cgroup` matched with
//! `/proc/PID/mountinfo` (cgroups(7), proc_pid_mountinfo(5)).

use super::bytes::{lines, split_once, Words};
use super::file::{Buffer, Kept, Place, Reason};

/// One control group of the process.
#[derive(Debug, PartialEq, Eq)]
pub struct Group {
    /// Its controllers, in version 1; empty in version 2.
    pub controllers: Vec<String>,
    /// Its directory, without the leading slash.
    pub directory: String,
    /// The mount point of its hierarchy, without the leading slash.
    pub mount: String,
}

/// The control groups of the process, which are found again when they change.
pub struct Membership {
    cgroup: Kept,
    mounts: Kept,
    /// The content of `/proc/PID/cgroup` when they were found.
    found_for: Option<Vec<u8>>,
    groups: Vec<Group>,
}

impl Membership {
    /// Create the list, without opening anything yet.
    pub fn new(place: &Place) -> Self {
        let (cgroup, mounts) = (place.own("cgroup"), place.own("mountinfo"));
        Self { cgroup, mounts, found_for: None, groups: Vec::new() }
    }

    /// Return the groups as last found.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Return the groups as last found, for a caller that needs them once.
    pub fn take(self) -> Vec<Group> {
        self.groups
    }

    /// Check whether they are still the same; return true when they were found anew.
    pub fn refresh(&mut self, buffer: &mut Buffer) -> Result<bool, Reason> {
        let text = self.cgroup.read(buffer)?;
        if self.found_for.as_deref() == Some(text) {
            return Ok(false);
        }
        let text = text.to_vec();
        let mounts = self.mounts.read(buffer)?;
        self.groups = lines(&text).filter_map(|line| group(line, mounts)).collect();
        self.found_for = Some(text);
        Ok(true)
    }
}

/// Parse a line "4:memory:/path" or "0::/path"; None if its hierarchy is not mounted for this process.
fn group(line: &[u8], mounts: &[u8]) -> Option<Group> {
    let (_, rest) = split_once(line, b':')?;
    let (controllers, path) = split_once(rest, b':')?;
    let path = std::str::from_utf8(path).ok()?;
    let controllers = std::str::from_utf8(controllers).ok()?;
    let (mount, directory) = lines(mounts).find_map(|mount| below(mount, controllers, path))?;
    let controllers = controllers.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    Some(Group { controllers, directory, mount })
}

/// Return a mount and the place below it of a group of its hierarchy: "31 23 0:28 ROOT POINT rw shared:7 -
/// cgroup cgroup rw,memory".
fn below(mount: &[u8], controllers: &str, path: &str) -> Option<(String, String)> {
    let mut words = Words(mount);
    let root = unescaped(words.nth(3)?)?;
    let point = unescaped(words.next()?)?;
    let kind = words.by_ref().skip_while(|word| *word != b"-").nth(1)?;
    let options = std::str::from_utf8(words.nth(1)?).ok()?;
    let right = match controllers {
        "" => kind == b"cgroup2",
        _ => kind == b"cgroup" && controllers.split(',').all(|name| options.split(',').any(|o| o == name)),
    };
    // A mount shows the tree from ROOT on: in a container the path may begin with the container's own group.
    let inside = match root.as_str() {
        "/" => path,
        root => path.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'))?,
    };
    if !right || inside.split('/').any(|part| part == "..") {
        return None;
    }
    let directory = format!("{point}{inside}").trim_matches('/').to_owned();
    Some((point.trim_matches('/').to_owned(), directory))
}

/// Return the mount points of a kind of file system, from mountinfo.
pub fn mount_points(mounts: &[u8], kind: &[u8]) -> Vec<String> {
    let point = |mount: &[u8]| {
        let mut words = Words(mount);
        let point = unescaped(words.nth(4)?)?;
        (words.skip_while(|word| *word != b"-").nth(1)? == kind).then_some(point)
    };
    lines(mounts).filter_map(point).collect()
}

/// Decode a path of mountinfo, where blanks are written in octal.
fn unescaped(word: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(word).ok()?;
    Some(text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &[u8] = b"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
        35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 master:2 - cgroup cgroup rw,memory\n\
        36 31 0:33 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
        41 31 0:38 / /sys/fs/cgroup/my\\040groups rw - cgroup2 cgroup2 rw\n";

    fn directory(line: &str) -> Option<String> {
        group(line.as_bytes(), MOUNTS).map(|group| group.directory)
    }

    #[test]
    fn groups_of_both_versions_are_found_below_their_mounts() {
        assert_eq!(directory("4:memory:/a/b").as_deref(), Some("sys/fs/cgroup/memory/a/b"));
        assert_eq!(directory("0::/").as_deref(), Some("sys/fs/cgroup/my groups"));
        assert_eq!(directory("1:cpu,cpuacct:/docker/abc/x").as_deref(), Some("sys/fs/cgroup/cpu,cpuacct/x"));
        assert_eq!(directory("1:cpu,cpuacct:/docker/abcd"), None, "another container");
        assert_eq!(directory("0::/../else"), None, "outside of the namespace");
        assert_eq!(directory("5:devices:/"), None, "not mounted");
        assert_eq!(mount_points(MOUNTS, b"cgroup2"), ["/sys/fs/cgroup/my groups"]);
        for bad in ["", "4", "4:memory", "::", "\u{fffd}"] {
            assert!(directory(bad).is_none() || bad == "::", "{bad}");
        }
    }
}
