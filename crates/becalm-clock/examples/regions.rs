//! Time two regions of a program, 2,000 times each, and write them to a file that `becalm import` reads.
//!
//! `cargo run --release -p becalm-clock --features std --example regions -- parse.regions`

use becalm_clock::regions::Writer;
use becalm_clock::ring::{Full, Record, Ring};
use becalm_clock::Clock;
use std::hint::black_box;

const SUM: u32 = 0;
const SORT: u32 = 1;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("name a file")?;
    let clock = Clock::open()?;
    // One ring per thread, created in advance, so that nothing is allocated while code is timed.
    let mut memory = vec![Record::EMPTY; 4_000];
    let mut ring = Ring::new(&mut memory, Full::DropNewest);
    let values: Vec<u64> = (0..500).map(|each| each * 7_919 % 500).collect();
    let mut sorted = values.clone();
    for _ in 0..2_000 {
        let from = clock.begin();
        black_box(black_box(&values).iter().sum::<u64>());
        ring.push(SUM, from, clock.end());

        sorted.copy_from_slice(&values);
        let from = clock.begin();
        black_box(&mut sorted).sort_unstable();
        ring.push(SORT, from, clock.end());
    }
    let mut file = Writer::create(&path, &clock, &["sum", "sort"])?;
    file.flush(&mut ring, 0)?;
    file.close()?;
    println!("{path}: see it with becalm import {path}");
    Ok(())
}
