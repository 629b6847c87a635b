# SPDX-License-Identifier: Apache-2.0
"""Runs programs that `auto` compiled for AMD's GPUs in the simulator and compares them with the interpreter:
the examples, and programs of every type and operator. A program that does not run, or has an instruction that
the simulator lacks, is a failure.

    simulated.py UK SOURCE FOLDER examples|short|all
"""

import pathlib
import subprocess
import sys

uk, source, folder, which = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4]
folder.mkdir(parents=True, exist_ok=True)
GPUS = ("gfx906", "gfx90a")

# Sizes that are not multiples of tiles. Sizes that are not listed have the example's values.
SIZES = {
    "attention": "H=2 L=13 D=5", "averagepool_u8": "H=5 W=6 C=7", "conv2d_1x1": "H=5 W=3 C=9 O=11", "conv2d_1x1_u8i8": "H=5 W=3 C=9 O=11",
    "conv2d_3x3": "H=6 W=5 C=5 O=9", "conv2d_3x3_s2": "H=9 W=7 C=5 O=9", "conv2d_3x3_u8i8": "H=5 W=6 C=8 O=9",
    "conv2d_3x3_zero_point": "H=5 W=6 C=8 O=9", "conv2d_depthwise": "H=7 W=6 C=9", "conv2d_depthwise_u8i8": "H=7 W=6 C=9",
    "conv2d_depthwise_u8i8_nhwc": "H=7 W=6 C=9", "conv2d_depthwise_u8i8_nhwc_s2": "P=4 Q=3 C=9",
    "conv2d_depthwise_u8i8_nchw": "H=7 W=6 C=5", "conv2d_depthwise_u8i8_nchw_s2": "H=7 W=6 P=4 Q=3 C=5", "conv2d_nchw": "H=7 W=6 C=5 O=9",
    "conv2d_requantize_doubling": "H=4 W=5 C=8 O=5", "conv2d_requantize_float": "H=1 W=1 C=8 O=5", "conv2d_requantize_upward": "H=4 W=5 C=8 O=5",
    "conv2d_scheduled": "H=9 W=7 C=5 O=9", "encoder": "L=9 C=12 H=2 D=5 M=17", "matmul": "M=37 N=70 K=19", "matmul_4x24": "",
    "matmul_acc": "M=37 N=70 K=19", "matmul_bf16": "M=17 N=30 K=9", "matmul_f16": "M=37 N=70 K=19", "matmul_gfx90a": "M=130 N=70 K=19",
    "matmul_gpu": "M=130 N=70 K=19", "matmul_i8": "M=37 N=70 K=19", "matmul_nt": "M=37 N=70 K=19", "matmul_scheduled": "M=37 N=70 K=19",
    "matmul_tn": "M=37 N=70 K=19", "matmul_tt": "M=37 N=70 K=19", "maxpool_u8": "H=9 W=7 P=4 Q=3 C=5", "mlp": "B=9 I=10 H=13 O=7",
    "resnet50_1x1": "M=37 N=70 K=19", "vadd": "N=1001", "vadd_gpu": "n=1001",
}
# Programs for another machine, with the message that refuses them.
OTHERS = {("matmul_4x24", "gfx906"): "does not compile", ("matmul_4x24", "gfx90a"): "does not compile", ("matmul_gfx90a", "gfx906"): "needs gfx90a"}

FLOATS = ("f32", "f64", "f16", "bf16")
INTEGERS = ("i8", "u8", "i16", "i32", "i64", "u16", "u32", "u64")
EXACT = ("X[i] + Y[i]", "X[i] - Y[i]", "X[i] * Y[i]", "-X[i]", "abs(X[i])", "max(X[i], Y[i])", "min(X[i], Y[i])", "select(X[i] < Y[i], X[i], -Y[i])",
         "select(X[i] == Y[i] or not (X[i] == X[i]), abs(X[i]), -abs(Y[i]))", "X[i] * Y[i] + X[i]", "max(max(X[i], Y[i]), 1)",
         "min(min(X[i], -Y[i]), 1)", "min(max(X[i], 2), 100)", "max(abs(X[i]), -Y[i])", "pad(X[i - 1], 1) + pad(X[i + 1], 0)",
         "select(X[i] > Y[i] and X[i] != 0, 1, 3)", "TYPE(index(i % 7)) * X[i]",
         "select(index((i - 5) / 3) < -1, X[i], Y[i]) + pad(X[(i - 5) / 2], 1)", "select(index((i - 5) % 3) < 2, X[i], Y[i])")
