//! The time that a hypervisor gave to others while a cell was measured.

use std::fs;

/// Return the time that a hypervisor gave to others, from /proc/stat in ticks of USER_HZ.
pub fn steal_ns(cpu: u32) -> Option<u64> {
    steal_of(&fs::read_to_string("/proc/stat").ok()?, cpu)
}

fn steal_of(stat: &str, cpu: u32) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix(&format!("cpu{cpu} ")))?;
    let ticks: u64 = line.split_whitespace().nth(7)?.parse().ok()?;
    Some(ticks * 10_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_the_eighth_number() {
        let stat = "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 80 9 10\ncpu1 1 2 3 4 5 6 7 9 9 10\n";
        assert_eq!(
            (steal_of(stat, 0), steal_of(stat, 1), steal_of(stat, 2)),
            (Some(800_000_000), Some(90_000_000), None)
        );
    }
}
