"""A dueling Q-network in plain single-precision arrays: forward pass, gradients by hand, Adam.

All weights lie in one flat vector, so that Adam, the target network and a model file each deal with one array.
Layers: inputs -> hidden -> hidden -> [value, advantages]; Q = unit x value + scale x (advantage - mean advantage).
`unit` is one number for the network, `scale` one for each state: a learner whose actions matter more in some
states than in others (a long task, a short one) can then give all of them advantages of one size.
Decisions go through a compiled matrix-vector pass; updates use single-threaded BLAS from compiled code.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.learning.replay import Ints, Transitions

__all__ = [
    "Shape",
    "head_begin",
    "initial_weights",
    "named_layers",
    "q_values",
    "q_vector",
    "rate_shares",
    "regression_step",
    "td_step",
]

Singles = npt.NDArray[np.float32]
Shape = tuple[int, int, int]
Layers = tuple[Singles, Singles, Singles, Singles, Singles, Singles]

BETA_1, BETA_2, EPSILON = np.float32(0.9), np.float32(0.999), np.float32(1e-8)
TINY = np.float32(1e-30)


@cache
def one_blas_thread() -> None:
    """Keep BLAS on one thread: at this size of network a second one costs far more than it gives."""
    import scipy.linalg  # noqa: F401  (compiled code calls the BLAS that it brings)
    import threadpoolctl

    threadpoolctl.threadpool_limits(limits=1, user_api="blas")


@compiled(nogil=True)
def layers(weights: Singles, inputs: int, hidden: int, actions: int) -> Layers:
    """The six arrays of the network as views of the flat vector."""
    outputs = actions + 1
    a = inputs * hidden
    b = a + hidden
    c = b + hidden * hidden
    d = c + hidden
    e = d + hidden * outputs
    return (
        weights[:a].reshape(inputs, hidden),
        weights[a:b],
        weights[b:c].reshape(hidden, hidden),
        weights[c:d],
        weights[d:e].reshape(hidden, outputs),
        weights[e : e + outputs],
    )


@compiled(nogil=True)
def head_begin(inputs: int, hidden: int) -> int:
    """Where the head's weights begin in the flat vector; before them lie the hidden layers."""
    return (inputs + 1) * hidden + (hidden + 1) * hidden


def named_layers(weights: Singles, shape: Shape) -> dict[str, Singles]:
    """The same views under names, for model files and for comparison with other frameworks."""
    names = ("hidden1.weight", "hidden1.bias", "hidden2.weight", "hidden2.bias", "head.weight", "head.bias")
    return dict(zip(names, layers(weights, *shape), strict=True))


def rate_shares(shape: Shape, trunk: float, advantage: float) -> Singles:
    """One factor for the rate of every weight: the hidden layers, the advantages; the value counts 1."""
    inputs, hidden, actions = shape
    shares = np.ones(inputs * hidden + hidden + hidden * hidden + hidden + (hidden + 1) * (actions + 1), np.float32)
    for name, layer in named_layers(shares, shape).items():
        if name.startswith("hidden"):
            layer[...] = trunk
        else:
            layer[..., 1:] = advantage
    return shares


def aligned_zeros(count: int) -> Singles:
    """Zeros that begin at a cache line; a decision takes a fifth longer where its weights straddle two lines."""
    room = np.zeros(count + 16, dtype=np.float32)
    first = -room.ctypes.data // 4 % 16
    return room[first : first + count]


def initial_weights(shape: Shape, rng: np.random.Generator, *, quiet_head: bool = False) -> Singles:
    """He-uniform weights and zero biases; a quiet head starts with every Q at zero."""
    inputs, hidden, actions = shape
    count = inputs * hidden + hidden + hidden * hidden + hidden + hidden * (actions + 1) + actions + 1
    weights = aligned_zeros(count)
    for name, layer in named_layers(weights, shape).items():
        if name.endswith("weight"):
            limit = 0.0 if quiet_head and name.startswith("head") else float(np.sqrt(6.0 / layer.shape[0]))
            layer[...] = rng.uniform(-limit, limit, layer.shape).astype(np.float32)
    return weights


@compiled(nogil=True, fastmath={"contract", "reassoc", "nsz"})
def q_vector(weights: Singles, state: Singles, scale: float, unit: float, hidden: int, q: Singles) -> None:
    """Q of every action in one state, written into `q`."""
    inputs, actions = state.shape[0], q.shape[0]
    w1, b1, w2, b2, w3, b3 = layers(weights, inputs, hidden, actions)
    first, second, out = b1.copy(), b2.copy(), b3.copy()
    for i in range(inputs):
        x = state[i]
        for j in range(hidden):
            first[j] += x * w1[i, j]
    for i in range(hidden):
        x = first[i]
        if x > 0.0:
            for j in range(hidden):
                second[j] += x * w2[i, j]
    for i in range(hidden):
        x = second[i]
        if x > 0.0:
            for j in range(actions + 1):
                out[j] += x * w3[i, j]
    mean = np.float32(0.0)
    for action in range(actions):
        mean += out[action + 1]
    mean /= np.float32(actions)
    for action in range(actions):
        q[action] = np.float32(unit) * out[0] + np.float32(scale) * (out[action + 1] - mean)


