"""Words of others as they are shown and kept: hidden characters, secrets, log messages."""
