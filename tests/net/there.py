"""`mcp-jail` started on the machine of a test by an ordinary user.

    python3 there.py PID ARGUMENTS...

That machine lies in a user namespace, where what root owns seems nobody's: so what is nobody's is
taken for root's, and nothing else is another. Root needs no such namespace: it goes there by
nsenter(1), and what runs there is mcp-jail as it is.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import partial

from mcp_jail.cli import main
from mcp_jail.proxy import step
from mcp_jail.sandbox import build
from mcp_jail.sandbox.probe import probe
from mcp_jail.store import files

NOBODY = 65534  # who root is in a user namespace that has only its maker

files._owners = lambda: (os.geteuid(), NOBODY)
build.probe = step.probe = partial(  # type: ignore[attr-defined]
    probe, trusted_owner=NOBODY
)
here = os.getcwd()
libc = ctypes.CDLL(None, use_errno=True)
opened = [os.open(f"/proc/{sys.argv[1]}/ns/{name}", os.O_RDONLY) for name in ("user", "net", "mnt")]
for namespace in opened:
    if libc.setns(namespace, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    os.close(namespace)
os.chdir(here)
sys.exit(main(sys.argv[2:]))
