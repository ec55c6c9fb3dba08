"""ALL_CHECKS: every check, in the order of the layers; an explicit tuple, one line for each module of rows."""

from ctk.doctor.model import Check

ALL_CHECKS: tuple[Check, ...] = ()
