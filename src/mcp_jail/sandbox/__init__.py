"""From a `JailSpec` to a running, jailed child on Linux: look, plan (pure), launch.

`probe` and `look` read the host, `plan` decides, `bwrap` and `seccomp` translate, `launch` acts.
"""
