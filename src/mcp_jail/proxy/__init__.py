"""The loop between client and server: the only code that holds both ends of the wire."""
