//! `Threads`, of which processes threads are: whoever was there before the first record is introduced by the first that names it.

use std::collections::{HashMap, HashSet};

use super::lane::Named;
use super::record::{Record, Task, What};

/// More threads than this are forgotten and introduced again.
const MOST: usize = 1 << 18;

/// Threads that are known, and those that have ended.
#[derive(Debug, Default)]
pub struct Threads {
    process_of: HashMap<Task, Task>,
    ended: HashSet<Task>,
}

impl Threads {
    /// Pass a record on, after those that say of which process the threads are that it names.
    pub fn introduce(&mut self, record: Record, named: [Named; 2], mut put: impl FnMut(&Record)) {
        if self.process_of.len() > MOST || self.ended.len() > MOST {
            self.process_of.clear();
            self.ended.clear();
        }
        match record.what {
            What::Fork { child, process, .. } => {
                self.process_of.insert(child, process);
                self.ended.remove(&child);
            }
            What::Exit(task) => {
                self.process_of.remove(&task);
                // It goes on for a while, and is nobody new then.
                self.ended.insert(task);
            }
            _ => {}
        }
        for (process, task) in named.into_iter().flatten() {
            if task <= 0 || process <= 0 {
                continue;
            }
            let (child, process) = (task as Task, process as Task);
            if self.ended.contains(&child) || self.process_of.insert(child, process) == Some(process) {
                continue;
            }
            put(&Record { what: What::Fork { parent: 0, child, process }, ..record });
        }
        put(&record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(what: What) -> Record {
        Record { time_ns: 1, cpu: 0, what, references: 0, misses: 0 }
    }

    #[test]
    fn each_thread_is_introduced_once_and_not_after_its_end() {
        let mut threads = Threads::default();
        let mut said = Vec::new();
        let switch = What::Switch { out: 7, to: 8, preempted: false };
        let mut pass = |what, named| threads.introduce(record(what), named, |each| said.push(each.what));
        pass(switch, [Some((5, 7)), Some((8, 8))]);
        pass(switch, [Some((5, 7)), Some((0, 0))]);
        pass(What::Exit(7), [None; 2]);
        pass(switch, [None, Some((5, 7))]);
        let fork = |child, process| What::Fork { parent: 0, child, process };
        assert_eq!(said, [fork(7, 5), fork(8, 8), switch, switch, What::Exit(7), switch]);
    }
}
