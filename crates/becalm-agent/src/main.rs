//! `becalm-agent`: the only part of becalm that starts a workload, reads the machine or changes it.
//!
//! `options` reads the command line, `protocol` the requests, `conversation` carries them (`input`) and the events
//! (`output`, through an `outlet` that never blocks, and into the `spool`), `session` serves them, `defined` knows what steps name, `ready`
//! and `measure` run steps (`streams`: their output, `gauges`: what is measured besides times, `script`: figures of tests in their place), `machine` holds settings, or has the
//! `root_helper` do it (`hidden_files`: what it tells), `settings_report` words them, `abandoned_groups` are
//! those that killed agents left, `restore` puts them back once and by itself, `booting` has the machine
//! start with other kernel parameters, `read` tells what else the machine does (`intervals`: from one reading to the
//! next), `observe` records that around runs (`probe` reads, a `record` gathers, `accounts`: of the programs
//! themselves, `series`: over time), `follow` what a running process does, `recording` who runs when with two counters per CPU
//! (`bpf`: by programs in the kernel), `load` makes the machine busy, `neighbours` are kept running
//! beside programs (`beside`: what lives there), `clock`
//! evaluates its timers, `rights` are those that an agent of sudo keeps, `copies` starts programs several times at once, `wakeups` shows how soon woken threads run,
//! `kernel` runs a program of known pressure on caches,
//! `overhead` measures the agent itself, `tables` prints what it knows, `init`
//! is process 1 of a guest and `interface` its network, `mounts` has the kernel's file systems for this process alone. `main` sets the process up and hands over.

mod abandoned_groups;
mod accounts;
mod beside;
mod booting;
mod bpf;
mod clock;
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
