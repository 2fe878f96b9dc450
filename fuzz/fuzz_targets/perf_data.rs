#![no_main]
libfuzzer_sys::fuzz_target!(init: becalm_fuzz::guided::begin("perf_data"), |bytes: &[u8]| {
    becalm_fuzz::perf_data(bytes);
});
