# SPDX-License-Identifier: Apache-2.0
"""Random networks of loops and branches, which are compared with networks without any: each iteration is written
out, and Where chooses between the results of both branches.

    unrolled.py UK EVALUATE WAY COUNT [FIRST]

WAY of the networks without loops: compile, or interpret, which takes less time. Those with loops are compiled, and run whole;
all, or some if WAY is interpret, also run layer by layer, each compared with the interpreter.
"""

import concurrent.futures
import dataclasses
import os
import random
import sys
import tempfile

from defined import Array, Case, drawn, read_npy, run_command, run_together, write
from onnx_writer import FLOAT, INT64, Graph, graph, model, node, tensor, value
from small_networks import weights

WIDTH = 4


class Value:
    """A value in the network as it is drawn; the two networks have names of their own for it."""

    def __init__(self, shape):
        self.shape = shape


class Loop:
    """A loop: values of outside go in as states and elements, `finals` and `results` come out."""

    def __init__(self, count, form):
        self.count, self.form = count, form
        self.iteration = Value([])
        self.states, self.elements, self.steps, self.results = [], [], [], []


class Branch:
    def __init__(self, condition):
        self.condition = condition
        self.sides, self.result = [], None


class Drawing:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.tensors, self.made = {}, 0
        self.inputs = [Value([3, WIDTH]), Value([WIDTH]), Value([2, WIDTH, 3, 3])]

    def constant(self, *numbers, shape=None):
        name = "c" + "_".join(map(str, numbers)).replace("-", "m") + ("v" if shape is None else "s")
        self.tensors[name] = tensor(name, [len(numbers)] if shape is None else shape, numbers, INT64)
        return name

    def weight(self, *shape):
        self.made += 1
        name = f"w{self.made}"
        self.tensors[name] = weights(self.made, name, list(shape))
        return name

    def step(self, values, steps, iteration, depth):
        """Adds a node, or a loop or branch, that reads some of the values."""
        choose = self.random.choice

        def add(op, inputs, shape, **attributes):
            values.append(Value(shape))
            steps.append((op, inputs, values[-1], attributes))

        v = choose(values[-6:] if self.random.random() < 0.7 else values)
        s, alike = v.shape, [o for o in values if o.shape == v.shape]
        axis = self.random.randrange(len(s)) if s else 0
        n = s[axis] if s else 1
        op = choose(["unary", "binary", "binary", "product", "transpose", "shape", "concat", "slice", "split", "reduce", "gather", "conv", "softmax", "loop", "branch"])
        if op == "unary":
            add(choose(["Relu", "Tanh", "Neg", "Identity"]), [v], s)
        elif op == "binary":
            add(choose(["Add", "Sub", "Max", "Mean"]), [v, choose(alike)], s)
        elif op in ("loop", "branch") and depth < 2:
            (self.loop if op == "loop" else self.branch)(values, steps, iteration, depth + 1)
        elif not s:
            return
        elif op == "product":
            add("MatMul", [v, self.weight(s[-1], WIDTH)], s[:-1] + [WIDTH])
            add("Tanh", [values[-1]], values[-1].shape)
        elif op == "transpose":
            order = self.random.sample(range(len(s)), len(s))
            add("Transpose", [v], [s[i] for i in order], perm=order)
        elif op == "shape" and len(s) > 1:
            add("Reshape", [v, self.constant(-1, s[-1])], [len_of(s[:-1]), s[-1]])
        elif op == "concat" and n < 8:
            add("Concat", [v, choose(alike)], s[:axis] + [2 * n] + s[axis + 1:], axis=axis)
        elif op == "slice" and n > 1:
            low = self.random.randrange(n - 1)
            add("Slice", [v, self.constant(low), self.constant(low + n // 2), self.constant(axis)], s[:axis] + [min(n - low, n // 2)] + s[axis + 1:])
        elif op == "split" and n % 2 == 0 and n:
            half = s[:axis] + [n // 2] + s[axis + 1:]
            both = [Value(half), Value(half)]
            steps.append(("Split", [v], both, {"axis": axis, "num_outputs": 2}))
            values += both
        elif op == "reduce":
            add("ReduceMean", [v, self.constant(axis)], s[:axis] + [1] + s[axis + 1:])
            add("Sub", [v, values[-1]], s)
        elif op == "gather" and iteration and n >= 4:
            add("Gather", [v, iteration], s[:axis] + s[axis + 1:], axis=axis)
        elif op == "conv" and len(s) == 4 and len_of(s) > 0:
            add("Conv", [v, self.weight(WIDTH, s[1], 1, 1)], [s[0], WIDTH] + s[2:])
            add("Tanh", [values[-1]], values[-1].shape)
        elif op == "softmax":
            add("Softmax", [v], s, axis=axis)

    def steps(self, values, iteration, depth, count):
        steps = []
        while len(steps) < count:
            self.step(values, steps, iteration, depth)
        return steps

    def loop(self, values, steps, iteration, depth):
        choose = self.random.choice
        loop = Loop(choose([0, 1, 2, 3, 4]), choose(["scan", "constant", "constant", "computed", "condition"]))
        inner = list(values)
        for _ in range(self.random.randrange(3) if loop.form == "scan" else 1 + self.random.randrange(2)):
            first = choose(values)
            loop.states.append([first, Value(first.shape), None, Value(first.shape)])
        rows = [v for v in values if v.shape and v.shape[0] > 1]
        if loop.form == "scan":
            if not rows:
                return
            loop.count = choose(rows).shape[0]
            rows = [v for v in rows if v.shape[0] == loop.count]
            for _ in range(1 + self.random.randrange(2)):
                v = choose(rows)
                loop.elements.append((v, Value(v.shape[1:]), self.random.randrange(2)))
        own = [state[1] for state in loop.states] + [e[1] for e in loop.elements]
        inner += own
        loop.steps = self.steps(inner, None if loop.form == "scan" else loop.iteration, depth, 2 + self.random.randrange(5))
        for state in loop.states:
            state[2] = choose([v for v in inner if v.shape == state[1].shape][-3:])
        if loop.form in ("scan", "constant"):
            for _ in range(self.random.randrange(3) if loop.states else 1):
                v = choose([v for v in inner if len(v.shape) < 5][-5:])
                loop.results.append((v, Value([loop.count, *v.shape]), self.random.randrange(2) if loop.form == "scan" else 0))
        steps.append(loop)
        values += [state[3] for state in loop.states] + [r[1] for r in loop.results if loop.count]

    def branch(self, values, steps, iteration, depth):
        condition = self.random.choice(values)
        branch = Branch(condition)
        branch.result = Value(self.random.choice(values).shape)
        for _ in range(2):
            inner = list(values)
            made = self.steps(inner, iteration, depth, self.random.randrange(4))
            branch.sides.append((made, self.random.choice([v for v in inner if v.shape == branch.result.shape][-3:])))
        steps.append(branch)
        values.append(branch.result)


def len_of(shape):
    all_of = 1
    for n in shape:
        all_of *= n
    return all_of


class Writer:
    """Writes the steps as nodes; env: names of values."""

    def __init__(self, drawing, unrolls):
        self.drawing, self.unrolls, self.made = drawing, unrolls, 0

    def name(self):
        self.made += 1
        return f"v{self.made}"

    def one(self, nodes, op, inputs, **attributes):
        out = self.name()
        nodes.append(node(op, inputs, [out], **attributes))
        return out

    def write(self, steps, env, nodes):
        for step in steps:
            if isinstance(step, Loop):
                (self.iterations if self.unrolls else self.loop)(step, env, nodes)
            elif isinstance(step, Branch):
                self.branch(step, env, nodes)
            else:
                op, inputs, out, attributes = step
                outputs = out if isinstance(out, list) else [out]
                env.update((o, self.name()) for o in outputs)
                nodes.append(node(op, [env.get(i, i) for i in inputs], [env[o] for o in outputs], **attributes))

    def branch(self, b, env, nodes):
        condition = self.one(nodes, "Greater", [self.one(nodes, "ReduceSum", [env[b.condition]], keepdims=0), "zero"])
        graphs, names = [], []
        for steps, result in b.sides:
            inner, inside = dict(env), nodes if self.unrolls else []
            self.write(steps, inner, inside)
            names.append(inner[result])
            graphs.append(Graph(graph([] if self.unrolls else inside, outputs=[value(inner[result], [])])))
        env[b.result] = self.name()
        nodes.append(node("Where", [condition, *names], [env[b.result]]) if self.unrolls else
                     node("If", [condition], [env[b.result]], self.name(), then_branch=graphs[0], else_branch=graphs[1]))

    def iterations(self, l, env, nodes):
        current, results = [env[s[0]] for s in l.states], [[] for _ in l.results]
        for t in range(l.count):
            inner = dict(env) | dict(zip((s[1] for s in l.states), current))
            inner[l.iteration] = self.drawing.constant(t, shape=[])
            for x, v, reverse in l.elements:
                inner[v] = self.one(nodes, "Gather", [env[x], self.drawing.constant(l.count - 1 - t if reverse else t, shape=[])])
            self.write(l.steps, inner, nodes)
            current = [inner[s[2]] for s in l.states]
            for all_of, (v, _, reverse) in zip(results, l.results):
                all_of.insert(0 if reverse else t, self.one(nodes, "Unsqueeze", [inner[v], self.drawing.constant(0)]))
        env.update((s[3], self.one(nodes, "Identity", [c])) for s, c in zip(l.states, current))
        env.update((r[1], self.one(nodes, "Concat", all_of, axis=0)) for r, all_of in zip(l.results, results) if all_of)

    def loop(self, l, env, nodes):
        inner, inside, stays = dict(env), [], self.name()
        states, elements = [s[1] for s in l.states], [e[1] for e in l.elements]
        inner.update((v, self.name()) for v in [*states, *elements, l.iteration])
        self.write(l.steps, inner, inside)
        given = self.name()
        if l.form == "condition":
            inside.append(node("Less", [inner[l.iteration], self.drawing.constant(l.count - 1, shape=[])], [stays]))
        else:
            inside.append(node("Identity", [given], [stays]))
        scans = l.form == "scan"
        if scans:
            inside.pop()
        inputs = [inner[v] for v in ([*states, *elements] if scans else states)]
        outputs = [self.one(inside, "Identity", [inner[v]]) if v in self.outside(env) else inner[v] for v in [*(s[2] for s in l.states), *(r[0] for r in l.results)]]
        if not scans:
            inputs, outputs = [inner[l.iteration], given, *inputs], [stays, *outputs]
        body = Graph(graph(inside, [value(i, []) for i in inputs], [value(o, []) for o in outputs]))
        env.update((v, self.name()) for v in [*(s[3] for s in l.states), *(r[1] for r in l.results)])
        made = [env[s[3]] for s in l.states] + [env[r[1]] for r in l.results]
        first = [env[s[0]] for s in l.states]
        if scans:
            nodes.append(node("Scan", [*first, *(env[e[0]] for e in l.elements)], made, self.name(), num_scan_inputs=len(elements), body=body,
                              scan_input_directions=[e[2] for e in l.elements], scan_output_directions=[r[2] for r in l.results]))
        else:
            nodes.append(node("Loop", [*self.count(l, nodes), *first], made, self.name(), body=body))

    def outside(self, env):
        return () if self.drawing.random.random() < 0.5 else env

    def count(self, l, nodes):
        """The trip count and the first condition."""
        count = self.drawing.constant(l.count, shape=[])
        if l.form == "condition":
            return ["", ""] if l.count else [count, ""]
        if l.form == "computed":
            nothing = self.one(nodes, "Mul", [self.one(nodes, "ReduceSum", ["x0"], keepdims=0), "zero"])
            count = self.one(nodes, "Add", [self.one(nodes, "Cast", [nothing], to=INT64), count])
        return [count, ""]


def networks(seed):
    """The network with loops, the one without, and the number of their outputs."""
    drawing = Drawing(seed)
    values = list(drawing.inputs)
    steps = []
    while len([s for s in steps if isinstance(s, (Loop, Branch))]) < 2 or len(steps) < 4:
        drawing.step(values, steps, None, 0)
    outputs, found = [v for v in values[len(drawing.inputs):] if v.shape][-5:], []
    for unrolls in (False, True):
        writer, nodes = Writer(drawing, unrolls), []
        env = {v: f"x{i}" for i, v in enumerate(drawing.inputs)}
        writer.write(steps, env, nodes)
        for i, v in enumerate(outputs):
            nodes.append(node("Identity", [env[v]], [f"y{i}"]))
        found.append((nodes, [value(f"x{i}", v.shape) for i, v in enumerate(drawing.inputs)], [value(f"y{i}", v.shape, FLOAT) for i, v in enumerate(outputs)]))
    tensors = [*drawing.tensors.values(), tensor("zero", [], [0.0])]
    inputs = {f"x{i}": drawn(drawing.random, v.shape) for i, v in enumerate(drawing.inputs)}
    with_loops, without = (Case(model(*parts, tensors, opset=18), inputs, bound=1e-4, options=("--check", "--threads=1")) for parts in found)
    return with_loops, without, len(outputs)


def compared(path, case, count):
    """The network with loops; right are the outputs of the other one, which are there."""
    found = [read_npy(f"{path}_unrolled.{i}.npy") for i in range(count)]
    return dataclasses.replace(case, outputs=[Array(shape, values) for _, shape, values in found])


def main(uk, evaluate, way, count, first=0):
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        made = {f"{folder}/{seed}": networks(seed) for seed in range(int(first), int(first) + int(count))}
        for path, (with_loops, without, _) in made.items():
            write(f"{path}_loops", with_loops)
            write(f"{path}_unrolled", without)
        both = lambda how, places: sum(pool.map(lambda part: run_together(evaluate, how, part), (places[::2], places[1::2])), [])
        wrong = both(way, [(f"{os.path.basename(path)} unrolled", f"{path}_unrolled", without) for path, (_, without, _) in made.items()])
        if not wrong:
            places = [(f"{os.path.basename(path)} loops", f"{path}_loops", compared(path, case, outputs)) for path, (case, _, outputs) in made.items()]
            checked = places if way == "compile" else places[::4]
            found = zip(checked, pool.map(lambda place: run_command(uk, *place[1:]), checked))
            wrong = both("compile", places) + [f"{name}: {what}" for (name, *_), what in found if what]
    for line in wrong:
        print("seed", line)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
