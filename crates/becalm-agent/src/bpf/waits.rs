//! The programs in the kernel that count who ran while tasks of the measured programs waited, and who used the network
//! (bpf/waits.bpf.c).

use std::error::Error;

use aya::maps::{Array, HashMap, MapData};
use aya::{Btf, Ebpf, EbpfLoader, Pod};
use becalm_core::source::switches::recorder::RecordError;

use super::loading::{attach, attach_to_ends, kernel_types, missing, why};
use crate::wait_counter::{CountedWaits, NetworkTraffic, WaitCounter};

/// The object file compiled by `make bpf`.
const OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("BECALM_BPF_OBJECTS"), "/waits.bpf.o"));

/// The programs, with the tracepoints to which they attach.
const TRACEPOINTS: [(&str, &str); 5] = [
    ("wakes", "sched_wakeup"),
    ("begins", "sched_wakeup_new"),
    ("switches", "sched_switch"),
    ("migrates", "sched_migrate_task"),
    ("forks", "sched_process_fork"),
];

/// The programs that count bytes of the network, with their tracepoints (Linux 6.3).
const SOCKETS: [(&str, &str); 2] = [("sends", "sock_send_length"), ("receives", "sock_recv_length")];

/// The programs for earlier kernels, with the functions at whose ends they count.
const EARLIER: [(&str, &str); 2] = [("sends4", "inet_sendmsg"), ("receives4", "inet_recvmsg")];

/// The same for IPv6, which may be a module.
const EARLIER_IPV6: [(&str, &str); 2] = [("sends6", "inet6_sendmsg"), ("receives6", "inet6_recvmsg")];

/// The function of sendfile(2) until Linux 6.4, which passes none of the above.
const PAGES: [(&str, &str); 1] = [("sends_page", "inet_sendpage")];

/// The places in `totals`.
const OWN: u32 = 0;
const IDLE: u32 = 1;
const UNKNOWN: u32 = 2;
const OWN_RECEIVED: u32 = 3;
const OWN_SENT: u32 = 4;
const REST_BYTES: u32 = 5;

/// The time of a process, `struct charged`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Charged {
    ns: u64,
    name: [u8; 16],
}

// SAFETY: two plain arrays of integers without padding.
unsafe impl Pod for Charged {}

/// The bytes of a process, `struct traffic`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Traffic {
    received: u64,
    sent: u64,
    name: [u8; 16],
}

// SAFETY: plain integers and an array of them without padding.
unsafe impl Pod for Traffic {}

/// The programs and their maps.
pub struct Waits {
    /// The handle that keeps the programs loaded.
    _loaded: Ebpf,
    starters: HashMap<MapData, u32, u32>,
    programs: HashMap<MapData, u32, u32>,
    others: HashMap<MapData, u32, Charged>,
    traffics: HashMap<MapData, u32, Traffic>,
    totals: Array<MapData, u64>,
    /// Whether bytes of the network are counted.
    network: bool,
}

impl Waits {
    /// Load and attach the programs.
    pub fn load() -> Result<Self, RecordError> {
        let btf = kernel_types()?;
        Self::loaded(&btf).map_err(|error| why(error.as_ref()))
    }

    fn loaded(btf: &Btf) -> Result<Self, Box<dyn Error>> {
        let cpus = aya::util::nr_cpus().map_err(|(_, error)| error)?;
        let mut loader = EbpfLoader::new();
        loader.btf(Some(btf)).map_max_entries("logs", cpus as u32);
        let mut loaded = loader.load(OBJECT)?;
        attach(&mut loaded, btf, &TRACEPOINTS)?;
        let network = attach(&mut loaded, btf, &SOCKETS).is_ok() || Self::earlier(&mut loaded, btf);
        let _ = attach_to_ends(&mut loaded, btf, &PAGES);
        let mut take = |name: &str| loaded.take_map(name).ok_or_else(|| missing(name));
        let (starters, programs, others) = (take("starters")?, take("programs")?, take("others")?);
        let (traffics, totals) = (take("traffics")?, take("totals")?);
        Ok(Self {
            _loaded: loaded,
            starters: HashMap::try_from(starters)?,
            programs: HashMap::try_from(programs)?,
            others: HashMap::try_from(others)?,
            traffics: HashMap::try_from(traffics)?,
            totals: Array::try_from(totals)?,
            network,
        })
    }

    /// Count bytes of the network where sockets have no tracepoints. Return whether that is possible.
    fn earlier(loaded: &mut Ebpf, btf: &Btf) -> bool {
        let counted = attach_to_ends(loaded, btf, &EARLIER).is_ok();
        let _ = attach_to_ends(loaded, btf, &EARLIER_IPV6);
        counted
    }

    fn total(&mut self, place: u32) -> u64 {
        let total = self.totals.get(&place, 0).unwrap_or(0);
        // What is added in between is lost: a switch or two.
        let _ = self.totals.set(place, 0, 0);
        total
    }
}

impl WaitCounter for Waits {
    fn begin(&mut self, starters: [u32; 3]) {
        let agent = std::process::id();
        for pid in starters {
            // What the agent forks where spawners start the programs is becalm's own, or a neighbour.
            if pid != agent || starters == [agent; 3] {
                // One that is known already stays.
                let _ = self.starters.insert(pid, 1, 0);
            }
            // A spawner may be a child of another one.
            let _ = self.programs.remove(&pid);
        }
    }

    fn take(&mut self) -> CountedWaits {
        let pids: Vec<u32> = self.others.keys().flatten().collect();
        let mut by_process = Vec::new();
        for pid in pids {
            let Ok(Charged { ns, name }) = self.others.get(&pid, 0) else { continue };
            let _ = self.others.remove(&pid);
            by_process.push((pid, text(name), ns));
        }
        by_process.sort_unstable_by_key(|(pid, _, ns)| (std::cmp::Reverse(*ns), *pid));
        let (own_ns, idle_ns, unknown_ns) = (self.total(OWN), self.total(IDLE), self.total(UNKNOWN));
        CountedWaits { by_process, own_ns, idle_ns, unknown_ns }
    }

    fn traffic(&mut self) -> Option<NetworkTraffic> {
        if !self.network {
            return None;
        }
        let pids: Vec<u32> = self.traffics.keys().flatten().collect();
        let mut by_process = Vec::new();
        for pid in pids {
            let Ok(Traffic { received, sent, name }) = self.traffics.get(&pid, 0) else { continue };
            let _ = self.traffics.remove(&pid);
            by_process.push((pid, text(name), received, sent));
        }
        by_process
            .sort_unstable_by_key(|(pid, _, received, sent)| (std::cmp::Reverse(received + sent), *pid));
        let own = (self.total(OWN_RECEIVED), self.total(OWN_SENT));
        Some(NetworkTraffic { by_process, own, rest_bytes: self.total(REST_BYTES) })
    }
}

/// Return the name of a task, which ends before a zero.
fn text(name: [u8; 16]) -> String {
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}
