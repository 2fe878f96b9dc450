//! The NFS client: `/proc/net/rpc/nfs` for the machine, `/proc/self/mountstats` for each mount (net/sunrpc/stats.c,
//! include/linux/nfs_iostat.h).

use super::bytes::{lines, number, Words};
use super::file::{Buffer, Kept, Place};
use super::interface::Source;
use super::layout::{counter, counter32, Column, Columns, Record, UNKNOWN};

static RPC: [Column; 3] = [counter32("calls"), counter32("retransmissions"), counter32("authentications")];

static PROCEDURES: [Column; 5] = [
    counter("calls"),
    counter32("reads"),
    counter32("writes"),
    counter32("get_attributes"),
    counter32("lookups"),
];

/// The places of read, write, getattr and lookup among a version's procedures (include/linux/nfs.h, nfs3.h,
/// nfs4.h).
const PLACES: [(&[u8], [usize; 4]); 3] =
    [(b"proc2", [6, 8, 1, 4]), (b"proc3", [6, 7, 1, 3]), (b"proc4", [1, 2, 18, 19])];

/// The columns of an operation of a mount. Queue: waiting to be sent; round trip: until the reply; execute
/// includes both.
static OPERATION: [Column; 9] = [
    counter("calls"),
    counter("transmissions"),
    counter("timeouts"),
    counter("sent_bytes"),
    counter("received_bytes"),
    counter("queue_ms"),
    counter("round_trip_ms"),
    counter("execute_ms"),
    counter("errors"),
];

static BYTES: [Column; 8] = [
    counter("read_by_programs"),
    counter("written_by_programs"),
    counter("read_direct"),
    counter("written_direct"),
    counter("read_from_server"),
    counter("written_to_server"),
    counter("pages_read"),
    counter("pages_written"),
];

struct Nfs {
    rpc: Kept,
    /// The accounts of single mounts; None if they are not wanted.
    mounts: Option<Kept>,
}

/// Create the source, without opening anything yet.
pub fn open(place: &Place) -> Box<dyn Source> {
    Box::new(Nfs {
        rpc: place.own("net/rpc/nfs"),
        mounts: place.brief.is_none().then(|| place.own("mountstats")),
    })
}

impl Source for Nfs {
    fn read(&mut self, buffer: &mut Buffer, record: &mut Record<'_>) {
        if let Some(text) = record.text(&mut self.rpc, buffer) {
            lines(text).for_each(|line| client(line, record));
        }
        if let Some(text) = self.mounts.as_mut().and_then(|mounts| record.text(mounts, buffer)) {
            let mut mount: Option<&[u8]> = None;
            let mut operations = false;
            for line in lines(text) {
                if line.starts_with(b"device ") {
                    (mount, operations) = (mount_point(line), false);
                } else if let Some(mount) = mount {
                    operations |= line.trim_ascii() == b"per-op statistics";
                    statistics(mount, operations, line, record);
                }
            }
        }
    }
}

fn client(line: &[u8], record: &mut Record<'_>) {
    let mut words = Words(line);
    let Some(key) = words.next() else { return };
    if key == b"rpc" {
        record.numbers(&[key], &RPC, std::iter::from_fn(|| Some(words.number())).take(RPC.len()));
        return;
    }
    let Some((_, places)) = PLACES.iter().find(|(name, _)| *name == key) else { return };
    let expected = words.number();
    let row = record.row(&[key], Columns::Fixed(&PROCEDURES));
    let (mut calls, mut count) = (Some(0_u64), 0);
    for (place, word) in words.enumerate() {
        let value = number(word);
        calls = calls.zip(value).and_then(|(sum, value)| sum.checked_add(value));
        if let Some(column) = places.iter().position(|wanted| *wanted == place) {
            row[column + 1] = value.unwrap_or(UNKNOWN);
        }
        count += 1;
    }
    if expected == Some(count) {
        row[0] = calls.unwrap_or(UNKNOWN);
    }
}

/// Return the mount point of "device SERVER:/export mounted on POINT with fstype nfs4 statvers=1.1"; None for
/// other kinds.
fn mount_point(line: &[u8]) -> Option<&[u8]> {
    let at = |text: &[u8]| {
        line.windows(text.len()).position(|window| window == text).map(|found| found + text.len())
    };
    let start = at(b" mounted on ")?;
    let kind = at(b" with fstype nfs")?;
    let end = kind.checked_sub(b" with fstype nfs".len())?;
    // This excludes nfsd, the server's own file system.
    let ours = matches!(line.get(kind), Some(b' ')) || line[kind..].starts_with(b"4 ");
    ours.then(|| line.get(start..end)).flatten()
}

fn statistics(mount: &[u8], operations: bool, line: &[u8], record: &mut Record<'_>) {
    let mut words = Words(line);
    let Some(name) = words.next().and_then(|word| word.strip_suffix(b":")) else { return };
    let columns: &'static [Column] = match name {
        b"bytes" if !operations => &BYTES,
        _ if operations => &OPERATION,
        _ => return,
    };
    record.numbers(
        &[mount, b":", name],
        columns,
        std::iter::from_fn(|| Some(words.number())).take(columns.len()),
    );
}
