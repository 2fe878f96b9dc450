//! Answer requests about one machine, one after the other. Whatever ends the conversation, all is put back.

use std::time::Duration;

use becalm_core::knob::catalogue::{find, Scope};
use becalm_core::knob::changes::Changes;
use becalm_core::knob::place::Place;
use becalm_core::knob::restore::unsettled;
use becalm_core::knob::settings::Settings;
use becalm_core::knob::task::start_and_state;
use serde_json::{json, Map, Value};

use crate::caller::{self, OwnProcess};
use crate::failure::Failure;
use crate::held::Held;
use crate::priority::{Before, Priorities};
use crate::request::{Request, LONGEST_TITLE, LONGEST_WAIT_S, VERSION};

/// Where the page cache is dropped (proc_sys_vm(5)).
const CACHES: &str = "/proc/sys/vm/drop_caches";

/// A conversation about a machine.
pub struct Server {
    held: Held,
    /// The user whose processes are placed.
    uid: u32,
    greeted: bool,
    /// The process that was placed, and what it was before.
    placed: Option<(OwnProcess, Before)>,
    over: bool,
}

type Answer = Result<Value, Failure>;

impl Server {
    /// A conversation with a user.
    pub fn new(held: Held, uid: u32) -> Self {
        Self { held, uid, greeted: false, placed: None, over: false }
    }

    /// Whether the other side has said goodbye.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Answer a request: what goes out for it.
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

    /// Put all back. What is not as it was, a sentence each.
    pub fn end(&mut self) -> Vec<String> {
        self.lift();
        unsettled(&self.held.release())
    }

    fn serve(&mut self, request: Request) -> Answer {
        if !self.greeted && !matches!(request, Request::Hello { .. } | Request::Release {} | Request::Bye {})
        {
            return Err(Failure::new("protocol", "The first request must be hello."));
        }
        if !matches!(
            request,
            Request::Switch { .. } | Request::Linger {} | Request::Plan { .. } | Request::Place { .. }
        ) && !matches!(request, Request::Noticed {} | Request::DropCaches {})
        {
            // Everybody else is to see the machine as it is without what programs needed.
            self.held.rest()?;
        }
        match request {
            Request::Hello { protocol, title, owner, interrupt_wait_s } => {
                self.held.call(&owner)?;
                self.greet(protocol, title, interrupt_wait_s)
            }
            Request::Knobs {} => Ok(json!({"knobs": self.held.knobs()})),
            Request::Plan { settings, dangerous } => self.plan(&settings, dangerous),
            Request::Linger {} => self.held.linger().map(nothing),
            Request::Rest {} => Ok(json!({})),
            Request::Switch { settings, dangerous } => self.switch(&settings, dangerous),
            Request::Hold { settings, dangerous, keep } => {
                self.held.switch(&Changes::default())?;
                let read = self.read(&settings, dangerous)?;
                self.held.hold(&settings, read, keep)
            }
            Request::Release {} => {
                self.lift();
                let outcomes = self.held.release();
                Ok(self.held.report(&outcomes, ""))
            }
            Request::Restore { force, mine } => {
                self.lift();
                let way = self.held.clear_way(force, mine)?;
                self.held.restore(force, way)
            }
            Request::Status {} => self.held.status(),
            Request::Noticed {} => Ok(json!({
                "drift": self.held.drift(),
                "clamped": self.held.clamped(),
                "remarks": std::mem::take(&mut self.held.remarks),
            })),
            Request::JoinKept {} => {
                self.held.join_kept();
                Ok(json!({"joins": self.held.places()}))
            }
            Request::Place { pid, priorities } => self.place(pid, &priorities),
            Request::DropCaches {} => self.drop_caches(),
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
        self.held.patience = Duration::from_secs_f64(wait_s);
        self.greeted = true;
        self.held.retry_interrupts();
        Ok(json!({}))
    }

    /// Return the changes that settings would make, those that last, and whether programs join a group for them.
    fn plan(&mut self, settings: &Map<String, Value>, dangerous: bool) -> Answer {
        let settings = self.read(settings, dangerous)?;
        let Changes { lasting, join, writes, .. } = &settings.changes;
        Ok(json!({
            "changes": self.held.plan(&settings.changes),
            "lasting": lasting,
            "joins": join.is_some(),
            "writes": writes.len(),
        }))
    }

    fn switch(&mut self, settings: &Map<String, Value>, dangerous: bool) -> Answer {
        let settings = self.read(settings, dangerous)?;
        self.held.switch(&settings.changes)?;
        Ok(json!({"joins": self.held.places()}))
    }

    /// Read settings: of the running machine alone, and of running processes those that are the caller's. What a program
    /// has of itself is given to one by `place`.
    fn read(&self, settings: &Map<String, Value>, dangerous: bool) -> Result<Settings, Failure> {
        let other = settings.keys().filter_map(|name| find(name)).find(|knob| knob.scope != Scope::Live);
        if let Some(knob) = other {
            let message = format!("{} is not a setting of the running machine.", knob.name);
            return Err(Failure::new("usage", message));
        }
        let settings = Settings::read(settings, &self.held.tree, dangerous)?;
        for change in &settings.changes.writes {
            if let Place::Threads { pid, start, .. } = &change.place {
                self.check_owner(*pid, *start)?;
            }
        }
        Ok(settings)
    }

    /// Raise a refusal for a process of somebody else. One that is written to is known by its start, too.
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
        let before = Before::give(find()?, priorities)?;
        self.held.seats(Some(pid));
        self.held.sit();
        if !process.lives() {
            before.give_back();
            self.held.seats(None);
            self.held.sit();
            return Err(self.refused(pid, &std::io::Error::from_raw_os_error(libc::ESRCH)));
        }
        self.placed = Some((process, before));
        Ok(json!({"joined": self.held.is_seated()}))
    }

