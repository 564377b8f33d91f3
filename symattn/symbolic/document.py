"""The derivation as a document: its parts in order, for any format."""

from __future__ import annotations

from symattn.symbolic.derivation import Chapter, Derivation, Step
from symattn.symbolic.formats import Format
from symattn.symbolic.latex import formula

TITLE = "From the model to the equations that are solved"

PREFACE = """Written by `symattn derive` for {size}. Every equation below was
made by sympy from the model's definitions, and checked by machine in the way stated beside it;
`symattn derive` refuses to write this document if a check fails.

The chain starts from two results of the replica method (replica-symmetric, zero temperature): the
Gaussian law of the local fields, and the training loss as an extremum over overlaps and their
conjugates. They are marked as starting points, and checked by their consequences."""

DEFINITIONS = (
    (r"$L$", "number of tokens"),
    (r"$r$, $t$", r"number of columns of the student's $Q$ and of the target's $Q^\star$"),
    (r"$\alpha$", "samples per dimension, $n/d$"),
    (r"$\sigma$, $\lambda$", "scale of the data, ridge penalty"),
    (r"$\omega$, $A$", "positional share of the target, its matrix of rows that sum to 1"),
    (r"$x_l$, $h^\star_l$", "local fields of student and target at token $l$"),
    (r"$w_l$", "the student's field before it is trained on the sample at hand"),
    (r"$S[x]$, $T[h^\star]$", "attention weights of student and target"),
    (r"$\ell(x)$", "loss of a sample per dimension"),
    (r"$M(w)$, $x^\star$", "Moreau envelope and prox: minimum and minimiser of the energy"),
    (r"$g$", r"$V^{-1}(x^\star - w)$, minus the gradient of the loss at the prox"),
    (r"$q$, $\theta$", r"overlaps $Q^\top\Sigma Q/d$ and $Q^\top\Sigma Q^\star/d$"),
    (r"$\rho$", r"$Q^{\star\top}\Sigma Q^\star/d = \sigma^2 I$"),
    (r"$m_l$", r"positional overlaps $p_l\cdot Q/\sqrt d$"),
    (r"$V$", "response: rescaled susceptibility of the trained student"),
    (r"$N$", r"the normal density of $w$ given $h^\star$"),
    (r"$\hat q$, $\hat m_l$, $\hat V$, $\hat\theta$", "conjugates of the overlaps"),
    (r"$G_{lk}$", r"$p_l\cdot p_k$, products of the positional encodings"),
    (r"$\varsigma(z)$", "$1/(1+e^{-z})$, the logistic function"),
)

ROTATED = (
    (r"$u$, $v$", r"rotated field, $u = (x_1-x_2)/\sqrt2$ and $v = (x_1+x_2)/\sqrt2$"),
    (r"$a$, $b$; $u^\star$, $v^\star$", r"rotated components of $w$; of $h^\star$"),
    (r"$m$, $\hat m$", r"$m_1 = -m_2$ as $p_1 = -p_2$; $\hat m_1 - \hat m_2$"),
)


def written(derivation: Derivation, form: Format) -> str:
    """The document in a format."""
    size = derivation.size
    shown = f"$L = {size.length}$, $r = {size.student_rank}$, $t = {size.target_rank}$"
    parts = [
        form.prose(PREFACE.format(size=shown)),
        form.section("Definitions"),
        form.table(("symbol", "meaning"), DEFINITIONS + (ROTATED if size.is_rotated else ())),
    ]
    for number, chapter in enumerate(derivation.chapters, start=1):
        parts += _chapter(chapter, number, form)
    return form.document(TITLE, parts)


def _chapter(chapter: Chapter, number: int, form: Format) -> list[str]:
    parts = [form.chapter(chapter.title, str(number)), form.prose(chapter.introduction)]
    for place, step in enumerate(chapter.steps, start=1):
        parts += _step(step, f"{number}.{place}", form)
    return parts


def _step(step: Step, label: str, form: Format) -> list[str]:
    origin = " (starting point)" if step.postulate else ""
    notes = [f"*Why:* {step.reason}"]
    notes += [f"*Assumes:* {assumption}" for assumption in step.assumptions]
    notes.append(f"*Checked:* {step.check.method}")
    return [
        form.step(f"{step.title}{origin}", label),
        form.prose(step.statement),
        form.equations([(x.left, formula(x.right)) for x in step.equations], label),
        form.items(notes),
    ]
