"""The estimators with evolutionary algorithms by name: the answer, its certificate, and what is refused."""

import numpy as np
import pytest

from certiclust import KTMM, FairKMedian, KCenter, KMeans, KMedian

ALL = [KMedian, KMeans, KCenter, KTMM, FairKMedian]
X = np.random.default_rng(0).random((40, 2))
NAMES = {"gsemo": "GSEMO", "nsga2": "NSGA-II", "nsga3": "NSGA-III", "sms-emoa": "SMS-EMOA", "moead": "MOEA/D"}


@pytest.mark.parametrize("algorithm", list(NAMES))
@pytest.mark.parametrize("estimator", ALL)
def test_every_algorithm_gives_an_answer_with_a_certificate_that_verifies(estimator, algorithm):
    for mutation in ("bitwise", "heavy-tailed"):
        est = estimator(4, algorithm=algorithm, mutation=mutation, max_iter=20_000, random_state=0).fit(X)
        again = estimator(4, algorithm=algorithm, mutation=mutation, max_iter=20_000, random_state=0).fit(X)
        certificate = est.certificate_
        certificate.verify(X)
        assert est.n_iter_ <= 20_000
        assert certificate.lower_bound <= est.cost_ == again.cost_
        assert est.labels_.tolist() == again.labels_.tolist()
        what = NAMES[algorithm] + (" with heavy-tailed mutation" if mutation == "heavy-tailed" else "")
        counted = "iterations" if algorithm == "gsemo" else "offspring"
        assert certificate.method == f"{what}, {est.n_iter_:,} {counted}"


@pytest.mark.parametrize("estimator", ALL)
def test_auto_takes_no_other_mutation(estimator):
    with pytest.raises(ValueError, match=r"mutation='heavy-tailed' needs an evolutionary algorithm"):
        estimator(3, mutation="heavy-tailed").fit(X)
    with pytest.raises(ValueError, match="'mutation' parameter"):
        estimator(3, algorithm="gsemo", mutation="two-bit").fit(X)
    with pytest.raises(ValueError, match="'algorithm' parameter"):
        estimator(3, algorithm="nsga4").fit(X)


def test_theorem_budgets_come_from_the_contract_or_are_refused_with_the_reason():
    est = KCenter(3, algorithm="nsga2", max_iter="theorem", random_state=0).fit(X)
    assert est.certificate_.guarantee.ratio == 2.0
    with pytest.raises(ValueError, match=r"max_iter='theorem': MOEA/D guarantees nothing here, no weighting"):
        KCenter(3, algorithm="moead", max_iter="theorem").fit(X)


def test_without_a_limit_every_algorithm_ends():
    for algorithm in NAMES:
        assert KCenter(3, algorithm=algorithm, random_state=0).fit(X).certificate_.guarantee.ratio == 2.0
        assert KMedian(3, algorithm=algorithm, random_state=0).fit(X).certificate_.cost > 0
