"""The hand-written gradients and the optimiser, held to autograd."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from hybrid_ml_scheduler.core import stream
from hybrid_ml_scheduler.learning import Transitions, network

SHAPE = (7, 32, 4)
UNIT = 3.0
Singles = npt.NDArray[np.float32]


def _batch(rng: np.random.Generator, rows: int = 16) -> Transitions:
    inputs, _, actions = SHAPE
    return Transitions(
        rng.standard_normal((rows, inputs)).astype(np.float32),
        rng.uniform(0.1, 2.0, rows).astype(np.float32),
        rng.integers(0, actions, rows),
        rng.standard_normal(rows).astype(np.float32),
        rng.uniform(0.0, 1.0, rows).astype(np.float32),
        rng.standard_normal((rows, inputs)).astype(np.float32),
        rng.uniform(0.1, 2.0, rows).astype(np.float32),
        rng.standard_normal((rows, actions)).astype(np.float32),
    )


def _torch_q(layers: dict[str, torch.Tensor], states: Singles, scales: Singles) -> torch.Tensor:
    first = torch.relu(torch.from_numpy(states) @ layers["hidden1.weight"] + layers["hidden1.bias"])
    second = torch.relu(first @ layers["hidden2.weight"] + layers["hidden2.bias"])
    out = second @ layers["head.weight"] + layers["head.bias"]
    advantage = out[:, 1:] - out[:, 1:].mean(dim=1, keepdim=True)
    return UNIT * out[:, :1] + torch.from_numpy(scales)[:, None] * advantage


def _as_torch(weights: Singles, *, grad: bool) -> dict[str, torch.Tensor]:
    named = network.named_layers(weights, SHAPE)
    return {name: torch.tensor(layer.copy(), requires_grad=grad) for name, layer in named.items()}


def test_gradients_by_hand_equal_those_of_autograd() -> None:
    rng = stream(1, "test", "network")
    weights, target = network.initial_weights(SHAPE, rng), network.initial_weights(SHAPE, rng)
    batch = _batch(rng)
    states, scales, actions, rewards, discounts, next_states, next_scales, next_priors = batch
    gradient, loss = network.td_gradient(weights, target, UNIT, SHAPE[1], batch)

    layers = _as_torch(weights, grad=True)
    with torch.no_grad():
        online = _torch_q(layers, next_states, next_scales) + torch.from_numpy(next_priors)
        frozen = _torch_q(_as_torch(target, grad=False), next_states, next_scales) + torch.from_numpy(next_priors)
        best = frozen.gather(1, online.argmax(dim=1, keepdim=True))[:, 0]
        goal = torch.from_numpy(rewards) + torch.from_numpy(discounts) * best
    taken = _torch_q(layers, states, scales).gather(1, torch.from_numpy(actions)[:, None])[:, 0]
    expected = torch.nn.functional.smooth_l1_loss(taken, goal)
    names = list(layers)
    gradients = dict(zip(names, torch.autograd.grad(expected, [layers[name] for name in names]), strict=True))

    assert abs(loss - expected.item()) < 1e-5
    for name, mine in network.named_layers(gradient, SHAPE).items():
        np.testing.assert_allclose(mine, gradients[name].numpy(), atol=2e-5, rtol=1e-4)


def test_adam_by_hand_equals_torchs() -> None:
    rng = stream(2, "test", "network")
    weights, target = network.initial_weights(SHAPE, rng), network.initial_weights(SHAPE, rng)
    flat = torch.tensor(weights.copy(), requires_grad=True)
    optimiser = torch.optim.Adam([flat], lr=1e-2)
    mean, square, shares = np.zeros_like(weights), np.zeros_like(weights), np.ones_like(weights)
    for step in range(1, 6):
        batch = _batch(rng)
        gradient, _ = network.td_gradient(weights, target, UNIT, SHAPE[1], batch)
        flat.grad = torch.tensor(gradient.copy())
        optimiser.step()
        network.td_step(weights, target, mean, square, step, 1e-2, shares, UNIT, SHAPE[1], False, batch)
    np.testing.assert_allclose(weights, flat.detach().numpy(), atol=1e-5)


def test_one_state_and_a_batch_have_the_same_q() -> None:
    rng = stream(3, "test", "network")
    weights = network.initial_weights(SHAPE, rng)
    states, scales = _batch(rng)[:2]
    together = network.q_values(weights, states, scales, UNIT, SHAPE[1], SHAPE[2])
    one = np.empty(SHAPE[2], dtype=np.float32)
    for row in range(len(states)):
        network.q_vector(weights, states[row], scales[row], UNIT, SHAPE[1], one)
        np.testing.assert_allclose(one, together[row], atol=1e-5)


def test_regression_learns_known_values_and_advantages() -> None:
    rng = stream(4, "test", "network")
    weights = network.initial_weights(SHAPE, rng)
    mean, square, shares = np.zeros_like(weights), np.zeros_like(weights), np.ones_like(weights)
    states = rng.standard_normal((64, SHAPE[0])).astype(np.float32)
    values, advantages = states[:, 0].copy(), states[:, 1 : 1 + SHAPE[2]].copy()
    losses = [
        network.regression_step(weights, mean, square, step, 3e-3, shares, SHAPE[1], states, values, advantages)
        for step in range(1, 400)
    ]
    assert losses[-1] < losses[0] / 10


def test_a_step_of_the_head_alone_equals_a_full_step_with_fixed_hidden_layers_bit_for_bit() -> None:
    rng = stream(5, "test", "network")
    start, shares = network.initial_weights(SHAPE, rng), network.rate_shares(SHAPE, trunk=0.0, advantage=0.5)
    target = start.copy()
    target[network.head_begin(*SHAPE[:2]) :] += np.float32(0.1)
    batches = [_batch(rng) for _ in range(5)]
    ends = []
    for head_only in (False, True):
        weights, mean, square = start.copy(), np.zeros_like(start), np.zeros_like(start)
        losses = [
            network.td_step(weights, target, mean, square, step, 1e-2, shares, UNIT, SHAPE[1], head_only, batch)
            for step, batch in enumerate(batches, start=1)
        ]
        ends.append((weights.tobytes(), losses))
    assert ends[0] == ends[1]
    assert ends[0][0] != start.tobytes()
