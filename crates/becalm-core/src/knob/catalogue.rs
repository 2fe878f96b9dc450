//! The table of knobs. One more knob is one more row here; help, completion and docs are generated from it.
//!
//! The order of application: what changes which CPUs there are (SMT, then offline ones) before what is set for each of
//! them; the governor before turbo, because setting it resets `no_turbo`; everything before interrupts and isolation.
//!
//! What is set at boot is tried on the last core: the CPU that boots keeps the time, so the kernel takes it out of
//! nohz_full (kernel/time/tick-sched.c), and most devices interrupt it.

use super::row::Act::{
    self, BeforeRun, Boot as AtBoot, EachCpu, File, FrequencyFloor, Interrupts, Isolation as Isolate,
    Latency, OnlineCpus, Services, Smt, Swap,
};
use super::row::Domain::*;
use super::row::Form::{Plain, Switch};
use super::row::Group::*;
use super::row::Scope::*;
pub use super::row::{Knob, Scope};

const ROOT: &str = "root";
const ON_IS_1: super::row::Form = Switch { on: "1", off: "0" };
const CORES: &[&str] = &["first-core", "last-core"];
const NO_FREQUENCY: &str =
    "there is no frequency scaling here: the processor or its driver has none, as usual in virtual machines";

/// A row that the others are written as differences from.
const ROW: Knob = Knob {
    name: "",
    scope: Live,
    group: Normal,
    domain: OnOff,
    act: Act::Process,
    steady: None,
    order: 50,
    needs: &[],
    against: &[],
    confines: false,
    matters: "",
    costs: "",
    privilege: ROOT,
    absent: "this kernel does not have it",
    source: "",
};

