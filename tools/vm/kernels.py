# SPDX-License-Identifier: GPL-2.0
"""Kernels, their headers and a few files of the kernel source, kept in a
cache of the user's own: nothing is installed, no boot loader touched.

Most flavours are Debian's; debug, kcsan and gcov are built here (built.py).

The cache (${XDG_CACHE_HOME:-~/.cache}/bgdma) holds

    kernels/6.1-cloud -> 6.1.0-56-cloud-amd64       what a name stands for
    kernels/6.1.0-56-cloud-amd64/                   the packages, unpacked
        boot/ lib/modules/ usr/src/ usr/lib/
    kernels/6.12.117-debug-3f2a9c01/                one of our own
    source/6.12/                                    single files of the source
    images/<key>/vmlinux                            uncompressed kernels
    tidy/, models/                                  what tools/check found before

What is there is never fetched again, so that everything works offline.
"""

import gzip
import hashlib
import lzma
import os
import re
import shutil
import struct
import subprocess
import tarfile
import tempfile
from pathlib import Path

import built
from cache import (KernelError, apt_depends, apt_update, cache_dir, lock, say,
                   source_tarball, unpack)

SERIES = ("6.1", "6.12")
DEBIAN = {"cloud": "cloud-amd64", "generic": "amd64", "rt": "rt-amd64"}
FLAVOURS = (*DEBIAN, *built.FLAVOURS)

# What the build and the tests need from the kernel source, and only that.
SOURCE_FILES = (
    "scripts/checkpatch.pl",
    "scripts/spelling.txt",
    "scripts/const_structs.checkpatch",
    "scripts/kernel-doc",
    "tools/testing/selftests/kselftest_harness.h",
    "tools/testing/selftests/kselftest.h",
    "tools/testing/selftests/lib.mk",
)


def resolve(series, flavour):
    """The real packages behind the names: the release and a list."""
    infix = "" if series == "6.1" else series + "-"
    suffix = infix + DEBIAN[flavour]
    image = next(name for name in apt_depends("linux-image-" + suffix)
                 if name.startswith("linux-image-"))
    release = image.removeprefix("linux-image-")
    headers = "linux-headers-" + release
    build = [name for name in apt_depends(headers)
             if re.match(r"linux-(headers|kbuild)-", name)]
    return release, [image, headers] + build


def resolve_or_say(series, flavour):
    """resolve() with fresh lists: an old kernel may lack what we need."""
    apt_update()
    try:
        return resolve(series, flavour)
    except (LookupError, StopIteration) as missing:
        raise KernelError(f"no package for {series} {flavour} ({missing}): "
                          "is this Debian 12 with its security archive?") \
            from missing


def relocate(headers, root):
    """Point the absolute paths of a headers package into the cache."""
    makefile = headers / "Makefile"
    text = makefile.read_text(encoding="utf-8")
    makefile.write_text(text.replace(" /usr/src/", f" {root}/usr/src/"),
                        encoding="utf-8")


def find(series, flavour):
    """The folder of a kernel that is there already, or None."""
    if flavour in built.FLAVOURS:
        return built.find(series, flavour)
    link = cache_dir() / "kernels" / f"{series}-{flavour}"
    return link.resolve() if link.exists() else None


def fetch(series, flavour):
    """The folder of a kernel, fetched or built when it is not there yet."""
    if flavour in built.FLAVOURS:
        return built.fetch(series, flavour)
    kernels = cache_dir() / "kernels"
    link = kernels / f"{series}-{flavour}"
    if link.exists():
        return link.resolve()
    with lock():
        if link.exists():
            return link.resolve()
        kernels.mkdir(exist_ok=True)
        release, packages = resolve_or_say(series, flavour)
        root = kernels / release
        if not root.exists():
            say(f"fetching {release}")
            fetch_packages(release, packages, root)
        link.unlink(missing_ok=True)
        link.symlink_to(release)
    return root


def fetch_packages(release, packages, root):
    """Fill root, which appears only when it is complete."""
    partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=root.parent))
    try:
        partial.chmod(0o755)
        unpack(packages, partial)
        path = os.environ["PATH"] + ":/usr/sbin:/sbin"
        subprocess.run(["depmod", "-b", partial, release], check=True,
                       env={**os.environ, "PATH": path})
        relocate(partial / "usr/src" / f"linux-headers-{release}", root)
        partial.rename(root)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def headers_of(root):
    """The folder to build modules against."""
    return root / "usr/src" / f"linux-headers-{root.name}"


