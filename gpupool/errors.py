"""What gpupool says when it cannot go on: one base class, few children, each written for people."""


class GpupoolError(Exception):
    """Something a person can mend; the text says what, where, and what to do. `exit_code` is the command's."""

    exit_code = 1


class InventoryError(GpupoolError):
    """The inventory does not hold; nothing was changed. The text holds every complaint, one a line."""

    exit_code = 2


class UsageError(GpupoolError):
    """The command line makes no sense; nothing was done. The text names the option and says what it may be."""

    exit_code = 2


class StoppedError(GpupoolError):
    """Somebody pressed Ctrl-C; the text says what that leaves."""

    exit_code = 130


class TestbedError(GpupoolError):
    """The containers of a testbed could not be made, found or removed."""

    __test__ = False  # pytest would take the name for a test class


class TwinError(GpupoolError):
    """The twin of a rehearsal could not be made as production's own files say, or does not answer."""
