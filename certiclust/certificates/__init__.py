"""The certificate: what was proved about a solution, in JSON, and `verify`, which re-checks it from the data."""

from certiclust.certificates.certificate import Certificate, Guarantee
from certiclust.certificates.errors import CertificateError
from certiclust.certificates.fingerprint import data_fingerprint

__all__ = ["Certificate", "CertificateError", "Guarantee", "data_fingerprint"]
