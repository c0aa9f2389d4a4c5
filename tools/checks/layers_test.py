"""Tests of layers.py: each rule finds a seeded violation."""
import unittest

import layers

TABLE = """
never low: high   # a comment
include:
always: include
low: include
middle: low
high: low
  middle
tests of low: middle
"""
FILES = {"include/i.h", "low/a.cc", "low/a.h", "low/a_test.cc", "low/testing/t.h", "middle/m.cc",
         "middle/m.h", "high/h.cc", "high/h.h"}
# The includes that the table allows and needs.
SOURCES = {"low/a.cc": '#include "low/a.h"\n#include <i.h>\n#include <vector>\n',
           "low/a_test.cc": '#include "low/testing/t.h"\n#include "middle/m.h"\n',
           "middle/m.cc": '#include "low/a.h"\n#include "m.h"\n',
           "high/h.cc": '# include "low/a.h"\n#include "middle/m.h"\n'}


def problems(table=TABLE, also=None):
    sources = dict(SOURCES)
    for name, text in (also or {}).items():
        sources[name] = sources.get(name, "") + text
    files = FILES | set(sources)
    includes = [each for name, text in sources.items()
                for each in layers.includes_of(name, text.replace("<i.h>", "<include/i.h>"), files)]
    folders = {"include", "low", "middle", "high"}
    return layers.check(layers.Table(table), includes, folders)


class LayersTest(unittest.TestCase):
    def test_what_the_table_allows_passes(self):
        self.assertEqual(problems(table=TABLE.replace("low: include\n", "low:\n")), [])

    def test_an_arrow_that_is_not_in_the_table(self):
        self.assertIn("middle/m.cc: middle may not include high",
                      problems(also={"middle/m.cc": '#include "high/h.h"\n'}))

    def test_an_entry_that_no_code_needs(self):
        self.assertEqual(problems(), ["layers.txt: low: no code needs include"])
        self.assertIn("layers.txt: tests of high: no code needs low",
                      problems(TABLE + "tests of high: low\n"))

    def test_a_cycle(self):
        table = TABLE.replace("low: include", "low: middle")
        self.assertIn("layers.txt: middle stands after low, which may include it: a cycle",
                      problems(table, {"low/a.cc": '#include "middle/m.h"\n'}))

    def test_what_may_never_be(self):
        table = TABLE.replace("never low: high", "never high: low")
        self.assertIn("layers.txt: high may never include low", problems(table))
        marked = table.replace("high: low\n", "high: !low\n").replace("never high: !low", "never high: low")
        self.assertNotIn("layers.txt: high may never include low", problems(marked))
        self.assertIn("layers.txt: high: !middle is an exception from no rule",
                      problems(TABLE.replace("  middle", "  !middle")))

    def test_what_all_may_include_may_still_be_forbidden_to_one(self):
        self.assertIn("low/a.cc: low may not include include",
                      problems(TABLE.replace("low: include", "low:") + "never low: include\n"))

    def test_product_code_includes_no_test_code(self):
        self.assertIn("low/b.cc: low may not include low/testing (test code)",
                      problems(also={"low/b.cc": '#include "low/testing/t.h"\n'}))

    def test_tests_include_no_later_line(self):
        self.assertIn("middle/m_test.cc: tests of middle may not include high, which is of a later line",
                      problems(also={"middle/m_test.cc": '#include "high/h.h"\n'}))

    def test_folders_without_lines_and_lines_without_folders(self):
        self.assertIn("other has no line in layers.txt",
                      problems(also={"other/o.cc": '#include "low/a.h"\n'}))
        self.assertIn("layers.txt: gone has no code", problems(TABLE + "gone:\n"))

    def test_an_include_of_no_file(self):
        self.assertIn("low/a.cc includes nothing/n.h, which is no file of the tree",
                      problems(also={"low/a.cc": '#include "nothing/n.h"\n'}))


if __name__ == "__main__":
    unittest.main()
