"""Remote servers: a stdio client held against policy in front of a Streamable HTTP server.

Will hold the bridge from the wire to Streamable HTTP (headers, sessions, resuming), OAuth with its
token store, and the rules for the address: https only, no redirect to another origin. Policy, lock,
audit and asks are the same; there are no kernel walls, and `show` says so. Nothing is built yet.
"""