OF_FLOATS = ("select(X[i] >= 0, -X[i], -Y[i])", "X[i] * -abs(Y[i]) - X[i]", "round(X[i] * 0.25)", "floor(X[i] * 0.25)", "ceil(X[i] * 0.25)", "max(X[i], 0) + min(X[i], 0) * 0.125", "min(-X[i], -Y[i]) * 2")
OF_INTEGERS = ("X[i] << 3", "X[i] >> 2", "(X[i] + Y[i]) >> 1", "X[i] & Y[i] | (X[i] ^ 5) >> Y[i]")
INEXACT = ("X[i] / Y[i]", "sqrt(abs(X[i]))", "exp(X[i])", "tanh(X[i])", "X[i] / (1 + exp(-X[i]))", "X[i] / (1 + exp(-X[i])) * Y[i]",
           "0.5 * X[i] * (1 + tanh(0.7978845608 * (X[i] + 0.044715 * X[i] * X[i] * X[i])))", "1 / sqrt(Y[i] * Y[i] + 1)",
           "log(X[i])", "0.5 * X[i] * (1 + erf(X[i] * 0.7071067811865475))", "pow(abs(X[i]), 0.75)", "pow(X[i], 3)",
           "sin(X[i]) * cos(Y[i])", "log1p(abs(X[i]))", "expm1(X[i])", "atan(X[i])", "asinh(X[i])")


def elementwise(kind, results):
    """results: type and expression of each."""
    text = f"tensor X {kind} [N]\ntensor Y {kind} [N]\n" + "".join(f"tensor R{i} {of} [N]\n" for i, (of, _) in enumerate(results))
    return text + "".join(f"R{i}[i] = {e.replace('TYPE', kind)}\n" for i, (_, e) in enumerate(results))


def reductions(kind, to, operators):
    x = "X[m, n]" if kind == to else f"{to}(X[m, n])"
    text = f"tensor X {kind} [M, N]\n"
    for op in operators:
        for name, shape, over in (("R", "m", "n"), ("S", "n", "m"), ("T", "", "m, n")):
            text += f"tensor {name}{op} {to} [{shape.upper()}]\n{name}{op}[{shape}] = {op}({over}) {x}\n"
    return text + (f"tensor Q {to} [M, N]\nQ[m, n] = scan sum(n) {x}\n" if "sum" in operators else "")


def cast(kind, to, access):
    return access if kind == to else f"{to}({access})"


def product(a, b, c):
    return f"tensor A {a} [M, K]\ntensor B {b} [K, N]\ntensor C {c} [M, N]\nC[m, n] = sum(k) {cast(a, c, 'A[m, k]')} * {cast(b, c, 'B[k, n]')}\n"


def convolution(x, f, y, stride):
    at = f"{stride} * h + r - 1, {stride} * w + s - 1" if stride > 1 else "h + r - 1, w + s - 1"
    return (f"tensor X {x} [H, W, C]\ntensor F {f} [3, 3, C, O]\ntensor Y {y} [P, Q, O]\nassume P == (H + {stride - 1}) / {stride} and "
            f"Q == (W + {stride - 1}) / {stride}\nY[h, w, o] = sum(r, s, c) {cast(x, y, f'pad(X[{at}, c], 0)')} * {cast(f, y, 'F[r, s, c, o]')}\n")


def pooling(kind, op):
    return f"tensor X {kind} [H, W, C]\ntensor Y {kind} [P, Q, C]\nY[p, q, c] = {op}(r, s where r < 3 and s < 3) X[2 * p + r, 2 * q + s, c]\n"


def crossed(kind):
    """Two elements per register: the first and the second of one, combined with the other's in reverse
    order."""
    operators = ("{} * {}", "{} - {}", "{} + {}", "max({}, {})", "min({}, {})")
    text = f"tensor X {kind} [N, 2]\ntensor Y {kind} [N, 2]\n"
    for i, of in enumerate(operators):
        for to in (kind,) if kind == "f16" else (kind, "i32"):
            x0, x1, y0, y1 = (cast(kind, to, f"{tensor}[i, {j}]") for tensor in "XY" for j in (0, 1))
            text += f"tensor R{i}{to} {to} [N]\nR{i}{to}[i] = 2 * ({of.format(x0, y1)}) - {of.format(y0, x1)}\n"
    return text