@compiled(nogil=True)
def _forward(weights: Singles, states: Singles, hidden: int, actions: int) -> tuple[Singles, Singles, Singles]:
    """Both hidden layers and the head's outputs for a batch."""
    w1, b1, w2, b2, w3, b3 = layers(weights, states.shape[1], hidden, actions)
    first = np.maximum(np.dot(states, w1) + b1, np.float32(0.0))
    second = np.maximum(np.dot(first, w2) + b2, np.float32(0.0))
    return first, second, np.dot(second, w3) + b3


@compiled(nogil=True)
def _dueling(out: Singles, scales: Singles, unit: float) -> Singles:
    rows, actions = out.shape[0], out.shape[1] - 1
    q = np.empty((rows, actions), dtype=np.float32)
    for row in range(rows):
        mean = np.float32(0.0)
        for action in range(actions):
            mean += out[row, action + 1]
        mean /= np.float32(actions)
        for action in range(actions):
            q[row, action] = np.float32(unit) * out[row, 0] + scales[row] * (out[row, action + 1] - mean)
    return q


@compiled(nogil=True)
def q_values(weights: Singles, states: Singles, scales: Singles, unit: float, hidden: int, actions: int) -> Singles:
    """Q of every action in a batch of states."""
    return _dueling(_forward(weights, states, hidden, actions)[2], scales, unit)


@compiled(nogil=True)
def _through_dueling(grad_q: Singles, scales: Singles, unit: float) -> Singles:
    """The gradient at the head's outputs from the gradient at the Q-values."""
    rows, actions = grad_q.shape
    grad_out = np.empty((rows, actions + 1), dtype=np.float32)
    for row in range(rows):
        total = np.float32(0.0)
        for action in range(actions):
            total += grad_q[row, action]
        grad_out[row, 0] = np.float32(unit) * total
        for action in range(actions):
            grad_out[row, action + 1] = scales[row] * (grad_q[row, action] - total / np.float32(actions))
    return grad_out


@compiled(nogil=True)
def _head_gradient(second: Singles, grad_out: Singles, weight: Singles, bias: Singles) -> None:
    weight[...] = np.dot(second.T, grad_out)
    bias[...] = grad_out.sum(axis=0)


@compiled(nogil=True)
def backward(weights: Singles, states: Singles, first: Singles, second: Singles, grad_out: Singles) -> Singles:
    """The gradient of all weights, flat, from the gradient at the head's outputs."""
    inputs, hidden, actions = states.shape[1], first.shape[1], grad_out.shape[1] - 1
    _, _, w2, _, w3, _ = layers(weights, inputs, hidden, actions)
    gradient = np.empty_like(weights)
    g1, h1, g2, h2, g3, h3 = layers(gradient, inputs, hidden, actions)
    _head_gradient(second, grad_out, g3, h3)
    at_second = np.dot(grad_out, w3.T)
    at_second *= second > 0.0
    g2[...] = np.dot(first.T, at_second)
    h2[...] = at_second.sum(axis=0)
    at_first = np.dot(at_second, w2.T)
    at_first *= first > 0.0
    g1[...] = np.dot(states.T, at_first)
    h1[...] = at_first.sum(axis=0)
    return gradient


@compiled(nogil=True, fastmath=True)
def _adam(
    weights: Singles, gradient: Singles, mean: Singles, square: Singles, step: int, rate: float, shares: Singles
) -> None:
    """Adam in place; `shares` scales the rate of every single weight."""
    one = np.float32(1.0)
    scale = np.float32(rate / (1.0 - 0.9**step))
    correction = np.float32(1.0 / (1.0 - 0.999**step))
    for index in range(weights.shape[0]):
        slope = gradient[index]
        first = BETA_1 * mean[index] + (one - BETA_1) * slope
        second = BETA_2 * square[index] + (one - BETA_2) * slope * slope
        # Fading moments would become denormal numbers, which the processor handles a hundred times slower.
        mean[index] = first if abs(first) > TINY else np.float32(0.0)
        square[index] = second if second > TINY else np.float32(0.0)
        weights[index] -= shares[index] * scale * mean[index] / (np.sqrt(square[index] * correction) + EPSILON)


