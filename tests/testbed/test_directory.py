"""Users of a real directory: known after one apply, cached while it is down, and its names cannot do harm."""

import json
from collections.abc import Iterator
from pathlib import Path

import paramiko
import pytest
from inventories import SMALL, copied
from logging_in import connected
from pace import until

from gpupool.target import find_target
from tests.testbed.cluster import Testbed, gpupool

NETWORK = "10.175.0.0/16"
HEAD, NODE, FOLDER = "ctl", "gpu-1", "/srv/directory"
DIRECTORY = """software: {packages: {head: [slapd, ldap-utils, openssl]}}
directory:
  servers: ["ldaps://ctl.small.example"]
  base: dc=example,dc=org
  tls_ca: ca.pem
  bind_dn: cn=reader,dc=example,dc=org
  ids: 30000-39999
  max_removals: 1
qos:"""
BASE = """dn: dc=example,dc=org
objectClass: dcObject
objectClass: organization
o: example
dc: example

dn: cn=reader,dc=example,dc=org
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: reader
userPassword: of-the-reader

"""
PASSWORD_FILE = "/etc/sssd/conf.d/gpupool-password.conf"


def person(name: str, uid: int, gid: int = 30500) -> str:
    return (
        f"dn: uid={name},dc=example,dc=org\nobjectClass: account\nobjectClass: posixAccount\nuid: {name}\n"
        f"cn: {name}\nuidNumber: {uid}\ngidNumber: {gid}\nhomeDirectory: /elsewhere\nuserPassword: of-{name}\n\n"
    )


def group(name: str, gid: int, *members: str) -> str:
    lines = "".join(f"memberUid: {member}\n" for member in members)
    return f"dn: cn={name},dc=example,dc=org\nobjectClass: posixGroup\ncn: {name}\ngidNumber: {gid}\n{lines}\n"


ENTRIES = [
    *(person(name, uid) for name, uid in (("u-new1", 30001), ("ann", 30003), ("root", 30004))),
    person("u-other1", 30002, 30501),
    person("u-low1", 20777),
    group("lab-other", 30501, "u-other1"),
    group("lab-red", 30500, "u-new1", "ann", "root", "u-low1", "ghost", "o dd:x"),
    group("sudo", 30502, "u-new1"),
]


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """A small cluster whose head is also the directory's server."""
    inventory = copied(
        SMALL,
        tmp_path_factory.mktemp("directory") / "small",
        ("contributed_gpus: 10}", "contributed_gpus: 10, members_from: lab-red}"),
        ("qos:", DIRECTORY),
        ("keys: homes", "password_login: true"),
    )
    (inventory / "certificates").mkdir()
    certificate = inventory / "certificates" / "ca.pem"
    certificate.write_text("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n")
    done = gpupool("testbed", "up", inventory, "--network", NETWORK)
    assert done.returncode == 0, done.stderr
    try:
        testbed = Testbed(inventory, find_target(inventory, "testbed"))
        script = (Path(__file__).parent / "directory.sh").read_text()
        testbed.out(HEAD, "cat > /root/directory.sh", text=script)
        testbed.out(HEAD, f"sh /root/directory.sh {FOLDER} ctl.small.example", text=BASE + "".join(ENTRIES))
        certificate.write_text(testbed.out(HEAD, f"cat {FOLDER}/ca.pem") + "\n")
        for node in (HEAD, NODE):
            line = "[domain/directory]\nldap_default_authtok = of-the-reader\n"
            testbed.out(node, f"umask 077; mkdir -p /etc/sssd/conf.d; cat > {PASSWORD_FILE}", text=line)
        done = testbed.apply()
        assert done.returncode == 0, done.stdout + done.stderr
        yield testbed
    finally:
        gpupool("testbed", "down", inventory)


def associations(testbed: Testbed, user: str) -> str:
    return testbed.out(HEAD, f"sacctmgr -nP show assoc user={user} format=Account,MaxSubmit")


def entries(testbed: Testbed, ldif: str) -> None:
    testbed.out(HEAD, "ldapmodify -a -x -H ldapi:/// -D cn=admin,dc=example,dc=org -w of-tests", text=ldif)


