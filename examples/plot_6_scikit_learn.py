"""
Side by side with scikit-learn
==============================

scikit-learn's `KMeans` restarts Lloyd's algorithm and keeps the best. Here is how far that is from what an evolutionary
search finds, and how far either can be from the optimum.
"""

# %%
import numpy as np
from sklearn.cluster import KMeans as Lloyd
from sklearn.datasets import make_blobs

from certiclust import KMeans

X, _ = make_blobs(600, centers=25, cluster_std=0.9, random_state=4)

ours = KMeans(25, random_state=0).fit(X)
bound = ours.certificate_.lower_bound
print(f"no solution is below   {bound:10.3f}")
print(f"certiclust             {ours.cost_:10.3f}  within {ours.cost_ / bound - 1:.2%}")
for n_init in (1, 10, 100):
    costs = [Lloyd(25, n_init=n_init, random_state=seed).fit(X).inertia_ for seed in range(3)]
    print(f"scikit-learn n_init={n_init:<3d} {np.mean(costs):10.3f}  within {np.mean(costs) / bound - 1:.2%}")

# %%
# Two estimators with one interface: the labels of both go into the same functions.
import matplotlib.pyplot as plt

theirs = Lloyd(25, n_init=1, random_state=0).fit(X)
figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharex=True, sharey=True, layout="constrained")
for axis, est, name in zip(axes, (theirs, ours), ("scikit-learn, n_init=1", "certiclust"), strict=True):
    axis.scatter(*X.T, c=est.labels_, s=6, cmap="tab20")
    axis.plot(*est.cluster_centers_.T, "kx", markersize=6)
    axis.set_title(f"{name}: {est.inertia_:.1f}")
plt.show()
