"""Compiles the kernels of this folder to the PTX that the package has as data.

    python3 python/device/compile.py [NVCC]

Each file begins with the SHA-256 of all sources that it is made of, by which a test tells whether they belong together.
"""

import hashlib
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PACKAGE = os.path.join(os.path.dirname(HERE), "ulpscope", "_device")
INCLUDES = [os.path.join(ROOT, "formats", "include"), os.path.join(ROOT, "python")]
# What every GPU since 2018 runs, and every driver since CUDA 10.2 takes. nvcc names its own version, which older drivers refuse.
ARCHITECTURE, PTX_VERSION = "compute_75", "6.4"
OPTIONS = ["-ptx", "-O3", "-std=c++20", "-fmad=false", "--expt-relaxed-constexpr", f"-arch={ARCHITECTURE}"]


def kernels():
    return sorted(name[:-3] for name in os.listdir(HERE) if name.endswith(".cu"))


def sources_of(path, known=None):
    """It, and all files of this repository that it includes, in the order in which they come."""
    known = [] if known is None else known
    if path in known:
        return known
    known.append(path)
    with open(path, encoding="utf-8") as file:
        named = re.findall(r'^#include [<"]([^>"]+)[>"]', file.read(), re.M)
    for name in named:
        for folder in (os.path.dirname(path), *INCLUDES):
            its = os.path.normpath(os.path.join(folder, name))
            if os.path.isfile(its):
                sources_of(its, known)
                break
    return known


def digest_of(kernel):
    digest = hashlib.sha256(" ".join(OPTIONS).encode())
    for path in sources_of(os.path.join(HERE, kernel + ".cu")):
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def ptx_of(kernel):
    return os.path.join(PACKAGE, kernel + ".ptx")


def main(nvcc="nvcc"):
    for kernel in kernels():
        includes = [part for folder in INCLUDES for part in ("-I", folder)]
        command = [nvcc, *OPTIONS, *includes, os.path.join(HERE, kernel + ".cu"), "-o", "/dev/stdout"]
        text = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode()
        text = re.sub(r"^\.version .*$", f".version {PTX_VERSION}", text, flags=re.M)
        text = "".join(line + "\n" for line in text.split("\n") if line.strip() and not line.lstrip().startswith("//"))
        with open(ptx_of(kernel), "w", encoding="ascii") as file:
            file.write(f"// sources: {digest_of(kernel)}\n{text}")


if __name__ == "__main__":
    main(*sys.argv[1:])
