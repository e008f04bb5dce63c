"""
Every k at once
===============

How many clusters? One sweep gives the cost for every k, and below it a curve that no solution can pass.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from certiclust import KMedian, sweep

rng = np.random.default_rng(2)
X = np.concatenate([rng.normal(center, 0.4, (50, 2)) for center in ((0, 0), (3, 0), (0, 3), (3, 3), (6, 1.5))])

front = sweep(KMedian(random_state=0), X, k_max=10)
for k, cost, bound in zip(front.sizes, front.costs, front.lower_bounds, strict=True):
    print(f"{k:2d} {cost:8.2f} {bound:8.2f}")

# %%
# A suggestion, with its reason in words, and the estimator for that k without another fit.
suggestion = front.suggest()
print(suggestion.reason)
print(front.estimator(suggestion.k).certificate_)

# %%
front.plot()
plt.show()
