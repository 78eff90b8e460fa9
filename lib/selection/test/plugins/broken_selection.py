# SPDX-License-Identifier: Apache-2.0
"""A file that forgot its function."""
threshold = 10
