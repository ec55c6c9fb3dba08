"""Everything that changes the machine: plan, lock, journal, apply, verify, restart; the only writer."""