def networks(kind):
    """Softmax, layer norm, RMS norm and SwiGLU."""
    n, x = f"{kind}(index(N))", f"tensor X {kind} [M, N]\ntensor Y {kind} [M, N]\n"
    yield "softmax", x + (f"temp mx {kind} [M]\ntemp P {kind} [M, N]\ntemp Z {kind} [M]\nmx[i] = max(j) X[i, j]\nP[i, j] = exp(X[i, j] - mx[i])\n"
                          "Z[i] = sum(j) P[i, j]\nY[i, j] = P[i, j] / Z[i]\n")
    yield "norm", x + (f"tensor g {kind} [N]\ntensor b {kind} [N]\ntemp s {kind} [M]\ntemp d {kind} [M]\ns[i] = sum(j) X[i, j]\n"
                       f"d[i] = sum(j) (X[i, j] - s[i] / {n}) * (X[i, j] - s[i] / {n})\n"
                       f"Y[i, j] = (X[i, j] - s[i] / {n}) / sqrt(d[i] / {n} + 0.001) * g[j] + b[j]\n")
    yield "rms", x + f"temp s {kind} [M]\ns[i] = sum(j) X[i, j] * X[i, j]\nY[i, j] = X[i, j] / sqrt(s[i] / {n} + 0.001)\n"
    yield "swiglu", (f"tensor X {kind} [M, K]\ntensor A {kind} [K, N]\ntensor B {kind} [K, N]\ntensor Y {kind} [M, N]\ntemp U {kind} [M, N]\n"
                     f"temp V {kind} [M, N]\nU[m, n] = sum(k) X[m, k] * A[k, n]\nV[m, n] = sum(k) X[m, k] * B[k, n]\n"
                     "Y[m, n] = U[m, n] / (1 + exp(-U[m, n])) * V[m, n]\n")


def programs():
    """Yields name, text, sizes. Sums and products of small types are exact, so their order does not
    matter."""
    for kind in FLOATS + INTEGERS:
        of_kind = OF_FLOATS if kind in FLOATS else OF_INTEGERS
        yield f"exact_{kind}", elementwise(kind, [(kind, e) for e in EXACT + of_kind]), "N=70"
        if kind in FLOATS:
            yield f"inexact_{kind}", elementwise(kind, [(kind, e) for e in INEXACT]), "N=70"
            for name, text in networks(kind):
                yield f"{name}_{kind}", text, "M=5 N=13 K=7" if "K" in text else "M=5 N=70"
        yield f"cast_{kind}", elementwise(kind, [(to, f"{to}(X[i])") for to in FLOATS + INTEGERS if to != kind]), "N=70"
        small = kind in ("f16", "bf16")
        yield f"reduce_{kind}", reductions(kind, kind, ("sum", "max", "min")), "M=3 N=5" if small else "M=11 N=70"
        yield f"prod_{kind}", reductions(kind, kind, ("prod",)), "M=2 N=2" if small else "M=2 N=5"
        yield f"product_{kind}", product(kind, kind, kind), "M=37 N=70 K=7"
        yield f"conv_{kind}", convolution(kind, kind, kind, 1), "H=5 W=7 C=1 O=9 P=5 Q=7"
        yield f"conv_s2_{kind}", convolution(kind, kind, kind, 2), "H=5 W=7 C=1 O=9 P=3 Q=4"
        for op in ("max", "min", "sum"):
            yield f"pool_{op}_{kind}", pooling(kind, op), "H=9 W=10 C=6 P=4 Q=4"
    for a in ("i8", "u8"):
        yield f"bytes_depthwise_{a}", (f"tensor X {a} [N, C, H + 2, W + 2]\ntensor F {a} [C, 3, 3]\ntensor Y i32 [N, C, H, W]\n"
                                       "Y[n, c, p, q] = sum(r, s) i32(X[n, c, p + r, q + s]) * i32(F[c, r, s])\n"), "N=1 C=2 H=3 W=5"
    # Scalar loads at the offset in a register, from the block's number, and at an immediate offset.
    yield "block_offset", "tensor X f32 [4, 4]\ntensor Y f32 [D, 1, 6]\nY[l, k, i] = X[l % 4, 3]\n", "D=5"
    # Reads under conditions in a loop of 16-bit elements: LLVM's pass over scalar registers ended the process on these.
    yield "chosen_i16", ("tensor A f16 []\ntensor B f16 [4, 3 + 3 * C]\ntensor D i16 []\ntensor E i16 [4, J]\ntensor F i16 []\n"
                         "tensor T i16 [C, 3, J]\nscalar q i16\nscalar r i64\n"
                         "T[k, i, j] max= select(not (min(F[], q) < (q << q)) or (min(-3, i64(index(k + 0))) != r * r), "
                         "(select(A[] <= B[3, i + 3 * k], 1, q) - D[]), E[3, j])\n"), "C=3 J=11"
    # A weight that is infinite does not reach elements whose term for it is in the border.
    yield "border", ("tensor F f32 [3, 3, C, O]\ntemp G f32 [3, 3, C, O]\n" +
                     convolution("f32", "f32", "f32", 1).replace("tensor F f32 [3, 3, C, O]\n", "").replace(
                         "Y[h, w, o]", "G[r, s, c, o] = select(index(r + s) == 0, inf, F[r, s, c, o])\nY[h, w, o]").replace("* F[", "* G[")
                     ), "H=5 W=7 C=6 O=9 P=5 Q=7"
    # The same in groups: the subscript of X's channel is no sum of iterators.
    yield "border_groups", ("tensor X f32 [5, 7, 4]\ntensor F f32 [3, 3, 2, 6]\ntemp G f32 [3, 3, 2, 6]\ntensor Y f32 [5, 7, 6]\n"
                            "G[r, s, c, o] = select(index(r + s) == 0, inf, F[r, s, c, o])\n"
                            "Y[h, w, o] = sum(r, s, c) pad(X[h + r - 1, w + s - 1, 2 * (o / 3) + c], 0) * G[r, s, c, o]\n"), ""
    for kind in ("i8", "u8", "i16", "f16"):
        yield f"crossed_{kind}", crossed(kind), "N=70"
    for a, b, c in (("f16", "f16", "f32"), ("bf16", "bf16", "f32"), ("i8", "i8", "i32"), ("u8", "i8", "i32"), ("u8", "u8", "i32"),
                    ("i16", "i16", "i32"), ("f32", "f32", "f64")):
        yield f"product_{a}_{b}_{c}", product(a, b, c), "M=37 N=70 K=19"
        yield f"conv_{a}_{b}_{c}", convolution(a, b, c, 1), "H=5 W=7 C=6 O=9 P=5 Q=7"
        yield f"reduce_{a}_{b}_{c}", reductions(a, c, ("sum", "max", "min")), "M=11 N=70"


