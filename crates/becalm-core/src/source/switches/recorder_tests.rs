use super::*;
use crate::exec::clock_ns;
use crate::source::switches::events::Pair;
use crate::source::switches::record::What;

/// Parse the appended records.
fn parsed(out: Vec<u8>) -> Vec<serde_json::Value> {
    serde_json::from_str(&format!("[{}]", String::from_utf8(out).unwrap())).unwrap()
}

/// Record while `work` runs; None if this machine lets nobody count.
fn recorded(work: impl FnOnce()) -> Option<(Vec<serde_json::Value>, Recorder)> {
    let mut recorder = match Recorder::open(EventSet::Faults, None, 1_000_000, Path::new("/")) {
        Ok(recorder) => recorder,
        Err(error) => {
            assert!(error.to_string().len() > 40, "{error}");
            return None;
        }
    };
    let mut out = Vec::new();
    work();
    recorder.look(&mut out, false);
    recorder.look(&mut out, true);
    Some((parsed(out), recorder))
}

/// Return whether all records of a machine that others use, too, were read before the kernel ran out of room;
/// if not, that is recorded, and nothing that needs all of them can be asserted.
fn nothing_lost(records: &[serde_json::Value], recorder: &Recorder) -> bool {
    let trouble = recorder.trouble();
    assert_eq!(Trouble { lost: 0, ..trouble }, Trouble::default());
    assert!(trouble.lost == 0 || records.iter().any(|each| each["what"] == "lost"), "{trouble:?}");
    trouble.lost == 0
}

/// Return whether the records of a program that was started are seen, each once; false if records were lost.
fn program_is_seen() -> Option<bool> {
    let mut child = 0;
    let (records, recorder) = recorded(|| {
        let mut started = std::process::Command::new("sleep").arg("0.02").spawn().unwrap();
        child = started.id();
        started.wait().unwrap();
    })?;
    assert_eq!(recorder.records, records.len() as u64);
    if !nothing_lost(&records, &recorder) {
        return Some(false);
    }
    let of =
        |kind: &str, field: &str| records.iter().filter(|each| each["what"][kind][field] == child).count();
    assert_eq!((of("fork", "child"), of("exec", "task"), of("exit", "task")), (1, 1, 1));
    // The idle task may leave without a record, nothing is known of the tasks that ran at the very beginning, and
    // the last switch of a task that ends may come after its parent knows of the end.
    assert!(of("switch", "out") >= 1 && of("switch", "to") >= 1, "it slept once");
    let times: Vec<u64> = records.iter().map(|each| each["time_ns"].as_u64().unwrap()).collect();
    assert!(times.is_sorted());
    // The counts are cumulative on each CPU.
    for cpu in recorder.cpus() {
        let faults = records.iter().filter(|each| each["cpu"] == cpu);
        assert!(faults.map(|each| each["references"].as_u64().unwrap()).is_sorted(), "CPU {cpu}");
    }
    assert!(records.iter().any(|each| each["references"].as_u64() > Some(20)));
    Some(true)
}

#[test]
fn a_program_that_is_started_forks_executes_switches_faults_and_ends() {
    program_is_seen();
}

#[test]
#[ignore = "measurement: needs a machine on which few others switch"]
fn on_a_quiet_machine_no_record_of_a_short_program_is_lost() {
    assert_ne!(program_is_seen(), Some(false));
}

#[test]
fn two_recordings_at_once_both_see_every_switch() {
    let Some((_, mut other)) = recorded(|| ()) else { return };
    // Without rights all recordings of a user share what may be locked in memory (perf_event_open(2)).
    let Some((records, recorder)) = recorded(|| {
        for _ in 0..10 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }) else {
        return;
    };
    let mut out = Vec::new();
    other.look(&mut out, true);
    let others = parsed(out);
    // SAFETY: cannot fail.
    let thread = unsafe { libc::gettid() };
    for (records, recorder, which) in [(records, recorder, "second"), (others, other, "first")] {
        if !nothing_lost(&records, &recorder) {
            continue;
        }
        let left = records.iter().filter(|each| each["what"]["switch"]["out"] == thread).count();
        assert!(left >= 10, "the {which} recording has seen it leave {left} times");
    }
}

#[test]
fn a_task_that_never_leaves_is_read_by_its_own_cpu() {
    // This counts its own CPU time: others may use the CPU meanwhile.
    let spent_ns = || clock_ns(libc::CLOCK_THREAD_CPUTIME_ID);
    let begun_ns = spent_ns();
    let Some((records, recorder)) = recorded(|| while spent_ns() - begun_ns < 50_000_000 {}) else { return };
    if !nothing_lost(&records, &recorder) {
        return;
    }
    assert!(records.iter().filter(|each| each["what"] == "tick").count() >= 10, "{}", records.len());
}

