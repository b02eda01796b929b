"""Asks: calls that wait for a person, and the answers they get.

Will hold the channels a person is asked through (desktop, dashboard, command line, the client's own
elicitation), who may answer (never the jail, nor a process below the client), the grants that an
answer leaves in memory, and the cap on floods. No answer is a denial. Nothing is built yet.
"""
