"""Packages: `npx` and `uvx` commands become a pinned version, installed once and read-only at run.

`commands` reads such a command, `npm` and `pypi` have npm and uv fetch what it means, in jails that
somebody hands in, from the registries of `npm_settings` and `indexes` and by the proxy of
`proxies`. No step that has a login or a network may start a process. `npm_tree` reads what npm
made. `installing` puts the tree in its place, with the digest and the stamp of `tree`. `installed`
is what a start needs.
"""
