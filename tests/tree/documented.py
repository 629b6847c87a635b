# SPDX-License-Identifier: Apache-2.0
"""Compiles and runs the examples in comments of ukernels.h, convolutions.h, low_precision.h, weights.h, kernels.h, gpu.h and tensorize.h. (README.md and
docs/: listings.py.)

    documented.py SOURCE STAGE CC

STAGE has the installed files. Each example is put into a program that declares what the example assumes, and
checks its results. An example without such a program is an error.
"""

import pathlib
import subprocess
import sys
import tempfile

source, stage, cc = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
if not (stage / "bin/uk").exists():
    sys.exit(f"{stage}/bin/uk is not there; run ./uk-setup test, or meson install first")
if "avx2" not in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"):
    print("skipped: this CPU has no AVX2, which examples name")
    sys.exit(77)
INCLUDES = "".join(f"#include <{name}.h>\n" for name in ("math", "stdio", "stdlib", "string"))
FLAGS = ["-std=c17", "-Wall", "-Wextra", "-Werror", f"-I{stage}/include", f"-L{stage}/lib", f"-Wl,-rpath,{stage}/lib"]
FACTORS = "const float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, 0, 1, 1, 1};"
PRODUCT = "result[0] == 4 && result[1] == 5 && result[2] == 10 && result[3] == 11"


def run(command, **options):
    """Returns the command's output; a failure ends the test."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{command}: {done.returncode}\n{done.stdout}")
    return done.stdout


def run_c(name, before, example, after, libraries, outside=""):
    """Runs a program with the example in main(), its #include lines before; `outside` precedes main()."""
    lines = example.splitlines()
    includes = [line for line in lines if line.startswith("#include")]
    body = "\n".join(line for line in lines if line not in includes)
    text = INCLUDES + "\n".join(includes) + f"\n{outside}\nint main(void) {{\n{before}\n{body}\n{after}\n}}\n"
    path = work / f"{name}.c"
    path.write_text(text, encoding="utf-8")
    run([cc, *FLAGS, str(path), *libraries, "-lm", "-o", str(work / name)])
    run([str(work / name)])
    print(f"{name}: compiled and run")


def header_examples(path):
    """Texts indented by four more columns than the comment around them."""
    found, example = [], []
    for line in [*path.read_text(encoding="utf-8").splitlines(), ""]:
        if line.startswith(" *     "):
            example.append(line[7:])
        elif example:
            found.append("\n".join(example))
            example = []
    return found


# Context for the example of a kernel: a product of 6 x K by K x 16, and a check of its result.
KERNEL = """enum { K = 3 };
float a[6 * K], b[16 * K], c[6 * 16];
const int64_t ldc = 16;
for (int i = 0; i < 16 * K; i++)
    b[i] = i % 5;
for (int i = 0; i < 6 * K; i++)
    a[i] = i % 3;
"""
IS_RIGHT = """for (int i = 0; i < 6; i++)
    for (int j = 0; j < 16; j++) {
        float sum = 0;
        for (int p = 0; p < K; p++)
            sum += a[p * 6 + i] * b[p * 16 + j];
        if (c[i * 16 + j] != sum)
            return 1;
    }"""


def check_library_headers():
    text, kernel, state, cpu, threads, product, batch, plan, packed = header_examples(source / "ukernels/ukernels.h")
    (convolution,) = header_examples(source / "ukernels/convolutions.h")
    (quantized,) = (e for e in header_examples(source / "ukernels/low_precision.h") if "status" in e)
    (weights,) = (e for e in header_examples(source / "ukernels/weights.h") if "status" in e)
    (called,) = header_examples(source / "ukernels/kernels.h")
    (on_gpu,) = header_examples(source / "ukernels/gpu/gpu.h")

    def run_example(name, before, example, after, outside=""):
        run_c(name, before, "#include <ukernels/ukernels.h>\n" + example, after, ["-lukernels"], outside)

    run_example("status_text", "", text, 'return !!strcmp(uk_status_text(UK_INVALID_SIZE), "invalid size");')
    run_example("registry", KERNEL, kernel, IS_RIGHT)
    run_example(
        "state", 'const struct uk_kernel *kernel = uk_kernel_find("uk_sgemm_6x16_avx2_asm");', state,
        "return uk_kernel_state(kernel) != UK_STATE_NONE;")
    run_example("cpu", "", cpu, "return !fast;")
    run_example(
        "threads", "int values[1000] = {0};", threads, "for (int i = 0; i < 1000; i++)\nif (values[i] != 1)\nreturn 1;",
        "static void add_one(void *context, int64_t index, int64_t thread) { (void)thread; ((int *)context)[index]++; }")
    run_example("product", f"{FACTORS}\nfloat c[4], *result = c;", product, f"return status || !({PRODUCT});")
    run_example(
        "batch", "float a[160], b[16], c[160];\nfor (int i = 0; i < 160; i++)\na[i] = i;\n"
        "for (int i = 0; i < 16; i++)\nb[i] = 2 * (i % 5 == 0);", batch,
        "for (int i = 0; i < 160; i++)\nif (c[i] != 2 * i)\nreturn 1;")
    shape = f"{FACTORS}\nenum {{ m = 2, n = 2, k = 3, lda = 3, ldb = 2, ldc = 2 }};\nfloat c[4], bias[2] = {{-5, 0}}, *result = c;\n"
    run_example("plan", shape + "(void)result;", plan, "return status || c[0] != 0 || c[1] != 5 || c[2] != 5 || c[3] != 11;")
    run_example("packed", shape + "(void)bias;", packed, f"return !({PRODUCT});")
    run_example(
        "quantized", "enum { m = 1, n = 2, k = 1 };\nconst uint8_t a[] = {228}, b[] = {9, 150};\nconst int32_t zero[] = {4, 0};\nuint8_t c[2];",
        quantized, "return status || c[0] != 13 || c[1] != 255;")
    run_example(
        "weights", "static float x[4096], y[4096], scale[4096 * 128];\nstatic uint8_t weight[4096 * 2048];\nfor (int i = 0; i < 4096 * 2048; i++)\n"
        "weight[i] = 0x79;\nfor (int i = 0; i < 4096 * 128; i++)\nscale[i] = 0.5f;\nx[2] = 3;\nx[5] = 1;", weights,
        "return status || y[0] != 1 || y[4095] != 1;")
    images = """enum { C = 64, O = 32 };
    static float x[14 * 14 * C], f[9 * C * O], y[14 * 14 * O], bias[O];
    for (int i = 0; i < 14 * 14 * C; i++)
        x[i] = 1;
    for (int i = 0; i < 9 * C * O; i++)
        f[i] = 1;
    bias[1] = -1000;
    """
    run_example("convolution", images, convolution, "return status || y[0] != 4 * C || y[1] != 0 || y[15 * O] != 9 * C;")
    run_c("by_name", KERNEL, called, IS_RIGHT, ["-lukernels"])
    run_c("on_gpu", "char host[64] = {0};", "#include <ukernels/gpu.h>\n" + on_gpu, "uk_gpu_close(gpu);\nreturn 0;", ["-lukernels"])


