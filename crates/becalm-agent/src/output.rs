//! The events: whole lines on standard output, with rows collected so that writing them does not disturb
//! runs, and the spool, which gets every finished run at once.

use std::io;

use becalm_core::exec::now_ns;
use becalm_core::load::Load;
use becalm_core::types::Row;
use serde_json::{json, Map, Value};

use crate::outlet::Outlet;
use crate::protocol::Failure;
use crate::spool::Spool;

/// The length of a run from which on it is reported at once, ns.
const LONG_RUN_NS: i64 = 100_000_000;
/// The longest time for which rows of shorter runs are collected, ns.
const GATHER_NS: i64 = 50_000_000;

/// The destination of events.
pub struct Output {
    /// The events that were sent, including those that the reader has not taken yet.
    pub outlet: Outlet,
    spool: Option<Spool>,
    spool_error: Option<io::Error>,
    id: u64,
    head: Vec<u8>,
    rows: Vec<u8>,
    /// The records of load, which are sent after the runs that they belong to.
    loads: Vec<u8>,
    series: Vec<u8>,
    line: Vec<u8>,
    /// The line of the runs that have ended since the spool was last written.
    finished: Vec<u8>,
    /// Whether one of these took so long that it is reported without delay.
    is_long: bool,
    last_flush_ns: i64,
}

impl Output {
    /// Write events to standard output, and rows to a spool if there is one.
    pub fn new(outlet: Outlet, spool: Option<Spool>) -> Self {
        Self {
            outlet,
            spool,
            spool_error: None,
            id: 0,
            head: Vec::new(),
            rows: Vec::new(),
            loads: Vec::new(),
            series: Vec::new(),
            line: Vec::new(),
            finished: Vec::new(),
            is_long: false,
            last_flush_ns: 0,
        }
    }

    /// Send one event.
    pub fn send(&mut self, event: &Value) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.outlet.put(&line)
    }

    /// Send the `done` of a request, with its results.
    pub fn done(&mut self, id: u64, mut results: Value) -> io::Result<()> {
        results["id"] = json!(id);
        results["event"] = json!("done");
        self.send(&results)
    }

    /// Send the `error` of a request.
    pub fn error(&mut self, id: Option<u64>, failure: &Failure) -> io::Result<()> {
        self.send(&json!({"id": id, "event": "error", "kind": failure.kind, "message": failure.message}))
    }

    /// Begin a block: rows from here on belong to request `id`, and the client has stored the previous block.
    pub fn begin(&mut self, id: u64) {
        self.id = id;
        self.head = format!("{{\"id\":{id},\"event\":\"runs\",\"rows\":[").into_bytes();
        self.last_flush_ns = now_ns();
        self.spool_error = None;
        if let Some(spool) = &mut self.spool {
            self.spool_error = spool.empty().err();
        }
    }

    /// Store a finished run until `finish`, which follows when all programs that ran at the same time are
    /// stored.
    pub fn row(&mut self, row: &Row) {
        if !self.rows.is_empty() {
            self.rows.push(b',');
        }
        let own = self.rows.len();
        row.write(&mut self.rows);
        if self.spool.is_some() {
            let head = if self.finished.is_empty() { &self.head[..] } else { b"," };
            self.finished.extend_from_slice(head);
            self.finished.extend_from_slice(&self.rows[own..]);
        }
        self.is_long |= row.wall_ns >= LONG_RUN_NS;
    }

    /// Write the stored runs to the spool, in one line, and to the reader when it is time: programs that ran
    /// at the same time reach both together or not at all.
    pub fn finish(&mut self) -> io::Result<()> {
        if let Some(spool) = &mut self.spool {
            self.finished.extend_from_slice(b"]}\n");
            if let Err(error) = spool.write(&self.finished) {
                self.spool_error.get_or_insert(error);
            }
            self.finished.clear();
        }
        if std::mem::take(&mut self.is_long) || now_ns() - self.last_flush_ns >= GATHER_NS {
            self.flush()?;
        }
        Ok(())
    }

    /// Send the collected rows, and the records of load that have been closed.
    pub fn flush(&mut self) -> io::Result<()> {
        self.last_flush_ns = now_ns();
        self.line.clear();
        if !self.rows.is_empty() {
            self.line.extend_from_slice(&self.head);
            self.line.append(&mut self.rows);
            self.line.extend_from_slice(b"]}\n");
        }
        if !self.loads.is_empty() {
            self.line
                .extend_from_slice(format!("{{\"id\":{},\"event\":\"loads\",\"rows\":[", self.id).as_bytes());
            self.line.append(&mut self.loads);
            self.line.extend_from_slice(b"]}\n");
        }
        self.line.append(&mut self.series);
        if self.line.is_empty() {
            return Ok(());
        }
        self.outlet.put(&self.line)
    }

    /// Store a record of load, which is sent with the next runs. The spool does not hold it.
    pub fn load(&mut self, load: &Load) {
        if !self.loads.is_empty() {
            self.loads.push(b',');
        }
        load.write(&mut self.loads);
    }

    /// Store the samples of a record: the fields of its event except the id.
    pub fn series(&mut self, mut event: Map<String, Value>) {
        event.insert("id".to_owned(), self.id.into());
        // Serialising a map of numbers and strings cannot fail.
        if let Ok(mut line) = serde_json::to_vec(&event) {
            line.push(b'\n');
            self.series.append(&mut line);
        }
    }

    /// Send the output of a run, before its row is sent.
    pub fn text(&mut self, seq: u64, stderr: &str, stdout: &str) -> io::Result<()> {
        let event = json!({"id": self.id, "event": "text", "seq": seq, "stderr": stderr, "stdout": stdout});
        self.send(&event)
    }

    /// Forward output of a workload as it arrives.
    pub fn forward(&mut self, stream: &str, text: &str) -> io::Result<()> {
        self.send(&json!({"id": self.id, "event": "output", "stream": stream, "text": text}))
    }

    /// End the conversation; `stored` means that the client has stored every run.
    pub fn end(&mut self, stored: bool) {
        if let Some(spool) = &mut self.spool {
            spool.end(stored);
        }
    }

    /// Return why the spool does not hold all runs of this block, if it does not.
    pub fn spool_failure(&mut self) -> Option<Failure> {
        let error = self.spool_error.take()?;
        Some(Failure::new(
            "system",
            format!(
                "The file that keeps finished runs safe could not be written: {error}. All runs were reported; \
                 free some disk space before measuring on."
            ),
        ))
    }
}
