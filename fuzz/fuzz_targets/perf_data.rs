#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    becalm_fuzz::perf_data(bytes);
});
