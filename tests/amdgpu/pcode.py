# SPDX-License-Identifier: Apache-2.0
"""Interpreter of AMD's pseudocode for instructions: the manuals' text, which the package tinygrad has in
str_pcode.py.

Integers are unbounded until they are assigned to a type; floats are rounded to their type after each
operation. Registers and variables are bits; a float variable without a type stays a Float.
"""

import ast
import ctypes
import math
import re
import struct

LIBM = ctypes.CDLL("libm.so.6")
LIBM.fmaf.restype, LIBM.fmaf.argtypes = ctypes.c_float, [ctypes.c_float] * 3
LIBM.fma.restype, LIBM.fma.argtypes = ctypes.c_double, [ctypes.c_double] * 3


class Float:
    """A float of 16, 32 or 64 bits; there are several NaN, so bits are kept if they are known."""

    exact = False

    def __init__(self, value, size, bits=None):
        self.size = size
        self.value = value if size == 64 else ctypes.c_float(value).value if size == 32 else half(value)
        self.bits = bits if bits is not None else float_bits(self.value, size)

    def signaling(self):
        quiet = {16: 1 << 9, 32: 1 << 22, 64: 1 << 51}[self.size]
        return math.isnan(self.value) and not self.bits & quiet


def half(value):
    try:
        return struct.unpack("<e", struct.pack("<e", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def float_bits(value, size):
    code, integer = {16: ("e", "H"), 32: ("f", "I"), 64: ("d", "Q")}[size]
    return struct.unpack(f"<{integer}", struct.pack(f"<{code}", value))[0]


def float_of(bits, size):
    code, integer = {16: ("e", "H"), 32: ("f", "I"), 64: ("d", "Q")}[size]
    return Float(struct.unpack(f"<{code}", struct.pack(f"<{integer}", bits & ((1 << size) - 1)))[0], size, bits & ((1 << size) - 1))


def raw(value):
    return value.bits if isinstance(value, Float) else int(value)


def typed(value, kind):
    """Interprets bits as a type: u32, i16, f64, b32."""
    size = int(kind[1:])
    if kind[0] == "f":
        return value if isinstance(value, Float) and value.size == size else float_of(raw(value), size)
    bits = raw(value) & ((1 << size) - 1)
    return bits - (1 << size) if kind[0] == "i" and bits >> (size - 1) else bits


def number(value):
    return value.value if isinstance(value, Float) else value


def arithmetic(operator, a, b):
    if not isinstance(a, Float) and not isinstance(b, Float):
        if operator == "/":
            raise ValueError("a division of integers")
        return {"+": a + b, "-": a - b, "*": a * b}[operator] if operator in "+-*" else a ** b
    size = max(x.size for x in (a, b) if isinstance(x, Float))
    x, y = number(a), number(b)
    try:
        value = {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "/": lambda: divide(x, y), "**": lambda: power(x, y)}[operator]()
    except OverflowError:
        value = math.inf
    return Float(value, size)


def divide(x, y):
    if y == 0:
        return math.nan if x == 0 or math.isnan(x) else math.copysign(math.inf, x) * math.copysign(1, y)
    return x / y


def power(x, y):
    try:
        return x ** y
    except OverflowError:
        return math.inf


def exponent(a):
    return a.bits >> {16: 10, 32: 23, 64: 52}[a.size] & {16: 31, 32: 255, 64: 2047}[a.size]


def to_integer(a, least, most):
    if math.isnan(a.value):
        return 0
    return least if a.value < least else most if a.value > most else int(a.value)


def rounded(function):
    def call(a):
        return a if math.isinf(a.value) or math.isnan(a.value) else Float(math.copysign(float(function(a.value)), a.value), a.size)
    return call


def root(a):
    return Float(math.sqrt(a.value) if a.value >= 0 else math.nan, a.size)


def logarithm(a):
    x = a.value
    return Float(math.log2(x) if x > 0 and x != math.inf else -math.inf if x == 0 else x if x > 0 else math.nan, a.size)


def ldexp(a, n):
    n = max(-4000, min(4000, n))
    try:
        return Float(math.ldexp(a.value, n), a.size)
    except OverflowError:
        return Float(math.copysign(math.inf, a.value), a.size)


FUNCTIONS = {
    "fma": lambda a, b, c: Float((LIBM.fmaf if a.size == 32 else LIBM.fma)(a.value, b.value, c.value), a.size),
    "floor": rounded(math.floor), "ceil": rounded(math.ceil), "trunc": rounded(math.trunc), "sqrt": root, "log2": logarithm,
    "pow": lambda a, b: arithmetic("**", a, b),
    "isNAN": lambda a: math.isnan(a.value), "isSignalNAN": lambda a: a.signaling(),
    "isQuietNAN": lambda a: math.isnan(a.value) and not a.signaling(),
    "cvtToQuietNAN": lambda a: float_of(a.bits | 1 << {16: 9, 32: 22, 64: 51}[a.size], a.size),
    "fract": lambda a: arithmetic("-", a, rounded(math.floor)(a)),
    "isEven": lambda a: a.value % 2 == 0,
    "sign": lambda a: a.bits >> (a.size - 1), "exponent": exponent,
    "mantissa": lambda a: Float(math.frexp(a.value)[0], a.size),
    "abs": lambda a: float_of(a.bits & ~(1 << (a.size - 1)), a.size) if isinstance(a, Float) else abs(a), "ldexp": ldexp,
    "signext": lambda a: a,
    "signext_from_bit": lambda a, n: (a & ((1 << n) - 1)) - (1 << n) if n and a >> (n - 1) & 1 else a & ((1 << n) - 1),
    "f32_to_i32": lambda a: to_integer(a, -1 << 31, (1 << 31) - 1), "f32_to_u32": lambda a: to_integer(a, 0, (1 << 32) - 1),
    "f64_to_i32": lambda a: to_integer(a, -1 << 31, (1 << 31) - 1), "f64_to_u32": lambda a: to_integer(a, 0, (1 << 32) - 1),
    "f32_to_f16": lambda a: Float(a.value, 16), "f16_to_f32": lambda a: Float(a.value, 32),
    "f32_to_f64": lambda a: Float(a.value, 64), "f64_to_f32": lambda a: Float(a.value, 32),
    "f16_to_i16": lambda a: to_integer(a, -1 << 15, (1 << 15) - 1), "f16_to_u16": lambda a: to_integer(a, 0, (1 << 16) - 1),
    "i16_to_f16": lambda a: Float(float(a), 16), "u16_to_f16": lambda a: Float(float(a), 16),
    "i8_to_i32": lambda a: a, "u8_to_u32": lambda a: a,
}
for source in ("i32", "u32"):
    FUNCTIONS[f"{source}_to_f32"] = lambda a: Float(a, 32)
    FUNCTIONS[f"{source}_to_f64"] = lambda a: Float(a, 64)
CONSTANTS = {"INF": Float(math.inf, 64), "NAN": Float(math.nan, 64), "OVERFLOW_F32": Float(math.inf, 32), "UNDERFLOW_F32": Float(0.0, 32),
             "OVERFLOW_F64": Float(math.inf, 64), "UNDERFLOW_F64": Float(0.0, 64), "laneId": 0}
TOKEN = re.compile(r"\s*(?:(\d+)'([UIFB])\(|(\d+)'(\d+\.\d+)|(\d+)'(0x[0-9a-fA-F]+|\d+)[UL]*|(0x[0-9a-fA-F]+)(?:ULL|LL|U)?|(\d+\.\d+)(F)?|(\d+)(?:ULL|LL|U)?|"
                   r"([A-Za-z_]\w*)|(\*\*|<>|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/&|^~!<>?:()\[\]{}.,=]))")
LEVELS = [["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!=", "<>"], ["<", ">", "<=", ">="], ["<<", ">>"], ["+", "-"], ["*", "/"], ["**"]]
COMPARES = {"==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, ">": lambda a, b: a > b,
            "<>": lambda a, b: a < b or a > b, "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b}


def tokens(text):
    out, at = [], 0
    while text[at:].strip():
        m = TOKEN.match(text, at)
        if not m:
            raise ValueError(f"pseudocode: {text[at:]}")
        at = m.end()
        cast, kind, size, sized_real, _, sized, hexadecimal, real, single, integer, name, operator = m.groups()
        if cast:
            out.append(("cast", int(cast), kind))
        elif size:
            out.append(("number", Float(float(sized_real), int(size))))
        elif sized or hexadecimal or integer:
            out.append(("number", int(sized or hexadecimal or integer, 0)))
        elif real:
            out.append(("number", Float(float(real), 32 if single else 64)))
        else:
            out.append(("name", name) if name else ("op", operator))
    return out


class Parser:
    """Parses expressions into functions of an environment."""

    def __init__(self, text, call):
        self.tokens, self.at, self.call = tokens(text), 0, call

    def peek(self, *operators):
        return self.at < len(self.tokens) and self.tokens[self.at][0] == "op" and self.tokens[self.at][1] in operators

    def take(self, operator):
        if not self.peek(operator):
            raise ValueError(f"pseudocode: {operator} is missing in {self.tokens}")
        self.at += 1

    def expression(self):
        condition = self.binary(0)
        if not self.peek("?"):
            return condition
        self.take("?")
        yes = self.expression()
        self.take(":")
        no = self.expression()
        return lambda env: yes(env) if number(condition(env)) else no(env)

    def binary(self, level):
        if level == len(LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.peek(*LEVELS[level]):
            operator = self.tokens[self.at][1]
            self.at += 1
            left = self.combine(operator, left, self.binary(level + 1))
        return left

    @staticmethod
    def combine(operator, left, right):
        if operator == "||":
            return lambda env: bool(number(left(env))) or bool(number(right(env)))
        if operator == "&&":
            return lambda env: bool(number(left(env))) and bool(number(right(env)))
        if operator in COMPARES:
            def compare(env):
                a, b = left(env), right(env)
                if b == "DENORM":  # comparison with DENORM: is it subnormal?
                    return a.value != 0 and abs(a.value) < {16: 2.0 ** -14, 32: 2.0 ** -126, 64: 2.0 ** -1022}[a.size]
                if operator == "==" and isinstance(b, Float) and b.exact:
                    return a.value == 0 and math.copysign(1, a.value) == math.copysign(1, b.value)
                return COMPARES[operator](number(a), number(b))
            return compare
        bits = {"|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "&": lambda a, b: a & b, "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b}
        if operator in bits:
            return lambda env: bits[operator](int(left(env)), int(right(env)))
        return lambda env: arithmetic(operator, left(env), right(env))

    def unary(self):
        zero = self.at + 1 < len(self.tokens) and self.peek("+", "-") and self.tokens[self.at + 1]
        if zero and zero[0] == "number" and isinstance(zero[1], Float) and zero[1].value == 0:  # a zero with a sign equals only that zero
            self.at += 2
            signed = Float(-0.0 if self.tokens[self.at - 2][1] == "-" else 0.0, 64)
            signed.exact = True
            return lambda env: signed
        for operator, apply in (("-", lambda a: float_of(a.bits ^ 1 << (a.size - 1), a.size) if isinstance(a, Float) else -a),
                                ("+", lambda a: a), ("!", lambda a: not number(a)), ("~", lambda a: ~a)):
            if self.peek(operator):
                self.at += 1
                operand = self.unary()
                return lambda env, apply=apply: apply(operand(env))
        return self.postfix(self.primary())

    def arguments(self):
        out = []
        while not self.peek(")"):
            out.append(self.expression())
            if self.peek(","):
                self.take(",")
        self.take(")")
        return out

    def primary(self):
        token = self.tokens[self.at]
        self.at += 1
        if token[0] == "number":
            return lambda env: token[1]
        if token[0] == "cast":
            return self.cast(token[1], token[2], self.arguments()[0])
        if token == ("op", "("):
            inner = self.expression()
            self.take(")")
            return inner
        if token == ("op", "{"):
            return self.concatenation()
        name = token[1]
        if self.peek("("):
            self.take("(")
            arguments = self.arguments()
            function = FUNCTIONS.get(name) or self.call(name)
            return lambda env: function(*[a(env) for a in arguments])
        if name == "DENORM":
            return lambda env: "DENORM"
        return lambda env: env[name] if name in env else CONSTANTS[name]

    @staticmethod
    def cast(size, kind, inner):
        def convert(env):
            value = inner(env)
            if kind == "F":
                return Float(value.value, size, value.bits if value.size == size else signal(value, size)) if isinstance(value, Float) else float_of(value, size)
            return typed(value, ("u" if kind == "B" else kind.lower()) + str(size)) if not isinstance(value, Float) else raw(value)
        return convert

    def concatenation(self):
        parts = []
        while not self.peek("}"):
            begin = self.at
            parts.append((self.expression(), self.tokens[self.at - 1][1] if self.at > begin else None))
            if self.peek(","):
                self.take(",")
        self.take("}")

        def join(env):
            value = 0
            for part, kind in parts:
                size = int(kind[1:])
                value = value << size | raw(part(env)) & ((1 << size) - 1)
            return value
        return join

    def postfix(self, value):
        while self.peek(".", "["):
            if self.peek("."):
                self.take(".")
                kind = self.tokens[self.at][1]
                self.at += 1
                # Bits of S0.u32[63 : 32] may lie beyond the type.
                value = value if self.peek("[") else self.member(value, kind)
            else:
                self.take("[")
                high = self.expression()
                low = high
                if self.peek(":"):
                    self.take(":")
                    low = self.expression()
                self.take("]")
                value = self.slice(value, high, low)
        return value

    @staticmethod
    def member(value, kind):
        if kind == "IEEE":
            return lambda env: 1
        return lambda env: constant_of(value(env), kind)

    @staticmethod
    def slice(value, high, low):
        def bits(env):
            last, first = high(env), low(env)
            if last < first:  # bits in reverse order
                return sum((raw(value(env)) >> (first - i) & 1) << i for i in range(first - last + 1))
            return raw(value(env)) >> first & ((1 << (last - first + 1)) - 1)
        return bits


def signal(value, size):
    """Converts the bits of a NaN to another size; keeps whether it is signaling."""
    if not math.isnan(value.value):
        return None
    top = {16: 1 << 9, 32: 1 << 22, 64: 1 << 51}[size]
    plain = {16: 0x7c00, 32: 0x7f800000, 64: 0x7ff << 52}[size]
    return plain | (1 if value.signaling() else top) | (value.bits >> (value.size - 1)) << (size - 1)


def constant_of(value, kind):
    if value == "DENORM":
        return value
    if isinstance(value, Float) and kind[0] == "f" and value.size != int(kind[1:]):
        return Float(value.value, int(kind[1:]))
    return typed(value, kind)


WHERE = re.compile(r"^(\w+)(?:\[([^\]:]+?)(?: : ([^\]]+))?\])?(?:\.([uifb]\d+))?(?:\[(.+?)(?: : (.+?))?\])?$")


class Code:
    """Text of one instruction as a function of an environment: S0, S1, S2, D0, VCC, SCC, EXEC as bits."""

    def __init__(self, text, call):
        self.call = call
        lines = [re.sub(r"//.*", "", line).strip().rstrip(";").strip() for line in text.split("\n")]
        self.lines = [part for line in lines if line for part in re.sub(r";\s*", "\n", line).split("\n")]
        self.at = 0
        self.body = self.block()

    def expression(self, text):
        return Parser(text, self.call).expression()

    def block(self):
        out = []
        while self.at < len(self.lines) and not re.match(r"(elsif|else|endif|endfor)\b", self.lines[self.at]):
            line = self.lines[self.at]
            self.at += 1
            if line.startswith("if "):
                out.append(self.conditional(line))
            elif line.startswith("for "):
                out.append(self.loop(line))
            elif line == "break":
                out.append(lambda env: True)
            elif not line.startswith("declare "):
                out.append(self.assignment(line))
        return out

    @staticmethod
    def run(block, env):
        return any(statement(env) for statement in block)

    def conditional(self, line):
        arms, last = [], []
        condition = self.expression(line[3:].removesuffix(" then"))
        while True:
            arms.append((condition, self.block()))
            line = self.lines[self.at]
            self.at += 1
            if line.startswith("elsif "):
                condition = self.expression(line[6:].removesuffix(" then"))
                continue
            if line == "else":
                last = self.block()
                self.at += 1
            break

        def choose(env):
            for condition, body in arms:
                if number(condition(env)):
                    return self.run(body, env)
            return self.run(last, env)
        return choose

    def loop(self, line):
        name, first, last = re.match(r"for (\w+) in (.+) : (.+) do", line).groups()
        first, last, body = self.expression(first), self.expression(last), self.block()
        self.at += 1

        def repeat(env):
            for env[name] in range(first(env), last(env) + 1):
                if self.run(body, env):
                    break
            return False
        return repeat

    def assignment(self, line):
        found = re.match(r"(\{.*?\}|[^=]+?)\s*([-+|&]?)=(?!=)\s*(.*)", line)
        target, operator, value = found.groups()
        if operator:
            value = f"{target} {operator} ({value})"
        value = self.expression(value)
        if target.startswith("{"):
            parts = [self.place(part.strip()) for part in target[1:-1].split(",")]
            sizes = [int(part.strip().split(".")[1][1:]) for part in target[1:-1].split(",")]

            def spread(env):
                bits = raw(value(env))
                for part, size in reversed(list(zip(parts, sizes))):
                    part(env, bits & ((1 << size) - 1))
                    bits >>= size
            return spread
        place = self.place(target)
        return lambda env: place(env, value(env))

    def place(self, target):
        nested = re.match(r"^(\w+)\.([uib]\d+)\[(\w+\..*\[.*\])\]$", target)
        name, high, low, kind, high2, low2 = (nested[1], None, None, nested[2], nested[3], None) if nested else WHERE.match(target).groups()
        size = int(kind[1:]) if kind else None
        if high or high2:
            last = self.expression(high or high2)
            first = self.expression(low or low2) if low or low2 else last

            def part(env, value):
                at, n = first(env), last(env) - first(env) + 1
                mask = ((1 << n) - 1) << at
                if isinstance(value, Float) and value.size != n:
                    value = Float(value.value, n)
                env[name] = raw(env.get(name, 0)) & ~mask | raw(value) << at & mask
            return part

        def whole(env, value):
            if not kind:
                env[name] = value
            elif kind[0] == "f":
                env[name] = (value if isinstance(value, Float) and value.size == size else Float(number(value), size)).bits
            else:
                env[name] = raw(value) & ((1 << size) - 1)
        return whole

    def __call__(self, env):
        try:
            self.run(self.body, env)
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise ValueError(f"{self.lines}: {error!r}") from error


class Manual:
    """All instructions, by name: v_add_f32, s_and_b64."""

    def __init__(self, path):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        table = next(node.value for node in tree.body if isinstance(node, ast.Assign))
        self.text = {key.attr.lower(): value.value for key, value in zip(table.keys, table.values) if isinstance(value, ast.Constant)}
        self.codes = {}

    def find(self, name):
        for suffix in ("_e32", "", "_e64"):
            if name + suffix in self.text:
                if name not in self.codes:
                    self.codes[name] = Code(self.text[name + suffix], self.call)
                return self.codes[name]
        return None

    def call(self, name):
        """A call of an instruction, such as v_max_f32, in another one's text."""
        kind = name.split("_")[-1]

        def function(*arguments):
            env = {f"S{i}": raw(a) & ((1 << int(kind[1:])) - 1) for i, a in enumerate(arguments)}
            self.find(name)(env)
            return typed(env["D0"], kind)
        return function
