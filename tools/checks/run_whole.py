#!/usr/bin/env python3
"""Runs the tests that a ctest command selects, each GoogleTest program once, not once per test.

    run_whole.py PRESET [ctest's options to select tests: -L, -LE, -R, -E]

Under ctest each of thousands of tests has a process of its own. That takes minutes, and with a
sanitizer a second for each. Programs get the environment and the folder that ctest gives them, and
half an hour. As many programs run at once as there are processors; large programs are divided.
"""
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

SHARD = 60  # tests of a program that run one after the other
LONGEST = 1800  # seconds


def listed(preset, selection):
    out = subprocess.run(["ctest", "--preset", preset, "--show-only=json-v1", *selection],
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out[out.index("{"):])["tests"]


def preset_environment(preset):
    presets = json.load(open("CMakePresets.json"))["testPresets"]
    own = next(p for p in presets if p["name"] == preset)
    here = os.getcwd()
    return {name: value.replace("${sourceDir}", here)
            for name, value in own.get("environment", {}).items()}


def gtest_name(command):
    prefix = "--gtest_filter="
    for argument in command[1:]:
        if argument.startswith(prefix):
            return argument[len(prefix):]
    return None


def jobs_of(tests):
    """(label, command, folder, environment, number of tests, forbidden) of each process to start.

    `forbidden`: expressions that fail a test when its output has one (FAIL_REGULAR_EXPRESSION).
    """
    programs = collections.OrderedDict()
    missing = [test["name"] for test in tests if "command" not in test]
    if missing:
        sys.exit(f"run_whole: these tests have not been built: {', '.join(missing)}")
    for test in tests:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        if properties.get("DISABLED"):
            continue
        folder = properties.get("WORKING_DIRECTORY", os.getcwd())
        environment = tuple(sorted(properties.get("ENVIRONMENT", [])))
        forbidden = tuple(properties.get("FAIL_REGULAR_EXPRESSION", []))
        name = gtest_name(test["command"])
        key = (test["command"][0], folder, environment, forbidden) if name else (test["name"],)
        programs.setdefault(key, []).append((name, test["command"], folder, environment, forbidden))
    jobs = []
    for group in programs.values():
        name, command, folder, environment, forbidden = group[0]
        label = os.path.basename(command[0])
        if name is None:
            jobs.append((label, command, folder, environment, 1, forbidden))
            continue
        for start in range(0, len(group), SHARD):
            names = [test[0] for test in group[start:start + SHARD]]
            jobs.append((label, [command[0], "--gtest_filter=" + ":".join(names)], folder,
                         environment, len(names), forbidden))
    # Undivided programs come first: each may take as long as all parts of a divided one.
    jobs.sort(key=lambda job: (job[4] > 1, -job[4]))
    return jobs


def run(job, environment):
    """(job, tests failed or not run, output to show, seconds)"""
    label, command, folder, own, count, forbidden = job
    started = time.time()
    with tempfile.NamedTemporaryFile(suffix=".xml") as report:
        gtest = any(a.startswith("--gtest_filter") for a in command)
        arguments = command + ([f"--gtest_output=xml:{report.name}"] if gtest else [])
        full = {**os.environ, **environment, **dict(pair.split("=", 1) for pair in own)}
        try:
            done = subprocess.run(arguments, cwd=folder, env=full, timeout=LONGEST, text=True,
                                  errors="replace", stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
            output, code = done.stdout, done.returncode
        except subprocess.TimeoutExpired as late:
            output = (late.stdout or b"").decode(errors="replace") + "\n... ran out of time"
            code = -1
        code = code or any(re.search(expression, output) for expression in forbidden)
        passed = 0 if code else count
        if gtest:
            try:
                cases = ElementTree.parse(report.name).iter("testcase")
                passed = sum(1 for case in cases if case.get("status") == "run"
                             and case.find("failure") is None)
            except ElementTree.ParseError:
                passed = 0  # the process died before it wrote its report
        failed = max(count - passed, 1 if code else 0)
        return job, failed, output if failed else "", time.time() - started


def summary(output):
    """The lines of a program's output that name its failed tests and their reasons."""
    lines = output.splitlines()
    begun = [line for line in lines if line.startswith("[ RUN")]
    kept = []
    for i, line in enumerate(lines):
        if line.endswith(": Failure"):
            kept += lines[i:i + 8]
        elif line.startswith("[  FAILED  ]") or "ERROR: " in line or "runtime error: " in line:
            kept.append(line)
    if not any(line.startswith("[  FAILED  ]") for line in kept):
        # The program died in a test, or was ended.
        kept += begun[-1:] + lines[-20:]
    return "\n".join(kept[:100])


def main():
    preset, selection = sys.argv[1], sys.argv[2:]
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    jobs = jobs_of(listed(preset, selection))
    if not jobs:
        sys.exit("run_whole: no test is selected")
    environment = preset_environment(preset)
    passed = failed = 0
    summaries = []
    started = time.time()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for job, lost, output, seconds in pool.map(lambda job: run(job, environment), jobs):
            failed += lost
            passed += job[4] - min(lost, job[4])
            print(f"{'FAILED' if lost else 'passed'} {job[0]} ({job[4]} tests), "
                  f"{seconds:.0f} s", flush=True)
            if lost:
                print("\n".join(output.splitlines()[-120:]), flush=True)
                summaries.append(f"FAILED {job[0]}:\n{summary(output)}")
    # Again at the end, where a log that is cut in the middle still has them.
    for text in summaries:
        print(text)
    print(f"tests: {passed} passed, {failed} failed, in {time.time() - started:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
