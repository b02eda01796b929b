"""Clients: their configuration files, and the servers in them wrapped and unwrapped.

`catalogue` and the rows say where each client's file lies and how it is written. `json_spans`,
`toml_spans` and `yaml_spans` read one into a tree of places, `servers` finds the entries,
`launches` what each starts, `our_entries` which of them are ours, `matching` whose a record is;
`wrapping` and `splices` make a change of few spans, `reading` holds that it means nothing else.
`planning` and `unplanning` decide about a whole file, `applying` and `replacing` write it, `health`
looks at them later. Nothing here prints.
"""
