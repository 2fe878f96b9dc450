//! What the sources make of recorded machines (tests/data/load), of machines that change, and of broken files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::file::Place;
use super::layout::Kind;
use super::snapshot::{difference, Snapshot, Unknown};
use super::table::{find, TABLE};
use super::Reader;

fn data(machine: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/load").join(machine)
}

fn snapshot(machine: &str) -> Snapshot {
    Reader::all(&Place::new(&data(machine))).snapshot()
}

fn absent(snapshot: &Snapshot, source: &str) -> Option<String> {
    snapshot.section(source).unwrap().absent()
}

/// Each line: source, name, value; "-" for one that is named and not known, "none" for one that is not named.
fn check(machine: &str, expected: &str) {
    let taken = snapshot(machine);
    for line in expected.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let [source, name, value] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let section = taken.section(source).unwrap();
        let found = taken.named(section).find(|(found, ..)| found == name).map(|(.., value)| value);
        let expected = match value {
            "none" => None,
            "-" => Some(None),
            digits => Some(Some(digits.parse().unwrap())),
        };
        assert_eq!(found, expected, "{machine}: {line}");
    }
}

#[test]
fn a_server_with_many_accounts() {
    check(
        "server-4.18",
        "stat cpu.user 88421033
        stat cpu3.system 2305037
        stat cpu.guest_nice 0
        stat intr 5810442190
        stat softirq 4110224519
        stat procs_blocked 2
        stat btime none
        schedstat cpu0.yields 0
        schedstat cpu0.schedules 410223
        schedstat cpu1.yields 12
        schedstat cpu1.schedules 390001
        schedstat cpu1.wait_ns 1100334455
        schedstat cpu1.slices 260001
        schedstat task.wait_ns 90112
        vmstat pswpout 90334
        vmstat allocstall_movable 311
        diskstats sda.sectors_written 188112233
        diskstats sda.in_flight 3
        diskstats sda.discard_ms 4411
        diskstats sda.flushes -
        diskstats sda.whole 1
        diskstats sda.physical 1
        diskstats sda2.whole 0
        diskstats dm-0.whole 1
        diskstats dm-0.physical 0
        netdev ens1.received_bytes 1990112233445
        netdev ens1.collisions 5
        netdev ens1.mtu 9000
        interrupts 35:ens1-rx-0.cpu2 88112233
        interrupts 16:ehci_hcd:usb1.cpu2 3
        interrupts LOC.cpu3 660112233
        interrupts ERR.all 3
        softirqs NET_RX.cpu1 11223
        nfs rpc.calls 8812334
        nfs rpc.retransmissions 41
        nfs proc3.reads 1200334
        nfs proc3.writes 300112
        nfs proc3.get_attributes 4400112
        nfs proc3.calls 7961413
        nfs proc4.writes 44112
        nfs proc4.lookups -
        nfs /home:READ.round_trip_ms 5039
        nfs /home:WRITE.errors 2
        nfs /home:bytes.written_to_server 1104319
        nfs /srv/pub\\040files:READ.execute_ms 3
        nfs /srv/pub\\040files:READ.errors -
        frequency cpu1.frequency_khz 2400001
        frequency cpu3.frequency_khz -
        frequency cpu3.core_throttles 3
        frequency cpu0.core_throttled_ms -
        cgroup v1.cpu.throttled_time 15501122334
        cgroup v1.cpuacct.usage_ns 90112233445
        cgroup v1.cpuacct.ticks.system 991
        cgroup v1.memory.rss 881122
        cgroup v1.blkio.bytes.8:0.Write 81920",
    );
    let taken = snapshot("server-4.18");
    assert!(absent(&taken, "psi").unwrap().contains("/proc/pressure/cpu does not exist"));
    let names = taken.named(taken.section("nfs").unwrap());
    assert!(names.into_iter().all(|(name, ..)| !name.contains("nfsd")));
}

