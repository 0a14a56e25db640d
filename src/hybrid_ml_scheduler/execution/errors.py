"""What can become of a task besides its own result or its own exception."""

from __future__ import annotations

from hybrid_ml_scheduler.core.errors import HmsError

__all__ = ["ExecutionError", "KeptResultLost", "NotTransferable", "RemoteTraceback", "TaskTimeout", "WorkerDied"]


class ExecutionError(HmsError):
    """A task could not be run as asked; the message says why."""


class WorkerDied(ExecutionError):
    """The worker that ran the task ended: killed, crashed or stopped. Other tasks go on."""


class TaskTimeout(ExecutionError, TimeoutError):
    """The task ran longer than its time-out; its worker process was stopped and replaced."""


class NotTransferable(ExecutionError):
    """A function, an argument, a result or an exception cannot be sent between processes."""


class KeptResultLost(ExecutionError):
    """A result that was kept on a device went with the worker that kept it."""


class RemoteTraceback(Exception):
    """The traceback of an exception in a worker, as text; it is the cause of the exception that is raised here."""

    def __init__(self, text: str) -> None:
        super().__init__(text)

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'
