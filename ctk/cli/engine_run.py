"""Carries out `ctk runtime configure` and `unconfigure`: plan, show, apply, report; each engine stands alone."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ctk.cli.app import App
from ctk.cli.applying import apply_plan, repair_interrupted, until_unmoved
from ctk.cli.engine_text import render
from ctk.cli.output import internal_fault, show_traceback
from ctk.cli.paths import absolute_path, journal_of, shown_error, shown_path
from ctk.errors import EXIT_NEGATIVE, EXIT_OK, CtkError, UsageFault
from ctk.record import Record
from ctk.result import ErrorInfo, Message, Result, error_info
from ctk.runtime.planned import Planned
from ctk.runtime.request import Request, check_request
from ctk.runtime.targets import Target, choose_targets

if TYPE_CHECKING:
    from ctk.change.apply import Applied
    from ctk.host import Host

Planner = Callable[["Host", Request, Target], Planned]


class Options(Record):
    """The command line of configure and unconfigure."""

    request: Request
    dry_run: bool = False
    print_file: bool = False
    check: bool = False
    no_journal: bool = False
    verbose: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def writes(self) -> bool:
        """Whether files will be changed."""
        return not (self.dry_run or self.print_file or self.check)


class Report(Record):
    """What came of one engine: its JSON row, its text, its messages, its error, and whether a change is pending."""

    data: dict[str, object]
    text: str
    messages: tuple[Message, ...]
    error: ErrorInfo | None
    exit_code: int
    pending: bool


def options_from(app: App, values: Mapping[str, object]) -> Options:
    """The options as values; --dry-run, --print and --check make planning tentative."""
    tentative = bool(values["dry_run"] or values["print_file"] or values["check"])
    forced = values["force"]
    request = Request(
        engine=_text(values["engine"]),
        installation=_text(values["installation"]),
        config=absolute_path(app, _text(values["config"]) or ""),
        drop_in=_text(values["drop_in"]),
        config_source=str(values["config_source"]),
        executable=str(values["executable"]),
        name=str(values["name"]),
        path=str(values["path"]),
        set_as_default=bool(values["set_as_default"]),
        enable_cdi=bool(values["enable_cdi"]),
        forced=frozenset(str(name) for name in forced) if isinstance(forced, tuple) else frozenset(),
        tentative=tentative,
        verify=not values["no_verify"],
        restart=bool(values["restart"]),
    )
    return Options(
        request,
        bool(values["dry_run"]),
        bool(values["print_file"]),
        bool(values["check"]),
        bool(values["no_journal"]),
        bool(values["verbose"]),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def run_engines(app: App, command: str, options: Options, planner: Planner) -> None:
    """The whole command: choose the engines, run each, combine; the exit code is the worst."""
    app.command = command
    try:
        check_options(app, options)
        targets = choose_targets(app.host(), options.request)
    except CtkError as error:
        show_traceback(app)
        app.finish(_combine(command, options, [], (error_info(error),), error.exit_code))
        return
    run_targets(app, command, options, planner, targets)


def check_options(app: App, options: Options) -> None:
    """Raise UsageFault for what cannot be meant, CtkError where nothing can be restarted."""
    app.refuse_snapshot()
    request = options.request
    check_request(request)
    host = app.host()
    if request.restart and not host.is_live:
        raise UsageFault(
            "--restart cannot be used with --root: no program of that host is run",
            hint="Leave out --restart. Nothing was changed.",
        )
    if request.restart and options.writes:
        _require_systemd(host)


def run_targets(app: App, command: str, options: Options, planner: Planner, targets: tuple[Target, ...]) -> None:
    """Run every target; one's failure does not undo another's."""
    host = app.host()
    app.finish(_combine(command, options, [_run_one(app, host, options, target, planner) for target in targets]))


def _require_systemd(host: "Host") -> None:
    if not host.is_directory("/run/systemd/system"):
        raise CtkError(
            "cannot restart the engine: systemd does not run here (/run/systemd/system is missing)",
            hint="Leave out --restart and restart the engine yourself. Nothing was changed.",
            code="no-systemd",
        )


def _run_one(app: App, host: "Host", options: Options, target: Target, planner: Planner) -> Report:
    try:
        planned, applied = _plan_and_apply(app, host, options, target, planner)
    except CtkError as error:
        show_traceback(app)
        return _failed(host, target, error)
    except Exception as error:  # a bug met with one engine must not hide what was done to the others
        show_traceback(app)
        return _failed(host, target, internal_fault(error))
    text = "" if app.json else render(host, options, planned, applied)
    return _report(host, options, planned, applied, with_diffs=app.json)._replace(text=text)


def _plan_and_apply(
    app: App, host: "Host", options: Options, target: Target, planner: Planner
) -> tuple[Planned, "Applied | None"]:
    """Plan, and apply what is pending; plan again if another run changed a file in between."""
    repaired = repair_interrupted(app, host, target.key) if options.writes else ()

    def make() -> Planned:
        planned = planner(host, options.request, target)
        return planned._replace(warnings=(*(message.text for message in repaired), *planned.warnings))

    def apply(planned: Planned) -> "Applied | None":
        if not options.writes or not planned.plan.pending:
            return None
        from ctk.runtime.unconfigure import with_cycle

        plan = planned.plan if options.no_journal else with_cycle(planned, journal_of(host)).plan
        return apply_plan(app, host, plan, no_journal=options.no_journal, no_verify=not options.request.verify)

    return until_unmoved(make, apply)


def _failed(host: "Host", target: Target, error: CtkError) -> Report:
    data = {
        "engine": target.engine,
        "installation": target.installation,
        "changed": False,
        "applied": False,
        "files": [],
        "restart": {"required": False, "unit": target.unit, "done": False},
        "verified": {"method": "none", "result": "failed"},
        "journal_id": None,
    }
    return Report(data, "", (), shown_error(host, error), error.exit_code, False)


def _report(host: "Host", options: Options, planned: Planned, applied: "Applied | None", *, with_diffs: bool) -> Report:
    """with_diffs: the JSON row shows them; a screen has made its own."""
    pending = bool(planned.plan.pending)
    data = {
        "engine": planned.target.engine,
        "installation": planned.target.installation,
        "changed": pending,
        "applied": applied is not None and applied.applied,
        "files": _files(host, planned) if with_diffs else [],
        "restart": {
            "required": planned.restart_required and not (applied and applied.restart_done),
            "unit": planned.target.unit,
            "done": bool(applied and applied.restart_done),
        },
        "verified": _verified(planned, applied),
        "journal_id": applied.journal_id if applied else None,
    }
    messages = [Message("warning", text) for text in planned.warnings]
    messages += [Message("info", text) for text in planned.notes]
    messages += applied.messages if applied else ()
    code = EXIT_NEGATIVE if pending and options.check else EXIT_OK
    return Report(data, "", tuple(messages), None, code, pending)


def _files(host: "Host", planned: Planned) -> list[dict[str, object]]:
    pending = planned.plan.pending
    if not pending:
        return [{"path": shown_path(host, path), "action": "none", "diff": ""} for path in planned.files]
    from ctk.change.diff import unified_diff

    return [{"path": change.path, "action": change.action, "diff": unified_diff(change)} for change in pending]


def _verified(planned: Planned, applied: "Applied | None") -> dict[str, object]:
    if applied is not None:
        return {"method": applied.verified.method, "result": applied.verified.result}
    return {"method": planned.method, "result": "passed" if planned.method == "parse" else "not-asked"}


def _combine(
    command: str, options: Options, reports: list[Report], errors: tuple[ErrorInfo, ...] = (), exit_code: int = EXIT_OK
) -> Result:
    for report in reports:
        if report.error is not None:
            name = f"{report.data['engine']} ({report.data['installation']}): " if len(reports) > 1 else ""
            errors = (*errors, report.error._replace(message=name + report.error.message))
    messages = [Message("warning", text) for text in options.warnings]
    messages += [message for report in reports for message in report.messages]
    return Result(
        command,
        {"dry_run": not options.writes, "engines": [report.data for report in reports]},
        max([exit_code, *(report.exit_code for report in reports)]),
        text="".join(report.text for report in reports),
        messages=_said_once(messages),
        errors=errors,
    )


def _said_once(messages: list[Message]) -> tuple[Message, ...]:
    """Without what was said already: two engines may meet one fault; --dry-run warns of a refusal in other words."""
    kept: list[Message] = []
    for message in messages:
        if not any(message.text in earlier.text for earlier in kept):
            kept.append(message)
    return tuple(kept)
