//! Events out: whole lines on standard output, rows gathered so that writing them does not disturb runs,
//! and the spool, which has every finished run at once.

use std::io;

use becalm_core::exec::now_ns;
use becalm_core::load::Load;
use becalm_core::types::Row;
use serde_json::{json, Map, Value};

use crate::outlet::Outlet;
use crate::protocol::Failure;
use crate::spool::Spool;

/// A run this long is reported at once; shorter ones are gathered for as long as `GATHER_NS`.
const LONG_RUN_NS: i64 = 100_000_000;
const GATHER_NS: i64 = 50_000_000;

/// Where events go.
pub struct Output {
    /// What was sent, and what of it the reader has not taken yet.
    pub outlet: Outlet,
    spool: Option<Spool>,
    spool_error: Option<io::Error>,
    id: u64,
    head: Vec<u8>,
    rows: Vec<u8>,
    /// Records of load, which are sent after the runs that they belong to.
    loads: Vec<u8>,
    series: Vec<u8>,
    line: Vec<u8>,
    last_flush_ns: i64,
}

impl Output {
    /// Write events to standard output, and rows to a spool where there is one.
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

    /// Begin a block: rows from here on belong to request `id`, and whoever asks has stored the block before.
    pub fn begin(&mut self, id: u64) {
        self.id = id;
        self.head = format!("{{\"id\":{id},\"event\":\"runs\",\"rows\":[").into_bytes();
        self.last_flush_ns = now_ns();
        self.spool_error = None;
        if let Some(spool) = &mut self.spool {
            self.spool_error = spool.empty().err();
        }
    }

    /// Take a finished run: into the spool at once, to the reader when it is time.
    pub fn row(&mut self, row: &Row) -> io::Result<()> {
        let start = self.rows.len();
        if start > 0 {
            self.rows.push(b',');
        }
        let own = self.rows.len();
        row.write(&mut self.rows);
        if let Some(spool) = &mut self.spool {
            self.line.clear();
            self.line.extend_from_slice(&self.head);
            self.line.extend_from_slice(&self.rows[own..]);
            self.line.extend_from_slice(b"]}\n");
            if let Err(error) = spool.write(&self.line) {
                self.spool_error.get_or_insert(error);
            }
        }
        if row.wall_ns >= LONG_RUN_NS || now_ns() - self.last_flush_ns >= GATHER_NS {
            self.flush()?;
        }
        Ok(())
    }

    /// Send the gathered rows, and the records of load that have been closed.
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

    /// Take a record of load. It is sent with the next runs; the spool does not hold it.
    pub fn load(&mut self, load: &Load) {
        if !self.loads.is_empty() {
            self.loads.push(b',');
        }
        load.write(&mut self.loads);
    }

    /// Take the samples of a record: the fields of its event but the number.
    pub fn series(&mut self, mut event: Map<String, Value>) {
        event.insert("id".to_owned(), self.id.into());
        // A map of numbers and strings can be written.
        if let Ok(mut line) = serde_json::to_vec(&event) {
            line.push(b'\n');
            self.series.append(&mut line);
        }
    }

    /// What a run said, before its row is sent.
    pub fn text(&mut self, seq: u64, stderr: &str, stdout: &str) -> io::Result<()> {
        let event = json!({"id": self.id, "event": "text", "seq": seq, "stderr": stderr, "stdout": stdout});
        self.send(&event)
    }

    /// Output of a workload that is forwarded as it comes.
    pub fn forward(&mut self, stream: &str, text: &str) -> io::Result<()> {
        self.send(&json!({"id": self.id, "event": "output", "stream": stream, "text": text}))
    }

    /// The conversation is over; `stored`: whoever asked has every run.
    pub fn end(&mut self, stored: bool) {
        if let Some(spool) = &mut self.spool {
            spool.end(stored);
        }
    }

    /// Why the spool does not hold all runs of this block, if it does not.
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
