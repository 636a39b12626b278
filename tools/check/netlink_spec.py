#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The netlink specification, its header and the kernel's tables agree.

Compares Documentation/netlink/specs/bgdma.yaml with uapi/linux/bgdma_netlink.h
(every name and number), kernel/control/policy.c (every attribute that a
request may carry, its type and its limits) and the table of commands in
kernel/control/netlink.c. Prints what differs; exits with 1 if anything does.
"""

import re
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "Documentation/netlink/specs/bgdma.yaml"
HEADER = ROOT / "uapi/linux/bgdma_netlink.h"
ABI = ROOT / "uapi/linux/bgdma.h"
POLICY = ROOT / "kernel/control/policy.c"
FAMILY = ROOT / "kernel/control/netlink.c"

U32 = 0xffffffff
U64 = 0xffffffffffffffff
problems = []


def c_name(prefix, name):
    """As ynl makes names of C."""
    return (prefix + name).upper().replace("-", "_")


def uncommented(path):
    """A C source without its comments."""
    return re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"),
                  flags=re.S)


def differ(what, spec, code):
    """Remember what only one of two dictionaries has, or has otherwise."""
    for key in sorted(set(spec) | set(code), key=str):
        if spec.get(key) != code.get(key):
            problems.append(f"{what}: {key}: specification says "
                            f"{spec.get(key)}, code {code.get(key)}")


def c_enums(text):
    """All enumerators and plain #defines of a header: name to value."""
    values = {}
    for body in re.findall(r"enum\s*\w*\s*\{(.*?)\}", text, re.S):
        following = 0
        for entry in filter(None, map(str.strip, body.split(","))):
            name, _, given = map(str.strip, entry.partition("="))
            if given.startswith("("):       # the usual (__X_MAX - 1)
                continue
            following = int(given, 0) if given else following
            values[name] = following
            following += 1
    for name, value in re.findall(r"#define\s+(BGDMA_\w+)\s+\(?(\d+)U?\)?[ \t]*$",
                                  text, re.M):
        values.setdefault(name, int(value))
    return values


def definition_values(definition):
    """Names and values of an enum, or flags, of the specification."""
    prefix = definition.get("name-prefix", f"bgdma-{definition['name']}-")
    values = {}
    for i, entry in enumerate(definition["entries"]):
        name = entry["name"] if isinstance(entry, dict) else entry
        value = 1 << i if definition["type"] == "flags" else i
        values[c_name(prefix, name)] = value
    return values


def spec_values(spec, own):
    """Everything that the specification numbers, in our header or another."""
    values = {}
    for definition in spec["definitions"]:
        if definition["type"] == "struct":
            continue
        if ("header" not in definition) == own:
            values.update(definition_values(definition))
    if not own:
        return values
    for attrs in spec["attribute-sets"]:
        for i, attr in enumerate(attrs["attributes"], 1):
            values[c_name(attrs["name-prefix"], attr["name"])] = i
    for i, op in enumerate(spec["operations"]["list"], 1):
        values[c_name(spec["operations"]["name-prefix"], op["name"])] = i
    values["BGDMA_GENL_VERSION"] = spec.get("version", 1)
    return values


def spec_rule(spec, attr):
    """Type and limits that the kernel is to check of an attribute."""
    checks = attr.get("checks", {})
    if attr["type"] == "string":
        return ("NUL_STRING", checks["max-len"])
    kind = attr["type"].upper()
    if kind == "BINARY":
        return (kind, "exact", checks["exact-len"]) \
            if "exact-len" in checks else (kind, checks["max-len"])
    if "flags-mask" in checks:
        flags = next(d for d in spec["definitions"]
                     if d["name"] == checks["flags-mask"])
        return (kind, "mask", sum(definition_values(flags).values()))
    if not checks:
        return (kind,)
    return (kind, checks.get("min", 0),
            checks.get("max", U64 if kind == "U64" else U32))


def spec_policies(spec):
    """For each command: its request's attributes and their rules."""
    sets = {s["name"]: s for s in spec["attribute-sets"]}
    policies = {}
    for op in spec["operations"]["list"]:
        attrs = sets.get(op.get("attribute-set"))
        names = set()
        for mode in ("do", "dump"):
            request = op.get(mode, {}).get("request", {})
            names |= set(request.get("attributes", ()))
        if names:
            policies[op["name"]] = {
                c_name(attrs["name-prefix"], attr["name"]):
                spec_rule(spec, attr)
                for attr in attrs["attributes"] if attr["name"] in names}
    return policies


