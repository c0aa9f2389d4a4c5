#!/usr/bin/env python3
"""Prints the compile commands of a build for tools that read single files: compile_commands.py BUILD

The build's own list has the batches of files that CMake compiles (HALYARD_UNITY), and GCC's
precompiled headers. Here each file of a batch has a command, without a precompiled header.
"""
import json
import pathlib
import re
import sys

HEADER = re.compile(r" -include \S*cmake_pch\.hxx| -(?:Winvalid-pch|fpch-preprocess)\b")


def files_of(entry):
    file = pathlib.Path(entry["file"])
    if file.parent.name != "Unity":
        return [str(file)]
    return re.findall(r'^#include "(.*)"', file.read_text(), re.M)


def single(entries):
    result = []
    for entry in entries:
        command = HEADER.sub("", entry["command"])
        for file in files_of(entry):
            result.append({"directory": entry["directory"], "file": file,
                           "command": command.replace(entry["file"], file)})
    return result


if __name__ == "__main__":
    database = pathlib.Path(sys.argv[1], "compile_commands.json")
    json.dump(single(json.loads(database.read_text())), sys.stdout, indent=1)
