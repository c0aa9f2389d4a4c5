"""Tests check_site.py: it finds each kind of fault, and accepts a right site."""
from __future__ import annotations

import contextlib
import io
import pathlib
import tempfile
import unittest

from check_site import Site, main

RIGHT = '<h1 id="top">A</h1><a href="b.html#part">b</a><a href="https://example.org/">elsewhere</a>'


class CheckSiteTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        self.enterContext(contextlib.redirect_stdout(io.StringIO()))
        self.enterContext(contextlib.redirect_stderr(io.StringIO()))
        self.write("a.html", RIGHT)
        self.write("b.html", '<h2 id="part">B</h2><img src="p.svg">')
        self.write("p.svg", "<svg></svg>")

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def findings(self) -> list[str]:
        return list(Site(self.folder).findings())

    def test_a_right_site_has_no_findings(self) -> None:
        self.assertEqual(self.findings(), [])
        self.assertEqual(main([str(self.folder)]), 0)

    def test_a_missing_page_is_named_with_its_link(self) -> None:
        self.write("c.html", '<a href="missing.html">x</a>')
        self.assertEqual(self.findings(), ["c.html: link 'missing.html': there is no missing.html"])
        self.assertEqual(main([str(self.folder)]), 1)

    def test_a_missing_anchor_is_found_in_other_pages_and_in_the_same(self) -> None:
        self.write("c.html", '<a href="b.html#gone">x</a><a href="#gone">y</a>')
        self.assertEqual(self.findings(), ["c.html: link 'b.html#gone': b.html has no anchor 'gone'",
                                           "c.html: link '#gone': c.html has no anchor 'gone'"])

    def test_a_link_out_of_the_site_is_found(self) -> None:
        self.write("c.html", '<a href="../../etc/passwd">x</a>')
        self.assertIn("leads out of the site", self.findings()[0])

    def test_everything_that_loads_from_the_network_is_found(self) -> None:
        for text in ('<script src="https://cdn.example/x.js"></script>', '<img src="//cdn.example/x.png">',
                     '<link rel="stylesheet" href="http://fonts.example/x.css">',
                     '<link rel="preconnect" href="https://fonts.example">',
                     "<style>@import 'https://fonts.example/x.css';</style>",
                     '<p style="background: url(https://cdn.example/x.png)">x</p>',
                     '<img src="p.svg" srcset="https://cdn.example/2.png 2x">'):
            self.write("c.html", text)
            self.assertEqual(len(self.findings()), 1, text)
            self.assertIn("comes from the network", self.findings()[0])

    def test_style_sheets_and_pictures_are_read_too(self) -> None:
        self.write("s.css", "@font-face { src: url('https://fonts.example/a.woff2'); }")
        self.write("p.svg", '<svg><image href="https://cdn.example/x.png"/></svg>')
        self.assertEqual([finding.split(":")[0] for finding in self.findings()], ["s.css", "p.svg"])

    def test_a_folder_without_pages_is_an_error(self) -> None:
        with tempfile.TemporaryDirectory() as empty:
            self.assertEqual(main([empty]), 1)
        self.assertEqual(main([str(self.folder / "no folder")]), 2)


if __name__ == "__main__":
    unittest.main()
