//! The requested kinds and amounts of load (`Demand`), and checks that do not depend on the machine.

use serde::Deserialize;

use super::job::LoadError;
use super::room::Room;

/// The session of the load, that of the caller or a separate one: with `sched_autogroup_enabled` the kernel
/// shares processors among sessions first, and among processes second (sched(7), "The autogroup feature").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Session {
    #[default]
    Same,
    New,
}

/// The load to generate. Zero and null mean none of a kind.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Demand {
    /// Processors to keep busy: 2.5 are two whole ones and a half.
    pub cpu: f64,
    /// The nice value of all load, -20 to 19; null: that of the caller.
    pub nice: Option<i32>,
    /// The processors that all load is bound to; null: any.
    pub cpus: Option<Vec<usize>>,
    /// The bytes to write to repeatedly, in a group that may have no more than `limit_bytes` in memory.
    pub memory_bytes: Option<u64>,
    pub limit_bytes: Option<u64>,
    /// The directory to write in, past the page cache; `disk_rate` in bytes per second, null: as fast as
    /// possible.
    pub disk_directory: Option<String>,
    pub disk_rate: Option<f64>,
    /// The bytes per second through a TCP connection over the loopback interface.
    pub network_rate: Option<f64>,
    /// The number of processes that only call the kernel.
    pub syscalls: u32,
    pub session: Session,
}

/// A rate in bytes per second that no disk and no loopback network reaches: more is a typing error.
const MOST_RATE: f64 = (1_u64 << 40) as f64;

impl Demand {
    /// Check that the demand is meaningful: numbers in their domain, fields that belong together, and no more
    /// of anything than a small multiple of the machine.
    pub fn check(&self, room: &Room) -> Result<(), LoadError> {
        room.check(self.cpu, "busy processors")?;
        room.check(f64::from(self.syscalls), "processes that call the kernel")?;
        // Both kinds are always ready to run.
        room.check(
            self.cpu.ceil() + f64::from(self.syscalls),
            "busy processors and processes that call the kernel",
        )?;
        self.check_where()?;
        self.check_rates()?;
        self.check_memory(room)
    }

    fn check_where(&self) -> Result<(), LoadError> {
        if let Some(nice) = self.nice.filter(|nice| !(-20..=19).contains(nice)) {
            return refused(format!("A nice value is -20 to 19, not {nice}."));
        }
        if self.cpus.as_ref().is_some_and(|cpus| cpus.is_empty() || cpus.iter().any(|cpu| *cpu >= 1024)) {
            return refused("The list of processors for the load is empty or names one above 1023.".into());
        }
        Ok(())
    }

    fn check_rates(&self) -> Result<(), LoadError> {
        for (what, rate) in [("disk", self.disk_rate), ("network", self.network_rate)] {
            if let Some(rate) = rate.filter(|rate| !(1.0..=MOST_RATE).contains(rate)) {
                return refused(format!(
                    "The {what} rate must be from 1 byte to 1T per second, not {rate} bytes per second."
                ));
            }
        }
        if self.disk_rate.is_some() && self.disk_directory.is_none() {
            return refused("A disk rate needs a directory to write in: --disk DIR --rate 50M.".into());
        }
        Ok(())
    }

    fn check_memory(&self, room: &Room) -> Result<(), LoadError> {
        let (memory, limit) = match (self.memory_bytes, self.limit_bytes) {
            (Some(memory), Some(limit)) => (memory, limit),
            (Some(memory), None) => {
                return refused(format!(
                    "Memory load of {memory} bytes needs a limit, so that the machine survives it: --limit 256M keeps it \
                     in a control group that has no more than that in memory."
                ))
            }
            (None, Some(_)) => {
                return refused("A limit belongs to memory load: --memory 512M --limit 256M.".into())
            }
            (None, None) => return Ok(()),
        };
        if memory < 1 << 20 || limit < 1 << 20 {
            return refused("Memory load and its limit must be at least 1M.".into());
        }
        let Some(all) = room.memory_bytes else { return Ok(()) };
        if limit > all {
            return refused(format!(
                "A limit of {} MiB is too much: it is above the {} MiB of memory that this machine has.",
                limit >> 20,
                all >> 20
            ));
        }
        let with_swap = all.saturating_add(room.swap_bytes.unwrap_or(0));
        if memory > with_swap {
            return refused(format!(
                "{} MiB are more than the {} MiB of memory and swap that this machine has.",
                memory >> 20,
                with_swap >> 20
            ));
        }
        Ok(())
    }
}

fn refused(sentence: String) -> Result<(), LoadError> {
    Err(LoadError::Usage(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { cpus: 2, memory_bytes: Some(1 << 30), swap_bytes: Some(1 << 30) };

    fn of(text: &str) -> Result<Demand, String> {
        let demand: Demand = serde_json::from_str(text).map_err(|error| error.to_string())?;
        demand.check(&ROOM).map_err(|error| error.to_string()).map(|()| demand)
    }

    #[test]
    fn demands_are_parsed() {
        let demand = of(r#"{"cpu":2.5,"nice":5,"cpus":[0],"session":"new"}"#).unwrap();
        assert_eq!((demand.cpu, demand.nice, demand.session), (2.5, Some(5), Session::New));
        assert_eq!(of("{}").unwrap().session, Session::Same);
        assert!(of(r#"{"memory_bytes":1048576,"limit_bytes":1048576}"#).is_ok());
        assert!(of(r#"{"cpu":16}"#).is_ok());
    }

    #[test]
    fn numbers_that_are_none_are_refused() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for demand in [
                Demand { cpu: number, ..Demand::default() },
                Demand { network_rate: Some(number), ..Demand::default() },
                Demand { disk_directory: Some("/".into()), disk_rate: Some(number), ..Demand::default() },
            ] {
                assert!(matches!(demand.check(&ROOM), Err(LoadError::Usage(_))), "{demand:?}");
            }
        }
    }

    #[test]
    fn invalid_demands_are_refused_with_the_field() {
        for (bad, word) in [
            (r#"{"cpu":-1}"#, "processors"),
            (r#"{"cpu":16.5}"#, "0 to 16"),
            (r#"{"cpu":1e9}"#, "2 CPUs online"),
            (r#"{"cpu":10,"syscalls":7}"#, "0 to 16"),
            (r#"{"nice":20}"#, "nice"),
            (r#"{"cpus":[]}"#, "list of processors"),
            (r#"{"cpus":[5000]}"#, "list of processors"),
            (r#"{"disk_rate":5}"#, "--disk"),
            (r#"{"network_rate":0}"#, "network rate"),
            (r#"{"memory_bytes":1048576}"#, "needs a limit"),
            (r#"{"limit_bytes":1048576}"#, "belongs to memory"),
            (r#"{"memory_bytes":5,"limit_bytes":5}"#, "at least 1M"),
            (r#"{"network_rate":1e13}"#, "network rate"),
            (r#"{"disk_directory":"/","disk_rate":-1}"#, "disk rate"),
            (r#"{"memory_bytes":3221225472,"limit_bytes":1048576}"#, "2048 MiB of memory and swap"),
            (r#"{"memory_bytes":2097152,"limit_bytes":1073741825}"#, "1024 MiB of memory that"),
            (r#"{"syscalls":100000}"#, "call the kernel"),
            (r#"{"spin":1}"#, "spin"),
        ] {
            assert!(of(bad).unwrap_err().contains(word), "{bad}");
        }
    }
}
