#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the PeachPy wrapper: texts that it refuses, modules that it writes, and its kernel called and inlined.

    peachpy_wrapper.py CLANG LLVM-LINK OPT LLVM-OBJDUMP

The four tools belong to the LLVM that the library is built with.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
KERNELS = os.path.join(HERE, "..", "..", "asm", "peachpy")
WRAP = os.path.join(KERNELS, "wrap.py")
KERNEL = "uk_sgemm_6x16_avx2_peachpy"

sys.dont_write_bytecode = True
sys.path.insert(0, KERNELS)
import wrap  # noqa: E402

TOOLS = {}


def run(*command):
    """Returns the standard output of a command, which must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError("%s: exit %d\n%s%s" % (" ".join(command), done.returncode, done.stdout, done.stderr))
    return done.stdout


class RefusedText(unittest.TestCase):
    """Texts that an asm statement cannot contain, each with the line quoted in the message and the reason."""

    CASES = (
        ("vmovaps 0(%rip), %ymm0\nret", "vmovaps 0(%rip), %ymm0", "rip-relative"),
        ("pushq %r12\nret", "pushq %r12", "push"),
        ("popq %rax\nret", "popq %rax", "pop"),
        ("push $1\nret", "push $1", "uses the stack"),
        ("pushfq\nret", "pushfq", "uses the stack"),
        ("call foo\nret", "call foo", "uses the stack"),
        ("leave\nret", "leave", "uses the stack"),
        ("movq 8(%rsp), %rax\nret", "movq 8(%rsp), %rax", "the stack is not the kernel's own"),
        ("subq $32, %rsp\nret", "subq $32, %rsp", "the stack is not the kernel's own"),
        ("movq %rdi, -8(%rbp)\nret", "movq %rdi, -8(%rbp)", "frame pointer"),
        ("xorl %ebx, %ebx\nret", "xorl %ebx, %ebx", "base pointer"),
        ("movq table, %rax\nret", "movq table, %rax", "operand table is neither"),
        ("vmovups table+8(%rdi), %ymm0\nret", "vmovups table+8(%rdi), %ymm0", "symbols and absolute addresses"),
        ("movq $table, %rax\nret", "movq $table, %rax", "symbols and absolute addresses"),
        ("movq 4096, %rax\nret", "movq 4096, %rax", "symbols and absolute addresses"),
        ("movq %fs:0(%rdi), %rax\nret", "movq %fs:0(%rdi), %rax", "register %fs"),
        ("fld %st\nret", "fld %st", "register %st"),
        ("vmovups %zmm0, 0(%rsi)\nret", "vmovups %zmm0, 0(%rsi)", "register %zmm0"),
        ("jmp nowhere\nret", "jmp nowhere", "jump to nowhere"),
        ("jmp *%rax\nret", "jmp *%rax", "not a label of the function"),
        (".here:\n.here:\nret", ".here:", "defined twice"),
        ("ret\n.behind:\nvaddps %ymm0, %ymm0, %ymm0", "vaddps %ymm0, %ymm0, %ymm0", "instructions after ret"),
        ("jz early\nret\n.early:\nret", "ret", "ret before the end"),
        ("vaddps %ymm0, %ymm0, %ymm0", "vaddps %ymm0, %ymm0, %ymm0", "no ret at the end"),
        ("", None, "no ret at the end"),
        (".quad 7\nret", ".quad 7", "directive"),
        ("align\nret", "align", "directive"),
        ("vzeroupper\nvaddps %ymm0, %ymm0, %ymm0\nret", "vzeroupper", "implicit"),
        ("mulq %rcx\nret", "mulq %rcx", "implicit"),
        ("imulq %rcx\nret", "imulq %rcx", "implicit"),
        ("cpuid\nret", "cpuid", "implicit"),
        ("rep movsb\nret", "rep movsb", "implicit"),
        ("vldmxcsr 0(%rdi)\nret", "vldmxcsr 0(%rdi)", "implicit"),
        ("movaps %xmm0, %xmm1\nret", "movaps %xmm0, %xmm1", "implicit"),
        ("cld\nret", "cld", "implicit"),
    )

    def test_each_is_refused(self):
        for text, line, reason in self.CASES:
            with self.subTest(text=text):
                with self.assertRaises(wrap.Refused) as refused:
                    wrap.module("uk_x", [("k", "i64")], ["avx"], text, "uk_x.py")
                self.assertIn(reason, str(refused.exception))
                if line is not None:
                    self.assertIn("`%s`" % line, str(refused.exception))

    def test_number_of_arguments(self):
        for count in (0, 13):
            with self.assertRaisesRegex(wrap.Refused, "%d arguments" % count):
                wrap.module("uk_x", [("x%d" % i, "i64") for i in range(count)], [], "ret", "uk_x.py")


class WrittenModule(unittest.TestCase):
    TEXT = """
        # 48 85 FF
        testq %rdi, %rdi
        jz done
    .again::
        movl $-3, %eax
        vmovups 0(%rsi), %ymm3
        vaddps %xmm4, %xmm4, %xmm4
        vmovups %ymm3, 64(%rsi,%rdi,4)
        decq %rdi
        jnz again
    .done::
        vzeroupper
        ret
    """

    def module(self, arguments=(("k", "i64"), ("a", "ptr"))):
        return wrap.module("uk_x", list(arguments), ["avx"], self.TEXT, "uk_x.py")

    def test_registers(self):
        """Arguments are bound to registers and tied; registers that the text names are clobbered over their full width."""
        self.assertIn('"={rdi},={rsi},0,1,~{rax},~{ymm3},~{ymm4},~{memory},~{dirflag},~{fpsr},~{flags}"'
                      '(i64 %k, ptr %a)', self.module())

    def test_text(self):
        module = self.module()
        self.assertIn("movl $$-3, %eax", module)
        self.assertIn("jz .Luk_done_${:uid}\\0A.Luk_again_${:uid}:", module)
        for absent in ("vzeroupper", "\\09ret", "48 85 FF"):
            self.assertNotIn(absent, module)

    def test_it_assembles(self):
        """LLVM accepts the module with one argument, where the result is not a struct, and with several."""
        for arguments in ((("k", "i64"),), (("k", "i64"), ("a", "ptr"))):
            with tempfile.TemporaryDirectory() as folder:
                source = os.path.join(folder, "x.ll")
                with open(source, "w", encoding="ascii") as file:
                    file.write(self.module(arguments))
                run(TOOLS["clang"], "-O2", "-fPIC", "-Werror", "-c", source, "-o", os.path.join(folder, "x.o"))


class Scripts(unittest.TestCase):
    """Runs whole scripts through the command; each defines a function uk_x with given arguments and body."""

    SCRIPT = """
