"""Checks and findings made up for tests of the machinery around them; no real check is here."""

from ctk.doctor.model import FAIL, HIGH, PASS, TRIAGE, Check, Evidence, Finding, Outcome, Remedy


def make_check(identity: str, *needs: str, outcome: object = None, **changes: object) -> Check:
    """A check that passes, or answers `outcome` whatever the snapshot is; raises it if it is an exception."""

    def evaluate(snapshot: object) -> Outcome:
        del snapshot
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome if outcome is not None else Outcome(PASS, "all is well")  # type: ignore[return-value] # tests also hand in what no check may answer

    values: dict[str, object] = {
        "id": identity,
        "title": f"what {identity} asks",
        "group": "Tests",
        "layer": "L3",
        "severity": HIGH,
        "evaluate": evaluate,
        "reads": "nothing",
        "rule": "none",
        "source": "made up",
        "needs": needs,
        "profiles": (TRIAGE,),
    }
    return Check(**{**values, **changes})  # type: ignore[arg-type] # the row's own fields by name


def make_finding(
    identity: str,
    *needs: str,
    status: str = FAIL,
    subject: str = "",
    message: str = "it does not work",
    evidence: tuple[Evidence, ...] = (),
    remedy: Remedy | None = None,
    **changes: object,
) -> Finding:
    """A failure of the whole host; override what the test is about."""
    outcome = Outcome(status, message, evidence, subject, remedy)
    return Finding(make_check(identity, *needs, **changes), outcome)
