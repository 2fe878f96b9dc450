//! Time one short region many times, and print the properties of the timer.
//!
//! `cargo run --release -p becalm-clock --example region`

use becalm_clock::{Clock, Unusable};

fn main() -> Result<(), Unusable> {
    let clock = Clock::open()?;
    let info = clock.info();
    let megahertz = info.calibration.hz / 1e6;
    println!("{}: {megahertz:.3} MHz within {:.2} ppm", info.source.name(), info.calibration.ppm);
    match info.quantum {
        Some(step) => println!("steps by {step:.2} ticks, {:.1} ns", step * 1e9 / info.calibration.hz),
        None => println!("its step is unknown here"),
    }
    let smallest = clock.ns(info.smallest_cost);
    println!("an empty region takes {smallest} ns at least, {} ns mostly", clock.ns(info.median_cost));
    if let Some(reason) = info.fallback {
        println!("not the processor's own counter: {reason}");
    }
    if info.trapped() {
        println!("each read is emulated by a hypervisor: nothing short can be timed here");
    }

    let mut ticks = Vec::with_capacity(10_000);
    let mut migrated = 0;
    let values: Vec<u64> = (0..500).collect();
    for _ in 0..10_000 {
        let from = clock.begin();
        std::hint::black_box(std::hint::black_box(&values).iter().sum::<u64>());
        let region = from.until(clock.end());
        if region.migrated {
            migrated += 1;
        } else {
            ticks.push(region.ticks);
        }
    }
    ticks.sort_unstable();
    let at = |share: usize| clock.ns(ticks[(ticks.len() - 1) * share / 100]);
    println!("sum of 500 numbers: smallest {} ns, median {} ns, 99 % below {} ns", at(0), at(50), at(99));
    println!("{migrated} of 10000 began on one processor and ended on another");
    Ok(())
}
