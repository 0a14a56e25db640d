"""What the process that forks the workers imports before it serves, so that every worker has it already.

Ctrl-C, or the death of the command, must end that process without a word even while it imports: Python's own
server would show a traceback, or fork a worker that finds its command gone and shows one. Imported anywhere
else, this module does nothing but the imports.
"""

from __future__ import annotations

import os
import signal

from hybrid_ml_scheduler.studies.engines import PARENT

_parent = os.environ.pop(PARENT, None)

if _parent is not None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # It was started deaf to the signal; one that has come meanwhile ends it here.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])

import hybrid_ml_scheduler.studies.trials  # noqa: E402, F401 - the point of this module

if _parent is not None and os.getppid() != int(_parent):
    raise SystemExit
