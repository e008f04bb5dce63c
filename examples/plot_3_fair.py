"""
Fair clustering: what it costs to leave nobody behind
=====================================================

Most people live in a town, some around it. The cheapest centres crowd into the town; a fair set puts a centre within
reach of everybody, measured by everybody's own neighbourhood.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from certiclust import FairKMedian, KMedian

rng = np.random.default_rng(3)
X = np.concatenate([rng.normal((0, 0), 0.35, (160, 2)), rng.uniform((-3, -2), (5, 3), (60, 2))])

cheap = KMedian(6, random_state=0).fit(X)
fair = FairKMedian(6, beta=1.2, mode="strict", random_state=0).fit(X)

# %%
# Everybody has a centre within 1.2 of the own radius, and the certificate compares the cost with that of the best fair
# set.
print(f"{fair.fairness_ratio_:.3f}")
print(fair.certificate_)

# %%
# The unfair optimum for comparison: its worst-off point.
nearest = np.linalg.norm(X[:, None] - cheap.cluster_centers_[None], axis=2).min(axis=1)
print(f"k-median: cost {cheap.cost_:.1f}, worst ratio {(nearest / fair.radii_).max():.2f}")
print(f"fair:     cost {fair.cost_:.1f}, worst ratio {fair.fairness_ratio_:.2f}")

# %%
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharex=True, sharey=True, layout="constrained")
for axis, est in zip(axes, (cheap, fair), strict=True):
    axis.scatter(*X.T, c=est.labels_, s=8, cmap="tab10")
    axis.plot(*est.cluster_centers_.T, "k^", markersize=7)
    axis.set_title(f"{type(est).__name__}: {est.cost_:.1f}")
    axis.set_aspect("equal")
plt.show()
