//! The published filter on points from standard input, `[[cycles, wall], …]`: its scores, and what they cost in CPU time.
//! What `python bench/clock.py` runs.

use std::io::Read;

use becalm_core::clock::filter::forest::scores;
use becalm_core::clock::statistics::median;

const ROUNDS: usize = 21;
const SEED: u64 = 1;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let points: Vec<[f64; 2]> = serde_json::from_str(&text)?;
    let times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let before = cpu_ms();
            std::hint::black_box(scores(&points, SEED));
            cpu_ms() - before
        })
        .collect();
    println!("{}", serde_json::json!({"cpu_ms": median(&times), "scores": scores(&points, SEED)}));
    Ok(())
}

/// CPU time of this thread in ms: other load on the machine does not count.
fn cpu_ms() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills the structure that it is given.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}