/// Two CPUs that count unless others have their counters.
struct Stolen(std::rc::Rc<std::cell::RefCell<Cpus>>);

impl Feed for Stolen {
    fn begin(&mut self, _: u32, _: &Pair, _: u64) -> Result<u64, Refused> {
        Ok(1)
    }

    fn counts(&self, cpu: u32) -> bool {
        !self.0.borrow().contains(&cpu)
    }

    fn end(&mut self, _: u32) {}

    fn take(&mut self, _: bool, _: &mut dyn FnMut(u32, KernelEvent)) {}
}

#[test]
fn counters_that_others_take_end_a_cpu_with_the_reason_until_they_give_them_back() {
    let root = std::env::temp_dir().join(format!("becalm-stolen-{}", std::process::id()));
    fs::create_dir_all(root.join("sys/devices/system/cpu")).unwrap();
    fs::write(root.join("sys/devices/system/cpu/online"), "0-1\n").unwrap();
    let stolen = std::rc::Rc::new(std::cell::RefCell::new(Cpus::from([0, 1])));
    let open = || Recorder::from(Box::new(Stolen(stolen.clone())), EventSet::Faults, None, 1_000_000, &root);
    let Err(error) = open() else { panic!("no CPU counts") };
    assert!(error.to_string().contains("others count already"), "{error}");
    *stolen.borrow_mut() = Cpus::from([1]);
    let mut recorder = open().unwrap();
    assert_eq!(recorder.cpus(), Cpus::from([0]));
    assert!(recorder.absent[&1].contains("taken by others"), "some CPUs only: {:?}", recorder.absent);
    *stolen.borrow_mut() = Cpus::from([0]);
    recorder.come_and_go(7);
    assert_eq!(recorder.cpus(), Cpus::from([1]));
    assert!(recorder.absent[&0].contains("taken by others") && recorder.absent.len() == 1);
    assert_eq!(
        (recorder.trouble().offline, recorder.waiting[0].0.what),
        (1, What::Offline),
        "unknown from now on"
    );
    stolen.borrow_mut().clear();
    recorder.come_and_go(8);
    assert_eq!((recorder.cpus(), recorder.absent.len()), (Cpus::from([0, 1]), 0));
    fs::remove_dir_all(&root).unwrap();
}

/// A feed that reports at given times that a task executes another program.
struct Late(Vec<Vec<u64>>);

impl Feed for Late {
    fn begin(&mut self, _: u32, _: &Pair, _: u64) -> Result<u64, Refused> {
        Ok(1)
    }

    fn counts(&self, _: u32) -> bool {
        true
    }

    fn end(&mut self, _: u32) {}

    fn take(&mut self, _: bool, each: &mut dyn FnMut(u32, KernelEvent)) {
        for time_ns in self.0.remove(0) {
            each(0, KernelEvent::Renamed { time_ns, task: 7, name: Default::default(), executes: true });
        }
    }
}

#[test]
fn a_record_that_comes_after_newer_ones_were_passed_on_gets_their_time() {
    let root = std::env::temp_dir().join("becalm-nothing-here");
    let feed = Box::new(Late(vec![vec![30, 10], vec![20, 40]]));
    let mut recorder = Recorder::from(feed, EventSet::Faults, None, 1_000_000, &root).unwrap();
    let mut out = Vec::new();
    recorder.look(&mut out, false);
    recorder.look(&mut out, true);
    let times: Vec<u64> = parsed(out).iter().map(|each| each["time_ns"].as_u64().unwrap()).collect();
    assert_eq!(times, [10, 30, 30, 40]);
}

#[test]
fn refusals_have_a_reason_and_a_remedy() {
    let code = |code, hardware| Refused {
        event: "cache-misses".to_owned(),
        hardware,
        error: io::Error::from_raw_os_error(code),
    };
    let message = |refused: &Refused| error(refused, EventSet::Llc).to_string();
    let none = message(&code(libc::ENOENT, true));
    assert!(none.contains("Miss ratios cannot be seen on this machine") && none.contains("--events faults"));
    assert!(message(&code(libc::EACCES, false)).contains("perf_event_paranoid"));
    assert!(message(&code(libc::EBUSY, true)).contains("watchdog"));
    assert!(message(&code(libc::ENOSYS, false)).contains("CONFIG_PERF_EVENTS"));
    let missing = Recorder::open(EventSet::Faults, parse_cpus("0,60000"), 1_000_000, Path::new("/"));
    assert!(matches!(missing, Err(RecordError::Domain(_))));
}
