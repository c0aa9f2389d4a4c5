"""Tests command_line.py with a program that has two commands, one of them with commands of its own."""
from __future__ import annotations

import contextlib
import io
import pathlib
import tempfile
import unittest
from unittest import mock

import command_line

PROGRAM = """#!/bin/sh
case "$*" in
  "--help") printf 'Top\\n\\nSubcommands:\\n  one                Does one\\n  many               Has more\\n' ;;
  "one --help") printf 'Does one\\n\\nOptions:\\n  --fast  quickly \\n' ;;
  "many --help") printf 'Has more\\n\\nSubcommands:\\n  inner              Within\\n' ;;
  "many inner --help") printf 'Within\\n' ;;
  *) echo "unknown: $*" >&2; exit 2 ;;
esac
"""


class CommandLineTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.program = folder / "program"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)
        self.page = folder / "page.md"
        self.enterContext(mock.patch.object(command_line, "PAGE", self.page))
        self.errors = io.StringIO()
        self.enterContext(contextlib.redirect_stderr(self.errors))

    def test_the_page_has_each_command_and_is_up_to_date(self) -> None:
        self.assertEqual(command_line.main([str(self.program), "--check"]), 1)
        self.assertEqual(command_line.main([str(self.program)]), 0)
        text = self.page.read_text()
        for part in ("| [`halyard one`](#halyard-one) | Does one |", "## halyard many", "### halyard many inner",
                     "  --fast  quickly\n"):
            self.assertIn(part, text)
        self.assertEqual(command_line.main([str(self.program), "--check"]), 0)

    def test_a_changed_help_text_is_shown(self) -> None:
        command_line.main([str(self.program)])
        self.program.write_text(PROGRAM.replace("quickly", "slowly"))
        self.assertEqual(command_line.main([str(self.program), "--check"]), 1)
        self.assertIn("-  --fast  quickly", self.errors.getvalue())
        self.assertIn("+  --fast  slowly", self.errors.getvalue())

    def test_errors_name_the_program_and_the_reason(self) -> None:
        self.assertEqual(command_line.main(["/no/halyard"]), 1)
        self.program.write_text(PROGRAM.replace('"one --help"', '"three --help"'))
        self.assertEqual(command_line.main([str(self.program)]), 1)
        self.assertIn("/no/halyard cannot be run", self.errors.getvalue())
        self.assertIn("exit status 2, expected 0 and a text; standard error: unknown: one --help",
                      self.errors.getvalue())


if __name__ == "__main__":
    unittest.main()
