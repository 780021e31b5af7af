"""The interface that every BLS12-381 backend offers, and the refusals they share.

Points are opaque: only the curve that made a point reads it. Scalars are Python integers and are taken modulo
``ORDER``, whatever their size or sign. Bytes are the compressed encodings of the ZCash format (48 bytes in G1, 96 in
G2), as the BBS draft has them (draft-irtf-cfrg-bbs-signatures, "Ciphersuites"). Decoding is strict on every backend:
exact length, canonical form, on the curve, in the subgroup of prime order, not the identity.

Left out on purpose: field elements, uncompressed points, points outside the subgroup, pairings as values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NewType, Protocol, TypeVar, runtime_checkable

ORDER: Final = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
"""r, the prime order of G1, G2 and the target group."""

SCALAR_OCTETS: Final = 32
G1_OCTETS: Final = 48
G2_OCTETS: Final = 96
MAX_DST_OCTETS: Final = 255
"""RFC 9380 §5.3.3 hashes longer tags first; not every backend does it and no caller needs it, so they are refused."""

G1_GENERATOR: Final = bytes.fromhex(
    "97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb"
)
G2_GENERATOR: Final = bytes.fromhex(
    "93e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e"
    "024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8"
)

G1 = NewType("G1", object)
G2 = NewType("G2", object)
P = TypeVar("P")


class InvalidPoint(ValueError):
    """The bytes are not the canonical encoding of a point of the subgroup, or they encode the identity."""


class BackendUnavailable(RuntimeError):
    """The backend that was asked for (or every backend) is not installed or failed its self-test."""


class FixedBases(Protocol):
    """Points that are multiplied again and again; what speeds that up is built for each point at its first use.

    The multiples are looked up by the scalars' digits, so the caches may reveal something about them; the number of
    additions does not, on the native backends. Not for a secret key.
    """

    def __len__(self) -> int: ...

    def msm(
        self, scalars: Sequence[int], indexes: Sequence[int] | None = None, *, also: Sequence[tuple[G1, int]] = ()
    ) -> G1:
        """Return the sum of ``scalars[k]`` times the point number ``indexes[k]`` (all points in order when ``None``), plus the
        products of the pairs in ``also``, whose points are not fixed. Raises ``ValueError`` on unequal lengths, ``IndexError`` on
        an index that is negative or too large."""


class PointSums(Protocol):
    """Sums of products over many fixed points, of each of which less is kept than ``FixedBases`` keep of one.

    For scalars that are public, or uniform and used once, as masks are: the time may reveal how many of their digits are zero.
    """

    def __len__(self) -> int: ...

    def grown(self, points: Sequence[G1]) -> PointSums:
        """Sums over these points and then those of ``points``; this object stays as it is."""

    def sum(self, scalars: Sequence[int]) -> G1:
        """Return the sum of ``scalars[k]`` times point k over the first ``len(scalars)`` points. Raises ``ValueError`` for more
        scalars than points."""


class DigitTable(Protocol):
    """The points 0·P … (radix-1)·P of several P: sums of small multiples whose count of additions no digit changes, zero included."""

    def __len__(self) -> int: ...

    def sum(self, digits: Sequence[int]) -> G1:
        """Return the sum of ``digits[i]`` times point i over the first ``len(digits)`` points. Raises ``ValueError`` if there are
        more digits than points, or a digit that is not 0 to radix - 1."""


@runtime_checkable
class Curve(Protocol):
    """One backend, compared and hashed by identity. Points of different backends never meet."""

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str:
        """The backend's name in settings and reports."""

    @property
    def constant_time(self) -> bool:
        """Return whether ``g1_mul`` and ``g2_mul`` take the same time for every scalar."""

    def g1_identity(self) -> G1:
        """Return the identity of G1."""

    def g1_generator(self) -> G1:
        """Return the standard generator of G1."""

    def g2_generator(self) -> G2:
        """Return the standard generator of G2."""

    def g1_add(self, a: G1, b: G1, /) -> G1:
        """Return the sum, for equal points and the identity too."""

    def g1_neg(self, a: G1, /) -> G1:
        """Return the point that gives the identity when added."""

    def g1_mul(self, a: G1, k: int, /) -> G1:
        """``k`` times ``a``; no tables."""

    def g1_msm(self, points: Sequence[G1], scalars: Sequence[int], /) -> G1:
        """Return the sum of the products; the identity for no points. Unequal lengths raise ``ValueError``."""

    def g1_public_msm(self, points: Sequence[G1], scalars: Sequence[int], /) -> G1:
        """``g1_msm`` for scalars that are not a secret, on which its time may depend; small ones are faster."""

    def g1_is_identity(self, a: G1, /) -> bool:
        """Return whether ``a`` is the identity."""

    def g1_equal(self, a: G1, b: G1, /) -> bool:
        """Return whether the two are one point."""

    def g1_to_octets(self, a: G1, /) -> bytes:
        """48 bytes; the identity is encoded too."""

    def g1s_to_octets(self, points: Sequence[G1], /) -> list[bytes]:
        """``g1_to_octets`` of each; several may share an inversion."""

    def octets_to_g1(self, data: bytes, /) -> G1:
        """Return the point of a canonical encoding. Raises ``InvalidPoint``."""

    def g2_mul(self, a: G2, k: int, /) -> G2:
        """``k`` times ``a``; no tables."""

    def g2_is_identity(self, a: G2, /) -> bool:
        """Return whether ``a`` is the identity."""

    def g2_to_octets(self, a: G2, /) -> bytes:
        """96 bytes; the identity is encoded too."""

    def octets_to_g2(self, data: bytes, /) -> G2:
        """Return the point of a canonical encoding. Raises ``InvalidPoint``."""

    def hash_to_g1(self, message: bytes, dst: bytes, /) -> G1:
        """RFC 9380, suite BLS12381G1_XMD:SHA-256_SSWU_RO_. A ``dst`` that is empty or longer than 255 bytes raises
        ``ValueError``."""

    def pairing_product_is_one(self, pairs: Sequence[tuple[G1, G2]], /) -> bool:
        """Return whether the product of the pairings is one; true for no pairs."""

    def fixed_bases(self, points: Sequence[G1], /, *, window: int | None = None) -> FixedBases:
        """``window`` is the width of a digit in bits, 1 to 8; ``None`` leaves it to the backend."""

    def digit_table(self, points: Sequence[G1], radix: int, /) -> DigitTable:
        """Return the multiples 0 to ``radix`` - 1 of each point. A radix that is not 2 to 256 raises ``ValueError``."""

    def point_sums(self, points: Sequence[G1], /) -> PointSums:
        """Sums over these points."""


