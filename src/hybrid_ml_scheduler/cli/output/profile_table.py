"""The tables that `hms profile` prints."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from hybrid_ml_scheduler.cli.output.show import page
from hybrid_ml_scheduler.hardware import DeviceProfile, Profile, Series

__all__ = ["show"]


def show(profile: Profile, out: Path) -> None:
    """Print what was measured: work over sizes, transfers, single readings, notes."""
    console = page()
    console.print(_work(profile))
    if profile.gpu is not None:
        console.print(_transfers(profile.gpu))
    for label, device in (("CPU", profile.cpu), ("GPU", profile.gpu)):
        for name, found in device.readings.items() if device is not None else ():
            value = f"{found.median * 1e6:.1f} µs" if found.unit == "s" else f"{found.median:.1f} {found.unit}"
            console.print(f"{label} {name.replace('_', ' ')}: {value}", highlight=False)
    for note in profile.notes:
        console.print(f"note  {note}", highlight=False)
    console.print(f"Written to {out}.", highlight=False)
    if profile.gpu is None:
        console.print("No GPU was measured: this profile describes the CPU only and cannot carry a race.")


def _work(profile: Profile) -> Table:
    table = Table(title=f"{profile.cpu.name}" + (f" and {profile.gpu.name}" if profile.gpu else ""))
    headings = ["size N", "CPU product", "CPU streaming"]
    columns = [profile.cpu.series["matmul"].medians, profile.cpu.series["stream"].medians]
    if profile.gpu is not None:
        headings += ["GPU product", "GPU streaming", "GPU lone product"]
        columns += [profile.gpu.series[name].medians for name in ("matmul", "stream", "matmul_alone")]
    for heading in [*headings, *(["speed-up"] if profile.gpu else [])]:
        table.add_column(heading, justify="right")
    for size in sorted(set().union(*columns)):
        cells = [_seconds(column.get(size)) for column in columns]
        if profile.gpu is not None:
            cells.append(_ratio(columns[0].get(size), columns[-1].get(size)))
        table.add_row(f"{size:g}", *cells)
    return table


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value * 1e6:,.1f} µs" if value < 0.001 else f"{value * 1e3:,.2f} ms"


def _ratio(cpu_s: float | None, gpu_s: float | None) -> str:
    return "–" if cpu_s is None or gpu_s is None else f"{cpu_s / gpu_s:.2f}"


def _transfers(gpu: DeviceProfile) -> Table:
    found = {name: series for name, series in gpu.series.items() if series.axis == "bytes"}
    table = Table(title="Transfers, GB/s")
    table.add_column("bytes", justify="right")
    for name in found:
        table.add_column(name.removeprefix("transfer_").replace("_", " "), justify="right")
    for at in sorted(set().union(*(series.medians for series in found.values()))):
        table.add_row(f"{at:,.0f}", *(_rate(series, at) for series in found.values()))
    return table


def _rate(series: Series, at: float) -> str:
    return f"{at / series.medians[at] / 1e9:.2f}" if at in series.medians else "–"
