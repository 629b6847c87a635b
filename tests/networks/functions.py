# SPDX-License-Identifier: Apache-2.0
"""Functions of the model, which are inlined, and branches that a condition known at compile time chooses."""

from defined import Array, Case
from onnx_writer import BOOL, INT64, Graph, Reference, function, graph, model, node, tensor, value

X = Array((2, 3), [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0])
SHAPE = [value("x", [2, 3])]
OUT = [value("y", [2, 3])]


def case(nodes, rule, functions=(), tensors=(), **more):
    made = model(nodes, SHAPE, OUT, tensors, functions=functions, domains=["custom"])
    return Case(made, {"x": X}, [Array(X.shape, [rule(v) for v in X.values])], **more)


def refused(nodes, pattern, functions=(), tensors=()):
    return Case(model(nodes, SHAPE, OUT, tensors, functions=functions, domains=["custom"]), {"x": X}, refused=pattern)


def call(name, inputs, outputs, **attributes):
    return node(name, inputs, outputs, domain="custom", **attributes)


def leaky(v, slope):
    return v if v >= 0 else slope * v


def choice(condition, then, otherwise, outputs=("y",), name="choose"):
    """An If whose branches are lists of nodes and names of results."""
    graphs = {}
    for key, (nodes, results) in (("then_branch", then), ("else_branch", otherwise)):
        graphs[key] = Graph(graph(nodes, outputs=[value(r, [2, 3]) for r in results]))
    return node("If", [condition], outputs, name, **graphs)


# Inner names are those of values outside, and of each other.
TWICE = function("custom", "Twice", ["x"], ["z"], [node("Add", ["x", "x"], ["y"]), node("Identity", ["y"], ["z"])])
SLOPED = function("custom", "Sloped", ["a"], ["b"], [node("LeakyRelu", ["a"], ["t"], alpha=Reference("slope")), node("Neg", ["t"], ["b"])], defaults={"slope": 0.5})
PLAIN = function("custom", "Plain", ["a"], ["b"], [node("LeakyRelu", ["a"], ["b"], alpha=Reference("slope"))])
NESTED = function("custom", "Nested", ["p", "q"], ["r", "s"], [
    call("Twice", ["p"], ["t"]), call("Sloped", ["q"], ["u"], slope=Reference("steep")), node("Add", ["t", "u"], ["r"]), node("Mul", ["t", "u"], ["s"])],
    defaults={"steep": 3.0}, domains=["custom"])
CLIPPED = function("custom", "Clipped", ["a", "low", "high"], ["b", "c"], [node("Clip", ["a", "low", "high"], ["b"]), node("Neg", ["a"], ["c"])])
PASSED = function("custom", "Passed", ["a"], ["a"], [])
OVER = [function("custom", "Over", ["a"], ["b"], [node(op, ["a"], ["b"])], overload=which) for op, which in (("Neg", ""), ("Abs", "second"))]
ITSELF = function("custom", "Itself", ["a"], ["b"], [call("Other", ["a"], ["b"])])
OTHER = function("custom", "Other", ["a"], ["b"], [call("Itself", ["a"], ["b"])])
LACKING = function("custom", "Lacking", ["a"], ["b"], [node("Neg", ["a"], ["c"])])
DOUBLING = [function("custom", f"F{i}", ["a"], ["b"], [call(f"F{i + 1}", ["a"], ["t"]), call(f"F{i + 1}", ["t"], ["b"])]) for i in range(25)]
DOUBLING.append(function("custom", "F25", ["a"], ["b"], [node("Neg", ["a"], ["b"])]))
DEEP = [function("custom", f"F{i}", ["a"], ["b"], [call(f"F{i + 1}", ["a"], ["b"])]) for i in range(40)] + [function("custom", "F40", ["a"], ["b"], [])]
NEGATED = [node("Neg", ["x"], ["t"])], ["t"]
ADDED = [node("Add", ["x", "x"], ["t"])], ["t"]
IN_BRANCH = function("custom", "Branch", ["x", "c"], ["y"], [choice("c", ([node("LeakyRelu", ["x"], ["t"], alpha=Reference("slope"))], ["t"]), ADDED)])
TRUE, FALSE = tensor("yes", [], [1], BOOL), tensor("no", [1], [0], BOOL)
# True if x has two rows: what exporters write for a squeeze.
ROWS = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "zero"], ["rows"]), node("Equal", ["rows", "two"], ["known"])]
ROW_TENSORS = [tensor("zero", [], [0], INT64), tensor("two", [], [2], INT64)]

