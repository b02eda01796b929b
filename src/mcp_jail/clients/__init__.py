"""Clients: finding the configuration files of MCP clients and wrapping the servers in them.

Will hold the catalogue of clients as data, the span editors for JSON, JSONC, TOML and YAML that
leave every other byte as it was, and wrap and unwrap of a server entry, verified by parsing the
result again before it is written. Nothing is built yet.
"""
