//! `becalm-agent copies N PATH ARGV0 ARGUMENT …` starts a program N times at once and waits for all copies.
//!
//! The agent runs this in place of a workload that asks for `copies`. It counts as one program: its time is
//! from the start of the first copy to the end of the last (plus the start of this process, half a
//! millisecond), and its usage is that of all copies. Each copy has its number, from 0, in `BECALM_COPY`, and
//! reads the input from its beginning.

use std::ffi::{CString, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;
use std::ptr;

use becalm_core::exec::account::decode;
use becalm_core::exec::end_with;
use becalm_core::stress::room::Room;

/// The largest number of copies, so that a mistyped number does not exhaust the machine.
pub const MOST: u32 = 4096;

/// A program and its number of copies.
#[derive(Debug, PartialEq, Eq)]
pub struct Copies {
    count: u32,
    path: CString,
    argv: Vec<CString>,
}

const USAGE: &str = "becalm-agent copies N PATH ARGV0 [ARGUMENT …]";

/// Parse the arguments after `copies`.
///
/// # Errors
/// Returns a sentence about invalid arguments.
pub fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Copies, String> {
    let count = arguments.next().and_then(|word| word.to_str()?.parse().ok());
    let count = count
        .filter(|count| (1..=MOST).contains(count))
        .ok_or(format!("copies takes 1 to {MOST}; {USAGE}."))?;
    let words = arguments.map(|word| CString::new(word.into_vec()));
    let mut words = words.collect::<Result<Vec<_>, _>>().map_err(|error| format!("{error}; {USAGE}."))?;
    if words.len() < 2 {
        return Err(format!("copies needs a program; {USAGE}."));
    }
    let path = words.remove(0);
    Ok(Copies { count, path, argv: words })
}

/// Run all copies. The exit code is that of the first copy, in order of their numbers, with one other than 0;
/// 128 plus the signal's number if a signal ended it.
pub fn run(copies: &Copies) -> ExitCode {
    if let Err(error) = Room::here().check_copies(copies.count) {
        eprintln!("becalm-agent: {error}");
        return ExitCode::from(2);
    }
    match start(copies).map(|pids| wait(&pids)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("becalm-agent: {} copies cannot be started: {error}.", copies.count);
            ExitCode::from(127)
        }
    }
}

/// Fork all copies, which wait for each other before they execute the program.
fn start(copies: &Copies) -> io::Result<Vec<libc::pid_t>> {
    // The pipe is at its end when the last copy and this process have closed their writing side.
    let (ready, waiting) = io::pipe()?;
    let mut argv: Vec<_> = copies.argv.iter().map(|word| word.as_ptr()).collect();
    argv.push(ptr::null());
    // SAFETY: cannot fail.
    let parent = unsafe { libc::getpid() };
    let mut pids = Vec::new();
    for number in 0..copies.count {
        // SAFETY: this process has one thread, so the child may do anything.
        match unsafe { libc::fork() } {
            -1 => {
                let error = io::Error::last_os_error();
                for pid in pids {
                    // SAFETY: our own child, not reaped yet.
                    unsafe { libc::kill(pid, libc::SIGKILL) };
                }
                return Err(error);
            }
            0 => {
                if !end_with(parent, libc::SIGKILL) {
                    // SAFETY: ends this process only.
                    unsafe { libc::_exit(127) };
                }
                std::env::set_var("BECALM_COPY", number.to_string());
                let own = own_input();
                drop(waiting);
                let mut ready = ready;
                let _ = io::Read::read(&mut ready, &mut [0]);
                let error = own.err().unwrap_or_else(|| {
                    // SAFETY: live strings, terminated by null. SIGPIPE, which Rust ignores, is set to what
                    // programs expect.
                    unsafe {
                        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
                        libc::execv(copies.path.as_ptr(), argv.as_ptr());
                    }
                    io::Error::last_os_error()
                });
                eprintln!("becalm-agent: {} cannot be started: {error}.", copies.path.to_string_lossy());
                // SAFETY: ends this process only.
                unsafe { libc::_exit(127) }
            }
            pid => pids.push(pid),
        }
    }
    Ok(pids)
}

/// Open an input file anew, since copies that share it would each read a part.
fn own_input() -> io::Result<()> {
    // SAFETY: an all-zero stat is valid, the path is a live string, and descriptors are ours.
    unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        if libc::fstat(0, &mut about) != 0 || about.st_mode & libc::S_IFMT != libc::S_IFREG {
            return Ok(());
        }
        let opened = libc::open(c"/proc/self/fd/0".as_ptr(), libc::O_RDONLY);
        if opened < 0 || libc::dup2(opened, 0) < 0 {
            return Err(io::Error::last_os_error());
        }
        libc::close(opened);
    }
    Ok(())
}

/// Wait for all copies, and return the first code other than 0.
fn wait(pids: &[libc::pid_t]) -> u8 {
    let mut code = 0;
    for pid in pids {
        let mut status = 0;
        // SAFETY: a live pointer. Nothing interrupts: no signal has a handler.
        if unsafe { libc::waitpid(*pid, &mut status, 0) } == *pid && code == 0 {
            let status = decode(status);
            code = if status < 0 { 128 - status } else { status } as u8;
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Result<Copies, String> {
        parse(words.iter().map(OsString::from))
    }

    #[test]
    fn valid_arguments_are_parsed_and_others_rejected() {
        let copies = of(&["3", "/bin/true", "true", "-x"]).unwrap();
        assert_eq!((copies.count, copies.path.as_c_str(), copies.argv.len()), (3, c"/bin/true", 2));
        for bad in [&[][..], &["0", "/x", "x"], &["5000", "/x", "x"], &["x", "/x", "x"], &["2"], &["2", "/x"]]
        {
            assert!(of(bad).is_err(), "{bad:?}");
        }
    }
}