CASES = {
    "function": case([call("Twice", ["x"], ["y"])], lambda v: 2 * v, [TWICE]),
    "function_twice": case([call("Twice", ["x"], ["z"]), call("Twice", ["z"], ["y"])], lambda v: 4 * v, [TWICE]),
    "function_default": case([call("Sloped", ["x"], ["y"])], lambda v: -leaky(v, 0.5), [SLOPED]),
    "function_attribute": case([call("Sloped", ["x"], ["y"], slope=0.25)], lambda v: -leaky(v, 0.25), [SLOPED]),
    "function_no_attribute": case([call("Plain", ["x"], ["y"])], lambda v: leaky(v, 0.01), [PLAIN]),
    "function_nested": case([call("Nested", ["x", "x"], ["r", "s"]), node("Sub", ["r", "s"], ["y"])],
                            lambda v: 2 * v - leaky(v, 3) + 2 * v * leaky(v, 3), [NESTED, TWICE, SLOPED]),
    "function_omitted": case([call("Clipped", ["x", "", "high"], ["y"])], lambda v: min(v, 1), [CLIPPED], [tensor("high", [], [1.0])]),
    "function_fewer_inputs": case([call("Clipped", ["x"], ["", "y"])], lambda v: -v, [CLIPPED]),
    "function_passes": case([call("Passed", ["x"], ["t"]), node("Neg", ["t"], ["y"])], lambda v: -v, [PASSED]),
    "function_overload": case([node("Over", ["x"], ["t"], domain="custom", overload="second"), call("Over", ["t"], ["y"])], lambda v: -abs(v), OVER),
    "function_branch": case([call("Branch", ["x", "yes"], ["y"], slope=0.5)], lambda v: leaky(v, 0.5), [IN_BRANCH], [TRUE]),
    "function_itself": refused([call("Itself", ["x"], ["y"])], "function 'Itself' calls itself", [ITSELF, OTHER]),
    "function_lacking": refused([call("Lacking", ["x"], ["y"])], "Lacking lacking_y: its function does not compute its output 'b'", [LACKING]),
    "function_more": refused([call("Twice", ["x", "x"], ["y"])], "it has 2 inputs and 1 outputs, its function has 1 and 1", [TWICE]),
    "function_doubling": refused([call("F0", ["x"], ["y"])], "expand to more than", DOUBLING),
    "function_deep": refused([call("F0", ["x"], ["y"])], "more than 32 deep", DEEP),
    "function_reference": refused([node("LeakyRelu", ["x"], ["y"], alpha=Reference("slope"))], "attribute 'slope' of a function, and is in none"),
    "if_true": case([choice("yes", NEGATED, ADDED)], lambda v: -v, tensors=[TRUE]),
    "if_false": case([choice("no", NEGATED, ADDED)], lambda v: 2 * v, tensors=[FALSE]),
    "if_shape": case([*ROWS, choice("known", NEGATED, ADDED)], lambda v: -v, tensors=ROW_TENSORS),
    "if_outside": case([choice("yes", ([], ["x"]), ADDED, ["z"]), node("Neg", ["z"], ["y"])], lambda v: -v, tensors=[TRUE]),
    "if_nested": case([choice("yes", ([choice("no", ADDED, ([node("Neg", ["x"], ["u"]), choice("yes", ([node("Mul", ["u", "x"], ["w"])], ["w"]), ADDED, ["t"], "inner")], ["t"]),
                                              ["z"], "middle"), node("Neg", ["z"], ["a"])], ["a"]), NEGATED)], lambda v: v * v, tensors=[TRUE, FALSE]),
    # The first result is also the second, and is read inside the branch.
    "if_results": case([choice("yes", ([node("Neg", ["x"], ["t"]), node("Add", ["t", "x"], ["u"]), node("Sub", ["u", "t"], ["w"])], ["t", "t", "w", "x"]),
                               ([], ["x", "x", "x", "x"]), ["a", "b", "c", "d"]), node("Sum", ["a", "b", "c", "d"], ["y"])], lambda v: -v - v + v + v, tensors=[TRUE]),
    "if_initializer": Case(model([node("If", ["yes"], ["y"], then_branch=Graph(graph([node("Add", ["x", "w"], ["t"])], outputs=[value("t", [2, 3])],
                                                                                    initializers=[tensor("w", [3], [1.0, 2.0, 3.0])])),
                                       else_branch=Graph(graph([], outputs=[value("x", [2, 3])])))], SHAPE, OUT, [TRUE]),
                           {"x": X}, [Array(X.shape, [v + i % 3 + 1 for i, v in enumerate(X.values)])]),
    "if_unread": case([choice("yes", NEGATED, ADDED, ["z"]), node("Neg", ["x"], ["y"])], lambda v: -v, tensors=[TRUE]),
    "if_outputs": refused([choice("yes", NEGATED, ([], ["x", "x"]))], "two branches without inputs and with 1 outputs", tensors=[TRUE]),
    "if_lacks": refused([choice("yes", ([], ["nowhere"]), ADDED)], "its graph does not compute its output 'nowhere'", tensors=[TRUE]),
    "if_hidden": refused([choice("yes", NEGATED, ADDED, ["z"]), node("Neg", ["t"], ["y"])], "its input 't' is neither", tensors=[TRUE]),
    "if_no_graph": refused([node("If", ["yes"], ["y"], then_branch=1, else_branch=2)], "attribute '(then|else)_branch' is not a graph", tensors=[TRUE]),
}
