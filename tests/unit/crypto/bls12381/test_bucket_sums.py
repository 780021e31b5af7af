"""Sums over many points are the sums of the products, on every backend; by buckets with as many additions for one scalar as for another."""

from __future__ import annotations

import operator
import random

import pytest

from identity_bbs.bls12381 import ORDER, select
from identity_bbs.bls12381.bucket_sums import BucketSums

EDGES = [0, 1, 255, 256, ORDER - 1, ORDER, ORDER + 5, -3, 1 << 254]


def points_of(curve, count):
    return [curve.hash_to_g1(bytes([index]), b"test-dst") for index in range(count)]


def test_they_are_the_sums_of_the_products(curve):
    points = points_of(curve, len(EDGES))
    sums = curve.point_sums(points[:4]).grown(points[4:])
    source = random.Random(1)
    for scalars in (EDGES, EDGES[::-1], [source.randrange(ORDER) for _ in points]):
        assert curve.g1_equal(sums.sum(scalars), curve.g1_msm(points, scalars))
    assert curve.g1_equal(sums.sum([7]), curve.g1_mul(points[0], 7))


def test_sums_that_are_the_identity(curve):
    """Opposite products, no product, and one point many times."""
    (point,) = points_of(curve, 1)
    sums = curve.point_sums([point] * 20)
    assert len(sums) == 20
    assert curve.g1_is_identity(sums.sum([5, -5]))
    assert curve.g1_is_identity(sums.sum([]))
    assert curve.g1_is_identity(curve.point_sums([]).sum([]))
    assert curve.g1_is_identity(sums.sum([0, ORDER]))
    assert curve.g1_equal(sums.sum([1] * 20), curve.g1_mul(point, 20))
    assert curve.g1_is_identity(sums.sum([3, -3] * 10))


def test_sums_of_which_more_were_made_stay_as_they_are(curve):
    few = curve.point_sums(points_of(curve, 2))
    more = few.grown(points_of(curve, 3)[2:])
    assert (len(few), len(more)) == (2, 3)
    assert curve.g1_equal(more.sum([5, 7]), few.sum([5, 7]))


def test_public_products(curve):
    """Also of the identity, of one point twice, of opposite ones, and of scalars that are all small."""
    points = [*points_of(curve, 5), curve.g1_identity(), *points_of(curve, 3)]
    small = [0, 1, 2, 3, 1, 9, 1, 2, 0]
    source = random.Random(2)
    for scalars in (EDGES, small, [source.getrandbits(128) for _ in points], [source.randrange(ORDER) for _ in points]):
        for count in (0, 1, 2, len(points)):
            made = curve.g1_public_msm(points[:count], scalars[:count])
            assert curve.g1_equal(made, curve.g1_msm(points[:count], scalars[:count]))
    assert curve.g1_is_identity(curve.g1_public_msm([points[0], curve.g1_neg(points[0])], [9, 9]))
    assert curve.g1_is_identity(curve.g1_public_msm([curve.g1_identity()], [9]))
    with pytest.raises(ValueError, match=r"zip|points and"):
        curve.g1_public_msm(points, [1])


def test_there_is_a_point_for_each_scalar(curve):
    with pytest.raises(ValueError, match="2 scalars for 1 points"):
        curve.point_sums(points_of(curve, 1)).sum([1, 2])


def test_count_of_additions_depends_on_number_of_points_alone():
    curve = select("pyblst")
    points = points_of(curve, 3)
    counts = set()
    for scalars in ([0, 0, 0], [1, 2, 3], [ORDER - 1] * 3, [0, 1 << 200, 5]):
        sums = BucketSums(curve, operator.add, points)
        added: list[bool] = []

        def counted(a, b, added=added):
            added.append(curve.g1_is_identity(a) or curve.g1_is_identity(b))
            return a + b

        sums._add = counted
        sums.sum(scalars)
        assert not any(added), "an addition of the identity is faster than others"
        counts.add(len(added))
    assert counts == {3 * 32 + 2 * 254 + 1}
