"""
GSEMO: how long until the theorem's ratio?
==========================================

Algorithm 1 of the paper, exactly as written, on a small k-median instance. The theorem bounds the expected number of
iterations until a 5(1 + eps)-approximation is found. How many are needed?
"""

# %%
# The certified optimum tells us the target.
import matplotlib.pyplot as plt
import numpy as np

from certiclust import KMedian
from certiclust.evolution import gsemo
from certiclust.problems import KMedianProblem
from certiclust.space import Metric, build_space
from certiclust.theory import iteration_bound

X = np.random.default_rng(0).random((60, 2))
optimum = KMedian(4, random_state=0).fit(X).certificate_
assert optimum.optimal
problem = KMedianProblem(build_space(X, None, Metric.of("euclidean"), np.ones(len(X))), 4)

# %%
# Fifty runs for each of three targets, and what the theorem allows for its ratio.
times = {}
for name, ratio in (("5 x optimal", 5.0), ("1.5 x optimal", 1.5), ("1.1 x optimal", 1.1)):
    runs = [gsemo(problem, 10**7, seed, target=ratio * optimum.cost).n_iter for seed in range(50)]
    times[name] = np.array(runs)
    print(f"{name:15s} mean {np.mean(runs):10.0f} iterations")
bound = iteration_bound(problem).iterations
print(f"{'theorem':15s} at most {bound:7.0f} expected")

# %%
figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
axis.boxplot(list(times.values()), orientation="horizontal", tick_labels=list(times))
axis.axvline(bound, color="C3", label="the theorem's bound")
axis.set(xscale="log", xlabel="iterations")
axis.legend()
plt.show()
