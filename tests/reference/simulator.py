"""The clocked node: explicit queues, explicit events, one strategy (clauses C1, C2 and C3)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from hybrid_ml_scheduler.core import Task, TaskBatch
from hybrid_ml_scheduler.physics.node import CoExecution, Node
from tests.reference import formulas
from tests.reference.strategies import Strategy, View


@dataclass
class Record:
    """Everything that is known about one task at the end; NaN where it never happened."""

    task: Task
    duration_factor: float
    decided: int = -1
    fraction: float = 0.0
    gpu: int = -1
    gang: list[int] = field(default_factory=list)
    rounded: bool = False
    ready_s: float = math.nan
    start_s: float = math.nan
    finish_s: float = math.nan
    cpu_s: float = 0.0
    gpu_s: float = 0.0
    execution_s: float = math.nan
    energy_j: float = 0.0
    cost_usd: float = 0.0
    out_of_memory: bool = False
    failed: bool = False
    parts_left: int = 0
    cpu_part_done: bool = True
    intervals: list[tuple[int, float, float]] = field(default_factory=list)


@dataclass
class QueuedPart:
    """A part that stands in a device's queue: what is believed about it, and what will be true."""

    record: Record
    estimate_s: float
    actual_s: float
    gate_s: float = -math.inf
    needs_cpu_part: bool = False
    devices: list[int] = field(default_factory=list)
    start_s: float = math.nan
    promised_s: float = math.nan


@dataclass
class Device:
    """One device: the part it runs and the parts that wait, first in, first out."""

    running: QueuedPart | None = None
    queue: list[QueuedPart] = field(default_factory=list)

    def believed_free_s(self, now: float) -> float:
        """When the device is free, as an online scheduler would reckon it: promises move with the first part."""
        parts = self.parts()
        if not parts:
            return now
        end = self.first_end_s(now)
        return max(end, parts[-1].promised_s + (end - parts[0].promised_s))

    def first_end_s(self, now: float) -> float:
        """When the part that runs, or is next to run, will be done, as far as one can tell."""
        first = self.parts()[0]
        if self.running is not None:
            return max(now, first.start_s + first.estimate_s)
        return max(now, first.gate_s) + first.estimate_s

    def parts(self) -> list[QueuedPart]:
        """Whatever runs or waits, in order."""
        return [*([] if self.running is None else [self.running]), *self.queue]

    def join(self, part: QueuedPart, now: float) -> None:
        """Queue a part; it is promised its estimated seconds behind what was promised last, or behind its gate.

        All promises move with the first part, a gate does not: it is set back by what the first part is late.
        """
        before = self.parts()
        if before:
            late = self.first_end_s(now) - before[0].promised_s
            part.promised_s = max(before[-1].promised_s, part.gate_s - late) + part.estimate_s
        else:
            part.promised_s = max(now, part.gate_s) + part.estimate_s
        self.queue.append(part)


