//! Evaluates timers, PAPI's among them where it is installed: lines of JSON. What `python bench/clock.py` runs.
//!
//! An example, since a statically linked program such as the agent cannot load a library.

use std::ffi::{c_int, c_void, CStr};
use std::io::Write;
use std::process::ExitCode;

use becalm_core::clock::evaluate::evaluate;
use becalm_core::clock::request::Request;
use becalm_core::clock::timer::loaded::{Loaded, Read, ReadEvents};

/// Names of the library, the development package's first, then those of releases (major and minor).
const NAMES: [&CStr; 4] = [c"libpapi.so", c"libpapi.so.7.1", c"libpapi.so.7.0", c"libpapi.so.6.0"];
/// PAPI_TOT_CYC: a preset event (papiStdEventDefs.h).
const TOTAL_CYCLES: c_int = (0x8000_0000_u32 | 0x3b) as c_int;
/// PAPI_NULL.
const NO_SET: c_int = -1;

fn main() -> ExitCode {
    let text = std::env::args().nth(1).unwrap_or_default();
    let request: Request = match serde_json::from_str(&text) {
        Ok(request) => request,
        Err(error) => {
            eprintln!("clock: {text:?} is not a request: {error}");
            return ExitCode::from(2);
        }
    };
    let told = evaluate(&request, &papi(), &mut |event| {
        let mut line = serde_json::to_string(event)?;
        line.push('\n');
        std::io::stdout().write_all(line.as_bytes())
    });
    match told {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("clock: {error}");
            ExitCode::from(3)
        }
    }
}

/// PAPI, initialised, or why not.
fn papi() -> Loaded {
    // SAFETY: opens a library; its constructors are PAPI's.
    let library = NAMES.iter().map(|name| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) });
    let Some(library) = library.into_iter().find(|library| !library.is_null()) else {
        return Loaded::none("PAPI is not installed");
    };
    let symbol = |name: &CStr| {
        // SAFETY: an open library and a name.
        let found: *mut c_void = unsafe { libc::dlsym(library, name.as_ptr()) };
        (!found.is_null()).then_some(found).ok_or_else(|| format!("PAPI has no {}", name.to_string_lossy()))
    };
    // SAFETY, for all of these: the types are those of papi.h.
    let integer = |name: &CStr| {
        symbol(name).map(|found| unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> c_int>(found)
        })
    };
    let read =
        |name: &CStr| symbol(name).map(|found| unsafe { std::mem::transmute::<*mut c_void, Read>(found) });
    // PAPI_library_init wants the header's version and answers with its own: ask with each that is known.
    let initialised = integer(c"PAPI_library_init").and_then(|initialise| {
        let versions =
            [(7, 2), (7, 1), (7, 0), (6, 0)].map(|(major, minor): (c_int, c_int)| major << 24 | minor << 16);
        let fits = |version: &c_int| unsafe { initialise(*version) } == *version;
        versions.iter().any(fits).then_some(()).ok_or_else(|| "PAPI does not initialise".to_owned())
    });
    match initialised {
        Err(reason) => Loaded::none(&reason),
        Ok(()) => Loaded {
            real_nsec: read(c"PAPI_get_real_nsec"),
            real_cyc: read(c"PAPI_get_real_cyc"),
            read: symbol(c"PAPI_read").and_then(|found| {
                let set = started(&symbol, &integer)?;
                Ok((unsafe { std::mem::transmute::<*mut c_void, ReadEvents>(found) }, set))
            }),
        },
    }
}

type Integer = unsafe extern "C" fn(c_int) -> c_int;

/// A started set of events that counts cycles.
fn started(
    symbol: &dyn Fn(&CStr) -> Result<*mut c_void, String>,
    integer: &dyn Fn(&CStr) -> Result<Integer, String>,
) -> Result<c_int, String> {
    let mut set = NO_SET;
    let done = |what: &str, status: c_int| match status {
        0 => Ok(()),
        number => Err(format!("{what} fails with {number}: there is no counter of cycles here")),
    };
    // SAFETY: the types are those of papi.h.
    unsafe {
        let create: unsafe extern "C" fn(*mut c_int) -> c_int =
            std::mem::transmute(symbol(c"PAPI_create_eventset")?);
        let add: unsafe extern "C" fn(c_int, c_int) -> c_int =
            std::mem::transmute(symbol(c"PAPI_add_event")?);
        done("PAPI_create_eventset", create(&mut set))?;
        done("PAPI_add_event(PAPI_TOT_CYC)", add(set, TOTAL_CYCLES))?;
        done("PAPI_start", integer(c"PAPI_start")?(set))?;
    }
    Ok(set)
}
