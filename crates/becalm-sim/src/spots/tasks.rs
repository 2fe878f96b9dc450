//! The accounting of places: switches, forks, ends and moves of tasks, and missing records.

use super::account::{Accounting, Event, Runs};
use super::program::{Place, Program};
use super::record::Task;
use super::window::{Counts, Window};

impl Accounting {
    /// Return the program of a task, creating it if the task is new.
    fn program(&mut self, task: Task, from_ns: u64, place: Place) -> usize {
        if let Some(&found) = self.alive.get(&task) {
            return found;
        }
        let number = self.programs.len();
        self.programs.push(Program {
            task,
            process: self.process_of.get(&task).copied().unwrap_or(task),
            from_ns,
            until_ns: from_ns,
            ended: false,
            own: Counts::default(),
            others: Counts::default(),
            place,
            saved: Counts::default(),
            open: Window {
                program: number,
                start_ns: from_ns,
                end_ns: from_ns,
                own: Counts::default(),
                others: Counts::default(),
                known: true,
                last: false,
            },
            seen_ns: from_ns,
            cpu: None,
            exits: false,
            over: false,
        });
        self.alive.insert(task, number);
        number
    }

    /// Return whether the task that leaves a CPU is the one that ran there; otherwise a switch is missing.
    pub(super) fn expect(&mut self, cpu: u32, out: Task) -> bool {
        let ran = match self.cpus.get(&cpu).map(|each| each.runs) {
            Some(Runs::Program(number)) => self.programs[number].task,
            Some(Runs::Idle) => super::record::IDLE,
            _ => return true,
        };
        if ran != out {
            self.trouble.inconsistent += 1;
            self.forget(cpu);
        }
        ran == out
    }

    /// Handle lost records of a CPU.
    pub(super) fn lost(&mut self, cpu: u32) {
        self.trouble.lost += 1;
        self.forget(cpu);
    }

    /// Mark the task on a CPU as unknown since its last record. Any program that does not run elsewhere may
    /// have run there, so their counts are unknown.
    fn forget(&mut self, cpu: u32) {
        for number in 0..self.programs.len() {
            if self.programs[number].over {
                continue;
            }
            match self.programs[number].place {
                Place::Runs { cpu: other } if other != cpu => {}
                Place::Runs { .. } => {
                    self.programs[number].open.known = false;
                    self.programs[number].place = Place::Waits { llc: self.llc(cpu) };
                    self.wait(number);
                }
                _ => self.programs[number].open.known = false,
            }
        }
        self.give_up(cpu);
        self.set_unknown(cpu);
    }

    fn set_unknown(&mut self, cpu: u32) {
        let since = self.since_ns(cpu);
        self.set_runs(cpu, Runs::Unknown, since);
    }

    pub(super) fn switch(&mut self, cpu: u32, out: Task, to: Task, now: u64) {
        if out == to {
            return;
        }
        let unnamed = self.cpus.get(&cpu).is_none_or(|each| each.runs == Runs::Unknown);
        if Self::is_idle(out) {
            self.claim_idle(cpu);
        } else {
            let since = self.since_ns(cpu);
            let number = self.program(out, since, Place::Runs { cpu });
            if unnamed {
                self.named(number, cpu, now);
            }
            self.leaves(number, cpu, now);
        }
        if Self::is_idle(to) {
            self.set_runs(cpu, Runs::Idle, now);
            return;
        }
        let number = self.program(to, now, Place::Away);
        self.comes(number, cpu, now);
        self.set_runs(cpu, Runs::Program(number), now);
    }

    /// Identify the task that ran on a CPU.
    fn named(&mut self, number: usize, cpu: u32, now: u64) {
        self.only_here(number, cpu, now);
        self.unwait(number);
        self.programs[number].place = Place::Runs { cpu };
        self.programs[number].cpu.get_or_insert(cpu);
        self.claim(cpu, number);
    }

