"""Joules and dollars of busy device time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.physics.node import CostModel, Node

__all__ = ["JOULES_PER_KWH", "Tariff", "electricity_usd", "joules", "rental_usd"]

JOULES_PER_KWH = 3_600_000.0
Seconds = TypeVar("Seconds", float, FloatColumn)


def joules(cpu_part_s: Seconds, gpu_part_s: Seconds, cpu_power_w: float, gpu_power_w: Seconds) -> Seconds:
    """Energy of the parts of a task: seconds times the power of the device that ran them."""
    return cpu_part_s * cpu_power_w + gpu_part_s * gpu_power_w


def rental_usd(cpu_part_s: Seconds, gpu_part_s: Seconds, cpu_price: float, gpu_price: Seconds) -> Seconds:
    """Rent of the parts of a task: seconds times the price of the device that ran them."""
    return cpu_part_s * cpu_price + gpu_part_s * gpu_price


def electricity_usd(energy_j: Seconds, usd_kwh: float) -> Seconds:
    """The price of energy."""
    return energy_j / JOULES_PER_KWH * usd_kwh


class Tariff:
    """Energy and cost on one node; index -1 (no GPU) counts as 0 W and 0 $."""

    def __init__(self, node: Node) -> None:
        slots = node.cpu.slots  # a part has one of them, and its share of the CPU's power and price
        self._cpu_power_w, self._cpu_price_usd_s = node.cpu.power_w / slots, node.cpu.price_usd_s / slots
        self._electric = node.cost_model == CostModel.ELECTRICITY
        self._usd_kwh = node.electricity_usd_kwh
        # The last entry answers for "no GPU", so that index -1 needs no branch.
        self._gpu_power = [*(gpu.power_w for gpu in node.gpus), 0.0]
        self._gpu_price = [*(gpu.price_usd_s for gpu in node.gpus), 0.0]
        self._power_column = np.array(self._gpu_power)
        self._price_column = np.array(self._gpu_price)

    def charges(self, cpu_part_s: float, gpu_part_s: float, gpu: int) -> tuple[float, float]:
        """Joules and dollars of one task at once."""
        energy = joules(cpu_part_s, gpu_part_s, self._cpu_power_w, self._gpu_power[gpu])
        if self._electric:
            return energy, electricity_usd(energy, self._usd_kwh)
        return energy, rental_usd(cpu_part_s, gpu_part_s, self._cpu_price_usd_s, self._gpu_price[gpu])

    def gang_charges(self, gpu_part_s: float, gpus: Sequence[int]) -> tuple[float, float]:
        """Joules and dollars of a task that held several GPUs, the leader first."""
        energy = joules(0.0, gpu_part_s, self._cpu_power_w, sum(self._gpu_power[gpu] for gpu in gpus))
        if self._electric:
            return energy, electricity_usd(energy, self._usd_kwh)
        price = sum(self._gpu_price[gpu] for gpu in gpus)
        return energy, rental_usd(0.0, gpu_part_s, self._cpu_price_usd_s, price)

    def energy_j(self, cpu_part_s: float, gpu_part_s: float, gpu: int) -> float:
        """Joules of one task."""
        return self.charges(cpu_part_s, gpu_part_s, gpu)[0]

    def cost_usd(self, cpu_part_s: float, gpu_part_s: float, gpu: int) -> float:
        """Dollars of one task by the cost model in force."""
        return self.charges(cpu_part_s, gpu_part_s, gpu)[1]

    def columns(
        self, cpu_part_s: FloatColumn, gpu_part_s: FloatColumn, gpu: np.ndarray, gang: np.ndarray | None = None
    ) -> tuple[FloatColumn, FloatColumn, FloatColumn]:
        """Joules, rent and electricity of many tasks; `gang` holds the further GPUs of each (-1: none), if any."""
        power, price = self._power_column[gpu], self._price_column[gpu]
        for further in () if gang is None else gang.T:
            power, price = power + self._power_column[further], price + self._price_column[further]
        energy = joules(cpu_part_s, gpu_part_s, self._cpu_power_w, power)
        rent = rental_usd(cpu_part_s, gpu_part_s, self._cpu_price_usd_s, price)
        return energy, rent, electricity_usd(energy, self._usd_kwh)

    @property
    def charges_electricity(self) -> bool:
        """Whether `cost` means the electricity bill."""
        return self._electric
