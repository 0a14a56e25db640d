"""Our models by other means: network and forest as ONNX graphs, the network in torch with its update."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid_ml_scheduler.learning import DoubleDqn
from hybrid_ml_scheduler.learning.network import named_layers
from hybrid_ml_scheduler.learning.trees import FlatForest

__all__ = ["onnx_forest", "onnx_net", "torch_net", "torch_update"]


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


def onnx_forest(forest: FlatForest) -> bytes:
    """The very same trees as an ONNX graph: same splits, same leaves, the mean of all trees."""
    from onnx import TensorProto, helper

    feature, left = forest.nodes[:, 0], forest.nodes[:, 1]
    is_leaf, count = feature < 0, len(feature)
    tree = np.searchsorted(forest.roots, np.arange(count), side="right") - 1
    own = np.arange(count) - forest.roots[tree]  # numbers of nodes count within a tree
    child = np.where(is_leaf, 0, left - forest.roots[tree])
    leaves = np.flatnonzero(is_leaf)
    node = helper.make_node(
        "TreeEnsembleRegressor", ["rows"], ["answers"], domain="ai.onnx.ml", n_targets=1, aggregate_function="AVERAGE",
        nodes_treeids=tree.tolist(), nodes_nodeids=own.tolist(),
        nodes_featureids=np.where(is_leaf, 0, feature).tolist(),
        nodes_values=np.where(is_leaf, 0.0, forest.splits[:, 2]).tolist(),
        nodes_modes=["LEAF" if leaf else "BRANCH_LEQ" for leaf in is_leaf],
        nodes_truenodeids=child.tolist(), nodes_falsenodeids=np.where(is_leaf, 0, child + 1).tolist(),
        target_treeids=tree[leaves].tolist(), target_nodeids=own[leaves].tolist(),
        target_ids=[0] * len(leaves), target_weights=forest.value[leaves].tolist(),
    )  # fmt: skip
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, width])
        for name, width in (("rows", forest.num_features), ("answers", 1))
    ]
    graph = helper.make_graph([node], "forest", ends[:1], ends[1:])
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx.ml", 1)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


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