def code_rule(text, ranges, limits):
    """The same of an initializer in policy.c; None for one that refuses."""
    if "BGDMA_POLICY_FIXED" in text:
        return None
    if "BGDMA_POLICY_NAME" in text:
        return ("NUL_STRING", limits["BGDMA_NAME_MAX"] - 1)
    if match := re.search(r"NLA_POLICY_RANGE\(NLA_(\w+), (\d+), (\d+)\)", text):
        return (match[1], int(match[2]), int(match[3]))
    if match := re.search(r"NLA_POLICY_MAX\(NLA_(\w+), (\d+)\)", text):
        return (match[1], 0, int(match[2]))
    if match := re.search(r"NLA_POLICY_MASK\(NLA_(\w+), (\d+)\)", text):
        return (match[1], "mask", int(match[2]))
    if match := re.search(r"NLA_POLICY_FULL_RANGE\(NLA_(\w+), &(\w+)\)", text):
        return (match[1], *ranges[match[2]])
    if match := re.search(r"NLA_POLICY_EXACT_LEN\((\d+)\)", text):
        return ("BINARY", "exact", int(match[1]))
    if match := re.search(r"\.type = NLA_BINARY, \.len = (\d+)", text):
        return ("BINARY", int(match[1]))
    match = re.fullmatch(r"\{ \.type = NLA_(\w+) \}", text.strip())
    return (match[1],) if match else ("?", text)


def code_policies(limits):
    """For each policy of policy.c: its attributes and their rules."""
    text = uncommented(POLICY)
    ranges = {}
    for name, body in re.findall(
            r"struct netlink_range_validation (\w+) = \{(.*?)\}", text, re.S):
        least = re.search(r"\.min = (\d+)", body)
        most = re.search(r"\.max = (\d+)", body)
        ranges[name] = (int(least[1]) if least else 0,
                        int(most[1]) if most else U64)
    policies = {}
    for name, body in re.findall(
            r"bgdma_(\w+)_policy\[[^]]*\] = \{\n(.*?)\n\};", text, re.S):
        rules = {}
        for attr, rule in re.findall(
                r"\[(\w+)\] =\s*(.*?),(?=\s*\[|\s*$)", body, re.S):
            if found := code_rule(rule, ranges, limits):
                rules[attr] = found
        policies[name] = rules
    return policies


def code_uses():
    """Which policy each command of the table in netlink.c has."""
    return {match[1]: match[2] for match in re.finditer(
        r"\.cmd\s*= (\w+),[^}]*?\.policy\s*= bgdma_(\w+)_policy,",
        uncommented(FAMILY))}


def spec_commands(spec):
    """For each command: whether it does, dumps, and is for administrators."""
    return {c_name("bgdma-cmd-", op["name"]):
            ("do" in op, "dump" in op,
             "uns-admin-perm" in op.get("flags", ()))
            for op in spec["operations"]["list"] if "notify" not in op}


def code_commands():
    """The same of the table in netlink.c."""
    return {match[1]: (".doit" in match[2], ".dumpit" in match[2],
                       "GENL_UNS_ADMIN_PERM" in match[2])
            for match in re.finditer(r"\{\s*\.cmd\s*= (\w+),(.*?)\n\t\}",
                                     uncommented(FAMILY), re.S)}


def main():
    """All comparisons."""
    spec = yaml.safe_load(SPEC.read_text(encoding="utf-8"))
    header = {name: value for name, value in c_enums(uncommented(HEADER)).items()
              if not name.startswith("__")}
    abi = c_enums(uncommented(ABI))
    theirs = spec_values(spec, own=False)

    differ(HEADER.name, spec_values(spec, own=True), header)
    differ(ABI.name, theirs,
           {name: value for name, value in abi.items() if name in theirs})
    policies, uses = code_policies(abi), code_uses()
    for name, rules in spec_policies(spec).items():
        used = uses.get(c_name("bgdma-cmd-", name))
        differ(f"{POLICY.name}, {name}", rules, policies.get(used, {}))
    for name in set(policies) - set(uses.values()):
        problems.append(f"{POLICY.name}: no command has {name}")
    differ(FAMILY.name, spec_commands(spec), code_commands())

    for problem in problems:
        print(problem)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