@compiled(nogil=True)
def td_gradient(
    weights: Singles,
    target_weights: Singles,
    unit: float,
    hidden: int,
    batch: Transitions,
) -> tuple[Singles, float]:
    """Gradient and Huber loss of the Double DQN error; `next_priors` is added to Q of the next state."""
    states, scales, actions, rewards, discounts, next_states, next_scales, next_priors = batch
    count = next_priors.shape[1]
    online = q_values(weights, next_states, next_scales, unit, hidden, count) + next_priors
    target = q_values(target_weights, next_states, next_scales, unit, hidden, count) + next_priors
    first, second, out = _forward(weights, states, hidden, count)
    grad_q, loss = _td_error(_dueling(out, scales, unit), online, target, actions, rewards, discounts)
    return backward(weights, states, first, second, _through_dueling(grad_q, scales, unit)), loss


@compiled(nogil=True)
def _td_error(
    q: Singles, online: Singles, target: Singles, actions: Ints, rewards: Singles, discounts: Singles
) -> tuple[Singles, float]:
    """Gradient at the Q-values and mean Huber loss: the online network chooses, the target network values."""
    rows = q.shape[0]
    grad_q = np.zeros_like(q)
    loss = 0.0
    for row in range(rows):
        best = np.argmax(online[row])
        error = q[row, actions[row]] - (rewards[row] + discounts[row] * target[row, best])
        size = abs(error)
        loss += 0.5 * error * error if size <= 1.0 else size - 0.5
        grad_q[row, actions[row]] = min(max(error, np.float32(-1.0)), np.float32(1.0)) / np.float32(rows)
    return grad_q, loss / rows


@compiled(nogil=True)
def _head_td_gradient(
    weights: Singles,
    target_weights: Singles,
    unit: float,
    hidden: int,
    batch: Transitions,
) -> tuple[Singles, float]:
    """The part of `td_gradient` that concerns the head, where both networks share their hidden layers."""
    states, scales, actions, rewards, discounts, next_states, next_scales, next_priors = batch
    inputs, count = states.shape[1], next_priors.shape[1]
    _, second, out = _forward(weights, states, hidden, count)
    _, next_second, next_out = _forward(weights, next_states, hidden, count)
    _, _, _, _, target_w3, target_b3 = layers(target_weights, inputs, hidden, count)
    online = _dueling(next_out, next_scales, unit) + next_priors
    target = _dueling(np.dot(next_second, target_w3) + target_b3, next_scales, unit) + next_priors
    grad_q, loss = _td_error(_dueling(out, scales, unit), online, target, actions, rewards, discounts)
    gradient = np.zeros_like(weights)
    _, _, _, _, g3, h3 = layers(gradient, inputs, hidden, count)
    _head_gradient(second, _through_dueling(grad_q, scales, unit), g3, h3)
    return gradient, loss


@compiled(nogil=True)
def td_step(
    weights: Singles,
    target_weights: Singles,
    mean: Singles,
    square: Singles,
    step: int,
    rate: float,
    shares: Singles,
    unit: float,
    hidden: int,
    head_only: bool,
    batch: Transitions,
) -> float:
    """One Double DQN update in place; returns the loss before it.

    `head_only` does the same for less than half the work, where the hidden layers have no share in the rate and
    both networks have the same ones.
    """
    if head_only:
        gradient, loss = _head_td_gradient(weights, target_weights, unit, hidden, batch)
        # A multiple of any vector length, so that every weight of the head meets the same instructions either way.
        begin = head_begin(batch.states.shape[1], hidden) // 64 * 64
    else:
        gradient, loss = td_gradient(weights, target_weights, unit, hidden, batch)
        begin = 0
    _adam(weights[begin:], gradient[begin:], mean[begin:], square[begin:], step, rate, shares[begin:])
    return loss


@compiled(nogil=True)
def regression_step(
    weights: Singles,
    mean: Singles,
    square: Singles,
    step: int,
    rate: float,
    shares: Singles,
    hidden: int,
    states: Singles,
    values: Singles,
    advantages: Singles,
) -> float:
    """One step towards known values and advantages (both as the head gives them); returns the mean error."""
    rows, actions = advantages.shape
    first, second, out = _forward(weights, states, hidden, actions)
    grad_out = np.empty((rows, actions + 1), dtype=np.float32)
    low, high, count = np.float32(-1.0), np.float32(1.0), np.float32(rows)
    loss = 0.0
    for row in range(rows):
        grad_out[row, 0] = min(max(out[row, 0] - values[row], low), high) / count
        level = np.float32(0.0)
        for action in range(actions):
            level += out[row, action + 1] - advantages[row, action]
        level /= np.float32(actions)
        for action in range(actions):
            error = out[row, action + 1] - advantages[row, action] - level
            loss += abs(error)
            grad_out[row, action + 1] = min(max(error, low), high) / count
    _adam(weights, backward(weights, states, first, second, grad_out), mean, square, step, rate, shares)
    return loss / (rows * actions)
