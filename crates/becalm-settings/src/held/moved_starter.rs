//! The process that starts programs, moved into the group that settings create for them, so that they begin
//! there.
//!
//! A program that moved there by itself would wait each time until all CPUs have passed through the scheduler
//! (`hold::haste`).

use std::io;

use crate::tree::Tree;

/// A process in a group that is not its own.
pub struct MovedStarter {
    pid: libc::pid_t,
    /// Task files: of the group where it was, and of the root of that hierarchy.
    back: [String; 2],
}

impl MovedStarter {
    /// Move a process into the group of a task file, which is directly below the root of its hierarchy.
    pub fn enter(tree: &Tree, pid: libc::pid_t, tasks: &str) -> io::Result<Self> {
        let back = back(tree, pid, tasks).ok_or_else(|| io::Error::from_raw_os_error(libc::ENODATA))?;
        tree.write(tasks, &pid.to_string())?;
        Ok(Self { pid, back })
    }

    /// Return whether this is the process with this number.
    pub fn has_pid(&self, pid: libc::pid_t) -> bool {
        self.pid == pid
    }

    /// Move it back to its group, or to the root if that group is gone.
    pub fn leave(self, tree: &Tree) {
        // If the process has ended, nobody is left in the group. The move may fail: whatever removes the
        // group moves its members.
        let _ = self.back.iter().find(|tasks| tree.write(tasks, &self.pid.to_string()).is_ok());
    }
}

/// Return the task files of a process's group in the hierarchy of `tasks`, and of its root
/// (proc_pid_cgroup(5)).
fn back(tree: &Tree, pid: libc::pid_t, tasks: &str) -> Option<[String; 2]> {
    let (group, file) = tasks.rsplit_once('/')?;
    let (root, _) = group.rsplit_once('/')?;
    let (_, controller) = root.rsplit_once('/')?;
    let text = tree.read(&format!("/proc/{pid}/cgroup")).ok()?;
    let own = text.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let second = controllers.is_empty() && file == "cgroup.procs";
        let first = file == "tasks" && controllers.split(',').any(|name| name == controller);
        (first || second).then_some(path)
    })?;
    Some([format!("{root}{}/{file}", own.trim_end_matches('/')), format!("{root}/{file}")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_back_to_its_group_in_the_same_hierarchy_or_to_the_root() {
        let root = std::env::temp_dir().join(format!("becalm-moved-starter-{}", std::process::id()));
        let tree = Tree::new(&root);
        let put = |path: &str, text: &str| {
            std::fs::create_dir_all(tree.path(path).parent().unwrap()).unwrap();
            std::fs::write(tree.path(path), text).unwrap();
        };
        put("/proc/7/cgroup", "4:cpu,cpuacct:/\n3:cpuset:/docker/one\n0::/user.slice/becalm-5\n");
        for (tasks, own, above) in [
            ("/c/cpuset/becalm-isolated/tasks", "/c/cpuset/docker/one/tasks", "/c/cpuset/tasks"),
            ("/c/cpu/becalm-weighted/tasks", "/c/cpu/tasks", "/c/cpu/tasks"),
            ("/c/becalm-isolated/cgroup.procs", "/c/user.slice/becalm-5/cgroup.procs", "/c/cgroup.procs"),
        ] {
            for file in [tasks, own, above] {
                put(file, "");
            }
            let moved = MovedStarter::enter(&tree, 7, tasks).unwrap();
            assert!(moved.has_pid(7) && !moved.has_pid(8));
            assert_eq!(tree.read(tasks).unwrap(), "7");
            moved.leave(&tree);
            assert_eq!(tree.read(own).unwrap(), "7");
            if own != above {
                std::fs::remove_file(tree.path(own)).unwrap();
                MovedStarter::enter(&tree, 7, tasks).unwrap().leave(&tree);
                assert_eq!(tree.read(above).unwrap(), "7");
            }
        }
        drop(std::fs::remove_dir_all(&root));
    }
}
