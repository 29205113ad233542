"""The cloud: read the power state of machines and switch them."""

import importlib
import json
from pathlib import Path
from typing import Any

#: Libcloud's states of a machine that can be started. Google calls a stopped machine TERMINATED.
_OFF = ("stopped", "terminated", "suspended", "paused")


class CloudError(Exception):
    """A call of the cloud failed; the message is one line."""


class Cloud:
    """The machines of one cloud. Each call opens a new connection: Libcloud's connections are not thread-safe."""

    def __init__(self, driver: str, arguments: dict[str, str], credentials: str) -> None:
        self._driver = driver
        self._arguments = arguments
        self._credentials = Path(credentials)

    def machines(self) -> dict[str, bool]:
        """Return whether each machine is on, by name; a stopping machine is on until it is off. Raises CloudError."""
        return {name: str(machine.state).lower() not in _OFF for name, machine in self._listed(self._connect()).items()}

    def switch(self, name: str, power: str) -> None:
        """Switch a machine on or off, and return when the cloud has accepted; CloudError if it has not."""
        driver = self._connect()
        machine = self._listed(driver).get(name)
        if machine is None:
            raise CloudError(f"the cloud has no machine {name}")
        try:
            taken = driver.start_node(machine) if power == "on" else driver.stop_node(machine)
        except Exception as error:
            raise CloudError(_line(error)) from error
        if taken is False:
            raise CloudError(f"the cloud does not switch {name} {power}")

    def _connect(self) -> Any:
        try:
            secrets = json.loads(self._credentials.read_text())
        except OSError as error:
            raise CloudError(f"cannot read {self._credentials}: {error.strerror}") from error
        except ValueError as error:
            raise CloudError(f"{self._credentials} is not JSON") from error
        if not isinstance(secrets, dict):
            raise CloudError(f"{self._credentials} is not a JSON object")
        try:
            return _driver(self._driver)(**{**self._arguments, **secrets})
        except Exception as error:
            raise CloudError(f"cannot connect to {self._driver}: {_line(error)}") from error

    @staticmethod
    def _listed(driver: Any) -> dict[str, Any]:
        try:
            return {machine.name: machine for machine in driver.list_nodes()}
        except Exception as error:
            raise CloudError(_line(error)) from error


def _driver(name: str) -> Any:
    module, _, own = name.partition(":")
    if own:
        return getattr(importlib.import_module(module), own)
    from libcloud.compute.providers import get_driver

    return get_driver(name)


def _line(error: Exception) -> str:
    """Return the first line of an error, at most 200 characters: Libcloud's may contain a whole HTTP answer."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:200] if lines else type(error).__name__
