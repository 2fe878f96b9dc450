//! The output of programs: what is stored of it, what is forwarded, and what is reported about a run.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use becalm_core::exec::stream::{Keep, Stream};
use becalm_core::metric::{Metric, MetricError, Printed};
use becalm_core::types::{Outcome, Output as Kind, Row};

use crate::conversation::Conversation;
use crate::gauges::RunMeasurements;

const STDERR_TAIL: usize = 4096;
const STDOUT_HEAD: usize = 65536;
/// The length of the beginning and of the end of the output in which metrics are searched, in bytes each.
const METRIC_ENDS: usize = 4 << 20;

/// The streams of programs.
pub struct Streams {
    null: OwnedFd,
    /// The standard output of workloads whose output is inherited.
    stdout: Option<OwnedFd>,
    /// The standard error of workloads whose output is inherited.
    stderr: Option<OwnedFd>,
    pub out: Stream,
    pub err: Stream,
}

impl Streams {
    /// Create pipes for output, with these descriptors for output that is inherited.
    pub fn new(null: OwnedFd, stdout: Option<OwnedFd>, stderr: Option<OwnedFd>) -> io::Result<Self> {
        let (out, err) = (Stream::new(Keep::First(STDOUT_HEAD))?, Stream::new(Keep::Last(STDERR_TAIL))?);
        Ok(Self { null, stdout, stderr, out, err })
    }

    /// Create further pipes, with the same descriptors for output that is inherited.
    pub fn twin(&self) -> io::Result<Self> {
        let copy = |fd: &Option<OwnedFd>| fd.as_ref().map(OwnedFd::try_clone).transpose();
        Self::new(self.null.try_clone()?, copy(&self.stdout)?, copy(&self.stderr)?)
    }

    /// Return the descriptor of /dev/null.
    pub fn null(&self) -> RawFd {
        self.null.as_raw_fd()
    }

    /// Choose the part of a workload's output that is stored; with `metrics` both ends, to search for them.
    pub fn choose(&mut self, kind: Kind, metrics: bool) {
        let forwarded =
            |has: bool, otherwise| if kind == Kind::Inherit && !has { Keep::All } else { otherwise };
        let of = |usual| if metrics { Keep::Ends(METRIC_ENDS) } else { usual };
        self.out.keep = forwarded(self.stdout.is_some(), of(Keep::First(STDOUT_HEAD)));
        self.err.keep = forwarded(self.stderr.is_some(), of(Keep::Last(STDERR_TAIL)));
    }

    /// Return the standard output and standard error for a workload of this kind.
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

    /// Return whether output is forwarded while a program runs.
    pub fn forwards(&self) -> bool {
        self.out.keep == Keep::All || self.err.keep == Keep::All
    }

    /// Leave output that is forwarded in its pipe for now, or continue with it.
    pub fn pause(&mut self, pause: bool) {
        for stream in [&mut self.out, &mut self.err] {
            stream.paused = pause && stream.keep == Keep::All;
        }
    }

    /// Read what an ended program left in a paused pipe.
    pub fn catch_up(&mut self) {
        for stream in [&mut self.out, &mut self.err] {
            if std::mem::take(&mut stream.paused) {
                stream.drain_all();
            }
        }
    }

    /// Forward new output, which `take` reads from a stream.
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

    /// Send the output of the run if it is useful, and its row; a run without one of its metrics has failed.
    pub fn report(
        &mut self,
        kind: Kind,
        row: &mut Row,
        (metrics, measurements): (&[Metric], &RunMeasurements),
        mut message: String,
        talk: &mut Conversation,
    ) -> io::Result<()> {
        // Output that killed descendants left in the pipes must not be attributed to the next run.
        if row.left_behind > 0 {
            self.err.drain();
            self.out.drain();
        }
        self.forward(talk, Stream::take)?;
        let (err, out) = (Whole::of(&mut self.err), Whole::of(&mut self.out));
        if !metrics.is_empty() {
            let (stdout, stderr) = (out.printed(), err.printed());
            if row.outcome == Outcome::Ok {
                let number = |(place, metric): (usize, &Metric)| match metric.quantity() {
                    // The first metric is the one that is compared.
                    Some(quantity) => measurements.value(quantity, place == 0),
                    None => metric.find(&stdout, &stderr),
                };
                match metrics.iter().enumerate().map(number).collect() {
                    Ok(found) => row.metrics = Some(found),
                    Err(missing) => {
                        row.outcome = Outcome::Failed;
                        message = missing_metric(&missing, &message);
                    }
                }
            }
        }
        let (out, err) = (out.beginning(STDOUT_HEAD), err.end(STDERR_TAIL));
        let keep = kind == Kind::Keep;
        let silent = row.outcome == Outcome::Ok && !keep;
        if !silent || !message.is_empty() {
            if !err.is_empty() {
                message.push_str(if message.is_empty() { "" } else { "\n" });
                message.push_str(&err);
            }
            let out = if keep { out } else { String::new() };
            if !message.is_empty() || !out.is_empty() {
                talk.output.text(row.seq, &message, &out)?;
            }
        }
        talk.output.row(row);
        Ok(())
    }
}

