# SPDX-License-Identifier: GPL-3.0-or-later
"""The common code of the measuring programs in bench. Needs only the standard library of Python."""
