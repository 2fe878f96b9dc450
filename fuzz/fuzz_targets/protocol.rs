#![no_main]
libfuzzer_sys::fuzz_target!(init: becalm_fuzz::guided::begin("protocol"), |bytes: &[u8]| {
    becalm_fuzz::protocol(bytes);
});
