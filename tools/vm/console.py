# SPDX-License-Identifier: GPL-2.0
"""What a kernel says when something is wrong with it."""

import re

SPLAT = re.compile(r"""
    \bBUG: | \bBUG\ \S+\ \((Not\ t|T)ainted | \bWARNING: | \bOops\b | kernel\ BUG\ at
  | KASAN | KCSAN | KMSAN | UBSAN | KFENCE: | ODEBUG
  | general\ protection\ fault | double\ fault | Kernel\ panic
  | rcu.*(detected\ stalls|self-detected|Stall\ ended) | rcu:\ INFO
  | INFO:\ task\ .*blocked\ for | INFO:\ (possible|trying|suspicious)
  | soft\ lockup | hard\ LOCKUP | workqueue\ lockup | BUG\ workqueue
  | possible\ (circular|recursive|irq) | suspicious\ RCU | DEBUG_LOCKS_WARN_ON
  | sleeping\ function\ called | scheduling\ while\ atomic
  | kmemleak:\ \d+\ new | unreferenced\ object
  | refcount_t: | (list|slab|page).*corruption | Bad\ page\ (state|map)
  | Slab\ cache\ still\ has\ objects | Objects\ remaining\ in
  | unregister_netdevice:\ waiting | leaked\ reference
  | still\ has\ locks\ held | nobody\ cared | Unable\ to\ handle\ kernel
  | Call\ Trace: | ---\[\ end\ trace | end\ Kernel\ panic
""", re.X)

# What stock kernels say about the processor that they run on.
HARMLESS = re.compile(r"""
    RETBleed: | Spectre | MDS: | TAA: | MMIO\ Stale | ITS: | VMSCAPE
  | KASLR\ disabled | KernelAddressSanitizer\ initialized
  | Mitigation | kcsan:\ (enabled|strict|selftest) | kfence:\ initialized
""", re.X)

# Executed, but no longer in memory: the byte before the marked one is the last
# of what ran, and it is something else than a breakpoint (0xcc).
INT3 = re.compile(r"Oops: int3: .*?\bCode:[ 0-9a-f]* (?!cc)[0-9a-f]{2} <",
                  re.S)

EXIT = re.compile(r"bgdma-vm: exit (\d+)\s*$", re.M)
BOOTED = "bgdma-vm: booted"
CUT = "------------[ cut here ]------------"


def read(path):
    """A console log as text, whatever bytes it holds."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def exit_code(log):
    """The command's exit code, or None when the guest did not tell."""
    match = EXIT.search(log)
    return int(match.group(1)) if match else None


def booted(log):
    """Whether the guest's first process has come."""
    return BOOTED in log


def stale_breakpoint(log):
    """Whether the kernel died of a breakpoint that it had taken out already.

    A kernel that changes its code (static keys, tracepoints) puts one there for
    a moment. QEMU before 8.1 can go on with what it had translated then, when
    another processor writes while it translates.
    """
    return bool(INT3.search(log))


def before_nmi(log):
    """A log up to where we stopped a hanging guest by an NMI."""
    return re.split(r".*(?:NMI received for unknown|NMI: Not continuing)",
                    log, maxsplit=1)[0]


RACE = re.compile(r"BUG: KCSAN: ")
RULE = re.compile(r"={60,}\s*$")
ACCESS = re.compile(r"(read|write)( \(.*\))? to 0x")
# Calls that look after their own data, whoever calls them.
SAFE = re.compile(r"\b(queue|mod|flush|cancel)_(\w+_)?work(_\w+)?\+0x")


def own_race(report):
    """Whether our module takes part in a data race.

    One of the accesses is its own, or that of something like memcpy() or
    list_add() that it calls; what an interrupt does above it is not.
    """
    for number, line in enumerate(report):
        frames = report[number + 1:number + 3]
        if ACCESS.search(line) and not SAFE.search("".join(frames[:1])) and \
                any("[bgdma]" in text for text in frames):
            return True
    return False


def own_races(lines):
    """A log without the kernel's data races with itself.

    KCSAN in its strict mode finds plenty of them, known ones, in any kernel.
    """
    kept, report = [], None
    for line in lines:
        if report is None and RULE.search(line):
            report = [line]
        elif report is None:
            kept.append(line)
        elif RULE.search(line):
            if own_race(report) or \
                    not any(RACE.search(text) for text in report):
                kept += report + [line]
            report = None
        else:
            report.append(line)
    return kept + (report or [])


# The latter if the victim waits for its own memory for seconds, as for khugepaged.
OOM = re.compile(r"invoked oom-killer:|oom_reaper: unable to reap")
STACK_END = re.compile(r"</TASK>|Mem-Info:|memory: usage")


def without_oom(lines):
    """A log without the stacks of whoever ran into a limit of memory, or is its victim.

    What such a process was doing is no complaint about the kernel.
    """
    kept, inside = [], 0
    for line in lines:
        if OOM.search(line):
            inside = 60     # lines at most, if the end got lost
        if inside and "Call Trace:" in line:
            inside -= 1
            continue
        inside = 0 if STACK_END.search(line) else max(inside - 1, 0)
        kept.append(line)
    return kept


def foreign_races(log):
    """How many data races own_races() leaves out."""
    lines = log.splitlines()
    return sum(bool(RACE.search(line)) for line in lines) - \
        sum(bool(RACE.search(line)) for line in own_races(lines))


def splats(log):
    """All of the first splat, and the first line of each other."""
    lines = without_oom(own_races(log.splitlines()))
    bad = [number for number, line in enumerate(lines)
           if SPLAT.search(line) and not HARMLESS.search(line)]
    if not bad:
        return []
    start, end = bad[0], bad[0] + 1
    if start and CUT in lines[start - 1]:
        start -= 1
    while end < min(len(lines), start + 60):
        if "bgdma-vm:" in lines[end] or CUT in lines[end]:
            break
        end += 1
        if "---[ end" in lines[end - 1]:
            break
    more = [lines[number] for number in bad
            if number >= end and "Call Trace:" not in lines[number]
            and "end trace" not in lines[number]]
    return lines[start:end] + more[:20]
