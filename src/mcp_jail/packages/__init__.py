"""Packages: `npx` and `uvx` commands become a pinned version, installed once and read-only at run.

Will hold the jailed install step (registries from the user's own settings, no install scripts
unless the policy allows them), the hash over the whole tree, the second start without any name
look-up, and the update that shows its difference before it switches. Nothing is built yet.
"""
