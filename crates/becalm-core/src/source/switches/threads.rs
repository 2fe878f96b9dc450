//! The processes of threads: a thread from before the first record is introduced by the first record that
//! names it.
//!
//! The kernel reports the exit of a task before the task leaves its CPU for the last time, and it may be
//! preempted in between. Its end is passed on when it is over: after it has left without being preempted, or
//! at the end of the records.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::lane::NamedThread;
use super::record::{Record, Task, What};

/// The largest number of threads: further ones are forgotten and introduced again.
const MOST: usize = 1 << 18;

/// The known threads, and those that have ended.
#[derive(Debug, Default)]
pub struct Threads {
    process_of: HashMap<Task, Task>,
    ended: HashSet<Task>,
    /// The exiting tasks, with the CPU of each.
    exiting: BTreeMap<Task, u32>,
    /// The last record of each CPU since a task exited there.
    last: BTreeMap<u32, Record>,
}

impl Threads {
    /// Pass a record on, after records that introduce the threads that it names.
    pub fn introduce(&mut self, record: Record, named: [NamedThread; 2], mut put: impl FnMut(&Record)) {
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
                // The task goes on for a while, and must not be introduced again then.
                self.ended.insert(task);
                self.exiting.insert(task, record.cpu);
                self.last.insert(record.cpu, record);
                return;
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
        if !self.exiting.is_empty() {
            self.last.insert(record.cpu, record);
        }
        if let What::Switch { out, preempted: false, .. } = record.what {
            if self.exiting.remove(&out).is_some() {
                put(&Record { what: What::Exit(out), ..record });
            }
        }
    }

    /// End the records: exiting tasks have ended, and not before what was passed on already.
    pub fn end(&mut self, mut put: impl FnMut(&Record)) {
        let time_ns = self.last.values().map(|each| each.time_ns).max().unwrap_or_default();
        for (task, cpu) in std::mem::take(&mut self.exiting) {
            if let Some(last) = self.last.get(&cpu) {
                put(&Record { time_ns, what: What::Exit(task), ..*last });
            }
        }
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
        let mut passed = Vec::new();
        let switch = What::Switch { out: 7, to: 8, preempted: false };
        let mut pass = |what, named| threads.introduce(record(what), named, |each| passed.push(each.what));
        pass(switch, [Some((5, 7)), Some((8, 8))]);
        pass(switch, [Some((5, 7)), Some((0, 0))]);
        pass(What::Exit(7), [None; 2]);
        pass(switch, [None, Some((5, 7))]);
        let fork = |child, process| What::Fork { parent: 0, child, process };
        assert_eq!(passed, [fork(7, 5), fork(8, 8), switch, switch, switch, What::Exit(7)]);
    }

    #[test]
    fn a_task_preempted_while_exiting_ends_at_its_last_switch() {
        let mut threads = Threads::default();
        let mut passed = Vec::new();
        let switch = |out, to, preempted| What::Switch { out, to, preempted };
        for what in
            [What::Exit(7), switch(7, 3, true), switch(3, 7, false), switch(7, 3, false), What::Exit(9)]
        {
            threads.introduce(record(what), [None; 2], |each| passed.push(each.what));
        }
        threads.end(|each| passed.push(each.what));
        let ends =
            [switch(7, 3, true), switch(3, 7, false), switch(7, 3, false), What::Exit(7), What::Exit(9)];
        assert_eq!(passed, ends);
    }

    #[test]
    fn an_unseen_exit_is_passed_on_last_with_the_last_counts_of_its_cpu() {
        let mut threads = Threads::default();
        let at = |time_ns, cpu, what, references| Record { time_ns, cpu, what, references, misses: 0 };
        let mut passed = Vec::new();
        for record in [at(1, 0, What::Exit(7), 10), at(2, 0, What::Tick, 20), at(3, 1, What::Tick, 5)] {
            threads.introduce(record, [None; 2], |each| passed.push(*each));
        }
        threads.end(|each| passed.push(*each));
        assert_eq!(passed[2], at(3, 0, What::Exit(7), 20));
    }
}
