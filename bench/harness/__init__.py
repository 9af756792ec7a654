# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts that the measuring programs of this directory share. Needs only the standard library of Python."""
