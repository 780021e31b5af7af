"""The part of blst's C interface that the backend uses, from the shared library of ckzg (c-kzg-4844), which contains all of it.

The declarations are those of blst's published header, blst.h. ckzg does not document them: whether they fit, the self-test decides.
"""

from __future__ import annotations

from typing import Any, Final

import ckzg
from cffi import FFI

_HEADER: Final = """
typedef struct { uint64_t l[6]; } blst_fp;
typedef struct { blst_fp fp[2]; } blst_fp2;
typedef struct { blst_fp2 fp2[3]; } blst_fp6;
typedef struct { blst_fp6 fp6[2]; } blst_fp12;
typedef struct { blst_fp x, y, z; } blst_p1;
typedef struct { blst_fp x, y; } blst_p1_affine;
typedef struct { blst_fp2 x, y, z; } blst_p2;
typedef struct { blst_fp2 x, y; } blst_p2_affine;

const blst_p1 *blst_p1_generator();
void blst_p1_add_or_double(blst_p1 *out, const blst_p1 *a, const blst_p1 *b);
void blst_p1_cneg(blst_p1 *p, bool cbit);
void blst_p1_mult(blst_p1 *out, const blst_p1 *p, const uint8_t *scalar, size_t nbits);
bool blst_p1_is_equal(const blst_p1 *a, const blst_p1 *b);
bool blst_p1_is_inf(const blst_p1 *a);
void blst_p1_from_affine(blst_p1 *out, const blst_p1_affine *in);
void blst_p1_to_affine(blst_p1_affine *out, const blst_p1 *in);
void blst_p1_compress(uint8_t out[48], const blst_p1 *in);
void blst_p1_affine_compress(uint8_t out[48], const blst_p1_affine *in);
int blst_p1_uncompress(blst_p1_affine *out, const uint8_t in[48]);
bool blst_p1_affine_in_g1(const blst_p1_affine *p);
void blst_p1s_to_affine(blst_p1_affine dst[], const blst_p1 *const points[], size_t npoints);
size_t blst_p1s_mult_pippenger_scratch_sizeof(size_t npoints);
void blst_p1s_mult_pippenger(blst_p1 *ret, const blst_p1_affine *const points[], size_t npoints,
                             const uint8_t *const scalars[], size_t nbits, uint64_t *scratch);
size_t blst_p1s_mult_wbits_precompute_sizeof(size_t wbits, size_t npoints);
void blst_p1s_mult_wbits_precompute(blst_p1_affine table[], size_t wbits, const blst_p1_affine *const points[],
                                    size_t npoints);
size_t blst_p1s_mult_wbits_scratch_sizeof(size_t npoints);
void blst_p1s_mult_wbits(blst_p1 *ret, const blst_p1_affine table[], size_t wbits, size_t npoints,
                         const uint8_t *const scalars[], size_t nbits, uint64_t *scratch);
void blst_p1s_add(blst_p1 *ret, const blst_p1_affine *const points[], size_t npoints);
void blst_hash_to_g1(blst_p1 *out, const uint8_t *msg, size_t msg_len, const uint8_t *DST, size_t DST_len,
                     const uint8_t *aug, size_t aug_len);

const blst_p2 *blst_p2_generator();
void blst_p2_mult(blst_p2 *out, const blst_p2 *p, const uint8_t *scalar, size_t nbits);
bool blst_p2_is_inf(const blst_p2 *a);
void blst_p2_from_affine(blst_p2 *out, const blst_p2_affine *in);
void blst_p2_to_affine(blst_p2_affine *out, const blst_p2 *in);
void blst_p2_compress(uint8_t out[96], const blst_p2 *in);
int blst_p2_uncompress(blst_p2_affine *out, const uint8_t in[96]);
bool blst_p2_affine_in_g2(const blst_p2_affine *p);

void blst_precompute_lines(blst_fp6 Qlines[68], const blst_p2_affine *Q);
void blst_miller_loop_lines(blst_fp12 *ret, const blst_fp6 Qlines[68], const blst_p1_affine *P);
void blst_fp12_mul(blst_fp12 *ret, const blst_fp12 *a, const blst_fp12 *b);
void blst_final_exp(blst_fp12 *ret, const blst_fp12 *f);
bool blst_fp12_is_one(const blst_fp12 *a);
"""

ffi: Final = FFI()
ffi.cdef(_HEADER)
blst: Final[Any] = ffi.dlopen(ckzg.__file__)

# Types are parsed once.
P1, P2 = ffi.typeof("blst_p1 *"), ffi.typeof("blst_p2 *")
P1_AFFINE, P2_AFFINE = ffi.typeof("blst_p1_affine *"), ffi.typeof("blst_p2_affine *")
P1S, P1S_AFFINE = ffi.typeof("blst_p1 *[]"), ffi.typeof("blst_p1_affine[]")
ADDRESSES = ffi.typeof("const blst_p1_affine *const *")
POINTERS, SCALARS = ffi.typeof("blst_p1_affine *[]"), ffi.typeof("uint8_t *[]")
BYTES, SCRATCH = ffi.typeof("uint8_t[]"), ffi.typeof("uint64_t[]")
FP12, LINES = ffi.typeof("blst_fp12 *"), ffi.typeof("blst_fp6[68]")
G1_ENCODED, G2_ENCODED = ffi.typeof("uint8_t[48]"), ffi.typeof("uint8_t[96]")
