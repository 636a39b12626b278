# SPDX-License-Identifier: GPL-2.0
"""The cache folder of this project, and Debian's packages."""

import contextlib
import fcntl
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path


class KernelError(Exception):
    """Something that the user has to know, in words."""


def cache_dir():
    """The user's cache folder of this project, made when missing."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(base) / "bgdma"
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextlib.contextmanager
def lock(name="lock"):
    """Two builds may want the same kernel at once: one of them fetches."""
    with open(cache_dir() / name, "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def say(text):
    """Progress, for the person who waits."""
    print(f"kernel: {text}", file=sys.stderr, flush=True)


# --- packages --------------------------------------------------------------

def apt_update():
    """Fetch the package lists; a fresh machine has none, or old ones.

    Once an hour is enough. Where it fails, the old lists may still do.
    """
    stamp = cache_dir() / "apt-updated"
    if stamp.exists() and time.time() - stamp.stat().st_mtime < 3600:
        return
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    say("apt-get update")
    command = sudo + ["apt-get", "-qq", "update"]
    if subprocess.run(command, check=False).returncode == 0:
        stamp.touch()
    else:
        say("apt-get update failed; going on with the lists that are there")


def apt_depends(package):
    """The names of the packages that a package depends on."""
    show = subprocess.run(
        ["apt-cache", "show", "--no-all-versions", package],
        capture_output=True, text=True, check=False).stdout
    match = re.search(r"^Depends: (.*)$", show, re.M)
    if not match:
        raise LookupError(package)
    return [alternative.split()[0]
            for alternative in match.group(1).split(", ")]


def apt_download(packages, folder):
    """Download packages into a folder."""
    subprocess.run(["apt-get", "-qq", "-o", "APT::Sandbox::User=root",
                    "download"] + packages, cwd=folder, check=True)


def unpack(packages, root):
    """Download packages and unpack them below root."""
    with tempfile.TemporaryDirectory(dir=root.parent) as folder:
        apt_download(packages, folder)
        for deb in sorted(Path(folder).glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", deb, root], check=True)


@contextlib.contextmanager
def source_tarball(series):
    """The kernel's source: what is installed, or a package for a while."""
    name = f"usr/src/linux-source-{series}.tar.xz"
    installed = Path("/") / name
    if installed.exists():
        yield installed
        return
    say(f"fetching linux-source-{series} (150 MB)")
    with tempfile.TemporaryDirectory(prefix=".partial-",
                                     dir=cache_dir()) as folder:
        apt_update()
        unpack([f"linux-source-{series}"], Path(folder) / "root")
        yield Path(folder) / "root" / name
