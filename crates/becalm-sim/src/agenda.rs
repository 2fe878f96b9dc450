//! A tournament tree of the next event of each CPU.
//!
//! Changing a time costs one walk to the root, and the earliest time is read from the root. The lowest CPU
//! wins among equal times, so that equal inputs give equal runs.

/// The time of a CPU without an event.
pub const NEVER: u64 = u64::MAX;

/// A time and its CPU. Each node of the tree holds a copy of its winner: the walk to the root reads one node
/// per level, at addresses that do not depend on values read before.
#[derive(Clone, Copy)]
struct Node {
    time: u64,
    cpu: u32,
}

/// The tree: `nodes[1]` is the root, and `nodes[size + cpu]` is the leaf of a CPU.
pub struct Agenda {
    nodes: Vec<Node>,
    size: usize,
}

impl Agenda {
    pub fn new(cpus: usize) -> Self {
        let size = cpus.next_power_of_two();
        let mut nodes = vec![Node { time: NEVER, cpu: 0 }; 2 * size];
        for cpu in 0..size {
            nodes[size + cpu].cpu = cpu as u32;
        }
        for node in (1..size).rev() {
            nodes[node] = nodes[2 * node];
        }
        Self { nodes, size }
    }

    /// Return the earliest time and its CPU.
    #[inline]
    pub fn first(&self) -> (u64, usize) {
        let root = self.nodes[1];
        (root.time, root.cpu as usize)
    }

    #[inline]
    pub fn set(&mut self, cpu: usize, time: u64) {
        let mut node = self.size + cpu;
        if self.nodes[node].time == time {
            return;
        }
        let mut wins = Node { time, cpu: cpu as u32 };
        self.nodes[node] = wins;
        while node > 1 {
            let other = self.nodes[node ^ 1];
            // CPUs to the left have lower numbers and win when times are equal.
            if other.time < wins.time || (other.time == wins.time && other.cpu < wins.cpu) {
                wins = other;
            }
            node /= 2;
            let before = &mut self.nodes[node];
            if (before.time, before.cpu) == (wins.time, wins.cpu) {
                // The winner did not change here, so nothing above changes.
                return;
            }
            *before = wins;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_is_first_and_the_lowest_cpu_among_equals() {
        for cpus in [1, 2, 3, 8, 13] {
            let mut agenda = Agenda::new(cpus);
            assert_eq!(agenda.first().0, NEVER);
            let mut times = vec![NEVER; cpus];
            let mut state = 7u64;
            for _ in 0..500 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let (cpu, time) = ((state >> 33) as usize % cpus, (state >> 40) % 50);
                agenda.set(cpu, time);
                times[cpu] = time;
                let least = *times.iter().min().unwrap();
                let first = times.iter().position(|&each| each == least).unwrap();
                assert_eq!(agenda.first(), (least, first));
            }
        }
    }
}
