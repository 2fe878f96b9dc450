//! The file `/proc/net/dev`: the activity of the interfaces of this network namespace (proc_pid_net(5)).

use std::fs;

use super::bytes::{lines, number, Words};
use super::file::{Buffer, Kept, Place};
use super::interface::Source;
use super::layout::{counter, state, Column, Columns, Record, UNKNOWN};
use super::row_cache::RowCache;

static INTERFACE: [Column; 17] = [
    counter("received_bytes"),
    counter("received_packets"),
    counter("receive_errors"),
    counter("receive_drops"),
    counter("receive_fifo_errors"),
    counter("receive_frame_errors"),
    counter("received_compressed"),
    counter("received_multicast"),
    counter("sent_bytes"),
    counter("sent_packets"),
    counter("send_errors"),
    counter("send_drops"),
    counter("send_fifo_errors"),
    counter("collisions"),
    counter("carrier_errors"),
    counter("sent_compressed"),
    state("mtu"),
];

const COUNTERS: usize = 16;

struct NetDev {
    file: Kept,
    place: Place,
    mtu: RowCache<u64>,
}

/// Create the source, without opening anything yet.
pub fn open(place: &Place) -> Box<dyn Source> {
    Box::new(NetDev { file: place.own("net/dev"), place: place.clone(), mtu: RowCache::default() })
}

impl Source for NetDev {
    fn read(&mut self, buffer: &mut Buffer, record: &mut Record<'_>) {
        let Self { file, place, mtu } = self;
        let Some(text) = record.text(file, buffer) else { return };
        let mut index = 0;
        for line in lines(text) {
            // This is the last colon: names such as "eth0:1" contain one, and before Linux 2.6.39 no blank
            // followed it.
            let Some(colon) = line.iter().rposition(|byte| *byte == b':') else { continue };
            let name = line[..colon].trim_ascii();
            let row = record.row(&[name], Columns::Fixed(&INTERFACE));
            for (place, word) in row[..COUNTERS].iter_mut().zip(Words(&line[colon + 1..])) {
                *place = number(word).unwrap_or(UNKNOWN);
            }
            row[COUNTERS] = mtu.get(index, name, |name| read_mtu(place, name));
            index += 1;
        }
    }
}

/// Read the MTU of an interface, when it is first seen.
fn read_mtu(place: &Place, name: &str) -> u64 {
    let text = fs::read(place.root().join("sys/class/net").join(name).join("mtu"));
    text.ok().and_then(|text| number(text.trim_ascii())).unwrap_or(UNKNOWN)
}
