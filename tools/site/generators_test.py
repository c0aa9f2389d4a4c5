"""Tests the generators of the site: headers, charts, docstrings, the manifest, and documents."""
from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import tempfile
import unittest
from typing import Any

from charts import CHARTS, Chart, ChartError, draw, values_of
from docstrings import markdown
from header_pages import Pages, anchor, page_of
from headers import HeaderError, Reader, read_header
from manifest_page import manifest_page
from python_pages import public_names
from stage import ROOT, SiteError, Stage

SAMPLE = """// SPDX-License-Identifier: Apache-2.0
//
// A header for tests.

#ifndef SAMPLE_H_
#define SAMPLE_H_
#ifdef __cplusplus
extern "C" {
#endif

/* ---- Cars ------------------- */

/** Colours of cars. */
typedef enum {
  /** As a rose. */
  CAR_RED = 1,
  CAR_BLUE = 2,
} Colour;

/**
 * Paints a car.
 *
 * @param car the car, not NULL.
 * @param colour a Colour, such as
 *     CAR_RED.
 * @return 0, or an error.
 */
int car_paint(Car* car, int colour);

/* Not documented. */
int car_hidden(void);
#ifdef __cplusplus
}
#endif
#endif
"""


class HeadersTest(unittest.TestCase):
    def setUp(self) -> None:
        self.header = Reader("sample.h", SAMPLE, plain_comments=False).read()

    def test_sections_declarations_and_members(self) -> None:
        self.assertEqual(self.header.introduction.strip(), "A header for tests.")
        self.assertEqual([section.title for section in self.header.sections], ["Cars"])
        colour, paint, hidden = self.header.sections[0].declarations
        self.assertEqual((colour.kind, colour.name, colour.comment), ("enumeration", "Colour", "Colours of cars."))
        self.assertEqual([(m.name, m.value, m.comment) for m in colour.members],
                         [("CAR_RED", "1", "As a rose."), ("CAR_BLUE", "2", "")])
        self.assertEqual((paint.kind, paint.text), ("function", "int car_paint(Car* car, int colour);"))
        self.assertEqual(hidden.comment, "")

    def test_classes_of_drivers(self) -> None:
        text = ("// Head.\n#pragma once\nnamespace h {\n// Reads.\nclass HALYARD_EXPORT Reader {\n public:\n"
                "  // One byte.\n  int read() const { return 1; }\n  int size = 0;  // in bytes\n"
                " private:\n  int hidden_;\n};\n}\n")
        declaration = Reader("x/driver/r.h", text, plain_comments=True).read().sections[0].declarations[0]
        self.assertEqual(declaration.name, "Reader")
        self.assertEqual([(m.text, m.comment) for m in declaration.members],
                         [("int read() const;", "One byte."), ("int size = 0;", "in bytes")])

    def test_a_header_without_declarations_and_a_missing_one_are_errors(self) -> None:
        with self.assertRaisesRegex(HeaderError, "empty.h: no declaration"):
            Reader("empty.h", "// Nothing.\n", plain_comments=False).read()
        with self.assertRaisesRegex(HeaderError, "missing.h: no such header"):
            read_header(ROOT, "missing.h")

    def test_every_function_of_the_api_is_on_its_page(self) -> None:
        pages = Pages(ROOT)
        symbols = (ROOT / "src/api/public_symbols.txt").read_text().split()
        names = [name for name in symbols if re.fullmatch(r"ANeuralNetworks\w+|halyard_\w+", name)]
        self.assertGreater(len(names), 70)
        for name in names:
            self.assertIn(name, pages.links)

    def test_comments_become_markdown_with_links(self) -> None:
        pages = Pages(ROOT)
        target = page_of("android/NeuralNetworksTypes.h") + "#" + anchor("ANEURALNETWORKS_BAD_DATA")
        self.assertEqual(pages.linked("BAD_DATA: no *pointer."), f"[`BAD_DATA`]({target}): no \\*pointer.")
        text = pages.prose("Paints.\n\n@param car the car.\n@return 0.", "car_paint")
        self.assertIn("| `car` | the car. |", text)
        self.assertIn("**Returns** 0.", text)


