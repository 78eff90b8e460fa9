# SPDX-License-Identifier: Apache-2.0
"""A Python that has a package of one version: this one, when it has just that, else one made once in the build folder.
Where the package cannot be installed, its tests are skipped, and say so; in CI they fail."""
import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

left_out = []  # what could not be tested in this process


def python_with(requirement, module, program):
    """`program` is one of the build's: the folder lies above it. Raises SkipTest where the package cannot be had."""
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
                why = f"{requirement}: it cannot be installed into {venv} (network?)\n{made.stdout}{made.stderr}"
                if os.environ.get("CI"):
                    raise AssertionError(why)
                left_out.append(why)
                raise unittest.SkipTest(why)
        ready.write_text(requirement)
    return venv / "bin/python"
