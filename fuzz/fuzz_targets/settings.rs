#![no_main]
libfuzzer_sys::fuzz_target!(init: becalm_fuzz::guided::begin("settings"), |bytes: &[u8]| {
    becalm_fuzz::settings(bytes);
});
