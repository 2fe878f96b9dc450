/* A fixed number of dependent integer steps, for programs whose instruction counts differ by a known amount.
 *
 *   loop COUNT        makes COUNT steps and ends
 *   loop COUNT show   also prints the last state, which jump-ahead arithmetic can check (bench/loop.py)
 *   loop COUNT to FILE   also appends how long the steps took, ns, to FILE
 *
 * Each step is x = a x + c modulo 2^64 (Knuth's MMIX generator, TAOCP 2, 3.3.4): one multiplication and one addition
 * that wait for each other, no memory, no branch that depends on data. The same binary runs with every count, so code
 * placement is equal; counts are written with equally many digits, so the stack is too.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sink;

static long long now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	uint64_t count = strtoull(argv[1], NULL, 10);
	uint64_t state = 1;
	long long begun = now_ns();
	for (uint64_t step = 0; step < count; step++)
		state = state * 6364136223846793005u + 1442695040888963407u;
	sink = state;
	long long took = now_ns() - begun;
	if (argc > 3) {
		FILE *file = fopen(argv[3], "a");
		if (!file || fprintf(file, "%lld\n", took) < 0 || fclose(file))
			return 1;
	} else if (argc > 2)
		printf("%llu\n", (unsigned long long)state);
	return 0;
}
