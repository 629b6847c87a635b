/* SPDX-License-Identifier: Apache-2.0 */
/* Names that compilers of C and C++ reserve or know. */
#include <string.h>
#include "language.h"

/* Keywords of C and C++, and macros of their compilers and headers. */
static const char words[] =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t "
    "class co_await co_return "
    "co_yield compl complex concept const const_cast consteval constexpr constinit continue decltype default "
    "delete do double "
    "dynamic_cast else enum errno explicit export extern false float for fortran friend goto i386 if "
    "imaginary inline int linux long "
    "mutable namespace new noexcept noreturn not not_eq nullptr operator or or_eq private protected public "
    "register "
    "reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct "
    "switch template this "
    "thread_local throw true try typedef typeid typename typeof typeof_unqual union unix unsigned using "
    "virtual void volatile "
    "wchar_t size_t ptrdiff_t while xor xor_eq EOF FILE HUGE_VAL I INFINITY NAN NULL ";

/* Functions of the C library whose types compilers know, and symbols that linkers expect. Those of `real`
 * also exist with the suffix f or l. */
static const char real[] =
    " acos acosh asin asinh atan atan2 atanh cabs cacos cacosh carg casin casinh catan catanh cbrt ccos "
    "ccosh ceil cexp cimag clog "
    "clog10 conj copysign cos cosh cpow cproj creal csin csinh csqrt ctan ctanh drem erf erfc exp exp10 exp2 "
    "expm1 fabs fdim finite "
    "floor fma fmax fmin fmod frexp gamma gamma_r hypot ilogb isinf isnan j0 j1 jn ldexp lgamma lgamma_r "
    "llrint llround log log10 "
    "log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow pow10 remainder remquo rint "
    "round roundeven scalb "
    "scalbln scalbn signbit significand sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn ";
static const char functions[] =
    " abort abs aligned_alloc alloca atof atoi atol atoll bcmp bcopy bzero calloc dcgettext dgettext execl "
    "execle execlp execv "
    "execve execvp exit fclose ffs ffsl ffsll fopen fork fprintf fputc fputs fread free fscanf fwrite getc "
    "getcontext gettext "
    "imaxabs index isalnum isalpha isascii isblank iscntrl isdigit isgraph islower isprint ispunct isspace "
    "isupper isxdigit labs "
    "llabs longjmp main malloc memalign memccpy memchr memcmp memcpy memmove mempcpy memset posix_memalign "
    "printf putc putchar puts "
    "pthread_create rand realloc rindex savectx scanf setjmp siglongjmp sigsetjmp snprintf sprintf sscanf "
    "stpcpy stpncpy strcasecmp "
    "strcat strchr strcmp strcpy strcspn strdup strerror strfmon strftime strlcat strlcpy strlen strncasecmp "
    "strncat strncmp strncpy "
    "strndup strnlen strpbrk strrchr strspn strstr strtod strtof strtok strtol strtold strtoll strtoul "
    "strtoull strxfrm toascii "
    "tolower toupper ungetc vfork vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf wcschr wcscmp "
    "wcslen wcsncmp wmemchr "
    "wmemcmp wmemcpy wmemmove uk_gpu_launch uk_gpu_use uk_gpu_workspace uk_num_threads uk_parallel_for ";

static bool is_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool uk_is_identifier(const char *s) {
    if (!s || !*s || (*s >= '0' && *s <= '9'))
        return false;
    for (; *s; s++)
        if (!is_alphanumeric(*s) && *s != '_')
            return false;
    return true;
}

/* True for names that C or this library reserve, with any ending. */
static bool is_reserved(const char *name) {
    return !strncmp(name, "__", 2) || (name[0] == '_' && name[1] >= 'A' && name[1] <= 'Z') ||
           !strncmp(name, "UK_", 3);
}

char *uk_name_of_stem(struct uk_arena *a, const char *stem, size_t length, size_t longest, const char *word) {
    const bool begins_with_digit = length && *stem >= '0' && *stem <= '9';
    char *name = uk_alloc(a, longest + 2);
    size_t n = 0;

    if (!name)
        return NULL;
    if (begins_with_digit)
        name[n++] = '_';
    for (size_t i = 0; i < length && n < longest; i++)
        if (((unsigned char)stem[i] & 0xc0) != 0x80) /* the first byte of a character in UTF-8 */
            name[n++] = is_alphanumeric(stem[i]) ? stem[i] : '_';
    if (n && strcmp(name, "_") && !is_reserved(name))
        return name;
    return uk_format(a, "%s%s%.*s", word, *name == 'U' ? "_" : "", (int)longest - 9, name);
}

static bool has_word(const char *list, const char *name, size_t n) {
    for (const char *at = list; n && (at = strchr(at, ' ')); at++)
        if (!strncmp(at + 1, name, n) && at[n + 1] == ' ')
            return true;
    return false;
}

/* int8_t, UINT64_MAX and so on: names that <stdint.h> defines or reserves. */
static bool is_of_stdint(const char *name) {
    static const char *const begins[] = {"int", "uint", "INT", "UINT"}, *const ends[] = {"_t", "_MAX", "_MIN",
                                                                                         "_C", "_WIDTH"};
    const size_t n = strlen(name);
    bool begin = false, end = false;

    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        begin |= !strncmp(name, begins[i], strlen(begins[i]));
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        end |= n >= strlen(ends[i]) && !strcmp(name + n - strlen(ends[i]), ends[i]);
    return begin && end;
}

bool uk_is_c_word(const char *name) {
    return is_reserved(name) || is_of_stdint(name) || has_word(words, name, strlen(name));
}

static bool is_library_function(const char *name) {
    const size_t n = strlen(name);

    return has_word(real, name, n) ||
           (n && (name[n - 1] == 'f' || name[n - 1] == 'l') && has_word(real, name, n - 1)) ||
           has_word(functions, name, n);
}

bool uk_may_name_function(const char *name) {
    return !uk_is_c_word(name) && !is_library_function(name);
}
