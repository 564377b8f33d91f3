"""The derivation as a document: its parts in order, for any format."""

from __future__ import annotations

import re
from collections.abc import Mapping

from symattn.symbolic.derivation import Chapter, Derivation, Step
from symattn.symbolic.formats import Format
from symattn.symbolic.latex import formula

TITLE = "From the model to the equations that are solved"

PREFACE = """Written by `symattn derive` for {size}. Every equation below was
made by sympy from the model's definitions, and checked by machine in the way stated beside it, by a
route that does not use the equation; `symattn derive` refuses to write this document if a check
fails. To 40 digits means: numbers of 50 digits are compared at four random points, the same ones
every time; at fewer where a point takes long, or at one for each number of replicas. Where a check
needs a channel that is solved exactly, it takes a quadratic or polynomial loss in place of
attention, and says so.

Chapters 1 to 5 go from the definition of the model to its training loss as an extremum over a few
numbers, by the replica method [2]: average over the data, replica symmetry, no replicas, zero
temperature. Chapters 6 to 9 take the extremum, and the others say what follows from it. The model
is that of [1], a student with several hidden directions that of [5] with attention in place of a
committee.

Three steps are physics, not mathematics, and are marked as postulates: the ansatz of replica
symmetry (@ansatz), the limit of no replicas (@replica_limit), and the order of the limits at zero
temperature (@scaling). They are checked by their consequences, in cases where those are known
without replicas. What else a step needs is said beside it. One such assumption is not exactly met
by attention: that the prox does not jump where the student's field has weight."""

DEFINITIONS = (
    (r"$L$, $d$", "number of tokens, their dimension"),
    (r"$r$, $t$", r"number of columns of the student's $Q$ and of the target's $Q^\star$"),
    (r"$\alpha$", r"number of samples over $d$; both grow at fixed $\alpha$"),
    (r"$\sigma$, $\lambda$", "scale of the data, ridge penalty"),
    (r"$\omega$, $A$", "positional share of the target, its matrix of rows that sum to 1"),
    (
        r"$z_l$, $p_l$",
        r"a token, with independent normal components of variance $\sigma^2$; its positional "
        "encoding, fixed and of finite norm",
    ),
    (r"$\Sigma$, $\rho_\Sigma$", r"$\sigma^2 I$ over the components of a token; over the tokens"),
    (r"$G_{lk}$", r"$p_l\cdot p_k$, products of the positional encodings"),
    (r"$x_l$, $h^\star_l$", "local fields of student and target at token $l$"),
    (r"$S[x]$, $T[h^\star]$", "attention weights of student and target"),
    (r"$y$, $f_Q$", r"outputs $y = T z$ of the target and $f_Q = S\,(z + p)$ of the student"),
    (
        "risk",
        r"$\sum\lvert y - f_Q\rvert^2/(2d) + \lambda\lvert Q\rvert^2/2$ over the samples",
    ),
    (r"$\epsilon_t$, $\epsilon_g$", "training loss, the least risk over $d$; test error"),
    (r"$\ell(x)$", "loss of a sample, $\\lvert y - f_Q\\rvert^2/(2d)$ as $d \\to \\infty$"),
    (r"$R$", r"$S - T$, residuals"),
    (r"$\varsigma(z)$", "$1/(1+e^{-z})$, the logistic function"),
    (r"$Z$, $\beta$, $n$", "partition function, inverse temperature, number of replicas"),
    (r"$\Phi_n$", r"$\ln\mathbb{E}[Z^n]/d$, before the extremum over overlaps and conjugates"),
    (r"$\gamma$", r"stiffness of the quadratic loss $\gamma\lvert x\rvert^2/2$, a solved example"),
    (r"$q$, $\theta$", r"overlaps $Q^\top\Sigma Q/d$ and $Q^\top\Sigma Q^\star/d$"),
    (r"$\rho$", r"$Q^{\star\top}\Sigma Q^\star/d = \sigma^2 I$"),
    (r"$m_l$", r"positional overlaps $p_l\cdot Q/\sqrt d$"),
    (
        r"$\chi$, $V$",
        r"what $q$ of a replica has beyond $q$ of two; the response $V = \beta\chi$",
    ),
    (r"$\tilde q$, $\tilde m_l$, $\tilde\chi$, $\tilde\theta$", "conjugates of the overlaps"),
    (
        r"$\hat q$, $\hat m_l$, $\hat V$, $\hat\theta$",
        r"conjugates scaled with $\beta$ as in (@scaling): hats",
    ),
    (r"$D$, $B$", r"precision of a row of $Q$, mean square of what pulls it, as in (@extremal)"),
    (r"$w_l$", "the student's field before it is trained on the sample at hand"),
    (
        r"$N$, $C$",
        r"the normal density of $w$ given $h^\star$; the covariance of $w_l$, $s^2$ for $r = 1$",
    ),
    (r"$\mathcal{Z}(w)$", "partition function of one sample for one replica"),
    (
        r"$\mathcal{E}$, $M(w)$, $x^\star$",
        "energy of a sample; Moreau envelope and prox [10]: its minimum and minimiser",
    ),
    (r"$g$", r"$V^{-1}(x^\star - w)$, minus the gradient of the loss at the prox"),
    (
        r"$H$, $K$",
        r"Hessian of the loss at the prox; $K = -\partial g/\partial w$, the Hessian of $M$",
    ),
    (r"$\mathbb{E}$", r"mean over $(h^\star, w)$ of a sample, where nothing else is said"),
    (r"$\xi$, $\eta$, $\zeta$", "standard normal variables"),
)

