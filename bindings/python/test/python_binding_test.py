# SPDX-License-Identifier: Apache-2.0
"""Installs the package with pip as users do, into a virtual environment of its own, and runs its tests there."""
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BUILD = pathlib.Path(os.environ["WEIR_BUILD_DIR"])
NEEDS = ["scikit-build-core==1.1.2", "nanobind==3.1.0", "numpy>=1.24", "mypy>=1.10", "awkward>=2"]
SKIPPED = 77  # ctest shows such a test as skipped


def run(*command, **more):
    return subprocess.run([*map(str, command)], stdin=subprocess.DEVNULL, capture_output=True, text=True, **more)


def virtual_environment():
    """With what the build and the tests need: made once, in the build folder."""
    venv = BUILD / "python-venv"
    ready = venv / "ready"
    if not ready.exists() or ready.read_text() != str(NEEDS):
        shutil.rmtree(venv, ignore_errors=True)
        for command in ([sys.executable, "-m", "venv", venv],
                        [venv / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *NEEDS]):
            made = run(*command, timeout=300)
            if made.returncode != 0:
                print(f"NOT TESTED: cannot install {', '.join(NEEDS)} into {venv} (network?)\n{made.stdout}{made.stderr}", file=sys.stderr)
                sys.exit(1 if os.environ.get("CI") else SKIPPED)
        ready.write_text(str(NEEDS))
    return venv / "bin"


def main():
    programs = virtual_environment()
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    if "WEIR_CXX_COMPILER" in os.environ:
        environment["CXX"] = os.environ["WEIR_CXX_COMPILER"]
    installed = run(programs / "python", "-m", "pip", "install", "--disable-pip-version-check", "--no-build-isolation", "--no-deps",
                    "--force-reinstall", f"--config-settings=build-dir={BUILD / 'python-build'}",
                    "--config-settings=cmake.define.WEIR_WARNINGS_AS_ERRORS=ON", ROOT, env=environment, timeout=1500)
    if installed.returncode != 0:
        print(installed.stdout + installed.stderr, file=sys.stderr)
        return 1
    tests = subprocess.run([programs / "python", "-B", "-m", "unittest", "discover", "-v", "-s", HERE / "installed", "-p", "*_test.py"],
                           cwd=BUILD, env=environment)  # not in the root, where the sources would be imported
    return tests.returncode


if __name__ == "__main__":
    sys.exit(main())
