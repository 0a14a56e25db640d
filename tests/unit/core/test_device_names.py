"""Where a task runs, in words that tell which GPUs it held."""

from __future__ import annotations

import pytest

from hybrid_ml_scheduler.core import NO_GPU, device_name, held_gpus, stream


@pytest.mark.parametrize(
    ("gpu", "gang", "name"),
    [
        (2, (), "gpu_2"),
        (2, (0,), "gpu_0+gpu_2"),
        (1, (0, 3), "gpu_0+gpu_1+gpu_3"),
        (1, (0, 2, 3), "gpu_0-3"),
        (6, (0, 1, 2, 8), "gpu_0-2,6,8"),
        (0, tuple(range(2, 64, 2)), "gpus 5555555555555555"),
    ],
)
def test_a_gang_is_named_whole_in_few_characters(gpu: int, gang: tuple[int, ...], name: str) -> None:
    assert device_name(gpu, 1.0, gang) == name
    assert held_gpus(gpu, name) == (gpu, *gang)


def test_every_gang_is_found_again_in_a_name_that_fits_its_column() -> None:
    rng = stream(0, "gangs")
    for _ in range(300):
        lead, *gang = rng.choice(64, size=int(rng.integers(1, 65)), replace=False).tolist()
        name = device_name(lead, 1.0, gang)
        assert len(name) <= 32
        assert held_gpus(lead, name) == (lead, *sorted(gang))


def test_other_names_tell_one_gpu_or_none() -> None:
    assert held_gpus(NO_GPU, device_name(NO_GPU, 0.0)) == ()
    assert held_gpus(3, device_name(3, 0.4)) == (3,)
    assert held_gpus(1, "gpu_0 and 3 more") == (1, 0)  # as older rows name a gang: not all of it is known
