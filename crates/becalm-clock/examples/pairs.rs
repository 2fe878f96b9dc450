//! Time a number of pairs of reads, and nothing else. A tracer shows that 1,000 pairs make as many system
//! calls as 1,000,000: `strace -f -o calls target/release/examples/pairs 1000`

use becalm_clock::{begin, end, Clock};

fn main() -> Result<(), becalm_clock::Unusable> {
    let many: u64 = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(1_000);
    let clock = Clock::open()?;
    let mut ticks = 0;
    for _ in 0..many {
        let from = begin();
        ticks += from.until(end()).ticks;
    }
    println!("{many} pairs took {} ns each", clock.ns(ticks / many.max(1) as i64));
    Ok(())
}
