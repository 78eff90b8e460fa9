# SPDX-License-Identifier: Apache-2.0
"""A Python that has a package of one version: this one, when it has just that, else one made once in the build folder."""
import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys


def python_with(requirement, module, program):
    """`program` is one of the build's: the folder lies above it."""
    try:
        if requirement == f"{module}=={importlib.metadata.version(module)}":
            return pathlib.Path(sys.executable)
    except importlib.metadata.PackageNotFoundError:
        pass
    build = pathlib.Path(os.environ.get("WEIR_BUILD_DIR") or pathlib.Path(program).resolve().parents[1])
    venv = build / f"{module}-venv"
    ready = venv / "ready"
    if not ready.exists() or ready.read_text() != requirement:
        shutil.rmtree(venv, ignore_errors=True)
        for command in ([sys.executable, "-m", "venv", venv],
                        [venv / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement]):
            made = subprocess.run(command, capture_output=True, text=True, timeout=300)
            if made.returncode != 0:
                raise AssertionError(f"cannot install {requirement} into {venv} (network?); WEIR_{module.upper()}_ABSENT=ok "
                                     f"leaves it out\n{made.stdout}{made.stderr}")
        ready.write_text(requirement)
    return venv / "bin/python"
