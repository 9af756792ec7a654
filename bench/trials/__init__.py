# SPDX-License-Identifier: GPL-3.0-or-later
"""The experiments, one a file: each measures on virtual hosts, tells figures, and draws them."""
