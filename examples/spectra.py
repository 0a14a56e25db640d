"""Spectra of many recordings: NumPy on the CPU workers, a second implementation where there is a GPU.

Run it as it is; with a CUDA GPU and torch it uses both without a change.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler import HybridExecutor, task

RATE_HZ = 8_000


@task(kind="spectrum", size=len)
def spectrum(samples: npt.NDArray[np.float64]) -> int:
    return int(np.argmax(np.abs(np.fft.rfft(samples)))) * RATE_HZ // len(samples)


@spectrum.on("cuda")
def spectrum_on_gpu(samples: npt.NDArray[np.float64]) -> int:
    import torch

    found = torch.fft.rfft(torch.from_numpy(samples).to("cuda")).abs().argmax()
    return int(found.cpu()) * RATE_HZ // len(samples)


def main() -> None:
    seconds = np.arange(4 * RATE_HZ) / RATE_HZ
    recordings = [np.sin(2 * np.pi * 50 * seconds) + 0.1 * np.cos(2 * np.pi * (200 + n) * seconds) for n in range(40)]
    with HybridExecutor() as executor:
        futures = [executor.submit(spectrum, recording) for recording in recordings]
        peaks = [future.result() for future in futures]
        print("the last one:", executor.explain(futures[-1])["reason"])
    print(f"{len(peaks)} spectra, the loudest at {max(set(peaks), key=peaks.count)} Hz")


if __name__ == "__main__":
    main()
