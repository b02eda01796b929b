"""The audit: entries and what is blotted out of them, the chain that holds them, their sums."""
