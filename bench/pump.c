/* The least that can stand between a client and a server: bytes carried, nothing read.
 *
 *     cc -O2 -o pump bench/pump.c
 *     ./pump COMMAND...
 *
 * One process, poll, 64 KiB reads. What anything in the middle costs at least: two more wake-ups a
 * call, some 50 us, in any language.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_BYTES (64 * 1024)

static char buffer[READ_BYTES];

/* Carry one read's worth; 0 at the end. */
static int carry(int from, int to) {
    ssize_t size = read(from, buffer, sizeof buffer);
    if (size <= 0) return 0;
    for (ssize_t done = 0; done < size;) {
        ssize_t wrote = write(to, buffer + done, (size_t)(size - done));
        if (wrote <= 0) return 0;
        done += wrote;
    }
    return 1;
}

int main(int count, char **words) {
    int down[2], up[2];
    if (count < 2 || pipe(down) != 0 || pipe(up) != 0) return 2;
    pid_t child = fork();
    if (child == 0) {
        dup2(down[0], 0);
        dup2(up[1], 1);
        close(down[0]), close(down[1]), close(up[0]), close(up[1]);
        execvp(words[1], words + 1);
        _exit(127);
    }
    close(down[0]);
    close(up[1]);
    signal(SIGPIPE, SIG_IGN);
    struct pollfd both[2] = {{0, POLLIN, 0}, {up[0], POLLIN, 0}};
    while (poll(both, 2, -1) > 0) {
        if (both[0].revents && !carry(0, down[1])) {
            close(down[1]);
            both[0].fd = -1;
        }
        if (both[1].revents && !carry(up[0], 1)) break;
    }
    kill(child, SIGTERM);
    waitpid(child, NULL, 0);
    return 0;
}