class Reference:
    """One strategy on one node, run to the end; one that sees no part end keeps a list of what it believes."""

    def __init__(self, batch: TaskBatch, node: Node, strategy: Strategy, *, sees_ends: bool = True) -> None:
        self.node, self.strategy, self.sees_ends = node, strategy, sees_ends
        self.serial = node.co_execution == CoExecution.SERIAL
        self.records = {
            task.task_id: Record(task=task, duration_factor=float(batch.duration_factor[row]))
            for row, task in enumerate(batch)
        }
        self.devices = [Device() for _ in range(node.num_gpus + node.cpu.slots)]
        self.slots = [0, *range(node.num_gpus + 1, len(self.devices))]
        self.believed_ends = [0.0] * len(self.devices)
        self.undecided = set(self.records)
        self.decisions = 0

    def run(self) -> list[Record]:
        """Repeat: everything that finishes now, then the one ready task with the lowest id, then move the clock."""
        now = 0.0
        while True:
            self.finish_parts(now)
            ready = [task_id for task_id in self.undecided if self.ready_s(task_id) <= now]
            if ready:
                self.decide(min(ready), now)
                continue
            upcoming = [self.ready_s(task_id) for task_id in self.undecided]
            upcoming += [part.start_s + part.actual_s for device in self.devices if (part := device.running)]
            if not upcoming or min(upcoming) == math.inf:
                return list(self.records.values())
            now = min(upcoming)

    def ready_s(self, task_id: int) -> float:
        """Arrived and every parent finished; infinity while that is not yet known."""
        record = self.records[task_id]
        moments = [record.task.arrival_time]
        for parent in record.task.dependencies:
            finish = self.records[parent].finish_s
            moments.append(math.inf if math.isnan(finish) else finish)
        return max(moments)

    def finish_parts(self, now: float) -> None:
        """Take off all parts that end by now and start what may start, until nothing changes."""
        changed = True
        while changed:
            changed = False
            for index, device in enumerate(self.devices):
                part = device.running
                if part is not None and part.start_s + part.actual_s <= now:
                    device.running = None
                    self.end_part(index, part, now)
                    changed = True
                changed = self.start_next(device, now) or changed

    def end_part(self, index: int, part: QueuedPart, now: float) -> None:
        record = part.record
        record.intervals.append((index, part.start_s, now))
        record.parts_left -= 1
        if index in self.slots:
            record.cpu_part_done = True
        if record.parts_left == 0:
            record.finish_s = now

    def start_next(self, device: Device, now: float) -> bool:
        """Start the head of the queue if the device is free and the part need not wait for its other half."""
        if device.running is not None or not device.queue:
            return False
        head = device.queue[0]
        if head.needs_cpu_part and not head.record.cpu_part_done:
            return False
        together = [self.devices[index] for index in head.devices] or [device]
        if any(one.running or not one.queue or one.queue[0].record is not head.record for one in together):
            return False
        for one in together:
            one.running = one.queue.pop(0)
            one.running.start_s = now
        head.record.start_s = now if math.isnan(head.record.start_s) else min(head.record.start_s, now)
        return True

    def decide(self, task_id: int, now: float) -> None:
        record = self.records[task_id]
        self.undecided.discard(task_id)
        believed = [device.believed_free_s(now) - now for device in self.devices]
        if not self.sees_ends:
            believed = [max(end, now) - now for end in self.believed_ends]
        alone, width = believed[1 : 1 + self.node.num_gpus], record.task.gpus_required
        cpu = min(believed[slot] for slot in self.slots)
        gangs = [formulas.gang(self.node, width, lead, alone) for lead in range(len(alone))]
        together = [max(alone[one] for one in gang) for gang in gangs]
        fraction, gpu = self.strategy(record.task, View(self.node, cpu, together))
        task = record.task
        record.rounded = fraction < 1.0 and (task.gpu_only or (not task.divisible and fraction > 0.0))
        record.gang = gangs[gpu]
        record.decided, self.decisions = self.decisions, self.decisions + 1
        record.ready_s = self.ready_s(task_id)
        part = formulas.split(self.node, record.task, fraction, gpu)
        record.out_of_memory, record.fraction = part.out_of_memory, part.fraction
        record.gpu = gpu if part.fraction > 0.0 and not part.failed else -1
        if part.failed:
            self.fail(task_id)
        else:
            self.enqueue(record, part, now)

    def fail(self, task_id: int) -> None:
        """A failed task takes its descendants with it; none of them is ever decided."""
        self.records[task_id].failed = True
        self.undecided.discard(task_id)
        for child, record in self.records.items():
            if task_id in record.task.dependencies and not record.failed:
                self.fail(child)

    def enqueue(self, record: Record, part: formulas.Split, now: float) -> None:
        """Queue both parts at the decision; in serial mode the GPU part must let the CPU part go first."""
        record.cpu_s, record.gpu_s = part.cpu_s * record.duration_factor, part.gpu_s * record.duration_factor
        gate = -math.inf
        self.believe(record, part, now)
        if part.fraction < 1.0:
            record.parts_left, record.cpu_part_done = 1, False
            gate = min(self.devices[slot].believed_free_s(now) for slot in self.slots) + part.cpu_s
            self.devices[self.first_slot(now)].join(QueuedPart(record, part.cpu_s, record.cpu_s), now)
        if part.fraction > 0.0:
            waits = self.serial and part.fraction < 1.0
            gate = gate if waits else -math.inf
            devices = [1 + one for one in record.gang] if len(record.gang) > 1 else [1 + record.gpu]
            if len(devices) > 1:
                gate = max(self.devices[one].believed_free_s(now) for one in devices)
            for one in devices:
                record.parts_left += 1
                self.devices[one].join(QueuedPart(record, part.gpu_s, record.gpu_s, gate, waits, devices), now)
        record.execution_s = record.cpu_s + record.gpu_s if self.serial else max(record.cpu_s, record.gpu_s)
        gpus = (record.gang or [record.gpu]) if part.fraction > 0.0 else []
        record.energy_j = formulas.energy_j(self.node, record.cpu_s, record.gpu_s, gpus)
        record.cost_usd = formulas.cost_usd(self.node, record.cpu_s, record.gpu_s, gpus)

    def believe(self, record: Record, part: formulas.Split, now: float) -> None:
        """Add the believed seconds to what each device is believed to have to do; nothing is taken back later."""
        ends, cpu_end = self.believed_ends, now
        if part.fraction < 1.0:
            slot = min(self.slots, key=lambda one: ends[one])
            ends[slot] = cpu_end = max(ends[slot], now) + part.cpu_s
        if part.fraction > 0.0:
            devices = [1 + one for one in record.gang] if len(record.gang) > 1 else [1 + record.gpu]
            begin = max(now, *(ends[one] for one in devices))
            begin = max(begin, cpu_end) if self.serial else begin
            for one in devices:
                ends[one] = begin + part.gpu_s

    def first_slot(self, now: float) -> int:
        """The slot of the CPU that will be free first; nothing but their queues holds parts on the CPU up."""

        def free_s(slot: int) -> float:
            end = now
            for part in self.devices[slot].parts():
                end = (end if math.isnan(part.start_s) else part.start_s) + part.actual_s
            return end

        return min(self.slots, key=free_s)


def simulate(batch: TaskBatch, node: Node, strategy: Strategy, *, sees_ends: bool = True) -> list[Record]:
    """Run the whole batch on the node; one record a task, in the order of the batch."""
    return Reference(batch, node, strategy, sees_ends=sees_ends).run()
