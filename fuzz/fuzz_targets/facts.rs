#![no_main]
libfuzzer_sys::fuzz_target!(init: becalm_fuzz::guided::begin("facts"), |bytes: &[u8]| {
    becalm_fuzz::facts(bytes);
});
