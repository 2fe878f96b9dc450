//! Where the output of programs goes: what is kept of it, what is passed on, and what of it is told of a run.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use becalm_core::exec::stream::{Keep, Stream};
use becalm_core::metric::{Metric, MetricError};
use becalm_core::types::{Outcome, Output as Kind, Row};

use crate::conversation::Conversation;
use crate::gauges::Taken;

const STDERR_TAIL: usize = 4096;
const STDOUT_HEAD: usize = 65536;
/// Where metrics are looked for: the end of what was written.
const METRIC_TAIL: usize = 4 << 20;

/// The streams that programs get.
pub struct Streams {
    null: OwnedFd,
    /// For workloads whose output is inherited.
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    pub out: Stream,
    pub err: Stream,
}

impl Streams {
    /// Pipes for output, and these descriptors for output that is inherited.
    pub fn new(null: OwnedFd, stdout: Option<OwnedFd>, stderr: Option<OwnedFd>) -> io::Result<Self> {
        let (out, err) = (Stream::new(Keep::First(STDOUT_HEAD))?, Stream::new(Keep::Last(STDERR_TAIL))?);
        Ok(Self { null, stdout, stderr, out, err })
    }

    /// The descriptor of nothing.
    pub fn null(&self) -> RawFd {
        self.null.as_raw_fd()
    }

    /// What is kept of the output of a workload of this kind; with `metrics` its end, to look for them.
    pub fn choose(&mut self, kind: Kind, metrics: bool) {
        let forwarded =
            |has: bool, otherwise| if kind == Kind::Inherit && !has { Keep::All } else { otherwise };
        let of = |usual| if metrics { Keep::Last(METRIC_TAIL) } else { usual };
        self.out.keep = forwarded(self.stdout.is_some(), of(Keep::First(STDOUT_HEAD)));
        self.err.keep = forwarded(self.stderr.is_some(), of(Keep::Last(STDERR_TAIL)));
    }

    /// Standard output and standard error of a workload of this kind.
    pub fn ends(&self, kind: Kind, metrics: bool) -> (RawFd, RawFd) {
        let null = self.null();
        match kind {
            Kind::Discard if metrics => (self.out.write_end(), self.err.write_end()),
            Kind::Discard => (null, self.err.write_end()),
            Kind::Keep => (self.out.write_end(), self.err.write_end()),
            Kind::Inherit => (
                self.stdout.as_ref().map_or(self.out.write_end(), AsRawFd::as_raw_fd),
                self.stderr.as_ref().map_or(self.err.write_end(), AsRawFd::as_raw_fd),
            ),
        }
    }

    /// Whether output is passed on while a program runs.
    pub fn forwards(&self) -> bool {
        self.out.keep == Keep::All || self.err.keep == Keep::All
    }

    /// Leave what is to be passed on in its pipe for now, or go on with it.
    pub fn pause(&mut self, pause: bool) {
        for stream in [&mut self.out, &mut self.err] {
            stream.paused = pause && stream.keep == Keep::All;
        }
    }

    /// A program has ended: take what it left in a pipe that was paused.
    pub fn catch_up(&mut self) {
        for stream in [&mut self.out, &mut self.err] {
            if std::mem::take(&mut stream.paused) {
                stream.drain_all();
            }
        }
    }

    /// Pass on what has come; `take` takes it out of a stream.
    pub fn forward(&mut self, talk: &mut Conversation, take: fn(&mut Stream) -> String) -> io::Result<()> {
        for (stream, name) in [(&mut self.out, "stdout"), (&mut self.err, "stderr")] {
            if stream.keep == Keep::All && !stream.is_empty() {
                let text = take(stream);
                if !text.is_empty() {
                    talk.output.forward(name, &text)?;
                }
            }
        }
        Ok(())
    }

    /// Send what the run said, where that is of use, and its row; a run that lacks one of its metrics has failed.
    pub fn report(
        &mut self,
        kind: Kind,
        row: &mut Row,
        (metrics, taken): (&[Metric], &Taken),
        mut said: String,
        talk: &mut Conversation,
    ) -> io::Result<()> {
        // What killed descendants still had in the pipes must not be taken for the next run's.
        if row.left_behind > 0 {
            self.err.drain();
            self.out.drain();
        }
        self.forward(talk, Stream::take)?;
        let (mut err, mut out) = (self.err.take(), self.out.take());
        if !metrics.is_empty() {
            if row.outcome == Outcome::Ok {
                let number = |(place, metric): (usize, &Metric)| match metric.quantity() {
                    // The first is what is compared.
                    Some(quantity) => taken.value(quantity, place == 0),
                    None => metric.find(&out, &err),
                };
                match metrics.iter().enumerate().map(number).collect() {
                    Ok(found) => row.metrics = Some(found),
                    Err(missing) => {
                        row.outcome = Outcome::Failed;
                        said = missing_metric(&missing, &said);
                    }
                }
            }
            out = end(&out, STDOUT_HEAD).to_owned();
            err = end(&err, STDERR_TAIL).to_owned();
        }
        let keep = kind == Kind::Keep;
        let silent = row.outcome == Outcome::Ok && !keep;
        if !silent || !said.is_empty() {
            if !err.is_empty() {
                said.push_str(if said.is_empty() { "" } else { "\n" });
                said.push_str(&err);
            }
            let out = if keep { out } else { String::new() };
            if !said.is_empty() || !out.is_empty() {
                talk.output.text(row.seq, &said, &out)?;
            }
        }
        talk.output.row(row)
    }
}

/// What is said of a run that ended well without a number that was asked for.
fn missing_metric(missing: &MetricError, said: &str) -> String {
    match said.is_empty() {
        true => missing.to_string(),
        false => format!("{missing}\n{said}"),
    }
}

/// At most so many bytes from the end of a text, in whole characters.
fn end(text: &str, most: usize) -> &str {
    let mut from = text.len().saturating_sub(most);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_text_in_whole_characters() {
        assert_eq!(end("abc", 5), "abc");
        assert_eq!(end("abc", 2), "bc");
        assert_eq!(end("aé", 1), "");
        assert_eq!(end("éa", 2), "a");
    }
}
