"""Tests the files in deploy/ against the server: options, paths of probes, and the image's contents."""
from __future__ import annotations

import pathlib
import re
import unittest
from typing import Any

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]


def document(name: str) -> Any:
    return yaml.safe_load((ROOT / "deploy/kserve" / name).read_text())


class DeployTest(unittest.TestCase):
    def setUp(self) -> None:
        self.runtime = document("serving_runtime.yaml")
        self.service = document("inference_service.yaml")
        [self.container] = self.runtime["spec"]["containers"]

    def test_every_argument_is_an_option_of_the_server(self) -> None:
        options = set(re.findall(r'"(--[\w-]+)"', (ROOT / "src/serve/server_options.cc").read_text()))
        folder, *arguments = self.container["args"]
        self.assertEqual(folder, "/mnt/models")
        for argument in arguments:
            self.assertIn(argument.partition("=")[0], options)

    def test_probes_and_ports_are_those_of_the_server(self) -> None:
        [port] = [int(each.partition("=")[2]) for each in self.container["args"] if "--http-port" in each]
        self.assertEqual(self.container["ports"][0]["containerPort"], port)
        server = (ROOT / "src/serve/http/http_server.cc").read_text()
        for probe in ("readinessProbe", "livenessProbe"):
            get = self.container[probe]["httpGet"]
            self.assertEqual(get["port"], port)
            last = get["path"].rsplit("/", 1)[1]
            self.assertRegex(server, rf'path\[1\] == "health" && path\[2\] == "{last}"')

    def test_the_service_uses_the_runtime_and_a_format_of_it(self) -> None:
        model = self.service["spec"]["predictor"]["model"]
        self.assertEqual(model["runtime"], self.runtime["metadata"]["name"])
        formats = [(each["name"], each["version"]) for each in self.runtime["spec"]["supportedModelFormats"]]
        self.assertIn((model["modelFormat"]["name"], model["modelFormat"]["version"]), formats)
        self.assertIn(model["protocolVersion"], self.runtime["spec"]["protocolVersions"])

    def test_the_environment_has_known_variables(self) -> None:
        known = (ROOT / "docs/environment.md").read_text()
        for variable in self.container["env"]:
            self.assertIn(f"`{variable['name']}`", known)


if __name__ == "__main__":
    unittest.main()
