//! PAPI, loaded at run time: this program builds and starts without it.

use std::ffi::{c_int, c_void, CStr};

use becalm_core::clock::timer::loaded::{Loaded, Read, ReadEvents};

/// File names of the library: that of the development package first, then those of releases (major and
/// minor).
pub const NAMES: [&CStr; 5] =
    [c"libpapi.so", c"libpapi.so.7.2", c"libpapi.so.7.1", c"libpapi.so.7.0", c"libpapi.so.6.0"];
/// The versions to try: PAPI_library_init takes the version of the header and returns that of the library.
const VERSIONS: [(c_int, c_int); 4] = [(7, 2), (7, 1), (7, 0), (6, 0)];
/// The preset event PAPI_TOT_CYC (papiStdEventDefs.h).
const TOTAL_CYCLES: c_int = (0x8000_0000_u32 | 0x3b) as c_int;
/// The event set PAPI_NULL: none yet.
const NO_SET: c_int = -1;

type Integer = unsafe extern "C" fn(c_int) -> c_int;
type Create = unsafe extern "C" fn(*mut c_int) -> c_int;
type Add = unsafe extern "C" fn(c_int, c_int) -> c_int;

/// Load and initialise PAPI from the first of these names that can be opened; each timer carries the reason
/// if it cannot.
pub fn loaded(names: &[&CStr]) -> Loaded {
    let library = match opened(names) {
        Ok(library) => library,
        Err(reason) => return Loaded::none(&reason),
    };
    // SAFETY, here and below: the types are those of papi.h.
    let initialised = library.symbol(c"PAPI_library_init").and_then(|found| {
        let initialise = unsafe { std::mem::transmute::<*mut c_void, Integer>(found) };
        let fits = |(major, minor): &(c_int, c_int)| {
            let version = major << 24 | minor << 16;
            let answer = unsafe { initialise(version) };
            answer == version
        };
        let refused = || "PAPI is installed, but of no version that is known here (6.0 to 7.2)".to_owned();
        VERSIONS.iter().any(fits).then_some(()).ok_or_else(refused)
    });
    if let Err(reason) = initialised {
        return Loaded::none(&reason);
    }
    let read =
        |name| library.symbol(name).map(|found| unsafe { std::mem::transmute::<*mut c_void, Read>(found) });
    Loaded {
        real_nsec: read(c"PAPI_get_real_nsec"),
        real_cyc: read(c"PAPI_get_real_cyc"),
        read: library.symbol(c"PAPI_read").and_then(|found| {
            let set = started(&library)?;
            Ok((unsafe { std::mem::transmute::<*mut c_void, ReadEvents>(found) }, set))
        }),
        own: Vec::new(),
    }
}

/// A handle of dlopen(3), which is never closed.
struct Library(*mut c_void);

fn opened(names: &[&CStr]) -> Result<Library, String> {
    // SAFETY: opens a library; its constructors are its own.
    let found = names.iter().map(|name| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) });
    match found.into_iter().find(|library| !library.is_null()) {
        Some(library) => Ok(Library(library)),
        None => Err("PAPI is not installed (Debian: libpapi7.0 or libpapi-dev)".to_owned()),
    }
}

impl Library {
    fn symbol(&self, name: &CStr) -> Result<*mut c_void, String> {
        // SAFETY: an open library and a name.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!found.is_null()).then_some(found).ok_or_else(|| format!("PAPI has no {}", name.to_string_lossy()))
    }
}

/// Start an event set that counts cycles, and return its number.
///
/// PAPI reports its component as enabled even without counters; only adding the event shows whether there are
/// any.
fn started(library: &Library) -> Result<c_int, String> {
    let mut set = NO_SET;
    let done = |what: &str, status: c_int| match status {
        0 => Ok(()),
        number => Err(format!("{what} fails with {number}: PAPI has no counter of cycles here")),
    };
    // SAFETY: as above.
    unsafe {
        let create: Create = std::mem::transmute(library.symbol(c"PAPI_create_eventset")?);
        let add: Add = std::mem::transmute(library.symbol(c"PAPI_add_event")?);
        let start: Integer = std::mem::transmute(library.symbol(c"PAPI_start")?);
        done("PAPI_create_eventset", create(&mut set))?;
        done("PAPI_add_event(PAPI_TOT_CYC)", add(set, TOTAL_CYCLES))?;
        done("PAPI_start", start(set))?;
    }
    Ok(set)
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::path::PathBuf;
    use std::process::Command;

    use super::*;

    /// A few lines of C compiled into a library that looks like PAPI; its directory is removed when the value
    /// is dropped.
    struct Fake(PathBuf, CString);

    impl Fake {
        fn new(name: &str, source: &str) -> Fake {
            let directory = std::env::temp_dir().join(format!("becalm-papi-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&directory).unwrap();
            let (from, to) = (directory.join("papi.c"), directory.join("libpapi.so"));
            std::fs::write(&from, source).unwrap();
            let done =
                Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&to).arg(&from).status().unwrap();
            assert!(done.success());
            let path = CString::new(to.to_str().unwrap()).unwrap();
            Fake(directory, path)
        }

        fn loaded(&self) -> Loaded {
            loaded(&[&self.1])
        }
    }

    impl Drop for Fake {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const CLOCKS: &str = "
        static long long time; long long PAPI_get_real_nsec(void) { return time += 7; }
        long long PAPI_get_real_cyc(void) { return time += 20; }
        int PAPI_library_init(int version) { return 7 << 24; }
    ";
    const EVENTS: &str = "
        static int added; int PAPI_create_eventset(int *set) { *set = 5; return 0; }
        int PAPI_add_event(int set, int event) { added = event; return set == 5 ? 0 : -1; }
        int PAPI_start(int set) { return 0; }
        int PAPI_read(int set, long long *value) { *value = added; return 0; }
    ";

    #[test]
    fn a_library_that_has_everything_is_read() {
        let fake = Fake::new("whole", &format!("{CLOCKS}{EVENTS}"));
        let loaded = fake.loaded();
        let nsec = loaded.real_nsec.unwrap();
        assert_eq!(unsafe { (nsec(), nsec(), (loaded.real_cyc.unwrap())()) }, (7, 14, 34));
        let (read, set) = loaded.read.unwrap();
        let mut event = 0;
        assert_eq!((set, unsafe { read(set, &mut event) }, event), (5, 0, i64::from(TOTAL_CYCLES)));
    }

    #[test]
    fn without_counters_the_clocks_remain() {
        let events = EVENTS.replace("set == 5 ? 0 : -1", "-7");
        let loaded = Fake::new("no-counters", &format!("{CLOCKS}{events}")).loaded();
        assert!(loaded.real_nsec.is_ok());
        assert!(loaded.read.unwrap_err().contains("PAPI_add_event(PAPI_TOT_CYC) fails with -7"));
        let loaded = Fake::new("no-events", CLOCKS).loaded();
        assert_eq!(loaded.read.unwrap_err(), "PAPI has no PAPI_read");
    }

    #[test]
    fn another_version_and_no_library_have_their_reasons() {
        let other = CLOCKS.replace("7 << 24", "9 << 24");
        let reason = Fake::new("other", &other).loaded().real_nsec.unwrap_err();
        assert!(reason.contains("of no version that is known"), "{reason}");
        let reason = loaded(&[c"/nowhere/libpapi.so"]).real_nsec.unwrap_err();
        assert!(reason.contains("not installed"), "{reason}");
    }
}
