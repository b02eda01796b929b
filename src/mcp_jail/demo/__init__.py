"""The demo: one server that robs who calls it, run without a jail and in one, judged from outside.

What it goes for is bait in a throw-away directory. Whether an attempt got out is read off files,
sockets and processes; what the server says about itself decides nothing.
"""
