#!/usr/bin/env python3
"""Checks the binaries of a build: binaries.py BUILD; exit status 1 when a rule is broken.

1. Every shared library is marked NODELETE: dlclose() must not take away the code of its threads.
2. Shipped binaries register no destructor for exit(): other threads may still compute then.
   The trace that the environment asks for is written at exit, by a handler that destroys nothing.
3. Shipped binaries take no lock for the first use of a local `static`. A fork() during the first
   use leaves the lock closed in the child. Code uses madeOnce (src/base/made_once.h) and PerProcess
   (src/base/process_generation.h) instead.
4. A file has the flags of its precompiled header. GCC compiles functions for certain instructions
   with the optimisation of the header: kernels were 3 to 25 % slower once.

Rules 2 and 3 hold for the libraries that applications load, and for the drivers. They are not
checked in builds with a sanitizer, whose compilers add calls of their own.
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys

# Folders of object files that are shipped to applications and drivers, relative to the build.
SHIPPED = re.compile(r"^(src/(api|base|cache|cpu|driver|hal|hardware_buffer|model|ops|accuracy|runtime|"
                     r"trace)|drivers/[^/]+)/CMakeFiles/([^/]+)\.dir/(.*)\.o$")
NOT_SHIPPED = re.compile(r"_test$|_fuzz$|_testing$|_for_test$|legal_operations|library-")
EXIT_HANDLER = {"src/api/trace.cc"}


def shared_libraries(build):
    for path in sorted(build.rglob("*.so*")):
        if path.is_file() and not path.is_symlink() and path.open("rb").read(4) == b"\x7fELF":
            yield path


def without_nodelete(build):
    problems = []
    libraries = list(shared_libraries(build))
    for library in libraries:
        flags = subprocess.run(["readelf", "-dW", library], check=True, capture_output=True,
                               text=True).stdout
        if not re.search(r"FLAGS_1.*NODELETE", flags):
            problems.append(f"{library.relative_to(build)} is not marked NODELETE")
    return len(libraries), problems


def shipped_objects(build):
    for path in sorted(build.rglob("*.o")):
        name = path.relative_to(build).as_posix()
        match = SHIPPED.match(name)
        if match and not NOT_SHIPPED.search(match[3]) and "/testing/" not in match[4]:
            yield path, f"{match[1]}/{match[4]}"


def lifetimes(build):
    problems = []
    objects = dict((str(path), source) for path, source in shipped_objects(build))
    listing = subprocess.run(["nm", "-A", "-u", *objects], check=True, capture_output=True,
                             text=True).stdout if objects else ""
    for line in listing.splitlines():
        path, _, symbol = line.rpartition(": ")[0], None, line.split()[-1]
        source = objects[path.rstrip(": ")]
        if symbol in ("__cxa_atexit", "atexit") and source not in EXIT_HANDLER:
            problems.append(f"{source} has objects that exit() destroys")
        if symbol == "__cxa_guard_acquire":
            problems.append(f"{source} has a local static that is made under a lock")
    return len(objects), problems


def code_flags(arguments):
    """The level of optimisation, and the other flags of code generation."""
    levels = [flag for flag in arguments if re.match(r"-O", flag)]
    return set(levels[-1:]) | {flag for flag in arguments if re.match(r"-f(?!pch)", flag)}


def unlike_their_headers(build):
    database = build / "compile_commands.json"
    entries = json.loads(database.read_text()) if database.exists() else []
    commands = [shlex.split(entry["command"]) for entry in entries]
    headers, users = {}, []
    for arguments in commands:
        target = arguments[arguments.index("-o") + 1]
        compiled = re.search(r"[^/]+(?=\.dir/cmake_pch\.hxx\.(gch|pch)$)", target)
        used = [found[0] for found in (re.search(r"[^/]+(?=\.dir/cmake_pch\.hxx)", argument)
                                       for argument in arguments) if found]
        if compiled:
            headers[compiled[0]] = code_flags(arguments)
        elif used:
            users.append((target, used[0], code_flags(arguments)))
    return len(users), [f"{target} has other flags than its header {header}: "
                        f"{' '.join(sorted(flags ^ headers[header]))}"
                        for target, header, flags in users if flags != headers[header]]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    libraries, problems = without_nodelete(build)
    cache = (build / "CMakeCache.txt").read_text()
    objects = 0
    if re.search(r"^HALYARD_SANITIZE:\w+=$", cache, re.M):
        objects, more = lifetimes(build)
        problems += more
    users, more = unlike_their_headers(build)
    problems += more
    for problem in problems:
        print(f"binaries: {problem}", file=sys.stderr)
    print(f"binaries: {libraries} shared libraries, {objects} object files and the flags of {users} files "
          f"looked at, {len(problems)} problems")
    return 1 if problems or libraries == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
