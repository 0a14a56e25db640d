"""Where the history lives: tables, batched writes, queries, export and the cache.

docs/storage.md lists the functions with their signatures and says what they promise.
"""

from __future__ import annotations

from hybrid_ml_scheduler.storage.cache import Cache, CacheHealth, Count, Subscription, open_cache
from hybrid_ml_scheduler.storage.connect.ownership import identity, owned
from hybrid_ml_scheduler.storage.connect.schema import SchemaState, check, upgrade
from hybrid_ml_scheduler.storage.connect.store import Store, open_store, ping
from hybrid_ml_scheduler.storage.errors import NotOwnerError, ReplayError, StorageError, StoreUnavailableError
from hybrid_ml_scheduler.storage.read.adaptation import AroundChange, RegretRow, around_change
from hybrid_ml_scheduler.storage.read.comparison import paired_stretches, run_totals
from hybrid_ml_scheduler.storage.read.decided import DecidedTask, decided_tasks, devices_free
from hybrid_ml_scheduler.storage.read.export import EXPORT_TABLES, ExportFormat, ExportTable, export_bytes, export_file
from hybrid_ml_scheduler.storage.read.history import (
    arrivals_between,
    comparative_history,
    data_counts,
    model_count,
    model_history,
    notification_history,
    results_between,
    task_history,
    training_records,
    training_window,
)
from hybrid_ml_scheduler.storage.read.integrity import integrity
from hybrid_ml_scheduler.storage.read.ledger import ledger
from hybrid_ml_scheduler.storage.read.load import device_load
from hybrid_ml_scheduler.storage.read.parts import (
    ChangeRow,
    PartRow,
    PartsAroundNow,
    QueueRow,
    parts_around_now,
    parts_in_order,
)
from hybrid_ml_scheduler.storage.read.replay import verify_replay
from hybrid_ml_scheduler.storage.read.runs import (
    create_run,
    event_history,
    events_since,
    get_run,
    kept_pictures,
    latest_checkpoint,
    latest_run,
    list_runs,
    next_task_id,
    run_picture,
    set_run_state,
    stored_runs,
)
from hybrid_ml_scheduler.storage.read.statistics import statistics
from hybrid_ml_scheduler.storage.read.trend import trend
from hybrid_ml_scheduler.storage.records import (
    METRICS,
    BusyShares,
    DataCounts,
    HeatCell,
    HistoryCleared,
    Integrity,
    LedgerPage,
    LedgerQuery,
    LedgerRow,
    LedgerSort,
    Metric,
    Order,
    PairedStretches,
    Percentiles,
    RunRecord,
    RunSummary,
    Statistics,
    StoreHealth,
    TaskHistory,
    TrendPoint,
    TrendPoints,
    WriteReport,
    WriterHealth,
)
from hybrid_ml_scheduler.storage.rows import (
    CheckpointRow,
    EventRow,
    ModelRow,
    NotificationRow,
    ResultRow,
    TaskRow,
    TrainingRow,
    result_row,
    result_rows,
    stored_task,
    task_row,
)
from hybrid_ml_scheduler.storage.write.batches import RowBatch
from hybrid_ml_scheduler.storage.write.blocks import FACTS, NUMBERS, ResultColumns, TaskBlock
from hybrid_ml_scheduler.storage.write.housekeeping import apply_retention, clear_history
from hybrid_ml_scheduler.storage.write.measured import MEASURED, begin_measured_run, note_measured_run
from hybrid_ml_scheduler.storage.write.run_changes import describe_run, keep_picture, remove_run
from hybrid_ml_scheduler.storage.write.summaries import STRETCH_TASKS
from hybrid_ml_scheduler.storage.write.transaction import write_batch
from hybrid_ml_scheduler.storage.write.writer import StoreWriter

__all__ = [
    "EXPORT_TABLES",
    "FACTS",
    "MEASURED",
    "METRICS",
    "NUMBERS",
    "STRETCH_TASKS",
    "AroundChange",
    "BusyShares",
    "Cache",
    "CacheHealth",
    "ChangeRow",
    "CheckpointRow",
    "Count",
    "DataCounts",
    "DecidedTask",
    "EventRow",
    "ExportFormat",
    "ExportTable",
    "HeatCell",
    "HistoryCleared",
    "Integrity",
    "LedgerPage",
    "LedgerQuery",
    "LedgerRow",
    "LedgerSort",
    "Metric",
    "ModelRow",
    "NotOwnerError",
    "NotificationRow",
    "Order",
    "PairedStretches",
    "PartRow",
    "PartsAroundNow",
    "Percentiles",
    "QueueRow",
    "RegretRow",
    "ReplayError",
    "ResultColumns",
    "ResultRow",
    "RowBatch",
    "RunRecord",
    "RunSummary",
    "SchemaState",
    "Statistics",
    "StorageError",
    "Store",
    "StoreHealth",
    "StoreUnavailableError",
    "StoreWriter",
    "Subscription",
    "TaskBlock",
    "TaskHistory",
    "TaskRow",
    "TrainingRow",
    "TrendPoint",
    "TrendPoints",
    "WriteReport",
    "WriterHealth",
    "apply_retention",
    "around_change",
    "arrivals_between",
    "begin_measured_run",
    "check",
    "clear_history",
    "comparative_history",
    "create_run",
    "data_counts",
    "decided_tasks",
    "describe_run",
    "device_load",
    "devices_free",
    "event_history",
    "events_since",
    "export_bytes",
    "export_file",
    "get_run",
    "identity",
    "integrity",
    "keep_picture",
    "kept_pictures",
    "latest_checkpoint",
    "latest_run",
    "ledger",
    "list_runs",
    "model_count",
    "model_history",
    "next_task_id",
    "note_measured_run",
    "notification_history",
    "open_cache",
    "open_store",
    "owned",
    "paired_stretches",
    "parts_around_now",
    "parts_in_order",
    "ping",
    "remove_run",
    "result_row",
    "result_rows",
    "results_between",
    "run_picture",
    "run_totals",
    "set_run_state",
    "statistics",
    "stored_runs",
    "stored_task",
    "task_history",
    "task_row",
    "training_records",
    "training_window",
    "trend",
    "upgrade",
    "verify_replay",
    "write_batch",
]
