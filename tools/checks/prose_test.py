"""Tests of prose.py: its findings, their lines, and the text that it ignores."""
import pathlib
import tempfile
import unittest

import prose

LONG = "one two three four five six seven eight nine ten " * 3


def found(name, text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, name)
        path.write_text(text)
        return [(line, message.split(":")[0]) for line, message in prose.findings(name, path)]


class CodeTest(unittest.TestCase):
    def test_a_long_sentence_is_found_at_its_line(self):
        text = f"int a;\n// Short.\n// {LONG}\n// end. Short.\nint b;\n"
        self.assertEqual(found("a.cc", text), [(3, "a sentence of 31 words, at most 25")])

    def test_sentences_of_25_words_pass(self):
        words = " ".join(["word"] * 25)
        self.assertEqual(found("a.cc", f"// {words}. {words}.\n"), [])
        self.assertEqual(len(found("a.cc", f"// {words} word.\n")), 1)

    def test_unclear_words_are_found_at_their_lines(self):
        self.assertEqual(found("a.h", "// The thread\n// and whoever waits.\nint a;  // nobody\n"),
                         [(2, "'whoever'"), (3, "'nobody'")])

    def test_words_in_code_strings_and_quotations_do_not_count(self):
        self.assertEqual(found("a.cc", 'auto a = "// nobody";\nauto nobody = 1\'000;\n'
                                       'auto b = R"(\n// whoever\n)";\n'
                                       "// Says \"nobody\", `whoever` and 'whom'.\n"), [])

    def test_block_comments_have_lines(self):
        self.assertEqual(found("a.c", "/* First.\n * Nobody waits.\n */\n"), [(2, "'Nobody'")])

    def test_comments_of_different_lines_of_code_are_different_sentences(self):
        part = " ".join(["word"] * 15)
        self.assertEqual(found("a.h", f"int a;  // {part}\nint b;  // {part}\n"), [])

    def test_lists_tables_and_code_end_sentences(self):
        part = " ".join(["word"] * 15)
        self.assertEqual(found("a.h", f"// {part}:\n// - {part}\n//   {part[:20]}\n// - {part}\n"), [])
        self.assertEqual(found("a.h", f"// {part}:\n//   name     {part}\n//   another  {part}\n"), [])
        self.assertEqual(found("a.h", f"// {part}:\n//\n//     {LONG}nobody\n"), [])

    def test_a_question_may_ask_what_is(self):
        self.assertEqual(found("a.h", "// What does the driver answer?\n"), [])
        self.assertEqual(len(found("a.h", "// What the driver answers.\n")), 1)

    def test_who_needs_a_noun(self):
        self.assertEqual(found("a.h", "// A client who waits.\n"), [])
        self.assertEqual(found("a.h", "// Depends on who waits.\n"), [(1, "'on who'")])

    def test_abbreviations_end_no_sentence(self):
        part = " ".join(["word"] * 15)
        self.assertEqual(len(found("a.h", f"// {part}, e.g. {part}.\n")), 1)


class ScriptTest(unittest.TestCase):
    def test_comments_and_docstrings_of_python(self):
        text = '#!/usr/bin/env python3\n"""First.\n\nNobody waits.\n"""\na = "nobody"  # whoever\n'
        self.assertEqual(found("a.py", text), [(4, "'Nobody'"), (6, "'whoever'")])

    def test_comments_of_shell_cmake_and_capnp(self):
        text = '#!/bin/bash\necho "# nobody"  # whoever\n# Somebody.\n'
        for name in ("a.sh", "a.capnp", "CMakeLists.txt", "run"):
            self.assertEqual(found(name, text), [(2, "'whoever'"), (3, "'Somebody'")])


class MarkdownTest(unittest.TestCase):
    def test_fences_code_and_html_comments_do_not_count(self):
        text = "Text:\n\n```\nnobody\n```\n\n    nobody\n\n<!-- nobody -->\n`nobody` is a word.\n"
        self.assertEqual(found("a.md", text), [])

    def test_lines_and_cells(self):
        text = f"# Title\n\nA paragraph\nand whoever.\n\n| a | b |\n|---|---|\n| nobody | `a | b` |\n"
        self.assertEqual(found("a.md", text), [(4, "'whoever'"), (8, "'nobody'")])

    def test_list_items_are_sentences_of_their_own(self):
        part = " ".join(["word"] * 15)
        self.assertEqual(found("a.md", f"- {part}\n- {part}\n  nobody\n"), [(3, "'nobody'")])

    def test_links_and_addresses_are_their_texts(self):
        self.assertEqual(found("a.md", f"[text](https://a.b/{'nobody/' * 30}) and https://a.b/nobody.\n"),
                         [])

    def test_a_bold_sentence_ends(self):
        part = " ".join(["word"] * 15)
        self.assertEqual(found("a.md", f"**{part}.** {part}.\n"), [])


if __name__ == "__main__":
    unittest.main()