SHORT = ("exact_f32", "inexact_f32", "exact_f16", "inexact_f16", "inexact_f64", "exact_i8", "exact_u64", "cast_f16", "cast_i8", "cast_u32", "cast_u64", "reduce_u32", "product_i16", "conv_f16_f16_f32",
         "swiglu_f32", "reduce_i16", "pool_max_u8", "bytes_depthwise_i8", "block_offset", "chosen_i16", "crossed_u8",
         "border", "border_groups")
failed, passed = 0, 0


def run(path, gpu, sizes):
    """Runs a program; one for another machine must be refused."""
    global failed, passed
    command = [uk, "run", path, f"--target=amdgcn-{gpu}", "--device=sim", "--check", *(f"--size={size}" for size in sizes.split())]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    refusal = OTHERS.get((path.stem, gpu))
    good = result.returncode == 1 and refusal in result.stderr if refusal else result.returncode == 0 and "\ncheck: " in result.stdout
    passed += good
    if not good:
        failed += 1
        print(f"{path.name} on {gpu} with {sizes}: status {result.returncode}: {result.stdout[-300:]}{result.stderr[-600:]}")


if which == "examples":
    examples = sorted((source / "examples").glob("*.uk"))
    if not {path.stem for path in examples} >= set(SIZES):
        sys.exit(f"sizes are of no example: {sorted(set(SIZES) - {path.stem for path in examples})}")
    jobs = [(path, SIZES.get(path.stem, "")) for path in examples]
else:
    jobs = []
    for name, text, sizes in programs():
        if which == "short" and name not in SHORT:
            continue
        path = folder / f"{name}.uk"
        path.write_text(text, encoding="utf-8")
        jobs.append((path, sizes))
for path, sizes in jobs:
    for gpu in GPUS:
        run(path, gpu, sizes)
print(f"{passed} runs as expected, {failed} not")
sys.exit(failed > 0)
