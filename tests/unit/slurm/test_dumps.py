"""The reader of `sacctmgr dump`."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gpupool.compile.slurm.sacctmgr import entry_line, written
from gpupool.slurm.dumps import Entry, read

DUMP = """\
# To edit this file start with a cluster line for the new cluster
Cluster - 'sea':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'fish':Description='fish: of the sea':Organization='bay':Fairshare=parent:GrpTRES=cpu=8,mem=2G
Parent - 'fish'
User - 'u-kira1':DefaultAccount='fish':Partition='gpu':MaxTRESPerJob='gres/gpu=2':DefaultQOS='long':WCKeys='a,b'
"""


def test_a_dump_is_read():
    entries, troubles = read(DUMP)
    assert not troubles
    assert entries == [
        Entry(2, "cluster", "sea", "", {"Fairshare": 1, "QOS": ["normal"]}),
        Entry(4, "user", "root", "root", {"DefaultAccount": "root", "AdminLevel": "Administrator", "Fairshare": 1}),
        Entry(
            5, "account", "fish", "root",
            {"Fairshare": "parent", "GrpTRES": {"cpu": 8, "mem": 2048}}, ("Description", "Organization"),
        ),
        Entry(
            7, "user", "u-kira1", "fish",
            {"DefaultAccount": "fish", "Partition": "gpu", "MaxTRES": {"gres/gpu": 2}, "DefaultQOS": "long"},
            ("WCKeys",),
        ),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "user - u-kira1:FAIRSHARE=5:grpsubmitjobs=3",
        'User - "u-kira1":Shares=5:GrpSubmit=3',
        "  User  -  'u-kira1' : Fairshare='5':GrpSubmitJobs=3 # a comment",
        "User - 'u-kira1':Fairshare=5:GrpSubmitJobs=3\r",
        "User - 'u-kira1':Fairshare=5:QOS='':GrpSubmitJobs=3:",
        r"User - 'u-kira1':Description='\# 1':Fairshare=5:GrpSubmitJobs=3",
        "User - 'u-kira1':Fair=5:GrpSub=3:Desc='a'",
        "User - 'u-kira1':Fairshare=5:\\\nGrpSubmitJobs=3",
    ],
)
def test_odd_spellings_mean_the_same(line):
    entries, troubles = read(f"\n{line}\n")
    assert not troubles
    assert [(entry.line, entry.kind, entry.name) for entry in entries] == [(2, "user", "u-kira1")]
    assert entries[0].fields == {"Fairshare": 5, "GrpSubmit": 3}


@pytest.mark.parametrize(
    ("option", "fields"),
    [
        ("GrpTRES=gres/gpu:a100=4", {"GrpTRES": {"gres/gpu:a100": 4}}),
        (
            "GrpTRES=cpu=2,gres/gpu:a100=4,gres/gpu:h100=1,mem=5:MaxJobs=4",
            {"GrpTRES": {"cpu": 2, "gres/gpu:a100": 4, "gres/gpu:h100": 1, "mem": 5}, "MaxJobs": 4},
        ),
        ("GrpTRES=gres/gpu=4:MaxJobs=4", {"GrpTRES": {"gres/gpu": 4}, "MaxJobs": 4}),
        ("Fairshare=2147483647", {"Fairshare": "parent"}),
        ("MaxWallDurationPerJob=10:MaxWall=", {"MaxWall": 10}),
        ("MaxWallDurationPerJob='1-00:00:00'", {"MaxWall": 1440}),
        ("GrpCPUs=8:GrpNodes=2:MaxCPUMinsPerJob=60", {"GrpTRES": {"cpu": 8, "node": 2}, "MaxTRESMins": {"cpu": 60}}),
        ("AdminLevel=operator", {"AdminLevel": "Operator"}),
        ("GrpTRES='license/matlab=3'", {"GrpTRES": {"license/matlab": 3}}),
    ],
)
def test_the_forms_of_real_dumps_are_read(option, fields):
    [entry], troubles = read(f"User - a:{option}")
    assert not troubles
    assert entry.fields == fields


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("User u-kira1", "begins with"),
        ("Users - u-kira1", "begins with"),
        ("User - ", "begins with"),
        ("User - ''", "is not a name"),
        ("User - 'a|b'", "is not a name"),
        ("User - 'a,b'", "is not a name"),
        ("User - 'a b'", "is not a name"),
        ("User - 'a:Fairshare=1", "has no end"),
        ("User - a:Fairshare", "has no ="),
        ("User - a:Fairshare=x", "not a valid value"),
        ("User - a:MaxTRES=cpu=x", "not a valid value"),
        ("User - a:Fairshare=1:Shares=2", "two values"),
        ("User - a:Nonsense=1", "no option 'Nonsense'"),
        ("Account - a:Parent=b", "no option 'Parent'"),
        ("User - a:QOS+=b", "write the whole list after QOS="),
        ("User - a:QOS='+b'", "write the whole list"),
        ("User - a:Grp=1", "no option 'Grp'"),
        ("User - a:MaxTRESPer=cpu=1", "no option 'MaxTRESPer'"),
        ("User - a:GrpTRES=cpu=1:GrpCPUs=2", "two values"),
        ("User - a:AdminLevel=king", "no AdminLevel 'king'"),
        ("User - a:Description='b # c'", "has no end"),
        ("User - a:DefaultQOS='x|y'", "not a valid value"),
    ],
)
def test_a_wrong_line_is_named(line, message):
    entries, [trouble] = read(f"Cluster - sea\n{line}")
    assert [entry.kind for entry in entries] == ["cluster"]
    assert trouble.line == 2
    assert message in trouble.message


def test_what_render_writes_is_read_back():
    limits = {"Fairshare": 3, "GrpTRES": {"gres/gpu": 4, "mem": 2048}, "GrpSubmit": 9, "MaxWall": 90, "QOS": ["a", "b"]}
    entities = {
        "cluster": "sea",
        "qos": {"a": {"Priority": 5, "MaxSubmitPU": 7, "Flags": ["DenyOnLimit"]}},
        "accounts": {"fish": {"parent": "root", "coordinators": ["u-kira1"], **limits}},
        "users": {"u-kira1": {"default_account": "fish", "accounts": {"fish": {"DefaultQOS": "a"}}}},
    }
    entries, troubles = read(written(entities))
    assert not troubles
    by_name = {(entry.kind, entry.name): entry for entry in entries}
    assert by_name["qos", "a"].fields == {"Priority": 5, "MaxSubmitPU": 7, "Flags": ["DenyOnLimit"]}
    assert (by_name["account", "fish"].parent, by_name["account", "fish"].fields) == ("root", limits)
    user = by_name["user", "u-kira1"]
    assert user.parent == "fish"
    assert user.fields == {"DefaultAccount": "fish", "Coordinator": ["fish"], "DefaultQOS": "a"}


WORDS = (
    "Cluster",
    "Account",
    "User",
    "QOS",
    "Parent",
    " - ",
    "a",
    "'",
    '"',
    ":",
    "=",
    ",",
    "#",
    "\\",
    "\n",
    "1",
    "gres/gpu",
)
OPTIONS = (
    "GrpTRES",
    "Fairshare",
    "parent",
    "MaxWall",
    "1-00:00:00",
    "Partition",
    "QOS",
    "DefaultAccount",
    "-1",
    "|",
    "\0",
)


@given(some.lists(some.sampled_from((*WORDS, *OPTIONS)) | some.text(max_size=3), max_size=25).map("".join))
def test_any_text_is_read_and_each_entry_is_written_so_that_it_is_read_back(text):
    entries, troubles = read(text)
    assert all(trouble.message for trouble in troubles)
    for entry in entries:
        [again], wrong = read(entry_line(entry))
        assert not wrong
        assert (again.kind, again.name) == (entry.kind, entry.name)
        given = {key: value for key, value in entry.fields.items() if value not in (None, [], {})}
        assert again.fields == given
