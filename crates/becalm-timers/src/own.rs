//! Timers that the user provides as `FILE.so:FUNCTION`: a function `uint64_t FUNCTION(void)` of a shared
//! object that returns a count which rises at a constant rate.

use std::ffi::{c_void, CStr, CString};
use std::time::{Duration, Instant};

use becalm_core::clock::timer::loaded::{Own, Read};

/// The time over which the rate of a count is measured.
const CALIBRATION: Duration = Duration::from_millis(50);
/// Reads at each end of the calibration, of which the tightest is used.
const READS: usize = 100;

/// Load the timers among these names that are functions of shared objects.
///
/// # Errors
/// Returns a sentence about the first timer that cannot be used.
pub fn loaded(names: &[String]) -> Result<Vec<Own>, String> {
    names
        .iter()
        .filter_map(|name| Some((name, name.rsplit_once(".so:")?)))
        .map(|(name, parts)| one(name, parts))
        .collect()
}

fn one(name: &str, (stem, function): (&str, &str)) -> Result<Own, String> {
    let path = format!("{stem}.so");
    // Without a slash, dlopen searches only the system's directories (dlopen(3)).
    let place = if path.contains('/') { path.clone() } else { format!("./{path}") };
    let place = CString::new(place).map_err(|_| format!("{path:?} is not the name of a file."))?;
    let symbol =
        CString::new(function).map_err(|_| format!("{function:?} is not the name of a function."))?;
    // SAFETY: opens a library that the user names; its constructors are its own.
    let library = unsafe { libc::dlopen(place.as_ptr(), libc::RTLD_NOW) };
    if library.is_null() {
        return Err(format!("The timer {name} cannot be loaded: {}.", why()));
    }
    // SAFETY: an open library and a name.
    let found = unsafe { libc::dlsym(library, symbol.as_ptr()) };
    if found.is_null() {
        return Err(format!("The timer {name} cannot be used: {path} has no function {function}."));
    }
    // SAFETY: the documented type of such a function.
    let read = unsafe { std::mem::transmute::<*mut c_void, Read>(found) };
    let hz =
        rate(read).ok_or_else(|| format!("The timer {name} cannot be used: its count does not rise."))?;
    Ok(Own { name: name.to_owned(), read, hz })
}

/// Measure the rate of a count against the system's clock, in counts per second. None if the count does not
/// rise.
fn rate(read: Read) -> Option<u64> {
    let (begin, first) = tightest(read);
    std::thread::sleep(CALIBRATION);
    let (end, last) = tightest(read);
    let hz = last.checked_sub(first).filter(|counts| *counts > 0)? as f64 / (end - begin).as_secs_f64();
    Some((hz.round() as u64).max(1))
}

/// Read the count many times and return the read that the system's clock brackets most tightly, with its
/// moment.
fn tightest(read: Read) -> (Instant, i64) {
    let once = || {
        let before = Instant::now();
        // SAFETY: a function that takes nothing.
        let count = unsafe { read() };
        let width = before.elapsed();
        (width, before + width / 2, count)
    };
    let (_, at, count) =
        (1..READS).map(|_| once()).fold(once(), |best, next| if next.0 < best.0 { next } else { best });
    (at, count)
}

/// Return the loader's error message.
fn why() -> String {
    // SAFETY: the text is the loader's, until its next call.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the loader gives no reason".to_owned();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const SOURCE: &str = "
        #include <time.h>
        #include <stdint.h>
        uint64_t tenths(void) {
            struct timespec now;
            clock_gettime(CLOCK_MONOTONIC, &now);
            return (now.tv_sec * 1000000000ull + now.tv_nsec) / 10;
        }
        uint64_t still(void) { return 7; }
    ";

    #[test]
    fn functions_of_a_shared_object_are_timers_or_have_a_reason() {
        let directory = std::env::temp_dir().join(format!("becalm-own-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let (from, to) = (directory.join("mine.c"), directory.join("libmine.so"));
        std::fs::write(&from, SOURCE).unwrap();
        let done = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&to).arg(&from).status().unwrap();
        assert!(done.success());
        let of = |function: &str| loaded(&["barrier".to_owned(), format!("{}:{function}", to.display())]);
        let own = of("tenths").unwrap();
        assert!(own.len() == 1 && own[0].name.ends_with("libmine.so:tenths"));
        assert!(own[0].hz > 0);
        assert!(of("still").unwrap_err().contains("does not rise"));
        assert!(of("missing").unwrap_err().contains("has no function missing"));
        std::fs::remove_dir_all(&directory).unwrap();
        assert!(loaded(&["/nowhere/lib.so:read".to_owned()]).unwrap_err().contains("cannot be loaded"));
        assert!(loaded(&["barrier".to_owned()]).unwrap().is_empty());
    }
}
