# SPDX-License-Identifier: GPL-3.0-or-later
"""terminal.py COLUMNS SIGNAL TEXT COMMAND... - run COMMAND on a terminal of so many columns; when its
screen shows TEXT, a regular expression, send it SIGNAL (none: wait for its end). Prints the lines that
the screen shows at the end, and then the number of columns that were in use until TEXT was there."""
import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios

columns, sig, text, command = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.execvp(command[0], command)

lines, at, widest, seen = [""], 0, 0, False
while True:
    try:
        data = os.read(fd, 4096).decode()
    except OSError:
        break
    if not data:
        break
    for c in data:
        if c == "\r":
            at = 0
        elif c == "\n":
            lines.append("")
        else:
            lines[-1] = lines[-1][:at].ljust(at) + c + lines[-1][at + 1:]
            at += 1
            widest = widest if seen else max(widest, at)
    if not seen and re.search(text, "\n".join(lines)):
        seen = True
        if sig != "none":
            os.kill(pid, getattr(signal, "SIG" + sig))
status = os.waitpid(pid, 0)[1]
for l in lines:
    if l.strip():
        print(l.rstrip())
print(f"columns {widest}, {'seen' if seen else 'not seen'}, status {os.waitstatus_to_exitcode(status)}")
