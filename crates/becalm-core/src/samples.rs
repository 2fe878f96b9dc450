//! The size of tests that draw samples: small by default, large with `BECALM_SAMPLES=long` (make test-long).

/// Return the number of samples to draw: `usual`, or `long` in the long profile.
pub fn samples<T>(usual: T, long: T) -> T {
    match std::env::var("BECALM_SAMPLES").as_deref() {
        Ok("long") => long,
        _ => usual,
    }
}
