#!/usr/bin/env python3
"""Writes the list of Halyard's dependencies as CycloneDX JSON.

    packaging/sbom.py VERSION TIME < setup

The packages are those that the script ./setup installs. VERSION is Halyard's, TIME that of the commit.
A component has the version of the package on this machine, if it is installed. The licence of a package
stands in its /usr/share/doc/NAME/copyright.
"""
import json
import re
import subprocess
import sys
import uuid

# Packages that only build or test: their code is not in the product.
TOOLS = {"g++", "cmake", "ninja-build", "ccache", "pkg-config", "binutils", "capnproto", "glslc",
         "flatbuffers-compiler", "protobuf-compiler", "protobuf-compiler-grpc", "libgtest-dev",
         "libgmock-dev", "libbenchmark-dev", "mesa-vulkan-drivers", "vulkan-validationlayers",
         "python3", "python3-venv"}


def packages_of(setup):
    """The names in the first array of the script, without comments."""
    array = re.search(r"^packages=\((.*?)^\)", setup, re.S | re.M)
    if array is None:
        sys.exit("sbom.py: the script on standard input has no array 'packages'")
    return re.sub(r"#.*", "", array.group(1)).split()


def installed_version(package):
    found = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True,
                           text=True)
    return found.stdout if found.returncode == 0 else ""


def component(package):
    version = installed_version(package)
    identity = f"pkg:deb/debian/{package}" + (f"@{version}" if version else "")
    described = {"type": "library", "bom-ref": identity, "name": package, "purl": identity,
                 "scope": "excluded" if package in TOOLS else "required"}
    if version:
        described["version"] = version
    return described


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    version, time = sys.argv[1:]
    components = [component(package) for package in packages_of(sys.stdin.read())]
    product = f"pkg:generic/halyard@{version}"
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, product + '#' + time)}",
        "version": 1,
        "metadata": {
            "timestamp": time,
            "component": {"type": "application", "bom-ref": product, "name": "halyard",
                          "version": version, "purl": product,
                          "licenses": [{"license": {"id": "Apache-2.0"}}]},
        },
        "components": components,
        "dependencies": [{"ref": product, "dependsOn": [each["bom-ref"] for each in components]}],
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
