#![no_main]
libfuzzer_sys::fuzz_target!(init: becalm_fuzz::guided::begin("regions"), |bytes: &[u8]| {
    becalm_fuzz::regions(bytes);
});