ROTATED = (
    (r"$u$, $v$", r"rotated field, $u = (x_1-x_2)/\sqrt2$ and $v = (x_1+x_2)/\sqrt2$"),
    (r"$a$, $b$; $u^\star$, $v^\star$", r"rotated components of $w$; of $h^\star$"),
    (r"$\bar a$, $\bar b$", r"means of $a$ and $b$ given $h^\star$"),
    (r"$m$, $\hat m$", r"$m_1 = -m_2$ as $p_1 = -p_2$, of norm 1; $\hat m_1 - \hat m_2$"),
    (r"$\Delta$, $\kappa$", r"$\det(I + VH)$ and $\Delta K$"),
    (r"$\tau$, $\delta$", r"$T_{11} + T_{22} - 1$ and $T_{11} - T_{22}$"),
)

# Cited in the texts by their places, counted from 1.
REFERENCES = (
    "H. Cui, F. Behrens, F. Krzakala and L. Zdeborová, *A phase transition between positional and "
    "semantic learning in a solvable model of dot-product attention*, arXiv:2402.03902 (2024).",
    "M. Mézard, G. Parisi and M. A. Virasoro, *Spin Glass Theory and Beyond*, World Scientific "
    "(1987).",
    "J. R. L. de Almeida and D. J. Thouless, *Stability of the Sherrington-Kirkpatrick solution of "
    "a spin glass model*, J. Phys. A 11, 983 (1978).",
    "E. Gardner and B. Derrida, *Optimal storage properties of neural network models*, J. Phys. A "
    "21, 271 (1988).",
    "B. Aubin, A. Maillard, J. Barbier, F. Krzakala, N. Macris and L. Zdeborová, *The committee "
    "machine: Computational to statistical gaps in learning a two-layers neural network*, NeurIPS "
    "31 (2018).",
    "M. Bayati and A. Montanari, *The dynamics of message passing on dense graphs, with "
    "applications to compressed sensing*, IEEE Trans. Inf. Theory 57, 764 (2011).",
    "A. Javanmard and A. Montanari, *State evolution for general approximate message passing "
    "algorithms, with applications to spatial coupling*, Information and Inference 2, 115 (2013).",
    "C. M. Stein, *Estimation of the mean of a multivariate normal distribution*, Ann. Statist. 9, "
    "1135 (1981).",
    "V. A. Marchenko and L. A. Pastur, *Distribution of eigenvalues for some sets of random "
    "matrices*, Math. USSR Sbornik 1, 457 (1967).",
    "J.-J. Moreau, *Proximité et dualité dans un espace hilbertien*, Bull. Soc. Math. France 93, "
    "273 (1965).",
)

_REFERENCE = re.compile(r"@([a-z0-9_]+)")


def labels(derivation: Derivation) -> dict[str, str]:
    """The number of the equations of each step, by the step's key."""
    return {
        step.key: f"{number}.{place}"
        for number, chapter in enumerate(derivation.chapters, start=1)
        for place, step in enumerate(chapter.steps, start=1)
    }


def resolved(text: str, numbers: Mapping[str, str]) -> str:
    """Prose with the number of a step in place of `@key`; KeyError if there is no such step."""
    return _REFERENCE.sub(lambda found: numbers[found[1]], text)


def written(derivation: Derivation, form: Format) -> str:
    """The document in a format."""
    size, numbers = derivation.size, labels(derivation)
    shown = f"$L = {size.length}$, $r = {size.student_rank}$, $t = {size.target_rank}$"
    rows = DEFINITIONS + (ROTATED if size.is_rotated else ())
    parts = [
        form.prose(resolved(PREFACE, numbers).format(size=shown)),
        form.section("Definitions"),
        form.table(
            ("symbol", "meaning"), [(name, resolved(meaning, numbers)) for name, meaning in rows]
        ),
    ]
    for number, chapter in enumerate(derivation.chapters, start=1):
        parts += _chapter(chapter, str(number), numbers, form)
    parts.append(form.section("References"))
    parts += [form.prose(f"[{place}] {work}") for place, work in enumerate(REFERENCES, start=1)]
    return form.document(TITLE, parts)


def _chapter(chapter: Chapter, number: str, numbers: Mapping[str, str], form: Format) -> list[str]:
    introduction = form.prose(resolved(chapter.introduction, numbers))
    parts = [form.chapter(chapter.title, number), introduction]
    for step in chapter.steps:
        parts += _step(step, numbers, form)
    return parts


def _step(step: Step, numbers: Mapping[str, str], form: Format) -> list[str]:
    label = numbers[step.key]
    origin = " (postulate)" if step.postulate else ""
    notes = [f"*Why:* {step.reason}"]
    notes += [f"*Assumes:* {assumption}" for assumption in step.assumptions]
    notes.append(f"*Checked:* {step.check.method}")
    return [
        form.step(f"{step.title}{origin}", label),
        form.prose(resolved(step.statement, numbers)),
        form.equations([(x.left, formula(x.right)) for x in step.equations], label),
        form.items([resolved(note, numbers) for note in notes]),
    ]
