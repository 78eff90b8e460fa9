# SPDX-License-Identifier: Apache-2.0
"""Builds root.cpp in the named folder and answers `weir bench serialize`, which runs this with a Python that has ROOT."""
import os
import sys
import warnings

warnings.simplefilter("ignore")
import ROOT  # noqa: E402

folder = sys.argv[1]
ROOT.gROOT.SetBatch(True)
ROOT.gSystem.AddIncludePath(f"-I{folder}")
ROOT.gInterpreter.AddIncludePath(folder)
ROOT.gSystem.SetFlagsOpt("-O3 -DNDEBUG")
if not ROOT.gSystem.CompileMacro(os.path.join(folder, "root.cpp"), "kOs", "weir_bench_root", folder):
    sys.exit("ROOT could not compile root.cpp (a C++ compiler is needed)")
sys.exit(ROOT.weir_bench_root_serve())
