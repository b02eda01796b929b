"""The gate: the only way out of a jail whose policy allows some hosts.

Will hold the listening sockets that live in the jail's network namespace but belong to us outside,
the name server that answers with addresses of our own, the relay process, the rules on what an
address may be (private, loopback, metadata), the check of TLS and HTTP names against the name that
was asked for, and the eyes that see every attempt on any port. Nothing is built yet.
"""
