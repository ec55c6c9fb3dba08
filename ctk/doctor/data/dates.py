"""The dated tables and how old they are, so that asking for their age imports none of them; a test keeps it in step."""

TABLES: tuple[tuple[str, str], ...] = (
    ("capability_libraries", "2026-09-01"),
    ("cdi_hooks", "2026-09-01"),
    ("cdi_versions", "2026-09-01"),
    ("cuda", "2026-09-01"),
    ("cuda_errors", "2026-09-01"),
    ("cves", "2026-09-01"),
    ("known_bad_drivers", "2026-09-01"),
    ("machines", "2026-09-01"),
    ("mig", "2026-09-01"),
    ("nvlink", "2026-09-01"),
    ("pci_families", "2026-09-01"),
    ("smi_codes", "2026-09-01"),
    ("toolkit_problems", "2026-09-01"),
    ("xid", "2025-10-01"),
)
"""A module of this package, and the day its source was taken."""
