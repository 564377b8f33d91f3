"""Where training losses cross: against solves on either side and the published figure."""

from dataclasses import replace

import pytest

from symattn import AttentionModel, InvalidInput, solve
from symattn.continuation import follow_branch, loss_crossings

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
