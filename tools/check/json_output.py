#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What bgdma -j prints fits Documentation/json/bgdma.schema.json.

    json_output.py [SERIES [FLAVOUR]]      of the kernel; default: 6.12 cloud

Runs selftests/netlink_tool_test in a virtual machine, which makes objects in
all states and prints what the tool says of them, and prints TAP.
"""

import json
import subprocess
import sys
from pathlib import Path

try:
    import jsonschema
except ImportError:
    print("1..0 # SKIP python3-jsonschema is not installed")
    sys.exit(0)

EMULATOR = 123      # tools/vm/vm
ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "Documentation/json/bgdma.schema.json"
DEFINITIONS = {"partition": "partitions", "node": "nodes", "ctx": "ctxs",
               "counter": "counters", "fifo": "fifos", "tree": "trees",
               "tree-waits": "tree_waits", "link": "links",
               "route": "route", "stat": "stat", "monitor": "event"}


def outputs(series, flavour):
    """Sub-command and text of each JSON output that the test printed."""
    result = subprocess.run(
        [ROOT / "tools/vm/vm", "--kernel", series, "--flavour", flavour,
         "--", "/selftests/netlink_tool_test"],
        stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode == EMULATOR:
        sys.exit(EMULATOR)      # to be begun again by who called
    for line in result.stdout.splitlines():
        if line.startswith("# json "):
            yield line.split(" ", 3)[2:]


def validator(schema, name):
    """Of one definition of the schema."""
    return jsonschema.Draft202012Validator(
        {"$defs": schema["$defs"], "$ref": f"#/$defs/{name}"})


def main():
    """Validate each output; each sub-command has to have one."""
    series, flavour = (sys.argv[1:] + ["6.12", "cloud"][len(sys.argv) - 1:])[:2]
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    found = dict(outputs(series, flavour))
    bad = 0
    print(f"1..{len(DEFINITIONS)}")
    for number, (command, name) in enumerate(DEFINITIONS.items(), 1):
        problems = ["no output"]
        if command in found:
            problems = [
                f"{'/'.join(map(str, error.absolute_path))}: {error.message}"
                for error in validator(schema, name).iter_errors(
                    json.loads(found[command]))]
        for problem in problems:
            print("#", problem)
        print("not ok" if problems else "ok", number, "bgdma -j", command)
        bad += bool(problems)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
