#![no_main]
libfuzzer_sys::fuzz_target!(init: becalm_fuzz::guided::begin("load_sources"), |bytes: &[u8]| {
    becalm_fuzz::load_sources(bytes);
});