/// All knobs, in the order in which they are listed.
#[rustfmt::skip]
pub const CATALOGUE: &[Knob] = &[
    // --- of the measured program -------------------------------------------------------------------------------------
    Knob { name: "nice", scope: Process, group: Essential, act: Act::Process, steady: Some("-20"),
        domain: Described("-20 (most CPU time) to 19 (least)"),
        matters: "the share of a CPU when others want it too",
        costs: "everything else on the machine waits",
        privilege: "CAP_SYS_NICE below the present value", source: "setpriority(2)", ..ROW },
    Knob { name: "io_priority", scope: Process, group: Essential, act: Act::Process, steady: Some("realtime:0"),
        domain: Described("realtime:0-7, best-effort:0-7, idle or none"),
        matters: "whose disk requests come first, with schedulers that heed it",
        costs: "other programs wait for the disk",
        privilege: "CAP_SYS_ADMIN or CAP_SYS_NICE for realtime", source: "ioprio_set(2)", ..ROW },
    Knob { name: "aslr", scope: Process, act: Act::Process, steady: Some("off"),
        domain: Described("on or off"),
        matters: "whether addresses, and with them cache and branch conflicts, change from run to run",
        costs: "off: one memory layout is measured precisely, which may be a lucky one",
        privilege: "", source: "personality(2), ADDR_NO_RANDOMIZE", ..ROW },
    Knob { name: "cpus", scope: Process, act: Act::Process, confines: true,
        domain: Described("a list of CPUs such as 0,2-3"),
        matters: "a program that is not moved between CPUs keeps its caches",
        costs: "its threads share those CPUs", privilege: "", source: "sched_setaffinity(2)", ..ROW },
    Knob { name: "policy", scope: Process, group: Dangerous, act: Act::Process, steady: Some("fifo:50"),
        domain: Described("other, batch, idle, fifo:1-99 or rr:1-99"),
        matters: "who may interrupt the program, and how often",
        costs: "fifo and rr: nothing else runs on that CPU, the terminal may freeze",
        privilege: "CAP_SYS_NICE for fifo and rr", source: "sched(7)", ..ROW },
    Knob { name: "slice_ns", scope: Process, act: Act::Process, steady: Some("100000000"),
        domain: Described("100000 to 100000000 ns, or 0 for the default"),
        matters: "how long the program runs before others of its priority get their turn",
        costs: "others wait longer for theirs", privilege: "",
        source: "sched_setattr(2), kernel 6.12 and later", ..ROW },
    Knob { name: "environment_size", scope: Process, act: Act::Process,
        domain: Words(&["random", "fixed"]),
        matters: "the size of the environment moves the stack: random sizes average over layouts, a fixed one hides them",
        costs: "random: a wider spread; fixed: a bias that nobody sees", privilege: "",
        source: "Mytkowicz et al. 2009, Producing Wrong Data Without Doing Anything Obviously Wrong!", ..ROW },
    Knob { name: "drop_caches", scope: Process, act: BeforeRun,
        matters: "every run reads its files from disk, none by luck from memory",
        costs: "files are read again by everybody: seconds of slow disk", source: "proc_sys_vm(5), drop_caches", ..ROW },

    // --- processors --------------------------------------------------------------------------------------------------
    Knob { name: "smt", act: Smt, steady: Some("off"), order: 10,
        matters: "a busy sibling thread takes up to half of a core",
        costs: "off: half of the hardware threads",
        absent: "the processor has no SMT, or the kernel does not control it",
        source: "/sys/devices/system/cpu/smt/control", ..ROW },
    Knob { name: "online_cpus", group: Dangerous, act: OnlineCpus, steady: Some("first"), order: 20, confines: true,
        domain: Cpus(&["all", "first"]),
        matters: "a CPU that is offline disturbs nobody: no shared cache, memory or power budget",
        costs: "the machine is as slow as the CPUs that are left",
        absent: "no CPU of this machine can be taken offline",
        source: "/sys/devices/system/cpu/cpuN/online", ..ROW },
    Knob { name: "governor", group: Essential, act: EachCpu("cpufreq/scaling_governor", Plain), steady: Some("performance"),
        order: 30, domain: Listed("/sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors"),
        matters: "a frequency that follows the load is low when a run begins",
        costs: "power, heat and noise", absent: NO_FREQUENCY,
        source: "Documentation/admin-guide/pm/cpufreq.rst", ..ROW },
    Knob { name: "turbo", order: 40, steady: Some("off"), act: File(&[
            ("/sys/devices/system/cpu/intel_pstate/no_turbo", Switch { on: "0", off: "1" }),
            ("/sys/devices/system/cpu/cpufreq/boost", ON_IS_1)]),
        matters: "turbo depends on temperature and on what other cores do",
        costs: "off: the highest frequencies", absent: "the processor or its driver has no turbo to control",
        source: "Documentation/admin-guide/pm/intel_pstate.rst, cpufreq.rst", ..ROW },
    Knob { name: "frequency_floor", group: Essential, act: FrequencyFloor, steady: Some("max"), order: 45,
        domain: WordOrWhole { words: &["max"], low: 1, high: i64::MAX, unit: "kHz" },
        matters: "a processor that may not slow down needs no time to speed up",
        costs: "power, heat and noise", absent: NO_FREQUENCY,
        source: "Documentation/admin-guide/pm/cpufreq.rst", ..ROW },
    Knob { name: "cpu_dma_latency", group: Dangerous, act: Latency, steady: Some("0"),
        domain: Whole { low: 0, high: 2_000_000_000, unit: "us" },
        matters: "waking from a deep idle state takes up to a millisecond",
        costs: "0: idle CPUs spin at full power and heat, which can slow the busy one",
        absent: "the kernel has no power management quality of service",
        source: "Documentation/admin-guide/pm/cpuidle.rst, /dev/cpu_dma_latency", ..ROW },

    // --- memory ------------------------------------------------------------------------------------------------------
    Knob { name: "swap", act: Swap, steady: Some("off"),
        matters: "a page that was swapped out costs a disk access at a time nobody chooses",
        costs: "off: when memory is short, programs are killed",
        absent: "no swap area is on: there is nothing to switch off", source: "swapoff(2)", ..ROW },
    Knob { name: "transparent_hugepages", steady: Some("never"), domain: Words(&["always", "madvise", "never"]),
        act: File(&[("/sys/kernel/mm/transparent_hugepage/enabled", Plain)]),
        matters: "whether a huge page is free differs from run to run, and a kernel thread makes them meanwhile",
        costs: "never: more misses of the TLB in programs with much memory",
        source: "Documentation/admin-guide/mm/transhuge.rst", ..ROW },
    Knob { name: "hugepage_defrag", domain: Words(&["always", "defer", "defer+madvise", "madvise", "never"]),
        act: File(&[("/sys/kernel/mm/transparent_hugepage/defrag", Plain)]),
        matters: "a page fault may wait while memory is compacted",
        costs: "never: fewer huge pages", source: "Documentation/admin-guide/mm/transhuge.rst", ..ROW },
    Knob { name: "ksm", steady: Some("off"), act: File(&[("/sys/kernel/mm/ksm/run", ON_IS_1)]),
        matters: "merging equal pages scans memory and makes writes slow",
        costs: "off: equal pages of virtual machines are not merged any more",
        source: "Documentation/admin-guide/mm/ksm.rst", ..ROW },
    Knob { name: "numa_balancing", steady: Some("off"), act: File(&[("/proc/sys/kernel/numa_balancing", ON_IS_1)]),
        matters: "the kernel unmaps pages to see who uses them, and moves them",
        costs: "off: memory stays where it was first touched",
        source: "Documentation/admin-guide/sysctl/kernel.rst", ..ROW },
    Knob { name: "swappiness", domain: Whole { low: 0, high: 200, unit: "" },
        act: File(&[("/proc/sys/vm/swappiness", Plain)]),
        matters: "how soon memory of programs goes to swap in favour of files",
        costs: "low: files are read again", source: "Documentation/admin-guide/sysctl/vm.rst", ..ROW },

    // --- kernel work -------------------------------------------------------------------------------------------------
    Knob { name: "stat_interval", steady: Some("20"), domain: Whole { low: 1, high: 2_147_483, unit: "s" },
        act: File(&[("/proc/sys/vm/stat_interval", Plain)]),
        matters: "how often each CPU is interrupted to add up memory statistics",
        costs: "tools that read memory statistics see older ones",
        source: "Documentation/admin-guide/sysctl/vm.rst", ..ROW },
    Knob { name: "perf_rate", steady: Some("1"), domain: Whole { low: 1, high: 1_000_000, unit: "samples per second" },
        act: File(&[("/proc/sys/kernel/perf_event_max_sample_rate", Plain)]),
        matters: "how often profilers may interrupt",
        costs: "profilers see nothing", absent: "the kernel has no performance events",
        source: "Documentation/admin-guide/sysctl/kernel.rst", ..ROW },
    // One file for both detectors. The others are never read while this is 0: reading them then makes the kernel forget
    // that they were on (kernel/watchdog.c, proc_watchdog_common), and 1 here has no effect any more.
    Knob { name: "watchdogs", group: Dangerous, steady: Some("off"), act: File(&[
            ("/proc/sys/kernel/watchdog", ON_IS_1),
            ("/proc/sys/kernel/soft_watchdog", ON_IS_1),
            ("/proc/sys/kernel/nmi_watchdog", ON_IS_1)]),
        matters: "they interrupt every CPU now and then and occupy a hardware counter",
        costs: "off: a locked-up CPU is not noticed", absent: "the kernel has no lockup detector",
        source: "Documentation/admin-guide/lockup-watchdogs.rst", ..ROW },
    Knob { name: "aslr_system", domain: WordOrWhole { words: &["off", "on"], low: 0, high: 2, unit: "" },
        act: File(&[("/proc/sys/kernel/randomize_va_space", Switch { on: "2", off: "0" })]),
        matters: "as aslr, for every program that starts meanwhile",
        costs: "off: attacks on all programs of the machine become easier; prefer aslr",
        source: "Documentation/admin-guide/sysctl/kernel.rst, randomize_va_space", ..ROW },
    Knob { name: "timer_migration", steady: Some("off"), act: File(&[("/proc/sys/kernel/timer_migration", ON_IS_1)]),
        matters: "timers of idle CPUs move to busy ones",
        costs: "off: idle CPUs wake up for their own timers",
        source: "kernel/time/timer.c", ..ROW },
    Knob { name: "workqueue_cpus", order: 60, steady: Some("away"), domain: Cpus(&["all", "away"]), act: Interrupts,
        matters: "kernel work that is bound to no CPU may run on the measured one",
        costs: "the other CPUs do it", absent: "this kernel does not let that work be moved",
        source: "Documentation/core-api/workqueue.rst, /sys/devices/virtual/workqueue/cpumask", ..ROW },
    Knob { name: "irq_affinity", order: 60, steady: Some("away"), domain: Cpus(&["all", "away"]), act: Interrupts,
        matters: "an interrupt takes a microsecond and a part of the cache from who runs there",
        costs: "the other CPUs handle all devices", absent: "the kernel does not let interrupts be moved",
        source: "Documentation/core-api/irq/irq-affinity.rst", ..ROW },
    Knob { name: "autogroup", act: File(&[("/proc/sys/kernel/sched_autogroup_enabled", ON_IS_1)]),
        matters: "with it, nice acts only within one terminal session",
        costs: "off: a session with many processes gets a larger share",
        source: "sched(7), The autogroup feature", ..ROW },

    // --- who else is there -------------------------------------------------------------------------------------------
    Knob { name: "services", group: Dangerous, order: 5, steady: Some("pause"), domain: Words(&["run", "pause"]), act: Services,
        matters: "tuned, TLP, irqbalance and their like rewrite the settings that are measured",
        costs: "pause: they do not react until they are continued",
        absent: "no service that rewrites settings runs here", source: "kill(2), SIGSTOP and SIGCONT", ..ROW },
    Knob { name: "isolation", group: Isolation, order: 70, steady: Some("first-core"), confines: true,
        domain: Cpus(CORES), act: Isolate, against: &["isolcpus"],
        matters: "nobody else runs where the program runs",
        costs: "all others share what is left; the program has the isolated CPUs only",
        absent: "the cpuset controller is in no mounted cgroup hierarchy, or there is only one core",
        source: "cpuset(7); Documentation/admin-guide/cgroup-v2.rst, Cpuset", ..ROW },

    // --- at the next boot --------------------------------------------------------------------------------------------
    Knob { name: "isolcpus", scope: Boot, group: Isolation, steady: Some("last-core"), confines: true,
        domain: Cpus(CORES), act: AtBoot(&["isolcpus={}"]),
        matters: "nothing is ever scheduled on these CPUs that does not ask for them",
        costs: "no load balancing there: threads pile up on one CPU",
        source: "Documentation/admin-guide/kernel-parameters.txt", ..ROW },
    Knob { name: "rcu_nocbs", scope: Boot, group: Isolation, steady: Some("last-core"), needs: &["isolcpus"],
        domain: Cpus(CORES), act: AtBoot(&["rcu_nocbs={}"]),
        matters: "the kernel frees memory on other CPUs", costs: "those have more to do",
        source: "Documentation/admin-guide/kernel-parameters.txt", ..ROW },
    Knob { name: "nohz_full", scope: Boot, group: Isolation, steady: Some("last-core"), needs: &["isolcpus"],
        domain: Cpus(CORES), act: AtBoot(&["nohz_full={}"]),
        matters: "no timer interrupt while one program runs alone on a CPU",
        costs: "system calls are slower; of use only with one thread per CPU",
        source: "Documentation/timers/no_hz.rst", ..ROW },
    Knob { name: "pstate_driver", scope: Boot, steady: Some("off"),
        act: AtBoot(&["intel_pstate=disable", "amd_pstate=disable"]),
        matters: "the processor's own frequency control gives way to the kernel's",
        costs: "other frequencies, perhaps lower ones", source: "Documentation/admin-guide/pm/intel_pstate.rst", ..ROW },
    Knob { name: "watchdogs_boot", scope: Boot, group: Dangerous, steady: Some("off"),
        act: AtBoot(&["nowatchdog", "nosoftlockup", "nmi_watchdog=0"]),
        matters: "as watchdogs, from the start", costs: "a locked-up CPU is not noticed",
        source: "Documentation/admin-guide/kernel-parameters.txt", ..ROW },
    Knob { name: "idle", scope: Boot, group: Dangerous, steady: Some("poll"), domain: Words(&["poll", "halt", "nomwait"]),
        act: AtBoot(&["idle={}"]),
        matters: "a CPU that never sleeps need not wake up", costs: "poll: full power and heat at all times",
        source: "Documentation/admin-guide/pm/cpuidle.rst", ..ROW },
    Knob { name: "mitigations", scope: Boot, group: Dangerous, domain: Words(&["off", "auto", "auto,nosmt"]),
        act: AtBoot(&["mitigations={}"]),
        matters: "protection against speculative attacks makes system calls slower",
        costs: "off: programs can read each other's memory",
        source: "Documentation/admin-guide/kernel-parameters.txt", ..ROW },
];

