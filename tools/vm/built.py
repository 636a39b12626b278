# SPDX-License-Identifier: GPL-2.0
"""Kernels of our own: Debian's source, tinyconfig and config/*.config.

    debug   KASAN, lockdep, kmemleak, debug objects, injected faults, coverage
    kcsan   data races
    gcov    which lines run

One takes 10 to 20 minutes to build, once: it is kept beside Debian's under
its release, which ends with a hash of the options and the compiler. An
interrupted build goes on where it stopped. What is kept has the layout of
Debian's packages, as far as tools/vm uses it.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from cache import KernelError, cache_dir, lock, say, source_tarball

FLAVOURS = ("debug", "kcsan", "gcov")
CONFIG = Path(__file__).resolve().parent / "config"

# Raise it when the same options give another kernel.
RECIPE = "1"


def fragments(flavour):
    """The files with the options of a flavour."""
    return [CONFIG / "common.config", CONFIG / f"{flavour}.config"]


def key(flavour):
    """A hash of what a kernel is made from, apart from its source."""
    compiler = subprocess.run(["gcc", "--version"], check=True, text=True,
                              capture_output=True).stdout
    asked = [sorted(options(file).items()) for file in fragments(flavour)]
    text = f"{RECIPE} {compiler} {asked}"
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def find(series, flavour):
    """The folder of a kernel that is there already, or None."""
    kernels = cache_dir() / "kernels"
    found = sorted(kernels.glob(f"{series}.*-{flavour}-{key(flavour)}"))
    return found[-1] if found else None


def fetch(series, flavour):
    """The folder of a kernel, built when it is not there yet."""
    if root := find(series, flavour):
        return root
    if series != "6.12":
        raise KernelError(f"no {flavour} kernel of {series}, only of 6.12")
    kernels = cache_dir() / "kernels"
    kernels.mkdir(exist_ok=True)
    with lock(f"lock-{flavour}"):
        if root := find(series, flavour):
            return root
        work = kernels / f".building-{series}-{flavour}"
        work.mkdir(exist_ok=True)
        begin = time.monotonic()
        say(f"building {series} {flavour}, once (10 to 20 minutes)")
        unpack_source(series, work)
        configure(work, flavour)
        make(work, "vmlinux", "modules", log=work / "log")
        root = keep(work, kernels)
        shutil.rmtree(work)
        say(f"built {root.name} in {time.monotonic() - begin:.0f} s")
    return root


def unpack_source(series, work):
    """The kernel's source in work/source."""
    if (work / "source").exists():
        return
    partial = work / "source.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    with source_tarball(series) as tarball:
        subprocess.run(["tar", "-xf", tarball, "-C", partial,
                        "--strip-components=1"], check=True)
    partial.rename(work / "source")


def make(work, *arguments, log=None):
    """make in the kernel's source, the output apart from it."""
    # Whoever called make for us has options that are not meant for Kbuild.
    env = {name: value for name, value in os.environ.items()
           if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    jobs = len(os.sched_getaffinity(0))
    command = ["nice", "-n", "5", "make", "-s", f"-j{jobs}", "-C",
               work / "source", f"O={work / 'output'}", *arguments]
    run = subprocess.run(command, env=env, check=False, text=True,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT)
    if log:
        log.write_text(run.stdout, encoding="utf-8")
    if run.returncode:
        last = "\n".join(run.stdout.splitlines()[-20:])
        raise KernelError(f"make {' '.join(arguments)} failed:\n{last}")


# --- options ---------------------------------------------------------------

def configure(work, flavour):
    """Options for the kernel: tinyconfig's and ours, all of ours in force."""
    (work / "output").mkdir(exist_ok=True)
    make(work, "tinyconfig")
    name = f'CONFIG_LOCALVERSION="-{flavour}-{key(flavour)}"\n'
    (work / "name.config").write_text(name, encoding="ascii")
    asked = [*fragments(flavour), work / "name.config"]
    config = work / "output" / ".config"
    subprocess.run([work / "source/scripts/kconfig/merge_config.sh", "-m",
                    "-O", work / "output", config, *asked], check=True,
                   cwd=work / "source", stdout=subprocess.DEVNULL)
    make(work, "olddefconfig")
    if lost := differences(asked, config):
        raise KernelError(f"the {flavour} kernel cannot have all it should:\n"
                          + "\n".join(lost))


def options(file):
    """{name: value} of a file of options; what is not set is "n"."""
    text = file.read_text(encoding="utf-8")
    found = dict(re.findall(r"^(CONFIG_\w+)=(.*)$", text, re.M))
    for name in re.findall(r"^# (CONFIG_\w+) is not set$", text, re.M):
        found[name] = "n"
    return found


def differences(asked, config):
    """What was asked for and is not so: Kconfig drops options silently."""
    real = options(config)
    return [f"{name}={value} became {real.get(name, 'n')}"
            for file in asked for name, value in options(file).items()
            if real.get(name, "n") != value]


# --- what stays ------------------------------------------------------------

def keep(work, kernels):
    """Take what boots, and what modules are built with, out of a build."""
    output = work / "output"
    release = (output / "include/config/kernel.release").read_text().strip()
    root = kernels / release
    partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=kernels))
    try:
        partial.chmod(0o755)
        boot = partial / "boot"
        boot.mkdir()
        subprocess.run(["strip", "-s", "-o", boot / f"vmlinux-{release}",
                        output / "vmlinux"], check=True)
        shutil.copy(output / "System.map", boot / f"System.map-{release}")
        shutil.copy(output / ".config", boot / f"config-{release}")
        headers = partial / "usr/src" / f"linux-headers-{release}"
        script = work / "source/scripts/package/install-extmod-build"
        make(work, "run-command", f"KBUILD_RUN_COMMAND={script} {headers}")
        shutil.copy(output / ".config", headers / ".config")
        # All is built in; tools/vm asks the lists.
        modules = partial / "lib/modules" / release
        modules.mkdir(parents=True)
        shutil.copy(output / "modules.builtin", modules)
        (modules / "modules.dep").touch()
        partial.rename(root)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return root
