"""Sums by buckets are the sums of the products, on every backend, with as many additions for one scalar as for another."""

from __future__ import annotations

import operator
import random

import pytest

from identity_core.crypto.bls12381 import ORDER, select
from identity_core.crypto.bls12381.bucket_sums import BucketSums

EDGES = [0, 1, 255, 256, ORDER - 1, ORDER, ORDER + 5, -3, 1 << 254]


def points_of(curve, count):
    return [curve.hash_to_g1(bytes([index]), b"test-dst") for index in range(count)]


def test_they_are_the_sums_of_the_products(curve):
    points = points_of(curve, len(EDGES))
    sums = curve.point_sums()
    rows = [sums.kept(point) for point in points]
    source = random.Random(1)
    for scalars in (EDGES, EDGES[::-1], [source.randrange(ORDER) for _ in points]):
        assert curve.g1_equal(sums.sum(scalars, rows), curve.g1_msm(points, scalars))
    assert curve.g1_equal(sums.sum([7], rows[:1]), curve.g1_mul(points[0], 7))


def test_sums_that_are_the_identity(curve):
    """Opposite products, no product, and one point many times."""
    (point,) = points_of(curve, 1)
    sums = curve.point_sums()
    row = sums.kept(point)
    assert curve.g1_is_identity(sums.sum([5, -5], [row, row]))
    assert curve.g1_is_identity(sums.sum([], []))
    assert curve.g1_is_identity(sums.sum([0, ORDER], [row, row]))
    assert curve.g1_equal(sums.sum([1] * 9, [row] * 9), curve.g1_mul(point, 9))


def test_there_is_a_scalar_for_each_point():
    curve = select()
    sums = curve.point_sums()
    with pytest.raises(ValueError, match="zip"):
        sums.sum([1, 2], [sums.kept(point) for point in points_of(curve, 1)])


def test_the_count_of_additions_depends_on_the_number_of_points_alone():
    curve = select("pyblst")
    points = points_of(curve, 3)
    counts = set()
    for scalars in ([0, 0, 0], [1, 2, 3], [ORDER - 1] * 3, [0, 1 << 200, 5]):
        sums = BucketSums(curve, operator.add)
        rows = [sums.kept(point) for point in points]
        added: list[bool] = []

        def counted(a, b, added=added):
            added.append(curve.g1_is_identity(a) or curve.g1_is_identity(b))
            return a + b

        sums._add = counted
        sums.sum(scalars, rows)
        assert not any(added), "an addition of the identity is faster than others"
        counts.add(len(added))
    assert counts == {3 * 32 + 2 * 254 + 1}
