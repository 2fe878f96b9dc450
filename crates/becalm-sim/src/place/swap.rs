//! Local search: two processes are exchanged while that lowers the total cost; then the search starts
//! elsewhere.
//!
//! For pair costs of single-process tasks, the gain of an exchange is known at once, since costs add up. If a
//! task has several processes or sets have their own costs, both chips are computed anew. Between two
//! descents some processes are exchanged at random (kicks) or, for pair costs, groups are grown once and
//! processes annealed. Equal seeds give equal answers unless time runs out.

use std::collections::HashMap;
use std::time::Instant;

use crate::random::Random;

/// The gain below which a difference is rounding.
const LEAST: f64 = 1e-12;
/// The number of moves of an annealing per process.
const MOVES: usize = 4_000;
/// The largest number of moves of an annealing.
const MOST_MOVES: usize = 12_000_000;
/// The ratio of the last temperature to the first one.
const COLDEST: f64 = 1e-3;
/// The number of evaluations between two looks at the clock.
const PERIOD: usize = 4_096;

/// The degradation of processes on one chip.
#[derive(Debug, Clone)]
pub enum Costs {
    /// A matrix of each process's degradation next to each other, row by row.
    Pairs(Vec<f64>),
    /// The degradation of the members of a set in ascending order, by the bits of the set.
    Sets(HashMap<u64, Vec<f64>>),
}

/// The processes and chips. `job` is the task of each process; `away` is the additional degradation of each
/// process on each chip, row by row.
#[derive(Debug, Clone)]
pub struct Problem {
    pub rooms: Vec<usize>,
    pub job: Vec<usize>,
    pub costs: Costs,
    pub away: Vec<f64>,
}

/// The result: the chip of each process, the sum over tasks, the number of descents, and whether time ran
/// out.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub chips: Vec<usize>,
    pub value: f64,
    pub starts: usize,
    pub out_of_time: bool,
}

/// The state of a search. Unused slots are processes without costs, after the others.
struct Search<'a> {
    problem: &'a Problem,
    items: usize,
    at: Vec<usize>,
    members: Vec<Vec<usize>>,
    lost: Vec<f64>,
    jobs: Vec<Vec<usize>>,
    /// The costs of i and j to each other, row by row over all slots; empty if exchanges are computed anew.
    both: Vec<f64>,
    /// The cost of each slot on each chip, chip by chip, without its own presence there.
    attached: Vec<f64>,
    until: Instant,
    looks: usize,
    late: bool,
}

/// Search from `start` until `starts` descents are done or the time is `until`.
pub fn search(problem: &Problem, start: &[usize], starts: usize, seed: u64, until: Instant) -> Found {
    let mut random = Random::new(seed);
    let mut search = Search::new(problem, start, until);
    search.descend();
    let mut best = (search.value(), search.at.clone());
    let mut done = 1;
    while done < starts && !search.late {
        if search.fast() && done == 1 {
            search.grow();
        } else if search.fast() && done % 2 == 0 {
            search.anneal(&mut random);
        } else {
            search.restart(&best.1);
            search.kick(&mut random);
        }
        search.descend();
        let value = search.value();
        if value < best.0 - LEAST {
            best = (value, search.at.clone());
        }
        done += 1;
    }
    best.1.truncate(search.items);
    Found { chips: best.1, value: best.0, starts: done, out_of_time: search.late }
}

impl<'a> Search<'a> {
    fn new(problem: &'a Problem, start: &[usize], until: Instant) -> Self {
        let items = problem.job.len();
        let slots: usize = problem.rooms.iter().sum();
        let tasks = problem.job.iter().max().map_or(0, |most| most + 1);
        let mut jobs = vec![Vec::new(); tasks];
        for (item, &job) in problem.job.iter().enumerate() {
            jobs[job].push(item);
        }
        let single = jobs.iter().all(|each| each.len() == 1);
        let both = match &problem.costs {
            Costs::Pairs(cost) if single => (0..slots * slots)
                .map(|index| (index / slots, index % slots))
                .map(|(i, j)| if i.max(j) < items { cost[i * items + j] + cost[j * items + i] } else { 0.0 })
                .collect(),
            _ => Vec::new(),
        };
        let mut full = start.to_vec();
        let mut used = vec![0; problem.rooms.len()];
        start.iter().for_each(|&chip| used[chip] += 1);
        for (chip, &room) in problem.rooms.iter().enumerate() {
            full.extend(std::iter::repeat_n(chip, room - used[chip]));
        }
        let mut made = Self {
            problem,
            items,
            at: Vec::new(),
            members: Vec::new(),
            lost: vec![0.0; slots],
            jobs,
            both,
            attached: Vec::new(),
            until,
            looks: 0,
            late: false,
        };
        made.restart(&full);
        made
    }

