//! The properties of this machine's clock that can be trusted, before anything is timed. Unknown ones are
//! left out.

use std::path::Path;

use becalm_clock::cycles::CycleCounter;
use becalm_clock::Clock;
use serde::Serialize;

use super::chain::Check;
use super::fences::{self, Fences};
use super::step;
use crate::facts::clocks;
use crate::facts::read::Machine;

/// The statement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trust {
    /// The counter that is read, and the way to read it.
    pub source: &'static str,
    /// The reason why it is not the processor's own.
    pub fallback: Option<String>,
    /// The ticks per second, and their error in parts per million.
    pub hz: f64,
    /// See `hz`.
    pub ppm: f64,
    /// The frequency that processor or firmware announce.
    pub announced_hz: Option<u64>,
    /// The step by which the counter advances, in ticks and ns.
    pub quantum_ticks: Option<f64>,
    /// See `quantum_ticks`.
    pub quantum_ns: Option<f64>,
    /// The smallest and the median time between two reads with nothing between them, in ns.
    pub smallest_cost_ns: f64,
    /// See `smallest_cost_ns`.
    pub median_cost_ns: f64,
    /// Whether a hypervisor emulates each read.
    pub trapped: bool,
    /// Whether the counter runs at one rate.
    pub invariant: Option<bool>,
    /// Whether the machine runs under a hypervisor.
    pub hypervisor: Option<bool>,
    /// The kernel's own clock source: the kernel stops using a counter that it has found to be wrong.
    pub clocksource: Option<String>,
    /// The times of additions and multiplications, which show the core's clock.
    pub check: Check,
    /// The core's clock in this run in GHz, and relative to the counter's.
    pub core_ghz: f64,
    /// See `core_ghz`.
    pub core_over_counter: f64,
    /// The effect of fences.
    pub fences: Fences,
    /// The ticks by which the counter of another processor was behind that of this one; None: not tried, or
    /// the machine was too busy.
    pub behind_ticks: Option<u64>,
    /// Whether the machine's cores are of several kinds.
    pub unlike_cores: bool,
    /// The reason why the core's cycles cannot be counted; None: they can.
    pub no_cycles: Option<String>,
    /// The processor that measures, and whether the thread stays there.
    pub cpu: u32,
    /// See `cpu`.
    pub pinned: bool,
    /// Seconds since 1970.
    pub at: u64,
}

impl Trust {
    /// Ask the processor, the kernel and a few probes. `allowed` has the processors with counters that are
    /// compared.
    pub fn collect(clock: &Clock, check: Check, cpu: u32, pinned: bool, allowed: &[u32]) -> Trust {
        let machine = Machine::new(Path::new("/"));
        let info = clock.info();
        let tick_ns = 1e9 / info.calibration.hz;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Trust {
            source: info.source.name(),
            fallback: info.fallback.map(|reason| reason.to_string()),
            hz: info.calibration.hz,
            ppm: info.calibration.ppm,
            announced_hz: info.abilities.announced_hz,
            quantum_ticks: info.quantum,
            quantum_ns: info.quantum.map(|ticks| ticks * tick_ns),
            smallest_cost_ns: info.smallest_cost as f64 * tick_ns,
            median_cost_ns: info.median_cost as f64 * tick_ns,
            trapped: info.trapped(),
            invariant: info.abilities.invariant,
            hypervisor: info.abilities.hypervisor,
            clocksource: clocks::current(&machine).ok(),
            check,
            core_ghz: 1.0 / check.addition_ns,
            core_over_counter: tick_ns / check.addition_ns,
            fences: fences::probe(clock, check.addition_ns / tick_ns),
            behind_ticks: match info.fallback {
                Some(_) => None,
                None => step::largest(cpu, allowed, || becalm_clock::begin().ticks),
            },
            unlike_cores: unlike(&machine),
            no_cycles: CycleCounter::open().err().map(|reason| reason.to_string()),
            cpu,
            pinned,
            at: now.map_or(0, |since| since.as_secs()),
        }
    }

    /// Return the reasons for doubting the results; each entry is a kind that is described elsewhere.
    pub fn doubts(&self) -> Vec<&'static str> {
        let native = self.fallback.is_none();
        let tsc = cfg!(target_arch = "x86_64") && native;
        [
            (!native, "fallback"),
            (self.trapped, "trapped"),
            (
                tsc && self.invariant == Some(false) && self.clocksource.as_deref() != Some("tsc"),
                "not_invariant",
            ),
            (
                // The clock sources kvm-clock and Hyper-V's page read the same counter.
                tsc && self
                    .clocksource
                    .as_deref()
                    .is_some_and(|name| matches!(name, "hpet" | "acpi_pm" | "jiffies")),
                "kernel_left_it",
            ),
            (native && self.fences.hold() == Some(false), "fences_do_not_hold"),
            (native && !self.fences.wait(), "reads_do_not_wait"),
            (
                // Up to one step counts as none: two reads of one counter may differ by it.
                self.behind_ticks.is_some_and(|ticks| ticks as f64 > self.quantum_ticks.unwrap_or(1.0)),
                "out_of_step",
            ),
            (self.unlike_cores, "unlike_cores"),
            (!self.pinned, "not_pinned"),
            (self.quantum_ticks.is_none(), "quantum_unknown"),
        ]
        .into_iter()
        .filter_map(|(is_so, kind)| is_so.then_some(kind))
        .collect()
    }
}

