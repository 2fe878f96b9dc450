/* Tests becalm_counters.h with page faults, which every kernel counts, and with cycles where they are available. Exits with
 * the number of the failed case, or with 77 if counting is forbidden. */
#include "becalm_counters.h"

int main(void) {
    static const int faults[] = {BECALM_PAGE_FAULTS}, none[] = {99};
    static const int hardware[] = {BECALM_CYCLES, BECALM_INSTRUCTIONS};
    becalm_counters counters;
    uint64_t before[2], after[2];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), many = 64, index;
    volatile unsigned char *memory;
    volatile uint64_t sum = 0;
    int error = becalm_counters_open(&counters, faults, 1);
    if (error == EACCES || error == EPERM || error == ENOSYS) return 77;
    if (error != 0 || counters.many != 1 || !counters.system_calls) return 1;
    memory = (volatile unsigned char *)mmap(NULL, many * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 2;
    madvise((void *)memory, many * page, MADV_NOHUGEPAGE);
    if (becalm_counters_read(&counters, before) != 0) return 3;
    for (index = 0; index < many; index++) memory[index * page] = 1;
    if (becalm_counters_read(&counters, after) != 0) return 4;
    if (after[0] - before[0] < many || after[0] - before[0] > many + 16) return 5;
    becalm_counters_close(&counters);
    if (counters.many != 0) return 6;
    if (becalm_counters_open(&counters, none, 1) != EINVAL || counters.many != 0) return 7;
    /* Most virtual machines lack these events. */
    if (becalm_counters_open(&counters, hardware, 2) != 0) return counters.many == 0 ? 0 : 8;
    if (becalm_counters_read(&counters, before) != 0) return 9;
    for (index = 0; index < 10000; index++) sum = sum + index;
    if (becalm_counters_read(&counters, after) != 0) return 10;
    if (after[1] - before[1] < 10000 || after[0] <= before[0]) return 11;
    becalm_counters_close(&counters);
    return 0;
}
