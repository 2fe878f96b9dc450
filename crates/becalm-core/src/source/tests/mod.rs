//! Tests of the sources on recorded machines (tests/data/load); `changing`: on machines that change;
//! `broken`: on files that are cut off or hold garbage; `process`: on one process.

mod broken;
mod changing;
mod process;

use std::path::{Path, PathBuf};

use super::file::Place;
use super::layout::Kind;
use super::snapshot::Snapshot;
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

/// Check a sample against lines of source, name and value; "-" for a value that is named and not known,
/// "none" for one that is not named.
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
fn missing_sources_are_reported_with_reasons() {
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
