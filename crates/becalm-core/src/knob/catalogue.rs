//! The table of knobs. A new knob is a new row here; help, completion and docs are generated from it.
//!
//! The order of application: knobs that change which CPUs exist (SMT, then offline ones) before those that
//! are set for each of them; the governor before turbo, because setting it resets `no_turbo`; everything
//! before interrupts and isolation.
//!
//! Settings of the boot use the last core by default: the CPU that boots keeps the time, so the kernel takes
//! it out of nohz_full (kernel/time/tick-sched.c), and most devices interrupt it.

mod blank;
mod cpu_weight;
mod each_cpu;
mod feature;
mod file;
mod frequency_floor;
mod interrupts;
mod isolation;
mod latency;
mod next_boot;
mod of_process;
mod online_cpus;
mod process_cpus;
mod scheduler;
mod services;
mod smt;
mod swap_areas;
mod value;

use self::blank::{ON_IS_1, PLAIN, ROW};
use self::cpu_weight::CpuWeight;
use self::each_cpu::EachCpu;
use self::file::File;
use self::frequency_floor::FrequencyFloor;
use self::interrupts::Interrupts;
use self::isolation::Isolation as Isolate;
use self::latency::Latency;
use self::next_boot::AtBoot;
use self::of_process::{BeforeRun, EnvironmentSize, InChild, Slice};
use self::online_cpus::OnlineCpus;
use self::process_cpus::ProcessCpus;
use self::scheduler::SCHEDULER;
use self::services::Services;
use self::smt::Smt;
use self::swap_areas::SwapAreas;
use super::domain::Scale::{Linear, Log};
use super::domain::{
    class, classes, cpus, levels, listed, processes, range, special, words, Special, DEFAULT,
};
use super::moved;
use super::process;
use super::proof;
use super::row::Group::*;
use super::row::Scope::*;
pub use super::row::{Boot as Words, Form, Knob, Privileged, Scope};

const CORE: &[Special] =
    &[special("first-core", "the first core with all its threads"), special("last-core", "the last one")];
const AWAY: &[Special] = &[special("all", "every CPU"), special("away", "all but the program's")];
const NO_FREQUENCY: &str =
    "there is no frequency scaling here: the processor or its driver has none, as usual in virtual machines";

/// The file that changes with huge pages: the kernel keeps more memory free while there are any, and
/// recomputes the amount when that changes, whatever somebody had written there
/// (set_recommended_min_free_kbytes in mm/khugepaged.c).
const WITH_HUGE_PAGES: &[&str] = &["/proc/sys/vm/min_free_kbytes"];

/// The files that change with the governor: the performance governor overrides the preference while it is on;
/// every governor forgets its own values.
const WITH_GOVERNOR: &[&str] = &joined_names::<7>(
    &["/sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference"],
    moved::GOVERNORS,
);

/// The files that change with isolation: an isolated partition takes its CPUs out of the mask
/// (workqueue_unbound_exclude_cpumask in kernel/workqueue.c, from 6.7 on), and divides the groups in which
/// load is balanced.
const WITH_ISOLATION: &[&str] =
    &joined_names::<6>(&["/sys/devices/virtual/workqueue/cpumask"], moved::DOMAINS);

/// The files that change with turbo: without it the highest frequency is lower, and the bounds of each CPU
/// are set to that (cpufreq_boost_set_sw in drivers/cpufreq/cpufreq.c, no_turbo_store in
/// drivers/cpufreq/intel_pstate.c); they stay there when it is on again.
const WITH_TURBO: &[&str] = &[
    "/sys/devices/system/cpu/intel_pstate/min_perf_pct",
    "/sys/devices/system/cpu/cpu*/cpufreq/boost",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq",
    "/sys/devices/system/cpu/cpu*/cpufreq/scaling_min_freq",
];

/// The default words of the next boot, on which the rows are based.
const WORDS: Words =
    Words { words: &[], possible: proof::anywhere, proof: proof::unproven, known_from: "", binds: false };

/// All knobs, in the order in which they are listed.
pub const CATALOGUE: &[Knob] = &joined::<{ KNOBS.len() + SCHEDULER.len() }>(KNOBS, SCHEDULER);

const fn joined<const N: usize>(some: &[Knob], others: &[Knob]) -> [Knob; N] {
    let mut all = [ROW; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < some.len() { some[at] } else { others[at - some.len()] };
        at += 1;
    }
    all
}

