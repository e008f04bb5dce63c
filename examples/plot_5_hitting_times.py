"""
GSEMO: how long until the theorem's ratio?
==========================================

Algorithm 1 of the paper, exactly as written. The theorems bound the expected number of iterations until it keeps what
they promise. How many are needed?
"""

# %%
# The k-median theorem promises 10 times the optimum (p = 1, epsilon = 1/2). The solver certifies the optimum, and fifty
# runs are stopped in the iteration in which they are within the ratio, or within less.
import matplotlib.pyplot as plt

from certiclust.theory import certified_optimum, fixed_budget, hitting_times, points, pose

problem = pose("k-median", points("exponential", 60), 8)
optimum, lower_bound = certified_optimum(problem)
for target in ("size", "theorem", 2 * optimum, "optimum"):
    print(hitting_times(problem, "gsemo", target, runs=50, optimum=optimum))

# %%
# The bound waits for one given swap at a time, each for a gain of a share epsilon/k; most swaps gain far more. For
# k-center there is less to give away: these points make every step of the proof as rare as it can be.
figure, axes = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
hitting_times(problem, runs=100, optimum=lower_bound).plot(axes[0])
hitting_times(pose("k-center", points("exponential", 60), 2), runs=100).plot(axes[1])
plt.show()

# %%
# The other way round: what does a budget buy? Heavy-tailed mutation makes larger jumps.
figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
budgets = [30, 100, 300, 1000, 3000, 10_000, 30_000]
uniform = pose("k-median", points("uniform", 60), 4)
best = certified_optimum(uniform)[0]
for mutation in ("bitwise", "heavy-tailed"):
    fixed_budget(uniform, budgets, runs=50, mutation=mutation, optimum=best).plot(axes)
plt.show()
