"""Durations, memory, energy and money, as the clauses P1 to P7 say it (plain floats, no tricks)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hybrid_ml_scheduler.core import Task
from hybrid_ml_scheduler.physics.node import CoExecution, CostModel, Gpu, MemoryRule, Node, SpeedupLaw

JOULES_PER_KWH = 3_600_000.0


@dataclass(frozen=True)
class Split:
    """What a share turns into once the memory rule has spoken; seconds without noise."""

    fraction: float
    cpu_s: float
    gpu_s: float
    out_of_memory: bool
    failed: bool


def base_s(task: Task) -> float:
    """P1: (N / 1000) ^ 1.5 / (I + 0.5), the power written as r times its root."""
    ratio = task.size / 1000.0
    return ratio * math.sqrt(ratio) / (task.compute_intensity + 0.5)


def speedup(node: Node, intensity: float) -> float:
    """P2: linear by default, Amdahl as the alternative."""
    if node.speedup_law == SpeedupLaw.LINEAR:
        return 1.0 + (node.max_speedup - 1.0) * intensity
    return 1.0 / ((1.0 - intensity) + intensity / node.max_speedup)


def cpu_s(node: Node, task: Task) -> float:
    """The whole task on the CPU: measured, else from a measured GPU time and the speed-up, else by the formula."""
    if task.cpu_time is not None:
        seconds = task.cpu_time
    elif task.gpu_time is not None:
        seconds = task.gpu_time * (speedup(node, task.compute_intensity) * task.speedup_factor)
    else:
        seconds = base_s(task)
    return seconds / node.cpu.speed


def type_speed(gpu: Gpu, task: Task) -> float:
    """P10: how many times faster a GPU is than the one described, geometric between intensity 0 and 1."""
    dense, intensity = gpu.fp32_speed if task.fp32 else gpu.dense_speed, task.compute_intensity
    if dense == gpu.stream_speed == 1.0:
        return 1.0
    return math.exp(intensity * math.log(dense) + (1.0 - intensity) * math.log(gpu.stream_speed))


def gpu_s(node: Node, task: Task, gpu: Gpu, *, paging: bool) -> float:
    """The whole task on one GPU, transfer and launch included; a measured time holds all of it.

    Where only the CPU time is measured, the speed-up takes it to the GPU.

    Paging divides the bandwidth by the slowdown: the transfer takes (slowdown - 1) times its usual seconds more.
    Said this way it holds for measured times too, which contain a transfer of unknown length.
    """
    transfer = task.memory_required / gpu.bandwidth_mb_s
    if task.gpu_time is not None:
        fitting = task.gpu_time / gpu.speed
    else:
        gain = speedup(node, task.compute_intensity)
        if task.cpu_time is not None:
            gain = gain * task.speedup_factor
        work = base_s(task) if task.cpu_time is None else task.cpu_time
        compute = work / (gain * type_speed(gpu, task) * gpu.speed)
        fitting = compute + transfer + gpu.launch_s
    return fitting + transfer * (node.paging_slowdown - 1.0) if paging else fitting


def kind(gpu: Gpu) -> tuple[object, ...]:
    """GPUs of one kind take the same time for every task."""
    return (gpu.type, gpu.speed, gpu.bandwidth_mb_s, gpu.launch_s, gpu.dense_speed, gpu.stream_speed, gpu.fp32_speed)


def pool(node: Node, width: int, lead: int) -> list[int]:
    """W13: the GPUs that a gang led by this one may be given: those of its kind, or all where they are too few."""
    alike = [one for one, gpu in enumerate(node.gpus) if kind(gpu) == kind(node.gpus[lead])]
    return alike if len(alike) >= width else list(range(len(node.gpus)))


def gang(node: Node, width: int, lead: int, backlogs: list[float]) -> list[int]:
    """W13: the leader, then the others that are free earliest, by rising id."""
    others = sorted((backlogs[one], one) for one in pool(node, width, lead) if one != lead)
    return [lead, *sorted(one for _, one in others[: width - 1])]


def gang_gpu_s(node: Node, task: Task, gpu: int, *, paging: bool) -> float:
    """The seconds on one GPU, or of a gang that it leads: over several kinds at the pace of the slowest."""
    width, count = task.gpus_required, len(node.gpus)
    mixed = width > sum(kind(one) == kind(node.gpus[gpu]) for one in node.gpus)
    used = range(count) if mixed else [gpu]
    return max(gpu_s(node, task, node.gpus[one], paging=paging) for one in used)


def split(node: Node, task: Task, fraction: float, gpu: int) -> Split:
    """P4 and P7: the two parts of a share on one GPU, or what the memory rule makes of it."""
    whole_on_cpu = cpu_s(node, task)
    if task.gpus_required == 0:
        return Split(0.0, whole_on_cpu, 0.0, False, False)
    if task.gpu_only:
        fraction = 1.0
    elif not task.divisible:
        fraction = 1.0 if fraction >= 0.5 else 0.0
    if fraction == 0.0:
        return Split(0.0, whole_on_cpu, 0.0, False, False)
    given = [gpu] if task.gpus_required == 1 else pool(node, task.gpus_required, gpu)
    room = min(node.gpus[one].memory_mb for one in given)
    too_big = fraction * task.memory_required > room
    if too_big and task.gpu_only and node.memory_rule != MemoryRule.PAGE:
        return Split(1.0, 0.0, 0.0, True, True)
    if too_big and node.memory_rule == MemoryRule.CPU:
        return Split(0.0, whole_on_cpu, 0.0, True, False)
    if too_big and node.memory_rule == MemoryRule.FAIL:
        return Split(fraction, 0.0, 0.0, True, True)
    on_gpu = fraction * gang_gpu_s(node, task, gpu, paging=too_big)
    on_cpu = 0.0 if fraction == 1.0 else (1.0 - fraction) * whole_on_cpu
    return Split(fraction, on_cpu, on_gpu, too_big, False)


def execution_s(node: Node, part: Split) -> float:
    """P4: the longer part, or the sum of both; a split that fails never finishes."""
    if part.failed:
        return math.inf
    if node.co_execution == CoExecution.SERIAL:
        return part.cpu_s + part.gpu_s
    return max(part.cpu_s, part.gpu_s)


def energy_j(node: Node, cpu_part_s: float, gpu_part_s: float, gpus: list[int]) -> float:
    """P5: part seconds times the power of the devices; a slot has its share of the CPU's."""
    energy = cpu_part_s * (node.cpu.power_w / node.cpu.slots)
    return energy + gpu_part_s * sum(node.gpus[gpu].power_w for gpu in gpus) if gpus else energy


def cost_usd(node: Node, cpu_part_s: float, gpu_part_s: float, gpus: list[int]) -> float:
    """P6: rent of the devices, or the price of the electricity."""
    if node.cost_model == CostModel.ELECTRICITY:
        return energy_j(node, cpu_part_s, gpu_part_s, gpus) / JOULES_PER_KWH * node.electricity_usd_kwh
    cost = cpu_part_s * (node.cpu.price_usd_s / node.cpu.slots)
    return cost + gpu_part_s * sum(node.gpus[gpu].price_usd_s for gpu in gpus) if gpus else cost
