//! The program `becalm-agent`: the only part of becalm that starts a workload, reads the machine or changes
//! it.
//!
//! `main` sets the process up and hands over to one of the commands.
//!
//! - `serve`: `options` parses the command line, and `setup` prepares the process. `conversation` carries the
//!   requests of `protocol` (`input`) and the events (`output`, through an `outlet` that never blocks, and
//!   into the `spool`); `session` serves them.
//! - Runs: `defined` has the workloads and settings of steps, `ready` prepares a workload, and `measure` runs
//!   steps. `streams` handles output, `gauges` measures quantities other than times, `script` substitutes
//!   figures in tests, and `neighbours` keeps other programs running meanwhile (`companion`: the process for
//!   them, or for load).
//! - Settings: `machine` applies settings, or has `root_helper` do it (`hidden_files`: files that the helper
//!   reads), and `settings_report` describes them. `restore` restores them once without a conversation,
//!   `booting` changes kernel parameters, and `abandoned_groups` handles control groups of killed agents.
//! - Observing: `read` reports the load of the machine (`intervals`: from one reading to the next), and
//!   `observe` records it around runs (`probe` reads, a `record` gathers, `accounts` has those of programs,
//!   `series` is over time, `others` is the CPU time that others took). `follow` reads a running process, and
//!   `recording` records context switches with two counters per CPU (`bpf`: by programs in the kernel).
//!   `rights` drops those that an agent started by sudo does not need.
//! - Other commands: `load` generates load, `clock` evaluates timers, `copies` starts a program several
//!   times, `wakeups` measures wake-up latencies, `kernel` runs a built-in kernel, `overhead` measures the
//!   agent itself, and `tables` prints its tables.
//! - Guests: `init` is process 1, `interface` its network and `storage` its disk and swap.

mod abandoned_groups;
mod accounts;
mod booting;
mod bpf;
mod clock;
mod companion;
mod conversation;
mod copies;
mod defined;
mod follow;
mod gauges;
mod hidden_files;
mod init;
mod input;
mod interface;
mod intervals;
mod kernel;
mod load;
mod machine;
mod measure;
mod neighbours;
mod observe;
mod options;
mod others;
mod outlet;
mod output;
mod overhead;
mod probe;
mod read;
mod ready;
mod record;
mod recording;
mod restore;
mod rights;
mod root_helper;
mod script;
mod series;
mod session;
mod settings_report;
mod setup;
mod spool;
mod storage;
mod streams;
mod tables;
mod wait_counter;
mod wakeups;

use std::process::ExitCode;

use becalm_agent::protocol;

fn main() -> ExitCode {
    if init::is_ours() {
        init::boot();
    }
    let command = options::parse(std::env::args_os().skip(1)).and_then(|command| {
        rights::keep_for(&command)?;
        Ok(command)
    });
    let options = match command {
        Ok(options::Command::Serve(options)) => options,
        Ok(options::Command::Restore(options)) => return restore::run(&options),
        Ok(options::Command::Copies(copies)) => return copies::run(&copies),
        Ok(options::Command::Load(options)) => return load::run(options),
        Ok(options::Command::Clock(request)) => return clock::run(&request),
        Ok(options::Command::Wakeups(wakeups)) => return wakeups::run(&wakeups),
        Ok(options::Command::Kernel(kernel)) => return kernel::run(&kernel),
        Ok(options::Command::Tables) => {
            println!("{}", tables::tables());
            return ExitCode::SUCCESS;
        }
        Ok(options::Command::Version) => {
            println!("becalm-agent {}", env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
        Ok(options::Command::Features) => {
            println!("{}", if cfg!(feature = "bpf") { "bpf" } else { "" });
            return ExitCode::SUCCESS;
        }
        Err(sentence) => {
            eprintln!("becalm-agent: {sentence}");
            return ExitCode::from(2);
        }
    };
    match setup::session(options).and_then(|mut session| session.serve()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("becalm-agent: {sentence}");
            ExitCode::from(3)
        }
    }
}
