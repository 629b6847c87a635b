/* What the kernels of 14 rows x 2 vectors of 16 floats or 8 doubles share: their element, and what becomes of the sums in
 * zmm0 to zmm27, row i in 2i and 2i + 1. Each kernel's file says how it computes them. */
#ifdef UK_DOUBLE
typedef double element;
enum { V = 8, NR = 2 * V };
#define BYTES "8"
#define VECTOR "8"
#define P "pd"
#define S "sd"
#else
typedef float element;
enum { V = 16, NR = 2 * V };
#define BYTES "4"
#define VECTOR "16"
#define P "ps"
#define S "ss"
#endif
static const int64_t size = sizeof(element);

/* clang-format off */
#define EACH_ROW(F)                                                                                         \
    F(0, 1) F(2, 3) F(4, 5) F(6, 7) F(8, 9) F(10, 11) F(12, 13) F(14, 15) F(16, 17) F(18, 19)               \
    F(20, 21) F(22, 23) F(24, 25) F(26, 27)
#define ZERO(x, y)                                                                                          \
    "vpxord %%zmm" #x ", %%zmm" #x ", %%zmm" #x "\n\t"                                                      \
    "vpxord %%zmm" #y ", %%zmm" #y ", %%zmm" #y "\n\t"
#define STORE(x, y)                                                                                         \
    "vmovu" P " %%zmm" #x ", (%[c])\n\t"                                                                    \
    "vmovu" P " %%zmm" #y ", 64(%[c])\n\t"                                                                  \
    "add %[ld], %[c]\n\t"
#define ADD_STORE(x, y)                                                                                     \
    "vadd" P " (%[c]), %%zmm" #x ", %%zmm" #x "\n\t"                                                        \
    "vadd" P " 64(%[c]), %%zmm" #y ", %%zmm" #y "\n\t"                                                      \
    STORE(x, y)
/* Upwards, under the masks of the columns. Without acc the old ones are empty, and C is not read. */
#define EDGE_STORE(x, y)                                                                                    \
    "vadd" P " (%[c]), %%zmm" #x ", %%zmm" #x "%{%[old0]%}\n\t"                                             \
    "vadd" P " 64(%[c]), %%zmm" #y ", %%zmm" #y "%{%[old1]%}\n\t"                                           \
    "vmovu" P " %%zmm" #x ", (%[c])%{%[new0]%}\n\t"                                                         \
    "vmovu" P " %%zmm" #y ", 64(%[c])%{%[new1]%}\n\t"                                                       \
    "sub %[ld], %[c]\n\t"

#define CLOBBERS                                                                                            \
    "memory", "cc", "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7", "zmm8", "zmm9",         \
    "zmm10", "zmm11", "zmm12", "zmm13", "zmm14", "zmm15", "zmm16", "zmm17", "zmm18", "zmm19",               \
    "zmm20", "zmm21", "zmm22", "zmm23", "zmm24", "zmm25", "zmm26", "zmm27", "zmm28", "zmm29",               \
    "zmm30", "zmm31"

/* The row of A at `row`, into accumulators x and y. */
#define ROW_IN_PLACE(row, x, y, t)                                                                                   \
    "vbroadcast" S " " row ", %%zmm" #t "\n\t"                                                              \
    "vfmadd231" P " %%zmm28, %%zmm" #t ", %%zmm" #x "\n\t"                                                  \
    "vfmadd231" P " %%zmm29, %%zmm" #t ", %%zmm" #y "\n\t"
/* The n-th step of a turn, B loaded; four pointers and the stride of rows reach all rows. Row i begins at label 1i, where
 * an edge tile of i + 1 rows enters; row 0 at label 10. */
#define ROWS_IN_PLACE(n)                                                                                             \
    "23:\n\t" ROW_IN_PLACE(BYTES "*" #n "(%[a5], %[lda], 8)", 26, 27, 31)                                            \
    "22:\n\t" ROW_IN_PLACE(BYTES "*" #n "(%[a10], %[lda], 2)", 24, 25, 30)                                           \
    "21:\n\t" ROW_IN_PLACE(BYTES "*" #n "(%[a10], %[lda], 1)", 22, 23, 31)                                           \
    "20:\n\t" ROW_IN_PLACE(BYTES "*" #n "(%[a10])", 20, 21, 30)                                                      \
    "19:\n\t" ROW_IN_PLACE(BYTES "*" #n "(%[a5], %[lda], 4)", 18, 19, 31)                                            \
    "18:\n\t" ROW_IN_PLACE(BYTES "*" #n "(%[a], %[lda], 8)", 16, 17, 30)                                             \
    "17:\n\t" ROW_IN_PLACE(BYTES "*" #n "(%[a5], %[lda], 2)", 14, 15, 31)                                            \
    "16:\n\t" ROW_IN_PLACE(BYTES "*" #n "(%[a5], %[lda], 1)", 12, 13, 30)                                            \
    "15:\n\t" ROW_IN_PLACE(BYTES "*" #n "(%[a5])", 10, 11, 31)                                                       \
    "14:\n\t" ROW_IN_PLACE(BYTES "*" #n "(%[a], %[lda], 4)", 8, 9, 30)                                               \
    "13:\n\t" ROW_IN_PLACE(BYTES "*" #n "(%[a3])", 6, 7, 31)                                                         \
    "12:\n\t" ROW_IN_PLACE(BYTES "*" #n "(%[a], %[lda], 2)", 4, 5, 30)                                               \
    "11:\n\t" ROW_IN_PLACE(BYTES "*" #n "(%[a], %[lda], 1)", 2, 3, 31)                                               \
    "10:\n\t" ROW_IN_PLACE(BYTES "*" #n "(%[a])", 0, 1, 30)
/* clang-format on */
