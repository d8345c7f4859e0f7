"""Keys, certificates and passwords of a secured cluster: made by Java's own tool, in files of the owner alone."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from streamgauge.cluster.nodes.security import FOLDER, Security, SecurityFiles, client_settings, user_arguments
from streamgauge.domain.errors import BadInput, BrokerError
from streamgauge.domain.text.address import LOOPBACK
from streamgauge.processes.jvm.java import Java

PRIVATE: Final = 0o600
"""Mode of a file that only its owner can read."""
_FOLDER: Final = 0o700
_ALIAS: Final = "streamgauge"
_VARIABLE: Final = "STREAMGAUGE_STORE"
"""The variable in which the tool finds the password: command lines are for everybody to read."""
_DAYS: Final = 3650
_SECONDS: Final = 60


def write_private(path: Path, text: str) -> None:
    """Write a text file that nobody but its owner can read, not even for a moment."""
    with open(path, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, PRIVATE)) as file:
        # A file that was there before keeps its mode.
        os.fchmod(file.fileno(), PRIVATE)
        file.write(text)


def check_tool(security: Security, java: Java) -> None:
    """Return if certificates can be made where they are needed; raises BadInput otherwise."""
    if security.encrypts and not _tool(java).is_file():
        what = f"{java.path.parent} has no keytool, which makes the certificates of a cluster with TLS"
        raise BadInput.single("Java", what, "Install a whole JDK, or leave cluster.security out")


def with_kept_user(security: Security, node: Path) -> Security:
    """The same with the password of an earlier life of the node whose data lie there: brokers that keep users know it.

    Raises BadInput where they know no user.
    """
    files = SecurityFiles(node / FOLDER)
    try:
        return replace(security, password=files.password.read_text(encoding="ascii"))
    except OSError:
        if user_arguments(security) and (node / "metadata").exists():
            what = f"its cluster was made without the user that {security.mechanism} needs"
            raise BadInput.single(f"data folder {node}", what, "Name another folder, or another mechanism") from None
        return security


def secure(security: Security, files: SecurityFiles, java: Java) -> None:
    """Make what a node needs to be guarded, as far as an earlier life did not; raises BrokerError, OSError."""
    files.folder.mkdir(mode=_FOLDER, parents=True, exist_ok=True)
    files.folder.chmod(_FOLDER)
    write_private(files.password, security.password)
    if not security.encrypts or files.authority.exists():
        return
    names = f"san=ip:{LOOPBACK},dns:localhost"
    key = ("-keyalg", "EC", "-groupname", "secp256r1", "-dname", f"CN={_ALIAS}", "-validity", str(_DAYS))
    _keytool(security, files, java, "-genkeypair", *key, "-ext", names, "-ext", "bc=ca:true")
    _keytool(security, files, java, "-exportcert", "-rfc", "-file", str(files.authority))
    for path in (files.keystore, files.authority):
        path.chmod(PRIVATE)


def secure_like(secured: SecurityFiles, files: SecurityFiles) -> None:
    """Give a node what another one of its cluster has."""
    files.folder.mkdir(mode=_FOLDER, parents=True, exist_ok=True)
    for source in (secured.keystore, secured.authority, secured.password):
        if source.exists():
            shutil.copy(source, files.folder / source.name)


def tell_clients(security: Security, files: SecurityFiles, bootstrap: str) -> Path:
    """Write the file that says how clients connect; returns its path."""
    settings: Mapping[str, str] = {"bootstrap.servers": bootstrap, **client_settings(security, files)}
    write_private(files.client, "".join(f"{name}={value}\n" for name, value in settings.items()))
    return files.client


def _keytool(security: Security, files: SecurityFiles, java: Java, *words: str) -> None:
    store = ("-alias", _ALIAS, "-keystore", str(files.keystore), "-storetype", "PKCS12", "-storepass:env", _VARIABLE)
    command, environment = [str(_tool(java)), *words, *store], {**os.environ, _VARIABLE: security.password}
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise BrokerError(f"{command[0]} made no certificate within {_SECONDS} s") from error
    if done.returncode:
        said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
        raise BrokerError(f"{command[0]} made no certificate: {said}")


def _tool(java: Java) -> Path:
    return java.path.parent / "keytool"
