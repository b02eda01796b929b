"""Pure decisions: no file, clock, process, socket, thread or random number in here."""