def check_compiler_header():
    text, on_gpu, emitted, constant, several, bundle, search = header_examples(source / "tensorize/tensorize.h")
    (calls,), (verified,) = (header_examples(source / f"tensorize/tensorize_{part}.h") for part in ("calls", "verify"))
    libraries = ["-luktensorize", "-lukernels"]
    use = "#include <ukernels/tensorize.h>\n"
    run_c("from_text", f"{FACTORS}\nfloat result[4];\nint status = 1;", use + text, f"return status || !({PRODUCT});", libraries)
    run_c("prototype_on_gpu", "", "#include <ukernels/gpu.h>\n" + on_gpu, "return 0;", libraries)
    run_c(
        "by_calls", "struct uk_context *c = uk_context_create();\nstruct uk_module *module = NULL;", use + calls,
        f"""{FACTORS}
        float result[4];
        if (!module)
            return 1;
        if (uk_module_call(module, (int64_t[]){{2, 3, 2}}, NULL, (void *[]){{(void *)a, (void *)b, result}}) || !({PRODUCT}))
            return 2;
        uk_module_destroy(module);
        uk_program_destroy(p);
        uk_context_destroy(c);""", libraries)
    adds_one = """static bool adds_one(void *address) {
    const float x[3] = {1, 2, 3};
    float y[3] = {0};
    int (*add_one)(const float *, float *);
    memcpy(&add_one, &address, sizeof add_one);
    return address && !add_one(x, y) && y[0] == 2 && y[2] == 4;
    }"""
    programs = """static const char sum[] = "tensor A f32 [N]\\ntensor B f32 [N]\\ntensor C f32 [N]\\nC[i] = A[i] + B[i]\\n";
    struct uk_context *c = uk_context_create();
    struct uk_program *p = NULL, *first = NULL, *second = NULL;
    struct uk_module *m = NULL;
    void *address = NULL;
    enum uk_status status = UK_OK;
    if (uk_program_parse(c, "p.uk", sum, strlen(sum), &p) || uk_program_parse(c, "first.uk", sum, strlen(sum), &first) ||
        uk_program_parse(c, "second.uk", sum, strlen(sum), &second))
        return 1;
    """
    run_c(
        "constant", """struct uk_context *c = uk_context_create();
        struct uk_program *first = NULL;
        struct uk_module *m = NULL;
        const int64_t n = 3;
        const float weights[] = {1, 2, 3};
        float result[3];
        void *packed = NULL;
        int status = 1;""", use + constant,
        """uk_module_destroy(m);
        uk_program_destroy(first);
        uk_context_destroy(c);
        free(packed);
        return status || result[0] != 2 || result[2] != 6;""", libraries)
    end = """(void)address, (void)m;
    uk_module_destroy(m);
    uk_program_destroy(first);
    uk_program_destroy(second);
    uk_program_destroy(p);
    uk_context_destroy(c);
    return status != UK_OK"""
    for name, example, right in (
        ("emitted", emitted, "object && header && strstr(header, \"int p(\") && object_bytes > 500 && header_bytes"),
        ("several", several, "address"),
        ("bundle", bundle, "adds_one(address)"),
        ("verified", verified, "1"),
        ("searched", search, "1"),
    ):
        free = "uk_text_free(object);\nuk_text_free(header);\n" if name == "emitted" else ""
        outside = adds_one if name == "bundle" else ""
        run_c(name, programs, use + example, f"const bool right = {right};\n{free}{end} || !right;", libraries, outside)


with tempfile.TemporaryDirectory() as folder:
    work = pathlib.Path(folder)
    check_library_headers()
    check_compiler_header()
