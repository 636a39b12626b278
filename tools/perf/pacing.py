# SPDX-License-Identifier: GPL-2.0
"""Small messages on a slow link, beside a long transfer."""

from spread import spread

KINDS = ("median", "p99")


def results(lines, link):
    """{beside what: nanoseconds of messages, and the part of the link's rate}."""
    found, fixed = {}, ""
    for line in lines:
        if "fixed" in line:
            fixed = ", window fixed"
        if "pacing" not in line:
            continue
        runs = found.setdefault(line["pacing"] + fixed,
                                {kind: [] for kind in (*KINDS, "rate")})
        for kind in KINDS:
            runs[kind].append(line[kind])
        runs["rate"].append(line["rate"] / link)
    return found


def tell(found):
    """A row for each."""
    print(f"\n{'messages of 8 B beside':36}{'median, ms':>12}{'p99, ms':>30}"
          f"{'of the link':>16}")
    for name, runs in found.items():
        of = {kind: spread(values) for kind, values in runs.items()}
        print(f"{name:36}{of['median']['median'] / 1e6:12.1f}"
              f"{of['p99']['median'] / 1e6:12.1f} "
              f"({of['p99']['low'] / 1e6:.1f} to {of['p99']['high'] / 1e6:.1f})"
              f"{of['rate']['median']:12.2f}")
