//! The answers to requests about one machine, one after the other. However the conversation ends, all
//! settings are restored.

use std::time::Duration;

use becalm_settings::changes::{Change, Changes};
use becalm_settings::cpus::{self, Cpus};
use becalm_settings::failure::Failure;
use becalm_settings::held::Held;
use becalm_settings::interrupt;
use becalm_settings::journal;
use becalm_settings::lock;
use becalm_settings::place::{Place, LATENCY};
use becalm_settings::recover::Recovered;
use becalm_settings::restore::unsettled;
use becalm_settings::table::{self, WriteRequest, ROWS};
use becalm_settings::task::start_and_state;
use serde_json::{json, Map, Value};

use crate::caller::{self, OwnProcess};
use crate::priority::{Before, Priorities};
use crate::request::{Request, LONGEST_TITLE, LONGEST_WAIT_S, VERSION};

/// The directory whose files only root may read.
const HIDDEN: &str = "/sys/kernel/debug";

/// The longest value that is stored in the journal, bytes: the CPUs of thousands of processes are shorter.
const LONGEST_VALUE: usize = 1 << 20;

/// A conversation about a machine.
pub struct Server {
    held: Held,
    /// The user whose processes are placed.
    uid: u32,
    greeted: bool,
    /// The process that was placed, and its earlier state.
    placed: Option<(OwnProcess, Before)>,
    over: bool,
}

type Answer = Result<Value, Failure>;

impl Server {
    /// Begin a conversation with a user.
    pub fn new(held: Held, uid: u32) -> Self {
        Self { held, uid, greeted: false, placed: None, over: false }
    }

    /// Return whether the other side has said goodbye.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Return the answer to a request.
    pub fn answer(&mut self, request: Result<Request, Failure>) -> Value {
        match request.and_then(|request| self.serve(request)) {
            Ok(Value::Object(fields)) => {
                let mut answer = json!({"event": "done"});
                if let Some(all) = answer.as_object_mut() {
                    all.extend(fields);
                }
                answer
            }
            Ok(_) => json!({"event": "done"}),
            Err(Failure { kind, message }) => json!({"event": "error", "kind": kind, "message": message}),
        }
    }

    /// Restore everything. Return a sentence for each place that is not as it was.
    pub fn end(&mut self) -> Vec<String> {
        self.lift();
        unsettled(&self.held.release())
    }

    fn serve(&mut self, request: Request) -> Answer {
        if !self.greeted && !matches!(request, Request::Hello { .. } | Request::Release {} | Request::Bye {})
        {
            return Err(Failure::new("protocol", "The first request must be hello."));
        }
        match request {
            Request::Hello { protocol, title, owner, interrupt_wait_s } => {
                self.held.set_name(&owner)?;
                self.greet(protocol, title, interrupt_wait_s)
            }
            Request::View {} => Ok(self.view()),
            Request::Switch { writes, watched, taken, offline } => {
                self.switch(writes, &watched, [&taken, &offline])
            }
            Request::Keep { settings } => self.keep(&settings),
            Request::Release {} => {
                self.lift();
                let places = self.held.release();
                Ok(json!({"places": places, "unsettled": unsettled(&places), "sentence": ""}))
            }
            Request::Restore { force, mine } => {
                self.lift();
                let Recovered { places, sentence, owner } = self.held.restore(force, mine)?;
                Ok(
                    json!({"places": places, "unsettled": unsettled(&places), "sentence": sentence, "owner": owner}),
                )
            }
            Request::Noticed {} => Ok(json!({
                "drift": self.held.drift(),
                "clamped": self.held.clamped(),
                "remarks": std::mem::take(&mut self.held.remarks),
            })),
            Request::JoinKept {} => {
                self.held.join_kept();
                Ok(json!({"joins": self.held.group().is_some()}))
            }
            Request::Place { pid, priorities } => self.place(pid, &priorities),
            Request::DropCaches {} => self.held.drop_caches().map(nothing),
            Request::Bye {} => {
                self.over = true;
                Ok(json!({}))
            }
        }
    }

    fn greet(&mut self, protocol: u32, title: String, wait_s: f64) -> Answer {
        if protocol != VERSION {
            let message = format!("The agent speaks protocol {protocol}, becalm-helper {VERSION}. Install both anew: becalm install-sudoers.");
            return Err(Failure::new("protocol", message));
        }
        if title.chars().count() > LONGEST_TITLE || title.chars().any(char::is_control) {
            return Err(Failure::new(
                "domain",
                format!("A title is at most {LONGEST_TITLE} characters, none of them a control."),
            ));
        }
        if !(0.0..=LONGEST_WAIT_S).contains(&wait_s) {
            return Err(Failure::new(
                "domain",
                format!("interrupt_wait_s takes 0 to {LONGEST_WAIT_S} seconds."),
            ));
        }
        self.held.title = title;
        self.held.context.patience = Duration::from_secs_f64(wait_s);
        self.greeted = true;
        self.held.retry_interrupts();
        Ok(json!({}))
    }

