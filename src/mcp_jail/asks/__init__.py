"""Asks: calls that wait for a person, and the answers they get.

The desktop's notifications (`notify` is a program of its own), the protocol of a run's control
socket and the commands' end of it, and who may answer: never the jail, nor a process below a
client. What waits and what an answer opens is decided in `core/conversation/asking.py`. No answer
is a denial.
"""
