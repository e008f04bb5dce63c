"""The one error of this room."""


class CertificateError(ValueError):
    """A certificate that does not hold, or does not belong to the data, with the reason."""
