#!/usr/bin/env python3
"""Does literally what a tutorial says, on a copy of the tree; exit status 1 when that fails.

    tools/checks/follow_tutorial.py docs/add_an_operation.md [FOLDER]

A comment before a fenced block of the page says what the block is:

    <!-- file PATH -->          the whole of a new file
    <!-- append to PATH -->     lines for the end of a file
    <!-- replace in PATH -->    lines that stand in a file once ...
    <!-- with -->               ... and what takes their place
    <!-- run -->                commands for bash, run from the top of the tree

Blocks without such a comment are only read. The copy is made of the tracked files, in FOLDER, which
must not exist, or in a temporary folder that is removed in the end.
"""
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


def follow(page, tree):
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
            subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=tree, check=True)
    print(f"follow_tutorial: {len(steps)} steps done")


def main():
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    page = pathlib.Path(sys.argv[1]).read_text()
    if len(sys.argv) == 3:
        tree = pathlib.Path(sys.argv[2]).resolve()
        tree.mkdir(parents=True)
        copy_tree(tree)
        follow(page, tree)
        return
    with tempfile.TemporaryDirectory(prefix="halyard-tutorial-") as folder:
        copy_tree(pathlib.Path(folder))
        follow(page, pathlib.Path(folder))


if __name__ == "__main__":
    main()
