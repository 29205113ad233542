"""The errors of a command on a node."""

from gpupool.errors import GpupoolError


class NoAnswerError(GpupoolError):
    """A node, or every controller, did not answer in time, or the connection was lost."""


class RefusedError(GpupoolError):
    """A command failed on a node: `code` is its exit status, `printed` its standard output, `errors` its errors."""

    def __init__(self, message: str, printed: str = "", code: int = 1, errors: str = "") -> None:
        super().__init__(message)
        self.printed = printed
        self.code = code
        self.errors = errors
