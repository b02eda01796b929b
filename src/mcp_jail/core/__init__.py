"""Pure decisions: no file, clock, process, socket, thread or random number in here.

The rooms, each of which knows only those below it: `conversation`; `protocol`; `approved`,
`recorded` and `rules`; `text`. What lies beside them is known to all: the policy's types, and
values that more than one layer above passes on.
"""
