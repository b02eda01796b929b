"""What lies on disk: private files, the audit journal, keys, trust, policies, running jails."""