from peachpy import *
from peachpy.x86_64 import *
arguments = tuple(%s)
with Function(%s, target=uarch.haswell) as function:
%s
    RETURN()
"""

    def command(self, arguments, signature, body):
        """Returns the exit status, standard error, and the module or None."""
        with tempfile.TemporaryDirectory() as folder:
            script, output = os.path.join(folder, "uk_x.py"), os.path.join(folder, "uk_x.ll")
            with open(script, "w", encoding="ascii") as file:
                file.write(self.SCRIPT % (arguments, signature, "".join("    %s\n" % line for line in body)))
            done = subprocess.run([sys.executable, WRAP, script, output], capture_output=True, text=True, check=False)
            left = sorted(set(os.listdir(folder)) - {"uk_x.py"})
            if done.returncode != 0:
                self.assertEqual(left, [], "nothing is written by a refused run")
                return done.returncode, done.stderr, None
            self.assertEqual(left, ["uk_x.ll"])
            with open(output, encoding="ascii") as file:
                return 0, done.stderr, file.read()

    TWO = '[Argument(int64_t, name="k"), Argument(ptr(float_), name="a")]'
    NAMED = '"uk_x", arguments'
    LOADS = ["k, a = GeneralPurposeRegister64(), GeneralPurposeRegister64()",
             "LOAD.ARGUMENT(k, arguments[0])",
             "LOAD.ARGUMENT(a, arguments[1])"]

    def test_accepted(self):
        status, error, module = self.command(self.TWO, self.NAMED, self.LOADS + ["ADD(a, k)", "VMOVUPS([a], ymm0)"])
        self.assertEqual((status, error), (0, ""))
        self.assertIn("define void @uk_x(i64 %k, ptr %a)", module)
        self.assertIn('"target-features"="+avx"', module)

    def test_more_registers_than_a_callee_may_change(self):
        """An asm statement saves no registers: a function that needs many pushes none."""
        body = ["many = [GeneralPurposeRegister64() for _ in range(10)]"] + \
            ["for register in many: LEA(register, [a + k * 4])"] + ["for register in many: ADD(a, register)"]
        status, error, module = self.command(self.TWO, self.NAMED, self.LOADS + body)
        self.assertEqual((status, error), (0, ""))
        self.assertIn("~{r15}", module)

    def test_refused(self):
        loads = self.LOADS
        cases = (
            (self.TWO, '"uk_y", arguments', loads, "0 functions named uk_x"),
            (self.TWO, '"uk_x", arguments, int64_t', loads, "returns a value"),
            ('[Argument(int32_t, name="k"), Argument(ptr(float_), name="a")]', self.NAMED, [],
             "argument k is neither"),
            ('[Argument(float_, name="k"), Argument(ptr(float_), name="a")]', self.NAMED, [], "argument k is neither"),
            ('[Argument(int64_t, name="x%d" % i) for i in range(13)]', self.NAMED, [], "13 arguments"),
            (self.TWO, self.NAMED, loads[:2] + ["ADD(k, 1)"] + loads[2:], "argument a is loaded late"),
            (self.TWO, self.NAMED, loads + ["LOAD.ARGUMENT(k, arguments[1])"], "argument a is loaded into"),
            (self.TWO, self.NAMED, loads + ["VADDPS(ymm0, ymm0, Constant.float32x8(1.0))"], "rip-relative"),
            (self.TWO, self.NAMED, loads + ["MOVBE(k, [a])"], "instruction set MOVBE"),
            (self.TWO, self.NAMED, ["function.target = None"] + loads + ["VADDPS(zmm0, zmm1, zmm2)"],
             "instruction set AVX512F"),
            (self.TWO, self.NAMED, loads + ["MOV(rbx, k)"], "base pointer"),
            (self.TWO, self.NAMED, loads + ["early = Label('early')", "TEST(k, k)", "JZ(early)", "RETURN()",
                                            "LABEL(early)"], "ret before the end"),
        )
        for arguments, signature, body, reason in cases:
            with self.subTest(reason=reason):
                status, error, _ = self.command(arguments, signature, body)
                self.assertEqual(status, 1, error)
                self.assertIn("uk_x.py: error: ", error)
                self.assertIn(reason, error)

    def test_usage(self):
        done = subprocess.run([sys.executable, WRAP], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage: wrap.py KERNEL.py KERNEL.ll", done.stderr)


class Kernel(unittest.TestCase):
    """Runs peachpy_kernel.c linked with the kernel's object, and with the kernel inlined."""

    FLAGS = ("-std=c17", "-O2", "-mavx2", "-mfma", "-fPIC", "-I" + os.path.join(HERE, os.pardir, "data"))

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.module = cls.path("kernel.ll")
        run(sys.executable, WRAP, os.path.join(KERNELS, KERNEL + ".py"), cls.module)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    def disassemble(self, file):
        lines = run(TOOLS["objdump"], "-d", "--no-show-raw-insn", "--no-leading-addr", file).splitlines()
        return [" ".join(line.split()) for line in lines]

    def run_kernel(self, program):
        with open("/proc/cpuinfo", encoding="ascii") as file:
            flags = set(file.read().split())
        if not {"avx2", "fma"} <= flags:
            self.skipTest("%s is not run: this CPU has no AVX2 and FMA" % KERNEL)
        run(program)

    def test_the_same_module_every_time(self):
        for seed in "1", "2", "3":
            again = self.path("again.ll")
            subprocess.run([sys.executable, WRAP, os.path.join(KERNELS, KERNEL + ".py"), again], check=True,
                           env=dict(os.environ, PYTHONHASHSEED=seed))
            with open(again, encoding="ascii") as one, open(self.module, encoding="ascii") as other:
                self.assertEqual(one.read(), other.read())

    def test_called(self):
        obj, program = self.path("kernel.o"), self.path("called")
        run(TOOLS["clang"], "-O2", "-fPIC", "-Werror", "-c", self.module, "-o", obj)
        code = self.disassemble(obj)
        self.assertEqual(code[-2:], ["vzeroupper", "retq"])
        run(TOOLS["clang"], *self.FLAGS, os.path.join(HERE, "peachpy_kernel.c"), obj, "-lcmocka", "-o", program)
        self.run_kernel(program)

    def test_inlined(self):
        with open(self.module, encoding="ascii") as file:
            text = file.read()
        inlined = self.path("inlined.ll")
        with open(inlined, "w", encoding="ascii") as file:
            file.write(text.replace("attributes #0 = { ", "attributes #0 = { alwaysinline "))
        caller, linked, optimized = self.path("caller.bc"), self.path("linked.bc"), self.path("optimized.ll")
        run(TOOLS["clang"], *self.FLAGS, "-emit-llvm", "-c", os.path.join(HERE, "peachpy_kernel.c"), "-o", caller)
        run(TOOLS["llvm-link"], caller, inlined, "-o", linked)
        run(TOOLS["opt"], "-passes=always-inline", "-S", linked, "-o", optimized)
        with open(optimized, encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("call void @%s(" % KERNEL, text)
        body = re.search(r"^define [^\n]*@two_calls\(.*?^}", text, re.MULTILINE | re.DOTALL).group()
        self.assertEqual(body.count("asm sideeffect"), 2)

        obj, program = self.path("inlined.o"), self.path("inlined")
        run(TOOLS["clang"], *self.FLAGS, "-c", optimized, "-o", obj)
        code = self.disassemble(obj)
        start = code.index("<two_calls>:")
        body = code[start:code.index("retq", start)]
        self.assertEqual([line for line in body if line.startswith("call")], [])
        self.assertEqual(sum(line.startswith("vfmadd231ps") for line in body), 24)
        self.assertEqual(body.count("vzeroupper"), 1)
        run(TOOLS["clang"], obj, "-lcmocka", "-o", program)
        self.run_kernel(program)


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit("usage: peachpy_wrapper.py CLANG LLVM-LINK OPT LLVM-OBJDUMP [unittest arguments]")
    TOOLS.update(zip(("clang", "llvm-link", "opt", "objdump"), sys.argv[1:5]))
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
