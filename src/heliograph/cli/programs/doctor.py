"""Defines the command `heliograph doctor`."""

import json

import click

from heliograph.cli.command import Command, CommandRun, examples
from heliograph.cli.output import in_colour


def _doctor(run: CommandRun) -> None:
    from heliograph.processes.checks.doctor import examine

    findings = list(examine(run.settings_as_found))
    if run.as_json:
        click.echo(json.dumps([finding._asdict() for finding in findings], indent=2))
    else:
        width = max(len(finding.check) for finding in findings)
        for finding in findings:
            click.echo(
                f"{in_colour(finding.verdict)}{'':{8 - len(finding.verdict)}}"
                f" {finding.check:{width}}  {finding.found}"
            )
            if finding.remedy is not None:
                click.echo(f"{'':8} {'':{width}}  → {finding.remedy}")
    if any(finding.verdict == "failure" for finding in findings):
        click.get_current_context().exit(1)


command = Command(
    "doctor",
    callback=_doctor,
    epilog=examples("doctor"),
    help=(
        "Check settings, file permissions, disk, Redis, database, clock, carriers, routes and"
        " webhooks, and say how to mend what is wrong. The exit status is 1 if a check has failed."
    ),
)
