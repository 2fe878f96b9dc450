/* Two processes on one CPU that wake each other in turn: two switches of tasks for each exchange.
 *
 *   talk pipe COUNT    a byte each way through pipes
 *   talk tcp COUNT     a byte each way over a TCP connection of the machine to itself
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends[2][2];

static int open_pipes(void)
{
	int there[2], back[2];

	if (pipe(there) || pipe(back))
		return -1;
	ends[0][0] = back[0];
	ends[0][1] = there[1];
	ends[1][0] = there[0];
	ends[1][1] = back[1];
	return 0;
}

static int open_connection(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int on = 1, server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0), taken;

	if (bind(server, (void *)&address, size) || listen(server, 1) ||
	    getsockname(server, (void *)&address, &size) || connect(client, (void *)&address, size))
		return -1;
	taken = accept(server, NULL, NULL);
	setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(taken, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	ends[0][0] = ends[0][1] = client;
	ends[1][0] = ends[1][1] = taken;
	return taken < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	cpu_set_t first;
	char byte = 0;
	int cpu, child, status;

	if (argc != 3 || (strcmp(argv[1], "pipe") && strcmp(argv[1], "tcp")))
		return 2;
	if (strcmp(argv[1], "pipe") ? open_connection() : open_pipes())
		return 1;
	sched_getaffinity(0, sizeof(first), &first);
	for (cpu = 0; !CPU_ISSET(cpu, &first);)
		cpu++;
	CPU_ZERO(&first);
	CPU_SET(cpu, &first);
	sched_setaffinity(0, sizeof(first), &first);
	child = fork();
	if (child < 0)
		return 1;
	for (long left = atol(argv[2]); left > 0; left--) {
		if (!child && (read(ends[1][0], &byte, 1) != 1 || write(ends[1][1], &byte, 1) != 1))
			return 1;
		if (child && (write(ends[0][1], &byte, 1) != 1 || read(ends[0][0], &byte, 1) != 1))
			return 1;
	}
	if (!child)
		return 0;
	return waitpid(child, &status, 0) != child || status;
}
