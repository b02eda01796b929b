"""What a policy's rules say of one thing: a tool, an argument, a path, a host, a URI.

`decide.py` is the page to read first.
"""