class ChartsTest(unittest.TestCase):
    def test_every_chart_has_its_table(self) -> None:
        for name, chart in CHARTS.items():
            with self.subTest(name):
                svg = draw(ROOT, chart)
                for row, numbers in values_of(ROOT, chart):
                    for number in numbers:
                        self.assertTrue(number is None or f"{number:,g}" in svg, f"{row}: {number}")

    def test_a_missing_column_names_the_file_and_the_found_ones(self) -> None:
        chart = Chart("Title", "docs/litert.md", (("speed of light", 0),), ("one",))
        with self.assertRaisesRegex(ChartError, "docs/litert.md: no table has the columns speed of light; found: key"):
            draw(ROOT, chart)

    def test_a_missing_text_before_the_table_is_named(self) -> None:
        with self.assertRaisesRegex(ChartError, "the text 'Nowhere' is missing"):
            draw(ROOT, Chart("Title", "docs/litert.md", (("ratio", 0),), ("one",), under="Nowhere"))

    def test_the_table_of_another_text_is_not_taken(self) -> None:
        chart = CHARTS["peers_amx"]
        with self.assertRaisesRegex(ChartError, "lacks one of the columns limit; found: model"):
            draw(ROOT, dataclasses.replace(chart, columns=(("limit", 0),), series=("limit",)))


class PagesTest(unittest.TestCase):
    def test_docstrings_become_lists(self) -> None:
        self.assertEqual(markdown("Runs it.\n\ninputs: by name,\n    or in order.\nout, more: arrays.\n\nEnd."),
                         "Runs it.\n\n- `inputs`: by name,\n  or in order.\n- `out`, `more`: arrays.\n\nEnd.")

    def test_the_names_of_the_package_are_read(self) -> None:
        self.assertIn("load", public_names(ROOT))

    def test_the_schema_has_the_fields_of_the_parser(self) -> None:
        """A new field in the parser must come into the schema, and so onto its page."""
        folder = ROOT / "src/hal/manifest"
        parsed = set(re.findall(r'field [!=]= "(\w+)"', "".join(
            (folder / name).read_text() for name in ("manifest.cc", "sandbox_settings.cc", "service_settings.cc"))))
        parsed |= {"executable", "socket", "library", "execution_timeout_ms", "queued_calls", "connections"}

        def names(schema: dict[str, Any]) -> set[str]:
            fields = schema.get("properties", {})
            return set(fields).union(*(names(each) for each in fields.values()))

        schema = json.loads((ROOT / "docs/manifest.schema.json").read_text())
        self.assertEqual(names(schema), parsed)
        self.assertIn("`service.client.memory_bytes`", manifest_page(ROOT))


class StageTest(unittest.TestCase):
    def setUp(self) -> None:
        self.stage = Stage(pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "source")

    def test_links_lead_to_the_places_of_the_site(self) -> None:
        line = "See [a](../README.md#a-driver), [b](caching.md) and `[c](d.md)`, [`e`](isolation.md)."
        self.assertEqual(self.stage.with_links(line, "docs/python.md", 1, "python.md"),
                         "See [a](overview.md#a-driver), [b](caching.md) and `[c](d.md)`, [`e`](isolation.md).")

    def test_a_source_file_becomes_a_page(self) -> None:
        link = self.stage.target("../examples/two_operations.c", "docs/x.md", 1, "x.md")
        self.assertEqual(link, "sources/examples_two_operations.c.md")
        self.assertIn("````c\n", (self.stage.documents / link).read_text())

    def test_a_header_and_the_schema_lead_to_the_reference(self) -> None:
        for source, page in (("../include/android/NeuralNetworks.h", "android_NeuralNetworks.md"),
                             ("manifest.schema.json", "manifest.md")):
            self.assertEqual(self.stage.target(source, "docs/x.md", 1, "x.md"), f"reference/{page}")

    def test_a_broken_link_names_the_document_and_the_line(self) -> None:
        with self.assertRaisesRegex(SiteError, "docs/x.md:7: the link 'gone.md' leads to docs/gone.md"):
            self.stage.target("gone.md", "docs/x.md", 7, "x.md")

    def test_an_unknown_chart_names_the_known_ones(self) -> None:
        with self.assertRaisesRegex(SiteError, "docs/x.md:3: chart 'pie' is unknown, expected one of peers_amx"):
            self.stage.chart("docs/x.md", 3, "pie", "x.md")


if __name__ == "__main__":
    unittest.main()