const fn joined_names<const N: usize>(some: &[&'static str], others: &[&'static str]) -> [&'static str; N] {
    let mut all = [""; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < some.len() { some[at] } else { others[at - some.len()] };
        at += 1;
    }
    all
}

/// The knobs except those of the scheduler as a whole, which are in `scheduler`.
#[rustfmt::skip]
const KNOBS: &[Knob] = &[
    // --- of the measured program -------------------------------------------------------------------------------------
    Knob { name: "nice", scope: Process, group: Essential, tuned_value: Some("-20"),
        domain: range(-20, 19, "", Linear), act: &InChild(process::number, process::renice),
        rationale: "the share of a CPU when others want it too: most at -20, least at 19",
        costs: "everything else on the machine waits",
        privilege: "CAP_SYS_NICE below the present value", privileged: Privileged::Below(0), source: "setpriority(2)", ..ROW },
    Knob { name: "io_priority", scope: Process, group: Essential, tuned_value: Some("realtime:0"),
        domain: classes(&[levels("realtime", 0, 7, Some(4)), levels("best-effort", 0, 7, Some(4)), class("idle"), class("none")]),
        act: &InChild(process::io_class, process::set_io_priority),
        rationale: "whose disk requests come first, with schedulers that support it",
        costs: "other programs wait for the disk",
        privilege: "CAP_SYS_ADMIN or CAP_SYS_NICE for realtime", privileged: Privileged::Classes(&["realtime"]), source: "ioprio_set(2)", ..ROW },
    Knob { name: "aslr", scope: Process, tuned_value: Some("off"),
        act: &InChild(process::switched_off, process::set_addresses),
        rationale: "whether addresses, and with them cache and branch conflicts, change from run to run",
        costs: "off: one memory layout is measured precisely, which may be a lucky one",
        privilege: "", privileged: Privileged::None, source: "personality(2), ADDR_NO_RANDOMIZE", ..ROW },
    Knob { name: "cpus", scope: Process, restricts_cpus: true,
        domain: cpus(&[]), act: &InChild(process::cpu_set, process::bind),
        rationale: "a program that is not moved between CPUs keeps its caches",
        costs: "its threads share those CPUs", privilege: "", privileged: Privileged::None, source: "sched_setaffinity(2)", ..ROW },
    Knob { name: "policy", scope: Process, group: Dangerous, tuned_value: Some("fifo:50"),
        domain: classes(&[class("other"), class("batch"), class("idle"), levels("fifo", 1, 99, None), levels("rr", 1, 99, None)]),
        act: &InChild(process::policy, process::set_policy), order: 55,
        rationale: "who may interrupt the program, and how often",
        costs: "fifo and rr: nothing else runs on that CPU, the terminal may freeze",
        privilege: "CAP_SYS_NICE for fifo and rr", privileged: Privileged::Classes(&["fifo", "rr"]), source: "sched(7)", ..ROW },
    Knob { name: "slice_ns", scope: Process, tuned_value: Some("100000000"),
        domain: range(100_000, 100_000_000, "ns", Log).or(&[special("0", DEFAULT)]),
        act: &Slice, order: 56, absent: "it needs Linux 6.12 or later", elsewhere: "guest:6.12",
        rationale: "how long the program runs before others of its priority get their turn",
        costs: "others wait longer for theirs", privilege: "", privileged: Privileged::None,
        source: "sched_setattr(2), kernel 6.12 and later", ..ROW },
    Knob { name: "environment_size", scope: Process, act: &EnvironmentSize,
        domain: words(&["random", "fixed"]),
        rationale: "the size of the environment moves the stack: random sizes average over layouts, a fixed one hides them",
        costs: "random: a wider spread; fixed: a bias that nobody sees", privilege: "", privileged: Privileged::None,
        source: "Mytkowicz et al. 2009, Producing Wrong Data Without Doing Anything Obviously Wrong!", ..ROW },
    Knob { name: "drop_caches", scope: Process, act: &BeforeRun,
        rationale: "every run reads its files from disk, none by luck from memory",
        costs: "files are read again by everybody: seconds of slow disk", source: "proc_sys_vm(5), drop_caches", ..ROW },

    // --- processors --------------------------------------------------------------------------------------------------
    Knob { name: "smt", act: &Smt, tuned_value: Some("off"), order: 10,
        rationale: "a busy sibling thread takes up to half of a core",
        costs: "off: half of the hardware threads",
        absent: "the processor has no SMT, or the kernel does not control it",
        source: "/sys/devices/system/cpu/smt/control", ..ROW },
    Knob { name: "online_cpus", group: Dangerous, act: &OnlineCpus, tuned_value: Some("first"), order: 20, restricts_cpus: true,
        domain: cpus(&[special("all", "every CPU"), special("first", "only the first one")]),
        rationale: "a CPU that is offline disturbs nobody: no shared cache, memory or power budget",
        costs: "the machine is as slow as the CPUs that are left",
        absent: "no CPU of this machine can be taken offline",
        source: "/sys/devices/system/cpu/cpuN/online", ..ROW },
    Knob { name: "governor", group: Essential, tuned_value: Some("performance"),
        act: &EachCpu { file: "cpufreq/scaling_governor", form: PLAIN },
        order: 30, moves: WITH_GOVERNOR, domain: listed("/sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors"),
        rationale: "a frequency that follows the load is low when a run begins",
        costs: "power, heat and noise", absent: NO_FREQUENCY,
        source: "Documentation/admin-guide/pm/cpufreq.rst", ..ROW },
    Knob { name: "turbo", order: 40, moves: WITH_TURBO, tuned_value: Some("off"), act: &File(&[
            ("/sys/devices/system/cpu/intel_pstate/no_turbo", Form(&[("on", "0"), ("off", "1")])),
            ("/sys/devices/system/cpu/cpufreq/boost", ON_IS_1)]),
        rationale: "turbo depends on temperature and on what other cores do",
        costs: "off: the highest frequencies", absent: "the processor or its driver has no turbo to control",
        source: "Documentation/admin-guide/pm/intel_pstate.rst, cpufreq.rst", ..ROW },
    Knob { name: "frequency_floor", group: Essential, act: &FrequencyFloor, tuned_value: Some("max"), order: 45,
        domain: range(1, 20_000_000, "kHz", Linear).or(&[special("max", "the highest of each CPU")]),
        rationale: "a processor that may not slow down needs no time to speed up",
        costs: "power, heat and noise", absent: NO_FREQUENCY,
        source: "Documentation/admin-guide/pm/cpufreq.rst", ..ROW },
    Knob { name: "cpu_dma_latency", group: Dangerous, act: &Latency, tuned_value: Some("0"),
        domain: range(1, 2_000_000_000, "us", Log).or(&[special("0", "no idle state at all")]),
        rationale: "waking from a deep idle state takes up to a millisecond",
        costs: "0: idle CPUs spin at full power and heat, which can slow the busy one",
        absent: "the kernel has no power management quality of service",
        source: "Documentation/admin-guide/pm/cpuidle.rst, /dev/cpu_dma_latency", ..ROW },

    // --- memory ------------------------------------------------------------------------------------------------------
    Knob { name: "swap", act: &SwapAreas, tuned_value: Some("off"),
        rationale: "a page that was swapped out costs a disk access at an unpredictable time",
        costs: "off: when memory is short, programs are killed",
        absent: "no swap area is on: there is nothing to switch off", source: "swapoff(2)", ..ROW },
    Knob { name: "transparent_hugepages", tuned_value: Some("never"), domain: words(&["always", "madvise", "never"]),
        act: &File(&[("/sys/kernel/mm/transparent_hugepage/enabled", PLAIN)]), moves: WITH_HUGE_PAGES,
        rationale: "whether a huge page is free differs from run to run, and a kernel thread assembles them in the background",
        costs: "never: more misses of the TLB in programs with much memory",
        source: "Documentation/admin-guide/mm/transhuge.rst", ..ROW },
    Knob { name: "hugepage_defrag", domain: words(&["always", "defer", "defer+madvise", "madvise", "never"]),
        act: &File(&[("/sys/kernel/mm/transparent_hugepage/defrag", PLAIN)]),
        rationale: "a page fault may wait while memory is compacted",
        costs: "never: fewer huge pages", source: "Documentation/admin-guide/mm/transhuge.rst", ..ROW },
    Knob { name: "ksm", tuned_value: Some("off"), act: &File(&[("/sys/kernel/mm/ksm/run", ON_IS_1)]),
        rationale: "merging equal pages scans memory and makes writes slow",
        costs: "off: equal pages of virtual machines are not merged any more",
        source: "Documentation/admin-guide/mm/ksm.rst", ..ROW },
    Knob { name: "numa_balancing", tuned_value: Some("off"), act: &File(&[("/proc/sys/kernel/numa_balancing", ON_IS_1)]),
        rationale: "the kernel unmaps pages to see who uses them, and moves them",
        costs: "off: memory stays where it was first touched",
        source: "Documentation/admin-guide/sysctl/kernel.rst", ..ROW },
    Knob { name: "swappiness", domain: range(0, 200, "", Linear),
        act: &File(&[("/proc/sys/vm/swappiness", PLAIN)]),
        rationale: "how soon memory of programs goes to swap in favour of files",
        costs: "low: files are read again", source: "Documentation/admin-guide/sysctl/vm.rst", ..ROW },

    // --- kernel work -------------------------------------------------------------------------------------------------
    Knob { name: "stat_interval", tuned_value: Some("20"), domain: range(1, 2_147_483, "s", Log),
        act: &File(&[("/proc/sys/vm/stat_interval", PLAIN)]),
        rationale: "how often each CPU is interrupted to add up memory statistics",
        costs: "tools that read memory statistics see older ones",
        source: "Documentation/admin-guide/sysctl/vm.rst", ..ROW },
    Knob { name: "delay_accounting", act: &File(&[("/proc/sys/kernel/task_delayacct", ON_IS_1)]),
        rationale: "whether the kernel counts what programs wait for disk and memory: it makes nothing faster or steadier",
        costs: "a clock is read at each such wait of programs that are started meanwhile",
        absent: "the kernel always counts them (before 5.14), or never (CONFIG_TASK_DELAY_ACCT)",
        source: "Documentation/accounting/delay-accounting.rst", ..ROW },
    Knob { name: "perf_rate", tuned_value: Some("1"), domain: range(1, 1_000_000, "samples per second", Log),
        act: &File(&[("/proc/sys/kernel/perf_event_max_sample_rate", PLAIN)]),
        rationale: "how often profilers may interrupt",
        costs: "profilers see nothing", absent: "the kernel has no performance events",
        source: "Documentation/admin-guide/sysctl/kernel.rst", ..ROW },
    // One file controls both detectors. The others are never read while this is 0: reading them then makes
    // the kernel forget that they were on (kernel/watchdog.c, proc_watchdog_common), and 1 here has no effect
    // any more.
    Knob { name: "watchdogs", group: Dangerous, tuned_value: Some("off"), act: &File(&[
            ("/proc/sys/kernel/watchdog", ON_IS_1),
            ("/proc/sys/kernel/soft_watchdog", ON_IS_1),
            ("/proc/sys/kernel/nmi_watchdog", ON_IS_1)]),
        rationale: "they interrupt every CPU now and then and occupy a hardware counter",
        costs: "off: a locked-up CPU is not noticed", absent: "the kernel has no lockup detector",
        source: "Documentation/admin-guide/lockup-watchdogs.rst", ..ROW },
    Knob { name: "aslr_system", domain: range(0, 2, "", Linear).or(&[special("off", "0"), special("on", "2")]),
        act: &File(&[("/proc/sys/kernel/randomize_va_space", Form(&[("on", "2"), ("off", "0")]))]),
        rationale: "like aslr, for every program that is started",
        costs: "off: attacks on all programs of the machine become easier; prefer aslr",
        source: "Documentation/admin-guide/sysctl/kernel.rst, randomize_va_space", ..ROW },
    Knob { name: "timer_migration", tuned_value: Some("off"), act: &File(&[("/proc/sys/kernel/timer_migration", ON_IS_1)]),
        rationale: "timers of idle CPUs move to busy ones",
        costs: "off: idle CPUs wake up for their own timers",
        source: "kernel/time/timer.c", ..ROW },
    Knob { name: "workqueue_cpus", order: 60, tuned_value: Some("away"), domain: cpus(AWAY),
        act: &Interrupts { mask: "/sys/devices/virtual/workqueue/cpumask", each: false },
        rationale: "kernel work that is bound to no CPU may run on the measured one",
        costs: "the other CPUs do it", absent: "this kernel does not let that work be moved",
        source: "Documentation/core-api/workqueue.rst, /sys/devices/virtual/workqueue/cpumask", ..ROW },
    Knob { name: "irq_affinity", order: 60, tuned_value: Some("away"), domain: cpus(AWAY),
        act: &Interrupts { mask: "/proc/irq/default_smp_affinity", each: true },
        rationale: "an interrupt takes a microsecond and a part of the cache from the program that runs there",
        costs: "the other CPUs handle all devices", absent: "the kernel does not let interrupts be moved",
        source: "Documentation/core-api/irq/irq-affinity.rst", ..ROW },
    // --- who else is there -------------------------------------------------------------------------------------------
    Knob { name: "services", group: Dangerous, order: 5, tuned_value: Some("pause"), domain: words(&["run", "pause"]), act: &Services,
        rationale: "services such as tuned, TLP and irqbalance rewrite the settings that are measured",
        costs: "pause: they do not react until they are continued",
        absent: "no service that rewrites settings runs here", source: "kill(2), SIGSTOP and SIGCONT", ..ROW },
    Knob { name: "isolation", group: Isolation, order: 70, tuned_value: Some("last-core"), restricts_cpus: true,
        domain: cpus(CORE), act: &Isolate, conflicts: &["isolcpus"],
        moves: WITH_ISOLATION,
        rationale: "nobody else runs where the program runs",
        costs: "all others share what is left; the program has the isolated CPUs only",
        absent: "the cpuset controller is in no mounted cgroup hierarchy, or there is only one core",
        source: "cpuset(7); Documentation/admin-guide/cgroup-v2.rst, Cpuset", ..ROW },

    Knob { name: "cpu_weight", order: 75, conflicts: &["isolation"], domain: range(1, 10_000, "", Log), act: &CpuWeight,
        rationale: "the share of the CPUs of the program with all that it starts, where others want them too: each group has 100",
        costs: "large: services and sessions wait",
        absent: "the cpu controller is in no mounted cgroup hierarchy",
        source: "Documentation/admin-guide/cgroup-v2.rst, cpu.weight; cpu.shares on version 1", ..ROW },

    Knob { name: "process_cpus", order: 80, domain: processes(), act: &ProcessCpus,
        rationale: "programs that share a chip slow each other down by what they take of its cache and memory",
        costs: "all threads of these processes share those CPUs, and what they fork does, too",
        absent: "no process is seen in /proc", source: "sched_setaffinity(2)", ..ROW },

    // --- at the next boot --------------------------------------------------------------------------------------------
    Knob { name: "isolcpus", scope: Boot, group: Isolation, tuned_value: Some("last-core"), restricts_cpus: true,
        domain: cpus(CORE), act: &AtBoot(Words { words: &["isolcpus={}"], proof: proof::isolated,
            known_from: "`/sys/devices/system/cpu/isolated`", binds: true, ..WORDS }),
        rationale: "only tasks that are bound to these CPUs run there",
        costs: "no load balancing there: threads pile up on one CPU",
        source: "Documentation/admin-guide/kernel-parameters.txt", ..ROW },
    Knob { name: "rcu_nocbs", scope: Boot, group: Isolation, tuned_value: Some("last-core"), requires: &["isolcpus"],
        domain: cpus(CORE), act: &AtBoot(Words { words: &["rcu_nocbs={}"], proof: proof::callbacks,
            known_from: "the kernel's log of its boot (\"Offload RCU callbacks from CPUs\"), or its threads `rcuo…`", ..WORDS }),
        rationale: "the kernel frees memory on other CPUs", costs: "the other CPUs have more to do",
        source: "Documentation/admin-guide/kernel-parameters.txt", ..ROW },
    Knob { name: "nohz_full", scope: Boot, group: Isolation, tuned_value: Some("last-core"), requires: &["isolcpus"],
        domain: cpus(CORE), act: &AtBoot(Words { words: &["nohz_full={}"], possible: proof::can_be_tickless, proof: proof::tickless,
            known_from: "`/sys/devices/system/cpu/nohz_full`", ..WORDS }),
        rationale: "no timer interrupt while one program runs alone on a CPU",
        costs: "system calls are slower; of use only with one thread per CPU",
        source: "Documentation/timers/no_hz.rst", ..ROW },
    Knob { name: "pstate_driver", scope: Boot, tuned_value: Some("off"),
        act: &AtBoot(Words { words: &["intel_pstate=disable", "amd_pstate=disable"], possible: proof::has_pstate,
            proof: proof::frequency_driver, known_from: "the driver of the frequency", ..WORDS }),
        rationale: "the processor's own frequency control gives way to the kernel's",
        costs: "other frequencies, perhaps lower ones", source: "Documentation/admin-guide/pm/intel_pstate.rst", ..ROW },
    Knob { name: "watchdogs_boot", scope: Boot, group: Dangerous, tuned_value: Some("off"),
        act: &AtBoot(Words { words: &["nowatchdog", "nosoftlockup", "nmi_watchdog=0"], possible: proof::has_watchdogs,
            proof: proof::watchdogs, known_from: "`watchdog`, `soft_watchdog` and `nmi_watchdog` in `/proc/sys/kernel`", ..WORDS }),
        rationale: "as watchdogs, from the start", costs: "a locked-up CPU is not noticed",
        source: "Documentation/admin-guide/kernel-parameters.txt", ..ROW },
    Knob { name: "idle", scope: Boot, group: Dangerous, tuned_value: Some("poll"), domain: words(&["poll", "halt", "nomwait"]),
        act: &AtBoot(Words { words: &["idle={}"], proof: proof::idle,
            known_from: "the idle driver, and the log (\"using polling idle threads\")", ..WORDS }),
        rationale: "a CPU that never sleeps need not wake up", costs: "poll: full power and heat at all times",
        source: "Documentation/admin-guide/pm/cpuidle.rst", ..ROW },
    Knob { name: "mitigations", scope: Boot, group: Dangerous, domain: words(&["off", "auto", "auto,nosmt"]),
        act: &AtBoot(Words { words: &["mitigations={}"], possible: proof::has_mitigations, proof: proof::mitigations,
            known_from: "`/sys/devices/system/cpu/vulnerabilities`", ..WORDS }),
        rationale: "protection against speculative attacks makes system calls slower",
        costs: "off: programs can read each other's memory",
        source: "Documentation/admin-guide/kernel-parameters.txt", ..ROW },
];