    fn fast(&self) -> bool {
        !self.both.is_empty()
    }

    fn slots(&self) -> usize {
        self.lost.len()
    }

    /// Start from these chips, one per slot.
    fn restart(&mut self, at: &[usize]) {
        self.at = at.to_vec();
        self.members = vec![Vec::new(); self.problem.rooms.len()];
        for (slot, &chip) in at.iter().enumerate() {
            self.members[chip].push(slot);
        }
        if self.fast() {
            let slots = self.slots();
            self.attached = vec![0.0; self.members.len() * slots];
            for (chip, members) in self.members.iter().enumerate() {
                let row = &mut self.attached[chip * slots..(chip + 1) * slots];
                for &member in members {
                    row.iter_mut().zip(&self.both[member * slots..]).for_each(|(sum, cost)| *sum += cost);
                }
            }
        } else {
            for chip in 0..self.members.len() {
                self.compute(chip);
            }
        }
    }

    /// Compute the degradation of a chip's members.
    fn compute(&mut self, chip: usize) {
        self.members[chip].sort_unstable();
        let (items, chips) = (self.items, self.members.len());
        let members: Vec<usize> = self.members[chip].iter().copied().filter(|&each| each < items).collect();
        match &self.problem.costs {
            Costs::Pairs(cost) => {
                for &each in &members {
                    self.lost[each] = members.iter().map(|other| cost[each * items + other]).sum();
                }
            }
            Costs::Sets(sets) => {
                let key = members.iter().fold(0u64, |bits, each| bits | 1 << each);
                for (index, &each) in members.iter().enumerate() {
                    self.lost[each] = sets.get(&key).map_or(f64::INFINITY, |costs| costs[index]);
                }
            }
        }
        if !self.problem.away.is_empty() {
            for &each in &members {
                self.lost[each] += self.problem.away[each * chips + chip];
            }
        }
    }

    fn away(&self, slot: usize, chip: usize) -> f64 {
        if slot < self.items && !self.problem.away.is_empty() {
            self.problem.away[slot * self.members.len() + chip]
        } else {
            0.0
        }
    }

    /// Return the sum over tasks, each with the cost of its slowest process.
    fn value(&mut self) -> f64 {
        if self.fast() {
            let slots = self.slots();
            let pairs: f64 = (0..self.items).map(|each| self.attached[self.at[each] * slots + each]).sum();
            return pairs / 2.0 + (0..self.items).map(|each| self.away(each, self.at[each])).sum::<f64>();
        }
        (0..self.jobs.len()).map(|job| self.slowest(job)).sum()
    }

