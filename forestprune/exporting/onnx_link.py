"""From the scores of an ONNX model's trees to what it predicts."""

from __future__ import annotations

from typing import Any

import numpy as np

from forestprune.ensemble import TreeEnsemble


class _Graph:
    """Operations in the order in which they are done, and the constants they need."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def do(self, operation: str, *inputs: str | np.ndarray[Any, Any], **attributes: Any) -> str:
        """Add an operation on results and constants, and return the name of its result."""
        names = [one if isinstance(one, str) else self._constant(one) for one in inputs]
        result = f"{operation}_{len(self.nodes)}"
        made = self.onnx.helper.make_node(operation, names, [result], **attributes)
        self.nodes.append(made)
        return result

    def _constant(self, array: np.ndarray[Any, Any]) -> str:
        name = f"constant_{len(self.constants)}"
        plain = array.astype(object) if array.dtype.kind == "U" else array
        self.constants.append(self.onnx.numpy_helper.from_array(plain, name))
        return name

    def name(self, result: str, name: str) -> None:
        """Give a result the name of an output."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [result], [name]))


def link_nodes(onnx: Any, model: TreeEnsemble) -> tuple[list[Any], list[Any], list[Any]]:
    """Return nodes that start from ``scores``, their constants, and the graph's outputs."""
    graph = _Graph(onnx)
    kinds, info = onnx.TensorProto, onnx.helper.make_tensor_value_info
    if model.classes is None:
        graph.name(_response(graph, model), "prediction")
        outputs = [info("prediction", kinds.FLOAT, [None, model.n_outputs])]
        return graph.nodes, graph.constants, outputs
    labels = np.array(model.classes.tolist())
    place, probabilities = _place(graph, model), _probabilities(graph, model)
    graph.name(graph.do("Gather", labels, place, axis=0), "label")
    graph.name(probabilities, "probabilities")
    kind = kinds.STRING
    if labels.dtype.kind != "U":
        kind = onnx.helper.np_dtype_to_tensor_dtype(labels.dtype)
    outputs = [
        info("label", kind, [None]),
        info("probabilities", kinds.FLOAT, [None, len(labels)]),
    ]
    return graph.nodes, graph.constants, outputs


def _number(value: float) -> np.ndarray[Any, Any]:
    return np.array(value, dtype=np.float32)


def _response(graph: _Graph, model: TreeEnsemble) -> str:
    """As `Link.response`."""
    kind = model.link.kind
    if kind == "log":
        return graph.do("Exp", "scores")
    if kind == "signed_square":
        return graph.do("Mul", "scores", graph.do("Abs", "scores"))
    if kind == "logistic":
        return graph.do("Sigmoid", graph.do("Mul", "scores", _number(model.link.factor)))
    return "scores"


def _probabilities(graph: _Graph, model: TreeEnsemble) -> str:
    """As `Link.probabilities`."""
    assert model.classes is not None
    kind, factor, classes = model.link.kind, _number(model.link.factor), len(model.classes)
    zero, one = _number(0.0), _number(1.0)
    if classes == 1:
        return graph.do("Add", graph.do("Mul", "scores", zero), one)
    if kind == "softmax":
        return graph.do("Softmax", "scores", axis=1)
    if kind == "one_vs_all":
        return graph.do("Sigmoid", graph.do("Mul", "scores", factor))
    if model.n_outputs == 1:
        if kind == "identity":
            second = graph.do("Clip", "scores", zero, one)
        else:
            second = graph.do("Sigmoid", graph.do("Mul", "scores", factor))
        return graph.do("Concat", graph.do("Sub", one, second), second, axis=1)
    kept = graph.do("Relu", "scores")
    total = graph.do("ReduceSum", kept, np.array([1]), keepdims=1)
    some = graph.do("Greater", total, zero)
    shares = graph.do("Div", kept, graph.do("Where", some, total, one))
    return graph.do("Where", some, shares, _number(1.0 / classes))


def _place(graph: _Graph, model: TreeEnsemble) -> str:
    """As `Link.labels`: the place of the label among the classes, (m,)."""
    assert model.classes is not None
    if model.n_outputs > 1:
        return graph.do("ArgMax", "scores", axis=1, keepdims=0)
    middle = _number(0.5 if model.link.is_identity else 0.0)
    if len(model.classes) == 1:
        middle = _number(np.inf)
    above = graph.do("Greater", graph.do("Squeeze", "scores", np.array([1])), middle)
    return graph.do("Cast", above, to=int(graph.onnx.TensorProto.INT64))
