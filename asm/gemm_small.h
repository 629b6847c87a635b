/* A kernel of small products, of its prepare and run: the whole call; or with UK_RESOLVED the two, for calls that are
 * repeated with the same sizes and strides. */
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

#ifdef UK_RESOLVED
void PASTE(UK_SYMBOL, _prepare)(struct uk_small_call *s, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                                int64_t m, int64_t n);
void PASTE(UK_SYMBOL, _prepare)(struct uk_small_call *s, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                                int64_t m, int64_t n) {
    prepare(s, k, lda, ldb, ldc, m, n);
}

void PASTE(UK_SYMBOL, _run)(const struct uk_small_call *s, const void *a, const void *b, void *c, int acc);
void PASTE(UK_SYMBOL, _run)(const struct uk_small_call *s, const void *a, const void *b, void *c, int acc) {
    run(s, a, b, c, acc);
}
#else
void UK_SYMBOL(int64_t k, const element *a, int64_t lda, const element *b, int64_t ldb, element *c,
               int64_t ldc, int64_t acc, int64_t m, int64_t n) {
    struct uk_small_call s;

    prepare(&s, k, lda, ldb, ldc, m, n);
    run(&s, a, b, c, acc != 0);
}
#endif
