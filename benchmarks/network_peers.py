"""The agent's network by other means: as an ONNX graph, and in torch with its update."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid_ml_scheduler.learning import DoubleDqn
from hybrid_ml_scheduler.learning.network import named_layers

__all__ = ["onnx_net", "torch_net", "torch_update"]


def onnx_net(dqn: DoubleDqn) -> bytes:
    """The same weights as an ONNX graph."""
    from onnx import TensorProto, checker, helper, numpy_helper

    constants, nodes, last = [], [], "states"
    for name in ("hidden1", "hidden2", "head"):
        for part in ("weight", "bias"):
            values = np.ascontiguousarray(named_layers(dqn.weights, dqn.shape)[f"{name}.{part}"])
            constants.append(numpy_helper.from_array(values, f"{name}.{part}"))
        nodes.append(helper.make_node("Gemm", [last, f"{name}.weight", f"{name}.bias"], [name]))
        if name != "head":
            nodes.append(helper.make_node("Relu", [name], [f"{name}.out"]))
        last = f"{name}.out"
    constants.append(numpy_helper.from_array(np.array([1, dqn.shape[2]]), "sizes"))
    nodes += [
        helper.make_node("Split", ["head", "sizes"], ["value", "advantage"], axis=1),
        helper.make_node("ReduceMean", ["advantage"], ["mean"], axes=[1]),
        helper.make_node("Sub", ["advantage", "mean"], ["centred"]),
        helper.make_node("Add", ["value", "centred"], ["q"]),
    ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, width])
        for name, width in (("states", dqn.shape[0]), ("q", dqn.shape[2]))
    ]
    graph = helper.make_graph(nodes, "dueling", ends[:1], ends[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    checker.check_model(model)
    return bytes(model.SerializeToString())


def torch_net(dqn: DoubleDqn) -> Any:
    """The same weights as a module of torch."""
    import torch

    class Dueling(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            layers = named_layers(dqn.weights, dqn.shape)
            self.layers = torch.nn.ModuleList()
            for name in ("hidden1", "hidden2", "head"):
                weight = layers[f"{name}.weight"]
                layer = torch.nn.Linear(*weight.shape)
                layer.weight.data = torch.from_numpy(weight.T.copy())
                layer.bias.data = torch.from_numpy(layers[f"{name}.bias"].copy())
                self.layers.append(layer)

        def forward(self, states: torch.Tensor) -> torch.Tensor:
            out = self.layers[2](torch.relu(self.layers[1](torch.relu(self.layers[0](states)))))
            value, advantage = out[:, :1], out[:, 1:]
            return torch.add(value, advantage - advantage.mean(dim=1, keepdim=True))

    return Dueling()


def torch_update(net: Any, target: Any, optimiser: Any, dqn: DoubleDqn) -> None:
    """One update as torch does it, from the same replay."""
    import torch

    batch = dqn.replay.sample(dqn.rng, 64)
    states, following = torch.from_numpy(batch.states), torch.from_numpy(batch.next_states)
    with torch.no_grad():
        best = net(following).argmax(dim=1, keepdim=True)
        goal = (
            torch.from_numpy(batch.rewards)
            + torch.from_numpy(batch.discounts) * target(following).gather(1, best)[:, 0]
        )
    taken = net(states).gather(1, torch.from_numpy(batch.actions)[:, None])[:, 0]
    optimiser.zero_grad()
    loss: Any = torch.nn.functional.smooth_l1_loss(taken, goal)  # torch has no types for what follows
    loss.backward()
    optimiser.step()
