//! When each CPU is to be looked at next, and which is the first: a tournament tree.
//!
//! Changing a time costs one walk to the root, asking for the first costs nothing. Of equal times the lowest CPU is the
//! first, so that equal inputs give equal runs.

/// Never.
pub const NEVER: u64 = u64::MAX;

pub struct Agenda {
    times: Vec<u64>,
    /// `winner[1]` is the root; a leaf `size + cpu` is the CPU itself.
    winner: Vec<u32>,
    size: usize,
}

impl Agenda {
    pub fn new(cpus: usize) -> Self {
        let size = cpus.next_power_of_two();
        let mut winner = vec![0; 2 * size];
        for leaf in 0..size {
            winner[size + leaf] = leaf as u32;
        }
        for node in (1..size).rev() {
            winner[node] = winner[2 * node];
        }
        Self { times: vec![NEVER; size], winner, size }
    }

    /// The earliest time, and its CPU.
    pub fn first(&self) -> (u64, usize) {
        let cpu = self.winner[1] as usize;
        (self.times[cpu], cpu)
    }

    pub fn set(&mut self, cpu: usize, time: u64) {
        if self.times[cpu] == time {
            return;
        }
        self.times[cpu] = time;
        let mut node = (self.size + cpu) / 2;
        while node > 0 {
            let (left, right) = (self.winner[2 * node], self.winner[2 * node + 1]);
            let wins = if self.times[right as usize] < self.times[left as usize] { right } else { left };
            self.winner[node] = wins;
            node /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_of_equals_the_lowest() {
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
