# SPDX-License-Identifier: Apache-2.0
"""A file that is no front-end: it has neither poll nor read_out."""


def begin_run(run, sources):
    pass
