#!/usr/bin/env python3
"""Writes docs/command_line.md from the help texts of a built program `halyard`.

    tools/site/command_line.py HALYARD            writes the page
    tools/site/command_line.py HALYARD --check    exit status 1 if the page differs

The page is in the tree, so that the site needs no build of the project.
"""
from __future__ import annotations

import difflib
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/command_line.md"
INTRODUCTION = """# Command line

Made from the help texts by `tools/site/command_line.py`; do not edit. [The overview](../README.md#from-the-command-line)
has examples of the usual commands. The exit status is 0 for success, 1 for failure and 2 for misuse.
"""


class HelpError(Exception):
    """A help text that cannot be read."""


def help_of(program: str, *command: str) -> str:
    try:
        run = subprocess.run([program, *command, "--help"], capture_output=True, text=True, timeout=60)
    except OSError as error:
        raise HelpError(f"{program} cannot be run: {error.strerror}; build the targets halyard and halyard-kit first") from error
    if run.returncode != 0 or not run.stdout.strip():
        raise HelpError(f"{' '.join([program, *command, '--help'])}: exit status {run.returncode}, expected 0 "
                        f"and a text; standard error: {run.stderr.strip()}")
    return "\n".join(line.rstrip() for line in run.stdout.strip().split("\n"))


def subcommands(text: str) -> list[tuple[str, str]]:
    """The names and descriptions in the section SUBCOMMANDS of a help text."""
    section = re.search(r"^subcommands:\n((?:[ ].*\n?)+)", text, re.M | re.I)
    return re.findall(r"^ {1,4}([\w-]+) +(\S.*)$", section.group(1), re.M) if section else []


def sections(program: str) -> list[str]:
    top = help_of(program)
    commands = subcommands(top)
    if not commands:
        raise HelpError(f"{program} --help lists no subcommands, expected a section 'Subcommands:'")
    out = ["| command | purpose |", "|---|---|"]
    out += [f"| [`halyard {name}`](#halyard-{name}) | {purpose} |" for name, purpose in commands]
    for name, _ in commands:
        text = help_of(program, name)
        out += ["", f"## halyard {name}", "", "```text", text, "```"]
        for inner, _ in subcommands(text):
            out += ["", f"### halyard {name} {inner}", "", "```text", help_of(program, name, inner), "```"]
    return out


def main(arguments: list[str]) -> int:
    if len(arguments) not in (1, 2) or arguments[1:] not in ([], ["--check"]):
        print("usage: command_line.py HALYARD [--check]", file=sys.stderr)
        return 2
    try:
        text = INTRODUCTION + "\n" + "\n".join(sections(str(pathlib.Path(arguments[0]).absolute()))) + "\n"
    except HelpError as error:
        print(f"command_line: {error}", file=sys.stderr)
        return 1
    text = text.replace(str(pathlib.Path(arguments[0]).absolute()), "halyard")
    if arguments[1:] == []:
        PAGE.write_text(text)
        return 0
    found = PAGE.read_text() if PAGE.exists() else ""
    if found != text:
        sys.stderr.writelines(difflib.unified_diff(found.splitlines(True), text.splitlines(True),
                                                   "docs/command_line.md", "the help texts"))
        print(f"command_line: docs/command_line.md is out of date; write it with: {sys.argv[0]} {arguments[0]}",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