def test_a_member_logs_in_has_a_home_an_account_and_limits_and_runs_a_job(testbed: Testbed) -> None:
    with connected(testbed, HEAD, "u-new1", "of-u-new1") as client:
        output = client.exec_command("id -un; pwd; srun -p all -G 1 hostname")
        assert output[1].read().decode().split() == ["u-new1", "/home/u-new1", NODE], output[2].read().decode()
    assert associations(testbed, "u-new1") == associations(testbed, "ann")
    assert testbed.plan() == (0, {})


def test_only_members_log_in_and_no_name_of_the_cluster_comes_from_the_directory(testbed: Testbed) -> None:
    for user in ("u-other1", "ann", "root", "u-low1"):
        with pytest.raises(paramiko.SSHException):
            connected(testbed, HEAD, user, f"of-{user}")
    assert testbed.out(HEAD, "getent passwd ann").split(":")[2] == "20001"
    assert testbed.run(HEAD, "getent passwd u-low1").returncode != 0
    assert testbed.run(HEAD, "getent group 30502").returncode != 0


def test_a_new_user_of_the_directory_is_a_user_after_one_apply(testbed: Testbed) -> None:
    entries(
        testbed,
        person("u-new2", 30010) + "dn: cn=lab-red,dc=example,dc=org\nchangetype: modify\n"
        "add: memberUid\nmemberUid: u-new2\n",
    )
    assert testbed.apply().returncode == 0
    assert associations(testbed, "u-new2") == associations(testbed, "ann")
    assert testbed.out(HEAD, "stat -c '%u %a' /home/u-new2") == "30010 700"


def test_without_the_directory_jobs_run_no_user_is_removed_and_apply_reports_it(testbed: Testbed) -> None:
    with connected(testbed, HEAD, "u-new1", "of-u-new1") as client:
        job = client.exec_command("sbatch --parsable -p all -o /dev/null --wrap 'sleep 900'")[1].read().decode().strip()
    testbed.wait_for(job, "RUNNING")
    testbed.out(HEAD, "systemctl stop test-ldap")
    try:
        done = testbed.apply()
        assert done.returncode == 1
        assert "the directory does not answer (no server answers)" in done.stdout + done.stderr
        assert associations(testbed, "u-new1")
        assert testbed.job(job)["JobState"] == "RUNNING"
        with connected(testbed, HEAD, "u-new1", "of-u-new1") as client:
            assert client.exec_command("id -un")[1].read().decode().strip() == "u-new1"
    finally:
        testbed.out(HEAD, f"systemctl start test-ldap; scancel {job}")
    until(lambda: testbed.apply().returncode == 0, "the directory answers again")


def test_a_user_who_left_the_group_loses_the_account_but_not_too_many_at_once(testbed: Testbed) -> None:
    change = "dn: cn=lab-red,dc=example,dc=org\nchangetype: modify\n{}: memberUid\nmemberUid: {}\n"
    entries(testbed, person("u-new3", 30011) + change.format("add", "u-new3"))
    assert testbed.apply().returncode == 0
    for user in ("u-new2", "u-new3"):
        entries(testbed, change.format("delete", user))
    done = testbed.apply()
    assert done.returncode == 1
    assert "2 are no longer in the group, and max_removals in `directory` is 1" in done.stdout + done.stderr
    entries(testbed, change.format("add", "u-new3"))
    assert testbed.apply().returncode == 0
    assert associations(testbed, "u-new2") == ""
    assert associations(testbed, "u-new3")


def test_verify_names_members_who_cannot_be_users(testbed: Testbed) -> None:
    done = gpupool("verify", testbed.inventory, "--on", "testbed", "--json")
    failed = json.dumps(json.loads(done.stdout))
    assert "ghost" in failed
    assert "o dd:x" in failed


def test_the_password_is_in_no_readable_file_and_in_no_log(testbed: Testbed) -> None:
    assert testbed.run(HEAD, "su -s /bin/sh daemon -c 'cat /etc/sssd/sssd.conf /etc/sssd/conf.d/*'").stdout == ""
    assert testbed.run(HEAD, "journalctl -o cat | grep -F of-the-reader").stdout == ""
