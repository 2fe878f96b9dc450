//! Counts of interrupts from `/proc/interrupts` (proc_interrupts(5)).

/// Return the count of each device interrupt over all CPUs, by its number. Interrupts of processors and of
/// the kernel itself have names instead of numbers and are left out.
pub fn fired(text: &str) -> impl Iterator<Item = (u32, u64)> + '_ {
    text.lines().filter_map(|line| {
        let (label, rest) = line.split_once(':')?;
        let counts = rest.split_ascii_whitespace().map_while(|word| word.parse::<u64>().ok());
        Some((label.trim().parse().ok()?, counts.fold(0, u64::saturating_add)))
    })
}