#[test]
fn a_desktop_with_a_cpu_offline() {
    check(
        "desktop-6.1",
        "stat cpu2.softirq 301
        stat cpu1.user none
        psi cpu.some.total_us 88112233
        psi cpu.some.avg10_hundredths 125
        psi cpu.full.total_us none
        psi io.some.avg300_hundredths 10000
        psi irq.full.total_us 9911
        psi group.cpu.full.total_us 567
        psi group.irq.some.total_us none
        interrupts 131:nvme0q1.cpu2 4411
        interrupts LOC.cpu1 none
        diskstats nvme0n1.flush_ms 9487
        diskstats nvme0n1p1.whole 0
        diskstats md0.physical 0
        frequency cpu2.frequency_khz 2400000
        frequency cpu0.core_throttles -
        cgroup v2.cpu.throttled_usec 1500112
        cgroup v2.memory.anon 44112233
        cgroup v2.memory.pgmajfault 41
        cgroup v2.memory.events.high 12
        cgroup v2.memory.current 132224466
        cgroup v2.io.259:0.wbytes 8192
        cgroup v2.io.254:0.rbytes -
        schedstat task.run_ns 880112",
    );
    let taken = snapshot("desktop-6.1");
    let kind = |source: &str, name: &str| {
        taken.named(taken.section(source).unwrap()).find(|(found, ..)| found == name).map(|(_, kind, _)| kind)
    };
    assert_eq!(kind("cgroup", "v2.memory.zswap"), Some(Kind::State));
    assert_eq!(kind("cgroup", "v2.memory.pgscan"), Some(Kind::Counter));
    assert_eq!(kind("diskstats", "md0.busy_ms"), Some(Kind::Counter32));
    assert!(absent(&taken, "nfs").unwrap().contains("net/rpc/nfs does not exist"));
}

#[test]
fn a_guest_and_an_old_kernel_say_what_they_lack() {
    let guest = snapshot("guest-6.18");
    assert!(
        absent(&guest, "nfs").is_some()
            && absent(&guest, "frequency").unwrap().contains("no CPU has cpufreq")
    );
    let missing = &guest.section("schedstat").unwrap().missing;
    assert_eq!(
        missing.iter().map(|reason| &**reason).collect::<Vec<_>>(),
        ["/proc/schedstat does not exist"]
    );
    check(
        "guest-6.18",
        "schedstat task.wait_ns 7366556
        diskstats vda.whole 1
        diskstats vda.physical 1
        diskstats zram0.physical 0
        psi group.io.full.total_us 51121070",
    );
    check(
        "old-2.6.32",
        "stat cpu0.steal 3
        stat cpu0.guest_nice -
        diskstats sda.weighted_ms 18722
        diskstats sda.discards -
        diskstats sda1.reads none
        diskstats sda.whole -
        netdev eth0.received_bytes 4294967200
        netdev eth0:1.received_packets 1
        interrupts 0:timer.cpu0 120112
        interrupts ERR.cpu0 0
        schedstat task.slices 9
        schedstat cpu0.run_ns none",
    );
    let old = snapshot("old-2.6.32");
    assert!(absent(&old, "softirqs").is_some());
    assert!(old.section("schedstat").unwrap().missing[0].contains("version other"));
}

#[test]
fn the_table_names_each_source_once() {
    for row in &TABLE {
        assert!(std::ptr::eq(find(row.name).unwrap(), row));
        assert!(
            [row.what, row.unit, row.trap, row.absent].iter().all(|text| !text.is_empty()),
            "{}",
            row.name
        );
    }
    assert!(find("nothing").is_none());
}

/// A machine below a temporary directory, which can change.
struct Changing(PathBuf);

impl Changing {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("becalm-load-{name}-{}", std::process::id()));
        fs::create_dir_all(root.join("proc/self/net")).unwrap();
        Self(root)
    }

    fn write(&self, path: &str, text: &[u8]) {
        fs::write(self.0.join(path), text).unwrap();
    }

    fn reader(&self, source: &str) -> Reader {
        Reader::new(&Place::new(&self.0), find(source).into_iter())
    }
}

