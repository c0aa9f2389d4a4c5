#!/usr/bin/env python3
"""Checks which folder includes which; run from anywhere, exit status 1 when a rule is broken.

layers.txt is the table, and says how to read it. Each include of the tree is resolved to a file as the
compiler does. The check fails on:

1. an include of product code that the table does not allow;
2. an include of test code that the rules for tests do not allow;
3. an entry of the table that no code needs;
4. a folder that may include one of a later line, so that folders could form a cycle;
5. an entry that a line with `never` forbids, unless a `!` before the entry marks it as an exception;
6. a folder with code that has no line, a line without code, and a quoted include of no file.
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "tools/checks/layers.txt"
CODE = {".cc", ".h", ".c", ".inc"}
# Folders that the compiler searches, after the folder of the file itself.
SEARCHED = ["src", "include", "", "tests", "drivers/cpu", "drivers/reference", "drivers/vulkan"]
# Headers that the build makes, and the folder of their source.
GENERATED = [(r"hal/\w+\.capnp\.h", "hal"), (r"import/tflite/\w*_generated\.h", "src/import/tflite"),
             (r"shaders/\w+\.inc", None), (r"serve/grpc/inference\.(?:grpc\.)?pb\.h", "src/serve/grpc"),
             (r"(test_definitions|capabilities_json|\w+\.capnp)\.h", None)]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+([<"])([^">\n]+)[">]', re.M)
TEST_FILE = re.compile(r"(_test\.(cc|c|h)|_for_test\.(h|cc)|_fuzz\.cc|_bench\.cc)$|/(testing|fuzz)/|"
                       r"^(tests|bench)/")

Include = collections.namedtuple("Include", "source target test_target")  # file, folder, bool


class Table:
    """layers.txt."""

    def __init__(self, text):
        self.always, self.may, self.tests, self.never = set(), {}, {}, []
        self.exceptions, self.problems = set(), []
        text = re.sub(r"#[^\n]*", "", text)
        text = re.sub(r"\n[ \t]+(?=\S)", " ", text)  # an indented line continues the one before it
        for line in text.splitlines():
            line = line.rstrip()
            match = re.fullmatch(r"(never |tests of )?(\S+):(.*)|(always):(.*)", line)
            if not line:
                continue
            if not match:
                self.problems.append(f"layers.txt: cannot be read: {line}")
                continue
            kind, folder, entries = match.group(1), match.group(2), (match.group(3) or "").split()
            if folder == "always":
                self.always = set(entries)
            elif kind == "never ":
                self.never += [(folder, entry) for entry in entries]
            elif kind:
                self.tests[folder] = set(entries)
            else:
                if folder in self.may:
                    self.problems.append(f"layers.txt: a second line for {folder}")
                self.may[folder] = {entry.lstrip("!") for entry in entries}
                self.exceptions |= {(folder, entry[1:]) for entry in entries if entry[0] == "!"}
        self.level = {folder: at for at, folder in enumerate(self.may)}

    def forbids(self, folder, target):
        return any(is_under(folder, a) and is_under(target, b) for a, b in self.never)

    def order_problems(self):
        """Entries that point at a later line or that a `never` line forbids."""
        for folder, entries in self.may.items():
            for entry in sorted(entries):
                below = self.level.get(without_testing(entry))
                if below is None:
                    yield f"layers.txt: {folder} names {entry}, which has no line"
                elif (folder, entry) not in self.exceptions and below >= self.level[folder]:
                    yield f"layers.txt: {entry} stands after {folder}, which may include it: a cycle"
                forbidden = self.forbids(folder, entry)
                if forbidden != ((folder, entry) in self.exceptions):
                    yield (f"layers.txt: {folder} may never include {entry}" if forbidden else
                           f"layers.txt: {folder}: !{entry} is an exception from no rule")


def is_under(folder, parent):
    return folder == parent or folder.startswith(parent + "/")


def without_testing(folder):
    """The folder that a folder of test code belongs to."""
    if folder.startswith(("tests/", "bench/")):
        return folder.partition("/")[0]
    return re.sub(r"/(testing|fuzz)(/.*)?$", "", folder)


def area(folder):
    """The first two parts, such as src/hal: tests of one folder may use the area's others."""
    return "/".join(folder.split("/")[:2])


def resolved(name, quoted, source, files):
    """The file that `source` includes as `name`; None for one that is not of the tree."""
    own = str(pathlib.PurePosixPath(source).parent)
    for folder in ([own] if quoted else []) + SEARCHED:
        path = f"{folder}/{name}" if folder else name
        while "/../" in path:
            path = re.sub(r"[^/]+/\.\./", "", path, count=1)
        if path in files:
            return path
    return None


def includes_of(source, text, files):
    """The includes of files of other folders; strings are problems."""
    for bracket, name in INCLUDE.findall(text):
        target = resolved(name, bracket == '"', source, files)
        if target:
            folder = str(pathlib.PurePosixPath(target).parent)
            yield Include(source, folder, bool(TEST_FILE.search(target)))
            continue
        generated = [folder for pattern, folder in GENERATED if re.fullmatch(pattern, name)]
        if generated and generated[0]:
            yield Include(source, generated[0], False)
        elif bracket == '"' and not generated:
            yield f"{source} includes {name}, which is no file of the tree"


def check(table, includes, folders):
    """The problems, given the table, all includes of the tree, and its folders of code."""
    problems = table.problems + list(table.order_problems())
    used = set()  # (folder, entry), and ("tests of ...", entry)
    for each in includes:
        if isinstance(each, str):
            problems.append(each)
            continue
        source, target, test_target = each
        folder = str(pathlib.PurePosixPath(source).parent)
        home = without_testing(folder)
        if home not in table.may:
            problems.append(f"{folder} has no line in layers.txt")
        elif without_testing(target) not in table.may:
            problems.append(f"{target} has no line in layers.txt")
        elif target == folder and (TEST_FILE.search(source) or not test_target):
            continue
        elif not TEST_FILE.search(source):
            if target in table.always and not table.forbids(folder, target):
                continue
            used.add((folder, target))
            if target not in table.may[folder] or (test_target and target == folder):
                problems.append(f"{source}: {folder} may not include {target}"
                                f"{' (test code)' if test_target else ''}")
        elif not (table.level[without_testing(target)] <= table.level[home] or
                  area(target) == area(folder)):
            named = [entry for entry in table.tests.get(area(folder), ()) if is_under(target, entry)]
            used |= {(f"tests of {area(folder)}", entry) for entry in named}
            if not named:
                problems.append(f"{source}: tests of {area(folder)} may not include {target}, which is "
                                f"of a later line")
    problems += [f"layers.txt: {folder} has no code" for folder in table.may if folder not in folders]
    entries = {(folder, entry) for folder, all_of in table.may.items() for entry in all_of}
    entries |= {(f"tests of {folder}", entry) for folder, all_of in table.tests.items()
                for entry in all_of}
    problems += [f"layers.txt: {folder}: no code needs {entry}" for folder, entry in
                 sorted(entries - used)]
    return sorted(set(problems))


def main():
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    files = {name for name in listing.stdout.splitlines()
             if pathlib.PurePosixPath(name).suffix in CODE and (ROOT / name).is_file()}
    includes = [each for name in sorted(files)
                for each in includes_of(name, (ROOT / name).read_text(), files)]
    folders = {without_testing(str(pathlib.PurePosixPath(name).parent)) for name in files} | {"hal"}
    problems = check(Table(TABLE.read_text()), includes, folders)
    for problem in problems:
        print(f"layers: {problem}", file=sys.stderr)
    print(f"layers: {len(files)} files, {len(includes)} includes, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