    /// Return the data that only root may read and that settings depend on: files of the table, interrupts
    /// that cannot be moved, and the purposes of those who hold the machine.
    fn view(&self) -> Value {
        let tree = &self.held.tree;
        let hidden = ROWS.iter().map(|(_, path, _)| *path).filter(|path| path.starts_with(HIDDEN));
        let mut files: Map<String, Value> = hidden
            .filter(|path| tree.exists(path))
            .map(|path| {
                let text = tree.read(path).map_err(|error| error.raw_os_error().unwrap_or(libc::EIO));
                (path.to_owned(), text.map_or_else(Value::from, Value::from))
            })
            .collect();
        if let Ok(latency) = Place::Latency.read(tree) {
            files.insert(LATENCY.to_owned(), latency.into());
        }
        let movable = interrupt::movable(tree);
        let fixed: Vec<u32> = interrupt::numbers(tree).into_iter().filter(|irq| !movable(*irq)).collect();
        let title = journal::load(tree).ok().flatten().map(|recorded| recorded.begin.title);
        json!({"files": files, "debugfs": !tree.names(HIDDEN).is_empty(), "fixed_interrupts": fixed, "title": title,
            "busy": lock::holder(tree).unwrap_or_default()})
    }

    /// Apply these settings, and restore all others. Each is checked by the table, which alone decides where
    /// it is written.
    fn switch(
        &mut self,
        writes: Vec<WriteRequest>,
        watched: &[(usize, Vec<String>)],
        cpus: [&str; 2],
    ) -> Answer {
        let tree = &self.held.tree;
        let mut changes = Changes::default();
        for write_request in writes {
            let place = table::place(tree, &write_request).ok_or_else(|| refusal(&write_request))?;
            if let Place::Threads { pid, start, .. } = place {
                self.check_owner(pid, start)?;
            }
            let WriteRequest { knob, value, required, .. } = write_request;
            changes.writes.push(Change { knob, place, value, required });
        }
        for (row, names) in watched {
            let places = table::side_effects(tree, *row, names);
            changes.watched.extend(places.ok_or_else(|| {
                Failure::new("domain", format!("There is no place {row} {names:?} that settings change."))
            })?);
        }
        let [taken, offline] = cpus.map(|list| match list {
            "" => Ok(Cpus::new()),
            list => cpus::parse(list)
                .ok_or_else(|| Failure::new("domain", format!("{list:?} is not a list of CPUs."))),
        });
        (changes.taken, changes.offline) = (taken?, offline?);
        self.held.switch(&changes)?;
        let remarks = std::mem::take(&mut self.held.remarks);
        Ok(json!({"joins": self.held.group().is_some(), "remarks": remarks}))
    }

    /// Leave the settings on. Others read the names and values, so these must be settings and nothing else.
    fn keep(&mut self, settings: &Map<String, Value>) -> Answer {
        let short = |value: &Value| {
            (value.is_string() || value.is_i64() || value.is_boolean())
                && value.to_string().len() < LONGEST_VALUE
        };
        if let Some((name, _)) =
            settings.iter().find(|(name, value)| table::rows(name).next().is_none() || !short(value))
        {
            return Err(Failure::new("usage", format!("{name:?} is not a setting of the running machine.")));
        }
        self.held.keep(settings)?;
        Ok(json!({}))
    }

    /// Fail for a process of somebody else. One that is written to is identified by its start, too.
    fn check_owner(&self, pid: i32, start: u64) -> Result<(), Failure> {
        if self.uid == 0 {
            return Ok(());
        }
        let process = OwnProcess::of(pid, self.uid).map_err(|error| self.refused(pid, &error))?;
        let same = start_and_state(&self.held.tree, pid).is_some_and(|(now, _)| now == start);
        match same && process.lives() {
            true => Ok(()),
            false => Err(self.refused(pid, &std::io::Error::from_raw_os_error(libc::ESRCH))),
        }
    }

    fn refused(&self, pid: i32, error: &std::io::Error) -> Failure {
        let message =
            format!("Process {pid} is left as it is: it is not one of {} ({error}).", caller::name(self.uid));
        Failure::new("refused", message)
    }

    fn place(&mut self, pid: Option<i32>, priorities: &Priorities) -> Answer {
        self.lift();
        let Some(pid) = pid else { return Ok(json!({})) };
        let find = || OwnProcess::of(pid, self.uid).map_err(|error| self.refused(pid, &error));
        let process = find()?;
        let before = Before::apply(find()?, priorities)?;
        self.held.set_starter(Some(pid));
        self.held.move_starter();
        if !process.lives() {
            before.restore();
            self.held.set_starter(None);
            self.held.move_starter();
            return Err(self.refused(pid, &std::io::Error::from_raw_os_error(libc::ESRCH)));
        }
        self.placed = Some((process, before));
        Ok(json!({"joined": self.held.starter_is_moved()}))
    }

    /// Remove a process from the group, and restore its priorities.
    fn lift(&mut self) {
        if let Some((process, before)) = self.placed.take() {
            if !process.lives() {
                self.held.forget_starter();
            }
            before.restore();
        }
        self.held.set_starter(None);
        self.held.move_starter();
    }
}