/// The row of a name.
pub fn find(name: &str) -> Option<&'static Knob> {
    CATALOGUE.iter().find(|knob| knob.name == name)
}

/// The name in the catalogue that is most like `name`, when one is like it at all.
pub fn nearest(name: &str) -> Option<&'static str> {
    CATALOGUE
        .iter()
        .map(|knob| (distance(name, knob.name), knob.name))
        .min()
        .filter(|(far, near)| *far <= near.len().div_ceil(2))
        .map(|(_, near)| near)
}

/// Levenshtein's edit distance, in bytes; names are short.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut corner = i;
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let next = (row[j] + 1).min(row[j + 1] + 1).min(corner + usize::from(x != y));
            corner = row[j + 1];
            row[j + 1] = next;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_rows_have_words() {
        for (i, knob) in CATALOGUE.iter().enumerate() {
            assert!(CATALOGUE[..i].iter().all(|other| other.name != knob.name), "{}", knob.name);
            assert!(!knob.domain.words().is_empty() && !knob.matters.is_empty() && !knob.source.is_empty());
            assert!(!knob.costs.is_empty(), "{}", knob.name);
        }
    }

    #[test]
    fn what_a_search_tries_is_in_the_domain_and_what_a_knob_needs_exists() {
        for knob in CATALOGUE {
            assert!(knob.steady.is_none_or(|value| knob.domain.holds(value)), "{}", knob.name);
            assert!(knob.needs.iter().chain(knob.against).all(|name| find(name).is_some()), "{}", knob.name);
            assert_eq!(knob.scope == Scope::Boot, matches!(knob.act, Act::Boot(_)), "{}", knob.name);
        }
    }

    #[test]
    fn the_order_is_that_of_the_hardware() {
        let order = |name| find(name).unwrap().order;
        assert!(order("smt") < order("online_cpus") && order("online_cpus") < order("governor"));
        assert!(order("governor") < order("turbo") && order("turbo") < order("frequency_floor"));
        assert!(order("online_cpus") < order("irq_affinity") && order("irq_affinity") < order("isolation"));
    }

    #[test]
    fn a_misspelt_name_has_a_neighbour() {
        assert_eq!(nearest("niec"), Some("nice"));
        assert_eq!(nearest("slicens"), Some("slice_ns"));
        assert_eq!(nearest("completely-else-and-longer"), None);
    }
}