class BaseCurve:
    """The part of ``Curve`` that is alike in every backend, given identity, generators, ``_uncompress_g1`` and ``_uncompress_g2``."""

    def __init__(self, identity: Any, g1_generator: Any, g2_generator: Any) -> None:
        self._identity = identity
        self._generators = g1_generator, g2_generator

    def g1_identity(self) -> Any:
        """Return the identity of G1."""
        return self._identity

    def g1_generator(self) -> Any:
        """Return the standard generator of G1."""
        return self._generators[0]

    def g2_generator(self) -> Any:
        """Return the standard generator of G2."""
        return self._generators[1]

    def g1s_to_octets(self: Any, points: Sequence[Any], /) -> list[bytes]:
        """Encode each point in 48 bytes."""
        return [*map(self.g1_to_octets, points)]

    def octets_to_g1(self: Any, data: bytes, /) -> Any:
        """Decode a point of G1. Raises ``InvalidPoint``."""
        return decoded(data, G1_OCTETS, self._uncompress_g1, self.g1_to_octets, self.g1_is_identity)

    def octets_to_g2(self: Any, data: bytes, /) -> Any:
        """Decode a point of G2. Raises ``InvalidPoint``."""
        return decoded(data, G2_OCTETS, self._uncompress_g2, self.g2_to_octets, self.g2_is_identity)


def checked_dst(dst: bytes) -> bytes:
    """``dst``, if RFC 9380 §3.1 and ``MAX_DST_OCTETS`` allow it; else raises ``ValueError``."""
    if not 1 <= len(dst) <= MAX_DST_OCTETS:
        raise ValueError(f"a domain separation tag has 1 to {MAX_DST_OCTETS} bytes")
    return dst


def check_count(scalars: Sequence[int], points: int) -> None:
    """Raise ``ValueError`` if there are more scalars than points."""
    if len(scalars) > points:
        raise ValueError(f"{len(scalars)} scalars for {points} points")


def decoded(
    data: bytes,
    length: int,
    uncompress: Callable[[bytes], P],
    compress: Callable[[P], bytes],
    is_identity: Callable[[P], bool],
) -> P:
    """Return the point of ``data``, if they are the canonical encoding of one and not of the identity; else raises
    ``InvalidPoint``. ``uncompress`` raises ``ValueError`` for what is off the curve or outside the subgroup."""
    if len(data) != length:
        raise InvalidPoint(f"a point has {length} bytes")
    try:
        point = uncompress(bytes(data))
    except ValueError as fault:
        raise InvalidPoint("the bytes encode no point of the subgroup") from fault
    if is_identity(point) or compress(point) != data:
        raise InvalidPoint("the bytes encode the identity, or are not canonical")
    return point
