"""
Store locations: clients, sites and orders
==========================================

Five of sixty possible sites are to serve four hundred clients. Some clients order more than others, and travel times
come as a matrix. The certificate's bound needs no triangle inequality: any times will do.
"""

# %%
# Clients, sites, and times along streets, and twelve minutes more across the river.
import matplotlib.pyplot as plt
import numpy as np

from certiclust import KMedian

rng = np.random.default_rng(0)
clients, sites = rng.random((400, 2)), rng.random((60, 2))
orders = rng.integers(1, 20, 400)
times = 30 * np.abs(clients[:, None] - sites[None]).sum(axis=2)
across = (clients[:, None, 0] < 0.45) != (sites[None, :, 0] < 0.45)
times[across] += 12

# %%
# Sites are the columns; `center_indices_` says which are opened.
stores = KMedian(n_clusters=5, metric="precomputed", random_state=0).fit(times, sample_weight=orders)
print(stores.certificate_)
print("open:", stores.center_indices_)

# %%
# What would a sixth store be worth? Not more than the bound for six allows.
sixth = KMedian(n_clusters=6, metric="precomputed", random_state=0).fit(times, sample_weight=orders)
most, found = stores.cost_ - sixth.certificate_.lower_bound, stores.cost_ - sixth.cost_
print(f"at most {most:.0f} minutes, and {found:.0f} were found")

# %%
figure, axis = plt.subplots(figsize=(5, 4), layout="constrained")
axis.axvline(0.45, color="0.8", linewidth=6)
axis.scatter(*clients.T, c=stores.labels_, s=2 * orders, cmap="tab10")
axis.plot(*sites.T, "s", color="0.6", markersize=3)
axis.plot(*sites[stores.center_indices_].T, "k^", markersize=9)
axis.set_aspect("equal")
plt.show()
