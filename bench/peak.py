"""Run a command and print its seconds and the highest MB it had resident, then its exit code.

    python -I -S bench/peak.py COMMAND...

A process of its own, since a child of a large process begins with the size of its parent: nothing
below the 10 MB of this one can be seen.
"""

import os
import sys
import time

null = os.open(os.devnull, os.O_RDWR)
output = os.memfd_create("output")
before = time.perf_counter()
actions = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, output, 1)]
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=actions)
_, status, usage = os.wait4(pid, 0)
seconds = time.perf_counter() - before
print(seconds, usage.ru_maxrss / 1024, os.waitstatus_to_exitcode(status))
sys.stdout.flush()
os.lseek(output, 0, os.SEEK_SET)
while data := os.read(output, 1 << 16):
    os.write(1, data)
