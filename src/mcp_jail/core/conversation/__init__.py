"""One conversation between a client and a server: what is passed on, held, asked about, refused.

`session.py` is its door: events in, effects out (`events.py`). What lasts from message to message
is in `state.py`; `clientside.py` and `serverside.py` look up what each thing that comes is.
"""