def image_of(root):
    """The kernel to boot."""
    plain = root / "boot" / f"vmlinux-{root.name}"
    return plain if plain.exists() else root / "boot" / f"vmlinuz-{root.name}"


# --- single files of the kernel source -------------------------------------

def fetch_source(series="6.12"):
    """The folder with SOURCE_FILES of a series, fetched when missing."""
    folder = cache_dir() / "source" / series
    if all((folder / name).exists() for name in SOURCE_FILES):
        return folder
    with lock():
        if not all((folder / name).exists() for name in SOURCE_FILES):
            folder.mkdir(parents=True, exist_ok=True)
            with source_tarball(series) as tarball:
                extract_files(tarball, folder)
    return folder


def extract_files(tarball, folder):
    """Write SOURCE_FILES below folder, stopping after the last of them."""
    wanted = set(SOURCE_FILES)
    with tarfile.open(tarball, "r|xz") as tar:
        for member in tar:
            name = member.name.split("/", 1)[-1]
            if name not in wanted:
                continue
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(tar.extractfile(member).read())
            target.chmod(member.mode & 0o777)
            wanted.remove(name)
            if not wanted:
                return
    raise KernelError(f"{tarball} lacks {', '.join(sorted(wanted))}")


# --- kernel images ---------------------------------------------------------

def decompress(data):
    """What is inside a compressed kernel."""
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    if data[:6] == b"\xfd7zXZ\0":
        return lzma.LZMADecompressor().decompress(data)
    programs = {b"\x28\xb5\x2f\xfd": "zstd", b"\x02\x21\x4c\x18": "lz4"}
    if data[:4] not in programs:
        raise KernelError("unknown compression of the kernel image")
    # The four bytes after the payload (its size) are no frame: both
    # programs complain about them after having written everything.
    run = subprocess.run([programs[data[:4]], "-dcq"], input=data,
                         capture_output=True, check=False)
    return run.stdout


def payload(image):
    """The compressed kernel inside a bzImage (Documentation/arch/x86/boot)."""
    if image[0x202:0x206] != b"HdrS":
        raise KernelError("not a bzImage")
    setup_sectors = image[0x1f1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    return image[start:start + length]


def has_pvh(elf):
    """Whether an uncompressed kernel can be entered directly: note 18."""
    if elf[:5] != b"\x7fELF\x02":
        return False
    offset, = struct.unpack_from("<Q", elf, 0x20)
    size, count = struct.unpack_from("<HH", elf, 0x36)
    for header in range(offset, offset + size * count, size):
        kind, = struct.unpack_from("<I", elf, header)
        start, = struct.unpack_from("<Q", elf, header + 8)
        length, = struct.unpack_from("<Q", elf, header + 32)
        pvh_note = struct.pack("<I", 18) + b"Xen\0"
        if kind == 4 and pvh_note in elf[start:start + length]:
            return True
    return False


def uncompressed(image_path):
    """A kernel to boot by PVH made of an image; the image where none is."""
    stat = image_path.stat()
    text = f"{image_path.resolve()} {stat.st_size} {stat.st_mtime_ns}"
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    target = cache_dir() / "images" / key / "vmlinux"
    if target.exists():
        return target if target.stat().st_size else image_path
    data = image_path.read_bytes()
    if data[:4] == b"\x7fELF":
        return image_path
    elf = decompress(payload(data))
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(f".{os.getpid()}")
    partial.write_bytes(elf if has_pvh(elf) else b"")
    partial.rename(target)
    return target if has_pvh(elf) else image_path


def release_of(image_path):
    """The release (uname -r) of a kernel image, compressed or not."""
    data = image_path.read_bytes()
    if data[0x202:0x206] == b"HdrS":
        offset, = struct.unpack_from("<H", data, 0x20e)
        return data[offset + 0x200:].split(b" ", 1)[0].decode()
    match = re.search(rb"Linux version (\S+) \(", data)
    if not match:
        raise KernelError(f"{image_path} does not look like a kernel")
    return match.group(1).decode()
