# SPDX-License-Identifier: GPL-3.0-or-later
"""What the measuring programs of this folder share. The standard library of Python is all it takes."""
