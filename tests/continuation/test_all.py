"""The map of all branches, where each property is seen from two branches."""

import pytest

from symattn import AttentionModel, follow_all, threshold

MODEL = AttentionModel(lam=0.05, omega=0.1)


@pytest.fixture(scope="module")
def branches():
    return follow_all(MODEL, low=0.25, high=3.5, digits=3)


@pytest.mark.slow
def test_every_branch_is_found_once(branches):
    names = [branch.name for branch in branches.branches]
    assert sorted(names) == ["mixed", "positional", "semantic", "uninformed"]
    assert branches.absent == {}


@pytest.mark.slow
def test_a_branch_merges_where_the_eigenvalue_of_the_other_passes_one(branches):
    breakings = [
        point
        for branch in branches.branches
        for point in branch.special_points
        if point.kind == "symmetry breaking"
    ]
    for branch in branches.branches:
        mergers = [point for point in branch.special_points if point.kind == "merger"]
        assert bool(mergers) == (branch.name != "uninformed")
        for merger in mergers:
            [other] = [
                point
                for point in breakings
                if point.direction == merger.direction
                and abs(point.parameter - merger.parameter) <= point.error + merger.error
            ]
            assert abs(other.overlaps.q - merger.overlaps.q) <= other.errors["q"] * 2 + 1e-9


@pytest.mark.slow
def test_the_loss_crossing_is_the_threshold(branches):
    [crossing] = branches.loss_crossings
    found = threshold(MODEL, "alpha_c", digits=5)
    assert crossing.branches == ("positional", "semantic")
    assert abs(crossing.parameter - found.alpha) <= crossing.error + found.error


@pytest.mark.slow
def test_the_map_prints_and_has_a_row_for_every_point(branches):
    table = str(branches)
    for branch in branches.branches:
        assert f"{branch.name} branch, {len(branch.points)} points" in table
    header, *rows = branches.rows()
    assert all(len(row) == len(header) for row in rows)
    assert len(rows) == sum(len(b.points) + len(b.special_points) for b in branches.branches)
    assert [b["name"] for b in branches.to_dict()["branches"]] == [
        b.name for b in branches.branches
    ]
