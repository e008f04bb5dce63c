"""
Iris: an answer with its proof
==============================

The three species of iris, clustered by four measurements. What scikit-learn cannot say about its own answer, the
certificate says: nothing better exists.
"""

# %%
# Fit, and print what is known about the answer.
import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from certiclust import KMeans, KMedian

X = load_iris().data
medians = KMedian(n_clusters=3, random_state=0).fit(X)
print(medians.certificate_)

# %%
# The same for k-means, whose centres may be anywhere.
means = KMeans(n_clusters=3, random_state=0).fit(X)
print(means.certificate_)

# %%
# Anyone who has the data can check both again. A certificate for other data is refused.
from certiclust import CertificateError

medians.certificate_.verify(X)
means.certificate_.verify(X)
try:
    medians.certificate_.verify(X + 0.1)
except CertificateError as error:
    print(error)

# %%
# The clusters of k-median; centres are flowers of the data set.
figure, axis = plt.subplots(figsize=(5, 3.5), layout="constrained")
axis.scatter(X[:, 2], X[:, 3], c=medians.labels_, s=14)
axis.plot(medians.cluster_centers_[:, 2], medians.cluster_centers_[:, 3], "kx", markersize=10)
axis.set(xlabel="petal length (cm)", ylabel="petal width (cm)")
plt.show()
