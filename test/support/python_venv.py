# SPDX-License-Identifier: Apache-2.0
"""A Python that has a package of one version: this one, when it has just that, else one made once in the build folder.
Where the package cannot be installed, its tests are skipped, and that is reported; in CI they fail."""
import fcntl
import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

SECONDS = 200  # for each step of an installation: two of them are shorter than a test may take

skipped = []  # what could not be tested in this process
failed = {}  # a requirement, and why it could not be installed: a second test does not wait for it again


def python_with(requirement, module, program):
    """`program` is one of the build's: the folder lies above it. Raises SkipTest where the package cannot be had."""
    try:
        if requirement == f"{module}=={importlib.metadata.version(module)}":
            return pathlib.Path(sys.executable)
    except importlib.metadata.PackageNotFoundError:
        pass
    build = pathlib.Path(os.environ.get("WEIR_BUILD_DIR") or pathlib.Path(program).resolve().parents[1])
    venv = build / f"{module}-venv"
    with open(build / f"{module}-venv.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another test may be making it
        why = failed.get(requirement) or installed(requirement, venv)
    if not why:
        return venv / "bin/python"
    failed[requirement] = why
    if os.environ.get("CI"):
        raise AssertionError(why)
    skipped.append(why)
    raise unittest.SkipTest(why)


def installed(requirement, venv):
    """Makes `venv` unless it is there; returns why it cannot."""
    ready = venv / "ready"
    if ready.exists() and ready.read_text() == requirement:
        return None
    shutil.rmtree(venv, ignore_errors=True)
    for command in ([sys.executable, "-m", "venv", venv],
                    [venv / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement]):
        try:
            made = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
            output = "" if made.returncode == 0 else made.stdout + made.stderr or f"exit code {made.returncode}"
        except subprocess.TimeoutExpired as late:
            output = str(late)
        if output:
            return f"{requirement}: it cannot be installed into {venv} (network?)\n{output}"
    ready.write_text(requirement)
    return None