    /// Correct the place of a program that seems to run on another CPU, whose switch was not recorded.
    fn only_here(&mut self, number: usize, cpu: u32, now: u64) {
        let Place::Runs { cpu: other } = self.programs[number].place else { return };
        if other != cpu {
            self.trouble.inconsistent += 1;
            self.programs[number].open.known = false;
            self.set_runs(other, Runs::Unknown, now);
        }
    }

    fn leaves(&mut self, number: usize, cpu: u32, now: u64) {
        self.programs[number].cpu = Some(cpu);
        if self.programs[number].exits {
            self.end(number, now);
            return;
        }
        self.close_if_due(number, now);
        self.programs[number].place = Place::Waits { llc: self.llc(cpu) };
        self.programs[number].seen_ns = now;
        self.wait(number);
    }

    fn comes(&mut self, number: usize, cpu: u32, now: u64) {
        self.only_here(number, cpu, now);
        self.unwait(number);
        self.close_if_due(number, now);
        let program = &mut self.programs[number];
        program.place = Place::Runs { cpu };
        program.seen_ns = now;
        if let Some(from) = program.cpu.replace(cpu).filter(|&from| from != cpu) {
            self.events.push(Event::Migrated { program: number, time_ns: now, from, to: cpu });
        }
    }

    pub(super) fn fork(&mut self, cpu: u32, parent: Task, child: Task, process: Task, now: u64) {
        if Self::is_idle(child) {
            return;
        }
        let known = self.alive.get(&child).copied();
        if parent != 0 {
            // The id was reused, although nothing reported the end of its former task.
            if let Some(before) = known {
                self.vacate(before, now);
                self.end(before, now);
            }
        }
        self.process_of.insert(child, process);
        if parent == 0 {
            if let Some(number) = known {
                self.programs[number].process = process;
            }
            return;
        }
        let number = self.program(child, now, Place::Waits { llc: self.llc(cpu) });
        self.programs[number].cpu = Some(cpu);
        self.wait(number);
        self.events.push(Event::Forked { program: number, time_ns: now });
    }

    fn vacate(&mut self, number: usize, now: u64) {
        if let Place::Runs { cpu } = self.programs[number].place {
            self.set_runs(cpu, Runs::Unknown, now);
        }
    }

    pub(super) fn exit(&mut self, task: Task, now: u64) {
        let Some(&number) = self.alive.get(&task) else { return };
        match self.programs[number].place {
            Place::Runs { .. } => self.programs[number].exits = true,
            _ => self.end(number, now),
        }
    }

    /// End a program and close its last window, which may have any length.
    pub(super) fn end(&mut self, number: usize, now: u64) {
        self.unwait(number);
        self.close(number, now, true);
        let program = &mut self.programs[number];
        program.place = Place::Away;
        program.until_ns = now;
        (program.over, program.ended) = (true, true);
        let (task, thread_of) = (program.task, program.process);
        if self.alive.get(&task) == Some(&number) {
            self.alive.remove(&task);
            if task != thread_of {
                self.process_of.remove(&task);
            }
        }
    }

    pub(super) fn moved(&mut self, task: Task, to: u32, now: u64) {
        let Some(&number) = self.alive.get(&task) else { return };
        if matches!(self.programs[number].place, Place::Runs { .. }) {
            return;
        }
        self.unwait(number);
        if self.is_recorded(to) {
            self.programs[number].place = Place::Waits { llc: self.llc(to) };
            self.wait(number);
        } else {
            self.trouble.unseen += 1;
            self.programs[number].open.known = false;
            self.programs[number].place = Place::Away;
        }
        if let Some(from) = self.programs[number].cpu.replace(to).filter(|&from| from != to) {
            self.events.push(Event::Migrated { program: number, time_ns: now, from, to });
        }
    }

    pub(super) fn offline(&mut self, cpu: u32) {
        self.trouble.offline += 1;
        if let Some(Runs::Program(number)) = self.cpus.get(&cpu).map(|each| each.runs) {
            self.programs[number].open.known = false;
            self.programs[number].place = Place::Waits { llc: self.llc(cpu) };
            self.wait(number);
        }
        self.give_up(cpu);
        self.set_unknown(cpu);
        self.forget_counters(cpu);
    }
}
