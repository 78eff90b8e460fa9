# SPDX-License-Identifier: Apache-2.0
"""A front-end that cannot be loaded."""
raise RuntimeError("there is no such crate")
