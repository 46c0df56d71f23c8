"""Starts a job of so many ranks, and prints the time until its end as a line of benches/measure.h.

usage: wall.py RANKS COMMAND...     exit status: that of the command
"""

import subprocess
import sys
import time

ranks, *command = sys.argv[1:]
begin = time.perf_counter()
code = subprocess.run(command, check=False).returncode
milliseconds = (time.perf_counter() - begin) * 1e3
if code == 0:
    print(f"init-finalize {ranks} 0 ms {milliseconds:.3f} {milliseconds:.3f} 1 ok")
sys.exit(code if code >= 0 else 128 - code)
