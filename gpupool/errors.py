"""The errors of gpupool that an admin can correct: one base class, and a class for each kind."""


class GpupoolError(Exception):
    """An error that an admin can correct; the text has place, problem and solution, `exit_code` is the command's."""

    exit_code = 1


class InventoryError(GpupoolError):
    """The inventory has errors; nothing was changed. The text has every complaint, one per line."""

    exit_code = 2


class UsageError(GpupoolError):
    """The command line is wrong; nothing was done. The text names the option and its valid values."""

    exit_code = 2


class StoppedError(GpupoolError):
    """Ctrl-C has stopped a command; the text describes the state after it."""

    exit_code = 130


class TestbedError(GpupoolError):
    """The containers of a testbed could not be created, found or removed."""

    __test__ = False  # pytest would take the name for a test class


class TwinError(GpupoolError):
    """The twin of a rehearsal could not be created from production's files, or does not answer."""