impl Drop for Changing {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn changes(before: &Snapshot, after: &Snapshot) -> BTreeMap<String, Result<u64, Unknown>> {
    difference(before, after).remove(0).changes.into_iter().collect()
}

#[test]
fn cpus_that_come_and_go_and_steal_that_runs_backwards() {
    let machine = Changing::new("stat");
    let mut reader = machine.reader("stat");
    let stat = |text: &str| machine.write("proc/stat", text.as_bytes());
    stat("cpu  10 0 0 0 0 0 0 9 0 0\ncpu0 5 0 0 0 0 0 0 9 0 0\ncpu1 5 0 0 0 0 0 0 0 0 0\nctxt 100\nprocs_running 9\n");
    let one = reader.snapshot();
    stat("cpu  17 0 0 0 0 0 0 7 0 0\ncpu0 6 0 0 0 0 0 0 7 0 0\ncpu2 1 0 0 0 0 0 0 0 0 0\nctxt 107\nprocs_running 1\n");
    let two = reader.snapshot();
    let moved = changes(&one, &two);
    assert_eq!(moved["cpu.user"], Ok(7));
    assert_eq!(moved["cpu0.steal"], Err(Unknown::Backwards));
    assert_eq!(moved["cpu0.user"], Ok(1));
    assert_eq!(moved["cpu1.user"], Err(Unknown::Disappeared));
    assert_eq!(moved["cpu2.user"], Err(Unknown::Appeared));
    assert_eq!(moved["ctxt"], Ok(7));
    assert!(!moved.contains_key("procs_running"), "a state");
    assert!(changes(&two, &one).values().all(|change| *change == Err(Unknown::Order)));
    stat("cpu  18 0\nctxt x\n");
    let three = reader.snapshot();
    let moved = changes(&two, &three);
    assert_eq!(moved["cpu.user"], Ok(1));
    assert_eq!(moved["cpu.idle"], Err(Unknown::Unread));
    assert_eq!(moved["ctxt"], Err(Unknown::Unread));
    fs::remove_file(machine.0.join("proc/stat")).unwrap();
    let gone = difference(&three, &reader.snapshot()).remove(0);
    assert_eq!(gone.absent.as_deref(), Some("/proc/stat does not exist"));
    assert!(gone.changes.iter().all(|(_, change)| *change == Err(Unknown::Disappeared)));
}

#[test]
fn disks_appear_wrap_and_gain_columns() {
    let machine = Changing::new("disks");
    let mut reader = machine.reader("diskstats");
    machine
        .write("proc/diskstats", b"8 0 sda 1 0 8 4294967290 0 0 0 0 0 0 0\n8 0 sda 7 0 8 9 0 0 0 0 0 0 0\n");
    let twice = reader.snapshot();
    machine.write("proc/diskstats", b"8 0 sda 1 0 8 4294967290 0 0 0 0 0 0 0\n");
    let one = reader.snapshot();
    assert_eq!(changes(&twice, &one)["sda.reads"], Err(Unknown::Twice));
    machine.write(
        "proc/diskstats",
        b"8 0 sda 3 0 16 4 0 0 0 0 0 0 0 0 0 0 0 1 2 99 100\n8 16 sdb 5 0 8 9 0 0 0 0 0 0 0\n",
    );
    let moved = changes(&one, &reader.snapshot());
    assert_eq!((moved["sda.reads"], moved["sda.sectors_read"], moved["sda.read_ms"]), (Ok(2), Ok(8), Ok(10)));
    assert_eq!(moved["sda.flushes"], Err(Unknown::Unread), "the file had no such column before");
    assert_eq!(moved["sdb.reads"], Err(Unknown::Appeared));
}

#[test]
fn a_source_that_was_not_read_on_one_side_has_no_difference() {
    let machine = Changing::new("sides");
    machine.write("proc/stat", b"ctxt 1\n");
    machine.write("proc/vmstat", b"pgfault 1\n");
    let (one, two) = (machine.reader("stat").snapshot(), machine.reader("vmstat").snapshot());
    let moved = difference(&one, &two);
    assert_eq!(moved.iter().map(|each| each.name).collect::<Vec<_>>(), ["vmstat", "stat"]);
    assert!(moved.iter().all(|each| each.absent.is_some() && each.interval_ns.is_none()));
    assert!(moved.iter().flat_map(|each| &each.changes).all(|(_, change)| change.is_err()));
}

#[test]
fn thousands_of_cpus_and_disks() {
    let machine = Changing::new("large");
    let (cpus, disks) = (4096, 3000);
    let line = |n: u32| format!("cpu{n} {n} 2 3 4 5 6 7 8 9 10\n");
    machine.write("proc/stat", (0..cpus).map(line).collect::<String>().as_bytes());
    let disk = |n: u32| format!("   8 {n} sd{n} {n} 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n");
    machine.write("proc/diskstats", (0..disks).map(disk).collect::<String>().as_bytes());
    let header: String = (0..cpus).map(|n| format!(" CPU{n}")).collect();
    let row: String = (0..cpus).map(|n| format!(" {n}")).collect();
    machine.write("proc/interrupts", format!("{header}\n 24:{row} chip edge disk\nLOC:{row}\n").as_bytes());
    let taken = Reader::all(&Place::new(&machine.0)).snapshot();
    assert_eq!(taken.value("stat", "cpu4095.user"), Some(4095));
    assert_eq!(taken.value("diskstats", "sd2999.reads"), Some(2999));
    assert_eq!(taken.value("interrupts", "24:disk.cpu4000"), Some(4000));
}

/// The files that each source reads on the hand-written machines, for breaking them.
const FILES: [(&str, &str, &str); 20] = [
    ("loadavg", "server-4.18", "proc/loadavg"),
    ("stat", "server-4.18", "proc/stat"),
    ("schedstat", "server-4.18", "proc/schedstat"),
    ("schedstat", "server-4.18", "proc/self/schedstat"),
    ("psi", "desktop-6.1", "proc/pressure/io"),
    ("vmstat", "server-4.18", "proc/vmstat"),
    ("meminfo", "server-4.18", "proc/meminfo"),
    ("diskstats", "desktop-6.1", "proc/diskstats"),
    ("netdev", "server-4.18", "proc/self/net/dev"),
    ("interrupts", "server-4.18", "proc/interrupts"),
    ("softirqs", "server-4.18", "proc/softirqs"),
    ("nfs", "server-4.18", "proc/self/net/rpc/nfs"),
    ("nfs", "server-4.18", "proc/self/mountstats"),
    ("frequency", "server-4.18", "sys/devices/system/cpu/online"),
    ("frequency", "server-4.18", "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"),
    ("cgroup", "server-4.18", "proc/self/cgroup"),
    ("cgroup", "server-4.18", "proc/self/mountinfo"),
    ("cgroup", "desktop-6.1", "sys/fs/cgroup/user.slice/session-2.scope/cpu.stat"),
    ("cgroup", "desktop-6.1", "sys/fs/cgroup/user.slice/session-2.scope/io.stat"),
    ("psi", "desktop-6.1", "proc/self/mountinfo"),
];

/// A copy of a recorded machine, of which one file can be overwritten.
fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copied(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Cut off anywhere, a file gives right numbers or none: every value known is that of the whole file.
    #[test]
    fn a_file_cut_off_says_nothing_wrong(which in 0..FILES.len(), cuts in proptest::collection::vec(any::<prop::sample::Index>(), 12)) {
        let (source, recorded, file) = FILES[which];
        let machine = Changing::new(&format!("cut{which}"));
        copied(&data(recorded), &machine.0);
        let whole = fs::read(data(recorded).join(file)).unwrap();
        let full = machine.reader(source).snapshot();
        let right: BTreeMap<_, _> = full.named(&full.sections[0]).map(|(name, _, value)| (name, value)).collect();
        let mut reader = machine.reader(source);
        for cut in cuts {
            machine.write(file, &whole[..cut.index(whole.len() + 1)]);
            let taken = reader.snapshot();
            for (name, _, value) in taken.named(&taken.sections[0]) {
                prop_assert!(value.is_none() || right.get(&name) == Some(&value), "{}: {} {:?}", file, name, value);
            }
        }
    }

    /// Whatever stands in a file: no panic, values and names of the same number, differences that are known or not.
    #[test]
    fn garbage_is_survived(which in 0..FILES.len(), places in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40), random in proptest::collection::vec(any::<u8>(), 0..400)) {
        let (source, recorded, file) = FILES[which];
        let machine = Changing::new(&format!("garbage{which}"));
        copied(&data(recorded), &machine.0);
        let mut reader = machine.reader(source);
        let before = reader.snapshot();
        let mut bytes = fs::read(data(recorded).join(file)).unwrap();
        for (place, byte) in places {
            let at = place.index(bytes.len());
            bytes[at] = byte;
        }
        for broken in [bytes, random] {
            machine.write(file, &broken);
            let after = reader.snapshot();
            let section = &after.sections[0];
            prop_assert_eq!(after.named(section).count(), section.len);
            prop_assert_eq!(section.layout.len(), section.len);
            drop(difference(&before, &after));
        }
    }
}