    fn slowest(&self, job: usize) -> f64 {
        self.jobs[job].iter().map(|&each| self.lost[each]).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Return the change of the sum if two slots of different chips are exchanged, for pair costs of single
    /// processes.
    fn change(&self, one: usize, other: usize) -> f64 {
        let slots = self.slots();
        let (from, to) = (self.at[one], self.at[other]);
        self.attached[to * slots + one] + self.attached[from * slots + other]
            - self.attached[from * slots + one]
            - self.attached[to * slots + other]
            - 2.0 * self.both[one * slots + other]
            + self.away(one, to)
            + self.away(other, from)
            - self.away(one, from)
            - self.away(other, to)
    }

    fn exchange(&mut self, one: usize, other: usize) {
        let slots = self.slots();
        let (from, to) = (self.at[one], self.at[other]);
        if self.fast() {
            for (chip, gone, come) in [(from, one, other), (to, other, one)] {
                let row = &mut self.attached[chip * slots..(chip + 1) * slots];
                let (less, more) = (&self.both[gone * slots..], &self.both[come * slots..]);
                for ((sum, less), more) in row.iter_mut().zip(less).zip(more) {
                    *sum += more - less;
                }
            }
        } else {
            self.members[from].retain(|&each| each != one);
            self.members[to].retain(|&each| each != other);
            self.members[from].push(other);
            self.members[to].push(one);
        }
        (self.at[one], self.at[other]) = (to, from);
        if !self.fast() {
            self.compute(from);
            self.compute(to);
        }
    }

    /// Exchange two slots, undo it unless the total cost falls, and return whether it did.
    fn tried(&mut self, one: usize, other: usize) -> bool {
        if self.fast() {
            let better = self.change(one, other) < -LEAST;
            if better {
                self.exchange(one, other);
            }
            return better;
        }
        let before = self.of_chips(one, other);
        self.exchange(one, other);
        if self.of_chips(one, other) < before - LEAST {
            return true;
        }
        self.exchange(one, other);
        false
    }

    /// Return the sum over tasks that have a process on the chip of one or the other slot.
    fn of_chips(&self, one: usize, other: usize) -> f64 {
        let touched = [one, other].map(|each| &self.members[self.at[each]]);
        let mut jobs: Vec<usize> = touched
            .into_iter()
            .flatten()
            .filter(|&&each| each < self.items)
            .map(|&each| self.problem.job[each])
            .collect();
        jobs.sort_unstable();
        jobs.dedup();
        jobs.into_iter().map(|job| self.slowest(job)).sum()
    }

    /// Exchange slots while that lowers the total cost.
    fn descend(&mut self) {
        loop {
            let mut improved = false;
            for one in 0..self.items {
                for other in one + 1..self.slots() {
                    if self.at[one] != self.at[other] && self.tried(one, other) {
                        improved = true;
                    }
                }
                if self.over() {
                    return;
                }
            }
            if !improved {
                return;
            }
        }
    }

    /// Return whether time has run out; the clock is read now and then.
    fn over(&mut self) -> bool {
        self.looks += self.slots();
        if self.looks >= PERIOD {
            self.looks = 0;
            self.late |= Instant::now() >= self.until;
        }
        self.late
    }

    /// Fill one chip after the other, beginning with the process that costs most with all others, and adding
    /// those that cost least next to the present ones. This finds groups whose members cost each other next
    /// to nothing, which pairwise exchanges do not find among hundreds.
    fn grow(&mut self) {
        let (slots, items) = (self.slots(), self.items);
        let weight = |each: usize| -> f64 { self.both[each * slots..][..items].iter().sum() };
        let mut left: Vec<(usize, f64)> = (0..items).map(|each| (each, weight(each))).collect();
        left.sort_by(|one, other| one.1.total_cmp(&other.1));
        let mut idle = items..slots;
        let mut at = self.at.clone();
        for (chip, &room) in self.problem.rooms.iter().enumerate() {
            let mut alongside = vec![0.0; slots];
            for place in 0..room {
                let least = |each: &(usize, f64)| alongside[each.0] + self.away(each.0, chip);
                let next = match place {
                    0 => left.len().checked_sub(1),
                    _ => (0..left.len())
                        .min_by(|&one, &other| least(&left[one]).total_cmp(&least(&left[other]))),
                };
                let Some(slot) = next.map(|index| left.remove(index).0).or_else(|| idle.next()) else {
                    break;
                };
                at[slot] = chip;
                alongside.iter_mut().zip(&self.both[slot * slots..]).for_each(|(sum, cost)| *sum += cost);
            }
        }
        self.restart(&at);
    }

    /// Exchange some random pairs of slots.
    fn kick(&mut self, random: &mut Random) {
        for _ in 0..(self.items / 8).max(2) {
            let (one, other) = self.drawn(random);
            if self.at[one] != self.at[other] {
                self.exchange(one, other);
            }
        }
    }

    fn drawn(&self, random: &mut Random) -> (usize, usize) {
        let of = |many: usize, random: &mut Random| (random.draw() % many as u64) as usize;
        (of(self.items, random), of(self.slots(), random))
    }

    /// Exchange at random, accepting increases of the cost ever more rarely (Kirkpatrick et al. 1983).
    fn anneal(&mut self, random: &mut Random) {
        let moves = (self.slots() * MOVES).min(MOST_MOVES);
        let mut sum = 0.0;
        for _ in 0..100 {
            let (one, other) = self.drawn(random);
            if self.at[one] != self.at[other] {
                sum += self.change(one, other).abs();
            }
        }
        let mut warmth = sum / 100.0;
        let cooling = COLDEST.powf(1.0 / moves as f64);
        for step in 0..moves {
            let (one, other) = self.drawn(random);
            if self.at[one] != self.at[other] {
                let change = self.change(one, other);
                if change <= 0.0 || random.share() < (-change / warmth).exp() {
                    self.exchange(one, other);
                }
            }
            warmth *= cooling;
            if step.is_multiple_of(PERIOD) && Instant::now() >= self.until {
                self.late = true;
                return;
            }
        }
    }
}
