//! Priorities of the catalogue, given to a process of somebody else's and taken back: those that a user may not take.

use std::collections::BTreeMap;
use std::io;

use becalm_core::knob::catalogue::find;
use becalm_core::knob::process::{io_class, number, policy, Rank};

use crate::caller::OwnProcess;
use crate::failure::Failure;

/// The settings of a program that are priorities.
const NAMES: [&str; 3] = ["nice", "io_priority", "policy"];

/// Values by name, as a request has them.
pub type Priorities = BTreeMap<String, String>;

/// The priorities that a process had before.
pub struct Before {
    process: OwnProcess,
    rank: Rank,
}

impl Before {
    /// Give a process these priorities. Each must be one of the catalogue, with a value of its domain.
    pub fn give(process: OwnProcess, wanted: &Priorities) -> Result<Self, Failure> {
        let rank = Rank::of(process.pid).map_err(system)?;
        let mut new = rank;
        for (name, value) in wanted {
            let knob = find(name).filter(|knob| NAMES.contains(&knob.name));
            let Some(knob) = knob else {
                return Err(Failure::new(
                    "usage",
                    format!("{name:?} is not a priority: {}.", NAMES.join(", ")),
                ));
            };
            let read = match knob.name {
                "nice" => number,
                "policy" => policy,
                _ => io_class,
            };
            let operand =
                read(&knob.domain, value).filter(|_| knob.domain.holds(value)).ok_or_else(|| {
                    Failure::new(
                        "domain",
                        format!("{name} cannot be {value:?}: it takes {}.", knob.domain.words()),
                    )
                })?;
            match knob.name {
                "nice" => new.nice = operand.number as i32,
                "policy" => (new.policy, new.level) = (operand.number as u32, operand.level as u32),
                _ => new.io = operand.number as i32,
            }
        }
        let given = if process.lives() { new.give(process.pid) } else { Err(gone()) };
        let before = Self { process, rank };
        match given {
            Ok(()) => Ok(before),
            Err(error) => {
                before.give_back();
                Err(system(error))
            }
        }
    }

    /// Give it what it had.
    pub fn give_back(self) {
        if self.process.lives() {
            // One that has ended meanwhile needs none.
            drop(self.rank.give(self.process.pid));
        }
    }
}

fn gone() -> io::Error {
    io::Error::from_raw_os_error(libc::ESRCH)
}

fn system(error: io::Error) -> Failure {
    Failure::new("refused", format!("The priorities of the process cannot be set: {error}."))
}
