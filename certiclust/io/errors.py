"""What is raised for input that cannot be used."""


class InputError(ValueError):
    """Input that cannot be used, in one sentence that names the file and the place in it."""
