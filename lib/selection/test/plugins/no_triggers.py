# SPDX-License-Identifier: Apache-2.0
"""No trigger plug-in: it lacks poll(out)."""