/// Return the message about a run that succeeded without a requested metric.
fn missing_metric(missing: &MetricError, message: &str) -> String {
    match message.is_empty() {
        true => missing.to_string(),
        false => format!("{missing}\n{message}"),
    }
}

/// The output of a stream: its beginning, its end if something between them is lost, and the number of bytes.
struct Whole {
    first: String,
    last: String,
    came: u64,
}

impl Whole {
    /// Read the output of a stream.
    fn of(stream: &mut Stream) -> Self {
        let (first, last, came) = stream.take_ends();
        Self { first, last, came }
    }

    /// Return the complete lines, in which a metric is searched: a part of a cut line could be mistaken for
    /// the number.
    fn printed(&self) -> Printed {
        if self.last.is_empty() {
            return Printed::whole(&self.first);
        }
        let first = self.first.rfind('\n').map_or("", |at| &self.first[..=at]);
        let last = self.last.find('\n').map_or("", |at| &self.last[at + 1..]);
        let lost = self.came.saturating_sub((first.len() + last.len()) as u64).max(1);
        Printed { first: first.to_owned(), last: last.to_owned(), lost }
    }

    /// Return whether a text is the complete output; bytes that are not UTF-8 make it longer.
    fn is_whole(&self, text: &str) -> bool {
        self.last.is_empty() && text.len() as u64 >= self.came
    }

    /// Return the first bytes, with a note if there were more.
    fn beginning(self, most: usize) -> String {
        let kept = begin(&self.first, most);
        if kept == self.first && self.is_whole(&self.first) {
            return kept.to_owned();
        }
        format!("{kept}\n{}\n", note("first", kept.len(), self.came))
    }

    /// Return the last bytes, with a note if there were more.
    fn end(self, most: usize) -> String {
        let text = if self.last.is_empty() { &self.first } else { &self.last };
        let kept = end(text, most);
        if kept == text && self.is_whole(text) {
            return kept.to_owned();
        }
        format!("{}\n{kept}", note("last", kept.len(), self.came))
    }
}

/// Return a note that only a part of an output is stored.
fn note(which: &str, kept: usize, came: u64) -> String {
    format!("[becalm stored the {which} {kept} of {came} bytes]")
}

/// Return the longest beginning of a text with at most `most` bytes, in whole characters.
fn begin(text: &str, most: usize) -> &str {
    let mut to = text.len().min(most);
    while !text.is_char_boundary(to) {
        to -= 1;
    }
    &text[..to]
}

/// Return the longest end of a text with at most `most` bytes, in whole characters.
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
        assert_eq!((begin("éa", 1), begin("éa", 2), begin("ab", 9)), ("", "é", "ab"));
    }

    fn whole(first: &str, last: &str, came: u64) -> Whole {
        Whole { first: first.to_owned(), last: last.to_owned(), came }
    }

    #[test]
    fn a_shortened_text_has_a_note() {
        assert_eq!(whole("abc", "", 3).beginning(3), "abc");
        assert_eq!(whole("abc", "", 3).end(3), "abc");
        assert_eq!(whole("abcd", "", 4).beginning(3), "abc\n[becalm stored the first 3 of 4 bytes]\n");
        assert_eq!(whole("abcd", "", 4).end(3), "[becalm stored the last 3 of 4 bytes]\nbcd");
        assert_eq!(whole("abc", "", 9).beginning(3), "abc\n[becalm stored the first 3 of 9 bytes]\n");
        assert_eq!(whole("ab", "yz", 9).end(3), "[becalm stored the last 2 of 9 bytes]\nyz");
    }

    #[test]
    fn metrics_are_looked_for_in_whole_lines() {
        assert_eq!(whole("a\nb", "", 3).printed(), Printed::whole("a\nb"));
        let cut = whole("a\n12", "34\nb\n", 20).printed();
        assert_eq!((cut.first.as_str(), cut.last.as_str(), cut.lost), ("a\n", "b\n", 16));
        let line = whole("12", "34", 20).printed();
        assert_eq!((line.first.as_str(), line.last.as_str(), line.lost), ("", "", 20));
    }
}