/// Return the row of a name.
pub fn find(name: &str) -> Option<&'static Knob> {
    CATALOGUE.iter().find(|knob| knob.name == name)
}

/// Return the name in the catalogue that is most like `name`, if any is like it at all.
pub fn nearest(name: &str) -> Option<&'static str> {
    CATALOGUE
        .iter()
        .map(|knob| (distance(name, knob.name), knob.name))
        .min()
        .filter(|(far, near)| *far <= near.len().div_ceil(2))
        .map(|(_, near)| near)
}

/// Return Levenshtein's edit distance, in bytes; names are short.
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
    use super::super::domain::Kind;
    use super::*;

    #[test]
    fn names_are_distinct_and_rows_have_words() {
        for (i, knob) in CATALOGUE.iter().enumerate() {
            assert!(CATALOGUE[..i].iter().all(|other| other.name != knob.name), "{}", knob.name);
            assert!(!knob.domain.words().is_empty() && !knob.rationale.is_empty() && !knob.source.is_empty());
            assert!(!knob.costs.is_empty(), "{}", knob.name);
        }
    }

    #[test]
    fn tuned_values_are_in_the_domain_and_required_knobs_exist() {
        for knob in CATALOGUE {
            assert!(knob.tuned_value.is_none_or(|value| knob.domain.holds(value)), "{}", knob.name);
            assert!(
                knob.requires.iter().chain(knob.conflicts).all(|name| find(name).is_some()),
                "{}",
                knob.name
            );
            assert_eq!(knob.scope == Scope::Boot, knob.act.boot().is_some(), "{}", knob.name);
        }
    }

    #[test]
    fn domains_can_be_searched() {
        for knob in CATALOGUE {
            for value in knob.domain.examples() {
                assert!(knob.domain.holds(&value), "{}={value}", knob.name);
            }
            if let Kind::Range { low, high, scale, .. } = knob.domain.kind {
                assert!(low < high && (scale == Linear || low > 0), "{}", knob.name);
            }
            assert_eq!(knob.privilege.is_empty(), knob.privileged == Privileged::None, "{}", knob.name);
        }
    }

    #[test]
    fn the_order_is_that_of_the_hardware() {
        let order = |name| find(name).unwrap().order;
        assert!(order("smt") < order("online_cpus") && order("online_cpus") < order("governor"));
        assert!(order("sched_tunable_scaling") < order("smt") && order("smt") < order("sched_latency_ns"));
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
