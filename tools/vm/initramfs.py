# SPDX-License-Identifier: GPL-2.0
"""The guest's file system: an initramfs written straight into a file.

Busybox, /init, the modules asked for, our programs, and the shared libraries
that they need. No root rights and no cpio program are needed.
"""

import lzma
import os
import re
import stat
import subprocess
from pathlib import Path

FOLDERS = ("bin", "sbin", "usr/bin", "usr/sbin", "usr/lib", "lib/modules",
           "dev", "proc", "sys", "tmp", "run", "root", "etc", "vm")

# Above this a file goes to the guest as a disk: an initramfs lies below
# 2 GiB and is in memory twice while the kernel unpacks it.
LARGE = 64 << 20


class Initramfs:
    """A newc archive that grows by add_*() and ends with close()."""

    def __init__(self, path):
        self.archive = open(path, "wb")
        self.inode = 0
        self.names = set()
        self.disks = []     # (host path, size, guest path) of large files
        self.size = 0
        for folder in FOLDERS:
            self.add_folder(folder)
        # The kernel opens it for /init before devtmpfs is mounted.
        self._entry("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))

    def _entry(self, name, mode, size=0, device=(0, 0)):
        """One header; the data, if any, must follow at once."""
        self.names.add(name)
        self.inode += 1
        encoded = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, size, 0, 0, *device,
                  len(encoded), 0)
        header = b"070701" + b"".join(b"%08x" % field for field in fields)
        self._write(header + encoded)

    def _write(self, data):
        """Data and its padding to four bytes."""
        self.archive.write(data + b"\0" * (-len(data) % 4))
        self.size += len(data)

    def add_folder(self, name):
        """A folder and those above it, once."""
        parts = Path(name).parts
        for depth in range(1, len(parts) + 1):
            path = "/".join(parts[:depth])
            if path not in self.names:
                self._entry(path, stat.S_IFDIR | 0o755)

    def add_data(self, data, name, mode=0o644):
        """A file out of memory; the first one of a name stays."""
        name = name.lstrip("/")
        if name in self.names:
            return
        self.add_folder(os.path.dirname(name))
        self._entry(name, stat.S_IFREG | mode, len(data))
        self._write(data)

    def add_link(self, target, name):
        """A symbolic link."""
        name = name.lstrip("/")
        if name in self.names:
            return
        self.add_folder(os.path.dirname(name))
        self._entry(name, stat.S_IFLNK | 0o777, len(target))
        self._write(target.encode())

    def add_file(self, source, name):
        """A file of the host under a name of the guest."""
        source = Path(source)
        info = source.stat()
        if info.st_size > LARGE:
            name = "/" + name.lstrip("/")
            self.disks.append((source.resolve(), info.st_size, name))
            return
        self.add_data(source.read_bytes(), name, info.st_mode & 0o777)

    def add_tree(self, source, name):
        """A folder of the host, without what only a build needs."""
        source = Path(source)
        self.add_folder(name.lstrip("/"))
        for path in sorted(source.rglob("*")):
            inside = f"{name.rstrip('/')}/{path.relative_to(source)}"
            if path.is_file() and path.suffix not in (".o", ".d"):
                self.add_file(path, inside)

    def add_module(self, path, name):
        """A kernel module; busybox wants it uncompressed."""
        data = Path(path).read_bytes()
        if str(path).endswith(".xz"):
            data = lzma.decompress(data)
        self.add_data(data, name)

    def close(self):
        """End the archive."""
        self._entry("TRAILER!!!", 0)
        self.archive.close()


def is_elf(path):
    """Whether a file is an ELF file."""
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def libraries(programs, library_dir):
    """The shared libraries that programs need: {guest name: host path}."""
    programs = [str(path) for path in programs if is_elf(path)]
    if not programs:
        return {}
    env = {**os.environ, "LD_LIBRARY_PATH": str(library_dir)}
    output = subprocess.run(["ldd"] + programs, env=env, check=False,
                            capture_output=True, text=True).stdout
    found = {}
    for line in output.splitlines():
        words = line.split()
        if "=>" in words and words[2].startswith("/"):
            path = words[2]
        elif words and words[0].startswith("/") and words[-1][0] == "(":
            path = words[0]     # the dynamic loader
        else:
            continue
        ours = Path(path).is_relative_to(library_dir)
        found[f"/usr/lib/{Path(path).name}" if ours else path] = path
    return found


def busybox_applets(busybox):
    """The commands that a busybox has."""
    return subprocess.run([busybox, "--list"], check=True,
                          capture_output=True, text=True).stdout.split()


def module_needs(path):
    """Stock modules that a module of ours needs: its .modinfo says depends=."""
    found = re.search(rb"\0depends=([\w,-]*)\0", Path(path).read_bytes())
    return [name for name in found[1].decode().split(",") if name] \
        if found else []


def module_there(modules_dir, name):
    """Whether a kernel has something as a module."""
    depends = modules_dir / "modules.dep" if modules_dir else None
    if not depends or not depends.exists():
        return False
    return any(Path(line.partition(":")[0]).name.split(".ko")[0]
               .replace("-", "_") == name
               for line in depends.read_text().splitlines())


def module_order(modules_dir, names):
    """Files of stock modules, what they depend on first (modules.dep)."""
    depends = {}
    for line in (modules_dir / "modules.dep").read_text().splitlines():
        file, _, needed = line.partition(":")
        depends[file] = needed.split()
    by_name = {Path(file).name.split(".ko")[0].replace("-", "_"): file
               for file in depends}
    builtin = modules_dir / "modules.builtin"
    have = {Path(line).name.split(".ko")[0].replace("-", "_")
            for line in builtin.read_text().splitlines()} \
        if builtin.exists() else set()
    order = []
    for name in (name.replace("-", "_") for name in names):
        if name in have:
            continue
        if name not in by_name:
            raise LookupError(f"no module {name} in {modules_dir}")
        # modules.dep lists every dependency, the deepest last.
        for file in reversed([by_name[name]] + depends[by_name[name]]):
            if file not in order:
                order.append(file)
    return [modules_dir / file for file in order]
