#![no_main]
libfuzzer_sys::fuzz_target!(init: becalm_fuzz::guided::begin("boot_loader"), |bytes: &[u8]| {
    becalm_fuzz::boot_loader(bytes);
});
