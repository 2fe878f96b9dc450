//! The BPF programs in the kernel, and the counters of each CPU that they read.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};

use aya::maps::{Array, Map, MapData, PerCpuArray, RingBuf};
use aya::programs::PerfEvent;
use aya::{Btf, Ebpf, EbpfLoader};
use becalm_core::exec::clock_ns;
use becalm_core::source::switches::bpf::{Reader, SWITCHES};
use becalm_core::source::switches::events::Pair;
use becalm_core::source::switches::feed::Feed;
use becalm_core::source::switches::group::{Counters, Refused};
use becalm_core::source::switches::parse::KernelEvent;
use becalm_core::source::switches::recorder::RecordError;

use super::loading::{attach, kernel_types, missing, why};

/// The object file compiled by `make bpf`.
const OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("BECALM_BPF_OBJECTS"), "/switches.bpf.o"));

/// The size of the ring buffer per possible CPU: 2,000 switches per second on each fill it in three seconds.
const RING_BYTES_PER_CPU: usize = 512 << 10;
/// The largest size of the ring buffer.
const MOST_RING_BYTES: usize = 64 << 20;

/// The programs, with the tracepoints to which they attach.
const TRACEPOINTS: [(&str, &str); 4] = [
    ("switched", "sched_switch"),
    ("forked", "sched_process_fork"),
    ("executed", "sched_process_exec"),
    ("exited", "sched_process_exit"),
];

/// The command BPF_MAP_UPDATE_ELEM of bpf(2).
const UPDATE: libc::c_int = 2;
/// The command BPF_MAP_DELETE_ELEM of bpf(2).
const DELETE: libc::c_int = 3;

/// The programs that run at each context switch, fork, exec and exit, and at each tick of the CPUs' clocks.
pub struct Programs {
    /// The handle that keeps the programs loaded.
    loaded: Ebpf,
    ring: RingBuf<MapData>,
    recorded: Array<MapData, u32>,
    lost: PerCpuArray<MapData, u64>,
    open: BTreeMap<u32, Counters>,
    reader: Reader,
}

impl Programs {
    /// Load and attach the programs. Nothing is recorded until `begin` is called for a CPU.
    pub fn load() -> Result<Self, RecordError> {
        let btf = kernel_types()?;
        Self::loaded(&btf).map_err(|error| why(error.as_ref()))
    }

    fn loaded(btf: &Btf) -> Result<Self, Box<dyn Error>> {
        let cpus = aya::util::nr_cpus().map_err(|(_, error)| error)?;
        let ring_bytes = (cpus * RING_BYTES_PER_CPU).next_power_of_two().min(MOST_RING_BYTES);
        let mut loader = EbpfLoader::new();
        loader.btf(Some(btf)).map_max_entries("records", ring_bytes as u32);
        for name in ["recorded", "references", "misses"] {
            loader.map_max_entries(name, cpus as u32);
        }
        let mut loaded = loader.load(OBJECT)?;
        let take = |loaded: &mut Ebpf, name: &str| loaded.take_map(name).ok_or_else(|| missing(name));
        let ring = RingBuf::try_from(take(&mut loaded, "records")?)?;
        let recorded = Array::try_from(take(&mut loaded, "recorded")?)?;
        let lost = PerCpuArray::try_from(take(&mut loaded, "lost")?)?;
        let ticked: &mut PerfEvent =
            loaded.program_mut("ticked").ok_or_else(|| missing("ticked"))?.try_into()?;
        ticked.load()?;
        attach(&mut loaded, btf, &TRACEPOINTS)?;
        Ok(Self { loaded, ring, recorded, lost, open: BTreeMap::new(), reader: Reader::default() })
    }

    fn ticked(&self) -> io::Result<RawFd> {
        let program = self.loaded.program("ticked").and_then(|program| program.fd().ok());
        program.map(|fd| fd.as_fd().as_raw_fd()).ok_or_else(|| missing("ticked"))
    }

    /// Return the maps that hold the counters of the programs, in the order of a pair.
    fn counters(&self) -> io::Result<[RawFd; 2]> {
        let of = |name| match self.loaded.map(name) {
            Some(Map::PerfEventArray(map)) => Ok(map.fd().as_fd().as_raw_fd()),
            _ => Err(missing(name)),
        };
        Ok([of("references")?, of("misses")?])
    }
}

impl Feed for Programs {
    fn begin(&mut self, cpu: u32, pair: &Pair, window_ns: u64) -> Result<u64, Refused> {
        let refused = |error| Refused { event: "context-switches".to_owned(), hardware: false, error };
        let counters = Counters::open(cpu, pair, window_ns)?;
        for (map, file) in self.counters().map_err(refused)?.into_iter().zip(&counters.files) {
            element(UPDATE, map, cpu, Some(file.as_raw_fd())).map_err(refused)?;
        }
        counters.start(self.ticked().map_err(refused)?)?;
        self.recorded.set(cpu, 1, 0).map_err(|error| refused(io::Error::other(error)))?;
        self.open.insert(cpu, counters);
        Ok(SWITCHES)
    }

    fn counts(&self, cpu: u32) -> bool {
        self.open.get(&cpu).is_some_and(|counters| counters.counts().unwrap_or(false))
    }

    fn end(&mut self, cpu: u32) {
        // A failure means that the element was not there, which changes nothing.
        let _ = self.recorded.set(cpu, 0, 0);
        for map in self.counters().into_iter().flatten() {
            let _ = element(DELETE, map, cpu, None);
        }
        self.open.remove(&cpu);
    }

    fn take(&mut self, end: bool, each: &mut dyn FnMut(u32, KernelEvent)) {
        let now = clock_ns(libc::CLOCK_MONOTONIC_RAW);
        self.reader.offset_ns = now - clock_ns(libc::CLOCK_MONOTONIC);
        while let Some(record) = self.ring.next() {
            self.reader.read(&record, each);
        }
        // Lost records are usually reported by the next record, and none follows the last one.
        if end {
            let Ok(lost) = self.lost.get(&0, 0) else { return };
            for cpu in self.open.keys() {
                if let Some(lost) = lost.get(*cpu as usize) {
                    self.reader.missing(*cpu, *lost, now as u64, each);
                }
            }
        }
    }
}

/// Store a file in an array of files, or remove it. aya supports only arrays that programs write to.
fn element(command: libc::c_int, map: RawFd, key: u32, file: Option<RawFd>) -> io::Result<()> {
    /// The part of union bpf_attr for these commands.
    #[repr(C)]
    struct Element {
        map: u32,
        padding: u32,
        key: u64,
        value: u64,
        flags: u64,
    }
    let value = file.unwrap_or(-1);
    let (key, value) = (&raw const key as u64, &raw const value as u64);
    let attributes = Element { map: map as u32, padding: 0, key, value, flags: 0 };
    // SAFETY: key and value are live and have the sizes of the map's, four bytes each.
    match unsafe { libc::syscall(libc::SYS_bpf, command, &attributes, size_of::<Element>()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
