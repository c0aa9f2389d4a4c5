#!/usr/bin/env python3
"""Executes a tutorial literally on a copy of the tree; exit status 1 when that fails.

    tools/checks/follow_tutorial.py docs/add_an_operation.md [FOLDER]
    tools/checks/follow_tutorial.py --installed BUILD docs/write_a_driver.md [FOLDER]

A comment before a fenced block of the page gives the purpose of the block:

    <!-- file PATH -->          the whole of a new file
    <!-- append to PATH -->     lines for the end of a file
    <!-- replace in PATH -->    lines that stand in a file once ...
    <!-- with -->               ... and the lines that replace them
    <!-- run -->                commands for bash, run from the top of the tree

Blocks without such a comment are ignored. The copy consists of the tracked files. It is made in
FOLDER, which must not exist, or in a temporary folder that is removed at the end.

With --installed there is no copy. The build in the folder BUILD is installed into FOLDER/prefix,
which commands know as $PREFIX. The commands run in the empty folder FOLDER/work, and use no file of
the source tree.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"<!-- (file|append to|replace in|with|run)(?: (\S+))? -->\n```\w*\n(.*?)^```$",
                   re.S | re.M)


def copy_tree(target):
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    for name in listing.stdout.decode().split("\0"):
        source = ROOT / name
        if not name or not source.is_file():
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target / name)


def follow(page, tree, environment=None):
    replacing = None
    steps = BLOCK.findall(page)
    if not steps:
        raise SystemExit("follow_tutorial: the page has no steps")
    for kind, path, text in steps:
        print(f"-- {kind} {path}".rstrip(), flush=True)
        if kind == "file":
            if (tree / path).exists():
                raise SystemExit(f"follow_tutorial: {path} is there already")
            (tree / path).write_text(text)
        elif kind == "append to":
            with (tree / path).open("a") as file:
                file.write(text)
        elif kind == "replace in":
            count = (tree / path).read_text().count(text)
            if count != 1:
                raise SystemExit(f"follow_tutorial: {path} has the lines {count} times:\n{text}")
            replacing = (tree / path, text)
        elif kind == "with":
            file, before = replacing
            file.write_text(file.read_text().replace(before, text))
        else:
            subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=tree, check=True,
                           env=environment)
    print(f"follow_tutorial: {len(steps)} steps done")


def follow_outside(page, build, folder):
    prefix, work, home = folder / "prefix", folder / "work", folder / "home"
    for made in (work, home):
        made.mkdir(parents=True)
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True,
                   stdout=subprocess.DEVNULL)
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("HALYARD_", "XDG_"))}
    environment.update(PREFIX=str(prefix), HOME=str(home))
    follow(page, work, environment)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--installed", metavar="BUILD", type=pathlib.Path)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    arguments = parser.parse_args()
    page = arguments.page.read_text()

    def begin(folder):
        if arguments.installed:
            follow_outside(page, arguments.installed.resolve(), folder)
        else:
            copy_tree(folder)
            follow(page, folder)

    if arguments.folder:
        folder = arguments.folder.resolve()
        folder.mkdir(parents=True)
        begin(folder)
        return
    with tempfile.TemporaryDirectory(prefix="halyard-tutorial-") as folder:
        begin(pathlib.Path(folder))


if __name__ == "__main__":
    main()