    /// Take a process out of the group, and its priorities from it.
    fn lift(&mut self) {
        if let Some((process, before)) = self.placed.take() {
            if !process.lives() {
                self.held.forget();
            }
            before.give_back();
        }
        self.held.seats(None);
        self.held.sit();
    }

    fn drop_caches(&mut self) -> Answer {
        self.held.check_rights()?;
        // SAFETY: no arguments.
        unsafe { libc::sync() };
        self.held.tree.write(CACHES, "3").map_err(|error| {
            Failure::new("system", format!("The page cache could not be dropped: {CACHES}: {error}."))
        })?;
        Ok(json!({}))
    }
}

fn nothing((): ()) -> Value {
    json!({})
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use becalm_core::knob::tree::Tree;
    use becalm_core::time::AnyClock;

    use super::*;
    use crate::request::parse;

    const NOBODY: u32 = 65_534;

    /// A conversation about a directory with one setting.
    fn server(name: &str) -> (PathBuf, Server) {
        let root = std::env::temp_dir().join(format!("becalm-server-{name}-{}", std::process::id()));
        fs::create_dir_all(root.join("proc/sys/vm")).unwrap();
        fs::write(root.join("proc/sys/vm/swappiness"), "60\n").unwrap();
        let held = Held::new(Tree::new(&root), Box::new(String::new), Duration::ZERO, AnyClock::System);
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
    fn a_plan_changes_nothing_and_other_scopes_are_refused() {
        let (root, mut server) = server("plan");
        asked(&mut server, r#"{"do":"hello","protocol":1}"#);
        let plan = asked(&mut server, r#"{"do":"plan","settings":{"swappiness":1}}"#);
        assert_eq!((&plan["changes"][0]["from"], &plan["changes"][0]["to"]), (&json!("60"), &json!("1")));
        for (settings, kind) in [
            (r#"{"nice":-5}"#, "usage"),
            (r#"{"isolcpus":"0"}"#, "usage"),
            (r#"{"/etc/shadow":"x"}"#, "usage"),
            (r#"{"swappiness":201}"#, "domain"),
            (r#"{"watchdogs":"off"}"#, "consent"),
        ] {
            let answer = asked(&mut server, &format!(r#"{{"do":"switch","settings":{settings}}}"#));
            assert_eq!(answer["kind"], kind, "{settings}");
        }
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
