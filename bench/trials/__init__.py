# SPDX-License-Identifier: GPL-3.0-or-later
"""The experiments, one per file. Each measures on virtual hosts, prints figures, and draws them."""
