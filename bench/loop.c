/* A fixed number of dependent integer steps, for programs whose instruction counts differ by a known amount.
 *
 *   loop COUNT        makes COUNT steps and ends
 *   loop COUNT show   also prints the last state, which jump-ahead arithmetic can check (bench/loop.py)
 *
 * Each step is x = a x + c modulo 2^64 (Knuth's MMIX generator, TAOCP 2, 3.3.4): one multiplication and one addition
 * that wait for each other, no memory, no branch that depends on data. The same binary runs with every count, so code
 * placement is equal; counts are written with equally many digits, so the stack is too.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static volatile uint64_t sink;

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	uint64_t count = strtoull(argv[1], NULL, 10);
	uint64_t state = 1;
	for (uint64_t step = 0; step < count; step++)
		state = state * 6364136223846793005u + 1442695040888963407u;
	sink = state;
	if (argc > 2)
		printf("%llu\n", (unsigned long long)state);
	return 0;
}