/// Return whether the kernel lists cores of several kinds: their own lists of counters on x86-64 (cpu_core,
/// cpu_atom), and capacities that differ on Armv8 (sysfs-devices-system-cpu).
fn unlike(machine: &Machine) -> bool {
    let capacities: Vec<String> = machine
        .numbered("sys/devices/system/cpu", "cpu")
        .unwrap_or_default()
        .into_iter()
        .filter_map(|cpu| machine.line(&format!("sys/devices/system/cpu/cpu{cpu}/cpu_capacity")).ok())
        .collect();
    let listed = |kind: &str| machine.line(&format!("sys/devices/{kind}/cpus")).is_ok();
    capacities.windows(2).any(|pair| pair[0] != pair[1]) || (listed("cpu_core") && listed("cpu_atom"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Trust {
        Trust {
            source: "rdtscp;lfence",
            fallback: None,
            hz: 2e9,
            ppm: 0.5,
            announced_hz: None,
            quantum_ticks: Some(2.0),
            quantum_ns: Some(1.0),
            smallest_cost_ns: 27.0,
            median_cost_ns: 29.0,
            trapped: false,
            invariant: Some(true),
            hypervisor: Some(true),
            clocksource: Some("tsc".into()),
            check: Check { addition_ns: 0.3, ratio: 3.0 },
            core_ghz: 3.3,
            core_over_counter: 1.7,
            fences: Fences { ratio: Some(2.0), waited: 1.0, bare_waited: 0.1 },
            behind_ticks: Some(2),
            unlike_cores: false,
            no_cycles: None,
            cpu: 1,
            pinned: true,
            at: 0,
        }
    }

    #[test]
    fn a_good_machine_leaves_no_doubt() {
        assert_eq!(good().doubts(), Vec::<&str>::new());
        // A hypervisor may hide the flag; the kernel uses the counter all the same.
        assert_eq!(Trust { invariant: Some(false), ..good() }.doubts(), Vec::<&str>::new());
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn each_fault_is_a_doubt() {
        let hpet = Some("hpet".to_owned());
        let bad = Trust {
            trapped: true,
            invariant: Some(false),
            clocksource: hpet,
            fences: Fences { ratio: Some(1.0), waited: 0.2, bare_waited: 0.2 },
            behind_ticks: Some(900),
            unlike_cores: true,
            pinned: false,
            quantum_ticks: None,
            ..good()
        };
        assert_eq!(
            bad.doubts(),
            [
                "trapped",
                "not_invariant",
                "kernel_left_it",
                "fences_do_not_hold",
                "reads_do_not_wait",
                "out_of_step",
                "unlike_cores",
                "not_pinned",
                "quantum_unknown"
            ]
        );
        assert_eq!(Trust { fallback: Some("no".into()), ..good() }.doubts(), ["fallback"]);
    }

    #[test]
    fn cores_of_several_kinds_are_detected() {
        let root = std::env::temp_dir().join(format!("becalm-cores-{}", std::process::id()));
        let machine = Machine::new(&root);
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let capacity = |cpu: u32| format!("sys/devices/system/cpu/cpu{cpu}/cpu_capacity");
        let mut verdicts = vec![unlike(&machine)];
        (0..3).for_each(|cpu| write(&capacity(cpu), "1024\n"));
        verdicts.push(unlike(&machine));
        write(&capacity(2), "446\n");
        verdicts.push(unlike(&machine));
        write(&capacity(2), "1024\n");
        write("sys/devices/cpu_core/cpus", "0-7\n");
        verdicts.push(unlike(&machine));
        write("sys/devices/cpu_atom/cpus", "8-15\n");
        verdicts.push(unlike(&machine));
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(verdicts, [false, false, true, false, true]);
    }

    #[test]
    fn this_machine_makes_a_statement() {
        let clock = Clock::calibrated(2_000_000).unwrap();
        let trust = Trust::collect(&clock, Check { addition_ns: 0.3, ratio: 3.0 }, 0, false, &[0, 1]);
        assert!(trust.hz > 1e6 && trust.doubts().contains(&"not_pinned"));
    }
}
