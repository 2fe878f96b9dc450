#![no_main]
libfuzzer_sys::fuzz_target!(init: becalm_fuzz::guided::begin("journal"), |bytes: &[u8]| {
    becalm_fuzz::journal(bytes);
});