/// Explain why the table does not have what is requested.
fn refusal(write_request: &WriteRequest) -> Failure {
    let WriteRequest { knob, value, .. } = write_request;
    match table::rows(knob).next() {
        None => Failure::new("usage", format!("{knob:?} is not a setting of the running machine.")),
        Some(_) => Failure::new("domain", format!("{knob} cannot be {value:?} there.")),
    }
}

fn nothing((): ()) -> Value {
    json!({})
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use std::rc::Rc;

    use becalm_settings::guard::GuardContext;
    use becalm_settings::tree::Tree;

    use super::*;
    use crate::request::parse;

    const NOBODY: u32 = 65_534;

    /// Return a conversation about a directory with one setting.
    fn server(name: &str) -> (PathBuf, Server) {
        let root = std::env::temp_dir().join(format!("becalm-server-{name}-{}", std::process::id()));
        fs::create_dir_all(root.join("proc/sys/vm")).unwrap();
        fs::write(root.join("proc/sys/vm/swappiness"), "60\n").unwrap();
        let context = GuardContext { patience: Duration::ZERO, now: Rc::new(|| 0), after: || () };
        let held = Held::new(Tree::new(&root), Box::new(String::new), context);
        (root, Server::new(held, NOBODY))
    }

    fn asked(server: &mut Server, line: &str) -> Value {
        server.answer(parse(line.as_bytes()))
    }

    #[test]
    fn nothing_is_answered_before_hello_and_nothing_after_bye() {
        let (root, mut server) = server("hello");
        assert_eq!(asked(&mut server, r#"{"do":"status"}"#)["kind"], "protocol");
        assert_eq!(asked(&mut server, r#"{"do":"hello","protocol":9}"#)["kind"], "protocol");
        assert_eq!(asked(&mut server, r#"{"do":"hello","protocol":1,"title":"a\nb"}"#)["kind"], "domain");
        assert_eq!(asked(&mut server, r#"{"do":"hello","protocol":1}"#)["event"], "done");
        assert_eq!(asked(&mut server, r#"{"do":"noticed"}"#)["drift"], json!([]));
        assert!(!server.is_over());
        assert_eq!(asked(&mut server, r#"{"do":"bye"}"#)["event"], "done");
        assert!(server.is_over() && server.end().is_empty());
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn requests_outside_the_table_are_refused() {
        let (root, mut server) = server("table");
        asked(&mut server, r#"{"do":"hello","protocol":1}"#);
        for (write_request, kind) in [
            (r#"{"knob":"nice","value":"-5"}"#, "usage"),
            (r#"{"knob":"isolcpus","value":"0"}"#, "usage"),
            (r#"{"knob":"/etc/shadow","value":"x"}"#, "usage"),
            (r#"{"knob":"sched_feature_","value":"on"}"#, "usage"),
            (r#"{"knob":"sched_feature_warn_double_clock","value":"on"}"#, "usage"),
            (r#"{"knob":"swappiness","value":"201"}"#, "domain"),
            (r#"{"knob":"swappiness","value":"+1"}"#, "domain"),
            (r#"{"knob":"swappiness","value":"1\n2"}"#, "domain"),
            (r#"{"knob":"swappiness","value":"1","names":["x"]}"#, "domain"),
            (r#"{"knob":"swappiness","value":"1","row":1}"#, "domain"),
            (r#"{"knob":"governor","value":"performance","names":["0/../../x"]}"#, "domain"),
            (r#"{"knob":"governor","value":"a b","names":["0"]}"#, "domain"),
            (r#"{"knob":"swap","value":"off","names":["/etc/shadow"]}"#, "domain"),
            (r#"{"knob":"services","value":"stopped","names":["1","sshd"]}"#, "domain"),
            (r#"{"knob":"isolation","value":"0","row":4,"names":["/../../x"]}"#, "domain"),
            (r#"{"knob":"isolation","value":"present","names":["3","0","0"]}"#, "domain"),
        ] {
            let answer = asked(&mut server, &format!(r#"{{"do":"switch","writes":[{write_request}]}}"#));
            assert_eq!(answer["kind"], kind, "{write_request}: {answer}");
        }
        let watched = r#"{"do":"switch","watched":[[12,["../../../../../etc/shadow"]]]}"#;
        assert_eq!(asked(&mut server, watched)["kind"], "domain");
        assert_eq!(asked(&mut server, r#"{"do":"keep","settings":{"/etc/x":"1"}}"#)["kind"], "usage");
        assert_eq!(fs::read_to_string(root.join("proc/sys/vm/swappiness")).unwrap(), "60\n");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_process_of_somebody_else_is_not_placed() {
        let (root, mut server) = server("place");
        asked(&mut server, r#"{"do":"hello","protocol":1}"#);
        for pid in [std::process::id() as i32, 1, 0, -1] {
            let line = format!(r#"{{"do":"place","pid":{pid},"priorities":{{"nice":"19"}}}}"#);
            assert_eq!(asked(&mut server, &line)["kind"], "refused", "{pid}");
        }
        assert_eq!(asked(&mut server, r#"{"do":"place","pid":null}"#)["event"], "done");
        fs::remove_dir_all(root).unwrap();
    }
}
