"""Files of the site with a secret are refused; settings that only mention passwords are not."""

import pytest

from gpupool.cluster.secret_text import troubles

KEY = "-----BEGIN OPENSSH {} KEY-----".format("PRIVATE")


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (KEY, "a private key"),
        (f"# {KEY}", "a private key"),
        (KEY.replace("OPENSSH ", ""), "a private key"),
        ("password=hunter2", "a password"),
        ("  bindpw  Geheim1 ".replace("w  ", "w = "), "a bindpw"),
        ("ldap_default_authtok_password: x7", "a password"),
        ('  "api_key": "4711aabb",', "a api_key"),
        ("aws_secret_access_key = abc/def", "a access_key"),
        ("root:$6$abcdefgh$0123456789abcdefghijklmnopqrstuv:1", "a hash of a password"),
        (f"url={'https'}://robot:pass1@git.example.org/x", "an address with a password"),
        (f"x {'ghp_'}{'a1' * 18}", "a token"),
        ("export TOKEN=abcdef", "a token"),
    ],
)
def test_a_secret_is_found_with_its_line(line: str, kind: str) -> None:
    assert [(number, message) for number, message, _ in troubles(f"a\n{line}\n")] == [(2, f"looks like {kind}")]


@pytest.mark.parametrize(
    "line",
    [
        *("PasswordAuthentication no", "encrypt passwords = yes", "passwd: files systemd", "unix password sync = no"),
        *("passwd program = /usr/bin/passwd %u", "# password = changeme", ";  password = x", "password = $PASSWORD"),
        *("-----BEGIN CERTIFICATE-----", "token_ttl = 300", "https://git.example.org:8443/x", "auth required pam_x.so"),
        *('password="$(cat /root/x)"', "Match User u-kira1", "HostKey /etc/ssh/key", "secret = /etc/site/secret"),
    ],
)
def test_a_setting_is_no_secret(line: str) -> None:
    assert list(troubles(line)) == []
