"""Where training losses cross: against solves on either side and the published figure."""

import json
import math
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from symattn import AttentionModel, InvalidInput, solve
from symattn.continuation import BranchMap, LossCrossing, follow_branch, loss_crossings
from symattn.continuation.losses import _Pair
from symattn.overlaps import Overlaps

PUBLISHED = 1.2410  # alpha_c in the public data of arXiv 2402.03902, good to a few percent


@pytest.mark.slow
def test_the_semantic_branch_overtakes_the_positional_one():
    model = AttentionModel()
    semantic, positional = (
        follow_branch(model, name, low=1.15, high=1.35) for name in ("semantic", "positional")
    )
    [crossing] = loss_crossings(semantic, positional)
    assert crossing.branches == ("positional", "semantic")
    assert crossing.parameter == pytest.approx(PUBLISHED, rel=0.02)
    assert crossing.error <= 0.5e-4 * crossing.parameter
    differences = []
    for alpha in (crossing.parameter - crossing.error, crossing.parameter + crossing.error):
        one, other = (
            solve(model, alpha, branch=name, digits=7)[name] for name in crossing.branches
        )
        differences.append(one.train_loss - other.train_loss)
        assert abs(one.train_loss - crossing.train_loss) <= 2 * crossing.train_loss_error + abs(
            one.envelope * crossing.error
        )
    assert differences[0] < 0.0 < differences[1]


def test_branches_of_different_models_are_refused():
    branch = follow_branch(AttentionModel(lam=0.1), "positional", low=1.5, high=1.6, digits=2)
    with pytest.raises(InvalidInput, match="of one model"):
        loss_crossings(branch, replace(branch, model=AttentionModel()))


def test_a_branch_does_not_cross_itself():
    branch = follow_branch(AttentionModel(lam=0.1), "positional", low=1.5, high=1.6, digits=2)
    assert loss_crossings(branch, branch) == ()


@dataclass(frozen=True)
class Sloped:
    """A curve of known slope of the loss, which is off by what grids and differences do."""

    slope: float
    by_grids: float = 0.0
    by_change: float = 0.0
    accuracy: float = 1.0

    def finer(self, factor):
        return replace(self, accuracy=factor * self.accuracy)

    def at(self, y):
        return SimpleNamespace(y=y, step=SimpleNamespace(train_loss=0.5))

    def parameter(self, y):
        return y

    def train_loss_slope(self, at, factor=1.0):
        return self.slope + self.accuracy * self.by_grids + factor * self.by_change


def pair(one, other):
    return _Pair((one, other), (one.at(1.0), other.at(1.0)))


@pytest.mark.parametrize("off", [{"by_grids": 0.01}, {"by_change": 0.01}])
def test_the_slope_is_bounded_by_what_grids_and_differences_show(off):
    least = pair(Sloped(2.0, **off), Sloped(1.0)).least_slope
    assert 0.95 < least < 1.0
    assert pair(Sloped(1.01, **off), Sloped(1.0)).least_slope == 0.0


def test_without_a_slope_newton_has_no_root():
    level = pair(Sloped(1.0), Sloped(1.0))
    assert level.root == math.inf
    assert level.least_slope == 0.0


def test_an_error_that_is_not_known_is_null():
    branch = follow_branch(AttentionModel(lam=0.1), "positional", low=1.0, high=1.3, digits=2)
    [end] = branch.special_points
    unknown = replace(end, errors=dict.fromkeys(end.errors, math.inf))
    crossing = LossCrossing(
        branches=("positional", "semantic"),
        parameter=1.2,
        error=math.inf,
        train_loss=0.1,
        train_loss_error=math.inf,
        overlaps=(Overlaps(0.1, 0.1, 1.0, 0.0), Overlaps(0.1, 0.0, 1.0, 0.1)),
    )
    found = replace(
        BranchMap.of(replace(branch, special_points=(unknown,))), loss_crossings=(crossing,)
    )
    read = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    errors = read["branches"][0]["special_points"][0]["errors"]
    assert set(errors.values()) == {None}
    assert set(read["loss_crossings"][0]["errors"].values()) == {None}
    assert "not known" in str(found)
