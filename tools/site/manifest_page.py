"""Writes the page of a manifest's fields from docs/manifest.schema.json."""
from __future__ import annotations

import json
import pathlib
from typing import Any, Iterator


def rows(properties: dict[str, Any], required: list[str], prefix: str = "") -> Iterator[str]:
    for name, field in properties.items():
        full = prefix + name
        need = "; needed" if name in required else ""
        yield f"| `{full}` | {kind_of(field)}{need} | {field['description']} |"
        yield from rows(field.get("properties", {}), field.get("required", []), full + ".")


def kind_of(field: dict[str, Any]) -> str:
    """The type of a field and its limits, in words."""
    if "enum" in field:
        return ", ".join(f'`"{value}"`' for value in field["enum"])
    kind: str = field["type"]
    if kind == "array":
        most = f", at most {field['maxItems']}" if "maxItems" in field else ""
        return f"array of {field['items']['type']}s{most}"
    if kind == "integer" and "minimum" in field:
        most = f" to {field['maximum']:,}" if "maximum" in field else " or more"
        return f"integer, {field['minimum']:,}{most}"
    if kind == "string" and "maxLength" in field:
        return f"string, at most {field['maxLength']} bytes"
    return kind


def manifest_page(root: pathlib.Path) -> str:
    schema = json.loads((root / "docs/manifest.schema.json").read_text())
    table = "\n".join(rows(schema["properties"], schema["required"]))
    return f"""# The manifest of a driver

{schema['description']} Exactly one of `executable`, `socket` and `library` is given. An unknown field is an
error. [The overview](../overview.md#a-driver) tells where manifests are searched, and
[isolation](../isolation.md) describes `sandbox` and `service`.

```json
{{
  "name": "vendor-device",
  "version": "1.0.0",
  "hal_version": "1.3",
  "executable": "../../../libexec/halyard/drivers/vendor-driver-device",
  "execution_timeout_ms": 60000,
  "sandbox": {{"writable": ["/dev/npu0"]}}
}}
```

| field | type | meaning |
|---|---|---|
{table}

The file `docs/manifest.schema.json` is this table as a JSON schema, for editors and for tests of a manifest.
"""
