# SPDX-License-Identifier: GPL-2.0
"""One run of QEMU: start, pin, relay, time out, end."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import console
import tsc

# With ERMS visible the kernel copies
# with `rep movsb`, which TCG runs one byte at a time.
TCG = ["-accel", "tcg,thread=multi", "-cpu", "max,la57=off,erms=off,fsrm=off"]
KVM = ["-accel", "kvm", "-cpu", "host"]
# It translates code by its address: with another one for libc in each program a
# command takes three times as long.
TCG_CMDLINE = "tsc=reliable clocksource=tsc no_timer_check norandmaps"
CMDLINE = ("console=ttyS0,115200 loglevel=5 printk.devkmsg=on panic=-1 "
           "oops=panic unknown_nmi_panic panic_print=0x41 rootfstype=ramfs "
           "rdinit=/init")


class Monitor:
    """QEMU's machine protocol over one end of a socket pair."""

    def __init__(self, sock):
        self.file = sock.makefile("rw", encoding="utf-8")
        self.lock = threading.Lock()
        self.file.readline()                    # the greeting
        self.call("qmp_capabilities")

    def call(self, command):
        """Carry out one command; events that come first are dropped."""
        with self.lock:
            self.file.write(json.dumps({"execute": command}) + "\n")
            self.file.flush()
            while line := self.file.readline():
                answer = json.loads(line)
                if "return" in answer or "error" in answer:
                    return answer.get("return")
        return None


def pin(monitor):
    """Each virtual processor on a host processor of its own, if it can be.

    Two that spin for each other on one host processor would turn every
    hand-over into a scheduler tick.
    """
    host = sorted(os.sched_getaffinity(0))
    threads = monitor.call("query-cpus-fast") or []
    if len(threads) > len(host):
        return
    for cpu, thread in zip(host, threads):
        try:
            os.sched_setaffinity(thread["thread-id"], {cpu})
        except OSError:
            return


class Guest:
    """A virtual machine described by options, run once."""

    def __init__(self, options):
        self.options = options
        self.process = None
        self.timed_out = False
        self.hung = False

    def command(self, monitor_fd):
        """The command line of QEMU."""
        opt = self.options
        cmdline = CMDLINE
        if opt.accel == "tcg":
            cmdline += f" {TCG_CMDLINE}"
            if khz := tsc.khz():
                cmdline += f" tsc_early_khz={khz}"
        command = ["qemu-system-x86_64", "-M", "q35,hpet=off", "-nodefaults",
                   "-no-user-config", "-display", "none", "-no-reboot",
                   "-smp", str(opt.cpus), "-m", f"{opt.mem}M",
                   "-kernel", str(opt.kernel), "-initrd", str(opt.initrd),
                   "-append", f"{cmdline} {opt.append}".strip(),
                   "-serial", f"file:{opt.log}",
                   "-serial", "mon:stdio" if opt.shell else "stdio",
                   "-chardev", f"socket,id=qmp,fd={monitor_fd}",
                   "-mon", "chardev=qmp,mode=control"]
        command += KVM if opt.accel == "kvm" else TCG
        for number, (path, _, _) in enumerate(opt.disks):
            name = str(path).replace(",", ",,")
            command += ["-drive", f"file={name},format=raw,if=none,"
                        f"readonly=on,id=disk{number}",
                        "-device", f"virtio-blk-pci,drive=disk{number}"]
        for plugin in opt.plugin:
            command += ["-plugin", plugin]
        if opt.plugin:
            command += ["-d", "plugin", "-D", str(opt.plugin_log)]
        return command + opt.qemu_arg

    def run(self, output):
        """Run to the end; output(bytes) gets what the command prints."""
        ours, theirs = socket.socketpair()
        shell = self.options.shell
        with theirs:
            self.process = subprocess.Popen(
                self.command(theirs.fileno()), pass_fds=[theirs.fileno()],
                stdin=None if shell else subprocess.DEVNULL,
                stdout=None if shell else subprocess.PIPE)
        watcher = threading.Thread(target=self.watch, args=(ours,),
                                   daemon=True)
        watcher.start()
        try:
            if not shell:
                while data := self.process.stdout.read1(1 << 16):
                    output(data)
            self.process.wait()
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()

    def watch(self, sock):
        """Pin the processors, then wait for the end of time."""
        begin = time.monotonic()
        limit = self.options.timeout or float("inf")
        boot_limit = self.options.boot_timeout or float("inf")
        monitor = self.monitor(sock, min(limit, boot_limit))
        while self.process.poll() is None:
            took = time.monotonic() - begin
            if took > limit:
                self.timed_out = True
            elif took > boot_limit:
                self.hung = not console.booted(console.read(
                    self.options.log))
                boot_limit = float("inf")
            if self.timed_out or self.hung:
                self.stop(monitor)
                return
            time.sleep(0.05)

    def monitor(self, sock, limit):
        """QEMU's monitor, the processors pinned; None if QEMU is silent."""
        sock.settimeout(None if limit == float("inf") else limit)
        try:
            monitor = Monitor(sock)
            if self.options.pin:
                pin(monitor)
            return monitor
        except (OSError, ValueError):
            return None     # where it has ended, it says why itself

    def stop(self, monitor):
        """End a guest that hangs; the NMI makes it say where it is."""
        try:
            if monitor:
                monitor.call("inject-nmi")
                self.process.wait(timeout=5)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            pass
        self.process.send_signal(signal.SIGKILL)


def to_stdout(data):
    """Relay the command's output at once."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
