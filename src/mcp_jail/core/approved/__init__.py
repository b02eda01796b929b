"""The lock: what a person approved of a server's words, and what differs from it in this run."""
