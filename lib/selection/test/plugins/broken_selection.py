# SPDX-License-Identifier: Apache-2.0
"""A file without its function."""
threshold = 10
